/*
 * tests/cli/test_service_stream.c - what a foreign service sends, without a service: messages out
 * of pieces, rows out of chunks, families out of tables, and everything that breaks the rules.
 * Over 500 lines because every rule of chunks is a row of a table.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/json_text.h"
#include "cli/service.h"
#include "cli/wire.h"
#include "tests/support/process.h"

#include "base/banned.h"

#define TEXT_BYTES (1UL << 20)

static struct cli_row_chunks chunks;
static struct buf told; /* "key(family:qualifier@time=value ..)" for each row */
static struct buf message;

static enum cli_exit on_cell(void *ctx, const struct cli_cell *cell)
{
    (void)ctx;
    base_buf_printf(&told, "%.*s:%.*s@%lld=%.*s ", SLICE_ARGS(cell->family),
                    SLICE_ARGS(cell->qualifier), (long long)cell->timestamp_us,
                    SLICE_ARGS(cell->value));
    return CLI_OK;
}

static enum cli_exit on_row(void *ctx, struct slice key)
{
    (void)ctx;
    base_buf_printf(&told, "<%.*s> ", SLICE_ARGS(key));
    return CLI_OK;
}

static void set_up(void)
{
    base_buf_init(&told, TEXT_BYTES);
    base_buf_init(&message, 400UL << 20);
    cli_row_chunks_init(&chunks);
    chunks.on_cell = on_cell;
    chunks.on_row = on_row;
}

static void tear_down(void)
{
    cli_row_chunks_fini(&chunks);
    base_buf_fini(&message);
    base_buf_fini(&told);
}

/* --- chunks -----------------------------------------------------------------------------------
 */

static void put_wrapped(struct buf *chunk, unsigned field, const char *text)
{
    struct buf inner;
    base_buf_init(&inner, TEXT_BYTES);
    if (text[0] != '\0')
        cli_wire_put_bytes(&inner, 1, base_slice_text(text));
    cli_wire_put_bytes(chunk, field, base_buf_slice(&inner));
    base_buf_fini(&inner);
}

static uint64_t number_of(const char *text)
{
    int64_t number = 0;
    ck_assert_int_eq(base_parse_i64(base_slice_text(text), &number), ERR_OK);
    return (uint64_t)number;
}

/* k=KEY f=FAMILY q=QUALIFIER t=N v=VALUE s=SIZE l=LABEL R C; S=KEY: looked at up to there. */
static void put_word(struct buf *chunk, const char *word)
{
    const char *text = word[1] == '=' ? word + 2 : "";
    switch (word[0]) {
    case 'k':
        cli_wire_put_bytes(chunk, 1, base_slice_text(text));
        break;
    case 'f':
        put_wrapped(chunk, 2, text);
        break;
    case 'q':
        put_wrapped(chunk, 3, text);
        break;
    case 't':
        cli_wire_put_number(chunk, 4, number_of(text));
        break;
    case 'l':
        cli_wire_put_bytes(chunk, 5, base_slice_text(text));
        break;
    case 'v':
        cli_wire_put_bytes(chunk, 6, base_slice_text(text));
        break;
    case 's':
        cli_wire_put_number(chunk, 7, number_of(text));
        break;
    default:
        cli_wire_put_number(chunk, word[0] == 'R' ? 8 : 9, 1);
    }
}

/* Chunks, '|' between them, words with blanks. */
static enum cli_exit take(const char *text)
{
    struct buf chunk;
    char word[64];
    base_buf_init(&chunk, TEXT_BYTES);
    base_buf_truncate(&message, 0);
    while (*text != '\0') {
        size_t len = strcspn(text, " |");
        ck_assert_uint_lt(len, sizeof word);
        memcpy(word, text, len);
        word[len] = '\0';
        if (word[0] == 'S')
            cli_wire_put_bytes(&message, 2, base_slice_text(word + 2));
        else if (len > 0)
            put_word(&chunk, word);
        text += len;
        if (*text == '|' || (*text == '\0' && word[0] != 'S')) {
            cli_wire_put_bytes(&message, 1, base_buf_slice(&chunk));
            base_buf_truncate(&chunk, 0);
        }
        text += *text != '\0';
    }
    base_buf_fini(&chunk);
    return cli_row_chunks_take(&chunks, base_buf_slice(&message));
}

static const char *told_text(void)
{
    ck_assert_int_eq(base_buf_append_byte(&told, '\0'), ERR_OK);
    told.len--;
    return (const char *)told.ptr;
}

static const struct {
    const char *chunks;
    const char *rows;
} GOOD[] = {
    {"k=a f=f q=q t=5 v=x C", "f:q@5=x <a> "},
    {"k=a f=f q=q t=5 v=x|t=4 v=y|q=r t=3|f=g q v=z l=label C",
     "f:q@5=x f:q@4=y f:r@3= g:@0=z <a> "},
    {"k=a f=f q=q v=x C|k=b f=f q=q v=y C", "f:q@0=x <a> f:q@0=y <b> "},
    /* the key again, which changes nothing */
    {"k=a f=f q=q v=x|k=a q=r v=y C", "f:q@0=x f:r@0=y <a> "},
    /* parts of a cell */
    {"k=a f=f q=q t=5 v=xy s=6|v=z s=6|v=abc C", "f:q@5=xyzabc <a> "},
    {"k=a f=f q=q v=xy s=3|v=z|v=w C", "f:q@0=xyz f:q@0=w <a> "},
    /* resets */
    {"k=a f=f q=q v=x|R|k=a f=f q=q v=y C", "f:q@0=y <a> "},
    {"k=a f=f q=q v=x s=9|R|k=b f=f q=q v=y C", "f:q@0=y <b> "},
    {"k=b f=f q=q v=x|R|k=a f=f q=q v=y C", "f:q@0=y <a> "},
    /* a commit of nothing is a cell */
    {"k=a f=f q=q t=5 v=x|C", "f:q@5=x f:q@0= <a> "},
    /* how far it looked */
    {"S=m", ""},
    {"k=a f=f q=q v=x C|S=m", "f:q@0=x <a> "},
};
#define GOOD_COUNT (sizeof GOOD / sizeof GOOD[0])

START_TEST(chunks_become_rows)
{
    ck_assert_int_eq(take(GOOD[_i].chunks), CLI_OK);
    ck_assert_str_eq(told_text(), GOOD[_i].rows);
    ck_assert(cli_row_chunks_is_whole(&chunks));
}
END_TEST

static const char *const BAD[] = {
    "f=f q=q v=x C",                        /* no key */
    "k=a q=q v=x C",                        /* no family */
    "k=a f=f v=x C",                        /* no qualifier */
    "k=a v=x C",                            /* neither */
    "k=b f=f q=q C|k=a f=f q=q C",          /* backwards */
    "k=a f=f q=q C|k=a f=f q=q C",          /* twice */
    "k=a f=f q=q C|q=r v=x C",              /* goes on behind its commit */
    "k=a f=f q=q v=x|k=b f=f q=q C",        /* not committed */
    "k=a f=f q=q v=x|f=g v=y C",            /* a family without a qualifier */
    "R",                                    /* outside of a row */
    "k=a f=f q=q C|R",                      /* behind it */
    "k=a f=f q=q v=x|R k=b",                /* with a key */
    "k=a f=f q=q v=x|R f=f",                /* with a family */
    "k=a f=f q=q v=x|R v=y",                /* with a value */
    "k=a f=f q=q v=x|R s=5",                /* with a size */
    "k=a f=f q=q v=x|R t=5",                /* with a time */
    "k=a f=f q=q v=x|R l=x",                /* with a label */
    "k=a f=f q=q v=x|R C",                  /* with a commit */
    "k=a f=f q=q v=x s=5|k=a v=yzab C",     /* a key inside of a cell */
    "k=a f=f q=q v=x s=5|f=f q=q v=yzab C", /* a column */
    "k=a f=f q=q v=x s=5|q=q v=yzab C",     /* a qualifier */
    "k=a f=f q=q v=x s=5|t=7 v=yzab C",     /* a time */
    "k=a f=f q=q v=x s=5|l=x v=yzab C",     /* a label */
    "k=a f=f q=q v=x s=5|v=yz C",           /* too short */
    "k=a f=f q=q v=x s=5|v=yzabc C",        /* too long */
    "k=a f=f q=q v=xyzabc s=5",             /* too long at once */
    "k=a f=f q=q v=x s=5|v=y s=6",          /* another size */
    "k=a f=f q=q v=x s=5 C",                /* a commit inside of a cell */
    "k=a f=f q=q v=x s=-1",                 /* no size */
    "k=a f=f q=q v=x s=104857601",          /* over the limit */
    "S=m|k=a f=f q=q C",                    /* a row in what was looked at */
    "k=b f=f q=q C|S=a",                    /* looked at less than was sent */
    "k=b f=f q=q C|S=b",                    /* no more */
    "k=a f=f q=q v=x|S=b",                  /* inside of a row */
};
#define BAD_COUNT (sizeof BAD / sizeof BAD[0])

START_TEST(chunks_that_break_the_rules_are_refused)
{
    enum cli_exit e = CLI_OK;
    char part[128];
    /* Each chunk is a message; only the last one is wrong. */
    for (const char *text = BAD[_i]; *text != '\0' && e == CLI_OK;) {
        size_t len = strcspn(text, "|");
        (void)snprintf(part, sizeof part, "%.*s", (int)len, text);
        text += len + (text[len] == '|');
        e = take(part);
        ck_assert_msg(e == CLI_OK || *text == '\0', "refused before \"%s\"", text);
    }
    ck_assert_int_eq(e, CLI_REFUSED);
}
END_TEST

START_TEST(rows_that_were_not_asked_for_are_refused)
{
    static const char *const keys[] = {"a", "bz", "d", "e"};
    char text[64];
    chunks.start = SLICE_LIT("c");
    chunks.end = SLICE_LIT("d");
    (void)snprintf(text, sizeof text, "k=%s f=f q=q v=x C", keys[_i]);
    ck_assert_int_eq(take(text), CLI_REFUSED);
    ck_assert_int_eq(take("k=c f=f q=q v=x C|k=czz f=f q=q v=x C"), CLI_OK);
}
END_TEST

START_TEST(open_row_is_forgotten_where_the_stream_broke)
{
    ck_assert_int_eq(take("k=a f=f q=q v=1 C|k=b f=f q=q v=2"), CLI_OK);
    ck_assert(!cli_row_chunks_is_whole(&chunks));
    cli_row_chunks_begin(&chunks);
    ck_assert(cli_row_chunks_is_whole(&chunks));
    ck_assert_int_eq(take("k=b f=f q=q v=3 C"), CLI_OK);
    ck_assert_str_eq(told_text(), "f:q@0=1 <a> f:q@0=3 <b> ");
    cli_row_chunks_begin(&chunks);
    ck_assert_int_eq(take("k=b f=f q=q v=3 C"), CLI_REFUSED); /* it had that one */
}
END_TEST

START_TEST(row_keys_over_the_limit_are_refused)
{
    static char key[LIM_ROW_KEY + 1];
    struct buf chunk;
    memset(key, 'k', sizeof key);
    for (size_t len = LIM_ROW_KEY; len <= LIM_ROW_KEY + 1; len++) {
        base_buf_init(&chunk, TEXT_BYTES);
        base_buf_truncate(&message, 0);
        cli_wire_put_bytes(&chunk, 1, base_slice(key, len));
        put_word(&chunk, "f=f");
        put_word(&chunk, "q=q");
        put_word(&chunk, "C");
        cli_wire_put_bytes(&message, 1, base_buf_slice(&chunk));
        base_buf_fini(&chunk);
        ck_assert_int_eq(cli_row_chunks_take(&chunks, base_buf_slice(&message)),
                         len == LIM_ROW_KEY ? CLI_OK : CLI_REFUSED);
    }
}
END_TEST

/* Cells of 64 MiB in one row: the fifth is over 256 MiB with what names them. */
START_TEST(endless_row_ends_at_its_limit)
{
    struct buf value;
    struct buf chunk;
    enum cli_exit e = CLI_OK;
    size_t parts = 0;
    base_buf_init(&value, 64 * MIB);
    ck_assert_int_eq(base_buf_reserve(&value, 64 * MIB), ERR_OK);
    memset(value.ptr, 'x', 64 * MIB);
    value.len = 64 * MIB;
    ck_assert_int_eq(take("k=a f=f q=q v=x"), CLI_OK);
    base_buf_init(&chunk, 65 * MIB);
    cli_wire_put_bytes(&chunk, 6, base_buf_slice(&value));
    base_buf_truncate(&message, 0);
    cli_wire_put_bytes(&message, 1, base_buf_slice(&chunk));
    for (; e == CLI_OK; parts++)
        e = cli_row_chunks_take(&chunks, base_buf_slice(&message));
    ck_assert_int_eq(e, CLI_REFUSED);
    ck_assert_uint_eq(parts, 4);
    base_buf_fini(&chunk);
    base_buf_fini(&value);
}
END_TEST

START_TEST(messages_that_are_none_are_refused)
{
    static const struct {
        const char *bytes;
        size_t len;
    } messages[] = {
        {"\x0a", 1}, /* a length that is missing */
        {"\x0a\x05"
         "ab",
         4},                                                  /* longer than what is left */
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11}, /* a length of 2^64 */
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11}, /* a tag without an end */
        {"\x0b", 1},                                          /* a group */
        {"\x02\x00", 2},                                      /* field 0 */
        {"\x0a\x01\x0a", 3},                                  /* a chunk that is cut */
        {"\x0a\x03\x12\x01\x0a", 5},                          /* a family's name that is cut */
        {"\x09\x01", 2},                                      /* eight bytes that are not there */
    };
    struct slice bytes = base_slice(messages[_i].bytes, messages[_i].len);
    ck_assert_int_eq(cli_row_chunks_take(&chunks, bytes), CLI_REFUSED);
}
END_TEST

/* --- messages out of pieces -------------------------------------------------------------------
 */

static enum cli_exit keep_message(void *ctx, struct slice bytes)
{
    (void)ctx;
    base_buf_printf(&told, "[%.*s]", SLICE_ARGS(bytes));
    return CLI_OK;
}

START_TEST(messages_come_in_pieces_of_any_size)
{
    static const char stream[] = "\0\0\0\0\3abc\0\0\0\0\0\0\0\0\0\2de";
    struct cli_call call;
    cli_call_init(&call, 8);
    call.what = "a message";
    call.on_message = keep_message;
    for (size_t at = 0; at < sizeof stream - 1;) {
        size_t len = sizeof stream - 1 - at < (size_t)_i ? sizeof stream - 1 - at : (size_t)_i;
        ck_assert_int_eq(cli_call_take(&call, base_slice(stream + at, len)), CLI_OK);
        at += len;
    }
    ck_assert_str_eq(told_text(), "[abc][][de]");
    ck_assert_uint_eq(call.bytes.len, 0);
    cli_call_fini(&call);
}
END_TEST

START_TEST(messages_over_the_limit_are_refused_by_their_head)
{
    static const struct {
        const char *bytes;
        enum cli_exit e;
    } heads[] = {
        {"\0\0\0\0\10", CLI_OK},
        {"\0\0\0\0\11", CLI_REFUSED},
        {"\0\377\377\377\377", CLI_REFUSED},
        {"\1\0\0\0\1", CLI_REFUSED}, /* packed */
        {"<html", CLI_REFUSED},
    };
    struct cli_call call;
    cli_call_init(&call, 8);
    call.what = "a message";
    call.on_message = keep_message;
    ck_assert_int_eq(cli_call_take(&call, base_slice(heads[_i].bytes, 5)), heads[_i].e);
    cli_call_fini(&call);
}
END_TEST

/* --- families -----------------------------------------------------------------------------------
 */

/* A family of the table in message, with a rule and a type as bytes. */
static void put_family(const char *name, struct slice rule, struct slice type)
{
    struct buf family;
    struct buf entry;
    base_buf_init(&family, TEXT_BYTES);
    base_buf_init(&entry, TEXT_BYTES);
    if (rule.ptr != NULL)
        cli_wire_put_bytes(&family, 1, rule);
    if (type.ptr != NULL)
        cli_wire_put_bytes(&family, 3, type);
    cli_wire_put_bytes(&entry, 1, base_slice_text(name));
    cli_wire_put_bytes(&entry, 2, base_buf_slice(&family));
    cli_wire_put_bytes(&message, 3, base_buf_slice(&entry));
    base_buf_fini(&entry);
    base_buf_fini(&family);
}

START_TEST(tables_become_families_with_rules_and_types)
{
    /* A union of 2 versions and the intersection of 60 s and 1.5 s. */
    static const char nested[] = "\x22\x1a\x0a\x02\x08\x02\x0a\x14\x1a\x12\x0a\x04\x12\x02\x08\x3c"
                                 "\x0a\x0a\x12\x08\x08\x01\x10\x80\xca\xb5\xee\x01";
    struct errbuf why = {0};
    cli_json_init();
    cli_wire_put_bytes(&message, 1, SLICE_LIT("projects/p/instances/i/tables/t"));
    put_family("plain", SLICE_EMPTY, SLICE_EMPTY);
    put_family("newest", SLICE_LIT("\x08\x01"), SLICE_EMPTY);
    put_family("sum", SLICE_EMPTY, SLICE_LIT("\x32\x02\x22\x00"));
    put_family("text", SLICE_EMPTY, SLICE_LIT("\x12\x00"));
    put_family("count", SLICE_EMPTY, SLICE_LIT("\x2a\x04\x0a\x02\x0a\x00"));
    put_family("ordered", SLICE_EMPTY, SLICE_LIT("\x2a\x04\x0a\x02\x12\x00"));
    put_family("nested", base_slice(nested, sizeof nested - 1), SLICE_EMPTY);
    json_t *families = cli_service_families(base_buf_slice(&message), &why);
    ck_assert_msg(families != NULL, "%s", why.text);
    ck_assert_uint_eq(json_object_size(families), 7);
    ck_assert_int_eq(json_integer_value(cli_json_at(families, "newest.gc.max_versions")), 1);
    ck_assert_str_eq(json_string_value(cli_json_at(families, "sum.type")), "sum");
    const json_t *both = json_array_get(cli_json_at(families, "nested.gc.union"), 1);
    const json_t *ages = json_object_get(both, "intersection");
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(ages, 0), "max_age")), "60s");
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(ages, 1), "max_age")),
                     "1.500000s");
    ck_assert_uint_eq(json_object_size(json_object_get(families, "plain")), 0);
    ck_assert_str_eq(json_string_value(cli_json_at(families, "text.type")), "string");
    ck_assert_str_eq(json_string_value(cli_json_at(families, "count.type")), "int64");
    ck_assert_uint_eq(json_object_size(json_object_get(families, "ordered")), 0);
    json_decref(families);
}
END_TEST

START_TEST(nested_rules_are_read_to_their_limit)
{
    struct buf rule;
    struct errbuf why = {0};
    cli_json_init();
    base_buf_init(&rule, TEXT_BYTES);
    cli_wire_put_number(&rule, 1, 3);
    for (int depth = 0; depth < LIM_FILTER_DEPTH + _i; depth++) {
        struct buf list;
        base_buf_init(&list, TEXT_BYTES);
        cli_wire_put_bytes(&list, 1, base_buf_slice(&rule));
        base_buf_truncate(&rule, 0);
        cli_wire_put_bytes(&rule, depth % 2 == 0 ? 3 : 4, base_buf_slice(&list));
        base_buf_fini(&list);
    }
    put_family("deep", base_buf_slice(&rule), SLICE_EMPTY);
    json_t *families = cli_service_families(base_buf_slice(&message), &why);
    ck_assert(_i == 0 ? families != NULL : families == NULL);
    ck_assert(_i == 0 || why.text[0] != '\0');
    json_decref(families);
    base_buf_fini(&rule);
}
END_TEST

START_TEST(tables_that_cannot_be_are_refused)
{
    static const struct {
        const char *name;
        struct slice rule;
        struct slice type;
    } families[] = {
        {"fam:ily", {NULL, 0}, {NULL, 0}},
        {"", {NULL, 0}, {NULL, 0}},
        {"f", {(const uint8_t *)"\x08", 1}, {NULL, 0}},             /* a rule that is cut */
        {"f", {(const uint8_t *)"\x08\x01\x08\x02", 4}, {NULL, 0}}, /* two rules in one */
        {"f", {(const uint8_t *)"\x12\x02\x08\xff", 4}, {NULL, 0}}, /* an age that is cut */
        {"f", {NULL, 0}, {(const uint8_t *)"\x32\x00", 2}},         /* an aggregate of nothing */
    };
    struct errbuf why = {0};
    cli_json_init();
    put_family(families[_i].name, families[_i].rule, families[_i].type);
    ck_assert_ptr_null(cli_service_families(base_buf_slice(&message), &why));
    ck_assert_str_ne(why.text, "");
}
END_TEST

/* --- credentials ------------------------------------------------------------------------------
 */

static void write_key(const char *path, const char *key)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, key, strlen(key)), (ssize_t)strlen(key));
    ck_assert_int_eq(close(fd), 0);
}

START_TEST(credential_that_ended_is_taken_from_its_file_anew)
{
    char dir[PROCESS_PATH], path[PROCESS_PATH + 8];
    struct cli_service service;
    struct cli_config config;
    int keeper_fd = process_temp_dir(dir);
    (void)snprintf(path, sizeof path, "%s/key", dir);
    write_key(path, "first");
    ck_assert_int_eq(cli_service_init(&service, "https://a.example/", NULL, NULL, path), CLI_OK);
    ck_assert_int_eq(cli_service_config(&service, false, &config), CLI_OK);
    ck_assert_str_eq(config.url, "https://a.example");
    ck_assert_str_eq(config.key, "first");
    ck_assert(!cli_service_renew(&service, &config)); /* it is the same */
    write_key(path, "second\n");
    ck_assert(cli_service_renew(&service, &config));
    ck_assert_str_eq(config.key, "second");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert(!cli_service_renew(&service, &config));
    ck_assert_str_eq(config.key, "second");
    cli_service_config_fini(&config);
    cli_service_fini(&service);
    process_temp_dir_remove(dir, keeper_fd);
}
END_TEST

START_TEST(tables_of_google_are_described_elsewhere)
{
    struct cli_service service;
    ck_assert_int_eq(
        cli_service_init(&service, "https://bigtable.googleapis.com", NULL, NULL, NULL), CLI_OK);
    ck_assert_str_eq(service.admin_url, "https://bigtableadmin.googleapis.com");
    cli_service_fini(&service);
    ck_assert_int_eq(cli_service_init(&service, "https://a", "https://b", NULL, NULL), CLI_OK);
    ck_assert_str_eq(service.admin_url, "https://b");
    cli_service_fini(&service);
}
END_TEST

Suite *suite_cli_service_stream(void);
Suite *suite_cli_service_stream(void)
{
    Suite *s = suite_create("cli_service_stream");
    TCase *t = tcase_create("chunks");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, chunks_become_rows, 0, GOOD_COUNT);
    tcase_add_loop_test(t, chunks_that_break_the_rules_are_refused, 0, BAD_COUNT);
    tcase_add_loop_test(t, rows_that_were_not_asked_for_are_refused, 0, 4);
    tcase_add_test(t, open_row_is_forgotten_where_the_stream_broke);
    tcase_add_test(t, row_keys_over_the_limit_are_refused);
    tcase_add_test(t, endless_row_ends_at_its_limit);
    tcase_add_loop_test(t, messages_that_are_none_are_refused, 0, 9);
    suite_add_tcase(s, t);
    t = tcase_create("messages");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, messages_come_in_pieces_of_any_size, 1, 16);
    tcase_add_loop_test(t, messages_over_the_limit_are_refused_by_their_head, 0, 5);
    suite_add_tcase(s, t);
    t = tcase_create("families");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, tables_become_families_with_rules_and_types);
    tcase_add_loop_test(t, nested_rules_are_read_to_their_limit, 0, 2);
    tcase_add_loop_test(t, tables_that_cannot_be_are_refused, 0, 6);
    tcase_add_test(t, credential_that_ended_is_taken_from_its_file_anew);
    tcase_add_test(t, tables_of_google_are_described_elsewhere);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/gateway/test_row_body_model.c - the one-pass reader and a reader over jansson's tree agree.
 *
 * The model below turns a parsed tree into mutations, the plain way. Random bodies, whole and
 * damaged, go through both: what one takes the other takes, with the same mutations in the same
 * order; what one refuses the other refuses.
 *
 * More than 500 lines because model, maker of bodies and comparison belong together.
 */
#include <check.h>

#include "base/limits.h"
#include "base/text.h"
#include "gateway/api/json_in.h"
#include "gateway/api/row_body.h"
#include "tests/support/process.h"

#include "base/banned.h"

/* --- the model ---------------------------------------------------------------------------------
 */

#define BINARY_NAME "$binary"

struct builder {
    struct arena *arena;
    const struct sto_schema *schema;
    enum gw_row_verb verb;
    struct gw_row_body *out;
    size_t room;
    struct errbuf *eb;
};

static json_t *looked_at(const json_t *object)
{
    return (json_t *)(uintptr_t)object; /* jansson's iterators want it mutable, and only look */
}

static size_t count_family(const json_t *columns)
{
    size_t count = 0;
    json_t *o = looked_at(columns);
    if (!json_is_object(columns))
        return 1;
    for (void *i = json_object_iter(o); i != NULL; i = json_object_iter_next(o, i)) {
        const json_t *value = json_object_iter_value(i);
        count += json_is_array(value) ? json_array_size(value) : 1;
    }
    return count;
}

static size_t count_body(const json_t *body, enum gw_row_verb verb)
{
    size_t count = verb == GW_ROW_PUT ? 1 : 0; /* the deletion of the row */
    json_t *o = looked_at(body);
    for (void *i = json_object_iter(o); i != NULL; i = json_object_iter_next(o, i)) {
        const json_t *value = json_object_iter_value(i);
        count += json_is_array(value) ? json_array_size(value) : count_family(value);
    }
    return count;
}

static struct sto_mutation *add(struct builder *b, enum sto_mutation_kind kind,
                                const struct sto_family *family)
{
    INVARIANT(b->out->count < b->room);
    struct sto_mutation *m = &b->out->mutations[b->out->count++];
    *m = (struct sto_mutation){.kind = kind, .family = family == NULL ? 0 : family->number};
    return m;
}

static enum err find_family(struct builder *b, struct slice name, const struct sto_family **out)
{
    *out = sto_schema_family(b->schema, name);
    if (*out != NULL)
        return ERR_OK;
    return base_fail(b->eb, ERR_NOT_FOUND, "the table has no family \"%.*s\"",
                     (int)(name.len < LIM_FAMILY_NAME ? name.len : LIM_FAMILY_NAME),
                     (const char *)name.ptr);
}

static enum err get_timestamp(struct builder *b, const json_t *object, int64_t *out)
{
    struct slice text;
    enum err e = gw_json_get_text(object, "timestamp", &text, b->eb);
    if (e != ERR_OK)
        return e;
    *out = STO_TIMESTAMP_SERVER;
    if (text.ptr == NULL)
        return ERR_OK;
    uint64_t number = 0;
    if (base_parse_u64(text, &number) != ERR_OK || number > INT64_MAX)
        return base_fail(b->eb, ERR_INVALID,
                         "\"timestamp\" must be a decimal string of microseconds");
    *out = (int64_t)number;
    return ERR_OK;
}

/* {"value":..} or {"value_b64":..}, with an optional timestamp; names lists what may stand there.
 */
static enum err add_value_object(struct builder *b, const struct sto_family *family,
                                 struct slice qualifier, const json_t *object,
                                 const char *const *names)
{
    enum err e = gw_json_only(object, names, b->eb);
    if (e != ERR_OK)
        return e;
    struct slice value;
    int64_t timestamp_us = 0;
    e = gw_json_get_bytes(object, "value", b->arena, &value, b->eb);
    if (e == ERR_OK)
        e = get_timestamp(b, object, &timestamp_us);
    if (e != ERR_OK)
        return e;
    if (value.ptr == NULL)
        return base_fail(b->eb, ERR_INVALID,
                         "a cell of family \"%s\" has neither \"value\" nor \"value_b64\"",
                         family->name);
    struct sto_mutation *m = add(b, STO_SET_CELL, family);
    m->qualifier = qualifier;
    m->timestamp_us = timestamp_us;
    m->value = value;
    b->out->cells++;
    return ERR_OK;
}

static enum err add_cell(struct builder *b, const struct sto_family *family, struct slice qualifier,
                         const json_t *value)
{
    static const char *const names[] = {"value", "value_b64", "timestamp", NULL};
    if (json_is_object(value))
        return add_value_object(b, family, qualifier, value, names);
    if (!json_is_string(value))
        return base_fail(b->eb, ERR_INVALID,
                         "a cell of family \"%s\" must be text, {\"value\":..}, {\"value_b64\":..} "
                         "or a list of those",
                         family->name);
    struct sto_mutation *m = add(b, STO_SET_CELL, family);
    m->qualifier = qualifier;
    m->timestamp_us = STO_TIMESTAMP_SERVER;
    m->value = gw_json_string(value);
    b->out->cells++;
    return ERR_OK;
}

static enum err refuse_null_in_put(struct builder *b)
{
    if (b->verb == GW_ROW_PATCH)
        return ERR_OK;
    return base_fail(b->eb, ERR_INVALID, "null deletes, which PUT does not do: use PATCH");
}

static enum err add_column(struct builder *b, const struct sto_family *family,
                           struct slice qualifier, const json_t *value)
{
    if (json_is_null(value)) {
        enum err e = refuse_null_in_put(b);
        if (e != ERR_OK)
            return e;
        add(b, STO_DELETE_FROM_COLUMN, family)->qualifier = qualifier;
        return ERR_OK;
    }
    if (!json_is_array(value))
        return add_cell(b, family, qualifier, value);
    for (size_t i = 0; i < json_array_size(value); i++) {
        enum err e = add_cell(b, family, qualifier, json_array_get(value, i));
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

static enum err add_family(struct builder *b, struct slice name, const json_t *columns)
{
    const struct sto_family *family = NULL;
    enum err e = find_family(b, name, &family);
    if (e != ERR_OK)
        return e;
    if (json_is_null(columns)) {
        e = refuse_null_in_put(b);
        if (e == ERR_OK)
            add(b, STO_DELETE_FROM_FAMILY, family);
        return e;
    }
    if (!json_is_object(columns))
        return base_fail(b->eb, ERR_INVALID, "family \"%s\" must be an object of columns",
                         family->name);
    json_t *o = looked_at(columns);
    for (void *i = json_object_iter(o); i != NULL; i = json_object_iter_next(o, i)) {
        e = add_column(b, family, gw_json_member_name(i), json_object_iter_value(i));
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* One entry of "$binary": {"family","qualifier_b64" or "qualifier","value".., "timestamp"}. */
static enum err add_binary(struct builder *b, const json_t *entry)
{
    static const char *const names[] = {
        "family", "qualifier", "qualifier_b64", "value", "value_b64", "timestamp", NULL};
    struct slice name;
    struct slice qualifier;
    const struct sto_family *family = NULL;
    if (!json_is_object(entry))
        return base_fail(b->eb, ERR_INVALID, "entries of \"" BINARY_NAME "\" must be objects");
    enum err e = gw_json_only(entry, names, b->eb);
    if (e == ERR_OK)
        e = gw_json_get_text(entry, "family", &name, b->eb);
    if (e == ERR_OK)
        e = gw_json_get_bytes(entry, "qualifier", b->arena, &qualifier, b->eb);
    if (e != ERR_OK)
        return e;
    if (name.ptr == NULL || qualifier.ptr == NULL)
        return base_fail(b->eb, ERR_INVALID,
                         "entries of \"" BINARY_NAME "\" need \"family\" and \"qualifier_b64\"");
    e = find_family(b, name, &family);
    if (e != ERR_OK)
        return e;
    const json_t *value = json_object_get(entry, "value");
    if (json_is_null(value) && json_object_get(entry, "value_b64") == NULL)
        return add_column(b, family, qualifier, value);
    return add_value_object(b, family, qualifier, entry, names);
}

static enum err add_binaries(struct builder *b, const json_t *list)
{
    if (!json_is_array(list))
        return base_fail(b->eb, ERR_INVALID, "\"" BINARY_NAME "\" must be a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        enum err e = add_binary(b, json_array_get(list, i));
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

static enum err model_build(const json_t *body, enum gw_row_verb verb,
                            const struct sto_schema *schema, struct arena *arena,
                            struct gw_row_body *out, struct errbuf *eb)
{
    size_t room = count_body(body, verb);
    if (room > LIM_MUTATIONS_PER_ROW)
        return base_fail(eb, ERR_TOO_BIG, "%zu changes to one row; the limit is %d", room,
                         LIM_MUTATIONS_PER_ROW);
    *out = (struct gw_row_body){.mutations =
                                    base_arena_alloc(arena, room * sizeof(struct sto_mutation))};
    if (out->mutations == NULL && room > 0)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for %zu changes to one row", room);

    struct builder b = {arena, schema, verb, out, room, eb};
    if (verb == GW_ROW_PUT)
        add(&b, STO_DELETE_FROM_ROW, NULL);
    json_t *o = looked_at(body);
    enum err e = ERR_OK;
    for (void *i = json_object_iter(o); i != NULL && e == ERR_OK; i = json_object_iter_next(o, i)) {
        struct slice name = gw_json_member_name(i);
        const json_t *value = json_object_iter_value(i);
        e = base_slice_is(name, BINARY_NAME) ? add_binaries(&b, value)
                                             : add_family(&b, name, value);
    }
    if (e != ERR_OK)
        return e;
    if (verb == GW_ROW_PUT && out->cells == 0)
        return base_fail(eb, ERR_INVALID, "PUT needs at least one cell; DELETE removes the row");
    if (out->count == 0)
        return base_fail(eb, ERR_INVALID, "the body changes nothing");
    return ERR_OK;
}

/* --- random bodies -----------------------------------------------------------------------------
 */

static uint64_t random_state;

static uint64_t next_random(void)
{
    uint64_t z = (random_state += 0x9E3779B97F4A7C15U);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
}

static size_t below(size_t n)
{
    return (size_t)(next_random() % n);
}

static struct buf text;

static void put(const char *s)
{
    ck_assert_int_eq(base_buf_append_text(&text, s), ERR_OK);
}

static const char *one_of(const char *const *list, size_t count)
{
    return list[below(count)];
}

#define ONE_OF(list) one_of((list), sizeof(list) / sizeof((list)[0]))

static const char *const PIECES[] = {
    "a",
    "b",
    "os",
    "\xc3\xa9",
    "\xf0\x9f\x98\x80",
    "\\n",
    "\\\"",
    "\\\\",
    "\\/",
    "\\u0041",
    "\\u00e9",
    "\\u0000",
    "\\ud83d\\ude00",
    "\\b",
    " ",
    "\x7f",
    "\\ud83d",
    "\\ude00",
    "\\ufffF",
    "\xff",
    "\xed\xa0\x80",
    "\\x",
    "\t",
    "\\u00",
    "=",
    "0123456789",
    "{\\\"a\\\"}",
    "[",
    ",",
    ":",
    "//8=",
    "/w==",
};

/* Rarely one of the pieces that no text may hold. */
static void put_text(void)
{
    put("\"");
    for (size_t n = below(4); n > 0; n--) {
        const char *piece = ONE_OF(PIECES);
        bool is_risky = strchr("\xff\xed\t", piece[0]) != NULL || piece[0] == '\\';
        if (!is_risky || below(8) == 0)
            put(piece);
        else
            put(PIECES[below(14)]);
    }
    put("\"");
}

static void put_space(void)
{
    static const char *const spaces[] = {"", "", "", "", " ", "\n", "\t\r"};
    put(ONE_OF(spaces));
}

static void put_value_object(bool is_binary)
{
    static const char *const members[] = {
        "\"value\":\"v\"",     "\"value_b64\":\"/w==\"", "\"timestamp\":\"5000\"", "\"value\":null",
        "\"timestamp\":\"x\"", "\"timestamp\":null",     "\"value_b64\":\"/w\"",   "\"value\":7",
        "\"other\":1",         "\"val\\u0075e\":\"w\"",
    };
    static const char *const more[] = {
        "\"family\":\"stats\"", "\"family\":\"raw\"", "\"qualifier_b64\":\"/w==\"",
        "\"qualifier\":\"q\"",  "\"family\":\"x\"",
    };
    put("{");
    size_t n = 1 + below(2);
    for (size_t i = 0; i < n; i++) {
        put(i > 0 ? "," : "");
        put_space();
        put(members[below(below(4) == 0 ? 10 : 3)]);
    }
    if (is_binary) {
        put(",");
        put(more[below(below(4) == 0 ? 5 : 2)]);
        put(",");
        put(more[2 + below(below(4) == 0 ? 3 : 2)]);
    }
    put_space();
    put("}");
}

static void put_cell(void)
{
    static const char *const odd[] = {"null", "true", "17", "[]", "{}", "-1.5e3", "nul"};
    size_t kind = below(12);
    if (kind == 0)
        put(ONE_OF(odd));
    else if (kind < 7)
        put_text();
    else
        put_value_object(false);
}

static void put_column(void)
{
    put_text();
    put_space();
    put(":");
    put_space();
    if (below(4) != 0) {
        put_cell();
        return;
    }
    put("[");
    for (size_t n = below(3), i = 0; i < n; i++) {
        put(i > 0 ? "," : "");
        put_cell();
    }
    put("]");
}

static void put_family(void)
{
    static const char *const names[] = {"\"stats\"", "\"raw\"", "\"st\\u0061ts\"", "\"x\""};
    if (below(6) == 0) {
        put("\"$binary\":[");
        for (size_t n = below(3), i = 0; i < n; i++) {
            put(i > 0 ? "," : "");
            put_value_object(true);
        }
        put("]");
        return;
    }
    put(names[below(below(8) == 0 ? 4 : 2)]);
    put(":");
    if (below(10) == 0) {
        put("null");
        return;
    }
    put("{");
    for (size_t n = below(5), i = 0; i < n; i++) {
        put(i > 0 ? "," : "");
        put_column();
    }
    put("}");
}

static void make_body(void)
{
    base_buf_truncate(&text, 0);
    put_space();
    put("{");
    for (size_t n = below(3), i = 0; i <= n; i++) {
        put(i > 0 ? "," : "");
        put_family();
    }
    put("}");
    put_space();
}

/* A byte changed, taken out or put in. */
static void damage(void)
{
    static const char bytes[] = "{}[]:,\"\\ nul0a\xff";
    size_t at = below(text.len);
    size_t kind = below(3);
    if (kind == 0)
        text.ptr[at] = (uint8_t)bytes[below(sizeof bytes)];
    else if (kind == 1)
        memmove(text.ptr + at, text.ptr + at + 1, text.len-- - at - 1);
    else
        text.len = at;
}

/* --- comparing ---------------------------------------------------------------------------------
 */

static void expect_same(const struct gw_row_body *got, const struct gw_row_body *want)
{
    ck_assert_uint_eq(got->count, want->count);
    ck_assert_uint_eq(got->cells, want->cells);
    for (size_t i = 0; i < got->count; i++) {
        const struct sto_mutation *g = &got->mutations[i];
        const struct sto_mutation *m = &want->mutations[i];
        ck_assert_msg(g->kind == m->kind && g->family == m->family &&
                          g->timestamp_us == m->timestamp_us &&
                          base_slice_equal(g->qualifier, m->qualifier) &&
                          base_slice_equal(g->value, m->value),
                      "mutation %zu of %.*s", i, SLICE_ARGS(base_buf_slice(&text)));
    }
}

static void compare(const struct sto_schema *schema, enum gw_row_verb verb)
{
    struct arena arena;
    struct gw_row_body got;
    struct gw_row_body want;
    struct errbuf eb = {{0}};
    json_t *tree = NULL;
    base_arena_init(&arena, 1 << 20);
    enum err parsed = gw_json_parse(base_buf_slice(&text), &tree, &eb);
    enum err e = parsed == ERR_OK ? model_build(tree, verb, schema, &arena, &want, &eb) : parsed;
    enum err f = gw_row_body_build(base_buf_slice(&text), verb, schema, &arena, &got, &eb);
    ck_assert_msg((e == ERR_OK) == (f == ERR_OK), "the model says %s, the reader %s (%s): %.*s",
                  base_err_name(e), base_err_name(f), eb.text, SLICE_ARGS(base_buf_slice(&text)));
    if (parsed != ERR_OK)
        ck_assert_int_eq(f, parsed);
    if (e == ERR_OK)
        expect_same(&got, &want);
    json_decref(tree);
    base_arena_fini(&arena);
}

START_TEST(both_readers_agree)
{
    static const struct sto_family_spec families[] = {{.name = {(const uint8_t *)"stats", 5}},
                                                      {.name = {(const uint8_t *)"raw", 3}}};
    struct sto_schema *schema = NULL;
    struct errbuf eb;
    long rounds = process_env_number("ROUNDS", 20) * 1000;
    ck_assert_int_eq(sto_schema_make(SLICE_LIT("t"), NULL, families, 2, &schema, &eb), ERR_OK);
    base_buf_init(&text, 1 << 20);
    random_state = (uint64_t)_i;
    for (long i = 0; i < rounds; i++) {
        make_body();
        compare(schema, GW_ROW_PATCH);
        compare(schema, GW_ROW_PUT);
        damage();
        compare(schema, GW_ROW_PATCH);
    }
    base_buf_fini(&text);
    sto_schema_unref(schema);
}
END_TEST

Suite *suite_gateway_row_body_model(void);
Suite *suite_gateway_row_body_model(void)
{
    Suite *s = suite_create("gateway_row_body_model");
    TCase *tc = tcase_create("row_body_model");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, both_readers_agree, 1, 4);
    suite_add_tcase(s, tc);
    return s;
}

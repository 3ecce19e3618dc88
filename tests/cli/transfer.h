/*
 * tests/cli/transfer.h - directories of exports: what is in them, what may be done to them.
 */
#ifndef TESTS_CLI_TRANSFER_H
#define TESTS_CLI_TRANSFER_H

#include "tests/support/random.h" /* before r is somebody's */

#include <dirent.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/text.h"
#include "tests/cli/session.h"

static char dir[PROCESS_PATH]; /* removed behind the test */
static int keeper;

#define TRANSFER_PATH (PROCESS_PATH + 96)

/* dir/name, in one of a few static texts. */
static inline const char *in_dir(const char *name)
{
    static char paths[4][TRANSFER_PATH];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, TRANSFER_PATH, "%s/%s", dir, name);
    return path;
}

static inline struct buf file_bytes(const char *name)
{
    struct buf bytes = {0};
    struct errbuf eb = {0};
    enum err e = base_file_read(in_dir(name), 1UL << 30, &bytes, &eb);
    ck_assert_msg(e == ERR_OK, "%s", eb.text);
    return bytes;
}

static inline void write_file(const char *name, const void *bytes, size_t len)
{
    FILE *file = fopen(in_dir(name), "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
}

static inline json_t *read_json(const char *name)
{
    struct buf bytes = file_bytes(name);
    json_t *doc = json_loadb((const char *)bytes.ptr, bytes.len, JSON_ALLOW_NUL, NULL);
    ck_assert_ptr_nonnull(doc);
    base_buf_fini(&bytes);
    return doc;
}

/* Takes doc. */
static inline void write_json(const char *name, json_t *doc)
{
    char *text = json_dumps(doc, 0);
    write_file(name, text, strlen(text));
    json_decref(doc);
    void (*drop)(void *) = NULL;
    json_malloc_t unused = NULL;
    json_get_alloc_funcs(&unused, &drop);
    drop(text);
}

static inline bool is_there(const char *name)
{
    struct stat st;
    return lstat(in_dir(name), &st) == 0;
}

/* Names in a directory that end so. */
static inline size_t count_files(const char *name, const char *ending)
{
    size_t count = 0;
    DIR *names = opendir(in_dir(name));
    ck_assert_ptr_nonnull(names);
    for (const struct dirent *d = readdir(names); d != NULL; d = readdir(names)) {
        size_t len = strlen(d->d_name);
        count += len >= strlen(ending) && strcmp(d->d_name + len - strlen(ending), ending) == 0;
    }
    (void)closedir(names);
    return count;
}

/* What `scan --json` gives of a table, as one text; the caller finis it. */
static inline struct buf scan_of(const char *table)
{
    struct buf rows;
    ck_assert_int_eq(http_get(w.http, "/v1/tables/%s", table), 200);
    http_once(w.http, "Accept: application/x-ndjson");
    ck_assert_int_eq(http_get(w.http, "/v1/tables/%s/rows", table), 200);
    base_buf_init(&rows, HTTP_BODY_MAX);
    ck_assert_int_eq(base_buf_append(&rows, base_buf_slice(&w.http->body)), ERR_OK);
    return rows;
}

static inline void expect_same_rows(const char *a, const char *b)
{
    struct buf first = scan_of(a);
    struct buf second = scan_of(b);
    ck_assert_msg(base_slice_equal(base_buf_slice(&first), base_buf_slice(&second)),
                  "%s and %s differ: %zu and %zu bytes", a, b, first.len, second.len);
    base_buf_fini(&first);
    base_buf_fini(&second);
}

/* rows of value_bytes in one column, written in bulk. */
static inline void fill_table(const char *table, int rows, int value_bytes)
{
    struct buf lines;
    base_buf_init(&lines, 256UL << 20);
    for (int i = 0; i < rows; i++) {
        base_buf_printf(&lines, "{\"key\":\"k%06d\",\"cells\":{\"stats\":{\"q\":\"", i);
        for (int n = 0; n < value_bytes; n++)
            base_buf_append_byte(&lines, (uint8_t)('a' + (i + n) % 26));
        base_buf_append_text(&lines, "\"}}}\n");
    }
    ck_assert_int_eq(lines.error, ERR_OK);
    http_once(w.http, "Content-Type: application/x-ndjson");
    ck_assert_int_eq(
        http_bytes(w.http, "POST", base_buf_slice(&lines), "/v1/tables/%s:write", table), 200);
    base_buf_fini(&lines);
}

/* Bytes of every kind, a few of each: any, text, text with what JSON and CSV escape, none. */
static inline void draw_bytes(struct random *rnd, struct buf *out, size_t most)
{
    static const char *const pieces[] = {
        "\"",   "\\", ",",    "\n", "\r\n", "\t",  "\x01", "a", "\xc3\xa9", "\xf0\x9f\x90\x98",
        "\xff", "",   "\"\"", "'",  ";",    "\x7f"};
    size_t kind = random_below(rnd, 4);
    size_t len = random_below(rnd, most);
    base_buf_truncate(out, 0);
    for (size_t i = 0; i < len; i++) {
        if (kind == 0)
            base_buf_append_byte(out, (uint8_t)random_below(rnd, 256));
        else if (kind == 1)
            base_buf_append_byte(out, (uint8_t)('a' + random_below(rnd, 26)));
        else if (kind == 2)
            base_buf_append_text(out, pieces[random_below(rnd, 16)]);
    }
}

static inline void put_b64(struct buf *out, const char *name, struct slice bytes)
{
    base_buf_printf(out, "\"%s_b64\":\"", name);
    base_base64_encode(bytes, out);
    base_buf_append_byte(out, '"');
}

/* The table random, with versions, aggregates, and names of any bytes; returns its rows. */
static inline int fill_random(uint64_t seed)
{
    struct random rnd = {seed};
    struct buf lines;
    struct buf bytes;
    const int rows = 200;
    base_buf_init(&lines, 64UL << 20);
    base_buf_init(&bytes, 1UL << 20);
    ck_assert_int_eq(http_json(w.http, "PUT",
                               "{'families':{'a':{},'b':{'gc':{'max_versions':2}},'n':{'type':"
                               "'sum'},'h':{'type':'hll'}},'row_key_notes':'any bytes'}",
                               "/v1/tables/random"),
                     201);
    for (int i = 0; i < rows; i++) {
        draw_bytes(&rnd, &bytes, 20);
        base_buf_printf(&bytes, "%d", i); /* each row once */
        base_buf_append_byte(&lines, '{');
        put_b64(&lines, "key", base_buf_slice(&bytes));
        base_buf_append_text(&lines, ",\"cells\":{\"$binary\":[");
        uint32_t cells = 1 + random_below(&rnd, 12);
        for (uint32_t c = 0; c < cells; c++) {
            uint32_t kind = random_below(&rnd, 8);
            base_buf_append_text(&lines, c > 0 ? ",{" : "{");
            draw_bytes(&rnd, &bytes, 8);
            put_b64(&lines, "qualifier", base_buf_slice(&bytes));
            base_buf_printf(&lines, ",\"timestamp\":\"%u\",", 1000 * random_below(&rnd, 50));
            draw_bytes(&rnd, &bytes, kind == 0 ? 5000 : 30);
            if (kind < 6)
                put_b64(&lines, "value", base_buf_slice(&bytes));
            else
                base_buf_append_text(&lines, kind == 6 ? "\"input\":7" : "\"input\":\"x\"");
            base_buf_printf(&lines, ",\"family\":\"%s\"}",
                            kind == 7   ? "h"
                            : kind == 6 ? "n"
                            : kind < 3  ? "a"
                                        : "b");
        }
        base_buf_append_text(&lines, "]}}\n");
    }
    ck_assert_int_eq(lines.error, ERR_OK);
    http_once(w.http, "Content-Type: application/x-ndjson");
    ck_assert_int_eq(http_bytes(w.http, "POST", base_buf_slice(&lines), "/v1/tables/random:write"),
                     200);
    struct slice verdicts = base_buf_slice(&w.http->body);
    const char *refusal = memmem(verdicts.ptr, verdicts.len, "\"code\":", 7);
    ck_assert_msg(refusal == NULL, "%.200s", refusal);
    base_buf_fini(&bytes);
    base_buf_fini(&lines);
    return rows;
}

/* The figure called name in the summary of the last call, with --json. */
static inline int64_t figure(const char *name)
{
    json_t *doc = json_of(&r);
    json_t *number = json_object_get(doc, name);
    ck_assert_msg(json_is_integer(number), "no %s in %s", name, r.out);
    int64_t value = json_integer_value(number);
    json_decref(doc);
    return value;
}

#endif

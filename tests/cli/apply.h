/*
 * tests/cli/apply.h - a session with a file for `bigtent apply`, about a tenant of the test's own.
 */
#ifndef TESTS_CLI_APPLY_H
#define TESTS_CLI_APPLY_H

#include <sys/stat.h>

#include "base/buf.h"
#include "tests/cli/session.h"

#define PATH_BYTES (PROCESS_PATH + 32)

static char dir[PROCESS_PATH];
static int keeper;
static char service_key[PATH_BYTES]; /* files */
static char yaml[PATH_BYTES];
static char keys[PATH_BYTES];
static char id[WORLD_ID]; /* the test's tenant; '@' in its files */

static inline void write_file(const char *path, const char *text)
{
    (void)unlink(path); /* it need not be there */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

static inline void read_text(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ssize_t n = read(fd, out, size - 1);
    ck_assert_int_ge(n, 0);
    out[n] = '\0';
    (void)close(fd);
}

/* Where w is. */
static inline void apply_begin(void)
{
    char key[WORLD_KEY], key_id[WORLD_ID];
    keeper = process_temp_dir(dir);
    (void)snprintf(service_key, sizeof service_key, "%s/service.key", dir);
    (void)snprintf(yaml, sizeof yaml, "%s/t.yaml", dir);
    (void)snprintf(keys, sizeof keys, "%s/keys", dir);
    admin_create_global_key(w.op, "service", key, key_id);
    write_file(service_key, key);
    world_fresh_id(id);
}

static inline void apply_set_up(void)
{
    session_set_up();
    apply_begin();
}

static inline void apply_tear_down(void)
{
    process_temp_dir_remove(dir, keeper);
    session_tear_down();
}

/* The file with the test's tenant for each '@'. */
static inline void say(const char *text)
{
    struct buf out;
    base_buf_init(&out, 1U << 20);
    for (; *text != '\0'; text++) {
        if (*text == '@')
            base_buf_append_text(&out, id);
        else
            base_buf_append_byte(&out, (uint8_t)*text);
    }
    base_buf_append_byte(&out, '\0');
    ck_assert_int_eq(out.error, ERR_OK);
    write_file(yaml, (const char *)out.ptr);
    base_buf_fini(&out);
}

#define APPLY(...)                                                                                 \
    bigtent(&r, &op, "apply", "-f", yaml, "--tables-key-file", service_key, __VA_ARGS__)

static inline void apply(const char *text, int code)
{
    say(text);
    (void)unlink(keys); /* of a call before */
    APPLY("--yes", "--keys-out", keys);
    EXPECT_CODE(&r, code);
}

static inline int64_t audit_records(void)
{
    http_get(w.op, "/v1/admin/audit/head");
    EXPECT_STATUS(w.op, 200);
    return http_number(w.op, "/number");
}

/* What anyone but the server itself did since. */
static inline void expect_nothing_done_since(int64_t records)
{
    size_t i;
    json_t *record;
    http_get(w.op, "/v1/admin/audit?from=%lld", (long long)records + 1);
    EXPECT_STATUS(w.op, 200);
    json_array_foreach(http_at(w.op, "/records"), i, record)
    {
        const char *kind = json_string_value(json_object_get(record, "kind"));
        ck_assert_msg(kind != NULL && strcmp(kind, "server") == 0, "%s", http_text(w.op));
    }
}

/* With '@' for the tenant. */
static inline void expect_out(const char *wanted)
{
    char text[1024];
    size_t len = 0;
    for (; *wanted != '\0'; wanted++) {
        int n = *wanted == '@' ? snprintf(text + len, sizeof text - len, "%s", id)
                               : snprintf(text + len, sizeof text - len, "%c", *wanted);
        len += (size_t)n;
        ck_assert_uint_lt(len, sizeof text);
    }
    text[len] = '\0';
    EXPECT_IN(r.out, text);
}

#define TENANT(what) "tenants:\n- id: @\n" what
#define TABLE(what)  TENANT("  tables:\n  - id: t\n" what)
#define FAMILY(what) TABLE("    families: {f: " what "}\n")

/* A TCase with a server; world_end comes behind its tests. */
static inline TCase *apply_tcase(const char *name)
{
    TCase *t = tcase_create(name);
    tcase_set_timeout(t, 60);
    world_begin(t);
    tcase_add_checked_fixture(t, apply_set_up, apply_tear_down);
    return t;
}

#endif

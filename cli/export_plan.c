/*
 * cli/export_plan.c - plans an export: tables, their schemas, ranges to read; see export.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/export.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/target.h"
#include "cli/transfer_file.h"

#include "base/banned.h"

/* --- the directory ------------------------------------------------------------------------------
 */

/* Calls take for each name until it returns false. */
static enum cli_exit each_name(int dir_fd, const char *dir,
                               bool (*take)(void *ctx, const char *name), void *ctx)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = fd >= 0 ? fdopendir(fd) : NULL;
    if (names == NULL)
        return cli_fail(CLI_REFUSED, "cannot list %s: %s", dir, strerror(errno));
    const struct dirent *entry = NULL;
    bool more = true;
    while (more && (entry = readdir(names)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            more = take(ctx, entry->d_name);
    }
    (void)closedir(names); /* it was only read */
    return CLI_OK;
}

static bool note_name(void *ctx, const char *name)
{
    (void)name; /* one is enough */
    *(bool *)ctx = true;
    return false;
}

static enum cli_exit check_empty(const struct cli_export *x)
{
    bool any = false;
    enum cli_exit e = each_name(x->dir_fd, x->dir, note_name, &any);
    if (e == CLI_OK && any)
        e = cli_fail(CLI_USAGE, "%s is not empty; an export that was cut goes on with --resume",
                     x->dir);
    return e;
}

enum cli_exit cli_export_open(struct cli_export *x, struct cli *cli, const char *dir, bool resume)
{
    memset(x, 0, sizeof *x);
    x->cli = cli;
    x->dir = dir;
    x->started_ns = base_monotonic_ns();
    cli_crew_init(&x->crew);
    x->dir_fd = -1;
    if (!resume && mkdir(dir, 0700) != 0 && errno != EEXIST)
        return cli_fail(CLI_USAGE, "cannot make %s: %s", dir, strerror(errno));
    x->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (x->dir_fd < 0)
        return cli_fail(CLI_USAGE, "cannot open %s: %s", dir, strerror(errno));
    if (flock(x->dir_fd, LOCK_EX | LOCK_NB) != 0)
        return cli_fail(CLI_USAGE, "%s is in use by another export or import", dir);
    return resume ? CLI_OK : check_empty(x);
}

void cli_export_fini(struct cli_export *x)
{
    if (x->dir_fd >= 0)
        (void)close(x->dir_fd); /* releases the lock */
    cli_crew_fini(&x->crew);
    cli_manifest_fini(&x->manifest);
}

/* --- ranges -------------------------------------------------------------------------------------
 */

static bool is_inside(const struct cli_manifest *m, struct slice key)
{
    return base_slice_compare(m->start, key) < 0 &&
           (m->end.len == 0 || base_slice_compare(key, m->end) < 0);
}

/* Splits the plan's last range at key; the second part becomes the last range. */
static void cut_at(struct cli_manifest_table *t, struct slice key)
{
    struct cli_manifest_range *last = &t->ranges[t->range_count - 1];
    if (base_slice_compare(last->start, key) >= 0)
        return;
    t->ranges[t->range_count++] =
        (struct cli_manifest_range){.start = cli_slice_copy(key), .end = last->end};
    last->end = cli_slice_copy(key);
}

static void cut_at_samples(const struct cli_manifest *m, struct cli_manifest_table *t,
                           const json_t *samples, size_t parts)
{
    size_t count = json_array_size(samples);
    struct buf holder;
    base_buf_init(&holder, LIM_ROW_KEY + 4);
    json_int_t total = count == 0 ? 0
                                  : json_integer_value(json_object_get(
                                        json_array_get(samples, count - 1), "offset_bytes"));
    json_int_t part = total / (json_int_t)parts;
    for (size_t i = 0; i < count && t->range_count < parts; i++) {
        const json_t *sample = json_array_get(samples, i);
        json_int_t offset = json_integer_value(json_object_get(sample, "offset_bytes"));
        struct slice key = cli_json_bytes(sample, "key", "key_b64", &holder);
        if (key.len > 0 && key.len <= LIM_ROW_KEY && offset >= part * (json_int_t)t->range_count &&
            is_inside(m, key))
            cut_at(t, key);
    }
    base_buf_fini(&holder);
}

static enum cli_exit plan_ranges(struct cli_export *x, struct cli_manifest_table *t, uint64_t bytes)
{
    uint64_t parts = bytes / CLI_TRANSFER_PART;
    t->ranges = base_new_array(CLI_TRANSFER_RANGES, sizeof *t->ranges);
    t->range_count = 1;
    t->ranges[0] = (struct cli_manifest_range){.start = cli_slice_copy(x->manifest.start),
                                               .end = cli_slice_copy(x->manifest.end)};
    if (parts < 2)
        return CLI_OK;
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, "/v1/tables/{}:samples", t->id);
    enum cli_exit e = cli_http_get(x->cli->http, &target, &doc);
    if (e == CLI_OK)
        cut_at_samples(&x->manifest, t, json_object_get(doc, "samples"),
                       parts < CLI_TRANSFER_RANGES ? (size_t)parts : CLI_TRANSFER_RANGES);
    json_decref(doc);
    return e;
}

/* --- tables -------------------------------------------------------------------------------------
 */

json_t *cli_export_schema(const json_t *table)
{
    static const char *const kept[] = {"families", "deletion_protection", "row_key_notes",
                                       "change_stream_retention"};
    json_t *schema = json_object();
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        json_t *value = json_object_get(table, kept[i]);
        if (value != NULL && !json_is_null(value))
            (void)json_object_set(schema, kept[i], value); /* the creator of the table checks it */
    }
    return schema;
}

static enum cli_exit plan_table(struct cli_export *x, const json_t *doc)
{
    const char *id = json_string_value(json_object_get(doc, "id"));
    json_int_t bytes = json_integer_value(cli_json_at(doc, "usage.stored_bytes"));
    if (id == NULL || strlen(id) > LIM_TABLE_ID || bytes < 0)
        return cli_fail(CLI_REFUSED, "the server described a table that cannot be");
    struct cli_manifest_table *t = &x->manifest.tables[x->manifest.table_count++];
    memcpy(t->id, id, strlen(id) + 1);
    t->schema = cli_export_schema(doc);
    x->total_bytes += (uint64_t)bytes;
    return plan_ranges(x, t, (uint64_t)bytes);
}

static enum cli_exit plan_all(struct cli_export *x)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, "/v1/tables", NULL);
    enum cli_exit e = cli_http_get(x->cli->http, &target, &doc);
    const json_t *list = json_object_get(doc, "tables");
    size_t count = json_array_size(list);
    if (e == CLI_OK && (!json_is_array(list) || count > LIM_TABLES))
        e = cli_fail(CLI_REFUSED, "the server's list of tables is none");
    if (e == CLI_OK && count > 0)
        x->manifest.tables = base_new_array(count, sizeof *x->manifest.tables);
    for (size_t i = 0; i < count && e == CLI_OK; i++)
        e = plan_table(x, json_array_get(list, i));
    json_decref(doc);
    return e;
}

static enum cli_exit plan_named(struct cli_export *x, const char *const *tables, size_t count)
{
    enum cli_exit e = CLI_OK;
    x->manifest.tables = base_new_array(count, sizeof *x->manifest.tables);
    for (size_t i = 0; i < count && e == CLI_OK; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(tables[i], tables[j]) == 0)
                return cli_fail(CLI_USAGE, "--table %s is there twice", tables[i]);
        }
        struct buf target;
        json_t *doc = NULL;
        cli_target1(&target, "/v1/tables/{}", tables[i]);
        e = cli_http_get(x->cli->http, &target, &doc);
        if (e == CLI_OK)
            e = plan_table(x, doc);
        json_decref(doc);
    }
    return e;
}

static enum cli_exit note_tenant(struct cli_export *x)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, "/v1/usage", NULL);
    enum cli_exit e = cli_http_get(x->cli->http, &target, &doc);
    const char *id = json_string_value(json_object_get(doc, "tenant"));
    if (e == CLI_OK && (id == NULL || strlen(id) > LIM_TENANT_ID))
        e = cli_fail(CLI_REFUSED, "the server does not say which tenant this is");
    if (e == CLI_OK)
        memcpy(x->manifest.tenant, id, strlen(id) + 1);
    json_decref(doc);
    return e;
}

enum cli_exit cli_export_plan(struct cli_export *x, const char *const *tables, size_t count)
{
    enum cli_exit e = note_tenant(x);
    if (e == CLI_OK)
        e = count > 0 ? plan_named(x, tables, count) : plan_all(x);
    if (e != CLI_OK)
        return e;
    base_time_format(base_wall_us(), x->manifest.created);
    for (size_t i = 0; i < x->manifest.table_count && e == CLI_OK; i++) {
        int fd = -1;
        e = cli_table_dir(x->dir_fd, x->manifest.tables[i].id, true, &fd);
        if (e == CLI_OK)
            (void)close(fd); /* only its creation matters */
    }
    return e == CLI_OK ? cli_manifest_write(x->dir, &x->manifest) : e;
}

/* --- resuming -----------------------------------------------------------------------------------
 */

struct sweep {
    const struct cli_manifest *manifest;
    const struct cli_manifest_table *table;
    int fd;
};

/* Removes a file that the manifest does not name: an interrupted run did not finish it. */
static bool sweep_name(void *ctx, const char *name)
{
    const struct sweep *s = ctx;
    char wanted[CLI_FILE_NAME];
    size_t digits = strspn(name, "0123456789");
    const char *rest = name + digits;
    cli_file_name(0, s->manifest->encoding, s->manifest->packed, wanted);
    const char *suffix = wanted + strspn(wanted, "0123456789");
    size_t suffix_len = strlen(suffix);
    if (digits == 0 || strncmp(rest, suffix, suffix_len) != 0 ||
        (rest[suffix_len] != '\0' && strcmp(rest + suffix_len, ".part") != 0))
        return true;
    bool named = false;
    for (size_t i = 0; i < s->table->file_count && !named; i++) {
        cli_file_name(s->table->files[i].number, s->manifest->encoding, s->manifest->packed,
                      wanted);
        named = strcmp(wanted, name) == 0;
    }
    if (!named)
        (void)unlinkat(s->fd, name, 0); /* a remaining file is overwritten, or harmless */
    return true;
}

static enum cli_exit check_tenant(const struct cli_export *x)
{
    struct cli_export now = {.cli = x->cli};
    enum cli_exit e = note_tenant(&now);
    if (e == CLI_OK && strcmp(now.manifest.tenant, x->manifest.tenant) != 0)
        e = cli_fail(CLI_USAGE, "%s is of the tenant %s, the key is of %s", x->dir,
                     x->manifest.tenant, now.manifest.tenant);
    return e;
}

enum cli_exit cli_export_resume(struct cli_export *x)
{
    enum cli_exit e = cli_manifest_read(x->dir, &x->manifest);
    if (e == CLI_OK)
        e = check_tenant(x);
    for (size_t i = 0; i < x->manifest.table_count && e == CLI_OK; i++) {
        struct cli_manifest_table *t = &x->manifest.tables[i];
        struct sweep s = {.manifest = &x->manifest, .table = t};
        e = cli_table_dir(x->dir_fd, t->id, true, &s.fd);
        if (e != CLI_OK)
            break;
        e = each_name(s.fd, t->id, sweep_name, &s);
        (void)close(s.fd); /* it was only read */
        atomic_fetch_add(&x->rows, t->content.rows);
        atomic_fetch_add(&x->bytes, t->content.bytes);
    }
    return e;
}

/*
 * cli/import.c - see import.h.
 *
 * In each stage of an import a worker pool processes a list: files to hash, files to read, files to
 * write, tables to read back.
 */
#include "cli/import.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/families.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/target.h"
#include "cli/text.h"
#include "cli/transfer_file.h"
#include "cli/transfer_scan.h"
#include "cli/transfer_write.h"

#include "base/banned.h"

/* --- open ---------------------------------------------------------------------------------------
 */

static enum cli_exit choose_tables(struct cli_import *m, const char *table, const char *into)
{
    m->tables = base_new_array(m->manifest.table_count + 1, sizeof *m->tables);
    for (size_t i = 0; i < m->manifest.table_count; i++) {
        const struct cli_manifest_table *source = &m->manifest.tables[i];
        if (table != NULL && strcmp(table, source->id) != 0)
            continue;
        struct cli_import_table *t = &m->tables[m->table_count++];
        const char *name = into != NULL ? into : source->id;
        t->source = source;
        t->done = base_new_array(source->file_count + 1, sizeof *t->done);
        memcpy(t->into, name, strlen(name) + 1);
    }
    if (table != NULL && m->table_count == 0)
        return cli_fail(CLI_USAGE, "the export has no table %s", table);
    return CLI_OK;
}

enum cli_exit cli_import_open(struct cli_import *m, struct cli *cli, const char *dir,
                              const char *table, const char *into)
{
    memset(m, 0, sizeof *m);
    m->cli = cli;
    m->dir = dir;
    m->verb = "";
    m->line_cells = CLI_TRANSFER_LINE_CELLS;
    m->started_ns = base_monotonic_ns();
    cli_crew_init(&m->crew);
    m->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (m->dir_fd < 0)
        return cli_fail(CLI_USAGE, "cannot open %s: %s", dir, strerror(errno));
    if (flock(m->dir_fd, LOCK_EX | LOCK_NB) != 0)
        return cli_fail(CLI_USAGE, "%s is in use by another export or import", dir);
    if (into != NULL && (strlen(into) == 0 || strlen(into) > LIM_TABLE_ID))
        return cli_fail(CLI_USAGE, "a table's ID has 1 to %d bytes", LIM_TABLE_ID);
    enum cli_exit e = cli_manifest_read(dir, &m->manifest);
    if (e == CLI_OK && !m->manifest.complete)
        e = cli_fail(CLI_CHECK_FAILED, "the export is not finished: bigtent export %s --resume",
                     dir);
    return e == CLI_OK ? choose_tables(m, table, into) : e;
}

void cli_import_fini(struct cli_import *m)
{
    for (size_t i = 0; i < m->table_count; i++) {
        json_decref(m->tables[i].families);
        base_free(m->tables[i].done);
    }
    base_free(m->tables);
    if (m->dir_fd >= 0)
        (void)close(m->dir_fd); /* releases the lock */
    cli_crew_fini(&m->crew);
    cli_manifest_fini(&m->manifest);
}

/* --- the lists ----------------------------------------------------------------------------------
 */

void cli_import_draw(void *ctx)
{
    struct cli_import *m = ctx;
    if (!cli_progress_due())
        return;
    struct buf text;
    double seconds = (double)(base_monotonic_ns() - m->started_ns) / 1e9;
    uint64_t bytes = atomic_load(&m->bytes);
    base_buf_init(&text, 1024);
    base_buf_append_text(&text, m->verb);
    base_buf_append_text(&text, "  ");
    cli_text_put_count(&text, atomic_load(&m->rows));
    base_buf_append_text(&text, " rows  ");
    cli_text_put_bytes(&text, bytes);
    base_buf_append_text(&text, "  ");
    cli_text_put_bytes(&text, (uint64_t)((double)bytes / (seconds > 0.001 ? seconds : 0.001)));
    base_buf_append_text(&text, "/s");
    base_buf_append_byte(&text, '\0');
    cli_progress_draw(bytes, m->total_bytes, (const char *)text.ptr);
    base_buf_fini(&text);
}

/* Starts a stage and computes its total; of_files: bytes on disk,
 * else bytes as the server counts them. */
static void begin_stage(struct cli_import *m, const char *verb, bool of_files)
{
    m->verb = verb;
    m->next_table = 0;
    m->next_file = 0;
    m->total_bytes = 0;
    m->started_ns = base_monotonic_ns();
    atomic_store(&m->rows, 0);
    atomic_store(&m->bytes, 0);
    for (size_t i = 0; i < m->table_count; i++) {
        const struct cli_import_table *t = &m->tables[i];
        for (size_t j = 0; j < t->source->file_count; j++) {
            const struct cli_manifest_file *f = &t->source->files[j];
            if (!t->done[j])
                m->total_bytes += of_files ? f->stored_bytes : f->content.bytes;
        }
    }
}

/* Takes the next file that is not done; false: there is none. */
static bool take_file(struct cli_import *m, struct cli_import_table **out_table, size_t *out_file)
{
    bool found = false;
    pthread_mutex_lock(&m->crew.lock);
    while (!found && m->next_table < m->table_count) {
        *out_table = &m->tables[m->next_table];
        if (m->next_file == (*out_table)->source->file_count) {
            m->next_table++;
            m->next_file = 0;
            continue;
        }
        *out_file = m->next_file++;
        found = !(*out_table)->done[*out_file];
    }
    pthread_mutex_unlock(&m->crew.lock);
    return found;
}

/* Runs a stage whose workers all use the import itself, without streams. */
static enum cli_exit run_alike(struct cli_import *m, enum cli_exit (*work)(void *member))
{
    void *members[CLI_TRANSFER_STREAMS];
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++)
        members[i] = m;
    enum cli_exit e = cli_crew_run(&m->crew, work, members, cli_import_draw, m);
    cli_progress_hide();
    return e;
}

/* --- hashes -------------------------------------------------------------------------------------
 */

static bool count_bytes(void *ctx, size_t bytes)
{
    struct cli_import *m = ctx;
    atomic_fetch_add(&m->bytes, bytes);
    return !atomic_load(&m->crew.stop);
}

static enum cli_exit check_file(struct cli_import *m, const struct cli_manifest_table *t,
                                const struct cli_manifest_file *f)
{
    char name[CLI_FILE_NAME];
    uint64_t bytes = 0;
    uint8_t hash[CLI_CONTENT_BYTES];
    cli_file_name(f->number, m->manifest.encoding, m->manifest.packed, name);
    enum cli_exit e = cli_file_hash(m->dir_fd, t->id, name, count_bytes, m, &bytes, hash);
    if (e == CLI_OK && bytes != f->stored_bytes)
        return cli_fail(CLI_CHECK_FAILED, "%s/%s has %llu bytes; the manifest says %llu", t->id,
                        name, (unsigned long long)bytes, (unsigned long long)f->stored_bytes);
    if (e == CLI_OK && memcmp(hash, f->sha256, sizeof hash) != 0)
        return cli_fail(CLI_CHECK_FAILED, "%s/%s does not have the hash of the manifest", t->id,
                        name);
    return e;
}

static enum cli_exit check_files(void *member)
{
    struct cli_import *m = member;
    struct cli_import_table *t = NULL;
    size_t file = 0;
    enum cli_exit e = CLI_OK;
    while (e == CLI_OK && !atomic_load(&m->crew.stop) && take_file(m, &t, &file))
        e = check_file(m, t->source, &t->source->files[file]);
    return e;
}

enum cli_exit cli_import_check(struct cli_import *m)
{
    begin_stage(m, "checking", true);
    return run_alike(m, check_files);
}

/* --- reading and writing ------------------------------------------------------------------------
 */

struct writer {
    struct cli_import *m;
    struct cli_import_stream *stream;
    bool notes; /* record finished files */
};

static enum cli_exit note_done(struct cli_import *m, struct cli_import_table *t, size_t file)
{
    pthread_mutex_lock(&m->crew.lock);
    t->done[file] = true;
    enum cli_exit e = cli_import_save_state(m);
    pthread_mutex_unlock(&m->crew.lock);
    return e;
}

static enum cli_exit write_files(void *member)
{
    struct writer *w = member;
    struct cli_import_table *t = NULL;
    size_t file = 0;
    enum cli_exit e = CLI_OK;
    while (e == CLI_OK && !atomic_load(&w->m->crew.stop) && take_file(w->m, &t, &file)) {
        e = cli_import_file(w->stream, t, &t->source->files[file]);
        if (e == CLI_OK && w->notes)
            e = note_done(w->m, t, file);
    }
    return e;
}

static enum cli_exit run_writers(struct cli_import *m, bool write)
{
    struct writer writers[CLI_TRANSFER_STREAMS];
    void *members[CLI_TRANSFER_STREAMS];
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++) {
        writers[i] = (struct writer){m, cli_import_stream_new(m), write};
        members[i] = &writers[i];
        if (write && e == CLI_OK)
            e = cli_import_stream_open(writers[i].stream);
    }
    if (e == CLI_OK)
        e = cli_crew_run(&m->crew, write_files, members, cli_import_draw, m);
    cli_progress_hide();
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++)
        cli_import_stream_free(writers[i].stream);
    return e;
}

enum cli_exit cli_import_rehearse(struct cli_import *m)
{
    begin_stage(m, "reading", false);
    return run_writers(m, false);
}

enum cli_exit cli_import_run(struct cli_import *m)
{
    begin_stage(m, "writing", false);
    return run_writers(m, true);
}

/* --- tables -------------------------------------------------------------------------------------
 */

static enum cli_exit note_tenant(struct cli_import *m)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, "/v1/usage", NULL);
    enum cli_exit e = cli_http_get(m->cli->http, &target, &doc);
    const char *id = json_string_value(json_object_get(doc, "tenant"));
    json_int_t most = json_integer_value(cli_json_at(doc, "quota.mutations_per_row"));
    if (e == CLI_OK && (id == NULL || strlen(id) > LIM_TENANT_ID))
        e = cli_fail(CLI_REFUSED, "the server does not say which tenant this is");
    if (e == CLI_OK)
        memcpy(m->tenant, id, strlen(id) + 1);
    m->line_cells = cli_writer_line_cells(most);
    json_decref(doc);
    return e;
}

/* Requests a table; *out NULL: there is no such table. */
static enum cli_exit find_table(struct cli_import *m, const char *id, json_t **out)
{
    struct buf target;
    json_t *doc = NULL;
    *out = NULL;
    cli_target1(&target, "/v1/tables", NULL);
    enum cli_exit e = cli_http_get(m->cli->http, &target, &doc);
    const json_t *list = json_object_get(doc, "tables");
    for (size_t i = 0; i < json_array_size(list) && *out == NULL; i++) {
        json_t *table = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(table, "id"));
        if (name != NULL && strcmp(name, id) == 0)
            *out = json_incref(table);
    }
    json_decref(doc);
    return e;
}

static enum cli_exit make_table(struct cli_import *m, const struct cli_import_table *t,
                                json_t **out)
{
    struct buf target;
    cli_target1(&target, "/v1/tables/{}", t->into);
    return cli_http_send(m->cli->http, "PUT", &target, json_incref(t->source->schema), true, out);
}

/* Compares the types that decide how cells are written: types of plain values may differ. */
static bool is_same_type(const json_t *a, const json_t *b)
{
    const char *first = cli_family_aggregate(a);
    const char *second = cli_family_aggregate(b);
    return first == NULL || second == NULL ? first == second : strcmp(first, second) == 0;
}

static enum cli_exit check_families(struct cli_import_table *t)
{
    json_t *wanted = json_object_get(t->source->schema, "families");
    const char *name = NULL;
    json_t *family = NULL;
    json_object_foreach(wanted, name, family)
    {
        const json_t *there = json_object_get(t->families, name);
        if (there == NULL)
            return cli_fail(CLI_CHECK_FAILED, "the table %s has no family %s", t->into, name);
        if (!is_same_type(family, there))
            return cli_fail(CLI_CHECK_FAILED, "the family %s of the table %s has another type",
                            name, t->into);
    }
    t->has_aggregates = cli_families_have_aggregates(t->families);
    return CLI_OK;
}

static enum cli_exit look_at(struct cli_import *m, struct cli_import_table *t, bool create)
{
    json_t *doc = NULL;
    enum cli_exit e = find_table(m, t->into, &doc);
    t->families = json_incref(json_object_get(doc, "families"));
    json_decref(doc);
    if (e != CLI_OK || t->families != NULL)
        return e == CLI_OK ? check_families(t) : e;
    return create ? CLI_OK
                  : cli_fail(CLI_NOT_FOUND, "there is no table %s; --create makes it", t->into);
}

enum cli_exit cli_import_look(struct cli_import *m, bool create)
{
    enum cli_exit e = note_tenant(m);
    for (size_t i = 0; i < m->table_count && e == CLI_OK; i++)
        e = look_at(m, &m->tables[i], create);
    return e;
}

enum cli_exit cli_import_make(struct cli_import *m)
{
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; i < m->table_count && e == CLI_OK; i++) {
        struct cli_import_table *t = &m->tables[i];
        json_t *doc = NULL;
        if (t->families != NULL)
            continue;
        e = make_table(m, t, &doc);
        t->families = json_incref(json_object_get(doc, "families"));
        json_decref(doc);
        if (e == CLI_OK)
            e = check_families(t);
    }
    return e;
}

/* --- reading back -------------------------------------------------------------------------------
 */

struct reader {
    struct cli_import *m;
    struct cli_transfer_scan scan;
    struct cli_tally tally;
};

static enum cli_exit count_cell(void *ctx, const struct cli_cell *cell)
{
    struct reader *r = ctx;
    uint64_t before = r->tally.content.bytes;
    cli_tally_add(&r->tally, cell);
    atomic_fetch_add(&r->m->bytes, r->tally.content.bytes - before);
    return CLI_OK;
}

static enum cli_exit count_row(void *ctx, struct slice key)
{
    struct reader *r = ctx;
    (void)key; /* the scan stores it */
    r->tally.content.rows++;
    atomic_fetch_add(&r->m->rows, 1);
    return CLI_OK;
}

static enum cli_exit compare(const struct cli_import_table *t, const struct cli_content *found)
{
    const struct cli_content *wanted = &t->source->content;
    if (cli_content_equal(found, wanted))
        return CLI_OK;
    return cli_fail(CLI_CHECK_FAILED,
                    "the table %s differs from the export: %llu rows and %llu cells, %llu and %llu "
                    "in the export%s",
                    t->into, (unsigned long long)found->rows, (unsigned long long)found->cells,
                    (unsigned long long)wanted->rows, (unsigned long long)wanted->cells,
                    found->cells == wanted->cells ? ", with other contents" : "");
}

static enum cli_exit read_back(void *member)
{
    struct reader *r = member;
    struct cli_import *m = r->m;
    enum cli_exit e = CLI_OK;
    while (e == CLI_OK) {
        pthread_mutex_lock(&m->crew.lock);
        size_t at = m->next_table++;
        pthread_mutex_unlock(&m->crew.lock);
        if (at >= m->table_count || atomic_load(&m->crew.stop))
            break;
        memset(&r->tally.content, 0, sizeof r->tally.content);
        e = cli_transfer_scan_run(&r->scan, m->tables[at].into, m->manifest.start, m->manifest.end,
                                  SLICE_EMPTY);
        if (e == CLI_OK)
            e = compare(&m->tables[at], &r->tally.content);
    }
    return e;
}

enum cli_exit cli_import_verify(struct cli_import *m)
{
    struct reader readers[CLI_TRANSFER_STREAMS];
    void *members[CLI_TRANSFER_STREAMS];
    enum cli_exit e = CLI_OK;
    begin_stage(m, "verifying", false);
    for (size_t i = 0; i < m->table_count; i++)
        m->total_bytes += m->tables[i].source->content.bytes;
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++) {
        readers[i] = (struct reader){.m = m};
        cli_tally_init(&readers[i].tally);
        enum cli_exit opened =
            cli_transfer_scan_init(&readers[i].scan, &m->cli->config, &m->crew.stop);
        e = e == CLI_OK ? opened : e;
        readers[i].scan.on_cell = count_cell;
        readers[i].scan.on_row = count_row;
        readers[i].scan.ctx = &readers[i];
        members[i] = &readers[i];
    }
    if (e == CLI_OK)
        e = cli_crew_run(&m->crew, read_back, members, cli_import_draw, m);
    cli_progress_hide();
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++) {
        cli_transfer_scan_fini(&readers[i].scan);
        cli_tally_fini(&readers[i].tally);
    }
    return e;
}

/*
 * storage/rocksdb/search.c - file after file, entry after entry, window after window.
 *
 *   file                       how it is read      meaning of a tenant's prefix there
 *   *.sst, in use, its list    not at all: the list is read (catalogue.h)
 *     does not name the tenant
 *   *.sst, all others          every entry         a key of it; in others' keys and values: outside
 *   *.sst.copy, *.sst.part     as its file         the same (meta_copies.h)
 *   *.log, in use              its records         outside: after a flush only others write there
 *   *.log, no longer in use    its records         bytes that still have to go
 *   MANIFEST-*, the current    its records         outside: bounds of others' keys
 *   MANIFEST-*, others         its records         bytes that still have to go
 *   LOG*, OPTIONS-*, the rest  as raw bytes        a note: nothing there comes from keys or values
 *
 * Bytes of a log or MANIFEST that are not in a record are read as raw bytes (search_bytes.h).
 *
 * A table is read if it has no list, if its list is damaged, wrong or too long to be kept, or if it
 * is not in use; a deep search reads all tables, whatever they list. A missing or untrusted list is
 * created when the table is read, and kept in memory (file_lists.h).
 *
 * Over 500 lines because finding the files and counting the matches in them is one loop.
 *
 * Tenants that are purged together are searched for together: every byte is read once.
 *
 * 1. A table that vanishes before it is read was compacted into others: tables that were not read
 *    yet are read then, and so on until none vanished.
 * 2. A table that is still being written is made of tables in use, which are read, or vanish.
 */
#define _GNU_SOURCE

#include "storage/rocksdb/search.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/share.h"
#include "storage/range.h"
#include "storage/rocksdb/docs.h"
#include "storage/rocksdb/heldfiles.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/meta_copies.h"
#include "storage/rocksdb/progress.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/search_bytes.h"
#include "storage/rocksdb/search_lists.h"
#include "storage/rocksdb/table_file.h"
#include "storage/rocksdb/tenant_collector.h"

#include "base/banned.h"

#define NAME_BYTES      64
#define FILES_FIRST     256 /* first capacity for names, doubled as needed */
#define VERSION_LABEL   "rocksdb_version="
#define PASSES          8
#define ENTRIES_OF_TURN 64 /* entries searched between two yields */

enum kind { TABLE, WRITE_LOG, MANIFEST, NOTES };

struct file {
    char name[NAME_BYTES];
    enum kind kind;
    bool in_use;
    bool done;          /* read to its end */
    bool is_unfinished; /* a table that is being written */
    bool is_apart;      /* a table whose bounds exclude all of the tenants */
    bool is_listed;     /* a table whose list excludes all of the tenants; that makes it done */
    bool has_no_list;   /* a table in use whose list is created when it is read */
    int live_index;     /* in search.live, for a table in use, as are number and bytes */
    uint64_t number;
    uint64_t bytes;
};

struct files {
    size_t count;
    size_t capacity;
    struct file *of; /* sorted by name */
};

struct search {
    struct rdb_engine *engine;
    const struct sto_search_spec *spec;
    struct rdb_match match;
    struct rdb_live_files live;     /* while a pass is prepared */
    struct rdb_tenant_count *count; /* of the file being read; NULL: it has a list */
    struct errbuf *eb;
    enum err result;
    uint32_t turn;
    uint64_t files;
    uint64_t bytes;
    uint64_t listed_files; /* in the last pass */
    uint64_t listed_bytes;
    uint64_t scrubbed_files; /* of the listed files */
    int64_t scrubbed_oldest_us;
    uint64_t list_bytes; /* of lists, read in this pass */
    char version[32];    /* of RocksDB, according to the files */
    char db_path[BASE_PATH_BYTES];
};

static enum err go_on(const struct search *s)
{
    bool stop = s->spec->stop != NULL && atomic_load(s->spec->stop);
    return stop ? ERR_CANCELLED : ERR_OK;
}

static void passed_bytes(struct search *s, uint64_t bytes)
{
    s->bytes += bytes;
    sto_rdb_progress_add(s->engine, bytes);
}

/* --- tables ----------------------------------------------------------------------------------- */

static enum err visit_entry(void *ctx, enum rdb_entry_kind kind, struct slice key,
                            struct slice value)
{
    struct search *s = ctx;
    /* A key of a tenant is one too many in any kind of entry. */
    sto_rdb_match_entry(&s->match, key, value);
    if (s->count != NULL && kind != RDB_ENTRY_INDEX)
        sto_rdb_tenant_count_entry(s->count, key, kind == RDB_ENTRY_RANGE ? value : SLICE_EMPTY);
    base_yield_every(&s->turn, ENTRIES_OF_TURN);
    return go_on(s);
}

/* --- other files ------------------------------------------------------------------------------ */

static void take_version(struct search *s, struct slice bytes)
{
    const struct slice label = SLICE_LIT(VERSION_LABEL);
    const uint8_t *at =
        bytes.len < label.len ? NULL : memmem(bytes.ptr, bytes.len, label.ptr, label.len);
    if (at == NULL || s->version[0] != '\0')
        return;
    struct slice rest = base_slice_skip(bytes, (size_t)(at - bytes.ptr) + label.len);
    size_t len = 0;
    while (len < rest.len && len < sizeof s->version - 1 && rest.ptr[len] > ' ')
        len++;
    memcpy(s->version, rest.ptr, len);
}

static enum err log_passed(void *ctx, struct slice window, uint64_t file_bytes)
{
    struct search *s = ctx;
    (void)window;
    passed_bytes(s, file_bytes);
    base_yield();
    return go_on(s);
}

/* Only in files without keys and values, because those could contain any version text. */
static enum err notes_passed(void *ctx, struct slice window, uint64_t file_bytes)
{
    take_version(ctx, window);
    return log_passed(ctx, window, file_bytes);
}

static enum err search_other(struct search *s, const struct file *f, const char *path,
                             struct errbuf *eb)
{
    const struct rdb_byte_search notes = {.match = &s->match, .ctx = s, .passed = notes_passed};
    const struct rdb_byte_search log = {.match = &s->match, .ctx = s, .passed = log_passed};
    return f->kind == NOTES ? sto_rdb_search_raw(path, &notes, eb)
                            : sto_rdb_search_log(path, &log, eb);
}

static bool begins_with(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static bool ends_with(const char *name, const char *with)
{
    size_t len = strlen(name);
    return len >= strlen(with) && strcmp(name + len - strlen(with), with) == 0;
}

/* Keeps the list that was created by reading the file, for later searches. */
static void list_keep(struct search *s, const struct file *f)
{
    struct buf list;
    if (sto_rdb_tenant_count_list(s->count, &list) == ERR_OK)
        sto_rdb_file_lists_set(&s->engine->file_lists, f->number, base_buf_slice(&list));
    base_buf_fini(&list);
}

/* ERR_NOT_FOUND: the file is gone. */
static enum err search_table(struct search *s, struct file *f, const char *path, struct errbuf *eb)
{
    uint64_t bytes = 0;
    struct errbuf why = {{0}};
    s->count = f->has_no_list ? sto_rdb_tenant_count_new() : NULL;
    enum err rc = sto_rdb_table_visit(path, visit_entry, s, &bytes, &why);
    if (rc == ERR_OK && f->has_no_list)
        list_keep(s, f);
    sto_rdb_tenant_count_free(s->count);
    s->count = NULL;
    f->is_unfinished = rc == ERR_CORRUPT && !f->in_use;
    if (rc == ERR_CORRUPT && f->in_use && ends_with(f->name, RDB_COPY_ENDING))
        return unlink(path) == 0 ? ERR_NOT_FOUND : ERR_IO; /* another one is created */
    if (rc == ERR_CORRUPT && f->in_use) /* examined, and rewritten before the next attempt */
        sto_rdb_damage_found(s->engine, &(struct sto_damaged_file){.number = f->number});
    passed_bytes(s, bytes);
    return rc == ERR_OK ? rc : base_fail(eb, rc, "table file %s: %s", f->name, why.text);
}

/* --- finding the files ----------------------------------------------------------------------- */

static enum kind kind_of(const char *name)
{
    if (ends_with(name, ".sst") || ends_with(name, RDB_COPY_ENDING) ||
        ends_with(name, RDB_PART_ENDING))
        return TABLE;
    if (ends_with(name, ".log"))
        return WRITE_LOG;
    return begins_with(name, "MANIFEST-") ? MANIFEST : NOTES;
}

static int compare_files(const void *a, const void *b)
{
    const struct file *left = a;
    const struct file *right = b;
    return strcmp(left->name, right->name);
}

static struct file *find_file(const struct files *files, const char *name)
{
    struct file wanted = {.kind = NOTES};
    memcpy(wanted.name, name, strlen(name) + 1); /* a name from a list, or as short */
    return files->count == 0
               ? NULL
               : bsearch(&wanted, files->of, files->count, sizeof files->of[0], compare_files);
}

static void files_add(struct files *files, const char *name)
{
    if (files->count == files->capacity) {
        size_t capacity = files->capacity == 0 ? FILES_FIRST : 2 * files->capacity;
        struct file *of = base_new_array(capacity, sizeof of[0]);
        if (files->count > 0)
            memcpy(of, files->of, files->count * sizeof of[0]);
        base_free(files->of);
        files->of = of;
        files->capacity = capacity;
    }
    struct file *f = &files->of[files->count++];
    *f = (struct file){.kind = kind_of(name)};
    memcpy(f->name, name, strlen(name) + 1);
}

static enum err list(const struct search *s, struct files *out, struct errbuf *eb)
{
    DIR *dir = opendir(s->db_path);
    if (dir == NULL)
        return base_fail(eb, ERR_IO, "cannot look into the database's directory");
    enum err rc = ERR_OK;
    for (const struct dirent *d; rc == ERR_OK && (d = readdir(dir)) != NULL;) {
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        if (strlen(d->d_name) < NAME_BYTES)
            files_add(out, d->d_name);
        else
            rc = base_fail(eb, ERR_TOO_BIG, "a file of the database has a name of %zu bytes",
                           strlen(d->d_name));
    }
    (void)closedir(dir); /* only read from */
    if (out->count > 0)
        qsort(out->of, out->count, sizeof out->of[0], compare_files);
    return rc;
}

static bool is_apart_from(const struct rdb_wanted *w, struct slice low, struct slice high)
{
    return base_slice_compare(high, sto_range_begin(&w->range)) < 0 ||
           base_slice_compare(low, sto_range_end(&w->range)) >= 0;
}

static bool is_apart(const struct search *s, const struct rdb_live_file *live)
{
    bool result = strcmp(live->family, RDB_FAMILY_NAMES[RDB_CF_META]) != 0;
    for (size_t i = 0; result && i < s->match.count; i++)
        result = is_apart_from(&s->match.wanted[i], live->low, live->high);
    return result;
}

/* Returns the index of a table, or of the one whose copy it is. A copy in progress is not in
 * use. */
static int live_index_of(const struct search *s, const struct file *f)
{
    char name[NAME_BYTES];
    memcpy(name, f->name, sizeof(name));
    if (ends_with(name, RDB_COPY_ENDING))
        name[strlen(name) - strlen(RDB_COPY_ENDING)] = '\0';
    return sto_rdb_live_files_find(&s->live, name);
}

static void mark_tables(const struct search *s, struct files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        struct file *f = &files->of[i];
        int index = f->kind == TABLE ? live_index_of(s, f) : -1;
        f->in_use = index >= 0;
        if (index < 0)
            continue;
        struct rdb_live_file live;
        sto_rdb_live_files_get(&s->live, index, &live);
        f->live_index = index;
        f->number = live.number;
        f->bytes = live.bytes;
        f->is_apart = is_apart(s, &live);
    }
}

/* Marks the current MANIFEST, and logs that are not older than a start would read. */
static void mark_others(const struct search *s, struct files *files)
{
    char path[BASE_PATH_BYTES];
    struct buf current;
    uint64_t oldest = 0;
    (void)rocksdb_property_int(s->engine->db.handle, "rocksdb.min-log-number-to-keep",
                               &oldest); /* 0: all are in use, so matches in them are outside */
    base_buf_init(&current, NAME_BYTES);
    enum err rc = base_path_join(path, s->db_path, "CURRENT", NULL);
    if (rc == ERR_OK)
        rc = base_file_read(path, NAME_BYTES, &current, NULL); /* empty: no MANIFEST is in use */
    for (size_t i = 0; i < files->count; i++) {
        struct file *f = &files->of[i];
        struct slice name = base_slice_text(f->name);
        if (f->kind == MANIFEST)
            f->in_use = rc == ERR_OK && base_slice_starts_with(base_buf_slice(&current), name);
        else if (f->kind == WRITE_LOG)
            f->in_use = sto_rdb_file_number(f->name) >= oldest;
        else if (f->kind == NOTES)
            f->in_use = true;
    }
    base_buf_fini(&current);
}

/* Starts the progress of the bytes to be read and the lists that were read; files that are done do
 * not count. */
static void measure(struct search *s, const struct files *files)
{
    uint64_t total = s->list_bytes;
    for (size_t i = 0; i < files->count; i++) {
        char path[BASE_PATH_BYTES];
        struct stat st;
        if (!files->of[i].done &&
            base_path_join(path, s->db_path, files->of[i].name, NULL) == ERR_OK &&
            stat(path, &st) == 0)
            total += (uint64_t)st.st_size;
    }
    sto_rdb_progress_begin(s->engine, STO_PROGRESS_BYTES, total);
    passed_bytes(s, s->list_bytes);
}

/* --- counting -------------------------------------------------------------------------------- */

static void count_for(struct rdb_wanted *w, const struct file *f, bool is_there)
{
    struct sto_search *found = &w->target->found;
    found->canaries += w->canaries_here;
    if (f->kind == TABLE) {
        found->keys += w->keys_here;
        found->outside += w->prefixes_here;
    } else if (f->kind == NOTES) {
        found->notes += w->prefixes_here;
    } else if (f->in_use) {
        found->outside += w->prefixes_here;
    }
    bool holds_some =
        (f->kind == TABLE ? w->keys_here : w->prefixes_here) > 0 || w->canaries_here > 0;
    if (!f->in_use && holds_some && is_there)
        found->obsolete++;
}

static void count_file(struct search *s, const struct file *f, const char *path)
{
    bool is_there = access(path, F_OK) == 0;
    s->files++;
    for (size_t i = 0; i < s->match.count; i++)
        count_for(&s->match.wanted[i], f, is_there);
}

static enum err search_one(struct search *s, struct file *f, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = base_path_join(path, s->db_path, f->name, eb);
    if (rc != ERR_OK)
        return rc;
    sto_rdb_match_forget(&s->match);
    rc = f->kind == TABLE ? search_table(s, f, path, eb) : search_other(s, f, path, eb);
    if (rc == ERR_NOT_FOUND || f->is_unfinished)
        return ERR_OK; /* and not done */
    f->done = rc == ERR_OK;
    if (rc == ERR_OK)
        count_file(s, f, path);
    return rc;
}

/* --- tables that list their tenants ----------------------------------------------------------- */

static enum rdb_listed listed(struct search *s, const struct file *f)
{
    char path[BASE_PATH_BYTES];
    struct rdb_live_file live;
    uint64_t bytes = 0;
    sto_rdb_live_files_get(&s->live, f->live_index, &live);
    const struct rdb_listed_file file = {.path = path,
                                         .family = sto_rdb_family_index(live.family),
                                         .number = live.number,
                                         .bytes = live.bytes,
                                         .low = live.low,
                                         .high = live.high};
    enum err rc = base_path_join(path, s->db_path, f->name, NULL);
    enum rdb_listed result =
        rc == ERR_OK ? sto_rdb_listed(s->engine, &file, &s->match, &bytes) : RDB_LISTED_UNKNOWN;
    s->list_bytes += bytes;
    base_yield_every(&s->turn, ENTRIES_OF_TURN);
    return result;
}

/* --- a pass ----------------------------------------------------------------------------------- */

static void count_listed(struct search *s, const struct file *f)
{
    struct rdb_scrubbed scrubbed;
    s->listed_files++;
    s->listed_bytes += f->bytes;
    if (!sto_rdb_scrub_find(&s->engine->scrub, f->number, f->bytes, &scrubbed) ||
        scrubbed.result != RDB_SCRUB_SOUND)
        return;
    if (s->scrubbed_files++ == 0 || scrubbed.at_us < s->scrubbed_oldest_us)
        s->scrubbed_oldest_us = scrubbed.at_us;
}

/* Marks the files that need no reading in this pass. */
static enum err mark_done(struct search *s, const struct files *before, struct files *files)
{
    enum err rc = ERR_OK;
    s->listed_files = 0;
    s->listed_bytes = 0;
    s->scrubbed_files = 0;
    s->scrubbed_oldest_us = 0;
    s->list_bytes = 0;
    for (size_t i = 0; rc == ERR_OK && i < files->count; i++) {
        struct file *f = &files->of[i];
        const struct file *earlier = find_file(before, f->name);
        f->done = (earlier != NULL && earlier->done) || (before->count > 0 && f->kind != TABLE) ||
                  (s->spec->only_its_own && f->is_apart);
        f->is_listed = earlier != NULL && earlier->is_listed;
        if (!f->done && !s->spec->deep && f->kind == TABLE && f->in_use) {
            enum rdb_listed is = listed(s, f);
            f->done = f->is_listed = is == RDB_LISTED_NONE;
            f->has_no_list = is == RDB_LISTED_UNKNOWN;
        }
        if (f->is_listed)
            count_listed(s, f);
        rc = go_on(s);
    }
    return rc;
}

/* Reads the files that were not read before; *out_missed: number of files that vanished. */
static enum err pass(struct search *s, const struct files *before, struct files *files,
                     size_t *out_missed, struct errbuf *eb)
{
    *out_missed = 0;
    files->count = 0;
    enum err rc = list(s, files, eb);
    if (rc != ERR_OK)
        return rc;
    sto_rdb_live_files_open(s->engine->db.handle, &s->live);
    sto_rdb_file_lists_keep(&s->engine->file_lists, &s->live);
    mark_tables(s, files);
    mark_others(s, files);
    rc = mark_done(s, before, files);
    sto_rdb_live_files_close(&s->live);
    if (rc != ERR_OK)
        return rc;
    measure(s, files);
    for (size_t i = 0; rc == ERR_OK && i < files->count; i++) {
        struct file *f = &files->of[i];
        if (!f->done)
            rc = search_one(s, f, eb);
        *out_missed += !f->done && !f->is_unfinished;
    }
    return rc;
}

static enum err search_all(struct search *s, struct errbuf *eb)
{
    struct files lists[2] = {{0}};
    struct errbuf why = {{0}};
    enum err rc = ERR_OK;
    size_t missed = 1;
    for (size_t i = 0; rc == ERR_OK && missed > 0 && i < PASSES; i++)
        rc = pass(s, &lists[(i + 1) % 2], &lists[i % 2], &missed, &why);
    base_free(lists[0].of);
    base_free(lists[1].of);
    if (rc == ERR_OK && missed > 0)
        return base_fail(eb, ERR_TIMEOUT, "%zu files changed whenever they were to be searched",
                         missed);
    return rc == ERR_OK ? rc : base_fail(eb, rc, "%s", why.text);
}

/* Not on the tenant's committer: before the tenant exists nothing else writes there. */
enum err sto_rdb_canaries_plant(struct sto_engine *engine, const struct sto_tenant_scope *scope,
                                const uint8_t canaries[][STO_CANARY_BYTES], size_t count,
                                const struct sto_doc_change *docs, size_t doc_count,
                                struct errbuf *eb)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    struct sto_range range = sto_range_of_tenant(scope);
    enum err rc = sto_rdb_usable(e, eb);
    if (rc != ERR_OK)
        return rc;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    pthread_mutex_lock(&e->docs_lock);
    rc = sto_rdb_docs_stage(e, batch, docs, doc_count, eb);
    for (size_t i = 0; rc == ERR_OK && i < count; i++) {
        uint8_t key[STO_RANGE_KEY_MAX + 2];
        size_t len = sto_canary_key(&range, (uint8_t)i, key);
        rocksdb_writebatch_put_cf(batch, e->db.cells, (const char *)key, len,
                                  (const char *)canaries[i], STO_CANARY_BYTES);
    }
    if (rc == ERR_OK) {
        rc = sto_rdb_write(e, batch);
        if (rc != ERR_OK)
            (void)base_fail(eb, rc, "the tenant could not be made durable"); /* rc is known */
    }
    pthread_mutex_unlock(&e->docs_lock);
    rocksdb_writebatch_destroy(batch);
    return rc;
}

static void give(const struct search *s, struct sto_search_target *targets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sto_search *found = &targets[i].found;
        found->files = s->files;
        found->bytes = s->bytes;
        found->listed_files = s->listed_files;
        found->listed_bytes = s->listed_bytes;
        found->deep = s->spec->deep;
        found->scrubbed_files = s->scrubbed_files;
        found->scrubbed_oldest_us = s->scrubbed_oldest_us;
        memcpy(found->engine, s->version, sizeof found->engine);
    }
}

static void run_search(void *ctx)
{
    struct search *s = ctx;
    s->result = search_all(s, s->eb);
}

enum err sto_rdb_search_files(struct sto_engine *engine, struct sto_search_target *targets,
                              size_t count, const struct sto_search_spec *spec, struct errbuf *eb)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    struct search s = {.engine = e, .spec = spec, .eb = eb};
    enum err rc = sto_rdb_usable(e, eb);
    if (rc == ERR_OK)
        rc = base_path_join(s.db_path, e->dir, "db", eb);
    if (rc == ERR_OK)
        rc = spec->only_its_own ? sto_rdb_meta_copies_tidy(e, eb)
                                : sto_rdb_wait_for_held_files(e, e->wait_seconds, eb);
    if (rc != ERR_OK)
        return rc;
    for (size_t i = 0; i < count; i++)
        targets[i].found = (struct sto_search){0};
    sto_rdb_match_init(&s.match, targets, count);
    base_run_apart("search", BASE_ERASE, run_search, &s);
    if (s.result == ERR_OK)
        give(&s, targets, count);
    sto_rdb_match_fini(&s.match);
    return s.result;
}

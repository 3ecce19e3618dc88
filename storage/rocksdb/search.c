/*
 * storage/rocksdb/search.c - file after file, entry after entry, window after window.
 *
 *   file                       how it is read      the tenant's prefix there is
 *   *.sst                      every entry         a key of it; in others' keys and values: outside
 *   *.log, in use              as it is            outside: after a flush only others write there
 *   *.log, not in use any more as it is            something that has to go yet
 *   MANIFEST-*, the current    as it is            outside: bounds of others' keys
 *   MANIFEST-*, others         as it is            something that has to go yet
 *   LOG*, OPTIONS-*, the rest  as it is            a note: nothing there comes from keys or values
 *
 * A canary is found by its public head and known by its hash, wherever it stands.
 *
 * 1. A table that vanishes before it is read was compacted into others: tables that were not read
 *    yet are read then, and so on until none vanished.
 * 2. A table that is still being written is made of such as are in use, which are read, or vanish.
 */
#define _GNU_SOURCE

#include "storage/rocksdb/search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "storage/range.h"
#include "storage/rocksdb/docs.h"
#include "storage/rocksdb/heldfiles.h"
#include "storage/rocksdb/purge.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/table_file.h"

#include "base/banned.h"

#define NAME_BYTES      64
#define VERSION_LABEL   "rocksdb_version="
#define PASSES          8
#define IOPRIO_WHO_SELF 1
#define IOPRIO_IDLE     (3 << 13)
#define IOPRIO_DEFAULT  0

enum kind { TABLE, WRITE_LOG, MANIFEST, NOTES };

struct file {
    char name[NAME_BYTES];
    enum kind kind;
    bool in_use;
    bool done;          /* read to its end */
    bool is_unfinished; /* a table that is being written */
    bool is_apart;      /* a table whose bounds say that it holds nothing of the tenant */
};

struct files {
    size_t count;
    struct file of[RDB_HELD_FILES_MAX];
};

struct search {
    struct rdb_engine *engine;
    const struct sto_search_spec *spec;
    struct sto_search *found;
    struct sto_range range; /* its begin is the prefix */
    struct slice prefix;
    char db_path[BASE_PATH_BYTES];
    uint64_t here; /* prefixes in the file that is read */
};

/* --- in a run of bytes ------------------------------------------------------------------------ */

static const uint8_t *find(struct slice in, struct slice what)
{
    return in.len < what.len ? NULL : memmem(in.ptr, in.len, what.ptr, what.len);
}

/* How often `what` begins in the first `limit` bytes. */
static uint64_t count_of(struct slice in, struct slice what, size_t limit)
{
    uint64_t count = 0;
    const uint8_t *at;
    while ((at = find(in, what)) != NULL && (size_t)(at - in.ptr) < limit) {
        size_t passed = (size_t)(at - in.ptr) + 1;
        count++;
        in = base_slice_skip(in, passed);
        limit -= passed;
    }
    return count;
}

static bool is_canary(const struct search *s, const uint8_t *at)
{
    struct sto_canary c;
    (void)SHA256(at, STO_CANARY_BYTES, c.hash); /* cannot fail with memory of its own */
    for (size_t i = 0; i < s->spec->canary_count; i++)
        if (memcmp(c.hash, s->spec->canaries[i].hash, sizeof c.hash) == 0)
            return true;
    return false;
}

static uint64_t count_canaries(const struct search *s, struct slice in, size_t limit)
{
    const struct slice head = SLICE_LIT(STO_CANARY_HEAD);
    uint64_t count = 0;
    const uint8_t *at;
    while (s->spec->canary_count > 0 && (at = find(in, head)) != NULL &&
           (size_t)(at - in.ptr) < limit) {
        size_t passed = (size_t)(at - in.ptr) + 1;
        count += in.len - (passed - 1) >= STO_CANARY_BYTES && is_canary(s, at);
        in = base_slice_skip(in, passed);
        limit -= passed;
    }
    return count;
}

static enum err go_on(const struct search *s)
{
    bool stop = s->spec->stop != NULL && atomic_load(s->spec->stop);
    return stop ? ERR_CANCELLED : ERR_OK;
}

static void passed_bytes(const struct search *s, uint64_t bytes)
{
    if (s->spec->progress != NULL)
        atomic_fetch_add(s->spec->progress, bytes);
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Its rows and changes, or its documents: "u/tenant/..." and the like. */
static bool is_its_key(const struct search *s, struct slice key)
{
    if (base_slice_starts_with(key, s->prefix))
        return true;
    size_t id_len = s->prefix.len - 1;
    return key.len >= id_len + 3 && key.ptr[1] == '/' && key.ptr[id_len + 2] == '/' &&
           strchr(RDB_TENANT_LETTERS, key.ptr[0]) != NULL && key.ptr[0] != '\0' &&
           memcmp(key.ptr + 2, s->prefix.ptr, id_len) == 0;
}

static enum err visit_entry(void *ctx, enum rdb_entry_kind kind, struct slice key,
                            struct slice value)
{
    struct search *s = ctx;
    (void)kind; /* a key of the tenant's is one too many everywhere */
    if (is_its_key(s, key))
        s->here++;
    else
        s->found->outside += count_of(key, s->prefix, key.len);
    s->found->outside += count_of(value, s->prefix, value.len);
    s->found->canaries += count_canaries(s, key, key.len) + count_canaries(s, value, value.len);
    return go_on(s);
}

/* --- other files ------------------------------------------------------------------------------ */

static void take_version(struct sto_search *found, struct slice bytes)
{
    const struct slice label = SLICE_LIT(VERSION_LABEL);
    const uint8_t *at = find(bytes, label);
    if (at == NULL || found->engine[0] != '\0')
        return;
    struct slice rest = base_slice_skip(bytes, (size_t)(at - bytes.ptr) + label.len);
    size_t len = 0;
    while (len < rest.len && len < sizeof found->engine - 1 && rest.ptr[len] > ' ')
        len++;
    memcpy(found->engine, rest.ptr, len);
}

/* What begins in the last bytes of a window is looked for in the next one. */
static enum err search_bytes(struct search *s, int fd, uint8_t *window)
{
    size_t overlap = (s->prefix.len > STO_CANARY_BYTES ? s->prefix.len : STO_CANARY_BYTES) - 1;
    size_t kept = 0;
    enum err rc = ERR_OK;
    while (rc == ERR_OK) {
        ssize_t n = read(fd, window + kept, RDB_SEARCH_CHUNK - kept);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ERR_IO;
        struct slice bytes = base_slice(window, kept + (size_t)n);
        size_t limit = n > 0 && bytes.len > overlap ? bytes.len - overlap : bytes.len;
        if (n > 0 && bytes.len <= overlap)
            limit = 0;
        s->here += count_of(bytes, s->prefix, limit);
        s->found->canaries += count_canaries(s, bytes, limit);
        take_version(s->found, bytes);
        if (n == 0)
            return ERR_OK;
        kept = bytes.len - limit;
        memmove(window, window + limit, kept);
        passed_bytes(s, (uint64_t)n);
        s->found->bytes += (uint64_t)n;
        rc = go_on(s);
    }
    return rc;
}

/* A file that is gone is read to its end. */
static enum err search_raw(struct search *s, const char *path, struct errbuf *eb)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return ERR_OK;
    uint8_t *window = base_new(RDB_SEARCH_CHUNK);
    enum err rc = fd < 0 ? ERR_IO : search_bytes(s, fd, window);
    base_free(window);
    if (fd >= 0)
        (void)close(fd); /* it was only read */
    if (rc == ERR_OK || rc == ERR_CANCELLED)
        return rc;
    return base_fail(eb, rc, "a file of the database cannot be read");
}

/* ERR_NOT_FOUND: it is gone. */
static enum err search_table(struct search *s, struct file *f, const char *path, struct errbuf *eb)
{
    uint64_t bytes = 0;
    struct errbuf why = {{0}};
    enum err rc = sto_rdb_table_visit(path, visit_entry, s, &bytes, &why);
    f->is_unfinished = rc == ERR_CORRUPT && !f->in_use;
    passed_bytes(s, bytes);
    s->found->bytes += bytes;
    return rc == ERR_OK ? rc : base_fail(eb, rc, "%s", why.text);
}

/* --- which files there are -------------------------------------------------------------------- */

static bool begins_with(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static bool ends_with(const char *name, const char *with)
{
    size_t len = strlen(name);
    return len >= strlen(with) && strcmp(name + len - strlen(with), with) == 0;
}

static enum kind kind_of(const char *name)
{
    if (ends_with(name, ".sst"))
        return TABLE;
    if (ends_with(name, ".log"))
        return WRITE_LOG;
    return begins_with(name, "MANIFEST-") ? MANIFEST : NOTES;
}

static enum err list(const struct search *s, struct files *out, struct errbuf *eb)
{
    DIR *dir = opendir(s->db_path);
    if (dir == NULL)
        return base_fail(eb, ERR_IO, "cannot look into the database's directory");
    enum err rc = ERR_OK;
    for (const struct dirent *d; rc == ERR_OK && (d = readdir(dir)) != NULL;) {
        size_t len = strlen(d->d_name);
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        if (len >= NAME_BYTES || out->count == RDB_HELD_FILES_MAX) {
            rc = base_fail(eb, ERR_TOO_BIG, "there are more than %d files to search",
                           RDB_HELD_FILES_MAX);
            break;
        }
        struct file *f = &out->of[out->count++];
        *f = (struct file){.kind = kind_of(d->d_name)};
        memcpy(f->name, d->d_name, len + 1);
    }
    (void)closedir(dir); /* only read from */
    return rc;
}

static void mark_tables(const struct search *s, struct files *files)
{
    struct slice begin = sto_range_begin(&s->range);
    struct slice end = sto_range_end(&s->range);
    const rocksdb_livefiles_t *live = rocksdb_livefiles(s->engine->db.handle);
    for (int i = 0; i < rocksdb_livefiles_count(live); i++) {
        const char *name = rocksdb_livefiles_name(live, i); /* "/000012.sst" */
        struct slice low, high;
        low.ptr = (const uint8_t *)rocksdb_livefiles_smallestkey(live, i, &low.len);
        high.ptr = (const uint8_t *)rocksdb_livefiles_largestkey(live, i, &high.len);
        bool is_apart = strcmp(rocksdb_livefiles_column_family_name(live, i), "meta") != 0 &&
                        (base_slice_compare(high, begin) < 0 || base_slice_compare(low, end) >= 0);
        for (size_t j = 0; j < files->count; j++)
            if (strcmp(files->of[j].name, name + (name[0] == '/')) == 0) {
                files->of[j].in_use = true;
                files->of[j].is_apart = is_apart;
            }
    }
    rocksdb_livefiles_destroy(live);
}

/* The current MANIFEST, and logs that are not older than what a start would read. */
static void mark_others(const struct search *s, struct files *files)
{
    char path[BASE_PATH_BYTES];
    struct buf current;
    uint64_t oldest = 0;
    (void)rocksdb_property_int(s->engine->db.handle, "rocksdb.min-log-number-to-keep",
                               &oldest); /* 0: all are in use, so what they hold is outside */
    base_buf_init(&current, NAME_BYTES);
    enum err rc = base_path_join(path, s->db_path, "CURRENT", NULL);
    if (rc == ERR_OK)
        rc = base_file_read(path, NAME_BYTES, &current, NULL); /* empty: no MANIFEST is in use */
    for (size_t i = 0; i < files->count; i++) {
        struct file *f = &files->of[i];
        struct slice name = base_slice_text(f->name);
        size_t zeros = strspn(f->name, "0");
        uint64_t number = 0;
        if (f->kind == MANIFEST)
            f->in_use = rc == ERR_OK && base_slice_starts_with(base_buf_slice(&current), name);
        else if (f->kind == WRITE_LOG &&
                 base_parse_u64(base_slice(name.ptr + zeros, name.len - zeros - 4), &number) ==
                     ERR_OK)
            f->in_use = number >= oldest;
        else if (f->kind == NOTES)
            f->in_use = true;
    }
    base_buf_fini(&current);
}

static void measure(const struct search *s, struct files *files)
{
    uint64_t total = 0;
    for (size_t i = 0; i < files->count; i++) {
        char path[BASE_PATH_BYTES];
        struct stat st;
        if (base_path_join(path, s->db_path, files->of[i].name, NULL) == ERR_OK &&
            stat(path, &st) == 0)
            total += (uint64_t)st.st_size;
    }
    if (s->spec->progress_of != NULL)
        atomic_store(s->spec->progress_of, total);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void count_file(struct search *s, const struct file *f, const char *path, bool has_canary)
{
    s->found->files++;
    if (f->kind == TABLE)
        s->found->keys += s->here;
    else if (f->kind == NOTES)
        s->found->notes += s->here;
    else if (f->in_use)
        s->found->outside += s->here;
    if (!f->in_use && (s->here > 0 || has_canary) && access(path, F_OK) == 0)
        s->found->obsolete++;
}

static enum err search_one(struct search *s, struct file *f, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    uint64_t canaries = s->found->canaries;
    enum err rc = base_path_join(path, s->db_path, f->name, eb);
    if (rc != ERR_OK)
        return rc;
    s->here = 0;
    rc = f->kind == TABLE ? search_table(s, f, path, eb) : search_raw(s, path, eb);
    if (rc == ERR_NOT_FOUND || f->is_unfinished)
        return ERR_OK; /* and not done */
    f->done = rc == ERR_OK;
    if (rc == ERR_OK)
        count_file(s, f, path, s->found->canaries > canaries);
    return rc;
}

static bool was_read(const struct files *before, const struct file *f)
{
    for (size_t i = 0; i < before->count; i++)
        if (strcmp(before->of[i].name, f->name) == 0)
            return before->of[i].done;
    return false;
}

/* Read what is in files and was not read before; *out_missed: how many vanished. */
static enum err pass(struct search *s, const struct files *before, struct files *files,
                     size_t *out_missed, struct errbuf *eb)
{
    *out_missed = 0;
    files->count = 0;
    enum err rc = list(s, files, eb);
    if (rc != ERR_OK)
        return rc;
    mark_tables(s, files);
    mark_others(s, files);
    measure(s, files);
    for (size_t i = 0; rc == ERR_OK && i < files->count; i++) {
        struct file *f = &files->of[i];
        f->done = was_read(before, f) || (before->count > 0 && f->kind != TABLE) ||
                  (s->spec->only_its_own && f->is_apart);
        if (!f->done)
            rc = search_one(s, f, eb);
        *out_missed += !f->done && !f->is_unfinished;
    }
    return rc;
}

static enum err search_all(struct search *s, struct errbuf *eb)
{
    struct files *lists = base_new_array(2, sizeof lists[0]);
    struct errbuf why = {{0}};
    enum err rc = ERR_OK;
    size_t missed = 1;
    for (size_t i = 0; rc == ERR_OK && missed > 0 && i < PASSES; i++)
        rc = pass(s, &lists[(i + 1) % 2], &lists[i % 2], &missed, &why);
    base_free(lists);
    if (rc == ERR_OK && missed > 0)
        return base_fail(eb, ERR_TIMEOUT, "%zu files changed whenever they were to be searched",
                         missed);
    return rc == ERR_OK ? rc : base_fail(eb, rc, "%s", why.text);
}

/* Not by the tenant's committer: before there is a tenant nobody else writes there. */
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

/* Whoever serves requests reads first. */
static void set_io_priority(int priority)
{
    (void)syscall(SYS_ioprio_set, IOPRIO_WHO_SELF, 0, priority); /* it is a favour */
}

enum err sto_rdb_search_files(struct sto_engine *engine, const struct sto_tenant_scope *scope,
                              const struct sto_search_spec *spec, struct sto_search *out,
                              struct errbuf *eb)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    struct sto_search found = {0};
    struct search s = {
        .engine = e, .spec = spec, .found = &found, .range = sto_range_of_tenant(scope)};
    s.prefix = sto_range_begin(&s.range);
    enum err rc = sto_rdb_usable(e, eb);
    if (rc == ERR_OK)
        rc = base_path_join(s.db_path, e->dir, "db", eb);
    if (rc != ERR_OK)
        return rc;
    if (spec->progress != NULL)
        atomic_store(spec->progress, 0);
    set_io_priority(IOPRIO_IDLE);
    if (!spec->only_its_own)
        rc = sto_rdb_wait_for_held_files(e, e->wait_seconds, eb);
    if (rc == ERR_OK)
        rc = search_all(&s, eb);
    set_io_priority(IOPRIO_DEFAULT);
    if (rc == ERR_OK)
        *out = found;
    return rc;
}

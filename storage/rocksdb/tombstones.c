/*
 * storage/rocksdb/tombstones.c - why reads keep away from range tombstones, and how those go.
 *
 * A read on a loop has RocksDB look in memory only, and RocksDB reports when a block is not there.
 * But its merging iterator forgets that report when it jumps over a range tombstone, or into the
 * next file after one (release 7.8.3, SeekImpl and SkipNextDeleted; repaired in 8.5.2, pull request
 * 11786): rows are missing then, and no error is returned. An iterator that ignores range
 * tombstones reports everything. So the tenants whose rows they may cover are known: their reads go
 * to readers, which wait for blocks, unless the release is a repaired one (compat.h); all others
 * ignore range tombstones.
 *
 *   written in a batch   its tenant is an owner; begun is one more, before the write
 *   flushed              flushed is what was begun before it
 *   gone from files      gone is what was flushed when the files were asked
 *
 * A compaction drops a range tombstone only when no file is deeper than its output anywhere between
 * the smallest and the largest key of all its input files, which may be rows of others. So a
 * compaction of the deleted range alone may leave it where it is, for ever. Each round here
 * compacts from the smallest to the largest key of a file that holds one: it gets one level deeper
 * at least, and in the last level it is dropped.
 */
#include "storage/rocksdb/tombstones.h"

#include "base/alloc.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/tombstone_files.h"

#include "base/banned.h"

#define PUSH_ROUNDS 16 /* more than there are levels: others write meanwhile */

/* --- numbers and owners -------------------------------------------------------------------- */

void sto_rdb_tombstones_init(struct rdb_tombstones *t)
{
    atomic_store(&t->begun, 1);
    atomic_store(&t->flushed, 1);
    atomic_store(&t->gone, 0);
    atomic_store(&t->is_anybody, true);
    for (size_t i = 0; i < RDB_TOMBSTONE_OWNERS; i++)
        atomic_store(&t->owners[i], NULL);
    t->is_loaded = false;
}

static bool owner_add(struct rdb_tombstones *t, const struct sto_account *owner)
{
    for (size_t i = 0; owner != NULL && i < RDB_TOMBSTONE_OWNERS; i++) {
        const struct sto_account *here = atomic_load(&t->owners[i]);
        if (here != NULL && here != owner)
            continue;
        atomic_store(&t->owners[i], owner);
        return true;
    }
    return false;
}

void sto_rdb_tombstones_begin(struct rdb_tombstones *t, const struct sto_account *owner)
{
    if (!owner_add(t, owner))
        atomic_store(&t->is_anybody, true);
    atomic_fetch_add(&t->begun, 1);
}

uint64_t sto_rdb_tombstones_before_flush(struct rdb_engine *e)
{
    pthread_mutex_lock(&e->docs_lock);
    uint64_t begun = atomic_load(&e->tombstones.begun);
    pthread_mutex_unlock(&e->docs_lock);
    return begun;
}

static void raise_to(_Atomic uint64_t *value, uint64_t to)
{
    uint64_t now = atomic_load(value);
    while (now < to && !atomic_compare_exchange_weak(value, &now, to))
        ;
}

void sto_rdb_tombstones_flushed(struct rdb_tombstones *t, uint64_t begun)
{
    raise_to(&t->flushed, begun);
}

/* None is left of those up to a number; without newer ones nobody owns any. */
static void tombstones_gone(struct rdb_engine *e, uint64_t number)
{
    struct rdb_tombstones *t = &e->tombstones;
    pthread_mutex_lock(&e->docs_lock);
    raise_to(&t->gone, number);
    if (atomic_load(&t->gone) == atomic_load(&t->begun)) {
        atomic_store(&t->is_anybody, false);
        for (size_t i = 0; i < RDB_TOMBSTONE_OWNERS; i++)
            atomic_store(&t->owners[i], NULL);
    }
    pthread_mutex_unlock(&e->docs_lock);
}

/* --- reading ---------------------------------------------------------------------------------- */

rocksdb_iterator_t *sto_rdb_rows_iterator(struct rdb_engine *e, rocksdb_readoptions_t *options,
                                          const struct sto_account *account)
{
    uint64_t mark = sto_rdb_tombstones_mark(&e->tombstones, account);
    rocksdb_readoptions_set_ignore_range_deletions(options, mark != 0);
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.cells);
    if (mark == 0 || sto_rdb_tombstones_still(&e->tombstones, mark))
        return it;
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_set_ignore_range_deletions(options, 0);
    return rocksdb_create_iterator_cf(e->db.handle, options, e->db.cells);
}

/* --- files ------------------------------------------------------------------------------------ */

/* From the smallest to the largest key of each live file with range tombstones. */
struct bounds {
    struct buf low;
    struct buf high;
};

struct bounds_list {
    size_t count;
    struct bounds *of;
};

static void bounds_fini(struct bounds_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        base_buf_fini(&list->of[i].low);
        base_buf_fini(&list->of[i].high);
    }
    base_free(list->of);
}

static struct slice key_of(const char *(*get)(const rocksdb_livefiles_t *, int, size_t *),
                           const rocksdb_livefiles_t *files, int index)
{
    struct slice key;
    key.ptr = (const uint8_t *)get(files, index, &key.len);
    return key;
}

/* The list of live files is made before the numbers are asked for (tombstone_files.cc, 1). */
static void bounds_find(struct rdb_engine *e, int family, const struct sto_span *within,
                        struct bounds_list *out)
{
    const rocksdb_livefiles_t *files = rocksdb_livefiles(e->db.handle);
    int count = rocksdb_livefiles_count(files);
    *out = (struct bounds_list){.of = base_new_array((size_t)count + 1, sizeof out->of[0])};
    for (int i = 0; i < count; i++) {
        struct slice low = key_of(rocksdb_livefiles_smallestkey, files, i);
        struct slice high = key_of(rocksdb_livefiles_largestkey, files, i);
        if (strcmp(rocksdb_livefiles_column_family_name(files, i), RDB_FAMILY_NAMES[family]) != 0 ||
            (within != NULL && (base_slice_compare(low, within->end) >= 0 ||
                                base_slice_compare(high, within->begin) < 0)) ||
            !sto_rdb_tombstone_files_has(e->db.tombstone_files,
                                         sto_rdb_file_number(rocksdb_livefiles_name(files, i))))
            continue;
        struct bounds *b = &out->of[out->count++];
        base_buf_init(&b->low, low.len + 1);
        base_buf_init(&b->high, high.len + 1);
        INVARIANT(base_buf_append(&b->low, low) == ERR_OK);
        INVARIANT(base_buf_append(&b->high, high) == ERR_OK);
    }
    rocksdb_livefiles_destroy(files);
}

enum err sto_rdb_tombstones_push(struct rdb_engine *e, int family, const struct sto_span *within,
                                 bool *out_none, struct errbuf *eb)
{
    enum err rc = ERR_OK;
    *out_none = false;
    for (int round = 0; rc == ERR_OK && !*out_none && round < PUSH_ROUNDS; round++) {
        struct bounds_list list;
        bounds_find(e, family, within, &list);
        *out_none = list.count == 0;
        for (size_t i = 0; (rc == ERR_OK || rc == ERR_CORRUPT) && i < list.count; i++) {
            sto_rdb_range_compact(e, family, base_buf_slice(&list.of[i].low),
                                  base_buf_slice(&list.of[i].high));
            enum err one = sto_rdb_compactions_check(e, eb);
            rc = one == ERR_OK ? rc : one; /* the files behind a damaged one are rewritten, too */
        }
        bounds_fini(&list);
    }
    return rc;
}

/* --- until there is none --------------------------------------------------------------------- */

/* Of runs before this one. A file whose properties cannot be read may have some. */
static bool files_load(struct rdb_engine *e)
{
    struct rdb_tombstones *t = &e->tombstones;
    if (!t->is_loaded)
        t->is_loaded = sto_rdb_tombstone_files_load(e->db.tombstone_files, e->db.handle,
                                                    e->db.cells, NULL) == ERR_OK &&
                       sto_rdb_tombstone_files_load(e->db.tombstone_files, e->db.handle,
                                                    e->db.changes, NULL) == ERR_OK;
    return t->is_loaded;
}

enum err sto_rdb_tombstones_clear(struct rdb_engine *e, struct errbuf *eb)
{
    struct rdb_tombstones *t = &e->tombstones;
    bool is_none = true;
    enum err rc = ERR_OK;
    if (sto_rdb_tombstones_mark(t, NULL) != 0)
        return ERR_OK;
    if (!files_load(e))
        return ERR_TIMEOUT;
    if (atomic_load(&t->flushed) < atomic_load(&t->begun))
        rc = sto_rdb_flush(e);
    uint64_t flushed = atomic_load(&t->flushed);
    if (rc == ERR_OK && !sto_rdb_tombstone_files_is_empty(e->db.tombstone_files)) {
        rc = sto_rdb_wait_for_snapshots(e, eb);
        if (rc == ERR_OK)
            rc = sto_rdb_tombstones_push(e, RDB_CF_CELLS, NULL, &is_none, eb);
    }
    if (rc != ERR_OK || !is_none)
        return rc == ERR_OK ? ERR_TIMEOUT : rc;
    tombstones_gone(e, flushed);
    return sto_rdb_tombstones_mark(t, NULL) != 0 ? ERR_OK : ERR_TIMEOUT;
}

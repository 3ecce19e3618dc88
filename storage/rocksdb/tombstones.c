/*
 * storage/rocksdb/tombstones.c - keeps reads from memory away from range tombstones, and removes
 * these.
 *
 * A read on a loop has RocksDB search memory only, and RocksDB reports when a block is not there.
 * But its merging iterator loses that report when it jumps over a range tombstone, or into the next
 * file after one (release 7.8.3, SeekImpl and SkipNextDeleted; repaired in 8.5.2, pull request
 * 11786): rows are missing then, and no error is returned. An iterator that ignores range
 * tombstones reports everything. So the engine keeps track of the tenants whose rows they may
 * cover: their reads go to readers, which wait for blocks, unless the release is a repaired one
 * (compat.h); all others ignore range tombstones.
 *
 *   written in a batch   begun rises by 1 before the write; the tenant's account gets that number
 *   flushed              flushed is the value of begun before the flush
 *   gone from files      gone is the value of flushed when the files were read
 *
 * Those of earlier runs have number 1. Accounts do not know it: until the files were read, any
 * tenant may own them.
 *
 * A compaction drops a range tombstone only if no file is deeper than its output anywhere between
 * the smallest and the largest key of all its input files, which may include rows of other tenants.
 * So a compaction of the deleted range alone may keep it forever. Each round here compacts from the
 * smallest to the largest key of a file that holds one: it moves at least one level down, and in
 * the last level it is dropped.
 */
#include "storage/rocksdb/tombstones.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/table_file.h"
#include "storage/rocksdb/tombstone_files.h"

#include "base/banned.h"

#define PUSH_ROUNDS 16 /* more than there are levels: others write at the same time */
#define OWNER_TRIES 8  /* attempts, because compactions may replace the files */

/* --- numbers ---------------------------------------------------------------------------------- */

void sto_rdb_tombstones_init(struct rdb_tombstones *t)
{
    atomic_store(&t->begun, 1);
    atomic_store(&t->flushed, 1);
    atomic_store(&t->gone, 0);
    atomic_store(&t->anybody, 1);
    t->earlier = NULL;
    t->earlier_count = 0;
    t->is_loaded = false;
}

void sto_rdb_tombstones_fini(struct rdb_tombstones *t)
{
    base_free(t->earlier);
}

/* Sets the owner before the number: a read that sees the number sees the owner, too. */
void sto_rdb_tombstones_begin(struct rdb_tombstones *t, struct sto_account *owner)
{
    uint64_t number = atomic_load(&t->begun) + 1;
    atomic_store(owner == NULL ? &t->anybody : &owner->range_tombstones, number);
    atomic_store(&t->begun, number);
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

/* --- reading ---------------------------------------------------------------------------------- */

rocksdb_iterator_t *sto_rdb_rows_iterator(struct rdb_engine *e, rocksdb_readoptions_t *options,
                                          const struct sto_tenant_scope *tenant)
{
    uint64_t mark = sto_rdb_tombstones_mark(&e->tombstones, tenant);
    rocksdb_readoptions_set_ignore_range_deletions(options, mark != 0);
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(e->db.handle, options, e->db.cells);
    if (mark == 0 || sto_rdb_tombstones_still(&e->tombstones, mark))
        return it;
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_set_ignore_range_deletions(options, 0);
    return rocksdb_create_iterator_cf(e->db.handle, options, e->db.cells);
}

/* --- files ------------------------------------------------------------------------------------ */

/* The smallest and the largest key of each live file with range tombstones. */
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

/* Finds the files. The list of live files is read before the numbers (tombstone_files.cc, 1). */
static void bounds_find(struct rdb_engine *e, int family, const struct sto_span *within,
                        struct bounds_list *out)
{
    struct rdb_live_walk walk;
    struct rdb_live_file f;
    sto_rdb_live_walk_open(&walk, e->db.handle, RDB_FAMILY_NAMES[family]);
    size_t most = (size_t)rocksdb_livefiles_count(walk.list);
    *out = (struct bounds_list){.of = base_new_array(most + 1, sizeof out->of[0])};
    while (sto_rdb_live_walk_next(&walk, &f)) {
        bool is_outside = within != NULL && (base_slice_compare(f.low, within->end) >= 0 ||
                                             base_slice_compare(f.high, within->begin) < 0);
        if (is_outside || !sto_rdb_tombstone_files_has(e->db.tombstone_files, f.number))
            continue;
        struct bounds *b = &out->of[out->count++];
        base_buf_init(&b->low, f.low.len + 1);
        base_buf_init(&b->high, f.high.len + 1);
        INVARIANT(base_buf_append(&b->low, f.low) == ERR_OK);
        INVARIANT(base_buf_append(&b->high, f.high) == ERR_OK);
    }
    sto_rdb_live_walk_close(&walk);
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
            rc = one == ERR_OK ? rc : one; /* the files after a damaged one are rewritten, too */
        }
        bounds_fini(&list);
    }
    return rc;
}

/* --- of earlier runs -------------------------------------------------------------------------- */

static struct slice prefix_of(const struct rdb_tombstone_owner *o)
{
    return base_slice(o->prefix, o->prefix_len);
}

static int compare_owners(const void *a, const void *b)
{
    return base_slice_compare(prefix_of(a), prefix_of(b));
}

bool sto_rdb_tombstones_are_earlier(const struct rdb_tombstones *t,
                                    const struct sto_tenant_scope *tenant)
{
    struct rdb_tombstone_owner wanted = {.prefix_len = tenant->prefix_len};
    if (t->earlier_count == 0)
        return false;
    memcpy(wanted.prefix, tenant->prefix, tenant->prefix_len);
    return bsearch(&wanted, t->earlier, t->earlier_count, sizeof wanted, compare_owners) != NULL;
}

/* Adds the tenant of a range tombstone. ERR_UNSUPPORTED: it covers more than one tenant, or there
 * are too many. */
static enum err owner_add(void *ctx, enum rdb_entry_kind kind, struct slice key, struct slice end)
{
    struct rdb_tombstones *t = ctx;
    const uint8_t *separator = key.len == 0 ? NULL : memchr(key.ptr, '#', key.len);
    size_t len = separator == NULL ? 0 : (size_t)(separator - key.ptr) + 1;
    struct rdb_tombstone_owner owner = {.prefix_len = (uint8_t)len};
    if (kind != RDB_ENTRY_RANGE)
        return ERR_OK;
    if (len == 0 || len > sizeof owner.prefix)
        return ERR_UNSUPPORTED;
    memcpy(owner.prefix, key.ptr, len);
    owner.prefix[len - 1]++; /* the end of the tenant's range */
    if (base_slice_compare(end, prefix_of(&owner)) > 0)
        return ERR_UNSUPPORTED;
    owner.prefix[len - 1]--;
    for (size_t i = 0; i < t->earlier_count; i++)
        if (compare_owners(&owner, &t->earlier[i]) == 0)
            return ERR_OK;
    if (t->earlier_count == RDB_TOMBSTONE_EARLIER)
        return ERR_UNSUPPORTED;
    t->earlier[t->earlier_count++] = owner;
    return ERR_OK;
}

/* Finds the owners. ERR_NOT_FOUND: a compaction replaced one of the files. */
static enum err owners_find(struct rdb_engine *e)
{
    struct rdb_live_walk walk;
    struct rdb_live_file f;
    enum err rc = ERR_OK;
    sto_rdb_live_walk_open(&walk, e->db.handle, RDB_FAMILY_NAMES[RDB_CF_CELLS]);
    while (rc == ERR_OK && sto_rdb_live_walk_next(&walk, &f)) {
        char path[BASE_PATH_BYTES], in_dir[64];
        if (!sto_rdb_tombstone_files_has(e->db.tombstone_files, f.number))
            continue;
        (void)snprintf(in_dir, sizeof in_dir, "db/%s", f.name); /* it fits */
        rc = base_path_join(path, e->dir, in_dir, NULL);
        if (rc == ERR_OK)
            rc = sto_rdb_table_ranges(path, owner_add, &e->tombstones);
    }
    sto_rdb_live_walk_close(&walk);
    return rc;
}

bool sto_rdb_tombstones_load(struct rdb_engine *e)
{
    struct rdb_tombstones *t = &e->tombstones;
    struct rdb_tombstone_files *files = e->db.tombstone_files;
    uint64_t earlier = 1;
    if (t->is_loaded)
        return true;
    /* A file whose properties cannot be read may have some. */
    if (sto_rdb_tombstone_files_load(files, e->db.handle, e->db.cells, NULL) != ERR_OK ||
        sto_rdb_tombstone_files_load(files, e->db.handle, e->db.changes, NULL) != ERR_OK)
        return false;
    t->is_loaded = true;
    t->earlier = base_new_array(RDB_TOMBSTONE_EARLIER, sizeof t->earlier[0]);
    enum err rc = ERR_NOT_FOUND;
    for (int i = 0; rc == ERR_NOT_FOUND && i < OWNER_TRIES; i++)
        rc = owners_find(e);
    if (rc != ERR_OK)
        return true; /* they count for every tenant until they are gone */
    qsort(t->earlier, t->earlier_count, sizeof t->earlier[0], compare_owners);
    /* fails if there are newer ones */
    (void)atomic_compare_exchange_strong(&t->anybody, &earlier, 0);
    return true;
}

/* --- removal --------------------------------------------------------------------------------- */

enum err sto_rdb_tombstones_clear(struct rdb_engine *e, bool *out_rewrote, struct errbuf *eb)
{
    struct rdb_tombstones *t = &e->tombstones;
    bool is_none = true;
    enum err rc = ERR_OK;
    *out_rewrote = false;
    if (sto_rdb_tombstones_mark(t, NULL) != 0)
        return ERR_OK;
    if (!sto_rdb_tombstones_load(e))
        return ERR_TIMEOUT;
    if (atomic_load(&t->flushed) < atomic_load(&t->begun))
        rc = sto_rdb_flush(e);
    uint64_t flushed = atomic_load(&t->flushed);
    if (rc == ERR_OK && !sto_rdb_tombstone_files_is_empty(e->db.tombstone_files)) {
        rc = sto_rdb_wait_for_snapshots(e, eb);
        *out_rewrote = rc == ERR_OK;
        if (rc == ERR_OK)
            rc = sto_rdb_tombstones_push(e, RDB_CF_CELLS, NULL, &is_none, eb);
    }
    if (rc != ERR_OK || !is_none)
        return rc == ERR_OK ? ERR_TIMEOUT : rc;
    raise_to(&t->gone, flushed);
    return sto_rdb_tombstones_mark(t, NULL) != 0 ? ERR_OK : ERR_TIMEOUT;
}

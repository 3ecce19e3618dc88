/*
 * storage/rocksdb/tombstones.c - why a read that must not wait is not made beside them.
 *
 * Such a read has RocksDB look in memory only, and RocksDB says when a block is not there. But its
 * merging iterator forgets what it was told when it jumps over a range tombstone, or into the next
 * file behind one (release 7.8.3, SeekImpl and SkipNextDeleted; repaired in 8.5.2, pull request
 * 11786): rows are missing then, and no error is given. A file may hold anybody's tombstone beside
 * anybody's rows, so all such reads go to readers, which wait for blocks, until no file has any.
 *
 *   written in a batch   begun is one more, before
 *   flushed              flushed is what was begun in front of it
 *   gone from files      gone is what was flushed when the files were asked
 */
#include "storage/rocksdb/tombstones.h"

#include <string.h>

#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

void sto_rdb_tombstones_init(struct rdb_tombstones *t)
{
    atomic_store(&t->begun, 1);
    atomic_store(&t->flushed, 1);
    atomic_store(&t->gone, 0);
}

void sto_rdb_tombstones_begin(struct rdb_tombstones *t)
{
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

/* In no file of rows, as far as RocksDB says. */
static bool none_in_files(const struct rdb_engine *e)
{
    char *text =
        rocksdb_property_value_cf(e->db.handle, e->db.cells, "rocksdb.aggregated-table-properties");
    bool none = text != NULL && strstr(text, "# range deletions=0;") != NULL;
    rocksdb_free(text);
    return none;
}

bool sto_rdb_tombstones_look(struct rdb_engine *e)
{
    struct rdb_tombstones *t = &e->tombstones;
    if (sto_rdb_tombstones_mark(t) != 0)
        return true;
    if (atomic_load(&t->flushed) < atomic_load(&t->begun) && sto_rdb_flush(e) != ERR_OK)
        return false;
    uint64_t flushed = atomic_load(&t->flushed);
    if (!none_in_files(e))
        return false;
    raise_to(&t->gone, flushed);
    return sto_rdb_tombstones_mark(t) != 0;
}

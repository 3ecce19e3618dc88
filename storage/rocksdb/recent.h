/*
 * storage/rocksdb/recent.h - sizes of row headers and cells that were written recently.
 *
 * Does:     caches the sizes that counting needs of stored headers and cells, so that the next
 *           write to the same key needs no lookup.
 * Owns:     its memory, from init to fini.
 * May use:  base/, storage/.
 * Knows no: RocksDB, batches.
 * Threads:  one committer's.
 * Blocks:   no.
 * Fails by: does not fail; keys that do not fit are evicted.
 * Limits:   LIM_RECENT_SETS; keys up to RDB_RECENT_KEY.
 * Promises: 1. find returns the last put for exactly this key, or nothing.
 *           2. After clear nothing of any key is left in memory.
 */
#ifndef STORAGE_ROCKSDB_RECENT_H
#define STORAGE_ROCKSDB_RECENT_H

#include "storage/value.h"

#define RDB_RECENT_WAYS 4
#define RDB_RECENT_KEY  104

/* Under a header's key: head. Under a column's prefix: the cell of the column that was written
 * last; the database may hold others. */
struct rdb_size {
    union {
        struct sto_row_head head;
        uint64_t version; /* the end of the cell's key, as a big-endian number */
    };
    uint32_t value_len;
    uint8_t family_name_len;
};

struct rdb_recent_set;

struct rdb_recent {
    struct rdb_recent_set *sets;
    uint32_t turn; /* index of the next entry to evict in a full set */
    bool used;     /* there was a put since clear */
};

void sto_rdb_recent_init(struct rdb_recent *r);
void sto_rdb_recent_fini(struct rdb_recent *r);

bool sto_rdb_recent_find(const struct rdb_recent *r, struct slice key, struct rdb_size *out);
void sto_rdb_recent_put(struct rdb_recent *r, struct slice key, const struct rdb_size *size);
void sto_rdb_recent_forget(struct rdb_recent *r, struct slice key);
/* Evicts all keys with that prefix; takes the same time whatever is cached. */
void sto_rdb_recent_forget_all(struct rdb_recent *r, struct slice prefix);
void sto_rdb_recent_clear(struct rdb_recent *r);

#endif

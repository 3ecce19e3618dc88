/*
 * storage/rocksdb/recent.h - sizes of row headers and cells that were written recently.
 *
 * Does:     remember what the database holds under a key, as far as counting needs it, so that who
 *           writes there again need not look it up.
 * Owns:     its memory, from init to fini.
 * May use:  base/, storage/.
 * Knows no: RocksDB, batches.
 * Threads:  one committer's.
 * Blocks:   no.
 * Fails by: does not fail; what does not fit is forgotten.
 * Limits:   LIM_RECENT_SETS; keys up to RDB_RECENT_KEY.
 * Promises: 1. find returns what was put last for exactly this key, or nothing.
 *           2. After clear nothing of any key is left in memory.
 */
#ifndef STORAGE_ROCKSDB_RECENT_H
#define STORAGE_ROCKSDB_RECENT_H

#include "storage/value.h"

#define RDB_RECENT_WAYS 4
#define RDB_RECENT_KEY  104

/* Under the key of a header: head. Under the prefix of a column: the cell of it that was written
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
    uint32_t turn; /* which of a full set goes next */
    bool used;     /* something was put since clear */
};

void sto_rdb_recent_init(struct rdb_recent *r);
void sto_rdb_recent_fini(struct rdb_recent *r);

bool sto_rdb_recent_find(const struct rdb_recent *r, struct slice key, struct rdb_size *out);
void sto_rdb_recent_put(struct rdb_recent *r, struct slice key, const struct rdb_size *size);
void sto_rdb_recent_forget(struct rdb_recent *r, struct slice key);
/* All keys that begin like that; takes as long whatever is there. */
void sto_rdb_recent_forget_all(struct rdb_recent *r, struct slice prefix);
void sto_rdb_recent_clear(struct rdb_recent *r);

#endif

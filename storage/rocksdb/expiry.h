/*
 * storage/rocksdb/expiry.h - which of the cells that an iterator passes no read shows any more.
 *
 * Does:     count the newer cells of the column under way and ask the rules of its family.
 * Owns:     the name of that column.
 * May use:  base/, storage/.
 * Knows no: who removes them.
 * Threads:  its maker's.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. A column that was passed from its newest cell is judged as reads judge it.
 */
#ifndef STORAGE_ROCKSDB_EXPIRY_H
#define STORAGE_ROCKSDB_EXPIRY_H

#include "storage/keycodec.h"
#include "storage/schema.h"

struct rdb_expiry {
    const struct sto_schema *schema;
    int64_t now_us;
    int64_t first_us; /* when the first cell that was left is too old; STO_GC_NEVER */

    /* the column under way; column_len 0: none */
    const struct sto_family *family; /* NULL: not in the schema */
    uint64_t newer;                  /* stored cells of it that were passed */
    size_t column_len;
    uint8_t column[STO_KEY_COLUMN_MAX];
};

void sto_rdb_expiry_init(struct rdb_expiry *x, const struct sto_schema *schema);
/* The iterator was moved: no column is under way, and it is now. */
void sto_rdb_expiry_begin(struct rdb_expiry *x);
/* Whether no read of the schema shows this cell, the next one. */
bool sto_rdb_is_expired(struct rdb_expiry *x, const struct sto_key *cell);
static inline struct slice sto_rdb_expiry_column(const struct rdb_expiry *x)
{
    return base_slice(x->column, x->column_len);
}

#endif

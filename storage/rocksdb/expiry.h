/*
 * storage/rocksdb/expiry.h - determines which cells under an iterator no read shows any more.
 *
 * Does:     counts the newer cells of the column in progress and applies the rules of its family.
 * Owns:     the name of that column.
 * May use:  base/, storage/.
 * Knows no: who removes the cells.
 * Threads:  its creator's.
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
    int64_t first_us; /* when the first cell that was kept is too old; STO_GC_NEVER */

    /* the column in progress; column_len 0: none */
    const struct sto_family *family; /* NULL: not in the schema */
    uint64_t newer;                  /* stored cells of the column that were passed */
    size_t column_len;
    uint8_t column[STO_KEY_COLUMN_MAX];
};

void sto_rdb_expiry_init(struct rdb_expiry *x, const struct sto_schema *schema);
/* Call after the iterator was moved: no column is in progress, and the current time is used. */
void sto_rdb_expiry_begin(struct rdb_expiry *x);
/* Returns whether no read under the schema shows this cell, the next one of the iterator. */
bool sto_rdb_is_expired(struct rdb_expiry *x, const struct sto_key *cell);
static inline struct slice sto_rdb_expiry_column(const struct rdb_expiry *x)
{
    return base_slice(x->column, x->column_len);
}

#endif

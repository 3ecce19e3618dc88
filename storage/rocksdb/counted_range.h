/*
 * storage/rocksdb/counted_range.h - rows that are counted on readers, then deleted as one range.
 *
 * Does:     checks every row of a range against its header, slice by slice, and sends a task to the
 *           tenant's committer; there, writes one range tombstone, the counters without those rows
 *           and a reclaim record in one batch.
 * Owns:     nothing; it is part of its owner's structure.
 * May use:  base/, storage/.
 * Knows no: who may write the rows at the same time (drop.c, drop_table.c).
 * Threads:  begin from any; it runs on readers, one at a time; write on the tenant's committer.
 * Blocks:   no more than a slice and a commit.
 * Fails by: as sto_drop_rows; ERR_CORRUPT if a row differs from its header.
 * Limits:   SLICE_KEYS keys, then it goes to the end of the readers' queue.
 * Promises: 1. The counted range ends before a row, or after the last one.
 *           2. A crash leaves all of the rows and their counters, or none of both.
 *           3. Between two slices other operations are served.
 */
#ifndef STORAGE_ROCKSDB_COUNTED_RANGE_H
#define STORAGE_ROCKSDB_COUNTED_RANGE_H

#include "storage/engine.h"
#include "storage/range.h"
#include "storage/rocksdb/committer.h"
#include "storage/rocksdb/row_sum.h"

struct rdb_counted_range {
    struct base_msg msg; /* to a reader */

    /* set by its owner */
    struct rdb_engine *engine;
    struct sto_drop_op *op; /* its steps are counted, its detail is written */
    struct rdb_task *then;  /* sent when counting has ended, whatever the result */
    uint64_t cells_max;     /* counting ends before the first row after this many */

    /* the result */
    enum err result;
    bool is_all; /* counting reached its upper bound */
    struct rdb_row_sum sum;

    struct sto_range table;
    size_t begin_len;
    size_t upper_len;
    bool is_unreadable; /* with ERR_CORRUPT: a block of the rows is damaged, or was */
    size_t end_len;     /* of the rows that were counted */
    uint8_t begin[STO_KEY_HEADER_MAX];
    uint8_t upper[STO_KEY_ROW_MAX];
    uint8_t end[STO_KEY_ROW_MAX];
    size_t position_len; /* of the last key that was counted; 0: none */
    uint8_t position[STO_KEY_MAX + 1];
};

/* Called by operations that have entered (shuttle.h). begin: a bound of rows or the key of a
 * header; upper: a bound of rows. Both are copied. */
void sto_rdb_counted_begin(struct rdb_counted_range *n, struct slice begin, struct slice upper);
/* Returns the counted rows, if the result is ERR_OK. */
struct sto_span sto_rdb_counted_span(const struct rdb_counted_range *n);
/* Deletes the rows. noted: the part of the table for the reclaim record; NULL: all. The batch is
 * empty before and after. */
enum err sto_rdb_counted_write(struct rdb_committer *c, struct rdb_counted_range *n,
                               const struct sto_key_bounds *noted) MUST_CHECK;

#endif

/*
 * storage/rocksdb/apply.h - one operation on one row, put into the batch under way.
 *
 * Does:     check gate, disk, existence, quota and row size; turn mutations into changed cells and
 *           a changed row header; count what they add and remove.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: queues, threads, who is answered.
 * Threads:  one committer's.
 * Blocks:   on reads.
 * Fails by: ERR_SUSPENDED, ERR_GONE, ERR_NOT_FOUND, ERR_EXISTS, ERR_CONFLICT, ERR_STORAGE_FULL,
 *           ERR_QUOTA, ERR_TOO_BIG, ERR_INVALID, ERR_NO_MEMORY, ERR_CORRUPT, ERR_IO; the batch is
 *           then as before.
 * Limits:   the account's of rows, LIM_DELETE_CELLS; effort's steps.
 * Promises: 1. An operation sees all that operations before it in the batch did.
 *           2. One whose net change of bytes and rows is not above zero passes any quota, and any
 *              limit of row bytes.
 */
#ifndef STORAGE_ROCKSDB_APPLY_H
#define STORAGE_ROCKSDB_APPLY_H

#include "storage/engine.h"
#include "storage/rocksdb/apply_row.h"

/* Also used by reads and drops. writes: the operation is one. */
enum err sto_rdb_gate_check(const struct sto_account *account, bool writes,
                            struct errbuf *eb) MUST_CHECK;

/* deadline_ns: as in an operation, whose work has not begun. */
enum err sto_rdb_deadline_check(uint64_t deadline_ns, struct errbuf *eb) MUST_CHECK;

struct rdb_effort {
    uint64_t steps_max; /* of cells and mutations; UINT64_MAX: as many as it takes */
    uint64_t steps;     /* out: it took */
    bool is_dear;       /* out: it would take more; nothing was done, and there is no result */
};

/* Fills in everything of op that comes out; the result is returned too. */
enum err sto_rdb_apply(struct rdb_batch *b, struct sto_mutate_op *op, int64_t server_us,
                       struct rdb_effort *effort) MUST_CHECK;

/* The same in two steps, for an operation that is dear. Apart: on any thread, in a batch of its own
 * that is marked so; what comes out is true if the row does not change meanwhile. Planned: on the
 * committer, whose batch is empty; all that is left, and what that batch is to write. *out_stale:
 * what the first step saw is not so any more. The first batch lives until the other is written. */
enum err sto_rdb_apply_apart(struct rdb_row *r, struct rdb_batch *apart, struct sto_mutate_op *op,
                             int64_t server_us) MUST_CHECK;
enum err sto_rdb_apply_planned(struct rdb_batch *b, struct rdb_row *r, struct sto_mutate_op *op,
                               bool *out_stale) MUST_CHECK;
/* After the first step, whatever its result. */
void sto_rdb_row_fini(struct rdb_row *r);

#endif

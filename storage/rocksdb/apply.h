/*
 * storage/rocksdb/apply.h - applies one operation on one row to the batch in progress.
 *
 * Does:     checks gate, disk, existence, quota and row size; turns mutations into changed cells
 *           and a changed row header; counts the bytes and cells that they add and remove.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: queues, threads, the client.
 * Threads:  one committer's.
 * Blocks:   on reads.
 * Fails by: ERR_SUSPENDED, ERR_GONE, ERR_NOT_FOUND, ERR_EXISTS, ERR_CONFLICT, ERR_STORAGE_FULL,
 *           ERR_QUOTA, ERR_TOO_BIG, ERR_INVALID, ERR_NO_MEMORY, ERR_CORRUPT, ERR_IO; the batch is
 *           then as before.
 * Limits:   the account's of rows, LIM_DELETE_CELLS; effort's steps.
 * Promises: 1. An operation sees the changes of all previous operations in the batch.
 *           2. An operation whose net change of bytes and rows is not above zero passes any quota,
 *              and any limit of row bytes.
 */
#ifndef STORAGE_ROCKSDB_APPLY_H
#define STORAGE_ROCKSDB_APPLY_H

#include "storage/engine.h"
#include "storage/rocksdb/apply_row.h"

/* Checks the tenant's gate; also used by reads and drops. writes: the operation is a write. */
enum err sto_rdb_gate_check(const struct sto_account *account, bool writes,
                            struct errbuf *eb) MUST_CHECK;

/* deadline_ns: of an operation whose work has not started. */
enum err sto_rdb_deadline_check(uint64_t deadline_ns, struct errbuf *eb) MUST_CHECK;

struct rdb_effort {
    uint64_t steps_max; /* cells and mutations; UINT64_MAX: no limit */
    uint64_t steps;     /* out: steps taken */
    /* out: the operation needs more steps; nothing was done, and there is no result */
    bool is_dear;
};

/* Applies op and fills in all its output fields; the result is returned too. */
enum err sto_rdb_apply(struct rdb_batch *b, struct sto_mutate_op *op, int64_t server_us,
                       struct rdb_effort *effort) MUST_CHECK;

/* Apply an expensive operation in two steps. Apart: on any thread, in a batch of its own with
 * is_apart set; its output is valid if the row does not change before the second step. Planned: on
 * the committer, whose batch is empty; does the rest and adds the writes to that batch. *out_stale:
 * the state that the first step read has changed. The first batch lives until the second is
 * written. */
enum err sto_rdb_apply_apart(struct rdb_row *r, struct rdb_batch *apart, struct sto_mutate_op *op,
                             int64_t server_us) MUST_CHECK;
enum err sto_rdb_apply_planned(struct rdb_batch *b, struct rdb_row *r, struct sto_mutate_op *op,
                               bool *out_stale) MUST_CHECK;
/* Call after the first step, whatever its result. */
void sto_rdb_row_fini(struct rdb_row *r);

#endif

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
 * Limits:   the account's of rows, LIM_DELETE_CELLS.
 * Promises: 1. An operation sees all that operations before it in the batch did.
 *           2. One whose net change of bytes and rows is not above zero passes any quota, and any
 *              limit of row bytes.
 */
#ifndef STORAGE_ROCKSDB_APPLY_H
#define STORAGE_ROCKSDB_APPLY_H

#include "storage/engine.h"
#include "storage/rocksdb/batch.h"

/* Also used by reads and drops. writes: the operation is one. */
enum err sto_rdb_gate_check(const struct sto_account *account, bool writes,
                            struct errbuf *eb) MUST_CHECK;

/* deadline_ns: as in an operation, whose work has not begun. */
enum err sto_rdb_deadline_check(uint64_t deadline_ns, struct errbuf *eb) MUST_CHECK;

/* Fills in everything of op that comes out; the result is returned too. */
enum err sto_rdb_apply(struct rdb_batch *b, struct sto_mutate_op *op, int64_t server_us) MUST_CHECK;

#endif

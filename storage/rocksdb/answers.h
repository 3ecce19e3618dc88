/*
 * storage/rocksdb/answers.h - returns operations to the mailboxes of their callers.
 *
 * Does:     sends finished operations to the mailboxes named in them.
 * Owns:     nothing; a returned operation is its caller's again.
 * May use:  base/, storage/.
 * Knows no: their results.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Of one mailbox, operations arrive in the order of the array.
 */
#ifndef STORAGE_ROCKSDB_ANSWERS_H
#define STORAGE_ROCKSDB_ANSWERS_H

#include "storage/engine.h"

void sto_rdb_answer(struct sto_mutate_op *op);
/* Returns the operations of a batch together. */
void sto_rdb_answer_all(struct sto_mutate_op *const *ops, size_t count);

#endif

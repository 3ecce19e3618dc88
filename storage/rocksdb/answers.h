/*
 * storage/rocksdb/answers.h - operations on their way back to their makers.
 *
 * Does:     send operations that are done to the mailboxes named in them.
 * Owns:     nothing; an operation is its maker's again.
 * May use:  base/, storage/.
 * Knows no: what became of them.
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
/* Those of a batch, together. */
void sto_rdb_answer_all(struct sto_mutate_op *const *ops, size_t count);

#endif

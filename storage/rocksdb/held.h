/*
 * storage/rocksdb/held.h - operations that wait, in order, until what they read is in memory.
 *
 * Does:     keep a tenant's messages in one list for each priority; release those at the front of
 *           which nothing is being read any more.
 * Owns:     the lists, from the first message that waits to the last one that leaves.
 * May use:  base/, storage/.
 * Knows no: what is read, what a message does.
 * Threads:  one committer's.
 * Blocks:   no.
 * Fails by: false when there is no memory: the message does not wait then.
 * Limits:   LIM_PREFETCH_OPS reads in flight for one tenant.
 * Promises: 1. Messages of one tenant and priority leave in the order in which they came.
 *           2. A message leaves when neither it nor one before it is being read.
 */
#ifndef STORAGE_ROCKSDB_HELD_H
#define STORAGE_ROCKSDB_HELD_H

#include "storage/account.h"

typedef void rdb_held_release(void *ctx, struct sto_account *account, enum sto_priority priority,
                              struct base_msg *msg);

/* Appends msg behind what its tenant has waiting in the same priority; false: nothing waits. */
bool sto_rdb_held_append(struct sto_account *account, enum sto_priority priority,
                         struct base_msg *msg) MUST_CHECK;
/* Says whether a read for one more message of the tenant may start, and makes its lists; false: no
 * memory, or LIM_PREFETCH_OPS reads are in flight. */
bool sto_rdb_held_open(struct sto_account *account) MUST_CHECK;
/* The read of msg has started: appends msg. After sto_rdb_held_open. */
void sto_rdb_held_wait(struct sto_account *account, enum sto_priority priority,
                       struct base_msg *msg);
/* Frees lists in which nothing waits: no read was started after sto_rdb_held_open. */
void sto_rdb_held_close(struct sto_account *account);
/* A read of that priority has ended, and its message's run says so: calls release for each message
 * that may leave. reading: what run is of one that may not. */
void sto_rdb_held_advance(struct sto_account *account, enum sto_priority priority,
                          void (*reading)(struct base_msg *msg), rdb_held_release *release,
                          void *ctx);

#endif

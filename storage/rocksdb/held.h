/*
 * storage/rocksdb/held.h - operations that wait, in order, until the blocks that they read are in
 * memory.
 *
 * Does:     keeps a tenant's messages in one list for each priority; releases messages from the
 *           front up to the first whose read is in flight.
 * Owns:     the lists, from the first waiting message to the last released one.
 * May use:  base/, storage/.
 * Knows no: the data being read, the purpose of a message.
 * Threads:  one committer's.
 * Blocks:   no.
 * Fails by: false if there is no memory: the message does not wait then.
 * Limits:   LIM_PREFETCH_OPS reads in flight for one tenant.
 * Promises: 1. Messages of one tenant and priority are released in the order in which they came.
 *           2. A message is released when neither its read nor that of a previous message is in
 *              flight.
 */
#ifndef STORAGE_ROCKSDB_HELD_H
#define STORAGE_ROCKSDB_HELD_H

#include "storage/account.h"

typedef void rdb_held_release(void *ctx, struct sto_account *account, enum sto_priority priority,
                              struct base_msg *msg);

/* Appends msg after the messages of its tenant that wait in the same priority; false: none
 * waits. */
bool sto_rdb_held_append(struct sto_account *account, enum sto_priority priority,
                         struct base_msg *msg) MUST_CHECK;
/* Returns whether a read for one more message of the tenant may start, and creates its lists;
 * false: no memory, or LIM_PREFETCH_OPS reads are in flight. */
bool sto_rdb_held_open(struct sto_account *account) MUST_CHECK;
/* Appends msg, whose read has started. After sto_rdb_held_open. */
void sto_rdb_held_wait(struct sto_account *account, enum sto_priority priority,
                       struct base_msg *msg);
/* Frees lists in which no message waits, if no read was started after sto_rdb_held_open. */
void sto_rdb_held_close(struct sto_account *account);
/* Call when a read of that priority has ended, and the `run` of its message was changed: calls
 * release for each message that may be released. reading: the value of `run` while a message's read
 * is in flight. */
void sto_rdb_held_advance(struct sto_account *account, enum sto_priority priority,
                          void (*reading)(struct base_msg *msg), rdb_held_release *release,
                          void *ctx);

#endif

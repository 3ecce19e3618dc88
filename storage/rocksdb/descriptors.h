/*
 * storage/rocksdb/descriptors.h - waits for a file descriptor when none is free.
 *
 * Does:     waits until opening a file can be retried; counts these waits.
 * Owns:     the count.
 * May use:  base/.
 * Knows no: the file and its user.
 * Threads:  any.
 * Blocks:   sto_rdb_descriptor_await sleeps for RDB_DESCRIPTOR_TRY_MS.
 * Fails by: false.
 * Limits:   RDB_DESCRIPTOR_SECONDS.
 * Promises: 1. An open with retries fails for lack of a descriptor only after
 *              RDB_DESCRIPTOR_SECONDS in which no attempt found one.
 */
#ifndef STORAGE_ROCKSDB_DESCRIPTORS_H
#define STORAGE_ROCKSDB_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

/* The process, or the whole system (because of other programs), has no descriptor left. That is no
 * fault of the disk, and ends when a connection or another file is closed. The limit is longer than
 * any burst of files takes to be written, and as long as a client waits. */
#define RDB_DESCRIPTOR_SECONDS 30
#define RDB_DESCRIPTOR_TRY_MS  10

/* Returns whether errno of an open is EMFILE or ENFILE. */
bool sto_rdb_descriptors_lack(int error);
/* Sleeps briefly; true: retry. *since_ns is when the first attempt failed, 0 before that. False:
 * RDB_DESCRIPTOR_SECONDS are over. */
bool sto_rdb_descriptor_await(uint64_t *since_ns);
/* Counts an open that failed and is retried; await counts by itself. */
void sto_rdb_descriptor_missed(void);
/* Returns the count of this process. */
uint64_t sto_rdb_descriptors_missed(void);

#endif

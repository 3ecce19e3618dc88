/*
 * storage/rocksdb/descriptors.h - files that cannot be opened because no descriptor is free.
 *
 * Does:     waits until opening a file can be tried again; counts how often that happened.
 * Owns:     the count.
 * May use:  base/.
 * Knows no: which file, who opens it.
 * Threads:  any.
 * Blocks:   sto_rdb_descriptor_await sleeps for RDB_DESCRIPTOR_TRY_MS.
 * Fails by: false.
 * Limits:   RDB_DESCRIPTOR_SECONDS.
 * Promises: 1. An open that is tried again fails for lack of a descriptor only after
 *              RDB_DESCRIPTOR_SECONDS in which no try found one.
 */
#ifndef STORAGE_ROCKSDB_DESCRIPTORS_H
#define STORAGE_ROCKSDB_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

/* The process, or the whole system (which other programs can do), has no descriptor left: that says
 * nothing of the disk, and passes when a connection or another file is closed. Longer than any
 * burst of files takes to be written, as long as a client waits. */
#define RDB_DESCRIPTOR_SECONDS 30
#define RDB_DESCRIPTOR_TRY_MS  10

/* errno of an open: EMFILE or ENFILE. */
bool sto_rdb_descriptors_lack(int error);
/* Sleeps a moment; true: try again. *since_ns is when the first try failed, 0 before it. False:
 * RDB_DESCRIPTOR_SECONDS are over. */
bool sto_rdb_descriptor_await(uint64_t *since_ns);
/* Counts an open that failed and is tried again; await does so itself. */
void sto_rdb_descriptor_missed(void);
/* How many that were, in this process. */
uint64_t sto_rdb_descriptors_missed(void);

#endif

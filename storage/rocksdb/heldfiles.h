/*
 * storage/rocksdb/heldfiles.h - wait until the files that are no longer live are gone from the
 * disk.
 *
 * Does:     after a compaction, find table files that the database does not use any more (an open
 *           iterator or snapshot of anybody still holds them), and wait until they are removed;
 *           say how many bytes there are of them.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: tenants.
 * Threads:  job threads.
 * Blocks:   up to the seconds given.
 * Fails by: ERR_TIMEOUT, ERR_IO.
 * Limits:   none: as many files as there are.
 * Promises: 1. ERR_OK means: every table file and every log that was on the disk at the call is
 *              live or gone, and so is the file of every copy (meta_copies.h).
 */
#ifndef STORAGE_ROCKSDB_HELDFILES_H
#define STORAGE_ROCKSDB_HELDFILES_H

#include "base/err.h"

struct rdb_engine;

/* Bytes of the table files that are on the disk and not live now; what a compaction under way has
 * written is among them. */
enum err sto_rdb_held_bytes(struct rdb_engine *e, uint64_t *out, struct errbuf *eb) MUST_CHECK;

enum err sto_rdb_wait_for_held_files(struct rdb_engine *e, int seconds,
                                     struct errbuf *eb) MUST_CHECK;

#endif

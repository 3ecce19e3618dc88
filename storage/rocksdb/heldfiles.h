/*
 * storage/rocksdb/heldfiles.h - waits until the files that are no longer live are gone from the
 * disk.
 *
 * Does:     after a compaction, finds table files that the database no longer uses (an open
 *           iterator or snapshot of any tenant still holds them), and waits until they are removed;
 *           returns their size.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: tenants.
 * Threads:  job threads.
 * Blocks:   at most for the number of seconds in the call.
 * Fails by: ERR_TIMEOUT, ERR_IO.
 * Limits:   none: as many files as there are.
 * Promises: 1. ERR_OK means: every table file and every log that was on the disk at the call is
 *              live or gone, and so is the file of every copy (meta_copies.h).
 */
#ifndef STORAGE_ROCKSDB_HELDFILES_H
#define STORAGE_ROCKSDB_HELDFILES_H

#include "base/err.h"

struct rdb_engine;

/* Returns the bytes of the table files that are on the disk and not live; they include the output
 * of a compaction in progress. */
enum err sto_rdb_held_bytes(struct rdb_engine *e, uint64_t *out, struct errbuf *eb) MUST_CHECK;

enum err sto_rdb_wait_for_held_files(struct rdb_engine *e, int seconds,
                                     struct errbuf *eb) MUST_CHECK;

#endif

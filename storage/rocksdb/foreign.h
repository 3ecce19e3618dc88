/*
 * storage/rocksdb/foreign.h - reads another program's RocksDB database, in key order.
 *
 * Does:     opens a directory of another program read-only; returns its keys and values, starting
 *           at any key.
 * Owns:     the open database, until sto_foreign_close.
 * May use:  base/, storage/rocksdb/db.h.
 * Knows no: tenants, tables, what the keys mean.
 * Threads:  one for each.
 * Blocks:   yes, on the disk; opening replays the database's log into memory.
 * Fails by: ERR_IO, ERR_CORRUPT, ERR_NOT_FOUND (no database; no such column family), ERR_TOO_BIG;
 *           errors that visit returned.
 * Limits:   none of its own.
 * Promises: 1. Nothing in the directory is written, created or removed.
 *           2. All data read is of one moment, that of opening.
 *           3. Keys come in the order of their bytes: a database with another order is not opened.
 */
#ifndef STORAGE_ROCKSDB_FOREIGN_H
#define STORAGE_ROCKSDB_FOREIGN_H

#include "base/err.h"
#include "base/slice.h"

struct sto_foreign;

/* family: the name of a column family. The caller closes *out. */
enum err sto_foreign_open(const char *dir, const char *family, struct sto_foreign **out,
                          struct errbuf *eb) MUST_CHECK;
/* Accepts NULL. */
void sto_foreign_close(struct sto_foreign *f);

/* Returns the number of the last change: two equal numbers mean that there was no write between
 * them. */
uint64_t sto_foreign_sequence(const struct sto_foreign *f);
/* Returns the approximate size in bytes; for progress. */
uint64_t sto_foreign_bytes(const struct sto_foreign *f);

/* Visits every key or, with is_after, those after `after`. The slices are valid during the visit;
 * any result but ERR_OK ends the reading. */
enum err sto_foreign_read(struct sto_foreign *f, bool is_after, struct slice after,
                          enum err (*visit)(void *ctx, struct slice key, struct slice value),
                          void *ctx, struct errbuf *eb) MUST_CHECK;

#endif

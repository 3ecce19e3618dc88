/*
 * storage/rocksdb/foreign.h - a RocksDB database that is not ours, read in its order.
 *
 * Does:     open a directory read-only, as somebody else's program left it; give its keys and
 *           values, from any key on.
 * Owns:     the database it has open, until sto_foreign_close.
 * May use:  base/, storage/rocksdb/db.h.
 * Knows no: tenants, tables, what the keys mean.
 * Threads:  one for each.
 * Blocks:   yes, on the disk; opening replays the database's log into memory.
 * Fails by: ERR_IO, ERR_CORRUPT, ERR_NOT_FOUND (no database; no such column family), ERR_TOO_BIG;
 *           what visit returned.
 * Limits:   none of its own.
 * Promises: 1. Nothing in the directory is written, made or removed.
 *           2. What is read is as it was at one moment, that of opening.
 *           3. Keys come in the order of their bytes: a database with another order is not opened.
 */
#ifndef STORAGE_ROCKSDB_FOREIGN_H
#define STORAGE_ROCKSDB_FOREIGN_H

#include "base/err.h"
#include "base/slice.h"

struct sto_foreign;

/* family: the name of a column family. *out is the caller's to close. */
enum err sto_foreign_open(const char *dir, const char *family, struct sto_foreign **out,
                          struct errbuf *eb) MUST_CHECK;
/* Accepts NULL. */
void sto_foreign_close(struct sto_foreign *f);

/* The number of its last change: two that are equal had no write between them. */
uint64_t sto_foreign_sequence(const struct sto_foreign *f);
/* About how many bytes it holds; for progress. */
uint64_t sto_foreign_bytes(const struct sto_foreign *f);

/* Every key, or with is_after those behind `after`. The slices are visit's while it runs; anything
 * but ERR_OK ends the reading. */
enum err sto_foreign_read(struct sto_foreign *f, bool is_after, struct slice after,
                          enum err (*visit)(void *ctx, struct slice key, struct slice value),
                          void *ctx, struct errbuf *eb) MUST_CHECK;

#endif

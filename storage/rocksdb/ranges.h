/*
 * storage/rocksdb/ranges.h - deletes and rewrites physical ranges, and waits until their files are
 * gone.
 *
 * Does:     writes range tombstones, deletes files inside a range, rewrites the files between two
 *           keys, and waits until the replaced files are gone from the disk, the MANIFEST included.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: whose range it is, in which order ranges are processed (purge.c, reclaim.c).
 * Threads:  any that may block.
 * Blocks:   yes, for as long as a compaction takes.
 * Fails by: ERR_TIMEOUT (snapshots or reads still open), ERR_IO, ERR_CORRUPT, ERR_UNAVAILABLE,
 *           ERR_OUTCOME_UNKNOWN.
 * Limits:   rdb_engine.wait_seconds.
 * Promises: 1. This directory calls delete_range, delete_file_in_range and compact_range nowhere
 *              else, and deletes only ranges from storage/range.h.
 */
#ifndef STORAGE_ROCKSDB_RANGES_H
#define STORAGE_ROCKSDB_RANGES_H

#include <rocksdb/c.h>

#include "base/err.h"
#include "storage/account.h"
#include "storage/range.h"

struct rdb_engine;

/* Ranges with fewer bytes than this between them are rewritten together: about a file. */
#define RDB_NEAR_BYTES (64 * MIB)

/* Deletes a range in a batch. family: RDB_CF_CELLS and so on. owner: the tenant; NULL: not known.
 * Under docs_lock until the batch is written. */
void sto_rdb_range_delete(struct rdb_engine *e, rocksdb_writebatch_t *batch, int family,
                          struct sto_span span, struct sto_account *owner);
/* The same in two steps: put adds the deletion to a batch; written does the rest, when the batch is
 * about to be written. */
void sto_rdb_range_put(struct rdb_engine *e, rocksdb_writebatch_t *batch, int family,
                       struct sto_span span);
void sto_rdb_range_written(struct rdb_engine *e, int family, struct sto_account *owner);
/* Deletes files that are wholly inside the range. Never after a range tombstone: one that is
 * deleted with its file lets older rows in a straddling file come back. */
enum err sto_rdb_files_delete(struct rdb_engine *e, int family, const struct sto_range *range,
                              struct errbuf *eb) MUST_CHECK;
/* Waits until the existing snapshots are closed, because a compaction keeps data that a snapshot
 * sees. Newer snapshots see the deletion, and are not waited for. */
enum err sto_rdb_wait_for_snapshots(struct rdb_engine *e, struct errbuf *eb) MUST_CHECK;
/* Rewrites the files between two keys. Any tenant's keys may be there: all that a read would return
 * stays. RocksDB does not report a failure; sto_rdb_compactions_check and sto_rdb_files_settle
 * do. */
void sto_rdb_range_compact(struct rdb_engine *e, int family, struct slice begin, struct slice end);
/* As sto_rdb_range_compact, and afterwards neither entries that were deleted before nor their
 * deletions are in the files, whatever the levels: it may rewrite a file more often. */
void sto_rdb_range_compact_deepest(struct rdb_engine *e, int family, struct slice begin,
                                   struct slice end);
/* As sto_rdb_range_compact, for several spans, which it sorts; spans that are near each other are
 * rewritten as one. */
void sto_rdb_spans_compact(struct rdb_engine *e, int family, struct sto_span *spans, size_t count);
/* Removes every key of the ranges, with all its versions, from the files, visible or not: compacts
 * with the ranges' ends as cuts (cut.h; set by the caller), so that they get table files of their
 * own, and deletes those files. No write to the ranges may follow, and none of their keys may be in
 * a memtable. `ranges` is reordered. ERR_TIMEOUT: some keys are left, the same call continues. */
enum err sto_rdb_ranges_erase(struct rdb_engine *e, int family, const struct sto_range **ranges,
                              size_t count, struct errbuf *eb) MUST_CHECK;
/* Returns ERR_OK if no compaction was told to end, or failed, since the engine was opened. */
enum err sto_rdb_compactions_check(struct rdb_engine *e, struct errbuf *eb) MUST_CHECK;
/* Live files whose key range overlaps the range. */
struct rdb_range_files {
    uint64_t bytes;
    int lowest_level; /* the highest level number; -1: there is no file */
};
struct rdb_range_files sto_rdb_range_files(struct rdb_engine *e, int family, struct slice begin,
                                           struct slice end);
/* Returns the approximate number of bytes stored between two keys. */
uint64_t sto_rdb_range_bytes(struct rdb_engine *e, int family, struct slice begin,
                             struct slice end);
/* Call after compactions: starts a new MANIFEST, and waits until replaced files are gone from the
 * disk. */
enum err sto_rdb_files_settle(struct rdb_engine *e, struct errbuf *eb) MUST_CHECK;

/* Returns an integer property of the whole database. */
uint64_t sto_rdb_property(struct rdb_engine *e, const char *name);

#endif

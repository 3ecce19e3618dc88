/*
 * storage/rocksdb/ranges.h - what is done to physical ranges: deleted, rewritten, gone.
 *
 * Does:     write range tombstones, delete files inside a range, rewrite the files between two
 *           keys, and wait until what was replaced is gone from the disk, the MANIFEST included.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: whose range it is, in which order it is done (purge.c, reclaim.c).
 * Threads:  any that may block.
 * Blocks:   yes, for as long as a compaction takes.
 * Fails by: ERR_TIMEOUT (snapshots or reads still open), ERR_IO, ERR_CORRUPT, ERR_UNAVAILABLE,
 *           ERR_OUTCOME_UNKNOWN.
 * Limits:   rdb_engine.wait_seconds.
 * Promises: 1. This room calls delete_range, delete_file_in_range and compact_range nowhere else,
 *              and deletes only ranges from storage/range.h.
 */
#ifndef STORAGE_ROCKSDB_RANGES_H
#define STORAGE_ROCKSDB_RANGES_H

#include <rocksdb/c.h>

#include "base/err.h"
#include "storage/account.h"
#include "storage/range.h"

struct rdb_engine;

/* Rows between two keys with less than that between them are rewritten together: about a file. */
#define RDB_NEAR_BYTES (64 * MIB)

/* family: RDB_CF_CELLS and so on. owner: whose range it is; NULL: not known. Under docs_lock until
 * the batch is written. */
void sto_rdb_range_delete(struct rdb_engine *e, rocksdb_writebatch_t *batch, int family,
                          struct sto_span span, struct sto_account *owner);
/* The same in two steps: into a batch, and, when that is about to be written, everything else. */
void sto_rdb_range_put(struct rdb_engine *e, rocksdb_writebatch_t *batch, int family,
                       struct sto_span span);
void sto_rdb_range_written(struct rdb_engine *e, int family, struct sto_account *owner);
/* Of files wholly inside. Never behind a range tombstone: one that goes with its file lets older
 * rows in a straddling file come back. */
enum err sto_rdb_files_delete(struct rdb_engine *e, int family, const struct sto_range *range,
                              struct errbuf *eb) MUST_CHECK;
/* A compaction keeps what a snapshot sees. Newer ones see the deletion: they are not waited for. */
enum err sto_rdb_wait_for_snapshots(struct rdb_engine *e, struct errbuf *eb) MUST_CHECK;
/* Whose keys are between them does not matter: what a read would give stays. RocksDB does not say
 * whether it failed; checking and settling do. */
void sto_rdb_range_compact(struct rdb_engine *e, int family, struct slice begin, struct slice end);
/* The same, so that nothing that was deleted there before stays in the files, nor its deletion,
 * whatever the levels: it may rewrite a file more. */
void sto_rdb_range_compact_deepest(struct rdb_engine *e, int family, struct slice begin,
                                   struct slice end);
/* As sto_rdb_range_compact, of several, sorted here; those that are near each other as one. */
void sto_rdb_spans_compact(struct rdb_engine *e, int family, struct sto_span *spans, size_t count);
/* Removes every key of the ranges, with all its versions, from the files, visible or not: compacts
 * with the ranges' ends as cuts (cut.h; set by the caller), so that they get table files of their
 * own, and deletes those files. Nothing may be written there any more, and nothing of them be in a
 * memtable. `ranges` is reordered. ERR_TIMEOUT: some keys are left, the same call goes on. */
enum err sto_rdb_ranges_erase(struct rdb_engine *e, int family, const struct sto_range **ranges,
                              size_t count, struct errbuf *eb) MUST_CHECK;
/* None was told to end, or failed, since the engine was opened. */
enum err sto_rdb_compactions_check(struct rdb_engine *e, struct errbuf *eb) MUST_CHECK;
/* Live files that some key of the range may be in. */
struct rdb_range_files {
    uint64_t bytes;
    int lowest_level; /* the highest number; -1: there is none */
};
struct rdb_range_files sto_rdb_range_files(struct rdb_engine *e, int family, struct slice begin,
                                           struct slice end);
/* Of what stands between two keys, roughly. */
uint64_t sto_rdb_range_bytes(struct rdb_engine *e, int family, struct slice begin,
                             struct slice end);
/* Behind compactions: a new MANIFEST, and replaced files gone from the disk. */
enum err sto_rdb_files_settle(struct rdb_engine *e, struct errbuf *eb) MUST_CHECK;

/* A number that RocksDB keeps of the whole database. */
uint64_t sto_rdb_property(struct rdb_engine *e, const char *name);

#endif

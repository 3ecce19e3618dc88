/*
 * storage/rocksdb/change_log.h - what happens to a row, written down beside it.
 *
 * Does:     collect what was done to the row under way; put it, as a change of the table's stream,
 *           into the batch that does it.
 * Owns:     the list, and copies where the bytes do not live as long.
 * May use:  base/, storage/.
 * Knows no: why the row changes, who reads the stream.
 * Threads:  one committer's.
 * Blocks:   no.
 * Fails by: ERR_NO_MEMORY.
 * Limits:   those of the operation; LIM_CHANGE_PART a stored part.
 * Promises: 1. A change is on disk exactly when what it tells of is. 2. Positions rise within a
 *              table, and are beyond all that readers were told is complete.
 *           3. A table without a stream costs one load for each row.
 */
#ifndef STORAGE_ROCKSDB_CHANGE_LOG_H
#define STORAGE_ROCKSDB_CHANGE_LOG_H

#include "base/arena.h"
#include "storage/change.h"
#include "storage/rocksdb/batch.h"

struct rdb_change_log {
    bool on;             /* the table has a stream */
    bool changes;        /* something on the list does */
    bool run_goes_on;    /* the next removed cell may be next to the last one */
    struct buf list;     /* of struct sto_change_mutation */
    struct arena copies; /* of qualifiers */
};

void sto_rdb_change_log_init(struct rdb_change_log *log);
void sto_rdb_change_log_fini(struct rdb_change_log *log);
/* A row of the table begins. */
void sto_rdb_change_log_begin(struct rdb_change_log *log, const struct sto_table *table);

static inline size_t sto_rdb_change_log_count(const struct rdb_change_log *log)
{
    return log->list.len / sizeof(struct sto_change_mutation);
}

/* m was done. Its bytes live until the change is put. A set of the cell that the log's last set is
 * of takes its place. changes: the row is not what it was; without anything that does, what was
 * collected is no change. */
enum err sto_rdb_change_log_add(struct rdb_change_log *log, const struct sto_change_mutation *m,
                                bool changes) MUST_CHECK;
/* Cells of a row, in its order: this one was removed, family NULL: left. */
enum err sto_rdb_change_log_cell(struct rdb_change_log *log, const struct sto_family *family,
                                 struct slice qualifier_escaped, int64_t timestamp_us) MUST_CHECK;
/* Nothing is left of the row: say so by families. */
void sto_rdb_change_log_whole_row(struct rdb_change_log *log);

/* What was collected, if anything, as one change of the row. */
enum err sto_rdb_change_log_put(struct rdb_change_log *log, struct rdb_batch *batch,
                                struct rdb_tally *tally, const struct sto_table_scope *scope,
                                enum sto_change_type type, struct slice row_key,
                                int64_t committer_us) MUST_CHECK;

#endif

/*
 * storage/rocksdb/change_log.h - records the changes of a row in the batch that makes them.
 *
 * Does:     collects the changes of the row in progress; puts them, as one change of the table's
 *           stream, into the batch that makes them.
 * Owns:     the list, and copies of bytes that do not live as long.
 * May use:  base/, storage/.
 * Knows no: why the row changes, who reads the stream.
 * Threads:  one committer's.
 * Blocks:   no.
 * Fails by: ERR_NO_MEMORY.
 * Limits:   those of the operation; LIM_CHANGE_PART a stored part.
 * Promises: 1. A change is on disk exactly when the mutations that it describes are.
 *           2. Positions rise within a table, and are after every position that readers were told
 *              is complete.
 *           3. A table without a stream costs one load for each row.
 */
#ifndef STORAGE_ROCKSDB_CHANGE_LOG_H
#define STORAGE_ROCKSDB_CHANGE_LOG_H

#include "base/arena.h"
#include "storage/change.h"
#include "storage/rocksdb/batch.h"

struct rdb_change_log {
    bool on;             /* the table has a stream */
    bool changes;        /* an entry of the list changes the row */
    bool run_goes_on;    /* the next removed cell may be adjacent to the last one */
    struct buf list;     /* array of struct sto_change_mutation */
    struct arena copies; /* copies of qualifiers */
};

void sto_rdb_change_log_init(struct rdb_change_log *log);
void sto_rdb_change_log_fini(struct rdb_change_log *log);
/* Starts a row of the table. */
void sto_rdb_change_log_begin(struct rdb_change_log *log, const struct sto_table *table);

static inline size_t sto_rdb_change_log_count(const struct rdb_change_log *log)
{
    return log->list.len / sizeof(struct sto_change_mutation);
}

/* Adds m, which was applied. Its bytes live until the change is put. A set of the same cell as the
 * log's last set replaces that one. changes: the row differs afterwards; if no entry changes the
 * row, nothing is recorded. */
enum err sto_rdb_change_log_add(struct rdb_change_log *log, const struct sto_change_mutation *m,
                                bool changes) MUST_CHECK;
/* Adds cells of a row, in order: this cell was removed, or kept (family NULL). */
enum err sto_rdb_change_log_cell(struct rdb_change_log *log, const struct sto_family *family,
                                 struct slice qualifier_escaped, int64_t timestamp_us) MUST_CHECK;
/* Records, family by family, that the whole row was deleted. */
void sto_rdb_change_log_whole_row(struct rdb_change_log *log);

/* Puts the collected entries, if any, as one change of the row. */
enum err sto_rdb_change_log_put(struct rdb_change_log *log, struct rdb_batch *batch,
                                struct rdb_tally *tally, const struct sto_table_scope *scope,
                                enum sto_change_type type, struct slice row_key,
                                int64_t committer_us) MUST_CHECK;

#endif

/*
 * storage/rocksdb/reclaim_note.h - reclaim records: one for each drop whose bytes are still in
 * files.
 *
 * Does:     writes a reclaim record in the batch of a drop, reports when records are due, reads and
 *           deletes them.
 * Owns:     the keys "d/<tenant>/<table>/<first row>" beside the documents.
 * May use:  base/, storage/.
 * Knows no: how space is reclaimed (reclaim.h).
 * Threads:  any.
 * Blocks:   on reads; forget on a synced write.
 * Fails by: ERR_CORRUPT, ERR_IO (both latch the engine), as sto_rdb_write.
 * Limits:   RDB_NOTES_BYTES of records read at once.
 * Promises: 1. Drops that start at the same row have one record, which covers them all and is due
 *              when the first of them was.
 *           2. A record is deleted only if no newer one has replaced it.
 */
#ifndef STORAGE_ROCKSDB_RECLAIM_NOTE_H
#define STORAGE_ROCKSDB_RECLAIM_NOTE_H

#include <rocksdb/c.h>

#include "storage/keycodec.h"
#include "storage/range.h"
#include "storage/rocksdb/batch.h"

#define RDB_NOTES_BYTES (256 * KIB)

struct rdb_engine;

enum rdb_note_when {
    RDB_NOTE_NOW,
    RDB_NOTE_LATER, /* options.reclaim_after_s from now */
};

struct rdb_note {
    struct slice key;   /* as stored, borrowed */
    struct slice value; /* as stored, borrowed */
    int64_t due_us;     /* when it is due; 0: now */
    struct sto_range table;
    struct sto_key_bounds bounds; /* inside the table */
};

/* Adds a reclaim record to the batch. Under docs_lock until the batch is written. bounds: of rows
 * of the table; NULL: all of it. */
enum err sto_rdb_note_write(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                            const struct sto_table_scope *scope,
                            const struct sto_key_bounds *bounds,
                            enum rdb_note_when when) MUST_CHECK;

struct rdb_notes_due {
    size_t now;       /* records to be processed now */
    size_t later;     /* records that are not due now */
    bool takes_all;   /* one of those of `later` is due: all of them are to be processed */
    uint64_t wait_us; /* until one of those of `later` is due; UINT64_MAX: there is none */
};
enum err sto_rdb_notes_due(struct rdb_engine *e, struct rdb_notes_due *out) MUST_CHECK;

/* Records in the order of their keys, which is the order of the rows of a table. */
struct rdb_notes {
    struct buf stored;
};
/* Reads as many records as fit; all: also those that are not due. An empty result means that there
 * is no record. */
enum err sto_rdb_notes_read(struct rdb_engine *e, bool all, struct rdb_notes *out) MUST_CHECK;
void sto_rdb_notes_fini(struct rdb_notes *notes);
/* Returns record after record, starting with *position 0. False: there is no further one. */
bool sto_rdb_notes_next(const struct rdb_notes *notes, size_t *position, struct rdb_note *out);
/* Marks a record as kept: forget does not delete it. */
void sto_rdb_notes_keep(struct rdb_notes *notes, const struct rdb_note *note);
bool sto_rdb_notes_keep_any(const struct rdb_notes *notes);
/* Deletes the records; kept ones become records for later, due again in kept_s seconds. */
enum err sto_rdb_notes_forget(struct rdb_engine *e, const struct rdb_notes *notes,
                              uint64_t kept_s) MUST_CHECK;

#endif

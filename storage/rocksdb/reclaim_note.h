/*
 * storage/rocksdb/reclaim_note.h - what is still to be given back of a table, one note for each.
 *
 * Does:     write a note in the batch of a range tombstone, read notes, take them away.
 * Owns:     the keys "r/<tenant>/<table>" beside the documents.
 * May use:  base/, storage/.
 * Knows no: when space is given back (reclaim.h).
 * Threads:  any.
 * Blocks:   on reads; forgetting on a synced write.
 * Fails by: ERR_CORRUPT, ERR_IO (both latch the engine), as sto_rdb_write.
 * Limits:   none.
 * Promises: 1. A table has one note; a newer one covers what the older one did.
 *           2. A note is taken away only if no newer one has taken its place.
 */
#ifndef STORAGE_ROCKSDB_RECLAIM_NOTE_H
#define STORAGE_ROCKSDB_RECLAIM_NOTE_H

#include <rocksdb/c.h>

#include "storage/keycodec.h"
#include "storage/range.h"
#include "storage/rocksdb/batch.h"

#define RDB_RECLAIM_LETTER 'r'

struct rdb_engine;

struct rdb_note {
    size_t key_len;
    uint8_t key[RDB_COUNTER_KEY_MAX];
    uint64_t sequence; /* tells notes of one table apart */
    struct sto_range table;
    struct sto_key_bounds bounds; /* inside the table */
};

/* Under docs_lock until the batch is written. bounds: of rows of the table; NULL: all of it. */
enum err sto_rdb_note_write(struct rdb_engine *e, rocksdb_writebatch_t *batch,
                            const struct sto_table_scope *scope,
                            const struct sto_key_bounds *bounds) MUST_CHECK;

/* The first ones, in the order of their keys. */
enum err sto_rdb_notes_read(struct rdb_engine *e, struct rdb_note *out, size_t max,
                            size_t *out_count) MUST_CHECK;
struct sto_span sto_rdb_note_span(const struct rdb_note *note);
enum err sto_rdb_notes_forget(struct rdb_engine *e, const struct rdb_note *notes,
                              size_t count) MUST_CHECK;

#endif

/*
 * storage/rocksdb/apply_row.h - the row that an operation works on, for the apply_*.c files.
 *
 * Does:     hold what is known of the row; name the steps that change it.
 * Owns:     the cursor and scratch memory, from the operation's begin to its end.
 * May use:  base/, storage/.
 * Knows no: gate, quota, who is answered.
 * Threads:  one committer's.
 * Blocks:   on reads.
 * Fails by: ERR_CORRUPT, ERR_TOO_BIG, ERR_INVALID, ERR_CONFLICT, ERR_NOT_FOUND, ERR_NO_MEMORY,
 *           ERR_IO. A detail is written only where it says more than the code.
 * Limits:   LIM_DELETE_CELLS, the account's of cells.
 * Promises: 1. now counts the row as the steps so far leave it, once has_head.
 */
#ifndef STORAGE_ROCKSDB_APPLY_ROW_H
#define STORAGE_ROCKSDB_APPLY_ROW_H

#include "storage/engine.h"
#include "storage/rocksdb/change_log.h"
#include "storage/rocksdb/row_cursor.h"

struct rdb_row {
    struct rdb_batch *batch;
    const struct sto_mutate_op *op;
    int64_t server_us;
    bool has_head; /* before, now and cursor are there; else cells were replaced by as long ones */
    struct rdb_head_view before; /* in_db: the database holds cells of this row */
    struct sto_row_head now;
    size_t deleted; /* cells, by this operation */
    struct rdb_row_cursor cursor;
    struct buf state; /* scratch for the state of an aggregate */
    struct rdb_change_log changes;
    size_t row_len;
    uint8_t key[STO_KEY_MAX];   /* scratch that begins with the row prefix */
    uint8_t upper[STO_KEY_MAX]; /* scratch for the end of a delete */
};

/* apply.c: look at the row's header, unless that was done. Writes behind the row in r->key. */
enum err sto_rdb_row_head(struct rdb_row *r) MUST_CHECK;

/* apply_set.c: SET_CELL, ADD_TO_CELL, MERGE_TO_CELL, at an exact timestamp. */
enum err sto_rdb_row_set(struct rdb_row *r, const struct sto_mutation *m) MUST_CHECK;
enum err sto_rdb_row_aggregate(struct rdb_row *r, const struct sto_mutation *m,
                               struct errbuf *eb) MUST_CHECK;
/* Count a cell of new_len bytes in the place of what view shows. */
enum err sto_rdb_row_count_cell(struct rdb_row *r, const struct rdb_cell_view *view,
                                const struct sto_family *family, size_t qualifier_len,
                                size_t new_len) MUST_CHECK;

/* A cell was made or added to: for the table's change stream. Bytes live as long as the row. */
enum err sto_rdb_row_tell_cell(struct rdb_row *r, enum sto_mutation_kind kind,
                               const struct sto_family *family, struct slice qualifier,
                               int64_t timestamp_us, struct slice value) MUST_CHECK;

/* apply_modify.c: APPEND, INCREMENT, on the newest cell of a column. */
enum err sto_rdb_row_modify(struct rdb_row *r, const struct sto_mutation *m,
                            struct errbuf *eb) MUST_CHECK;
/* Fill in op->modified from the columns that its mutations name. */
enum err sto_rdb_row_modified(struct rdb_row *r, struct sto_modified *out,
                              struct errbuf *eb) MUST_CHECK;

/* apply_delete.c */
enum err sto_rdb_row_delete(struct rdb_row *r, const struct sto_mutation *m) MUST_CHECK;

/* apply_check.c: whether the predicate gives a cell of what its view shows of the row. */
enum err sto_rdb_row_matches(struct rdb_row *r, const struct sto_check *check, bool *out,
                             struct errbuf *eb) MUST_CHECK;

#endif

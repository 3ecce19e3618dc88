/*
 * storage/rocksdb/apply_row.h - the row that an operation changes, for the apply_*.c files.
 *
 * Does:     holds the known state of the row; declares the steps that change it.
 * Owns:     the cursor and scratch memory, from the operation's start to its end.
 * May use:  base/, storage/.
 * Knows no: gate, quota, client.
 * Threads:  one committer's.
 * Blocks:   on reads.
 * Fails by: ERR_CORRUPT, ERR_TOO_BIG, ERR_INVALID, ERR_CONFLICT, ERR_NOT_FOUND, ERR_NO_MEMORY,
 *           ERR_IO. A detail is written only where it says more than the code.
 * Limits:   LIM_DELETE_CELLS, the account's of cells.
 * Promises: 1. Once has_head is set, `now` counts the row as the steps so far leave it.
 */
#ifndef STORAGE_ROCKSDB_APPLY_ROW_H
#define STORAGE_ROCKSDB_APPLY_ROW_H

#include "storage/engine.h"
#include "storage/rocksdb/change_log.h"
#include "storage/rocksdb/row_cursor.h"

/* The mutations that apply. */
struct rdb_todo {
    const struct sto_mutation *mutations;
    size_t count;
};

struct rdb_row {
    struct rdb_batch *batch;
    struct sto_mutate_op *op;
    int64_t server_us;
    uint64_t steps; /* cells visited and mutations, so far */
    /* beyond this the operation is expensive; UINT64_MAX: it runs on a reader */
    uint64_t steps_max;
    /* on a reader: `steps` when the operation last checked whether it may continue */
    uint64_t steps_looked;
    /* on a reader: runs beside the pool's scans; the code that ends the operation steps back */
    bool is_aside;
    bool is_dear;        /* the operation ends with ERR_CANCELLED, and a reader is to compute it */
    uint64_t bytes_seen; /* of cells that a condition visited */
    uint64_t work_ns;    /* of a predicate's expressions */
    uint64_t bytes_deleted; /* of cells */
    struct rdb_todo todo;
    /* before, now and cursor are valid; else cells were replaced by cells of the same size */
    bool has_head;
    struct rdb_head_view before; /* in_db: the database may hold cells of this row */
    struct sto_row_head now;
    size_t deleted; /* cells deleted by this operation */
    /* the operation deleted the whole row, and knows every cell that the database holds */
    bool is_emptied;
    struct rdb_row_cursor cursor;
    /* keys that one move of the cursor passes before the operation is expensive; 0: any number */
    uint64_t removed_max;
    struct buf state; /* scratch for the state of an aggregate */
    struct rdb_change_log changes;
    size_t row_len;
    uint8_t key[STO_KEY_MAX]; /* scratch; starts with the row prefix */
    /* scratch: the end of a delete, or the version that a put replaces */
    uint8_t upper[STO_KEY_MAX];
};

/* apply.c: reads the row's header, unless it was read before. Writes into r->key after the row
 * prefix. */
enum err sto_rdb_row_head(struct rdb_row *r) MUST_CHECK;

/* apply_limits.c. used: by the account so far. A change that does not increase a counter is always
 * allowed. */
/* used: of stored changes, including `added`. */
enum err sto_rdb_change_quota_check(const struct sto_account *account, uint64_t used,
                                    uint64_t added, struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_quota_check(const struct sto_account *account, const struct sto_usage *used,
                             const struct sto_delta *delta, struct errbuf *eb) MUST_CHECK;

/* apply.c: counts `steps` more. ERR_CANCELLED: the operation is expensive. */
enum err sto_rdb_row_step(struct rdb_row *r, uint64_t steps) MUST_CHECK;
/* apply.c: the cursor's seek, after which r->cursor shows r's cells, and its next. ERR_CANCELLED:
 * the operation is expensive. */
enum err sto_rdb_row_seek(struct rdb_row *r, struct slice key) MUST_CHECK;
enum err sto_rdb_row_next(struct rdb_row *r) MUST_CHECK;

/* Returns whether the database may hold a cell of the row that the batch does not know. */
static inline bool sto_rdb_row_may_have_more(const struct rdb_row *r)
{
    return !r->is_emptied && (!r->has_head || r->before.in_db);
}

/* apply_set.c: SET_CELL, ADD_TO_CELL, MERGE_TO_CELL, at an exact timestamp. */
enum err sto_rdb_row_set(struct rdb_row *r, const struct sto_mutation *m) MUST_CHECK;
enum err sto_rdb_row_aggregate(struct rdb_row *r, const struct sto_mutation *m,
                               struct errbuf *eb) MUST_CHECK;
/* A cell that is being added to the batch. */
struct rdb_put {
    const struct sto_family *family;
    size_t qualifier_len;
    size_t value_len;
    struct rdb_cell_view view;  /* of the cell that it replaces */
    struct rdb_cell_view older; /* of the version that is deleted with it; not present: none */
};
/* In a family of one version: the cell replaces the version under the cursor. */
enum err sto_rdb_row_put_older_here(struct rdb_row *r, struct rdb_put *put) MUST_CHECK;
/* Counts the new cell in place of the cells in its views, and deletes the older version. */
enum err sto_rdb_row_put_count(struct rdb_row *r, struct rdb_put *put) MUST_CHECK;
void sto_rdb_row_put_release(struct rdb_put *put);

/* Records a created or changed cell for the table's change stream. Its bytes live as long as the
 * row. */
enum err sto_rdb_row_tell_cell(struct rdb_row *r, enum sto_mutation_kind kind,
                               const struct sto_family *family, struct slice qualifier,
                               int64_t timestamp_us, struct slice value) MUST_CHECK;

/* apply_modify.c: APPEND, INCREMENT, on the newest cell of a column. */
enum err sto_rdb_row_modify(struct rdb_row *r, const struct sto_mutation *m,
                            struct errbuf *eb) MUST_CHECK;
/* Fills in op->modified from the columns that its mutations name. */
enum err sto_rdb_row_modified(struct rdb_row *r, struct sto_modified *out,
                              struct errbuf *eb) MUST_CHECK;

/* apply_count.c: lets a committer avoid walking through many removed keys. */
#define COLUMN_REMOVED_MAX 64 /* removed keys passed in one move, unless more are unavoidable */
#define ROW_COUNTED_MAX    64 /* cells: larger rows are not counted */
/* Moves from a cell of the column to the next cell. If more than COLUMN_REMOVED_MAX removed keys
 * (the cursor's bound) come first, moves to the next column and sets *jumped, because the jump may
 * have passed cells. Writes into r->key. ERR_CANCELLED: too many come first there, too, or r is
 * expensive. */
enum err sto_rdb_row_jump(struct rdb_row *r, struct slice column, bool *jumped) MUST_CHECK;
/* Adds the number of cells from `begin` to `end`, or to the end of the row (empty), until it
 * exceeds ROW_COUNTED_MAX. Jumps, and stops where no jump is possible: the count may be too low.
 * Keeps the row prefix in r->key, and writes after it. ERR_CANCELLED: r is expensive. */
enum err sto_rdb_row_count(struct rdb_row *r, struct slice begin, struct slice end,
                           uint64_t *count) MUST_CHECK;
/* Returns in *out whether jumps from cell to cell miss none of the row's cells. */
enum err sto_rdb_row_jumps_miss_none(struct rdb_row *r, bool *out) MUST_CHECK;

/* apply_delete.c */
enum err sto_rdb_row_delete(struct rdb_row *r, const struct sto_mutation *m) MUST_CHECK;

/* apply_check.c: returns in *out whether the predicate emits a cell of the row, as its view shows
 * it. */
enum err sto_rdb_row_matches(struct rdb_row *r, const struct sto_check *check, bool *out,
                             struct errbuf *eb) MUST_CHECK;

#endif

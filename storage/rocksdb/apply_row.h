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

/* The mutations that happen. */
struct rdb_todo {
    const struct sto_mutation *mutations;
    size_t count;
};

struct rdb_row {
    struct rdb_batch *batch;
    struct sto_mutate_op *op;
    int64_t server_us;
    uint64_t steps;        /* cells looked at and mutations, so far */
    uint64_t steps_max;    /* then it is dear; UINT64_MAX: it is on a reader */
    uint64_t steps_looked; /* there: when it was last asked whether it may go on */
    bool is_aside;       /* and it runs beside the scans of the pool: whoever ends it steps back */
    bool is_dear;        /* a reader is to work it out: it ends with ERR_CANCELLED */
    uint64_t bytes_seen; /* of cells that a condition looked at */
    uint64_t work_ns;    /* of a predicate's expressions */
    uint64_t bytes_deleted; /* of cells */
    struct rdb_todo todo;
    bool has_head; /* before, now and cursor are there; else cells were replaced by as long ones */
    struct rdb_head_view before; /* in_db: the database holds cells of this row */
    struct sto_row_head now;
    size_t deleted;  /* cells, by this operation */
    bool is_emptied; /* it deleted the whole row, and knows of every cell that the database holds */
    struct rdb_row_cursor cursor;
    uint64_t removed_max; /* keys that one move of the cursor passes before r is dear; 0: any */
    struct buf state;     /* scratch for the state of an aggregate */
    struct rdb_change_log changes;
    size_t row_len;
    uint8_t key[STO_KEY_MAX];   /* scratch that begins with the row prefix */
    uint8_t upper[STO_KEY_MAX]; /* scratch: the end of a delete, the version that a put replaces */
};

/* apply.c: look at the row's header, unless that was done. Writes behind the row in r->key. */
enum err sto_rdb_row_head(struct rdb_row *r) MUST_CHECK;

/* apply_limits.c: used: by the account so far. Less than there was is always allowed. */
/* used: of stored changes, with the bytes that are added. */
enum err sto_rdb_change_quota_check(const struct sto_account *account, uint64_t used,
                                    uint64_t added, struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_quota_check(const struct sto_account *account, const struct sto_usage *used,
                             const struct sto_delta *delta, struct errbuf *eb) MUST_CHECK;

/* apply.c: so many steps more. ERR_CANCELLED: it is dear. */
enum err sto_rdb_row_step(struct rdb_row *r, uint64_t steps) MUST_CHECK;
/* apply.c: the cursor's seek, from which on r->cursor shows r's cells, and its next. ERR_CANCELLED:
 * it is dear. */
enum err sto_rdb_row_seek(struct rdb_row *r, struct slice key) MUST_CHECK;
enum err sto_rdb_row_next(struct rdb_row *r) MUST_CHECK;

/* Whether the database may hold a cell of the row that the batch does not know of. */
static inline bool sto_rdb_row_may_have_more(const struct rdb_row *r)
{
    return !r->is_emptied && (!r->has_head || r->before.in_db);
}

/* apply_set.c: SET_CELL, ADD_TO_CELL, MERGE_TO_CELL, at an exact timestamp. */
enum err sto_rdb_row_set(struct rdb_row *r, const struct sto_mutation *m) MUST_CHECK;
enum err sto_rdb_row_aggregate(struct rdb_row *r, const struct sto_mutation *m,
                               struct errbuf *eb) MUST_CHECK;
/* A cell on its way into the batch. */
struct rdb_put {
    const struct sto_family *family;
    size_t qualifier_len;
    size_t value_len;
    struct rdb_cell_view view;  /* of what is in its place */
    struct rdb_cell_view older; /* of the version that goes with it; not present: none does */
};
/* In a family of one version, the version that the cell replaces is the one under the cursor. */
enum err sto_rdb_row_put_older_here(struct rdb_row *r, struct rdb_put *put) MUST_CHECK;
/* Counts the cell instead of what its views show, and deletes the older version. */
enum err sto_rdb_row_put_count(struct rdb_row *r, struct rdb_put *put) MUST_CHECK;
void sto_rdb_row_put_release(struct rdb_put *put);

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

/* apply_count.c: what a committer does instead of walking through many removed keys. */
#define COLUMN_REMOVED_MAX 64 /* passed in one move, where it is not necessary to pass more */
#define ROW_COUNTED_MAX    64 /* cells: rows of more are not counted */
/* From a cell of that column to the next cell. If more than COLUMN_REMOVED_MAX removed keys come
 * first (the cursor's bound), to the next column: *jumped is set, for cells may lie between. Writes
 * into r->key. ERR_CANCELLED: too many come first there, too, or r is dear. */
enum err sto_rdb_row_jump(struct rdb_row *r, struct slice column, bool *jumped) MUST_CHECK;
/* Adds the cells from `begin` to `end`, or to the end of the row (empty), until there are more than
 * ROW_COUNTED_MAX. Jumps, and ends where it cannot: the count may be too low. Leaves the row's
 * prefix in r->key alone, and writes behind it. ERR_CANCELLED: r is dear. */
enum err sto_rdb_row_count(struct rdb_row *r, struct slice begin, struct slice end,
                           uint64_t *count) MUST_CHECK;
/* Whether jumps from cell to cell miss none of the row's. */
enum err sto_rdb_row_jumps_miss_none(struct rdb_row *r, bool *out) MUST_CHECK;

/* apply_delete.c */
enum err sto_rdb_row_delete(struct rdb_row *r, const struct sto_mutation *m) MUST_CHECK;

/* apply_check.c: whether the predicate gives a cell of what its view shows of the row. */
enum err sto_rdb_row_matches(struct rdb_row *r, const struct sto_check *check, bool *out,
                             struct errbuf *eb) MUST_CHECK;

#endif

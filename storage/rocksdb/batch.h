/*
 * storage/rocksdb/batch.h - one commit: changed cells, exact counters, one synced write.
 *
 * Does:     see rows as the batch under way leaves them; collect changes and what they do to the
 *           counters; write all of it with one fsync.
 * Owns:     overlay, RocksDB batch and tallies, until fini.
 * May use:  base/, storage/.
 * Knows no: queues, operations, quotas.
 * Threads:  one committer's.
 * Blocks:   on reads and on the fsync of sto_rdb_batch_write.
 * Fails by: ERR_CORRUPT, ERR_IO (both after latching the engine), ERR_NO_MEMORY,
 *           ERR_OUTCOME_UNKNOWN (write failed), ERR_UNAVAILABLE (latched before).
 * Limits:   LIM_BATCH_OPS tallies.
 * Promises: 1. Counters in memory change only after the write that changes them on disk succeeded.
 *           2. Cells and the counters of their table are in the same batch.
 *           3. recent agrees with the database: all that is written under a key of a cell or a
 *              header passes through the overlay, and a purge has it cleared.
 */
#ifndef STORAGE_ROCKSDB_BATCH_H
#define STORAGE_ROCKSDB_BATCH_H

#include <rocksdb/c.h>

#include "storage/keycodec.h"
#include "storage/rocksdb/long_row.h"
#include "storage/rocksdb/overlay.h"
#include "storage/rocksdb/recent.h"
#include "storage/rocksdb/watch.h"

#define RDB_SEALED_MAX (LIM_CELL_BYTES_HARD + MIB)

struct rdb_engine;

/* The counters of one table, and of the account it belongs to, as this batch leaves them. */
struct rdb_tally {
    struct sto_table *table;
    struct sto_tenant_scope tenant;
    struct sto_usage usage;
    bool changed;
    uint64_t added;         /* cells: sto_table.additions rises by them */
    int64_t last_change_us; /* sto_change_stream.last_us behind this batch */
    uint64_t change_bytes;  /* of changes in this batch */
    size_t account_index;
};

struct rdb_account_tally {
    struct sto_account *account;
    struct sto_usage usage;
    struct sto_change_sum *changes; /* NULL: change_bytes is 0 */
    uint64_t change_bytes;          /* of changes in this batch */
};

struct rdb_batch {
    struct rdb_engine *engine;
    struct rdb_overlay overlay;      /* cells and row headers */
    struct rdb_overlay tokens;       /* of idempotency (token.h) */
    struct rdb_recent recent;        /* what the database holds, of what was written last */
    struct rdb_watch *watches;       /* ranges that are read elsewhere meanwhile */
    struct rdb_long_rows *long_rows; /* rows of its tenants that are read over several slices */
    const struct sto_span *range;    /* rows that go as a range with this batch; NULL: none */
    rocksdb_writebatch_t *writes;
    struct sto_cipher *cipher; /* of the tenant whose operation is under way; NULL: none */
    struct sto_sealer sealer;
    struct buf sealed;      /* scratch: the value on its way to the database */
    struct buf change_part; /* scratch of change_log.c */
    size_t change_bytes;    /* of changes, in writes */
    bool expects_known;     /* what the last cell at a given time replaced needed no header */
    bool is_apart;      /* of one operation on a reader: what is written, another batch writes */
    size_t counted;     /* bytes of `writes`, in the overlay's share of memory; is_apart only */
    size_t range_count; /* of ranges, which are not empty and lie in one row; is_apart only */
    struct sto_span ranges[LIM_DELETE_RANGES]; /* what the database holds there is deleted */
    size_t tally_count;
    size_t account_count;
    struct rdb_tally tallies[LIM_BATCH_OPS];
    struct rdb_account_tally accounts[LIM_BATCH_OPS];
};

struct sto_delta {
    int64_t bytes;
    int64_t rows;
    int64_t cells;
};

void sto_rdb_batch_init(struct rdb_batch *b, struct rdb_engine *e, struct rdb_long_rows *long_rows);
void sto_rdb_batch_fini(struct rdb_batch *b);

/* The row header as the batch sees it. */
struct rdb_head_view {
    struct rdb_entry *entry; /* where a change of it goes */
    bool in_db; /* the database has it (and may have cells), whatever the batch did since */
    struct sto_row_head head; /* cells 0: there is no row */
};
enum err sto_rdb_batch_head(struct rdb_batch *b, struct slice header_key,
                            struct rdb_head_view *out) MUST_CHECK;
/* A cell as the batch sees it. row_in_db false: the database is not asked. */
struct rdb_cell_view {
    struct rdb_entry *entry; /* where a change of it goes */
    bool present;
    bool in_db;
    uint8_t family_name_len;
    size_t value_len;   /* of a present cell */
    struct slice value; /* the same, until the view is released; empty when only sizes are known */
    rocksdb_pinnableslice_t *pinned;
    struct buf plain; /* of what was sealed */
};
/* The view is released by the caller, after a failure too. */
enum err sto_rdb_batch_cell(struct rdb_batch *b, struct slice key, bool row_in_db,
                            struct rdb_cell_view *out) MUST_CHECK;
/* The same for who does not need the value. */
enum err sto_rdb_batch_cell_size(struct rdb_batch *b, struct slice key, bool row_in_db,
                                 struct rdb_cell_view *out) MUST_CHECK;
/* Whether the size of the cell that the database holds is known without a look into it. */
bool sto_rdb_batch_remembers(const struct rdb_batch *b, struct slice key);
void sto_rdb_cell_view_release(struct rdb_cell_view *view);
/* The key of an older version of the cell, if one is known without a look into the database. It may
 * have been deleted by this batch. out_key: STO_KEY_MAX. */
bool sto_rdb_batch_older(struct rdb_batch *b, struct slice key, bool row_in_db, uint8_t *out_key);

/* value: borrowed until the batch is written. */
enum err sto_rdb_batch_put_cell(struct rdb_batch *b, const struct rdb_cell_view *view,
                                uint8_t family_name_len, struct slice value) MUST_CHECK;
/* value is copied. Both parts make it together; either may be empty, and head may be what the cell
 * holds now. */
enum err sto_rdb_batch_put_made(struct rdb_batch *b, const struct rdb_cell_view *view,
                                uint8_t family_name_len, struct slice head,
                                struct slice tail) MUST_CHECK;
enum err sto_rdb_batch_delete_cell(struct rdb_batch *b, struct slice key, bool in_db) MUST_CHECK;
/* head->cells 0 deletes the header. Only the place and in_db of the view matter. */
enum err sto_rdb_batch_put_head(struct rdb_batch *b, const struct rdb_head_view *view,
                                const struct sto_row_head *head) MUST_CHECK;
/* The same for a header that is in the database and was not looked at through the batch. */
enum err sto_rdb_batch_replace_head(struct rdb_batch *b, struct slice header_key,
                                    const struct sto_row_head *head) MUST_CHECK;

/* In a batch apart: the cells of the database in the span are deleted. False: no memory, or there
 * are LIM_DELETE_RANGES. */
bool sto_rdb_batch_delete_range(struct rdb_batch *b, struct sto_span span) MUST_CHECK;
/* The range that hides what the database holds under the key; NULL: none. */
const struct sto_span *sto_rdb_batch_range_of(const struct rdb_batch *b, struct slice key);

/* The tally of a scope's table; NULL when the batch has LIM_BATCH_OPS tables already. */
struct rdb_tally *sto_rdb_batch_tally(struct rdb_batch *b, const struct sto_table_scope *scope);
/* The account's counters as the batch leaves them. */
const struct sto_usage *sto_rdb_batch_account(const struct rdb_batch *b,
                                              const struct rdb_tally *tally);
/* ERR_CORRUPT when a counter would fall below zero; nothing changes then. */
enum err sto_rdb_batch_count(struct rdb_batch *b, struct rdb_tally *tally,
                             const struct sto_delta *delta) MUST_CHECK;

/* Changes of the table with so many bytes were put into the batch, or taken back. */
void sto_rdb_batch_count_changes(struct rdb_batch *b, struct rdb_tally *tally, uint64_t bytes);
void sto_rdb_batch_uncount_changes(struct rdb_batch *b, struct rdb_tally *tally, uint64_t bytes);
/* Those of the account as the batch leaves them. */
uint64_t sto_rdb_batch_changes(const struct rdb_batch *b, const struct rdb_tally *tally);

/* The batch adds cells to the table, whether they change what it counts or not. */
void sto_rdb_batch_note_added(struct rdb_tally *tally, uint64_t cells);

/* What is written straight into `writes` from here on can be taken back, once. */
void sto_rdb_batch_save(struct rdb_batch *b);
void sto_rdb_batch_keep(struct rdb_batch *b);
void sto_rdb_batch_take_back(struct rdb_batch *b);

/* Memory that the batch took beside the operations themselves. */
size_t sto_rdb_batch_bytes(const struct rdb_batch *b);
/* What a batch apart takes from now on counts in the share, until fini; beyond it, all that makes
 * changes fails by ERR_NO_MEMORY. NULL: not counted. */
void sto_rdb_batch_charge(struct rdb_batch *b, struct base_memory_share *share);
/* Of a batch apart: makes `writes` of all changes. */
enum err sto_rdb_batch_build(struct rdb_batch *b) MUST_CHECK;
/* Write and clear. Whatever the result, the batch is empty afterwards. */
enum err sto_rdb_batch_write(struct rdb_batch *b) MUST_CHECK;
void sto_rdb_batch_clear(struct rdb_batch *b);

/* "u/<tenant>/<table>": where the counters of a table are stored. */
#define RDB_COUNTER_KEY_MAX (LIM_TENANT_ID + LIM_TABLE_ID + 4)
size_t sto_rdb_counter_key(const struct sto_tenant_scope *tenant, const struct sto_table *table,
                           uint8_t out[RDB_COUNTER_KEY_MAX]);

#endif

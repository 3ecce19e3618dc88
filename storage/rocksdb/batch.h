/*
 * storage/rocksdb/batch.h - one commit: changed cells, exact counters, one synced write.
 *
 * Does:     shows rows as the batch in progress leaves them; collects changes and their effect on
 *           the counters; writes all of it with one fsync.
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
 *           3. recent agrees with the database: every write under the key of a cell or header
 *              passes through the overlay, and a purge clears recent.
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

/* The counters of one table, and of the account that it belongs to, as this batch leaves them. */
struct rdb_tally {
    struct sto_table *table;
    struct sto_tenant_scope tenant;
    struct sto_usage usage;
    bool changed;
    uint64_t added;         /* cells that this batch adds to sto_table.additions */
    int64_t last_change_us; /* sto_change_stream.last_us after this batch */
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
    struct rdb_overlay tokens;       /* idempotency tokens (token.h) */
    struct rdb_recent recent;        /* stored headers and cells of recent writes */
    struct rdb_watch *watches;       /* ranges that are being read elsewhere */
    struct rdb_long_rows *long_rows; /* rows of its tenants that are read in several slices */
    const struct sto_span *range;    /* rows that this batch deletes as a range; NULL: none */
    rocksdb_writebatch_t *writes;
    struct sto_cipher *cipher; /* of the tenant whose operation is in progress; NULL: none */
    struct sto_sealer sealer;
    struct buf sealed;      /* scratch: the encrypted value of the cell being written */
    struct buf change_part; /* scratch of change_log.c */
    size_t change_bytes;    /* of changes in `writes` */
    /* the last cell set at a given time replaced one without needing the header */
    bool expects_known;
    bool is_apart;  /* holds one operation on a reader; another batch writes its changes */
    size_t counted; /* bytes of `writes` charged to the overlay's share of memory; is_apart only */
    size_t range_count; /* of `ranges`, each not empty and inside one row; is_apart only */
    struct sto_span ranges[LIM_DELETE_RANGES]; /* stored cells in these ranges are deleted */
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
    struct rdb_entry *entry; /* holds a change of the header */
    bool in_db; /* the header is stored (cells may be, too), whatever the batch did since */
    struct sto_row_head head; /* cells 0: there is no row */
};
enum err sto_rdb_batch_head(struct rdb_batch *b, struct slice header_key,
                            struct rdb_head_view *out) MUST_CHECK;
/* A cell as the batch sees it. row_in_db false: the database is not read. */
struct rdb_cell_view {
    struct rdb_entry *entry; /* holds a change of the cell */
    bool present;
    bool in_db;
    uint8_t family_name_len;
    size_t value_len; /* size of a present cell's value */
    /* value of a present cell, until the view is released; empty if only sizes are known */
    struct slice value;
    rocksdb_pinnableslice_t *pinned;
    struct buf plain; /* the decrypted value */
};
/* Fills in the view; the caller releases it, after a failure too. */
enum err sto_rdb_batch_cell(struct rdb_batch *b, struct slice key, bool row_in_db,
                            struct rdb_cell_view *out) MUST_CHECK;
/* As sto_rdb_batch_cell, without the value. */
enum err sto_rdb_batch_cell_size(struct rdb_batch *b, struct slice key, bool row_in_db,
                                 struct rdb_cell_view *out) MUST_CHECK;
/* Returns whether the size of the stored cell is known without reading the database. */
bool sto_rdb_batch_remembers(const struct rdb_batch *b, struct slice key);
void sto_rdb_cell_view_release(struct rdb_cell_view *view);
/* Returns the key of an older version of the cell, if one is known without reading the database.
 * This batch may have deleted that version. out_key: STO_KEY_MAX. */
bool sto_rdb_batch_older(struct rdb_batch *b, struct slice key, bool row_in_db, uint8_t *out_key);

/* value: borrowed until the batch is written. */
enum err sto_rdb_batch_put_cell(struct rdb_batch *b, const struct rdb_cell_view *view,
                                uint8_t family_name_len, struct slice value) MUST_CHECK;
/* Puts a value that is the concatenation of head and tail, both copied. Either may be empty, and
 * head may be the cell's present value. */
enum err sto_rdb_batch_put_made(struct rdb_batch *b, const struct rdb_cell_view *view,
                                uint8_t family_name_len, struct slice head,
                                struct slice tail) MUST_CHECK;
enum err sto_rdb_batch_delete_cell(struct rdb_batch *b, struct slice key, bool in_db) MUST_CHECK;
/* Replaces the header; head->cells 0 deletes it. Only entry and in_db of the view matter. */
enum err sto_rdb_batch_put_head(struct rdb_batch *b, const struct rdb_head_view *view,
                                const struct sto_row_head *head) MUST_CHECK;
/* Replaces a stored header that was not read through the batch. */
enum err sto_rdb_batch_replace_head(struct rdb_batch *b, struct slice header_key,
                                    const struct sto_row_head *head) MUST_CHECK;

/* In a batch apart: deletes the stored cells in the span. False: no memory, or the batch already
 * has LIM_DELETE_RANGES ranges. */
bool sto_rdb_batch_delete_range(struct rdb_batch *b, struct sto_span span) MUST_CHECK;
/* Returns the deleted range that contains the key; NULL: none. */
const struct sto_span *sto_rdb_batch_range_of(const struct rdb_batch *b, struct slice key);

/* Returns the tally of a scope's table; NULL if the batch already has LIM_BATCH_OPS tables. */
struct rdb_tally *sto_rdb_batch_tally(struct rdb_batch *b, const struct sto_table_scope *scope);
/* Returns the account's counters as the batch leaves them. */
const struct sto_usage *sto_rdb_batch_account(const struct rdb_batch *b,
                                              const struct rdb_tally *tally);
/* Adds delta to the counters. ERR_CORRUPT if a counter would fall below zero; nothing changes
 * then. */
enum err sto_rdb_batch_count(struct rdb_batch *b, struct rdb_tally *tally,
                             const struct sto_delta *delta) MUST_CHECK;

/* Count bytes of the table's changes that were added to the batch, or removed from it. */
void sto_rdb_batch_count_changes(struct rdb_batch *b, struct rdb_tally *tally, uint64_t bytes);
void sto_rdb_batch_uncount_changes(struct rdb_batch *b, struct rdb_tally *tally, uint64_t bytes);
/* Returns the bytes of the account's changes as the batch leaves them. */
uint64_t sto_rdb_batch_changes(const struct rdb_batch *b, const struct rdb_tally *tally);

/* Counts cells that the batch adds to the table, whether the table's counters change or not. */
void sto_rdb_batch_note_added(struct rdb_tally *tally, uint64_t cells);

/* Marks a state of `writes`: take_back, once, removes what is written to `writes` directly after
 * save; keep retains it. */
void sto_rdb_batch_save(struct rdb_batch *b);
void sto_rdb_batch_keep(struct rdb_batch *b);
void sto_rdb_batch_take_back(struct rdb_batch *b);

/* Returns the memory that the batch uses, without the operations themselves. */
size_t sto_rdb_batch_bytes(const struct rdb_batch *b);
/* Charges the further memory of a batch apart to the share, until fini. Beyond the share, every
 * call that makes changes fails with ERR_NO_MEMORY. NULL: not charged. */
void sto_rdb_batch_charge(struct rdb_batch *b, struct base_memory_share *share);
/* Fills `writes` of a batch apart with all its changes. */
enum err sto_rdb_batch_build(struct rdb_batch *b) MUST_CHECK;
/* Writes the batch and clears it, whatever the result. */
enum err sto_rdb_batch_write(struct rdb_batch *b) MUST_CHECK;
void sto_rdb_batch_clear(struct rdb_batch *b);

/* Builds "u/<tenant>/<table>", the key of the table's counters in the metadata. */
#define RDB_COUNTER_KEY_MAX (LIM_TENANT_ID + LIM_TABLE_ID + 4)
size_t sto_rdb_counter_key(const struct sto_tenant_scope *tenant, const struct sto_table *table,
                           uint8_t out[RDB_COUNTER_KEY_MAX]);

#endif

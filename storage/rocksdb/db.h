/*
 * storage/rocksdb/db.h - the RocksDB handles and their options.
 *
 * Does:     chooses options, opens and closes the column families, translates RocksDB's errors.
 * Owns:     every RocksDB handle that lives as long as the engine.
 * May use:  base/, storage/, RocksDB.
 * Knows no: committers, readers, accounts.
 * Threads:  open and close from one thread; the handles from any.
 * Blocks:   yes.
 * Fails by: ERR_CORRUPT, ERR_IO, ERR_LOCKED, ERR_UNSUPPORTED.
 * Limits:   options are set at open and never changed later (7.8.3 loses changed ones).
 * Promises: 1. A damaged log is refused; log_check.h has cut off a torn end before.
 *           2. None of the features listed in README.md ("deliberately off") is on.
 */
#ifndef STORAGE_ROCKSDB_DB_H
#define STORAGE_ROCKSDB_DB_H

#include <rocksdb/c.h>

#include "storage/places.h"
#include "storage/rocksdb/rocksdb_engine.h"

enum {
#define X(id, name, fate) RDB_CF_##id,
    STO_FAMILIES(X)
#undef X
        RDB_CF_COUNT
};

extern const char *const RDB_FAMILY_NAMES[RDB_CF_COUNT];
/* Returns the index of a family that has one of these names. */
int sto_rdb_family_index(const char *name);

/* A longer MANIFEST is followed by a new one. A plain number, because it becomes part of an
 * option. */
#define RDB_MANIFEST_BYTES 131072

struct rdb_db {
    rocksdb_t *handle;
    rocksdb_column_family_handle_t *cf[RDB_CF_COUNT];
    rocksdb_column_family_handle_t *cells;   /* the one shared table */
    rocksdb_column_family_handle_t *meta;    /* documents and counters */
    rocksdb_column_family_handle_t *changes; /* change streams (storage/change.h) */
    rocksdb_options_t *options[RDB_CF_COUNT];
    rocksdb_cache_t *cache;
    rocksdb_writeoptions_t *synced;
    rocksdb_readoptions_t *point;  /* for gets */
    rocksdb_readoptions_t *memory; /* for gets that do not go to the disk */
    struct rdb_cuts *cuts;         /* keys at which compactions start a new file */
    struct rdb_metadata_parts *metadata_parts;
    uint64_t whole_max; /* bytes of table files up to which filters and indexes are whole */
    struct rdb_tombstone_files *tombstone_files;
    struct rdb_damage_io *damage_io; /* set by the caller of open; NULL: damage stops compactions */
};

struct rdb_pace;

/* Opens the database. pace: limits compactions, outlives the database; NULL: they do not rest. */
enum err sto_rdb_db_open(struct rdb_db *db, const char *path,
                         const struct sto_rocksdb_options *options, bool create,
                         struct rdb_pace *pace, struct errbuf *eb) MUST_CHECK;
/* Accepts a zeroed or half-opened db. */
void sto_rdb_db_close(struct rdb_db *db);

/* Chooses the form of new files' filters and indexes by the size of the database. Called
 * periodically. */
void sto_rdb_db_choose_parts(struct rdb_db *db);

/* Returns the error that RocksDB's text stands for; does not free the text. */
enum err sto_rdb_error_class(const char *error);
bool sto_rdb_error_is_incomplete(const char *error);
/* Returns whether the text says incomplete because of max_skippable_internal_keys. */
bool sto_rdb_error_is_of_skips(const char *error);
/* Returns whether the iterator is invalid for that reason: a seek can continue it. */
bool sto_rdb_iterator_is_stuck(const rocksdb_iterator_t *it);

/* Turns RocksDB's perf counters off for the calling thread. RocksDB counts each comparison of keys
 * in thread-local memory, which costs a tenth of a seek or an insert, and nothing reads these
 * counters. */
void sto_rdb_uncounted(void);

/* Returns options for an iterator over many rows: total order, no prefix filter. The bounds' memory
 * must outlive the iterator and the options. Free with rocksdb_readoptions_destroy. */
rocksdb_readoptions_t *sto_rdb_scan_options(struct slice lower, struct slice upper);

#endif

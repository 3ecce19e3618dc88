/*
 * storage/rocksdb/table_file.h - the entries and blocks of a table file, read without RocksDB.
 *
 * Does:     walks over every entry of a file: data, index, range tombstones; decompresses blocks;
 *           reads one of its properties; finds the blocks that do not match their checksums,
 *           optionally past the page cache.
 * Owns:     nothing after the call.
 * May use:  base/, storage/, LZ4.
 * Knows no: tenants, which files are live.
 * Threads:  any; job threads, because calls block.
 * Blocks:   yes.
 * Fails by: ERR_NOT_FOUND (the file is gone), ERR_CORRUPT (no table file, or a damaged one),
 *           ERR_UNSUPPORTED (made with other options than db.c's), ERR_IO, ERR_NO_MEMORY; errors
 *           that visit returns.
 * Limits:   one block in memory, of at most RDB_BLOCK_MAX.
 * Promises: 1. Every version of every key is shown, even if reads do not see it.
 * Form:     RocksDB's block based table, format version 5.
 */
#ifndef STORAGE_ROCKSDB_TABLE_FILE_H
#define STORAGE_ROCKSDB_TABLE_FILE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"

/* A block holds at least one cell of any size, and its key. */
#define RDB_BLOCK_MAX (LIM_CELL_BYTES_HARD + 16 * MIB)

enum rdb_entry_kind { RDB_ENTRY_DATA, RDB_ENTRY_INDEX, RDB_ENTRY_RANGE };

/* key: the user key; value: empty for an index entry, the end for a range tombstone. Valid during
 * the call. */
typedef enum err rdb_entry_visit(void *ctx, enum rdb_entry_kind kind, struct slice key,
                                 struct slice value);

/* Visits every entry. out_bytes: the file's size. */
enum err sto_rdb_table_visit(const char *path, rdb_entry_visit *visit, void *ctx,
                             uint64_t *out_bytes, struct errbuf *eb) MUST_CHECK;

/* Visits the file's range tombstones. */
enum err sto_rdb_table_ranges(const char *path, rdb_entry_visit *visit, void *ctx) MUST_CHECK;

/* Appends the file's property of that name. ERR_NOT_FOUND: the file has no such property, or is
 * gone. out_bytes: bytes read from the file, whatever is returned. */
enum err sto_rdb_table_property(const char *path, const char *name, struct buf *out,
                                uint64_t *out_bytes) MUST_CHECK;

/* Returns the number of entries, range tombstones included, from the file's properties. */
enum err sto_rdb_table_entries(const char *path, uint64_t *out) MUST_CHECK;
enum rdb_block_kind {
    RDB_BLOCK_DATA,
    RDB_BLOCK_INDEX,  /* a part of the index: its data blocks cannot be found */
    RDB_BLOCK_FILTER, /* a part of the filter: no key is lost with it */
    RDB_BLOCK_FILTERS /* the index of the filter's parts: RocksDB opens the file without a filter */
};

#define RDB_BLOCK_TRAILER_BYTES 5 /* after a block: compression type and checksum */

/* A block whose bytes do not match their checksum, and the range of keys that it holds. */
struct rdb_bad_block {
    enum rdb_block_kind kind;
    uint64_t offset;
    uint64_t bytes;    /* without its trailer */
    int checksum_type; /* from the file's footer */
    /* its keys are after this one; empty: they start with the file's first key */
    struct slice from;
    /* the last key that it can hold, which need not be stored; of filters: empty */
    struct slice to;
};
/* block is valid during the call. */
typedef enum err rdb_bad_block_visit(void *ctx, const struct rdb_bad_block *block);

/* Reads every block of a file from the disk and compares its checksum. ERR_CORRUPT: the damage is
 * neither in a data block nor in a part of the index or filter: RocksDB cannot open the file. */
enum err sto_rdb_table_check(const char *path, rdb_bad_block_visit *visit, void *ctx) MUST_CHECK;

/* Called before `bytes` are read from the disk; any result but ERR_OK ends the call and is
 * returned. */
typedef enum err rdb_table_pass(void *ctx, uint64_t bytes);

/* As sto_rdb_table_check, past the page cache, for background work; also visits the entries of
 * blocks that match. A file that does not decode is ERR_CORRUPT. */
struct rdb_table_scrub {
    rdb_table_pass *pass;
    rdb_bad_block_visit *bad;
    rdb_entry_visit *entry; /* visits data and range tombstones; NULL: not wanted */
    void *ctx;
};
enum err sto_rdb_table_scrub(const char *path, const struct rdb_table_scrub *s) MUST_CHECK;

#endif

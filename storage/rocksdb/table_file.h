/*
 * storage/rocksdb/table_file.h - what stands in a table file, byte for byte, without RocksDB.
 *
 * Does:     walk over every entry of a file: data, index, range tombstones; decompress blocks;
 *           read one of its properties; find the blocks that do not match their checksums, past
 *           the page cache if wanted.
 * Owns:     nothing after the call.
 * May use:  base/, storage/, LZ4.
 * Knows no: tenants, which files are live.
 * Threads:  any; job threads, for it blocks.
 * Blocks:   yes.
 * Fails by: ERR_NOT_FOUND (the file is gone), ERR_CORRUPT (no table file, or a damaged one),
 *           ERR_UNSUPPORTED (made with other options than db.c's), ERR_IO, ERR_NO_MEMORY; what
 *           visit returns.
 * Limits:   one block in memory, of at most RDB_BLOCK_MAX.
 * Promises: 1. Every version of every key is shown, whatever hides it from reads.
 * Form:     RocksDB's block based table, format version 5.
 */
#ifndef STORAGE_ROCKSDB_TABLE_FILE_H
#define STORAGE_ROCKSDB_TABLE_FILE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"

/* A block holds at least one cell, however large it is, and its key. */
#define RDB_BLOCK_MAX (LIM_CELL_BYTES_HARD + 16 * MIB)

enum rdb_entry_kind { RDB_ENTRY_DATA, RDB_ENTRY_INDEX, RDB_ENTRY_RANGE };

/* key: as the user gave it; value: of an index empty, of a range its end. Valid during the call. */
typedef enum err rdb_entry_visit(void *ctx, enum rdb_entry_kind kind, struct slice key,
                                 struct slice value);

/* out_bytes: the file's size. */
enum err sto_rdb_table_visit(const char *path, rdb_entry_visit *visit, void *ctx,
                             uint64_t *out_bytes, struct errbuf *eb) MUST_CHECK;

/* The same of its range tombstones alone. */
enum err sto_rdb_table_ranges(const char *path, rdb_entry_visit *visit, void *ctx) MUST_CHECK;

/* Appends the file's property of that name. ERR_NOT_FOUND: it has none, or the file is gone.
 * out_bytes: read from the file, whatever is returned. */
enum err sto_rdb_table_property(const char *path, const char *name, struct buf *out,
                                uint64_t *out_bytes) MUST_CHECK;

/* How many entries a file says that it has, range tombstones included. */
enum err sto_rdb_table_entries(const char *path, uint64_t *out) MUST_CHECK;
enum rdb_block_kind {
    RDB_BLOCK_DATA,
    RDB_BLOCK_INDEX,  /* a part of the index: the data blocks that it names cannot be found */
    RDB_BLOCK_FILTER, /* a part of the filter: no key is lost with it */
    RDB_BLOCK_FILTERS /* the list of those parts: RocksDB opens the file without a filter */
};

#define RDB_BLOCK_TRAILER_BYTES 5 /* behind a block: how it is compressed, and its checksum */

/* A block whose bytes do not match their checksum, and which of the file's keys it holds. */
struct rdb_bad_block {
    enum rdb_block_kind kind;
    uint64_t offset;
    uint64_t bytes;    /* without its trailer */
    int checksum_type; /* as the file's footer says */
    struct slice from; /* its keys are behind this one; empty: the file's first ones */
    struct slice to;   /* they end with this one, which need not be stored; of filters: empty */
};
/* Valid during the call. */
typedef enum err rdb_bad_block_visit(void *ctx, const struct rdb_bad_block *block);

/* Reads every block of a file from the disk and compares its checksum. ERR_CORRUPT: what is
 * damaged is no block of entries, of the index below its top or of a filter: RocksDB cannot open
 * the file. */
enum err sto_rdb_table_check(const char *path, rdb_bad_block_visit *visit, void *ctx) MUST_CHECK;

/* Before so many bytes are read from the disk; anything but ERR_OK ends the call with that. */
typedef enum err rdb_table_pass(void *ctx, uint64_t bytes);

/* As sto_rdb_table_check, past the page cache, for work that nobody waits for; shows the entries of
 * blocks of entries that match. A file that does not decode is ERR_CORRUPT. */
struct rdb_table_scrub {
    rdb_table_pass *pass;
    rdb_bad_block_visit *bad;
    rdb_entry_visit *entry; /* of data and range tombstones; NULL: not wanted */
    void *ctx;
};
enum err sto_rdb_table_scrub(const char *path, const struct rdb_table_scrub *s) MUST_CHECK;

#endif

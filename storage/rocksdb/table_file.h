/*
 * storage/rocksdb/table_file.h - what stands in a table file, byte for byte, without RocksDB.
 *
 * Does:     walk over every entry of a file: data, index, range tombstones; decompress blocks.
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

#endif

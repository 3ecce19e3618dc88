/*
 * storage/rocksdb/search_bytes.h - prefixes and canaries in files that are no tables.
 *
 * Does:     counts what begins anywhere in a file, as it is; the same in the records of a log or a
 *           MANIFEST, which are cut in pieces in the file.
 * Owns:     one window of RDB_SEARCH_CHUNK bytes for each call.
 * May use:  base/, storage/.
 * Knows no: which files there are, what is found in them.
 * Threads:  job threads.
 * Blocks:   on the disk.
 * Fails by: ERR_IO, and what the reader's callback returns. A file that is gone is read to its end.
 * Limits:   RDB_SEARCH_CHUNK.
 * Promises: 1. Each byte of a file is searched, whatever is in it, but for the heads of sound
 *              fragments and the zeros between them.
 */
#ifndef STORAGE_ROCKSDB_SEARCH_BYTES_H
#define STORAGE_ROCKSDB_SEARCH_BYTES_H

#include "storage/rocksdb/search_match.h"

#define RDB_SEARCH_CHUNK (256 * KIB)

struct rdb_byte_search {
    struct rdb_match *match;
    void *ctx;
    /* After each window: what was searched, and how many bytes of the file that were. An error ends
     * the search. */
    enum err (*passed)(void *ctx, struct slice window, uint64_t file_bytes);
};

enum err sto_rdb_search_raw(const char *path, const struct rdb_byte_search *search,
                            struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_search_log(const char *path, const struct rdb_byte_search *search,
                            struct errbuf *eb) MUST_CHECK;

#endif

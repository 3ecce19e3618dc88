/*
 * storage/rocksdb/search_bytes.h - counts prefixes and canaries in files that are not table files.
 *
 * Does:     counts matches that start anywhere in the raw bytes of a file; the same in the records
 *           of a log or MANIFEST, which the file stores in fragments.
 * Owns:     one window of RDB_SEARCH_CHUNK bytes for each call.
 * May use:  base/, storage/.
 * Knows no: which files there are, what a match means.
 * Threads:  job threads.
 * Blocks:   on the disk.
 * Fails by: ERR_IO, and errors that the caller's callback returns. A file that is gone counts as
 *           read to its end.
 * Limits:   RDB_SEARCH_CHUNK.
 * Promises: 1. Each byte of a file is searched, whatever its contents, except the heads of sound
 *              fragments and the zeros between them.
 */
#ifndef STORAGE_ROCKSDB_SEARCH_BYTES_H
#define STORAGE_ROCKSDB_SEARCH_BYTES_H

#include "storage/rocksdb/search_match.h"

#define RDB_SEARCH_CHUNK (256 * KIB)

struct rdb_byte_search {
    struct rdb_match *match;
    void *ctx;
    /* Called after each window, with the searched bytes and the number of file bytes that they come
     * from. An error ends the search. */
    enum err (*passed)(void *ctx, struct slice window, uint64_t file_bytes);
};

enum err sto_rdb_search_raw(const char *path, const struct rdb_byte_search *search,
                            struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_search_log(const char *path, const struct rdb_byte_search *search,
                            struct errbuf *eb) MUST_CHECK;

#endif

/*
 * storage/rocksdb/search_lists.h - decides whether a search has to read a table file.
 *
 * Does:     searches for tenants in the list that the file holds, or in one that was created by
 *           reading the file (file_lists.h); reports when there is no reliable list.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: the results of reading files.
 * Threads:  job threads.
 * Blocks:   on reading the end of a file.
 * Fails by: RDB_LISTED_UNKNOWN: the file has to be read.
 * Limits:   none.
 * Promises: 1. A list that lacks the tenant of the file's first or last key, as RocksDB knows it,
 *              or that the scrub found wrong, is not trusted.
 */
#ifndef STORAGE_ROCKSDB_SEARCH_LISTS_H
#define STORAGE_ROCKSDB_SEARCH_LISTS_H

#include "storage/rocksdb/search_match.h"

struct rdb_engine;

enum rdb_listed {
    RDB_LISTED_NONE, /* none of the tenants is in the file */
    RDB_LISTED_SOME, /* or too many tenants to be listed */
    /* no list, or not a reliable one: the code that reads the file creates one */
    RDB_LISTED_UNKNOWN
};

struct rdb_listed_file {
    const char *path;
    uint64_t number;
    uint64_t bytes;
    int family;
    struct slice low; /* as RocksDB knows them */
    struct slice high;
};

/* out_bytes: bytes read from the file. */
enum rdb_listed sto_rdb_listed(struct rdb_engine *e, const struct rdb_listed_file *file,
                               struct rdb_match *match, uint64_t *out_bytes);

#endif

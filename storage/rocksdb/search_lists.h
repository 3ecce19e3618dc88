/*
 * storage/rocksdb/search_lists.h - whether a table file has to be read in a search.
 *
 * Does:     looks for tenants in the list that the file holds, or in the one that somebody made who
 *           read it (file_lists.h); says when there is no list to rest on.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: what is found in files that are read.
 * Threads:  job threads.
 * Blocks:   on reading the end of a file.
 * Fails by: RDB_LISTED_UNKNOWN: the file is read.
 * Limits:   none.
 * Promises: 1. A list that leaves out a tenant of the file's first or last key, as RocksDB knows
 *              it, or that the scrub found wrong, is not believed.
 */
#ifndef STORAGE_ROCKSDB_SEARCH_LISTS_H
#define STORAGE_ROCKSDB_SEARCH_LISTS_H

#include "storage/rocksdb/search_match.h"

struct rdb_engine;

enum rdb_listed {
    RDB_LISTED_NONE,   /* of those that are looked for */
    RDB_LISTED_SOME,   /* or too many to be listed */
    RDB_LISTED_UNKNOWN /* no list, or none that can be believed: whoever reads the file makes one */
};

struct rdb_listed_file {
    const char *path;
    uint64_t number;
    uint64_t bytes;
    int family;
    struct slice low; /* as RocksDB knows them */
    struct slice high;
};

/* out_bytes: read of the file. */
enum rdb_listed sto_rdb_listed(struct rdb_engine *e, const struct rdb_listed_file *file,
                               struct rdb_match *match, uint64_t *out_bytes);

#endif

/*
 * storage/rocksdb/list_check.h - checks that a table file's list of tenants agrees with its keys.
 *
 * Does:     compares the tenants of a file's keys, and their numbers of entries, with the list that
 *           the file holds (catalogue.h).
 * Owns:     the decoded list, from init to fini.
 * May use:  base/, storage/.
 * Knows no: files, RocksDB, the code that made the list.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT: the property is no list.
 * Limits:   a list of RDB_CATALOGUE_BYTES, decoded: 24 bytes a tenant beside its ID.
 * Promises: 1. A tenant that has a key and is not in the list is found, whatever else is right.
 */
#ifndef STORAGE_ROCKSDB_LIST_CHECK_H
#define STORAGE_ROCKSDB_LIST_CHECK_H

#include "base/buf.h"
#include "base/err.h"

struct rdb_listed_tenant {
    uint32_t offset; /* of its ID */
    uint32_t len;
    uint64_t entries; /* according to the list */
    uint64_t seen;
};

struct rdb_list_check {
    struct rdb_listed_tenant *of; /* sorted by ID */
    size_t count;
    size_t last; /* tenant of the last key */
    struct buf ids;
    uint64_t entries;
    uint64_t seen;
    bool too_many; /* tenants are not listed: only the number of entries is checked */
    bool is_wrong;
};

/* After ERR_OK, fini is needed. */
enum err sto_rdb_list_check_init(struct rdb_list_check *c, struct slice property) MUST_CHECK;
void sto_rdb_list_check_fini(struct rdb_list_check *c);

/* Adds an entry of the file; range_end: the end of a range tombstone, empty for any other entry. */
void sto_rdb_list_check_entry(struct rdb_list_check *c, struct slice key, struct slice range_end);
/* Returns the result, after the last entry. */
bool sto_rdb_list_check_matches(const struct rdb_list_check *c);

#endif

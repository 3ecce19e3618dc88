/*
 * storage/rocksdb/file_lists.h - lists of tenants of table files that have none of their own.
 *
 * Does:     keeps the list made by reading such a file to its end, so that the file is read once
 *           and not by each search.
 * Owns:     the lists, in the form of a file's own one (catalogue.h), in memory.
 * May use:  base/, storage/.
 * Knows no: who read the file.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail: a list that is not kept is recreated.
 * Limits:   RDB_FILE_LISTS_BYTES for all lists together.
 * Promises: 1. Lists of files that are no longer in use are removed by the next call of _keep.
 */
#ifndef STORAGE_ROCKSDB_FILE_LISTS_H
#define STORAGE_ROCKSDB_FILE_LISTS_H

#include <pthread.h>

#include "base/buf.h"
#include "base/limits.h"
#include "storage/rocksdb/live_files.h"

#define RDB_FILE_LISTS_BYTES (64 * MIB)

struct rdb_file_list {
    uint64_t number;
    size_t len;
    uint8_t *bytes;
};

struct rdb_file_lists {
    pthread_mutex_t lock;
    size_t count; /* of the following fields, all under lock */
    size_t capacity;
    size_t bytes;
    struct rdb_file_list *of; /* sorted by number */
};

void sto_rdb_file_lists_init(struct rdb_file_lists *l);
void sto_rdb_file_lists_fini(struct rdb_file_lists *l);

/* Sets the list of a file. Files never change, and their numbers are never reused. */
void sto_rdb_file_lists_set(struct rdb_file_lists *l, uint64_t number, struct slice list);
/* Appends the file's list to out. False: there is none. */
bool sto_rdb_file_lists_find(struct rdb_file_lists *l, uint64_t number, struct buf *out);
void sto_rdb_file_lists_keep(struct rdb_file_lists *l, const struct rdb_live_files *live);

#endif

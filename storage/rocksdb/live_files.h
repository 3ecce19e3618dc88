/*
 * storage/rocksdb/live_files.h - the table files that the database uses now, by name.
 *
 * Does:     fetches RocksDB's list of live files; finds a file by its name; iterates over those of
 *           a family.
 * Owns:     the list with its names and keys, until it is closed.
 * May use:  base/, RocksDB.
 * Knows no: tenants, directories.
 * Threads:  any.
 * Blocks:   briefly, on RocksDB's lock.
 * Fails by: does not fail.
 * Limits:   none: as many files as there are.
 * Promises: 1. Finding a name takes O(log n) comparisons.
 */
#ifndef STORAGE_ROCKSDB_LIVE_FILES_H
#define STORAGE_ROCKSDB_LIVE_FILES_H

#include <rocksdb/c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

struct rdb_live_name {
    const char *name; /* "000012.sst" */
    int index;        /* in the list */
};

struct rdb_live_files {
    const rocksdb_livefiles_t *list;
    size_t count;
    struct rdb_live_name *names; /* sorted */
};

/* Texts and keys are valid until the list is closed. */
struct rdb_live_file {
    const char *family;
    const char *name; /* "000012.sst" */
    uint64_t number;
    int level;
    uint64_t bytes;
    struct slice low; /* its first key */
    struct slice high;
};

void sto_rdb_live_files_open(rocksdb_t *db, struct rdb_live_files *out);
/* Returns the file's index in the list; negative: it is not live. */
int sto_rdb_live_files_find(const struct rdb_live_files *files, const char *name);
/* Returns the list's entry with this index. */
void sto_rdb_live_files_get(const struct rdb_live_files *files, int index,
                            struct rdb_live_file *out);
void sto_rdb_live_files_close(struct rdb_live_files *files);

/* --- iteration ------------------------------------------------------------------------------- */

struct rdb_live_walk {
    const rocksdb_livefiles_t *list;
    const char *family;
    int index;
};

/* Iterates over the present files of a family; NULL: of all. */
void sto_rdb_live_walk_open(struct rdb_live_walk *w, rocksdb_t *db, const char *family);
bool sto_rdb_live_walk_next(struct rdb_live_walk *w, struct rdb_live_file *out);
void sto_rdb_live_walk_close(struct rdb_live_walk *w);

/* Returns the number in "000012.sst", "/000012.sst" or "000012.log"; 0: it has none. */
uint64_t sto_rdb_file_number(const char *name);

#endif

/*
 * storage/rocksdb/scrub_log.h - the result and time of each table file's last scrub.
 *
 * Does:     keeps a record of each file in memory and in one file of the data directory.
 * Owns:     the records; the file "scrub".
 * May use:  base/, storage/.
 * Knows no: RocksDB, tenants: a file is its number and its size.
 * Threads:  one at a time; its caller's lock.
 * Blocks:   open, append and rewrite, on the disk.
 * Fails by: ERR_IO, ERR_STORAGE_FULL, with the system's text.
 * Limits:   records of the files of the last rewrite and those since; SCRUB_LOG_BYTES are loaded.
 * Promises: 1. A record that was damaged, or cut by a crash, is not loaded; those before it are.
 *           2. A process that is killed loses no record that was appended; a power cut may.
 */
#ifndef STORAGE_ROCKSDB_SCRUB_LOG_H
#define STORAGE_ROCKSDB_SCRUB_LOG_H

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"

enum rdb_scrub_result {
    RDB_SCRUB_SOUND,
    RDB_SCRUB_DAMAGED,    /* or not readable at all */
    RDB_SCRUB_LIST_WRONG, /* its list of tenants differs from its keys */
    RDB_SCRUB_RESULTS
};

struct rdb_scrubbed {
    uint64_t number;
    uint64_t bytes;
    int64_t at_us; /* wall clock, at the start of its scrub */
    enum rdb_scrub_result result;
};

struct rdb_scrub_log {
    char path[BASE_PATH_BYTES];
    size_t count;
    size_t capacity;
    struct rdb_scrubbed *of; /* sorted by number */
    size_t stored;           /* records in the file; SIZE_MAX: the file has to be rewritten */
};

/* Loads the stored records. */
enum err sto_rdb_scrub_log_open(struct rdb_scrub_log *log, const char *dir,
                                struct errbuf *eb) MUST_CHECK;
void sto_rdb_scrub_log_close(struct rdb_scrub_log *log);
/* Removes the file, because the database in dir was replaced and its file numbers restart. */
enum err sto_rdb_scrub_log_remove(const char *dir, struct errbuf *eb) MUST_CHECK;

/* Finds a file's record. NULL: it was not scrubbed. Valid until the next change. */
const struct rdb_scrubbed *sto_rdb_scrub_log_find(const struct rdb_scrub_log *log, uint64_t number,
                                                  uint64_t bytes);
/* Sets a record in memory; replaces a record of the same number. */
void sto_rdb_scrub_log_set(struct rdb_scrub_log *log, const struct rdb_scrubbed *record);
/* Keeps only the records of these numbers, which are sorted. */
void sto_rdb_scrub_log_keep(struct rdb_scrub_log *log, const uint64_t *numbers, size_t count);

/* Appends a record to the file on the disk. */
enum err sto_rdb_scrub_log_append(struct rdb_scrub_log *log, const struct rdb_scrubbed *record,
                                  struct errbuf *eb) MUST_CHECK;
/* Encodes the records, possibly under a lock; rewrite then replaces the file by these bytes. */
enum err sto_rdb_scrub_log_encode(const struct rdb_scrub_log *log, struct buf *out) MUST_CHECK;
enum err sto_rdb_scrub_log_rewrite(struct rdb_scrub_log *log, struct slice bytes,
                                   struct errbuf *eb) MUST_CHECK;

#endif

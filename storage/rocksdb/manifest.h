/*
 * storage/rocksdb/manifest.h - which files a database that nobody has open consists of.
 *
 * Does:     reads the MANIFEST that CURRENT names: the oldest log that is in use, the last change
 *           that it knows of, the table files with their keys; removes table files from it.
 * Owns:     the list, until sto_rdb_manifest_fini.
 * May use:  base/, storage/.
 * Knows no: what is in the files.
 * Threads:  any that may block.
 * Blocks:   on the disk.
 * Fails by: ERR_CORRUPT (CURRENT or MANIFEST is damaged or missing; the text says which),
 *           ERR_UNSUPPORTED (it holds what our options never write), ERR_IO.
 * Limits:   RDB_MANIFEST_RECORD_MAX; a longer record is ERR_UNSUPPORTED.
 * Promises: 1. A MANIFEST that is damaged before its end is never taken for a shorter one.
 *           2. Edits of a group count together, or not at all.
 */
#ifndef STORAGE_ROCKSDB_MANIFEST_H
#define STORAGE_ROCKSDB_MANIFEST_H

#include "base/file.h"
#include "storage/rocksdb/db.h"

/* All files of a column family are one record: about 200 bytes each. */
#define RDB_MANIFEST_RECORD_MAX (256 * MIB)

struct rdb_manifest_file {
    uint64_t number;
    uint64_t bytes;
    uint64_t last_sequence; /* of the newest entry */
    int family;
    uint64_t family_number; /* RocksDB's */
    int level;
    struct slice first; /* keys as users give them; memory of the list */
    struct slice last;
};

struct rdb_manifest {
    char path[BASE_PATH_BYTES];
    char name[32];
    uint64_t end;                /* of its last whole record */
    uint64_t oldest_log;         /* RocksDB reads no log with a lower number */
    uint64_t logs[RDB_CF_COUNT]; /* what a family has of older ones is in its files */
    uint64_t sequence;           /* of the last change when RocksDB last wrote it */
    size_t file_count;           /* by number */
    struct rdb_manifest_file *files;
};

/* db: the directory of the database. */
enum err sto_rdb_manifest_read(const char *db, struct rdb_manifest *out,
                               struct errbuf *eb) MUST_CHECK;
/* All zero is accepted. */
void sto_rdb_manifest_fini(struct rdb_manifest *m);

/* These files, of a list that was read, are no longer part of the database. */
enum err sto_rdb_manifest_drop(struct rdb_manifest *m, const struct rdb_manifest_file *const *files,
                               size_t count, struct errbuf *eb) MUST_CHECK;

#endif

/*
 * storage/rocksdb/manifest.h - the files of a database that is not open.
 *
 * Does:     reads the MANIFEST that CURRENT names: the oldest log in use, the number of the last
 *           change, the table files with their keys; removes table files from it.
 * Owns:     the list, until sto_rdb_manifest_fini.
 * May use:  base/, storage/.
 * Knows no: the contents of the files.
 * Threads:  any that may block.
 * Blocks:   on the disk.
 * Fails by: ERR_CORRUPT (CURRENT or MANIFEST is damaged or missing; the text says which),
 *           ERR_UNSUPPORTED (it has a record that our options never write), ERR_IO.
 * Limits:   RDB_MANIFEST_RECORD_MAX; a longer record is ERR_UNSUPPORTED.
 * Promises: 1. A MANIFEST that is damaged before its end is never accepted as a shorter one.
 *           2. Edits of a group count together, or not at all.
 */
#ifndef STORAGE_ROCKSDB_MANIFEST_H
#define STORAGE_ROCKSDB_MANIFEST_H

#include "base/file.h"
#include "storage/rocksdb/db.h"

/* All files of a column family are in one record: about 200 bytes each. */
#define RDB_MANIFEST_RECORD_MAX (256 * MIB)

struct rdb_manifest_file {
    uint64_t number;
    uint64_t bytes;
    uint64_t last_sequence; /* of the newest entry */
    int family;
    uint64_t family_number; /* RocksDB's number of the family */
    int level;
    struct slice first; /* user keys; memory of the list */
    struct slice last;
};

struct rdb_manifest {
    char path[BASE_PATH_BYTES];
    char name[32];
    uint64_t end;        /* offset of the end of its last complete record */
    uint64_t oldest_log; /* RocksDB reads no log with a lower number */
    /* per family: its data of logs with lower numbers is in its files */
    uint64_t logs[RDB_CF_COUNT];
    uint64_t sequence; /* last change when RocksDB last wrote the MANIFEST */
    size_t file_count; /* of files, sorted by number */
    struct rdb_manifest_file *files;
};

/* Reads the MANIFEST. db: the directory of the database. */
enum err sto_rdb_manifest_read(const char *db, struct rdb_manifest *out,
                               struct errbuf *eb) MUST_CHECK;
/* Accepts a zeroed struct. */
void sto_rdb_manifest_fini(struct rdb_manifest *m);

/* Removes these files, of a list that was read, from the database. */
enum err sto_rdb_manifest_drop(struct rdb_manifest *m, const struct rdb_manifest_file *const *files,
                               size_t count, struct errbuf *eb) MUST_CHECK;

#endif

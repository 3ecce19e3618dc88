/*
 * storage/rocksdb/meta_copies.h - keeps every table file of the metadata on the disk twice.
 *
 * Does:     keeps a copy, "db/000012.sst.copy", of every table file of the metadata, which holds
 *           keys and schemas of all tenants; replaces a damaged or missing file by its copy before
 *           an open, and one block while the database is open; rereads copies for the scrub, and
 *           replaces damaged ones.
 * Owns:     the copies.
 * May use:  base/, storage/.
 * Knows no: the contents of documents; when it is called.
 * Threads:  any that may block. A copy in progress holds the lock: another call waits for it.
 * Blocks:   on the disk.
 * Fails by: ERR_IO (the directory cannot be read, a file not removed or not replaced). A copy that
 *           cannot be created counts as missing, and a later call creates it.
 * Limits:   as much disk space as the metadata uses.
 * Promises: 1. Every block of a copy matched its checksum when the copy was created.
 *           2. A copy is removed with its file: after sto_rdb_meta_copies_tidy there is no copy of
 *              a file that was no longer in use.
 */
#ifndef STORAGE_ROCKSDB_META_COPIES_H
#define STORAGE_ROCKSDB_META_COPIES_H

#include <pthread.h>
#include <stdatomic.h>

#include "storage/rocksdb/rocksdb_engine.h"
#include "storage/rocksdb/table_file.h"

struct rdb_engine;

/* Seconds between two scans for files that have no copy yet. */
#define RDB_META_COPIES_S 5

/* Suffixes to the name of a table file: its copy, and a copy in progress. */
#define RDB_COPY_ENDING ".copy"
#define RDB_PART_ENDING ".part"

struct rdb_meta_copies {
    pthread_mutex_t lock;     /* protects the files */
    _Atomic unsigned missing; /* files that had no copy after the last call of _keep */
};

void sto_rdb_meta_copies_init(struct rdb_meta_copies *c);
void sto_rdb_meta_copies_fini(struct rdb_meta_copies *c);

/* Creates missing copies, except of files that are known to be damaged and except while the disk is
 * low; removes those that are not needed. Latches the engine if removing fails. */
void sto_rdb_meta_copies_keep(struct rdb_engine *e);
/* Removes copies that are not needed. */
enum err sto_rdb_meta_copies_tidy(struct rdb_engine *e, struct errbuf *eb) MUST_CHECK;

/* Reads the copy of a sound file to its end, if it has one, and replaces the copy if it is damaged
 * or the disk does not return it: ERR_CORRUPT. While the disk is low the copy stays as it is.
 * Otherwise returns the result of sto_rdb_table_scrub, or of pass. */
enum err sto_rdb_meta_copies_scrub(struct rdb_engine *e, uint64_t number, rdb_table_pass *pass,
                                   void *ctx) MUST_CHECK;

/* Makes all later reads of this block use the copy's bytes, as they were written. False: there is
 * no copy, or it is damaged there, too. */
bool sto_rdb_meta_copies_use(struct rdb_engine *e, uint64_t number,
                             const struct rdb_bad_block *block) MUST_CHECK;

/* Before an open: reads each file of the metadata that has a copy to its end, and replaces the file
 * by the copy if the copy can be read and the file cannot. db: the directory of the database. */
enum err sto_rdb_meta_copies_mend(const char *db, const struct sto_rocksdb_mended *mended,
                                  struct errbuf *eb) MUST_CHECK;
/* The same for one file that was copied into another directory; *out_is_sound. */
enum err sto_rdb_meta_copies_take(const char *from_db, const char *to_db, uint64_t number,
                                  uint64_t bytes, bool *out_is_sound, struct errbuf *eb) MUST_CHECK;

#endif

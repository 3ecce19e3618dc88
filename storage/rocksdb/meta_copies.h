/*
 * storage/rocksdb/meta_copies.h - each table file of the metadata is on the disk twice.
 *
 * Does:     keeps a copy, "db/000012.sst.copy", of every table file of the metadata, where keys and
 *           schemas of all tenants are; puts it in the place of a file that is damaged or missing,
 *           before an open, and in that of one block while the database is open; reads it again
 *           for the scrub, and replaces one that is damaged.
 * Owns:     the copies.
 * May use:  base/, storage/.
 * Knows no: what the documents are; when it is called.
 * Threads:  any that may block. A copy under way holds the lock: another call waits for it.
 * Blocks:   on the disk.
 * Fails by: ERR_IO (the directory cannot be read, a file not removed or not replaced). A copy that
 *           cannot be made counts as missing, and a later call makes it.
 * Limits:   as much disk as the metadata takes.
 * Promises: 1. Every block of a copy matched its checksum when the copy was made.
 *           2. A copy goes with its file: behind sto_rdb_meta_copies_tidy there is none of a file
 *              that was not in use any more.
 */
#ifndef STORAGE_ROCKSDB_META_COPIES_H
#define STORAGE_ROCKSDB_META_COPIES_H

#include <pthread.h>
#include <stdatomic.h>

#include "storage/rocksdb/rocksdb_engine.h"
#include "storage/rocksdb/table_file.h"

struct rdb_engine;

/* Seconds between two looks for files that have no copy yet. */
#define RDB_META_COPIES_S 5

/* Behind the name of a table file: its copy, and a copy that is being made. */
#define RDB_COPY_ENDING ".copy"
#define RDB_PART_ENDING ".part"

struct rdb_meta_copies {
    pthread_mutex_t lock;     /* of the files */
    _Atomic unsigned missing; /* at the last look of _keep: files that have none behind it */
};

void sto_rdb_meta_copies_init(struct rdb_meta_copies *c);
void sto_rdb_meta_copies_fini(struct rdb_meta_copies *c);

/* Makes those that are missing, but not of files that are known to be damaged, nor on a disk that
 * is low; removes those that are not needed. Latches the engine when that fails. */
void sto_rdb_meta_copies_keep(struct rdb_engine *e);
/* Removes alone. */
enum err sto_rdb_meta_copies_tidy(struct rdb_engine *e, struct errbuf *eb) MUST_CHECK;

/* Reads the copy of a file that is sound itself to its end, if it has one, and puts another in its
 * place if it is damaged or the disk does not return it: ERR_CORRUPT. On a disk that is low it
 * stays as it is. Else what sto_rdb_table_scrub returns, and pass. */
enum err sto_rdb_meta_copies_scrub(struct rdb_engine *e, uint64_t number, rdb_table_pass *pass,
                                   void *ctx) MUST_CHECK;

/* From now on everybody reads what the copy has in the place of this block, as it was written.
 * False: there is no copy, or it is damaged there, too. */
bool sto_rdb_meta_copies_use(struct rdb_engine *e, uint64_t number,
                             const struct rdb_bad_block *block) MUST_CHECK;

/* Before an open: each file of the metadata that has a copy is read to its end, and replaced by it
 * if that reads and the file does not. db: the directory of the database. */
enum err sto_rdb_meta_copies_mend(const char *db, const struct sto_rocksdb_mended *mended,
                                  struct errbuf *eb) MUST_CHECK;
/* The same of one file that was copied into another directory; *out_is_sound. */
enum err sto_rdb_meta_copies_take(const char *from_db, const char *to_db, uint64_t number,
                                  uint64_t bytes, bool *out_is_sound, struct errbuf *eb) MUST_CHECK;

#endif

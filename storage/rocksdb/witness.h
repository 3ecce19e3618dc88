/*
 * storage/rocksdb/witness.h - the file with the last acknowledged sequence number.
 *
 * Does:     keeps the last acknowledged sequence number outside the database, so that a database
 *           that lost acknowledged writes (a deleted log, an old copy) is detected at open.
 * Owns:     nothing; the file is DIR/witness.
 * May use:  base/.
 * Knows no: RocksDB.
 * Threads:  one at a time.
 * Blocks:   yes: file, fsync, rename, fsync of the directory.
 * Fails by: ERR_NOT_FOUND (no witness), ERR_CORRUPT (not a witness), ERR_IO.
 * Limits:   none.
 * Promises: 1. A witness that is read was written completely.
 */
#ifndef STORAGE_ROCKSDB_WITNESS_H
#define STORAGE_ROCKSDB_WITNESS_H

#include "base/err.h"

struct rdb_witness {
    bool adopting; /* any database is accepted: it is being created, or was restored on purpose */
    uint64_t sequence;
};

enum err sto_rdb_witness_read(const char *dir, struct rdb_witness *out,
                              struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_witness_write(const char *dir, const struct rdb_witness *w,
                               struct errbuf *eb) MUST_CHECK;

#endif

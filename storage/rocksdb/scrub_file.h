/*
 * storage/rocksdb/scrub_file.h - one table file, read to find what is wrong with it.
 *
 * Does:     compares the checksum of each block, and the tenants of the keys with the file's list;
 *           makes the list of a file that has none (file_lists.h).
 * Owns:     nothing after the call.
 * May use:  base/, storage/.
 * Knows no: when a file is read, who hears of it.
 * Threads:  one that blocks.
 * Blocks:   on the disk, and in pass.
 * Fails by: ERR_CORRUPT (a block; `block` says which), ERR_NOT_FOUND (the file is gone), ERR_IO,
 *           ERR_UNSUPPORTED, ERR_NO_MEMORY; what pass returns.
 * Limits:   of table_file.h.
 * Promises: 1. Reading ends at the first damaged block.
 */
#ifndef STORAGE_ROCKSDB_SCRUB_FILE_H
#define STORAGE_ROCKSDB_SCRUB_FILE_H

#include "storage/engine.h"
#include "storage/rocksdb/table_file.h"

struct rdb_engine;

struct rdb_scrub_file {
    struct rdb_engine *engine;
    uint64_t number;
    rdb_table_pass *pass;
    void *ctx; /* of pass */

    bool is_list_wrong;            /* out, as what follows */
    struct sto_damaged_file block; /* with ERR_CORRUPT; offset 0: what the file says of itself */
};

enum err sto_rdb_scrub_file(struct rdb_scrub_file *f) MUST_CHECK;

#endif

/*
 * storage/rocksdb/scrub_file.h - reads one table file to find damage.
 *
 * Does:     compares the checksum of each block, and the tenants of the keys with the file's list;
 *           creates the list of a file that has none (file_lists.h).
 * Owns:     nothing after the call.
 * May use:  base/, storage/.
 * Knows no: when a file is read, who gets the result.
 * Threads:  one that blocks.
 * Blocks:   on the disk, and in pass.
 * Fails by: ERR_CORRUPT (a block; `block` says which), ERR_NOT_FOUND (the file is gone), ERR_IO,
 *           ERR_UNSUPPORTED, ERR_NO_MEMORY; errors that pass returns.
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
    void *ctx; /* for pass */

    bool is_list_wrong;            /* out, as are the following fields */
    struct sto_damaged_file block; /* with ERR_CORRUPT; offset 0: the file's footer or properties */
};

enum err sto_rdb_scrub_file(struct rdb_scrub_file *f) MUST_CHECK;

#endif

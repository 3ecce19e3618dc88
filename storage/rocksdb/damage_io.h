/*
 * storage/rocksdb/damage_io.h - lets compactions get past damaged blocks.
 *
 * Does:     keeps a compaction that met a damaged or unreadable block from stopping the database,
 *           and reports it to the engine; keeps the text of an error that does stop it; has
 *           compactions read an empty block in place of a block that is known to be damaged, and
 *           all reads a sound one where there is one; computes the checksum of a block.
 * Owns:     the replaced blocks, until their files are unlinked.
 * May use:  base/, RocksDB.
 * Knows no: whose rows a block holds, what was recorded about them.
 * Threads:  any.
 * Blocks:   sto_rdb_compact_range, until the compaction has ended.
 * Fails by: sto_rdb_compact_range: ERR_CORRUPT, ERR_CANCELLED, ERR_IO.
 * Limits:   memory of the size of each block that is replaced.
 * Promises: 1. Only compactions read an empty block: every other read meets the damaged one.
 *           2. No file is changed.
 *           3. Any other error of a compaction, of its writes too, and any error of a flush or
 *              write, stops the database as before.
 */
#ifndef STORAGE_ROCKSDB_DAMAGE_IO_H
#define STORAGE_ROCKSDB_DAMAGE_IO_H

#include <rocksdb/c.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

struct rdb_damage_io;

/* met: called when a compaction failed with this text of RocksDB, on the thread that ran it. */
struct rdb_damage_io *sto_rdb_damage_io_new(void (*met)(void *ctx, const char *text), void *ctx);
/* Call after the database was closed. NULL is accepted. */
void sto_rdb_damage_io_free(struct rdb_damage_io *io);
/* Adds it to the options of the database, before the database is opened. */
void sto_rdb_damage_io_install(struct rdb_damage_io *io, rocksdb_options_t *options);

/* Returns the number of compactions that failed for damage; RocksDB counts them as background
 * errors, too. */
uint64_t sto_rdb_damage_io_failures(const struct rdb_damage_io *io);
/* Returns RocksDB's text of the failure that stopped its background work; "": there is none. */
void sto_rdb_damage_io_reason(const struct rdb_damage_io *io, char *out, size_t size);

/* Makes all later compactions read an empty block in place of this one. bytes: without its
 * trailer. */
void sto_rdb_damage_io_replace(struct rdb_damage_io *io, uint64_t file, uint64_t offset,
                               uint64_t bytes, int checksum_type);

/* Makes all later reads of this block return these bytes: the block as it was written, with its
 * trailer. */
void sto_rdb_damage_io_mend(struct rdb_damage_io *io, uint64_t file, uint64_t offset,
                            struct slice block);

/* As rocksdb_compact_range_cf_opt with that option for the last level, and returns the result:
 * ERR_CORRUPT (a damaged or unreadable block), ERR_CANCELLED (the engine closes), ERR_IO. */
enum err sto_rdb_compact_range(rocksdb_t *db, rocksdb_column_family_handle_t *family,
                               struct slice begin, struct slice end, int bottommost) MUST_CHECK;

/* Returns the checksum of a block and its compression type byte, as files of that checksum type
 * store it. */
uint32_t sto_rdb_block_checksum(int checksum_type, const uint8_t *bytes, uint64_t len);

#endif

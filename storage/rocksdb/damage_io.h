/*
 * storage/rocksdb/damage_io.h - compactions that get past damaged blocks.
 *
 * Does:     keeps a compaction that met a damaged block, or one that the disk does not return, from
 *           stopping the database, and tells the engine about it; keeps the text of what does stop
 *           it; has compactions read an empty block where a block is known to be damaged, and
 *           everybody read a sound one where there is one; computes the checksum of a block.
 * Owns:     which blocks are replaced, until their files are unlinked.
 * May use:  base/, RocksDB.
 * Knows no: whose the rows of a block are, what was recorded of them.
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

/* met: a compaction failed with this text of RocksDB, on the thread that ran it. */
struct rdb_damage_io *sto_rdb_damage_io_new(void (*met)(void *ctx, const char *text), void *ctx);
/* After the database was closed. NULL is accepted. */
void sto_rdb_damage_io_free(struct rdb_damage_io *io);
/* Into the options of the database, before it is opened. */
void sto_rdb_damage_io_install(struct rdb_damage_io *io, rocksdb_options_t *options);

/* How many compactions failed for damage; RocksDB counts them as background errors, too. */
uint64_t sto_rdb_damage_io_failures(const struct rdb_damage_io *io);
/* RocksDB's text of the failure that stopped its background work; "": there is none. */
void sto_rdb_damage_io_reason(const struct rdb_damage_io *io, char *out, size_t size);

/* From now on compactions read an empty block there. bytes: without its trailer. */
void sto_rdb_damage_io_replace(struct rdb_damage_io *io, uint64_t file, uint64_t offset,
                               uint64_t bytes, int checksum_type);

/* From now on everybody reads these bytes there, which are the block's as it was written, with its
 * trailer. */
void sto_rdb_damage_io_mend(struct rdb_damage_io *io, uint64_t file, uint64_t offset,
                            struct slice block);

/* As rocksdb_compact_range_cf_opt with that for the last level, but says how it ended: ERR_CORRUPT
 * (a damaged block, or an unreadable one), ERR_CANCELLED (the engine closes), ERR_IO. */
enum err sto_rdb_compact_range(rocksdb_t *db, rocksdb_column_family_handle_t *family,
                               struct slice begin, struct slice end, int bottommost) MUST_CHECK;

/* Of a block and the byte that names its compression, as files of that type store it. */
uint32_t sto_rdb_block_checksum(int checksum_type, const uint8_t *bytes, uint64_t len);

#endif

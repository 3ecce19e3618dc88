/*
 * storage/rocksdb/part_file.h - stored keys in files cut by what is in them.
 *
 * Does:     write keys and values, in order, into a table file; say where the next one should
 *           begin, so that what did not change falls into the same parts again; read them.
 * Owns:     a writer's file until it is closed or abandoned.
 * May use:  base/, storage/, RocksDB, OpenSSL.
 * Knows no: backups, what keys mean.
 * Threads:  one at a time.
 * Blocks:   yes, on the disk.
 * Fails by: ERR_IO, ERR_STORAGE_FULL, ERR_CORRUPT (keys that do not rise; a file that is none),
 *           what visit returns.
 * Limits:   none: sizes are the caller's.
 * Promises: 1. The same keys and values give the same hash, whenever they are written; other ones
 *              another. The bytes of the file differ each time: RocksDB marks it. 2. Where a part
 *              ends depends on what is in it, and not on what is before it.
 */
#ifndef STORAGE_ROCKSDB_PART_FILE_H
#define STORAGE_ROCKSDB_PART_FILE_H

#include "storage/rocksdb/image.h"

#define STO_PART_HASH 64 /* hexadecimal digits */

/* Of keys and values, before they are compressed. */
struct sto_part_sizes {
    uint64_t min_bytes;  /* no part is smaller, but the last one */
    uint64_t max_bytes;  /* one that is larger ends, whatever is in it */
    uint64_t mean_bytes; /* behind min_bytes, about so many on average */
};

struct sto_part {
    uint64_t keys;
    char sha256[STO_PART_HASH + 1]; /* of keys and values, with their lengths */
};

struct sto_part_writer;

/* path: not there. */
enum err sto_part_create(const char *path, const struct sto_part_sizes *sizes,
                         struct sto_part_writer **out, struct errbuf *eb) MUST_CHECK;
enum err sto_part_add(struct sto_part_writer *w, struct slice key, struct slice value,
                      struct errbuf *eb) MUST_CHECK;
/* Behind the last add: the next key should begin another part. */
bool sto_part_is_full(const struct sto_part_writer *w);
/* Whole, not made durable. At least one key. Frees w, also when it fails. */
enum err sto_part_finish(struct sto_part_writer *w, struct sto_part *out,
                         struct errbuf *eb) MUST_CHECK;
/* Accepts NULL. What was written stays where it is. */
void sto_part_abandon(struct sto_part_writer *w);

/* Every key, in order. */
enum err sto_part_visit(const char *path, sto_stored_visit *visit, void *ctx,
                        struct errbuf *eb) MUST_CHECK;

#endif

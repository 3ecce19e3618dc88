/*
 * storage/rocksdb/part_file.h - stored keys in files divided by their contents.
 *
 * Does:     writes keys and values, in order, into a table file; decides where the next file should
 *           start, so that unchanged keys are in the same parts again; reads them.
 * Owns:     a writer's file until it is closed or abandoned.
 * May use:  base/, storage/, RocksDB, OpenSSL.
 * Knows no: backups, the meaning of keys.
 * Threads:  one at a time.
 * Blocks:   yes, on the disk.
 * Fails by: ERR_IO, ERR_STORAGE_FULL, ERR_CORRUPT (keys that do not rise; not a part file), errors
 *           that visit returns.
 * Limits:   none: sizes are the caller's.
 * Promises: 1. The same keys and values give the same hash, whenever they are written; other ones
 *              give another. The bytes of the file differ each time, because RocksDB marks it.
 *           2. The end of a part depends on its contents, not on previous parts.
 */
#ifndef STORAGE_ROCKSDB_PART_FILE_H
#define STORAGE_ROCKSDB_PART_FILE_H

#include "storage/rocksdb/image.h"

#define STO_PART_HASH 64 /* hexadecimal digits */

/* Sizes of keys and values before compression. */
struct sto_part_sizes {
    uint64_t min_bytes;  /* least size of a part, except the last one */
    uint64_t max_bytes;  /* a part of this size ends, whatever its contents */
    uint64_t mean_bytes; /* average size of the bytes of a part after min_bytes */
};

struct sto_part {
    uint64_t keys;
    char sha256[STO_PART_HASH + 1]; /* of keys and values, with their lengths */
};

struct sto_part_writer;

/* path: does not exist. */
enum err sto_part_create(const char *path, const struct sto_part_sizes *sizes,
                         struct sto_part_writer **out, struct errbuf *eb) MUST_CHECK;
enum err sto_part_add(struct sto_part_writer *w, struct slice key, struct slice value,
                      struct errbuf *eb) MUST_CHECK;
/* Call after an add: returns whether the next key should start another part. */
bool sto_part_is_full(const struct sto_part_writer *w);
/* Completes the file without making it durable. At least one key. Frees w, also on failure. */
enum err sto_part_finish(struct sto_part_writer *w, struct sto_part *out,
                         struct errbuf *eb) MUST_CHECK;
/* Accepts NULL. The partial file stays on the disk. */
void sto_part_abandon(struct sto_part_writer *w);

/* Visits every key, in order. */
enum err sto_part_visit(const char *path, sto_stored_visit *visit, void *ctx,
                        struct errbuf *eb) MUST_CHECK;

#endif

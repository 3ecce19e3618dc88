/*
 * migrations/backup_files.h - files of backups, named by the hashes of their contents.
 *
 * Does:     copies files into a directory of immutable files that backups share; copies them out;
 *           rereads them; all of it hashed, in little memory, and at a bounded rate.
 * Owns:     the copier's buffer, from mig_copier_init to mig_copier_fini.
 * May use:  base/.
 * Knows no: which backup needs which file.
 * Threads:  one at a time; done_bytes is read by any.
 * Blocks:   yes, on the disk, and to keep the rate.
 * Fails by: ERR_IO, ERR_NOT_FOUND, ERR_CORRUPT (the contents do not match the name),
 *           ERR_STORAGE_FULL (no space), ERR_CANCELLED, ERR_NO_MEMORY.
 * Limits:   LIM_BACKUP_BLOCK_BYTES, LIM_BACKUP_BYTES_PER_S.
 * Promises: 1. A file under its name is complete and on disk, however the process ended.
 *           2. A file that exists already is read, but not written again.
 */
#ifndef MIGRATIONS_BACKUP_FILES_H
#define MIGRATIONS_BACKUP_FILES_H

#include <stdatomic.h>

#include "base/file.h"

#define MIG_SHA256_TEXT 64 /* hexadecimal digits */

struct mig_content {
    uint64_t size;
    char sha256[MIG_SHA256_TEXT + 1];
};

struct mig_copier {
    bool (*stop)(void *ctx); /* NULL: runs to completion */
    void *ctx;
    uint64_t bytes_per_s; /* 0: unlimited */
    _Atomic uint64_t *done_bytes;

    uint8_t *block;
    uint64_t began_ns;
    uint64_t copied_bytes;
};

/* done_bytes is incremented; may be NULL. */
enum err mig_copier_init(struct mig_copier *c, _Atomic uint64_t *done_bytes,
                         struct errbuf *eb) MUST_CHECK;
void mig_copier_fini(struct mig_copier *c);

/* Creates DIR/files if it is missing. */
enum err mig_files_prepare(const char *dir, struct errbuf *eb) MUST_CHECK;
/* Returns DIR/files/HASH. */
enum err mig_files_path(const char *dir, const char *sha256, char out[BASE_PATH_BYTES],
                        struct errbuf *eb) MUST_CHECK;
/* Returns whether the file exists with that size. */
bool mig_files_has(const char *dir, const struct mig_content *content);

/* Copies the file at `from` into DIR/files. out_is_new: it did not exist there. */
enum err mig_files_take(struct mig_copier *c, const char *dir, const char *from,
                        struct mig_content *out, bool *out_is_new, struct errbuf *eb) MUST_CHECK;
/* Copies it out durably to a new file. */
enum err mig_files_give(struct mig_copier *c, const char *dir, const struct mig_content *content,
                        const char *to, unsigned mode, struct errbuf *eb) MUST_CHECK;
/* Reads it and compares the hash. */
enum err mig_files_check(struct mig_copier *c, const char *dir, const struct mig_content *content,
                         struct errbuf *eb) MUST_CHECK;
/* Removes files for which is_named is false, and files that a crash left. */
enum err mig_files_sweep(const char *dir, bool (*is_named)(const void *ctx, const char *sha256),
                         const void *ctx, struct errbuf *eb) MUST_CHECK;

/* Returns the bytes that an unprivileged writer may still write to that file system. */
enum err mig_files_free_bytes(const char *dir, uint64_t *out, struct errbuf *eb) MUST_CHECK;
/* Test tool: sets the reported free space; UINT64_MAX: the real value again. */
void mig_files_test_free(uint64_t bytes);

#endif

/*
 * migrations/backup_files.h - files of backups, named by what is in them.
 *
 * Does:     copy files into a directory of files that never change and are shared by backups; copy
 *           them out; read them again; all of it hashed, in little memory, and not too fast.
 * Owns:     the copier's buffer, from mig_copier_init to mig_copier_fini.
 * May use:  base/.
 * Knows no: which backup needs which file.
 * Threads:  one at a time; done_bytes is read by any.
 * Blocks:   yes, on the disk, and to keep the rate.
 * Fails by: ERR_IO, ERR_NOT_FOUND, ERR_CORRUPT (what is read is not what its name says),
 *           ERR_STORAGE_FULL (no space), ERR_CANCELLED, ERR_NO_MEMORY.
 * Limits:   LIM_BACKUP_BLOCK_BYTES, LIM_BACKUP_BYTES_PER_S.
 * Promises: 1. A file under its name is whole and on disk, however the process ended.
 *           2. A file that is there already is read, but not written again.
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
    bool (*stop)(void *ctx); /* NULL: goes on to the end */
    void *ctx;
    uint64_t bytes_per_s; /* 0: as fast as it can */
    _Atomic uint64_t *done_bytes;

    uint8_t *block;
    uint64_t began_ns;
    uint64_t copied_bytes;
};

/* done_bytes is counted up; NULL: not. */
enum err mig_copier_init(struct mig_copier *c, _Atomic uint64_t *done_bytes,
                         struct errbuf *eb) MUST_CHECK;
void mig_copier_fini(struct mig_copier *c);

/* Make DIR/files when it is not there. */
enum err mig_files_prepare(const char *dir, struct errbuf *eb) MUST_CHECK;
/* DIR/files/HASH. */
enum err mig_files_path(const char *dir, const char *sha256, char out[BASE_PATH_BYTES],
                        struct errbuf *eb) MUST_CHECK;
/* Whether it is there, with that size. */
bool mig_files_has(const char *dir, const struct mig_content *content);

/* Copy the file at `from` into DIR/files. out_is_new: it was not there yet. */
enum err mig_files_take(struct mig_copier *c, const char *dir, const char *from,
                        struct mig_content *out, bool *out_is_new, struct errbuf *eb) MUST_CHECK;
/* Copy it out, to a file that is not there, on disk when it returns. */
enum err mig_files_give(struct mig_copier *c, const char *dir, const struct mig_content *content,
                        const char *to, unsigned mode, struct errbuf *eb) MUST_CHECK;
/* Read it and compare. */
enum err mig_files_check(struct mig_copier *c, const char *dir, const struct mig_content *content,
                         struct errbuf *eb) MUST_CHECK;
/* Remove what is_named does not know, and what a crash left. */
enum err mig_files_sweep(const char *dir, bool (*is_named)(const void *ctx, const char *sha256),
                         const void *ctx, struct errbuf *eb) MUST_CHECK;

/* Bytes that an unprivileged writer may still write to that file system. */
enum err mig_files_free_bytes(const char *dir, uint64_t *out, struct errbuf *eb) MUST_CHECK;
/* Test tool: so much is free; UINT64_MAX: what is true again. */
void mig_files_test_free(uint64_t bytes);

#endif

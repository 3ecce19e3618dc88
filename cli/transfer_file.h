/*
 * cli/transfer_file.h - the files of an export: compressed, hashed, complete or absent.
 *
 * Does:     write a file under a name that ends in .part and rename it when it is complete and on
 *           the disk; read a file record by record.
 * Owns:     descriptors and contexts between open and finish, abandon or close.
 * May use:  base/, cli/.
 * Knows no: manifests, requests.
 * Threads:  one for each file.
 * Blocks:   on the disk.
 * Fails by: CLI_REFUSED (cannot write: disk full and the like), CLI_CHECK_FAILED (a damaged file),
 *           reported with the file's name and line.
 * Limits:   CLI_RECORD_BYTES.
 * Promises: 1. A file with a name without .part is complete, also after a power failure.
 *           2. Only regular files below the directory are opened; symbolic links are refused.
 */
#ifndef CLI_TRANSFER_FILE_H
#define CLI_TRANSFER_FILE_H

#include <openssl/types.h>

#include "cli/exit.h"
#include "cli/transfer_record.h"

/* ID and 00000.ndjson.zst, ten digits at most. */
#define CLI_FILE_NAME 32
#define CLI_FILE_PATH (LIM_TABLE_ID + 1 + CLI_FILE_NAME)

/* Formats a name such as "00042.ndjson.zst". */
void cli_file_name(uint32_t number, enum cli_encoding encoding, bool packed,
                   char out[CLI_FILE_NAME]);

struct cli_out_file {
    int dir_fd; /* borrowed */
    const char *table;
    char name[CLI_FILE_NAME];
    int fd; /* -1: not open */
    struct ZSTD_CCtx_s *packer;
    EVP_MD_CTX *digest;
    uint8_t *packed;
    uint64_t raw_bytes;
    uint64_t stored_bytes;
};

/* Opens the directory of a table; make: creates it if it is missing.
 * The caller owns the descriptor. */
enum cli_exit cli_table_dir(int dir_fd, const char *table, bool make, int *out_fd);

/* Creates a file. f must be zeroed, finished or abandoned. */
enum cli_exit cli_out_file_open(struct cli_out_file *f, int dir_fd, const char *table,
                                const char *name, bool pack);
enum cli_exit cli_out_file_write(struct cli_out_file *f, struct slice bytes);
enum cli_exit cli_out_file_finish(struct cli_out_file *f, uint8_t out_sha256[CLI_CONTENT_BYTES]);
/* Removes the incomplete file; does nothing when f is not open. */
void cli_out_file_abandon(struct cli_out_file *f);

struct cli_in_file {
    char path[CLI_FILE_PATH]; /* for messages */
    int fd;
    enum cli_encoding encoding;
    struct ZSTD_DCtx_s *unpacker; /* NULL: not compressed */
    uint8_t *packed;
    size_t packed_len;
    size_t packed_at;
    bool frame_open;
    bool unpacker_full; /* it has more output without more input */
    bool ended;
    struct buf bytes;
    size_t taken;
    struct cli_record_scan scan;
    uint64_t line; /* of the next record, from 1 */
};

enum cli_exit cli_in_file_open(struct cli_in_file *f, int dir_fd, const char *table,
                               const char *name, enum cli_encoding encoding, bool packed);
void cli_in_file_close(struct cli_in_file *f);
/* Reads the next cell, which is valid until the next call. *out_line 0: there are no more. */
enum cli_exit cli_in_file_next(struct cli_in_file *f, struct buf *holder, struct cli_cell *out,
                               uint64_t *out_line);

/* Computes size and hash of the file's bytes on disk. on_bytes receives the number of bytes read
 * and may stop the call by returning false: CLI_INTERRUPTED. */
enum cli_exit cli_file_hash(int dir_fd, const char *table, const char *name,
                            bool (*on_bytes)(void *ctx, size_t bytes), void *ctx,
                            uint64_t *out_bytes, uint8_t out_sha256[CLI_CONTENT_BYTES]);

#endif

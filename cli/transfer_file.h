/*
 * cli/transfer_file.h - the files of an export: compressed, hashed, whole or not there.
 *
 * Does:     write a file under a name that ends in .part and rename it when it is whole and on the
 *           disk; read one back record by record.
 * Owns:     descriptors and contexts between open and finish, abandon or close.
 * May use:  base/, cli/.
 * Knows no: manifests, requests.
 * Threads:  one for each file.
 * Blocks:   on the disk.
 * Fails by: CLI_REFUSED (cannot write: disk full and the like), CLI_CHECK_FAILED (a damaged file),
 *           said with the file's name and line.
 * Limits:   CLI_RECORD_BYTES.
 * Promises: 1. A name without .part is that of a whole file, also after a power cut.
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

/* "00042.ndjson.zst" */
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

/* The directory of a table, made if need be; the descriptor is the caller's. */
enum cli_exit cli_table_dir(int dir_fd, const char *table, bool make, int *out_fd);

/* f must be zero, or finished or abandoned. */
enum cli_exit cli_out_file_open(struct cli_out_file *f, int dir_fd, const char *table,
                                const char *name, bool pack);
enum cli_exit cli_out_file_write(struct cli_out_file *f, struct slice bytes);
enum cli_exit cli_out_file_finish(struct cli_out_file *f, uint8_t out_sha256[CLI_CONTENT_BYTES]);
/* Remove what there is of it; nothing if it is not open. */
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
    bool unpacker_full; /* more comes out of it without more going in */
    bool ended;
    struct buf bytes;
    size_t taken;
    struct cli_record_scan scan;
    uint64_t line; /* of the record that comes next, from 1 */
};

enum cli_exit cli_in_file_open(struct cli_in_file *f, int dir_fd, const char *table,
                               const char *name, enum cli_encoding encoding, bool packed);
void cli_in_file_close(struct cli_in_file *f);
/* The next cell; it lasts until the next call. *out_line 0: there are no more. */
enum cli_exit cli_in_file_next(struct cli_in_file *f, struct buf *holder, struct cli_cell *out,
                               uint64_t *out_line);

/* Size and hash of the bytes as they lie on the disk; on_bytes hears how many were read, and may
 * stop it by returning false: CLI_INTERRUPTED. */
enum cli_exit cli_file_hash(int dir_fd, const char *table, const char *name,
                            bool (*on_bytes)(void *ctx, size_t bytes), void *ctx,
                            uint64_t *out_bytes, uint8_t out_sha256[CLI_CONTENT_BYTES]);

#endif

/*
 * cli/transfer_in.c - reading a file of an export; see transfer_file.h.
 *
 * Bytes are decompressed a piece at a time into `bytes`, which holds at most one incomplete record
 * and one piece. A truncated zstd frame, or one with a wrong checksum, means a damaged file.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "cli/interrupt.h"
#include "cli/out.h"
#include "cli/transfer_file.h"

#include "base/banned.h"

#define PIECE_BYTES (256 * KIB)

static enum cli_exit damaged(const struct cli_in_file *f, const char *why)
{
    return cli_fail(CLI_CHECK_FAILED, "%s, line %llu: %s", f->path, (unsigned long long)f->line,
                    why);
}

static enum cli_exit open_regular(int dir_fd, const char *table, const char *name, int *out_fd)
{
    int table_fd = -1;
    struct stat st;
    *out_fd = -1;
    enum cli_exit e = cli_table_dir(dir_fd, table, false, &table_fd);
    if (e != CLI_OK)
        return e;
    int fd = openat(table_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        e = cli_fail(CLI_CHECK_FAILED, "cannot open %s/%s: %s", table, name, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        e = cli_fail(CLI_CHECK_FAILED, "%s/%s is not a regular file", table, name);
    (void)close(table_fd); /* it was only read */
    if (e != CLI_OK && fd >= 0)
        (void)close(fd); /* nothing was read */
    if (e == CLI_OK)
        *out_fd = fd;
    return e;
}

enum cli_exit cli_in_file_open(struct cli_in_file *f, int dir_fd, const char *table,
                               const char *name, enum cli_encoding encoding, bool packed)
{
    *f = (struct cli_in_file){.fd = -1, .encoding = encoding, .line = 1};
    (void)snprintf(f->path, sizeof f->path, "%s/%s", table, name); /* fits: both are bounded */
    enum cli_exit e = open_regular(dir_fd, table, name, &f->fd);
    if (e != CLI_OK)
        return e;
    base_buf_init(&f->bytes, CLI_RECORD_BYTES);
    f->packed = base_new(PIECE_BYTES);
    if (packed) {
        f->unpacker = ZSTD_createDCtx();
        INVARIANT(f->unpacker != NULL);
    }
    return CLI_OK;
}

void cli_in_file_close(struct cli_in_file *f)
{
    if (f->fd >= 0)
        (void)close(f->fd); /* it was only read */
    f->fd = -1;
    (void)ZSTD_freeDCtx(f->unpacker); /* cannot fail */
    f->unpacker = NULL;
    base_free(f->packed);
    f->packed = NULL;
    base_buf_fini(&f->bytes);
}

static ssize_t read_piece(int fd, uint8_t *to)
{
    ssize_t n;
    do {
        n = read(fd, to, PIECE_BYTES);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* Reads more of the file's bytes on disk. */
static enum cli_exit fill_packed(struct cli_in_file *f)
{
    ssize_t n = read_piece(f->fd, f->packed);
    if (n < 0)
        return damaged(f, strerror(errno));
    f->packed_len = (size_t)n;
    f->packed_at = 0;
    f->ended = n == 0;
    return CLI_OK;
}

static enum cli_exit unpack(struct cli_in_file *f)
{
    ZSTD_inBuffer in = {f->packed, f->packed_len, f->packed_at};
    ZSTD_outBuffer out = {base_buf_end(&f->bytes), PIECE_BYTES, 0};
    size_t left = ZSTD_decompressStream(f->unpacker, &out, &in);
    if (ZSTD_isError(left))
        return damaged(f, ZSTD_getErrorName(left));
    f->packed_at = in.pos;
    f->bytes.len += out.pos;
    f->frame_open = left != 0;
    f->unpacker_full = out.pos == out.size;
    return CLI_OK;
}

static void copy(struct cli_in_file *f)
{
    size_t len = f->packed_len - f->packed_at;
    if (len > 0)
        memcpy(base_buf_end(&f->bytes), f->packed + f->packed_at, len);
    f->bytes.len += len;
    f->packed_at = f->packed_len;
}

/* Reads at least one more byte, or sets ended. */
static enum cli_exit read_more(struct cli_in_file *f)
{
    base_buf_consume(&f->bytes, f->taken);
    f->taken = 0;
    size_t before = f->bytes.len;
    if (base_buf_reserve(&f->bytes, PIECE_BYTES) != ERR_OK)
        return damaged(f, "the record is too long");
    while (f->bytes.len == before && !f->ended) {
        enum cli_exit e = CLI_OK;
        if (f->packed_at == f->packed_len && !f->unpacker_full)
            e = fill_packed(f);
        if (e == CLI_OK && f->ended && f->frame_open)
            e = damaged(f, "the file ends within compressed data");
        if (e == CLI_OK && !f->ended && f->unpacker != NULL)
            e = unpack(f);
        else if (e == CLI_OK && !f->ended)
            copy(f);
        if (e != CLI_OK)
            return e;
    }
    return CLI_OK;
}

/* Reads the next record; *out_found false: the file ended between two records. */
static enum cli_exit next_record(struct cli_in_file *f, struct slice *out, bool *out_found)
{
    size_t len = 0;
    for (;;) {
        struct slice rest = base_slice_skip(base_buf_slice(&f->bytes), f->taken);
        if (cli_record_end(f->encoding, rest, &f->scan, &len)) {
            *out = base_slice(rest.ptr, len);
            *out_found = true;
            f->taken += len + 1;
            f->scan = (struct cli_record_scan){0};
            return CLI_OK;
        }
        *out_found = false;
        if (f->ended)
            return rest.len == 0 ? CLI_OK : damaged(f, "the last record has no end");
        enum cli_exit e = read_more(f);
        if (e != CLI_OK)
            return e;
    }
}

static uint64_t lines_in(const struct cli_in_file *f, struct slice record)
{
    uint64_t lines = 1;
    if (f->encoding != CLI_CSV)
        return lines;
    for (size_t at = 0; at < record.len; at++) {
        const uint8_t *feed = memchr(record.ptr + at, '\n', record.len - at);
        if (feed == NULL)
            break;
        lines++;
        at = (size_t)(feed - record.ptr);
    }
    return lines;
}

static enum cli_exit check_head(struct cli_in_file *f, struct slice record)
{
    struct slice head = cli_record_head(f->encoding);
    head.len--;
    if (record.len > 0 && record.ptr[record.len - 1] == '\r')
        record.len--;
    f->line++;
    return base_slice_equal(record, head) ? CLI_OK : damaged(f, "the names of the columns differ");
}

enum cli_exit cli_in_file_next(struct cli_in_file *f, struct buf *holder, struct cli_cell *out,
                               uint64_t *out_line)
{
    struct slice record;
    const char *why = NULL;
    bool found = false;
    *out_line = 0;
    enum cli_exit e = next_record(f, &record, &found);
    if (e == CLI_OK && found && f->line == 1 && f->encoding == CLI_CSV) {
        e = check_head(f, record);
        if (e == CLI_OK)
            e = next_record(f, &record, &found);
    }
    if (e != CLI_OK || !found)
        return e;
    if (!cli_record_read(f->encoding, record, holder, out, &why))
        return damaged(f, why);
    *out_line = f->line;
    f->line += lines_in(f, record);
    return CLI_OK;
}

enum cli_exit cli_file_hash(int dir_fd, const char *table, const char *name,
                            bool (*on_bytes)(void *ctx, size_t bytes), void *ctx,
                            uint64_t *out_bytes, uint8_t out_sha256[CLI_CONTENT_BYTES])
{
    int fd = -1;
    enum cli_exit e = open_regular(dir_fd, table, name, &fd);
    if (e != CLI_OK)
        return e;
    uint8_t *piece = base_new(PIECE_BYTES);
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    INVARIANT(digest != NULL && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1);
    ssize_t n = 1;
    *out_bytes = 0;
    while (e == CLI_OK && n > 0) {
        n = read_piece(fd, piece);
        if (n < 0)
            e = cli_fail(CLI_CHECK_FAILED, "cannot read %s/%s: %s", table, name, strerror(errno));
        if (n > 0) {
            INVARIANT(EVP_DigestUpdate(digest, piece, (size_t)n) == 1);
            *out_bytes += (uint64_t)n;
            e = on_bytes(ctx, (size_t)n) ? CLI_OK : CLI_INTERRUPTED;
        }
    }
    INVARIANT(EVP_DigestFinal_ex(digest, out_sha256, NULL) == 1);
    EVP_MD_CTX_free(digest);
    base_free(piece);
    (void)close(fd); /* it was only read */
    return e;
}

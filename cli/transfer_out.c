/*
 * cli/transfer_out.c - writes a file of an export; see transfer_file.h.
 *
 * The compressor has its own thread (nbWorkers), so compression does not delay the connection.
 * Order on the disk: contents, fsync, rename, fsync of the directory; only then does a manifest
 * name the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "cli/out.h"
#include "cli/transfer_file.h"

#include "base/banned.h"

#define PART        ".part"
#define PACKED_SIZE (256 * KIB)
#define PACK_LEVEL  1

void cli_file_name(uint32_t number, enum cli_encoding encoding, bool packed,
                   char out[CLI_FILE_NAME])
{
    int n = snprintf(out, CLI_FILE_NAME, "%05u.%s%s", number, cli_encoding_name(encoding),
                     packed ? ".zst" : "");
    INVARIANT(n > 0 && n < CLI_FILE_NAME);
}

enum cli_exit cli_table_dir(int dir_fd, const char *table, bool make, int *out_fd)
{
    if (make && mkdirat(dir_fd, table, 0700) != 0 && errno != EEXIST)
        return cli_fail(CLI_REFUSED, "cannot make %s: %s", table, strerror(errno));
    *out_fd = openat(dir_fd, table, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*out_fd < 0)
        return cli_fail(make ? CLI_REFUSED : CLI_CHECK_FAILED, "cannot open %s: %s", table,
                        strerror(errno));
    return CLI_OK;
}

static void part_name(const struct cli_out_file *f, char out[CLI_FILE_NAME + sizeof PART])
{
    (void)snprintf(out, CLI_FILE_NAME + sizeof PART, "%s" PART, f->name); /* fits */
}

static enum cli_exit fail(const struct cli_out_file *f)
{
    return cli_fail(CLI_REFUSED, "cannot write %s/%s: %s", f->table, f->name, strerror(errno));
}

static void release(struct cli_out_file *f)
{
    if (f->fd >= 0)
        (void)close(f->fd);         /* complete contents were synced */
    (void)ZSTD_freeCCtx(f->packer); /* cannot fail */
    EVP_MD_CTX_free(f->digest);
    base_free(f->packed);
    f->fd = -1;
    f->packer = NULL;
    f->digest = NULL;
    f->packed = NULL;
}

enum cli_exit cli_out_file_open(struct cli_out_file *f, int dir_fd, const char *table,
                                const char *name, bool pack)
{
    char part[CLI_FILE_NAME + sizeof PART];
    *f = (struct cli_out_file){.dir_fd = dir_fd, .table = table, .fd = -1};
    memcpy(f->name, name, strlen(name) + 1);
    part_name(f, part);
    f->fd = openat(dir_fd, part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (f->fd < 0)
        return fail(f);
    f->packed = base_new(PACKED_SIZE);
    f->digest = EVP_MD_CTX_new();
    INVARIANT(f->digest != NULL && EVP_DigestInit_ex(f->digest, EVP_sha256(), NULL) == 1);
    if (!pack)
        return CLI_OK;
    f->packer = ZSTD_createCCtx();
    INVARIANT(f->packer != NULL);
    (void)ZSTD_CCtx_setParameter(f->packer, ZSTD_c_compressionLevel, PACK_LEVEL);
    (void)ZSTD_CCtx_setParameter(f->packer, ZSTD_c_checksumFlag, 1);
    /* A library without threads refuses this, and compresses in the calling thread. */
    (void)ZSTD_CCtx_setParameter(f->packer, ZSTD_c_nbWorkers, 1);
    return CLI_OK;
}

static enum cli_exit store(struct cli_out_file *f, struct slice bytes)
{
    if (bytes.len == 0)
        return CLI_OK;
    INVARIANT(EVP_DigestUpdate(f->digest, bytes.ptr, bytes.len) == 1);
    f->stored_bytes += bytes.len;
    while (bytes.len > 0) {
        ssize_t n = write(f->fd, bytes.ptr, bytes.len);
        if (n < 0 && errno != EINTR)
            return fail(f);
        if (n > 0)
            bytes = base_slice_skip(bytes, (size_t)n);
    }
    return CLI_OK;
}

static enum cli_exit pack(struct cli_out_file *f, struct slice bytes, ZSTD_EndDirective how)
{
    ZSTD_inBuffer in = {bytes.ptr, bytes.len, 0};
    for (;;) {
        ZSTD_outBuffer out = {f->packed, PACKED_SIZE, 0};
        size_t left = ZSTD_compressStream2(f->packer, &out, &in, how);
        if (ZSTD_isError(left))
            return cli_fail(CLI_REFUSED, "cannot compress %s/%s: %s", f->table, f->name,
                            ZSTD_getErrorName(left));
        enum cli_exit e = store(f, base_slice(f->packed, out.pos));
        if (e != CLI_OK || (how == ZSTD_e_end ? left == 0 : in.pos == in.size))
            return e;
    }
}

enum cli_exit cli_out_file_write(struct cli_out_file *f, struct slice bytes)
{
    f->raw_bytes += bytes.len;
    return f->packer != NULL ? pack(f, bytes, ZSTD_e_continue) : store(f, bytes);
}

enum cli_exit cli_out_file_finish(struct cli_out_file *f, uint8_t out_sha256[CLI_CONTENT_BYTES])
{
    char part[CLI_FILE_NAME + sizeof PART];
    part_name(f, part);
    enum cli_exit e = f->packer != NULL ? pack(f, SLICE_EMPTY, ZSTD_e_end) : CLI_OK;
    if (e == CLI_OK && (fsync(f->fd) != 0 || renameat(f->dir_fd, part, f->dir_fd, f->name) != 0 ||
                        fsync(f->dir_fd) != 0))
        e = fail(f);
    if (e == CLI_OK) {
        INVARIANT(EVP_DigestFinal_ex(f->digest, out_sha256, NULL) == 1);
        release(f);
    } else {
        cli_out_file_abandon(f);
    }
    return e;
}

void cli_out_file_abandon(struct cli_out_file *f)
{
    char part[CLI_FILE_NAME + sizeof PART];
    if (f->digest == NULL)
        return;
    part_name(f, part);
    (void)unlinkat(f->dir_fd, part, 0); /* it may remain: no reader opens a .part file */
    release(f);
}

/*
 * storage/rocksdb/log_file.c - blocks, fragments, records.
 *
 *   file      blocks of 32 KiB; the last one may be shorter
 *   block     fragments; fewer than 7 bytes at its end are not used
 *   fragment  checksum (4), length (2), kind (1), bytes; the checksum is of kind and bytes
 *   record    one whole fragment, or a first one, any number of middle ones, and a last one
 *
 * 1. A record starts at the start of a block or after another record: the bytes after a damaged
 *    fragment in its block have no known start, so a later record is searched for at each byte. A
 *    match of 32 bits at one of that many places is made certain by the sequence number: a change
 *    takes at least a byte of the log, so a later one is less than the file's length ahead.
 * 2. A fragment of a kind that only recycled or compressed logs have, with a matching checksum, is
 *    no damage: an option that this reader does not know was switched on.
 */
#define _GNU_SOURCE
#include "storage/rocksdb/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/limits.h"
#include "storage/rocksdb/damage_io.h"
#include "storage/rocksdb/file_copy.h"

#include "base/banned.h"

#define BLOCK_BYTES      32768u
#define HEAD_BYTES       7u
#define RECYCLABLE_BYTES 4u /* additional head bytes of these kinds */
#define CHECKSUM_CRC     1  /* masked CRC-32C, as in table files */
#define APPEND_MAX       (1024UL * MIB)
#define SEQUENCE_BITS    56

enum kind {
    KIND_ZERO,
    KIND_WHOLE,
    KIND_FIRST,
    KIND_MIDDLE,
    KIND_LAST,
    KIND_RECYCLABLE_WHOLE,
    KIND_RECYCLABLE_LAST = 8
};

struct rdb_log_file {
    int fd;
    uint64_t bytes;
    uint64_t block_offset;
    size_t block_bytes;
    size_t at;      /* position in the block */
    char path[256]; /* its end, for messages */
    uint8_t block[BLOCK_BYTES];
};

struct fragment {
    uint64_t offset;
    bool is_cut; /* of damage: the file ends inside */
    enum kind kind;
    struct slice bytes;
};

/* --- numbers and checksums -------------------------------------------------------------------- */

static uint64_t number_read(const uint8_t *bytes, unsigned count)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < count; i++)
        n |= (uint64_t)bytes[i] << (8 * i);
    return n;
}

/* Returns a fragment's checksum. head: its start; checked: number of bytes covered after the
 * length. */
static uint32_t crc_of(const uint8_t *head, size_t checked)
{
    return sto_rdb_block_checksum(CHECKSUM_CRC, head + HEAD_BYTES - 1, checked);
}

static bool crc_matches(const uint8_t *head, size_t checked)
{
    return number_read(head, 4) == crc_of(head, checked);
}

/* --- files and blocks ------------------------------------------------------------------------- */

static enum err io_failed(const struct rdb_log_file *f, int error, struct errbuf *eb)
{
    return base_fail(eb, base_file_error(error), "cannot read %s: %s", f->path,
                     strerrordesc_np(error));
}

enum err sto_rdb_log_open(const char *path, struct rdb_log_file **out, struct errbuf *eb)
{
    struct stat st;
    struct rdb_log_file *f = base_new(sizeof *f);
    size_t len = strlen(path);
    size_t skip = len < sizeof f->path ? 0 : len + 1 - sizeof f->path;
    memcpy(f->path, path + skip, len + 1 - skip);
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0 || fstat(f->fd, &st) != 0) {
        enum err rc = io_failed(f, errno, eb);
        sto_rdb_log_close(f);
        return rc;
    }
    f->bytes = (uint64_t)st.st_size;
    *out = f;
    return ERR_OK;
}

void sto_rdb_log_close(struct rdb_log_file *f)
{
    if (f == NULL)
        return;
    if (f->fd >= 0)
        (void)close(f->fd); /* only read from */
    base_free(f);
}

uint64_t sto_rdb_log_bytes(const struct rdb_log_file *f)
{
    return f->bytes;
}

/* Loads a block. A file that was cut after it was opened ends earlier. */
static enum err block_load(struct rdb_log_file *f, uint64_t offset, struct errbuf *eb)
{
    f->block_offset = offset;
    f->block_bytes = 0;
    f->at = 0;
    while (f->block_bytes < BLOCK_BYTES) {
        ssize_t n = pread(f->fd, f->block + f->block_bytes, BLOCK_BYTES - f->block_bytes,
                          (off_t)(offset + f->block_bytes));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return io_failed(f, errno, eb);
        if (n == 0)
            break;
        f->block_bytes += (size_t)n;
    }
    if (f->block_bytes < BLOCK_BYTES)
        f->bytes = offset + f->block_bytes;
    return ERR_OK;
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
    return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

/* Checks for zeros up to the end of the file. Leaves the block at the first other byte, or the last
 * block. */
static enum err zeros_to_end(struct rdb_log_file *f, bool *out, struct errbuf *eb)
{
    enum err rc = ERR_OK;
    *out = is_zero(f->block + f->at, f->block_bytes - f->at);
    while (rc == ERR_OK && *out && f->block_offset + f->block_bytes < f->bytes) {
        rc = block_load(f, f->block_offset + BLOCK_BYTES, eb);
        *out = is_zero(f->block, f->block_bytes);
    }
    return rc;
}

/* --- fragments -------------------------------------------------------------------------------- */

/* Reads the fragment whose head is at the present position. RDB_LOG_RECORD: it is sound, and the
 * position is after it. */
static enum err fragment_read(struct rdb_log_file *f, enum rdb_log_found *out,
                              struct fragment *out_fragment, struct errbuf *eb)
{
    const uint8_t *head = f->block + f->at;
    size_t len = (size_t)number_read(head + 4, 2);
    unsigned kind = head[6];
    bool recyclable = kind >= KIND_RECYCLABLE_WHOLE && kind <= KIND_RECYCLABLE_LAST;
    size_t whole = HEAD_BYTES + len + (recyclable ? RECYCLABLE_BYTES : 0);
    bool zeros = false;
    *out_fragment = (struct fragment){.offset = f->block_offset + f->at};
    if (kind == KIND_ZERO && len == 0) {
        enum err rc = zeros_to_end(f, &zeros, eb);
        *out = zeros ? RDB_LOG_END : RDB_LOG_DAMAGE;
        return rc;
    }
    *out = RDB_LOG_DAMAGE;
    out_fragment->is_cut =
        HEAD_BYTES + len > f->block_bytes - f->at && f->block_offset + f->block_bytes == f->bytes;
    if (whole > f->block_bytes - f->at || !crc_matches(head, whole - HEAD_BYTES + 1))
        return ERR_OK;
    if (kind < KIND_WHOLE || kind > KIND_LAST)
        return base_fail(eb, ERR_UNSUPPORTED,
                         "%s holds a record of kind %u at byte %llu, which this program never "
                         "writes",
                         f->path, kind, (unsigned long long)out_fragment->offset);
    out_fragment->kind = (enum kind)kind;
    out_fragment->bytes = base_slice(head + HEAD_BYTES, len);
    f->at += whole;
    *out = RDB_LOG_RECORD;
    return ERR_OK;
}

static enum err fragment_next(struct rdb_log_file *f, enum rdb_log_found *out,
                              struct fragment *out_fragment, struct errbuf *eb)
{
    enum err rc = ERR_OK;
    if (f->block_bytes == 0)
        rc = block_load(f, 0, eb);
    while (rc == ERR_OK && f->block_bytes - f->at < HEAD_BYTES) {
        out_fragment->offset = f->block_offset + f->at;
        if (f->block_bytes < BLOCK_BYTES) { /* the file ends: a cut head, unless all are zeros */
            out_fragment->is_cut = true;
            *out = is_zero(f->block + f->at, f->block_bytes - f->at) ? RDB_LOG_END : RDB_LOG_DAMAGE;
            return ERR_OK;
        }
        rc = block_load(f, f->block_offset + BLOCK_BYTES, eb);
    }
    return rc == ERR_OK ? fragment_read(f, out, out_fragment, eb) : rc;
}

/* --- records ---------------------------------------------------------------------------------- */

/* The sequence number and count of a batch may be spread over its first fragments. */
struct batch_head {
    uint8_t bytes[RDB_LOG_BATCH_HEAD];
    size_t len;
};

static void batch_head_append(struct batch_head *head, struct slice bytes)
{
    size_t room = sizeof head->bytes - head->len;
    size_t n = bytes.len < room ? bytes.len : room;
    memcpy(head->bytes + head->len, bytes.ptr, n);
    head->len += n;
}

static void batch_head_read(const struct batch_head *head, struct rdb_log_record *out)
{
    bool is_whole = head->len == RDB_LOG_BATCH_HEAD;
    out->sequence = is_whole ? number_read(head->bytes, 8) : 0;
    out->count = is_whole ? (uint32_t)number_read(head->bytes + 8, 4) : 0;
}

enum err sto_rdb_log_next(struct rdb_log_file *f, struct buf *payload, enum rdb_log_found *out,
                          struct rdb_log_record *out_record, struct errbuf *eb)
{
    struct batch_head head = {.len = 0};
    struct fragment fragment = {.offset = 0};
    bool is_inside = false;
    if (payload != NULL)
        base_buf_truncate(payload, 0);
    for (;;) {
        enum err rc = fragment_next(f, out, &fragment, eb);
        if (rc != ERR_OK)
            return rc;
        bool starts = fragment.kind == KIND_WHOLE || fragment.kind == KIND_FIRST;
        if (*out == RDB_LOG_RECORD && starts == is_inside)
            *out = RDB_LOG_DAMAGE;
        if (!is_inside)
            *out_record = (struct rdb_log_record){.offset = fragment.offset};
        out_record->is_cut = fragment.is_cut || *out == RDB_LOG_END;
        if (*out == RDB_LOG_END && is_inside)
            *out = RDB_LOG_DAMAGE;
        if (*out != RDB_LOG_RECORD)
            return ERR_OK;
        is_inside = true;
        out_record->bytes += fragment.bytes.len;
        batch_head_append(&head, fragment.bytes);
        if (payload != NULL && base_buf_append(payload, fragment.bytes) != ERR_OK)
            return base_fail(eb, payload->error, "a record of %s is too long", f->path);
        if (fragment.kind == KIND_WHOLE || fragment.kind == KIND_LAST) {
            batch_head_read(&head, out_record);
            return ERR_OK;
        }
    }
}

/* --- all bytes of a file --------------------------------------------------------------------- */

uint64_t sto_rdb_log_at(const struct rdb_log_file *f)
{
    return f->block_offset + f->at;
}

enum err sto_rdb_log_run(struct rdb_log_file *f, enum rdb_log_found *out, struct slice *out_bytes,
                         struct errbuf *eb)
{
    struct fragment fragment = {.offset = 0};
    struct errbuf why = {{0}};
    enum err rc;
    do {
        rc = fragment_next(f, out, &fragment, &why);
        if (rc == ERR_UNSUPPORTED) { /* its bytes are returned all the same */
            *out = RDB_LOG_DAMAGE;
            rc = ERR_OK;
        }
        if (rc != ERR_OK)
            return base_fail(eb, rc, "%s", why.text);
    } while (*out == RDB_LOG_DAMAGE && fragment.offset < f->block_offset); /* zeros were passed */
    *out_bytes = *out == RDB_LOG_RECORD ? fragment.bytes : SLICE_EMPTY;
    if (*out == RDB_LOG_DAMAGE) {
        *out_bytes = base_slice(f->block + f->at, f->block_bytes - f->at);
        f->at = f->block_bytes;
    }
    return ERR_OK;
}

/* --- after damage ---------------------------------------------------------------------------- */

static bool sequence_is_later(const struct rdb_log_file *f, uint64_t found, uint64_t sequence)
{
    if (found <= sequence || found >> SEQUENCE_BITS != 0)
        return false;
    return sequence == 0 || found - sequence <= f->bytes;
}

/* Returns whether a batch starts at this byte of the block. A first fragment fills its block, and
 * may be too short for a sequence number. */
static bool starts_batch(const struct rdb_log_file *f, size_t at, uint64_t sequence)
{
    const uint8_t *head = f->block + at;
    if (head[6] != KIND_WHOLE && head[6] != KIND_FIRST)
        return false;
    size_t len = (size_t)number_read(head + 4, 2);
    size_t end = at + HEAD_BYTES + len;
    if (end > f->block_bytes || (head[6] == KIND_FIRST && end != BLOCK_BYTES))
        return false;
    if (len < RDB_LOG_BATCH_HEAD && head[6] == KIND_WHOLE)
        return false;
    if (len >= RDB_LOG_BATCH_HEAD &&
        !sequence_is_later(f, number_read(head + HEAD_BYTES, 8), sequence))
        return false;
    return crc_matches(head, len + 1);
}

enum err sto_rdb_log_find_later(struct rdb_log_file *f, uint64_t damage, uint64_t sequence,
                                bool *out_found, struct rdb_log_record *out_record,
                                struct errbuf *eb)
{
    size_t at = (size_t)(damage % BLOCK_BYTES) + 1;
    *out_found = false;
    for (uint64_t offset = damage - damage % BLOCK_BYTES; offset < f->bytes;
         offset += BLOCK_BYTES, at = 0) {
        enum err rc = block_load(f, offset, eb);
        if (rc != ERR_OK)
            return rc;
        for (; at + HEAD_BYTES <= f->block_bytes; at++) {
            if (!starts_batch(f, at, sequence))
                continue;
            struct batch_head head = {.len = 0};
            size_t len = (size_t)number_read(f->block + at + 4, 2);
            batch_head_append(&head, base_slice(f->block + at + HEAD_BYTES, len));
            *out_record = (struct rdb_log_record){.offset = offset + at, .bytes = len};
            batch_head_read(&head, out_record);
            *out_found = true;
            return ERR_OK;
        }
    }
    return ERR_OK;
}

/* --- appending -------------------------------------------------------------------------------- */

static enum err append_failed(const char *path, const char *what, struct errbuf *eb)
{
    int error = errno;
    return base_fail(eb, base_file_error(error), "cannot %s %s: %s", what, path,
                     strerrordesc_np(error));
}

static enum err fragment_append(struct buf *out, enum kind kind, struct slice bytes)
{
    uint8_t head[HEAD_BYTES] = {0, 0, 0, 0, (uint8_t)bytes.len, (uint8_t)(bytes.len >> 8)};
    head[HEAD_BYTES - 1] = (uint8_t)kind;
    size_t at = out->len;
    enum err rc = base_buf_append(out, base_slice(head, sizeof head));
    if (rc == ERR_OK)
        rc = base_buf_append(out, bytes);
    if (rc != ERR_OK)
        return rc;
    uint32_t crc = crc_of(out->ptr + at, bytes.len + 1);
    for (int i = 0; i < 4; i++)
        out->ptr[at + (size_t)i] = (uint8_t)(crc >> (8 * i));
    return ERR_OK;
}

/* Appends a record's fragments; out will be written at `end`. */
static enum err record_append(struct buf *out, uint64_t end, struct slice record)
{
    bool is_first = true;
    bool is_last = false;
    enum err rc = ERR_OK;
    while (rc == ERR_OK && !is_last) {
        size_t left = BLOCK_BYTES - (size_t)((end + out->len) % BLOCK_BYTES);
        if (left < HEAD_BYTES) {
            rc = base_buf_append(out, base_slice((const uint8_t[HEAD_BYTES]){0}, left));
            continue;
        }
        size_t room = left - HEAD_BYTES;
        struct slice bytes = base_slice(record.ptr, record.len < room ? record.len : room);
        record = base_slice_skip(record, bytes.len);
        is_last = record.len == 0;
        rc = fragment_append(out,
                             is_first ? (is_last ? KIND_WHOLE : KIND_FIRST)
                                      : (is_last ? KIND_LAST : KIND_MIDDLE),
                             bytes);
        is_first = false;
    }
    return rc;
}

static enum err end_write(const char *path, uint64_t end, struct slice bytes, struct errbuf *eb)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return append_failed(path, "open", eb);
    enum err rc = ftruncate(fd, (off_t)end) == 0 ? ERR_OK : append_failed(path, "cut off", eb);
    if (rc == ERR_OK)
        rc = sto_bytes_write(fd, path, bytes.ptr, bytes.len, end, eb);
    if (rc == ERR_OK && fsync(fd) != 0)
        rc = append_failed(path, "sync", eb);
    if (close(fd) != 0 && rc == ERR_OK)
        rc = append_failed(path, "close", eb);
    return rc;
}

enum err sto_rdb_log_append(const char *path, uint64_t end, const struct slice *records,
                            size_t count, struct errbuf *eb)
{
    struct buf bytes;
    enum err rc = ERR_OK;
    base_buf_init(&bytes, APPEND_MAX);
    for (size_t i = 0; rc == ERR_OK && i < count; i++)
        rc = record_append(&bytes, end, records[i]);
    if (rc == ERR_OK)
        rc = end_write(path, end, base_buf_slice(&bytes), eb);
    else
        rc = base_fail(eb, rc, "no memory for what is added to %s", path);
    base_buf_fini(&bytes);
    return rc;
}

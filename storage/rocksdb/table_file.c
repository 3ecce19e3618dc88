/*
 * storage/rocksdb/table_file.c - footer, index, blocks.
 *
 *   [data block]* [other blocks]* [metaindex] [index] [footer: checksum type 1, metaindex handle,
 *   index handle, padding to 41, format version 4, magic 8]
 *   block:  bytes, compression type 1, checksum 4
 *   bytes:  entries, restart offsets 4 each, their number 4
 *   entry:  shared, non-shared, value length (varints), rest of the key, value; in an index of
 *           format 5 without the value length, the value being a handle, or the difference to the
 *           last one when part of the key is shared
 *   handle: offset, size (varints)
 *
 * Pages are left in the system's cache: some of them others read all the time.
 * Checksums are RocksDB's business, each time it reads; here, what does not decode is damage.
 */
#include "storage/rocksdb/table_file.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"

#include "base/banned.h"

#define FOOTER_BYTES   53
#define FOOTER_HANDLES 40
#define TRAILER_BYTES  5
#define MAGIC          0x88e241b785f4cff7ULL
#define FORMAT         5
#define TYPE_NONE      0
#define TYPE_LZ4       4
#define SEQUENCE_BYTES 8 /* behind a user's key: sequence number and kind */
#define RANGE_BLOCK    "rocksdb.range_del"

struct handle {
    uint64_t offset;
    uint64_t size;
};

struct block {
    struct buf raw;
    struct buf plain; /* when it was compressed */
    struct slice entries;
};

struct table {
    int fd;
    uint64_t bytes;
    rdb_entry_visit *visit;
    void *ctx;
    struct block data;
};

/* --- numbers ---------------------------------------------------------------------------------- */

static bool take_varint(struct slice *in, uint64_t *out)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < 10 && in->len > 0; i++) {
        uint8_t byte = in->ptr[0];
        *in = base_slice_skip(*in, 1);
        number |= (uint64_t)(byte & 127) << (7 * i);
        if (byte < 128) {
            *out = number;
            return true;
        }
    }
    return false;
}

static bool take_handle(struct slice *in, struct handle *out)
{
    return take_varint(in, &out->offset) && take_varint(in, &out->size);
}

static uint64_t little_endian(const uint8_t *bytes, size_t count)
{
    uint64_t number = 0;
    for (size_t i = count; i-- > 0;)
        number = number << 8 | bytes[i];
    return number;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static enum err read_at(const struct table *t, uint64_t offset, uint8_t *out, size_t len)
{
    while (len > 0) {
        ssize_t n = pread(t->fd, out, len, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? ERR_IO : ERR_CORRUPT;
        out += n;
        offset += (uint64_t)n;
        len -= (size_t)n;
    }
    return ERR_OK;
}

static enum err decompress(struct slice in, struct buf *out, struct slice *out_bytes)
{
    uint64_t len;
    if (!take_varint(&in, &len) || len > RDB_BLOCK_MAX || in.len > RDB_BLOCK_MAX)
        return ERR_CORRUPT;
    base_buf_truncate(out, 0);
    enum err rc = base_buf_reserve(out, (size_t)len + 1);
    if (rc != ERR_OK)
        return rc;
    int n = LZ4_decompress_safe((const char *)in.ptr, (char *)out->ptr, (int)in.len, (int)len);
    if (n < 0 || (uint64_t)n != len)
        return ERR_CORRUPT;
    *out_bytes = base_slice(out->ptr, (size_t)len);
    return ERR_OK;
}

/* Cut off the restart offsets: entries are walked over from the first to the last. */
static enum err cut_restarts(struct slice bytes, struct slice *out)
{
    if (bytes.len < 4)
        return ERR_CORRUPT;
    uint64_t count = little_endian(bytes.ptr + bytes.len - 4, 4);
    if (count >> 31 != 0)
        return ERR_UNSUPPORTED; /* a hash index behind the entries */
    if (count > (bytes.len - 4) / 4)
        return ERR_CORRUPT;
    *out = base_slice(bytes.ptr, bytes.len - 4 - (size_t)count * 4);
    return ERR_OK;
}

static void block_init(struct block *b)
{
    base_buf_init(&b->raw, RDB_BLOCK_MAX + TRAILER_BYTES);
    base_buf_init(&b->plain, RDB_BLOCK_MAX + 1);
}

static void block_fini(struct block *b)
{
    base_buf_fini(&b->raw);
    base_buf_fini(&b->plain);
}

static enum err block_read(const struct table *t, struct handle h, struct block *b)
{
    if (h.size > RDB_BLOCK_MAX || h.offset > t->bytes ||
        h.size + TRAILER_BYTES > t->bytes - h.offset)
        return ERR_CORRUPT;
    base_buf_truncate(&b->raw, 0);
    enum err rc = base_buf_reserve(&b->raw, (size_t)h.size + TRAILER_BYTES);
    if (rc == ERR_OK)
        rc = read_at(t, h.offset, b->raw.ptr, (size_t)h.size + TRAILER_BYTES);
    if (rc != ERR_OK)
        return rc;
    struct slice bytes = base_slice(b->raw.ptr, (size_t)h.size);
    uint8_t type = b->raw.ptr[h.size];
    if (type == TYPE_LZ4)
        rc = decompress(bytes, &b->plain, &bytes);
    else if (type != TYPE_NONE)
        rc = ERR_UNSUPPORTED;
    return rc == ERR_OK ? cut_restarts(bytes, &b->entries) : rc;
}

/* --- entries ---------------------------------------------------------------------------------- */

struct entry {
    struct buf key; /* whole */
    struct slice value;
    bool is_shared;
};

static void entry_init(struct entry *e)
{
    base_buf_init(&e->key, 2 * RDB_BLOCK_MAX);
    e->value = SLICE_EMPTY;
}

/* The next entry's key; its value, unless it is an index's, which the caller takes. */
static enum err entry_next(struct slice *in, bool is_index, struct entry *e)
{
    uint64_t shared, rest, value_len = 0;
    if (!take_varint(in, &shared) || !take_varint(in, &rest) ||
        (!is_index && !take_varint(in, &value_len)))
        return ERR_CORRUPT;
    if (shared > e->key.len || rest > in->len || value_len > in->len - rest)
        return ERR_CORRUPT;
    base_buf_truncate(&e->key, (size_t)shared);
    e->is_shared = shared > 0;
    enum err rc = base_buf_append(&e->key, base_slice(in->ptr, (size_t)rest));
    *in = base_slice_skip(*in, (size_t)rest);
    e->value = base_slice(in->ptr, (size_t)value_len);
    *in = base_slice_skip(*in, (size_t)value_len);
    return rc;
}

static enum err visit_block(struct table *t, struct handle h, enum rdb_entry_kind kind)
{
    struct entry e;
    entry_init(&e);
    enum err rc = block_read(t, h, &t->data);
    struct slice in = t->data.entries;
    while (rc == ERR_OK && in.len > 0) {
        rc = entry_next(&in, false, &e);
        if (rc == ERR_OK && e.key.len < SEQUENCE_BYTES)
            rc = ERR_CORRUPT;
        if (rc == ERR_OK)
            rc = t->visit(t->ctx, kind, base_slice(e.key.ptr, e.key.len - SEQUENCE_BYTES), e.value);
    }
    base_buf_fini(&e.key);
    return rc;
}

/* --- the index, and the blocks it names ------------------------------------------------------- */

static bool index_value(struct slice *in, bool is_shared, struct handle *h)
{
    uint64_t zigzag;
    if (!is_shared)
        return take_handle(in, h);
    if (!take_varint(in, &zigzag))
        return false;
    h->offset += h->size + TRAILER_BYTES;
    h->size += (zigzag >> 1) ^ (0 - (zigzag & 1)); /* a sum modulo 2^64 is a difference too */
    return true;
}

static enum err visit_index(struct table *t, struct handle at)
{
    struct block index;
    struct entry e;
    struct handle h = {0, 0};
    block_init(&index);
    entry_init(&e);
    enum err rc = block_read(t, at, &index);
    struct slice in = index.entries;
    while (rc == ERR_OK && in.len > 0) {
        rc = entry_next(&in, true, &e);
        if (rc == ERR_OK && !index_value(&in, e.is_shared, &h))
            rc = ERR_CORRUPT;
        if (rc == ERR_OK)
            rc = t->visit(t->ctx, RDB_ENTRY_INDEX, base_buf_slice(&e.key), SLICE_EMPTY);
        if (rc == ERR_OK)
            rc = visit_block(t, h, RDB_ENTRY_DATA);
    }
    base_buf_fini(&e.key);
    block_fini(&index);
    return rc;
}

/* The names of other blocks: one of them may hold range tombstones. */
static enum err visit_ranges(struct table *t, struct handle metaindex)
{
    struct block meta;
    struct entry e;
    struct handle h;
    block_init(&meta);
    entry_init(&e);
    enum err rc = block_read(t, metaindex, &meta);
    struct slice in = meta.entries;
    while (rc == ERR_OK && in.len > 0) {
        rc = entry_next(&in, false, &e);
        if (rc == ERR_OK && base_slice_is(base_buf_slice(&e.key), RANGE_BLOCK))
            rc = take_handle(&e.value, &h) ? visit_block(t, h, RDB_ENTRY_RANGE) : ERR_CORRUPT;
    }
    base_buf_fini(&e.key);
    block_fini(&meta);
    return rc;
}

static enum err visit_table(struct table *t)
{
    uint8_t footer[FOOTER_BYTES];
    struct handle metaindex, index;
    if (t->bytes < FOOTER_BYTES)
        return ERR_CORRUPT;
    enum err rc = read_at(t, t->bytes - FOOTER_BYTES, footer, FOOTER_BYTES);
    if (rc != ERR_OK)
        return rc;
    if (little_endian(footer + FOOTER_BYTES - 8, 8) != MAGIC)
        return ERR_CORRUPT;
    if (little_endian(footer + FOOTER_BYTES - 12, 4) != FORMAT)
        return ERR_UNSUPPORTED;
    struct slice handles = base_slice(footer + 1, FOOTER_HANDLES);
    if (!take_handle(&handles, &metaindex) || !take_handle(&handles, &index))
        return ERR_CORRUPT;
    rc = visit_index(t, index);
    return rc == ERR_OK ? visit_ranges(t, metaindex) : rc;
}

enum err sto_rdb_table_visit(const char *path, rdb_entry_visit *visit, void *ctx,
                             uint64_t *out_bytes, struct errbuf *eb)
{
    struct stat st;
    struct table t = {.visit = visit, .ctx = ctx};
    t.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (t.fd < 0)
        return base_fail(eb, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open a table file");
    enum err rc = fstat(t.fd, &st) == 0 ? ERR_OK : ERR_IO;
    block_init(&t.data);
    if (rc == ERR_OK) {
        t.bytes = (uint64_t)st.st_size;
        (void)posix_fadvise(t.fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* advice */
        rc = visit_table(&t);
    }
    block_fini(&t.data);
    (void)close(t.fd); /* it was only read */
    if (rc != ERR_OK)
        return base_fail(eb, rc, "a table file cannot be read: %s", base_err_name(rc));
    *out_bytes = t.bytes;
    return ERR_OK;
}

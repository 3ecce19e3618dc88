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
 *   index:  one block, or, by the file's properties, a block that names the blocks of the index
 *
 * Over 500 lines because reading entries, properties and checksums needs the same knowledge of the
 * form.
 *
 * Pages stay in the system's cache, because other threads read some of them all the time. A scrub
 * reads past the cache: it tests the disk, not the memory, and no other thread will read its pages.
 * Bytes that do not match their checksum or do not decode are damage.
 */
#define _GNU_SOURCE
#include "storage/rocksdb/table_file.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "storage/rocksdb/damage_io.h"
#include "storage/rocksdb/descriptors.h"

#include "base/banned.h"

#define FOOTER_BYTES   53
#define FOOTER_HANDLES 40
#define TRAILER_BYTES  5
#define MAGIC          0x88e241b785f4cff7ULL
#define FORMAT         5
#define TYPE_NONE      0
#define TYPE_LZ4       4
#define SEQUENCE_BYTES 8 /* after a user key: sequence number and kind */
#define RANGE_BLOCK    "rocksdb.range_del"
#define PROPERTY_BLOCK "rocksdb.properties"
#define INDEX_TYPE     "rocksdb.block.based.table.index.type"
#define ONE_LEVEL      0
#define TWO_LEVELS     2
#define USER_KEYS      "rocksdb.index.key.is.user.key"
#define ENTRIES        "rocksdb.num.entries"
#define VARINT_MAX     10
#define FILTER_PARTS   "partitionedfilter.rocksdb.BuiltinBloomFilter"
#define FILTER_WHOLE   "fullfilter.rocksdb.BuiltinBloomFilter"
/* includes the footer, names of blocks and properties of most files */
#define TAIL_BYTES (16 * KIB)

struct handle {
    uint64_t offset;
    uint64_t size;
};

struct block {
    struct buf raw;
    struct buf plain; /* the decompressed bytes */
    struct slice entries;
};

/* Windows into a file that is read past the page cache. Two, because entries alternate with their
 * index. */
#define WINDOW_BYTES (256 * KIB)
#define WINDOW_COUNT 2
#define DIRECT_BYTES 4096 /* alignment of direct reads, in the file and in memory */

struct window {
    uint8_t *bytes; /* of size WINDOW_BYTES */
    uint64_t offset;
    size_t len;
    uint64_t last_use;
};

struct windows {
    struct window of[WINDOW_COUNT];
    uint64_t uses;
    void *memory;
    rdb_table_pass *pass;
    void *ctx;
};

struct table {
    int fd;
    bool is_direct;
    struct windows *windows; /* NULL: each read goes to the file */
    uint64_t bytes;
    uint64_t bytes_read;
    int checksum_type;
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

/* --- reading ---------------------------------------------------------------------------------- */

static void windows_init(struct windows *w, rdb_table_pass *pass, void *ctx)
{
    *w = (struct windows){.pass = pass, .ctx = ctx};
    w->memory = base_new(WINDOW_COUNT * WINDOW_BYTES + DIRECT_BYTES);
    size_t past = (uintptr_t)w->memory % DIRECT_BYTES;
    for (size_t i = 0; i < WINDOW_COUNT; i++)
        w->of[i].bytes = (uint8_t *)w->memory + (DIRECT_BYTES - past) + i * WINDOW_BYTES;
}

/* Makes the next read of any byte go to the disk. */
static void windows_clear(struct table *t)
{
    for (size_t i = 0; t->windows != NULL && i < WINDOW_COUNT; i++)
        t->windows->of[i].len = 0;
}

/* Switches to plain reads, for a file system that requires another alignment. False: not
 * applicable. */
static bool direct_end(struct table *t)
{
    int flags = t->is_direct ? fcntl(t->fd, F_GETFL) : -1;
    if (flags < 0 || fcntl(t->fd, F_SETFL, flags & ~O_DIRECT) != 0)
        return false;
    t->is_direct = false;
    return true;
}

/* Fills a window. At the end of the file it is shorter; a block that extends past the end is
 * damaged. */
static enum err window_fill(struct table *t, struct window *w, uint64_t offset)
{
    struct windows *all = t->windows;
    uint64_t at = offset - offset % DIRECT_BYTES;
    uint64_t left = t->bytes - at;
    w->len = 0;
    enum err rc = all->pass(all->ctx, left < WINDOW_BYTES ? left : WINDOW_BYTES);
    if (rc != ERR_OK)
        return rc;
    if (!t->is_direct) /* drops the page, so that the disk is read unless others use it */
        (void)posix_fadvise(t->fd, (off_t)at, WINDOW_BYTES, POSIX_FADV_DONTNEED); /* advice */
    ssize_t n;
    do {
        n = pread(t->fd, w->bytes, WINDOW_BYTES, (off_t)at);
    } while (n < 0 && (errno == EINTR || (errno == EINVAL && direct_end(t))));
    if (n < 0)
        return ERR_IO;
    if (!t->is_direct)
        (void)posix_fadvise(t->fd, (off_t)at, WINDOW_BYTES, POSIX_FADV_DONTNEED); /* advice */
    w->offset = at;
    w->len = (size_t)n;
    t->bytes_read += (uint64_t)n;
    return offset - at < w->len ? ERR_OK : ERR_CORRUPT;
}

/* Returns the window that holds the byte; if none does, fills the least recently used one. */
static enum err window_find(struct table *t, uint64_t offset, struct window **out)
{
    struct windows *all = t->windows;
    struct window *found = NULL;
    struct window *oldest = &all->of[0];
    for (size_t i = 0; i < WINDOW_COUNT; i++) {
        struct window *w = &all->of[i];
        if (offset >= w->offset && offset - w->offset < w->len)
            found = w;
        if (w->last_use < oldest->last_use)
            oldest = w;
    }
    enum err rc = found == NULL ? window_fill(t, oldest, offset) : ERR_OK;
    *out = found == NULL ? oldest : found;
    (*out)->last_use = ++all->uses;
    return rc;
}

static enum err read_windows(struct table *t, uint64_t offset, uint8_t *out, size_t len)
{
    while (len > 0) {
        struct window *w = NULL;
        enum err rc = window_find(t, offset, &w);
        if (rc != ERR_OK)
            return rc;
        size_t at = (size_t)(offset - w->offset);
        size_t n = w->len - at < len ? w->len - at : len;
        memcpy(out, w->bytes + at, n);
        out += n;
        offset += n;
        len -= n;
    }
    return ERR_OK;
}

static enum err read_at(struct table *t, uint64_t offset, uint8_t *out, size_t len)
{
    if (t->windows != NULL)
        return read_windows(t, offset, out, len);
    while (len > 0) {
        ssize_t n = pread(t->fd, out, len, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? ERR_IO : ERR_CORRUPT;
        out += n;
        offset += (uint64_t)n;
        len -= (size_t)n;
        t->bytes_read += (uint64_t)n;
    }
    return ERR_OK;
}

/* --- blocks ----------------------------------------------------------------------------------- */

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

/* Cuts off the restart offsets: entries are walked over from the first to the last. */
static enum err cut_restarts(struct slice bytes, struct slice *out)
{
    if (bytes.len < 4)
        return ERR_CORRUPT;
    uint64_t count = little_endian(bytes.ptr + bytes.len - 4, 4);
    if (count >> 31 != 0)
        return ERR_UNSUPPORTED; /* a hash index after the entries */
    if (count > (bytes.len - 4) / 4)
        return ERR_CORRUPT;
    if (count == 0) { /* as RocksDB reads it: no entries, whatever the size (damage_io.h) */
        *out = SLICE_EMPTY;
        return ERR_OK;
    }
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

static enum err block_read(struct table *t, struct handle h, struct block *b)
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
    if (little_endian(b->raw.ptr + h.size + 1, 4) !=
        sto_rdb_block_checksum(t->checksum_type, b->raw.ptr, h.size + 1))
        return ERR_CORRUPT;
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
    struct buf key; /* the whole key */
    struct slice value;
    bool is_shared;
};

static void entry_init(struct entry *e)
{
    base_buf_init(&e->key, 2 * RDB_BLOCK_MAX);
    e->value = SLICE_EMPTY;
}

/* Reads the next entry's key, and its value unless it is an index entry's, which the caller
 * reads. */
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
    /* a sum modulo 2^64 covers negative differences, too */
    h->size += (zigzag >> 1) ^ (0 - (zigzag & 1));
    return true;
}

/* Visits an index. Of two levels, the first names the blocks of the second, which name the data. */
static enum err visit_index(struct table *t, struct handle at, int levels)
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
            rc = levels > 1 ? visit_index(t, h, levels - 1) : visit_block(t, h, RDB_ENTRY_DATA);
    }
    base_buf_fini(&e.key);
    block_fini(&index);
    return rc;
}

/* --- footer and properties ------------------------------------------------------------------- */

static enum err read_footer(struct table *t, struct handle *out_metaindex, struct handle *out_index)
{
    uint8_t footer[FOOTER_BYTES];
    if (t->bytes < FOOTER_BYTES)
        return ERR_CORRUPT;
    enum err rc = read_at(t, t->bytes - FOOTER_BYTES, footer, FOOTER_BYTES);
    if (rc != ERR_OK)
        return rc;
    if (little_endian(footer + FOOTER_BYTES - 8, 8) != MAGIC)
        return ERR_CORRUPT;
    if (little_endian(footer + FOOTER_BYTES - 12, 4) != FORMAT)
        return ERR_UNSUPPORTED;
    t->checksum_type = footer[0];
    struct slice handles = base_slice(footer + 1, FOOTER_HANDLES);
    return take_handle(&handles, out_metaindex) && take_handle(&handles, out_index) ? ERR_OK
                                                                                    : ERR_CORRUPT;
}

/* Returns the value of a name in a block of names and values. ERR_NOT_FOUND: it is not there. */
static enum err find_named(struct table *t, struct handle h, const char *name, struct slice *out)
{
    struct entry e;
    bool is_found = false;
    entry_init(&e);
    enum err rc = block_read(t, h, &t->data);
    struct slice in = t->data.entries;
    while (rc == ERR_OK && !is_found && in.len > 0) {
        rc = entry_next(&in, false, &e);
        is_found = rc == ERR_OK && base_slice_is(base_buf_slice(&e.key), name);
    }
    if (is_found)
        *out = e.value;
    base_buf_fini(&e.key);
    return rc == ERR_OK && !is_found ? ERR_NOT_FOUND : rc;
}

static enum err find_property(struct table *t, const char *name, struct buf *out)
{
    struct handle metaindex, index, properties;
    struct slice value;
    enum err rc = read_footer(t, &metaindex, &index);
    if (rc == ERR_OK)
        rc = find_named(t, metaindex, PROPERTY_BLOCK, &value);
    if (rc == ERR_OK && !take_handle(&value, &properties))
        rc = ERR_CORRUPT;
    if (rc == ERR_OK)
        rc = find_named(t, properties, name, &value);
    return rc == ERR_OK ? base_buf_append(out, value) : rc;
}

static enum err find_index_levels(struct table *t, int *out)
{
    struct buf type;
    base_buf_init(&type, sizeof(uint32_t));
    enum err rc = find_property(t, INDEX_TYPE, &type);
    if (rc == ERR_NOT_FOUND || (rc == ERR_OK && type.len != sizeof(uint32_t)))
        rc = ERR_CORRUPT;
    uint64_t number = rc == ERR_OK ? little_endian(type.ptr, type.len) : ONE_LEVEL;
    base_buf_fini(&type);
    *out = number == TWO_LEVELS ? 2 : 1;
    return rc == ERR_OK && number != ONE_LEVEL && number != TWO_LEVELS ? ERR_UNSUPPORTED : rc;
}

static enum err visit_ranges(struct table *t, struct handle metaindex)
{
    struct slice value;
    struct handle h;
    enum err rc = find_named(t, metaindex, RANGE_BLOCK, &value);
    if (rc == ERR_NOT_FOUND)
        return ERR_OK; /* the file has none */
    if (rc == ERR_OK && !take_handle(&value, &h))
        rc = ERR_CORRUPT;
    return rc == ERR_OK ? visit_block(t, h, RDB_ENTRY_RANGE) : rc;
}

static enum err visit_table(struct table *t)
{
    struct handle metaindex, index;
    int levels = 0;
    enum err rc = read_footer(t, &metaindex, &index);
    if (rc == ERR_OK)
        rc = find_index_levels(t, &levels);
    if (rc == ERR_OK)
        rc = visit_index(t, index, levels);
    return rc == ERR_OK ? visit_ranges(t, metaindex) : rc;
}

static enum err table_open(struct table *t, const char *path)
{
    struct stat st;
    uint64_t since_ns = 0;
    do {
        t->fd = open(path, O_RDONLY | O_CLOEXEC);
    } while (t->fd < 0 && sto_rdb_descriptors_lack(errno) && sto_rdb_descriptor_await(&since_ns));
    if (t->fd < 0)
        return errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
    if (fstat(t->fd, &st) != 0) {
        (void)close(t->fd); /* nothing was written */
        return ERR_IO;
    }
    t->bytes = (uint64_t)st.st_size;
    block_init(&t->data);
    return ERR_OK;
}

static void table_close(struct table *t)
{
    block_fini(&t->data);
    (void)close(t->fd); /* it was only read */
}

enum err sto_rdb_table_property(const char *path, const char *name, struct buf *out,
                                uint64_t *out_bytes)
{
    struct table t = {0};
    *out_bytes = 0;
    enum err rc = table_open(&t, path);
    if (rc != ERR_OK)
        return rc;
    /* One read of the device instead of three, each with its readahead. */
    uint64_t tail = t.bytes < TAIL_BYTES ? t.bytes : TAIL_BYTES;
    (void)posix_fadvise(t.fd, 0, 0, POSIX_FADV_RANDOM); /* advice, both */
    (void)posix_fadvise(t.fd, (off_t)(t.bytes - tail), (off_t)tail, POSIX_FADV_WILLNEED);
    rc = find_property(&t, name, out);
    *out_bytes = t.bytes_read;
    table_close(&t);
    return rc;
}

enum err sto_rdb_table_entries(const char *path, uint64_t *out)
{
    struct buf text;
    uint64_t bytes;
    base_buf_init(&text, VARINT_MAX);
    enum err rc = sto_rdb_table_property(path, ENTRIES, &text, &bytes);
    struct slice in = base_buf_slice(&text);
    if (rc == ERR_OK && !take_varint(&in, out))
        rc = ERR_CORRUPT;
    base_buf_fini(&text);
    return rc;
}

enum err sto_rdb_table_visit(const char *path, rdb_entry_visit *visit, void *ctx,
                             uint64_t *out_bytes, struct errbuf *eb)
{
    struct table t = {.visit = visit, .ctx = ctx};
    enum err rc = table_open(&t, path);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "it cannot be opened: %s", base_err_name(rc));
    (void)posix_fadvise(t.fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* advice */
    rc = visit_table(&t);
    table_close(&t);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "it cannot be read: %s", base_err_name(rc));
    *out_bytes = t.bytes;
    return ERR_OK;
}

/* --- checksums -------------------------------------------------------------------------------- */

struct check {
    rdb_bad_block_visit *visit;
    void *ctx;
    enum rdb_block_kind leaf; /* kind of the blocks that the lowest index level names */
    bool has_user_keys;       /* the index's keys have no sequence numbers */
    struct buf from;          /* the last index key that was passed */
};

/* Checks a block. Reads it twice if necessary, because the kernel's cached page may be the damaged
 * one. */
static enum err block_check(struct table *t, struct handle h, bool *out_matches)
{
    struct block b;
    enum err rc = ERR_OK;
    *out_matches = false;
    if (h.size > RDB_BLOCK_MAX || h.offset > t->bytes ||
        h.size + TRAILER_BYTES > t->bytes - h.offset)
        return ERR_OK;
    block_init(&b);
    rc = base_buf_reserve(&b.raw, (size_t)h.size + TRAILER_BYTES);
    for (int i = 0; rc == ERR_OK && !*out_matches && i < 2; i++) {
        if (t->windows == NULL || i > 0)
            (void)posix_fadvise(t->fd, (off_t)h.offset, (off_t)(h.size + TRAILER_BYTES),
                                POSIX_FADV_DONTNEED); /* advice */
        if (i > 0)
            windows_clear(t);
        rc = read_at(t, h.offset, b.raw.ptr, (size_t)h.size + TRAILER_BYTES);
        *out_matches =
            rc == ERR_OK && little_endian(b.raw.ptr + h.size + 1, 4) ==
                                sto_rdb_block_checksum(t->checksum_type, b.raw.ptr, h.size + 1);
    }
    block_fini(&b);
    return rc == ERR_CORRUPT ? ERR_OK : rc; /* the file is too short: no match */
}

static struct slice index_key(const struct check *c, const struct entry *e)
{
    size_t len = e->key.len;
    if (!c->has_user_keys)
        len = len < SEQUENCE_BYTES ? 0 : len - SEQUENCE_BYTES;
    return base_slice(e->key.ptr, len);
}

/* Checks the block at h, below an index. */
static enum err check_below(struct table *t, struct check *c, enum rdb_block_kind kind,
                            struct handle h, struct slice to, bool *out_matches)
{
    enum err rc = block_check(t, h, out_matches);
    if (rc != ERR_OK || *out_matches)
        return rc;
    struct rdb_bad_block bad = {
        .kind = kind, .offset = h.offset, .bytes = h.size, .checksum_type = t->checksum_type};
    if (kind == RDB_BLOCK_DATA || kind == RDB_BLOCK_INDEX) {
        bad.from = base_buf_slice(&c->from);
        bad.to = to;
    }
    return c->visit(c->ctx, &bad);
}

static enum err check_index(struct table *t, struct check *c, struct handle at, int levels)
{
    struct block index;
    struct entry e;
    struct handle h = {0, 0};
    block_init(&index);
    entry_init(&e);
    enum err rc = block_read(t, at, &index);
    struct slice in = index.entries;
    while (rc == ERR_OK && in.len > 0) {
        bool matches = false;
        rc = entry_next(&in, true, &e);
        if (rc == ERR_OK && !index_value(&in, e.is_shared, &h))
            rc = ERR_CORRUPT;
        if (rc == ERR_OK)
            rc = check_below(t, c, levels > 1 ? RDB_BLOCK_INDEX : c->leaf, h, index_key(c, &e),
                             &matches);
        if (rc == ERR_OK && matches && levels > 1)
            rc = check_index(t, c, h, levels - 1);
        else if (rc == ERR_OK && matches && t->visit != NULL && c->leaf == RDB_BLOCK_DATA)
            rc = visit_block(t, h, RDB_ENTRY_DATA);
        base_buf_truncate(&c->from, 0);
        if (rc == ERR_OK)
            rc = base_buf_append(&c->from, index_key(c, &e));
    }
    base_buf_fini(&e.key);
    block_fini(&index);
    return rc;
}

/* Checks the block that the metaindex names, if it names it. */
static enum err check_named(struct table *t, struct handle metaindex, const char *name,
                            struct handle *out, bool *out_matches)
{
    struct slice value;
    enum err rc = find_named(t, metaindex, name, &value);
    *out = (struct handle){0, 0};
    *out_matches = rc == ERR_NOT_FOUND;
    if (rc == ERR_NOT_FOUND)
        return ERR_OK;
    if (rc == ERR_OK && !take_handle(&value, out))
        rc = ERR_CORRUPT;
    return rc == ERR_OK ? block_check(t, *out, out_matches) : rc;
}

/* Checks the filters. RocksDB works without a filter whose index of parts, or whole block, is
 * damaged. It needs every single part: it reads all parts when it opens the file. */
static enum err check_filters(struct table *t, struct check *c, struct handle metaindex)
{
    static const char *const names[] = {FILTER_PARTS, FILTER_WHOLE};
    struct handle h;
    enum err rc = ERR_OK;
    c->leaf = RDB_BLOCK_FILTER;
    for (size_t i = 0; rc == ERR_OK && i < sizeof names / sizeof names[0]; i++) {
        bool matches = false;
        rc = check_named(t, metaindex, names[i], &h, &matches);
        if (rc == ERR_OK && !matches)
            rc = check_below(t, c, RDB_BLOCK_FILTERS, h, SLICE_EMPTY, &matches);
        else if (rc == ERR_OK && h.size > 0 && names[i][0] == FILTER_PARTS[0])
            rc = check_index(t, c, h, 1);
    }
    return rc;
}

/* Checks the blocks without which the file cannot be opened. */
static enum err check_head(struct table *t, struct handle metaindex, struct handle index)
{
    struct handle h;
    bool matches = false;
    enum err rc = block_check(t, metaindex, &matches);
    if (rc == ERR_OK && matches)
        rc = block_check(t, index, &matches);
    if (rc == ERR_OK && matches)
        rc = check_named(t, metaindex, PROPERTY_BLOCK, &h, &matches);
    if (rc == ERR_OK && matches)
        rc = check_named(t, metaindex, RANGE_BLOCK, &h, &matches);
    return rc == ERR_OK && !matches ? ERR_CORRUPT : rc;
}

static enum err check_table(struct table *t, struct check *c)
{
    struct handle metaindex, index;
    struct buf user_keys;
    int levels = 0;
    enum err rc = read_footer(t, &metaindex, &index);
    if (rc == ERR_OK)
        rc = check_head(t, metaindex, index);
    if (rc == ERR_OK)
        rc = find_index_levels(t, &levels);
    base_buf_init(&user_keys, sizeof(uint64_t));
    if (rc == ERR_OK)
        rc = find_property(t, USER_KEYS, &user_keys);
    c->has_user_keys = rc == ERR_OK && user_keys.len == 1 && user_keys.ptr[0] == 1;
    base_buf_fini(&user_keys);
    if (rc == ERR_OK)
        rc = check_index(t, c, index, levels);
    if (rc == ERR_OK)
        rc = check_filters(t, c, metaindex);
    return rc == ERR_NOT_FOUND ? ERR_CORRUPT : rc;
}

enum err sto_rdb_table_check(const char *path, rdb_bad_block_visit *visit, void *ctx)
{
    struct table t = {.visit = NULL};
    struct check c = {.visit = visit, .ctx = ctx};
    enum err rc = table_open(&t, path);
    if (rc != ERR_OK)
        return rc;
    base_buf_init(&c.from, RDB_BLOCK_MAX);
    rc = check_table(&t, &c);
    base_buf_fini(&c.from);
    table_close(&t);
    return rc;
}

/* Opens with O_DIRECT, or without it if the file system lacks it (tmpfs). */
static enum err table_open_direct(struct table *t, const char *path)
{
    enum err rc = table_open(t, path);
    if (rc != ERR_OK)
        return rc;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (fd < 0)
        return ERR_OK;
    (void)close(t->fd); /* nothing was read */
    t->fd = fd;
    t->is_direct = true;
    return ERR_OK;
}

static enum err visit_tombstones(struct table *t)
{
    struct handle metaindex, index;
    enum err rc = read_footer(t, &metaindex, &index);
    return rc == ERR_OK ? visit_ranges(t, metaindex) : rc;
}

enum err sto_rdb_table_ranges(const char *path, rdb_entry_visit *visit, void *ctx)
{
    struct table t = {.visit = visit, .ctx = ctx};
    enum err rc = table_open(&t, path);
    if (rc != ERR_OK)
        return rc;
    rc = visit_tombstones(&t);
    table_close(&t);
    return rc;
}

enum err sto_rdb_table_scrub(const char *path, const struct rdb_table_scrub *s)
{
    struct windows windows;
    struct table t = {.visit = s->entry, .ctx = s->ctx, .windows = &windows};
    struct check c = {.visit = s->bad, .ctx = s->ctx};
    enum err rc = table_open_direct(&t, path);
    if (rc != ERR_OK)
        return rc;
    windows_init(&windows, s->pass, s->ctx);
    base_buf_init(&c.from, RDB_BLOCK_MAX);
    rc = check_table(&t, &c);
    if (rc == ERR_OK && s->entry != NULL)
        rc = visit_tombstones(&t);
    base_buf_fini(&c.from);
    base_free(windows.memory);
    table_close(&t);
    return rc;
}

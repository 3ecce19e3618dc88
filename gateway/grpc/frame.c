/*
 * gateway/grpc/frame.c - gRPC's length-prefixed messages.
 *
 * Mechanism: bytes are collected in a buf of the announced length. A compressed message is inflated
 * when it is complete and a thread has time for it, into another buf that doubles until it has one
 * byte more than max: that byte reveals a message that is too long.
 *
 * Invariants:
 *   1. head_len < GW_FRAME_HEAD: bytes is empty. Otherwise the head is one that was checked.
 *   2. A message is complete exactly when bytes.len is the announced length; a compressed one is
 *      in `inflated` if is_inflated is true.
 */
#include "gateway/grpc/frame.h"

#include <zlib.h>

#include "base/alloc.h"
#include "base/limits.h"

#include "base/banned.h"

#define IS_COMPRESSED 1
#define ONLY_GZIP     (16 + MAX_WBITS) /* neither zlib's own format nor raw deflate */
#define MEMORY_LEVEL  8
#define INFLATE_STEP  (4 * KIB)

/* --- reading ------------------------------------------------------------------------------------
 */

void gw_frame_reader_init(struct gw_frame_reader *r, size_t max, enum gw_encoding encoding)
{
    INVARIANT(max < UINT32_MAX);
    r->max = max;
    r->encoding = encoding;
    base_buf_init(&r->bytes, max);
    base_buf_init(&r->inflated, max + 1);
}

void gw_frame_reader_fini(struct gw_frame_reader *r)
{
    if (r == NULL)
        return;
    base_buf_fini(&r->bytes);
    base_buf_fini(&r->inflated);
    *r = (struct gw_frame_reader){0};
}

void gw_frame_reader_charge(struct gw_frame_reader *r, struct base_memory_share *share)
{
    base_buf_charge(&r->bytes, share);
    base_buf_charge(&r->inflated, share);
}

static uint32_t announced(const struct gw_frame_reader *r)
{
    return (uint32_t)r->head[1] << 24 | (uint32_t)r->head[2] << 16 | (uint32_t)r->head[3] << 8 |
           r->head[4];
}

static bool is_complete(const struct gw_frame_reader *r)
{
    return r->head_len == GW_FRAME_HEAD && r->bytes.len == announced(r);
}

/* Returns the maximum size of the inflated message: a few bytes could inflate to a thousand times
 * as many. */
static size_t inflated_max(const struct gw_frame_reader *r)
{
    size_t most = r->bytes.len * LIM_INFLATE_RATIO;
    most = most < LIM_INFLATE_FREE_BYTES ? LIM_INFLATE_FREE_BYTES : most;
    return most < r->max ? most : r->max;
}

static enum err refuse_ratio(const struct gw_frame_reader *r, struct errbuf *eb)
{
    return base_fail(eb, ERR_TOO_BIG,
                     "a message of %zu bytes inflates to more than %d times as many; send it "
                     "without compression",
                     r->bytes.len, LIM_INFLATE_RATIO);
}

static enum err refuse_size(const struct gw_frame_reader *r, struct errbuf *eb)
{
    return base_fail(eb, ERR_TOO_BIG,
                     "the message is longer than the limit of %zu bytes once it "
                     "is inflated",
                     r->max);
}

static enum err check_head(struct gw_frame_reader *r, struct errbuf *eb)
{
    if (r->head[0] > IS_COMPRESSED)
        return base_fail(eb, ERR_INVALID, "a message begins with the flags %u; known are 0 and 1",
                         r->head[0]);
    if (announced(r) > r->max)
        return base_fail(eb, ERR_TOO_BIG, "the message is %u bytes; the limit is %zu",
                         (unsigned)announced(r), r->max);
    if (r->head[0] == IS_COMPRESSED && r->encoding == GW_ENCODING_IDENTITY)
        return base_fail(eb, ERR_UNSUPPORTED,
                         "a message is compressed, and grpc-encoding does not say how");
    if (base_buf_reserve(&r->bytes, announced(r)) != ERR_OK)
        return base_fail(eb, r->bytes.error, "no memory for a message of %u bytes",
                         (unsigned)announced(r));
    return ERR_OK;
}

/* Allocates zlib's memory like ours, so that it fails in the same tests. */
static void *allocate(void *unused, uInt count, uInt bytes_each)
{
    (void)unused;
    return base_try_alloc((size_t)count * bytes_each);
}

static void release(void *unused, void *ptr)
{
    (void)unused;
    base_free(ptr);
}

static enum err inflate_with(z_stream *z, struct gw_frame_reader *r, struct errbuf *eb)
{
    struct buf *out = &r->inflated;
    const size_t most = inflated_max(r);
    int state = Z_OK;
    while (state != Z_STREAM_END) {
        size_t space = out->max - out->len;
        enum err e = base_buf_reserve(out, space < INFLATE_STEP ? space : INFLATE_STEP);
        if (e != ERR_OK)
            return base_fail(eb, e, "no memory for the message");
        z->next_out = base_buf_end(out);
        z->avail_out = (uInt)(out->capacity - out->len);
        state = inflate(z, Z_NO_FLUSH);
        out->len = out->capacity - z->avail_out;
        if (out->len > r->max)
            return refuse_size(r, eb);
        if (out->len > most)
            return refuse_ratio(r, eb);
        if (state == Z_MEM_ERROR)
            return base_fail(eb, ERR_NO_MEMORY, "no memory to inflate the message");
        if (state != Z_OK && state != Z_STREAM_END) /* Z_BUF_ERROR: the input is at its end */
            return base_fail(eb, ERR_INVALID, "the message's gzip data is damaged or cut short");
    }
    if (z->avail_in != 0)
        return base_fail(eb, ERR_INVALID, "the message goes on behind its gzip data");
    return ERR_OK;
}

static enum err inflate_message(struct gw_frame_reader *r, struct errbuf *eb)
{
    z_stream z = {.zalloc = allocate, .zfree = release};
    if (inflateInit2(&z, ONLY_GZIP) != Z_OK)
        return base_fail(eb, ERR_NO_MEMORY, "no memory to inflate the message");
    z.next_in = r->bytes.ptr;
    z.avail_in = (uInt)r->bytes.len;
    enum err e = inflate_with(&z, r, eb);
    (void)inflateEnd(&z); /* fails only for broken streams, of which nothing is kept */
    return e;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

enum err gw_frame_feed(struct gw_frame_reader *r, struct slice bytes, size_t *out_used,
                       bool *out_complete, struct errbuf *eb)
{
    struct slice rest = bytes;
    if (r->head_len < GW_FRAME_HEAD && rest.len > 0) {
        size_t count = smaller(GW_FRAME_HEAD - r->head_len, rest.len);
        memcpy(r->head + r->head_len, rest.ptr, count);
        r->head_len += count;
        rest = base_slice_skip(rest, count);
        enum err e = r->head_len == GW_FRAME_HEAD ? check_head(r, eb) : ERR_OK;
        if (e != ERR_OK)
            return e;
    }
    if (r->head_len == GW_FRAME_HEAD && rest.len > 0) {
        size_t count = smaller(announced(r) - r->bytes.len, rest.len);
        enum err e = base_buf_append(&r->bytes, base_slice(rest.ptr, count));
        if (e != ERR_OK)
            return base_fail(eb, e, "no memory for the message");
        rest = base_slice_skip(rest, count);
    }
    *out_used = bytes.len - rest.len;
    *out_complete = is_complete(r);
    return ERR_OK;
}

bool gw_frame_is_compressed(const struct gw_frame_reader *r)
{
    INVARIANT(is_complete(r));
    return r->head[0] == IS_COMPRESSED;
}

enum err gw_frame_unpack(struct gw_frame_reader *r, struct errbuf *eb)
{
    bool must_inflate = gw_frame_is_compressed(r) && !r->is_inflated;
    enum err e = must_inflate ? inflate_message(r, eb) : ERR_OK;
    r->is_inflated = r->is_inflated || (must_inflate && e == ERR_OK);
    return e;
}

size_t gw_frame_sent_bytes(const struct gw_frame_reader *r)
{
    return r->bytes.len;
}

size_t gw_frame_inflated_bytes(const struct gw_frame_reader *r)
{
    return r->inflated.len;
}

struct slice gw_frame_message(const struct gw_frame_reader *r)
{
    INVARIANT(is_complete(r) && r->is_inflated == (r->head[0] == IS_COMPRESSED));
    return base_buf_slice(r->is_inflated ? &r->inflated : &r->bytes);
}

/* Empties a buf: frees large memory, keeps small memory for the next message. */
static void empty(struct buf *b)
{
    if (b->capacity >= LIM_KEPT_BLOCK_BYTES)
        base_buf_clear(b);
    base_buf_truncate(b, 0);
}

void gw_frame_next(struct gw_frame_reader *r)
{
    INVARIANT(is_complete(r));
    r->head_len = 0;
    r->is_inflated = false;
    empty(&r->bytes);
    empty(&r->inflated);
}

bool gw_frame_is_between(const struct gw_frame_reader *r)
{
    return r->head_len == 0;
}

/* --- writing ------------------------------------------------------------------------------------
 */

size_t gw_frame_begin(struct buf *out)
{
    static const uint8_t HEAD[GW_FRAME_HEAD];
    size_t begin = out->len;
    (void)base_buf_append(out, base_slice(HEAD, sizeof HEAD)); /* latches */
    return begin;
}

static void put_head(struct buf *out, size_t begin, uint8_t flags)
{
    size_t len = out->len - begin - GW_FRAME_HEAD;
    INVARIANT(len <= UINT32_MAX);
    uint8_t head[GW_FRAME_HEAD] = {flags, (uint8_t)(len >> 24), (uint8_t)(len >> 16),
                                   (uint8_t)(len >> 8), (uint8_t)len};
    memcpy(out->ptr + begin, head, sizeof head);
}

void gw_frame_end(struct buf *out, size_t begin)
{
    if (out->error == ERR_OK)
        put_head(out, begin, 0);
}

/* Deflates a message. *out_len 0: it would not become shorter. */
static enum err deflate_into(uint8_t *to, struct slice message, size_t *out_len)
{
    z_stream z = {.zalloc = allocate, .zfree = release};
    if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, ONLY_GZIP, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return ERR_NO_MEMORY;
    z.next_in = (uint8_t *)(uintptr_t)message.ptr; /* only read */
    z.avail_in = (uInt)message.len;
    z.next_out = to;
    z.avail_out = (uInt)(message.len - 1);
    *out_len = deflate(&z, Z_FINISH) == Z_STREAM_END ? message.len - 1 - z.avail_out : 0;
    (void)deflateEnd(&z); /* Z_DATA_ERROR: there was no space to finish */
    return ERR_OK;
}

enum err gw_frame_deflate(struct buf *out, size_t begin)
{
    if (out->error != ERR_OK)
        return out->error;
    INVARIANT(begin + GW_FRAME_HEAD <= out->len);
    struct slice message = base_slice_skip(base_buf_slice(out), begin + GW_FRAME_HEAD);
    INVARIANT(message.len <= UINT32_MAX);
    if (message.len < 2)
        return ERR_OK;
    uint8_t *shorter = base_try_alloc(message.len - 1);
    if (shorter == NULL)
        return ERR_NO_MEMORY;
    size_t len = 0;
    enum err e = deflate_into(shorter, message, &len);
    if (e == ERR_OK && len > 0) {
        memcpy(out->ptr + begin + GW_FRAME_HEAD, shorter, len);
        base_buf_truncate(out, begin + GW_FRAME_HEAD + len);
        put_head(out, begin, IS_COMPRESSED);
    }
    base_free(shorter);
    return e;
}

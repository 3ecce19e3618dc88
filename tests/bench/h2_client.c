/*
 * tests/bench/h2_client.c - frames written by hand: all requests of a connection have the same
 * head.
 *
 * The first head puts its fields into the server's table of header fields, and the following ones
 * name them by their places: a byte each. Answers' heads go through nghttp2's HPACK.
 *
 * The server's window for a stream is never used up, because a request is shorter than the least of
 * them; its window for the connection may be, then DATA waits in `held`.
 */
#include "tests/bench/h2_client.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/text.h"
#include "tests/bench/bench.h"

#include "base/banned.h"

#define FRAME_HEAD     9
#define FRAME_MAX      (16 * KIB)
#define IN_BYTES       (128 * KIB)
#define OUT_MAX        (16 * MIB)
#define KEPT_MAX       (1 * GIB)
#define WINDOW         (16 * MIB) /* of ours, for each stream and for the connection */
#define WINDOW_STEP    (4 * MIB)
#define WINDOW_DEFAULT 65535
#define TABLE_DEFAULT  4096
#define DETAIL_BYTES   200
/* HPACK: places in the static table, and the first of the dynamic one. */
#define AT_AUTHORITY     1
#define AT_POST          3
#define AT_PATH          4
#define AT_HTTP          6
#define AT_HTTPS         7
#define AT_AUTHORIZATION 23
#define AT_CONTENT_TYPE  31
#define AT_NEWEST        62
#define INDEXED          0x80
#define INSERTED         0x40

struct h2_client {
    struct channel *channel;
    nghttp2_hd_inflater *inflater;
    h2_answered *answered;
    void *user;
    struct buf first_head; /* sent with the first request */
    struct buf head;       /* with all others */
    uint32_t next_id;
    int64_t send_window;
    struct buf out;
    struct buf held; /* DATA frames that wait for the window */
    size_t unsaid;
    bool keeps;
    size_t streams;
    struct h2_answer *answers;
    char detail[DETAIL_BYTES]; /* the last grpc-message */
    size_t in_len;
    uint8_t in[IN_BYTES];
};

/* --- frames out ------------------------------------------------------------------------------- */

static void put_u32(uint8_t to[4], uint32_t n)
{
    to[0] = (uint8_t)(n >> 24);
    to[1] = (uint8_t)(n >> 16);
    to[2] = (uint8_t)(n >> 8);
    to[3] = (uint8_t)n;
}

static uint32_t get_u32(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static void put_frame(struct buf *out, uint8_t type, uint8_t flags, uint32_t id, struct slice body)
{
    uint8_t head[FRAME_HEAD];
    put_u32(head, (uint32_t)body.len << 8 | type);
    head[4] = flags;
    put_u32(head + 5, id);
    (void)base_buf_append(out, base_slice(head, sizeof head)); /* this and the next latch */
    if (base_buf_append(out, body) != ERR_OK)
        bench_fail("too many frames wait to be sent");
}

static void put_window(struct h2_client *c, uint32_t id, size_t bytes)
{
    uint8_t body[4];
    put_u32(body, (uint32_t)bytes);
    put_frame(&c->out, NGHTTP2_WINDOW_UPDATE, 0, id, base_slice(body, sizeof body));
}

static void put_hello(struct h2_client *c)
{
    uint8_t setting[6] = {0, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE};
    put_u32(setting + 2, WINDOW);
    (void)base_buf_append_text(&c->out, NGHTTP2_CLIENT_MAGIC); /* put_frame looks */
    put_frame(&c->out, NGHTTP2_SETTINGS, 0, 0, base_slice(setting, sizeof setting));
    put_window(c, 0, WINDOW - WINDOW_DEFAULT);
}

/* --- the request's head -------------------------------------------------------------------------
 */

static void put_string(struct buf *head, const char *text)
{
    size_t len = strlen(text);
    if (len >= 0x7f) /* needs a second byte of length, and no name here does */
        bench_fail("a header field is too long: %s", text);
    (void)base_buf_append_byte(head, (uint8_t)len); /* latches */
    (void)base_buf_append_text(head, text);
}

/* A field that the server shall remember; `name` NULL: that of a place in the static table. */
static void put_remembered(struct h2_client *c, unsigned place, const char *name, const char *value)
{
    (void)base_buf_append_byte(&c->first_head, (uint8_t)(INSERTED | place)); /* latches */
    if (name != NULL)
        put_string(&c->first_head, name);
    put_string(&c->first_head, value);
}

static void make_heads(struct h2_client *c, const struct h2_target *target, const char *path)
{
    char bearer[128];
    uint8_t known[] = {INDEXED | AT_POST,
                       INDEXED | (target->server.ca == NULL ? AT_HTTP : AT_HTTPS)};
    unsigned remembered = 4;
    (void)base_buf_append(&c->first_head, base_slice(known, sizeof known)); /* latches */
    (void)base_buf_append(&c->head, base_slice(known, sizeof known));
    put_remembered(c, AT_PATH, NULL, path);
    put_remembered(c, AT_AUTHORITY, NULL, target->server.address);
    put_remembered(c, AT_CONTENT_TYPE, NULL, "application/grpc");
    put_remembered(c, 0, "te", "trailers");
    if (target->key != NULL) {
        int len = snprintf(bearer, sizeof bearer, "Bearer %s", target->key);
        if (len < 0 || (size_t)len >= sizeof bearer)
            bench_fail("the key is too long");
        put_remembered(c, AT_AUTHORIZATION, NULL, bearer);
        remembered++;
    }
    for (unsigned i = remembered; i > 0; i--)
        (void)base_buf_append_byte(&c->head, (uint8_t)(INDEXED | (AT_NEWEST + i - 1)));
    if (c->first_head.error != ERR_OK || c->head.error != ERR_OK)
        bench_fail("the request's head is too long");
}

/* --- requests -----------------------------------------------------------------------------------
 */

static struct h2_answer *find(struct h2_client *c, uint32_t id)
{
    for (size_t i = 0; i < c->streams; i++)
        if (c->answers[i].id == id)
            return &c->answers[i];
    bench_fail("stream %u is not under way", id);
}

void h2_request(struct h2_client *c, struct slice body)
{
    struct h2_answer *answer = find(c, 0);
    const struct buf *head = c->next_id == 1 ? &c->first_head : &c->head;
    if (body.len > FRAME_MAX)
        bench_fail("a request is longer than a frame");
    answer->id = c->next_id;
    answer->status = -1;
    answer->bytes = answer->unsaid = 0;
    base_buf_truncate(&answer->kept, 0);
    c->next_id += 2;
    put_frame(&c->out, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, answer->id, base_buf_slice(head));
    bool must_wait = c->held.len > 0 || c->send_window < (int64_t)body.len;
    if (!must_wait)
        c->send_window -= (int64_t)body.len;
    put_frame(must_wait ? &c->held : &c->out, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, answer->id,
              body);
}

static void on_window(struct h2_client *c, uint32_t id, struct slice body)
{
    if (id != 0)
        return;
    c->send_window += get_u32(body.ptr) & INT32_MAX;
    while (c->held.len > 0) {
        size_t len = get_u32(c->held.ptr) >> 8;
        if (c->send_window < (int64_t)len)
            return;
        c->send_window -= (int64_t)len;
        if (base_buf_append(&c->out, base_slice(c->held.ptr, FRAME_HEAD + len)) != ERR_OK)
            bench_fail("too many frames wait to be sent");
        base_buf_consume(&c->held, FRAME_HEAD + len);
    }
}

/* --- frames in ----------------------------------------------------------------------------------
 */

static void on_field(struct h2_client *c, struct h2_answer *answer, const nghttp2_nv *nv)
{
    struct slice name = base_slice(nv->name, nv->namelen);
    struct slice value = base_slice(nv->value, nv->valuelen);
    uint64_t status = 0;
    if (base_slice_is(name, ":status") && !base_slice_is(value, "200"))
        bench_fail("HTTP status %.*s", SLICE_ARGS(value));
    if (base_slice_is(name, "grpc-message"))
        (void)snprintf(c->detail, sizeof c->detail, "%.*s", SLICE_ARGS(value)); /* cut is fine */
    if (!base_slice_is(name, "grpc-status"))
        return;
    if (base_parse_u64(value, &status) != ERR_OK || status > INT32_MAX)
        bench_fail("grpc-status %.*s", SLICE_ARGS(value));
    answer->status = (int)status;
}

static void on_head(struct h2_client *c, struct h2_answer *answer, struct slice block)
{
    int flags = 0;
    while ((flags & NGHTTP2_HD_INFLATE_FINAL) == 0) {
        nghttp2_nv nv;
        ssize_t n = nghttp2_hd_inflate_hd2(c->inflater, &nv, &flags, block.ptr, block.len, 1);
        if (n < 0)
            bench_fail("a head cannot be decoded: %s", nghttp2_strerror((int)n));
        block = base_slice_skip(block, (size_t)n);
        if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
            on_field(c, answer, &nv);
    }
    (void)nghttp2_hd_inflate_end_headers(c->inflater); /* always 0 */
}

static void on_data(struct h2_client *c, struct h2_answer *answer, struct slice bytes, bool ends)
{
    answer->bytes += bytes.len;
    answer->unsaid += bytes.len;
    c->unsaid += bytes.len;
    if (c->unsaid >= WINDOW_STEP) {
        put_window(c, 0, c->unsaid);
        c->unsaid = 0;
    }
    if (answer->unsaid >= WINDOW_STEP && !ends) {
        put_window(c, answer->id, answer->unsaid);
        answer->unsaid = 0;
    }
    if (c->keeps && base_buf_append(&answer->kept, bytes) != ERR_OK)
        bench_fail("an answer is too large");
}

static void on_answer(struct h2_client *c, const uint8_t *frame, struct slice body)
{
    struct h2_answer *answer = find(c, get_u32(frame + 5));
    bool ends = (frame[4] & NGHTTP2_FLAG_END_STREAM) != 0;
    if ((frame[4] & (NGHTTP2_FLAG_PADDED | NGHTTP2_FLAG_PRIORITY)) != 0)
        bench_fail("a frame is padded or has a priority");
    if (frame[3] == NGHTTP2_DATA)
        on_data(c, answer, body, ends);
    else if ((frame[4] & NGHTTP2_FLAG_END_HEADERS) != 0)
        on_head(c, answer, body);
    else
        bench_fail("a head of several frames");
    if (!ends)
        return;
    if (answer->status != 0)
        bench_fail("grpc-status %d: %s", answer->status, c->detail);
    answer->id = 0;
    c->answered(c, answer, c->user);
}

static void on_settings(struct h2_client *c, uint8_t flags, struct slice body)
{
    if ((flags & NGHTTP2_FLAG_ACK) != 0)
        return;
    for (; body.len >= 6; body = base_slice_skip(body, 6)) {
        unsigned id = (unsigned)body.ptr[0] << 8 | body.ptr[1];
        uint32_t value = get_u32(body.ptr + 2);
        if ((id == NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS && value < c->streams) ||
            (id == NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE && value < FRAME_MAX) ||
            (id == NGHTTP2_SETTINGS_HEADER_TABLE_SIZE && value < TABLE_DEFAULT))
            bench_fail("the server allows too little: setting %u is %u", id, value);
    }
    put_frame(&c->out, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, SLICE_EMPTY);
}

static void on_frame(struct h2_client *c, const uint8_t *frame, struct slice body)
{
    switch (frame[3]) {
    case NGHTTP2_DATA:
    case NGHTTP2_HEADERS:
        on_answer(c, frame, body);
        break;
    case NGHTTP2_SETTINGS:
        on_settings(c, frame[4], body);
        break;
    case NGHTTP2_WINDOW_UPDATE:
        on_window(c, get_u32(frame + 5), body);
        break;
    case NGHTTP2_PING:
        if ((frame[4] & NGHTTP2_FLAG_ACK) == 0)
            put_frame(&c->out, NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, body);
        break;
    case NGHTTP2_RST_STREAM: /* grpc-go's, of one that it answered before it saw its end */
        if (body.len == 4 && get_u32(body.ptr) == NGHTTP2_NO_ERROR)
            break;
        bench_fail("stream %u was reset: %u", get_u32(frame + 5),
                   body.len == 4 ? get_u32(body.ptr) : 0);
    default: /* GOAWAY, and what nobody asked for */
        bench_fail("frame of type %u on stream %u", frame[3], get_u32(frame + 5));
    }
}

static void take_frames(struct h2_client *c)
{
    size_t at = 0;
    while (c->in_len - at >= FRAME_HEAD) {
        const uint8_t *frame = c->in + at;
        size_t len = get_u32(frame) >> 8;
        if (len > FRAME_MAX || (frame[3] == NGHTTP2_WINDOW_UPDATE && len != 4))
            bench_fail("a frame of type %u has %zu bytes", frame[3], len);
        if (c->in_len - at < FRAME_HEAD + len)
            break;
        on_frame(c, frame, base_slice(frame + FRAME_HEAD, len));
        at += FRAME_HEAD + len;
    }
    c->in_len -= at;
    memmove(c->in, c->in + at, c->in_len);
}

static void flush(struct h2_client *c)
{
    size_t sent = 0;
    while (sent < c->out.len) {
        size_t n = channel_write(c->channel, c->out.ptr + sent, c->out.len - sent);
        if (n == 0)
            break;
        sent += n;
    }
    base_buf_consume(&c->out, sent);
}

void h2_ready(struct h2_client *c)
{
    size_t n;
    while ((n = channel_read(c->channel, c->in + c->in_len, IN_BYTES - c->in_len)) > 0) {
        c->in_len += n;
        take_frames(c);
    }
    flush(c);
}

/* --- life ---------------------------------------------------------------------------------------
 */

struct h2_client *h2_open(const struct h2_target *target, const char *path, size_t streams,
                          h2_answered *answered, void *user)
{
    struct h2_client *c = base_new(sizeof *c);
    c->channel = channel_open(&target->server);
    c->answered = answered;
    c->user = user;
    c->next_id = 1;
    c->send_window = WINDOW_DEFAULT;
    c->streams = streams;
    c->answers = base_new_array(streams, sizeof *c->answers);
    for (size_t i = 0; i < streams; i++)
        base_buf_init(&c->answers[i].kept, KEPT_MAX);
    base_buf_init(&c->first_head, KIB);
    base_buf_init(&c->head, KIB);
    base_buf_init(&c->out, OUT_MAX);
    base_buf_init(&c->held, OUT_MAX);
    if (nghttp2_hd_inflate_new(&c->inflater) != 0)
        bench_fail("no memory");
    make_heads(c, target, path);
    put_hello(c);
    return c;
}

void h2_close(struct h2_client *c)
{
    for (size_t i = 0; i < c->streams; i++)
        base_buf_fini(&c->answers[i].kept);
    base_free(c->answers);
    base_buf_fini(&c->first_head);
    base_buf_fini(&c->head);
    base_buf_fini(&c->out);
    base_buf_fini(&c->held);
    nghttp2_hd_inflate_del(c->inflater);
    channel_close(c->channel);
    base_free(c);
}

int h2_fd(const struct h2_client *c)
{
    return channel_fd(c->channel);
}

void h2_keep_answers(struct h2_client *c)
{
    c->keeps = true;
}

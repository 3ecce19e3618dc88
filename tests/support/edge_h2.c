#include "tests/support/edge_h2.h"

#include <check.h>

#include "base/clock.h"

#include "base/banned.h"

nghttp2_nv h2_nv(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .namelen = strlen(name),
                        .value = (uint8_t *)(uintptr_t)value,
                        .valuelen = strlen(value)};
}

static struct h2_stream *stream_of(struct h2 *h, int32_t id)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->streams[i].id == id)
            return &h->streams[i];
    return NULL;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *user)
{
    struct h2_stream *s = stream_of(user, frame->hd.stream_id);
    (void)session;
    (void)flags;
    if (s == NULL)
        return 0;
    if (base_slice_is(base_slice(name, name_len), ":status"))
        s->status = (value[0] - '0') * 100 + (value[1] - '0') * 10 + (value[2] - '0');
    if (base_slice_is(base_slice(name, name_len), "grpc-status"))
        s->has_trailer = s->body_bytes > 0 && value_len == 1;
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                   size_t len, void *user)
{
    struct h2_stream *s = stream_of(user, id);
    (void)session;
    (void)flags;
    if (s == NULL)
        return 0;
    s->body_bytes += len;
    if (s->body.len + len <= s->body.max)
        ck_assert_int_eq(base_buf_append(&s->body, base_slice(bytes, len)), ERR_OK);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *user)
{
    struct h2_stream *s = stream_of(user, id);
    (void)session;
    if (s != NULL) {
        s->is_closed = true;
        s->error = error;
    }
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2 *h = user;
    (void)session;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        h->got_goaway = true;
        h->goaway_error = frame->goaway.error_code;
    }
    if (frame->hd.type == NGHTTP2_SETTINGS && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0)
        h->has_settled = true;
    return 0;
}

static ssize_t on_upload(nghttp2_session *session, int32_t id, uint8_t *out, size_t max,
                         uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct h2_stream *s = stream_of(user, id);
    (void)session;
    (void)source;
    size_t n = s->left < max ? s->left : max;
    if (n == 0 && s->is_endless)
        return NGHTTP2_ERR_DEFERRED;
    memset(out, 'u', n);
    s->left -= n;
    if (s->left == 0 && !s->is_endless)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

bool h2_try_open(struct h2 *h, const struct edge *e)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20};
    memset(h, 0, sizeof *h);
    if (!edge_connect(&h->tls, e, "h2")) {
        edge_disconnect(&h->tls);
        return false;
    }
    ck_assert_int_eq(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    ck_assert_int_eq(nghttp2_session_client_new(&h->session, callbacks, h), 0);
    nghttp2_session_callbacks_del(callbacks);
    ck_assert_int_eq(nghttp2_submit_settings(h->session, 0, &window, 1), 0);
    ck_assert_int_eq(nghttp2_session_set_local_window_size(h->session, 0, 0, 4 << 20), 0);
    h2_push(h);
    return true;
}

void h2_open(struct h2 *h, const struct edge *e)
{
    ck_assert(h2_try_open(h, e));
}

void h2_forget(struct h2 *h)
{
    for (size_t i = 0; i < h->count; i++)
        base_buf_fini(&h->streams[i].body);
    h->count = 0;
}

void h2_close(struct h2 *h)
{
    h2_forget(h);
    nghttp2_session_del(h->session);
    edge_disconnect(&h->tls);
}

static struct h2_stream *stream_new(struct h2 *h)
{
    ck_assert_uint_lt(h->count, H2_STREAMS);
    struct h2_stream *s = &h->streams[h->count++];
    memset(s, 0, sizeof *s);
    base_buf_init(&s->body, 64 * KIB);
    return s;
}

struct h2_stream *h2_submit(struct h2 *h, const nghttp2_nv *nv, size_t count)
{
    struct h2_stream *s = stream_new(h);
    s->id = nghttp2_submit_request(h->session, NULL, nv, count, NULL, NULL);
    ck_assert_int_gt(s->id, 0);
    return s;
}

struct h2_stream *h2_request(struct h2 *h, const char *method, const char *path, size_t upload,
                             bool endless)
{
    nghttp2_nv nv[] = {h2_nv(":method", method), h2_nv(":scheme", "https"), h2_nv(":path", path),
                       h2_nv(":authority", "x")};
    nghttp2_data_provider body = {.read_callback = on_upload};
    struct h2_stream *s = stream_new(h);
    s->left = upload;
    s->is_endless = endless;
    s->id =
        nghttp2_submit_request(h->session, NULL, nv, 4, upload > 0 || endless ? &body : NULL, NULL);
    ck_assert_int_gt(s->id, 0);
    return s;
}

void h2_push(struct h2 *h)
{
    for (;;) {
        const uint8_t *bytes;
        ssize_t n = nghttp2_session_mem_send(h->session, &bytes);
        ck_assert_int_ge(n, 0);
        if (n == 0)
            return;
        if (!edge_send(&h->tls, base_slice(bytes, (size_t)n)))
            h->is_broken = true;
    }
}

static bool all_closed(const struct h2 *h)
{
    for (size_t i = 0; i < h->count; i++)
        if (!h->streams[i].is_closed)
            return false;
    return true;
}

/* Reads once; returns false when nothing arrived, or nothing can arrive any more. */
static bool pull(struct h2 *h, int quiet_ms)
{
    if (!edge_receive(&h->tls, quiet_ms)) {
        h->is_broken = h->is_broken || h->tls.closed;
        return false;
    }
    ssize_t n = nghttp2_session_mem_recv(h->session, h->tls.in.ptr, h->tls.in.len);
    if (n < 0) {
        h->is_broken = true;
        return false;
    }
    base_buf_truncate(&h->tls.in, 0);
    return true;
}

bool h2_run(struct h2 *h, int quiet_ms)
{
    for (;;) {
        h2_push(h);
        if (h->count > 0 && all_closed(h))
            return true;
        if (!pull(h, quiet_ms))
            return all_closed(h);
    }
}

void h2_await(struct h2 *h)
{
    ck_assert_msg(h2_run(h, process_await_ms()), "waited in vain for the end of all requests%s",
                  h->is_broken ? ": the connection ended" : "");
}

void h2_await_end(struct h2 *h)
{
    h2_push(h);
    while (!h->is_broken && !h->got_goaway) {
        ck_assert_msg(pull(h, process_await_ms()) || h->is_broken,
                      "waited in vain for a GOAWAY or a close");
        h2_push(h);
    }
}

void h2_await_that(struct h2 *h, bool (*condition)(void *arg), void *arg, const char *what)
{
    enum { MOMENT_MS = 5 };
    uint64_t end_ns = base_monotonic_ns() + (uint64_t)process_await_ms() * 1000000u;
    for (;;) {
        h2_push(h);
        if (condition(arg))
            return;
        ck_assert_msg(!h->is_broken && base_monotonic_ns() < end_ns, "waited in vain for %s", what);
        (void)pull(h, MOMENT_MS);
    }
}

bool h2_frame(struct h2 *h, uint8_t type, uint8_t flags, int32_t stream, struct slice payload)
{
    uint8_t head[9] = {(uint8_t)(payload.len >> 16),
                       (uint8_t)(payload.len >> 8),
                       (uint8_t)payload.len,
                       type,
                       flags,
                       (uint8_t)(stream >> 24),
                       (uint8_t)(stream >> 16),
                       (uint8_t)(stream >> 8),
                       (uint8_t)stream};
    return edge_send(&h->tls, base_slice(head, sizeof head)) && edge_send(&h->tls, payload);
}

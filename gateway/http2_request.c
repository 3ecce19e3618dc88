/*
 * nghttp2 checks the protocol (frames, HPACK, pseudo headers, Content-Length against DATA). This
 * file has the checks that the gate does for HTTP/1 requests, the caps on heads, and the conversion
 * into the exchange.
 *
 * A head over a limit is still decoded, as HPACK demands, but no longer kept; when it is complete
 * the refusal is sent as the response. Callbacks run inside nghttp2_session_mem_recv or mem_send.
 */
#include "gateway/http2_internal.h"

#include "base/alloc.h"
#include "base/text.h"
#include "gateway/http1_gate.h"
#include "gateway/problem.h"

#include "base/banned.h"

#define FIELD_OVERHEAD   32 /* RFC 9113 6.5.2 */
#define METHOD_BYTES_MAX 32
#define SPARES_MAX       256

static void refuse(struct gw_http2_stream *s, int problem, const char *detail)
{
    if (s->problem != 0)
        return;
    s->problem = problem;
    s->detail = detail;
}

/* --- streams -----------------------------------------------------------------------------------
 */

static struct gw_http2_stream *stream_new(struct gw_http2 *h, int32_t id)
{
    struct gw_loop *loop = h->conn->loop;
    struct gw_http2_stream *s = loop->spare_streams;
    if (s != NULL) {
        loop->spare_streams = s->next;
        loop->spare_stream_count--;
    } else if ((s = base_try_alloc(sizeof *s)) == NULL) {
        return NULL;
    }
    memset(s, 0, offsetof(struct gw_http2_stream, ex));
    gw_exchange_init(&s->ex, loop, &GW_HTTP2_TRANSPORT);
    s->h = h;
    s->id = id;
    s->progress_ns = h->read_ns;
    s->next = h->streams;
    s->link = &h->streams;
    if (s->next != NULL)
        s->next->link = &s->next;
    h->streams = s;
    h->stream_count++;
    loop->open_exchanges++;
    return s;
}

static void in_flight_leave(struct gw_http2_stream *s)
{
    if (gw_http2_is_in_flight(s) && --s->h->in_flight == 0)
        gw_conn_mark(s->h->conn, GW_HELD_IDLE);
}

void gw_http2_stream_free(struct gw_http2_stream *s)
{
    *s->link = s->next;
    if (s->next != NULL)
        s->next->link = s->link;
    struct gw_loop *loop = s->h->conn->loop;
    s->h->stream_count--;
    in_flight_leave(s);
    loop->open_exchanges--;
    gw_exchange_fini(&s->ex);
    base_free(s->more);
    if (loop->spare_stream_count == SPARES_MAX) {
        base_free(s);
        return;
    }
    s->next = loop->spare_streams;
    loop->spare_streams = s;
    loop->spare_stream_count++;
}

void gw_http2_free_spares(struct gw_loop *loop)
{
    while (loop->spare_streams != NULL) {
        struct gw_http2_stream *s = loop->spare_streams;
        loop->spare_streams = s->next;
        base_free(s);
    }
}

/* Counts requests that end badly, which cost the client little and us much; too many end the
 * connection. */
static void count_reset(struct gw_http2 *h)
{
    uint64_t refill = (h->read_ns - h->reset_refill_ns) * GW_HTTP2_RESETS_PER_S / NS_PER_S;
    if (refill > 0) {
        uint64_t tokens = h->reset_tokens + refill;
        h->reset_tokens = tokens < GW_HTTP2_RESETS_BURST ? (uint32_t)tokens : GW_HTTP2_RESETS_BURST;
        h->reset_refill_ns = h->read_ns;
    }
    if (h->reset_tokens > 0) {
        h->reset_tokens--;
        return;
    }
    if (!h->is_refused)
        gw_edge_count(&h->conn->loop->counts, GW_EDGE_RESETS);
    h->is_refused = true;
    int rc = nghttp2_session_terminate_session(h->session, NGHTTP2_ENHANCE_YOUR_CALM);
    INVARIANT(rc == 0); /* it fails only for lack of memory */
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *user)
{
    struct gw_http2 *h = user;
    struct gw_http2_stream *s = nghttp2_session_get_stream_user_data(session, id);
    if (s == NULL)
        return 0;
    bool ended_badly = error != NGHTTP2_NO_ERROR && !s->response_ended;
    size_t unconsumed = s->unconsumed;
    gw_http2_stream_free(s);
    if (h->stream_count == 0)
        h->idle_since_ns = h->read_ns;
    if (unconsumed > 0)
        (void)nghttp2_session_consume_connection(session, unconsumed); /* NOMEM: closes later */
    if (ended_badly)
        count_reset(h);
    return 0;
}

/* --- heads -------------------------------------------------------------------------------------
 */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct gw_http2 *h = user;
    int32_t id = frame->hd.stream_id;
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    h->head_since_ns = h->read_ns;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
        struct gw_http2_stream *s = nghttp2_session_get_stream_user_data(session, id);
        if (s != NULL)
            s->in_trailers = true;
        return 0;
    }
    struct gw_http2_stream *s = NULL;
    if (h->conn->loop->open_exchanges < GW_LOOP_EXCHANGES_MAX)
        s = stream_new(h, id);
    if (s == NULL) {
        gw_edge_count(&h->conn->loop->counts, GW_EDGE_STREAMS);
        return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
    }
    return nghttp2_session_set_stream_user_data(session, id, s);
}

static struct slice keep(struct gw_http2_stream *s, const uint8_t *bytes, size_t len)
{
    uint8_t *at = s->inline_bytes + s->used;
    if (len <= sizeof s->inline_bytes - s->used) {
        s->used += len;
    } else {
        if (s->more == NULL)
            s->more = base_new(LIM_HEAD_BYTES);
        at = s->more + s->more_used; /* head_bytes was checked: there is enough memory */
        s->more_used += len;
    }
    memcpy(at, bytes, len);
    return base_slice(at, len);
}

static void on_pseudo_header(struct gw_http2_stream *s, struct slice name, const uint8_t *value,
                             size_t len)
{
    if (base_slice_is(name, ":path") && len > LIM_TARGET_BYTES)
        refuse(s, GW_PROBLEM_TARGET, "the request target is longer than 24576 bytes");
    else if (base_slice_is(name, ":path"))
        s->ex.path = keep(s, value, len);
    else if (base_slice_is(name, ":method"))
        s->ex.method = keep(s, value, len);
    else if (base_slice_is(name, ":authority"))
        s->ex.authority = keep(s, value, len);
}

static void on_host(struct gw_http2_stream *s, const uint8_t *value, size_t len)
{
    if (s->has_host)
        refuse(s, ERR_INVALID, "the Host header must come once");
    else if (s->ex.authority.len == 0)
        s->ex.authority = keep(s, value, len);
    else if (!base_slice_equal(s->ex.authority, base_slice(value, len)))
        refuse(s, ERR_INVALID, "Host and :authority must be the same");
    s->has_host = true;
}

static void on_content_length(struct gw_http2_stream *s, struct slice value)
{
    uint64_t length = 0;
    if (s->has_length)
        refuse(s, ERR_INVALID, "Content-Length must come once");
    else if (base_parse_u64(value, &length) != ERR_OK || length > INT64_MAX)
        refuse(s, ERR_INVALID, "Content-Length must be a decimal number");
    else
        s->ex.content_length = (int64_t)length;
    s->has_length = true;
}

static void on_plain_header(struct gw_http2_stream *s, struct slice name, const uint8_t *value,
                            size_t len)
{
    if (base_slice_is(name, "host")) {
        on_host(s, value, len);
        return;
    }
    if (base_slice_is(name, "content-length")) {
        on_content_length(s, base_slice(value, len));
        return;
    }
    if (base_slice_is(name, "authorization") && ++s->authorizations > 1)
        refuse(s, ERR_INVALID, "the Authorization header must come once");
    else if (s->header_count == LIM_HEADERS)
        refuse(s, GW_PROBLEM_HEADERS, "the request has more than 64 header fields");
    else
        s->headers[s->header_count++] =
            (struct gw_header){keep(s, name.ptr, name.len), keep(s, value, len)};
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *user)
{
    struct gw_http2_stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    (void)flags;
    (void)user;
    if (s == NULL || s->in_trailers || s->problem != 0)
        return 0;
    s->head_bytes += name_len + value_len + FIELD_OVERHEAD;
    if (s->head_bytes > LIM_HEAD_BYTES)
        refuse(s, GW_PROBLEM_HEADERS, "the request head is longer than 32768 bytes");
    else if (name[0] == ':')
        on_pseudo_header(s, base_slice(name, name_len), value, value_len);
    else
        on_plain_header(s, base_slice(name, name_len), value, value_len);
    return 0;
}

/* --- into the exchange -------------------------------------------------------------------------
 */

static void check_head(struct gw_http2_stream *s)
{
    struct gw_exchange *ex = &s->ex;
    if (ex->path.len == 0 || ex->path.ptr[0] != '/')
        refuse(s, ERR_INVALID, "the request target must begin with '/'");
    for (size_t i = 0; i < ex->path.len; i++)
        if (ex->path.ptr[i] == '#')
            refuse(s, ERR_INVALID, "the request target has a #, which is written %23");
        else if (ex->path.ptr[i] <= 0x20 || ex->path.ptr[i] >= 0x7f)
            refuse(s, ERR_INVALID, "the request target has a byte that must be percent-encoded");
    if (!gw_http1_is_authority(ex->authority))
        refuse(s, ERR_INVALID, "the authority must be a name or an address");
    if (ex->method.len > METHOD_BYTES_MAX)
        refuse(s, ERR_INVALID, "the method is too long");
}

static void refused_gone(struct gw_exchange *ex, void *user)
{
    (void)ex;
    (void)user;
}

static void answer_refusal(struct gw_http2_stream *s)
{
    static const struct gw_events nobody = {.gone = refused_gone};
    gw_edge_head_refused(&s->ex.loop->counts, GW_EDGE_HTTP2, s->problem);
    s->ex.header_count = 0;
    gw_exchange_listen(&s->ex, &nobody, NULL);
    gw_problem_send(&s->ex, s->problem, s->detail, NULL);
}

static void dispatch(struct gw_http2_stream *s)
{
    struct gw_exchange *ex = &s->ex;
    struct gw_loop *loop = ex->loop;
    check_head(s);
    s->is_dispatched = true;
    if (s->h->in_flight++ == 0)
        gw_conn_mark(s->h->conn, GW_HELD_BUSY);
    s->h->turn_requests++;
    ex->headers = s->headers;
    ex->header_count = s->header_count;
    ex->has_body = !s->request_ended;
    if (!ex->has_body)
        ex->content_length = 0;
    ex->http_major = 2;
    ex->is_plain = s->h->conn->endpoint == GW_ENDPOINT_PLAIN;
    ex->received_ns = s->h->read_ns;
    if (s->problem != 0) {
        answer_refusal(s);
        return;
    }
    const uint8_t *mark = memchr(ex->path.ptr, '?', ex->path.len);
    if (mark != NULL) {
        size_t path_len = (size_t)(mark - ex->path.ptr);
        ex->query = base_slice_skip(ex->path, path_len + 1);
        ex->path.len = path_len;
    }
    loop->all->options.on_request(ex, loop->thread_state);
    INVARIANT(ex->events != NULL);
}

/* Returns whether the listener wants the body: there is a listener and the response is not
 * complete. */
static bool wants_body(const struct gw_http2_stream *s)
{
    return s->is_dispatched && s->ex.events->body != NULL && !s->ex.ended;
}

/* Credits bytes with the time that they take at the least speed. */
void gw_http2_progress(struct gw_http2_stream *s, size_t bytes)
{
    uint64_t now_ns = s->h->read_ns;
    uint64_t worth_ns = (uint64_t)bytes * NS_PER_S / GW_BODY_BYTES_PER_S;
    bool is_more = now_ns - s->progress_ns > worth_ns;
    s->progress_ns = is_more ? s->progress_ns + worth_ns : now_ns;
}

/* Records progress of a body. A bulk upload may pause, and send little, while memory is not
 * scarce. */
static void body_came(struct gw_http2_stream *s, size_t bytes)
{
    if (base_memory_is_scarce(s->ex.memory))
        gw_http2_progress(s, bytes);
    else
        s->progress_ns = s->h->read_ns;
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                         size_t len, void *user)
{
    struct gw_http2 *h = user;
    struct gw_http2_stream *s = nghttp2_session_get_stream_user_data(session, id);
    (void)flags;
    if (s == NULL)
        return nghttp2_session_consume_connection(session, len);
    if (len > 0)
        body_came(s, len);
    s->ex.received_bytes += len;
    if (!wants_body(s)) {
        s->lingered += len;
        if (gw_http2_lingers_too_long(s, h->read_ns) && gw_http2_stop_request(s) != 0)
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        return nghttp2_session_consume(session, id, len);
    }
    s->unconsumed += len;
    s->ex.events->body(&s->ex, s->ex.user, base_slice(bytes, len), false);
    return 0;
}

static void refill_pings(struct gw_http2 *h)
{
    uint64_t tokens = h->ping_tokens + (h->read_ns - h->ping_refill_ns) / GW_HTTP2_PING_NS;
    if (tokens > h->ping_tokens)
        h->ping_refill_ns = h->read_ns;
    h->ping_tokens = tokens < GW_HTTP2_PINGS_BURST ? (uint32_t)tokens : GW_HTTP2_PINGS_BURST;
}

static void forgive_pings(struct gw_http2 *h)
{
    h->ping_tokens = GW_HTTP2_PINGS_BURST;
    h->ping_refill_ns = h->read_ns;
}

/* Counts a PING. If there are too many, calls in flight continue to their end, but no new one is
 * accepted. */
static int on_ping(struct gw_http2 *h)
{
    static const char TOO_MANY[] = "too_many_pings"; /* gRPC clients recognize it */
    refill_pings(h);
    if (h->ping_tokens > 0) {
        h->ping_tokens--;
        return 0;
    }
    h->pings_over++;
    if (h->pings_over > GW_HTTP2_PINGS_OVER)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (!h->is_refused)
        gw_edge_count(&h->conn->loop->counts, GW_EDGE_PINGS);
    h->is_refused = true;
    if (h->goaway_sent)
        return 0;
    int32_t last = nghttp2_session_get_last_proc_stream_id(h->session);
    int rc = nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE, last, NGHTTP2_ENHANCE_YOUR_CALM,
                                   (const uint8_t *)TOO_MANY, sizeof TOO_MANY - 1);
    INVARIANT(rc == 0); /* it fails only for lack of memory */
    h->goaway_sent = true;
    h->notice_ns = h->read_ns;
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct gw_http2 *h = user;
    if (frame->hd.type == NGHTTP2_SETTINGS)
        h->got_settings = true;
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0)
        return on_ping(h);
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    struct gw_http2_stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    forgive_pings(h);
    if (frame->hd.type == NGHTTP2_HEADERS)
        h->head_since_ns = 0;
    if (s == NULL)
        return 0;
    bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    s->request_ended = s->request_ended || ends;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        dispatch(s);
    else if (ends && wants_body(s))
        s->ex.events->body(&s->ex, s->ex.user, SLICE_EMPTY, true);
    return 0;
}

/* Many clients, libcurl among them, lose a response whose stream is reset while they still send. So
 * the rest of a body is accepted and discarded for a while before the peer is asked to stop. */
bool gw_http2_lingers_too_long(const struct gw_http2_stream *s, uint64_t now_ns)
{
    return s->response_ended && !s->request_ended && !s->stop_sent &&
           (s->lingered > GW_HTTP2_LINGER_BYTES ||
            now_ns > s->ended_ns + GW_HTTP2_LINGER_MS * NS_PER_MS);
}

int gw_http2_stop_request(struct gw_http2_stream *s)
{
    s->stop_sent = true;
    return nghttp2_submit_rst_stream(s->h->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR);
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct gw_http2 *h = user;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    forgive_pings(h);
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
        return 0;
    struct gw_http2_stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (s == NULL)
        return 0;
    in_flight_leave(s);
    s->response_ended = true;
    s->ended_ns = h->read_ns;
    return 0;
}

void gw_http2_set_callbacks(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, gw_http2_send_data);
}

/*
 * One nghttp2 session per connection, driven by h2o's socket: bytes read go into
 * nghttp2_session_mem_recv; the output of nghttp2 and of the responses is gathered into one buffer
 * (up to GW_WRITE_BYTES) and written at once; the next write starts when that one is finished.
 *
 * The buffer is the loop's, not the connection's: a TLS socket encrypts, and thereby copies, before
 * h2o_socket_write returns. A plaintext socket continues to write from the buffer passed to it, so
 * it gets a copy, which lives until all of it is sent.
 *
 * Bounds: a slow reader costs one gathered write plus what its handlers queued (LIM_OUT_HIGH_BYTES
 * each); waiting frames are bounded by not reading above GW_HTTP2_BACKLOG; bodies by the windows.
 *
 * Resets: the cost of rapid resets is counted where a stream ends before its response did
 * (count_reset). nghttp2 counts every RST_STREAM frame, including those that libcurl sends after
 * finished streams, one per request; nghttp2's limit only protects against floods of frames.
 *
 * Closing, always through close_now at the top of the stack, never inside nghttp2:
 *   open -> (idle or drain) notice -> GOAWAY -> no streams -> everything acknowledged -> closed
 *   open -> ended for a new connection -> GOAWAY -> written -> closed
 *   open -> (socket error, protocol error, killed) -> closed
 */
#include "gateway/http2_internal.h"

#include "base/alloc.h"
#include "base/clock.h"

#include "base/banned.h"

#define RECEIVE_STEP  (16 * KIB) /* the backlog is checked after each */
#define SMALL_STEP    512
#define NOTICE_NS     (100 * NS_PER_MS)
#define RESET_BURST   100000 /* of frames: see above */
#define RESET_RATE    50000
#define CONTINUATIONS 8
/* More than one step can add to a full backlog: a peer that reads nothing is paused, not closed. */
#define OUTBOUND_ACKS (GW_HTTP2_BACKLOG + RECEIVE_STEP / 9 + 1)

static void on_written(h2o_socket_t *sock, const char *err);

static void close_now(struct gw_http2 *h)
{
    if (h->session == NULL)
        return;
    while (h->streams != NULL)
        gw_http2_stream_free(h->streams);
    nghttp2_session_del(h->session);
    h->session = NULL;
    gw_conn_close(h->conn);
}

/* Closes the connection when both sides are done; called again whenever bytes arrive, at ticks and
 * while draining. */
static void finish(struct gw_http2 *h)
{
    if (h->is_ended || !gw_conn_is_sending(h->conn))
        close_now(h);
}

/* --- writing -----------------------------------------------------------------------------------
 */

/* Fills the loop's buffer; false when the session cannot continue. */
static bool gather(struct gw_http2 *h)
{
    h->out_len = 0;
    while (h->out_len < GW_WRITE_BYTES) {
        const uint8_t *bytes;
        ssize_t n = nghttp2_session_mem_send(h->session, &bytes);
        if (n <= 0)
            return n == 0;
        INVARIANT((size_t)n <= GW_OUT_BYTES - h->out_len); /* frames are far smaller */
        memcpy(h->conn->loop->out + h->out_len, bytes, (size_t)n);
        h->out_len += (size_t)n;
    }
    return true;
}

static void tell_drained(struct gw_http2 *h)
{
    if (!h->has_drained)
        return;
    h->has_drained = false;
    for (struct gw_http2_stream *s = h->streams; s != NULL; s = s->next)
        if (gw_exchange_is_drained(&s->ex))
            gw_exchange_tell_drained(&s->ex);
}

/* Returns the gathered bytes, in memory that is valid until on_written. */
static h2o_iovec_t gathered(struct gw_http2 *h)
{
    uint8_t *bytes = h->conn->loop->out;
    if (h->conn->endpoint == GW_ENDPOINT_PLAIN) {
        INVARIANT(h->plain_out == NULL);
        h->plain_out = base_new(h->out_len);
        memcpy(h->plain_out, bytes, h->out_len);
        bytes = h->plain_out;
    }
    return h2o_iovec_init((char *)bytes, h->out_len);
}

static void release_plain(struct gw_http2 *h)
{
    base_free(h->plain_out);
    h->plain_out = NULL;
}

/* Writes the pending output, unless a write is in flight; closes when both sides are done. */
static void flush(struct gw_http2 *h)
{
    if (h->session == NULL || h->is_writing)
        return;
    if (!gather(h)) {
        close_now(h);
    } else if (h->out_len > 0) {
        h2o_iovec_t out = gathered(h);
        h->is_writing = true;
        h2o_socket_write(h->conn->sock, &out, 1, on_written);
        tell_drained(h);
    } else if (nghttp2_session_want_read(h->session) == 0 &&
               nghttp2_session_want_write(h->session) == 0) {
        finish(h);
    }
}

/* --- reading -----------------------------------------------------------------------------------
 */

static void on_read(h2o_socket_t *sock, const char *err);

static bool has_backlog(const struct gw_http2 *h)
{
    return nghttp2_session_get_outbound_queue_size(h->session) > GW_HTTP2_BACKLOG;
}

static bool turn_is_over(const struct gw_http2 *h)
{
    return h->turn_requests >= LIM_TURN_REQUESTS || h->turn_bytes >= RECEIVE_STEP;
}

/* Returns the size of the next step: small for a peer with many requests at once, because requests
 * are counted between steps. */
static size_t step_of(const struct gw_http2 *h)
{
    bool has_many = h->turn_requests > 1 || h->last_requests >= LIM_TURN_REQUESTS / 2;
    return has_many ? SMALL_STEP : RECEIVE_STEP;
}

/* Pauses or resumes reading. Both cost a system call, which is not worth it for a little input. */
static void pause_or_resume(struct gw_http2 *h)
{
    h2o_socket_t *sock = h->conn->sock;
    bool must_pause = h->is_held && sock->input->size >= RECEIVE_STEP;
    if (must_pause && h2o_socket_is_reading(sock))
        h2o_socket_read_stop(sock);
    else if (!must_pause && !h2o_socket_is_reading(sock))
        h2o_socket_read_start(sock, on_read);
}

/* Feeds nghttp2 from the socket; stops, and stops reading, when too much waits to be sent, or when
 * the connection has used its part of this iteration of the loop. */
static void receive(struct gw_http2 *h)
{
    h2o_socket_t *sock = h->conn->sock;
    size_t at = 0;
    h->read_ns = base_monotonic_ns();
    while (at < sock->input->size) {
        if (has_backlog(h)) {
            flush(h);
            if (h->session == NULL)
                return;
            if (has_backlog(h))
                break;
        }
        if (turn_is_over(h)) {
            gw_conn_again(h->conn);
            break;
        }
        size_t left = sock->input->size - at;
        size_t step = step_of(h);
        ssize_t n = nghttp2_session_mem_recv(h->session, (const uint8_t *)sock->input->bytes + at,
                                             left < step ? left : step);
        if (n < 0) {
            close_now(h);
            return;
        }
        at += (size_t)n;
        h->turn_bytes += (size_t)n;
    }
    h2o_buffer_consume(&sock->input, at);
    h->is_held = sock->input->size > 0;
    pause_or_resume(h);
    flush(h);
}

static void receive_in_turn(struct gw_http2 *h)
{
    struct gw_conn *c = h->conn;
    uint64_t began_ns = base_monotonic_ns();
    h->last_requests = h->turn_requests;
    h->turn_requests = 0;
    h->turn_bytes = 0;
    receive(h);
    gw_conn_used(c, began_ns); /* closed or not: it is freed later */
}

/* Lets connections that come seldom go first. */
static void wait_for_turn(struct gw_http2 *h)
{
    h->is_held = true;
    gw_conn_again(h->conn);
}

static void on_read(h2o_socket_t *sock, const char *err)
{
    struct gw_conn *c = sock->data;
    struct gw_http2 *h = c->protocol;
    if (err != NULL)
        close_now(h);
    else if (h->is_held)
        pause_or_resume(h);
    else if (sock->input->size > 0) {
        if (gw_conn_is_busy(c, base_monotonic_ns()))
            wait_for_turn(h);
        else
            receive_in_turn(h);
    }
}

static void on_written(h2o_socket_t *sock, const char *err)
{
    struct gw_conn *c = sock->data;
    struct gw_http2 *h = c->protocol;
    h->is_writing = false;
    release_plain(h);
    if (err != NULL)
        close_now(h);
    else if (h->is_held && !gw_turn_waits(&c->turn))
        receive(h);
    else
        flush(h);
}

/* --- operations of the connection --------------------------------------------------------------
 */

static void run_deferred(struct gw_conn *c)
{
    flush(c->protocol);
}

static void run_again(struct gw_conn *c)
{
    receive_in_turn(c->protocol);
}

/* Notifies the peer, leaves its requests on the way a moment to arrive, then accepts no more. */
static void go_away(struct gw_http2 *h, uint64_t now_ns)
{
    int rc = 0;
    if (h->notice_ns == 0) {
        rc = nghttp2_submit_shutdown_notice(h->session);
        h->notice_ns = now_ns;
    } else if (!h->goaway_sent && now_ns - h->notice_ns > NOTICE_NS) {
        int32_t last = nghttp2_session_get_last_proc_stream_id(h->session);
        rc = nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
        h->goaway_sent = true;
    } else if (h->goaway_sent && h->stream_count == 0 && !h->is_writing &&
               nghttp2_session_want_write(h->session) == 0) {
        finish(h);
        return;
    }
    if (rc != 0)
        close_now(h);
    else
        flush(h);
}

/* Returns whether the peer fails to send the rest of its body, or to open its window for its
 * response. While memory is scarce it has less time for both. */
static bool is_stuck(struct gw_http2_stream *s, uint64_t now_ns)
{
    bool owes_body = !s->request_ended && s->unconsumed == 0;
    bool owes_window = s->has_submitted && s->ex.out_bytes > 0;
    uint64_t allowed_ns = s->ex.loop->all->stall_ns;
    if (base_memory_is_scarce(s->ex.memory) && allowed_ns > GW_SCARCE_STALL_NS)
        allowed_ns = GW_SCARCE_STALL_NS;
    if (!owes_body && !owes_window)
        s->progress_ns = now_ns;
    return now_ns > s->progress_ns + allowed_ns;
}

static void tick(struct gw_conn *c, uint64_t now_ns)
{
    struct gw_http2 *h = c->protocol;
    uint64_t head_ns = c->loop->all->head_ns;
    if (gw_conn_is_stalled(c, now_ns) ||
        (h->head_since_ns != 0 && now_ns > h->head_since_ns + head_ns) ||
        (!h->got_settings && now_ns > c->since_ns + head_ns)) {
        gw_conn_shut(c);
        return;
    }
    h->read_ns = now_ns;
    for (struct gw_http2_stream *s = h->streams; s != NULL; s = s->next) {
        int rc = 0;
        if (gw_http2_lingers_too_long(s, now_ns)) {
            rc = gw_http2_stop_request(s);
        } else if (is_stuck(s, now_ns)) {
            s->progress_ns = now_ns;
            rc = nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_CANCEL);
        }
        INVARIANT(rc == 0); /* it fails only for lack of memory */
    }
    bool is_idle = h->stream_count == 0 && now_ns > h->idle_since_ns + c->loop->all->idle_ns;
    if (is_idle || h->notice_ns != 0)
        go_away(h, now_ns);
    else
        flush(h);
}

static void drain(struct gw_conn *c, uint64_t now_ns)
{
    go_away(c->protocol, now_ns);
}

static void kill_streams(struct gw_conn *c)
{
    close_now(c->protocol);
}

/* Ends the connection. Requests in flight do not finish: GOAWAY says which requests were never
 * seen. */
static void end(struct gw_conn *c)
{
    struct gw_http2 *h = c->protocol;
    h->is_ended = true;
    if (nghttp2_session_terminate_session(h->session, NGHTTP2_NO_ERROR) != 0)
        close_now(h);
    else
        flush(h);
}

static uint64_t oldest_ns(const struct gw_conn *c)
{
    const struct gw_http2 *h = c->protocol;
    uint64_t oldest_ns = UINT64_MAX;
    for (const struct gw_http2_stream *s = h->streams; s != NULL; s = s->next)
        if (gw_http2_is_in_flight(s) && s->ex.received_ns < oldest_ns)
            oldest_ns = s->ex.received_ns;
    return oldest_ns;
}

static void free_protocol(struct gw_conn *c)
{
    struct gw_http2 *h = c->protocol;
    INVARIANT(h->session == NULL);
    release_plain(h); /* the socket is closed: a write that was in flight is over */
    base_free(h);
}

static const struct gw_conn_ops HTTP2_OPS = {
    .run_deferred = run_deferred,
    .run_again = run_again,
    .tick = tick,
    .drain = drain,
    .kill = kill_streams,
    .end = end,
    .oldest_ns = oldest_ns,
    .free_protocol = free_protocol,
};

static nghttp2_session *session_new(struct gw_http2 *h)
{
    nghttp2_session *session = NULL;
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    if (nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0) {
        gw_http2_set_callbacks(callbacks);
        nghttp2_option_set_no_auto_window_update(option, 1);
        nghttp2_option_set_stream_reset_rate_limit(option, RESET_BURST, RESET_RATE);
        nghttp2_option_set_max_continuations(option, CONTINUATIONS);
        nghttp2_option_set_max_outbound_ack(option, OUTBOUND_ACKS);
        if (nghttp2_session_server_new2(&session, callbacks, h, option) != 0)
            session = NULL;
    }
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return session;
}

void gw_http2_open(struct gw_conn *c)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, LIM_STREAMS_PER_CONN},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, GW_HTTP2_STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIM_HEAD_BYTES},
    };
    struct gw_http2 *h = base_new(sizeof *h);
    h->conn = c;
    c->protocol = h;
    c->ops = &HTTP2_OPS;
    h->read_ns = c->since_ns;
    h->idle_since_ns = c->since_ns;
    h->reset_refill_ns = c->since_ns;
    h->reset_tokens = GW_HTTP2_RESETS_BURST;
    h->ping_refill_ns = c->since_ns;
    h->ping_tokens = GW_HTTP2_PINGS_BURST;
    h->session = session_new(h);
    if (h->session == NULL ||
        nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings,
                                sizeof settings / sizeof settings[0]) != 0 ||
        nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0, GW_HTTP2_WINDOW) !=
            0) {
        nghttp2_session_del(h->session);
        h->session = NULL;
        gw_conn_close(c);
        return;
    }
    h2o_socket_read_start(c->sock, on_read);
    receive(h);
}

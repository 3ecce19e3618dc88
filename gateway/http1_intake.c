/*
 * Between the socket and h2o's parser. h2o requests bytes (gw_http1_h2o_reads, through the seam);
 * the gate reads instead, validates, and calls h2o's callback when there are bytes that h2o may
 * see.
 *
 * sock->input holds, in this order: bytes that h2o has seen, then - only while a request head is
 * not complete - bytes that h2o has not been notified of. Bytes after the current request go to
 * `held` and return, in a later iteration of the loop, when h2o requests bytes of the next request.
 * While something is held the socket is not read, so a client can make us keep at most the bytes of
 * one read. Input of a user that has used much of the loop's time waits in `fresh` for its
 * scheduling turn before the gate sees it.
 *
 *   READING --whole request--> BUSY --h2o reads again--> READING
 *   READING --refused--> REFUSING --written--> LINGERING --peer closed or time is up--> gone
 *
 * Refusing: we write the reply, and h2o closes: its callback is called as if the socket was closed,
 * upon which h2o frees its connection and closes the socket.
 */
#include <h2o.h>
#include <h2o/http1.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "gateway/http1_internal.h"
#include "gateway/http1_seam.h"
#include "gateway/problem.h"

#include "base/banned.h"

#define LINGER_NS         (2 * NS_PER_S)
#define REFUSAL_BYTES_MAX 2048
#define ANSWER_BYTES_MAX  (8 * KIB) /* besides its body */

/* Makes h2o free its connection and close the socket. */
static void close_by_h2o(struct gw_http1 *h)
{
    h2o_socket_cb reader = h->h2o_reader;
    if (reader == NULL) {
        gw_conn_shut(h->conn);
        return;
    }
    h->h2o_reader = NULL;
    h->conn->is_closing = true;
    gw_conn_retire(h->conn);
    reader(h->conn->sock, h2o_socket_error_closed);
}

/* --- refusing ----------------------------------------------------------------------------------
 */

/* Discards input: closing with unread input would reset the connection, and the reply would be
 * lost. */
static void on_linger_read(h2o_socket_t *sock, const char *err)
{
    struct gw_conn *c = sock->on_close.data;
    if (err != NULL)
        close_by_h2o(c->protocol);
    else
        h2o_buffer_consume(&sock->input, sock->input->size);
}

static void on_refusal_written(h2o_socket_t *sock, const char *err)
{
    struct gw_conn *c = sock->on_close.data;
    struct gw_http1 *h = c->protocol;
    if (err != NULL) {
        close_by_h2o(h);
        return;
    }
    h->phase = GW_HTTP1_LINGERING;
    h->linger_until_ns = base_monotonic_ns() + LINGER_NS;
    h2o_buffer_consume(&sock->input, sock->input->size);
    (void)shutdown(h2o_socket_get_fd(sock), SHUT_WR); /* ENOTCONN: the next read reports it */
    gw_http1_real_read_start(sock, on_linger_read);
}

static int problem_of(int status)
{
    switch (status) {
    case 413:
        return ERR_TOO_BIG;
    case 414:
        return GW_PROBLEM_TARGET;
    case 431:
        return GW_PROBLEM_HEADERS;
    case 503:
        return ERR_OVERLOADED;
    default:
        return ERR_INVALID;
    }
}

/* Sends reply's bytes, then nothing more on this connection. The request is over, but the
 * connection counts as busy until the peer has read the reply. */
static void reply_and_close(struct gw_http1 *h, struct buf *reply)
{
    h2o_socket_t *sock = h->conn->sock;
    h->phase = GW_HTTP1_REFUSING;
    gw_http1_real_read_stop(sock);
    /* The socket encrypts, and thereby copies, before h2o_socket_write returns. */
    h2o_iovec_t out = h2o_iovec_init(reply->ptr, reply->len);
    h2o_socket_write(sock, &out, 1, on_refusal_written);
    base_buf_fini(reply);
    gw_http1_request_end(h);
    gw_conn_mark(h->conn, GW_HELD_BUSY);
}

static void refuse(struct gw_http1 *h, int status, const char *detail)
{
    int problem = problem_of(status);
    gw_edge_head_refused(&h->conn->loop->counts, GW_EDGE_HTTP1, problem);
    struct buf body;
    struct buf reply;
    base_buf_init(&body, REFUSAL_BYTES_MAX / 2);
    base_buf_init(&reply, REFUSAL_BYTES_MAX);
    gw_problem_write(&body, problem, detail, NULL);
    (void)base_buf_printf(&reply,
                          "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\n"
                          "Connection: close\r\nContent-Length: %zu\r\n\r\n",
                          gw_problem_get(problem)->status, gw_problem_get(problem)->title,
                          body.len);
    (void)base_buf_append(&reply, base_buf_slice(&body)); /* latches */
    base_buf_fini(&body);
    reply_and_close(h, &reply);
}

/* Answers a request before its body has arrived. */
static void answer_early(struct gw_http1 *h)
{
    struct gw_exchange *ex = h->early;
    struct buf reply;
    size_t body_bytes = ex->out_bytes;
    base_buf_init(&reply, ANSWER_BYTES_MAX + body_bytes);
    (void)base_buf_printf(&reply, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: %zu\r\n",
                          ex->status, gw_http1_reason(ex->status), body_bytes); /* latches */
    for (size_t i = 0; i < ex->response_header_count; i++) {
        const struct gw_header *header = &ex->response_headers[i];
        (void)base_buf_printf(&reply, "%.*s: %.*s\r\n", SLICE_ARGS(header->name),
                              SLICE_ARGS(header->value)); /* latches */
    }
    (void)base_buf_append(&reply, SLICE_LIT("\r\n")); /* latches */
    if (base_buf_reserve(&reply, body_bytes) == ERR_OK) {
        gw_exchange_copy_out(ex, base_buf_end(&reply), body_bytes);
        reply.len += body_bytes;
    }
    if (reply.error != ERR_OK) {
        base_buf_fini(&reply);
        gw_conn_shut(h->conn);
        return;
    }
    reply_and_close(h, &reply);
}

/* --- letting bytes through ---------------------------------------------------------------------
 */

/* Counts the memory of a body that is still arriving: of the bytes so far, or at once of all of
 * them if the length is known. False: there is not enough. */
static bool take_body(struct gw_http1 *h)
{
    struct gw_exchange *ex = h->early;
    size_t expected = h->conn->sock->input->size;
    if (ex->content_length > 0)
        expected = h->gate.head_bytes + (size_t)ex->content_length;
    if (expected <= ex->charged)
        return true;
    if (!base_memory_take(ex->memory, expected - ex->charged))
        return false;
    ex->charged = expected;
    return true;
}

static bool is_early(const struct gw_http1 *h, enum gw_gate_verdict verdict)
{
    return verdict == GW_GATE_MORE && h->request == NULL;
}

/* Acts on the gate's verdict on the bytes in sock->input: refuses the request, or calls h2o if it
 * may see them. */
static void act_on(struct gw_http1 *h, enum gw_gate_verdict verdict)
{
    h2o_socket_t *sock = h->conn->sock;
    if (verdict == GW_GATE_REFUSED) {
        refuse(h, h->gate.status, h->gate.detail);
        return;
    }
    if (!h->gate.head_done)
        return;
    if (is_early(h, verdict))
        gw_http1_request_begin(h, base_slice(sock->input->bytes, h->gate.head_bytes));
    if (h->early != NULL && h->early->ended)
        return; /* the deferred run sends it */
    if (h->early != NULL && !take_body(h)) {
        refuse(h, 503, "the memory for request bodies is used up; retry later");
        return;
    }
    h->h2o_reader(sock, NULL);
}

static void note_input(struct gw_http1 *h)
{
    h->input_ns = base_monotonic_ns();
    if (h->begun_ns == 0)
        h->begun_ns = h->input_ns;
}

/* Passes fresh bytes through the gate; bytes of the current request stay in sock->input. */
static void take_fresh(struct gw_http1 *h)
{
    h2o_socket_t *sock = h->conn->sock;
    size_t fresh = h->fresh;
    h->fresh = 0;
    const char *first = sock->input->bytes + sock->input->size - fresh;
    size_t taken;
    enum gw_gate_verdict verdict = gw_http1_gate_feed(&h->gate, base_slice(first, fresh), &taken);
    if (verdict == GW_GATE_COMPLETE && taken < fresh) {
        if (base_buf_append(&h->held, base_slice(first + taken, fresh - taken)) != ERR_OK) {
            refuse(h, 503, "too many bytes were pipelined behind a request");
            return;
        }
        sock->input->size -= fresh - taken;
    }
    act_on(h, verdict);
}

/* Handles new bytes, which are the last of sock->input. Those of a line that uses much of the
 * loop's time wait. */
static void on_read(h2o_socket_t *sock, const char *err)
{
    struct gw_conn *c = sock->on_close.data;
    struct gw_http1 *h = c->protocol;
    if (err != NULL && h->fresh > 0) { /* the peer has sent all: it is reported again */
        gw_http1_real_read_stop(sock);
        return;
    }
    if (err != NULL) {
        close_by_h2o(h);
        return;
    }
    if (sock->bytes_read == 0) /* part of a TLS record */
        return;
    note_input(h);
    h->fresh += sock->bytes_read;
    if (gw_turn_waits(&c->turn) || gw_conn_is_busy(c, h->input_ns)) {
        gw_conn_again(c);
        if (h->fresh >= GW_FRESH_BYTES)
            gw_http1_real_read_stop(sock);
        return;
    }
    take_fresh(h);
    gw_conn_used(c, h->input_ns); /* closed or not: it is freed later */
}

/* Handles the bytes read so far, once the connection's scheduling turn has come. */
static void resume(struct gw_http1 *h)
{
    struct gw_conn *c = h->conn;
    uint64_t began_ns = base_monotonic_ns();
    if (!h2o_socket_is_reading(c->sock))
        gw_http1_real_read_start(c->sock, on_read);
    take_fresh(h);
    gw_conn_used(c, began_ns);
}

/* Passes held bytes to h2o's next request; reads on when the request needs more. */
static void pump(struct gw_http1 *h)
{
    h2o_socket_t *sock = h->conn->sock;
    struct slice bytes = base_slice_skip(base_buf_slice(&h->held), h->held_at);
    size_t taken;
    uint64_t began_ns = base_monotonic_ns();
    enum gw_gate_verdict verdict = gw_http1_gate_feed(&h->gate, bytes, &taken);
    note_input(h);
    h2o_iovec_t room = h2o_buffer_reserve(&sock->input, taken);
    INVARIANT(room.base != NULL); /* h2o aborts when memory is out */
    memcpy(room.base, bytes.ptr, taken);
    sock->input->size += taken;
    h->held_at += taken;
    if (taken == bytes.len) {
        base_buf_clear(&h->held);
        h->held_at = 0;
    }
    act_on(h, verdict);
    if (h->conn->sock != NULL && h->phase == GW_HTTP1_READING && h->held.len == 0)
        gw_http1_real_read_start(sock, on_read);
    gw_conn_used(h->conn, began_ns);
}

/* --- called by the seam ------------------------------------------------------------------------
 */

void gw_http1_h2o_reads(h2o_socket_t *sock, h2o_socket_cb h2o_reader)
{
    struct gw_conn *c = sock->on_close.data;
    struct gw_http1 *h = c->protocol;
    if (c->is_closing) { /* h2o is saying goodbye on the TLS layer */
        gw_http1_real_read_start(sock, h2o_reader);
        return;
    }
    h->h2o_reader = h2o_reader;
    h->phase = GW_HTTP1_READING;
    if (sock->input->size == 0) { /* a new request, not the rest of a body after 100 Continue */
        gw_http1_gate_init(&h->gate);
        h->begun_ns = 0;
        h->idle_since_ns = base_monotonic_ns();
    }
    if (h->early != NULL && h->early->ended)
        gw_conn_defer(c);
    if (h->held.len > 0)
        gw_conn_again(c); /* one request per iteration of the loop: other connections wait, too */
    else
        gw_http1_real_read_start(sock, on_read);
}

void gw_http1_h2o_stops(h2o_socket_t *sock)
{
    struct gw_conn *c = sock->on_close.data;
    struct gw_http1 *h = c->protocol;
    h->h2o_reader = NULL;
    if (h->phase == GW_HTTP1_READING)
        h->phase = GW_HTTP1_BUSY;
}

void gw_http1_socket_gone(void *data)
{
    gw_conn_socket_gone(data);
}

/* --- operations of the connection --------------------------------------------------------------
 */

static void run_deferred(struct gw_conn *c)
{
    struct gw_http1 *h = c->protocol;
    if (h->phase == GW_HTTP1_READING && h->h2o_reader != NULL) {
        if (h->early != NULL && h->early->ended)
            answer_early(h);
        else if (h->held.len > 0)
            pump(h);
        else if (h->fresh > 0 && !gw_turn_waits(&c->turn))
            resume(h);
    } else if (h->phase == GW_HTTP1_BUSY) {
        gw_http1_request_deferred(h);
    }
}

static bool is_too_slow(const struct gw_http1 *h, uint64_t now_ns)
{
    uint64_t grace_ns = h->conn->loop->all->head_ns;
    uint64_t age_ns = now_ns - h->begun_ns;
    if (!h->gate.head_done)
        return age_ns > grace_ns;
    uint64_t allowed_ns = grace_ns + h->conn->sock->input->size * NS_PER_S / GW_BODY_BYTES_PER_S;
    uint64_t stall_ns = h->conn->loop->all->stall_ns;
    bool is_scarce = h->early != NULL && base_memory_is_scarce(h->early->memory);
    if (is_scarce && stall_ns > GW_SCARCE_STALL_NS)
        stall_ns = GW_SCARCE_STALL_NS;
    return age_ns > allowed_ns || now_ns - h->input_ns > stall_ns;
}

static void tick(struct gw_conn *c, uint64_t now_ns)
{
    struct gw_http1 *h = c->protocol;
    if (gw_conn_is_stalled(c, now_ns)) {
        gw_conn_shut(c);
        return;
    }
    if (h->phase == GW_HTTP1_LINGERING) {
        if (now_ns > h->linger_until_ns)
            close_by_h2o(h);
    } else if (h->phase == GW_HTTP1_READING) {
        if (h->begun_ns == 0 ? now_ns - h->idle_since_ns > c->loop->all->idle_ns
                             : is_too_slow(h, now_ns))
            close_by_h2o(h);
    } else if (h->phase == GW_HTTP1_BUSY) {
        gw_http1_request_tick(h);
    }
}

static void drain(struct gw_conn *c, uint64_t now_ns)
{
    struct gw_http1 *h = c->protocol;
    (void)now_ns;
    if (h->phase == GW_HTTP1_READING && h->begun_ns == 0 && h->held.len == 0)
        close_by_h2o(h);
}

static void kill_handler(struct gw_conn *c)
{
    struct gw_http1 *h = c->protocol;
    if (h->request == NULL && h->phase == GW_HTTP1_READING)
        close_by_h2o(h); /* otherwise a request that is already in the socket would start */
    else
        gw_http1_request_kill(h);
}

/* Closes the connection like an idle one between requests; aborts a request in flight. */
static void end(struct gw_conn *c)
{
    struct gw_http1 *h = c->protocol;
    if (h->request == NULL && h->phase == GW_HTTP1_READING) {
        close_by_h2o(h);
        return;
    }
    gw_conn_shut(c);
    gw_http1_request_kill(h);
}

static uint64_t oldest_ns(const struct gw_conn *c)
{
    return gw_http1_request_since_ns(c->protocol);
}

static void free_protocol(struct gw_conn *c)
{
    struct gw_http1 *h = c->protocol;
    gw_http1_request_end(h);
    base_buf_fini(&h->held);
    base_free(h);
}

static const struct gw_conn_ops HTTP1_OPS = {
    .run_deferred = run_deferred,
    .run_again = run_deferred,
    .tick = tick,
    .drain = drain,
    .kill = kill_handler,
    .end = end,
    .oldest_ns = oldest_ns,
    .free_protocol = free_protocol,
};

void gw_http1_open(struct gw_conn *c)
{
    struct gw_http1 *h = base_new(sizeof *h);
    h2o_socket_t *sock = c->sock;
    h->conn = c;
    base_buf_init(&h->held, GW_HELD_BYTES);
    c->protocol = h;
    c->ops = &HTTP1_OPS;
    sock->on_close.cb = gw_http1_socket_gone;
    /* Bytes that came with the handshake must pass the gate like all others. */
    if (base_buf_append(&h->held, base_slice(sock->input->bytes, sock->input->size)) != ERR_OK) {
        gw_conn_close(c);
        return;
    }
    h2o_buffer_consume(&sock->input, sock->input->size);
    h2o_accept_ctx_t accept = {.ctx = &c->loop->h2o, .hosts = c->loop->all->config.hosts};
    h2o_http1_accept(&accept, sock, (struct timeval){.tv_sec = (time_t)(base_wall_us() / 1000000)});
}

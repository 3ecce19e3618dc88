/*
 * A connection is created with its descriptor and ends in two steps: h2o reports that the socket is
 * gone (gw_conn_socket_gone), and the structure is freed at the loop's next deferred run, so that
 * functions on the stack may still check c->sock == NULL.
 *
 *   handshake (HANDSHAKE_OPS) -> HTTP/1 or HTTP/2 by ALPN -> closing -> gone
 *   from a proxy: its header, then the same
 *   plaintext endpoint           -> HTTP/2                -> closing -> gone
 */
#define _GNU_SOURCE /* POLLRDHUP */
#include "gateway/connection.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "gateway/http1_seam.h"
#include "gateway/loop_internal.h"
#include "gateway/proxy_protocol.h"

#include "base/banned.h"

/* A line of connections is busy if it uses more than 1/LOOP_SHARE of a loop's time; it stays busy
 * for at most BUSY_NS_MAX after that. */
#define LOOP_SHARE  16
#define BUSY_NS_MAX (100 * NS_PER_MS)
#define NS_PER_US   1000ULL

/* Response to a client that speaks http:// on an https:// port, and the number of pieces of its
 * input that are read at most. */
#define PLAIN_HTTP_ANSWER                                                                          \
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"            \
    "This port speaks TLS, and got plain HTTP: use https:// instead of http://.\n"
#define PLAIN_HTTP_READS 16

static void release_tls(struct gw_conn *c)
{
    SSL_CTX_free(c->tls_context);
    c->tls_context = NULL;
}

void gw_conn_defer(struct gw_conn *c)
{
    if (c->is_deferred)
        return;
    c->is_deferred = true;
    c->next_deferred = c->loop->deferred;
    c->loop->deferred = c;
}

void gw_conn_again(struct gw_conn *c)
{
    gw_turns_enter(&c->loop->turns, c->line, &c->turn);
}

void gw_conn_act_for(struct gw_conn *c, const void *user)
{
    c->line = gw_turns_line(&c->loop->turns, user);
    gw_conn_hold_for(c, user);
}

/* --- events ------------------------------------------------------------------------------------
 *
 * When h2o checks a socket while a write is in flight, it polls the socket for writing, even if all
 * bytes were sent at once and only the callback has not been called yet, as after writes between
 * two runs. If such a poll reports an event and nothing waits for it any more, the process aborts.
 * So waiting callbacks are called before h2o checks its sockets. */

void gw_conn_end_writes(struct gw_loop *loop)
{
    h2o_timeout__do_post_callback(loop->evloop);
}

void gw_conn_run_events(struct gw_loop *loop, int32_t wait_ms)
{
    if (h2o_evloop_run(loop->evloop, wait_ms) != 0)
        INVARIANT(errno == EINTR); /* otherwise epoll has lost sockets: nothing works any more */
}

/* Runs the connections that wait now, for at most LIM_TURN_US, because other sockets may be
 * readable. */
void gw_conn_run_again(struct gw_loop *loop)
{
    uint64_t until_ns = base_monotonic_ns() + LIM_TURN_US * NS_PER_US;
    for (size_t n = loop->turns.waiting; n > 0 && base_monotonic_ns() < until_ns; n--) {
        struct gw_turn *turn = gw_turns_take(&loop->turns);
        if (turn == NULL)
            return; /* the others were closed in the meantime */
        struct gw_conn *c = BASE_LIST_ITEM(turn, struct gw_conn, turn);
        c->ops->run_again(c);
    }
}

void gw_conn_used(struct gw_conn *c, uint64_t began_ns)
{
    struct gw_line *line = c->line;
    uint64_t now_ns = base_monotonic_ns();
    uint64_t from_ns = line->busy_until_ns > began_ns ? line->busy_until_ns : began_ns;
    uint64_t until_ns = from_ns + (now_ns - began_ns) * LOOP_SHARE;
    line->busy_until_ns = until_ns < now_ns + BUSY_NS_MAX ? until_ns : now_ns + BUSY_NS_MAX;
}

bool gw_conn_is_busy(const struct gw_conn *c, uint64_t now_ns)
{
    return now_ns < c->line->busy_until_ns;
}

void gw_conn_socket_gone(void *data)
{
    struct gw_conn *c = data;
    INVARIANT(c->sock != NULL);
    c->sock = NULL;
    gw_turns_leave(&c->loop->turns, &c->turn);
    gw_conn_retire(c);
    base_list_remove(&c->held.link); /* from loop->retired */
    if (c->is_counted)
        gw_address_leave(&c->loop->all->addresses, c->address);
    *c->link = c->next;
    if (c->next != NULL)
        c->next->link = c->link;
    atomic_fetch_sub_explicit(&c->loop->connections, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&c->loop->all->connections, 1, memory_order_relaxed);
    gw_conn_defer(c);
}

static void conn_free(struct gw_conn *c)
{
    release_tls(c);
    if (c->protocol != NULL)
        c->ops->free_protocol(c);
    base_free(c);
}

void gw_conn_run_deferred(struct gw_loop *loop)
{
    while (loop->deferred != NULL) {
        struct gw_conn *c = loop->deferred;
        loop->deferred = c->next_deferred;
        c->is_deferred = false;
        if (c->sock == NULL) {
            conn_free(c);
        } else if (!c->is_closing) {
            c->ops->run_deferred(c);
        }
    }
}

void gw_conn_close(struct gw_conn *c)
{
    if (c->sock == NULL || c->is_closing)
        return;
    c->is_closing = true;
    gw_conn_retire(c);
    gw_turns_leave(&c->loop->turns, &c->turn);
    h2o_socket_close(c->sock);
}

void gw_conn_shut(struct gw_conn *c)
{
    if (c->sock != NULL)
        (void)shutdown(h2o_socket_get_fd(c->sock), SHUT_RDWR); /* ENOTCONN: broken already */
}

bool gw_conn_peer_left(const struct gw_conn *c)
{
    struct pollfd p = {.fd = h2o_socket_get_fd(c->sock), .events = POLLRDHUP};
    return poll(&p, 1, 0) == 1;
}

bool gw_conn_is_sending(const struct gw_conn *c)
{
    int bytes = 0; /* stays 0 when the connection is broken */
    (void)ioctl(h2o_socket_get_fd(c->sock), SIOCOUTQ, &bytes);
    return h2o_socket_is_writing(c->sock) || bytes > 0;
}

bool gw_conn_is_stalled(struct gw_conn *c, uint64_t now_ns)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof info;
    if (!gw_conn_is_sending(c)) {
        c->progress_ns = now_ns;
        return false;
    }
    if (getsockopt(h2o_socket_get_fd(c->sock), IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
        info.tcpi_bytes_acked != c->acked_bytes) {
        uint64_t bytes = info.tcpi_bytes_acked - c->acked_bytes;
        uint64_t worth_ns = bytes * NS_PER_S / GW_BODY_BYTES_PER_S; /* at the least speed */
        bool is_more = now_ns - c->progress_ns > worth_ns;
        c->acked_bytes = info.tcpi_bytes_acked;
        c->progress_ns = is_more ? c->progress_ns + worth_ns : now_ns;
    }
    return now_ns - c->progress_ns > c->loop->all->stall_ns;
}

static void peer_write(struct gw_conn *c, const struct sockaddr *address, socklen_t len)
{
    c->has_peer = true;
    if (len == 0 ||
        getnameinfo(address, len, c->peer, sizeof c->peer, NULL, 0, NI_NUMERICHOST) != 0)
        c->peer[0] = '\0';
}

const char *gw_conn_peer(struct gw_conn *c)
{
    struct sockaddr_storage address = {0};
    if (c->has_peer)
        return c->peer;
    socklen_t len = h2o_socket_getpeername(c->sock, (struct sockaddr *)&address);
    peer_write(c, (struct sockaddr *)&address, len);
    return c->peer;
}

/* --- handshake ---------------------------------------------------------------------------------
 */

static void handshake_nothing(struct gw_conn *c)
{
    (void)c;
}

static void handshake_tick(struct gw_conn *c, uint64_t now_ns)
{
    if (now_ns - c->since_ns <= c->loop->all->head_ns || c->is_too_slow)
        return;
    c->is_too_slow = true;
    gw_edge_count(&c->loop->counts, GW_EDGE_TLS_SLOW);
    gw_conn_shut(c);
}

enum gw_edge_count gw_conn_look_at(struct gw_loop *loop, const struct sockaddr *from)
{
    struct gw_loops *all = loop->all;
    const struct gw_address_limits *limits = &all->options.per_address;
    struct gw_address_slots address = gw_address_slots_of(from);
    if (!gw_address_is_limited(limits, from))
        return GW_EDGE_COUNT;
    if (limits->connections > 0 &&
        gw_address_connections(&all->addresses, address) >= limits->connections)
        return GW_EDGE_ADDRESS;
    return gw_address_may_shake_hands(&all->addresses, address, base_monotonic_ns())
               ? GW_EDGE_COUNT
               : GW_EDGE_HANDSHAKES;
}

static void handshake_drain(struct gw_conn *c, uint64_t now_ns)
{
    (void)now_ns;
    gw_conn_shut(c);
}

static const struct gw_conn_ops HANDSHAKE_OPS = {
    .run_deferred = handshake_nothing,
    .run_again = handshake_nothing,
    .tick = handshake_tick,
    .drain = handshake_drain,
    .kill = handshake_nothing,
    .free_protocol = handshake_nothing,
};

/* Returns whether OpenSSL saw a request of HTTP/1 in place of a handshake. Empties its error
 * queue. */
static bool was_plain_http(void)
{
    bool found = false;
    unsigned long code;
    while ((code = ERR_get_error()) != 0)
        found = found ||
                (ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_HTTP_REQUEST);
    return found;
}

/* Answers a plain HTTP request. Nothing was sent before, so the response fits into the socket's
 * buffer. Reads and discards the client's remaining input, because closing a socket with unread
 * input resets the connection, and the response is lost. */
static void answer_plain_http(struct gw_conn *c)
{
    char rest[4 * KIB];
    int fd = h2o_socket_get_fd(c->sock);
    /* A client that is gone already gets nothing. */
    (void)send(fd, PLAIN_HTTP_ANSWER, sizeof PLAIN_HTTP_ANSWER - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)shutdown(fd, SHUT_WR);
    for (int i = 0; i < PLAIN_HTTP_READS && recv(fd, rest, sizeof rest, MSG_DONTWAIT) > 0; i++) {
    }
}

static void on_handshake(h2o_socket_t *sock, const char *err)
{
    struct gw_conn *c = sock->data;
    release_tls(c);
    if (err != NULL || c->loop->is_draining || c->is_retired) {
        if (!c->is_too_slow && !c->loop->is_draining)
            gw_edge_count(&c->loop->counts, GW_EDGE_TLS);
        if (was_plain_http())
            answer_plain_http(c);
        gw_conn_close(c);
        return;
    }
    c->since_ns = base_monotonic_ns();
    c->progress_ns = c->since_ns;
    if (!gw_room_enter(c)) {
        gw_conn_close(c);
        return;
    }
    h2o_iovec_t protocol = h2o_socket_ssl_get_selected_protocol(sock);
    if (base_slice_is(base_slice(protocol.base, protocol.len), "h2"))
        gw_http2_open(c);
    else
        gw_http1_open(c);
}

static void handshake_begin(struct gw_conn *c)
{
    c->tls_context = gw_tls_current(c->loop->all->options.tls);
    h2o_socket_ssl_handshake(c->sock, c->tls_context, NULL, on_handshake);
}

/* --- connections from a proxy ------------------------------------------------------------------
 *
 * The header is the first part of the input; the bytes after it stay there for the handshake. */

/* Stores the client's address as the peer; an IPv4 address in IPv4 form. */
static void proxied_peer_write(struct gw_conn *c, const struct sockaddr_in6 *peer)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    if (!IN6_IS_ADDR_V4MAPPED(&peer->sin6_addr)) {
        peer_write(c, (const struct sockaddr *)peer, sizeof *peer);
        return;
    }
    memcpy(&v4.sin_addr, peer->sin6_addr.s6_addr + 12, sizeof v4.sin_addr);
    peer_write(c, (const struct sockaddr *)&v4, sizeof v4);
}

/* Admits the connection by its client's address. The proxy's own connections, its health checks,
 * have no limits. */
static bool proxied_admit(struct gw_conn *c, const struct gw_proxy_header *header)
{
    const struct sockaddr *peer = (const struct sockaddr *)&header->peer;
    if (header->peer.sin6_family == 0)
        return true;
    proxied_peer_write(c, &header->peer);
    enum gw_edge_count why = gw_conn_look_at(c->loop, peer);
    if (why != GW_EDGE_COUNT) {
        gw_edge_count(&c->loop->counts, why);
        return false;
    }
    c->address = gw_address_slots_of(peer);
    c->is_counted = true;
    gw_held_enter(&c->loop->holders, &c->held,
                  gw_holders_of_address(&c->loop->holders, c->address));
    gw_address_enter(&c->loop->all->addresses, c->address);
    return true;
}

static void on_proxy_bytes(h2o_socket_t *sock, const char *err)
{
    struct gw_conn *c = sock->data;
    struct gw_proxy_header header = {.bytes = 0};
    if (err != NULL || c->is_retired) { /* bytes from before a shutdown are still read */
        gw_conn_close(c);
        return;
    }
    switch (gw_proxy_parse(base_slice(sock->input->bytes, sock->input->size), &header)) {
    case GW_PROXY_MORE:
        return;
    case GW_PROXY_BAD:
        gw_edge_count(&c->loop->counts, GW_EDGE_PROXY);
        gw_conn_close(c);
        return;
    case GW_PROXY_DONE:
        break;
    }
    if (!proxied_admit(c, &header)) {
        gw_conn_close(c);
        return;
    }
    h2o_socket_read_stop(sock);
    h2o_buffer_consume(&sock->input, header.bytes);
    handshake_begin(c);
}

void gw_conn_open(struct gw_loop *loop, const struct gw_accepted *accepted)
{
    struct gw_conn *c = base_new(sizeof *c);
    c->loop = loop;
    c->line = &c->own_line;
    c->ops = &HANDSHAKE_OPS;
    c->endpoint = accepted->endpoint;
    c->address = accepted->address;
    c->is_counted = !accepted->is_of_proxy;
    c->since_ns = base_monotonic_ns();
    c->progress_ns = c->since_ns;
    c->next = loop->conns;
    c->link = &loop->conns;
    if (c->next != NULL)
        c->next->link = &c->next;
    loop->conns = c;
    c->sock = h2o_evloop_socket_create(loop->evloop, accepted->fd,
                                       H2O_SOCKET_FLAG_IS_ACCEPTED_CONNECTION);
    c->sock->data = c;
    c->sock->on_close.cb = gw_conn_socket_gone;
    c->sock->on_close.data = c;
    gw_held_enter(&loop->holders, &c->held, gw_holders_of_address(&loop->holders, c->address));
    if (accepted->endpoint == GW_ENDPOINT_PLAIN) {
        if (gw_room_enter(c))
            gw_http2_open(c);
        else
            gw_conn_close(c);
        return;
    }
    if (accepted->is_of_proxy)
        h2o_socket_read_start(c->sock, on_proxy_bytes);
    else
        handshake_begin(c);
}

/*
 * A connection is born with its descriptor and dies twice: h2o tells that the socket is gone
 * (gw_conn_socket_gone), and the structure is freed at the loop's next deferred run, so that
 * whoever is on the stack may still look at c->sock == NULL.
 *
 *   handshake (HANDSHAKE_OPS) -> HTTP/1 or HTTP/2 by ALPN -> closing -> gone
 *   plaintext endpoint           -> HTTP/2                -> closing -> gone
 */
#include "gateway/connection.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <sys/ioctl.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "gateway/http1_seam.h"
#include "gateway/loop_internal.h"

#include "base/banned.h"

/* Above this share of LIM_CONNECTIONS idle connections have to go sooner. */
#define CROWDED_CONNECTIONS (LIM_CONNECTIONS / 5 * 4)
#define CROWDED_IDLE_NS     (5 * NS_PER_S)
/* A connection is busy that has more than one part in so many of a loop's time; for at most so long
 * after it was. */
#define LOOP_SHARE  16
#define BUSY_NS_MAX (100 * NS_PER_MS)
#define NS_PER_US   1000ULL

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
    struct gw_loop *loop = c->loop;
    if (c->again_link != NULL)
        return;
    c->next_again = NULL;
    c->again_link = loop->last_again;
    *loop->last_again = c;
    loop->last_again = &c->next_again;
}

static void leave_again(struct gw_conn *c)
{
    if (c->again_link == NULL)
        return;
    *c->again_link = c->next_again;
    if (c->next_again != NULL)
        c->next_again->again_link = c->again_link;
    else
        c->loop->last_again = c->again_link;
    c->again_link = NULL;
}

/* --- events ------------------------------------------------------------------------------------
 *
 * h2o polls a socket for writing when it looks at it while a write is under way, be it that all
 * bytes left at once and only the callback was not called yet: so it is of writes that were made
 * between two runs. An event of such a poll, when nobody waits for it any more, aborts the process.
 * So callbacks that wait are called before h2o looks. */

void gw_conn_end_writes(struct gw_loop *loop)
{
    h2o_timeout__do_post_callback(loop->evloop);
}

void gw_conn_run_events(struct gw_loop *loop, int32_t wait_ms)
{
    if (h2o_evloop_run(loop->evloop, wait_ms) != 0)
        INVARIANT(errno == EINTR); /* else epoll has lost sockets: nothing works any more */
}

/* Each at most once, and not for longer than a turn may take: sockets of others may be readable. */
void gw_conn_run_again(struct gw_loop *loop)
{
    struct gw_conn **end = loop->last_again;
    uint64_t until_ns = base_monotonic_ns() + LIM_TURN_US * NS_PER_US;
    bool is_last = false;
    while (loop->first_again != NULL && !is_last && base_monotonic_ns() < until_ns) {
        struct gw_conn *c = loop->first_again;
        is_last = &c->next_again == end;
        leave_again(c);
        c->ops->run_again(c);
    }
}

void gw_conn_used(struct gw_conn *c, uint64_t began_ns)
{
    uint64_t now_ns = base_monotonic_ns();
    uint64_t from_ns = c->busy_until_ns > began_ns ? c->busy_until_ns : began_ns;
    uint64_t until_ns = from_ns + (now_ns - began_ns) * LOOP_SHARE;
    c->busy_until_ns = until_ns < now_ns + BUSY_NS_MAX ? until_ns : now_ns + BUSY_NS_MAX;
}

bool gw_conn_is_busy(const struct gw_conn *c, uint64_t now_ns)
{
    return now_ns < c->busy_until_ns;
}

void gw_conn_socket_gone(void *data)
{
    struct gw_conn *c = data;
    INVARIANT(c->sock != NULL);
    c->sock = NULL;
    leave_again(c);
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
    leave_again(c);
    h2o_socket_close(c->sock);
}

void gw_conn_shut(struct gw_conn *c)
{
    if (c->sock != NULL)
        (void)shutdown(h2o_socket_get_fd(c->sock), SHUT_RDWR); /* ENOTCONN: broken already */
}

bool gw_conn_is_sending(const struct gw_conn *c)
{
    int bytes = 0; /* stays so when the connection is broken */
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
        c->acked_bytes = info.tcpi_bytes_acked;
        c->progress_ns = now_ns;
    }
    return now_ns - c->progress_ns > c->loop->all->stall_ns;
}

const char *gw_conn_peer(struct gw_conn *c)
{
    struct sockaddr_storage address = {0};
    if (c->has_peer)
        return c->peer;
    c->has_peer = true;
    socklen_t len = h2o_socket_getpeername(c->sock, (struct sockaddr *)&address);
    if (len == 0 || getnameinfo((struct sockaddr *)&address, len, c->peer, sizeof c->peer, NULL, 0,
                                NI_NUMERICHOST) != 0)
        c->peer[0] = '\0';
    return c->peer;
}

uint64_t gw_conn_idle_ns(const struct gw_conn *c)
{
    size_t all = atomic_load_explicit(&c->loop->all->connections, memory_order_relaxed);
    uint64_t usual_ns = c->loop->all->idle_ns;
    return all > CROWDED_CONNECTIONS && usual_ns > CROWDED_IDLE_NS ? CROWDED_IDLE_NS : usual_ns;
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

static void on_handshake(h2o_socket_t *sock, const char *err)
{
    struct gw_conn *c = sock->data;
    release_tls(c);
    if (err != NULL || c->loop->is_draining) {
        if (!c->is_too_slow && !c->loop->is_draining)
            gw_edge_count(&c->loop->counts, GW_EDGE_TLS);
        ERR_clear_error();
        gw_conn_close(c);
        return;
    }
    c->since_ns = base_monotonic_ns();
    c->progress_ns = c->since_ns;
    h2o_iovec_t protocol = h2o_socket_ssl_get_selected_protocol(sock);
    if (base_slice_is(base_slice(protocol.base, protocol.len), "h2"))
        gw_http2_open(c);
    else
        gw_http1_open(c);
}

void gw_conn_open(struct gw_loop *loop, int fd, enum gw_endpoint_id endpoint)
{
    struct gw_conn *c = base_new(sizeof *c);
    c->loop = loop;
    c->ops = &HANDSHAKE_OPS;
    c->endpoint = endpoint;
    c->since_ns = base_monotonic_ns();
    c->progress_ns = c->since_ns;
    c->next = loop->conns;
    c->link = &loop->conns;
    if (c->next != NULL)
        c->next->link = &c->next;
    loop->conns = c;
    c->sock = h2o_evloop_socket_create(loop->evloop, fd, H2O_SOCKET_FLAG_IS_ACCEPTED_CONNECTION);
    c->sock->data = c;
    c->sock->on_close.cb = gw_conn_socket_gone;
    c->sock->on_close.data = c;
    if (endpoint == GW_ENDPOINT_PLAIN) {
        gw_http2_open(c);
        return;
    }
    c->tls_context = gw_tls_current(loop->all->options.tls);
    h2o_socket_ssl_handshake(c->sock, c->tls_context, NULL, on_handshake);
}

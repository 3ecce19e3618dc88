/*
 * A connection is born with its descriptor and dies twice: h2o tells that the socket is gone
 * (gw_conn_socket_gone), and the structure is freed at the loop's next deferred run, so that
 * whoever is on the stack may still look at c->sock == NULL.
 *
 *   handshake (HANDSHAKE_OPS) -> HTTP/1 or HTTP/2 by ALPN -> closing -> gone
 *   plaintext endpoint           -> HTTP/2                -> closing -> gone
 */
#include "gateway/connection.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <sys/ioctl.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "gateway/loop_internal.h"

#include "base/banned.h"

/* Above this share of LIM_CONNECTIONS idle connections have to go sooner. */
#define CROWDED_CONNECTIONS (LIM_CONNECTIONS / 5 * 4)
#define CROWDED_IDLE_NS     (5 * NS_PER_S)

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

void gw_conn_socket_gone(void *data)
{
    struct gw_conn *c = data;
    INVARIANT(c->sock != NULL);
    c->sock = NULL;
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
        if (c->sock == NULL)
            conn_free(c);
        else if (!c->is_closing)
            c->ops->run_deferred(c);
    }
}

void gw_conn_close(struct gw_conn *c)
{
    if (c->sock == NULL || c->is_closing)
        return;
    c->is_closing = true;
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
    if (now_ns - c->since_ns > c->loop->all->head_ns)
        gw_conn_shut(c);
}

static void handshake_drain(struct gw_conn *c, uint64_t now_ns)
{
    (void)now_ns;
    gw_conn_shut(c);
}

static const struct gw_conn_ops HANDSHAKE_OPS = {
    .run_deferred = handshake_nothing,
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

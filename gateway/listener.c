/*
 * Every loop has its own SO_REUSEPORT socket, so all of them accept; but a connection is handed to
 * the loop that has the fewest, because the kernel's hash spreads a handful of busy HTTP/2
 * connections badly. The descriptor is passed in a message.
 *
 * At the descriptor limit a listener stays readable for ever: then it is not polled for a while,
 * and one pending connection is refused with the help of the spare descriptor. Options that
 * accepted sockets inherit are set on the listener.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "gateway/loop_internal.h"
#include "gateway/proxy_protocol.h"

#include "base/banned.h"

#define BACKLOG            4096
#define ACCEPTS_PER_EVENT  64
#define ACCEPTS_WHEN_FULL  8
#define ACCEPT_BACK_OFF_NS (200 * NS_PER_MS)
/* Kernel memory for output that a slow reader has not received. */
#define NOT_SENT_YET_BYTES (128 * 1024)

struct handed_over {
    struct base_msg msg;
    struct gw_loop *loop;
    struct gw_accepted accepted;
};

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static enum err parse_address(const char *host, uint16_t port, union address *out, socklen_t *len,
                              struct errbuf *eb)
{
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, host, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons(port);
        *len = sizeof out->v4;
        return ERR_OK;
    }
    if (inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons(port);
        *len = sizeof out->v6;
        return ERR_OK;
    }
    return base_fail(eb, ERR_INVALID, "listen address %s is not a numeric IP address", host);
}

static bool set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value) == 0;
}

static enum err cannot_listen(const struct gw_loops *all, enum gw_endpoint_id id, struct errbuf *eb)
{
    return base_fail(eb, ERR_IO, "cannot listen on %s port %u: %m", all->options.endpoints[id].host,
                     all->ports[id]);
}

/* Opens one listening socket. share: it shares the port with the sockets of the other loops.
 * Without share, bind fails when another process listens there. */
static enum err bind_one(const struct gw_loops *all, enum gw_endpoint_id id, bool share,
                         int *out_fd, struct errbuf *eb)
{
    union address address;
    socklen_t len = 0;
    enum err e = parse_address(all->options.endpoints[id].host, all->ports[id], &address, &len, eb);
    if (e != ERR_OK)
        return e;
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return base_fail(eb, ERR_IO, "cannot make a socket: %m");
    bool is_set = set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
                  (!share || set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1)) &&
                  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1) &&
                  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)(all->stall_ns / NS_PER_MS)) &&
                  set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, NOT_SENT_YET_BYTES);
    if (!is_set || bind(fd, &address.any, len) != 0) {
        e = cannot_listen(all, id, eb);
        (void)close(fd); /* nothing was written to it */
        return e;
    }
    *out_fd = fd;
    return ERR_OK;
}

static uint16_t port_of(int fd)
{
    union address address = {0};
    socklen_t len = sizeof address;
    if (getsockname(fd, &address.any, &len) != 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
}

static enum err bind_endpoint(struct gw_loops *all, enum gw_endpoint_id id, struct errbuf *eb)
{
    all->ports[id] = all->options.endpoints[id].port;
    if (all->ports[id] != 0) {
        int probe;
        enum err e = bind_one(all, id, false, &probe, eb);
        if (e != ERR_OK)
            return e;
        (void)close(probe); /* it could be bound, and nothing more was to be checked */
    }
    for (int i = 0; i < all->count; i++) {
        struct gw_listener *listener = &all->loops[i].listeners[id];
        enum err e = bind_one(all, id, true, &listener->fd, eb);
        if (e == ERR_OK && listen(listener->fd, BACKLOG) != 0)
            e = cannot_listen(all, id, eb);
        if (e != ERR_OK)
            return e;
        if (all->ports[id] == 0)
            all->ports[id] = port_of(listener->fd);
    }
    return ERR_OK;
}

enum err gw_listeners_bind(struct gw_loops *all, struct errbuf *eb)
{
    enum err e = ERR_OK;
    for (int i = 0; i < GW_ENDPOINT_COUNT && e == ERR_OK; i++)
        if (all->options.endpoints[i].host != NULL)
            e = bind_endpoint(all, (enum gw_endpoint_id)i, eb);
    return e;
}

/* --- accepting ---------------------------------------------------------------------------------
 */

static bool is_full(const struct gw_loops *all)
{
    return atomic_load_explicit(&all->established, memory_order_relaxed) >=
           all->options.connections_max;
}

static struct gw_loop *least_busy(struct gw_loop *self)
{
    struct gw_loops *all = self->all;
    struct gw_loop *best = self;
    size_t fewest = atomic_load_explicit(&self->connections, memory_order_relaxed);
    for (int i = 0; i < all->count; i++) {
        size_t n = atomic_load_explicit(&all->loops[i].connections, memory_order_relaxed);
        if (n < fewest) {
            fewest = n;
            best = &all->loops[i];
        }
    }
    return best;
}

static void accepted_drop(struct gw_loop *loop, const struct gw_accepted *accepted)
{
    (void)close(accepted->fd); /* never used */
    if (!accepted->is_of_proxy)
        gw_address_leave(&loop->all->addresses, accepted->address);
    atomic_fetch_sub_explicit(&loop->connections, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&loop->all->connections, 1, memory_order_relaxed);
}

static void open_or_close(struct gw_loop *loop, const struct gw_accepted *accepted)
{
    if (!loop->is_draining && (!accepted->must_make_room || gw_room_greet(loop, accepted))) {
        gw_conn_open(loop, accepted);
        return;
    }
    if (!loop->is_draining)
        gw_edge_count(&loop->counts, GW_EDGE_CONNECTIONS);
    accepted_drop(loop, accepted);
}

static void on_handed_over(struct base_msg *msg)
{
    struct handed_over *h = (struct handed_over *)msg;
    open_or_close(h->loop, &h->accepted);
    base_free(h);
}

static void distribute(struct gw_loop *self, int fd, enum gw_endpoint_id endpoint,
                       const struct sockaddr *from)
{
    struct gw_loops *all = self->all;
    struct gw_accepted accepted = {.fd = fd,
                                   .endpoint = endpoint,
                                   .address = gw_address_slots_of(from),
                                   .is_of_proxy = endpoint == GW_ENDPOINT_TLS &&
                                                  gw_proxy_nets_have(all->options.proxies, from)};
    gw_edge_count(&self->counts, GW_EDGE_ACCEPTED);
    enum gw_edge_count why = accepted.is_of_proxy ? GW_EDGE_COUNT : gw_conn_look_at(self, from);
    if (why != GW_EDGE_COUNT) {
        gw_edge_count(&self->counts, why);
        (void)close(fd); /* never used */
        return;
    }
    if (!accepted.is_of_proxy)
        gw_address_enter(&all->addresses, accepted.address);
    size_t spare = gw_loops_spare(all->options.connections_max);
    size_t full = all->options.connections_max + spare;
    size_t before = atomic_fetch_add_explicit(&all->connections, 1, memory_order_relaxed);
    accepted.must_make_room = before >= full;
    struct gw_loop *target = accepted.must_make_room || is_full(all)
                                 ? gw_room_loop(self, accepted.must_make_room)
                                 : least_busy(self);
    atomic_fetch_add_explicit(&target->connections, 1, memory_order_relaxed);
    if (before >= full + spare) {
        gw_edge_count(&self->counts, GW_EDGE_CONNECTIONS);
        accepted_drop(target, &accepted);
        return;
    }
    if (target == self) {
        open_or_close(self, &accepted);
        return;
    }
    struct handed_over *h = base_new(sizeof *h);
    *h = (struct handed_over){.msg.run = on_handed_over, .loop = target, .accepted = accepted};
    base_mailbox_push(&target->mailbox, &h->msg);
}

static void back_off(struct gw_listener *listener, int why)
{
    struct gw_loop *loop = listener->loop;
    if (loop->spare_fd >= 0) {
        (void)close(loop->spare_fd); /* /dev/null */
        int fd = accept4(h2o_socket_get_fd(listener->sock), NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            gw_edge_count(&loop->counts, GW_EDGE_ACCEPTED);
            gw_edge_count(&loop->counts, GW_EDGE_DESCRIPTORS);
            (void)close(fd); /* refused */
        }
        loop->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    h2o_socket_read_stop(listener->sock);
    loop->accept_again_ns = base_monotonic_ns() + ACCEPT_BACK_OFF_NS;
    base_log(BASE_LOG_WARN, "accept_paused", "reason=\"%s\" connections=%zu", strerror(why),
             atomic_load_explicit(&loop->all->connections, memory_order_relaxed));
}

/* Returns how many connections to accept per event. Connections that give way close their
 * descriptors only after this event. */
static int accepts_in_a_row(const struct gw_loops *all)
{
    return atomic_load_explicit(&all->connections, memory_order_relaxed) >=
                   all->options.connections_max
               ? ACCEPTS_WHEN_FULL
               : ACCEPTS_PER_EVENT;
}

static void on_accept(h2o_socket_t *sock, const char *err)
{
    struct gw_listener *listener = sock->data;
    (void)err; /* DONT_READ sockets report none; accept4 does */
    for (int i = 0; i < accepts_in_a_row(listener->loop->all); i++) {
        struct sockaddr_storage from = {0};
        socklen_t len = sizeof from;
        int fd = accept4(h2o_socket_get_fd(sock), (struct sockaddr *)&from, &len,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            distribute(listener->loop, fd, listener->endpoint, (const struct sockaddr *)&from);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            back_off(listener, errno);
        else if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO)
            continue;
        return;
    }
}

void gw_listeners_open(struct gw_loop *loop)
{
    loop->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < GW_ENDPOINT_COUNT; i++) {
        struct gw_listener *listener = &loop->listeners[i];
        if (listener->fd < 0)
            continue;
        listener->sock =
            h2o_evloop_socket_create(loop->evloop, listener->fd, H2O_SOCKET_FLAG_DONT_READ);
        listener->fd = -1;
        listener->sock->data = listener;
        h2o_socket_read_start(listener->sock, on_accept);
    }
}

void gw_listeners_close(struct gw_loop *loop)
{
    for (int i = 0; i < GW_ENDPOINT_COUNT; i++) {
        if (loop->listeners[i].sock != NULL)
            h2o_socket_close(loop->listeners[i].sock);
        loop->listeners[i].sock = NULL;
    }
    loop->accept_again_ns = 0;
    if (loop->spare_fd >= 0)
        (void)close(loop->spare_fd); /* /dev/null */
    loop->spare_fd = -1;
}

void gw_listeners_tick(struct gw_loop *loop, uint64_t now_ns)
{
    if (loop->accept_again_ns == 0 || now_ns < loop->accept_again_ns)
        return;
    loop->accept_again_ns = 0;
    for (int i = 0; i < GW_ENDPOINT_COUNT; i++)
        if (loop->listeners[i].sock != NULL)
            h2o_socket_read_start(loop->listeners[i].sock, on_accept);
}

/*
 * Every loop has its own SO_REUSEPORT socket, so all of them accept; but a connection is given to
 * the loop that has the fewest, because the kernel's hash spreads a handful of busy HTTP/2
 * connections badly. The descriptor travels in a message.
 *
 * At the descriptor limit a listener stays readable for ever: it is not watched for a while then,
 * and one pending connection is refused by way of the spare descriptor. Options that accepted
 * sockets inherit are set on the listener.
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

#include "base/banned.h"

#define BACKLOG            4096
#define ACCEPTS_PER_EVENT  64
#define ACCEPT_BACK_OFF_NS (200 * NS_PER_MS)
#define NOT_SENT_YET_BYTES                                                                         \
    (128 * 1024) /* of kernel memory for what a slow reader has not taken                          \
                  */

struct handed_over {
    struct base_msg msg;
    struct gw_loop *loop;
    int fd;
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

/* share: with the sockets of the other loops. Without, bind fails when anybody listens there. */
static enum err bind_one(const struct gw_loops *all, bool share, int *out_fd, struct errbuf *eb)
{
    const struct gw_loop_options *o = &all->options;
    union address address;
    socklen_t len = 0;
    enum err e = parse_address(o->listen_host, all->port, &address, &len, eb);
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
        e = base_fail(eb, ERR_IO, "cannot listen on %s port %u: %m", o->listen_host, all->port);
        (void)close(fd); /* nothing was written to it */
        return e;
    }
    *out_fd = fd;
    return ERR_OK;
}

static uint16_t port_of(int fd)
{
    union address address;
    socklen_t len = sizeof address;
    if (getsockname(fd, &address.any, &len) != 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
}

enum err gw_listener_bind(struct gw_loops *all, struct errbuf *eb)
{
    all->port = all->options.listen_port;
    if (all->port != 0) {
        int probe;
        enum err e = bind_one(all, false, &probe, eb);
        if (e != ERR_OK)
            return e;
        (void)close(probe); /* it was bound, that is all we wanted to know */
    }
    for (int i = 0; i < all->count; i++) {
        struct gw_loop *loop = &all->loops[i];
        enum err e = bind_one(all, true, &loop->listen_fd, eb);
        if (e == ERR_OK && listen(loop->listen_fd, BACKLOG) != 0)
            e = base_fail(eb, ERR_IO, "cannot listen on %s port %u: %m", all->options.listen_host,
                          all->port);
        if (e != ERR_OK)
            return e;
        if (all->port == 0)
            all->port = port_of(loop->listen_fd);
    }
    return ERR_OK;
}

/* --- accepting ---------------------------------------------------------------------------------
 */

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

static void open_or_close(struct gw_loop *loop, int fd)
{
    if (!loop->is_draining) {
        gw_conn_open(loop, fd);
        return;
    }
    (void)close(fd); /* never used */
    atomic_fetch_sub_explicit(&loop->connections, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&loop->all->connections, 1, memory_order_relaxed);
}

static void on_handed_over(struct base_msg *msg)
{
    struct handed_over *h = (struct handed_over *)msg;
    open_or_close(h->loop, h->fd);
    base_free(h);
}

static void distribute(struct gw_loop *self, int fd)
{
    struct gw_loops *all = self->all;
    if (atomic_fetch_add_explicit(&all->connections, 1, memory_order_relaxed) >= LIM_CONNECTIONS) {
        atomic_fetch_sub_explicit(&all->connections, 1, memory_order_relaxed);
        (void)close(fd); /* never used */
        return;
    }
    struct gw_loop *target = least_busy(self);
    atomic_fetch_add_explicit(&target->connections, 1, memory_order_relaxed);
    if (target == self) {
        open_or_close(self, fd);
        return;
    }
    struct handed_over *h = base_new(sizeof *h);
    *h = (struct handed_over){.msg.run = on_handed_over, .loop = target, .fd = fd};
    base_mailbox_push(&target->mailbox, &h->msg);
}

static void on_accept(h2o_socket_t *sock, const char *err);

static void back_off(struct gw_loop *loop, int why)
{
    if (loop->spare_fd >= 0) {
        (void)close(loop->spare_fd); /* /dev/null */
        int fd = accept4(h2o_socket_get_fd(loop->listener), NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            (void)close(fd); /* refused */
        loop->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    h2o_socket_read_stop(loop->listener);
    loop->accept_again_ns = base_monotonic_ns() + ACCEPT_BACK_OFF_NS;
    base_log(BASE_LOG_WARN, "accept_paused", "reason=\"%s\" connections=%zu", strerror(why),
             atomic_load_explicit(&loop->all->connections, memory_order_relaxed));
}

static void on_accept(h2o_socket_t *sock, const char *err)
{
    struct gw_loop *loop = sock->data;
    (void)err; /* DONT_READ sockets report none; accept4 tells */
    for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
        int fd = accept4(h2o_socket_get_fd(sock), NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            distribute(loop, fd);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            back_off(loop, errno);
        else if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO)
            continue;
        return;
    }
}

void gw_listener_open(struct gw_loop *loop)
{
    loop->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    loop->listener =
        h2o_evloop_socket_create(loop->evloop, loop->listen_fd, H2O_SOCKET_FLAG_DONT_READ);
    loop->listen_fd = -1;
    loop->listener->data = loop;
    h2o_socket_read_start(loop->listener, on_accept);
}

void gw_listener_close(struct gw_loop *loop)
{
    if (loop->listener != NULL)
        h2o_socket_close(loop->listener);
    loop->listener = NULL;
    loop->accept_again_ns = 0;
    if (loop->spare_fd >= 0)
        (void)close(loop->spare_fd); /* /dev/null */
    loop->spare_fd = -1;
}

void gw_listener_tick(struct gw_loop *loop, uint64_t now_ns)
{
    if (loop->accept_again_ns == 0 || now_ns < loop->accept_again_ns)
        return;
    loop->accept_again_ns = 0;
    if (loop->listener != NULL)
        h2o_socket_read_start(loop->listener, on_accept);
}

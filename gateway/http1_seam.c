/*
 * Debian 12 ships libh2o as a shared library only, and its calls to its own exported functions go
 * through the procedure linkage table. The dynamic linker resolves them to the first definition in
 * search order, which is the executable's: ours. In the static library that deps/h2o builds, the
 * two functions are weak, so the linker prefers ours, and each has a second name that we call. If a
 * later build of the library binds these calls internally, the check at startup reports it and the
 * program refuses to serve.
 */
#define _GNU_SOURCE
#include "gateway/http1_seam.h"

#include <dlfcn.h>
#include <h2o/http1.h>
#include <sys/socket.h>

#include "gateway/http1_internal.h"

#include "base/banned.h"

typedef void read_start_fn(h2o_socket_t *sock, h2o_socket_cb cb);
typedef void read_stop_fn(h2o_socket_t *sock);

/* Second names, which only the static library defines. */
extern read_start_fn h2o_socket_read_start_original __attribute__((weak));
extern read_stop_fn h2o_socket_read_stop_original __attribute__((weak));

static read_start_fn *real_start;
static read_stop_fn *real_stop;

/* The callback that the check saw; the only sockets with this on_close callback are the check's
 * own. */
static h2o_socket_cb probe_reader;

static void probe_gone(void *unused)
{
    (void)unused;
}

/* ISO C has no cast from object to function pointer; POSIX says the bits are the same. */
static bool resolve(void)
{
    if (h2o_socket_read_start_original != NULL && h2o_socket_read_stop_original != NULL) {
        real_start = h2o_socket_read_start_original;
        real_stop = h2o_socket_read_stop_original;
        return true;
    }
    void *start = dlsym(RTLD_NEXT, "h2o_socket_read_start");
    void *stop = dlsym(RTLD_NEXT, "h2o_socket_read_stop");
    memcpy(&real_start, &start, sizeof start);
    memcpy(&real_stop, &stop, sizeof stop);
    return start != NULL && stop != NULL;
}

void gw_http1_real_read_start(h2o_socket_t *sock, h2o_socket_cb cb)
{
    if (real_start == NULL)
        INVARIANT(resolve());
    real_start(sock, cb);
}

void gw_http1_real_read_stop(h2o_socket_t *sock)
{
    if (real_stop == NULL)
        INVARIANT(resolve());
    real_stop(sock);
}

__attribute__((visibility("default"))) void h2o_socket_read_start(h2o_socket_t *sock,
                                                                  h2o_socket_cb cb)
{
    if (sock->on_close.cb == gw_http1_socket_gone) {
        gw_http1_h2o_reads(sock, cb);
        return;
    }
    if (sock->on_close.cb == probe_gone)
        probe_reader = cb;
    gw_http1_real_read_start(sock, cb);
}

__attribute__((visibility("default"))) void h2o_socket_read_stop(h2o_socket_t *sock)
{
    if (sock->on_close.cb == gw_http1_socket_gone)
        gw_http1_h2o_stops(sock);
    gw_http1_real_read_stop(sock);
}

/* Hands a socket to h2o's HTTP/1 code and checks that its first read_start reaches our function. */
enum err gw_http1_seam_check(h2o_globalconf_t *config, struct errbuf *eb)
{
    int fds[2];
    if (!resolve())
        return base_fail(eb, ERR_UNSUPPORTED, "libh2o lacks h2o_socket_read_start");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return base_fail(eb, ERR_IO, "cannot make a socket pair: %m");
    h2o_context_t context;
    h2o_evloop_t *evloop = h2o_evloop_create();
    h2o_context_init(&context, evloop, config);
    h2o_accept_ctx_t accept = {.ctx = &context, .hosts = config->hosts};
    h2o_socket_t *sock = h2o_evloop_socket_create(evloop, fds[0], 0);
    sock->on_close.cb = probe_gone;
    probe_reader = NULL;
    h2o_http1_accept(&accept, sock, (struct timeval){0});
    h2o_socket_cb seen = probe_reader;
    if (seen != NULL)
        seen(sock, h2o_socket_error_closed); /* h2o closes its connection and the socket */
    (void)close(fds[1]);                     /* never used */
    if (seen == NULL) /* h2o keeps its connection; the process is about to end */
        return base_fail(eb, ERR_UNSUPPORTED,
                         "libh2o does not call our h2o_socket_read_start: HTTP/1.1 would bypass "
                         "the request checks");
    h2o_context_dispose(&context);
    h2o_evloop_destroy(evloop);
    return ERR_OK;
}

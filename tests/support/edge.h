/*
 * tests/support/edge.h - the edge alone, in this process: loops with a small handler, and a client
 *                        that sends exactly the given bytes.
 *
 * Does:     create certificates, start and stop loops, count the handler's requests, speak TLS.
 * Owns:     a temporary directory with certificate and key, until edge_stop.
 * May use:  base/, gateway/loop.h, gateway/tls.h, tests/support/process.h, OpenSSL, libcheck.
 * Knows no: the API; the handler has its own routes, listed below.
 * Threads:  one test at a time; the handler runs on the loops.
 * Blocks:   up to the timeouts given; edge_await_* up to process_await_ms().
 * Fails by: ck_abort_msg.
 * Limits:   EDGE_ANSWER_MAX of answer.
 * Promises: 1. edge_stop fails the test when an exchange has started but never ended.
 *
 * Routes of the handler, by path (query is a number n):
 *   /static        1024 bytes           /echo          the body, when it is complete
 *   /stream?n      n bytes, streamed    /sized?n       n bytes with Content-Length
 *   /slow?n        answers after n ms from another thread, by mailbox
 *   /hang          never answers        /abort?n       n bytes of a stream, then aborts
 *   /early         403 before the body  /hold          never consumes the body
 *   /head          the request's head as parsed, as text
 *   /none          204
 *   /loop          1024 bytes, and counts the loop
 *   /trailers      5 bytes and a trailer
 *   /peer          the client's address
 *   /of?n          1024 bytes, after e->of was called with n
 */
#ifndef TESTS_SUPPORT_EDGE_H
#define TESTS_SUPPORT_EDGE_H

#include <openssl/ssl.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/worker.h"
#include "gateway/loop.h"
#include "tests/support/process.h"

#define EDGE_ANSWER_MAX (128 * MIB)

typedef void edge_of(struct gw_exchange *ex, uint64_t n);

struct edge {
    char dir[PROCESS_PATH];
    int keeper_fd; /* of dir */
    char cert_path[BASE_PATH_BYTES];
    char key_path[BASE_PATH_BYTES];
    struct gw_loop_options options; /* of the started loops */
    struct gw_tls *tls;
    struct gw_loops *loops;
    struct base_epoch *epoch;
    struct base_worker worker; /* answers /slow */
    uint16_t port;
    const char *source; /* clients' source address, 127.0.0.N; NULL: 127.0.0.1 */
    atomic_int begun;
    atomic_int gone;
    atomic_int slow_pending;
    atomic_int threads;         /* thread_begin minus thread_end */
    atomic_int on_first_loop;   /* requests on the loop that started first */
    atomic_int ticks;           /* of all loops */
    atomic_uint_fast64_t turns; /* of all loops, as of their last ticks */
    atomic_size_t most_queued;  /* most bytes that a stream had queued */
    atomic_size_t body_bytes;   /* body bytes passed to handlers */
    _Atomic(edge_of *) of;      /* called on the loop; NULL: nothing */
};

/* Creates a self-signed ECDSA P-256 certificate for name;
 * begins and ends: its validity, in seconds from now. */
void edge_make_certificate(const char *cert_path, const char *key_path, const char *name,
                           long begins, long ends);
void edge_start(struct edge *e, int loops);
/* Starts loops with shorter timeouts of the server; NULL: the usual ones. */
void edge_start_with(struct edge *e, int loops, const struct gw_timeouts *timeouts);
/* Starts one loop with limits of addresses, and networks of proxies, which are borrowed. */
void edge_start_limited(struct edge *e, const struct gw_address_limits *limits,
                        const struct gw_proxy_nets *proxies);
/* Start loops in two steps; the caller may change e->options in between. */
void edge_prepare(struct edge *e, int loops);
void edge_start_prepared(struct edge *e);
void edge_stop(struct edge *e);
/* Wait for at most process_await_ms() until `count` requests have started, all started requests
 * have ended, or at most `most` peers are connected; a timeout fails the test. */
void edge_await_begun(struct edge *e, int count);
void edge_await_gone(struct edge *e);
void edge_await_connections(const struct edge *e, size_t most);
/* Waits until `count` more ticks of all loops together have passed. */
void edge_await_ticks(struct edge *e, int count);
/* Returns a count of connections, of all loops. */
uint64_t edge_counted(const struct edge *e, enum gw_edge_count what);
void edge_sleep_ms(int ms);
int edge_ms_since(uint64_t began_ns);

struct edge_client {
    SSL_CTX *context;
    SSL *ssl;
    int fd;
    bool closed; /* the server ended the connection */
    struct buf in;
};

/* Connects. alpn: "h2", "http/1.1" or NULL. Returns false when the handshake fails. */
bool edge_connect(struct edge_client *c, const struct edge *e, const char *alpn);
/* Connects with a TLS version of at most tls_version and any cipher. */
bool edge_connect_old(struct edge_client *c, const struct edge *e, int tls_version);
/* Offers a session of an earlier connection; NULL: none. */
bool edge_connect_again(struct edge_client *c, const struct edge *e, int tls_version,
                        SSL_SESSION *session);
/* Sends `first` before TLS. */
bool edge_connect_behind(struct edge_client *c, const struct edge *e, struct slice first);
void edge_disconnect(struct edge_client *c);
/* Opens a plain TCP connection; returns -1 when refused or out of descriptors. */
int edge_dial(const struct edge *e);
/* Sends bytes; returns false when the server does not accept them. */
bool edge_send(struct edge_client *c, struct slice bytes);
/* Waits up to timeout_ms for more input; false when none arrived or the connection is closed. For
 * input that may or must not arrive. */
bool edge_receive(struct edge_client *c, int timeout_ms);
/* Waits for input or a close, one of which must arrive: fails the test after process_await_ms(),
 * naming `what` it waited for; returns false when the connection is closed. */
bool edge_await_some(struct edge_client *c, const char *what);
/* Reads until the connection is closed, which must happen. */
void edge_await_close(struct edge_client *c);
/* Consumes one response with Content-Length, which must arrive; returns its status, or 0 when the
 * connection was closed instead. body: NULL, or an initialised buf. */
int edge_response(struct edge_client *c, struct buf *body);
/* Sends a request on a new connection and reads one response; returns the status, or 0 when the
 * connection was closed instead. */
int edge_ask(const struct edge *e, struct slice request);

#endif

/*
 * gateway/loop.h - one loop thread: its sockets, its mailbox, its clock tick.
 *
 * Does:     run h2o's event loop; deliver messages from engine and workers; accept connections on
 *           its own SO_REUSEPORT listeners; reap idle, slow and stalled connections by a monotonic
 *           timer; drain for shutdown.
 * Owns:     its thread, listeners, connections.
 * May use:  base/, gateway/exchange.h, gateway/tls.h, gateway/connection.h.
 * Knows no: routes and tenants; requests go to the handler given at start.
 * Threads:  start/stop from main; everything else on the loop itself.
 * Blocks:   in epoll only.
 * Fails by: ERR_IO (port in use: the detail says which), ERR_NO_MEMORY.
 * Limits:   connections_max over all loops, LIM_*_TIMEOUT_MS.
 * Promises: 1. on_request is called once per request, on this thread, when the head is complete.
 *           2. After gw_loops_stop returned, every answered request is on the wire and no
 *              connection is left.
 */
#ifndef GATEWAY_LOOP_H
#define GATEWAY_LOOP_H

#include "base/epoch.h"
#include "base/mailbox.h"
#include "gateway/edge_counts.h"
#include "gateway/exchange.h"
#include "gateway/tls.h"

struct gw_loops;
struct gw_proxy_nets;

/* 0: the LIM_*_TIMEOUT_MS of base/limits.h. Tests are less patient. */
struct gw_timeouts {
    uint32_t head_ms;
    uint32_t idle_ms;
    uint32_t stall_ms;
    uint32_t drain_ms;
};

/* Where to listen: HTTPS, and perhaps plaintext HTTP/2 for development. */
enum gw_endpoint_id { GW_ENDPOINT_TLS, GW_ENDPOINT_PLAIN, GW_ENDPOINT_COUNT };

struct gw_endpoint {
    const char *host; /* numeric address; NULL: not listened on */
    uint16_t port;    /* 0: any free one, see gw_loops_port */
};

/* What one address may have at a time, and in a second; 0: no limit. */
struct gw_address_limits {
    size_t connections;
    uint64_t handshakes_per_s;
    uint64_t failures_per_s; /* of authentication; more are answered with 429 */
    bool with_loopback;      /* else this machine's own have no limits */
};

struct gw_loop_options {
    struct gw_endpoint endpoints[GW_ENDPOINT_COUNT];
    int count;              /* 0: one per core */
    size_t connections_max; /* over all loops, after their handshakes; 0 or more than
                               LIM_CONNECTIONS: that */
    struct gw_address_limits per_address;
    const struct gw_proxy_nets *proxies; /* lent; NULL: none. Who comes from there says for whom */
    struct gw_tls *tls;
    struct base_epoch *epoch;
    struct gw_timeouts timeouts;
    const void *strangers; /* the user that requests act for until their key is known */
    const void *operators; /* the user whose connections give way to nobody */
    void *user;
    /* Called on each loop thread before its first request and after its last. */
    enum err (*thread_begin)(struct gw_loop *loop, void *user, void **out_thread_state);
    void (*thread_end)(struct gw_loop *loop, void *thread_state);
    /* Must call gw_exchange_listen before it returns. */
    void (*on_request)(struct gw_exchange *ex, void *thread_state);
    /* About twice a second, outside of every other callback. NULL: nothing to do. */
    void (*on_tick)(void *thread_state, uint64_t now_ns);
};

enum err gw_loops_start(const struct gw_loop_options *options, struct gw_loops **out,
                        struct errbuf *eb) MUST_CHECK;
/* So many connections more may be there than connections_max, in handshakes or told to end: from
 * then on a handshake gives way to each that comes; at twice as many more, none is accepted. */
size_t gw_loops_spare(size_t connections_max);
uint16_t gw_loops_port(const struct gw_loops *loops, enum gw_endpoint_id endpoint);
/* Graceful: stop accepting, GOAWAY / Connection: close, finish, then hard close after
 * LIM_DRAIN_TIMEOUT_MS; joins the threads and frees. */
void gw_loops_stop(struct gw_loops *loops);

/* Mailbox of this loop: reply_to of operations started on it. */
struct base_mailbox *gw_loop_mailbox(struct gw_loop *loop);
void *gw_loop_thread_state(struct gw_loop *loop);
/* Another number behind each quiescent point of the epoch: what was found in a turn without a ref
 * is good while the number stays. Never 0. */
uint64_t gw_loop_turn(const struct gw_loop *loop);
/* Those it is one of. */
const struct gw_loops *gw_loop_all(const struct gw_loop *loop);
/* Somebody at that numeric address has no key that is good. True: that came too often lately. */
bool gw_loop_stranger_fails(struct gw_loop *loop, const char *peer);
/* Connections open on all loops. */
size_t gw_loops_connections(const struct gw_loops *loops);
/* Of all loops, since the start. */
void gw_loops_edge_counts(const struct gw_loops *loops, struct gw_edge_counts_now *out);

#endif

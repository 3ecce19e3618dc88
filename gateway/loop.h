/*
 * gateway/loop.h - one loop thread: its sockets, its mailbox, its clock tick.
 *
 * Does:     runs h2o's event loop; delivers messages from engine and workers; accepts connections
 *           on its own SO_REUSEPORT listeners; closes idle, slow and stalled connections by a
 *           monotonic timer; drains for shutdown.
 * Owns:     its thread, listeners, connections.
 * May use:  base/, gateway/exchange.h, gateway/tls.h, gateway/connection.h.
 * Knows no: routes and tenants; requests go to the handler passed at start.
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

/* 0: the LIM_*_TIMEOUT_MS of base/limits.h. Tests use shorter ones. */
struct gw_timeouts {
    uint32_t head_ms;
    uint32_t idle_ms;
    uint32_t stall_ms;
    uint32_t drain_ms;
};

/* Addresses to listen on: HTTPS, and perhaps plaintext HTTP/2 for development. */
enum gw_endpoint_id { GW_ENDPOINT_TLS, GW_ENDPOINT_PLAIN, GW_ENDPOINT_COUNT };

struct gw_endpoint {
    const char *host; /* numeric address; NULL: not listened on */
    uint16_t port;    /* 0: any free one, see gw_loops_port */
};

/* Limits of one address, at a time and per second; 0: no limit. */
struct gw_address_limits {
    size_t connections;
    uint64_t handshakes_per_s;
    uint64_t failures_per_s; /* of authentication; requests above it are answered with 429 */
    bool with_loopback;      /* false: this machine's own addresses have no limits */
};

struct gw_loop_options {
    struct gw_endpoint endpoints[GW_ENDPOINT_COUNT];
    int count;              /* 0: one per core */
    size_t connections_max; /* over all loops, after their handshakes; 0 or more than
                               LIM_CONNECTIONS means LIM_CONNECTIONS */
    struct gw_address_limits per_address;
    const struct gw_proxy_nets *proxies; /* borrowed; NULL: none. Their connections start with a
                                            header that names the client */
    struct gw_tls *tls;
    struct base_epoch *epoch;
    struct gw_timeouts timeouts;
    const void *strangers; /* the user that requests act for until their key is known */
    const void *operators; /* the user whose connections never give way */
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
/* Returns how many connections above connections_max may exist, in handshakes or asked to end: from
 * that number on, a handshake gives way to each new connection; at twice the number, none is
 * accepted. */
size_t gw_loops_spare(size_t connections_max);
uint16_t gw_loops_port(const struct gw_loops *loops, enum gw_endpoint_id endpoint);
/* Stops gracefully: stops accepting, sends GOAWAY / Connection: close, lets requests finish, then
 * closes hard after LIM_DRAIN_TIMEOUT_MS; joins the threads and frees. */
void gw_loops_stop(struct gw_loops *loops);

/* Returns the mailbox of this loop: reply_to of operations started on it. */
struct base_mailbox *gw_loop_mailbox(struct gw_loop *loop);
void *gw_loop_thread_state(struct gw_loop *loop);
/* Returns a number that changes after each quiescent point of the epoch: a pointer that was found
 * without a ref stays valid while the number stays the same. Never 0. */
uint64_t gw_loop_turn(const struct gw_loop *loop);
/* Returns the set of loops that this loop belongs to. */
const struct gw_loops *gw_loop_all(const struct gw_loop *loop);
/* Counts a request from that numeric address without a valid key. True: there were too many of them
 * recently. */
bool gw_loop_stranger_fails(struct gw_loop *loop, const char *peer);
/* Returns the number of connections open on all loops. */
size_t gw_loops_connections(const struct gw_loops *loops);
/* Adds up the counts of all loops since the start. */
void gw_loops_edge_counts(const struct gw_loops *loops, struct gw_edge_counts_now *out);

#endif

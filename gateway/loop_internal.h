/*
 * gateway/loop_internal.h - the inside of a loop, for loop.c, listener.c, reaper.c and
 * connection.c.
 *
 * Does:     holds the state that belongs to one loop thread and the state that all loops share.
 * Owns:     see the fields.
 * May use:  base/, gateway/connection.h, gateway/loop.h, gateway/timer.h, h2o.
 * Knows no: requests.
 * Threads:  fields of gw_loop: its own thread, except where stated otherwise.
 * Blocks:   no.
 * Fails by: see the functions.
 * Limits:   gw_loop_options.connections_max.
 * Promises: 1. A descriptor handed to another loop is opened or closed there, never lost.
 */
#ifndef GATEWAY_LOOP_INTERNAL_H
#define GATEWAY_LOOP_INTERNAL_H

#include <pthread.h>

#include "gateway/addresses.h"
#include "gateway/connection.h"
#include "gateway/edge_counts.h"
#include "gateway/timer.h"

struct gw_http2_stream;

enum gw_loop_phase { GW_LOOP_STARTING, GW_LOOP_RUNNING, GW_LOOP_FAILED, GW_LOOP_ENDED };

struct gw_stop_msg {
    struct base_msg msg;
    struct gw_loop *loop;
};

/* The listener of one endpoint, on one loop. */
struct gw_listener {
    struct gw_loop *loop;
    enum gw_endpoint_id endpoint;
    int fd;             /* until the thread has created sock from it; -1: none */
    h2o_socket_t *sock; /* NULL when not listening, or no longer */
};

struct gw_loop {
    struct gw_loops *all;
    h2o_evloop_t *evloop;
    h2o_context_t h2o;
    struct base_mailbox mailbox;
    h2o_socket_t *mail_sock;
    struct gw_listener listeners[GW_ENDPOINT_COUNT];
    void *thread_state;
    int epoch_slot;
    uint64_t turn;
    pthread_t thread;
    struct gw_stop_msg stop;

    struct gw_conn *conns;
    struct gw_holders holders;
    struct base_list retired; /* connections that were asked to end, the oldest first */
    struct gw_conn *deferred;
    struct gw_turns turns; /* connections whose input has to wait */
    uint64_t next_tick_ns;
    struct gw_timers timers;
    size_t open_exchanges;

    int spare_fd;             /* closed for a moment when descriptors run out */
    uint64_t accept_again_ns; /* 0, or when to listen again */

    bool is_draining;
    bool is_killing;
    uint64_t drain_began_ns;

    struct gw_http2_stream *spare_streams; /* freed ones, for reuse */
    size_t spare_stream_count;

    uint8_t *out; /* GW_OUT_BYTES, for gathering one write */
    time_t date_second;
    char date[30];

    _Atomic(size_t) connections;  /* any thread reads */
    struct gw_edge_counts counts; /* the same */
};

#define GW_OUT_BYTES (2 * GW_WRITE_BYTES)

struct gw_loops {
    struct gw_loop_options options;
    uint64_t head_ns; /* options.timeouts or the limits */
    uint64_t idle_ns;
    uint64_t stall_ns;
    uint64_t drain_ns;
    uint64_t tick_ns;
    h2o_globalconf_t config;
    struct gw_loop *loops;
    int count;
    uint16_t ports[GW_ENDPOINT_COUNT]; /* actually listened on */
    struct gw_addresses addresses;
    _Atomic(size_t) connections; /* of all loops, and descriptors on their way between them */
    _Atomic(size_t) established; /* of these, those past their handshake and not ending */
    /* start-up: threads report the result of thread_begin */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum gw_loop_phase *phase;
    enum err *begin_error;
};

/* Returns whether the limits of addresses apply to this address. */
static inline bool gw_address_is_limited(const struct gw_address_limits *limits,
                                         const struct sockaddr *address)
{
    return limits->with_loopback || !gw_address_is_loopback(address);
}

/* listener.c */
enum err gw_listeners_bind(struct gw_loops *all, struct errbuf *eb) MUST_CHECK;
void gw_listeners_open(struct gw_loop *loop);
void gw_listeners_close(struct gw_loop *loop);
void gw_listeners_tick(struct gw_loop *loop, uint64_t now_ns);

/* room.c */
/* Returns the loop that should handle one more connection: self, unless another loop has a holder
 * of far more handshakes or established connections. */
struct gw_loop *gw_room_loop(struct gw_loop *self, bool for_handshake);
/* Aborts a handshake because one more connection arrived from that address. False: none gives
 * way. */
bool gw_room_greet(struct gw_loop *loop, const struct gw_accepted *coming);
/* Gives a place to a connection whose handshake is over, and ends another one when all places are
 * in use. False: none gives way. */
bool gw_room_enter(struct gw_conn *c);
/* Called at each tick: aborts connections that were asked to end and have not. */
void gw_room_tick(struct gw_loop *loop, uint64_t now_ns);

/* reaper.c */
void gw_reaper_tick(struct gw_loop *loop, uint64_t now_ns);
/* Called often while draining; returns true when nothing is left. */
bool gw_reaper_drain(struct gw_loop *loop, uint64_t now_ns);

/* connection.c */
void gw_conn_run_deferred(struct gw_loop *loop);
/* Calls the callbacks of finished writes, before each run of h2o's event loop. */
void gw_conn_end_writes(struct gw_loop *loop);
void gw_conn_run_events(struct gw_loop *loop, int32_t wait_ms);
void gw_conn_run_again(struct gw_loop *loop);

/* loop.c: returns the current value of the Date header, 29 bytes. */
struct slice gw_loop_date(struct gw_loop *loop);

#endif

/*
 * gateway/connection.h - what loop, listener, reaper and the two protocols share about a
 * connection.
 *
 * Does:     tie a socket to its loop and protocol; defer work to a safe moment; watch progress.
 * Owns:     struct gw_conn from accept until its socket is closed.
 * May use:  base/, gateway/loop.h, h2o.
 * Knows no: requests.
 * Threads:  the connection's loop.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   the GW_* numbers below; gw_loop_options.connections_max, LIM_*_TIMEOUT_MS.
 * Promises: 1. ops->free_protocol is called once, after the socket is gone.
 *           2. ops->run_deferred runs outside of any h2o, nghttp2 or handler call.
 */
#ifndef GATEWAY_CONNECTION_H
#define GATEWAY_CONNECTION_H

#include <h2o.h>
#include <stdatomic.h>

#include "gateway/addresses.h"
#include "gateway/edge_counts.h"
#include "gateway/holders.h"
#include "gateway/loop.h"
#include "gateway/turns.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL

/* Requests open on one loop; more are refused so that idle uploads cannot fill the memory. */
#define GW_LOOP_EXCHANGES_MAX 16384
/* Who does not move while the memory of its tenant is scarce. */
#define GW_SCARCE_STALL_NS (2 * NS_PER_S)
/* A body must come at least this fast, measured after LIM_HEAD_TIMEOUT_MS, and an answer leave. */
#define GW_BODY_BYTES_PER_S 1024
/* Bytes gathered for one write to a socket. */
#define GW_WRITE_BYTES (64 * KIB)

struct gw_conn;

struct gw_conn_ops {
    void (*run_deferred)(struct gw_conn *c);
    void (*run_again)(struct gw_conn *c);
    void (*tick)(struct gw_conn *c, uint64_t now_ns);  /* twice a second */
    void (*drain)(struct gw_conn *c, uint64_t now_ns); /* repeatedly while the loop is draining */
    void (*kill)(struct gw_conn *c); /* hard: the socket was shut down, let go of all */
    void (*end)(struct gw_conn *c);  /* say goodbye and close at once, whatever is in flight */
    /* When the request came that has been in flight longest; its response may still be sent. */
    uint64_t (*oldest_ns)(const struct gw_conn *c);
    void (*free_protocol)(struct gw_conn *c);
};

struct gw_conn {
    struct gw_conn *next; /* of the loop's connections */
    struct gw_conn **link;
    struct gw_address_slots address;
    bool is_counted; /* there */
    struct gw_conn *next_deferred;
    bool is_deferred;
    struct gw_turn turn;
    struct gw_line *line; /* of whom its last request was for; before that, its own */
    struct gw_line own_line;
    struct gw_held held;   /* by whom: gateway/room.c */
    bool is_established;   /* its handshake is over: it has one of the places */
    bool is_spared;        /* had input when its place was needed, and no request since */
    bool is_retired;       /* was told to end, or ends: it is in loop->retired */
    uint64_t mark_tick_ns; /* the loop's next tick when held.kind was set, or it retired */
    bool is_closing;       /* h2o_socket_close was called; only its flush is left */
    bool is_too_slow;      /* its handshake was broken off */
    enum gw_endpoint_id endpoint;
    struct gw_loop *loop;
    h2o_socket_t *sock;
    const struct gw_conn_ops *ops;
    void *protocol;       /* what ops work on; NULL during the handshake */
    SSL_CTX *tls_context; /* referenced until the handshake is over */
    uint64_t since_ns;    /* accepted, then: when the protocol took over */
    /* output progress, see gw_conn_is_stalled */
    uint64_t acked_bytes;
    uint64_t progress_ns;
    bool has_peer; /* asked for once, when somebody wants to know */
    char peer[GW_PEER_TEXT];
};

/* A descriptor on its way to its loop. */
struct gw_accepted {
    int fd;
    enum gw_endpoint_id endpoint;
    struct gw_address_slots address; /* counted there, but for one of a proxy */
    bool is_of_proxy;                /* its own address comes with its first bytes */
    bool must_make_room;             /* too many are in their handshakes */
};

/* Take over an accepted, non-blocking descriptor: begin the TLS handshake, or, at the plaintext
 * endpoint, HTTP/2. */
void gw_conn_open(struct gw_loop *loop, const struct gw_accepted *accepted);
/* Whether one more may come from that address; else why not. */
enum gw_edge_count gw_conn_look_at(struct gw_loop *loop, const struct sockaddr *from);
/* Close the socket politely (TLS close_notify); for protocols that own it. */
void gw_conn_close(struct gw_conn *c);
/* Break the connection off from outside: whoever reads or writes the socket will see an error. */
void gw_conn_shut(struct gw_conn *c);
/* Whether the peer has closed the connection, or its sending side, though not all that it sent was
 * read. */
bool gw_conn_peer_left(const struct gw_conn *c);
/* Bytes are on their way that the peer has not acknowledged. Closing now may lose them: what the
 * peer still sends is answered with a reset, which throws away what it has not read. */
bool gw_conn_is_sending(const struct gw_conn *c);
/* For sock->on_close of a protocol: unlink and free c. */
void gw_conn_socket_gone(void *c);
/* Have ops->run_deferred called soon, once. */
void gw_conn_defer(struct gw_conn *c);
/* The peer's numeric address; "" when the socket does not say. */
const char *gw_conn_peer(struct gw_conn *c);
/* Have ops->run_again called, once, in the turn of its line (gateway/turns.h): in this turn of the
 * loop, or in one of the next when there is no time left. */
void gw_conn_again(struct gw_conn *c);
/* From now on it acts for that user, whose connections share a line. */
void gw_conn_act_for(struct gw_conn *c, const void *user);
/* The user holds it from now on; operators: nobody does. Those who have shown no good key change
 * nothing, but for a connection that was the operators': its address holds it again. */
void gw_conn_hold_for(struct gw_conn *c, const void *user);
/* A protocol's first request is in flight, or its last one is not any more. */
void gw_conn_mark(struct gw_conn *c, enum gw_held_kind kind);
/* It ends, and cannot give way to another one any more. */
void gw_conn_retire(struct gw_conn *c);
/* What the connection came for took from began_ns to now; and whether its line had so much that
 * what comes next should wait behind those who come seldom. */
void gw_conn_used(struct gw_conn *c, uint64_t began_ns);
bool gw_conn_is_busy(const struct gw_conn *c, uint64_t now_ns);
/* At a tick while bytes are on their way: did the peer take none for LIM_STALL_TIMEOUT_MS? */
bool gw_conn_is_stalled(struct gw_conn *c, uint64_t now_ns);

/* --- protocols ----------------------------------------------------------------------------------
 */

void gw_http1_open(struct gw_conn *c);
void gw_http2_open(struct gw_conn *c);
/* Give the streams kept for reuse back, when the loop ends. */
void gw_http2_free_spares(struct gw_loop *loop);
/* One configuration for all loops; the context of each loop is made from it. */
void gw_http1_configure(h2o_globalconf_t *config);

#endif

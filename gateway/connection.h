/*
 * gateway/connection.h - the part of a connection that loop, listener, reaper and the two protocols
 * share.
 *
 * Does:     ties a socket to its loop and protocol; defers work to a safe moment; watches progress.
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

/* Requests open on one loop; further requests are refused, so that idle uploads cannot fill the
 * memory. */
#define GW_LOOP_EXCHANGES_MAX 16384
/* Time limit for a peer that makes no progress while the memory of its tenant is scarce. */
#define GW_SCARCE_STALL_NS (2 * NS_PER_S)
/* Least speed at which a body must arrive, measured after LIM_HEAD_TIMEOUT_MS, and a response must
 * be sent. */
#define GW_BODY_BYTES_PER_S 1024
/* Bytes gathered for one write to a socket. */
#define GW_WRITE_BYTES (64 * KIB)

struct gw_conn;

struct gw_conn_ops {
    void (*run_deferred)(struct gw_conn *c);
    void (*run_again)(struct gw_conn *c);
    void (*tick)(struct gw_conn *c, uint64_t now_ns);  /* twice a second */
    void (*drain)(struct gw_conn *c, uint64_t now_ns); /* repeatedly while the loop is draining */
    void (*kill)(struct gw_conn *c); /* hard: the socket was shut down, release everything */
    void (*end)(struct gw_conn *c);  /* say goodbye and close at once, whatever is in flight */
    /* Returns when the request arrived that has been in flight longest; its response may still be
     * on its way. */
    uint64_t (*oldest_ns)(const struct gw_conn *c);
    void (*free_protocol)(struct gw_conn *c);
};

struct gw_conn {
    struct gw_conn *next; /* in the loop's list of connections */
    struct gw_conn **link;
    struct gw_address_slots address;
    bool is_counted; /* counted at that address */
    struct gw_conn *next_deferred;
    bool is_deferred;
    struct gw_turn turn;
    struct gw_line *line; /* of the user of its last request; before the first request, own_line */
    struct gw_line own_line;
    struct gw_held held;   /* its entry in its holder's lists: gateway/room.c */
    bool is_established;   /* its handshake is over: it uses one of the places */
    bool is_spared;        /* had input when its place was needed, and has had no request since */
    bool is_retired;       /* it was asked to end, or is ending: it is in loop->retired */
    uint64_t mark_tick_ns; /* the loop's next tick at the time when held.kind was set, or the
                              connection retired */
    bool is_closing;       /* h2o_socket_close was called; only its flush is left */
    bool is_too_slow;      /* its handshake was aborted */
    enum gw_endpoint_id endpoint;
    struct gw_loop *loop;
    h2o_socket_t *sock;
    const struct gw_conn_ops *ops;
    void *protocol;       /* the object that ops work on; NULL during the handshake */
    SSL_CTX *tls_context; /* referenced until the handshake is over */
    uint64_t since_ns;    /* when it was accepted; later: when the protocol took over */
    /* output progress, see gw_conn_is_stalled */
    uint64_t acked_bytes;
    uint64_t progress_ns;
    bool has_peer; /* peer is filled in, which happens at the first request for it */
    char peer[GW_PEER_TEXT];
};

/* A descriptor that is being handed to its loop. */
struct gw_accepted {
    int fd;
    enum gw_endpoint_id endpoint;
    struct gw_address_slots address; /* counted at that address, unless it comes from a proxy */
    bool is_of_proxy;                /* its own address arrives in its first bytes */
    bool must_make_room;             /* too many connections are in their handshakes */
};

/* Takes over an accepted, non-blocking descriptor: starts the TLS handshake, or, at the plaintext
 * endpoint, HTTP/2. */
void gw_conn_open(struct gw_loop *loop, const struct gw_accepted *accepted);
/* Returns GW_EDGE_COUNT if the address may open one more connection, or the reason why not. */
enum gw_edge_count gw_conn_look_at(struct gw_loop *loop, const struct sockaddr *from);
/* Closes the socket politely (TLS close_notify); for protocols that own it. */
void gw_conn_close(struct gw_conn *c);
/* Aborts the connection from outside: the code that reads or writes the socket will see an
 * error. */
void gw_conn_shut(struct gw_conn *c);
/* Returns whether the peer has closed the connection, or its sending side, even if some of its
 * bytes were not read yet. */
bool gw_conn_peer_left(const struct gw_conn *c);
/* Returns whether the peer has not acknowledged some of the bytes sent. Closing at that point may
 * lose them: bytes that the peer still sends are answered with a reset, which discards what the
 * peer has not read. */
bool gw_conn_is_sending(const struct gw_conn *c);
/* For sock->on_close of a protocol: unlinks and frees c. */
void gw_conn_socket_gone(void *c);
/* Has ops->run_deferred called soon, once. */
void gw_conn_defer(struct gw_conn *c);
/* Returns the peer's numeric address; "" when the socket does not know it. */
const char *gw_conn_peer(struct gw_conn *c);
/* Has ops->run_again called, once, in the scheduling turn of the connection's line
 * (gateway/turns.h): in this iteration of the loop, or in a later one when no time is left. */
void gw_conn_again(struct gw_conn *c);
/* Makes the connection act for that user, whose connections share a line. */
void gw_conn_act_for(struct gw_conn *c, const void *user);
/* Makes the user the connection's holder; a connection of the operators' has no holder. Users that
 * have shown no good key change nothing, unless the connection was the operators': then its address
 * becomes the holder again. */
void gw_conn_hold_for(struct gw_conn *c, const void *user);
/* Marks the connection as busy or idle: the protocol's first request is in flight, or its last one
 * no longer is. */
void gw_conn_mark(struct gw_conn *c, enum gw_held_kind kind);
/* Marks the connection as ending: it can no longer give way to another connection. */
void gw_conn_retire(struct gw_conn *c);
/* Charges the connection's line with the time from began_ns to now, in which its input was handled.
 * gw_conn_is_busy: whether the line used so much that its next input should wait after lines that
 * come seldom. */
void gw_conn_used(struct gw_conn *c, uint64_t began_ns);
bool gw_conn_is_busy(const struct gw_conn *c, uint64_t now_ns);
/* Called at a tick while bytes are on their way: returns whether the peer accepted none for
 * LIM_STALL_TIMEOUT_MS. */
bool gw_conn_is_stalled(struct gw_conn *c, uint64_t now_ns);

/* --- protocols ----------------------------------------------------------------------------------
 */

void gw_http1_open(struct gw_conn *c);
void gw_http2_open(struct gw_conn *c);
/* Frees the streams kept for reuse, when the loop ends. */
void gw_http2_free_spares(struct gw_loop *loop);
/* Sets up the one configuration of all loops; the context of each loop is created from it. */
void gw_http1_configure(h2o_globalconf_t *config);

#endif

/*
 * gateway/http1_internal.h - the inside of an HTTP/1 connection, for http1.c, http1_intake.c and
 * the seam.
 *
 * Does:     holds the gate, the bytes it keeps back and the request h2o is working on.
 * Owns:     held bytes; the request belongs to h2o's request pool.
 * May use:  base/, gateway/connection.h, gateway/http1_gate.h, gateway/loop_internal.h, h2o.
 * Knows no: routes.
 * Threads:  the connection's loop.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   GW_HELD_BYTES.
 * Promises: 1. While h2o may parse, its input holds bytes of one validated request only.
 */
#ifndef GATEWAY_HTTP1_INTERNAL_H
#define GATEWAY_HTTP1_INTERNAL_H

#include "gateway/connection.h"
#include "gateway/http1_gate.h"
#include "gateway/loop_internal.h"

/* Bytes that a client may pipeline after the current request, as far as one read received them. */
#define GW_HELD_BYTES (8 * MIB)
/* Bytes that are read while the connection waits for its scheduling turn; the last read may exceed
 * it. */
#define GW_FRESH_BYTES (64 * KIB)

enum gw_http1_phase {
    GW_HTTP1_READING,   /* h2o waits for bytes: the gate reads */
    GW_HTTP1_BUSY,      /* h2o has the whole request, or sends 100 Continue: nothing reads */
    GW_HTTP1_REFUSING,  /* our refusal is being written */
    GW_HTTP1_LINGERING, /* the refusal was sent: input is discarded until the peer closes */
};

struct gw_http1_request;

struct gw_http1 {
    struct gw_conn *conn;
    enum gw_http1_phase phase;
    h2o_socket_cb h2o_reader; /* h2o's own callback; NULL when it does not read */
    struct gw_http1_gate gate;
    size_t fresh;    /* bytes at the end of sock->input that wait for the scheduling turn */
    struct buf held; /* bytes after the current request, from held_at on */
    size_t held_at;
    uint64_t idle_since_ns; /* when h2o started to wait for a request */
    uint64_t begun_ns;      /* first byte of the current request, 0: none yet */
    uint64_t input_ns;      /* last byte of it */
    uint64_t linger_until_ns;
    struct gw_http1_request *request; /* the request that a handler works on, or NULL */
    struct gw_exchange *early;        /* its exchange, while h2o does not have it */
};

/* http1_intake.c */
void gw_http1_socket_gone(void *conn);
void gw_http1_h2o_reads(h2o_socket_t *sock, h2o_socket_cb h2o_reader);
void gw_http1_h2o_stops(h2o_socket_t *sock);

/* http1.c: starts a request whose body has not arrived yet. */
void gw_http1_request_begin(struct gw_http1 *h, struct slice head);
/* Ends the request, or does nothing if there is none: the request or its connection is over. */
void gw_http1_request_end(struct gw_http1 *h);
const char *gw_http1_reason(int status);
/* http1.c, too: runs deferred work of the request at a safe moment, and detaches the handler. */
void gw_http1_request_deferred(struct gw_http1 *h);
void gw_http1_request_kill(struct gw_http1 *h);
/* Called at a tick, while nothing reads: detaches the handler if the peer left before the response
 * started. */
void gw_http1_request_tick(struct gw_http1 *h);
/* Returns when the request in flight, or the refused one, arrived. */
uint64_t gw_http1_request_since_ns(const struct gw_http1 *h);

#endif

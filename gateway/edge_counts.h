/*
 * gateway/edge_counts.h - counts of connections and heads that ended before they became a request.
 *
 * Does:     counts, for each loop, connections and heads that were refused; adds up all loops.
 * Owns:     nothing; embedded in the loops.
 * May use:  base/, gateway/problem.h.
 * Knows no: sockets, protocols.
 * Threads:  each is written by its loop; sums on any thread.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. A connection is counted as accepted, and then as refused for at most one reason.
 */
#ifndef GATEWAY_EDGE_COUNTS_H
#define GATEWAY_EDGE_COUNTS_H

#include "base/histogram.h"
#include "gateway/problem.h"

enum gw_edge_count {
    GW_EDGE_ACCEPTED,
    GW_EDGE_CONNECTIONS, /* refused: the server has its maximum of connections */
    GW_EDGE_ADDRESS,     /* refused: its address has its maximum of connections */
    GW_EDGE_HANDSHAKES,  /* refused: its address starts too many in a second */
    GW_EDGE_ROOM,        /* aborted in its handshake for a new one: there were too many */
    GW_EDGE_ROOM_IDLE,   /* ended while idle: all places were in use, and a new connection came */
    GW_EDGE_ROOM_BUSY,   /* the same, with a request in flight */
    GW_EDGE_PROXY,       /* a proxy's header is bad */
    GW_EDGE_DESCRIPTORS, /* the process has no descriptors left */
    GW_EDGE_TLS,         /* its handshake failed */
    GW_EDGE_TLS_SLOW,    /* its handshake took too long */
    GW_EDGE_RESETS,      /* HTTP/2: too many streams that ended badly */
    GW_EDGE_PINGS,       /* HTTP/2: too many pings */
    GW_EDGE_STREAMS,     /* not a connection: a stream refused by GW_LOOP_EXCHANGES_MAX */
    GW_EDGE_COUNT
};

/* Transports that refuse heads: the gate in front of HTTP/1, and HTTP/2. */
enum gw_edge_head { GW_EDGE_HTTP1, GW_EDGE_HTTP2, GW_EDGE_HEADS };

struct gw_edge_counts {
    _Atomic uint64_t each[GW_EDGE_COUNT];
    _Atomic uint64_t heads[GW_EDGE_HEADS][GW_PROBLEM_COUNT];
};

struct gw_edge_counts_now {
    uint64_t each[GW_EDGE_COUNT];
    uint64_t heads[GW_EDGE_HEADS][GW_PROBLEM_COUNT];
};

static inline void gw_edge_count(struct gw_edge_counts *c, enum gw_edge_count what)
{
    base_count_up(&c->each[what], 1);
}

static inline void gw_edge_head_refused(struct gw_edge_counts *c, enum gw_edge_head by, int problem)
{
    base_count_up(&c->heads[by][problem], 1);
}

static inline void gw_edge_counts_add(struct gw_edge_counts_now *into,
                                      const struct gw_edge_counts *c)
{
    for (size_t i = 0; i < GW_EDGE_COUNT; i++)
        into->each[i] += base_count_read(&c->each[i]);
    for (size_t by = 0; by < GW_EDGE_HEADS; by++)
        for (size_t i = 0; i < GW_PROBLEM_COUNT; i++)
            into->heads[by][i] += base_count_read(&c->heads[by][i]);
}

#endif

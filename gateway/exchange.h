/*
 * gateway/exchange.h - one request and its response, whatever the transport.
 *
 * Does:     show a handler the request head and body; take status, headers and body from it, with
 *           backpressure; tell it when the peer went away.
 * Owns:     the response bytes given to it until the transport sent them. The exchange itself
 *           belongs to the transport.
 * May use:  base/.
 * Knows no: h2o, nghttp2, routes, tenants.
 * Threads:  the loop thread it came from, only.
 * Blocks:   no.
 * Fails by: sending to a peer that is gone does nothing.
 * Limits:   LIM_BODY_BYTES buffered, LIM_OUT_HIGH_BYTES queued, LIM_HEADERS, LIM_TARGET_BYTES.
 * Promises: 1. events->gone is called exactly once for every exchange, last of all: after the
 *              response was sent, or when the peer went away before. The exchange is invalid after.
 *           2. Request slices are valid until gone.
 *           3. Header names are lower case; there is exactly one authority; the target passed the
 *              strict gate: origin-form, no NUL, no fragment.
 */
#ifndef GATEWAY_EXCHANGE_H
#define GATEWAY_EXCHANGE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"

struct gw_loop;
struct gw_exchange;

struct gw_header {
    struct slice name;
    struct slice value;
};

/* What a handler wants to hear. Set by gw_exchange_listen; any may be NULL except gone. */
struct gw_events {
    /* More of the body. With HTTP/1.1 the whole body comes at once. end: nothing follows. */
    void (*body)(struct gw_exchange *ex, void *user, struct slice bytes, bool end);
    /* Queued output fell below half of LIM_OUT_HIGH_BYTES after gw_exchange_is_full was true. */
    void (*drained)(struct gw_exchange *ex, void *user);
    /* Finished or vanished; forget the exchange. */
    void (*gone)(struct gw_exchange *ex, void *user);
};

/* What a transport implements. */
struct gw_transport {
    void (*start)(struct gw_exchange *ex); /* head is complete in ex: status, headers, length */
    void (*more)(struct gw_exchange *ex);  /* output was queued, or ended */
    void (*abort)(struct gw_exchange *ex); /* break off: RST_STREAM or close */
    void (*read_more)(struct gw_exchange *ex, size_t consumed); /* body window */
};

#define GW_RESPONSE_HEADERS 24

struct gw_out_chunk {
    struct gw_out_chunk *next;
    struct buf bytes;
    size_t sent;
};

struct gw_exchange {
    struct gw_loop *loop;
    const struct gw_transport *transport;

    /* request */
    struct slice method;
    struct slice path;  /* raw: percent codes untouched, without query */
    struct slice query; /* raw, without '?'; ptr NULL when there is none */
    struct slice authority;
    const struct gw_header *headers;
    size_t header_count;
    int64_t content_length; /* -1: unknown */
    bool has_body;
    uint8_t http_major;
    uint64_t received_ns; /* monotonic */

    /* listener */
    const struct gw_events *events;
    void *user;

    /* response */
    int status;
    struct gw_header response_headers[GW_RESPONSE_HEADERS];
    size_t response_header_count;
    struct buf response_header_bytes; /* copies of what was not literal */
    int64_t response_length;          /* -1: streamed */
    bool started;
    bool ended;    /* nothing will be queued any more */
    bool was_full; /* owes a drained */
    struct gw_out_chunk *out_head;
    struct gw_out_chunk **out_tail;
    size_t out_bytes; /* queued and not yet taken by the transport */
};

/* First header of that (lower-case) name; ptr NULL when absent. *out_count (may be NULL) gets how
 * many there are, for headers that must come once. */
struct slice gw_exchange_header(const struct gw_exchange *ex, const char *name, size_t *out_count);

void gw_exchange_listen(struct gw_exchange *ex, const struct gw_events *events, void *user);
/* Tell the transport that n bytes of body were dealt with, so that the peer may send more. */
void gw_exchange_consumed(struct gw_exchange *ex, size_t n);

/* Before start. Copies both; name must be lower case. Too many or too long: broken invariant. */
void gw_exchange_add_header(struct gw_exchange *ex, const char *name, struct slice value);
/* length -1: streamed. Exactly once. */
void gw_exchange_start(struct gw_exchange *ex, int status, int64_t length);
/* Queue body bytes; takes b's memory (b is empty afterwards). end: the last ones (b may be empty).
 */
void gw_exchange_send_take(struct gw_exchange *ex, struct buf *b, bool end);
bool gw_exchange_is_full(const struct gw_exchange *ex);
/* A streamed response cannot go on: the peer must not take it for complete. */
void gw_exchange_abort(struct gw_exchange *ex);

/* --- for transports ------------------------------------------------------------------------------
 */

void gw_exchange_init(struct gw_exchange *ex, struct gw_loop *loop,
                      const struct gw_transport *transport);
/* Next bytes to send (at most max), or empty; then say how many were taken. */
struct slice gw_exchange_peek(struct gw_exchange *ex, size_t max);
void gw_exchange_took(struct gw_exchange *ex, size_t n);
/* Tell the listener, free queued output. The transport frees the exchange afterwards. */
void gw_exchange_fini(struct gw_exchange *ex);

#endif

/*
 * gateway/exchange.h - one request and its response, whatever the transport.
 *
 * Does:     shows a handler the request head and body; accepts status, headers and body from it,
 *           with backpressure; notifies it when the peer is gone.
 * Owns:     the response bytes handed to it until the transport has sent them. The exchange itself
 *           belongs to the transport.
 * May use:  base/.
 * Knows no: h2o, nghttp2, routes, tenants.
 * Threads:  only the loop thread it came from.
 * Blocks:   no.
 * Fails by: sending to a peer that is gone does nothing.
 * Limits:   LIM_BODY_BYTES buffered, LIM_OUT_HIGH_BYTES queued, LIM_HEADERS, LIM_TARGET_BYTES.
 * Promises: 1. events->gone is called exactly once for every exchange, last of all: after the
 *              response was sent, or when the peer vanished before that. The exchange is invalid
 *              afterwards.
 *           2. Request slices are valid until gone.
 *           3. Header names are lower case; there is exactly one authority; the target passed the
 *              strict gate: origin-form, no NUL, no fragment.
 */
#ifndef GATEWAY_EXCHANGE_H
#define GATEWAY_EXCHANGE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/slice.h"

struct gw_loop;
struct gw_exchange;

struct gw_header {
    struct slice name;
    struct slice value;
};

/* The events that a handler receives. Set by gw_exchange_listen; any may be NULL except gone. */
struct gw_events {
    /* More of the body. With HTTP/1.1 the whole body arrives at once. end: nothing follows. Called
     * after on_request returned, and only if has_body; then end comes exactly once (perhaps with no
     * bytes) unless the peer vanishes or the response is complete before. NULL: the body is
     * discarded. */
    void (*body)(struct gw_exchange *ex, void *user, struct slice bytes, bool end);
    /* Queued output fell below half of LIM_OUT_HIGH_BYTES after gw_exchange_is_full was true. Never
     * called from inside a call that the listener itself makes. */
    void (*drained)(struct gw_exchange *ex, void *user);
    /* The exchange finished or vanished; drop every pointer to it. */
    void (*gone)(struct gw_exchange *ex, void *user);
};

/* The functions that a transport implements. */
struct gw_transport {
    void (*start)(struct gw_exchange *ex); /* head is complete in ex: status, headers, length */
    void (*more)(struct gw_exchange *ex);  /* output was queued, or ended */
    void (*abort)(struct gw_exchange *ex); /* abort: RST_STREAM or close */
    void (*read_more)(struct gw_exchange *ex, size_t consumed); /* body window */
    const char *(*peer)(struct gw_exchange *ex);                /* see gw_exchange_peer */
    void (*act_for)(struct gw_exchange *ex, const void *user);  /* sets the user for whom the
                                                                   connection is scheduled; or
                                                                   NULL */
};

/* Size of the text of an IPv6 address with a scope, and NUL. */
#define GW_PEER_TEXT 64

#define GW_RESPONSE_HEADERS      24
#define GW_RESPONSE_HEADER_BYTES 3072 /* names and values of headers and trailers together */
#define GW_TRAILERS_BYTES        1024 /* of these, what a head leaves free: a refusal's status */
#define GW_TRAILERS              4

/* Headers whose values differ from response to response. */
#define GW_HEADER_RATE_LIMIT "ratelimit"
#define GW_HEADER_COST       "bigtent-cost"

struct gw_out_chunk {
    struct gw_out_chunk *next;
    struct buf bytes;
    size_t sent;
    bool is_borrowed; /* another owner frees the bytes */
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
    int64_t content_length; /* -1: unknown; 0 when there is no body */
    bool has_body;          /* body events will come */
    uint8_t http_major;
    bool is_plain; /* came in plaintext, at the endpoint for development: it has no credential */
    uint64_t received_ns;             /* monotonic */
    uint64_t received_bytes;          /* of the body, so far */
    struct base_memory_share *memory; /* of what the transport holds of the body */
    size_t charged;                   /* to it */

    /* listener */
    const struct gw_events *events;
    void *user;

    /* response */
    int status;
    int64_t response_length; /* -1: streamed */
    uint64_t queued_bytes;   /* in total, ever */
    bool started;
    bool ended;          /* nothing more will be queued */
    bool was_full;       /* drained must be called */
    bool body_is_silent; /* HEAD, 204, 304: body bytes are discarded */
    struct gw_out_chunk *out_head;
    struct gw_out_chunk **out_tail;
    size_t out_bytes; /* queued and not yet accepted by the transport */
    size_t response_header_count;
    size_t response_header_used;
    size_t trailer_count;
    struct buf long_value;           /* of one header or trailer; usually empty */
    struct gw_out_chunk first_chunk; /* most responses have one; used when the list is empty */

    /* not cleared by gw_exchange_init */
    struct gw_header response_headers[GW_RESPONSE_HEADERS];
    struct gw_header trailers[GW_TRAILERS];
    char response_header_bytes[GW_RESPONSE_HEADER_BYTES];
};

/* Returns the value of the first header of that (lower-case) name; ptr NULL when absent. *out_count
 * (may be NULL) receives the number of such headers, for headers that must come once. */
struct slice gw_exchange_header(const struct gw_exchange *ex, const char *name, size_t *out_count);

/* Returns the peer's address, without port; "" when the transport does not know it. */
void gw_exchange_peer(struct gw_exchange *ex, char out[GW_PEER_TEXT]);

void gw_exchange_listen(struct gw_exchange *ex, const struct gw_events *events, void *user);
/* Notifies the transport that n bytes of body were consumed, so that the peer may send more. */
void gw_exchange_consumed(struct gw_exchange *ex, size_t n);

/* Sets the share that is charged for the body while the transport holds it, and the user for whom
 * the loop schedules the connection afterwards. */
void gw_exchange_charge(struct gw_exchange *ex, struct base_memory_share *share);

/* Adds a header; before start. Copies both; name must be lower case; control characters become
 * spaces. Too many or too long: broken invariant. */
void gw_exchange_add_header(struct gw_exchange *ex, const char *name, struct slice value);
/* Adds a trailer; before the end. Sent after the body on HTTP/2, which gRPC needs; HTTP/1.1 leaves
 * it out. */
void gw_exchange_add_trailer(struct gw_exchange *ex, const char *name, struct slice value);
/* Adds one header or trailer of the response whose value may be too large for
 * GW_RESPONSE_HEADER_BYTES; becomes the owner of the value's memory. A second one: broken
 * invariant. */
void gw_exchange_add_header_take(struct gw_exchange *ex, const char *name, struct buf *value);
void gw_exchange_add_trailer_take(struct gw_exchange *ex, const char *name, struct buf *value);
/* Starts the response; exactly once. length -1: streamed; otherwise exactly that many bytes must be
 * queued. The transport may send the head only with the first bytes or the end. */
void gw_exchange_start(struct gw_exchange *ex, int status, int64_t length);
/* Queues body bytes; becomes the owner of b's memory (b is empty afterwards, with the same max).
 * end: the last ones (b may be empty). */
void gw_exchange_send_take(struct gw_exchange *ex, struct buf *b, bool end);
/* Queues bytes that outlive the exchange: nothing is copied, however many peers request them. */
void gw_exchange_send_static(struct gw_exchange *ex, struct slice bytes, bool end);
/* Returns true if the handler must stop producing until drained is called. */
bool gw_exchange_is_full(struct gw_exchange *ex);
/* Aborts a response that cannot continue: the peer must not mistake it for complete. gone
 * follows. */
void gw_exchange_abort(struct gw_exchange *ex);

/* --- for transports ------------------------------------------------------------------------------
 */

void gw_exchange_init(struct gw_exchange *ex, struct gw_loop *loop,
                      const struct gw_transport *transport);
/* Returns the next bytes to send (at most max, from one buffer), or an empty slice. */
struct slice gw_exchange_peek(struct gw_exchange *ex, size_t max);
/* Copies the next n queued bytes out and removes them; n is at most out_bytes. */
void gw_exchange_copy_out(struct gw_exchange *ex, uint8_t *out, size_t n);
/* Removes n bytes that were peeked. */
void gw_exchange_took(struct gw_exchange *ex, size_t n);
/* Returns whether the listener waits for drained and it is due; then call gw_exchange_tell_drained
 * at a safe moment. */
bool gw_exchange_is_drained(const struct gw_exchange *ex);
void gw_exchange_tell_drained(struct gw_exchange *ex);
/* Calls the listener's gone, frees queued output. The transport frees the exchange afterwards. */
void gw_exchange_fini(struct gw_exchange *ex);

#endif

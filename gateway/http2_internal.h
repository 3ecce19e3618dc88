/*
 * gateway/http2_internal.h - the inside of an HTTP/2 connection, for the http2_*.c files.
 *
 * Does:     holds the nghttp2 session, its streams and the parts of their heads that have been
 *           read.
 * Owns:     sessions and streams; an exchange is part of its stream.
 * May use:  base/, gateway/connection.h, gateway/exchange.h, gateway/loop_internal.h, nghttp2.
 * Knows no: routes.
 * Threads:  the connection's loop.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   LIM_STREAMS_PER_CONN, LIM_HEADERS, LIM_HEAD_BYTES, the GW_HTTP2_* numbers.
 * Promises: 1. A stream is freed in on_stream_close or when its connection is closed, and only
 *              there.
 *           2. Window is returned exactly for body bytes that were consumed or discarded.
 */
#ifndef GATEWAY_HTTP2_INTERNAL_H
#define GATEWAY_HTTP2_INTERNAL_H

#include <nghttp2/nghttp2.h>

#include "gateway/connection.h"
#include "gateway/loop_internal.h"

/* Body bytes on the way to a handler: per stream and per connection. */
#define GW_HTTP2_STREAM_WINDOW (256 * KIB)
#define GW_HTTP2_WINDOW        (1 * MIB)
/* Bytes that are still accepted, and discarded, of a body whose request was answered early. */
#define GW_HTTP2_LINGER_BYTES (1 * MIB)
#define GW_HTTP2_LINGER_MS    2000
/* Frames waiting to be sent; above it the connection is not read until they are. */
#define GW_HTTP2_BACKLOG 500
/* Allowance for requests that ended badly: a burst, then a rate per second. */
#define GW_HTTP2_RESETS_BURST 512
#define GW_HTTP2_RESETS_PER_S 33
/* Allowance for PINGs while no head and no body moves: a burst, then one every GW_HTTP2_PING_NS.
 * Clients that keep a connection alive send one each 10 s or more; clients that measure send one
 * after a body. A client that exceeds the allowance receives a GOAWAY with gRPC's "too_many_pings",
 * and is cut off after GW_HTTP2_PINGS_OVER more. */
#define GW_HTTP2_PINGS_BURST 4
#define GW_HTTP2_PING_NS     (5 * NS_PER_S)
#define GW_HTTP2_PINGS_OVER  100
/* Bytes of a request head kept inside the stream; the rest goes to a block of its own. */
#define GW_HTTP2_INLINE_BYTES 1024

struct gw_http2 {
    struct gw_conn *conn;
    nghttp2_session *session; /* NULL once closed */
    struct gw_http2_stream *streams;
    size_t stream_count;
    size_t in_flight; /* streams for which gw_http2_is_in_flight is true */
    bool is_writing;
    bool is_held; /* some input waits: for frames to be sent, or for its scheduling turn */
    unsigned turn_requests; /* dispatched since the loop started on its input */
    unsigned last_requests; /* turn_requests of the previous time */
    size_t turn_bytes;      /* bytes accepted since the loop started on its input */
    bool got_settings;
    bool has_drained; /* a listener's drained must be called */
    bool goaway_sent;
    bool is_ended;          /* closes as soon as its GOAWAY is written */
    bool is_refused;        /* counted as refused, once */
    uint64_t notice_ns;     /* when the peer was notified that we are closing; 0: it was not */
    uint64_t read_ns;       /* when the last bytes arrived */
    uint64_t idle_since_ns; /* when the last stream ended */
    uint64_t head_since_ns; /* when the head now being read started; 0: none */
    uint32_t reset_tokens;
    uint64_t reset_refill_ns;
    uint32_t ping_tokens;
    uint32_t pings_over; /* PINGs that arrived without a token */
    uint64_t ping_refill_ns;
    size_t out_len;     /* bytes in loop->out while gathering */
    uint8_t *plain_out; /* being written in plaintext; else NULL */
};

struct gw_http2_stream {
    struct gw_http2_stream *next;
    struct gw_http2_stream **link;
    struct gw_http2 *h;
    int32_t id;
    bool is_dispatched;
    bool request_ended;
    bool has_submitted;  /* nghttp2 has the response head */
    bool response_ended; /* its last frame was sent */
    bool stop_sent;      /* the peer was asked not to send the rest of its body */
    bool in_trailers;    /* header fields are trailers from here: not kept */
    bool has_host;
    bool has_length;
    uint8_t authorizations;
    int problem; /* first reason to refuse, an enum err or gw_problem_http; 0: none */
    const char *detail;
    size_t unconsumed;    /* body bytes passed to the listener and not consumed yet */
    size_t lingered;      /* body bytes discarded after the response */
    uint64_t ended_ns;    /* when the response ended */
    uint64_t progress_ns; /* last time either side moved or was idle; see gw_http2_progress */
    size_t header_count;
    size_t head_bytes; /* with 32 per field, as RFC 9113 counts */
    size_t used;
    uint8_t *more; /* LIM_HEAD_BYTES, once inline_bytes are full */
    size_t more_used;
    struct gw_exchange ex; /* members from here on are not cleared when a stream starts */
    struct gw_header headers[LIM_HEADERS];
    uint8_t inline_bytes[GW_HTTP2_INLINE_BYTES];
};

/* Returns whether a handler has the stream's request, and its response is not over. */
static inline bool gw_http2_is_in_flight(const struct gw_http2_stream *s)
{
    return s->is_dispatched && !s->response_ended;
}

/* http2_request.c: frames from the peer. */
void gw_http2_set_callbacks(nghttp2_session_callbacks *callbacks);
void gw_http2_stream_free(struct gw_http2_stream *s);
/* Records that bytes moved: they extend the time limit as long as they take at the least speed. */
void gw_http2_progress(struct gw_http2_stream *s, size_t bytes);
/* Returns whether the response was sent and the request has continued for too long: then call
 * gw_http2_stop_request. */
bool gw_http2_lingers_too_long(const struct gw_http2_stream *s, uint64_t now_ns);
int gw_http2_stop_request(struct gw_http2_stream *s);

/* http2_response.c: the response of the exchange. */
extern const struct gw_transport GW_HTTP2_TRANSPORT;
int gw_http2_send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *framehd,
                       size_t length, nghttp2_data_source *source, void *user);

#endif

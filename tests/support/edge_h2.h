/*
 * tests/support/edge_h2.h - an HTTP/2 client for the edge that can also misbehave.
 *
 * Does:     open requests, move bytes both ways, keep status, body and end of each stream; send raw
 *           frames that no honest client would.
 * Owns:     its connection and session.
 * May use:  tests/support/edge.h, nghttp2, libcheck.
 * Knows no: routes.
 * Threads:  one.
 * Blocks:   up to the timeouts given; h2_await* up to process_await_ms().
 * Fails by: ck_abort_msg when nghttp2 refuses what the test asks for.
 * Limits:   H2_STREAMS requests at a time.
 * Promises: 1. Response body bytes are consumed, and window given, inside h2_run and h2_await*.
 */
#ifndef TESTS_SUPPORT_EDGE_H2_H
#define TESTS_SUPPORT_EDGE_H2_H

#include <nghttp2/nghttp2.h>

#include "tests/support/edge.h"

#define H2_STREAMS 256

struct h2_stream {
    int32_t id;
    int status;
    struct buf body;   /* at most keep bytes */
    size_t body_bytes; /* all of it */
    bool has_trailer;
    bool is_closed;
    uint32_t error;
    /* upload */
    size_t left;
    bool is_endless; /* never ends the request */
};

struct h2 {
    struct edge_client tls;
    nghttp2_session *session;
    struct h2_stream streams[H2_STREAMS];
    size_t count;
    bool has_settled; /* the server has acknowledged our settings */
    bool got_goaway;
    uint32_t goaway_error;
    bool is_broken; /* the server closed, or nghttp2 gave up */
};

void h2_open(struct h2 *h, const struct edge *e);
/* False when the server ended the handshake; then there is nothing to close. */
bool h2_try_open(struct h2 *h, const struct edge *e);
void h2_close(struct h2 *h);
/* Drop what is known of past requests. */
void h2_forget(struct h2 *h);

/* path as given; upload bytes follow ('u'); endless: the request is never ended. */
struct h2_stream *h2_request(struct h2 *h, const char *method, const char *path, size_t upload,
                             bool endless);
/* Any header fields; no body. */
struct h2_stream *h2_submit(struct h2 *h, const nghttp2_nv *nv, size_t count);
nghttp2_nv h2_nv(const char *name, const char *value);

/* Moves bytes until all requests are closed, the connection ended, or nothing moved for quiet_ms.
 * True when all are closed. For requests that must not end: h2_await is for those that must. */
bool h2_run(struct h2 *h, int quiet_ms);
/* Moves bytes until all requests are closed, which must come within process_await_ms(). */
void h2_await(struct h2 *h);
/* Moves bytes until GOAWAY or the end of the connection, one of which must come. */
void h2_await_end(struct h2 *h);
/* Moves bytes until condition(arg) holds, which must come; what: as for process_await. */
void h2_await_that(struct h2 *h, bool (*condition)(void *arg), void *arg, const char *what);
/* Send what the session has to say, without reading. */
void h2_push(struct h2 *h);
/* A frame as it stands; false when the server does not take it. */
bool h2_frame(struct h2 *h, uint8_t type, uint8_t flags, int32_t stream, struct slice payload);

#endif

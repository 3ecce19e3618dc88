/*
 * tests/support/edge_h2.h - an HTTP/2 client for the edge that can also misbehave.
 *
 * Does:     open requests, transfer bytes both ways, store status, body and end of each stream;
 *           send raw frames that no correct client would.
 * Owns:     its connection and session.
 * May use:  tests/support/edge.h, nghttp2, libcheck.
 * Knows no: routes.
 * Threads:  one.
 * Blocks:   up to the timeouts given; h2_await* up to process_await_ms().
 * Fails by: ck_abort_msg when nghttp2 refuses a call of the test.
 * Limits:   H2_STREAMS requests at a time.
 * Promises: 1. h2_run and h2_await* consume body bytes of responses, and send window updates.
 */
#ifndef TESTS_SUPPORT_EDGE_H2_H
#define TESTS_SUPPORT_EDGE_H2_H

#include <nghttp2/nghttp2.h>

#include "tests/support/edge.h"

#define H2_STREAMS 256

struct h2_stream {
    int32_t id;
    int status;
    struct buf body;   /* the first 64 KiB at most */
    size_t body_bytes; /* length of the whole body */
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
/* Opens a connection; returns false, with nothing to close, when the server ended the handshake. */
bool h2_try_open(struct h2 *h, const struct edge *e);
void h2_close(struct h2 *h);
/* Drops the state of past requests. */
void h2_forget(struct h2 *h);

/* Sends a request with an unchanged path; `upload` bytes ('u') follow; endless: it never ends. */
struct h2_stream *h2_request(struct h2 *h, const char *method, const char *path, size_t upload,
                             bool endless);
/* Sends a request with any header fields and no body. */
struct h2_stream *h2_submit(struct h2 *h, const nghttp2_nv *nv, size_t count);
nghttp2_nv h2_nv(const char *name, const char *value);

/* Transfers bytes until all requests are closed, the connection ended, or none moved for quiet_ms.
 * Returns true when all are closed. For requests that must not end; h2_await is for those that
 * must. */
bool h2_run(struct h2 *h, int quiet_ms);
/* Transfers bytes until all requests are closed, which must happen within process_await_ms(). */
void h2_await(struct h2 *h);
/* Transfers bytes until GOAWAY or the end of the connection, one of which must arrive. */
void h2_await_end(struct h2 *h);
/* Transfers bytes until condition(arg) holds, which must happen; what: as for process_await. */
void h2_await_that(struct h2 *h, bool (*condition)(void *arg), void *arg, const char *what);
/* Sends the session's pending output, without reading. */
void h2_push(struct h2 *h);
/* Sends a raw frame; returns false when the server does not accept it. */
bool h2_frame(struct h2 *h, uint8_t type, uint8_t flags, int32_t stream, struct slice payload);

#endif

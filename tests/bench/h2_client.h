/*
 * tests/bench/h2_client.h - a client's half of HTTP/2, as much of it as a load of gRPC calls needs.
 *
 * Does:     calls of one method on one connection, so many at a time; counts what they answer.
 * Owns:     the connection and the answers under way.
 * May use:  base/, tests/bench/channel.h, nghttp2's HPACK.
 * Knows no: protobuf.
 * Threads:  one at a time.
 * Blocks:   h2_open does; nothing else.
 * Fails by: a message on stderr and exit code 1, also when the server resets a stream.
 * Limits:   a request is one DATA frame: 16 KiB.
 * Promises: 1. Heads behind the first of a connection are indexed fields alone, as gRPC libraries
 *              make them, so that neither side is measured at spelling them out.
 *           2. `answered` comes once for each request, with the status of the trailers.
 */
#ifndef TESTS_BENCH_H2_CLIENT_H
#define TESTS_BENCH_H2_CLIENT_H

#include "base/buf.h"
#include "tests/bench/channel.h"

struct h2_client;

/* A tenant at a server. */
struct h2_target {
    struct channel_server server;
    const char *key; /* NULL: none is needed */
};

struct h2_answer {
    uint32_t id;   /* of its stream; 0: no request is under way here */
    int status;    /* grpc-status; -1: none came */
    size_t bytes;  /* of all DATA */
    size_t unsaid; /* of them, not given back to the server's window yet */
    struct buf kept;
};

typedef void h2_answered(struct h2_client *c, const struct h2_answer *answer, void *user);

/* Connect for calls of `path`, at most `streams` at a time. */
struct h2_client *h2_open(const struct h2_target *target, const char *path, size_t streams,
                          h2_answered *answered, void *user);
void h2_close(struct h2_client *c);
int h2_fd(const struct h2_client *c);
/* Keep the bytes of answers, not only their number. */
void h2_keep_answers(struct h2_client *c);
/* One more call; it leaves with h2_ready. */
void h2_request(struct h2_client *c, struct slice body);
/* Read and write until the socket is not ready any more. */
void h2_ready(struct h2_client *c);

#endif

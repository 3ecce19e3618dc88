/*
 * tests/bench/channel.h - bytes to and from a server on this machine, in plaintext or through TLS.
 *
 * Does:     connect, shake hands and agree on HTTP/2; then move bytes without blocking.
 * Owns:     its socket and session.
 * May use:  base/, OpenSSL.
 * Knows no: frames.
 * Threads:  one at a time.
 * Blocks:   channel_open does; nothing else.
 * Fails by: a message on stderr and exit code 1, also when the server hangs up.
 * Limits:   none.
 * Promises: 1. The server's name is checked against its certificate.
 */
#ifndef TESTS_BENCH_CHANNEL_H
#define TESTS_BENCH_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

struct channel;

/* A server: "127.0.0.1:8443" and the file of its authority; NULL: it speaks plaintext. */
struct channel_server {
    const char *address;
    const char *ca;
};

struct channel *channel_open(const struct channel_server *server);
void channel_close(struct channel *c);
int channel_fd(const struct channel *c);
/* Both return 0 when the socket is not ready; then its next readiness is told by epoll's edge. */
size_t channel_read(struct channel *c, void *to, size_t max);
size_t channel_write(struct channel *c, const void *from, size_t len);

#endif

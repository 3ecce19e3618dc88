/*
 * tests/support/raw_tls.h - a TLS connection that says exactly the bytes it is given.
 *
 * Does:     connect with a chosen ALPN protocol, or in plaintext to the emulator's endpoint; send
 *           bytes, read until an answer, a close or the end of patience.
 * Owns:     the connection.
 * May use:  base/, OpenSSL, tests/support/server.h, libcheck.
 * Knows no: HTTP beyond the status line.
 * Threads:  one.
 * Blocks:   up to the timeout given.
 * Fails by: ck_abort_msg when it cannot connect.
 * Limits:   64 MiB of answer.
 * Promises: 1. The server's certificate is verified against the data directory's CA.
 */
#ifndef TESTS_SUPPORT_RAW_TLS_H
#define TESTS_SUPPORT_RAW_TLS_H

#include <openssl/ssl.h>

#include "base/buf.h"
#include "tests/support/server.h"

struct raw_tls {
    SSL_CTX *context;
    SSL *ssl; /* NULL: plaintext */
    int fd;
    bool closed; /* the server ended the connection */
    struct buf in;
};

/* alpn: "http/1.1", "h2" or NULL for none. */
void raw_open(struct raw_tls *r, const struct server *s, const char *alpn);
/* The same from an address of this machine, such as 127.0.0.2. */
void raw_open_from(struct raw_tls *r, const struct server *s, const char *alpn, const char *source);
/* Without TLS, to s->plain_port. */
void raw_open_plain(struct raw_tls *r, const struct server *s);
void raw_close(struct raw_tls *r);
/* False when the server has closed already. */
bool raw_send(struct raw_tls *r, struct slice bytes);
/* One read into `in`; false when nothing came in time or the connection is closed. */
bool raw_read_some(struct raw_tls *r, int timeout_ms);
/* The same when input must come: fails the test when neither input nor a close comes within
 * process_await_ms(), naming `what` it waited for; false when the connection is closed. */
bool raw_await_some(struct raw_tls *r, const char *what);
/* Wait until that many bytes, TLS records and all, are there to be read, and read none; they must
 * come. At most 32 KiB: the socket's buffer is not much larger. */
void raw_await_unread(const struct raw_tls *r, int bytes);
/* Read until the connection is closed or nothing came for timeout_ms; true when closed. */
bool raw_read_to_close(struct raw_tls *r, int timeout_ms);
/* Read until `in` holds a complete response with Content-Length (or a close); the status of the
 * first response, 0 when there is none. Takes it off `in`. */
int raw_response(struct raw_tls *r, int timeout_ms);

#endif

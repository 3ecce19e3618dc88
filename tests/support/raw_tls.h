/*
 * tests/support/raw_tls.h - a TLS connection that sends exactly the given bytes.
 *
 * Does:     connect with a chosen ALPN protocol, or in plaintext to the emulator's endpoint; send
 *           bytes, read until an answer, a close or a timeout.
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

/* Opens a connection. alpn: "http/1.1", "h2" or NULL for none. */
void raw_open(struct raw_tls *r, const struct server *s, const char *alpn);
/* Opens a connection from an address of this machine, such as 127.0.0.2. */
void raw_open_from(struct raw_tls *r, const struct server *s, const char *alpn, const char *source);
/* Opens a connection without TLS to s->plain_port. */
void raw_open_plain(struct raw_tls *r, const struct server *s);
void raw_close(struct raw_tls *r);
/* Sends bytes; returns false when the server has closed already. */
bool raw_send(struct raw_tls *r, struct slice bytes);
/* Reads once into `in`; returns false when nothing arrived in time or the connection is closed. */
bool raw_read_some(struct raw_tls *r, int timeout_ms);
/* Reads input that must arrive: fails the test when neither input nor a close arrives within
 * process_await_ms(), naming `what` it waited for; returns false when the connection is closed. */
bool raw_await_some(struct raw_tls *r, const char *what);
/* Waits until that many bytes, including TLS records, are ready to be read, which must happen;
 * reads none. At most 32 KiB: the socket's buffer is not much larger. */
void raw_await_unread(const struct raw_tls *r, int bytes);
/* Reads until the connection is closed or nothing arrived for timeout_ms;
 * returns true when closed. */
bool raw_read_to_close(struct raw_tls *r, int timeout_ms);
/* Reads until `in` holds a complete response with Content-Length (or a close). Consumes the first
 * response, and returns its status; 0 when there is none. */
int raw_response(struct raw_tls *r, int timeout_ms);

#endif

/*
 * tests/hostile/peer.h - an HTTP/2 client that need not finish, read, or be polite.
 *
 * Does:     opens connections, sends requests of both protocols whose bodies may stop short, reads
 *           answers or leaves them unread; counts statuses for the attack.
 * Owns:     connections and streams, until peer_close or peers_close_all.
 * May use:  base/, tests/support/raw_tls.h, tests/hostile/hostile.h, nghttp2.
 * Threads:  a peer is of one thread.
 * Blocks:   up to the times given; a server that does not read, for 5 s.
 * Fails by: ck_abort_msg when it cannot connect.
 * Limits:   PEERS connections of a thread.
 * Promises: 1. A stream with window 0 is never given any.
 */
#ifndef TESTS_HOSTILE_PEER_H
#define TESTS_HOSTILE_PEER_H

#include <nghttp2/nghttp2.h>

#include "tests/hostile/hostile.h"
#include "tests/support/raw_tls.h"

#define PEERS       128
#define PEER_WINDOW (4 * MIB)

struct peer_call {
    struct peer *peer;
    struct peer_call *next;
    int32_t id;
    bool is_grpc;
    bool is_endless; /* the body is not finished after its last byte */
    bool is_closed;
    struct buf body;
    size_t filler; /* bytes after the body, all 'x' */
    size_t sent;
    int status;      /* of HTTP; 0: none came */
    int grpc_status; /* -1: none came */
    size_t received;
};

struct peer {
    struct attack *attack; /* NULL: nobody counts */
    struct raw_tls tls;
    nghttp2_session *session;
    char authorization[160];
    const char *content_type; /* of bodies; NULL: application/json */
    const char *more[2][2];   /* names and values of more header fields of calls to come */
    struct peer_call *calls;
    size_t open;
    bool is_reading;
    bool is_open;
};

/* key NULL: none. window: bytes that a stream may send before it is read, 0: none are read. */
void peer_open(struct peer *p, const struct server *s, const char *key, uint32_t window);
void peer_close(struct peer *p);
/* One of the thread's, connected with the attack's key; all close together. */
struct peer *peer_new(struct attack *a, uint32_t window);
void peers_close_all(void);

/* The body is copied. */
struct peer_call *peer_request(struct peer *p, const char *method, const char *path,
                               struct slice body, size_t filler, bool is_endless);
/* One message in its frame, with a deadline ("2S") or NULL. */
struct peer_call *peer_grpc(struct peer *p, const char *method, const struct buf *message,
                            const char *timeout);
/* The same for a frame that is made already, of which `filler` bytes are missing. */
struct peer_call *peer_grpc_frame(struct peer *p, const char *method, struct slice frame,
                                  size_t filler, bool is_endless);
void peer_cancel(struct peer *p, struct peer_call *call);
/* Sends what may be sent and reads what is there; false when the connection is closed. */
bool peer_pump(struct peer *p, int wait_ms);
/* Until all calls are closed, the connection is, or the time is over; true when all calls are. */
bool peer_run(struct peer *p, int timeout_ms);
/* Frees the calls that are closed. */
void peer_forget(struct peer *p);

#define PEER_DATA  "/google.bigtable.v2.Bigtable/"
#define PEER_ADMIN "/google.bigtable.admin.v2.BigtableTableAdmin/"

#endif

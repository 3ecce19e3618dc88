/*
 * tests/support/grpc_client.h - a gRPC client that reads only when it is told to.
 *
 * Does:     open calls on one HTTP/2 connection, over TLS or in plaintext, send one message each,
 * or more piece by piece; keep what comes: frames of messages, status, message; break calls off.
 * Owns:     its connection and session, until grpc_close.
 * May use:  tests/support/raw_tls.h, nghttp2, protobuf-c, libcheck.
 * Knows no: methods, messages.
 * Threads:  one.
 * Blocks:   up to the timeouts given.
 * Fails by: ck_abort_msg when nghttp2 or the connection fails.
 * Limits:   GRPC_CALLS calls of a connection, GRPC_ANSWER_MAX bytes of each.
 * Promises: 1. Nothing is read, and no window given, but inside grpc_run, grpc_run_until,
 *              grpc_listen, grpc_begun, grpc_await* and grpc_give_windows.
 */
#ifndef TESTS_SUPPORT_GRPC_CLIENT_H
#define TESTS_SUPPORT_GRPC_CLIENT_H

#include <google/rpc/error_details.pb-c.h>
#include <google/rpc/status.pb-c.h>
#include <nghttp2/nghttp2.h>
#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"
#include "base/limits.h"
#include "tests/support/raw_tls.h"

#define GRPC_CALLS      32
#define GRPC_TAIL       17 /* a GOAWAY without text */
#define GRPC_ANSWER_MAX (512 * MIB)
#define GRPC_HEAD_ONLY  -1 /* no grpc-status came */
#define GRPC_HEADERS    80
#define GRPC_HEAD_MAX   (64 * KIB)

struct grpc_call {
    int32_t id;
    int http_status;
    int status; /* grpc-status */
    char message[512];
    char details[8192];  /* grpc-status-details-bin */
    struct buf head;     /* headers and trailers as they came, "name: value\n" */
    struct buf body;     /* framed messages */
    char encoding[16];   /* grpc-encoding */
    char cost[24];       /* bigtent-cost */
    char policies[1024]; /* ratelimit-policy */
    char limits[512];    /* ratelimit */
    char retry_after[24];
    bool is_open; /* more may be sent */
    bool is_closed;
    size_t closed_nth; /* which of the connection's calls, in the order of their ends, from 1 */
    uint32_t error;    /* of RST_STREAM */
    struct buf request;
    size_t sent;
    size_t held; /* bytes whose window was not given back */
};

struct grpc_client {
    struct raw_tls tls;
    nghttp2_session *session;
    char authorization[192];
    const char *features;          /* bigtable-features of calls to come; NULL: none */
    nghttp2_nv more[GRPC_HEADERS]; /* of calls to come */
    size_t more_count;
    size_t goaway_count;
    uint32_t goaway_error; /* of the last one */
    int32_t goaway_last_id;
    char goaway_text[64];
    uint8_t tail[GRPC_TAIL]; /* the last bytes that came, whatever nghttp2 tells of them */
    size_t pongs;
    size_t resets;      /* RST_STREAM frames, whatever they say, also of streams that have ended */
    bool holds_windows; /* what is read frees no window: a peer that takes nothing */
    struct grpc_call calls[GRPC_CALLS];
    size_t count;
    size_t closed;
};

/* key NULL: without a credential. window: bytes a call may send before it is read; 0: a large one.
 */
void grpc_open(struct grpc_client *c, const struct server *s, const char *key, uint32_t window);
/* In plaintext, without a credential. */
void grpc_open_plain(struct grpc_client *c, const struct server *s);
/* Have each frame sent at once (TCP_NODELAY); else one waits for the acknowledgement of the one
 * before, as tests of slow readers want. */
void grpc_hurry(struct grpc_client *c);
void grpc_close(struct grpc_client *c);
/* Forget all calls, which must be closed: there is room for others. */
void grpc_forget(struct grpc_client *c);
/* A header of calls to come; the texts must stay. */
void grpc_add_header(struct grpc_client *c, const char *name, const char *value);
/* path: "/service/method"; timeout: as grpc-timeout, NULL: none. */
struct grpc_call *grpc_start(struct grpc_client *c, const char *path,
                             const ProtobufCMessage *request, const char *timeout);
/* The same without a message: bytes, messages, and the end follow. */
struct grpc_call *grpc_begin(struct grpc_client *c, const char *path, const char *timeout);
void grpc_put_bytes(struct grpc_client *c, struct grpc_call *call, struct slice bytes);
void grpc_put(struct grpc_client *c, struct grpc_call *call, const ProtobufCMessage *message);
void grpc_finish(struct grpc_client *c, struct grpc_call *call);
/* That many pings in one write: all of them are there before the first is answered. */
void grpc_ping(struct grpc_client *c, size_t count);
/* Reads until all calls are closed, which must happen within process_await_ms() of silence. */
void grpc_await(struct grpc_client *c);
/* The same for one call, and for the connection. */
void grpc_await_end(struct grpc_client *c, const struct grpc_call *call);
void grpc_await_close(struct grpc_client *c);
/* Lets the server send on what holds_windows held back. */
void grpc_give_windows(struct grpc_client *c);
/* Reads until that many bytes of the call have come, which must happen. */
void grpc_await_bytes(struct grpc_client *c, const struct grpc_call *call, size_t bytes);
/* Reads until all of the call's request is sent, with its end. */
void grpc_await_sent(struct grpc_client *c, const struct grpc_call *call);
/* Reads until the head of the answer has come: the server serves the call. */
void grpc_begun(struct grpc_client *c, const struct grpc_call *call);
/* Reads for that long, whatever comes: to see that something does not come. */
void grpc_listen(struct grpc_client *c, int ms);
/* Reads until all calls are closed, or nothing came for quiet_ms; true when they are. For calls
 * that must not end: grpc_await is for those that must. */
bool grpc_run(struct grpc_client *c, int quiet_ms);
/* Until that many bytes of the call have come; false as above. */
bool grpc_run_until(struct grpc_client *c, const struct grpc_call *call, size_t bytes,
                    int quiet_ms);
void grpc_cancel(struct grpc_client *c, const struct grpc_call *call);
/* Start and run; the call must come to its end. */
struct grpc_call *grpc_ask(struct grpc_client *c, const char *path,
                           const ProtobufCMessage *request);
/* The n-th message of the call; ptr NULL: there are fewer, or it is not complete yet. */
struct slice grpc_message(const struct grpc_call *call, size_t n);
size_t grpc_message_count(const struct grpc_call *call);
/* The same unpacked; protobuf_c_message_free_unpacked gives it back. */
ProtobufCMessage *grpc_message_new(const struct grpc_call *call,
                                   const ProtobufCMessageDescriptor *type, size_t n);
/* The details of the call's status; there must be some. */
Rpc__Status *grpc_status_new(const struct grpc_call *call);
/* The detail whose type ends in name ("RetryInfo"); NULL: there is none. */
const ProtobufCBinaryData *grpc_detail(const Rpc__Status *status, const char *name);
/* The one ErrorInfo among them, which must be there; rpc__error_info__free_unpacked gives it back.
 */
Rpc__ErrorInfo *grpc_error_info_new(const struct grpc_call *call);
/* It must be that of a row too large to read; its key is appended to out. */
void grpc_large_row_key(const struct grpc_call *call, struct buf *out);

#endif

/*
 * tests/support/grpc_client.h - a gRPC client that reads only inside explicit calls.
 *
 * Does:     open calls on one HTTP/2 connection, over TLS or in plaintext, send one message each,
 *           or more piece by piece; store the answers: frames of messages, status, message; cancel
 *           calls.
 * Owns:     its connection and session, until grpc_close.
 * May use:  tests/support/raw_tls.h, nghttp2, protobuf-c, libcheck.
 * Knows no: methods, messages.
 * Threads:  one.
 * Blocks:   up to the timeouts given.
 * Fails by: ck_abort_msg when nghttp2 or the connection fails.
 * Limits:   GRPC_CALLS calls of a connection, GRPC_ANSWER_MAX bytes of each.
 * Promises: 1. Nothing is read, and no window update sent, except inside grpc_run, grpc_run_until,
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
#define GRPC_HEAD_ONLY  -1 /* no grpc-status arrived */
#define GRPC_HEADERS    80
#define GRPC_HEAD_MAX   (64 * KIB)

struct grpc_call {
    int32_t id;
    int http_status;
    int status; /* grpc-status */
    char message[512];
    char details[8192];  /* grpc-status-details-bin */
    struct buf head;     /* headers and trailers as received, "name: value\n" */
    struct buf body;     /* framed messages */
    char encoding[16];   /* grpc-encoding */
    char cost[24];       /* bigtent-cost */
    char policies[1024]; /* ratelimit-policy */
    char limits[512];    /* ratelimit */
    char retry_after[24];
    bool is_open; /* more may be sent */
    bool is_closed;
    size_t closed_nth; /* rank among the connection's calls in the order of their ends, from 1 */
    uint32_t error;    /* of RST_STREAM */
    struct buf request;
    size_t sent;
    size_t held; /* bytes without a window update */
};

struct grpc_client {
    struct raw_tls tls;
    nghttp2_session *session;
    char authorization[192];
    const char *features;          /* bigtable-features of later calls; NULL: none */
    nghttp2_nv more[GRPC_HEADERS]; /* of later calls */
    size_t more_count;
    size_t goaway_count;
    uint32_t goaway_error; /* of the last one */
    int32_t goaway_last_id;
    char goaway_text[64];
    uint8_t tail[GRPC_TAIL]; /* the last bytes received, before nghttp2 parses them */
    size_t pongs;
    size_t resets;      /* RST_STREAM frames with any error, also of streams that have ended */
    bool holds_windows; /* send no window updates, like a client that consumes nothing */
    struct grpc_call calls[GRPC_CALLS];
    size_t count;
    size_t closed;
};

/* Opens a connection. key NULL: without a credential. window: bytes that the server may send on a
 * call before they are read; 0: a large window. */
void grpc_open(struct grpc_client *c, const struct server *s, const char *key, uint32_t window);
/* Opens a connection in plaintext, without a credential. */
void grpc_open_plain(struct grpc_client *c, const struct server *s);
/* Sends each frame at once (TCP_NODELAY). Otherwise a frame waits for the acknowledgement of the
 * previous one, as tests of slow readers require. */
void grpc_hurry(struct grpc_client *c);
void grpc_close(struct grpc_client *c);
/* Drops all calls, which must be closed, so that new ones can be opened. */
void grpc_forget(struct grpc_client *c);
/* Adds a header to later calls; the texts must stay valid. */
void grpc_add_header(struct grpc_client *c, const char *name, const char *value);
/* Starts a call. path: "/service/method"; timeout: as grpc-timeout, NULL: none. */
struct grpc_call *grpc_start(struct grpc_client *c, const char *path,
                             const ProtobufCMessage *request, const char *timeout);
/* Starts a call without a message; bytes, messages, and the end follow. */
struct grpc_call *grpc_begin(struct grpc_client *c, const char *path, const char *timeout);
void grpc_put_bytes(struct grpc_client *c, struct grpc_call *call, struct slice bytes);
void grpc_put(struct grpc_client *c, struct grpc_call *call, const ProtobufCMessage *message);
void grpc_finish(struct grpc_client *c, struct grpc_call *call);
/* Sends `count` pings in one write, so that all arrive before the first is answered. */
void grpc_ping(struct grpc_client *c, size_t count);
/* Reads until all calls are closed, which must happen within process_await_ms() of silence. */
void grpc_await(struct grpc_client *c);
/* Do the same for one call, and for the connection. */
void grpc_await_end(struct grpc_client *c, const struct grpc_call *call);
void grpc_await_close(struct grpc_client *c);
/* Sends the window updates that holds_windows has withheld. */
void grpc_give_windows(struct grpc_client *c);
/* Reads until that many bytes of the call have arrived, which must happen. */
void grpc_await_bytes(struct grpc_client *c, const struct grpc_call *call, size_t bytes);
/* Reads until all of the call's request is sent, with its end. */
void grpc_await_sent(struct grpc_client *c, const struct grpc_call *call);
/* Reads until the head of the answer has arrived: the server serves the call. */
void grpc_begun(struct grpc_client *c, const struct grpc_call *call);
/* Reads for that long in any case, to check that something does not arrive. */
void grpc_listen(struct grpc_client *c, int ms);
/* Reads until all calls are closed, or nothing arrived for quiet_ms; returns true when they are
 * closed. For calls that must not end; grpc_await is for those that must. */
bool grpc_run(struct grpc_client *c, int quiet_ms);
/* Reads until that many bytes of the call have arrived; returns false as above. */
bool grpc_run_until(struct grpc_client *c, const struct grpc_call *call, size_t bytes,
                    int quiet_ms);
void grpc_cancel(struct grpc_client *c, const struct grpc_call *call);
/* Starts a call and runs it to its end, which must happen. */
struct grpc_call *grpc_ask(struct grpc_client *c, const char *path,
                           const ProtobufCMessage *request);
/* Returns the n-th message of the call; ptr NULL: there are fewer, or it is not complete yet. */
struct slice grpc_message(const struct grpc_call *call, size_t n);
size_t grpc_message_count(const struct grpc_call *call);
/* Returns the n-th message unpacked; free it with protobuf_c_message_free_unpacked. */
ProtobufCMessage *grpc_message_new(const struct grpc_call *call,
                                   const ProtobufCMessageDescriptor *type, size_t n);
/* Returns the details of the call's status, which must exist. */
Rpc__Status *grpc_status_new(const struct grpc_call *call);
/* Returns the detail whose type ends in name ("RetryInfo"); NULL: there is none. */
const ProtobufCBinaryData *grpc_detail(const Rpc__Status *status, const char *name);
/* Returns the ErrorInfo of the details, which must exist; free it with
 * rpc__error_info__free_unpacked. */
Rpc__ErrorInfo *grpc_error_info_new(const struct grpc_call *call);
/* Checks that the call's status is that of a row too large to read;
 * appends the row's key to out. */
void grpc_large_row_key(const struct grpc_call *call, struct buf *out);

#endif

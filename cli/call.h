/*
 * cli/call.h - calls of gRPC, by hand: one message there, messages back.
 *
 * Does:     send the message, cut what comes into messages, say how the call ended.
 * Owns:     its buffers, between init and fini; connection and configuration are borrowed.
 * May use:  base/, cli/.
 * Knows no: methods, what messages mean.
 * Threads:  one for each.
 * Blocks:   on the network.
 * Fails by: as cli/http.h, without what a status says; CLI_REFUSED (what comes is no stream of
 *           messages, or one is too long), said; what on_message returned.
 * Limits:   message_max.
 * Promises: 1. on_message sees whole messages, in order.
 *           2. A stream that ended inside of a message is never CLI_OK.
 */
#ifndef CLI_CALL_H
#define CLI_CALL_H

#include "cli/http.h"

/* The statuses that are told apart here. */
enum cli_call_status {
    CLI_CALL_NONE = -1, /* none came: the stream broke off */
    CLI_CALL_DONE = 0,
    CLI_CALL_DEADLINE = 4,
    CLI_CALL_NOT_FOUND = 5,
    CLI_CALL_EXISTS = 6,
    CLI_CALL_DENIED = 7,
    CLI_CALL_EXHAUSTED = 8,
    CLI_CALL_ABORTED = 10,
    CLI_CALL_UNIMPLEMENTED = 12,
    CLI_CALL_UNAVAILABLE = 14,
    CLI_CALL_UNAUTHENTICATED = 16,
};

struct cli_call {
    struct cli_http *http;
    const char *what; /* of messages, for messages: "a change" */
    size_t message_max;
    struct buf bytes; /* of messages, not yet whole */
    bool (*goes_on)(void *ctx);
    void *ctx; /* of goes_on */
    /* Anything but CLI_OK breaks the call off. */
    enum cli_exit (*on_message)(void *message_ctx, struct slice message);
    void *message_ctx;
    struct cli_answer answer; /* of the call under way, or the last one */
};

/* A message of no more than this is sent. */
#define CLI_CALL_REQUEST_BYTES (LIM_CELL_BYTES_HARD + 1 * MIB)

/* Nor is an answer of one message that is longer taken. */
#define CLI_CALL_REPLY_BYTES (4 * MIB)

struct cli_call_request {
    const char *method;   /* "/service/Method" */
    const char *resource; /* "table_name=.."; NULL: none */
    struct slice message;
    uint64_t timeout_ms; /* 0: as long as bytes come */
};

/* The fields of *call but bytes and answer were set before, or are set behind it. */
void cli_call_init(struct cli_call *call, size_t message_max);
void cli_call_fini(struct cli_call *call);
/* CLI_OK: it came to an end, which answer.grpc_status says. */
enum cli_exit cli_call_run(struct cli_call *call, const struct cli_call_request *request);
/* A call on a connection that is answered with one message, which *out_reply becomes; tried again
 * when the server says that nothing was done. CLI_OK: with CLI_CALL_DONE, or with `also`; what else
 * the server said is CLI_REFUSED, and said. */
enum cli_exit cli_call_ask(struct cli_http *http, const char *method, struct slice message,
                           enum cli_call_status also, struct buf *out_reply);
/* What comes, in pieces of any size; on_message is called from here. */
enum cli_exit cli_call_take(struct cli_call *call, struct slice bytes);

#endif

/*
 * cli/call.h - gRPC calls without a gRPC library: one request message, a stream of replies.
 *
 * Does:     send the message, split the response into messages, return the call's status.
 * Owns:     its buffers, between init and fini; connection and configuration are borrowed.
 * May use:  base/, cli/.
 * Knows no: methods, what messages mean.
 * Threads:  one for each.
 * Blocks:   on the network.
 * Fails by: as cli/http.h, except for gRPC statuses; CLI_REFUSED (the response is not a stream of
 *           messages, or a message is too long), reported; the result of on_message.
 * Limits:   message_max.
 * Promises: 1. on_message receives complete messages, in order.
 *           2. A stream that ended inside a message is never CLI_OK.
 */
#ifndef CLI_CALL_H
#define CLI_CALL_H

#include "cli/http.h"

/* The statuses that the command line distinguishes. */
enum cli_call_status {
    CLI_CALL_NONE = -1, /* none arrived: the stream was broken */
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
    const char *what; /* name of a received message in error messages: "a change" */
    size_t message_max;
    struct buf bytes; /* received bytes of an incomplete message */
    bool (*goes_on)(void *ctx);
    void *ctx; /* of goes_on */
    /* Any result but CLI_OK aborts the call. */
    enum cli_exit (*on_message)(void *message_ctx, struct slice message);
    void *message_ctx;
    struct cli_answer answer; /* of the call in flight, or the last one */
};

/* Limit of a request message. */
#define CLI_CALL_REQUEST_BYTES (LIM_CELL_BYTES_HARD + 1 * MIB)

/* Limit of the reply of cli_call_ask. */
#define CLI_CALL_REPLY_BYTES (4 * MIB)

struct cli_call_request {
    const char *method;   /* "/service/Method" */
    const char *resource; /* "table_name=.."; NULL: none */
    struct slice message;
    uint64_t timeout_ms; /* 0: unbounded while bytes arrive */
};

/* Initializes bytes and answer. The caller sets the other fields, before or after. */
void cli_call_init(struct cli_call *call, size_t message_max);
void cli_call_fini(struct cli_call *call);
/* Runs a call. CLI_OK: the call ended, with the status in answer.grpc_status. */
enum cli_exit cli_call_run(struct cli_call *call, const struct cli_call_request *request);
/* Runs a call whose reply is one message, and stores it in *out_reply. Retries when the server
 * reports that nothing was done. CLI_OK: the status is CLI_CALL_DONE or `also`; any other status is
 * CLI_REFUSED, and is reported. */
enum cli_exit cli_call_ask(struct cli_http *http, const char *method, struct slice message,
                           enum cli_call_status also, struct buf *out_reply);
/* Appends received bytes, in pieces of any size, and calls on_message for each complete message. */
enum cli_exit cli_call_take(struct cli_call *call, struct slice bytes);

#endif

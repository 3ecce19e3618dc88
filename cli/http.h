/*
 * cli/http.h - requests to the gateway.
 *
 * Does:     send a request, collect or stream its answer, try again after 429 and 503, turn every
 *           failure into a message and an exit code.
 * Owns:     the connection, kept open between requests.
 * May use:  base/, cli/.
 * Knows no: routes.
 * Threads:  one.
 * Blocks:   on the network.
 * Fails by: CLI_UNREACHABLE (no connection, TLS, broken stream), CLI_NOT_FOUND, CLI_REFUSED,
 *           CLI_INTERRUPTED, what on_bytes returned; all said on stderr.
 * Limits:   CLI_ANSWER_BYTES, CLI_PROBLEM_BYTES, CLI_CONNECT_TIMEOUT_MS, CLI_STALL_SECONDS.
 * Promises: 1. HTTPS only, the certificate and name are verified, redirects are not followed: the
 *              key goes to no other server. A foreign service (config.h) may be read over HTTP,
 *              without a key.
 *           2. With --cacert nothing but that CA is trusted.
 *           3. A stream that broke off is never CLI_OK.
 */
#ifndef CLI_HTTP_H
#define CLI_HTTP_H

#include <jansson.h>

#include "base/buf.h"
#include "cli/config.h"

#define CLI_GRPC_MESSAGE 256

struct cli_http;

struct cli_request {
    const char *method;
    const struct buf *target;
    struct slice body;        /* ptr NULL: none */
    const char *content_type; /* NULL: application/json */
    const char *accept;       /* NULL: application/json */
    const char *condition;    /* a header, If-Match or If-None-Match; NULL: none */
    const char *condition_value;
    const char *resource; /* of a call of gRPC: which it is about, "name=.."; NULL: none */
    bool repeatable;      /* doing it twice leaves what doing it once does */
    bool open;            /* send no key */
    bool any_status;      /* the caller looks at the status itself */
    long one_status;      /* the same of this one alone; 0: none */
    bool grpc;            /* a call of gRPC: how it ended is in the answer's grpc_status */
    uint64_t timeout_ms;  /* for all of it; 0: as long as bytes come */
    /* Asked about once a second while the answer is awaited; false breaks off with
     * CLI_INTERRUPTED. NULL: only a signal does. */
    bool (*goes_on)(void *ctx);
    /* Body bytes of a 2xx answer as they come; anything but CLI_OK breaks off. NULL: collect. */
    enum cli_exit (*on_bytes)(void *ctx, struct slice bytes);
    void *ctx; /* of both */
};

struct cli_answer {
    long status;
    int http_version; /* 10, 11, 20 */
    uint64_t duration_us;
    bool began;      /* the head arrived */
    int64_t date_s;  /* of a call of gRPC: the server's clock when it began, 0: not told */
    int grpc_status; /* -1: none came */
    char grpc_message[CLI_GRPC_MESSAGE];
    struct buf body;
};

enum cli_exit cli_http_open(const struct cli_config *config, struct cli_http **out);
void cli_http_close(struct cli_http *http);

/* Fill *out (base_buf_fini its body, whatever was returned). */
enum cli_exit cli_http_run(struct cli_http *http, struct cli_request *request,
                           struct cli_answer *out);
/* The same for one JSON document; *out is NULL when the answer has no body. json_decref it. */
enum cli_exit cli_http_json(struct cli_http *http, struct cli_request *request, json_t **out);
/* GET target (which is freed) and parse. */
enum cli_exit cli_http_get(struct cli_http *http, struct buf *target, json_t **out);
/* Send body (NULL: none; the reference is taken) to target (which is freed) and parse. */
enum cli_exit cli_http_send(struct cli_http *http, const char *method, struct buf *target,
                            json_t *body, bool repeatable, json_t **out);
/* The same on a condition; repeatable: a refusal may then be for what an earlier attempt did. */
enum cli_exit cli_http_send_if(struct cli_http *http, const char *method, struct buf *target,
                               const char *condition, const char *value, json_t *body,
                               bool repeatable, json_t **out);

#endif

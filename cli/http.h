/*
 * cli/http.h - requests to the gateway.
 *
 * Does:     send a request, collect or stream its answer, retry after 429 and 503, convert every
 *           failure to a message and an exit code.
 * Owns:     the connection, kept open between requests.
 * May use:  base/, cli/.
 * Knows no: routes.
 * Threads:  one.
 * Blocks:   on the network.
 * Fails by: CLI_UNREACHABLE (no connection, TLS, broken stream), CLI_NOT_FOUND, CLI_REFUSED,
 *           CLI_INTERRUPTED, the result of on_bytes; all reported on stderr.
 * Limits:   CLI_ANSWER_BYTES, CLI_PROBLEM_BYTES, CLI_CONNECT_TIMEOUT_MS, CLI_STALL_SECONDS.
 * Promises: 1. HTTPS only, the certificate and name are verified, redirects are not followed: the
 *              key is sent to no other server. A foreign service (config.h) may be read over HTTP,
 *              without a key.
 *           2. With --cacert only that CA is trusted.
 *           3. A broken stream is never CLI_OK.
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
    const char *resource; /* of a gRPC call: its routing parameter, "name=.."; NULL: none */
    bool repeatable;      /* the request is idempotent */
    bool open;            /* send no key */
    bool any_status;      /* the caller handles every status itself */
    long one_status;      /* a single status that the caller handles itself; 0: none */
    bool grpc;            /* a gRPC call: its status is in the answer's grpc_status */
    uint64_t timeout_ms;  /* for the whole request; 0: unbounded while bytes arrive */
    /* Called about once a second while the request waits for its answer; false aborts with
     * CLI_INTERRUPTED. NULL: only a signal aborts the request. */
    bool (*goes_on)(void *ctx);
    /* Receives body bytes of a 2xx answer as they arrive; any result but CLI_OK aborts.
     * NULL: the body is collected. */
    enum cli_exit (*on_bytes)(void *ctx, struct slice bytes);
    void *ctx; /* of both */
};

struct cli_answer {
    long status;
    int http_version; /* 10, 11, 20 */
    uint64_t duration_us;
    bool began;      /* the head arrived */
    int64_t date_s;  /* of a gRPC call: the server's clock when it started; 0: unknown */
    int grpc_status; /* -1: none arrived */
    char grpc_message[CLI_GRPC_MESSAGE];
    struct buf body;
};

enum cli_exit cli_http_open(const struct cli_config *config, struct cli_http **out);
void cli_http_close(struct cli_http *http);

/* Sends the request and fills *out (base_buf_fini its body, also after an error). */
enum cli_exit cli_http_run(struct cli_http *http, struct cli_request *request,
                           struct cli_answer *out);
/* Sends a request that returns one JSON document; *out is NULL when the answer
 * has no body. json_decref it. */
enum cli_exit cli_http_json(struct cli_http *http, struct cli_request *request, json_t **out);
/* Sends GET target (which is freed) and parses the answer. */
enum cli_exit cli_http_get(struct cli_http *http, struct buf *target, json_t **out);
/* Sends body (NULL: none; the reference is taken) to target (which is freed)
 * and parses the answer. */
enum cli_exit cli_http_send(struct cli_http *http, const char *method, struct buf *target,
                            json_t *body, bool repeatable, json_t **out);
/* Does the same with a condition. With repeatable, an earlier attempt may have caused a refusal. */
enum cli_exit cli_http_send_if(struct cli_http *http, const char *method, struct buf *target,
                               const char *condition, const char *value, json_t *body,
                               bool repeatable, json_t **out);

#endif

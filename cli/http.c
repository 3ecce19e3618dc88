/*
 * cli/http.c - see http.h.
 *
 * One curl handle keeps the connection for the life of the program; each request sets all its
 * options. The caller's on_bytes receives an answer's bytes only when the status is 2xx: refusals
 * are always collected, to be explained.
 */
#include "cli/http.h"

#include <curl/curl.h>
#include <limits.h>
#include <stdio.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cli/bounds.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/problem.h"

#include "base/banned.h"

#define HEADER_BYTES 4096
/* Size from which a body is sent over HTTP/1.1: while a stream's window is closed, libcurl 7.88
 * polls the socket in a busy loop. gRPC has no alternative to HTTP/2. */
#define HTTP_1_BYTES (16 * KIB)
#define BACKOFF_MS   1000
#define ADMIN_PREFIX "/v1/admin"
#define JSON_MEDIA   "application/json"
#define USER_AGENT   "bigtent/" BIGTENT_VERSION

struct cli_http {
    const struct cli_config *config;
    CURL *curl;
    char detail[CURL_ERROR_SIZE];
};

struct transfer {
    CURL *curl;
    const struct cli_request *request;
    struct cli_answer *answer;
    enum cli_exit stop; /* reason why a callback aborted */
    bool too_big;
    bool is_over; /* a gRPC call was refused */
};

enum cli_exit cli_http_open(const struct cli_config *config, struct cli_http **out)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return cli_fail(CLI_UNREACHABLE, "cannot start the TLS library");
    CURL *curl = curl_easy_init();
    if (curl == NULL)
        return cli_fail(CLI_UNREACHABLE, "cannot start the HTTP library");
    struct cli_http *http = base_new(sizeof *http);
    http->config = config;
    http->curl = curl;
    *out = http;
    return CLI_OK;
}

void cli_http_close(struct cli_http *http)
{
    if (http == NULL)
        return;
    curl_easy_cleanup(http->curl);
    curl_global_cleanup();
    base_free(http);
}

static size_t on_write(char *bytes, size_t size, size_t count, void *user)
{
    struct transfer *t = user;
    size_t len = size * count;
    long status = 0;
    (void)curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
    t->answer->began = true;
    bool good = status >= 200 && status < 300;
    if (good && t->request->on_bytes != NULL) {
        t->stop = t->request->on_bytes(t->request->ctx, base_slice(bytes, len));
        return t->stop == CLI_OK ? len : 0;
    }
    struct buf *body = &t->answer->body;
    if (!good && body->len + len > CLI_PROBLEM_BYTES)
        return len; /* the part so far is enough to explain it */
    if (base_buf_append(body, base_slice(bytes, len)) == ERR_OK)
        return len;
    t->too_big = true;
    return 0;
}

/* Outputs the value after "name:" in a line of the head; false: the line has another name. */
static bool header_is(struct slice line, const char *name, char out[CLI_GRPC_MESSAGE])
{
    size_t len = strlen(name);
    if (line.len < len || strncasecmp((const char *)line.ptr, name, len) != 0)
        return false;
    line = base_slice_skip(line, len);
    while (line.len > 0 && line.ptr[0] == ' ')
        line = base_slice_skip(line, 1);
    while (line.len > 0 && line.ptr[line.len - 1] <= ' ')
        line.len--;
    (void)snprintf(out, CLI_GRPC_MESSAGE, "%.*s", (int)line.len,
                   (const char *)line.ptr); /* truncated */
    return true;
}

/* Handles a line of the head or the trailers; the message stays percent-encoded. */
static size_t on_header(char *bytes, size_t size, size_t count, void *user)
{
    struct transfer *t = user;
    struct slice line = base_slice(bytes, size * count);
    char value[CLI_GRPC_MESSAGE];
    uint64_t status = 0;
    if (header_is(line, "grpc-message:", value))
        memcpy(t->answer->grpc_message, value, sizeof value);
    else if (header_is(line, "date:", value))
        t->answer->date_s = curl_getdate(value, NULL) > 0 ? curl_getdate(value, NULL) : 0;
    else if (header_is(line, "grpc-status:", value) &&
             base_parse_u64(base_slice_text(value), &status) == ERR_OK && status <= INT_MAX)
        t->answer->grpc_status = (int)status;
    return size * count;
}

static int on_progress(void *user, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up)
{
    struct transfer *t = user;
    (void)down_total; /* progress is not needed here */
    (void)down;
    (void)up_total;
    (void)up;
    if (t->request->goes_on != NULL && !t->request->goes_on(t->request->ctx))
        t->stop = CLI_INTERRUPTED;
    /* After a refusal that arrived before the request was read, libcurl 7.88 waits forever. */
    t->is_over = t->request->grpc && t->answer->grpc_status > 0;
    return cli_interrupted() || t->stop == CLI_INTERRUPTED || t->is_over ? 1 : 0;
}

static struct curl_slist *add_header(struct curl_slist *list, const char *name, const char *value)
{
    char line[HEADER_BYTES];
    int n = snprintf(line, sizeof line, "%s: %s", name, value);
    INVARIANT(n > 0 && (size_t)n < sizeof line); /* config and callers bound their values */
    struct curl_slist *longer = curl_slist_append(list, line);
    INVARIANT(longer != NULL);
    explicit_bzero(line, sizeof line);
    return longer;
}

static struct curl_slist *make_headers(const struct cli_http *http, const struct cli_request *rq)
{
    struct curl_slist *list = add_header(NULL, "Accept", rq->accept ? rq->accept : JSON_MEDIA);
    if (rq->body.ptr != NULL)
        list = add_header(list, "Content-Type", rq->content_type ? rq->content_type : JSON_MEDIA);
    if (http->config->key != NULL && !rq->open && !cli_config_is_plain(http->config)) {
        char value[CLI_KEY_BYTES + 16];
        (void)snprintf(value, sizeof value, "Bearer %s", http->config->key); /* bounded by config */
        list = add_header(list, "Authorization", value);
        explicit_bzero(value, sizeof value);
    }
    /* The admin routes name the tenant in the path. */
    bool is_admin = base_slice_starts_with(base_buf_slice(rq->target), SLICE_LIT(ADMIN_PREFIX));
    if (http->config->tenant != NULL && !is_admin && !rq->open)
        list = add_header(list, "Bigtent-Tenant", http->config->tenant);
    if (rq->grpc)
        list = add_header(list, "TE", "trailers");
    if (rq->resource != NULL)
        list = add_header(list, "x-goog-request-params", rq->resource);
    if (rq->condition != NULL)
        list = add_header(list, rq->condition, rq->condition_value);
    /* Without this curl waits for "100 Continue" before a large body. */
    struct curl_slist *longer = curl_slist_append(list, "Expect:");
    INVARIANT(longer != NULL);
    return longer;
}

static void free_headers(struct curl_slist *list)
{
    for (struct curl_slist *h = list; h != NULL; h = h->next)
        explicit_bzero(h->data, strlen(h->data));
    curl_slist_free_all(list);
}

static void set_options(struct cli_http *http, struct transfer *t, const char *url,
                        struct curl_slist *headers)
{
    CURL *c = http->curl;
    const struct cli_request *rq = t->request;
    bool is_plain = cli_config_is_plain(http->config);
    curl_easy_reset(c);
    http->detail[0] = '\0';
    (void)curl_easy_setopt(c, CURLOPT_ERRORBUFFER, http->detail);
    (void)curl_easy_setopt(c, CURLOPT_URL, url);
    (void)curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L); /* "." and ".." are row keys */
    (void)curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, is_plain ? "http" : "https");
    (void)curl_easy_setopt(c, CURLOPT_HTTP_VERSION,
                           is_plain ? (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
                           : rq->body.len > HTTP_1_BYTES && !rq->grpc
                               ? (long)CURL_HTTP_VERSION_1_1
                               : (long)CURL_HTTP_VERSION_2TLS);
    (void)curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    (void)curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
    (void)curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
    if (http->config->cacert != NULL) {
        (void)curl_easy_setopt(c, CURLOPT_CAINFO, http->config->cacert);
        (void)curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
    }
    (void)curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)CLI_CONNECT_TIMEOUT_MS);
    (void)curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    (void)curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)CLI_STALL_SECONDS);
    (void)curl_easy_setopt(c, CURLOPT_USERAGENT, USER_AGENT);
    (void)curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_write);
    (void)curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    if (rq->grpc) {
        (void)curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
        (void)curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
    }
    (void)curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    (void)curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
    (void)curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)rq->timeout_ms);
    (void)curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    if (strcmp(rq->method, "GET") == 0)
        return;
    if (rq->body.ptr != NULL || strcmp(rq->method, "DELETE") != 0) {
        (void)curl_easy_setopt(c, CURLOPT_POST, 1L);
        (void)curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)rq->body.len);
        (void)curl_easy_setopt(c, CURLOPT_POSTFIELDS,
                               rq->body.ptr != NULL ? (const char *)rq->body.ptr : "");
    }
    (void)curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, rq->method);
}

/* The result of a try, for the next one. */
struct attempt {
    CURLcode code;
    bool stale; /* it used an existing connection */
};

static void note_answer(CURL *curl, struct cli_answer *out, struct attempt *attempt)
{
    long version = 0;
    long connects = 0;
    curl_off_t total_us = 0;
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &out->status);
    (void)curl_easy_getinfo(curl, CURLINFO_HTTP_VERSION, &version);
    (void)curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &connects);
    (void)curl_easy_getinfo(curl, CURLINFO_TOTAL_TIME_T, &total_us);
    out->http_version = version == CURL_HTTP_VERSION_2_0   ? 20
                        : version == CURL_HTTP_VERSION_1_1 ? 11
                                                           : 10;
    out->duration_us = (uint64_t)total_us;
    out->began = out->began || out->status > 0;
    attempt->stale = connects == 0;
}

/* Tries once. Returns CLI_OK when a complete answer arrived, with any status;
 * does not report CLI_UNREACHABLE. */
static enum cli_exit perform(struct cli_http *http, const struct cli_request *rq, bool fresh,
                             struct cli_answer *out, struct attempt *attempt)
{
    struct transfer t = {.curl = http->curl, .request = rq, .answer = out};
    struct buf url;
    base_buf_init(&url, CLI_TARGET_BYTES + HEADER_BYTES);
    base_buf_append_text(&url, http->config->url);
    base_buf_append(&url, base_buf_slice(rq->target));
    base_buf_append_byte(&url, '\0');
    if (url.error != ERR_OK || rq->target->error != ERR_OK) {
        base_buf_fini(&url);
        return cli_fail(CLI_USAGE, "the names on the command line are too long for a request");
    }
    out->began = false;
    out->grpc_status = -1;
    out->date_s = 0;
    base_buf_truncate(&out->body, 0);
    struct curl_slist *headers = make_headers(http, rq);
    set_options(http, &t, (const char *)url.ptr, headers);
    (void)curl_easy_setopt(http->curl, CURLOPT_FRESH_CONNECT, fresh ? 1L : 0L);
    attempt->code = curl_easy_perform(http->curl);
    note_answer(http->curl, out, attempt);
    free_headers(headers);
    base_buf_fini(&url);
    if (attempt->code == CURLE_OK || (t.is_over && attempt->code == CURLE_ABORTED_BY_CALLBACK))
        return CLI_OK;
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    if (t.stop != CLI_OK)
        return t.stop;
    if (t.too_big)
        return cli_fail(CLI_REFUSED, "the server's answer is larger than %lu bytes",
                        CLI_ANSWER_BYTES);
    return CLI_UNREACHABLE;
}

/* Returns the wait before the next try in ms. */
static uint64_t retry_wait_ms(const struct cli_http *http, unsigned tries)
{
    curl_off_t seconds = 0;
    if (curl_easy_getinfo(http->curl, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0)
        return (uint64_t)seconds * 1000;
    return BACKOFF_MS << (tries < 5 ? tries : 5);
}

enum cli_exit cli_http_run(struct cli_http *http, struct cli_request *request,
                           struct cli_answer *out)
{
    memset(out, 0, sizeof *out);
    base_buf_init(&out->body, CLI_ANSWER_BYTES);
    bool fresh = false;
    for (unsigned tries = 0;; tries++) {
        struct attempt attempt = {0};
        enum cli_exit e = perform(http, request, fresh, out, &attempt);
        if (e == CLI_UNREACHABLE && request->repeatable && attempt.stale && !out->began && !fresh) {
            fresh = true; /* the server had closed the connection: retry on a new one */
            e = perform(http, request, fresh, out, &attempt);
        }
        if (e == CLI_UNREACHABLE)
            return cli_problem_transport(http->config, attempt.code, http->detail, out->began);
        if (e != CLI_OK)
            return e;
        if (request->any_status || (out->status >= 200 && out->status < 300) ||
            (request->one_status != 0 && out->status == request->one_status))
            return CLI_OK;
        bool may_help = request->repeatable && (out->status == 429 || out->status == 503);
        uint64_t wait_ms = may_help ? retry_wait_ms(http, tries) : 0;
        if (!may_help || tries >= http->config->retries || wait_ms > CLI_RETRY_WAIT_MAX_MS)
            return cli_problem_answer(http->config, out->status, base_buf_slice(&out->body));
        if (cli_err_is_terminal())
            cli_say("%s; trying again in %llu s", out->status == 429 ? "too fast" : "busy",
                    (unsigned long long)(wait_ms + 999) / 1000);
        if (!cli_sleep_ms(wait_ms))
            return CLI_INTERRUPTED;
    }
}

enum cli_exit cli_http_json(struct cli_http *http, struct cli_request *request, json_t **out)
{
    struct cli_answer answer;
    *out = NULL;
    enum cli_exit e = cli_http_run(http, request, &answer);
    if (e == CLI_OK && answer.body.len > 0) {
        *out = cli_json_parse(base_buf_slice(&answer.body));
        if (*out == NULL)
            e = cli_fail(CLI_REFUSED, "%s answered with something that is not JSON",
                         http->config->url);
    }
    base_buf_fini(&answer.body);
    return e;
}

enum cli_exit cli_http_get(struct cli_http *http, struct buf *target, json_t **out)
{
    struct cli_request request = {.method = "GET", .target = target, .repeatable = true};
    enum cli_exit e = cli_http_json(http, &request, out);
    if (e == CLI_OK && *out == NULL)
        e = cli_fail(CLI_REFUSED, "%s answered with nothing", http->config->url);
    base_buf_fini(target);
    return e;
}

/* Sends a JSON body. Takes body and target. */
static enum cli_exit send_json(struct cli_http *http, struct cli_request *request,
                               struct buf *target, json_t *body, json_t **out)
{
    struct buf text;
    base_buf_init(&text, CLI_REQUEST_BYTES);
    request->target = target;
    enum cli_exit e = CLI_OK;
    *out = NULL;
    if (body != NULL && !cli_json_append(&text, body, 0))
        e = cli_fail(CLI_USAGE, "the request is larger than %lu bytes", CLI_REQUEST_BYTES);
    if (text.len > 0)
        request->body = base_buf_slice(&text);
    if (e == CLI_OK)
        e = cli_http_json(http, request, out);
    json_decref(body);
    base_buf_fini(&text);
    base_buf_fini(target);
    return e;
}

enum cli_exit cli_http_send(struct cli_http *http, const char *method, struct buf *target,
                            json_t *body, bool repeatable, json_t **out)
{
    struct cli_request request = {.method = method, .repeatable = repeatable};
    return send_json(http, &request, target, body, out);
}

enum cli_exit cli_http_send_if(struct cli_http *http, const char *method, struct buf *target,
                               const char *condition, const char *value, json_t *body,
                               bool repeatable, json_t **out)
{
    struct cli_request request = {.method = method,
                                  .repeatable = repeatable,
                                  .condition = condition,
                                  .condition_value = value};
    return send_json(http, &request, target, body, out);
}

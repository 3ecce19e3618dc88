/*
 * tests/support/http.h - one caller of the server: a libcurl handle, a key, the last answer.
 *
 * Does:     send a request over TLS with HTTP/1.1 or HTTP/2, keep status, headers and body, look
 *           into a JSON answer by path; send many requests at once over one HTTP/2 connection.
 * Owns:     its connection and the last answer, until the next request.
 * May use:  base/, libcurl, jansson, tests/support/server.h, libcheck.
 * Knows no: routes.
 * Threads:  one handle per thread.
 * Blocks:   until the answer is complete.
 * Fails by: ck_abort_msg when the transport fails, except http_try.
 * Limits:   HTTP_BODY_MAX of answer.
 * Promises: 1. The answer really came over the protocol that was asked for.
 *           2. Targets go out exactly as given.
 */
#ifndef TESTS_SUPPORT_HTTP_H
#define TESTS_SUPPORT_HTTP_H

#include <curl/curl.h>
#include <jansson.h>

#include "base/buf.h"
#include "tests/support/server.h"

#define HTTP_BODY_MAX (512UL * 1024 * 1024)

enum http_version { HTTP_1 = 0, HTTP_2 = 1, HTTP_VERSIONS = 2 };

struct http {
    CURL *curl;
    const struct server *server;
    enum http_version version;
    struct curl_slist *always; /* headers of every request */
    struct curl_slist *once;   /* headers of the next request */
    bool no_default_type;      /* do not add Content-Type: application/json to bodies */

    CURLcode transport; /* of the last request */
    int status;
    struct buf headers; /* lines as received */
    struct buf body;
    json_t *json; /* the body, parsed when first asked for */
    double seconds;
    char error[CURL_ERROR_SIZE];
    char header[8192];    /* what http_header gave last */
    char text[64 * 1024]; /* what http_text gave last */
};

/* key: NULL for none; sent as Authorization: Bearer. */
struct http *http_open(const struct server *s, enum http_version version, const char *key);
void http_close(struct http *h);
/* Replace the headers of every request by the key's alone (NULL: none). */
void http_use_key(struct http *h, const char *key);
/* Add a header to every request, to the next request. */
void http_always(struct http *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
void http_once(struct http *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Drop the connection; the next request makes a new one. */
void http_reconnect(struct http *h);

/* False when no complete answer came; h->transport and h->error say why. body.ptr NULL: none. */
bool http_try(struct http *h, const char *method, const char *target, struct slice body);
/* The same, but a failing transport fails the test. Returns the status. */
int http_send(struct http *h, const char *method, const char *target, struct slice body);

/* Targets are printf formats. Bodies named json are C strings in which ' stands for ". */
int http_get(struct http *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
int http_delete(struct http *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
int http_json(struct http *h, const char *method, const char *json, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A body as bytes, and one as a JSON value that is given away. */
int http_bytes(struct http *h, const char *method, struct slice body, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int http_value_take(struct http *h, const char *method, json_t *value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* --- the last answer -------------------------------------------------------------------------- */

/* Value of a response header (lower-case name), or NULL; until the next call. */
const char *http_header(struct http *h, const char *name);
/* The body as text, for messages. */
const char *http_text(struct http *h);
/* The parsed body; fails the test when it is not JSON. Borrowed. */
json_t *http_body(struct http *h);
/* By path: "/rows/0/key"; NULL when it is not there. Borrowed. */
json_t *http_at(struct http *h, const char *path);
/* The same, but it must be there and have that type. */
const char *http_string(struct http *h, const char *path);
int64_t http_number(struct http *h, const char *path);
size_t http_count(struct http *h, const char *path);
/* How many lines an NDJSON body has, and line n (0-based), parsed; the caller decrefs. */
size_t http_lines(struct http *h);
json_t *http_line_new(struct http *h, size_t n);
/* NULL when the answer is a correct problem document with that status and code, else what is
 * wrong with it. */
const char *http_problem_mismatch(struct http *h, int status, const char *code);
json_t *json_at(json_t *from, const char *path);
/* The row keys of a page, in order, as "k1,k2,"; in static memory until the next call. */
const char *http_page_keys(struct http *h);

/* A body that must be refused, and what the problem's detail must mention ("": anything). */
struct refusal {
    const char *body;
    int status;
    const char *code;
    const char *says;
};
/* Send it; anything but that refusal fails the test. */
void http_json_refused(struct http *h, const char *method, const char *target,
                       const struct refusal *bad);
/* A loop test over every row of a table and every version of HTTP: row _i / HTTP_VERSIONS, version
 * _i % HTTP_VERSIONS. */
#define HTTP_EACH(list) ((int)(sizeof(list) / sizeof((list)[0])) * HTTP_VERSIONS)

#define EXPECT_STATUS(h, wanted)                                                                   \
    ck_assert_msg((h)->status == (wanted), "status %d, expected %d; body: %s", (h)->status,        \
                  (wanted), http_text(h))
#define EXPECT_PROBLEM(h, wanted, code)                                                            \
    do {                                                                                           \
        const char *mismatch_ = http_problem_mismatch((h), (wanted), (code));                      \
        ck_assert_msg(mismatch_ == NULL, "%s", mismatch_);                                         \
    } while (0)
#define EXPECT_PROBLEM_OF(h, what, wanted, code)                                                   \
    do {                                                                                           \
        const char *mismatch_ = http_problem_mismatch((h), (wanted), (code));                      \
        ck_assert_msg(mismatch_ == NULL, "%s: %s", (what), mismatch_);                             \
    } while (0)
/* Compare the body with JSON text in which ' stands for ". */
#define EXPECT_JSON(h, text)                                                                       \
    do {                                                                                           \
        const char *difference_ = http_json_difference((h), (text));                               \
        ck_assert_msg(difference_ == NULL, "%s", difference_);                                     \
    } while (0)
const char *http_json_difference(struct http *h, const char *expected);

/* Percent-encode bytes for a target (dots too: ".." is a row key); in a ring of thread-local
 * memory, good for 8 calls. */
const char *pct(const void *bytes, size_t len);
/* The same for a C string. */
const char *pcts(const char *text);
/* JSON text with ' turned into "; in thread-local memory, good until the next call. */
struct slice quoted(const char *text);

/* --- many at once ------------------------------------------------------------------------------*/

struct http_call {
    const char *method;
    const char *target;
    struct slice body;
    int status; /* 0: the transport failed */
};
/* Send all calls at once over one HTTP/2 connection, with the headers of every request of h. */
void http_send_all(struct http *h, struct http_call *calls, size_t count);
/* The same with one more header for each call. */
void http_send_all_with(struct http *h, struct http_call *calls, const char *const *headers,
                        size_t count);

#endif

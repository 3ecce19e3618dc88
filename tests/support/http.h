/*
 * tests/support/http.h - one client of the server: a libcurl handle, a key, the last answer.
 *
 * Does:     send a request over TLS with HTTP/1.1 or HTTP/2, store status, headers and body, read a
 *           JSON answer by path; send many requests at once over one HTTP/2 connection.
 * Owns:     its connection and the last answer, until the next request.
 * May use:  base/, libcurl, jansson, tests/support/server.h, libcheck.
 * Knows no: routes.
 * Threads:  one handle per thread.
 * Blocks:   until the answer is complete.
 * Fails by: ck_abort_msg when the transport fails, except http_try.
 * Limits:   HTTP_BODY_MAX of answer.
 * Promises: 1. The answer really arrived over the requested protocol.
 *           2. Targets are sent unchanged.
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
    json_t *json; /* the body, parsed on first use */
    double seconds;
    char error[CURL_ERROR_SIZE];
    char header[8192];    /* last result of http_header */
    char text[64 * 1024]; /* last result of http_text */
};

/* Opens a client. key: sent as Authorization: Bearer; NULL for none. */
struct http *http_open(const struct server *s, enum http_version version, const char *key);
void http_close(struct http *h);
/* Replaces the headers of every request by the key's only (NULL: none). */
void http_use_key(struct http *h, const char *key);
/* Add a header to every request, or to the next request. */
void http_always(struct http *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
void http_once(struct http *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Closes the connection; the next request opens a new one. */
void http_reconnect(struct http *h);

/* Sends a request; returns false when no complete answer arrived, with the reason in h->transport
 * and h->error. body.ptr NULL: none. */
bool http_try(struct http *h, const char *method, const char *target, struct slice body);
/* Sends a request and returns the status; a failing transport fails the test. */
int http_send(struct http *h, const char *method, const char *target, struct slice body);

/* Send requests. Targets are printf formats. Bodies named json are C strings in which ' means ". */
int http_get(struct http *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
int http_delete(struct http *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
int http_json(struct http *h, const char *method, const char *json, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Send a body as bytes, and one as a JSON value that the call takes. */
int http_bytes(struct http *h, const char *method, struct slice body, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int http_value_take(struct http *h, const char *method, json_t *value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* --- the last answer -------------------------------------------------------------------------- */

/* Returns the value of a response header (lower-case name), or NULL; valid until the next call. */
const char *http_header(struct http *h, const char *name);
/* Returns the body as text, for messages. */
const char *http_text(struct http *h);
/* Returns the parsed body, borrowed; fails the test when it is not JSON. */
json_t *http_body(struct http *h);
/* Returns the value at a path such as "/rows/0/key", borrowed; NULL when it does not exist. */
json_t *http_at(struct http *h, const char *path);
/* Return the value at a path, which must exist and have that type. */
const char *http_string(struct http *h, const char *path);
int64_t http_number(struct http *h, const char *path);
size_t http_count(struct http *h, const char *path);
/* Return the number of lines of an NDJSON body, and line n (0-based), parsed;
 * the caller decrefs. */
size_t http_lines(struct http *h);
json_t *http_line_new(struct http *h, size_t n);
/* Returns NULL when the answer is a correct problem document with that status and code, else a
 * description of the error. */
const char *http_problem_mismatch(struct http *h, int status, const char *code);
json_t *json_at(json_t *from, const char *path);
/* Returns the row keys of a page, in order, as "k1,k2,"; in static memory until the next call. */
const char *http_page_keys(struct http *h);

/* A body that must be refused, and text that the problem's detail must contain ("": any). */
struct refusal {
    const char *body;
    int status;
    const char *code;
    const char *says;
};
/* Sends the body; any answer but that refusal fails the test. */
void http_json_refused(struct http *h, const char *method, const char *target,
                       const struct refusal *bad);
/* Number of iterations of a loop test over every row of a table and every version of HTTP: row
 * _i / HTTP_VERSIONS, version _i % HTTP_VERSIONS. */
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
/* Compares the body with JSON text in which ' means ". */
#define EXPECT_JSON(h, text)                                                                       \
    do {                                                                                           \
        const char *difference_ = http_json_difference((h), (text));                               \
        ck_assert_msg(difference_ == NULL, "%s", difference_);                                     \
    } while (0)
const char *http_json_difference(struct http *h, const char *expected);

/* Percent-encodes bytes for a target (dots too: ".." is a row key); in a ring of thread-local
 * memory, valid for 8 calls. */
const char *pct(const void *bytes, size_t len);
/* Percent-encodes a C string in the same way. */
const char *pcts(const char *text);
/* Returns JSON text with ' replaced by "; in thread-local memory, valid until the next call. */
struct slice quoted(const char *text);

/* --- many at once ------------------------------------------------------------------------------*/

struct http_call {
    const char *method;
    const char *target;
    struct slice body;
    int status; /* 0: the transport failed */
};
/* Sends all calls at once over one HTTP/2 connection, with the headers of every request of h. */
void http_send_all(struct http *h, struct http_call *calls, size_t count);
/* Does the same with one more header for each call. */
void http_send_all_with(struct http *h, struct http_call *calls, const char *const *headers,
                        size_t count);

#endif

/*
 * tests/support/http.c - one client of the server: a libcurl handle, a key, the last answer.
 *
 * http_answer.c parses answers.
 */
#include "tests/support/http.h"

#include <check.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#include "base/banned.h"

#define REQUEST_TIMEOUT_S 60L
#define TARGET_MAX        (128 * 1024)
#define URL_MAX           (TARGET_MAX + 64)
#define RING              8

/* Buffers of one thread, from its first request to its end. Thread-local variables would be cleared
 * for every thread of the program, and RocksDB starts dozens of threads for each opened
 * database. */
struct texts {
    char url[URL_MAX];
    char target[TARGET_MAX];
    char escaped[RING][TARGET_MAX / 2];
    unsigned next; /* of escaped */
    char json[64 * 1024];
};

static pthread_key_t texts_key;
static pthread_once_t texts_once = PTHREAD_ONCE_INIT;

static void make_texts_key(void)
{
    ck_assert_int_eq(pthread_key_create(&texts_key, base_free), 0);
}

static struct texts *texts(void)
{
    ck_assert_int_eq(pthread_once(&texts_once, make_texts_key), 0);
    struct texts *own = pthread_getspecific(texts_key);
    if (own == NULL) {
        own = base_new(sizeof(*own));
        ck_assert_int_eq(pthread_setspecific(texts_key, own), 0);
    }
    return own;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *user)
{
    struct http *h = user;
    size_t len = size * count;
    return base_buf_append(&h->body, base_slice(bytes, len)) == ERR_OK ? len : 0;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *user)
{
    struct http *h = user;
    size_t len = size * count;
    /* 100 Continue precedes the real head: only the last head is kept. */
    if (len > 5 && memcmp(bytes, "HTTP/", 5) == 0)
        base_buf_truncate(&h->headers, 0);
    return base_buf_append(&h->headers, base_slice(bytes, len)) == ERR_OK ? len : 0;
}

static void set_up_handle(CURL *curl, const struct http *h)
{
    curl_easy_setopt(curl, CURLOPT_CAINFO, h->server->ca);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, REQUEST_TIMEOUT_S * (long)process_patience());
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION,
                     h->version == HTTP_2 ? (long)CURL_HTTP_VERSION_2TLS
                                          : (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
}

struct http *http_open(const struct server *s, enum http_version version, const char *key)
{
    struct http *h = base_new(sizeof(*h));
    h->server = s;
    h->version = version;
    h->curl = curl_easy_init();
    ck_assert_ptr_nonnull(h->curl);
    set_up_handle(h->curl, h);
    curl_easy_setopt(h->curl, CURLOPT_ERRORBUFFER, h->error);
    curl_easy_setopt(h->curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(h->curl, CURLOPT_WRITEDATA, h);
    curl_easy_setopt(h->curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(h->curl, CURLOPT_HEADERDATA, h);
    base_buf_init(&h->headers, 256 * 1024);
    base_buf_init(&h->body, HTTP_BODY_MAX);
    http_use_key(h, key);
    return h;
}

void http_close(struct http *h)
{
    if (h == NULL)
        return;
    curl_easy_cleanup(h->curl);
    curl_slist_free_all(h->always);
    curl_slist_free_all(h->once);
    base_buf_fini(&h->headers);
    base_buf_fini(&h->body);
    json_decref(h->json);
    base_free(h);
}

void http_use_key(struct http *h, const char *key)
{
    curl_slist_free_all(h->always);
    h->always = NULL;
    if (key != NULL)
        http_always(h, "Authorization: Bearer %s", key);
}

static struct curl_slist *append_header(struct curl_slist *list, const char *format, va_list args)
{
    char text[64 * 1024];
    int n = vsnprintf(text, sizeof(text), format, args);
    ck_assert(n > 0 && (size_t)n < sizeof(text));
    struct curl_slist *longer = curl_slist_append(list, text);
    ck_assert_ptr_nonnull(longer);
    return longer;
}

void http_always(struct http *h, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    h->always = append_header(h->always, format, args);
    va_end(args);
}

void http_once(struct http *h, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    h->once = append_header(h->once, format, args);
    va_end(args);
}

void http_reconnect(struct http *h)
{
    /* A handle keeps its connections; a new handle has none. */
    CURL *fresh = curl_easy_duphandle(h->curl);
    ck_assert_ptr_nonnull(fresh);
    curl_easy_cleanup(h->curl);
    h->curl = fresh;
}

static void forget_answer(struct http *h)
{
    base_buf_truncate(&h->headers, 0);
    base_buf_truncate(&h->body, 0);
    json_decref(h->json);
    h->json = NULL;
    h->status = 0;
    h->error[0] = '\0';
}

static void set_request(CURL *curl, const struct http *h, const char *method, const char *target,
                        struct slice body)
{
    char *url = texts()->url;
    int n = snprintf(url, URL_MAX, "https://127.0.0.1:%u%s", h->server->port, target);
    ck_assert(n > 0 && n < URL_MAX);
    curl_easy_setopt(curl, CURLOPT_URL, url); /* copies */
    if (body.ptr != NULL) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, (const char *)body.ptr);
    } else {
        curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    }
    curl_easy_setopt(curl, CURLOPT_NOBODY, strcmp(method, "HEAD") == 0 ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
}

/* Returns always + once + a content type for bodies; the caller frees it. */
static struct curl_slist *request_headers(const struct http *h, bool has_body)
{
    struct curl_slist *all = NULL;
    bool typed = false;
    for (const struct curl_slist *i = h->always; i != NULL; i = i->next)
        all = curl_slist_append(all, i->data);
    for (const struct curl_slist *i = h->once; i != NULL; i = i->next) {
        typed |= strncasecmp(i->data, "content-type", 12) == 0;
        all = curl_slist_append(all, i->data);
    }
    if (has_body && !typed)
        all = curl_slist_append(all, h->no_default_type ? "Content-Type:"
                                                        : "Content-Type: application/json");
    /* curl would wait a second for 100 Continue before large bodies. */
    return curl_slist_append(all, "Expect:");
}

bool http_try(struct http *h, const char *method, const char *target, struct slice body)
{
    forget_answer(h);
    set_request(h->curl, h, method, target, body);
    struct curl_slist *headers = request_headers(h, body.ptr != NULL);
    curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, headers);
    h->transport = curl_easy_perform(h->curl);
    curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    curl_slist_free_all(h->once);
    h->once = NULL;
    if (h->transport != CURLE_OK)
        return false;
    long status = 0;
    long version = 0;
    curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(h->curl, CURLINFO_HTTP_VERSION, &version);
    curl_easy_getinfo(h->curl, CURLINFO_TOTAL_TIME, &h->seconds);
    h->status = (int)status;
    ck_assert_int_eq(version, h->version == HTTP_2 ? (long)CURL_HTTP_VERSION_2_0
                                                   : (long)CURL_HTTP_VERSION_1_1);
    return true;
}

int http_send(struct http *h, const char *method, const char *target, struct slice body)
{
    if (!http_try(h, method, target, body))
        ck_abort_msg("%s %.80s over HTTP/%d: %s (%s)", method, target, h->version == HTTP_2 ? 2 : 1,
                     curl_easy_strerror(h->transport), h->error);
    return h->status;
}

/* --- convenient forms --------------------------------------------------------------------------
 */

static const char *format_target(const char *format, va_list args)
{
    char *target = texts()->target;
    int n = vsnprintf(target, TARGET_MAX, format, args);
    ck_assert(n > 0 && n < TARGET_MAX);
    return target;
}

#define FORMAT_TARGET(target)                                                                      \
    va_list args_;                                                                                 \
    va_start(args_, format);                                                                       \
    const char *target = format_target(format, args_);                                             \
    va_end(args_)

int http_get(struct http *h, const char *format, ...)
{
    FORMAT_TARGET(target);
    return http_send(h, "GET", target, SLICE_EMPTY);
}

int http_delete(struct http *h, const char *format, ...)
{
    FORMAT_TARGET(target);
    return http_send(h, "DELETE", target, SLICE_EMPTY);
}

int http_json(struct http *h, const char *method, const char *json, const char *format, ...)
{
    FORMAT_TARGET(target);
    return http_send(h, method, target, quoted(json));
}

int http_bytes(struct http *h, const char *method, struct slice body, const char *format, ...)
{
    FORMAT_TARGET(target);
    /* curl treats a NULL pointer as "no body": an empty body needs an address. */
    return http_send(h, method, target, body.ptr != NULL ? body : base_slice("", 0));
}

static int append_dump(const char *bytes, size_t len, void *user)
{
    return base_buf_append(user, base_slice(bytes, len)) == ERR_OK ? 0 : -1;
}

int http_value_take(struct http *h, const char *method, json_t *value, const char *format, ...)
{
    FORMAT_TARGET(target);
    struct buf text;
    base_buf_init(&text, HTTP_BODY_MAX);
    ck_assert_ptr_nonnull(value);
    ck_assert_int_eq(json_dump_callback(value, append_dump, &text, JSON_COMPACT | JSON_ENCODE_ANY),
                     0);
    json_decref(value);
    int status = http_send(h, method, target, base_buf_slice(&text));
    base_buf_fini(&text);
    return status;
}

const char *pct(const void *bytes, size_t len)
{
    struct texts *own = texts();
    char *out = own->escaped[own->next++ % RING];
    const uint8_t *in = bytes;
    static const char digits[] = "0123456789ABCDEF";
    size_t n = 0;
    ck_assert(len * 3 < sizeof(own->escaped[0]));
    for (size_t i = 0; i < len; i++) {
        bool plain = (in[i] >= 'a' && in[i] <= 'z') || (in[i] >= 'A' && in[i] <= 'Z') ||
                     (in[i] >= '0' && in[i] <= '9') ||
                     strchr("-_~", in[i] != 0 ? in[i] : '/') != NULL;
        if (plain) {
            out[n++] = (char)in[i];
        } else {
            out[n++] = '%';
            out[n++] = digits[in[i] >> 4];
            out[n++] = digits[in[i] & 15];
        }
    }
    out[n] = '\0';
    return out;
}

const char *pcts(const char *text)
{
    return pct(text, strlen(text));
}

struct slice quoted(const char *text)
{
    char *out = texts()->json;
    size_t len = strlen(text);
    ck_assert(len < sizeof(texts()->json));
    for (size_t i = 0; i < len; i++) {
        out[i] = text[i];
        if (out[i] == '\'')
            out[i] = '"';
    }
    return base_slice(out, len);
}

/* --- many at once ------------------------------------------------------------------------------*/

static size_t discard(char *bytes, size_t size, size_t count, void *user)
{
    (void)bytes;
    (void)user;
    return size * count;
}

/* Prepends one header to shared ones, which are unchanged. */
static struct curl_slist *put_ahead(const char *header, struct curl_slist *shared)
{
    struct curl_slist *own = curl_slist_append(NULL, header);
    ck_assert_ptr_nonnull(own);
    own->next = shared;
    return own;
}

static void free_ahead(struct curl_slist *own)
{
    own->next = NULL;
    curl_slist_free_all(own);
}

static CURL *prepare_call(const struct http *h, struct http_call *call, struct curl_slist *headers)
{
    CURL *curl = curl_easy_init();
    ck_assert_ptr_nonnull(curl);
    set_up_handle(curl, h);
    set_request(curl, h, call->method, call->target, call->body);
    curl_easy_setopt(curl, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, discard);
    curl_easy_setopt(curl, CURLOPT_PRIVATE, call);
    call->status = 0;
    return curl;
}

void http_send_all(struct http *h, struct http_call *calls, size_t count)
{
    http_send_all_with(h, calls, NULL, count);
}

void http_send_all_with(struct http *h, struct http_call *calls, const char *const *headers,
                        size_t count)
{
    CURLM *multi = curl_multi_init();
    ck_assert_ptr_nonnull(multi);
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    CURL **handles = base_new_array(count, sizeof(*handles));
    struct curl_slist **own = base_new_array(count, sizeof(*own));
    struct curl_slist *with_body = request_headers(h, true);
    struct curl_slist *without = request_headers(h, false);
    for (size_t i = 0; i < count; i++) {
        struct curl_slist *shared = calls[i].body.ptr != NULL ? with_body : without;
        own[i] = headers == NULL ? NULL : put_ahead(headers[i], shared);
        handles[i] = prepare_call(h, &calls[i], own[i] != NULL ? own[i] : shared);
        curl_multi_add_handle(multi, handles[i]);
    }
    int running = 1;
    while (running > 0) {
        ck_assert_int_eq(curl_multi_perform(multi, &running), CURLM_OK);
        if (running > 0)
            curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    for (size_t i = 0; i < count; i++) {
        long status = 0;
        curl_easy_getinfo(handles[i], CURLINFO_RESPONSE_CODE, &status);
        calls[i].status = (int)status;
        curl_multi_remove_handle(multi, handles[i]);
        curl_easy_cleanup(handles[i]);
        if (own[i] != NULL)
            free_ahead(own[i]);
    }
    base_free(own);
    curl_slist_free_all(with_body);
    curl_slist_free_all(without);
    curl_multi_cleanup(multi);
    base_free(handles);
}

/*
 * tests/support/http_answer.c - reads the last answer: headers, JSON by path, problems.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/text.h"
#include "tests/support/http.h"

#include "base/banned.h"

const char *http_header(struct http *h, const char *name)
{
    size_t name_len = strlen(name);
    const char *at = (const char *)h->headers.ptr;
    const char *end = at + h->headers.len;
    while (at != NULL && at < end) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        size_t len = eol != NULL ? (size_t)(eol - at) : (size_t)(end - at);
        if (len > name_len && at[name_len] == ':' && strncasecmp(at, name, name_len) == 0) {
            const char *from = at + name_len + 1;
            size_t n = len - name_len - 1;
            while (n > 0 && *from == ' ')
                from++, n--;
            while (n > 0 && (from[n - 1] == '\r' || from[n - 1] == ' '))
                n--;
            ck_assert(n < sizeof(h->header));
            memcpy(h->header, from, n);
            h->header[n] = '\0';
            return h->header;
        }
        at = eol != NULL ? eol + 1 : end;
    }
    return NULL;
}

const char *http_text(struct http *h)
{
    size_t n = h->body.len < sizeof(h->text) - 1 ? h->body.len : sizeof(h->text) - 1;
    if (n > 0)
        memcpy(h->text, h->body.ptr, n);
    h->text[n] = '\0';
    return h->text;
}

json_t *http_body(struct http *h)
{
    if (h->json == NULL) {
        json_error_t error;
        h->json = json_loadb((const char *)h->body.ptr, h->body.len,
                             JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
        ck_assert_msg(h->json != NULL, "body is not JSON (%s at %d): %s", error.text,
                      error.position, http_text(h));
    }
    return h->json;
}

json_t *json_at(json_t *from, const char *path)
{
    while (from != NULL && *path == '/') {
        path++;
        size_t len = strcspn(path, "/");
        char name[512];
        ck_assert(len < sizeof(name));
        memcpy(name, path, len);
        name[len] = '\0';
        path += len;
        uint64_t index;
        if (json_is_array(from)) {
            ck_assert_int_eq(base_parse_u64(base_slice(name, len), &index), ERR_OK);
            from = json_array_get(from, (size_t)index);
        } else {
            from = json_object_get(from, name);
        }
    }
    return from;
}

json_t *http_at(struct http *h, const char *path)
{
    return json_at(http_body(h), path);
}

const char *http_string(struct http *h, const char *path)
{
    json_t *at = http_at(h, path);
    ck_assert_msg(json_is_string(at), "no string at %s in %s", path, http_text(h));
    return json_string_value(at);
}

int64_t http_number(struct http *h, const char *path)
{
    json_t *at = http_at(h, path);
    ck_assert_msg(json_is_integer(at), "no number at %s in %s", path, http_text(h));
    return json_integer_value(at);
}

size_t http_count(struct http *h, const char *path)
{
    json_t *at = http_at(h, path);
    ck_assert_msg(json_is_array(at) || json_is_object(at), "nothing to count at %s in %s", path,
                  http_text(h));
    return json_is_array(at) ? json_array_size(at) : json_object_size(at);
}

size_t http_lines(struct http *h)
{
    size_t n = 0;
    for (size_t i = 0; i < h->body.len; i++)
        n += h->body.ptr[i] == '\n';
    return n;
}

json_t *http_line_new(struct http *h, size_t n)
{
    const char *at = (const char *)h->body.ptr;
    const char *end = at + h->body.len;
    for (; n > 0 && at != NULL && at < end; n--) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at != NULL ? at + 1 : end;
    }
    ck_assert_msg(at != NULL && at < end, "the body has fewer lines");
    const char *eol = memchr(at, '\n', (size_t)(end - at));
    ck_assert_msg(eol != NULL, "the last line has no end");
    json_error_t error;
    json_t *line =
        json_loadb(at, (size_t)(eol - at), JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    ck_assert_msg(line != NULL, "a line is not JSON: %.200s", at);
    return line;
}

/* Checks the required members of a problem document, in this order. */
static const char *problem_member_mismatch(struct http *h, int status, const char *code)
{
    static char text[2400];
    json_error_t error;
    json_decref(h->json);
    h->json = json_loadb((const char *)h->body.ptr, h->body.len, JSON_REJECT_DUPLICATES, &error);
    const char *what = NULL;
    const char *given = json_string_value(json_object_get(h->json, "code"));
    if (h->json == NULL)
        what = "the body is not JSON";
    else if (given == NULL || strcmp(given, code) != 0)
        what = "the code is another one";
    else if (json_integer_value(json_object_get(h->json, "status")) != status)
        what = "the member status differs from the status line";
    else if (!json_is_string(json_object_get(h->json, "type")))
        what = "there is no type";
    else if (!json_is_string(json_object_get(h->json, "title")))
        what = "there is no title";
    else if (!json_is_string(json_object_get(h->json, "detail")) ||
             json_string_length(json_object_get(h->json, "detail")) == 0)
        what = "there is no detail";
    else if (!json_is_boolean(json_object_get(h->json, "retry")))
        what = "there is no retry";
    if (what == NULL)
        return NULL;
    (void)snprintf(text, sizeof(text), "expected %d %s, but %s: %.1800s", status, code, what,
                   http_text(h));
    return text;
}

const char *http_problem_mismatch(struct http *h, int status, const char *code)
{
    static char text[2400];
    const char *type = http_header(h, "content-type");
    if (h->status != status) {
        (void)snprintf(text, sizeof(text), "status %d, expected %d %s; body: %s", h->status, status,
                       code, http_text(h));
        return text;
    }
    if (type == NULL || strcmp(type, "application/problem+json") != 0) {
        (void)snprintf(text, sizeof(text), "content-type is %s; body: %s",
                       type != NULL ? type : "missing", http_text(h));
        return text;
    }
    const char *after = http_header(h, "retry-after");
    if ((status == 429 || status == 503) &&
        (after == NULL || strspn(after, "0123456789") != strlen(after) || *after == '\0')) {
        (void)snprintf(text, sizeof(text), "%d without Retry-After in seconds", status);
        return text;
    }
    return problem_member_mismatch(h, status, code);
}

void http_json_refused(struct http *h, const char *method, const char *target,
                       const struct refusal *bad)
{
    http_json(h, method, bad->body, "%s", target);
    EXPECT_PROBLEM_OF(h, bad->body, bad->status, bad->code);
    ck_assert_msg(strstr(http_string(h, "/detail"), bad->says) != NULL, "%s: \"%s\" is not in: %s",
                  bad->body, bad->says, http_text(h));
}

const char *http_page_keys(struct http *h)
{
    static char text[4096];
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < http_count(h, "/rows"); i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "/rows/%zu/key", i);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s,", http_string(h, path));
        ck_assert(n < sizeof(text));
    }
    return text;
}

const char *http_json_difference(struct http *h, const char *expected)
{
    static char text[8192];
    json_error_t error;
    struct slice source = quoted(expected);
    json_t *wanted = json_loadb((const char *)source.ptr, source.len, JSON_DECODE_ANY, &error);
    ck_assert_msg(wanted != NULL, "the test's own JSON is wrong: %s", error.text);
    bool equal = json_equal(wanted, http_body(h)) == 1;
    json_decref(wanted);
    if (equal)
        return NULL;
    (void)snprintf(text, sizeof(text), "expected %s, body: %.6000s", expected, http_text(h));
    return text;
}

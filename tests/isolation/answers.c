/*
 * tests/isolation/answers.c - an answer as text that can be compared with another.
 */
#define _GNU_SOURCE
#include "tests/isolation/answers.h"

#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define TIME_DIGITS 10

static void put(struct buf *out, struct slice bytes)
{
    ck_assert_int_eq(base_buf_append(out, bytes), ERR_OK);
}

/* Numbers of at least so many digits become '#'. */
static void put_without_numbers(struct buf *out, struct slice text, size_t digits)
{
    while (text.len > 0) {
        size_t len = 0;
        while (len < text.len && isdigit(text.ptr[len]))
            len++;
        bool is_left_out = len >= digits && len > 0;
        put(out, is_left_out ? SLICE_LIT("#") : base_slice(text.ptr, len));
        text = base_slice_skip(text, len);
        for (len = 0; len < text.len && !isdigit(text.ptr[len]);)
            len++;
        put(out, base_slice(text.ptr, len));
        text = base_slice_skip(text, len);
    }
}

static bool has_name(struct slice line, const char *name)
{
    size_t len = strlen(name);
    return line.len > len && strncasecmp((const char *)line.ptr, name, len) == 0 &&
           line.ptr[len] == ':';
}

static void put_header(struct buf *out, struct slice line, bool moves)
{
    bool is_decoded = has_name(line, "grpc-status-details-bin");
    /* the cost of a list that grows is the time it took */
    bool grows = moves && (has_name(line, "content-length") || has_name(line, "bigtent-cost"));
    if (is_decoded || has_name(line, "date") || grows)
        return;
    bool counts = has_name(line, "ratelimit") || has_name(line, "retry-after");
    put_without_numbers(out, line, counts ? 1 : TIME_DIGITS);
}

static void put_headers(struct buf *out, struct slice rest, bool moves)
{
    while (rest.len > 0) {
        const uint8_t *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end == NULL ? rest.len : (size_t)(end - rest.ptr) + 1;
        put_header(out, base_slice(rest.ptr, len), moves);
        rest = base_slice_skip(rest, len);
    }
}

void answer_of_http(const struct http *h, bool moves, struct buf *out)
{
    put_headers(out, base_buf_slice(&h->headers), moves);
    if (!moves)
        put_without_numbers(out, base_buf_slice(&h->body), TIME_DIGITS);
}

void answer_of_grpc(const struct grpc_call *call, bool moves, struct buf *out)
{
    put_headers(out, base_buf_slice(&call->head), moves);
    if (call->details[0] != '\0') {
        Rpc__Status *status = grpc_status_new(call);
        put(out, base_slice_text(status->message));
        for (size_t i = 0; i < status->n_details; i++) {
            const Google__Protobuf__Any *detail = status->details[i];
            put(out, base_slice_text(detail->type_url));
            put(out, base_slice(detail->value.data, detail->value.len));
        }
        rpc__status__free_unpacked(status, NULL);
    }
    if (!moves)
        put(out, base_buf_slice(&call->body));
}

const char *answer_difference(const struct buf *a, const struct buf *b)
{
    static char text[1024];
    size_t at = 0;
    if (base_slice_equal(base_buf_slice(a), base_buf_slice(b)))
        return NULL;
    while (at < a->len && at < b->len && a->ptr[at] == b->ptr[at])
        at++;
    size_t from = at < 200 ? 0 : at - 200;
    (void)snprintf(text, sizeof text, "...%.*s, then %.*s, but %.*s", (int)(at - from),
                   (const char *)a->ptr + from, (int)(a->len - at < 200 ? a->len - at : 200),
                   (const char *)a->ptr + at, (int)(b->len - at < 200 ? b->len - at : 200),
                   (const char *)b->ptr + at);
    return text;
}

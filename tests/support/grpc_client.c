/*
 * tests/support/grpc_client.c - a gRPC client that reads only inside explicit calls.
 */
#include "tests/support/grpc_client.h"

#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/text.h"

#include "base/banned.h"

#define FRAME_HEAD   5
#define WINDOW_LARGE (4 * MIB)

static nghttp2_nv field(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .namelen = strlen(name),
                        .value = (uint8_t *)(uintptr_t)value,
                        .valuelen = strlen(value)};
}

static struct grpc_call *call_of(struct grpc_client *c, int32_t id)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->calls[i].id == id)
            return &c->calls[i];
    return NULL;
}

static int number_of(struct slice text)
{
    uint64_t number = 0;
    ck_assert_int_eq(base_parse_u64(text, &number), ERR_OK);
    return (int)number;
}

/* --- callbacks of nghttp2 ----------------------------------------------------------------------
 */

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name_ptr,
                     size_t name_len, const uint8_t *value_ptr, size_t value_len, uint8_t flags,
                     void *user)
{
    struct grpc_call *call = call_of(user, frame->hd.stream_id);
    struct slice name = base_slice(name_ptr, name_len);
    struct slice value = base_slice(value_ptr, value_len);
    (void)session;
    (void)flags;
    if (call == NULL)
        return 0;
    ck_assert_int_eq(
        base_buf_printf(&call->head, "%.*s: %.*s\n", SLICE_ARGS(name), SLICE_ARGS(value)), ERR_OK);
    if (base_slice_is(name, ":status"))
        call->http_status = number_of(value);
    else if (base_slice_is(name, "grpc-encoding"))
        (void)snprintf(call->encoding, sizeof call->encoding, "%.*s", SLICE_ARGS(value));
    else if (base_slice_is(name, "bigtent-cost"))
        (void)snprintf(call->cost, sizeof call->cost, "%.*s", SLICE_ARGS(value));
    else if (base_slice_is(name, "ratelimit-policy"))
        (void)snprintf(call->policies, sizeof call->policies, "%.*s", SLICE_ARGS(value));
    else if (base_slice_is(name, "ratelimit"))
        (void)snprintf(call->limits, sizeof call->limits, "%.*s", SLICE_ARGS(value));
    else if (base_slice_is(name, "retry-after"))
        (void)snprintf(call->retry_after, sizeof call->retry_after, "%.*s", SLICE_ARGS(value));
    else if (base_slice_is(name, "grpc-status"))
        call->status = number_of(value);
    else if (base_slice_is(name, "grpc-message"))
        (void)snprintf(call->message, sizeof call->message, "%.*s", SLICE_ARGS(value));
    else if (base_slice_is(name, "grpc-status-details-bin"))
        (void)snprintf(call->details, sizeof call->details, "%.*s", SLICE_ARGS(value));
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                   size_t len, void *user)
{
    struct grpc_call *call = call_of(user, id);
    (void)flags;
    if (call != NULL)
        ck_assert_int_eq(base_buf_append(&call->body, base_slice(bytes, len)), ERR_OK);
    if (call != NULL && ((struct grpc_client *)user)->holds_windows)
        call->held += len;
    else
        ck_assert_int_eq(nghttp2_session_consume(session, id, len), 0);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *user)
{
    struct grpc_call *call = call_of(user, id);
    (void)session;
    if (call != NULL) {
        call->is_closed = true;
        call->closed_nth = ++((struct grpc_client *)user)->closed;
        call->error = error;
    }
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct grpc_client *c = user;
    (void)session;
    c->pongs += frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    c->resets += frame->hd.type == NGHTTP2_RST_STREAM;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        c->goaway_count++;
        c->goaway_error = frame->goaway.error_code;
        c->goaway_last_id = frame->goaway.last_stream_id;
        (void)snprintf(c->goaway_text, sizeof c->goaway_text, "%.*s",
                       (int)frame->goaway.opaque_data_len, (const char *)frame->goaway.opaque_data);
    }
    return 0;
}

static ssize_t on_upload(nghttp2_session *session, int32_t id, uint8_t *out, size_t max,
                         uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct grpc_call *call = call_of(user, id);
    (void)session;
    (void)source;
    struct slice rest = base_slice_skip(base_buf_slice(&call->request), call->sent);
    size_t n = rest.len < max ? rest.len : max;
    if (n > 0)
        memcpy(out, rest.ptr, n);
    call->sent += n;
    if (n == 0 && call->is_open)
        return NGHTTP2_ERR_DEFERRED;
    if (n == rest.len && !call->is_open)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

/* --- transfer of bytes -------------------------------------------------------------------------
 */

static void push(struct grpc_client *c)
{
    for (;;) {
        const uint8_t *bytes;
        ssize_t n = nghttp2_session_mem_send(c->session, &bytes);
        ck_assert_int_ge(n, 0);
        if (n == 0)
            return;
        if (!raw_send(&c->tls, base_slice(bytes, (size_t)n)))
            return; /* the next read detects it */
    }
}

static void keep_tail(struct grpc_client *c)
{
    struct slice came = base_buf_slice(&c->tls.in);
    if (came.len > GRPC_TAIL)
        came = base_slice_skip(came, came.len - GRPC_TAIL);
    memmove(c->tail, c->tail + came.len, GRPC_TAIL - came.len);
    if (came.len > 0)
        memcpy(c->tail + GRPC_TAIL - came.len, came.ptr, came.len);
}

/* Passes the bytes read to the session. */
static void take_in(struct grpc_client *c)
{
    keep_tail(c);
    ssize_t n = nghttp2_session_mem_recv(c->session, c->tls.in.ptr, c->tls.in.len);
    ck_assert_int_eq(n, (ssize_t)c->tls.in.len);
    base_buf_truncate(&c->tls.in, 0);
    push(c);
}

static bool pull(struct grpc_client *c, int quiet_ms)
{
    if (!raw_read_some(&c->tls, quiet_ms))
        return false;
    take_in(c);
    return true;
}

/* Waits for input, which must arrive; fails the test when the connection is closed instead. */
static void pull_awaited(struct grpc_client *c, const char *what)
{
    ck_assert_msg(raw_await_some(&c->tls, what), "closed instead of %s", what);
    take_in(c);
}

static bool all_closed(const struct grpc_client *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (!c->calls[i].is_closed)
            return false;
    return true;
}

bool grpc_run(struct grpc_client *c, int quiet_ms)
{
    push(c);
    while (!all_closed(c))
        if (!pull(c, quiet_ms))
            return all_closed(c);
    return true;
}

bool grpc_run_until(struct grpc_client *c, const struct grpc_call *call, size_t bytes, int quiet_ms)
{
    while (call->body.len < bytes)
        if (call->is_closed || !pull(c, quiet_ms))
            return false;
    return true;
}

void grpc_await(struct grpc_client *c)
{
    push(c);
    while (!all_closed(c))
        pull_awaited(c, "the end of all calls");
}

void grpc_await_end(struct grpc_client *c, const struct grpc_call *call)
{
    push(c);
    while (!call->is_closed)
        pull_awaited(c, "the end of a call");
}

void grpc_give_windows(struct grpc_client *c)
{
    c->holds_windows = false;
    for (size_t i = 0; i < c->count; i++) {
        ck_assert_int_eq(nghttp2_session_consume(c->session, c->calls[i].id, c->calls[i].held), 0);
        c->calls[i].held = 0;
    }
    push(c);
}

void grpc_await_close(struct grpc_client *c)
{
    push(c);
    while (raw_await_some(&c->tls, "the end of the connection"))
        take_in(c);
}

void grpc_await_bytes(struct grpc_client *c, const struct grpc_call *call, size_t bytes)
{
    char what[64];
    (void)snprintf(what, sizeof what, "%zu bytes of a call", bytes);
    while (call->body.len < bytes) {
        ck_assert_msg(!call->is_closed, "the call ended with status %d instead of %s", call->status,
                      what);
        pull_awaited(c, what);
    }
}

void grpc_await_sent(struct grpc_client *c, const struct grpc_call *call)
{
    ck_assert(!call->is_open);
    while (call->sent < call->request.len) {
        ck_assert_msg(!call->is_closed, "the call ended before its request was sent");
        pull_awaited(c, "room for a request");
    }
}

void grpc_begun(struct grpc_client *c, const struct grpc_call *call)
{
    while (call->http_status == 0) {
        ck_assert_msg(!call->is_closed, "the call ended before its answer began");
        pull_awaited(c, "the head of an answer");
    }
}

void grpc_listen(struct grpc_client *c, int ms)
{
    uint64_t end_ns = base_monotonic_ns() + (uint64_t)ms * 1000000;
    for (;;) {
        uint64_t now_ns = base_monotonic_ns();
        if (now_ns >= end_ns || c->tls.closed)
            return;
        (void)pull(c, (int)((end_ns - now_ns) / 1000000) + 1); /* or nothing arrived */
    }
}

/* --- calls -------------------------------------------------------------------------------------
 */

static void put_request(struct buf *out, const ProtobufCMessage *request)
{
    size_t len = protobuf_c_message_get_packed_size(request);
    uint8_t head[FRAME_HEAD] = {0, (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                                (uint8_t)len};
    ck_assert_int_eq(base_buf_append(out, base_slice(head, sizeof head)), ERR_OK);
    ck_assert_int_eq(base_buf_reserve(out, len), ERR_OK);
    out->len += protobuf_c_message_pack(request, base_buf_end(out));
}

struct grpc_call *grpc_begin(struct grpc_client *c, const char *path, const char *timeout)
{
    nghttp2_nv head[9 + GRPC_HEADERS] = {field(":method", "POST"),
                                         field(":scheme", "https"),
                                         field(":path", path),
                                         field(":authority", "x"),
                                         field("content-type", "application/grpc"),
                                         field("te", "trailers")};
    size_t count = 6;
    nghttp2_data_provider body = {.read_callback = on_upload};
    ck_assert_uint_lt(c->count, GRPC_CALLS);
    struct grpc_call *call = &c->calls[c->count++];
    *call = (struct grpc_call){.status = GRPC_HEAD_ONLY, .is_open = true};
    base_buf_init(&call->head, GRPC_HEAD_MAX);
    base_buf_init(&call->body, GRPC_ANSWER_MAX);
    base_buf_init(&call->request, GRPC_ANSWER_MAX);
    if (c->authorization[0] != '\0')
        head[count++] = field("authorization", c->authorization);
    if (timeout != NULL)
        head[count++] = field("grpc-timeout", timeout);
    if (c->features != NULL)
        head[count++] = field("bigtable-features", c->features);
    memcpy(head + count, c->more, c->more_count * sizeof c->more[0]);
    count += c->more_count;
    call->id = nghttp2_submit_request(c->session, NULL, head, count, &body, NULL);
    ck_assert_int_gt(call->id, 0);
    return call;
}

/* Continues an upload; fails when the call is closed, whose rest is not needed then. */
static void go_on(struct grpc_client *c, const struct grpc_call *call)
{
    (void)nghttp2_session_resume_data(c->session, call->id);
    push(c);
}

void grpc_put_bytes(struct grpc_client *c, struct grpc_call *call, struct slice bytes)
{
    ck_assert_int_eq(base_buf_append(&call->request, bytes), ERR_OK);
    go_on(c, call);
}

void grpc_put(struct grpc_client *c, struct grpc_call *call, const ProtobufCMessage *message)
{
    put_request(&call->request, message);
    go_on(c, call);
}

void grpc_finish(struct grpc_client *c, struct grpc_call *call)
{
    call->is_open = false;
    go_on(c, call);
}

struct grpc_call *grpc_start(struct grpc_client *c, const char *path,
                             const ProtobufCMessage *request, const char *timeout)
{
    struct grpc_call *call = grpc_begin(c, path, timeout);
    put_request(&call->request, request);
    call->is_open = false;
    push(c);
    return call;
}

void grpc_add_header(struct grpc_client *c, const char *name, const char *value)
{
    ck_assert_uint_lt(c->more_count, GRPC_HEADERS);
    c->more[c->more_count++] = field(name, value);
}

void grpc_ping(struct grpc_client *c, size_t count)
{
    static const uint8_t ping[] = {
        0, 0, 8, NGHTTP2_PING, NGHTTP2_FLAG_NONE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct buf pings;
    base_buf_init(&pings, MIB);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(base_buf_append(&pings, base_slice(ping, sizeof ping)), ERR_OK);
    (void)raw_send(&c->tls, base_buf_slice(&pings)); /* the next read detects a failure */
    base_buf_fini(&pings);
}

void grpc_cancel(struct grpc_client *c, const struct grpc_call *call)
{
    ck_assert_int_eq(
        nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, call->id, NGHTTP2_CANCEL), 0);
    push(c);
}

struct grpc_call *grpc_ask(struct grpc_client *c, const char *path, const ProtobufCMessage *request)
{
    struct grpc_call *call = grpc_start(c, path, request, NULL);
    ck_assert_msg(grpc_run(c, 10000 * process_patience()), "%s did not come to an end", path);
    ck_assert_uint_eq(call->error, NGHTTP2_NO_ERROR);
    ck_assert_int_eq(call->http_status, 200);
    return call;
}

struct slice grpc_message(const struct grpc_call *call, size_t n)
{
    struct slice rest = base_buf_slice(&call->body);
    for (;; n--) {
        if (rest.len < FRAME_HEAD)
            return SLICE_EMPTY;
        const uint8_t *head = rest.ptr;
        size_t len = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
        if (len > rest.len - FRAME_HEAD) {
            ck_assert(!call->is_closed);
            return SLICE_EMPTY;
        }
        if (n == 0)
            return base_slice(head + FRAME_HEAD, len);
        rest = base_slice_skip(rest, FRAME_HEAD + len);
    }
}

size_t grpc_message_count(const struct grpc_call *call)
{
    size_t count = 0;
    while (grpc_message(call, count).ptr != NULL)
        count++;
    return count;
}

ProtobufCMessage *grpc_message_new(const struct grpc_call *call,
                                   const ProtobufCMessageDescriptor *type, size_t n)
{
    struct slice bytes = grpc_message(call, n);
    ck_assert_msg(bytes.ptr != NULL, "there is no message %zu", n);
    ProtobufCMessage *message = protobuf_c_message_unpack(type, NULL, bytes.len, bytes.ptr);
    ck_assert_ptr_nonnull(message);
    return message;
}

/* --- life ---------------------------------------------------------------------------------- */

static void begin_session(struct grpc_client *c, uint32_t window)
{
    nghttp2_session_callbacks *callbacks;
    uint32_t stream_window = window == 0 ? WINDOW_LARGE : window;
    nghttp2_settings_entry setting = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window};
    ck_assert_int_eq(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_option *option;
    ck_assert_int_eq(nghttp2_option_new(&option), 0);
    nghttp2_option_set_no_auto_window_update(option, 1);
    ck_assert_int_eq(nghttp2_session_client_new2(&c->session, callbacks, c, option), 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    ck_assert_int_eq(nghttp2_submit_settings(c->session, 0, &setting, 1), 0);
    if (window == 0)
        ck_assert_int_eq(nghttp2_session_set_local_window_size(c->session, 0, 0, WINDOW_LARGE), 0);
    push(c);
}

void grpc_open(struct grpc_client *c, const struct server *s, const char *key, uint32_t window)
{
    memset(c, 0, sizeof *c);
    if (key != NULL)
        (void)snprintf(c->authorization, sizeof c->authorization, "Bearer %s", key);
    raw_open(&c->tls, s, "h2");
    begin_session(c, window);
}

void grpc_open_plain(struct grpc_client *c, const struct server *s)
{
    memset(c, 0, sizeof *c);
    raw_open_plain(&c->tls, s);
    begin_session(c, 0);
}

void grpc_hurry(struct grpc_client *c)
{
    ck_assert_int_eq(setsockopt(c->tls.fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)), 0);
}

static void free_calls(struct grpc_client *c)
{
    for (size_t i = 0; i < c->count; i++) {
        base_buf_fini(&c->calls[i].head);
        base_buf_fini(&c->calls[i].body);
        base_buf_fini(&c->calls[i].request);
    }
    c->count = 0;
}

void grpc_forget(struct grpc_client *c)
{
    ck_assert(all_closed(c));
    free_calls(c);
}

void grpc_close(struct grpc_client *c)
{
    free_calls(c);
    nghttp2_session_del(c->session);
    raw_close(&c->tls);
}

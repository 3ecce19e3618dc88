/*
 * tests/hostile/peer.c - an HTTP/2 client that need not finish, read, or be polite.
 */
#include "tests/hostile/peer.h"

#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"

#include "base/banned.h"

#define FRAME_HEAD    5
#define SOCKET_WAIT_S 5
#define FIELDS_MAX    12
#define READS_MAX     64 /* of one peer_pump */

static nghttp2_nv field(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .namelen = strlen(name),
                        .value = (uint8_t *)(uintptr_t)value,
                        .valuelen = strlen(value)};
}

/* --- what nghttp2 reports ----------------------------------------------------------------------
 */

static struct peer_call *call_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *user)
{
    struct peer_call *call = call_of(session, frame->hd.stream_id);
    uint64_t number = 0;
    struct peer *p = user;
    (void)flags;
    if (call != NULL && p->attack != NULL &&
        base_slice_is(base_slice(name, name_len), "grpc-message"))
        (void)snprintf(p->attack->refusal, sizeof p->attack->refusal, "%.*s", (int)value_len,
                       (const char *)value);
    if (call == NULL || base_parse_u64(base_slice(value, value_len), &number) != ERR_OK)
        return 0;
    if (base_slice_is(base_slice(name, name_len), ":status"))
        call->status = (int)number;
    else if (base_slice_is(base_slice(name, name_len), "grpc-status"))
        call->grpc_status = (int)number;
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                   size_t len, void *user)
{
    struct peer_call *call = call_of(session, id);
    struct peer *p = user;
    (void)flags;
    (void)bytes;
    if (call != NULL)
        call->received += len;
    if (p->is_reading)
        (void)nghttp2_session_consume(session, id, len);
    return 0;
}

static void count_answer(struct attack *a, const struct peer_call *call)
{
    if (call->is_grpc && call->grpc_status >= 0 && call->grpc_status < HOSTILE_STATUSES)
        (void)atomic_fetch_add(&a->statuses[call->grpc_status], 1);
    else
        (void)atomic_fetch_add(&a->codes[call->status < HOSTILE_CODES ? call->status : 0], 1);
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *user)
{
    struct peer_call *call = call_of(session, id);
    struct peer *p = user;
    (void)error;
    if (call == NULL || call->is_closed)
        return 0;
    call->is_closed = true;
    p->open--;
    if (p->attack != NULL)
        count_answer(p->attack, call);
    return 0;
}

static ssize_t on_upload(nghttp2_session *session, int32_t id, uint8_t *out, size_t max,
                         uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct peer_call *call = source->ptr;
    size_t whole = call->body.len + call->filler;
    size_t n = whole - call->sent < max ? whole - call->sent : max;
    (void)session;
    (void)id;
    (void)user;
    if (n == 0 && call->is_endless)
        return NGHTTP2_ERR_DEFERRED;
    memset(out, 'x', n);
    if (call->sent < call->body.len) {
        size_t real = call->body.len - call->sent;
        memcpy(out, call->body.ptr + call->sent, real < n ? real : n);
    }
    call->sent += n;
    if (call->sent == whole && !call->is_endless)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

/* --- connections -------------------------------------------------------------------------------
 */

void peer_open(struct peer *p, const struct server *s, const char *key, uint32_t window)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    nghttp2_settings_entry setting = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                                      window == 0 ? 1024 : window};
    struct timeval wait = {SOCKET_WAIT_S, 0};
    memset(p, 0, sizeof *p);
    if (key != NULL)
        (void)snprintf(p->authorization, sizeof p->authorization, "Bearer %s", key);
    raw_open(&p->tls, s, "h2");
    p->is_open = true;
    p->is_reading = window > 0;
    (void)setsockopt(p->tls.fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    (void)setsockopt(p->tls.fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    (void)setsockopt(p->tls.fd, IPPROTO_TCP, TCP_NODELAY, &(int){1},
                     sizeof(int)); /* like clients */
    ck_assert_int_eq(nghttp2_session_callbacks_new(&callbacks), 0);
    ck_assert_int_eq(nghttp2_option_new(&option), 0);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    ck_assert_int_eq(nghttp2_session_client_new2(&p->session, callbacks, p, option), 0);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    ck_assert_int_eq(nghttp2_submit_settings(p->session, 0, &setting, 1), 0);
    ck_assert_int_eq(nghttp2_session_set_local_window_size(p->session, 0, 0, PEER_WINDOW), 0);
}

void peer_close(struct peer *p)
{
    if (!p->is_open)
        return;
    struct peer_call *next;
    for (struct peer_call *c = p->calls; c != NULL; c = next) {
        next = c->next;
        base_buf_fini(&c->body);
        base_free(c);
    }
    nghttp2_session_del(p->session);
    raw_close(&p->tls);
    memset(p, 0, sizeof *p);
}

static _Thread_local struct peer *pool[PEERS];
static _Thread_local size_t pool_count;

struct peer *peer_new(struct attack *a, uint32_t window)
{
    ck_assert_uint_lt(pool_count, PEERS);
    struct peer *p = base_new(sizeof *p);
    pool[pool_count++] = p;
    peer_open(p, a->server, a->key[0] != '\0' ? a->key : NULL, window);
    p->attack = a;
    return p;
}

void peers_close_all(void)
{
    while (pool_count > 0) {
        struct peer *p = pool[--pool_count];
        peer_close(p);
        base_free(p);
    }
}

/* --- moving bytes ------------------------------------------------------------------------------
 */

static bool push(struct peer *p)
{
    const uint8_t *bytes;
    ssize_t n;
    while ((n = nghttp2_session_mem_send(p->session, &bytes)) > 0)
        if (!raw_send(&p->tls, base_slice(bytes, (size_t)n)))
            return false;
    return n == 0;
}

bool peer_pump(struct peer *p, int wait_ms)
{
    if (p->tls.closed || !push(p))
        return false;
    for (int reads = 0; reads < READS_MAX; reads++, wait_ms = 0) {
        if (!raw_read_some(&p->tls, wait_ms))
            return !p->tls.closed;
        ssize_t n = nghttp2_session_mem_recv(p->session, p->tls.in.ptr, p->tls.in.len);
        base_buf_truncate(&p->tls.in, 0);
        if (n < 0)
            p->tls.closed = true;
        if (n < 0 || !push(p))
            return false;
    }
    return true;
}

bool peer_run(struct peer *p, int timeout_ms)
{
    uint64_t end_ns = base_monotonic_ns() + (uint64_t)timeout_ms * 1000000;
    while (p->open > 0 && base_monotonic_ns() < end_ns)
        if (!peer_pump(p, 50))
            break;
    return p->open == 0;
}

void peer_forget(struct peer *p)
{
    struct peer_call **at = &p->calls;
    while (*at != NULL) {
        struct peer_call *call = *at;
        if (!call->is_closed) {
            at = &call->next;
            continue;
        }
        *at = call->next;
        base_buf_fini(&call->body);
        base_free(call);
    }
}

/* --- calls -------------------------------------------------------------------------------------
 */

static void submit(struct peer *p, struct peer_call *call, const char *method, const char *path,
                   const char *timeout)
{
    nghttp2_nv head[FIELDS_MAX] = {field(":method", method), field(":scheme", "https"),
                                   field(":path", path), field(":authority", "x")};
    size_t count = 4;
    nghttp2_data_provider upload = {.source.ptr = call, .read_callback = on_upload};
    bool has_body = call->body.len + call->filler > 0 || call->is_endless;
    if (p->authorization[0] != '\0')
        head[count++] = field("authorization", p->authorization);
    if (call->is_grpc) {
        head[count++] = field("content-type", "application/grpc");
        head[count++] = field("te", "trailers");
    } else if (has_body) {
        head[count++] =
            field("content-type", p->content_type != NULL ? p->content_type : "application/json");
    }
    if (timeout != NULL)
        head[count++] = field("grpc-timeout", timeout);
    for (size_t i = 0; i < 2 && p->more[i][0] != NULL; i++)
        head[count++] = field(p->more[i][0], p->more[i][1]);
    call->id =
        nghttp2_submit_request(p->session, NULL, head, count, has_body ? &upload : NULL, call);
    ck_assert_int_gt(call->id, 0);
    p->open++;
}

static struct peer_call *call_new(struct peer *p, struct slice body, size_t filler, bool is_endless)
{
    struct peer_call *call = base_new(sizeof *call);
    *call = (struct peer_call){
        .peer = p, .next = p->calls, .filler = filler, .is_endless = is_endless, .grpc_status = -1};
    base_buf_init(&call->body, 128 * MIB);
    ck_assert_int_eq(base_buf_append(&call->body, body), ERR_OK);
    p->calls = call;
    return call;
}

struct peer_call *peer_request(struct peer *p, const char *method, const char *path,
                               struct slice body, size_t filler, bool is_endless)
{
    struct peer_call *call = call_new(p, body, filler, is_endless);
    submit(p, call, method, path, NULL);
    return call;
}

struct peer_call *peer_grpc_frame(struct peer *p, const char *method, struct slice frame,
                                  size_t filler, bool is_endless)
{
    struct peer_call *call = call_new(p, frame, filler, is_endless);
    call->is_grpc = true;
    submit(p, call, "POST", method, NULL);
    return call;
}

struct peer_call *peer_grpc(struct peer *p, const char *method, const struct buf *message,
                            const char *timeout)
{
    size_t len = message->len;
    uint8_t head[FRAME_HEAD] = {0, (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                                (uint8_t)len};
    struct peer_call *call = call_new(p, base_slice(head, sizeof head), 0, false);
    ck_assert_int_eq(base_buf_append(&call->body, base_buf_slice(message)), ERR_OK);
    call->is_grpc = true;
    submit(p, call, "POST", method, timeout);
    return call;
}

void peer_cancel(struct peer *p, struct peer_call *call)
{
    if (!call->is_closed)
        (void)nghttp2_submit_rst_stream(p->session, NGHTTP2_FLAG_NONE, call->id, NGHTTP2_CANCEL);
}

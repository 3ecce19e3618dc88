#include "tests/support/edge.h"

#include <check.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"

#include "base/banned.h"

#define PIECE (64 * KIB)

/* --- certificates ------------------------------------------------------------------------------
 */

void edge_make_certificate(const char *cert_path, const char *key_path, const char *name,
                           long begins, long ends)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    ck_assert(key != NULL && cert != NULL);
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), begins);
    X509_gmtime_adj(X509_getm_notAfter(cert), ends);
    X509_NAME *subject = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(cert, subject);
    X509_set_pubkey(cert, key);
    ck_assert(X509_sign(cert, key, EVP_sha256()) > 0);
    FILE *file = fopen(cert_path, "we");
    ck_assert(file != NULL && PEM_write_X509(file, cert) == 1 && fclose(file) == 0);
    file = fopen(key_path, "we");
    ck_assert(file != NULL && PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1 &&
              fclose(file) == 0);
    X509_free(cert);
    EVP_PKEY_free(key);
}

/* --- the handler -------------------------------------------------------------------------------
 */

struct request {
    struct edge *edge;
    struct gw_exchange *ex; /* NULL when gone */
    struct buf body;
    uint64_t left; /* of a stream */
    bool aborts;
    bool is_echo;
    bool holds;
    /* /slow: message to the other thread and back */
    struct base_msg msg;
    struct base_mailbox *reply_to;
    int delay_ms;
    bool is_away;
};

static void request_free(struct request *r)
{
    base_buf_fini(&r->body);
    base_free(r);
}

static void answer_take(struct gw_exchange *ex, int status, struct buf *b)
{
    gw_exchange_add_header(ex, "content-type", SLICE_LIT("text/plain"));
    gw_exchange_start(ex, status, (int64_t)b->len);
    gw_exchange_send_take(ex, b, true);
}

static void answer_filled(struct gw_exchange *ex, size_t count)
{
    struct buf b;
    base_buf_init(&b, EDGE_ANSWER_MAX);
    ck_assert_int_eq(base_buf_reserve(&b, count), ERR_OK);
    memset(b.ptr, 'x', count);
    b.len = count;
    answer_take(ex, 200, &b);
}

static void produce(struct request *r)
{
    while (r->left > 0 && !gw_exchange_is_full(r->ex)) {
        size_t n = r->left < PIECE ? (size_t)r->left : PIECE;
        struct buf b;
        base_buf_init(&b, PIECE);
        ck_assert_int_eq(base_buf_reserve(&b, n), ERR_OK);
        memset(b.ptr, 's', n);
        b.len = n;
        r->left -= n;
        gw_exchange_send_take(r->ex, &b, r->left == 0 && !r->aborts);
        if (r->ex->out_bytes > atomic_load(&r->edge->most_queued))
            atomic_store(&r->edge->most_queued, r->ex->out_bytes);
    }
    if (r->left == 0 && r->aborts)
        gw_exchange_abort(r->ex);
}

static void on_drained(struct gw_exchange *ex, void *user)
{
    struct request *r = user;
    ck_assert_ptr_eq(r->ex, ex);
    produce(r);
}

static void on_body(struct gw_exchange *ex, void *user, struct slice bytes, bool end)
{
    struct request *r = user;
    atomic_fetch_add(&r->edge->body_bytes, bytes.len);
    if (r->holds)
        return;
    gw_exchange_consumed(ex, bytes.len);
    if (r->is_echo)
        ck_assert_int_eq(base_buf_append(&r->body, bytes), ERR_OK);
    if (end && r->is_echo)
        answer_take(ex, 200, &r->body);
}

static void on_gone(struct gw_exchange *ex, void *user)
{
    struct request *r = user;
    ck_assert_ptr_eq(r->ex, ex);
    r->ex = NULL;
    atomic_fetch_add(&r->edge->gone, 1);
    if (!r->is_away)
        request_free(r);
}

static const struct gw_events EVENTS = {.body = on_body, .drained = on_drained, .gone = on_gone};

static void on_slow_done(struct base_msg *msg)
{
    struct request *r = (struct request *)((char *)msg - offsetof(struct request, msg));
    r->is_away = false;
    atomic_fetch_sub(&r->edge->slow_pending, 1);
    if (r->ex != NULL)
        answer_filled(r->ex, 5);
    else
        request_free(r);
}

static void on_slow(struct base_msg *msg)
{
    struct request *r = (struct request *)((char *)msg - offsetof(struct request, msg));
    edge_sleep_ms(r->delay_ms);
    msg->run = on_slow_done;
    base_mailbox_push(r->reply_to, msg);
}

static void slow(struct request *r, uint64_t ms)
{
    r->is_away = true;
    r->delay_ms = (int)ms;
    r->reply_to = gw_loop_mailbox(r->ex->loop);
    r->msg.run = on_slow;
    atomic_fetch_add(&r->edge->slow_pending, 1);
    base_worker_post(&r->edge->worker, &r->msg);
}

static void stream(struct request *r, uint64_t n, bool has_length, bool aborts)
{
    r->left = n;
    r->aborts = aborts;
    gw_exchange_start(r->ex, 200, has_length ? (int64_t)n : -1);
    produce(r);
}

static void describe(struct gw_exchange *ex)
{
    struct buf b;
    base_buf_init(&b, 64 * KIB);
    (void)base_buf_printf(&b, "%.*s|%.*s|", SLICE_ARGS(ex->method), SLICE_ARGS(ex->path));
    (void)base_buf_printf(&b, "%.*s|%.*s|", SLICE_ARGS(ex->query), SLICE_ARGS(ex->authority));
    for (size_t i = 0; i < ex->header_count; i++)
        (void)base_buf_printf(&b, "%.*s=%.*s|", SLICE_ARGS(ex->headers[i].name),
                              SLICE_ARGS(ex->headers[i].value));
    (void)base_buf_printf(&b, "%lld|%d", (long long)ex->content_length, ex->http_major);
    ck_assert_int_eq(b.error, ERR_OK);
    answer_take(ex, 200, &b);
}

static void tell_peer(struct gw_exchange *ex)
{
    struct buf b;
    char peer[GW_PEER_TEXT];
    base_buf_init(&b, KIB);
    gw_exchange_peer(ex, peer);
    ck_assert_int_eq(base_buf_append_text(&b, peer), ERR_OK);
    answer_take(ex, 200, &b);
}

static void with_trailers(struct gw_exchange *ex)
{
    struct buf b;
    base_buf_init(&b, KIB);
    gw_exchange_start(ex, 200, -1);
    ck_assert_int_eq(base_buf_append_text(&b, "hello"), ERR_OK);
    gw_exchange_send_take(ex, &b, false);
    gw_exchange_add_trailer(ex, "grpc-status", SLICE_LIT("0"));
    gw_exchange_send_take(ex, &b, true);
}

static void call_of(struct request *r, uint64_t n)
{
    edge_of *of = atomic_load(&r->edge->of);
    if (of != NULL)
        of(r->ex, n);
    answer_filled(r->ex, 1024);
}

static struct gw_loop *first_loop;
static _Thread_local struct gw_loop *own_loop;
static _Thread_local uint64_t own_turns;

static void on_request(struct gw_exchange *ex, void *thread_state)
{
    struct request *r = base_new(sizeof *r);
    uint64_t n = 0;
    r->edge = thread_state;
    r->ex = ex;
    base_buf_init(&r->body, LIM_BODY_BYTES);
    atomic_fetch_add(&r->edge->begun, 1);
    gw_exchange_listen(ex, &EVENTS, r);
    if (base_slice_is(ex->path, "/loop") && ex->loop == first_loop)
        atomic_fetch_add(&r->edge->on_first_loop, 1);
    if (base_parse_u64(ex->query, &n) != ERR_OK)
        n = 0;
    if (base_slice_is(ex->path, "/echo") && ex->has_body)
        r->is_echo = true;
    else if (base_slice_is(ex->path, "/stream"))
        stream(r, n, false, false);
    else if (base_slice_is(ex->path, "/sized"))
        stream(r, n, true, false);
    else if (base_slice_is(ex->path, "/abort"))
        stream(r, n, false, true);
    else if (base_slice_is(ex->path, "/slow"))
        slow(r, n);
    else if (base_slice_is(ex->path, "/hold"))
        r->holds = true;
    else if (base_slice_is(ex->path, "/early"))
        answer_take(ex, 403, &r->body);
    else if (base_slice_starts_with(ex->path, SLICE_LIT("/head")))
        describe(ex);
    else if (base_slice_is(ex->path, "/none"))
        answer_take(ex, 204, &r->body);
    else if (base_slice_is(ex->path, "/peer"))
        tell_peer(ex);
    else if (base_slice_is(ex->path, "/trailers"))
        with_trailers(ex);
    else if (base_slice_is(ex->path, "/of"))
        call_of(r, n);
    else if (!base_slice_is(ex->path, "/hang"))
        answer_filled(ex, 1024);
}

static enum err on_thread_begin(struct gw_loop *loop, void *user, void **out_thread_state)
{
    struct edge *e = user;
    if (atomic_fetch_add(&e->threads, 1) == 0)
        first_loop = loop;
    own_loop = loop;
    *out_thread_state = e;
    return ERR_OK;
}

static void on_tick(void *thread_state, uint64_t now_ns)
{
    struct edge *e = thread_state;
    uint64_t turns = gw_loop_turn(own_loop);
    (void)now_ns;
    atomic_fetch_add(&e->turns, turns - own_turns);
    own_turns = turns;
    atomic_fetch_add(&e->ticks, 1);
}

static void on_thread_end(struct gw_loop *loop, void *thread_state)
{
    struct edge *e = thread_state;
    while (atomic_load(&e->slow_pending) > 0) {
        base_mailbox_wait(gw_loop_mailbox(loop), 10);
        base_mailbox_run(gw_loop_mailbox(loop));
    }
    atomic_fetch_sub(&e->threads, 1);
}

/* --- start and stop ----------------------------------------------------------------------------
 */

void edge_sleep_ms(int ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    (void)nanosleep(&t, NULL); /* a signal may shorten it */
}

int edge_ms_since(uint64_t began_ns)
{
    return (int)((base_monotonic_ns() - began_ns) / 1000000);
}

/* Prepares everything but the loops, and the loops' options. */
void edge_prepare(struct edge *e, int loops)
{
    struct errbuf eb = {0};
    memset(e, 0, sizeof *e);
    e->keeper_fd = process_temp_dir(e->dir);
    ck_assert_int_eq(base_path_join(e->cert_path, e->dir, "cert.pem", &eb), ERR_OK);
    ck_assert_int_eq(base_path_join(e->key_path, e->dir, "key.pem", &eb), ERR_OK);
    edge_make_certificate(e->cert_path, e->key_path, "first", -60, 3600);
    ck_assert_int_eq(base_worker_start(&e->worker, "edge-slow"), ERR_OK);
    e->epoch = base_epoch_new();
    ck_assert_msg(gw_tls_open(e->cert_path, e->key_path, &e->tls, &eb) == ERR_OK, "%s", eb.text);
    e->options = (struct gw_loop_options){.endpoints[GW_ENDPOINT_TLS].host = "127.0.0.1",
                                          .count = loops,
                                          .tls = e->tls,
                                          .epoch = e->epoch,
                                          .user = e,
                                          .thread_begin = on_thread_begin,
                                          .thread_end = on_thread_end,
                                          .on_request = on_request,
                                          .on_tick = on_tick};
}

void edge_start_prepared(struct edge *e)
{
    struct errbuf eb = {0};
    ck_assert_msg(gw_loops_start(&e->options, &e->loops, &eb) == ERR_OK, "%s", eb.text);
    e->port = gw_loops_port(e->loops, GW_ENDPOINT_TLS);
}

void edge_start_with(struct edge *e, int loops, const struct gw_timeouts *timeouts)
{
    edge_prepare(e, loops);
    if (timeouts != NULL)
        e->options.timeouts = *timeouts;
    edge_start_prepared(e);
}

void edge_start(struct edge *e, int loops)
{
    edge_start_with(e, loops, NULL);
}

void edge_start_limited(struct edge *e, const struct gw_address_limits *limits,
                        const struct gw_proxy_nets *proxies)
{
    edge_prepare(e, 1);
    e->options.per_address = *limits;
    e->options.proxies = proxies;
    edge_start_prepared(e);
}

struct begun {
    struct edge *edge;
    int count;
};

static bool has_begun(void *arg)
{
    const struct begun *b = arg;
    return atomic_load(&b->edge->begun) >= b->count;
}

void edge_await_begun(struct edge *e, int count)
{
    struct begun b = {e, count};
    process_await(has_begun, &b, "requests to begin");
}

static bool all_gone(void *edge)
{
    struct edge *e = edge;
    return atomic_load(&e->gone) == atomic_load(&e->begun);
}

void edge_await_gone(struct edge *e)
{
    process_await(all_gone, e, "the end of all requests");
}

struct connections {
    const struct edge *edge;
    size_t most;
};

static bool are_few(void *arg)
{
    const struct connections *c = arg;
    return gw_loops_connections(c->edge->loops) <= c->most;
}

void edge_await_connections(const struct edge *e, size_t most)
{
    struct connections c = {e, most};
    process_await(are_few, &c, "the end of connections");
}

struct ticks {
    struct edge *edge;
    int until;
};

static bool have_passed(void *arg)
{
    const struct ticks *t = arg;
    return atomic_load(&t->edge->ticks) >= t->until;
}

void edge_await_ticks(struct edge *e, int count)
{
    struct ticks t = {e, atomic_load(&e->ticks) + count};
    process_await(have_passed, &t, "ticks of the loops");
}

uint64_t edge_counted(const struct edge *e, enum gw_edge_count what)
{
    struct gw_edge_counts_now now;
    gw_loops_edge_counts(e->loops, &now);
    return now.each[what];
}

void edge_stop(struct edge *e)
{
    gw_loops_stop(e->loops);
    base_worker_stop(&e->worker);
    ck_assert_int_eq(atomic_load(&e->threads), 0);
    ck_assert_int_eq(atomic_load(&e->gone), atomic_load(&e->begun));
    gw_tls_close(e->tls);
    base_epoch_free(e->epoch);
    process_temp_dir_remove(e->dir, e->keeper_fd);
}

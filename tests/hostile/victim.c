/*
 * tests/hostile/victim.c - another tenant, an operator and a health check, at an open-loop rate.
 *
 * Each kind of request has lanes: threads with a connection of their own, open before the clock
 * starts, each with LANE_RATE requests a second. Request n of a lane is due at start + n / rate,
 * whether n - 1 was answered or not: as long as answers take less than 1 / rate, the load is open,
 * and after that each wait counts from when its request was due.
 */
#define _GNU_SOURCE
#include "tests/hostile/victim.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/hostile/guard.h"
#include "tests/hostile/peer.h"
#include "tests/hostile/wire.h"

#include "base/banned.h"

#define ROWS        50
#define VICTIM_NICE -10
#define LANE_RATE   5
#define LANES       26
#define SCAN_ROWS   20
#define TABLE_NAME  "projects/" VICTIM_TENANT "/instances/main/tables/t"

struct probe;
struct probe_kind {
    const char *name;
    unsigned lanes;
    bool (*send)(struct probe *p, unsigned n); /* false: no answer of success */
};

struct probe {
    const struct probe_kind *kind;
    const struct victim *victim;
    pthread_barrier_t *ready;
    int run_ms;
    uint64_t offset_ns;
    struct http *http;
    struct peer peer;
    unsigned next;
    bool is_good;
    double *waits_ms;
    size_t count;
    size_t errors;
    char first_error[128];
};

/* --- requests ----------------------------------------------------------------------------------
 */

static struct http *client(struct probe *p, enum http_version version, const char *key)
{
    if (p->http == NULL) {
        p->http = http_open(p->victim->server, version, key);
        curl_easy_setopt(p->http->curl, CURLOPT_TIMEOUT_MS, (long)VICTIM_PATIENCE_MS);
    }
    return p->http;
}

static bool http_ok(struct probe *p, const char *method, const char *target, struct slice body)
{
    bool answered = http_try(p->http, method, target, body);
    if (answered && p->http->status >= 200 && p->http->status < 300)
        return true;
    (void)snprintf(p->first_error, sizeof p->first_error, "%s: %d %.60s", p->kind->name,
                   p->http->status, answered ? http_text(p->http) : p->http->error);
    return false;
}

static bool json_read(struct probe *p, unsigned n)
{
    char target[64];
    (void)client(p, HTTP_1, p->victim->key);
    (void)snprintf(target, sizeof target, "/v1/tables/t/rows/k%u", n % ROWS);
    return http_ok(p, "GET", target, SLICE_EMPTY);
}

static bool json_write(struct probe *p, unsigned n)
{
    char target[64];
    (void)client(p, HTTP_2, p->victim->key);
    (void)snprintf(target, sizeof target, "/v1/tables/t/rows/w%u", n % ROWS);
    return http_ok(p, "PATCH", target, quoted("{'f':{'q':{'value':'v','timestamp':'1000'}}}"));
}

static bool json_scan(struct probe *p, unsigned n)
{
    char target[64];
    (void)client(p, HTTP_2, p->victim->key);
    (void)snprintf(target, sizeof target, "/v1/tables/t/rows?prefix=k&limit=%u",
                   SCAN_ROWS + n % SCAN_ROWS);
    return http_ok(p, "GET", target, SLICE_EMPTY);
}

static bool health(struct probe *p, unsigned n)
{
    (void)n;
    http_reconnect(client(p, HTTP_1, NULL));
    return http_ok(p, "GET", "/healthz", SLICE_EMPTY);
}

static bool operator_write(struct probe *p, unsigned n)
{
    char body[64];
    (void)client(p, HTTP_2, p->victim->server->operator_key);
    (void)snprintf(body, sizeof body, "{'display_name':'name %u'}", n);
    return http_ok(p, "PATCH", "/v1/admin/tenants/" VICTIM_BYSTANDER, quoted(body));
}

static bool grpc_ok(struct probe *p, const char *method, const struct buf *message)
{
    if (!p->peer.is_open || p->peer.tls.closed) {
        peer_close(&p->peer);
        peer_open(&p->peer, p->victim->server, p->victim->key, PEER_WINDOW);
    }
    struct peer_call *call = peer_grpc(&p->peer, method, message, NULL);
    bool ended = peer_run(&p->peer, VICTIM_PATIENCE_MS);
    int status = call->grpc_status;
    bool good = ended && status == 0;
    if (!good) {
        (void)snprintf(p->first_error, sizeof p->first_error, "%s: %s, status %d", p->kind->name,
                       ended ? "answered" : "no answer", status);
        peer_close(&p->peer);
        return false;
    }
    peer_forget(&p->peer);
    return true;
}

static bool grpc_read(struct probe *p, unsigned n)
{
    char key[16];
    struct buf message, rows;
    wire_init(&message);
    wire_init(&rows);
    (void)snprintf(key, sizeof key, "k%u", n % ROWS);
    wire_text(&message, 1, TABLE_NAME);
    wire_text(&rows, 1, key);
    wire_message(&message, 2, &rows);
    bool good = grpc_ok(p, PEER_DATA "ReadRows", &message);
    base_buf_fini(&message);
    base_buf_fini(&rows);
    return good;
}

static bool grpc_write(struct probe *p, unsigned n)
{
    char key[16];
    struct buf message;
    wire_init(&message);
    (void)snprintf(key, sizeof key, "g%u", n % ROWS);
    wire_text(&message, 1, TABLE_NAME);
    wire_text(&message, 2, key);
    wire_set_cell(&message, 3, base_slice("q", 1), base_slice("v", 1));
    bool good = grpc_ok(p, PEER_DATA "MutateRow", &message);
    base_buf_fini(&message);
    return good;
}

/* A row is written if it has a value, which it has. */
static bool grpc_check(struct probe *p, unsigned n)
{
    char key[16];
    struct buf message, filter;
    wire_init(&message);
    wire_init(&filter);
    (void)snprintf(key, sizeof key, "k%u", n % ROWS);
    wire_text(&message, 1, TABLE_NAME);
    wire_text(&message, 2, key);
    wire_text(&filter, 9, "a small.*"); /* value_regex_filter */
    wire_message(&message, 6, &filter);
    wire_set_cell(&message, 4, base_slice("c", 1), base_slice("v", 1));
    bool good = grpc_ok(p, PEER_DATA "CheckAndMutateRow", &message);
    base_buf_fini(&message);
    base_buf_fini(&filter);
    return good;
}

static const struct probe_kind KINDS[VICTIM_KINDS] = {
    {"JSON read", 5, json_read}, {"JSON write", 5, json_write},
    {"gRPC read", 5, grpc_read}, {"gRPC write", 5, grpc_write},
    {"JSON scan", 2, json_scan}, {"gRPC check-and-mutate", 2, grpc_check},
    {"health check", 1, health}, {"operator's change", 1, operator_write},
};

/* --- the schedule ------------------------------------------------------------------------------
 */

static void probe_send(void *user)
{
    struct probe *p = user;
    p->is_good = p->kind->send(p, p->next);
}

static bool probe_try(struct probe *p)
{
    p->is_good = false;
    if (!guard_run(probe_send, p)) {
        (void)snprintf(p->first_error, sizeof p->first_error, "%s: %.100s", p->kind->name,
                       guard_text());
        p->peer.is_open = false; /* what it was is leaked */
        process_sleep_ms(50);
    }
    return p->is_good;
}

static void *probe_thread(void *user)
{
    struct probe *p = user;
    uint64_t period_ns = 1000000000u / LANE_RATE;
    /* Not kept from measuring by what else this machine does; without the right, as all. */
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), VICTIM_NICE);
    (void)probe_try(p);
    p->first_error[0] = '\0';
    (void)pthread_barrier_wait(p->ready);
    uint64_t start_ns = base_monotonic_ns() + p->offset_ns;
    uint64_t end_ns = start_ns + (uint64_t)p->run_ms * 1000000u;
    for (uint64_t due_ns = start_ns; due_ns < end_ns; due_ns += period_ns, p->next++) {
        uint64_t now_ns = base_monotonic_ns();
        if (now_ns < due_ns) {
            struct timespec t = {0, (long)(due_ns - now_ns)};
            (void)nanosleep(&t, NULL);
        }
        char before[sizeof p->first_error];
        memcpy(before, p->first_error, sizeof before);
        if (now_ns < end_ns && !probe_try(p))
            p->errors++;
        if (before[0] != '\0')
            memcpy(p->first_error, before, sizeof before);
        p->waits_ms[p->count++] = (double)(base_monotonic_ns() - due_ns) / 1e6;
    }
    peer_close(&p->peer);
    http_close(p->http);
    return NULL;
}

static int compare_waits(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarise(struct probe *probes, struct victim_times *out)
{
    size_t total = 0, n = 0;
    memset(out, 0, sizeof *out);
    for (size_t k = 0; k < LANES; k++)
        total += probes[k].count;
    double *all = base_new_array(total, sizeof *all);
    for (size_t k = 0; k < LANES; k++) {
        out->errors += probes[k].errors;
        if (out->first_error[0] == '\0')
            memcpy(out->first_error, probes[k].first_error, sizeof out->first_error);
        for (size_t i = 0; i < probes[k].count; i++) {
            all[n++] = probes[k].waits_ms[i];
            if (probes[k].waits_ms[i] > out->worst_ms) {
                out->worst_ms = probes[k].waits_ms[i];
                out->worst_kind = probes[k].kind->name;
            }
        }
    }
    qsort(all, n, sizeof *all, compare_waits);
    out->requests = n;
    out->p50_ms = all[n / 2];
    out->p99_ms = all[n - 1 - n / 100];
    base_free(all);
}

void victim_run(struct victim *v, int ms, void (*ready_to_go)(void *user), void *user,
                struct victim_times *out)
{
    pthread_t threads[LANES];
    pthread_barrier_t ready;
    struct probe *probes = base_new_array(LANES, sizeof *probes);
    size_t n = 0;
    (void)pthread_barrier_init(&ready, NULL, LANES + 1);
    for (size_t k = 0; k < VICTIM_KINDS; k++) {
        for (unsigned lane = 0; lane < KINDS[k].lanes; lane++, n++) {
            ck_assert_uint_lt(n, LANES);
            probes[n].kind = &KINDS[k];
            probes[n].victim = v;
            probes[n].ready = &ready;
            probes[n].run_ms = ms;
            probes[n].next = lane;
            probes[n].offset_ns = n * (1000000000u / LANE_RATE) / LANES;
            probes[n].waits_ms = base_new_array((size_t)ms * LANE_RATE / 1000 + 2, sizeof(double));
            if (pthread_create(&threads[n], NULL, probe_thread, &probes[n]) != 0)
                ck_abort_msg("no thread for the victim");
        }
    }
    ck_assert_uint_eq(n, LANES);
    (void)pthread_barrier_wait(&ready);
    if (ready_to_go != NULL)
        ready_to_go(user);
    for (n = 0; n < LANES; n++)
        (void)pthread_join(threads[n], NULL);
    (void)pthread_barrier_destroy(&ready);
    summarise(probes, out);
    for (n = 0; n < LANES; n++)
        base_free(probes[n].waits_ms);
    base_free(probes);
}

void victim_create(struct victim *v, const struct server *s, struct http *op)
{
    v->server = s;
    static const char *const TENANTS[] = {VICTIM_TENANT, VICTIM_BYSTANDER};
    for (size_t i = 0; i < 2; i++) {
        http_value_take(op, "POST", json_pack("{s:s}", "id", TENANTS[i]), "/v1/admin/tenants");
        EXPECT_STATUS(op, 201);
    }
    http_json(op, "POST", "{'label':'victim'}", "/v1/admin/tenants/" VICTIM_TENANT "/keys");
    EXPECT_STATUS(op, 201);
    (void)snprintf(v->key, sizeof v->key, "%s", http_string(op, "/key"));
    struct http *h = http_open(s, HTTP_2, v->key);
    http_json(h, "PUT", "{'families':{'f':{}}}", "/v1/tables/t");
    EXPECT_STATUS(h, 201);
    for (unsigned i = 0; i < ROWS; i++) {
        http_json(h, "PUT", "{'f':{'q':'a small value'}}", "/v1/tables/t/rows/k%u", i);
        EXPECT_STATUS(h, 201);
    }
    http_close(h);
}

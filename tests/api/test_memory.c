/*
 * tests/api/test_memory.c - what requests hold is bounded, for each tenant, and whoever may not
 * send a body is told before it comes.
 */
#define _GNU_SOURCE
#include <check.h>
#include <google/bigtable/v2/bigtable.pb-c.h>
#include <stdio.h>
#include <unistd.h>

#include <nghttp2/nghttp2.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "tests/support/grpc_client.h"
#include "tests/support/raw_tls.h"
#include "tests/support/scrape.h"
#include "tests/support/world.h"

#include "base/banned.h"

enum { HALF_SENT = 40, ANSWERS = 40 };

#define SOON_MS process_await_ms()

static struct server server;
static struct world mean;
static struct world victim;

static void set_up(void)
{
    server_create(&server);
    server.options[0] = "--request-mb";
    server.options[1] = "64";
    server.options[2] = "--cache-mb";
    server.options[3] = "64";
    server_start(&server, NULL);
    world_init_on(&mean, &server, HTTP_1, "mean");
    world_init_on(&victim, &server, HTTP_2, "victim");
}

static void tear_down(void)
{
    world_fini(&mean);
    world_fini(&victim);
    server_stop(&server);
    server_remove(&server);
}

/* Others are served as if nothing was. */
static void expect_victim_served(void)
{
    char *body = base_new(512 * KIB + 64);
    int head = snprintf(body, 64, "{\"stats\":{\"large\":\"");
    memset(body + head, 'x', 512 * KIB);
    memcpy(body + head + 512 * KIB, "\"}}", 4);
    tenant_put(victim.http, "devices", "row", "stats", "os", "17");
    http_bytes(victim.http, "PUT", base_slice_text(body), "/v1/tables/devices/rows/large");
    ck_assert_int_eq(victim.http->status / 100, 2);
    http_get(victim.http, "/v1/tables/devices/rows/large");
    EXPECT_STATUS(victim.http, 200);
    base_free(body);
}

static uint64_t held_bytes(void)
{
    return scrape_number(mean.op, "bigtent_request_memory_bytes");
}

static bool little_is_held(void *arg)
{
    (void)arg;
    return held_bytes() <= MIB;
}

static void send_head(struct raw_tls *r, const char *key, const char *more)
{
    char head[1024];
    char bearer[256] = "";
    if (key != NULL)
        (void)snprintf(bearer, sizeof bearer, "Authorization: Bearer %s\r\n", key);
    raw_open(r, &server, "http/1.1");
    int len = snprintf(head, sizeof head,
                       "PUT /v1/tables/devices/rows/r HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n",
                       bearer, more);
    ck_assert(raw_send(r, base_slice(head, (size_t)len)));
}

#define LONG_BODY "Content-Type: application/json\r\nContent-Length: 16000000\r\n"

static bool holds(const struct raw_tls *r, const char *text)
{
    return r->in.len > 0 && memmem(r->in.ptr, r->in.len, text, strlen(text)) != NULL;
}

/* --- heads ------------------------------------------------------------------------------------ */

static void suspend(void)
{
    http_json(mean.op, "POST", "{'reason':'unpaid'}", "/v1/admin/tenants/mean:suspend");
    EXPECT_STATUS(mean.op, 200);
}

static void depart(void)
{
    http_json(mean.op, "POST", "{'confirm':'mean','grace':'3600s'}",
              "/v1/admin/tenants/mean:offboard");
    EXPECT_STATUS(mean.op, 202);
}

/* Minutes at its rate. */
static void owe(void)
{
    static char body[200000];
    admin_set_quota(mean.op, mean.tenant, "{'write_bytes_per_s':1024,'burst_ms':60000}");
    memset(body, 'x', sizeof body);
    http_bytes(mean.http, "PUT", base_slice(body, sizeof body),
               "/v1/tables/devices/cells/r/stats/q");
    EXPECT_STATUS(mean.http, 204);
}

static const struct {
    const char *key; /* NULL: none; "": mean's */
    const char *more;
    void (*before)(void);
    const char *status;
} HEADS[] = {
    {NULL, LONG_BODY, NULL, "HTTP/1.1 401 "},
    {NULL, LONG_BODY "Expect: 100-continue\r\n", NULL, "HTTP/1.1 401 "},
    {NULL, "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n", NULL,
     "HTTP/1.1 401 "},
    {"bt_wrong", LONG_BODY, NULL, "HTTP/1.1 401 "},
    {"", LONG_BODY, suspend, "HTTP/1.1 403 "},
    {"", LONG_BODY, depart, "HTTP/1.1 410 "},
    {"", LONG_BODY "Expect: 100-continue\r\n", depart, "HTTP/1.1 410 "},
    {"", "Content-Type: application/json\r\nContent-Length: 17000000\r\n", NULL, "HTTP/1.1 413 "},
    {"", "Content-Type: image/png\r\nContent-Length: 16000000\r\n", NULL, "HTTP/1.1 415 "},
    {"", LONG_BODY, owe, "HTTP/1.1 429 "},
    {"", LONG_BODY "Expect: 100-continue\r\n", owe, "HTTP/1.1 429 "},
    {"", LONG_BODY "Expect: 100-continue\r\n", NULL, "HTTP/1.1 100 "},
};

START_TEST(a_head_is_answered_before_its_body)
{
    struct raw_tls r;
    if (HEADS[_i].before != NULL)
        HEADS[_i].before();
    const char *key = HEADS[_i].key != NULL && HEADS[_i].key[0] == '\0' ? mean.key : HEADS[_i].key;
    send_head(&r, key, HEADS[_i].more);
    while (!holds(&r, "\r\n\r\n"))
        ck_assert(raw_read_some(&r, SOON_MS));
    ck_assert_msg(memmem(r.in.ptr, r.in.len, HEADS[_i].status, 13) == r.in.ptr, "%.*s",
                  (int)r.in.len, (const char *)r.in.ptr);
    bool goes_on = HEADS[_i].status[9] == '1';
    ck_assert(goes_on || holds(&r, "application/problem+json"));
    ck_assert(goes_on || raw_read_to_close(&r, SOON_MS));
    raw_close(&r);
}
END_TEST

/* In pieces, behind a head that came alone. */
START_TEST(a_body_that_comes_later_is_taken)
{
    struct raw_tls r;
    char text[64];
    static const char body[] = "{\"stats\":{\"os\":\"18\"}}";
    for (int i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof text, "Content-Length: %zu\r\n", sizeof body - 1);
        send_head(&r, mean.key, i == 0 ? text : "Transfer-Encoding: chunked\r\n");
        (void)usleep(100000);
        (void)snprintf(text, sizeof text, "%zx\r\n", sizeof body - 1);
        ck_assert(i == 0 || raw_send(&r, base_slice_text(text)));
        for (size_t at = 0; at < sizeof body - 1; at += 10) {
            size_t left = sizeof body - 1 - at;
            ck_assert(raw_send(&r, base_slice(body + at, left < 10 ? left : 10)));
            (void)usleep(20000);
        }
        ck_assert(i == 0 || raw_send(&r, SLICE_LIT("\r\n0\r\n\r\n")));
        ck_assert_int_eq(raw_response(&r, SOON_MS), i == 0 ? 201 : 200);
        ck_assert(raw_send(&r, SLICE_LIT("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")));
        ck_assert_int_eq(raw_response(&r, SOON_MS), 200); /* the connection goes on */
        raw_close(&r);
    }
    http_get(mean.http, "/v1/tables/devices/rows/r");
    EXPECT_STATUS(mean.http, 200);
}
END_TEST

/* --- bodies ----------------------------------------------------------------------------------- */

#define FIT          2 /* half of 64 MiB is two times 16 MB */
#define IDLE_ENDS_NS 2000000000u

struct half_sent {
    struct raw_tls r[HALF_SENT];
    int refused_least;
};

static bool first_is_held(void *arg)
{
    (void)arg;
    return held_bytes() >= 16000000;
}

static bool others_are_refused(void *arg)
{
    struct half_sent *h = arg;
    int refused = 0;
    for (int i = 0; i < HALF_SENT; i++) {
        while (!holds(&h->r[i], "\r\n") && raw_read_some(&h->r[i], 0))
            continue;
        refused += h->r[i].in.len >= 12 && memcmp(h->r[i].in.ptr + 9, "503", 3) == 0;
    }
    return refused >= h->refused_least;
}

START_TEST(half_sent_bodies_are_bounded_for_their_tenant)
{
    static struct half_sent h;
    send_head(&h.r[0], mean.key, LONG_BODY);
    process_await(first_is_held, NULL, "the body of a request to be held");
    uint64_t began_ns = base_monotonic_ns();
    for (int i = 1; i < HALF_SENT; i++) {
        send_head(&h.r[i], mean.key, LONG_BODY);
        ck_assert_uint_le(held_bytes(), 32 * MIB);
    }
    /* All but those that fit, and those that fit once these were ended: while memory is scarce, who
     * sends nothing has two seconds. */
    int times = 1 + (int)((base_monotonic_ns() - began_ns) / IDLE_ENDS_NS);
    h.refused_least = times < HALF_SENT / FIT ? HALF_SENT - FIT * times : 1;
    process_await(others_are_refused, &h, "refusals of bodies");
    ck_assert_uint_le(held_bytes(), 32 * MIB);
    expect_victim_served();
    for (int i = 0; i < HALF_SENT; i++)
        raw_close(&h.r[i]);
    process_await(little_is_held, NULL, "the memory of closed connections");
    ck_assert_uint_gt(scrape_number(mean.op, "bigtent_request_memory_refused_total"), 0);
}
END_TEST

/* The head of a call, the head of a message of 12 MiB, and a part of it. */
static struct grpc_call *half_send(struct grpc_client *c)
{
    static uint8_t bytes[5 + KIB] = {0, 0, 0xc0, 0, 0};
    struct grpc_call *call = grpc_begin(c, "/google.bigtable.v2.Bigtable/MutateRow", NULL);
    grpc_put_bytes(c, call, base_slice(bytes, sizeof bytes));
    return call;
}

static const char *key_of(bool is_service, char out[WORLD_KEY])
{
    char id[WORLD_ID];
    if (!is_service)
        return mean.key;
    admin_create_global_key(mean.op, "service", out, id);
    return out;
}

/* Of a tenant, and of a service, which has not said yet for which tenant: the first two fit. Nobody
 * has to end them: while memory is scarce, who sends nothing has two seconds. */
START_TEST(half_sent_messages_are_bounded_and_end)
{
    static struct grpc_client client;
    struct grpc_call *calls[GRPC_CALLS];
    char key[WORLD_KEY];
    grpc_open(&client, &server, key_of(_i == 1, key), 0);
    grpc_hurry(&client);
    for (int i = 0; i < GRPC_CALLS; i++)
        calls[i] = half_send(&client);
    for (int ms = 0; client.closed < GRPC_CALLS - 2 && ms < SOON_MS; ms += 50)
        grpc_listen(&client, 50);
    for (int i = 2; i < GRPC_CALLS; i++) {
        ck_assert(calls[i]->is_closed);
        ck_assert_int_eq(calls[i]->status, 8); /* RESOURCE_EXHAUSTED */
    }
    ck_assert_uint_le(held_bytes(), 32 * MIB);
    expect_victim_served();
    grpc_await(&client);
    ck_assert_uint_le(held_bytes(), MIB);
    grpc_close(&client);
}
END_TEST

static bool has_status(const struct grpc_call *call)
{
    return call->status >= 0 || call->is_closed; /* closed without one: it was ended */
}

/* Two messages of one service fit, and one of another: with one share for both it would not. Few of
 * all keys have the same share, so one of several has another one. A round in which the first
 * messages were ended meanwhile, because nothing came for two seconds, says nothing. */
START_TEST(one_service_takes_nothing_of_anothers_memory)
{
    enum { ROUNDS = 20 };
    static struct grpc_client first, second;
    char key[WORLD_KEY], id[WORLD_ID];
    bool is_taken = false;
    for (int i = 0; !is_taken && i < ROUNDS; i++) {
        admin_create_global_key(mean.op, "service", key, id);
        grpc_open(&first, &server, key, 0);
        admin_create_global_key(mean.op, "service", key, id);
        grpc_open(&second, &server, key, 0);
        const struct grpc_call *last = NULL;
        for (int k = 0; k < 3; k++)
            last = half_send(&first);
        for (int ms = 0; !has_status(last) && ms < SOON_MS; ms += 10)
            grpc_listen(&first, 10);
        const struct grpc_call *other = half_send(&second);
        for (int ms = 0; !has_status(other) && !is_taken && ms < SOON_MS; ms += 10) {
            grpc_listen(&second, 10);
            is_taken = last->status == 8 && held_bytes() > 33 * MIB; /* RESOURCE_EXHAUSTED */
        }
        grpc_close(&first);
        grpc_close(&second);
        process_await(little_is_held, NULL, "the memory of closed connections");
    }
    ck_assert(is_taken);
}
END_TEST

/* A byte of a message now and then, beside a body that comes quickly enough. */
START_TEST(a_trickled_message_is_ended_while_memory_is_scarce)
{
    static struct grpc_client client;
    static const uint8_t filler[4 * KIB];
    struct raw_tls quick;
    send_head(&quick, mean.key, LONG_BODY);
    process_await(first_is_held, NULL, "the body of a request to be held");
    grpc_open(&client, &server, mean.key, 0);
    grpc_hurry(&client);
    struct grpc_call *slow = half_send(&client);
    for (int ms = 0; !slow->is_closed && ms < SOON_MS; ms += 50) {
        ck_assert(raw_send(&quick, base_slice(filler, sizeof filler)));
        grpc_put_bytes(&client, slow, base_slice(filler, 1));
        grpc_listen(&client, 50);
    }
    ck_assert(slow->is_closed);
    ck_assert_uint_eq(slow->error, NGHTTP2_CANCEL);
    ck_assert(raw_send(&quick, base_slice(filler, sizeof filler)));
    ck_assert(!raw_read_some(&quick, 0) && !quick.closed);
    grpc_close(&client);
    raw_close(&quick);
}
END_TEST

/* --- answers ---------------------------------------------------------------------------------- */

static void put_large_cell(struct http *h)
{
    const size_t bytes = 4 * MIB;
    char *body = base_new(bytes + 64);
    int head = snprintf(body, 64, "{\"stats\":{\"large\":\"");
    memset(body + head, 'x', bytes);
    memcpy(body + (size_t)head + bytes, "\"}}", 4);
    http_bytes(h, "PUT", base_slice_text(body), "/v1/tables/devices/rows/large");
    EXPECT_STATUS(h, 201);
    base_free(body);
}

START_TEST(unread_answers_are_bounded_for_their_tenant)
{
    struct raw_tls r[ANSWERS];
    char request[512];
    put_large_cell(mean.http);
    uint64_t before_kib = server_rss_kib(&server);
    int len = snprintf(request, sizeof request,
                       "GET /v1/tables/devices/rows/large HTTP/1.1\r\nHost: localhost\r\n"
                       "Authorization: Bearer %s\r\n\r\n",
                       mean.key);
    for (int i = 0; i < ANSWERS; i++) {
        raw_open(&r[i], &server, "http/1.1");
        ck_assert(raw_send(&r[i], base_slice(request, (size_t)len)));
    }
    for (int i = 0; i < 20; i++) { /* until all of it was read that will be */
        ck_assert_uint_le(held_bytes(), 33 * MIB);
        (void)usleep(100000);
    }
    expect_victim_served();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* whose own memory counts */
    ck_assert_uint_le(server_rss_kib(&server), before_kib + 96 * KIB);
#else
    (void)before_kib;
#endif
    for (int i = 0; i < ANSWERS; i++)
        raw_close(&r[i]);
    process_await(little_is_held, NULL, "the memory of closed connections");
}
END_TEST

static bool a_part_is_held(void *arg)
{
    (void)arg;
    return held_bytes() > 128 * KIB;
}

/* Ten megabytes of text: what the peer does not take is not made. */
START_TEST(an_unread_list_of_tables_is_not_made)
{
    enum { TABLES = 400, NOTES = 4000 };
    static char notes[NOTES + 1];
    struct raw_tls r;
    char request[512];
    admin_set_quota(mean.op, mean.tenant, "{'control_ops_per_s':1000}");
    memset(notes, 1, NOTES); /* six characters each */
    for (int i = 0; i < TABLES; i++) {
        http_value_take(mean.http, "PUT",
                        json_pack("{s:{s:{}},s:s}", "families", "f", "row_key_notes", notes),
                        "/v1/tables/long-%03d", i);
        EXPECT_STATUS(mean.http, 201);
    }
    int len = snprintf(request, sizeof request,
                       "GET /v1/tables HTTP/1.1\r\nHost: localhost\r\n"
                       "Authorization: Bearer %s\r\n\r\n",
                       mean.key);
    raw_open(&r, &server, "http/1.1");
    ck_assert(raw_send(&r, base_slice(request, (size_t)len)));
    process_await(a_part_is_held, NULL, "the beginning of the list");
    for (int i = 0; i < 30; i++) {
        ck_assert_uint_le(held_bytes(), 2 * MIB);
        (void)usleep(50000);
    }
    raw_close(&r);
}
END_TEST

static bool a_filter_is_held(void *arg)
{
    (void)arg;
    return held_bytes() >= 512 * KIB;
}

static bool no_filter_is_held(void *arg)
{
    (void)arg;
    return held_bytes() <= 256 * KIB;
}

/* A read of few bytes whose peer takes none of them: what is held is its filter. */
START_TEST(a_filter_is_held_for_its_tenant)
{
    static char text[] = "(.{0,500}.{0,500}){2}"; /* some 5,000 instructions */
    static struct grpc_client client;
    Bt__ReadRowsRequest request = BT__READ_ROWS_REQUEST__INIT;
    Bt__RowFilter__Interleave interleave = BT__ROW_FILTER__INTERLEAVE__INIT;
    Bt__RowFilter filter = BT__ROW_FILTER__INIT, value = BT__ROW_FILTER__INIT;
    Bt__RowFilter *values[] = {&value, &value, &value};
    char table[160];
    tenant_put(mean.http, "devices", "row", "stats", "os", "17");
    ck_assert(no_filter_is_held(NULL));
    value.filter_case = BT__ROW_FILTER__FILTER_VALUE_REGEX_FILTER;
    value.value_regex_filter = (ProtobufCBinaryData){sizeof text - 1, (uint8_t *)text};
    interleave.filters = values;
    interleave.n_filters = 3;
    filter.filter_case = BT__ROW_FILTER__FILTER_INTERLEAVE;
    filter.interleave = &interleave;
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/devices", mean.tenant);
    request.table_name = table;
    request.filter = &filter;
    grpc_open(&client, &server, mean.key, 1);
    (void)grpc_start(&client, "/google.bigtable.v2.Bigtable/ReadRows", &request.base, NULL);
    process_await(a_filter_is_held, NULL, "a filter in the memory of requests");
    grpc_close(&client);
    process_await(no_filter_is_held, NULL, "the memory of a filter");
}
END_TEST

Suite *suite_api_memory(void);
Suite *suite_api_memory(void)
{
    Suite *s = suite_create("api_memory");
    TCase *t = tcase_create("memory");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_head_is_answered_before_its_body, 0,
                        (int)(sizeof HEADS / sizeof HEADS[0]));
    tcase_add_test(t, a_body_that_comes_later_is_taken);
    tcase_add_test(t, half_sent_bodies_are_bounded_for_their_tenant);
    tcase_add_loop_test(t, half_sent_messages_are_bounded_and_end, 0, 2);
    tcase_add_test(t, one_service_takes_nothing_of_anothers_memory);
    tcase_add_test(t, a_trickled_message_is_ended_while_memory_is_scarce);
    tcase_add_test(t, unread_answers_are_bounded_for_their_tenant);
    tcase_add_test(t, an_unread_list_of_tables_is_not_made);
    tcase_add_test(t, a_filter_is_held_for_its_tenant);
    suite_add_tcase(s, t);
    return s;
}

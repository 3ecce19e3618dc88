/*
 * tests/isolation/test_times.c - asking for what a neighbour has takes no more work, and no longer,
 * than asking for what nobody has.
 *
 * The server's own counters say exactly what was done for the ones and for the others. Times are
 * compared coarsely: medians of many interleaved pairs, and only what differs three times in a row
 * is a difference.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/isolation/neighbours.h"
#include "tests/isolation/rpcs.h"

#include "base/banned.h"

#define REPEAT 40
#define PAIRS  150
/* Six standard deviations of a fair coin: one in a billion. */
#define BY_CHANCE 37
#define TRIES     3

static struct neighbours n;
static struct http *service; /* acts for acme alone */
static struct grpc_client rpc;

static void set_up(void)
{
    neighbours_begin(&n);
    http_json(n.op, "POST", "{'kind':'service','tenants':['acme']}", "/v1/admin/keys");
    EXPECT_STATUS(n.op, 201);
    service = http_open(&n.server, HTTP_2, http_string(n.op, "/key"));
    grpc_open(&rpc, &n.server, n.a_key, 0);
    grpc_hurry(&rpc);
}

static void tear_down(void)
{
    http_close(service);
    grpc_close(&rpc);
    neighbours_end(&n);
}

/* --- what is asked -----------------------------------------------------------------------------
 */

#define INSTANCE "projects/{tenant}/instances/main"
#define TABLES   "/google.bigtable.admin.v2.BigtableTableAdmin/"

/* form: over gRPC. in_own: the project is acme's, the rest is not. */
static const struct asked {
    const char *method;
    const char *target;
    const char *body;
    const char *form;
    bool as_service;
    bool in_own;
} ASKED[] = {
    {"GET", "/v1/tables/{table}/rows/{key}", NULL, NULL, false, false},
    {"GET", "/v1/tables/devices/rows/{key}", NULL, NULL, false, false},
    {"GET", "/v1/tables/devices/rows?prefix={key}", NULL, NULL, false, false},
    {"GET", "/v1/tables/{table}/rows", NULL, NULL, false, false},
    {"GET", "/v1/tables/{table}", NULL, NULL, false, false},
    {"GET", "/v1/tables/{table}:samples", NULL, NULL, false, false},
    {"POST", "/v1/tables/{table}:read", "{}", NULL, false, false},
    {"POST", "/v1/tables/devices:read", "{\"page_token\":\"{page}\"}", NULL, false, false},
    {"GET", "/v1/tables/devices/rows", NULL, NULL, true, false},
    {"GET", "/v1/usage", NULL, NULL, true, false},
    {"GET", "/v1/admin/tenants/{tenant}", NULL, NULL, false, false},
    {"/google.bigtable.v2.Bigtable/ReadRows", NULL, NULL, "table_name=" INSTANCE "/tables/{table}",
     false, true},
    {"/google.bigtable.v2.Bigtable/ReadRows", NULL, NULL, "table_name=" INSTANCE "/tables/{table}",
     false, false},
    {TABLES "GetTable", NULL, NULL, "name=" INSTANCE "/tables/{table}", false, true},
    {TABLES "GetAuthorizedView", NULL, NULL,
     "name=" INSTANCE "/tables/devices/authorizedViews/{view}", false, true},
};
#define ASKED_COUNT (sizeof ASKED / sizeof ASKED[0])

static void ask_http(const struct asked *a, const struct names *names)
{
    struct http *h = a->as_service ? service : n.a;
    struct buf target, body;
    base_buf_init(&target, 4 * KIB);
    base_buf_init(&body, 4 * KIB);
    names_expand(a->target, names, &target);
    ck_assert_int_eq(base_buf_append_byte(&target, '\0'), ERR_OK);
    if (a->body != NULL)
        names_expand(a->body, names, &body);
    if (a->as_service)
        http_once(h, "Bigtent-Tenant: %s", names->text[NAME_TENANT]);
    http_send(h, a->method, (const char *)target.ptr, base_buf_slice(&body));
    base_buf_fini(&target);
    base_buf_fini(&body);
}

static void ask_rpc(const struct asked *a, const struct names *foreign)
{
    struct arena arena;
    struct rpc r = {.method = gw_method_find(base_slice_text(a->method)),
                    .form = a->form,
                    .ways = a->in_own ? RPC_NAME : RPC_NAME | RPC_PROJECT};
    base_arena_init(&arena, MIB);
    if (rpc.count == GRPC_CALLS)
        grpc_forget(&rpc);
    (void)grpc_ask(&rpc, a->method, rpc_message(&r, &n.own, foreign, &arena));
    base_arena_fini(&arena);
}

static uint64_t ask_ns(const struct asked *a, const struct names *names)
{
    uint64_t begin_ns = base_monotonic_ns();
    if (a->form == NULL)
        ask_http(a, names);
    else
        ask_rpc(a, names);
    return base_monotonic_ns() - begin_ns;
}

/* --- what the server counts --------------------------------------------------------------------
 */

static void scrape(struct buf *out)
{
    http_get(n.op, "/metrics");
    EXPECT_STATUS(n.op, 200);
    base_buf_truncate(out, 0);
    ck_assert_int_eq(base_buf_append_byte(out, '\n'), ERR_OK);
    ck_assert_int_eq(base_buf_append(out, base_buf_slice(&n.op->body)), ERR_OK);
    ck_assert_int_eq(base_buf_append_byte(out, '\0'), ERR_OK);
}

/* Events, not times, not samples that chance takes, and not those of asking for these figures. A
 * body that comes behind its refusal is not counted, so its bytes are as the network had it. */
static bool is_counter(const char *line, size_t len)
{
    return memmem(line, len, "_total", 6) != NULL && memmem(line, len, "seconds", 7) == NULL &&
           memmem(line, len, "sampled", 7) == NULL && memmem(line, len, "/metrics", 8) == NULL &&
           memmem(line, len, "request_bytes", 13) == NULL && strncmp(line, "process_", 8) != 0 &&
           line[0] != '#';
}

static uint64_t value_in(const char *page, const char *line, size_t name_len)
{
    char series[1024];
    uint64_t value = 0;
    (void)snprintf(series, sizeof series, "\n%.*s ", (int)name_len, line);
    const char *at = strstr(page, series);
    if (at != NULL) {
        at += strlen(series);
        ck_assert_int_eq(base_parse_u64(base_slice(at, strspn(at, "0123456789")), &value), ERR_OK);
    }
    return value;
}

/* "series +n" of each that grew. */
static void differences(const char *before, const char *after, struct buf *out)
{
    for (const char *line = after + 1; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        const char *end = memrchr(line, ' ', len);
        if (end != NULL && is_counter(line, len)) {
            size_t name_len = (size_t)(end - line);
            uint64_t grown = value_in(after, line, name_len) - value_in(before, line, name_len);
            if (grown > 0)
                ck_assert_int_eq(base_buf_printf(out, "%.*s +%llu\n", (int)name_len, line,
                                                 (unsigned long long)grown),
                                 ERR_OK);
        }
        line += line[len] == '\n' ? len + 1 : len;
    }
}

/* Requests of a page, without those for pages. */
static uint64_t requests_in(const struct buf *page)
{
    static const char series[] = "\nbigtent_requests_total{";
    uint64_t sum = 0;
    for (const char *at = strstr((const char *)page->ptr, series); at != NULL;
         at = strstr(at + 1, series)) {
        size_t len = strcspn(at + 1, "\n");
        const char *end = memrchr(at + 1, ' ', len);
        if (is_counter(at + 1, len))
            sum += value_in((const char *)page->ptr, at + 1, (size_t)(end - at - 1));
    }
    return sum;
}

struct counted {
    struct buf before, after, again;
    uint64_t wanted;
};

/* An answer is counted when it has gone: until all are, and no counter grows any more. */
static bool are_counted(void *arg)
{
    struct counted *c = arg;
    scrape(&c->after);
    scrape(&c->again);
    if (requests_in(&c->after) < c->wanted)
        return false;
    static struct buf late;
    base_buf_init(&late, MIB);
    differences((const char *)c->after.ptr, (const char *)c->again.ptr, &late);
    bool is_quiet = late.len == 0;
    base_buf_fini(&late);
    return is_quiet;
}

static void count(const struct asked *a, const struct names *names, struct buf *out)
{
    static struct counted c;
    base_buf_init(&c.before, 8 * MIB);
    base_buf_init(&c.after, 8 * MIB);
    base_buf_init(&c.again, 8 * MIB);
    uint64_t were = 0;
    do { /* again when one from earlier is among them */
        (void)ask_ns(a, names);
        scrape(&c.before);
        were = requests_in(&c.before);
        for (int i = 0; i < REPEAT; i++)
            (void)ask_ns(a, names);
        c.wanted = were + REPEAT;
        process_await(are_counted, &c, "all requests to be counted");
    } while (requests_in(&c.after) != were + REPEAT);
    base_buf_truncate(out, 0);
    differences((const char *)c.before.ptr, (const char *)c.after.ptr, out);
    ck_assert_int_eq(base_buf_append_byte(out, '\0'), ERR_OK);
    base_buf_fini(&c.before);
    base_buf_fini(&c.after);
    base_buf_fini(&c.again);
}

START_TEST(the_server_counts_the_same_for_theirs_and_nobodys)
{
    struct buf theirs, nobodys;
    base_buf_init(&theirs, MIB);
    base_buf_init(&nobodys, MIB);
    for (size_t i = 0; i < ASKED_COUNT; i++) {
        count(&ASKED[i], &n.theirs, &theirs);
        count(&ASKED[i], &n.nobodys, &nobodys);
        ck_assert_msg(strstr((const char *)theirs.ptr, "bigtent_requests_total") != NULL, "%s",
                      (const char *)theirs.ptr); /* it does count */
        ck_assert_msg(base_slice_equal(base_buf_slice(&theirs), base_buf_slice(&nobodys)),
                      "DATA: %s %s:\n%s\nbut\n%s", ASKED[i].method, ASKED[i].target,
                      (const char *)theirs.ptr, (const char *)nobodys.ptr);
    }
    base_buf_fini(&theirs);
    base_buf_fini(&nobodys);
}
END_TEST

/* --- times -------------------------------------------------------------------------------------
 */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Of the medians, the larger one by the smaller one; 1 when neither is the longer one in more pairs
 * than chance explains: what disturbs a machine comes to either of a pair alike. */
static double ratio(const struct asked *a)
{
    static uint64_t theirs[PAIRS], nobodys[PAIRS];
    size_t longer = 0;
    for (size_t i = 0; i < PAIRS; i++) {
        if (i % 2 == 0)
            theirs[i] = ask_ns(a, &n.theirs);
        nobodys[i] = ask_ns(a, &n.nobodys);
        if (i % 2 == 1)
            theirs[i] = ask_ns(a, &n.theirs);
        longer += theirs[i] > nobodys[i];
    }
    if (longer > PAIRS / 2 - BY_CHANCE && longer < PAIRS / 2 + BY_CHANCE)
        return 1;
    qsort(theirs, PAIRS, sizeof theirs[0], by_value);
    qsort(nobodys, PAIRS, sizeof nobodys[0], by_value);
    double x = (double)theirs[PAIRS / 2], y = (double)nobodys[PAIRS / 2];
    return x > y ? x / y : y / x;
}

START_TEST(theirs_take_no_longer_than_nobodys)
{
    for (size_t i = 0; i < ASKED_COUNT; i++) {
        double last = 0;
        int tries = 0;
        do {
            last = ratio(&ASKED[i]);
        } while (last > 1.5 && ++tries < TRIES);
        ck_assert_msg(tries < TRIES, "%s %s: %.2f times as long", ASKED[i].method, ASKED[i].target,
                      last);
    }
}
END_TEST

Suite *suite_isolation_times(void);
Suite *suite_isolation_times(void)
{
    Suite *s = suite_create("isolation_times");
    TCase *tc = tcase_create("times");
    tcase_set_timeout(tc, 240);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, the_server_counts_the_same_for_theirs_and_nobodys);
    tcase_add_test(tc, theirs_take_no_longer_than_nobodys);
    suite_add_tcase(s, tc);
    return s;
}

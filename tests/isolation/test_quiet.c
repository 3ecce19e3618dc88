/*
 * tests/isolation/test_quiet.c - whatever a neighbour does, one's own limits, costs, usage and
 * bills stay the same.
 *
 * acme asks slowly, so that its rates are whole again before each request. What is told of them
 * must be the same to the letter while acme-zebra reads, writes and is refused as fast as it can.
 */
#define _GNU_SOURCE /* memmem */
#include <check.h>
#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tests/isolation/neighbours.h"

#include "base/banned.h"

#define REQUESTS 60
#define PAUSE_MS 5

static struct neighbours n;
static atomic_bool stop;
static atomic_uint done;

static void set_up(void)
{
    neighbours_begin(&n);
    admin_set_quota(n.op, "acme",
                    "{'read_ops_per_s':2000,'write_ops_per_s':2000,'read_bytes_per_s':1073741824,"
                    "'write_bytes_per_s':1073741824,'concurrent_requests':50,'rows':100}");
    admin_set_quota(n.op, "acme-zebra", "{'write_ops_per_s':500,'concurrent_requests':3}");
}

static void tear_down(void)
{
    neighbours_end(&n);
}

/* Nothing is asserted here: refusals are part of it. */
static void *hammer(void *user)
{
    struct http *h = http_open(&n.server, HTTP_2, n.b_key);
    (void)user;
    while (!atomic_load(&stop)) {
        struct slice row = SLICE_LIT("{\"stats\":{\"q\":\"more\"}}");
        bool is_read = atomic_fetch_add(&done, 1) % 4 == 0;
        if (is_read)
            (void)http_try(h, "GET", "/v1/tables/devices/rows?limit=200", SLICE_EMPTY);
        else
            (void)http_try(h, "PATCH", "/v1/tables/devices/rows/row-1", row);
    }
    http_close(h);
    return NULL;
}

static bool has_done(void *count)
{
    return atomic_load(&done) >= *(const unsigned *)count;
}

static const char *const HEADERS[] = {"ratelimit-policy", "ratelimit", "bigtent-cost"};

/* What a request took of a rate is there again when its answer is half a millisecond late. */
static const char *without_own(const char *value)
{
    static char text[1024];
    static const char left[] = ";r=1999;t=1";
    (void)snprintf(text, sizeof text, "%s", value);
    char *at = strstr(text, left);
    if (at != NULL)
        memcpy(at, ";r=2000;t=0", sizeof left - 1);
    return text;
}

static void note_headers(struct buf *out)
{
    for (size_t i = 0; i < sizeof HEADERS / sizeof HEADERS[0]; i++) {
        const char *value = http_header(n.a, HEADERS[i]);
        ck_assert_msg(value != NULL, "%s is missing", HEADERS[i]);
        value = without_own(value);
        ck_assert_int_eq(base_buf_printf(out, "%s: %s\n", HEADERS[i], value), ERR_OK);
    }
}

static void expect_equal(const struct buf *a, const struct buf *b)
{
    ck_assert_msg(base_slice_equal(base_buf_slice(a), base_buf_slice(b)), "DATA: %.*s\nbut\n%.*s",
                  SLICE_ARGS(base_buf_slice(a)), SLICE_ARGS(base_buf_slice(b)));
}

/* All but the changes of one's own, which are more after each write. */
static void note_usage(struct buf *out)
{
    static const char name[] = "\"change_bytes\":";
    struct slice page = base_buf_slice(&n.a->body);
    const uint8_t *at = memmem(page.ptr, page.len, name, sizeof name - 1);
    ck_assert_ptr_nonnull(at);
    size_t before = (size_t)(at - page.ptr) + sizeof name - 1;
    ck_assert_int_eq(base_buf_append(out, base_slice(page.ptr, before)), ERR_OK);
    while (before < page.len && isdigit(page.ptr[before]))
        before++;
    ck_assert_int_eq(base_buf_append(out, base_slice_skip(page, before)), ERR_OK);
}

/* A read, a write and a look at the usage; their headers, and the usage itself. */
static void ask(struct buf *out)
{
    base_buf_truncate(out, 0);
    process_sleep_ms(PAUSE_MS);
    http_get(n.a, "/v1/tables/devices/rows/row-1");
    EXPECT_STATUS(n.a, 200);
    note_headers(out);
    process_sleep_ms(PAUSE_MS);
    http_json(n.a, "PUT", "{'stats':{'q':{'value':'plain','timestamp':'1000'}}}",
              "/v1/tables/devices/rows/row-2");
    EXPECT_STATUS(n.a, 200);
    note_headers(out);
    process_sleep_ms(PAUSE_MS);
    http_get(n.a, "/v1/usage");
    EXPECT_STATUS(n.a, 200);
    note_headers(out);
    note_usage(out);
}

static void ask_often(const struct buf *wanted)
{
    struct buf seen;
    base_buf_init(&seen, MIB);
    for (int i = 0; i < REQUESTS; i++) {
        ask(&seen);
        expect_equal(wanted, &seen);
    }
    base_buf_fini(&seen);
}

START_TEST(limits_costs_and_usage_are_the_same_beside_a_busy_neighbour)
{
    pthread_t threads[2];
    struct buf wanted;
    base_buf_init(&wanted, MIB);
    ask(&wanted);
    ask(&wanted); /* the row is as it will be */
    ask_often(&wanted);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer, NULL), 0);
    process_await(has_done, &(unsigned){20}, "requests of a busy neighbour");
    ask_often(&wanted);
    atomic_store(&stop, true);
    for (size_t i = 0; i < 2; i++)
        (void)pthread_join(threads[i], NULL);
    ask_often(&wanted);
    ck_assert_uint_gt(atomic_load(&done), REQUESTS);
    base_buf_fini(&wanted);
}
END_TEST

/* Neither does what it says of itself: no line of it is about the neighbour's refusals. */
START_TEST(nothing_of_a_busy_neighbour_is_billed_or_recorded)
{
    struct buf before, after;
    pthread_t thread;
    base_buf_init(&before, MIB);
    base_buf_init(&after, MIB);
    http_get(n.a, "/v1/audit");
    ck_assert_int_eq(base_buf_append(&before, base_buf_slice(&n.a->body)), ERR_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, hammer, NULL), 0);
    process_await(has_done, &(unsigned){500}, "requests of a busy neighbour");
    atomic_store(&stop, true);
    (void)pthread_join(thread, NULL);
    http_json(n.b, "PUT", "{'families':{'f':{}}}", "/v1/tables/one-more");
    EXPECT_STATUS(n.b, 201);
    http_get(n.a, "/v1/audit");
    ck_assert_int_eq(base_buf_append(&after, base_buf_slice(&n.a->body)), ERR_OK);
    expect_equal(&before, &after);
    http_get(n.a, "/v1/metering?format=csv");
    EXPECT_STATUS(n.a, 200);
    ck_assert_ptr_null(neighbours_secret(&n, base_buf_slice(&n.a->body)));
    ck_assert_ptr_null(neighbours_name(&n, base_buf_slice(&n.a->body)));
    base_buf_fini(&before);
    base_buf_fini(&after);
}
END_TEST

/* A priority is among one's own requests: another word is refused, for whatever is asked. */
START_TEST(a_priority_is_no_way_to_a_neighbour)
{
    static const char *const words[] = {"high", "medium", "low", "acme-zebra"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        http_once(n.a, "Bigtent-Priority: %s", words[i]);
        http_get(n.a, "/v1/tables/table-of-quokka/rows");
        if (i < 3)
            EXPECT_PROBLEM(n.a, 404, "not_found");
        else
            EXPECT_PROBLEM(n.a, 400, "invalid");
        http_once(n.a, "Bigtent-Priority: %s", words[i]);
        http_once(n.a, "Bigtent-Tenant: acme-zebra");
        http_get(n.a, "/v1/tables/devices/rows");
        EXPECT_PROBLEM(n.a, 403, "forbidden");
    }
}
END_TEST

Suite *suite_isolation_quiet(void);
Suite *suite_isolation_quiet(void)
{
    Suite *s = suite_create("isolation_quiet");
    TCase *tc = tcase_create("quiet");
    tcase_set_timeout(tc, 240);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, limits_costs_and_usage_are_the_same_beside_a_busy_neighbour);
    tcase_add_test(tc, nothing_of_a_busy_neighbour_is_billed_or_recorded);
    tcase_add_test(tc, a_priority_is_no_way_to_a_neighbour);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/gateway/test_watchdog.c - a loop that computes for long is noticed and counted in /metrics,
 * and its request is answered.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/watchdog.h"
#include "gateway/metrics/groups.h"
#include "tests/support/edge.h"

#include "base/banned.h"

#define METRIC "\nbigtent_long_computations_total "

static struct edge edge;
static char noticed[64];
static _Atomic bool is_noticed;

/* The watchdog's thread. The first that says what it is at. */
static void notice(const char *name, const char *what, uint64_t ms)
{
    if (atomic_load(&is_noticed) || strcmp(what, "a long request") != 0)
        return;
    ck_assert_uint_ge(ms, BASE_WATCHDOG_MS);
    (void)snprintf(noticed, sizeof noticed, "%s: %s", name, what);
    atomic_store(&is_noticed, true);
}

static void set_up(void)
{
    ck_assert_int_eq(base_watchdog_start(notice), ERR_OK);
    edge_start(&edge, 1);
}

static void tear_down(void)
{
    edge_stop(&edge);
    base_watchdog_stop();
}

/* On the loop, with the processor until the watchdog says that this is too long. */
static void compute(struct gw_exchange *ex, uint64_t unused)
{
    (void)ex, (void)unused;
    base_watchdog_say("a long request");
    while (!base_watchdog_is_overdue())
        continue;
}

static uint64_t shown(void)
{
    static struct base_memory memory;
    static const struct gw_api api = {.memory = &memory}; /* nobody has asked it for anything */
    struct buf page;
    uint64_t number = 0;
    base_buf_init(&page, MIB);
    gw_metrics_edge(&page, edge.loops, &api);
    ck_assert_int_eq(base_buf_append_byte(&page, '\0'), ERR_OK);
    const char *at = strstr((const char *)page.ptr, METRIC);
    ck_assert_ptr_nonnull(at);
    at += strlen(METRIC);
    ck_assert_int_eq(base_parse_u64(base_slice(at, strcspn(at, "\n")), &number), ERR_OK);
    base_buf_fini(&page);
    return number;
}

static bool was_noticed(void *unused)
{
    (void)unused;
    return atomic_load(&is_noticed);
}

START_TEST(a_long_computation_is_counted_and_its_request_goes_on)
{
    uint64_t before = shown();
    atomic_store(&edge.of, compute);
    ck_assert_int_eq(edge_ask(&edge, SLICE_LIT("GET /of?1 HTTP/1.1\r\nHost: x\r\n\r\n")), 200);
    process_await(was_noticed, NULL, "the watchdog's report");
    ck_assert_str_eq(noticed, "loop: a long request");
    ck_assert_uint_ge(shown(), before + 1);
}
END_TEST

Suite *suite_gateway_watchdog(void);

Suite *suite_gateway_watchdog(void)
{
    Suite *s = suite_create("gateway_watchdog");
    TCase *tc = tcase_create("watchdog");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_long_computation_is_counted_and_its_request_goes_on);
    suite_add_tcase(s, tc);
    return s;
}

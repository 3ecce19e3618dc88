/*
 * tests/api/test_fairness.c - priorities that a request asks for, and a tenant beside one that
 * floods.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/world.h"

#include "base/banned.h"

#define ROW "/v1/tables/devices/rows/"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

START_TEST(a_priority_is_one_of_three_words)
{
    static const char *const words[] = {"high", "medium", "low"};
    world_init(&w, (enum http_version)_i);
    for (size_t i = 0; i < 3; i++) {
        http_once(w.http, "Bigtent-Priority: %s", words[i]);
        http_json(w.http, "PUT", "{'stats':{'a':'b'}}", ROW "r%zu", i);
        EXPECT_STATUS(w.http, 201);
        http_once(w.http, "Bigtent-Priority: %s", words[i]);
        http_get(w.http, ROW "r%zu", i);
        EXPECT_STATUS(w.http, 200);
    }
}
END_TEST

START_TEST(another_priority_is_refused)
{
    static const char *const bad[] = {"background", "HIGH", "1", "high, low"};
    world_init(&w, (enum http_version)_i);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        http_once(w.http, "Bigtent-Priority: %s", bad[i]);
        http_get(w.http, ROW "r");
        EXPECT_PROBLEM(w.http, 400, "invalid");
        ck_assert_ptr_nonnull(strstr(http_text(w.http), "high, medium or low"));
    }
    http_once(w.http, "Bigtent-Priority: high");
    http_once(w.http, "Bigtent-Priority: low");
    http_get(w.http, ROW "r");
    EXPECT_PROBLEM(w.http, 400, "invalid");
}
END_TEST

/* --- a neighbour ------------------------------------------------------------------------------ */

enum { FLOODERS = 16, LINES = 250, TURNS = 40 };

static struct {
    _Atomic bool stop;
    _Atomic unsigned answered;
    _Atomic unsigned accepted;
    _Atomic unsigned without_hint;
    struct http *clients[FLOODERS];
} flood;

/* Nothing here may end the test: the main thread looks at the counts. */
static void *flood_thread(void *arg)
{
    struct http *http = arg;
    struct buf body;
    base_buf_init(&body, 1024 * 1024);
    for (int i = 0; i < LINES; i++)
        (void)base_buf_printf(&body, "{\"key\":\"k%d\",\"cells\":{\"stats\":{\"v\":\"%0500d\"}}}\n",
                              i, i); /* fits */
    while (!atomic_load(&flood.stop)) {
        if (!http_try(http, "POST", "/v1/tables/devices:write", base_buf_slice(&body)))
            break;
        bool is_refused = http->status == 503 || http->status == 429;
        if (is_refused && http_header(http, "retry-after") == NULL)
            atomic_fetch_add(&flood.without_hint, 1);
        atomic_fetch_add(&flood.answered, 1);
        if (is_refused) {
            process_sleep_ms(20); /* refusals cost little, but not nothing: they are no flood */
            continue;
        }
        atomic_fetch_add(&flood.accepted, 1);
    }
    base_buf_fini(&body);
    return NULL;
}

static int compare_counts(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a;
    unsigned y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

/* How many requests of the flood are answered while a row is written and read: at most that many
 * in a quarter of the turns. A client delayed between two answers sees more than it waited for. */
static unsigned passed_by(void)
{
    unsigned passed[TURNS];
    for (int i = 0; i < TURNS; i++) {
        unsigned were = atomic_load(&flood.accepted);
        http_json(w.http, "PUT", "{'stats':{'a':'b'}}", ROW "r%d", i % 10);
        ck_assert(w.http->status == 200 || w.http->status == 201);
        http_get(w.http, ROW "r%d", i % 10);
        EXPECT_STATUS(w.http, 200);
        passed[i] = atomic_load(&flood.accepted) - were;
    }
    qsort(passed, TURNS, sizeof passed[0], compare_counts);
    return passed[TURNS / 4];
}

static bool all_are_answered(void *arg)
{
    (void)arg;
    return atomic_load(&flood.answered) >= FLOODERS;
}

/* Who waits for all that a flood has queued sees all of that answered first: FLOODERS requests, for
 * each has one in flight. (Times are in make bench.) */
START_TEST(a_quiet_tenant_does_not_wait_for_a_flood)
{
    struct world noisy;
    pthread_t threads[FLOODERS];
    world_init(&w, HTTP_2);
    world_init(&noisy, HTTP_2);
    for (size_t i = 0; i < FLOODERS; i++) {
        flood.clients[i] = http_open(world_server(), HTTP_2, noisy.key);
        flood.clients[i]->no_default_type = true;
        http_always(flood.clients[i], "Content-Type: application/x-ndjson");
        ck_assert_int_eq(pthread_create(&threads[i], NULL, flood_thread, flood.clients[i]), 0);
    }
    process_await(all_are_answered, NULL, "answers to the flood");
    unsigned passed = passed_by();
    atomic_store(&flood.stop, true);
    for (size_t i = 0; i < FLOODERS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        http_close(flood.clients[i]);
    }
    world_fini(&noisy);
    ck_assert_uint_eq(atomic_load(&flood.without_hint), 0);
    ck_assert_uint_gt(atomic_load(&flood.accepted), 0);
    ck_assert_msg(passed < FLOODERS / 2, "%u of the flood's requests were answered before one row",
                  passed);
}
END_TEST

Suite *suite_api_fairness(void);
Suite *suite_api_fairness(void)
{
    Suite *s = suite_create("api_fairness");
    TCase *tc = tcase_create("fairness");
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_set_timeout(tc, 120);
    world_begin(tc);
    tcase_add_loop_test(tc, a_priority_is_one_of_three_words, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, another_priority_is_refused, 0, HTTP_VERSIONS);
    tcase_add_test(tc, a_quiet_tenant_does_not_wait_for_a_flood);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

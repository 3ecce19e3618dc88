/*
 * tests/storage/test_fair_queue.c - shares, order, reservations, ageing; and against a slow model.
 */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "storage/fair_queue.h"
#include "tests/support/random.h"

#include "base/banned.h"

#define LINES_MAX 24
#define MS        1000000ULL

/* A message says whose it is, and which one of its line and priority. */
struct item {
    struct base_msg msg; /* first */
    size_t line;
    enum sto_priority priority;
    uint64_t number;
};

static struct {
    struct sto_fair_queue queue;
    struct sto_share shares[LINES_MAX];
    struct sto_fair_line lines[LINES_MAX];
    uint64_t put[LINES_MAX][STO_PRIORITY_COUNT];
    uint64_t taken[LINES_MAX][STO_PRIORITY_COUNT];
    uint64_t now_ns;
} t;

static void setup(void)
{
    memset(&t, 0, sizeof(t));
    t.now_ns = 5000 * MS;
    sto_fair_queue_init(&t.queue);
    for (size_t i = 0; i < LINES_MAX; i++) {
        atomic_init(&t.shares[i].weight, 100);
        atomic_init(&t.shares[i].reserved_per_s, 0);
        sto_fair_line_init(&t.lines[i], &t.shares[i]);
    }
}

static struct item *take(void)
{
    struct sto_fair_line *line = NULL;
    struct item *item = (struct item *)sto_fair_take(&t.queue, t.now_ns, &line);
    if (item == NULL)
        return NULL;
    if (line != &t.lines[item->line] || item->number != t.taken[item->line][item->priority])
        ck_abort_msg("a message of another line, or not the next one of it");
    t.taken[item->line][item->priority]++;
    return item;
}

static void teardown(void)
{
    for (struct item *item; (item = take()) != NULL;)
        base_free(item);
    for (size_t i = 0; i < LINES_MAX; i++)
        for (size_t p = 0; p < STO_PRIORITY_COUNT; p++)
            ck_assert_uint_eq(t.put[i][p], t.taken[i][p]);
    sto_fair_queue_fini(&t.queue);
}

static void put(size_t line, enum sto_priority priority)
{
    struct item *item = base_new(sizeof(*item));
    item->line = line;
    item->priority = priority;
    item->number = t.put[line][priority]++;
    sto_fair_put(&t.queue, &t.lines[line], priority, &item->msg, t.now_ns);
}

static void put_many(size_t line, enum sto_priority priority, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put(line, priority);
}

static uint64_t taken_of(size_t line)
{
    uint64_t sum = 0;
    for (size_t p = 0; p < STO_PRIORITY_COUNT; p++)
        sum += t.taken[line][p];
    return sum;
}

static void take_many(size_t count)
{
    for (size_t i = 0; i < count; i++)
        base_free(take());
}

/* --- shares ----------------------------------------------------------------------------------- */

START_TEST(who_always_waits_is_served_by_weight)
{
    struct random r = {.state = (uint64_t)_i};
    size_t lines = 2 + random_below(&r, LINES_MAX - 2);
    uint64_t weights = 0;
    for (size_t i = 0; i < lines; i++) {
        uint64_t weight = 1 + random_below(&r, 1000);
        atomic_store(&t.shares[i].weight, weight);
        weights += weight;
        put_many(i, STO_PRIORITY_MEDIUM, 3);
    }
    enum { TURNS = 20000 };
    for (size_t n = 0; n < TURNS; n++) {
        struct item *item = take();
        put(item->line, item->priority);
        base_free(item);
    }
    for (size_t i = 0; i < lines; i++) {
        double due = (double)TURNS * (double)atomic_load(&t.shares[i].weight) / (double)weights;
        ck_assert_double_lt(due - (double)taken_of(i), 2.0 + due / 100);
        ck_assert_double_lt((double)taken_of(i) - due, 2.0 + due / 100);
    }
}
END_TEST

START_TEST(what_turned_out_dear_is_charged)
{
    put_many(0, STO_PRIORITY_MEDIUM, 2000);
    put_many(1, STO_PRIORITY_MEDIUM, 2000);
    for (size_t n = 0; n < 2000; n++) {
        struct item *item = take();
        if (item->line == 0)
            sto_fair_charge(&t.queue, &t.lines[0], 9, t.now_ns);
        base_free(item);
    }
    ck_assert_uint_ge(taken_of(0), 180);
    ck_assert_uint_le(taken_of(0), 183);
}
END_TEST

START_TEST(who_was_away_saved_nothing_up)
{
    put_many(0, STO_PRIORITY_MEDIUM, 4000);
    put(1, STO_PRIORITY_MEDIUM);
    take_many(2000);
    put_many(1, STO_PRIORITY_MEDIUM, 1000);
    uint64_t before = taken_of(1);
    take_many(100);
    ck_assert_uint_le(taken_of(1) - before, 51);
    ck_assert_uint_ge(taken_of(1) - before, 49);
}
END_TEST

START_TEST(who_was_away_is_next_at_once)
{
    put_many(0, STO_PRIORITY_MEDIUM, 4000);
    take_many(1000);
    put(1, STO_PRIORITY_MEDIUM);
    take_many(2);
    ck_assert_uint_eq(taken_of(1), 1);
}
END_TEST

START_TEST(a_debt_is_still_there_after_a_pause)
{
    put_many(0, STO_PRIORITY_MEDIUM, 1000);
    put(1, STO_PRIORITY_MEDIUM);
    take_many(2); /* one each */
    sto_fair_charge(&t.queue, &t.lines[1], 100, t.now_ns);
    put_many(1, STO_PRIORITY_MEDIUM, 10);
    take_many(95);
    ck_assert_uint_eq(taken_of(1), 1);
    take_many(10);
    ck_assert_uint_gt(taken_of(1), 1);
}
END_TEST

/* --- reservations ----------------------------------------------------------------------------- */

START_TEST(what_is_reserved_is_served_first)
{
    atomic_store(&t.shares[0].reserved_per_s, 100);
    atomic_store(&t.shares[0].weight, 1);
    put_many(0, STO_PRIORITY_MEDIUM, 2000);
    put_many(1, STO_PRIORITY_MEDIUM, 20000);
    for (size_t n = 0; n < 10000; n++) { /* ten seconds of 1000 a second */
        base_free(take());
        t.now_ns += MS;
    }
    ck_assert_uint_ge(taken_of(0), 1000);
    ck_assert_uint_le(taken_of(0), 1110); /* and the hundredth part of the rest, by weight */
}
END_TEST

START_TEST(reservations_leave_a_fourth_to_shares)
{
    atomic_store(&t.shares[0].reserved_per_s, 1000000);
    put_many(0, STO_PRIORITY_MEDIUM, 4000);
    put_many(1, STO_PRIORITY_MEDIUM, 4000);
    for (size_t n = 0; n < 1000; n++) {
        base_free(take());
        t.now_ns += MS;
    }
    ck_assert_uint_ge(taken_of(1), 249);
    ck_assert_uint_le(taken_of(1), 251);
}
END_TEST

START_TEST(a_reservation_is_not_saved_up)
{
    atomic_store(&t.shares[0].reserved_per_s, 100);
    atomic_store(&t.shares[0].weight, 1);
    t.now_ns += 3600 * 1000 * MS; /* an hour without a request */
    put_many(0, STO_PRIORITY_MEDIUM, 1000);
    put_many(1, STO_PRIORITY_MEDIUM, 1000);
    take_many(500); /* at one moment */
    ck_assert_uint_le(taken_of(0), 8);
}
END_TEST

START_TEST(a_reservation_that_was_taken_away_counts_no_more)
{
    atomic_store(&t.shares[0].reserved_per_s, 1000000);
    atomic_store(&t.shares[0].weight, 1);
    put_many(0, STO_PRIORITY_MEDIUM, 4000);
    put_many(1, STO_PRIORITY_MEDIUM, 4000);
    take_many(8);
    atomic_store(&t.shares[0].reserved_per_s, 0);
    take_many(8);
    uint64_t before = taken_of(0);
    t.now_ns += 10 * MS;
    take_many(100);
    ck_assert_uint_le(taken_of(0) - before, 2);
}
END_TEST

/* --- priorities, background ------------------------------------------------------------------- */

START_TEST(a_higher_priority_of_a_tenant_is_first)
{
    put_many(0, STO_PRIORITY_LOW, 5);
    put_many(0, STO_PRIORITY_MEDIUM, 5);
    put_many(0, STO_PRIORITY_HIGH, 5);
    take_many(5);
    ck_assert_uint_eq(t.taken[0][STO_PRIORITY_HIGH], 5);
    take_many(5);
    ck_assert_uint_eq(t.taken[0][STO_PRIORITY_MEDIUM], 5);
}
END_TEST

START_TEST(a_lower_priority_does_not_starve)
{
    put_many(0, STO_PRIORITY_LOW, 100);
    put_many(0, STO_PRIORITY_MEDIUM, 2000);
    put_many(0, STO_PRIORITY_HIGH, 2000);
    take_many(10 * (LIM_FAIR_PASSED_OVER + 2));
    ck_assert_uint_ge(t.taken[0][STO_PRIORITY_MEDIUM], 9);
    ck_assert_uint_ge(t.taken[0][STO_PRIORITY_LOW], 9);
    ck_assert_uint_le(t.taken[0][STO_PRIORITY_LOW], 11);
}
END_TEST

START_TEST(a_priority_takes_nothing_from_others)
{
    put_many(0, STO_PRIORITY_HIGH, 1000);
    put_many(1, STO_PRIORITY_LOW, 1000);
    take_many(1000);
    ck_assert_uint_eq(taken_of(0), 500);
    ck_assert_uint_eq(taken_of(1), 500);
}
END_TEST

START_TEST(background_work_is_last)
{
    put_many(0, STO_PRIORITY_BACKGROUND, 3);
    put_many(1, STO_PRIORITY_LOW, 100);
    take_many(100);
    ck_assert_uint_eq(taken_of(0), 0);
    take_many(3);
    ck_assert_uint_eq(taken_of(0), 3);
}
END_TEST

/* The clock is read before the queue is filled, by who takes from it. */
START_TEST(background_work_that_came_just_now_has_waited_for_nothing)
{
    uint64_t before = t.now_ns;
    put_many(1, STO_PRIORITY_LOW, 1);
    t.now_ns += 1000;
    put_many(0, STO_PRIORITY_BACKGROUND, 1);
    t.now_ns = before;
    take_many(1);
    ck_assert_uint_eq(taken_of(1), 1);
}
END_TEST

START_TEST(background_work_that_waits_long_has_a_turn)
{
    put_many(0, STO_PRIORITY_BACKGROUND, 100);
    put_many(1, STO_PRIORITY_BACKGROUND, 100);
    put_many(2, STO_PRIORITY_HIGH, 4000);
    for (size_t n = 0; n < 10 * LIM_BACKGROUND_WAIT_MS; n++) {
        t.now_ns += MS;
        base_free(take());
    }
    ck_assert_uint_eq(taken_of(0), 5);
    ck_assert_uint_eq(taken_of(1), 5);
}
END_TEST

/* --- anything, against a model ---------------------------------------------------------------- */

/* What the header promises, looked up line by line. */
static size_t model_next(unsigned *reserved_run)
{
    size_t by_use = LINES_MAX;
    size_t due = LINES_MAX;
    for (size_t i = 0; i < LINES_MAX; i++) {
        const struct sto_fair_line *l = &t.lines[i];
        if (l->waiting == 0)
            continue;
        if (by_use == LINES_MAX || l->virtual_time < t.lines[by_use].virtual_time ||
            (l->virtual_time == t.lines[by_use].virtual_time && l->turn < t.lines[by_use].turn))
            by_use = i;
        if (atomic_load(&l->share->reserved_per_s) == 0 || l->due_ns > t.now_ns)
            continue;
        if (due == LINES_MAX || l->due_ns < t.lines[due].due_ns ||
            (l->due_ns == t.lines[due].due_ns && l->turn < t.lines[due].turn))
            due = i;
    }
    bool is_reserved = due != LINES_MAX && *reserved_run < LIM_FAIR_RESERVED_RUN;
    *reserved_run = is_reserved ? *reserved_run + 1 : 0;
    return is_reserved ? due : by_use;
}

START_TEST(a_linear_search_chooses_the_same)
{
    struct random r = {.state = (uint64_t)_i + 77};
    unsigned reserved_run = 0;
    for (size_t i = 0; i < LINES_MAX; i++) {
        atomic_store(&t.shares[i].weight, 1 + random_below(&r, 1000));
        if (random_below(&r, 3) == 0)
            atomic_store(&t.shares[i].reserved_per_s, 1 + random_below(&r, 500));
    }
    for (size_t n = 0; n < 6000; n++) {
        size_t line = random_below(&r, 1 + random_below(&r, LINES_MAX));
        if (random_below(&r, 2) == 0)
            put(line, (enum sto_priority)random_below(&r, STO_PRIORITY_BACKGROUND));
        if (random_below(&r, 8) == 0)
            sto_fair_charge(&t.queue, &t.lines[line], random_below(&r, 300), t.now_ns);
        t.now_ns += random_below(&r, 2 * MS);
        if (t.queue.waiting == 0 || random_below(&r, 2) == 0)
            continue;
        size_t expected = model_next(&reserved_run);
        struct item *item = take();
        if (item->line != expected)
            ck_abort_msg("turn of %zu, not of %zu", item->line, expected);
        base_free(item);
    }
}
END_TEST

/* The longest that a line waited for a turn, in turns; with everybody waiting, every kind of work
 * and charge, and reservations far beyond what there is. */
START_TEST(nobody_starves)
{
    struct random r = {.state = (uint64_t)_i + 1234};
    uint64_t last[LINES_MAX] = {0};
    uint64_t longest = 0;
    for (size_t i = 0; i < LINES_MAX; i++) {
        atomic_store(&t.shares[i].weight, 50 + random_below(&r, 100));
        if (random_below(&r, 2) == 0)
            atomic_store(&t.shares[i].reserved_per_s, LIM_OPS_PER_S);
        put_many(i, STO_PRIORITY_LOW, 2);
        put_many(i, STO_PRIORITY_HIGH, 2);
    }
    for (uint64_t n = 1; n < 10000; n++) {
        struct item *item = take();
        size_t line = item->line;
        t.now_ns += MS;
        last[line] = n;
        put(line, item->priority);
        if (random_below(&r, 4) == 0)
            sto_fair_charge(&t.queue, &t.lines[line], random_below(&r, 10), t.now_ns);
        base_free(item);
        for (size_t i = 0; i < LINES_MAX; i++)
            longest = n - last[i] > longest ? n - last[i] : longest;
    }
    ck_assert_uint_le(longest, 40 * LINES_MAX);
}
END_TEST

Suite *suite_storage_fair_queue(void);
Suite *suite_storage_fair_queue(void)
{
    Suite *s = suite_create("storage_fair_queue");
    TCase *c = tcase_create("shares");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, who_always_waits_is_served_by_weight, 0, 12);
    tcase_add_test(c, what_turned_out_dear_is_charged);
    tcase_add_test(c, who_was_away_saved_nothing_up);
    tcase_add_test(c, who_was_away_is_next_at_once);
    tcase_add_test(c, a_debt_is_still_there_after_a_pause);
    suite_add_tcase(s, c);
    c = tcase_create("reservations");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, what_is_reserved_is_served_first);
    tcase_add_test(c, reservations_leave_a_fourth_to_shares);
    tcase_add_test(c, a_reservation_is_not_saved_up);
    tcase_add_test(c, a_reservation_that_was_taken_away_counts_no_more);
    suite_add_tcase(s, c);
    c = tcase_create("priorities");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, a_higher_priority_of_a_tenant_is_first);
    tcase_add_test(c, a_lower_priority_does_not_starve);
    tcase_add_test(c, a_priority_takes_nothing_from_others);
    tcase_add_test(c, background_work_is_last);
    tcase_add_test(c, background_work_that_came_just_now_has_waited_for_nothing);
    tcase_add_test(c, background_work_that_waits_long_has_a_turn);
    suite_add_tcase(s, c);
    c = tcase_create("model");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, a_linear_search_chooses_the_same, 0, 6);
    tcase_add_loop_test(c, nobody_starves, 0, 4);
    suite_add_tcase(s, c);
    return s;
}

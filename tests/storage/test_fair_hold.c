/*
 * tests/storage/test_fair_hold.c - what is held in a fair queue, and what is not.
 */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "storage/fair_queue.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_storage_fair_hold(void);

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

static size_t take_and_free(void)
{
    struct item *item = take();
    ck_assert_ptr_nonnull(item);
    size_t line = item->line;
    base_free(item);
    return line;
}

START_TEST(what_is_held_is_not_taken_and_keeps_its_order)
{
    for (enum sto_priority p = 0; p < STO_PRIORITY_COUNT; p++) {
        put_many(0, p, 3);
        ck_assert(p == STO_PRIORITY_BACKGROUND || !sto_fair_is_idle(&t.lines[0]));
        sto_fair_hold(&t.queue, &t.lines[0], p);
        put_many(0, p, 2);
        put_many(1, p, 4);
        for (int i = 0; i < 4; i++)
            ck_assert_uint_eq(take_and_free(), 1);
        ck_assert_ptr_null(take());
        sto_fair_hold(&t.queue, &t.lines[0], p); /* by two: both release */
        sto_fair_release(&t.queue, &t.lines[0], p, t.now_ns);
        ck_assert_ptr_null(take());
        sto_fair_release(&t.queue, &t.lines[0], p, t.now_ns);
        for (int i = 0; i < 5; i++) /* take() looks at their order */
            ck_assert_uint_eq(take_and_free(), 0);
        ck_assert_ptr_null(take());
        ck_assert(sto_fair_is_idle(&t.lines[0]));
    }
}
END_TEST

START_TEST(other_priorities_of_a_line_go_on)
{
    put_many(0, STO_PRIORITY_HIGH, 2);
    sto_fair_hold(&t.queue, &t.lines[0], STO_PRIORITY_HIGH);
    ck_assert(!sto_fair_is_idle(&t.lines[0]));
    put_many(0, STO_PRIORITY_LOW, 2);
    for (int i = 0; i < 2; i++) {
        struct item *item = take();
        ck_assert(item != NULL && item->priority == STO_PRIORITY_LOW);
        base_free(item);
    }
    ck_assert_ptr_null(take());
    sto_fair_release(&t.queue, &t.lines[0], STO_PRIORITY_HIGH, t.now_ns);
    ck_assert_uint_eq(take_and_free(), 0);
}
END_TEST

START_TEST(background_of_some_can_be_held_beside_others)
{
    for (size_t held = 0; held < 4; held++) {
        for (size_t i = 0; i < 4; i++)
            put(i, STO_PRIORITY_BACKGROUND);
        sto_fair_hold(&t.queue, &t.lines[held], STO_PRIORITY_BACKGROUND);
        for (size_t i = 0; i < 3; i++)
            ck_assert_uint_ne(take_and_free(), held);
        ck_assert_ptr_null(take());
        sto_fair_release(&t.queue, &t.lines[held], STO_PRIORITY_BACKGROUND, t.now_ns);
        ck_assert_uint_eq(take_and_free(), held);
    }
}
END_TEST

/* Nothing is lost and nothing is out of order, whoever holds what; take() and teardown look. */
START_TEST(holds_at_random_lose_nothing)
{
    unsigned holds[LINES_MAX][STO_PRIORITY_COUNT] = {{0}};
    struct random r = {.state = (uint64_t)_i + 5};
    for (int step = 0; step < 20000; step++) {
        size_t line = random_below(&r, LINES_MAX);
        enum sto_priority p = (enum sto_priority)random_below(&r, STO_PRIORITY_COUNT);
        struct item *item;
        switch (random_below(&r, 5)) {
        case 0:
        case 1:
            put(line, p);
            break;
        case 2:
            item = take();
            if (item != NULL && holds[item->line][item->priority] > 0)
                ck_abort_msg("a held message was taken");
            base_free(item);
            break;
        case 3:
            sto_fair_hold(&t.queue, &t.lines[line], p);
            holds[line][p]++;
            break;
        default:
            if (holds[line][p] == 0)
                break;
            sto_fair_release(&t.queue, &t.lines[line], p, t.now_ns);
            holds[line][p]--;
        }
    }
    for (size_t i = 0; i < LINES_MAX; i++)
        for (enum sto_priority p = 0; p < STO_PRIORITY_COUNT; p++)
            for (; holds[i][p] > 0; holds[i][p]--)
                sto_fair_release(&t.queue, &t.lines[i], p, t.now_ns);
}
END_TEST

Suite *suite_storage_fair_hold(void)
{
    Suite *s = suite_create("storage_fair_hold");
    TCase *c = tcase_create("holding");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, what_is_held_is_not_taken_and_keeps_its_order);
    tcase_add_test(c, other_priorities_of_a_line_go_on);
    tcase_add_test(c, background_of_some_can_be_held_beside_others);
    tcase_add_loop_test(c, holds_at_random_lose_nothing, 0, 6);
    suite_add_tcase(s, c);
    return s;
}

/*
 * tests/gateway/test_holders.c - whose connection is the first to give way.
 */
#include <check.h>

#include "base/alloc.h"
#include "gateway/holders.h"
#include "tests/support/random.h"

#include "base/banned.h"

enum { MANY = 200, STEPS = 20000 };

static struct gw_holders *holders;
static struct gw_held many[MANY];
static struct gw_holder *crowd;
static struct gw_holder *single;

static struct gw_holder *address(uint16_t at)
{
    return gw_holders_of_address(holders, (struct gw_address_slots){{at, 0}});
}

static struct gw_held *first(enum gw_held_kind kind)
{
    unsigned level = gw_holders_top(holders, kind);
    if (level == 0)
        return NULL;
    struct gw_holder *holder = gw_holders_at(holders, kind, level);
    return BASE_LIST_ITEM(holder->lists[kind].first, struct gw_held, link);
}

static void set_up(void)
{
    holders = base_new(sizeof *holders);
    memset(many, 0, sizeof many);
    for (size_t i = 0; i < MANY; i++)
        many[i].kind = GW_HELD_IDLE;
    crowd = address(7);
    single = gw_holders_of_user(holders, many);
    ck_assert(!gw_holder_is_user(holders, crowd));
    ck_assert(gw_holder_is_user(holders, single));
}

static void tear_down(void)
{
    base_free(holders);
}

START_TEST(the_longest_idle_of_the_largest_holder_is_first)
{
    ck_assert_ptr_null(first(GW_HELD_IDLE));
    gw_held_enter(holders, &many[0], single);
    ck_assert_ptr_eq(first(GW_HELD_IDLE), &many[0]);
    for (size_t i = 1; i < 10; i++)
        gw_held_enter(holders, &many[i], crowd);
    ck_assert_ptr_eq(first(GW_HELD_IDLE), &many[1]);
    gw_held_mark(holders, &many[1], GW_HELD_BUSY);
    gw_held_mark(holders, &many[2], GW_HELD_IDLE); /* it was used in between */
    ck_assert_ptr_eq(first(GW_HELD_IDLE), &many[3]);
    ck_assert_ptr_eq(first(GW_HELD_BUSY), &many[1]);
    gw_held_leave(holders, &many[3]);
    ck_assert_ptr_eq(first(GW_HELD_IDLE), &many[4]);
}
END_TEST

/* Those in flight count for its level. */
START_TEST(a_holder_without_an_idle_one_is_passed_over)
{
    gw_held_enter(holders, &many[0], single);
    for (size_t i = 1; i < 10; i++) {
        gw_held_enter(holders, &many[i], crowd);
        gw_held_mark(holders, &many[i], GW_HELD_BUSY);
    }
    ck_assert_ptr_eq(first(GW_HELD_IDLE), &many[0]);
    ck_assert_uint_eq(gw_holders_top(holders, GW_HELD_IDLE), 1);
    ck_assert_uint_eq(gw_holders_top(holders, GW_HELD_BUSY), 4);
    gw_held_mark(holders, &many[9], GW_HELD_IDLE);
    ck_assert_ptr_eq(first(GW_HELD_IDLE), &many[9]);
}
END_TEST

START_TEST(of_holders_of_one_each_the_longest_idle_is_first)
{
    for (size_t i = 0; i < 4; i++)
        gw_held_enter(holders, &many[i], address((uint16_t)i));
    gw_held_mark(holders, &many[0], GW_HELD_IDLE);
    gw_held_mark(holders, &many[1], GW_HELD_BUSY);
    gw_held_mark(holders, &many[1], GW_HELD_IDLE);
    ck_assert_ptr_eq(first(GW_HELD_IDLE), &many[2]);
    gw_held_leave(holders, &many[2]);
    ck_assert_ptr_eq(first(GW_HELD_IDLE), &many[3]);
    gw_held_leave(holders, &many[3]);
    ck_assert_ptr_eq(first(GW_HELD_IDLE), &many[0]);
}
END_TEST

/* --- against a count of all --------------------------------------------------------------------
 */

static unsigned level_of(const struct gw_held *held)
{
    unsigned count = 0;
    for (size_t i = 0; i < MANY; i++)
        count += many[i].holder == held->holder;
    unsigned level = 0;
    for (; count > 0; count >>= 1)
        level++;
    return level;
}

static void compare(enum gw_held_kind kind)
{
    unsigned top = 0;
    for (size_t i = 0; i < MANY; i++) {
        bool is_one = many[i].holder != NULL && many[i].kind == kind;
        unsigned level = is_one ? level_of(&many[i]) : 0;
        top = level > top ? level : top;
    }
    const struct gw_held *found = first(kind);
    ck_assert_uint_eq(gw_holders_top(holders, kind), top);
    ck_assert_int_eq(found == NULL, top == 0);
    if (found != NULL) {
        ck_assert_int_eq(found->kind, kind);
        ck_assert_uint_eq(level_of(found), top);
    }
}

START_TEST(any_moves_leave_the_largest_first)
{
    struct random dice = {.state = 67};
    for (int step = 0; step < STEPS; step++) {
        struct gw_held *held = &many[random_below(&dice, MANY)];
        uint32_t what = random_below(&dice, 5);
        uint16_t at = (uint16_t)random_below(&dice, 1 + random_below(&dice, 12));
        if (what == 0)
            gw_held_leave(holders, held);
        else if (what == 1)
            gw_held_enter(holders, held, address(at));
        else
            gw_held_mark(holders, held, (enum gw_held_kind)(what - 2));
        for (enum gw_held_kind kind = 0; kind < GW_HELD_KINDS; kind++)
            compare(kind);
    }
    for (size_t i = 0; i < MANY; i++)
        gw_held_leave(holders, &many[i]);
    ck_assert_uint_eq(gw_holders_top(holders, GW_HELD_IDLE), 0);
    ck_assert_uint_eq(gw_holders_top(holders, GW_HELD_BUSY), 0);
}
END_TEST

Suite *suite_gateway_holders(void);
Suite *suite_gateway_holders(void)
{
    Suite *s = suite_create("gateway_holders");
    TCase *tc = tcase_create("holders");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, the_longest_idle_of_the_largest_holder_is_first);
    tcase_add_test(tc, a_holder_without_an_idle_one_is_passed_over);
    tcase_add_test(tc, of_holders_of_one_each_the_longest_idle_is_first);
    tcase_add_test(tc, any_moves_leave_the_largest_first);
    suite_add_tcase(s, tc);
    return s;
}

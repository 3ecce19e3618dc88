/*
 * tests/isolation/test_operators_methods.c - no operator may call a method: they are for tenants.
 */
#include <check.h>

#include "tests/isolation/operators.h"
#include "tests/isolation/rpc_walk.h"

#include "base/banned.h"

static struct neighbours n;
static char key[WORLD_KEY];

static void set_up(void)
{
    neighbours_begin(&n);
}

static void tear_down(void)
{
    neighbours_end(&n);
}

START_TEST(no_operator_may_call_a_method)
{
    struct rpc_walk walk = {.n = &n,
                            .what = OPERATORS[_i].what,
                            .key = key,
                            .is_known = true,
                            .may_none = true,
                            .own = n.own,
                            .nobodys = n.nobodys,
                            .renew = n.a,
                            .renew_key = n.a_key};
    operator_make(&n, (size_t)_i, key);
    rpc_walk_own(&walk);
    rpc_walk_others(&walk);
}
END_TEST

Suite *suite_isolation_operators_methods(void);
Suite *suite_isolation_operators_methods(void)
{
    Suite *s = suite_create("isolation_operators_methods");
    TCase *tc = tcase_create("operators");
    tcase_set_timeout(tc, 1200);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, no_operator_may_call_a_method, 0, OPERATOR_COUNT);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/isolation/test_methods.c - every gRPC method, asked with every kind of key, in every way to
 * name a neighbour.
 *
 * As test_routes.c, of the method table: unary and streaming methods, those that need no
 * credential, and those that are not there.
 */
#include <check.h>

#include "tests/isolation/callers.h"
#include "tests/isolation/rpc_walk.h"

#include "base/banned.h"

#define PARTS 4

static struct neighbours n;
static struct caller callers[CALLERS_MAX];
static struct rpc_walk walk;

static void set_up(void)
{
    neighbours_begin(&n);
}

static void tear_down(void)
{
    neighbours_end(&n);
}

static void use_caller(const struct caller *c)
{
    walk = (struct rpc_walk){.n = &n,
                             .what = c->what,
                             .key = c->has_key ? c->key : NULL,
                             .is_known = c->is_known,
                             .has_left = strcmp(c->home, "left-long-ago") == 0,
                             .may_all = c->may_all,
                             .own = n.own,
                             .nobodys = n.nobodys,
                             .renew = n.a,
                             .renew_key = n.a_key};
    name_set(&walk.own, NAME_TENANT, c->home);
}

START_TEST(no_method_tells_theirs_from_nobodys)
{
    static struct buf before, after;
    base_buf_init(&before, 64 * MIB);
    base_buf_init(&after, 64 * MIB);
    for (size_t i = (size_t)_i; i < caller_count; i += PARTS) {
        caller_make(&n, i, &callers[i]);
        use_caller(&callers[i]);
        rpc_walk_own(&walk);
    }
    neighbours_look_closely(&n, &before);
    for (size_t i = (size_t)_i; i < caller_count; i += PARTS) {
        use_caller(&callers[i]);
        rpc_walk_others(&walk);
    }
    neighbours_look_closely(&n, &after);
    neighbours_same(&before, &after, "one of the callers");
    base_buf_fini(&before);
    base_buf_fini(&after);
}
END_TEST

Suite *suite_isolation_methods(void);
Suite *suite_isolation_methods(void)
{
    Suite *s = suite_create("isolation_methods");
    TCase *tc = tcase_create("methods");
    tcase_set_timeout(tc, 1200);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, no_method_tells_theirs_from_nobodys, 0, PARTS);
    suite_add_tcase(s, tc);
    return s;
}

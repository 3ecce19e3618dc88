/*
 * tests/isolation/method_walk.c - methods, asked with every kind of key, in every way to name a
 * neighbour.
 */
#include "tests/isolation/method_walk.h"

#include <check.h>

#include "tests/isolation/callers.h"

#include "base/banned.h"

static struct neighbours n;
static struct caller callers[CALLERS_MAX];
static struct rpc_walk walk;

void method_walk_set_up(void)
{
    neighbours_begin(&n);
}

void method_walk_tear_down(void)
{
    neighbours_end(&n);
}

static void use_caller(const struct caller *c, method_filter *takes)
{
    walk = (struct rpc_walk){.n = &n,
                             .what = c->what,
                             .key = c->has_key ? c->key : NULL,
                             .is_known = c->is_known,
                             .has_left = strcmp(c->home, "left-long-ago") == 0,
                             .may_all = c->may_all,
                             .takes = takes,
                             .own = n.own,
                             .nobodys = n.nobodys,
                             .renew = n.a,
                             .renew_key = n.a_key};
    name_set(&walk.own, NAME_TENANT, c->home);
}

void method_walk(size_t part, method_filter *takes)
{
    static struct buf before, after;
    base_buf_init(&before, 64 * MIB);
    base_buf_init(&after, 64 * MIB);
    for (size_t i = part; i < caller_count; i += METHOD_PARTS) {
        caller_make(&n, i, &callers[i]);
        use_caller(&callers[i], takes);
        rpc_walk_own(&walk);
    }
    neighbours_look_closely(&n, &before);
    for (size_t i = part; i < caller_count; i += METHOD_PARTS) {
        use_caller(&callers[i], takes);
        rpc_walk_others(&walk);
    }
    neighbours_look_closely(&n, &after);
    neighbours_same(&before, &after, "one of the callers");
    base_buf_fini(&before);
    base_buf_fini(&after);
}

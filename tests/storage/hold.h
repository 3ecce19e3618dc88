/*
 * tests/storage/hold.h - a committer that waits until it is let go.
 *
 * Does:     keep it busy, so that what is submitted meanwhile meets in one batch; let it go.
 * Owns:     the message that keeps it busy.
 * May use:  tests/storage/fixture.h.
 * Knows no: what is submitted.
 * Threads:  the test's main thread.
 * Blocks:   until the committer is there; until all is answered.
 * Fails by: ck_assert.
 * Limits:   one committer at a time.
 * Promises: 1. The committer does nothing between the two calls.
 */
#ifndef TESTS_STORAGE_HOLD_H
#define TESTS_STORAGE_HOLD_H

#include "fixture.h"

#include <pthread.h>

struct fix_hold {
    struct base_msg msg;
    pthread_mutex_t lock;
    _Atomic bool is_reached;
    bool is_held;
};

static struct fix_hold fix_hold = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void fix_hold_run(struct base_msg *msg)
{
    struct fix_hold *h = (struct fix_hold *)msg;
    atomic_store(&h->is_reached, true);
    pthread_mutex_lock(&h->lock);
    pthread_mutex_unlock(&h->lock);
}

/* The tenant's. */
static void fix_hold_committer(size_t tenant)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    ck_assert(!fix_hold.is_held);
    ck_assert_int_eq(pthread_mutex_lock(&fix_hold.lock), 0);
    fix_hold.is_held = true;
    fix_hold.msg.run = fix_hold_run;
    atomic_store(&fix_hold.is_reached, false);
    sto_rdb_committer_post(sto_rdb_committer_of(e, &fix.accounts[tenant]), &fix_hold.msg);
    fix_await_flag(&fix_hold.is_reached, "the committer");
}

/* And wait for what was submitted; also when nobody was held. */
static void fix_let_go(void)
{
    if (fix_hold.is_held) {
        fix_hold.is_held = false;
        ck_assert_int_eq(pthread_mutex_unlock(&fix_hold.lock), 0);
    }
    fix_wait();
}

#endif

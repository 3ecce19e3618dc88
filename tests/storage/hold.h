/*
 * tests/storage/hold.h - holds a committer, or the readers, until they are released.
 *
 * Does:     keep them busy, so that operations submitted in between share one batch; release them.
 * Owns:     the messages that keep them busy.
 * May use:  tests/storage/fixture.h.
 * Knows no: the operations.
 * Threads:  the test's main thread.
 * Blocks:   until they are held; until all operations are answered.
 * Fails by: ck_assert.
 * Limits:   one committer at a time, or FIX_HOLD_READERS readers.
 * Promises: 1. They do nothing between the two calls.
 */
#ifndef TESTS_STORAGE_HOLD_H
#define TESTS_STORAGE_HOLD_H

#include "fixture.h"

#include <pthread.h>

#define FIX_HOLD_READERS 2

struct fix_hold {
    struct base_msg msg;
    _Atomic bool is_reached;
};

static struct fix_hold fix_holds[FIX_HOLD_READERS];
static pthread_mutex_t fix_hold_lock = PTHREAD_MUTEX_INITIALIZER;
static bool fix_is_held;

static void fix_hold_run(struct base_msg *msg)
{
    atomic_store(&((struct fix_hold *)msg)->is_reached, true);
    pthread_mutex_lock(&fix_hold_lock);
    pthread_mutex_unlock(&fix_hold_lock);
}

static void fix_hold_begin(void)
{
    ck_assert(!fix_is_held);
    ck_assert_int_eq(pthread_mutex_lock(&fix_hold_lock), 0);
    fix_is_held = true;
    for (size_t i = 0; i < FIX_HOLD_READERS; i++) {
        fix_holds[i].msg.run = fix_hold_run;
        atomic_store(&fix_holds[i].is_reached, false);
    }
}

/* Holds the tenant's committer. */
UNUSED_FN static void fix_hold_committer(size_t tenant)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    fix_hold_begin();
    sto_rdb_committer_post(sto_rdb_committer_of(e, &fix.accounts[tenant]), &fix_holds[0].msg);
    fix_await_flag(&fix_holds[0].is_reached, "the committer");
}

/* Holds all of them, with messages of the tenant. */
UNUSED_FN static void fix_hold_readers(size_t tenant)
{
    const struct rdb_pool_job job = {.account = &fix.accounts[tenant]};
    ck_assert_int_eq(fix.options.readers, FIX_HOLD_READERS);
    fix_hold_begin();
    for (size_t i = 0; i < FIX_HOLD_READERS; i++) {
        ck_assert(
            sto_rdb_pool_push(&sto_rdb_engine(fix.engine)->pool, &job, &fix_holds[i].msg, NULL));
        fix_await_flag(&fix_holds[i].is_reached, "a reader"); /* each on its own thread */
    }
}

/* Releases held threads, if any, and waits for all submitted operations. */
static void fix_let_go(void)
{
    if (fix_is_held) {
        fix_is_held = false;
        ck_assert_int_eq(pthread_mutex_unlock(&fix_hold_lock), 0);
    }
    fix_wait();
}

#endif

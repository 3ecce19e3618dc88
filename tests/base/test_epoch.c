/* tests/base/test_epoch.c - nothing is freed under a reader, and everything is in the end. */
#include "tests/base/check_base.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/epoch.h"

Suite *suite_base_epoch(void);

static struct base_epoch *epoch;

static void make_epoch(void)
{
    epoch = base_epoch_new();
}

static void count_free(void *object)
{
    ++*(int *)object;
}

START_TEST(without_readers_an_object_goes_at_once)
{
    int freed = 0;
    base_epoch_retire(epoch, &freed, count_free);
    ck_assert_int_eq(freed, 1);
    base_epoch_free(epoch);
    ck_assert_int_eq(freed, 1);
}
END_TEST

START_TEST(object_waits_for_every_joined_thread)
{
    int freed = 0;
    int slots[3];
    for (int i = 0; i < 3; i++)
        slots[i] = base_epoch_join(epoch);
    base_epoch_retire(epoch, &freed, count_free);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(freed, 0);
        base_epoch_quiescent(epoch, slots[i]);
    }
    ck_assert_int_eq(freed, 1);
    base_epoch_free(epoch);
}
END_TEST

START_TEST(quiescence_before_the_retirement_does_not_count)
{
    int freed = 0;
    int slot = base_epoch_join(epoch);
    base_epoch_quiescent(epoch, slot);
    base_epoch_quiescent(epoch, slot);
    base_epoch_retire(epoch, &freed, count_free);
    ck_assert_int_eq(freed, 0);
    base_epoch_quiescent(epoch, slot);
    ck_assert_int_eq(freed, 1);
    base_epoch_free(epoch);
}
END_TEST

START_TEST(one_busy_thread_holds_back_what_the_other_has_left)
{
    int freed[3] = {0};
    int busy = base_epoch_join(epoch), quick = base_epoch_join(epoch);
    for (int i = 0; i < 3; i++) {
        base_epoch_retire(epoch, &freed[i], count_free);
        base_epoch_quiescent(epoch, quick);
        ck_assert_int_eq(freed[i], 0);
    }
    base_epoch_quiescent(epoch, busy);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(freed[i], 1);
    base_epoch_free(epoch);
}
END_TEST

START_TEST(older_objects_go_before_younger_ones)
{
    int old = 0, young = 0;
    int a = base_epoch_join(epoch), b = base_epoch_join(epoch);
    base_epoch_retire(epoch, &old, count_free);
    base_epoch_quiescent(epoch, a);
    base_epoch_retire(epoch, &young, count_free);
    base_epoch_quiescent(epoch, b);
    ck_assert_int_eq(old, 1);
    ck_assert_int_eq(young, 0);
    base_epoch_quiescent(epoch, a);
    ck_assert_int_eq(young, 1);
    base_epoch_free(epoch);
}
END_TEST

START_TEST(leaving_frees_what_waited_for_the_thread)
{
    int freed = 0;
    int slot = base_epoch_join(epoch);
    base_epoch_retire(epoch, &freed, count_free);
    base_epoch_leave(epoch, slot);
    ck_assert_int_eq(freed, 1);
    base_epoch_free(epoch);
}
END_TEST

START_TEST(thread_that_joins_later_holds_nothing_older_back)
{
    int freed = 0;
    int first = base_epoch_join(epoch);
    base_epoch_retire(epoch, &freed, count_free);
    int second = base_epoch_join(epoch);
    base_epoch_quiescent(epoch, first);
    ck_assert_int_eq(freed, 1);
    base_epoch_leave(epoch, second);
    base_epoch_free(epoch);
}
END_TEST

START_TEST(free_releases_all_that_is_left)
{
    int freed[100] = {0};
    (void)base_epoch_join(epoch);
    for (int i = 0; i < 100; i++)
        base_epoch_retire(epoch, &freed[i], count_free);
    base_epoch_free(epoch);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(freed[i], 1);
    base_epoch_free(NULL);
}
END_TEST

static int chain_left = 5;

static void retire_another(void *object)
{
    if (--chain_left > 0)
        base_epoch_retire(object, object, retire_another);
}

START_TEST(free_function_may_retire)
{
    int slot = base_epoch_join(epoch);
    base_epoch_retire(epoch, epoch, retire_another);
    for (int i = 0; i < 5; i++)
        base_epoch_quiescent(epoch, slot);
    ck_assert_int_eq(chain_left, 0);
    chain_left = 5;
    base_epoch_retire(epoch, epoch, retire_another);
    base_epoch_free(epoch);
    ck_assert_int_eq(chain_left, 0);
}
END_TEST

START_TEST(slots_are_used_again)
{
    for (int i = 0; i < 3 * BASE_EPOCH_THREADS_MAX; i++) {
        int slot = base_epoch_join(epoch);
        ck_assert_int_eq(slot, 0);
        base_epoch_leave(epoch, slot);
    }
    int first = base_epoch_join(epoch), second = base_epoch_join(epoch);
    ck_assert_int_ne(first, second);
    base_epoch_leave(epoch, first);
    ck_assert_int_eq(base_epoch_join(epoch), first);
    base_epoch_free(epoch);
}
END_TEST

START_TEST(as_many_threads_as_the_limit_may_join)
{
    for (int i = 0; i < BASE_EPOCH_THREADS_MAX; i++)
        ck_assert_int_eq(base_epoch_join(epoch), i);
    base_epoch_free(epoch);
}
END_TEST

START_TEST(one_thread_too_many_is_a_broken_invariant)
{
    for (int i = 0; i <= BASE_EPOCH_THREADS_MAX; i++)
        (void)base_epoch_join(epoch);
}
END_TEST

START_TEST(leaving_twice_is_a_broken_invariant)
{
    int slot = base_epoch_join(epoch);
    base_epoch_leave(epoch, slot);
    base_epoch_leave(epoch, slot);
}
END_TEST

START_TEST(quiescence_without_joining_is_a_broken_invariant)
{
    base_epoch_quiescent(epoch, 0);
}
END_TEST

START_TEST(foreign_slot_is_a_broken_invariant)
{
    base_epoch_quiescent(epoch, BASE_EPOCH_THREADS_MAX);
}
END_TEST

START_TEST(foreign_handle_is_a_broken_invariant)
{
    static uint64_t not_an_epoch[1 << 14];
    base_epoch_retire((struct base_epoch *)not_an_epoch, NULL, count_free);
}
END_TEST

/* --- many threads --------------------------------------------------------------------------- */

#define READERS      4
#define WRITERS      2
#define SHARED       8
#define REPLACEMENTS 20000

/* Freed objects are only marked, so that a reader which meets one can say so. */
struct object {
    atomic_bool is_freed;
    struct object *next_made;
};

static _Atomic(struct object *) shared[SHARED];
static atomic_bool stop_reading;
static atomic_long met_freed, freed_count, freed_twice, looks;
static _Atomic(struct object *) all_made;

static struct object *make_object(void)
{
    struct object *o = calloc(1, sizeof *o);
    o->next_made = atomic_load(&all_made);
    while (!atomic_compare_exchange_weak(&all_made, &o->next_made, o))
        continue;
    return o;
}

static void mark_freed(void *object)
{
    struct object *o = object;
    if (atomic_exchange(&o->is_freed, true))
        atomic_fetch_add(&freed_twice, 1);
    atomic_fetch_add(&freed_count, 1);
}

static void *read_shared(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    int slot = base_epoch_join(epoch);
    while (!atomic_load(&stop_reading)) {
        struct object *held[SHARED];
        for (int i = 0; i < SHARED; i++)
            held[i] = atomic_load_explicit(&shared[i], memory_order_acquire);
        if (next_random(&seed) % 16 == 0)
            sched_yield();
        for (int i = 0; i < SHARED; i++) {
            if (atomic_load_explicit(&held[i]->is_freed, memory_order_relaxed))
                atomic_fetch_add(&met_freed, 1);
        }
        atomic_fetch_add_explicit(&looks, 1, memory_order_relaxed);
        base_epoch_quiescent(epoch, slot);
        if (next_random(&seed) % 256 == 0) {
            base_epoch_leave(epoch, slot);
            slot = base_epoch_join(epoch);
        }
    }
    base_epoch_leave(epoch, slot);
    return NULL;
}

static void *replace_shared(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < REPLACEMENTS; i++) {
        struct object *fresh = make_object();
        struct object *old = atomic_exchange(&shared[next_random(&seed) % SHARED], fresh);
        base_epoch_retire(epoch, old, mark_freed);
    }
    return NULL;
}

START_TEST(readers_never_meet_a_freed_object)
{
    pthread_t readers[READERS], writers[WRITERS];
    for (int i = 0; i < SHARED; i++)
        atomic_init(&shared[i], make_object());
    for (int i = 0; i < READERS; i++)
        pthread_create(&readers[i], NULL, read_shared, (void *)(uintptr_t)i);
    for (int i = 0; i < WRITERS; i++)
        pthread_create(&writers[i], NULL, replace_shared, (void *)(uintptr_t)(100 + i));
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    atomic_store(&stop_reading, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    /* The last one to leave must not have left anything behind. */
    ck_assert_int_eq(atomic_load(&freed_count), WRITERS * REPLACEMENTS);
    ck_assert_int_eq(atomic_load(&met_freed), 0);
    ck_assert_int_eq(atomic_load(&freed_twice), 0);
    ck_assert_int_gt(atomic_load(&looks), 0);
    base_epoch_free(epoch);
    for (struct object *o = atomic_load(&all_made); o != NULL;) {
        struct object *next = o->next_made;
        free(o);
        o = next;
    }
}
END_TEST

Suite *suite_base_epoch(void)
{
    Suite *suite = suite_create("base_epoch");
    TCase *order = tcase_create("order");
    tcase_add_checked_fixture(order, make_epoch, NULL);
    tcase_add_test(order, without_readers_an_object_goes_at_once);
    tcase_add_test(order, object_waits_for_every_joined_thread);
    tcase_add_test(order, quiescence_before_the_retirement_does_not_count);
    tcase_add_test(order, one_busy_thread_holds_back_what_the_other_has_left);
    tcase_add_test(order, older_objects_go_before_younger_ones);
    tcase_add_test(order, leaving_frees_what_waited_for_the_thread);
    tcase_add_test(order, thread_that_joins_later_holds_nothing_older_back);
    tcase_add_test(order, free_releases_all_that_is_left);
    tcase_add_test(order, free_function_may_retire);
    suite_add_tcase(suite, order);
    TCase *slots = tcase_create("slots");
    tcase_add_checked_fixture(slots, make_epoch, NULL);
    tcase_add_test(slots, slots_are_used_again);
    tcase_add_test(slots, as_many_threads_as_the_limit_may_join);
    tcase_add_test_raise_signal(slots, one_thread_too_many_is_a_broken_invariant, SIGABRT);
    tcase_add_test_raise_signal(slots, leaving_twice_is_a_broken_invariant, SIGABRT);
    tcase_add_test_raise_signal(slots, quiescence_without_joining_is_a_broken_invariant, SIGABRT);
    tcase_add_test_raise_signal(slots, foreign_slot_is_a_broken_invariant, SIGABRT);
    tcase_add_test_raise_signal(slots, foreign_handle_is_a_broken_invariant, SIGABRT);
    suite_add_tcase(suite, slots);
    TCase *stress = tcase_create("stress");
    tcase_set_timeout(stress, 60);
    tcase_add_checked_fixture(stress, make_epoch, NULL);
    tcase_add_test(stress, readers_never_meet_a_freed_object);
    suite_add_tcase(suite, stress);
    return suite;
}

/* tests/base/test_memory.c - shares of a budget, and what bufs and arenas count in them. */
#include "tests/base/check_base.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"

#include <pthread.h>

Suite *suite_base_memory(void);

static struct base_memory budget;
static struct base_memory_share greedy, other;

static void setup(void)
{
    budget = (struct base_memory){.limit = 120 * MIB};
    greedy = (struct base_memory_share){.budget = &budget};
    other = (struct base_memory_share){.budget = &budget};
}

/* In pieces of a MiB, until one is refused. */
static size_t take_all(struct base_memory_share *s)
{
    size_t taken = 0;
    while (base_memory_take(s, MIB))
        taken += MIB;
    return taken;
}

START_TEST(one_alone_gets_half)
{
    ck_assert_uint_eq(take_all(&greedy), 60 * MIB);
    ck_assert_uint_eq(atomic_load(&budget.used), 60 * MIB);
    ck_assert_uint_eq(atomic_load(&budget.refused), 1);
    ck_assert_uint_eq(base_memory_most(&greedy), 60 * MIB);
    base_memory_give(&greedy, 60 * MIB);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
}
END_TEST

START_TEST(there_is_something_left_for_the_next_one_always)
{
    size_t left = 60 * MIB;
    (void)take_all(&greedy);
    for (int i = 0; i < 5; i++) {
        struct base_memory_share next = {.budget = &budget};
        size_t taken = take_all(&next);
        ck_assert_uint_ge(taken, left / 2 - MIB);
        ck_assert_uint_le(taken, left / 2);
        left -= taken;
    }
    ck_assert(!base_memory_take(&greedy, 1));
}
END_TEST

START_TEST(who_has_more_gets_nothing_until_he_gave_enough_back)
{
    (void)take_all(&greedy);
    ck_assert(base_memory_take(&other, 20 * MIB));
    ck_assert(!base_memory_take(&greedy, 1));
    base_memory_give(&greedy, 20 * MIB); /* 40 held, 20 by the other, 60 free */
    ck_assert(base_memory_take(&greedy, 10 * MIB));
    ck_assert(!base_memory_take(&greedy, 1 * MIB));
}
END_TEST

START_TEST(a_share_has_a_bound_of_its_own)
{
    other.most = 4 * MIB;
    ck_assert_uint_eq(take_all(&other), 4 * MIB);
    ck_assert_uint_eq(base_memory_most(&other), 4 * MIB);
}
END_TEST

START_TEST(half_of_what_it_could_get_is_scarce)
{
    ck_assert(base_memory_take(&greedy, 29 * MIB));
    ck_assert(!base_memory_is_scarce(&greedy));
    ck_assert(base_memory_take(&greedy, 1 * MIB));
    ck_assert(base_memory_is_scarce(&greedy));
    ck_assert(!base_memory_is_scarce(&other));
}
END_TEST

START_TEST(what_is_there_already_is_counted_in_any_case)
{
    base_memory_take_anyway(&greedy, 119 * MIB);
    ck_assert(base_memory_take(&other, 512 * KIB));
    ck_assert(!base_memory_take(&other, MIB));
    base_memory_give(&greedy, 119 * MIB);
    base_memory_give(&other, 512 * KIB);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
}
END_TEST

START_TEST(no_share_takes_everything)
{
    struct base_memory_share none = {.budget = NULL};
    ck_assert(base_memory_take(NULL, SIZE_MAX));
    ck_assert(base_memory_take(&none, SIZE_MAX));
    ck_assert(!base_memory_is_scarce(&none));
    base_memory_give(&none, SIZE_MAX);
}
END_TEST

static _Atomic bool is_over;

static void *take_too_much(void *arg)
{
    size_t given = 0;
    for (int i = 0; i < 200000; i++)
        given += base_memory_take(&greedy, budget.limit);
    atomic_store(&is_over, true);
    return given == 0 ? NULL : arg;
}

START_TEST(what_is_refused_is_never_in_the_sum)
{
    pthread_t thread;
    void *given = NULL;
    size_t most = 0;
    ck_assert_int_eq(pthread_create(&thread, NULL, take_too_much, &greedy), 0);
    while (!atomic_load(&is_over))
        most |= atomic_load(&budget.used);
    ck_assert_int_eq(pthread_join(thread, &given), 0);
    ck_assert_ptr_null(given);
    ck_assert_uint_eq(most, 0);
    ck_assert_uint_eq(atomic_load(&budget.refused), 200000);
}
END_TEST

/* --- bufs ------------------------------------------------------------------------------------- */

static void append_mib(struct buf *b)
{
    static uint8_t bytes[MIB];
    (void)base_buf_append(b, base_slice(bytes, sizeof bytes)); /* latches */
}

START_TEST(a_buf_counts_its_capacity)
{
    struct buf b;
    base_buf_init(&b, 100 * MIB);
    base_buf_charge(&b, &greedy);
    ck_assert_int_eq(base_buf_append_byte(&b, 'x'), ERR_OK);
    ck_assert_uint_eq(atomic_load(&greedy.used), 0); /* too small to count */
    for (int i = 0; i < 5; i++) {
        append_mib(&b);
        ck_assert_uint_eq(atomic_load(&greedy.used), b.capacity);
    }
    base_buf_clear(&b);
    ck_assert_uint_eq(atomic_load(&greedy.used), 0);
    append_mib(&b);
    ck_assert_uint_eq(atomic_load(&greedy.used), b.capacity);
    base_buf_fini(&b);
    ck_assert_uint_eq(atomic_load(&greedy.used), 0);
}
END_TEST

START_TEST(a_buf_is_refused_what_its_share_is)
{
    struct buf b;
    other.most = 3 * MIB;
    base_buf_init(&b, 100 * MIB);
    base_buf_charge(&b, &other);
    for (int i = 0; i < 5; i++)
        append_mib(&b);
    ck_assert_int_eq(b.error, ERR_NO_MEMORY);
    ck_assert_uint_le(b.capacity, 3 * MIB);
    ck_assert_uint_eq(atomic_load(&other.used), b.capacity);
    base_buf_fini(&b);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
}
END_TEST

START_TEST(a_failed_allocation_is_not_counted)
{
    struct buf b;
    struct arena a;
    base_buf_init(&b, 100 * MIB);
    base_buf_charge(&b, &greedy);
    base_arena_init(&a, 100 * MIB);
    base_arena_charge(&a, &greedy);
    base_alloc_fail_after(0);
    append_mib(&b);
    void *p = base_arena_alloc(&a, MIB);
    base_alloc_fail_after(-1);
    ck_assert_int_eq(b.error, ERR_NO_MEMORY);
    ck_assert_ptr_null(p);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
    base_buf_fini(&b);
    base_arena_fini(&a);
}
END_TEST

START_TEST(bytes_go_to_another_share)
{
    struct buf b, taken = {.ptr = NULL};
    base_buf_init(&b, 100 * MIB);
    append_mib(&b); /* of nobody yet */
    base_buf_charge(&b, &greedy);
    ck_assert_uint_eq(atomic_load(&greedy.used), b.capacity);
    base_buf_charge(&b, &other);
    ck_assert_uint_eq(atomic_load(&greedy.used), 0);
    ck_assert_uint_eq(atomic_load(&other.used), b.capacity);
    base_buf_take(&taken, &b);
    ck_assert_uint_eq(atomic_load(&other.used), taken.capacity);
    ck_assert_ptr_eq(b.share, &other);
    base_buf_fini(&b);
    base_buf_fini(&taken);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
}
END_TEST

/* --- arenas ----------------------------------------------------------------------------------- */

START_TEST(an_arena_counts_its_blocks)
{
    struct arena a;
    base_arena_init(&a, 100 * MIB);
    base_arena_charge(&a, &greedy);
    ck_assert_ptr_nonnull(base_arena_alloc(&a, 100));
    ck_assert_uint_eq(atomic_load(&greedy.used), 0);
    for (int i = 0; i < 1000; i++)
        ck_assert_ptr_nonnull(base_arena_alloc(&a, 10000));
    ck_assert_uint_ge(atomic_load(&greedy.used), 1000 * 10000 - 64 * KIB);
    base_arena_charge(&a, &other);
    ck_assert_uint_eq(atomic_load(&greedy.used), 0);
    ck_assert_uint_ge(atomic_load(&other.used), 1000 * 10000 - 64 * KIB);
    base_arena_fini(&a);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
}
END_TEST

START_TEST(an_arena_is_refused_what_its_share_is)
{
    struct arena a;
    size_t given = 0;
    other.most = MIB;
    base_arena_init(&a, 100 * MIB);
    base_arena_charge(&a, &other);
    while (base_arena_alloc(&a, 1000) != NULL)
        given += 1000;
    ck_assert_uint_le(given, MIB + 128 * KIB);
    ck_assert_uint_ge(given, MIB - 128 * KIB);
    base_arena_fini(&a);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
}
END_TEST

/* What a handler needs when a message has used up the arena, and others the share. */
START_TEST(what_cannot_be_refused_is_there)
{
    static const size_t MAXES[] = {100000, 200000};
    for (int i = 0; i < 2; i++) {
        struct arena a;
        base_arena_init(&a, MAXES[i]);
        base_arena_charge(&a, &greedy);
        ck_assert_ptr_nonnull(base_arena_alloc(&a, 100000));
        size_t taken = take_all(&greedy);
        for (; base_memory_take(&greedy, 1000); taken += 1000)
            continue;
        ck_assert_ptr_null(base_arena_alloc(&a, 90000));
        uint8_t *small = base_arena_zalloc_always(&a, 2000);
        uint8_t *large = base_arena_zalloc_always(&a, 90000);
        for (int k = 0; k < 90000; k++)
            ck_assert_int_eq(large[k] | small[k % 2000], 0);
        ck_assert_uint_eq(greedy.used, 100000 + taken + 90000);
        base_arena_fini(&a);
        ck_assert_uint_eq(greedy.used, taken);
        base_memory_give(&greedy, taken);
        ck_assert_uint_eq(budget.used, 0);
    }
}
END_TEST

Suite *suite_base_memory(void)
{
    Suite *s = suite_create("base_memory");
    TCase *t = tcase_create("shares");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, one_alone_gets_half);
    tcase_add_test(t, there_is_something_left_for_the_next_one_always);
    tcase_add_test(t, who_has_more_gets_nothing_until_he_gave_enough_back);
    tcase_add_test(t, a_share_has_a_bound_of_its_own);
    tcase_add_test(t, half_of_what_it_could_get_is_scarce);
    tcase_add_test(t, what_is_there_already_is_counted_in_any_case);
    tcase_add_test(t, no_share_takes_everything);
    tcase_add_test(t, what_is_refused_is_never_in_the_sum);
    suite_add_tcase(s, t);
    t = tcase_create("bufs and arenas");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, a_buf_counts_its_capacity);
    tcase_add_test(t, a_buf_is_refused_what_its_share_is);
    tcase_add_test(t, a_failed_allocation_is_not_counted);
    tcase_add_test(t, bytes_go_to_another_share);
    tcase_add_test(t, an_arena_counts_its_blocks);
    tcase_add_test(t, an_arena_is_refused_what_its_share_is);
    tcase_add_test(t, what_cannot_be_refused_is_there);
    suite_add_tcase(s, t);
    return s;
}

/* tests/base/test_alloc.c - the two policies of the heap. */
#define _GNU_SOURCE

#include "tests/base/check_base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"

Suite *suite_base_alloc(void);

/* The sanitizers' own allocators end the process in their own way when memory is out. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEAP_IS_PLAIN false
#else
#define HEAP_IS_PLAIN true
#endif

static bool is_zeroed(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

START_TEST(new_memory_is_zeroed)
{
    /* The second round meets memory that was written to. */
    for (int round = 0; round < 2; round++) {
        uint8_t *p = base_new(1000);
        ck_assert(is_zeroed(p, 1000));
        memset(p, 0xFF, 1000);
        base_free(p);
        p = base_new_array(10, 100);
        ck_assert(is_zeroed(p, 1000));
        memset(p, 0xFF, 1000);
        base_free(p);
    }
}
END_TEST

START_TEST(new_of_nothing_is_not_null)
{
    void *a = base_new(0);
    void *b = base_new_array(0, 8);
    void *c = base_new_array(8, 0);
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_nonnull(b);
    ck_assert_ptr_nonnull(c);
    base_free(a);
    base_free(b);
    base_free(c);
}
END_TEST

START_TEST(new_array_aborts_when_the_product_overflows)
{
    base_free(base_new_array(SIZE_MAX / 2, 3));
}
END_TEST

START_TEST(new_aborts_when_memory_is_out)
{
    volatile size_t bytes = SIZE_MAX / 2;
    base_free(base_new(bytes));
}
END_TEST

START_TEST(new_text_copies_and_ends_with_nul)
{
    char *text = base_new_text("ab\0cd", 5);
    ck_assert_mem_eq(text, "ab\0cd\0", 6);
    base_free(text);
    text = base_new_text(NULL, 0);
    ck_assert_str_eq(text, "");
    base_free(text);
}
END_TEST

START_TEST(try_of_nothing_is_not_null)
{
    void *p = base_try_alloc(0);
    ck_assert_ptr_nonnull(p);
    p = base_try_realloc(p, 0);
    ck_assert_ptr_nonnull(p);
    base_free(p);
}
END_TEST

START_TEST(try_returns_null_when_memory_is_out)
{
    volatile size_t bytes = SIZE_MAX / 2;
    ck_assert_ptr_null(base_try_alloc(bytes));
}
END_TEST

START_TEST(try_realloc_keeps_the_content)
{
    char *p = base_try_alloc(4);
    memcpy(p, "abcd", 4);
    p = base_try_realloc(p, 100000);
    ck_assert_mem_eq(p, "abcd", 4);
    base_free(p);
}
END_TEST

START_TEST(free_accepts_null)
{
    base_free(NULL);
    base_free_secret(NULL, 10);
}
END_TEST

START_TEST(secrets_are_overwritten_before_they_are_freed)
{
    enum { BYTES = 200, USED_BY_THE_HEAP = 16 };
    uint8_t *secret = base_try_alloc(BYTES);
    memset(secret, 'S', BYTES);
    base_free_secret(secret, BYTES);
    uint8_t *again = base_try_alloc(BYTES); /* the same memory, as it was left */
    for (int i = USED_BY_THE_HEAP; i < BYTES; i++)
        ck_assert_uint_ne(again[i], 'S');
    base_free(again);
}
END_TEST

START_TEST(fail_after_lets_so_many_succeed)
{
    for (long count = 0; count < 4; count++) {
        base_alloc_fail_after(count);
        for (long i = 0; i < count; i++) {
            void *p = base_try_alloc(1);
            ck_assert_ptr_nonnull(p);
            base_free(p);
        }
        ck_assert_ptr_null(base_try_alloc(1));
        ck_assert_ptr_null(base_try_realloc(NULL, 1));
        base_alloc_fail_after(-1);
        void *p = base_try_alloc(1);
        ck_assert_ptr_nonnull(p);
        base_free(p);
    }
}
END_TEST

START_TEST(fail_after_spares_base_new)
{
    base_alloc_fail_after(0);
    void *p = base_new(10);
    ck_assert_ptr_nonnull(p);
    base_free(p);
}
END_TEST

START_TEST(failed_realloc_leaves_the_old_memory)
{
    char *p = base_try_alloc(4);
    memcpy(p, "abcd", 4);
    base_alloc_fail_after(0);
    ck_assert_ptr_null(base_try_realloc(p, 100));
    ck_assert_mem_eq(p, "abcd", 4);
    base_free(p);
}
END_TEST

#define COUNTERS 4
#define ATTEMPTS 5000

static atomic_long allocated;

static void *allocate_many(void *arg)
{
    (void)arg; /* nothing to tell it */
    for (int i = 0; i < ATTEMPTS; i++) {
        void *p = base_try_alloc(1);
        if (p != NULL)
            atomic_fetch_add(&allocated, 1);
        base_free(p);
    }
    return NULL;
}

START_TEST(fail_after_counts_exactly_over_threads)
{
    pthread_t threads[COUNTERS];
    base_alloc_fail_after(7777);
    for (int i = 0; i < COUNTERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, allocate_many, NULL), 0);
    for (int i = 0; i < COUNTERS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(atomic_load(&allocated), 7777);
}
END_TEST

/* jemalloc's; the sanitizers have none. */
int mallctl(const char *name, void *out, size_t *out_len, void *in, size_t in_len)
    __attribute__((weak));

START_TEST(what_is_freed_goes_back_to_the_system)
{
    bool is_on = false;
    size_t oversize = 0, len = sizeof is_on;
    ck_assert_int_eq(mallctl("opt.background_thread", &is_on, &len, NULL, 0), 0);
    ck_assert(is_on); /* but not in a forked child, as this one is */
    len = sizeof oversize;
    ck_assert_int_eq(mallctl("opt.oversize_threshold", &oversize, &len, NULL, 0), 0);
    ck_assert_uint_eq(oversize, LIM_KEPT_BLOCK_BYTES);
}
END_TEST

enum {
    KEPT_BLOCKS = 32,
    KEPT_BYTES = LIM_KEPT_BLOCK_BYTES / 2,
};

/* Pages that the system gave while blocks that are larger together were written to. */
static long pages_of_a_round(void)
{
    static uint8_t *blocks[KEPT_BLOCKS];
    struct rusage before, after;
    ck_assert_int_eq(getrusage(RUSAGE_THREAD, &before), 0);
    for (int i = 0; i < KEPT_BLOCKS; i++) {
        blocks[i] = base_try_alloc(KEPT_BYTES);
        ck_assert_ptr_nonnull(blocks[i]);
        memset(blocks[i], i + 1, KEPT_BYTES);
    }
    ck_assert_int_eq(getrusage(RUSAGE_THREAD, &after), 0);
    for (int i = 0; i < KEPT_BLOCKS; i++)
        base_free(blocks[i]);
    return after.ru_minflt - before.ru_minflt;
}

static void *keeps_what_was_freed(void *arg)
{
    (void)arg;
    long pages = KEPT_BLOCKS * KEPT_BYTES / sysconf(_SC_PAGESIZE);
    (void)pages_of_a_round();
    ck_assert_int_ge(pages_of_a_round(), pages / 2); /* what was freed had gone back */
    base_alloc_keep_freed();
    (void)pages_of_a_round();
    ck_assert_int_lt(pages_of_a_round(), pages / 2);
    return NULL;
}

START_TEST(a_thread_may_keep_what_is_freed)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, keeps_what_was_freed, NULL), 0);
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(a_thread_knows_what_it_holds)
{
    uint64_t before = base_alloc_of_thread();
    void *p = base_try_alloc(100000);
    ck_assert_ptr_nonnull(p);
    ck_assert_uint_ge(base_alloc_of_thread() - before, 100000);
    ck_assert_uint_lt(base_alloc_of_thread() - before, 200000);
    base_free(p);
    ck_assert_uint_eq(base_alloc_of_thread(), before);
}
END_TEST

Suite *suite_base_alloc(void)
{
    Suite *suite = suite_create("base_alloc");
    TCase *new = tcase_create("new");
    tcase_add_test(new, new_memory_is_zeroed);
    tcase_add_test(new, new_of_nothing_is_not_null);
    if (HEAP_IS_PLAIN) {
        tcase_add_test_raise_signal(new, new_array_aborts_when_the_product_overflows, SIGABRT);
        tcase_add_test_raise_signal(new, new_aborts_when_memory_is_out, SIGABRT);
    }
    tcase_add_test(new, new_text_copies_and_ends_with_nul);
    suite_add_tcase(suite, new);
    TCase *try = tcase_create("try");
    tcase_add_test(try, try_of_nothing_is_not_null);
    if (HEAP_IS_PLAIN) {
        tcase_add_test(try, try_returns_null_when_memory_is_out);
        tcase_add_test(try, what_is_freed_goes_back_to_the_system);
        tcase_add_test(try, a_thread_may_keep_what_is_freed);
        tcase_add_test(try, a_thread_knows_what_it_holds);
        tcase_add_test(try, secrets_are_overwritten_before_they_are_freed);
    }
    tcase_add_test(try, try_realloc_keeps_the_content);
    tcase_add_test(try, free_accepts_null);
    suite_add_tcase(suite, try);
    TCase *torture = tcase_create("fail_after");
    tcase_add_test(torture, fail_after_lets_so_many_succeed);
    tcase_add_test(torture, fail_after_spares_base_new);
    tcase_add_test(torture, failed_realloc_leaves_the_old_memory);
    tcase_add_test(torture, fail_after_counts_exactly_over_threads);
    suite_add_tcase(suite, torture);
    return suite;
}

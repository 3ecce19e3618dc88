/* tests/base/test_arena.c - many small allocations, one free. */
#include "tests/base/check_base.h"

#include <stdalign.h>

#include "base/alloc.h"
#include "base/arena.h"

Suite *suite_base_arena(void);

START_TEST(every_address_is_aligned)
{
    struct arena a;
    base_arena_init(&a, 1 << 20);
    for (size_t bytes = 0; bytes < 200; bytes++) {
        void *p = base_arena_alloc(&a, bytes);
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq((uintptr_t)p % alignof(max_align_t), 0);
    }
    base_arena_fini(&a);
}
END_TEST

static bool is_filled(const uint8_t *bytes, size_t len, uint8_t with)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != with)
            return false;
    }
    return true;
}

START_TEST(allocations_keep_their_content_and_do_not_overlap)
{
    enum { COUNT = 2000 };
    struct arena a;
    base_arena_init(&a, 64 << 20);
    uint8_t *at[COUNT];
    size_t len[COUNT];
    uint64_t seed = 3;
    for (int i = 0; i < COUNT; i++) {
        len[i] = next_random(&seed) % (i % 100 == 0 ? 100000 : 300);
        at[i] = base_arena_alloc(&a, len[i]);
        ck_assert_ptr_nonnull(at[i]);
        memset(at[i], i & 0xFF, len[i]);
    }
    for (int i = 0; i < COUNT; i++)
        ck_assert(is_filled(at[i], len[i], (uint8_t)(i & 0xFF)));
    base_arena_fini(&a);
}
END_TEST

START_TEST(zalloc_zeroes)
{
    struct arena a;
    for (int round = 0; round < 3; round++) {
        base_arena_init(&a, 100000);
        uint8_t *p = base_arena_zalloc(&a, 3000);
        ck_assert(is_filled(p, 3000, 0));
        memset(p, 0xFF, 3000);
        base_arena_fini(&a);
    }
}
END_TEST

START_TEST(max_fits_in_one_piece_and_one_more_byte_does_not)
{
    static const size_t MAXES[] = {1, 15, 16, 17, 100, 4063, 4064, 4065, 65536, 1000003};
    for (size_t i = 0; i < sizeof MAXES / sizeof MAXES[0]; i++) {
        struct arena a;
        base_arena_init(&a, MAXES[i]);
        ck_assert_ptr_null(base_arena_alloc(&a, MAXES[i] + 1));
        ck_assert_ptr_nonnull(base_arena_alloc(&a, MAXES[i]));
        ck_assert_ptr_null(base_arena_alloc(&a, 1));
        base_arena_fini(&a);
    }
}
END_TEST

START_TEST(max_counts_over_all_blocks)
{
    struct arena a;
    base_arena_init(&a, 160000);
    for (int i = 0; i < 10000; i++)
        ck_assert_ptr_nonnull(base_arena_alloc(&a, 16));
    ck_assert_uint_eq(a.used, 160000);
    ck_assert_ptr_null(base_arena_alloc(&a, 1));
    base_arena_fini(&a);
}
END_TEST

START_TEST(max_holds_though_the_block_has_room)
{
    struct arena a;
    base_arena_init(&a, 5000);
    ck_assert_ptr_nonnull(base_arena_alloc(&a, 16)); /* makes a block of 4064 */
    ck_assert_ptr_nonnull(base_arena_alloc(&a, 4500));
    ck_assert_ptr_null(base_arena_alloc(&a, 485));
    ck_assert_ptr_nonnull(base_arena_alloc(&a, 484));
    ck_assert_uint_eq(a.used, 5000);
    base_arena_fini(&a);
}
END_TEST

START_TEST(padding_counts_against_max)
{
    struct arena a;
    base_arena_init(&a, 1600);
    ck_assert_ptr_nonnull(base_arena_alloc(&a, 1));
    ck_assert_uint_eq(a.used, 1);
    for (int i = 0; i < 99; i++)
        ck_assert_ptr_nonnull(base_arena_alloc(&a, 1));
    ck_assert_uint_eq(a.used, 99 * 16 + 1);
    ck_assert_ptr_null(base_arena_alloc(&a, 16));
    base_arena_fini(&a);
}
END_TEST

START_TEST(refused_allocation_leaves_the_rest_usable)
{
    struct arena a;
    base_arena_init(&a, 1000);
    ck_assert_ptr_nonnull(base_arena_alloc(&a, 500));
    ck_assert_ptr_null(base_arena_alloc(&a, 501));
    ck_assert_ptr_null(base_arena_alloc(&a, SIZE_MAX));
    ck_assert_ptr_nonnull(base_arena_alloc(&a, 400));
    base_arena_fini(&a);
}
END_TEST

START_TEST(empty_arena_hands_out_nothing)
{
    struct arena a;
    base_arena_init(&a, 0);
    ck_assert_ptr_null(base_arena_alloc(&a, 0));
    ck_assert_ptr_null(base_arena_alloc(&a, 1));
    base_arena_fini(&a);
    base_arena_fini(&a);
    base_arena_fini(NULL);
}
END_TEST

START_TEST(failing_allocator_gives_null)
{
    static const size_t SIZES[] = {10, 3500, 100000};
    for (int i = 0; i < 3; i++) {
        struct arena a;
        base_arena_init(&a, 1 << 20);
        base_alloc_fail_after(0);
        ck_assert_ptr_null(base_arena_alloc(&a, SIZES[i]));
        ck_assert_ptr_null(base_arena_zalloc(&a, SIZES[i]));
        ck_assert_ptr_null(base_arena_text(&a, SLICE_LIT("x")));
        struct slice copy = base_arena_copy(&a, SLICE_LIT("x"));
        ck_assert_ptr_null(copy.ptr);
        ck_assert_uint_eq(copy.len, 1);
        base_alloc_fail_after(-1);
        ck_assert_uint_eq(a.used, 0);
        ck_assert_ptr_nonnull(base_arena_alloc(&a, SIZES[i]));
        base_arena_fini(&a);
    }
}
END_TEST

START_TEST(large_piece_leaves_the_block_in_use)
{
    struct arena a;
    base_arena_init(&a, 1 << 20);
    uint8_t *small = base_arena_alloc(&a, 16);
    ck_assert_ptr_nonnull(base_arena_alloc(&a, 100000));
    uint8_t *next = base_arena_alloc(&a, 16);
    ck_assert_ptr_eq(next, small + 16);
    base_arena_fini(&a);
}
END_TEST

START_TEST(copies_are_equal_and_elsewhere)
{
    struct arena a;
    base_arena_init(&a, 1000);
    struct slice source = SLICE_LIT("ab\0cd");
    struct slice copy = base_arena_copy(&a, source);
    assert_slice(copy, source);
    ck_assert_ptr_ne(copy.ptr, source.ptr);
    struct slice nothing = base_arena_copy(&a, base_slice("x", 0));
    ck_assert_ptr_null(nothing.ptr);
    ck_assert_uint_eq(nothing.len, 0);
    base_arena_fini(&a);
}
END_TEST

START_TEST(text_ends_with_nul)
{
    struct arena a;
    base_arena_init(&a, 1000);
    memset(base_arena_alloc(&a, 16), 'x', 16);
    ck_assert_str_eq(base_arena_text(&a, base_slice("abcdef", 3)), "abc");
    ck_assert_str_eq(base_arena_text(&a, SLICE_EMPTY), "");
    ck_assert_ptr_null(base_arena_text(&a, base_slice("x", SIZE_MAX)));
    base_arena_fini(&a);
}
END_TEST

Suite *suite_base_arena(void)
{
    Suite *suite = suite_create("base_arena");
    TCase *alloc = tcase_create("alloc");
    tcase_add_test(alloc, every_address_is_aligned);
    tcase_add_test(alloc, allocations_keep_their_content_and_do_not_overlap);
    tcase_add_test(alloc, zalloc_zeroes);
    tcase_add_test(alloc, large_piece_leaves_the_block_in_use);
    suite_add_tcase(suite, alloc);
    TCase *limits = tcase_create("limits");
    tcase_add_test(limits, max_fits_in_one_piece_and_one_more_byte_does_not);
    tcase_add_test(limits, max_counts_over_all_blocks);
    tcase_add_test(limits, max_holds_though_the_block_has_room);
    tcase_add_test(limits, padding_counts_against_max);
    tcase_add_test(limits, refused_allocation_leaves_the_rest_usable);
    tcase_add_test(limits, empty_arena_hands_out_nothing);
    tcase_add_test(limits, failing_allocator_gives_null);
    suite_add_tcase(suite, limits);
    TCase *copy = tcase_create("copy");
    tcase_add_test(copy, copies_are_equal_and_elsewhere);
    tcase_add_test(copy, text_ends_with_nul);
    suite_add_tcase(suite, copy);
    return suite;
}

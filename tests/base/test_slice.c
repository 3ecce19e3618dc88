/* tests/base/test_slice.c - order, equality and cutting of borrowed bytes. */
#include "tests/base/check_base.h"

Suite *suite_base_slice(void);

static int sign(int x)
{
    return (x > 0) - (x < 0);
}

START_TEST(compare_orders_by_unsigned_bytes_then_length)
{
    static const char *const IN_ORDER[] = {"",  "a",    "a\x01", "aa",  "ab",
                                           "b", "\x7f", "\x80",  "\xff"};
    int count = sizeof IN_ORDER / sizeof IN_ORDER[0];
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            struct slice a = base_slice_text(IN_ORDER[i]), b = base_slice_text(IN_ORDER[j]);
            ck_assert_int_eq(sign(base_slice_compare(a, b)), sign(i - j));
            ck_assert_int_eq(base_slice_equal(a, b), i == j);
        }
    }
}
END_TEST

START_TEST(compare_sees_bytes_behind_a_nul)
{
    ck_assert_int_lt(base_slice_compare(base_slice("a\0b", 3), base_slice("a\0c", 3)), 0);
    ck_assert(!base_slice_equal(base_slice("a\0b", 3), base_slice("a\0c", 3)));
}
END_TEST

START_TEST(empty_slices_are_equal_wherever_they_point)
{
    ck_assert(base_slice_equal(SLICE_EMPTY, base_slice("x", 0)));
    ck_assert_int_eq(base_slice_compare(SLICE_EMPTY, base_slice("x", 0)), 0);
    ck_assert(base_slice_is(SLICE_EMPTY, ""));
    ck_assert(!base_slice_is(SLICE_EMPTY, "x"));
}
END_TEST

START_TEST(starts_with_needs_the_whole_prefix)
{
    struct slice s = SLICE_LIT("altostrat#");
    ck_assert(base_slice_starts_with(s, SLICE_EMPTY));
    ck_assert(base_slice_starts_with(s, SLICE_LIT("alto")));
    ck_assert(base_slice_starts_with(s, s));
    ck_assert(!base_slice_starts_with(s, SLICE_LIT("altostrat#x")));
    ck_assert(!base_slice_starts_with(s, SLICE_LIT("alta")));
    ck_assert(!base_slice_starts_with(SLICE_EMPTY, SLICE_LIT("a")));
}
END_TEST

START_TEST(skip_leaves_the_rest)
{
    assert_slice(base_slice_skip(SLICE_LIT("abc"), 0), SLICE_LIT("abc"));
    assert_slice(base_slice_skip(SLICE_LIT("abc"), 2), SLICE_LIT("c"));
    assert_slice(base_slice_skip(SLICE_LIT("abc"), 3), SLICE_EMPTY);
}
END_TEST

START_TEST(literal_counts_without_its_nul)
{
    ck_assert_uint_eq(SLICE_LIT("four").len, 4);
    ck_assert_uint_eq(SLICE_LIT("").len, 0);
}
END_TEST

Suite *suite_base_slice(void)
{
    Suite *suite = suite_create("base_slice");
    TCase *order = tcase_create("order");
    tcase_add_test(order, compare_orders_by_unsigned_bytes_then_length);
    tcase_add_test(order, compare_sees_bytes_behind_a_nul);
    tcase_add_test(order, empty_slices_are_equal_wherever_they_point);
    suite_add_tcase(suite, order);
    TCase *cut = tcase_create("cut");
    tcase_add_test(cut, starts_with_needs_the_whole_prefix);
    tcase_add_test(cut, skip_leaves_the_rest);
    tcase_add_test(cut, literal_counts_without_its_nul);
    suite_add_tcase(suite, cut);
    return suite;
}

/* tests/base/test_buf.c - a growing buffer and its maximum. */
#include "tests/base/check_base.h"

#include <wchar.h>

#include "base/alloc.h"

Suite *suite_base_buf(void);

START_TEST(new_buf_is_empty_and_owns_nothing)
{
    struct buf b;
    base_buf_init(&b, 10);
    ck_assert_ptr_null(b.ptr);
    ck_assert_uint_eq(b.len, 0);
    ck_assert_uint_eq(b.max, 10);
    ck_assert_int_eq(b.error, ERR_OK);
    base_buf_fini(&b);
    base_buf_fini(&b);
    base_buf_fini(NULL);
}
END_TEST

START_TEST(appends_follow_each_other)
{
    struct buf b;
    base_buf_init(&b, 1000);
    ck_assert_int_eq(base_buf_append(&b, SLICE_LIT("ab\0c")), ERR_OK);
    ck_assert_int_eq(base_buf_append(&b, SLICE_EMPTY), ERR_OK);
    ck_assert_int_eq(base_buf_append_byte(&b, '|'), ERR_OK);
    ck_assert_int_eq(base_buf_append_text(&b, "text"), ERR_OK);
    assert_slice(base_buf_slice(&b), SLICE_LIT("ab\0c|text"));
    base_buf_fini(&b);
}
END_TEST

START_TEST(append_up_to_max_fits_and_one_more_does_not)
{
    for (size_t max = 0; max < 300; max++) {
        struct buf b;
        base_buf_init(&b, max);
        uint8_t want[300];
        for (size_t i = 0; i < max; i++) {
            want[i] = (uint8_t)i;
            (void)base_buf_append_byte(&b, want[i]); /* a failure latches, see below */
        }
        ck_assert_int_eq(b.error, ERR_OK);
        ck_assert_int_eq(base_buf_append_byte(&b, 'x'), ERR_TOO_BIG);
        assert_slice(base_buf_slice(&b), base_slice(want, max));
        ck_assert_uint_le(b.capacity, max);
        base_buf_fini(&b);
    }
}
END_TEST

START_TEST(append_beyond_max_adds_nothing)
{
    struct buf b;
    base_buf_init(&b, 8);
    ck_assert_int_eq(base_buf_append_text(&b, "12345"), ERR_OK);
    ck_assert_int_eq(base_buf_append_text(&b, "6789"), ERR_TOO_BIG);
    assert_buf_text(&b, "12345");
    base_buf_fini(&b);
}
END_TEST

START_TEST(too_big_latches_until_truncated)
{
    struct buf b;
    base_buf_init(&b, 4);
    ck_assert_int_eq(base_buf_append_text(&b, "123"), ERR_OK);
    ck_assert_int_eq(base_buf_append_text(&b, "45"), ERR_TOO_BIG);
    ck_assert_int_eq(b.error, ERR_TOO_BIG);
    ck_assert_int_eq(base_buf_append_text(&b, "4"), ERR_TOO_BIG);
    ck_assert_int_eq(base_buf_append(&b, SLICE_EMPTY), ERR_TOO_BIG);
    ck_assert_int_eq(base_buf_append_byte(&b, '4'), ERR_TOO_BIG);
    ck_assert_int_eq(base_buf_append_u64(&b, 4), ERR_TOO_BIG);
    ck_assert_int_eq(base_buf_append_i64(&b, 4), ERR_TOO_BIG);
    ck_assert_int_eq(base_buf_printf(&b, "4"), ERR_TOO_BIG);
    ck_assert_int_eq(base_buf_reserve(&b, 0), ERR_TOO_BIG);
    base_buf_truncate(&b, 1);
    ck_assert_int_eq(base_buf_append_text(&b, "xyz"), ERR_OK);
    assert_buf_text(&b, "1xyz");
    base_buf_fini(&b);
}
END_TEST

START_TEST(reserve_of_absurd_sizes_is_refused)
{
    struct buf b;
    base_buf_init(&b, 100);
    ck_assert_int_eq(base_buf_append_byte(&b, 'x'), ERR_OK);
    ck_assert_int_eq(base_buf_reserve(&b, SIZE_MAX), ERR_TOO_BIG);
    base_buf_truncate(&b, 1);
    ck_assert_int_eq(base_buf_reserve(&b, 100), ERR_TOO_BIG);
    base_buf_truncate(&b, 1);
    ck_assert_int_eq(base_buf_reserve(&b, 99), ERR_OK);
    ck_assert_uint_ge(b.capacity, 100);
    base_buf_fini(&b);
}
END_TEST

START_TEST(reserve_then_write_then_raise_len)
{
    struct buf b;
    base_buf_init(&b, 1000);
    ck_assert_int_eq(base_buf_append_text(&b, "ab"), ERR_OK);
    ck_assert_int_eq(base_buf_reserve(&b, 500), ERR_OK);
    memset(base_buf_end(&b), 'z', 500);
    b.len += 500;
    ck_assert_uint_eq(b.len, 502);
    ck_assert_mem_eq(b.ptr, "abz", 3);
    ck_assert_uint_eq(b.ptr[501], 'z');
    base_buf_fini(&b);
}
END_TEST

START_TEST(many_small_appends_move_the_memory_rarely)
{
    struct buf b;
    base_buf_init(&b, 1 << 20);
    int moves = 0;
    size_t capacity = 0;
    for (int i = 0; i < 1 << 20; i++) {
        (void)base_buf_append_byte(&b, 'x'); /* a failure latches, see below */
        moves += b.capacity != capacity;
        capacity = b.capacity;
    }
    ck_assert_uint_eq(b.len, 1 << 20);
    ck_assert_int_le(moves, 16);
    base_buf_fini(&b);
}
END_TEST

START_TEST(failing_allocation_adds_nothing_and_latches)
{
    struct buf b;
    base_buf_init(&b, 1 << 20);
    ck_assert_int_eq(base_buf_append_text(&b, "kept"), ERR_OK);
    base_alloc_fail_after(0);
    ck_assert_int_eq(base_buf_reserve(&b, 5000), ERR_NO_MEMORY);
    base_alloc_fail_after(-1);
    ck_assert_int_eq(base_buf_append_text(&b, "x"), ERR_NO_MEMORY);
    base_buf_truncate(&b, 4);
    ck_assert_int_eq(base_buf_append_text(&b, "x"), ERR_NO_MEMORY);
    assert_buf_text(&b, "kept");
    base_buf_fini(&b);
}
END_TEST

START_TEST(decimals_cover_the_whole_range)
{
    static const uint64_t UNSIGNED[] = {0, 9, 10, 18446744073709551615U};
    static const int64_t SIGNED[] = {0, -1, 42, INT64_MIN, INT64_MAX};
    struct buf b;
    base_buf_init(&b, 1000);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(base_buf_append_u64(&b, UNSIGNED[i]), ERR_OK);
        ck_assert_int_eq(base_buf_append_byte(&b, ' '), ERR_OK);
    }
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(base_buf_append_i64(&b, SIGNED[i]), ERR_OK);
        ck_assert_int_eq(base_buf_append_byte(&b, ' '), ERR_OK);
    }
    assert_buf_text(&b, "0 9 10 18446744073709551615 "
                        "0 -1 42 -9223372036854775808 9223372036854775807 ");
    base_buf_fini(&b);
}
END_TEST

START_TEST(printf_works_at_every_length)
{
    char filler[600];
    memset(filler, 'p', sizeof filler);
    for (int len = 0; len<600; len += len> 250 && len < 260 ? 1 : 7) {
        struct buf b;
        base_buf_init(&b, (size_t)len + 2); /* not a byte to spare for a NUL */
        ck_assert_int_eq(base_buf_printf(&b, "%c%.*s%c", '<', len, filler, '>'), ERR_OK);
        ck_assert_uint_eq(b.len, len + 2);
        ck_assert_uint_eq(b.ptr[0], '<');
        ck_assert_uint_eq(b.ptr[len + 1], '>');
        ck_assert_int_eq(base_buf_printf(&b, "x"), ERR_TOO_BIG);
        base_buf_fini(&b);
    }
}
END_TEST

START_TEST(long_printf_beyond_max_adds_nothing)
{
    struct buf b;
    base_buf_init(&b, 300);
    ck_assert_int_eq(base_buf_append_text(&b, "kept"), ERR_OK);
    ck_assert_int_eq(base_buf_printf(&b, "%297d", 7), ERR_TOO_BIG);
    assert_buf_text(&b, "kept");
    base_buf_truncate(&b, 4);
    ck_assert_int_eq(base_buf_printf(&b, "%296d", 7), ERR_OK);
    ck_assert_uint_eq(b.len, 300);
    base_buf_fini(&b);
}
END_TEST

START_TEST(long_printf_survives_every_failing_allocation)
{
    for (int successes = 0; successes < 2; successes++) {
        struct buf b;
        base_buf_init(&b, 1000);
        base_alloc_fail_after(successes);
        ck_assert_int_eq(base_buf_printf(&b, "%500d", 1), ERR_NO_MEMORY);
        base_alloc_fail_after(-1);
        ck_assert_uint_eq(b.len, 0);
        ck_assert_int_eq(b.error, ERR_NO_MEMORY);
        base_buf_fini(&b);
    }
}
END_TEST

START_TEST(printf_that_cannot_format_adds_nothing)
{
    struct buf b;
    base_buf_init(&b, 1000);
    /* The C locale has no such character; text beyond INT_MAX bytes fails the same way, slower. */
    ck_assert_int_eq(base_buf_printf(&b, "text %lc", (wint_t)0x20AC), ERR_TOO_BIG);
    ck_assert_int_eq(b.error, ERR_TOO_BIG);
    ck_assert_uint_eq(b.len, 0);
    base_buf_fini(&b);
}
END_TEST

START_TEST(truncate_drops_the_end)
{
    struct buf b;
    base_buf_init(&b, 100);
    ck_assert_int_eq(base_buf_append_text(&b, "abcdef"), ERR_OK);
    base_buf_truncate(&b, 6);
    assert_buf_text(&b, "abcdef");
    base_buf_truncate(&b, 2);
    assert_buf_text(&b, "ab");
    base_buf_truncate(&b, 0);
    ck_assert_uint_eq(b.len, 0);
    base_buf_fini(&b);
}
END_TEST

START_TEST(truncate_upwards_is_a_broken_invariant)
{
    struct buf b;
    base_buf_init(&b, 100);
    base_buf_truncate(&b, 1);
}
END_TEST

START_TEST(consume_drops_the_front)
{
    struct buf b;
    base_buf_init(&b, 100);
    base_buf_consume(&b, 0);
    ck_assert_int_eq(base_buf_append_text(&b, "abcdef"), ERR_OK);
    base_buf_consume(&b, 0);
    assert_buf_text(&b, "abcdef");
    base_buf_consume(&b, 2);
    assert_buf_text(&b, "cdef");
    ck_assert_int_eq(base_buf_append_text(&b, "g"), ERR_OK);
    base_buf_consume(&b, 5);
    ck_assert_uint_eq(b.len, 0);
    base_buf_fini(&b);
}
END_TEST

START_TEST(consume_of_too_much_is_a_broken_invariant)
{
    struct buf b;
    base_buf_init(&b, 100);
    (void)base_buf_append_text(&b, "a");
    base_buf_consume(&b, 2);
}
END_TEST

START_TEST(take_moves_the_memory)
{
    struct buf from, to = {0};
    base_buf_init(&from, 100);
    ck_assert_int_eq(base_buf_append_text(&from, "moved"), ERR_OK);
    const uint8_t *memory = from.ptr;
    base_buf_take(&to, &from);
    ck_assert_ptr_eq(to.ptr, memory);
    assert_buf_text(&to, "moved");
    ck_assert_ptr_null(from.ptr);
    ck_assert_uint_eq(from.len, 0);
    ck_assert_uint_eq(from.max, 100);
    ck_assert_int_eq(base_buf_append_text(&from, "again"), ERR_OK);
    base_buf_fini(&from);
    base_buf_fini(&to);
    base_buf_init(&from, 100);
    base_buf_take(&to, &from);
    ck_assert_ptr_null(to.ptr);
}
END_TEST

START_TEST(take_over_a_full_buf_is_a_broken_invariant)
{
    struct buf from, to;
    base_buf_init(&from, 100);
    base_buf_init(&to, 100);
    (void)base_buf_append_text(&to, "owned");
    base_buf_take(&to, &from);
}
END_TEST

START_TEST(random_edits_match_a_model)
{
    uint64_t seed = 1;
    uint8_t model[512], bytes[64];
    size_t model_len = 0;
    struct buf b;
    base_buf_init(&b, sizeof model);
    for (int step = 0; step < 20000; step++) {
        size_t n = next_random(&seed) % sizeof bytes;
        switch (next_random(&seed) % 4) {
        case 0:
            n = n < model_len ? n : model_len;
            base_buf_consume(&b, n);
            model_len -= n;
            memmove(model, model + n, model_len);
            break;
        case 1:
            n = n < model_len ? n : model_len;
            base_buf_truncate(&b, model_len - n);
            model_len -= n;
            break;
        default:
            fill_random(&seed, bytes, n);
            bool fits = n <= sizeof model - model_len;
            ck_assert_int_eq(base_buf_append(&b, base_slice(bytes, n)),
                             fits ? ERR_OK : ERR_TOO_BIG);
            if (fits) {
                memcpy(model + model_len, bytes, n);
                model_len += n;
            } else {
                base_buf_truncate(&b, b.len);
            }
        }
        assert_slice(base_buf_slice(&b), base_slice(model, model_len));
    }
    base_buf_fini(&b);
}
END_TEST

Suite *suite_base_buf(void)
{
    Suite *suite = suite_create("base_buf");
    TCase *append = tcase_create("append");
    tcase_add_test(append, new_buf_is_empty_and_owns_nothing);
    tcase_add_test(append, appends_follow_each_other);
    tcase_add_test(append, append_up_to_max_fits_and_one_more_does_not);
    tcase_add_test(append, append_beyond_max_adds_nothing);
    tcase_add_test(append, too_big_latches_until_truncated);
    tcase_add_test(append, many_small_appends_move_the_memory_rarely);
    tcase_add_test(append, failing_allocation_adds_nothing_and_latches);
    suite_add_tcase(suite, append);
    TCase *reserve = tcase_create("reserve");
    tcase_add_test(reserve, reserve_of_absurd_sizes_is_refused);
    tcase_add_test(reserve, reserve_then_write_then_raise_len);
    suite_add_tcase(suite, reserve);
    TCase *format = tcase_create("format");
    tcase_add_test(format, decimals_cover_the_whole_range);
    tcase_add_test(format, printf_works_at_every_length);
    tcase_add_test(format, long_printf_beyond_max_adds_nothing);
    tcase_add_test(format, long_printf_survives_every_failing_allocation);
    tcase_add_test(format, printf_that_cannot_format_adds_nothing);
    suite_add_tcase(suite, format);
    TCase *edit = tcase_create("edit");
    tcase_add_test(edit, truncate_drops_the_end);
    tcase_add_test_raise_signal(edit, truncate_upwards_is_a_broken_invariant, SIGABRT);
    tcase_add_test(edit, consume_drops_the_front);
    tcase_add_test_raise_signal(edit, consume_of_too_much_is_a_broken_invariant, SIGABRT);
    tcase_add_test(edit, take_moves_the_memory);
    tcase_add_test_raise_signal(edit, take_over_a_full_buf_is_a_broken_invariant, SIGABRT);
    tcase_add_test(edit, random_edits_match_a_model);
    suite_add_tcase(suite, edit);
    return suite;
}

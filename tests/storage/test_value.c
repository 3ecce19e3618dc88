/*
 * tests/storage/test_value.c - the stored counters of a table, in all forms.
 */
#include <check.h>

#include "storage/keycodec.h"
#include "storage/value.h"

#include "base/banned.h"

Suite *suite_storage_value(void);

static const struct sto_stored_counters SOME = {
    .usage = {.bytes = UINT64_MAX, .rows = 3, .cells = 0x0102030405060708},
    .additions = 77,
    .last_change_us = 1234567,
    .change_bytes = 0x0807060504030201};

START_TEST(counters_come_back_as_they_were)
{
    uint8_t stored[STO_COUNTERS_BYTES];
    struct sto_stored_counters again;
    sto_counters_encode(&SOME, stored);
    ck_assert_int_eq(sto_counters_decode(base_slice(stored, sizeof stored), &again), ERR_OK);
    ck_assert_uint_eq(again.usage.bytes, SOME.usage.bytes);
    ck_assert_uint_eq(again.usage.rows, SOME.usage.rows);
    ck_assert_uint_eq(again.usage.cells, SOME.usage.cells);
    ck_assert_uint_eq(again.additions, SOME.additions);
    ck_assert_int_eq(again.last_change_us, SOME.last_change_us);
    ck_assert_uint_eq(again.change_bytes, SOME.change_bytes);
}
END_TEST

START_TEST(the_third_form_did_not_count_changes)
{
    uint8_t stored[STO_COUNTERS_BYTES];
    struct sto_stored_counters again;
    sto_counters_encode(&SOME, stored);
    stored[0] = STO_COUNTERS_FORMAT_3;
    ck_assert_int_eq(sto_counters_decode(base_slice(stored, sizeof stored - 8), &again), ERR_OK);
    ck_assert_int_eq(again.last_change_us, SOME.last_change_us);
    ck_assert_uint_eq(again.change_bytes, STO_CHANGES_NOT_COUNTED);
    sto_put_be64(stored + 33, 0);
    ck_assert_int_eq(sto_counters_decode(base_slice(stored, sizeof stored - 8), &again), ERR_OK);
    ck_assert_uint_eq(again.change_bytes, 0); /* there were none */
}
END_TEST

START_TEST(the_first_form_has_additions_that_nobody_knows)
{
    uint8_t stored[STO_COUNTERS_BYTES];
    struct sto_stored_counters again;
    sto_counters_encode(&SOME, stored);
    stored[0] = STO_COUNTERS_FORMAT_1;
    ck_assert_int_eq(sto_counters_decode(base_slice(stored, sizeof stored - 24), &again), ERR_OK);
    ck_assert_uint_eq(again.usage.bytes, SOME.usage.bytes);
    ck_assert_uint_eq(again.usage.rows, SOME.usage.rows);
    ck_assert_uint_eq(again.usage.cells, SOME.usage.cells);
    ck_assert_uint_eq(again.additions, 1);
    ck_assert_int_eq(again.last_change_us, 0);
    ck_assert_uint_eq(again.change_bytes, 0);
}
END_TEST

START_TEST(the_second_form_has_no_changes)
{
    uint8_t stored[STO_COUNTERS_BYTES];
    struct sto_stored_counters again;
    sto_counters_encode(&SOME, stored);
    stored[0] = STO_COUNTERS_FORMAT_2;
    ck_assert_int_eq(sto_counters_decode(base_slice(stored, sizeof stored - 16), &again), ERR_OK);
    ck_assert_uint_eq(again.usage.cells, SOME.usage.cells);
    ck_assert_uint_eq(again.additions, SOME.additions);
    ck_assert_int_eq(again.last_change_us, 0);
    ck_assert_uint_eq(again.change_bytes, 0);
}
END_TEST

START_TEST(other_lengths_and_formats_are_refused)
{
    uint8_t stored[STO_COUNTERS_BYTES + 1] = {0};
    struct sto_stored_counters again;
    for (unsigned format = 0; format <= 255; format++) {
        stored[0] = (uint8_t)format;
        for (size_t len = 0; len <= sizeof stored; len++) {
            bool known = (format == STO_COUNTERS_FORMAT_1 && len == STO_COUNTERS_BYTES - 24) ||
                         (format == STO_COUNTERS_FORMAT_2 && len == STO_COUNTERS_BYTES - 16) ||
                         (format == STO_COUNTERS_FORMAT_3 && len == STO_COUNTERS_BYTES - 8) ||
                         (format == STO_COUNTERS_FORMAT && len == STO_COUNTERS_BYTES);
            ck_assert_int_eq(sto_counters_decode(base_slice(stored, len), &again),
                             known ? ERR_OK : ERR_CORRUPT);
        }
    }
}
END_TEST

Suite *suite_storage_value(void)
{
    Suite *s = suite_create("storage_value");
    TCase *t = tcase_create("counters");
    tcase_add_test(t, counters_come_back_as_they_were);
    tcase_add_test(t, the_first_form_has_additions_that_nobody_knows);
    tcase_add_test(t, the_second_form_has_no_changes);
    tcase_add_test(t, the_third_form_did_not_count_changes);
    tcase_add_test(t, other_lengths_and_formats_are_refused);
    suite_add_tcase(s, t);
    return s;
}

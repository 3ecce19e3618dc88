/*
 * tests/storage/test_places.c - the table of places is whole: each row says what a purge does, and
 * what stays has a text.
 */
#include <check.h>

#include "storage/places.h"

#include "base/banned.h"

Suite *suite_storage_places(void);

static bool something_stays(enum sto_place_fate fate)
{
    return fate == STO_PLACE_REDUCED || fate == STO_PLACE_KEPT;
}

START_TEST(each_kind_of_document_is_found_by_its_letter)
{
    const struct sto_doc_place *place;
    size_t count = 0;
    uint8_t before = 0;
    for (; (place = sto_doc_place_at(count)) != NULL; count++) {
        ck_assert_uint_gt(place->kind, before); /* in their order: each once */
        before = (uint8_t)place->kind;
        ck_assert_ptr_eq(sto_doc_place_of(before), place);
        ck_assert_int_eq(something_stays(place->fate), place->remainder != STO_REMAINS_NONE);
        const uint8_t prefix[] = {before, '/'};
        const uint8_t end[] = {before, '0'};
        ck_assert(base_slice_equal(sto_doc_prefix(place->kind), base_slice(prefix, 2)));
        ck_assert(base_slice_equal(sto_doc_prefix_end(place->kind), base_slice(end, 2)));
    }
    for (int byte = 0; byte < 256; byte++)
        count -= sto_doc_place_of((uint8_t)byte) != NULL;
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(each_remainder_is_of_a_place_and_has_a_reason_and_an_end)
{
    bool is_used[STO_REMAINDERS] = {false};
    const struct sto_doc_place *doc;
    const struct sto_other_place *other;
    for (size_t i = 0; (doc = sto_doc_place_at(i)) != NULL; i++)
        is_used[doc->remainder] = true;
    for (size_t i = 0; (other = sto_other_place_at(i)) != NULL; i++) {
        is_used[other->remainder] = true;
        ck_assert_int_eq(something_stays(other->fate), other->remainder != STO_REMAINS_NONE);
        ck_assert_uint_gt(strlen(other->what), 0);
    }
    for (int i = STO_REMAINS_NONE + 1; i < STO_REMAINDERS; i++) {
        const struct sto_remainder_text *text = sto_remainder_text((enum sto_remainder)i);
        ck_assert_msg(is_used[i], "no place has the remainder \"%s\"", text->kept);
        ck_assert_uint_gt(strlen(text->kept), 0);
        ck_assert_uint_gt(strlen(text->why), 0);
        ck_assert_uint_gt(strlen(text->until), 0);
    }
}
END_TEST

START_TEST(rows_and_changes_are_erased)
{
    ck_assert_str_eq(sto_family_erased_at(0), "cells");
    ck_assert_str_eq(sto_family_erased_at(1), "changes");
    ck_assert_ptr_null(sto_family_erased_at(2));
}
END_TEST

Suite *suite_storage_places(void)
{
    Suite *s = suite_create("storage_places");
    TCase *t = tcase_create("places");
    tcase_add_test(t, each_kind_of_document_is_found_by_its_letter);
    tcase_add_test(t, each_remainder_is_of_a_place_and_has_a_reason_and_an_end);
    tcase_add_test(t, rows_and_changes_are_erased);
    suite_add_tcase(s, t);
    return s;
}

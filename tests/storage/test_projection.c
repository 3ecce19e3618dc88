/*
 * tests/storage/test_projection.c - intervals and boxes hold what they say, by trying members.
 */
#include <check.h>

#include "base/alloc.h"
#include "storage/projection.h"
#include "tests/support/random.h"

#include "base/banned.h"

/* Every byte string of up to two of these bytes, in order: neighbours are among them. */
static const uint8_t alphabet[] = {0, 1, 0xff};
#define WORDS 13
static uint8_t word_bytes[WORDS][2];
static struct slice words[WORDS];

static void make_words(void)
{
    size_t n = 0;
    words[n++] = SLICE_EMPTY;
    for (size_t i = 0; i < 3; i++) {
        word_bytes[n][0] = alphabet[i];
        words[n] = base_slice(word_bytes[n], 1);
        n++;
        for (size_t k = 0; k < 3; k++) {
            word_bytes[n][0] = alphabet[i];
            word_bytes[n][1] = alphabet[k];
            words[n] = base_slice(word_bytes[n], 2);
            n++;
        }
    }
    ck_assert_uint_eq(n, WORDS);
}

static struct sto_bytes_range random_range(struct random *r)
{
    return (struct sto_bytes_range){.start = words[random_below(r, WORDS)],
                                    .start_exclusive = random_below(r, 2) == 0,
                                    .has_end = random_below(r, 4) != 0,
                                    .end = words[random_below(r, WORDS)],
                                    .end_inclusive = random_below(r, 2) == 0};
}

START_TEST(a_range_holds_what_lies_between_its_bounds)
{
    struct sto_bytes_range all = {0};
    ck_assert(sto_bytes_range_holds(&all, SLICE_EMPTY));
    ck_assert(sto_bytes_range_holds(&all, SLICE_LIT("\xff\xff")));
    struct sto_bytes_range r = {.start = SLICE_LIT("b"), .has_end = true, .end = SLICE_LIT("d")};
    ck_assert(!sto_bytes_range_holds(&r, SLICE_LIT("a\xff")));
    ck_assert(sto_bytes_range_holds(&r, SLICE_LIT("b")));
    ck_assert(sto_bytes_range_holds(&r, SLICE_LIT("c\xff")));
    ck_assert(!sto_bytes_range_holds(&r, SLICE_LIT("d")));
    r.start_exclusive = r.end_inclusive = true;
    ck_assert(!sto_bytes_range_holds(&r, SLICE_LIT("b")));
    ck_assert(sto_bytes_range_holds(&r, SLICE_LIT("b\x01")));
    ck_assert(sto_bytes_range_holds(&r, SLICE_LIT("d")));
    ck_assert(!sto_bytes_range_holds(&r, SLICE_LIT("d\x01")));
    struct sto_bytes_range not_empty = {.start_exclusive = true};
    ck_assert(!sto_bytes_range_holds(&not_empty, SLICE_EMPTY));
}
END_TEST

/* Strings of three bytes lie between the words, so that emptiness can be seen. */
static bool holds_anything(const struct sto_bytes_range *range)
{
    for (size_t i = 0; i < WORDS; i++) {
        uint8_t longer[3] = {0};
        if (words[i].len > 0)
            memcpy(longer, words[i].ptr, words[i].len);
        if (sto_bytes_range_holds(range, words[i]) ||
            sto_bytes_range_holds(range, base_slice(longer, words[i].len + 1)))
            return true;
    }
    return false;
}

START_TEST(a_range_is_empty_exactly_when_it_holds_nothing)
{
    struct random r = {1};
    size_t empty = 0;
    for (int i = 0; i < 20000; i++) {
        struct sto_bytes_range range = random_range(&r);
        if (sto_bytes_range_is_empty(&range) == holds_anything(&range))
            ck_abort_msg("case %d", i);
        empty += sto_bytes_range_is_empty(&range);
    }
    ck_assert_uint_gt(empty, 1000);
}
END_TEST

START_TEST(ranges_intersect_exactly_and_join_tightly)
{
    struct random r = {2};
    for (int i = 0; i < 20000; i++) {
        struct sto_bytes_range a = random_range(&r);
        struct sto_bytes_range b = random_range(&r);
        struct sto_bytes_range both = a;
        struct sto_bytes_range either = a;
        sto_bytes_range_intersect(&both, &b);
        sto_bytes_range_join(&either, &b);
        int first = -1;
        int last = -1;
        bool a_has_words = false;
        bool b_has_words = false;
        for (int k = 0; k < WORDS; k++) {
            bool in_a = sto_bytes_range_holds(&a, words[k]);
            bool in_b = sto_bytes_range_holds(&b, words[k]);
            if (sto_bytes_range_holds(&both, words[k]) != (in_a && in_b))
                ck_abort_msg("intersection, case %d", i);
            if ((in_a || in_b) && !sto_bytes_range_holds(&either, words[k]))
                ck_abort_msg("join leaves out, case %d", i);
            first = (in_a || in_b) && first < 0 ? k : first;
            last = in_a || in_b ? k : last;
            a_has_words |= in_a;
            b_has_words |= in_b;
        }
        for (int k = 0; k < WORDS && a_has_words && b_has_words; k++)
            if ((k < first || k > last) && sto_bytes_range_holds(&either, words[k]))
                ck_abort_msg("join is too wide, case %d", i);
    }
}
END_TEST

/* --- boxes ------------------------------------------------------------------------------------
 */

static struct sto_projection random_box(struct random *r)
{
    struct sto_projection p = {.qualifiers = random_range(r),
                               .since_us = random_below(r, 3),
                               .until_us = random_below(r, 4)};
    p.families[0] = (uint64_t)random_below(r, 4) << 62;
    p.families[1] = random_below(r, 4);
    return p;
}

static bool box_holds(const struct sto_projection *p, size_t family, struct slice qualifier,
                      int64_t time)
{
    return sto_projection_has_family(p, family) &&
           sto_bytes_range_holds(&p->qualifiers, qualifier) && time >= p->since_us &&
           (p->until_us == 0 || time < p->until_us);
}

START_TEST(boxes_intersect_exactly_and_join_at_least)
{
    struct random r = {3};
    for (int i = 0; i < 20000; i++) {
        struct sto_projection a = random_box(&r);
        struct sto_projection b = random_box(&r);
        struct sto_projection both = a;
        struct sto_projection either = a;
        sto_projection_intersect(&both, &b);
        sto_projection_join(&either, &b);
        for (size_t n = 0; n < (size_t)4 * WORDS * 5; n++) {
            size_t family = 62 + n % 4;
            struct slice qualifier = words[n / 4 % WORDS];
            int64_t time = (int64_t)(n / (4 * WORDS));
            bool in_a = box_holds(&a, family, qualifier, time);
            bool in_b = box_holds(&b, family, qualifier, time);
            if (box_holds(&both, family, qualifier, time) != (in_a && in_b))
                ck_abort_msg("intersection, case %d", i);
            if ((in_a || in_b) && !box_holds(&either, family, qualifier, time))
                ck_abort_msg("join, case %d", i);
            if (in_a && sto_projection_is_empty(&a))
                ck_abort_msg("not empty, case %d", i);
        }
    }
}
END_TEST

START_TEST(an_empty_box_adds_nothing)
{
    struct sto_projection box = {.families = {2}, .since_us = 5, .until_us = 9};
    struct sto_projection none;
    sto_projection_none(&none);
    ck_assert(sto_projection_is_empty(&none));
    struct sto_projection joined = box;
    sto_projection_join(&joined, &none);
    ck_assert_int_eq(joined.since_us, 5);
    ck_assert_int_eq(joined.until_us, 9);
    sto_projection_join(&none, &box);
    ck_assert_int_eq(none.since_us, 5);
    ck_assert_int_eq(none.until_us, 9);
    box.until_us = 5;
    ck_assert(sto_projection_is_empty(&box));
}
END_TEST

START_TEST(everything_is_every_family_of_the_schema)
{
    struct sto_schema *s = base_new(sizeof *s + LIM_FAMILIES * sizeof(struct sto_family));
    for (size_t count = 0; count <= LIM_FAMILIES; count++) {
        s->family_count = count;
        struct sto_projection p;
        sto_projection_all(s, &p);
        ck_assert_int_eq(sto_projection_is_empty(&p), count == 0);
        for (size_t i = 0; i <= LIM_FAMILIES; i++)
            if (sto_projection_has_family(&p, i) != (i < count))
                ck_abort_msg("family %zu of %zu", i, count);
    }
    struct sto_projection p;
    sto_projection_all(s, &p);
    sto_projection_family(&p, LIM_FAMILIES - 1);
    for (size_t i = 0; i < LIM_FAMILIES; i++)
        ck_assert_int_eq(sto_projection_has_family(&p, i), i == LIM_FAMILIES - 1);
    base_free(s);
}
END_TEST

Suite *suite_storage_projection(void);
Suite *suite_storage_projection(void)
{
    Suite *suite = suite_create("storage_projection");
    TCase *tc = tcase_create("range");
    tcase_add_checked_fixture(tc, make_words, NULL);
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, a_range_holds_what_lies_between_its_bounds);
    tcase_add_test(tc, a_range_is_empty_exactly_when_it_holds_nothing);
    tcase_add_test(tc, ranges_intersect_exactly_and_join_tightly);
    suite_add_tcase(suite, tc);
    tc = tcase_create("box");
    tcase_add_checked_fixture(tc, make_words, NULL);
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, boxes_intersect_exactly_and_join_at_least);
    tcase_add_test(tc, an_empty_box_adds_nothing);
    tcase_add_test(tc, everything_is_every_family_of_the_schema);
    suite_add_tcase(suite, tc);
    return suite;
}

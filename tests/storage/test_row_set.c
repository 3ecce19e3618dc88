/*
 * tests/storage/test_row_set.c - any keys and ranges become sorted ranges that hold the same keys.
 */
#include <check.h>
#include <stdlib.h>

#include "storage/row_set.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_storage_row_set(void);

enum { CASES = 100000, RANGES = 8, KEYS = 4 * 4 * 4 + 4 * 4 + 4 };

/* All keys of up to three bytes of 00 01 61 FF, in order. */
static uint8_t key_bytes[KEYS][3];
static struct slice keys[KEYS];

static int key_compare(const void *a, const void *b)
{
    return base_slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

static void keys_make(void)
{
    static const uint8_t bytes[] = {0x00, 0x01, 0x61, 0xff};
    size_t n = 0;
    for (size_t len = 1; len <= 3; len++) {
        size_t count = (size_t)1 << (2 * len);
        for (size_t i = 0; i < count; i++, n++) {
            for (size_t b = 0; b < len; b++)
                key_bytes[n][b] = bytes[i >> (2 * b) & 3];
            keys[n] = base_slice(key_bytes[n], len);
        }
    }
    ck_assert_uint_eq(n, KEYS);
    qsort(keys, KEYS, sizeof(keys[0]), key_compare);
}

static bool holds(const struct sto_row_range *r, struct slice key)
{
    int start = base_slice_compare(key, r->start);
    int end = r->end.len == 0 ? -1 : base_slice_compare(key, r->end);
    return (start > 0 || (start == 0 && !r->start_exclusive)) &&
           (end < 0 || (end == 0 && r->end_inclusive));
}

static struct sto_row_range random_range(struct random *rng)
{
    struct slice a = keys[random_below(rng, KEYS)];
    struct slice b = keys[random_below(rng, KEYS)];
    if (random_below(rng, 3) == 0)
        return sto_range_of_key(a);
    struct sto_row_range r = {.start = a, .end = b};
    r.start_exclusive = random_below(rng, 2) == 0;
    r.end_inclusive = random_below(rng, 2) == 0;
    if (random_below(rng, 12) == 0) {
        r.start = SLICE_EMPTY;
        r.start_exclusive = false;
    }
    if (random_below(rng, 12) == 0)
        r.end = SLICE_EMPTY;
    return r;
}

static bool is_forwards(const struct sto_row_range *r)
{
    int order = r->end.len == 0 ? -1 : base_slice_compare(r->start, r->end);
    return order < 0 || (order == 0 && !r->start_exclusive && r->end_inclusive);
}

START_TEST(sets_hold_exactly_the_keys_asked_for)
{
    struct random rng = {.state = 7};
    keys_make();
    for (int i = 0; i < CASES; i++) {
        struct sto_row_range asked[RANGES], made[RANGES];
        size_t count = 1 + random_below(&rng, RANGES);
        for (size_t k = 0; k < count; k++) {
            do {
                asked[k] = random_range(&rng);
            } while (!is_forwards(&asked[k]));
            made[k] = asked[k];
        }
        struct sto_row_set set;
        ck_assert_int_eq(sto_row_set_make(made, count, &set, NULL), ERR_OK);
        ck_assert(set.count >= 1 && set.count <= count && !set.none);
        size_t last_range = 0;
        bool in_order = true;
        for (size_t k = 0; k < KEYS; k++) {
            bool wanted = false;
            size_t found = 0;
            for (size_t r = 0; r < count; r++)
                wanted = wanted || holds(&asked[r], keys[k]);
            for (size_t r = 0; r < set.count; r++) {
                if (!holds(&set.ranges[r], keys[k]))
                    continue;
                found++;
                in_order = in_order && r >= last_range;
                last_range = r;
            }
            /* A check writes a line to a file, even when it holds: too much for each of millions.
             */
            if (found != wanted || !in_order)
                ck_abort_msg("case %d: key %zu is in %zu ranges, or they are not in order", i, k,
                             found);
        }
    }
}
END_TEST

static void random_set(struct random *rng, struct sto_row_range *ranges, struct sto_row_set *out)
{
    size_t count = random_below(rng, RANGES); /* 0: every row, or none */
    for (size_t i = 0; i < count; i++)
        do {
            ranges[i] = random_range(rng);
        } while (!is_forwards(&ranges[i]));
    ck_assert_int_eq(sto_row_set_make(ranges, count, out, NULL), ERR_OK);
    out->none = count == 0 && random_below(rng, 2) == 0;
}

static bool set_holds(const struct sto_row_set *set, struct slice key)
{
    for (size_t i = 0; i < set->count; i++)
        if (holds(&set->ranges[i], key))
            return true;
    return set->count == 0 && !set->none;
}

START_TEST(an_intersection_holds_what_both_hold)
{
    struct random rng = {.state = 11};
    keys_make();
    for (int i = 0; i < CASES / 4; i++) {
        struct sto_row_range a_ranges[RANGES], b_ranges[RANGES], ranges[2 * RANGES];
        struct sto_row_set a, b, both;
        random_set(&rng, a_ranges, &a);
        random_set(&rng, b_ranges, &b);
        sto_row_set_intersect(&a, &b, ranges, &both);
        bool wrong =
            both.count > sto_row_set_intersect_max(&a, &b) || both.none != (both.count == 0);
        for (size_t k = 1; k < both.count; k++)
            wrong = wrong || base_slice_compare(ranges[k - 1].start, ranges[k].start) > 0;
        for (size_t k = 0; k < KEYS; k++) {
            bool wanted = set_holds(&a, keys[k]) && set_holds(&b, keys[k]);
            wrong = wrong || set_holds(&both, keys[k]) != wanted ||
                    sto_row_set_holds(&both, keys[k]) != wanted ||
                    sto_row_set_holds(&a, keys[k]) != set_holds(&a, keys[k]);
        }
        if (wrong)
            ck_abort_msg("case %d is wrong", i);
    }
}
END_TEST

START_TEST(touching_and_overlapping_ranges_become_one)
{
    struct sto_row_range r[] = {{.start = SLICE_LIT("c"), .end = SLICE_LIT("e")},
                                {.start = SLICE_LIT("a"), .end = SLICE_LIT("d")},
                                sto_range_of_key(SLICE_LIT("b")),
                                sto_range_of_key(SLICE_LIT("b"))};
    struct sto_row_set set;
    ck_assert_int_eq(sto_row_set_make(r, 4, &set, NULL), ERR_OK);
    ck_assert_uint_eq(set.count, 1);
    ck_assert(base_slice_is(set.ranges[0].start, "a") && base_slice_is(set.ranges[0].end, "e"));
}
END_TEST

START_TEST(nothing_asked_for_is_every_row)
{
    struct sto_row_set set = {.none = true};
    ck_assert_int_eq(sto_row_set_make(NULL, 0, &set, NULL), ERR_OK);
    ck_assert(set.count == 0 && !set.none);
}
END_TEST

START_TEST(backward_empty_and_long_ranges_are_refused_by_element)
{
    static uint8_t longest[LIM_ROW_KEY + 1];
    static const struct {
        struct sto_row_range range;
        enum err rc;
        const char *says;
    } wrong[] = {
        {{.start = SLICE_LIT("b"), .end = SLICE_LIT("a")}, ERR_INVALID, "element 1: the start"},
        {{.start = SLICE_LIT("a"), .end = SLICE_LIT("a")}, ERR_INVALID, "element 1: the start"},
        {{.start = SLICE_LIT("a"),
          .start_exclusive = true,
          .end = SLICE_LIT("a"),
          .end_inclusive = true},
         ERR_INVALID,
         "element 1: the start"},
        {{.start = {longest, sizeof(longest)}}, ERR_TOO_BIG, "at most 4096 bytes; start has 4097"},
        {{.start = SLICE_LIT("a"), .end = {longest, sizeof(longest)}}, ERR_TOO_BIG, "end 4097"},
    };
    memset(longest, 'z', sizeof(longest));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct sto_row_range r[] = {sto_range_of_key(SLICE_LIT("k")), wrong[i].range};
        struct sto_row_set set;
        struct errbuf eb = {{0}};
        ck_assert_int_eq(sto_row_set_make(r, 2, &set, &eb), wrong[i].rc);
        ck_assert_msg(strstr(eb.text, wrong[i].says) != NULL, "%s", eb.text);
    }
    struct sto_row_range fits = sto_range_of_key(base_slice(longest, LIM_ROW_KEY));
    struct sto_row_set set;
    ck_assert_int_eq(sto_row_set_make(&fits, 1, &set, NULL), ERR_OK);
}
END_TEST

START_TEST(too_many_elements_are_refused)
{
    struct sto_row_set set;
    struct errbuf eb = {{0}};
    ck_assert_int_eq(sto_row_set_make(NULL, LIM_ROW_SET + 1, &set, &eb), ERR_TOO_BIG);
    ck_assert_msg(strstr(eb.text, "100001") != NULL && strstr(eb.text, "100000") != NULL, "%s",
                  eb.text);
}
END_TEST

Suite *suite_storage_row_set(void)
{
    Suite *s = suite_create("storage_row_set");
    TCase *tc = tcase_create("sets");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, sets_hold_exactly_the_keys_asked_for);
    tcase_add_test(tc, an_intersection_holds_what_both_hold);
    tcase_add_test(tc, touching_and_overlapping_ranges_become_one);
    tcase_add_test(tc, nothing_asked_for_is_every_row);
    tcase_add_test(tc, backward_empty_and_long_ranges_are_refused_by_element);
    tcase_add_test(tc, too_many_elements_are_refused);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/gateway/test_query.c - the query part of a target, strictly.
 */
#include <check.h>
#include <string.h>

#include "gateway/api/query.h"

#include "base/banned.h"

static struct arena arena;
static struct gw_query query;
static struct errbuf eb;
static const char *const NAMES[] = {"prefix", "limit", NULL};

static void set_up(void)
{
    base_arena_init(&arena, 1 << 16);
    eb.text[0] = '\0';
}

static void tear_down(void)
{
    base_arena_fini(&arena);
}

static enum err parse(const char *text)
{
    return gw_query_parse(base_slice_text(text), NAMES, &arena, &query, &eb);
}

START_TEST(values_are_decoded)
{
    ck_assert_int_eq(parse("prefix=a%26%3D%00+b&limit=7"), ERR_OK);
    ck_assert(base_slice_equal(gw_query_get(&query, "prefix"), base_slice("a&=\0+b", 6)));
    ck_assert(base_slice_is(gw_query_get(&query, "limit"), "7"));
}
END_TEST

START_TEST(absent_and_empty_differ)
{
    ck_assert_int_eq(parse("prefix="), ERR_OK);
    ck_assert_ptr_nonnull(gw_query_get(&query, "prefix").ptr);
    ck_assert_uint_eq(gw_query_get(&query, "prefix").len, 0);
    ck_assert_ptr_null(gw_query_get(&query, "limit").ptr);
    ck_assert_int_eq(parse(""), ERR_OK);
    ck_assert_ptr_null(gw_query_get(&query, "prefix").ptr);
}
END_TEST

static const struct {
    const char *text;
    const char *named;
} BAD[] = {
    {"other=1", "other"},
    {"limit=1&limit=2", "limit"},
    {"prefix=&prefix=", "prefix"},
    {"limit", "limit"},
    {"prefix=%", "prefix"},
    {"prefix=%0", "prefix"},
    {"prefix=%xy", "prefix"},
    {"Limit=1", "Limit"},
    {"limit=1&&prefix=a", ""},
    {"=1", ""},
    {"&", ""},
    {"prefix=a b", "prefix"},
    {"limit%3D1", "limit%3D1"},
};

START_TEST(what_is_not_known_is_refused_by_name)
{
    ck_assert_int_eq(parse(BAD[_i].text), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, BAD[_i].named));
}
END_TEST

static const struct {
    const char *text;
    enum err result;
    uint64_t number;
} NUMBERS[] = {
    {"", ERR_OK, 99},
    {"limit=1", ERR_OK, 1},
    {"limit=10", ERR_OK, 10},
    {"limit=0", ERR_INVALID, 0},
    {"limit=11", ERR_INVALID, 0},
    {"limit=-1", ERR_INVALID, 0},
    {"limit=", ERR_INVALID, 0},
    {"limit=05", ERR_INVALID, 0},
    {"limit=1e1", ERR_INVALID, 0},
    {"limit=18446744073709551616", ERR_INVALID, 0},
};

START_TEST(numbers_have_bounds)
{
    uint64_t number = 0;
    ck_assert_int_eq(parse(NUMBERS[_i].text), ERR_OK);
    ck_assert_int_eq(gw_query_number(&query, "limit", 1, 10, 99, &number, &eb), NUMBERS[_i].result);
    if (NUMBERS[_i].result == ERR_OK)
        ck_assert_uint_eq(number, NUMBERS[_i].number);
    else
        ck_assert_ptr_nonnull(strstr(eb.text, "limit"));
}
END_TEST

Suite *suite_gateway_query(void);
Suite *suite_gateway_query(void)
{
    Suite *s = suite_create("gateway_query");
    TCase *tc = tcase_create("query");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, values_are_decoded);
    tcase_add_test(tc, absent_and_empty_differ);
    tcase_add_loop_test(tc, what_is_not_known_is_refused_by_name, 0,
                        (int)(sizeof BAD / sizeof BAD[0]));
    tcase_add_loop_test(tc, numbers_have_bounds, 0, (int)(sizeof NUMBERS / sizeof NUMBERS[0]));
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/gateway/test_page_token.c - a token opens for its own query, and for nothing else.
 */
#include <check.h>

#include "base/limits.h"
#include "gateway/page_token.h"

#include "base/banned.h"

static struct gw_page_key key;
static struct buf token;
static struct buf last;
static struct errbuf eb;

static struct gw_page_context context(const char *tenant, const char *table, const char *prefix)
{
    return (struct gw_page_context){
        .parts = {SLICE_LIT("rows"), base_slice_text(tenant), base_slice_text(table),
                  base_slice_text(prefix)},
        .count = 4,
    };
}

static void set_up(void)
{
    ck_assert_int_eq(gw_page_key_derive(SLICE_LIT("a secret of the server"), &key), ERR_OK);
    base_buf_init(&token, 16384);
    base_buf_init(&last, LIM_ROW_KEY);
    struct gw_page_context c = context("altostrat", "devices", "phone#");
    ck_assert_int_eq(gw_page_token_make(&key, &c, base_slice("phone#\0\xff", 8), &token), ERR_OK);
}

static void tear_down(void)
{
    base_buf_fini(&token);
    base_buf_fini(&last);
}

static enum err open_as(const struct gw_page_context *c, struct slice text)
{
    base_buf_truncate(&last, 0);
    return gw_page_token_open(&key, c, text, &last, &eb);
}

START_TEST(it_opens_for_its_own_query)
{
    struct gw_page_context c = context("altostrat", "devices", "phone#");
    ck_assert_int_eq(open_as(&c, base_buf_slice(&token)), ERR_OK);
    ck_assert(base_slice_equal(base_buf_slice(&last), base_slice("phone#\0\xff", 8)));
}
END_TEST

START_TEST(any_changed_byte_is_refused)
{
    struct gw_page_context c = context("altostrat", "devices", "phone#");
    for (size_t i = 0; i < token.len; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            token.ptr[i] ^= (uint8_t)(1u << bit);
            ck_assert_int_eq(open_as(&c, base_buf_slice(&token)), ERR_INVALID);
            ck_assert_uint_eq(last.len, 0);
            token.ptr[i] ^= (uint8_t)(1u << bit);
        }
    }
}
END_TEST

START_TEST(any_cut_is_refused)
{
    struct gw_page_context c = context("altostrat", "devices", "phone#");
    for (size_t len = 0; len < token.len; len++)
        ck_assert_int_eq(open_as(&c, base_slice(token.ptr, len)), ERR_INVALID);
    ck_assert_int_eq(base_buf_append_byte(&token, 'A'), ERR_OK);
    ck_assert_int_eq(open_as(&c, base_buf_slice(&token)), ERR_INVALID);
}
END_TEST

static const struct {
    const char *tenant;
    const char *table;
    const char *prefix;
} FOREIGN[] = {
    {"altostrat2", "devices", "phone#"}, {"altostra", "tdevices", "phone#"},
    {"altostrat", "device", "sphone#"},  {"altostrat", "devices", ""},
    {"altostrat", "devices", "phone"},   {"", "", ""},
};

START_TEST(another_query_is_refused)
{
    struct gw_page_context c = context(FOREIGN[_i].tenant, FOREIGN[_i].table, FOREIGN[_i].prefix);
    ck_assert_int_eq(open_as(&c, base_buf_slice(&token)), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, "page_token"));
}
END_TEST

START_TEST(another_purpose_is_refused)
{
    struct gw_page_context c = context("altostrat", "devices", "phone#");
    c.parts[0] = SLICE_LIT("tenants");
    ck_assert_int_eq(open_as(&c, base_buf_slice(&token)), ERR_INVALID);
    c = context("altostrat", "devices", "phone#");
    c.count = 3;
    ck_assert_int_eq(open_as(&c, base_buf_slice(&token)), ERR_INVALID);
}
END_TEST

START_TEST(another_server_is_refused)
{
    struct gw_page_context c = context("altostrat", "devices", "phone#");
    ck_assert_int_eq(gw_page_key_derive(SLICE_LIT("another secret"), &key), ERR_OK);
    ck_assert_int_eq(open_as(&c, base_buf_slice(&token)), ERR_INVALID);
}
END_TEST

START_TEST(the_longest_key_fits)
{
    static uint8_t longest[LIM_ROW_KEY];
    struct gw_page_context c = context("altostrat", "devices", "");
    memset(longest, 0xff, sizeof longest);
    base_buf_truncate(&token, 0);
    ck_assert_int_eq(gw_page_token_make(&key, &c, base_slice(longest, sizeof longest), &token),
                     ERR_OK);
    ck_assert_int_eq(open_as(&c, base_buf_slice(&token)), ERR_OK);
    ck_assert_uint_eq(last.len, LIM_ROW_KEY);
}
END_TEST

Suite *suite_gateway_page_token(void);
Suite *suite_gateway_page_token(void)
{
    Suite *s = suite_create("gateway_page_token");
    TCase *tc = tcase_create("page_token");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, it_opens_for_its_own_query);
    tcase_add_test(tc, any_changed_byte_is_refused);
    tcase_add_test(tc, any_cut_is_refused);
    tcase_add_loop_test(tc, another_query_is_refused, 0, (int)(sizeof FOREIGN / sizeof FOREIGN[0]));
    tcase_add_test(tc, another_purpose_is_refused);
    tcase_add_test(tc, another_server_is_refused);
    tcase_add_test(tc, the_longest_key_fits);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/gateway/test_problem.c - every failure has its entry, and answers what docs/api.md says.
 */
#include <check.h>
#include <jansson.h>

#include "gateway/problem.h"

#include "base/banned.h"

START_TEST(every_err_is_mapped_under_its_own_name)
{
    for (int e = ERR_OK + 1; e < ERR_COUNT; e++) {
        const struct gw_problem *p = gw_problem_get(e);
        ck_assert_str_eq(p->code, base_err_name((enum err)e));
        ck_assert_msg(p->status >= 400 && p->status < 600, "%s: %d", p->code, p->status);
        ck_assert_ptr_nonnull(p->title);
        ck_assert_msg((p->retry_after_s != 0) == (p->status == 429 || p->status == 503),
                      "%s: Retry-After goes with 429 and 503", p->code);
    }
}
END_TEST

static const struct {
    int problem;
    int status;
    const char *code;
    bool retry;
} TABLE[] = {
    {ERR_INVALID, 400, "invalid", false},
    {ERR_TOO_BIG, 413, "too_big", false},
    {ERR_NOT_FOUND, 404, "not_found", false},
    {ERR_EXISTS, 409, "exists", false},
    {ERR_CONFLICT, 409, "conflict", false},
    {ERR_PRECONDITION, 412, "precondition", false},
    {ERR_UNAUTHENTICATED, 401, "unauthenticated", false},
    {ERR_FORBIDDEN, 403, "forbidden", false},
    {ERR_SUSPENDED, 403, "suspended", false},
    {ERR_GONE, 410, "gone", false},
    {ERR_QUOTA, 403, "quota", false},
    {ERR_RATE_LIMITED, 429, "rate_limited", true},
    {ERR_OVERLOADED, 503, "overloaded", true},
    {ERR_STORAGE_FULL, 507, "storage_full", true},
    {ERR_UNAVAILABLE, 503, "unavailable", true},
    {ERR_OUTCOME_UNKNOWN, 500, "outcome_unknown", true},
    {ERR_CORRUPT, 500, "corrupt", false},
    {ERR_IO, 500, "io", false},
    {ERR_NO_MEMORY, 503, "no_memory", true},
    {ERR_HELD, 409, "held", false},
    {GW_PROBLEM_METHOD, 405, "method_not_allowed", false},
    {GW_PROBLEM_MEDIA_TYPE, 415, "unsupported_media_type", false},
    {GW_PROBLEM_TARGET, 414, "too_big", false},
    {GW_PROBLEM_HEADERS, 431, "too_big", false},
};

START_TEST(status_and_code_are_those_of_the_documentation)
{
    const struct gw_problem *p = gw_problem_get(TABLE[_i].problem);
    ck_assert_int_eq(p->status, TABLE[_i].status);
    ck_assert_str_eq(p->code, TABLE[_i].code);
    ck_assert_int_eq(p->retry, TABLE[_i].retry);
}
END_TEST

START_TEST(numbers_outside_the_table_are_500)
{
    static const int numbers[] = {ERR_OK, -1, GW_PROBLEM_COUNT, 1000};
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(gw_problem_get(numbers[i])->status, 500);
}
END_TEST

static json_t *written(int problem, const char *detail)
{
    struct buf out;
    base_buf_init(&out, 8192);
    gw_problem_write(&out, problem, detail, NULL);
    ck_assert_int_eq(out.error, ERR_OK);
    json_t *tree = json_loadb((const char *)out.ptr, out.len, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(tree);
    base_buf_fini(&out);
    return tree;
}

START_TEST(the_body_is_rfc_9457)
{
    json_t *tree = written(ERR_TOO_BIG, "row key is 4097 bytes; the limit is 4096");
    json_t *want =
        json_pack("{s:s,s:s,s:i,s:s,s:s,s:b}", "type", "https://bigtent.dev/problems/too_big",
                  "title", "Payload too large", "status", 413, "code", "too_big", "detail",
                  "row key is 4097 bytes; the limit is 4096", "retry", 0);
    ck_assert(json_equal(tree, want));
    json_decref(want);
    json_decref(tree);
}
END_TEST

START_TEST(there_is_always_a_detail)
{
    json_t *tree = written(ERR_GONE, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(tree, "detail")), "Gone");
    json_decref(tree);
    tree = written(ERR_GONE, "");
    ck_assert_str_eq(json_string_value(json_object_get(tree, "detail")), "Gone");
    json_decref(tree);
}
END_TEST

START_TEST(any_detail_is_valid_json)
{
    char text[ERRBUF_BYTES];
    memset(text, '\x01', sizeof text - 1);
    text[0] = '"';
    text[1] = (char)0xff;
    text[sizeof text - 1] = '\0';
    json_decref(written(ERR_INVALID, text));
}
END_TEST

Suite *suite_gateway_problem(void);
Suite *suite_gateway_problem(void)
{
    Suite *s = suite_create("gateway_problem");
    TCase *tc = tcase_create("problem");
    tcase_add_test(tc, every_err_is_mapped_under_its_own_name);
    tcase_add_loop_test(tc, status_and_code_are_those_of_the_documentation, 0,
                        (int)(sizeof TABLE / sizeof TABLE[0]));
    tcase_add_test(tc, numbers_outside_the_table_are_500);
    tcase_add_test(tc, the_body_is_rfc_9457);
    tcase_add_test(tc, there_is_always_a_detail);
    tcase_add_test(tc, any_detail_is_valid_json);
    suite_add_tcase(s, tc);
    return s;
}

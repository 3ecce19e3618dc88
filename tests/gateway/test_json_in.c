/*
 * tests/gateway/test_json_in.c - bombs are refused before they are parsed; errors name no content.
 */
#include <check.h>
#include <string.h>

#include "base/buf.h"
#include "gateway/api/json_in.h"

#include "base/banned.h"

static json_t *tree;
static struct errbuf eb;
static struct arena arena;
static struct buf text;

static void set_up(void)
{
    eb.text[0] = '\0';
    base_arena_init(&arena, 1 << 20);
    base_buf_init(&text, 64 * MIB);
}

static void tear_down(void)
{
    json_decref(tree);
    base_arena_fini(&arena);
    base_buf_fini(&text);
}

static enum err parse_slice(struct slice s)
{
    json_decref(tree);
    tree = NULL;
    return gw_json_parse(s, NULL, &tree, &eb);
}

static enum err parse(const char *s)
{
    return parse_slice(base_slice_text(s));
}

static void add(const char *s, size_t times)
{
    for (size_t i = 0; i < times; i++)
        ck_assert_int_eq(base_buf_append_text(&text, s), ERR_OK);
}

/* An object, `depth` levels deep in all. */
static struct slice nested(size_t depth)
{
    base_buf_truncate(&text, 0);
    add("{\"a\":", 1);
    add("[", depth - 1);
    add("]", depth - 1);
    add("}", 1);
    return base_buf_slice(&text);
}

/* jemalloc's; there is none where a sanitizer has its own. */
int mallctl(const char *name, void *out, size_t *out_len, void *in, size_t in_len)
    __attribute__((weak));

/* Bytes of the heap that this thread took and did not free. 0: nobody knows. */
static uint64_t held(void)
{
    uint64_t taken = 0, freed = 0;
    size_t len = sizeof taken;
    if (mallctl == NULL)
        return 0;
    ck_assert_int_eq(mallctl("thread.allocated", &taken, &len, NULL, 0), 0);
    ck_assert_int_eq(mallctl("thread.deallocated", &freed, &len, NULL, 0), 0);
    return taken - freed;
}

/* The most expensive text there is for its length. */
START_TEST(a_tree_is_counted_in_its_share)
{
    struct base_memory budget = {.limit = 100 * MIB};
    struct base_memory_share share = {.budget = &budget};
    struct gw_json_charge charge = {.share = &share};
    add("{\"a\":[{}", 1);
    add(",{}", 99999);
    add("]}", 1);
    uint64_t before = held();
    ck_assert_int_eq(gw_json_parse(base_buf_slice(&text), &charge, &tree, &eb), ERR_OK);
    uint64_t took = held() - before;
    ck_assert_uint_eq(atomic_load(&share.used), charge.bytes);
    ck_assert_uint_ge(charge.bytes, took);
    ck_assert(took > 0 || mallctl == NULL);
    gw_json_free(tree, &charge);
    tree = NULL;
    ck_assert_uint_eq(atomic_load(&share.used), 0);
    share.most = MIB;
    ck_assert_int_eq(gw_json_parse(base_buf_slice(&text), &charge, &tree, &eb), ERR_NO_MEMORY);
    ck_assert_int_eq(gw_json_parse(base_slice(text.ptr, text.len - 1), NULL, &tree, &eb),
                     ERR_INVALID);
    ck_assert_uint_eq(atomic_load(&budget.used), 0);
}
END_TEST

START_TEST(a_zero_byte_is_refused_wherever_it_stands)
{
    static const char document[] = "{\"a\":-1,\"b\":[1.5e3,true,null,\"x\"],\"c\":{}}";
    struct slice whole = SLICE_LIT(document);
    for (size_t at = 0; at <= whole.len; at++) {
        base_buf_truncate(&text, 0);
        ck_assert_int_eq(base_buf_append(&text, base_slice(whole.ptr, at)), ERR_OK);
        ck_assert_int_eq(base_buf_append_byte(&text, 0), ERR_OK);
        ck_assert_int_eq(base_buf_append(&text, base_slice_skip(whole, at)), ERR_OK);
        ck_assert_int_eq(parse_slice(base_buf_slice(&text)), ERR_INVALID);
        ck_assert_str_ne(eb.text, "");
    }
    ck_assert_int_eq(parse_slice(whole), ERR_OK);
}
END_TEST

START_TEST(depth_is_limited)
{
    ck_assert_int_eq(parse_slice(nested(LIM_JSON_DEPTH - 1)), ERR_OK);
    ck_assert_int_eq(parse_slice(nested(LIM_JSON_DEPTH)), ERR_OK);
    ck_assert_int_eq(parse_slice(nested(LIM_JSON_DEPTH + 1)), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, "64"));
    ck_assert_int_eq(parse_slice(nested(1000000)), ERR_INVALID);
}
END_TEST

START_TEST(brackets_in_strings_do_not_count)
{
    add("{\"a\":\"\\\"", 1);
    add("[{", 1000);
    add("\\\\\"}", 1);
    ck_assert_int_eq(parse_slice(base_buf_slice(&text)), ERR_OK);
}
END_TEST

/* jansson would take 80 bytes for each of these two. */
START_TEST(the_number_of_values_is_limited)
{
    add("{\"a\":[", 1);
    add("0,", GW_JSON_VALUES_MAX - 3); /* '{', ':' and '[' count as well */
    add("0]}", 1);
    ck_assert_int_eq(parse_slice(base_buf_slice(&text)), ERR_OK);
    base_buf_truncate(&text, 0);
    add("{\"a\":[", 1);
    add("0,", GW_JSON_VALUES_MAX - 2);
    add("0]}", 1);
    ck_assert_int_eq(parse_slice(base_buf_slice(&text)), ERR_TOO_BIG);
    ck_assert_ptr_null(tree);
}
END_TEST

static const char *const BAD[] = {
    "",
    " ",
    "[]",
    "1",
    "\"text\"",
    "null",
    "{",
    "}",
    "{}x",
    "{}{}",
    "{\"a\":1,}",
    "{\"a\":1,\"a\":2}",
    "{\"a\":1,\"\\u0061\":2}",
    "{\"a\":{\"b\":1,\"b\":2}}",
    "{\"a\\u0000b\":1}",
    "{\"a\":01}",
    "{\"a\":9223372036854775808}",
    "{\"a\":1e400}",
    "{\"a\":NaN}",
    "{\"a\":\"\xff\"}",
    "{\"a\":\"\xc0\xaf\"}",
    "{\"a\":\"\\ud800\"}",
    "{\"a\":\"\n\"}",
    "{'a':1}",
    "{\"a\":\"unterminated",
    "{\"a\":\"ends in a backslash\\",
    "\xef\xbb\xbf{}",
};

START_TEST(malformed_text_is_refused)
{
    ck_assert_int_eq(parse(BAD[_i]), ERR_INVALID);
    ck_assert_ptr_null(tree);
    ck_assert_str_ne(eb.text, "");
}
END_TEST

START_TEST(errors_tell_the_place_but_no_content)
{
    ck_assert_int_eq(parse("{\n  \"password\": s3cr3t }"), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, "line 2"));
    ck_assert_ptr_null(strstr(eb.text, "s3"));
    ck_assert_ptr_null(strstr(eb.text, "password"));
    ck_assert_int_eq(parse("{\"secret\":1,\"secret\":2}"), ERR_INVALID);
    ck_assert_ptr_null(strstr(eb.text, "secret"));
}
END_TEST

START_TEST(text_may_hold_nul)
{
    struct slice s;
    ck_assert_int_eq(parse("{\"a\":\"x\\u0000y\"}"), ERR_OK);
    ck_assert_int_eq(gw_json_get_text(tree, "a", &s, &eb), ERR_OK);
    ck_assert(base_slice_equal(s, base_slice("x\0y", 3)));
}
END_TEST

START_TEST(unknown_fields_are_named)
{
    static const char *const names[] = {"a", "b", NULL};
    ck_assert_int_eq(parse("{\"a\":1,\"b\":2}"), ERR_OK);
    ck_assert_int_eq(gw_json_only(tree, names, &eb), ERR_OK);
    ck_assert_int_eq(parse("{\"a\":1,\"colour\":2}"), ERR_OK);
    ck_assert_int_eq(gw_json_only(tree, names, &eb), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, "colour"));
}
END_TEST

START_TEST(fields_have_types)
{
    struct slice s;
    uint64_t n = 0;
    bool b = true;
    ck_assert_int_eq(parse("{\"t\":\"x\",\"n\":7,\"b\":true,\"z\":null,\"m\":-1,\"r\":1.5,"
                           "\"w\":8.0,\"e\":9007199254740992.0,\"l\":9007199254740994.0,"
                           "\"v\":-1.0}"),
                     ERR_OK);
    ck_assert_int_eq(gw_json_get_text(tree, "t", &s, &eb), ERR_OK);
    ck_assert(base_slice_is(s, "x"));
    ck_assert_int_eq(gw_json_get_text(tree, "z", &s, &eb), ERR_OK);
    ck_assert_ptr_null(s.ptr);
    ck_assert_int_eq(gw_json_get_text(tree, "absent", &s, &eb), ERR_OK);
    ck_assert_ptr_null(s.ptr);
    ck_assert_int_eq(gw_json_get_text(tree, "n", &s, &eb), ERR_INVALID);
    ck_assert_int_eq(gw_json_get_u64(tree, "n", &n, &eb), ERR_OK);
    ck_assert_uint_eq(n, 7);
    ck_assert_int_eq(gw_json_get_u64(tree, "z", &n, &eb), ERR_OK);
    ck_assert_uint_eq(n, UINT64_MAX);
    ck_assert_int_eq(gw_json_get_u64(tree, "m", &n, &eb), ERR_INVALID);
    ck_assert_int_eq(gw_json_get_u64(tree, "r", &n, &eb), ERR_INVALID);
    ck_assert_int_eq(gw_json_get_u64(tree, "v", &n, &eb), ERR_INVALID);
    ck_assert_int_eq(gw_json_get_u64(tree, "l", &n, &eb), ERR_INVALID);
    ck_assert_int_eq(gw_json_get_u64(tree, "w", &n, &eb), ERR_OK);
    ck_assert_uint_eq(n, 8);
    ck_assert_int_eq(gw_json_get_u64(tree, "e", &n, &eb), ERR_OK);
    ck_assert_uint_eq(n, 1ULL << 53);
    ck_assert_int_eq(gw_json_get_u64(tree, "t", &n, &eb), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, "\"t\""));
    ck_assert_int_eq(gw_json_get_bool(tree, "b", &b, &eb), ERR_OK);
    ck_assert(b);
    ck_assert_int_eq(gw_json_get_bool(tree, "z", &b, &eb), ERR_OK);
    ck_assert(!b);
    ck_assert_int_eq(gw_json_get_bool(tree, "n", &b, &eb), ERR_INVALID);
}
END_TEST

START_TEST(bytes_are_text_or_base64)
{
    struct slice s;
    ck_assert_int_eq(parse("{\"a\":\"x\",\"b_b64\":\"/wA=\",\"c_b64\":\"\",\"d\":\"\","
                           "\"e\":\"x\",\"e_b64\":\"eA==\",\"f_b64\":\"eA\",\"g_b64\":\"e A==\"}"),
                     ERR_OK);
    ck_assert_int_eq(gw_json_get_bytes(tree, "a", &arena, &s, &eb), ERR_OK);
    ck_assert(base_slice_is(s, "x"));
    ck_assert_int_eq(gw_json_get_bytes(tree, "b", &arena, &s, &eb), ERR_OK);
    ck_assert(base_slice_equal(s, base_slice("\xff\0", 2)));
    ck_assert_int_eq(gw_json_get_bytes(tree, "c", &arena, &s, &eb), ERR_OK);
    ck_assert(s.ptr != NULL && s.len == 0);
    ck_assert_int_eq(gw_json_get_bytes(tree, "d", &arena, &s, &eb), ERR_OK);
    ck_assert(s.ptr != NULL && s.len == 0);
    ck_assert_int_eq(gw_json_get_bytes(tree, "none", &arena, &s, &eb), ERR_OK);
    ck_assert_ptr_null(s.ptr);
    static const char *const bad[] = {"e", "f", "g"};
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(gw_json_get_bytes(tree, bad[i], &arena, &s, &eb), ERR_INVALID);
}
END_TEST

START_TEST(lists_of_bytes_are_text_or_base64)
{
    struct slice s;
    ck_assert_int_eq(parse("{\"a\":[\"x\",\"\",7],\"a_b64\":[\"/wA=\",\"\",\"eA\"]}"), ERR_OK);
    const json_t *a = json_object_get(tree, "a");
    const json_t *b64 = json_object_get(tree, "a_b64");
    ck_assert_int_eq(gw_json_list_bytes(a, 0, "a", false, &arena, &s, &eb), ERR_OK);
    ck_assert(base_slice_is(s, "x"));
    ck_assert_int_eq(gw_json_list_bytes(a, 1, "a", false, &arena, &s, &eb), ERR_OK);
    ck_assert(s.ptr != NULL && s.len == 0);
    ck_assert_int_eq(gw_json_list_bytes(a, 2, "a", false, &arena, &s, &eb), ERR_INVALID);
    ck_assert_str_eq(eb.text, "\"a\" must be a list of texts");
    ck_assert_int_eq(gw_json_list_bytes(b64, 0, "a_b64", true, &arena, &s, &eb), ERR_OK);
    ck_assert(base_slice_equal(s, base_slice("\xff\0", 2)));
    ck_assert_int_eq(gw_json_list_bytes(b64, 1, "a_b64", true, &arena, &s, &eb), ERR_OK);
    ck_assert(s.ptr != NULL && s.len == 0);
    ck_assert_int_eq(gw_json_list_bytes(b64, 2, "a_b64", true, &arena, &s, &eb), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, "\"a_b64[2]\" is not base64"));
}
END_TEST

START_TEST(decoded_bytes_need_room)
{
    struct slice s;
    struct arena small;
    base_arena_init(&small, 4);
    ck_assert_int_eq(parse("{\"a_b64\":\"AAAAAAAAAAAAAAAA\"}"), ERR_OK);
    ck_assert_int_eq(gw_json_get_bytes(tree, "a", &small, &s, &eb), ERR_NO_MEMORY);
    base_arena_fini(&small);
}
END_TEST

Suite *suite_gateway_json_in(void);
Suite *suite_gateway_json_in(void)
{
    Suite *s = suite_create("gateway_json_in");
    TCase *tc = tcase_create("json_in");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_zero_byte_is_refused_wherever_it_stands);
    tcase_add_test(tc, depth_is_limited);
    tcase_add_test(tc, brackets_in_strings_do_not_count);
    tcase_add_test(tc, the_number_of_values_is_limited);
    tcase_add_loop_test(tc, malformed_text_is_refused, 0, (int)(sizeof BAD / sizeof BAD[0]));
    tcase_add_test(tc, errors_tell_the_place_but_no_content);
    tcase_add_test(tc, text_may_hold_nul);
    tcase_add_test(tc, unknown_fields_are_named);
    tcase_add_test(tc, fields_have_types);
    tcase_add_test(tc, bytes_are_text_or_base64);
    tcase_add_test(tc, lists_of_bytes_are_text_or_base64);
    tcase_add_test(tc, decoded_bytes_need_room);
    tcase_add_test(tc, a_tree_is_counted_in_its_share);
    suite_add_tcase(s, tc);
    return s;
}

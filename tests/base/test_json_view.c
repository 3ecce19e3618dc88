/* tests/base/test_json_view.c - values found in JSON texts, friendly and hostile. */
#include "tests/base/check_base.h"

#include "base/json_view.h"

Suite *suite_base_json_view(void);

static struct slice at(const char *json, const char *path)
{
    ck_assert_int_eq(base_json_check(base_slice_text(json)), ERR_OK);
    return base_json_at(base_slice_text(json), path);
}

static void expect_at(const char *json, const char *path, const char *wanted)
{
    assert_slice(at(json, path), base_slice_text(wanted));
}

START_TEST(members_are_found_by_their_path)
{
    static const char json[] = "{\"a\":1,\"b\":{\"c\":[1,2],\"d\":\"x\",\"e\":{}},\"f\":null}";
    expect_at(json, "a", "1");
    expect_at(json, "b", "{\"c\":[1,2],\"d\":\"x\",\"e\":{}}");
    expect_at(json, "b.c", "[1,2]");
    expect_at(json, "b.d", "\"x\"");
    expect_at(json, "b.e", "{}");
    expect_at(json, "f", "null");
    expect_at(json, "g", "");
    expect_at(json, "a.c", "");
    expect_at(json, "b.c.d", "");
    expect_at(json, "b.e.c", "");
    expect_at(json, "", "");
    expect_at("[1]", "a", "");
    expect_at("{}", "a", "");
}
END_TEST

/* A quote, a bracket or a name within a text is no structure. */
START_TEST(texts_are_no_structure)
{
    static const char json[] = "{\"a\":\"}],\\\"b\\\":1,\",\"b\":[\"]\",\"\\\\\"],\"c\":\"\\\\\"}";
    expect_at(json, "a", "\"}],\\\"b\\\":1,\"");
    expect_at(json, "b", "[\"]\",\"\\\\\"]");
    expect_at(json, "c", "\"\\\\\"");
}
END_TEST

START_TEST(arrays_are_walked_over)
{
    static const char *const wanted[] = {"1", "\"a,b\"", "[2,[3]]", "{\"c\":[4]}", "null", "[]"};
    struct slice rest = at("{\"x\":[1,\"a,b\",[2,[3]],{\"c\":[4]},null,[]]}", "x");
    struct slice element;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        ck_assert(base_json_next(&rest, &element));
        assert_slice(element, base_slice_text(wanted[i]));
    }
    ck_assert(!base_json_next(&rest, &element));
    static const char *const none[] = {"", "[]", "{}", "{\"a\":1}", "\"[1]\"", "1", "null"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        rest = base_slice_text(none[i]);
        ck_assert_msg(!base_json_next(&rest, &element), "%s", none[i]);
    }
}
END_TEST

START_TEST(kinds_are_told_apart)
{
    static const struct {
        const char *json;
        enum base_json_kind kind;
    } values[] = {{"", BASE_JSON_NONE},      {"null", BASE_JSON_NULL}, {"true", BASE_JSON_BOOL},
                  {"false", BASE_JSON_BOOL}, {"-1", BASE_JSON_NUMBER}, {"\"\"", BASE_JSON_STRING},
                  {"[]", BASE_JSON_ARRAY},   {"{}", BASE_JSON_OBJECT}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        ck_assert_int_eq(base_json_kind(base_slice_text(values[i].json)), values[i].kind);
}
END_TEST

static void expect_text(const char *json, const char *wanted)
{
    struct buf out;
    base_buf_init(&out, 64);
    ck_assert_int_eq(base_json_text(base_slice_text(json), &out), ERR_OK);
    assert_buf_text(&out, wanted);
    base_buf_fini(&out);
}

START_TEST(escapes_become_characters)
{
    expect_text("\"\"", "");
    expect_text("\"\\u00fc\"", "\xc3\xbc");
    expect_text("\"\\u20ac\"", "\xe2\x82\xac");
    expect_text("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80");
    expect_text("\"\\u0041\"", "A");
    expect_text("\"\\ud83d\"", "\xef\xbf\xbd");
    expect_text("\"\\ud83d\\u0041\"", "\xef\xbf\xbd");
    expect_text("\"\\u0000\\u001b\\u009f\"", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    expect_text("\"a\\nb\\/c\\\\\\\"\"", "a b/c\\\"");
    expect_text("\"\xc3\xbc\"", "\xc3\xbc");
}
END_TEST

START_TEST(what_is_no_text_adds_nothing)
{
    static const char *const bad[] = {"", "1", "{}", "[\"a\"]", "\"a", "\"a\"b"};
    struct buf out;
    base_buf_init(&out, 8);
    ck_assert_int_eq(base_buf_append_text(&out, "before"), ERR_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(base_json_text(base_slice_text(bad[i]), &out), ERR_INVALID);
        assert_buf_text(&out, "before");
    }
    ck_assert_int_eq(base_json_text(SLICE_LIT("\"too long\""), &out), ERR_TOO_BIG);
    assert_buf_text(&out, "before");
    base_buf_fini(&out);
}
END_TEST

START_TEST(what_is_no_json_is_refused)
{
    static const char *const bad[] = {
        "",
        "{",
        "}",
        "[",
        "[1,]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1",
        "{\"a\":1]",
        "[1}",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "1 2",
        "{\"a\":1}{}",
        "{\"a\":1,}",
        "{1:2}",
        "\"\n\"",
        "[<script>]",
        "{} ",
        "\"\xff\"",
        "[\"a\" ]",
        "\"\\",
        "\"\\u",
        "\"\\ud83d\\\"",
        "\"\\ud83d\\u\"",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(base_json_check(base_slice_text(bad[i])) == ERR_INVALID, "%s", bad[i]);
}
END_TEST

START_TEST(it_nests_as_deep_as_the_limit)
{
    char text[2 * BASE_JSON_DEPTH + 3];
    for (size_t depth = BASE_JSON_DEPTH; depth <= BASE_JSON_DEPTH + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        enum err rc = base_json_check(base_slice(text, 2 * depth));
        ck_assert_int_eq(rc, depth > BASE_JSON_DEPTH ? ERR_INVALID : ERR_OK);
    }
}
END_TEST

Suite *suite_base_json_view(void)
{
    Suite *s = suite_create("base_json_view");
    TCase *c = tcase_create("view");
    tcase_add_test(c, members_are_found_by_their_path);
    tcase_add_test(c, texts_are_no_structure);
    tcase_add_test(c, arrays_are_walked_over);
    tcase_add_test(c, kinds_are_told_apart);
    tcase_add_test(c, escapes_become_characters);
    tcase_add_test(c, what_is_no_text_adds_nothing);
    tcase_add_test(c, what_is_no_json_is_refused);
    tcase_add_test(c, it_nests_as_deep_as_the_limit);
    suite_add_tcase(s, c);
    return s;
}

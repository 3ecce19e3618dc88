/* tests/base/test_json_page.c - pages of JSON, friendly and hostile. */
#include "tests/base/check_base.h"

#include "base/json_page.h"

Suite *suite_base_json_page(void);

static struct buf out;

static void setup(void)
{
    base_buf_init(&out, 65536);
}

static void teardown(void)
{
    base_buf_fini(&out);
}

static const char *page(const char *json)
{
    base_buf_truncate(&out, 0);
    enum err rc = base_json_page(base_slice_text(json), "A <title>", &out);
    ck_assert_msg(rc == ERR_OK, "%s", json);
    ck_assert_int_eq(base_buf_append_byte(&out, 0), ERR_OK);
    const char *body = strstr((const char *)out.ptr, "</h1>");
    ck_assert_ptr_nonnull(body);
    ck_assert_ptr_nonnull(strstr((const char *)out.ptr, "<h1>A &lt;title&gt;</h1>"));
    return body + 5;
}

#define END "</body></html>\n"

START_TEST(values_become_tables_and_lists)
{
    ck_assert_str_eq(page("{}"), "<table></table>" END);
    ck_assert_str_eq(page("[]"), "<ol></ol>" END);
    ck_assert_str_eq(page("{\"a\":1}"), "<table><tr><th>a</th><td>1</td></tr></table>" END);
    ck_assert_str_eq(page("[true,null,-1.5e+3,\"x\"]"),
                     "<ol><li>true</li><li>null</li><li>-1.5e+3</li><li>x</li></ol>" END);
    ck_assert_str_eq(page("{\"a\":[{\"b\":[]},{}],\"c\":\"\"}"),
                     "<table><tr><th>a</th><td><ol><li><table><tr><th>b</th><td><ol></ol></td></tr>"
                     "</table></li><li><table></table></li></ol></td></tr><tr><th>c</th><td></td>"
                     "</tr></table>" END);
}
END_TEST

START_TEST(nothing_of_it_becomes_markup)
{
    const char *body = page("{\"<script>\":\"</td><script>alert('1')&amp;\\\"\\u003cb\\u003e\"}");
    ck_assert_ptr_null(strstr(body, "<script"));
    ck_assert_ptr_null(strstr(body, "<b>"));
    ck_assert_ptr_nonnull(strstr(body, "&lt;script&gt;</th>"));
    ck_assert_ptr_nonnull(strstr(body, "alert(&#39;1&#39;)&amp;amp;&quot;&#60;b&#62;"));
}
END_TEST

START_TEST(escapes_become_characters)
{
    ck_assert_str_eq(page("\"\\u00fc\""), "&#252;" END);
    ck_assert_str_eq(page("\"\\ud83d\\ude00\""), "&#128512;" END);
    ck_assert_str_eq(page("\"\\ud83d\""), "&#65533;" END);
    ck_assert_str_eq(page("\"\\ud83d\\u0041\""), "&#65533;" END);
    ck_assert_str_eq(page("\"\\u0000\\u001b\""), "&#65533;&#65533;" END);
    ck_assert_str_eq(page("\"a\\nb\\/c\\\\\""), "a b/c\\" END);
    ck_assert_str_eq(page("\"\xc3\xbc\""), "\xc3\xbc" END);
}
END_TEST

START_TEST(what_is_no_json_leaves_nothing)
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
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(base_json_page(base_slice_text(bad[i]), "t", &out) == ERR_INVALID, "%s",
                      bad[i]);
        ck_assert_uint_eq(out.len, 0);
    }
}
END_TEST

START_TEST(it_nests_as_deep_as_the_limit)
{
    char text[2 * BASE_PAGE_DEPTH + 3];
    for (size_t depth = BASE_PAGE_DEPTH; depth <= BASE_PAGE_DEPTH + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        enum err rc = base_json_page(base_slice(text, 2 * depth), "t", &out);
        ck_assert_int_eq(rc, depth > BASE_PAGE_DEPTH ? ERR_INVALID : ERR_OK);
    }
}
END_TEST

START_TEST(a_small_buf_keeps_what_it_had)
{
    struct buf small;
    base_buf_init(&small, 100);
    ck_assert_int_eq(base_buf_append_text(&small, "before"), ERR_OK);
    ck_assert_int_eq(base_json_page(SLICE_LIT("{}"), "t", &small), ERR_TOO_BIG);
    assert_buf_text(&small, "before");
    base_buf_fini(&small);
}
END_TEST

Suite *suite_base_json_page(void)
{
    Suite *s = suite_create("base_json_page");
    TCase *c = tcase_create("page");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, values_become_tables_and_lists);
    tcase_add_test(c, nothing_of_it_becomes_markup);
    tcase_add_test(c, escapes_become_characters);
    tcase_add_test(c, what_is_no_json_leaves_nothing);
    tcase_add_test(c, it_nests_as_deep_as_the_limit);
    tcase_add_test(c, a_small_buf_keeps_what_it_had);
    suite_add_tcase(s, c);
    return s;
}

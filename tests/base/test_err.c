/* tests/base/test_err.c - names, detail texts and broken invariants. */
#include "tests/base/check_base.h"

#include <stdio.h>
#include <unistd.h>

Suite *suite_base_err(void);

START_TEST(ok_is_zero)
{
    ck_assert_int_eq(ERR_OK, 0);
}
END_TEST

START_TEST(every_error_has_a_name_of_its_own)
{
    for (int i = 0; i < ERR_COUNT; i++) {
        const char *name = base_err_name((enum err)i);
        ck_assert_ptr_nonnull(name);
        ck_assert_uint_gt(strlen(name), 0);
        ck_assert_str_ne(name, "unknown");
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(name, base_err_name((enum err)j));
    }
    ck_assert_str_eq(base_err_name(ERR_TOO_BIG), "too_big");
    ck_assert_str_eq(base_err_name(ERR_TIMEOUT), "timeout");
}
END_TEST

START_TEST(name_outside_the_enum_is_unknown)
{
    ck_assert_str_eq(base_err_name(ERR_COUNT), "unknown");
    ck_assert_str_eq(base_err_name((enum err)1000), "unknown");
    ck_assert_str_eq(base_err_name((enum err) - 1), "unknown");
}
END_TEST

START_TEST(fail_formats_and_returns_the_code)
{
    struct errbuf eb = {0};
    ck_assert_int_eq(
        base_fail(&eb, ERR_TOO_BIG, "row key is %d bytes; the limit is %d", 5000, 4096),
        ERR_TOO_BIG);
    ck_assert_str_eq(eb.text, "row key is 5000 bytes; the limit is 4096");
}
END_TEST

START_TEST(fail_without_errbuf_returns_the_code)
{
    ck_assert_int_eq(base_fail(NULL, ERR_IO, "%s", "nobody reads this"), ERR_IO);
}
END_TEST

START_TEST(fail_replaces_older_text)
{
    struct errbuf eb = {0};
    (void)base_fail(&eb, ERR_IO, "a long text that was there before");
    (void)base_fail(&eb, ERR_IO, "short");
    ck_assert_str_eq(eb.text, "short");
}
END_TEST

START_TEST(fail_may_wrap_its_own_text)
{
    struct errbuf eb = {0};
    (void)base_fail(&eb, ERR_IO, "disk gone");
    (void)base_fail(&eb, ERR_IO, "reading %s: %s", "schema", eb.text);
    ck_assert_str_eq(eb.text, "reading schema: disk gone");
}
END_TEST

START_TEST(fail_at_puts_the_place_in_front)
{
    struct errbuf eb = {0};
    enum err rc = base_fail(&eb, ERR_INVALID, "\"rows\" must be a number");
    ck_assert_int_eq(base_fail_at(&eb, rc, "tenants[%d]", 2), ERR_INVALID);
    ck_assert_str_eq(eb.text, "tenants[2]: \"rows\" must be a number");
    ck_assert_int_eq(base_fail_at(&eb, ERR_OK, "nowhere"), ERR_OK);
    ck_assert_str_eq(eb.text, "tenants[2]: \"rows\" must be a number");
    ck_assert_int_eq(base_fail_at(NULL, ERR_IO, "nowhere"), ERR_IO);
}
END_TEST

START_TEST(fail_cuts_at_the_end_of_the_errbuf)
{
    char text[2 * ERRBUF_BYTES];
    memset(text, 'x', sizeof text);
    for (int len = ERRBUF_BYTES - 2; len <= ERRBUF_BYTES + 1; len++) {
        struct errbuf eb = {0};
        (void)base_fail(&eb, ERR_IO, "%.*s", len, text);
        ck_assert_uint_eq(strlen(eb.text), len < ERRBUF_BYTES ? len : ERRBUF_BYTES - 1);
    }
}
END_TEST

START_TEST(fail_never_cuts_a_character_in_half)
{
    static const char EURO[] = "\xe2\x82\xac";
    for (int offset = 0; offset < 3; offset++) {
        char text[ERRBUF_BYTES + 64];
        memset(text, 'x', 3);
        int len = offset;
        while (len + 3 < (int)sizeof text) {
            memcpy(text + len, EURO, 3);
            len += 3;
        }
        struct errbuf eb = {0};
        (void)base_fail(&eb, ERR_IO, "%.*s", len, text);
        size_t kept = strlen(eb.text);
        ck_assert_uint_gt(kept, ERRBUF_BYTES - 4);
        ck_assert_uint_eq((kept - offset) % 3, 0);
    }
}
END_TEST

START_TEST(true_invariant_does_nothing)
{
    INVARIANT(1 + 1 == 2);
}
END_TEST

START_TEST(broken_invariant_aborts)
{
    INVARIANT(1 + 1 == 3);
}
END_TEST

START_TEST(panic_says_where_and_what)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = check_fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        base_panic("base/some.c", 42, "a < b");
    }
    close(ends[1]);
    char text[256] = "";
    ssize_t n = read(ends[0], text, sizeof text - 1);
    ck_assert_int_gt(n, 0);
    ck_assert_str_eq(text, "panic base/some.c:42: a < b\n");
}
END_TEST

START_TEST(panic_with_endless_text_still_aborts)
{
    char text[4096];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    base_panic("file", 1, text);
}
END_TEST

Suite *suite_base_err(void)
{
    Suite *suite = suite_create("base_err");
    TCase *names = tcase_create("names");
    tcase_add_test(names, ok_is_zero);
    tcase_add_test(names, every_error_has_a_name_of_its_own);
    tcase_add_test(names, name_outside_the_enum_is_unknown);
    suite_add_tcase(suite, names);
    TCase *fail = tcase_create("fail");
    tcase_add_test(fail, fail_formats_and_returns_the_code);
    tcase_add_test(fail, fail_without_errbuf_returns_the_code);
    tcase_add_test(fail, fail_replaces_older_text);
    tcase_add_test(fail, fail_may_wrap_its_own_text);
    tcase_add_test(fail, fail_at_puts_the_place_in_front);
    tcase_add_test(fail, fail_cuts_at_the_end_of_the_errbuf);
    tcase_add_test(fail, fail_never_cuts_a_character_in_half);
    suite_add_tcase(suite, fail);
    TCase *panic = tcase_create("panic");
    tcase_add_test(panic, true_invariant_does_nothing);
    tcase_add_test_raise_signal(panic, broken_invariant_aborts, SIGABRT);
    tcase_add_test(panic, panic_says_where_and_what);
    tcase_add_test_raise_signal(panic, panic_with_endless_text_still_aborts, SIGABRT);
    suite_add_tcase(suite, panic);
    return suite;
}

/*
 * tests/storage/test_pattern.c - RE2 as Bigtable uses it, and nothing of C++ to be seen.
 */
#include <check.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "storage/pattern.h"
#include "tests/support/random.h"

#include "base/banned.h"

#define MEMORY (64 * KIB)

static bool pattern_matches(const struct sto_pattern *p, struct slice bytes)
{
    struct sto_match match;
    ck_assert_int_eq(sto_pattern_match(p, bytes, &match), ERR_OK);
    return match.yes;
}

static bool matches(struct slice text, struct slice bytes)
{
    struct sto_pattern *p = NULL;
    ck_assert_int_eq(sto_pattern_compile(text, MEMORY, &p, NULL), ERR_OK);
    bool is_match = pattern_matches(p, bytes);
    sto_pattern_free(p);
    return is_match;
}

#define MATCHES(text, bytes) matches(SLICE_LIT(text), SLICE_LIT(bytes))

START_TEST(the_whole_text_must_match)
{
    ck_assert(MATCHES("abc", "abc"));
    ck_assert(!MATCHES("abc", "abcd"));
    ck_assert(!MATCHES("abc", "xabc"));
    ck_assert(!MATCHES("a|ab", "abc"));
    ck_assert(MATCHES("a|ab", "ab"));
    ck_assert(!MATCHES("b+", "abbb"));
    ck_assert(MATCHES("^b+$", "bbb"));
    ck_assert(MATCHES("", ""));
    ck_assert(!MATCHES("", "a"));
    ck_assert(MATCHES(".*", ""));
}
END_TEST

START_TEST(a_dot_is_no_line_feed_and_backslash_C_is_any_byte)
{
    ck_assert(MATCHES("a.c", "abc"));
    ck_assert(!MATCHES("a.c", "a\nc"));
    ck_assert(MATCHES("(?s)a.c", "a\nc"));
    ck_assert(MATCHES("a\\Cc", "a\nc"));
    ck_assert(MATCHES("\\C*", "\xff\n\x80"));
}
END_TEST

START_TEST(characters_are_single_bytes)
{
    ck_assert(MATCHES(".", "\xe9"));
    ck_assert(!MATCHES(".", "\xc3\xa9"));
    ck_assert(MATCHES("..", "\xc3\xa9"));
    ck_assert(MATCHES("[\xe0-\xff]", "\xe9"));
    ck_assert(MATCHES("\xff\xfe.", "\xff\xfe\x80"));
    ck_assert(MATCHES("\\xff", "\xff"));
    ck_assert(matches(base_slice("a\0.", 3), base_slice("a\0b", 3)));
    ck_assert(matches(SLICE_LIT("a\\x00b"), base_slice("a\0b", 3)));
}
END_TEST

START_TEST(a_text_without_special_characters_is_compared)
{
    ck_assert(matches(base_slice("a\0\xff:", 4), base_slice("a\0\xff:", 4)));
    ck_assert(!matches(base_slice("a\0\xff:", 4), base_slice("a\1\xff:", 4)));
    static const char special[] = "\\^$.|?*+()[]{}";
    for (unsigned c = 1; c < 256; c++) {
        char text[2] = {(char)c, 0};
        struct sto_pattern *p = NULL;
        enum err e = sto_pattern_compile(base_slice(text, 1), MEMORY, &p, NULL);
        if (strchr(special, (int)c) == NULL)
            ck_assert(e == ERR_OK && pattern_matches(p, base_slice(text, 1)));
        else if (e == ERR_OK && c != ']' && c != '}' && c != '{' && c != '.')
            ck_assert(!pattern_matches(p, base_slice(text, 1)));
        sto_pattern_free(p);
    }
}
END_TEST

START_TEST(quoted_texts_are_literal)
{
    ck_assert(sto_pattern_is_literal(SLICE_LIT("")));
    ck_assert(sto_pattern_is_literal(SLICE_LIT("cf-1:a_b \xff")));
    ck_assert(sto_pattern_is_literal(SLICE_LIT("a\\.b\\-c\\\\\\x00\\\n")));
    static const char *const regexes[] = {".",   "a\\", "\\C",    "\\_", "\\x01", "\\x0",
                                          "\\1", "a|b", "\\\xff", "[a]", "a\\.*"};
    for (size_t i = 0; i < sizeof regexes / sizeof regexes[0]; i++)
        ck_assert_msg(!sto_pattern_is_literal(base_slice_text(regexes[i])), "%s", regexes[i]);
    ck_assert(matches(SLICE_LIT("a\\.\\x00b\\\\"), base_slice("a.\0b\\", 5)));
    ck_assert(!matches(SLICE_LIT("a\\.\\x00b"), base_slice("ax\0b", 4)));
}
END_TEST

START_TEST(errors_give_the_reason_and_not_the_text)
{
    static const struct {
        const char *text;
        const char *reason;
    } bad[] = {
        {"secret(", "missing )"},
        {"secret)", "unexpected )"},
        {"secret[z-a]", "invalid character class range"},
        {"[secret", "missing ]"},
        {"secret**", "bad repetition operator"},
        {"*", "no argument for repetition operator"},
        {"secret\\8", "invalid escape sequence"},
        {"secret\\", "trailing \\"},
        {"secret{1001}", "invalid repetition size"},
        {"(?P<secret", "invalid named capture group"},
        {"(?=secret)", "invalid perl operator"},
        {"(secret)\\1", "invalid escape sequence"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sto_pattern *p = NULL;
        struct errbuf eb = {{0}};
        ck_assert_int_eq(sto_pattern_compile(base_slice_text(bad[i].text), MEMORY, &p, &eb),
                         ERR_INVALID);
        ck_assert_ptr_null(p);
        ck_assert_ptr_nonnull(strstr(eb.text, bad[i].reason));
        ck_assert_ptr_null(strstr(eb.text, "secret"));
    }
}
END_TEST

START_TEST(memory_is_bounded)
{
    struct sto_pattern *p = NULL;
    struct errbuf eb = {{0}};
    struct slice large = SLICE_LIT("(\\pL{100}){10}");
    ck_assert_int_eq(sto_pattern_compile(large, MEMORY, &p, &eb), ERR_TOO_BIG);
    ck_assert_ptr_nonnull(strstr(eb.text, "65536"));
    ck_assert_ptr_null(p);
    ck_assert_int_eq(sto_pattern_compile(large, 16 * MIB, &p, &eb), ERR_OK);
    sto_pattern_free(p);
    ck_assert_int_eq(sto_pattern_compile(SLICE_LIT("name-only"), 1, &p, &eb), ERR_OK);
    sto_pattern_free(p);
    ck_assert_int_eq(sto_pattern_compile(SLICE_LIT("a+"), 1, &p, &eb), ERR_TOO_BIG);
    sto_pattern_free(NULL);
}
END_TEST

/* Quadratic matching of the first would take minutes; of the others, longer than the universe. */
START_TEST(hostile_patterns_take_linear_time)
{
    static const char *const hostile[] = {"(a*)*b",    "(a|a)*b",  "(a|aa)+b", "(.*)(.*)(.*)(.*)b",
                                          "((a*)*)*b", ".*a.{12}b"};
    size_t len = 100 * KIB;
    uint8_t *bytes = base_new(len);
    memset(bytes, 'a', len);
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++)
        ck_assert(!matches(base_slice_text(hostile[i]), base_slice(bytes, len)));
    bytes[len - 1] = 'b';
    ck_assert(MATCHES("(a*)*b", "aaab"));
    ck_assert(matches(SLICE_LIT("(a*)*b"), base_slice(bytes, len)));
    base_free(bytes);
}
END_TEST

/* --- states -----------------------------------------------------------------------------------
 */

enum { LARGE = 4 * MIB };

/* Bytes of which each takes a pattern of the kind .*a.{n} to a state that was not there before. */
static struct slice large_make(void)
{
    struct random r = {11};
    uint8_t *bytes = base_new(LARGE);
    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = "ab"[random_below(&r, 2)];
    return base_slice(bytes, LARGE);
}

/* RE2 alone simulates all of these, at 0.1 to 6 us a byte: more than a minute of work. */
START_TEST(a_pattern_of_too_many_states_is_refused_and_not_simulated)
{
    static const char *const patterns[] = {"(a|b)*a(a|b){12}",      "(a|b)*a(a|b){200}",
                                           "(?s).*a.{50}b.{50}c.*", "(?s)(.*a.{900})",
                                           "(a?){500}a{500}b",      "(?s).*[ab]{500}x.*"};
    struct slice bytes = large_make();
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        struct sto_pattern *p = NULL;
        struct sto_match match = {0};
        ck_assert_int_eq(sto_pattern_compile(base_slice_text(patterns[i]),
                                             LIM_FILTER_REGEX_BYTES / 16, &p, NULL),
                         ERR_OK);
        uint64_t began_ns = base_thread_cpu_ns();
        ck_assert_msg(sto_pattern_match(p, bytes, &match) == ERR_TOO_BIG, "%s", patterns[i]);
        ck_assert_uint_lt(base_thread_cpu_ns() - began_ns,
                          2000000000); /* simulated: 400 ms to 20 s */
        ck_assert(!match.yes);
        ck_assert_uint_gt(match.work_ns, LARGE);
        /* It is whole behind that. */
        ck_assert(!pattern_matches(p, SLICE_LIT("no")));
        ck_assert_int_eq(sto_pattern_match(p, bytes, &match), ERR_TOO_BIG);
        sto_pattern_free(p);
    }
    base_free((void *)(uintptr_t)bytes.ptr);
}
END_TEST

START_TEST(a_pattern_of_few_states_matches_large_values)
{
    static const char *const patterns[] = {"\\C*b\\C*", "(?i).*NEEDLE.*", "(?s).*x{50}.*", "[ab]*",
                                           "(a|b)*a(a|b){5}(a|b)*"};
    struct slice bytes = large_make();
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        struct sto_pattern *p = NULL;
        struct sto_match match = {0};
        ck_assert_int_eq(sto_pattern_compile(base_slice_text(patterns[i]),
                                             LIM_FILTER_REGEX_BYTES / 16, &p, NULL),
                         ERR_OK);
        ck_assert_msg(sto_pattern_match(p, bytes, &match) == ERR_OK, "%s", patterns[i]);
        ck_assert_int_eq(match.yes, i == 0 || i >= 3);
        ck_assert_uint_eq(match.work_ns, sto_pattern_match_ns(LARGE));
        sto_pattern_free(p);
    }
    base_free((void *)(uintptr_t)bytes.ptr);
}
END_TEST

/* Where the heap counts. They are made once. */
START_TEST(states_are_told_when_they_are_made)
{
    struct sto_pattern *p = NULL;
    struct sto_match match = {0};
    uint64_t before = base_alloc_of_thread();
    void *any = base_new(1);
    bool is_counted = base_alloc_of_thread() != before;
    base_free(any);
    struct slice bytes = large_make();
    ck_assert_int_eq(sto_pattern_compile(SLICE_LIT("(a|b)*a(a|b){5}(a|b)*"), MIB, &p, NULL),
                     ERR_OK);
    ck_assert_int_eq(sto_pattern_match(p, bytes, &match), ERR_OK);
    ck_assert_int_eq(match.state_bytes > (int64_t)KIB, is_counted);
    ck_assert_int_le(match.state_bytes, (int64_t)MIB);
    ck_assert_int_eq(sto_pattern_match(p, bytes, &match), ERR_OK);
    ck_assert_int_eq(match.state_bytes, 0);
    sto_pattern_free(p);
    base_free((void *)(uintptr_t)bytes.ptr);
}
END_TEST

/* As in filters of many patterns, each with a small share of memory. */
START_TEST(short_texts_match_whatever_the_states)
{
    static const struct {
        const char *pattern;
        const char *text;
        bool yes;
    } cases[] = {
        {"(a|b)*a(a|b){12}", "abbabbabbaabbaabababb", false},
        {"(a|b)*a(a|b){12}", "abbabbabaaabbaabababb", true},
        {"(?i)(?s).*(alpha|beta|gamma|delta)[0-9]{5,20}.*", "of DELTA0123456789", true},
        {"(?i)(?s).*(alpha|beta|gamma|delta)[0-9]{5,20}.*", "of DELTA0123", false},
        {"(?s)(.*a.{90})", "a and not ninety more", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sto_pattern *p = NULL;
        ck_assert_int_eq(sto_pattern_compile(base_slice_text(cases[i].pattern),
                                             LIM_FILTER_REGEX_BYTES / LIM_FILTER_REGEXES, &p, NULL),
                         ERR_OK);
        ck_assert_msg(pattern_matches(p, base_slice_text(cases[i].text)) == cases[i].yes, "%s",
                      cases[i].text);
        sto_pattern_free(p);
    }
}
END_TEST

START_TEST(weights_say_what_compiling_takes)
{
    static const struct {
        const char *pattern;
        uint64_t weight;
    } cases[] = {{"literal", 0},
                 {"a\\.b", 0},
                 {"a.*", 3},
                 {"a{3}", 12},
                 {".{10}.{2,20}", 2400},
                 {"a{", 2},
                 {"(\\pL{100}){10}", 114000},
                 {"\\PL.", 104},
                 {".{1000}{1000}", 1000000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_uint_eq(sto_pattern_weight(base_slice_text(cases[i].pattern)), cases[i].weight);
    ck_assert_uint_eq(sto_pattern_classes(SLICE_LIT("[\\pL\\P{Greek}]\\d")), 2);
    ck_assert_uint_eq(sto_pattern_classes(SLICE_LIT("p\\")), 0);
}
END_TEST

/* --- ranges -----------------------------------------------------------------------------------
 */

START_TEST(a_prefix_is_known_from_the_pattern)
{
    struct sto_pattern *p = NULL;
    uint8_t min[STO_PATTERN_RANGE_MAX];
    uint8_t max[STO_PATTERN_RANGE_MAX];
    size_t min_len = 0;
    size_t max_len = 0;
    ck_assert_int_eq(sto_pattern_compile(SLICE_LIT("abc.*"), MEMORY, &p, NULL), ERR_OK);
    ck_assert(sto_pattern_range(p, min, &min_len, max, &max_len));
    ck_assert(base_slice_is(base_slice(min, min_len), "abc"));
    ck_assert_int_lt(base_slice_compare(base_slice(max, max_len), SLICE_LIT("abe")), 0);
    sto_pattern_free(p);
    ck_assert_int_eq(sto_pattern_compile(SLICE_LIT("abc"), MEMORY, &p, NULL), ERR_OK);
    ck_assert(sto_pattern_range(p, min, &min_len, max, &max_len));
    ck_assert(base_slice_is(base_slice(min, min_len), "abc"));
    ck_assert(base_slice_is(base_slice(max, max_len), "abc"));
    sto_pattern_free(p);
    ck_assert_int_eq(sto_pattern_compile(SLICE_LIT(".*c"), MEMORY, &p, NULL), ERR_OK);
    ck_assert(!sto_pattern_range(p, min, &min_len, max, &max_len));
    sto_pattern_free(p);
}
END_TEST

START_TEST(long_texts_have_bounds_that_fit_or_none)
{
    char text[STO_PATTERN_RANGE_MAX + 2];
    memset(text, 'a', sizeof text);
    uint8_t min[STO_PATTERN_RANGE_MAX];
    uint8_t max[STO_PATTERN_RANGE_MAX];
    size_t min_len = 0;
    size_t max_len = 0;
    for (size_t len = STO_PATTERN_RANGE_MAX - 1; len <= STO_PATTERN_RANGE_MAX + 1; len++) {
        struct sto_pattern *p = NULL;
        ck_assert_int_eq(sto_pattern_compile(base_slice(text, len), MEMORY, &p, NULL), ERR_OK);
        ck_assert_int_eq(sto_pattern_range(p, min, &min_len, max, &max_len),
                         len <= STO_PATTERN_RANGE_MAX);
        sto_pattern_free(p);
    }
}
END_TEST

static size_t random_pattern(struct random *r, char *out, size_t max)
{
    static const char *const parts[] = {
        "a", "b",  "\xff", "\xfe",  "\\C", ".", "[ab]",  "[^a]",   "a*",     "b+",  "a?",  "(ab)",
        "|", "\n", "a{2}", "(?i)b", "^",   "$", "\\x00", "(a|b)*", "\\xff+", "\\.", "\\\n"};
    size_t len = 0;
    for (uint32_t n = random_below(r, 6); n > 0; n--) {
        const char *part = parts[random_below(r, sizeof parts / sizeof parts[0])];
        if (len + strlen(part) <= max)
            memcpy(out + len, part, strlen(part));
        len += len + strlen(part) <= max ? strlen(part) : 0;
    }
    return len;
}

static size_t random_text(struct random *r, uint8_t *out, size_t max)
{
    static const uint8_t bytes[] = {'a', 'b', 'B', 0xff, 0xfe, 0, '\n'};
    size_t len = random_below(r, (uint32_t)max + 1);
    for (size_t i = 0; i < len; i++)
        out[i] = bytes[random_below(r, random_below(r, 2) == 0 ? 2 : sizeof bytes)];
    return len;
}

/* The same pattern with little memory, with much, and in a group must agree; and what matches lies
 * in the range. */
START_TEST(what_matches_lies_in_the_range)
{
    struct random r = {7};
    size_t matched = 0;
    for (int i = 0; i < 20000; i++) {
        char text[80];
        size_t len = random_pattern(&r, text + 3, 64);
        struct sto_pattern *p = NULL;
        struct sto_pattern *grouped = NULL;
        memcpy(text, "(?:", 3);
        text[len + 3] = ')';
        if (sto_pattern_compile(base_slice(text + 3, len), 4096, &p, NULL) != ERR_OK ||
            sto_pattern_compile(base_slice(text, len + 4), MIB, &grouped, NULL) != ERR_OK)
            ck_abort_msg("case %d is refused", i);
        uint8_t min[STO_PATTERN_RANGE_MAX];
        uint8_t max[STO_PATTERN_RANGE_MAX];
        size_t min_len = 0;
        size_t max_len = 0;
        bool is_bounded = sto_pattern_range(p, min, &min_len, max, &max_len);
        for (int k = 0; k < 20; k++) {
            uint8_t bytes[8];
            struct slice s = base_slice(bytes, random_text(&r, bytes, sizeof bytes));
            bool is_match = pattern_matches(p, s);
            matched += is_match;
            if (is_match != pattern_matches(grouped, s))
                ck_abort_msg("case %d differs in a group", i);
            if (is_match && is_bounded &&
                (base_slice_compare(s, base_slice(min, min_len)) < 0 ||
                 base_slice_compare(s, base_slice(max, max_len)) > 0))
                ck_abort_msg("case %d matches outside its range", i);
        }
        sto_pattern_free(p);
        sto_pattern_free(grouped);
    }
    ck_assert_uint_gt(matched, 10000);
}
END_TEST

Suite *suite_storage_pattern(void);
Suite *suite_storage_pattern(void)
{
    Suite *suite = suite_create("storage_pattern");
    TCase *tc = tcase_create("matching");
    tcase_add_test(tc, the_whole_text_must_match);
    tcase_add_test(tc, a_dot_is_no_line_feed_and_backslash_C_is_any_byte);
    tcase_add_test(tc, characters_are_single_bytes);
    tcase_add_test(tc, a_text_without_special_characters_is_compared);
    tcase_add_test(tc, quoted_texts_are_literal);
    suite_add_tcase(suite, tc);
    tc = tcase_create("limits");
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, errors_give_the_reason_and_not_the_text);
    tcase_add_test(tc, memory_is_bounded);
    tcase_add_test(tc, hostile_patterns_take_linear_time);
    tcase_add_test(tc, a_pattern_of_too_many_states_is_refused_and_not_simulated);
    tcase_add_test(tc, a_pattern_of_few_states_matches_large_values);
    tcase_add_test(tc, states_are_told_when_they_are_made);
    tcase_add_test(tc, short_texts_match_whatever_the_states);
    tcase_add_test(tc, weights_say_what_compiling_takes);
    suite_add_tcase(suite, tc);
    tc = tcase_create("range");
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, a_prefix_is_known_from_the_pattern);
    tcase_add_test(tc, long_texts_have_bounds_that_fit_or_none);
    tcase_add_test(tc, what_matches_lies_in_the_range);
    suite_add_tcase(suite, tc);
    return suite;
}

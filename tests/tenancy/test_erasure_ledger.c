/* tests/tenancy/test_erasure_ledger.c - lines that stay, in two files, through crashes. */
#define _GNU_SOURCE

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sealed_line.h"
#include "tenancy/erasure_ledger.h"
#include "tests/tenancy/tent.h"

#include "base/banned.h"

static struct tent tent; /* its directory only */
static char path[300];
static char mirror[300];
static struct errbuf eb;

static void setup(void)
{
    tent_make(&tent);
    (void)snprintf(path, sizeof path, "%s/%s", tent.dir, TEN_LEDGER_FILE);
    (void)snprintf(mirror, sizeof mirror, "%s/copy.ndjson", tent.dir);
}

static void teardown(void)
{
    tent_remove(&tent);
}

static struct ten_erasure_ledger *open_ledger(const char *with_mirror)
{
    struct ten_erasure_ledger *l = NULL;
    enum err rc = ten_erasure_ledger_open(path, with_mirror, &l, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    return l;
}

static const char *line_of(const char *tenant, const char *event, const char *previous)
{
    static char line[512];
    (void)snprintf(line, sizeof line,
                   "{\"event\":\"%s\",\"job\":\"0123456789abcdef\",\"previous\":\"%s\","
                   "\"purged\":\"2026-11-20T10:00:00.123Z\",\"tenant\":\"%s\"}",
                   event, previous, tenant);
    return line;
}

static enum err append(struct ten_erasure_ledger *l, const char *tenant)
{
    const char *line = line_of(tenant, "purged", ten_erasure_ledger_head(l));
    return ten_erasure_ledger_append(l, base_slice_text(line), &eb);
}

static void fill(const char *with_mirror, int from, int to)
{
    char tenant[32];
    struct ten_erasure_ledger *l = open_ledger(with_mirror);
    for (int i = from; i < to; i++) {
        (void)snprintf(tenant, sizeof tenant, "tenant%d", i);
        ck_assert_int_eq(append(l, tenant), ERR_OK);
    }
    ten_erasure_ledger_close(l);
}

struct seen {
    int count;
    struct ten_erasure last;
    enum err answer;
};

static enum err see(void *ctx, const struct ten_erasure *erasure, struct slice line)
{
    struct seen *s = ctx;
    ck_assert_uint_gt(line.len, 0);
    ck_assert_int_eq(line.ptr[line.len - 1], '}');
    s->count++;
    s->last = *erasure;
    return s->answer;
}

static enum err read_ledger(const char *file, struct seen *s)
{
    *s = (struct seen){.count = 0};
    return ten_erasure_ledger_read(file, see, s, &eb);
}

static int count(const char *file)
{
    struct seen s;
    enum err rc = read_ledger(file, &s);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    return s.count;
}

static struct buf content(const char *file)
{
    struct buf b;
    ck_assert_int_eq(base_file_read(file, MIB, &b, &eb), ERR_OK);
    return b;
}

static void check_equal(void)
{
    struct buf a = content(path);
    struct buf b = content(mirror);
    ck_assert(base_slice_equal(base_buf_slice(&a), base_buf_slice(&b)));
    base_buf_fini(&a);
    base_buf_fini(&b);
}

static void put(const char *file, struct slice bytes)
{
    ck_assert_int_eq(base_file_replace(file, bytes, 0600, &eb), ERR_OK);
}

/* --- lines ------------------------------------------------------------------------------------ */

START_TEST(lines_are_read_as_they_were_appended)
{
    struct seen s;
    struct ten_erasure_ledger *l = open_ledger(NULL);
    ck_assert_str_eq(ten_erasure_ledger_head(l),
                     "0000000000000000000000000000000000000000000000000000000000000000");
    ck_assert_int_eq(append(l, "altostrat"), ERR_OK);
    const char *line = line_of("altostrat", "expired", ten_erasure_ledger_head(l));
    struct base_audit_hash h = base_line_hash(base_slice_text(line));
    char hex[BASE_AUDIT_HEX + 1];
    base_audit_hex(&h, hex);
    ck_assert_int_eq(ten_erasure_ledger_append(l, base_slice_text(line), &eb), ERR_OK);
    ck_assert_str_eq(ten_erasure_ledger_head(l), hex);
    ten_erasure_ledger_close(l);
    ck_assert_int_eq(read_ledger(path, &s), ERR_OK);
    ck_assert_int_eq(s.count, 2);
    ck_assert_str_eq(s.last.tenant, "altostrat");
    ck_assert_str_eq(s.last.job, "0123456789abcdef");
    ck_assert(s.last.is_expired);
    ck_assert_int_eq(s.last.purged_us, 1795168800123000);
    l = open_ledger(NULL);
    ck_assert_str_eq(ten_erasure_ledger_head(l), hex);
    ten_erasure_ledger_close(l);
}
END_TEST

START_TEST(a_file_that_is_not_there_has_no_lines)
{
    ck_assert_int_eq(count(path), 0);
    ten_erasure_ledger_close(open_ledger(NULL));
    ck_assert_int_eq(count(path), 0);
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
}
END_TEST

START_TEST(a_visitor_may_end_it)
{
    struct seen s = {.answer = ERR_CANCELLED};
    fill(NULL, 0, 3);
    ck_assert_int_eq(ten_erasure_ledger_read(path, see, &s, &eb), ERR_CANCELLED);
    ck_assert_int_eq(s.count, 1);
}
END_TEST

START_TEST(many_lines_take_several_reads)
{
    fill(mirror, 0, 700); /* more than two chunks */
    ck_assert_int_eq(count(path), 700);
    ck_assert_int_eq(count(mirror), 700);
    check_equal();
}
END_TEST

/* --- what is refused -------------------------------------------------------------------------- */

START_TEST(what_is_no_certificate_is_refused_and_leaves_nothing)
{
    static const char head[] = "0000000000000000000000000000000000000000000000000000000000000000";
    struct ten_erasure_ledger *l = open_ledger(mirror);
    char line[600];
    static const char *const bad[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"a\":1}\n",
        "{\"event\":\"purged\",\"job\":\"0123456789abcdef\",\"purged\":\"2026-11-20T10:00:00Z\","
        "\"tenant\":\"aa\"}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(ten_erasure_ledger_append(l, base_slice_text(bad[i]), &eb), ERR_CORRUPT);
    static const struct {
        const char *from, *to;
    } changes[] = {
        {"purged", "burned"},          {"0123456789abcdef", "0123456789abcde"},
        {"altostrat", "alto#strat"},   {"altostrat", "a"},
        {"2026-11-20", "2026-13-20"},  {"\"tenant\"", "\"other\""},
        {"altostrat", "x\\u0000abcd"}, {"0000", "0001"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const char *good = line_of("altostrat", "purged", head);
        const char *at = strstr(good, changes[i].from);
        ck_assert_ptr_nonnull(at);
        (void)snprintf(line, sizeof line, "%.*s%s%s", (int)(at - good), good, changes[i].to,
                       at + strlen(changes[i].from));
        ck_assert_msg(ten_erasure_ledger_append(l, base_slice_text(line), &eb) == ERR_CORRUPT, "%s",
                      line);
    }
    ck_assert_str_eq(ten_erasure_ledger_head(l), head);
    ck_assert_int_eq(append(l, "altostrat"), ERR_OK);
    ten_erasure_ledger_close(l);
    ck_assert_int_eq(count(path), 1);
}
END_TEST

START_TEST(a_line_may_be_as_long_as_the_limit)
{
    struct ten_erasure_ledger *l = open_ledger(NULL);
    struct buf line;
    base_buf_init(&line, TEN_CERTIFICATE_MAX + 1);
    (void)base_buf_append_text(&line, line_of("altostrat", "purged", ten_erasure_ledger_head(l)));
    while (line.len <= TEN_CERTIFICATE_MAX)
        (void)base_buf_append_byte(&line, ' ');
    ck_assert_int_eq(ten_erasure_ledger_append(l, base_buf_slice(&line), &eb), ERR_CORRUPT);
    line.len--;
    ck_assert_int_eq(ten_erasure_ledger_append(l, base_buf_slice(&line), &eb), ERR_OK);
    base_buf_fini(&line);
    ten_erasure_ledger_close(l);
    ck_assert_int_eq(access(path, F_OK), 0);
    ten_erasure_ledger_close(open_ledger(NULL));
}
END_TEST

START_TEST(a_broken_chain_is_noticed_wherever_it_breaks)
{
    struct seen s;
    struct ten_erasure_ledger *l = NULL;
    fill(NULL, 0, 3);
    struct buf whole = content(path);
    size_t line = whole.len / 3;
    struct slice cuts[] = {base_slice(whole.ptr + line, 2 * line), /* the first is missing */
                           base_slice(whole.ptr, whole.len)};
    for (size_t i = 0; i < 2; i++) {
        struct buf bytes;
        base_buf_init(&bytes, MIB);
        (void)base_buf_append(&bytes, cuts[i]);
        if (i == 1) /* tenant0 becomes tenant9 */
            memcpy(strstr((char *)bytes.ptr, "tenant0"), "tenant9", 7);
        put(path, base_buf_slice(&bytes));
        base_buf_fini(&bytes);
        ck_assert_int_eq(read_ledger(path, &s), ERR_CORRUPT);
        ck_assert_ptr_nonnull(strstr(eb.text, i == 0 ? "line 1" : "line 2"));
        ck_assert_int_eq(ten_erasure_ledger_open(path, NULL, &l, &eb), ERR_CORRUPT);
        struct buf after = content(path);
        ck_assert_uint_eq(after.len, cuts[i].len); /* untouched */
        base_buf_fini(&after);
    }
    base_buf_fini(&whole);
}
END_TEST

/* --- crashes ---------------------------------------------------------------------------------- */

START_TEST(a_torn_last_line_is_cut_off_wherever_it_is_torn)
{
    fill(NULL, 0, 3);
    struct buf whole = content(path);
    size_t line = whole.len / 3;
    for (size_t len = 2 * line; len < whole.len; len += 7) {
        put(path, base_slice(whole.ptr, len));
        ck_assert_int_eq(count(path), 2);
        ten_erasure_ledger_close(open_ledger(NULL));
        struct buf after = content(path);
        ck_assert_uint_eq(after.len, 2 * line);
        base_buf_fini(&after);
        fill(NULL, 3, 4);
        ck_assert_int_eq(count(path), 3);
    }
    base_buf_fini(&whole);
}
END_TEST

START_TEST(a_copy_that_is_behind_is_caught_up)
{
    fill(NULL, 0, 3);
    fill(mirror, 3, 4);
    ck_assert_int_eq(count(mirror), 4);
    struct buf whole = content(path);
    put(mirror, base_slice(whole.ptr, whole.len / 4 + 9)); /* a line, and one that is torn */
    base_buf_fini(&whole);
    fill(mirror, 4, 5);
    ck_assert_int_eq(count(path), 5);
    check_equal();
}
END_TEST

START_TEST(a_copy_that_is_ahead_gives_its_lines)
{
    fill(mirror, 0, 3);
    struct buf whole = content(path);
    put(path, base_slice(whole.ptr, whole.len / 3)); /* restored from long ago */
    base_buf_fini(&whole);
    fill(mirror, 3, 4);
    ck_assert_int_eq(count(path), 4);
    check_equal();
    ck_assert_int_eq(unlink(path), 0);
    ten_erasure_ledger_close(open_ledger(mirror));
    check_equal();
}
END_TEST

START_TEST(two_different_stories_are_refused)
{
    struct ten_erasure_ledger *l = NULL;
    fill(NULL, 0, 2);
    ck_assert_int_eq(rename(path, mirror), 0);
    fill(NULL, 5, 8);
    ck_assert_int_eq(ten_erasure_ledger_open(path, mirror, &l, &eb), ERR_CORRUPT);
    ck_assert_int_eq(count(path), 3);
    ck_assert_int_eq(count(mirror), 2);
}
END_TEST

/* RLIMIT_FSIZE stands in for a full disk. */
START_TEST(an_append_that_fails_is_taken_back_and_may_be_tried_again)
{
    struct rlimit limit, old;
    struct ten_erasure_ledger *l = open_ledger(mirror);
    ck_assert_int_eq(append(l, "altostrat"), ERR_OK);
    struct buf one = content(path);
    ck_assert_ptr_ne(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = (struct rlimit){.rlim_cur = one.len + 20, .rlim_max = old.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(append(l, "tenant2"), ERR_IO);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    ck_assert_int_eq(count(path), 1);
    check_equal();
    struct buf after = content(path);
    ck_assert_uint_eq(after.len, one.len);
    ck_assert_int_eq(append(l, "tenant2"), ERR_OK);
    ck_assert_int_eq(count(path), 2);
    check_equal();
    base_buf_fini(&one);
    base_buf_fini(&after);
    ten_erasure_ledger_close(l);
}
END_TEST

Suite *suite_tenancy_erasure_ledger(void);
Suite *suite_tenancy_erasure_ledger(void)
{
    Suite *s = suite_create("tenancy_erasure_ledger");
    TCase *c = tcase_create("lines");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, lines_are_read_as_they_were_appended);
    tcase_add_test(c, a_file_that_is_not_there_has_no_lines);
    tcase_add_test(c, a_visitor_may_end_it);
    tcase_add_test(c, many_lines_take_several_reads);
    tcase_add_test(c, what_is_no_certificate_is_refused_and_leaves_nothing);
    tcase_add_test(c, a_line_may_be_as_long_as_the_limit);
    tcase_add_test(c, a_broken_chain_is_noticed_wherever_it_breaks);
    suite_add_tcase(s, c);
    c = tcase_create("crashes");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, a_torn_last_line_is_cut_off_wherever_it_is_torn);
    tcase_add_test(c, a_copy_that_is_behind_is_caught_up);
    tcase_add_test(c, a_copy_that_is_ahead_gives_its_lines);
    tcase_add_test(c, two_different_stories_are_refused);
    tcase_add_test(c, an_append_that_fails_is_taken_back_and_may_be_tried_again);
    suite_add_tcase(s, c);
    return s;
}

/* tests/base/test_log.c - one line per event, whatever is in it. */
#include "tests/base/check_base.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/support/process.h"

Suite *suite_base_log(void);

#define LINE_BYTES 1024

static int output_fd;

static void catch_stderr(void)
{
    char dir[PROCESS_PATH], path[PROCESS_PATH + 8];
    int keeper_fd = process_temp_dir(dir);
    snprintf(path, sizeof path, "%s/log", dir);
    output_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ck_assert_int_ge(output_fd, 0);
    process_temp_dir_remove(dir, keeper_fd); /* the open file stays */
    fcntl(output_fd, F_SETFL, O_APPEND);
    ck_assert_int_ge(dup2(output_fd, STDERR_FILENO), 0);
}

/* What was written since the last call, without the time in front of a single line. */
static const char *written(void)
{
    static char text[1 << 20];
    ssize_t n = pread(output_fd, text, sizeof text - 1, 0);
    ck_assert_int_ge(n, 0);
    text[n] = '\0';
    ck_assert_int_eq(ftruncate(output_fd, 0), 0);
    return text;
}

static const char *written_behind_time(void)
{
    const char *text = written();
    ck_assert_uint_gt(strlen(text), 25);
    ck_assert_int_eq(text[24], ' ');
    return text + 25;
}

START_TEST(line_has_time_level_event_and_pairs)
{
    base_log(BASE_LOG_INFO, "listening", "address=%s port=%d", "127.0.0.1", 8443);
    const char *text = written();
    int year, month, day, hour, minute, second, ms, end = 0;
    struct slice line = base_slice_text(text);
    ck_assert_uint_gt(line.len, 25);
    ck_assert_int_eq(sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ %n", &year, &month, &day, &hour,
                            &minute, &second, &ms, &end),
                     7);
    ck_assert_int_ge(year, 2024);
    ck_assert_str_eq(text + end, "info listening address=127.0.0.1 port=8443\n");
}
END_TEST

START_TEST(event_may_stand_alone)
{
    base_log(BASE_LOG_WARN, "stopping", "%s", "");
    ck_assert_str_eq(written_behind_time(), "warn stopping\n");
}
END_TEST

START_TEST(levels_below_the_lowest_are_dropped)
{
    static const char *const NAMES[] = {"debug", "info", "warn", "error"};
    for (int lowest = BASE_LOG_DEBUG; lowest <= BASE_LOG_ERROR; lowest++) {
        base_log_set_level((enum base_log_level)lowest);
        for (int level = BASE_LOG_DEBUG; level <= BASE_LOG_ERROR; level++) {
            base_log((enum base_log_level)level, "event", "n=%d", level);
            if (level < lowest) {
                ck_assert_str_eq(written(), "");
                continue;
            }
            char want[64];
            snprintf(want, sizeof want, "%s event n=%d\n", NAMES[level], level);
            ck_assert_str_eq(written_behind_time(), want);
        }
    }
}
END_TEST

START_TEST(debug_is_off_at_first)
{
    base_log(BASE_LOG_DEBUG, "event", "n=%d", 1);
    ck_assert_str_eq(written(), "");
}
END_TEST

START_TEST(no_value_can_forge_a_line)
{
    base_log(BASE_LOG_INFO, "bad\nevent", "name=%s", "a\nb\r\t\x1b[2J\x7f\xc2\x85\xff\x01");
    ck_assert_str_eq(
        written_behind_time(),
        "info bad\\x0aevent name=a\\x0ab\\x0d\\x09\\x1b[2J\\x7f\\xc2\\x85\\xff\\x01\n");
}
END_TEST

START_TEST(line_is_cut_at_its_limit)
{
    char value[4000];
    memset(value, 'v', sizeof value);
    for (int len = 900; len < 1100; len++) {
        base_log(BASE_LOG_INFO, "e", "v=%.*s", len, value);
        const char *text = written();
        size_t whole = strlen("2026-11-20T10:00:00.000Z info e v=\n") + (size_t)len;
        ck_assert_uint_eq(strlen(text), whole < LINE_BYTES ? whole : LINE_BYTES);
        ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    }
}
END_TEST

START_TEST(escape_is_never_cut_in_half)
{
    char value[2000];
    memset(value, '\x01', sizeof value);
    for (int start = 0; start < 4; start++) {
        memset(value, 'v', (size_t)start);
        base_log(BASE_LOG_INFO, "e", "v=%.*s", 1000, value);
        const char *text = written();
        size_t len = strlen(text);
        ck_assert_uint_le(len, LINE_BYTES);
        ck_assert_uint_gt(len, LINE_BYTES - 4);
        ck_assert_int_eq(strncmp(text + len - 5, "\\x01\n", 5), 0);
    }
}
END_TEST

START_TEST(logging_leaves_errno_alone)
{
    close(STDERR_FILENO);
    errno = ENOTTY;
    base_log(BASE_LOG_INFO, "event", "n=%d", 1);
    ck_assert_int_eq(errno, ENOTTY);
}
END_TEST

#define WRITERS          4
#define LINES_PER_WRITER 500

static void *write_lines(void *arg)
{
    for (int i = 0; i < LINES_PER_WRITER; i++)
        base_log(BASE_LOG_INFO, "stress", "writer=%s", (const char *)arg);
    return NULL;
}

START_TEST(lines_of_many_threads_do_not_mix)
{
    static char names[WRITERS][32] = {"aaaaaaaaaaaaaaaa", "bbbb", "cccccccccccccccccccccccccc",
                                      "d"};
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_lines, names[i]), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    int lines = 0;
    const char *text = written();
    while (*text != '\0') {
        const char *pair = strstr(text, "info stress writer=");
        ck_assert_ptr_eq(pair, text + 25);
        const char *name = pair + strlen("info stress writer=");
        size_t len = strcspn(name, "\n");
        bool is_known = false;
        for (int i = 0; i < WRITERS; i++)
            is_known |= base_slice_is(base_slice(name, len), names[i]);
        ck_assert(is_known);
        text = name + len + 1;
        lines++;
    }
    ck_assert_int_eq(lines, WRITERS * LINES_PER_WRITER);
}
END_TEST

Suite *suite_base_log(void)
{
    Suite *suite = suite_create("base_log");
    TCase *line = tcase_create("line");
    tcase_add_checked_fixture(line, catch_stderr, NULL);
    tcase_add_test(line, line_has_time_level_event_and_pairs);
    tcase_add_test(line, event_may_stand_alone);
    tcase_add_test(line, levels_below_the_lowest_are_dropped);
    tcase_add_test(line, debug_is_off_at_first);
    tcase_add_test(line, no_value_can_forge_a_line);
    tcase_add_test(line, line_is_cut_at_its_limit);
    tcase_add_test(line, escape_is_never_cut_in_half);
    tcase_add_test(line, logging_leaves_errno_alone);
    tcase_add_test(line, lines_of_many_threads_do_not_mix);
    suite_add_tcase(suite, line);
    return suite;
}

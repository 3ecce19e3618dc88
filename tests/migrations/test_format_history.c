/*
 * tests/migrations/test_format_history.c - made, restored, upgraded; damage; too many lines.
 */
#define _GNU_SOURCE
#include <check.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "migrations/format_history.h"
#include "tests/base/temp_dir.h"

#include "base/banned.h"

Suite *suite_migrations_format_history(void);

static char file[BASE_PATH_BYTES];
static struct errbuf eb;
static struct mig_format_state states[MIG_FORMAT_VERSION];

static void setup(void)
{
    ck_assert_int_eq(base_path_join(file, dir, MIG_HISTORY_FILE, &eb), ERR_OK);
}

static void note(uint32_t format, enum mig_reached how)
{
    ck_assert_int_eq(mig_format_note(dir, format, how, &eb), ERR_OK);
}

static void look(uint32_t format)
{
    enum err rc = mig_format_states(dir, format, states, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
}

static void put(const char *text)
{
    ck_assert_int_eq(base_file_replace(file, base_slice_text(text), 0644, &eb), ERR_OK);
}

START_TEST(a_directory_without_notes_has_its_formats_since_no_known_time)
{
    look(1);
    ck_assert_int_eq(states[0].how, MIG_REACHED);
    ck_assert_int_eq(states[0].at_us, 0);
    ck_assert_str_eq(states[0].software, "");
    ck_assert_int_eq(states[1].how, MIG_REACHED_NOT);
    ck_assert_str_eq(mig_reached_name(states[1].how), "due");
}
END_TEST

START_TEST(what_was_noted_is_told_with_its_time_and_version)
{
    int64_t before = base_wall_us() - 1000; /* stored to the millisecond */
    note(1, MIG_REACHED_RESTORED);
    note(2, MIG_REACHED_UPGRADED);
    look(2);
    ck_assert_int_eq(states[0].how, MIG_REACHED_RESTORED);
    ck_assert_int_eq(states[1].how, MIG_REACHED_UPGRADED);
    ck_assert_int_ge(states[1].at_us, before);
    ck_assert_int_le(states[1].at_us, base_wall_us());
    ck_assert_str_eq(states[1].software, BIGTENT_VERSION);
}
END_TEST

START_TEST(the_last_line_of_a_format_counts)
{
    note(2, MIG_REACHED_UPGRADED);
    note(2, MIG_REACHED_MADE);
    look(2);
    ck_assert_int_eq(states[1].how, MIG_REACHED_MADE);
}
END_TEST

/* Noted, but FORMAT was not raised any more. */
START_TEST(a_format_that_the_directory_does_not_have_is_due)
{
    note(2, MIG_REACHED_UPGRADED);
    look(1);
    ck_assert_int_eq(states[1].how, MIG_REACHED_NOT);
}
END_TEST

START_TEST(only_the_newest_lines_are_kept)
{
    for (int i = 0; i < MIG_HISTORY_LINES + 5; i++)
        note(i == 0 ? 1 : 2, i == 0 ? MIG_REACHED_MADE : MIG_REACHED_UPGRADED);
    struct buf text = {0};
    size_t lines = 0;
    ck_assert_int_eq(base_file_read(file, 64 * KIB, &text, &eb), ERR_OK);
    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    base_buf_fini(&text);
    ck_assert_uint_eq(lines, MIG_HISTORY_LINES);
    look(2);
    ck_assert_int_eq(states[0].how, MIG_REACHED);
    ck_assert_int_eq(states[1].how, MIG_REACHED_UPGRADED);
}
END_TEST

START_TEST(a_line_that_is_none_is_damage)
{
    static const char *const bad[] = {
        "2 upgraded\n",
        "2 upgraded 2026-11-21T10:00:00.000Z\n",
        "2 mended 2026-11-21T10:00:00.000Z 0.1.0\n",
        "2 due 2026-11-21T10:00:00.000Z 0.1.0\n",
        "x upgraded 2026-11-21T10:00:00.000Z 0.1.0\n",
        "2 upgraded yesterday 0.1.0\n",
        "2 upgraded 2026-11-21T10:00:00.000Z 0123456789012345678901234567890123\n",
        "\n",
    };
    put("2 upgraded 2026-11-21T10:00:00.000Z 0.1.0");
    look(2);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put(bad[i]);
        ck_assert_msg(mig_format_states(dir, 2, states, &eb) == ERR_CORRUPT, "%s", bad[i]);
        ck_assert_ptr_nonnull(strstr(eb.text, "formats"));
    }
}
END_TEST

START_TEST(lines_about_formats_nobody_knows_are_passed_over)
{
    put("0 made 2026-11-21T10:00:00.000Z 0.1.0\n99 upgraded 2026-11-21T10:00:00.000Z 9.0.0\n");
    look(2);
    ck_assert_int_eq(states[0].how, MIG_REACHED);
    ck_assert_int_eq(states[1].how, MIG_REACHED);
}
END_TEST

START_TEST(a_directory_tells_how_it_was_made)
{
    struct mig_datadir d;
    char data[BASE_PATH_BYTES];
    ck_assert_int_eq(base_path_join(data, dir, "data", &eb), ERR_OK);
    ck_assert_int_eq(mig_datadir_create(data, &d, &eb), ERR_OK);
    ck_assert_int_eq(mig_datadir_seal_as(&d, 1, &eb), ERR_OK);
    ck_assert_int_eq(mig_datadir_raise(&d, 2, &eb), ERR_OK);
    ck_assert_int_eq(mig_format_states(data, 2, states, &eb), ERR_OK);
    ck_assert_int_eq(states[0].how, MIG_REACHED_RESTORED);
    ck_assert_int_eq(states[1].how, MIG_REACHED_UPGRADED);
    mig_datadir_close(&d);
}
END_TEST

Suite *suite_migrations_format_history(void)
{
    Suite *s = suite_create("migrations_format_history");
    TCase *t = case_in_dir(s, "format_history");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, a_directory_without_notes_has_its_formats_since_no_known_time);
    tcase_add_test(t, what_was_noted_is_told_with_its_time_and_version);
    tcase_add_test(t, the_last_line_of_a_format_counts);
    tcase_add_test(t, a_format_that_the_directory_does_not_have_is_due);
    tcase_add_test(t, only_the_newest_lines_are_kept);
    tcase_add_test(t, a_line_that_is_none_is_damage);
    tcase_add_test(t, lines_about_formats_nobody_knows_are_passed_over);
    tcase_add_test(t, a_directory_tells_how_it_was_made);
    return s;
}

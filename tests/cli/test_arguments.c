/*
 * tests/cli/test_arguments.c - what bigtent does before it talks to anyone: help, versions, wrong
 * command lines, servers that are not there, keys that must not show.
 */
#define _GNU_SOURCE
#include "tests/cli/program.h"

#include <sys/stat.h>

#include "base/banned.h"

#define SECRET "bto_Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8Ii9Jj0Kk1Ll2Mm3Nn4Oo5Pp6Qq7Rr8Ss"

/* Every command there is; one that vanishes fails its test here. */
static const char *const COMMANDS[][2] = {
    {"tenant", "create"},   {"tenant", "change"}, {"tenant", "list"},     {"tenant", "show"},
    {"tenant", "suspend"},  {"tenant", "resume"}, {"tenant", "offboard"}, {"tenant", "quota"},
    {"tenant", "undelete"}, {"tenant", "hold"},   {"tenant", "release"},  {"plan", "put"},
    {"plan", "list"},       {"plan", "show"},     {"plan", "delete"},     {"key", "create"},
    {"key", "list"},        {"key", "revoke"},    {"table", "list"},      {"table", "create"},
    {"table", "change"},    {"table", "show"},    {"table", "samples"},   {"table", "delete"},
    {"row", "get"},         {"row", "put"},       {"row", "set"},         {"row", "delete"},
    {"row", "mutate"},      {"row", "modify"},    {"row", "check"},       {"row", "load"},
    {"row", "drop"},        {"scan", NULL},       {"usage", NULL},        {"metering", NULL},
    {"top", NULL},          {"audit", "list"},    {"audit", "verify"},    {"audit", "export"},
    {"job", "list"},        {"job", "show"},      {"health", NULL},       {"apply", NULL},
    {"completion", NULL},   {"help", NULL},
};
#define COMMAND_COUNT (sizeof COMMANDS / sizeof COMMANDS[0])

static const char *const GROUPS[] = {"tenant", "plan", "key", "table", "row", "audit", "job"};
#define GROUP_COUNT (sizeof GROUPS / sizeof GROUPS[0])

static const struct setup PLAIN;
static struct run r;
static struct run other;

/* "tenant create" or "scan" */
static const char *words_of(int i)
{
    static char text[64];
    const char *second = COMMANDS[i][1];
    (void)snprintf(text, sizeof text, "%s%s%s", COMMANDS[i][0], second != NULL ? " " : "",
                   second != NULL ? second : "");
    return text;
}

/* --- help ---------------------------------------------------------------------------------------
 */

START_TEST(version_is_one_line)
{
    bigtent(&r, &PLAIN, "--version");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "bigtent " BIGTENT_VERSION "\n");
    ck_assert_str_eq(r.err, "");
}
END_TEST

START_TEST(overview_names_every_command_and_exit_code)
{
    bigtent(&r, &PLAIN, "--help");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.err, "");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        EXPECT_IN(r.out, words_of((int)i));
    EXPECT_IN(r.out, "Examples:");
    EXPECT_IN(r.out, "BIGTENT_URL");
    EXPECT_IN(r.out, "BIGTENT_KEY");
    EXPECT_IN(r.out, "BIGTENT_CACERT");
    EXPECT_IN(r.out, "visible to other users");
    EXPECT_IN(r.out, "5 a check failed");
    bigtent(&other, &PLAIN, "help");
    ck_assert_str_eq(r.out, other.out);
    bigtent(&other, &PLAIN, "-h");
    ck_assert_str_eq(r.out, other.out);
}
END_TEST

START_TEST(every_group_has_help)
{
    char usage[64];
    bigtent(&r, &PLAIN, GROUPS[_i], "--help");
    EXPECT_CODE(&r, 0);
    (void)snprintf(usage, sizeof usage, "Usage: bigtent %s ", GROUPS[_i]);
    EXPECT_IN(r.out, usage);
    EXPECT_IN(r.out, "Examples:\n  bigtent ");
    bigtent(&other, &PLAIN, "help", GROUPS[_i]);
    EXPECT_CODE(&other, 0);
    ck_assert_str_eq(r.out, other.out);
}
END_TEST

START_TEST(every_command_has_help_with_an_example)
{
    const char *first = COMMANDS[_i][0];
    const char *second = COMMANDS[_i][1];
    char text[96];
    bigtent(&r, &PLAIN, first, second != NULL ? second : "--help", "--help");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.err, "");
    (void)snprintf(text, sizeof text, "Usage: bigtent %s", words_of(_i));
    EXPECT_IN(r.out, text);
    const char *examples = strstr(r.out, "\nExamples:\n");
    ck_assert_ptr_nonnull(examples);
    (void)snprintf(text, sizeof text, "bigtent %s", words_of(_i));
    EXPECT_IN(examples, text);
    bigtent(&other, &PLAIN, "help", first, second);
    EXPECT_CODE(&other, 0);
    ck_assert_str_eq(r.out, other.out);
}
END_TEST

START_TEST(help_pages_fit_100_columns)
{
    const char *first = COMMANDS[_i][0];
    bigtent(&r, &PLAIN, "help", first, COMMANDS[_i][1]);
    for (const char *line = r.out; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        ck_assert_msg(len <= 100 || strncmp(line, "Usage:", 6) == 0, "%zu columns: %.*s", len,
                      (int)len, line);
        line += len + (line[len] == '\n');
    }
}
END_TEST

/* --- wrong command lines ------------------------------------------------------------------------
 */

static const char *const WRONG[][7] = {
    {NULL},
    {"tenant"},
    {"nonsense"},
    {"tenant", "nonsense"},
    {"help", "nonsense"},
    {"help", "tenant", "nonsense"},
    {"help", "scan", "it"},
    {"--nonsense"},
    {"-x"},
    {"tenant", "list", "--nonsense"},
    {"--reason", "x", "tenant", "suspend", "acme"}, /* a command's option before the command */
    {"tenant", "list", "extra"},
    {"tenant", "create"},
    {"tenant", "suspend", "acme"},
    {"tenant", "suspend", "acme", "--reason"},
    {"tenant", "offboard", "acme"},
    {"tenant", "offboard", "acme", "--confirm", "acmee"},
    {"tenant", "offboard", "acme", "--grace", "5d"},
    {"tenant", "offboard", "acme", "--confirm", "acme", "--grace", "soon"},
    {"tenant", "hold", "acme"},
    {"tenant", "release"},
    {"tenant", "quota", "acme", "--bytes", "much"},
    {"tenant", "quota", "acme", "--bytes", "99999999999G"},
    {"tenant", "quota", "acme", "--none", "--rows", "5"},
    {"tenant", "quota", "acme", "--row-bytes", "much"},
    {"tenant", "quota", "acme", "--families", "1", "--none"},
    {"tenant", "show", "acme", "--json=yes"},
    {"tenant", "show", "acme", "--url", "http://127.0.0.1:1"},
    {"tenant", "show", "acme", "--url", "127.0.0.1:1"},
    {"tenant", "show", "acme", "--url", "https://me@127.0.0.1:1"},
    {"tenant", "show", "acme", "--retry", "many"},
    {"tenant", "show", "acme", "--retry", "1001"},
    {"tenant", "show", "acme", "--retry=1", "--retry=2"},
    {"tenant", "show", "acme", "--tenant", "a\r\nb"},
    {"tenant", "show", "acme", "--key-file", "/nonexistent/key"},
    {"tenant", "show", "acme", "--key-file=x", "--key=y"},
    {"key", "create"},
    {"key", "create", "--service", "--operator"},
    {"key", "create", "--service", "--tenant", "acme"},
    {"table", "create", "t"},
    {"table", "create", "t", "f:max_versions=x"},
    {"table", "create", "t", "f:max_age=1y"},
    {"table", "create", "t", "f:colour=blue"},
    {"table", "create", "t", ":max_versions=1"},
    {"table", "create", "t", "f", "f"},
    {"table", "create", "t", "f:"},
    {"table", "create", "t", "f:max_versions=1:max_versions=2"},
    {"table", "create", "t", "f:union"},
    {"table", "create", "t", "f:union("},
    {"table", "create", "t", "f:union()"},
    {"table", "create", "t", "f:union(max_age=1d"},
    {"table", "create", "t", "f:union(max_age=1d))"},
    {"table", "create", "t", "f:union(max_age=1d),max_versions=1"},
    {"table", "create", "t", "f:union(max_age=1d)max_versions=1"},
    {"table", "create", "t", "f:union(type=sum)"},
    {"table", "create", "t", "f:either(max_age=1d)"},
    {"table", "create", "t", "f:type="},
    {"table", "create", "t", "f", "--protect", "--no-protect"},
    {"table", "create", "t", "f", "--notes", "\xff"},
    {"table", "change", "t"},
    {"table", "change", "t", "--create", "f:colour=blue"},
    {"table", "change", "t", "--drop", "\xff"},
    {"row", "get", "t"},
    {"row", "get", "t", ""},
    {"row", "put", "t", "k"},
    {"row", "put", "t", "k", "f=v"},
    {"row", "put", "t", "k", "f:q"},
    {"row", "put", "t", "k", ":q=v"},
    {"row", "put", "t", "k", "f:q=1", "f:q=2"},
    {"row", "delete", "t", "k", "f:q", "f"},
    {"row", "drop", "t"},
    {"row", "drop", "t", "--all", "--prefix", "p"},
    {"row", "drop", "t", "--prefix", ""},
    {"row", "drop", "t", "--all"}, /* not a terminal: nobody to ask */
    {"row", "load", "t", "/nonexistent/rows"},
    {"row", "load", "t", "/tmp"},
    {"scan", "t", "--limit", "0"},
    {"scan", "t", "--limit", "-1"},
    {"scan", "t", "--prefix", "p", "--start=s"},
    {"usage", "--recount"},
    {"top", "it"},
    {"top", "--interval", "0"},
    {"top", "--interval", "3601"},
    {"top", "--interval", "soon"},
    {"top", "--count", "0"},
    {"top", "--count", "101"},
    {"top", "--order", "rows"},
};
#define WRONG_COUNT (sizeof WRONG / sizeof WRONG[0])

START_TEST(wrong_lines_exit_2_and_say_why)
{
    const struct setup setup = {.key = SECRET};
    const char *args[7] = {NULL};
    for (size_t i = 0; i < 6; i++)
        args[i] = WRONG[_i][i];
    run_all(&r, &setup, args);
    EXPECT_CODE(&r, 2);
    ck_assert_str_eq(r.out, "");
    ck_assert_msg(strncmp(r.err, "bigtent: ", 9) == 0, "stderr: %s", r.err);
    EXPECT_NOT_IN(r.err, SECRET);
}
END_TEST

START_TEST(commands_that_need_a_key_say_so)
{
    bigtent(&r, &PLAIN, "table", "list");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "BIGTENT_KEY");
    EXPECT_IN(r.err, "--key-file");
}
END_TEST

START_TEST(mistyped_words_get_a_suggestion)
{
    bigtent(&r, &PLAIN, "tenat", "list");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "did you mean \"tenant\"?");
    bigtent(&r, &PLAIN, "row", "lod");
    EXPECT_IN(r.err, "did you mean \"row load\"?");
    bigtent(&r, &PLAIN, "completely-different");
    EXPECT_NOT_IN(r.err, "did you mean");
}
END_TEST

START_TEST(messages_escape_what_a_terminal_would_obey)
{
    bigtent(&r, &PLAIN, "\x1b[31mred");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "\\x1b[31mred");
    EXPECT_NOT_IN(r.err, "\x1b");
}
END_TEST

/* --- no server ----------------------------------------------------------------------------------
 */

START_TEST(unreachable_exits_3_and_names_url_and_ca)
{
    const struct setup setup = {.key = SECRET, .cacert = "/etc/ssl/certs/ca-certificates.crt"};
    static const char *const global[] = {"--url", "https://127.0.0.1:1"};
    if (_i == 0)
        bigtent(&r, &setup, "table", "list");
    else if (_i == 1) /* global options before and after the command */
        bigtent(&r, &setup, global[0], global[1], "table", "list", "--json");
    else if (_i == 2)
        bigtent(&r, &setup, "--json", "table", "list", global[0], global[1]);
    else
        bigtent(&r, &setup, "health", "--url=https://127.0.0.1:1/");
    EXPECT_CODE(&r, 3);
    ck_assert_str_eq(r.out, "");
    EXPECT_IN(r.err, "cannot reach https://127.0.0.1:1 ");
    if (access(setup.cacert, R_OK) == 0)
        EXPECT_IN(r.err, setup.cacert);
    EXPECT_NOT_IN(r.err, SECRET);
}
END_TEST

START_TEST(missing_ca_file_exits_3_and_is_named)
{
    const struct setup setup = {.key = SECRET, .cacert = "/nonexistent/ca.pem"};
    bigtent(&r, &setup, "table", "list");
    EXPECT_CODE(&r, 3);
    EXPECT_IN(r.err, "/nonexistent/ca.pem");
}
END_TEST

START_TEST(words_behind_two_dashes_are_no_options)
{
    const struct setup setup = {.key = SECRET};
    bigtent(&r, &setup, "row", "get", "--", "t", "--help");
    EXPECT_CODE(&r, 3); /* it went looking for the row "--help" */
}
END_TEST

/* --- keys ---------------------------------------------------------------------------------------
 */

static void write_key_file(char path[PROCESS_PATH + 8], const char *dir, const char *text,
                           mode_t mode)
{
    (void)snprintf(path, PROCESS_PATH + 8, "%s/key", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(fchmod(fd, mode), 0);
    (void)close(fd);
}

START_TEST(key_file_others_can_read_is_warned_about)
{
    char dir[PROCESS_PATH];
    char path[PROCESS_PATH + 8];
    int keeper = process_temp_dir(dir);
    write_key_file(path, dir, SECRET "\n", 0644);
    bigtent(&r, &PLAIN, "table", "list", "--key-file", path);
    EXPECT_CODE(&r, 3);
    EXPECT_IN(r.err, "can be read by others");
    EXPECT_NOT_IN(r.err, SECRET);
    write_key_file(path, dir, SECRET "\n", 0600);
    bigtent(&r, &PLAIN, "table", "list", "--key-file", path);
    EXPECT_CODE(&r, 3);
    EXPECT_NOT_IN(r.err, "warning");
    process_temp_dir_remove(dir, keeper);
}
END_TEST

START_TEST(key_file_without_a_key_is_refused)
{
    static const char *const texts[] = {"", "\n", "two words\n", "one\ntwo\n", "x\x01y"};
    char dir[PROCESS_PATH];
    char path[PROCESS_PATH + 8];
    int keeper = process_temp_dir(dir);
    write_key_file(path, dir, texts[_i], 0600);
    bigtent(&r, &PLAIN, "table", "list", "--key-file", path);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "does not hold a key");
    process_temp_dir_remove(dir, keeper);
}
END_TEST

static char command_line[4096];

static bool key_is_hidden(void *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ssize_t n = read(fd, command_line, sizeof command_line);
    (void)close(fd);
    return n > 0 && memmem(command_line, (size_t)n, "**", 2) != NULL;
}

START_TEST(key_on_the_command_line_vanishes_from_it)
{
    /* A pipe nobody writes to keeps the load waiting for its first line. */
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    const struct setup setup = {.input_fd = ends[0]};
    const char *const separate[] = {"row", "load", "t", "--key", SECRET, NULL};
    const char *const joined[] = {"row", "load", "t", "--key=" SECRET, NULL};
    run_start(&r, &setup, _i == 0 ? separate : joined);
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)r.pid);
    process_await(key_is_hidden, path, "a command line without the key");
    ck_assert_ptr_null(memmem(command_line, sizeof command_line, SECRET, strlen(SECRET)));
    (void)close(ends[1]);
    (void)kill(r.pid, SIGKILL);
    run_finish(&r);
}
END_TEST

/* --- output that goes nowhere -------------------------------------------------------------------
 */

START_TEST(closed_pipe_ends_it_quietly)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    (void)close(ends[0]);
    const struct setup setup = {.stdout_fd = ends[1]};
    bigtent(&r, &setup, "--help");
    EXPECT_CODE(&r, 128 + SIGPIPE);
    ck_assert_str_eq(r.err, "");
    (void)close(ends[1]);
}
END_TEST

START_TEST(full_disk_is_an_error)
{
    const struct setup setup = {.stdout_path = "/dev/full"};
    bigtent(&r, &setup, "--help");
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "No space left on device");
}
END_TEST

Suite *suite_cli_arguments(void);
Suite *suite_cli_arguments(void)
{
    Suite *s = suite_create("cli_arguments");
    TCase *help = tcase_create("help");
    tcase_add_test(help, version_is_one_line);
    tcase_add_test(help, overview_names_every_command_and_exit_code);
    tcase_add_loop_test(help, every_group_has_help, 0, GROUP_COUNT);
    tcase_add_loop_test(help, every_command_has_help_with_an_example, 0, COMMAND_COUNT);
    tcase_add_loop_test(help, help_pages_fit_100_columns, 0, COMMAND_COUNT);
    suite_add_tcase(s, help);
    TCase *wrong = tcase_create("wrong");
    tcase_add_loop_test(wrong, wrong_lines_exit_2_and_say_why, 0, WRONG_COUNT);
    tcase_add_test(wrong, commands_that_need_a_key_say_so);
    tcase_add_test(wrong, mistyped_words_get_a_suggestion);
    tcase_add_test(wrong, messages_escape_what_a_terminal_would_obey);
    suite_add_tcase(s, wrong);
    TCase *alone = tcase_create("alone");
    tcase_add_loop_test(alone, unreachable_exits_3_and_names_url_and_ca, 0, 4);
    tcase_add_test(alone, missing_ca_file_exits_3_and_is_named);
    tcase_add_test(alone, words_behind_two_dashes_are_no_options);
    suite_add_tcase(s, alone);
    TCase *keys = tcase_create("keys");
    tcase_add_test(keys, key_file_others_can_read_is_warned_about);
    tcase_add_loop_test(keys, key_file_without_a_key_is_refused, 0, 5);
    tcase_add_loop_test(keys, key_on_the_command_line_vanishes_from_it, 0, 2);
    suite_add_tcase(s, keys);
    TCase *output = tcase_create("output");
    tcase_add_test(output, closed_pipe_ends_it_quietly);
    tcase_add_test(output, full_disk_is_an_error);
    suite_add_tcase(s, output);
    return s;
}

/*
 * tests/cli/test_man.c - the manual pages are whole, agree with the programs, and are well written
 * as far as mandoc can tell.
 *
 * What there is comes from the command table, by way of completion.
 */
#define _GNU_SOURCE
#include "tests/cli/program.h"

#include <ctype.h>
#include <dirent.h>

#include "tests/support/server.h"

#include "base/banned.h"

#define PAGE_BYTES 131072
#define LIST       64

static const struct setup PLAIN = {.url = ""};
static struct run r;
static char page[PAGE_BYTES];

/* Programs outside the tree: run from its top. */
static void path_of_page(const char *name, char path[PROCESS_PATH + 64])
{
    char program[PROCESS_PATH];
    process_program("bigtent", program);
    (void)snprintf(path, PROCESS_PATH + 64, "%s/../../../docs/man/%s", program, name);
    if (access(path, R_OK) != 0)
        (void)snprintf(path, PROCESS_PATH + 64, "docs/man/%s", name);
}

static void read_page(const char *name)
{
    char path[PROCESS_PATH + 64];
    path_of_page(name, path);
    FILE *file = fopen(path, "re");
    ck_assert_msg(file != NULL, "%s", path);
    size_t len = fread(page, 1, sizeof page - 1, file);
    ck_assert_uint_gt(len, 1000);
    ck_assert_uint_lt(len, sizeof page - 1);
    page[len] = '\0';
    (void)fclose(file);
}

/* A word as roff wants it: dashes are dashes, not hyphens. */
static void as_roff(const char *word, char out[128])
{
    size_t n = 0;
    for (; *word != '\0'; word++) {
        ck_assert_uint_lt(n, 125);
        if (*word == '-')
            out[n++] = '\\';
        out[n++] = *word;
    }
    out[n] = '\0';
}

static bool has_word(const char *text, const char *word)
{
    char roff[128];
    as_roff(word, roff);
    size_t len = strlen(roff);
    for (const char *at = text; (at = strstr(at, roff)) != NULL; at++) {
        bool goes_on = isalnum((unsigned char)at[len]) || (at[len] == '\\' && at[len + 1] == '-' &&
                                                           isalnum((unsigned char)at[len + 2]));
        if (!goes_on)
            return true;
    }
    return false;
}

/* First words of lines that begin as wanted; in memory of the caller. */
struct list {
    char words[LIST][64];
    size_t count;
};

static void take_lines(struct list *l, const char *begin)
{
    l->count = 0;
    for (const char *line = r.out; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        size_t word = strcspn(line, "\t\n");
        if (strncmp(line, begin, strlen(begin)) == 0) {
            ck_assert_uint_lt(l->count, LIST);
            ck_assert_uint_lt(word, sizeof l->words[0]);
            (void)snprintf(l->words[l->count++], sizeof l->words[0], "%.*s", (int)word, line);
        }
        line += len + (line[len] == '\n');
    }
}

static void propose(struct list *l, const char *first, const char *second, const char *begin)
{
    const char *args[RUN_ARGS] = {"completion", "candidates", "--"};
    size_t n = 3;
    if (first != NULL)
        args[n++] = first;
    if (second != NULL)
        args[n++] = second;
    args[n] = begin;
    run_all(&r, &PLAIN, args);
    EXPECT_CODE(&r, 0);
    take_lines(l, begin);
}

/* --- bigtent.1 ---------------------------------------------------------------------------------
 */

/* What the page says below a command's heading; the result is overwritten by the next call. */
static const char *entry_of(const char *first, const char *second)
{
    static char entry[8192];
    char heading[128];
    (void)snprintf(heading, sizeof heading, "\n\\fB%s%s%s\\fR", first, second != NULL ? " " : "",
                   second != NULL ? second : "");
    const char *begin = strstr(page, heading);
    ck_assert_msg(begin != NULL, "no entry of%s", heading);
    const char *item = strstr(begin + 1, "\n.TP\n");
    const char *section = strstr(begin + 1, "\n.S");
    const char *end = item != NULL && (section == NULL || item < section) ? item : section;
    ck_assert_ptr_nonnull(end);
    (void)snprintf(entry, sizeof entry, "%.*s", (int)(end - begin), begin);
    return entry;
}

static size_t check_options(const char *first, const char *second)
{
    static struct list all;
    static struct list global;
    propose(&global, NULL, NULL, "--");
    propose(&all, first, second, "--");
    const char *entry = entry_of(first, second);
    /* Explained once for several commands. */
    bool elsewhere =
        strstr(entry, "\\fIPART\\fR") != NULL || strstr(entry, "\\fIfield\\fR") != NULL;
    size_t own = all.count - global.count;
    for (size_t i = 0; i < own; i++)
        ck_assert_msg(has_word(elsewhere ? page : entry, all.words[i]), "%s is not in%s",
                      all.words[i], entry);
    return own;
}

START_TEST(every_command_and_option_is_on_the_page)
{
    static struct list tops;
    static struct list commands;
    size_t options = 0;
    size_t entries = 0;
    read_page("bigtent.1");
    propose(&tops, NULL, NULL, "");
    for (size_t i = 0; i < tops.count; i++) {
        bigtent(&r, &PLAIN, "help", tops.words[i]);
        if (strstr(r.out, " COMMAND [ARGUMENT]...") == NULL) {
            options += check_options(tops.words[i], NULL);
            entries++;
            continue;
        }
        propose(&commands, tops.words[i], NULL, "");
        for (size_t c = 0; c < commands.count; c++, entries++)
            options += check_options(tops.words[i], commands.words[c]);
    }
    ck_assert_uint_ge(entries, 40);
    ck_assert_uint_ge(options, 80);
}
END_TEST

START_TEST(global_options_variables_and_codes_are_on_the_page)
{
    static struct list global;
    static const char *const variables[] = {"BIGTENT_URL", "BIGTENT_KEY", "BIGTENT_CACERT", "TERM"};
    read_page("bigtent.1");
    const char *options = strstr(page, "\n.SH OPTIONS");
    ck_assert_ptr_nonnull(options);
    propose(&global, NULL, NULL, "--");
    ck_assert_uint_ge(global.count, 9);
    for (size_t i = 0; i < global.count; i++)
        ck_assert_msg(has_word(options, global.words[i]), "%s", global.words[i]);
    const char *environment = strstr(page, "\n.SH ENVIRONMENT");
    ck_assert_ptr_nonnull(environment);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        EXPECT_IN(environment, variables[i]);
    const char *status = strstr(page, "\n.SH EXIT STATUS");
    ck_assert_ptr_nonnull(status);
    for (int code = 0; code <= 5; code++) {
        char item[32];
        (void)snprintf(item, sizeof item, "\n.B %d\n", code);
        EXPECT_IN(status, item);
    }
}
END_TEST

/* Every word of a text that begins with two dashes; true when it is in the list, or a blank. */
static void expect_options_known(const char *text, const char *known)
{
    for (const char *at = text; (at = strstr(at, "\\-\\-")) != NULL;) {
        char name[64] = "--";
        size_t n = 2;
        at += 4;
        while (n < sizeof name - 1 && (isalnum((unsigned char)*at) || strncmp(at, "\\-", 2) == 0)) {
            at += *at == '\\';
            name[n++] = *at++;
        }
        name[n] = '\0';
        if (n > 2)
            ck_assert_msg(strstr(known, name) != NULL, "%s is on the page alone", name);
    }
}

START_TEST(no_option_is_on_the_page_alone)
{
    static char known[65536];
    static struct list tops;
    size_t len = 0;
    read_page("bigtent.1");
    propose(&tops, NULL, NULL, "");
    for (size_t i = 0; i <= tops.count; i++) {
        struct list commands = {.count = 0};
        const char *top = i < tops.count ? tops.words[i] : NULL;
        if (top != NULL)
            propose(&commands, top, NULL, "");
        for (size_t c = 0; c <= commands.count; c++) {
            static struct list options;
            propose(&options, top, c < commands.count ? commands.words[c] : NULL, "--");
            for (size_t o = 0; o < options.count; o++)
                len += (size_t)snprintf(known + len, sizeof known - len, "%s\n", options.words[o]);
            ck_assert_uint_lt(len, sizeof known);
        }
    }
    expect_options_known(page, known);
}
END_TEST

/* --- bigtentd.8 --------------------------------------------------------------------------------
 */

START_TEST(help_of_the_server_and_its_page_agree)
{
    static struct process_result help;
    char program[PROCESS_PATH];
    process_program("bigtentd", program);
    const char *const argv[] = {program, "--help", NULL};
    process_run(argv, NULL, 10000 * process_patience(), &help);
    ck_assert_int_eq(help.exit_code, 0);
    read_page("bigtentd.8");
    /* The session at the end shows other programs. */
    char *session = strstr(help.output, "A first session");
    ck_assert_ptr_nonnull(session);
    *session = '\0';
    size_t options = 0;
    for (const char *at = help.output; (at = strstr(at, "--")) != NULL; options++) {
        char name[64];
        size_t len = 2 + strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");
        (void)snprintf(name, sizeof name, "%.*s", (int)len, at);
        ck_assert_msg(has_word(page, name), "%s", name);
        at += len;
    }
    ck_assert_uint_ge(options, 13);
    char *examples = strstr(page, "\n.SH EXAMPLES");
    ck_assert_ptr_nonnull(examples);
    *examples = '\0';
    expect_options_known(page, help.output);
    for (size_t i = 0; i < 4; i++) {
        static const char *const commands[] = {"init", "serve", "check", "upgrade"};
        char text[64];
        (void)snprintf(text, sizeof text, "bigtentd %s ", commands[i]);
        EXPECT_IN(help.output, text);
        EXPECT_IN(page, text);
        (void)snprintf(text, sizeof text, "\n.B %s\n", commands[i]);
        EXPECT_IN(page, text);
    }
    for (int code = 0; code <= 3; code++) {
        char item[32];
        (void)snprintf(item, sizeof item, "\n.B %d\n", code);
        EXPECT_IN(strstr(page, "\n.SH EXIT STATUS"), item);
    }
}
END_TEST

START_TEST(every_option_on_the_servers_page_is_taken)
{
    static struct process_result said;
    static const char *const options[] = {"--listen",
                                          "--emulator",
                                          "--cert",
                                          "--key",
                                          "--cache-mb",
                                          "--loops",
                                          "--memtable-mb",
                                          "--committers",
                                          "--readers",
                                          "--data",
                                          "--headroom-mb",
                                          "--reclaim-after",
                                          "--reclaim-mb",
                                          "--scrub-mb",
                                          "--request-mb",
                                          "--connections-per-address",
                                          "--handshakes-per-address",
                                          "--failures-per-address",
                                          "--proxy-from"};
    char program[PROCESS_PATH];
    process_program("bigtentd", program);
    read_page("bigtentd.8");
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const char *const argv[] = {program, "serve", options[i], NULL};
        process_run(argv, NULL, 10000 * process_patience(), &said);
        ck_assert_int_eq(said.exit_code, 2);
        EXPECT_IN(said.output, "lacks its value");
        ck_assert_msg(has_word(page, options[i]), "%s", options[i]);
    }
}
END_TEST

START_TEST(every_file_of_a_data_directory_is_on_the_page)
{
    struct server s;
    server_create(&s);
    server_start(&s, NULL);
    server_stop(&s);
    read_page("bigtentd.8");
    const char *files = strstr(page, "\n.SH FILES");
    ck_assert_ptr_nonnull(files);
    DIR *dir = opendir(s.data);
    ck_assert_ptr_nonnull(dir);
    size_t count = 0;
    for (const struct dirent *item; (item = readdir(dir)) != NULL;) {
        if (item->d_name[0] == '.')
            continue;
        EXPECT_IN(files, item->d_name);
        count++;
    }
    (void)closedir(dir);
    ck_assert_uint_ge(count, 9);
    server_remove(&s);
}
END_TEST

/* --- both --------------------------------------------------------------------------------------
 */

START_TEST(mandoc_finds_nothing)
{
    static struct process_result found;
    char path[PROCESS_PATH + 64];
    path_of_page(_i == 0 ? "bigtent.1" : "bigtentd.8", path);
    const char *const argv[] = {"/usr/bin/env", "mandoc", "-Tlint", "-Wwarning", path, NULL};
    process_run(argv, NULL, 10000 * process_patience(), &found);
    ck_assert_msg(found.exit_code == 0 && found.output_len == 0, "%s", found.output);
}
END_TEST

Suite *suite_cli_man(void);

Suite *suite_cli_man(void)
{
    Suite *s = suite_create("cli_man");
    TCase *t = tcase_create("man");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_command_and_option_is_on_the_page);
    tcase_add_test(t, global_options_variables_and_codes_are_on_the_page);
    tcase_add_test(t, no_option_is_on_the_page_alone);
    tcase_add_test(t, help_of_the_server_and_its_page_agree);
    tcase_add_test(t, every_option_on_the_servers_page_is_taken);
    tcase_add_test(t, every_file_of_a_data_directory_is_on_the_page);
    tcase_add_loop_test(t, mandoc_finds_nothing, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

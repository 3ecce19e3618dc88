/*
 * tests/migrations/test_datadir.c - every state a directory may be in, opened and created over.
 */
#define _GNU_SOURCE
#include <check.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "migrations/datadir.h"
#include "tests/support/process.h"

#include "base/banned.h"

static char base_dir[PROCESS_PATH];
static int keeper_fd;
static char path[PROCESS_PATH + 8]; /* a directory's name inside base_dir; not made */
static struct errbuf eb;

static void setup(void)
{
    keeper_fd = process_temp_dir(base_dir);
    (void)snprintf(path, sizeof path, "%s/data", base_dir);
    memset(&eb, 0, sizeof eb);
}

static void teardown(void)
{
    process_temp_dir_remove(base_dir, keeper_fd);
}

static void put_file(const char *name, const char *text)
{
    char file[sizeof path + 64];
    (void)snprintf(file, sizeof file, "%s/%s", path, name);
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static bool has_file(const char *name)
{
    char file[sizeof path + 64];
    (void)snprintf(file, sizeof file, "%s/%s", path, name);
    return access(file, F_OK) == 0;
}

static void make_ours(void)
{
    struct mig_datadir d;
    ck_assert_int_eq(mig_datadir_create(path, &d, &eb), ERR_OK);
    ck_assert_int_eq(mig_datadir_seal(&d, &eb), ERR_OK);
    mig_datadir_close(&d);
}

static void open_fails(enum err expected, const char *says)
{
    struct mig_datadir d;
    memset(&eb, 0, sizeof eb);
    ck_assert_int_eq(mig_datadir_open(path, &d, &eb), expected);
    ck_assert_msg(strstr(eb.text, says) != NULL, "\"%s\" lacks \"%s\"", eb.text, says);
}

static void create_fails(enum err expected, const char *says)
{
    struct mig_datadir d;
    memset(&eb, 0, sizeof eb);
    ck_assert_int_eq(mig_datadir_create(path, &d, &eb), expected);
    ck_assert_msg(strstr(eb.text, says) != NULL, "\"%s\" lacks \"%s\"", eb.text, says);
}

START_TEST(create_seal_open_round_trip)
{
    struct mig_datadir d;
    ck_assert_int_eq(mig_datadir_create(path, &d, &eb), ERR_OK);
    ck_assert_str_eq(d.path, path);
    ck_assert(!has_file("FORMAT"));
    ck_assert_int_eq(mig_datadir_seal(&d, &eb), ERR_OK);
    ck_assert_uint_eq(d.format, MIG_FORMAT_VERSION);
    mig_datadir_close(&d);
    mig_datadir_close(&d); /* twice is fine */

    struct buf text;
    char file[sizeof path + 64];
    (void)snprintf(file, sizeof file, "%s/FORMAT", path);
    ck_assert_int_eq(base_file_read(file, 100, &text, NULL), ERR_OK);
    ck_assert(base_slice_is(base_buf_slice(&text), "bigtent data 2\n"));
    base_buf_fini(&text);

    ck_assert_int_eq(mig_datadir_open(path, &d, &eb), ERR_OK);
    ck_assert_str_eq(d.path, path);
    ck_assert_uint_eq(d.format, 2);
    mig_datadir_close(&d);
}
END_TEST

START_TEST(new_directory_is_private)
{
    make_ours();
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0700);
}
END_TEST

START_TEST(create_takes_an_empty_directory)
{
    ck_assert_int_eq(mkdir(path, 0755), 0);
    make_ours();
    struct mig_datadir d;
    ck_assert_int_eq(mig_datadir_open(path, &d, &eb), ERR_OK);
    mig_datadir_close(&d);
}
END_TEST

START_TEST(create_takes_a_directory_with_only_a_stale_lock)
{
    ck_assert_int_eq(mkdir(path, 0755), 0);
    put_file("LOCK", "");
    make_ours();
}
END_TEST

START_TEST(create_refuses_what_holds_something)
{
    ck_assert_int_eq(mkdir(path, 0755), 0);
    put_file("thesis.tex", "years of work");
    create_fails(ERR_EXISTS, "has files in it");
    ck_assert(!has_file("LOCK"));
    ck_assert(!has_file("FORMAT"));
}
END_TEST

START_TEST(create_refuses_ours)
{
    make_ours();
    create_fails(ERR_EXISTS, "data directory already");
}
END_TEST

START_TEST(create_refuses_a_file_and_a_missing_parent)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    ck_assert_int_ge(fd, 0);
    close(fd);
    create_fails(ERR_INVALID, "not a directory");
    (void)snprintf(path, sizeof path, "%s/no/such", base_dir);
    create_fails(ERR_NOT_FOUND, "no/such");
}
END_TEST

START_TEST(seal_refuses_to_write_over)
{
    struct mig_datadir d;
    ck_assert_int_eq(mig_datadir_create(path, &d, &eb), ERR_OK);
    put_file("FORMAT", "somebody was quicker");
    ck_assert_int_eq(mig_datadir_seal(&d, &eb), ERR_EXISTS);
    mig_datadir_close(&d);
}
END_TEST

START_TEST(open_refuses_a_missing_path)
{
    open_fails(ERR_NOT_FOUND, "does not exist");
}
END_TEST

START_TEST(open_refuses_a_file)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    ck_assert_int_ge(fd, 0);
    close(fd);
    open_fails(ERR_INVALID, "is not a directory");
}
END_TEST

START_TEST(open_of_an_empty_directory_names_init)
{
    ck_assert_int_eq(mkdir(path, 0755), 0);
    open_fails(ERR_INVALID, "bigtentd init");
    ck_assert(!has_file("LOCK"));
}
END_TEST

START_TEST(open_refuses_foreign_files_and_leaves_no_trace)
{
    ck_assert_int_eq(mkdir(path, 0755), 0);
    put_file("thesis.tex", "years of work");
    open_fails(ERR_INVALID, "no FORMAT");
    ck_assert(!has_file("LOCK"));
}
END_TEST

START_TEST(open_refuses_an_unsealed_directory)
{
    struct mig_datadir d;
    ck_assert_int_eq(mig_datadir_create(path, &d, &eb), ERR_OK);
    put_file("pepper", "0123");
    mig_datadir_close(&d);
    open_fails(ERR_INVALID, "interrupted");
    create_fails(ERR_EXISTS, "has files in it");
}
END_TEST

START_TEST(open_refuses_a_garbage_format)
{
    static const char *const GARBAGE[] = {
        "",
        "\n",
        "bigtent data \n",
        "bigtent data 1",
        "bigtent data 01\n",
        "bigtent data -1\n",
        "bigtent data 0\n",
        "bigtent data 1 \n",
        "bigtent data 1\n\n",
        "bigtent data 1\r\n",
        "Bigtent data 1\n",
        "bigtent data one\n",
        "bigtent data 99999999999999999999999\n",
        "something else entirely, longer than any format line could ever be in this program\n",
    };
    make_ours();
    for (size_t i = 0; i < sizeof GARBAGE / sizeof GARBAGE[0]; i++) {
        put_file("FORMAT", GARBAGE[i]);
        open_fails(ERR_INVALID, "not what bigtentd writes");
    }
}
END_TEST

START_TEST(open_refuses_an_older_format_and_names_upgrade)
{
    struct mig_datadir d;
    make_ours();
    put_file("FORMAT", "bigtent data 1\n");
    open_fails(ERR_CONFLICT, "bigtentd upgrade --data");
    ck_assert_int_eq(mig_datadir_open_any(path, &d, &eb), ERR_OK);
    ck_assert_uint_eq(d.format, 1);
    ck_assert_int_eq(mig_datadir_raise(&d, 2, &eb), ERR_OK);
    mig_datadir_close(&d);
    ck_assert_int_eq(mig_datadir_open(path, &d, &eb), ERR_OK);
    ck_assert_uint_eq(d.format, 2);
    mig_datadir_close(&d);
}
END_TEST

START_TEST(open_refuses_the_future_and_names_both_versions)
{
    make_ours();
    put_file("FORMAT", "bigtent data 3\n");
    open_fails(ERR_UNSUPPORTED, "format 3; this program reads up to 2");
    put_file("FORMAT", "bigtent data 4294967297\n");
    open_fails(ERR_UNSUPPORTED, "format 4294967297;");
}
END_TEST

START_TEST(second_opener_finds_it_locked)
{
    make_ours();
    struct mig_datadir d;
    ck_assert_int_eq(mig_datadir_open(path, &d, &eb), ERR_OK);
    pid_t child = fork();
    if (child == 0) {
        struct mig_datadir other;
        struct errbuf why = {0};
        enum err rc = mig_datadir_open(path, &other, &why);
        _exit(rc == ERR_LOCKED && strstr(why.text, "in use by another process") != NULL ? 42 : 1);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    mig_datadir_close(&d);
    ck_assert_int_eq(mig_datadir_open(path, &d, &eb), ERR_OK);
    mig_datadir_close(&d);
}
END_TEST

START_TEST(second_creator_finds_it_locked)
{
    struct mig_datadir d;
    ck_assert_int_eq(mig_datadir_create(path, &d, &eb), ERR_OK);
    create_fails(ERR_LOCKED, "in use by another process");
    mig_datadir_close(&d);
}
END_TEST

START_TEST(permission_denied_says_so)
{
    make_ours();
    ck_assert_int_eq(chmod(path, 0), 0);
    if (geteuid() == 0) { /* root may read anything: try it as somebody else */
        ck_assert_int_eq(chmod(base_dir, 0755), 0);
        ck_assert_int_eq(seteuid(65534), 0);
    }
    open_fails(ERR_IO, "permission denied");
    create_fails(ERR_IO, "permission denied");
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(chmod(path, 0700), 0);
}
END_TEST

START_TEST(a_directory_that_others_may_enter_is_closed_to_them)
{
    struct mig_datadir d;
    struct stat st;
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(chmod(path, 0775), 0);
    ck_assert_int_eq(mig_datadir_create(path, &d, &eb), ERR_OK);
    ck_assert_uint_eq(d.mode_before, 0775);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    ck_assert_int_eq(mig_datadir_seal(&d, &eb), ERR_OK);
    mig_datadir_close(&d);
    ck_assert_int_eq(chmod(path, 0701), 0);
    ck_assert_int_eq(mig_datadir_open(path, &d, &eb), ERR_OK);
    ck_assert_uint_eq(d.mode_before, 0701);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    mig_datadir_close(&d);
}
END_TEST

START_TEST(path_limits)
{
    struct mig_datadir d;
    static char longest[BASE_PATH_BYTES + 2];
    memset(longest, 'a', sizeof longest - 1);
    ck_assert_int_eq(mig_datadir_open(longest, &d, &eb), ERR_TOO_BIG);
    ck_assert_int_eq(mig_datadir_create(longest, &d, &eb), ERR_TOO_BIG);
    longest[BASE_PATH_BYTES] = '\0';
    ck_assert_int_eq(mig_datadir_open(longest, &d, &eb), ERR_TOO_BIG);
    ck_assert_int_eq(mig_datadir_open("", &d, &eb), ERR_INVALID);
    ck_assert_int_eq(mig_datadir_create("", &d, &eb), ERR_INVALID);
}
END_TEST

Suite *suite_migrations_datadir(void);
Suite *suite_migrations_datadir(void)
{
    Suite *s = suite_create("migrations_datadir");
    TCase *c = tcase_create("create");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, create_seal_open_round_trip);
    tcase_add_test(c, new_directory_is_private);
    tcase_add_test(c, create_takes_an_empty_directory);
    tcase_add_test(c, create_takes_a_directory_with_only_a_stale_lock);
    tcase_add_test(c, create_refuses_what_holds_something);
    tcase_add_test(c, create_refuses_ours);
    tcase_add_test(c, create_refuses_a_file_and_a_missing_parent);
    tcase_add_test(c, seal_refuses_to_write_over);
    suite_add_tcase(s, c);
    c = tcase_create("open");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, open_refuses_a_missing_path);
    tcase_add_test(c, open_refuses_a_file);
    tcase_add_test(c, open_of_an_empty_directory_names_init);
    tcase_add_test(c, open_refuses_foreign_files_and_leaves_no_trace);
    tcase_add_test(c, open_refuses_an_unsealed_directory);
    tcase_add_test(c, open_refuses_a_garbage_format);
    tcase_add_test(c, open_refuses_an_older_format_and_names_upgrade);
    tcase_add_test(c, open_refuses_the_future_and_names_both_versions);
    tcase_add_test(c, permission_denied_says_so);
    tcase_add_test(c, a_directory_that_others_may_enter_is_closed_to_them);
    tcase_add_test(c, path_limits);
    suite_add_tcase(s, c);
    c = tcase_create("lock");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, second_opener_finds_it_locked);
    tcase_add_test(c, second_creator_finds_it_locked);
    suite_add_tcase(s, c);
    return s;
}

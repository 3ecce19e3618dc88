/*
 * tests/api/test_private_files.c - nobody but the owner of a server looks into its files or memory.
 */
#define _GNU_SOURCE
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/modes.h"
#include "tests/support/server.h"

#include "base/banned.h"

static struct server server;

/* What everybody may know. */
static const char *const PUBLIC[] = {"FORMAT",  "ca.pem",          "server.pem",
                                     "formats", "certificate.pub", NULL};

static void set_up(void)
{
    (void)umask(0);
    server_create(&server);
}

static void tear_down(void)
{
    server_remove(&server);
}

START_TEST(files_are_their_owners_alone)
{
    server_start(&server, NULL);
    ck_assert_uint_eq(modes_open_to_others(server.data, PUBLIC), 0);
    server_stop(&server);
    ck_assert(!server_log_says(&server, "data_directory_closed"));
}
END_TEST

START_TEST(a_directory_that_others_may_enter_is_closed_to_them)
{
    struct stat st;
    ck_assert_int_eq(chmod(server.data, 0755), 0);
    server_start(&server, NULL);
    ck_assert_int_eq(stat(server.data, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    server_stop(&server);
    ck_assert(server_log_says(&server, "data_directory_closed mode_before=0755 mode=0700"));
}
END_TEST

#ifndef __SANITIZE_ADDRESS__ /* LeakSanitizer needs what the server refuses (gateway/serve.c) */

/* Whatever the kernel does with dumps: it is asked not to make one. */
START_TEST(no_core_is_dumped)
{
    const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    int status = 0;
    if (setrlimit(RLIMIT_CORE, &unlimited) != 0)
        return;                                     /* a hard limit says so already */
    ck_assert(signal(SIGQUIT, SIG_DFL) != SIG_ERR); /* a shell's background jobs ignore it */
    server_start(&server, NULL);
    ck_assert_int_eq(kill(server.pid, SIGQUIT), 0);
    ck_assert_int_eq(waitpid(server.pid, &status, 0), server.pid);
    server.pid = 0;
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGQUIT);
    ck_assert(!WCOREDUMP(status));
}
END_TEST

#endif

Suite *suite_api_private_files(void);
Suite *suite_api_private_files(void)
{
    Suite *s = suite_create("api_private_files");
    TCase *t = tcase_create("files");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, files_are_their_owners_alone);
    tcase_add_test(t, a_directory_that_others_may_enter_is_closed_to_them);
#ifndef __SANITIZE_ADDRESS__
    tcase_add_test(t, no_core_is_dumped);
#endif
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/runner.c - every suite in one program: all of them, or those named as arguments.
 *
 * The list of suites is made from the names of the files under tests/ (see Makefile); --list prints
 * it. Each test runs in a child process of its own, which dies with the runner, whatever ends that.
 * A run in which no test ran is a failure.
 */
#include <check.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/support/process.h"

#define SUITE(name) Suite *suite_##name(void);
#include "suites.inc"
#undef SUITE

static const struct {
    const char *name;
    Suite *(*make)(void);
} SUITES[] = {
#define SUITE(name) {#name, suite_##name},
#include "suites.inc"
#undef SUITE
};
#define SUITE_COUNT (sizeof SUITES / sizeof SUITES[0])

static int list(void)
{
    for (size_t i = 0; i < SUITE_COUNT; i++)
        if (puts(SUITES[i].name) < 0)
            return EXIT_FAILURE;
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* False when no suite has that name. */
static bool add(SRunner *runner, const char *name)
{
    for (size_t i = 0; i < SUITE_COUNT; i++) {
        if (strcmp(SUITES[i].name, name) == 0) {
            srunner_add_suite(runner, SUITES[i].make());
            return true;
        }
    }
    (void)fprintf(stderr, "there is no suite \"%s\"; --list names them\n", name);
    return false;
}

static pid_t runner_pid;

/* A test's own children decide for themselves (tests/support/process.h). */
static void test_follows_runner(void)
{
    if (getppid() == runner_pid)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int main(int argc, char **argv)
{
    runner_pid = getpid();
    if (pthread_atfork(NULL, NULL, test_follows_runner) != 0)
        return EXIT_FAILURE;
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return list();
    SSL_CTX_free(
        SSL_CTX_new(TLS_method())); /* OpenSSL finds its algorithms once, not in each test */
    process_shared_dir_make();
    SRunner *runner = srunner_create(NULL);
    bool known = true;
    for (int i = 1; i < argc; i++)
        known = add(runner, argv[i]) && known;
    for (size_t i = 0; argc == 1 && i < SUITE_COUNT; i++)
        srunner_add_suite(runner, SUITES[i].make());
    if (known)
        srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    int ran = srunner_ntests_run(runner);
    srunner_free(runner);
    return known && failed == 0 && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

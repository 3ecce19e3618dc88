/*
 * tests/support/process.h - programs run by a test, and directories that are removed with the test.
 *
 * Does:     find the built programs; start one with captured output; run one to its end; create a
 *           temporary directory that is removed even when the test is killed.
 * Owns:     temporary directories, through a keeper process that waits for the test to end.
 * May use:  base/, libcheck.
 * Knows no: Bigtent's flags.
 * Threads:  call from the main thread of a test.
 * Blocks:   process_run until the program ends or times out.
 * Fails by: ck_abort_msg.
 * Limits:   64 KiB of captured output.
 * Promises: 1. A program started here dies with the test (PR_SET_PDEATHSIG).
 *           2. Only process ids of our own children are ever signalled.
 */
#ifndef TESTS_SUPPORT_PROCESS_H
#define TESTS_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PROCESS_PATH 512
#define PROCESS_ARGS 32

/* Outputs the path of a program beside the test binary, or in BIGTENT_BIN_DIR if that is set. */
void process_program(const char *name, char out[PROCESS_PATH]);

/* Creates a directory under TMPDIR or /tmp. The keeper removes it when the last process that holds
 * the returned descriptor has ended; close the descriptor to remove the directory now. */
int process_temp_dir(char out[PROCESS_PATH]);
/* Removes the directory now, and closes the keeper's descriptor. */
void process_temp_dir_remove(const char *path, int keeper_fd);

/* Creates a directory that all tests of this program share; the runner calls it before any test. It
 * is removed when the program and all its tests have ended. */
void process_shared_dir_make(void);
const char *process_shared_dir(void);

/* Starts a program. argv and the additional environment ("NAME=value") end with NULL; env may be
 * NULL. stdout is connected to *out_stdout_fd, or to the log when that is NULL; stderr is appended
 * to the file log_path. */
pid_t process_start(const char *const *argv, const char *const *env, const char *log_path,
                    int *out_stdout_fd);
/* Waits for a child: true with its wait status, false when it still runs after timeout_ms. */
bool process_wait(pid_t pid, int timeout_ms, int *out_wait_status);

struct process_result {
    bool timed_out;
    int exit_code; /* 128 + signal when it was killed */
    size_t output_len;
    char output[65536]; /* stdout and stderr together, NUL-terminated */
};
/* Runs a program to its end, which must happen within process_bound_ms(timeout_ms). */
void process_run(const char *const *argv, const char *const *env, int timeout_ms,
                 struct process_result *out);

/* Returns the factor of every bound of a wait (CK_TIMEOUT_MULTIPLIER, at least 1). */
int process_patience(void);
/* Returns the number of repetitions of a randomized check: `whole` divided by ROUNDS_DIVISOR, which
 * is larger under sanitizers; at least 1. */
long process_rounds(long whole);
/* Returns whether this build has a sanitizer, with which memory and time are meaningless. */
bool process_sanitized(void);
/* Returns a decimal number from the environment, or fallback. */
long process_env_number(const char *name, long fallback);

/* Polls until condition(arg) holds: every 5 ms, for at most 60 s x process_patience(); then fails
 * the test, naming `what` it waited for. */
void process_await(bool (*condition)(void *arg), void *arg, const char *what);
/* Returns the same bound in milliseconds, for waits that block in poll(). */
int process_await_ms(void);
/* Returns the bound of an operation that is known to take up to ms: the larger of ms and a minute,
 * multiplied by process_patience(). */
int process_bound_ms(int ms);
void process_sleep_ms(int ms);

#endif

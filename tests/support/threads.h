/*
 * tests/support/threads.h - the threads of a process that runs, from outside.
 *
 * Does:     count them by name and by their priority.
 * Owns:     nothing.
 * May use:  base/, libcheck.
 * Knows no: what the threads are for.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ck_abort_msg when there is no such process.
 * Limits:   none.
 * Promises: a thread that ends meanwhile is counted or not.
 */
#ifndef TESTS_SUPPORT_THREADS_H
#define TESTS_SUPPORT_THREADS_H

#include <sys/types.h>

#define THREADS_FIRST (-20) /* nice: the highest priority */
#define THREADS_LAST  19

/* Those whose names begin so, with a nice of from to to, both included. */
int threads_count(pid_t pid, const char *prefix, int from, int to);

#endif

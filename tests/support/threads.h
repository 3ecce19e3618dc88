/*
 * tests/support/threads.h - threads of a running process, seen from outside.
 *
 * Does:     count threads by name and priority.
 * Owns:     nothing.
 * May use:  base/, libcheck.
 * Knows no: the threads' purpose.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ck_abort_msg when there is no such process.
 * Limits:   none.
 * Promises: a thread that ends during the count may or may not be counted.
 */
#ifndef TESTS_SUPPORT_THREADS_H
#define TESTS_SUPPORT_THREADS_H

#include <sys/types.h>

#define THREADS_FIRST (-20) /* nice: the highest priority */
#define THREADS_LAST  19

/* Counts threads whose names start with prefix and whose nice is between from and to, inclusive. */
int threads_count(pid_t pid, const char *prefix, int from, int to);

#endif

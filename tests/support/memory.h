/*
 * tests/support/memory.h - memory use of a process.
 *
 * Does:     read RssAnon of a process; keep the maximum of several readings.
 * Owns:     nothing.
 * May use:  base/, libcheck.
 * Knows no: the process's purpose.
 * Threads:  one per struct.
 * Blocks:   for a file of /proc.
 * Fails by: ck_assert.
 * Limits:   none.
 * Promises: 1. Only allocated memory counts; mapped files and shared memory do not.
 */
#ifndef TESTS_SUPPORT_MEMORY_H
#define TESTS_SUPPORT_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

/* Returns the bytes of resident anonymous memory; pid 0: this process. */
uint64_t memory_of(pid_t pid);

struct memory_watch {
    pid_t pid;
    uint64_t before;
    uint64_t most;
};

void memory_watch_begin(struct memory_watch *w, pid_t pid);
void memory_watch_look(struct memory_watch *w);
/* Returns the largest growth since the start, in bytes. */
uint64_t memory_watch_growth(const struct memory_watch *w);

#endif

/*
 * tests/support/memory.h - how much memory a process has.
 *
 * Does:     read VmRSS of a process; keep the largest of several readings.
 * Owns:     nothing.
 * May use:  base/, libcheck.
 * Knows no: whose memory it is.
 * Threads:  one per struct.
 * Blocks:   for a file of /proc.
 * Fails by: ck_assert.
 * Limits:   none.
 * Promises: 1. Files that were mapped, and shared memory, do not count: only what was allocated.
 */
#ifndef TESTS_SUPPORT_MEMORY_H
#define TESTS_SUPPORT_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

/* Bytes of anonymous memory that are resident; pid 0: this process. */
uint64_t memory_of(pid_t pid);

struct memory_watch {
    pid_t pid;
    uint64_t before;
    uint64_t most;
};

void memory_watch_begin(struct memory_watch *w, pid_t pid);
void memory_watch_look(struct memory_watch *w);
/* How much more than at the beginning it was at most. */
uint64_t memory_watch_growth(const struct memory_watch *w);

#endif

/*
 * tests/support/wall.h - clocks that tests can set, hold and move.
 *
 * Does:     offset CLOCK_REALTIME in this process; hold base_monotonic_ns for one thread; advance
 *           time for the whole process without waiting.
 * Owns:     the offsets, and a thread's held time.
 * May use:  base/.
 * Knows no: the clock's readers: the whole program, by --wrap (Makefile).
 * Threads:  any; a held clock belongs to the thread that holds it.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Every caller of clock_gettime for a wall clock sees a jump at once.
 *           2. clock_gettime(CLOCK_MONOTONIC), on which timed waits depend, is never changed.
 *           3. A thread that holds the clock reads the same time until it advances it. A bound
 *              measured with base_monotonic_ns there, such as that of process_await, never ends.
 */
#ifndef TESTS_SUPPORT_WALL_H
#define TESTS_SUPPORT_WALL_H

#include <stdint.h>

/* Sets the wall clock this many seconds ahead of the system's; negative: before it. */
void wall_set_ahead(int64_t seconds);

/* Advances both clocks by this many seconds, for every thread. */
void wall_pass_s(uint32_t seconds);

/* Stops base_monotonic_ns for the calling thread only. */
void wall_hold_monotonic(void);
/* Moves the held clock of the calling thread. */
void wall_advance_ns(uint64_t ns);
/* Restarts the held clock in step with the other threads' clock; advances are lost. */
void wall_release_monotonic(void);

#endif

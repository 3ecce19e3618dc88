/*
 * tests/support/wall.h - clocks that tests can set, hold and move.
 *
 * Does:     have CLOCK_REALTIME differ from the system's in this process; hold base_monotonic_ns
 *           for one thread; let time pass for the whole process without waiting.
 * Owns:     the differences, and a thread's held time.
 * May use:  base/.
 * Knows no: who asks for the time: all of the program does, by --wrap (Makefile).
 * Threads:  any; a held clock belongs to the thread that holds it.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Whoever asks clock_gettime for a wall clock sees a jump at once.
 *           2. clock_gettime(CLOCK_MONOTONIC), of which timed waits are made, is never changed.
 *           3. A thread that holds the clock reads the same time until it advances it. A bound
 *              measured with base_monotonic_ns there, such as that of process_await, never ends.
 */
#ifndef TESTS_SUPPORT_WALL_H
#define TESTS_SUPPORT_WALL_H

#include <stdint.h>

/* From now on it is so many seconds ahead of the system's; negative: behind it. */
void wall_set_ahead(int64_t seconds);

/* So many seconds have passed: both clocks are that much further ahead, for every thread. */
void wall_pass_s(uint32_t seconds);

/* Stops base_monotonic_ns for the calling thread alone. */
void wall_hold_monotonic(void);
/* Moves the held clock of the calling thread. */
void wall_advance_ns(uint64_t ns);
/* Lets it run again, with that of the other threads: what was advanced is lost. */
void wall_release_monotonic(void);

#endif

/*
 * tests/support/wall.h - a wall clock that tests can set.
 *
 * Does:     have CLOCK_REALTIME, and no other clock, differ from the system's in this process.
 * Owns:     the difference.
 * May use:  nothing.
 * Knows no: who asks for the time: all of the program does, by --wrap=clock_gettime (Makefile).
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Whoever asks clock_gettime for a wall clock sees a jump at once.
 */
#ifndef TESTS_SUPPORT_WALL_H
#define TESTS_SUPPORT_WALL_H

#include <stdint.h>

/* From now on it is so many seconds ahead of the system's; negative: behind it. */
void wall_set_ahead(int64_t seconds);

#endif

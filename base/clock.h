/*
 * base/clock.h - clocks of different kinds, which must not be mixed.
 *
 * Does:     monotonic nanoseconds for waiting and rates, wall microseconds for timestamps,
 *           processor time of a thread.
 * Owns:     nothing.
 * May use:  nothing.
 * Knows no: calendars, time zones; base_time_format writes UTC only.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Monotonic time never decreases, whatever the wall clock does.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t base_monotonic_ns(void);
int64_t base_wall_us(void);
/* Returns the processor time of the calling thread. */
uint64_t base_thread_cpu_ns(void);

#define BASE_TIME_TEXT 32
/* Writes RFC 3339 in UTC with milliseconds, e.g. 2026-11-20T10:00:00.000Z. */
void base_time_format(int64_t wall_us, char out[BASE_TIME_TEXT]);

#endif

/*
 * tests/support/wall.c - clocks that tests can set, hold and move.
 *
 * clock_gettime and base_monotonic_ns are both wrapped. Bigtent's code measures with
 * base_monotonic_ns and computes the end of a timed wait with clock_gettime(CLOCK_MONOTONIC), which
 * is unchanged here: a thread that waits 100 ms wakes after 100 ms, regardless of changed clocks.
 */
#include "tests/support/wall.h"

#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"

#include "base/banned.h"

#define NS_PER_S 1000000000U

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
uint64_t __real_base_monotonic_ns(void);
uint64_t __wrap_base_monotonic_ns(void);

static _Atomic int64_t ahead_s;
static _Atomic uint64_t passed_ns;     /* offset of the monotonic clock from the system's */
static _Thread_local uint64_t held_ns; /* 0: the clock runs */

void wall_set_ahead(int64_t seconds)
{
    atomic_store(&ahead_s, seconds);
}

void wall_pass_s(uint32_t seconds)
{
    atomic_fetch_add(&ahead_s, (int64_t)seconds);
    atomic_fetch_add(&passed_ns, (uint64_t)seconds * NS_PER_S);
}

void wall_hold_monotonic(void)
{
    held_ns = base_monotonic_ns();
}

void wall_advance_ns(uint64_t ns)
{
    if (held_ns != 0)
        held_ns += ns;
}

void wall_release_monotonic(void)
{
    held_ns = 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    int rc = __real_clock_gettime(clock, out);
    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        out->tv_sec += atomic_load(&ahead_s);
    return rc;
}

uint64_t __wrap_base_monotonic_ns(void)
{
    return held_ns != 0 ? held_ns : __real_base_monotonic_ns() + atomic_load(&passed_ns);
}

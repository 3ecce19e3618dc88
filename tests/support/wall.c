/*
 * tests/support/wall.c - a wall clock that tests can set.
 */
#include "tests/support/wall.h"

#include <stdatomic.h>
#include <time.h>

#include "base/banned.h"

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

static _Atomic int64_t ahead_s;

void wall_set_ahead(int64_t seconds)
{
    atomic_store(&ahead_s, seconds);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    int rc = __real_clock_gettime(clock, out);
    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        out->tv_sec += atomic_load(&ahead_s);
    return rc;
}

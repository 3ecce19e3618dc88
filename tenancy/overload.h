/*
 * tenancy/overload.h - limits tenants above their share while small requests of others wait.
 *
 * Does:     measures how long the engine holds small requests of tenants that use little; limits,
 *           for each tenant above its share, the work that starts per second; lets limits grow
 *           again.
 * Owns:     nothing; one part is embedded in the registry, one in each tenant.
 * May use:  base/, tenancy/.
 * Knows no: what a request is, queues, threads.
 * Threads:  any, lock-free.
 * Blocks:   no.
 * Fails by: refuses, and says when to retry; or says how long to wait.
 * Limits:   LIM_OVERLOAD_*.
 * Promises: 1. A tenant that was alone for the last second or two is not limited. One long wait
 *              limits no tenant: pressure starts after LIM_OVERLOAD_SLOW slow windows in a row.
 *           2. A tenant that uses no more than its share, by weight, gets no new or lower limit; so
 *              among equal tenants none gets one.
 *           3. A limit never falls below LIM_OVERLOAD_LEAST per second, and without pressure grows
 *              until it is removed.
 *           4. All work is charged, however much it is: requests of a limited tenant wait until its
 *              debt is paid off.
 */
#ifndef TENANCY_OVERLOAD_H
#define TENANCY_OVERLOAD_H

#include "tenancy/rate.h"

enum ten_waited { TEN_WAITED_READ, TEN_WAITED_WRITE, TEN_WAITED_COUNT };

/* State of the whole server. Windows and seconds are numbered by the monotonic clock. */
struct ten_overload {
    _Atomic uint64_t window;                   /* number of the open window */
    _Atomic uint64_t waited[TEN_WAITED_COUNT]; /* ns that small requests waited in it, in total */
    _Atomic uint64_t waits[TEN_WAITED_COUNT];  /* number of these requests */
    _Atomic uint64_t usual[TEN_WAITED_COUNT];  /* ns without pressure, as far as known */
    _Atomic uint64_t used;                     /* units used by all tenants in it */
    _Atomic uint64_t per_window;               /* by all: moving average times LIM_OVERLOAD_PARTS */
    _Atomic uint64_t slow;                     /* consecutive windows with long waits */
    _Atomic uint64_t pressed_in;               /* the last window with pressure */
    _Atomic bool pressed;                      /* whether the previous window had pressure */
    _Atomic uint64_t second;
    _Atomic uint64_t tenants[2]; /* seen in this second, and in the previous one */
    _Atomic uint64_t weights[2];
};

/* State of a tenant. */
struct ten_overload_part {
    struct ten_rate limit; /* in units of work; arrival is kept when the rate changes */
    _Atomic uint64_t window;
    _Atomic uint64_t used;       /* units in the window */
    _Atomic uint64_t per_window; /* moving average times LIM_OVERLOAD_PARTS */
    _Atomic uint64_t second;
    _Atomic uint64_t held_ns; /* when a request was last refused, or had to wait */
};

/* The tenant that does something, and the time. */
struct ten_overload_by {
    struct ten_overload *all;
    struct ten_overload_part *part;
    uint64_t weight; /* relative to other tenants' */
    uint64_t now_ns;
};

/* Called before a request starts. *out_ns is how long the request must wait because the tenant is
 * over its rate; false: that is longer than most_ns. Charges nothing. */
bool ten_overload_begin(const struct ten_overload_by *by, uint64_t most_ns, uint64_t *out_ns);
/* Charges work done for the tenant. Returns how long its cause should pause before it continues. */
uint64_t ten_overload_pay(const struct ten_overload_by *by, uint64_t units);
static inline uint64_t ten_overload_limit(const struct ten_overload_part *part)
{
    return atomic_load_explicit(&part->limit.per_second, memory_order_relaxed);
}
/* Records how long the engine held a small request of the tenant. */
void ten_overload_waited(const struct ten_overload_by *by, enum ten_waited kind, uint64_t ns);

#endif

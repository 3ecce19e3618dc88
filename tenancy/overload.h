/*
 * tenancy/overload.h - while several tenants are there and the small ones wait, take less of those
 * that use more than their share.
 *
 * Does:     watch how long the engine keeps small requests of tenants that use little; limit, for
 *           each tenant above its share, what begins in a second; let the limits grow again.
 * Owns:     nothing; one part is embedded in the registry, one in each tenant.
 * May use:  base/, tenancy/.
 * Knows no: what a request is, queues, threads.
 * Threads:  any, lock-free.
 * Blocks:   no.
 * Fails by: says no, and when to come again; or how long to wait.
 * Limits:   LIM_OVERLOAD_*.
 * Promises: 1. A tenant that was alone for the last second or two is not limited; nobody is for one
 *              wait that was long: LIM_OVERLOAD_SLOW windows in a row must be slow to begin with.
 *           2. Who uses no more than its share, by weight, is not limited anew; among equals
 *              nobody is.
 *           3. A limit never falls below LIM_OVERLOAD_LEAST a second, and without pressure grows
 *              until it is no limit.
 *           4. What is done is charged, however much it is: who has a limit waits for what its
 *              tenant owes.
 */
#ifndef TENANCY_OVERLOAD_H
#define TENANCY_OVERLOAD_H

#include "tenancy/rate.h"

enum ten_waited { TEN_WAITED_READ, TEN_WAITED_WRITE, TEN_WAITED_COUNT };

/* Of the whole server. Windows and seconds are numbered by the monotonic clock. */
struct ten_overload {
    _Atomic uint64_t window;                   /* the one that is open */
    _Atomic uint64_t waited[TEN_WAITED_COUNT]; /* ns that small requests waited in it, together */
    _Atomic uint64_t waits[TEN_WAITED_COUNT];  /* how many they were */
    _Atomic uint64_t usual[TEN_WAITED_COUNT];  /* ns without pressure, as far as is known */
    _Atomic uint64_t used;                     /* by all, in it */
    _Atomic uint64_t per_window;               /* by all, lately, times LIM_OVERLOAD_PARTS */
    _Atomic uint64_t slow;                     /* windows in a row with long waits */
    _Atomic uint64_t pressed_in;               /* the last window with pressure */
    _Atomic bool pressed;                      /* of the window before */
    _Atomic uint64_t second;
    _Atomic uint64_t tenants[2]; /* seen in this second, and in the one before */
    _Atomic uint64_t weights[2];
};

/* Of a tenant. */
struct ten_overload_part {
    struct ten_rate limit; /* in units of work; arrival is kept when the rate changes */
    _Atomic uint64_t window;
    _Atomic uint64_t used;       /* in the window */
    _Atomic uint64_t per_window; /* lately, times LIM_OVERLOAD_PARTS */
    _Atomic uint64_t second;
    _Atomic uint64_t held_ns; /* when a request was refused, or had to wait, last */
};

/* Who does something, and when. */
struct ten_overload_by {
    struct ten_overload *all;
    struct ten_overload_part *part;
    uint64_t weight; /* against other tenants' */
    uint64_t now_ns;
};

/* A request is to begin. *out_ns is how long it has to wait for what its tenant owes; false: that
 * is longer than most_ns. Nothing is charged. */
bool ten_overload_begin(const struct ten_overload_by *by, uint64_t most_ns, uint64_t *out_ns);
/* Work that is done for the tenant. Returns how long what causes it should pause before it goes
 * on. */
uint64_t ten_overload_pay(const struct ten_overload_by *by, uint64_t units);
static inline uint64_t ten_overload_limit(const struct ten_overload_part *part)
{
    return atomic_load_explicit(&part->limit.per_second, memory_order_relaxed);
}
/* The engine kept a small request of the tenant so long. */
void ten_overload_waited(const struct ten_overload_by *by, enum ten_waited kind, uint64_t ns);

#endif

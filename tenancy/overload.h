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
 * Fails by: says no, and when to come again.
 * Limits:   LIM_OVERLOAD_*.
 * Promises: 1. A tenant that was alone for the last second or two is not limited; nobody is for one
 *              wait that was long: LIM_OVERLOAD_SLOW windows in a row must have one to begin with.
 *           2. Who uses no more than its share, by weight, is not limited anew; among equals
 *              nobody is.
 *           3. A limit never falls below LIM_OVERLOAD_LEAST a second, and without pressure grows
 *              until it is no limit.
 *           4. What passed is charged, however much it is.
 */
#ifndef TENANCY_OVERLOAD_H
#define TENANCY_OVERLOAD_H

#include "tenancy/rate.h"

enum ten_waited { TEN_WAITED_READ, TEN_WAITED_WRITE, TEN_WAITED_COUNT };

/* Of the whole server. Windows and seconds are numbered by the monotonic clock. */
struct ten_overload {
    _Atomic uint64_t window;                  /* the one that is open */
    _Atomic uint64_t worst[TEN_WAITED_COUNT]; /* ns that a small request waited in it */
    _Atomic uint64_t usual[TEN_WAITED_COUNT]; /* ns without pressure, as far as is known */
    _Atomic uint64_t used;                    /* by all, in it */
    _Atomic uint64_t per_window;              /* by all, lately, times LIM_OVERLOAD_PARTS */
    _Atomic uint64_t slow;                    /* windows in a row in which one waited long */
    _Atomic uint64_t pressed_in;              /* the last window with pressure */
    _Atomic bool pressed;                     /* of the window before */
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
    _Atomic uint64_t begun;      /* requests that write, in the window */
    _Atomic uint64_t usual_cost; /* of a request that writes, lately */
    _Atomic uint64_t second;
    _Atomic uint64_t refused_ns; /* when a request was refused, paused or let owe last, even; and
                                  * whether it was refused: the lowest bit */
};

/* Who does something, and when. */
struct ten_overload_by {
    struct ten_overload *all;
    struct ten_overload_part *part;
    uint64_t weight; /* against other tenants' */
    uint64_t now_ns;
};

/* A request begins. False: not now; *out_ns is for how long. True: *out_paid units are charged.
 * What a write will cost is taken to be what its tenant's writes cost lately; a read pays as it
 * goes. It passes all the same when that would be no longer than spare_ns. */
bool ten_overload_begin(const struct ten_overload_by *by, bool writes, uint64_t spare_ns,
                        uint64_t *out_paid, uint64_t *out_ns);
/* It was refused for another reason. */
void ten_overload_undo(const struct ten_overload_by *by, bool writes, uint64_t paid);
/* Work that was done for the tenant, and paid for when the request began. */
void ten_overload_used(const struct ten_overload_by *by, uint64_t units);
/* The same by a read, which pays now. Returns for how long it should pause. */
uint64_t ten_overload_pay(const struct ten_overload_by *by, uint64_t units);
static inline uint64_t ten_overload_limit(const struct ten_overload_part *part)
{
    return atomic_load_explicit(&part->limit.per_second, memory_order_relaxed);
}
/* Whether a request was refused lately. */
bool ten_overload_sends_away(const struct ten_overload_by *by);
/* The engine kept a small request of the tenant so long. */
void ten_overload_waited(const struct ten_overload_by *by, enum ten_waited kind, uint64_t ns);

#endif

/*
 * tenancy/rate.c - GCRA over compare-and-swap.
 *
 * arrival_ns is the time at which everything charged so far is paid off. One unit costs
 * 1e9 / per_second nanoseconds, rounded up, so that rounding never lets more through; above ten
 * million a second the rounding costs more than 1 % (700 million a second act like 500 million).
 * The burst is exactly per_second units.
 *
 *   arrival <= now                    nothing owed: per_second units are left
 *   now < arrival <= now + burst      some of the burst is used
 *   arrival > now + burst - one unit  closed until time catches up
 *
 * 1. An operation passes when at least one unit is left, whatever it costs: large operations
 *    cannot starve behind small ones, and what they take beyond the burst is owed in full.
 * 2. Products stop at 2^62 ns, 146 years; so does now_ns, so no sum of three overflows.
 * 3. arrival never moves back except in ten_rate_set.
 */
#include "tenancy/rate.h"

#include "base/banned.h"

#define SECOND_NS 1000000000ull

#define DEBT_NS_MAX (1ull << 62)

static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product) || product > DEBT_NS_MAX)
        return DEBT_NS_MAX;
    return product;
}

/* Price of one unit; at least 1 ns. */
static uint64_t unit_of(uint64_t per_second)
{
    return per_second >= SECOND_NS ? 1 : (SECOND_NS + per_second - 1) / per_second;
}

void ten_rate_set(struct ten_rate *r, uint64_t per_second)
{
    atomic_store_explicit(&r->per_second, per_second, memory_order_relaxed);
    atomic_store_explicit(&r->arrival_ns, 0, memory_order_relaxed);
}

bool ten_rate_take(struct ten_rate *r, uint64_t cost, uint64_t now_ns, uint64_t *out_wait_ns)
{
    uint64_t per_second = atomic_load_explicit(&r->per_second, memory_order_relaxed);
    if (per_second == 0 || cost == 0)
        return true;
    uint64_t unit = unit_of(per_second);
    uint64_t open_until = now_ns + multiply(unit, per_second) - unit;
    uint64_t price = multiply(unit, cost);
    uint64_t arrival = atomic_load_explicit(&r->arrival_ns, memory_order_relaxed);
    uint64_t next;
    do {
        if (arrival > open_until) {
            *out_wait_ns = arrival - open_until;
            return false;
        }
        next = (arrival > now_ns ? arrival : now_ns) + price;
    } while (!atomic_compare_exchange_weak_explicit(&r->arrival_ns, &arrival, next,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void ten_rate_charge(struct ten_rate *r, uint64_t cost, uint64_t now_ns)
{
    uint64_t per_second = atomic_load_explicit(&r->per_second, memory_order_relaxed);
    if (per_second == 0 || cost == 0)
        return;
    uint64_t unit = unit_of(per_second);
    uint64_t price = multiply(unit, cost);
    /* the burst itself and one more second's worth of debt */
    uint64_t latest = now_ns + 2 * multiply(unit, per_second);
    uint64_t arrival = atomic_load_explicit(&r->arrival_ns, memory_order_relaxed);
    uint64_t next;
    do {
        next = (arrival > now_ns ? arrival : now_ns) + price;
        if (next > latest)
            next = latest;
        if (next <= arrival)
            return; /* a large operation left more debt than a charge may make */
    } while (!atomic_compare_exchange_weak_explicit(&r->arrival_ns, &arrival, next,
                                                    memory_order_relaxed, memory_order_relaxed));
}

uint64_t ten_rate_left(const struct ten_rate *r, uint64_t now_ns)
{
    uint64_t per_second = atomic_load_explicit(&r->per_second, memory_order_relaxed);
    if (per_second == 0)
        return UINT64_MAX;
    uint64_t unit = unit_of(per_second);
    uint64_t end = now_ns + multiply(unit, per_second);
    uint64_t arrival = atomic_load_explicit(&r->arrival_ns, memory_order_relaxed);
    if (arrival <= now_ns)
        return per_second;
    return arrival >= end ? 0 : (end - arrival) / unit;
}

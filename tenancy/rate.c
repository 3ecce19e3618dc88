/*
 * tenancy/rate.c - GCRA over compare-and-swap.
 *
 * arrival_ns is the time at which everything charged so far is paid off. A unit of a rate up to
 * WHOLE_MAX a second costs 1e9 / per_second nanoseconds, rounded up, so that a burst holds as many
 * units one by one as at once. For faster rates, where a nanosecond is a large part of a unit's
 * price, the price of the whole cost is rounded up instead. Neither rounding admits more than the
 * rate.
 *
 *   arrival <= now                    nothing owed: `burst` units are left
 *   now < arrival <= now + burst      some of the burst is used
 *   arrival > now + burst - one unit  closed until time catches up
 *
 * 1. An operation is admitted when at least one unit is left, whatever its cost: so large
 *    operations do not starve while small ones run, and their excess over the burst is owed in
 *    full.
 * 2. Products stop at 2^61 ns, 73 years; so does now_ns, so that no sum of five overflows.
 * 3. arrival moves back in ten_rate_set, and by the price of a take that is undone: takes and
 *    charges add up in any order, so the debts of the others remain.
 */
#include "tenancy/rate.h"

#include "base/alloc.h"
#include "base/err.h"

#include "base/banned.h"

#define SECOND_NS   1000000000ull
#define WHOLE_MAX   1000000ull
#define DEBT_NS_MAX (1ull << 61)
#define MS_PER_S    1000

__extension__ typedef unsigned __int128 wide;

static uint64_t load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static uint64_t bounded(wide ns)
{
    return ns > DEBT_NS_MAX ? DEBT_NS_MAX : (uint64_t)ns;
}

/* Returns the price of `units`; at least 1 ns. */
static uint64_t price_of(uint64_t per_second, uint64_t units)
{
    if (per_second <= WHOLE_MAX)
        return bounded((wide)units * ((SECOND_NS + per_second - 1) / per_second));
    return bounded(((wide)units * SECOND_NS + per_second - 1) / per_second);
}

/* Returns how many whole units that much time pays for. */
static uint64_t units_of(uint64_t per_second, uint64_t ns)
{
    if (per_second <= WHOLE_MAX)
        return ns / ((SECOND_NS + per_second - 1) / per_second);
    wide units = (wide)ns * per_second / SECOND_NS;
    return units > UINT64_MAX ? UINT64_MAX : (uint64_t)units;
}

static uint64_t burst_of(uint64_t per_second, uint64_t burst_ms)
{
    wide units = (wide)per_second * burst_ms / MS_PER_S;
    if (units == 0)
        return 1;
    return units > UINT64_MAX ? UINT64_MAX : (uint64_t)units;
}

void ten_rate_set(struct ten_rate *r, uint64_t per_second, uint64_t burst_ms)
{
    uint64_t burst = burst_of(per_second, burst_ms);
    if (load(&r->per_second) == per_second && load(&r->burst) == burst)
        return;
    atomic_store_explicit(&r->per_second, per_second, memory_order_relaxed);
    atomic_store_explicit(&r->burst, burst, memory_order_relaxed);
    atomic_store_explicit(&r->arrival_ns, 0, memory_order_relaxed);
}

/* Returns the debt, counted from now, beyond which the rate is closed. */
static uint64_t open_until(const struct ten_rate *r, uint64_t per_second)
{
    return price_of(per_second, load(&r->burst)) - price_of(per_second, 1);
}

bool ten_rate_take(struct ten_rate *r, uint64_t cost, uint64_t now_ns, uint64_t *out_wait_ns)
{
    uint64_t per_second = load(&r->per_second);
    if (per_second == 0 || cost == 0)
        return true;
    uint64_t latest = now_ns + open_until(r, per_second);
    uint64_t price = price_of(per_second, cost);
    uint64_t arrival = load(&r->arrival_ns);
    uint64_t next;
    do {
        if (arrival > latest) {
            *out_wait_ns = arrival - latest;
            return false;
        }
        next = (arrival > now_ns ? arrival : now_ns) + price;
    } while (!atomic_compare_exchange_weak_explicit(&r->arrival_ns, &arrival, next,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void ten_rate_give_back(struct ten_rate *r, uint64_t cost)
{
    uint64_t per_second = load(&r->per_second);
    if (per_second == 0 || cost == 0)
        return;
    uint64_t price = price_of(per_second, cost);
    uint64_t arrival = load(&r->arrival_ns);
    uint64_t next;
    do {
        next = arrival > price ? arrival - price : 0; /* ten_rate_set may have reset it */
    } while (!atomic_compare_exchange_weak_explicit(&r->arrival_ns, &arrival, next,
                                                    memory_order_relaxed, memory_order_relaxed));
}

uint64_t ten_rate_charge(struct ten_rate *r, uint64_t cost, uint64_t now_ns)
{
    uint64_t per_second = load(&r->per_second);
    if (per_second == 0 || cost == 0)
        return 0;
    uint64_t price = price_of(per_second, cost);
    /* the burst itself, and the same amount of debt */
    uint64_t latest = now_ns + 2 * price_of(per_second, load(&r->burst));
    uint64_t arrival = load(&r->arrival_ns);
    uint64_t whole, next;
    do {
        whole = (arrival > now_ns ? arrival : now_ns) + price;
        next = whole < latest ? whole : latest;
        if (next <= arrival)
            return cost; /* a large operation left more debt than a charge may create */
    } while (!atomic_compare_exchange_weak_explicit(&r->arrival_ns, &arrival, next,
                                                    memory_order_relaxed, memory_order_relaxed));
    uint64_t left_out = units_of(per_second, whole - next);
    return left_out < cost ? left_out : cost;
}

uint64_t ten_rate_owe(struct ten_rate *r, uint64_t cost, uint64_t now_ns)
{
    uint64_t per_second = load(&r->per_second);
    if (per_second == 0 || cost == 0)
        return 0;
    uint64_t latest = now_ns + open_until(r, per_second);
    uint64_t price = price_of(per_second, cost);
    uint64_t arrival = load(&r->arrival_ns);
    uint64_t next;
    do {
        next = bounded((wide)(arrival > now_ns ? arrival : now_ns) + price);
    } while (!atomic_compare_exchange_weak_explicit(&r->arrival_ns, &arrival, next,
                                                    memory_order_relaxed, memory_order_relaxed));
    return next > latest ? next - latest : 0;
}

uint64_t ten_rate_price_ns(const struct ten_rate *r, uint64_t units)
{
    uint64_t per_second = load(&r->per_second);
    return per_second == 0 || units == 0 ? 0 : price_of(per_second, units);
}

uint64_t ten_rate_units(const struct ten_rate *r, uint64_t ns)
{
    uint64_t per_second = load(&r->per_second);
    return per_second == 0 ? UINT64_MAX : units_of(per_second, ns);
}

uint64_t ten_rate_wait_ns(const struct ten_rate *r, uint64_t now_ns)
{
    uint64_t per_second = load(&r->per_second);
    uint64_t arrival = load(&r->arrival_ns);
    if (per_second == 0)
        return 0;
    uint64_t latest = now_ns + open_until(r, per_second);
    return arrival > latest ? arrival - latest : 0;
}

uint64_t ten_rate_full_ns(const struct ten_rate *r, uint64_t now_ns)
{
    uint64_t arrival = load(&r->arrival_ns);
    return arrival > now_ns && load(&r->per_second) != 0 ? arrival - now_ns : 0;
}

uint64_t ten_rate_left(const struct ten_rate *r, uint64_t now_ns)
{
    uint64_t per_second = load(&r->per_second);
    if (per_second == 0)
        return UINT64_MAX;
    uint64_t burst = load(&r->burst);
    uint64_t arrival = load(&r->arrival_ns);
    uint64_t end = now_ns + price_of(per_second, burst);
    if (arrival <= now_ns)
        return burst;
    return arrival >= end ? 0 : units_of(per_second, end - arrival);
}

/* --- the four rates of a tenant or key -------------------------------------------------------- */

void ten_rates_set(struct ten_rates *r, const struct ten_rate_limits *limits)
{
    for (size_t i = 0; i < TEN_RATE_COUNT; i++) {
        uint64_t limit = limits->per_second[i];
        ten_rate_set(&r->each[i], limit == UINT64_MAX ? 0 : limit, limits->burst_ms);
    }
}

struct ten_key_rates *ten_key_rates_new(const struct ten_rate_limits *limits)
{
    struct ten_key_rates *k = base_new(sizeof *k);
    atomic_init(&k->refs, 1);
    ten_rates_set(&k->rates, limits);
    return k;
}

struct ten_key_rates *ten_key_rates_ref(struct ten_key_rates *k)
{
    if (k != NULL)
        atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    return k;
}

void ten_key_rates_unref(struct ten_key_rates *k)
{
    if (k == NULL)
        return;
    uint32_t before = atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel);
    INVARIANT(before > 0);
    if (before == 1)
        base_free(k);
}

/*
 * tenancy/overload.c - limits that shrink under pressure and grow without, by factors.
 *
 * Time is divided into windows. The first thread that comes in a new window closes the old one: it
 * decides whether small requests waited too long (the mean, compared with the usual wait; one slow
 * fsync may cause one such window), how much all tenants did, and how many were seen. A tenant's
 * own limit changes when the tenant is first seen in a window:
 *
 *   pressed, above its share     SHRINK percent of its recent use, or of its limit if that is less
 *   pressed, otherwise           unchanged
 *   not pressed                  grows by GROW if it is used up; removed when it is far above the
 *                                tenant's use, and no request of the tenant was held recently
 *   alone                        removed
 *
 * 1. A window is closed by one thread, and a tenant's part in it by one: both swap numbers.
 * 2. Values that other threads read at that time are of the new window or of the previous one;
 *    either is good enough.
 * 3. usual[] falls at once and rises by 1/256 a window, so that a slow disk does not count as
 *    pressure for long.
 */
#include "tenancy/overload.h"

#include "base/limits.h"

#include "base/banned.h"

#define NS_PER_US   1000ull
#define NS_PER_MS   1000000ull
#define SECOND_NS   1000000000ull
#define WINDOW_NS   (LIM_OVERLOAD_WINDOW_MS * NS_PER_MS)
#define PER_SECOND  (1000 / LIM_OVERLOAD_WINDOW_MS) /* windows */
#define PARTS       LIM_OVERLOAD_PARTS
#define USUAL_RISE  256
#define BURST_PARTS 10 /* a tenth of a second's units may come at once */

static uint64_t load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void store(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static uint64_t take_out(_Atomic uint64_t *word)
{
    return atomic_exchange_explicit(word, 0, memory_order_relaxed);
}

static void add(_Atomic uint64_t *word, uint64_t amount)
{
    atomic_fetch_add_explicit(word, amount, memory_order_relaxed);
}

/* Returns true to the one thread that advances the word to number; *out_before is the previous
 * value. */
static bool moves_on(_Atomic uint64_t *word, uint64_t number, uint64_t *out_before)
{
    *out_before = load(word);
    return *out_before < number &&
           atomic_compare_exchange_strong_explicit(word, out_before, number, memory_order_relaxed,
                                                   memory_order_relaxed);
}

/* PARTS times the exponentially weighted moving average over windows (alpha = 1/PARTS). */
static uint64_t lately(uint64_t sum, uint64_t newest, uint64_t windows)
{
    if (windows > PARTS)
        return newest;
    for (uint64_t i = 0; i < windows; i++)
        sum -= sum / PARTS;
    return sum + newest;
}

/* --- the server --------------------------------------------------------------------------------
 */

static bool is_alone(const struct ten_overload *o)
{
    return load(&o->tenants[0]) < 2 && load(&o->tenants[1]) < 2;
}

/* 1: requests of this kind waited long; 0: they did not; -1: there were none. */
static int waited_long(struct ten_overload *o, enum ten_waited kind)
{
    uint64_t waits = take_out(&o->waits[kind]);
    uint64_t mean = take_out(&o->waited[kind]) / (waits == 0 ? 1 : waits);
    uint64_t usual = load(&o->usual[kind]);
    if (waits == 0)
        return -1;
    store(&o->usual[kind], usual + usual / USUAL_RISE + 1);
    return usual != 0 && mean > LIM_OVERLOAD_TIMES * usual + LIM_OVERLOAD_WAIT_US * NS_PER_US;
}

static void window_close(struct ten_overload *o, uint64_t windows)
{
    int reads = waited_long(o, TEN_WAITED_READ);
    int writes = waited_long(o, TEN_WAITED_WRITE);
    bool is_known = reads >= 0 || writes >= 0;
    bool is_long = reads > 0 || writes > 0;
    if (is_long)
        store(&o->slow, windows > PARTS ? 1 : load(&o->slow) + 1);
    else if (is_known || windows > PARTS)
        store(&o->slow, 0);
    uint64_t window = load(&o->window);
    bool goes_on = window - load(&o->pressed_in) <= LIM_OVERLOAD_CALM_MS / LIM_OVERLOAD_WINDOW_MS;
    bool is_pressed = is_long && !is_alone(o) && (goes_on || load(&o->slow) >= LIM_OVERLOAD_SLOW);
    if (is_pressed)
        store(&o->pressed_in, window);
    store(&o->per_window, lately(load(&o->per_window), take_out(&o->used), windows));
    atomic_store_explicit(&o->pressed, is_pressed, memory_order_relaxed);
}

static void second_close(struct ten_overload *o, bool is_next)
{
    uint64_t tenants = take_out(&o->tenants[0]);
    uint64_t weights = take_out(&o->weights[0]);
    store(&o->tenants[1], is_next ? tenants : 0);
    store(&o->weights[1], is_next ? weights : 0);
}

/* --- a tenant ----------------------------------------------------------------------------------
 */

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Returns whether the tenant used more than 1/parts of the share that its weight grants; parts 1:
 * more than its whole share. */
static bool is_above_share(const struct ten_overload *o, uint64_t used, uint64_t weight,
                           unsigned parts)
{
    uint64_t weights = more(load(&o->weights[0]), load(&o->weights[1]));
    return (double)used * (double)weights * parts > (double)load(&o->per_window) * (double)weight;
}

/* Unlike ten_rate_set, keeps the debt. */
static void limit_set(struct ten_rate *limit, uint64_t per_second)
{
    store(&limit->burst, per_second / BURST_PARTS + 1);
    store(&limit->per_second, per_second);
}

/* Does not grow a limit that is not used up: that would admit all waiting and refused requests at
 * once. */
static uint64_t grown(const struct ten_overload_part *part, uint64_t limit, uint64_t does,
                      uint64_t now_ns)
{
    if (limit <= does * LIM_OVERLOAD_FAR)
        return limit * LIM_OVERLOAD_GROW / 100 + 1;
    return now_ns > load(&part->held_ns) + LIM_OVERLOAD_CALM_MS * NS_PER_MS ? 0 : limit;
}

static void limit_move(const struct ten_overload_by *by, uint64_t used)
{
    const struct ten_overload *o = by->all;
    struct ten_overload_part *part = by->part;
    uint64_t limit = load(&part->limit.per_second);
    uint64_t does = used * PER_SECOND / PARTS;
    if (is_alone(o)) {
        limit = 0;
    } else if (atomic_load_explicit(&o->pressed, memory_order_relaxed)) {
        if (does <= LIM_OVERLOAD_LEAST || !is_above_share(o, used, by->weight, 1))
            return;
        uint64_t from = limit != 0 && limit < does ? limit : does;
        limit = more(from * LIM_OVERLOAD_SHRINK / 100, LIM_OVERLOAD_LEAST);
    } else if (limit != 0) {
        limit = grown(part, limit, does, by->now_ns);
    }
    limit_set(&part->limit, limit);
}

static void part_close(const struct ten_overload_by *by, uint64_t windows)
{
    struct ten_overload_part *part = by->part;
    uint64_t newest = take_out(&part->used);
    uint64_t used = lately(load(&part->per_window), newest, windows);
    store(&part->per_window, used);
    add(&by->all->used, newest);
    limit_move(by, used);
}

static void seen(const struct ten_overload_by *by)
{
    struct ten_overload *o = by->all;
    struct ten_overload_part *part = by->part;
    uint64_t second = by->now_ns / SECOND_NS + 1;
    uint64_t window = by->now_ns / WINDOW_NS + 1;
    uint64_t before;
    if (moves_on(&o->second, second, &before))
        second_close(o, before + 1 == second);
    if (moves_on(&part->second, second, &before)) {
        add(&o->tenants[0], 1);
        add(&o->weights[0], by->weight);
    }
    if (moves_on(&o->window, window, &before))
        window_close(o, window - before);
    if (moves_on(&part->window, window, &before))
        part_close(by, window - before);
}

/* --- public functions ------------------------------------------------------------------------- */

bool ten_overload_begin(const struct ten_overload_by *by, uint64_t most_ns, uint64_t *out_ns)
{
    seen(by);
    *out_ns = ten_rate_wait_ns(&by->part->limit, by->now_ns);
    if (*out_ns > 0)
        store(&by->part->held_ns, by->now_ns);
    return *out_ns <= most_ns;
}

uint64_t ten_overload_pay(const struct ten_overload_by *by, uint64_t units)
{
    seen(by);
    add(&by->part->used, units);
    uint64_t pause_ns = ten_rate_owe(&by->part->limit, units, by->now_ns);
    if (pause_ns > 0)
        store(&by->part->held_ns, by->now_ns);
    return pause_ns;
}

void ten_overload_waited(const struct ten_overload_by *by, enum ten_waited kind, uint64_t ns)
{
    struct ten_overload *o = by->all;
    seen(by);
    if (ten_rate_is_limited(&by->part->limit) ||
        is_above_share(o, load(&by->part->per_window), by->weight, LIM_OVERLOAD_QUIET))
        return; /* a flooding tenant waits for itself, and equal tenants for each other */
    add(&o->waited[kind], ns);
    add(&o->waits[kind], 1);
    uint64_t usual = load(&o->usual[kind]);
    if (usual == 0 || ns < usual)
        store(&o->usual[kind], ns); /* threads overwrite each other: it is an estimate */
}

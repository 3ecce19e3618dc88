/*
 * base/memory.c - a budget for the memory that requests hold, in total and per share.
 *
 * Mechanism: the threshold of a share is the free rest of the budget (dynamic thresholds, as
 * switches divide their buffers among ports). The threshold falls as other shares take memory, and
 * a share above it gets nothing until it has returned enough.
 *
 * Refused bytes are never part of the budget's sum, not even for a moment, because a scrape would
 * see them. If two threads take from one share at the same time, both may be refused although one
 * of them would have fit. The counters order no other memory accesses, so relaxed is enough.
 */
#include "base/memory.h"

#include "base/err.h"

#include "base/banned.h"

static bool is_free(const struct base_memory_share *s)
{
    return s == NULL || s->budget == NULL;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the threshold of a share when all shares hold `all` bytes. */
static size_t threshold(const struct base_memory_share *s, size_t all)
{
    size_t left = s->budget->limit > all ? s->budget->limit - all : 0;
    return s->most == 0 ? left : least(left, s->most);
}

static size_t add(_Atomic size_t *to, size_t bytes)
{
    return atomic_fetch_add_explicit(to, bytes, memory_order_relaxed) + bytes;
}

static void subtract(_Atomic size_t *from, size_t bytes)
{
    size_t before = atomic_fetch_sub_explicit(from, bytes, memory_order_relaxed);
    INVARIANT(before >= bytes);
}

static size_t load(const _Atomic size_t *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

bool base_memory_take(struct base_memory_share *s, size_t bytes)
{
    if (is_free(s) || bytes == 0)
        return true;
    size_t own = add(&s->used, bytes);
    size_t all = load(&s->budget->used);
    do {
        if (own > threshold(s, all + bytes)) {
            subtract(&s->used, bytes);
            atomic_fetch_add_explicit(&s->budget->refused, 1, memory_order_relaxed);
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&s->budget->used, &all, all + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void base_memory_take_anyway(struct base_memory_share *s, size_t bytes)
{
    if (is_free(s) || bytes == 0)
        return;
    (void)add(&s->budget->used, bytes);
    (void)add(&s->used, bytes);
}

void base_memory_give(struct base_memory_share *s, size_t bytes)
{
    if (is_free(s) || bytes == 0)
        return;
    subtract(&s->used, bytes);
    subtract(&s->budget->used, bytes);
}

bool base_memory_is_scarce(const struct base_memory_share *s)
{
    return !is_free(s) && load(&s->used) >= base_memory_most(s) / 2;
}

size_t base_memory_most(const struct base_memory_share *s)
{
    size_t own = load(&s->used);
    size_t all = load(&s->budget->used);
    size_t others = all > own ? all - own : 0;
    size_t both = s->budget->limit > others ? s->budget->limit - others : 0;
    return s->most == 0 ? both / 2 : least(both / 2, s->most);
}

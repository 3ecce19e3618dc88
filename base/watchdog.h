/*
 * base/watchdog.h - notices a thread that computes for long without coming round.
 *
 * Does:     watch threads that others wait for: each says when it begins the next piece of work;
 *           one that has had a processor for BASE_WATCHDOG_MS since then is reported, once, with
 *           what it is at, and is told that it is overdue.
 * Owns:     its thread, between start and stop.
 * May use:  base/.
 * Knows no: what the work is.
 * Threads:  start and stop from one; join, round and is_overdue by the watched thread.
 * Blocks:   stop joins; join, and the end of a thread that joined, take a short mutex.
 * Fails by: ERR_NO_MEMORY, ERR_IO when its thread cannot be made.
 * Limits:   BASE_WATCHDOG_THREADS; one that joins behind them is not watched.
 * Promises: 1. Time is the processor's: a thread that waits, or that others keep from it, is not
 *              reported.
 *           2. Beginning a piece of work is two stores, without a call of the system.
 */
#ifndef BASE_WATCHDOG_H
#define BASE_WATCHDOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define BASE_WATCHDOG_MS      100
#define BASE_WATCHDOG_THREADS 512

struct base_watched {
    _Atomic uint64_t rounds;
    _Atomic(const char *) what; /* lives as long as the program; NULL: not said */
    _Atomic uint64_t overdue;   /* the round that takes too long; 0: none does */
};

/* Of this thread; NULL: it is not watched. */
extern _Thread_local struct base_watched *base_watched_here;

/* report runs on the watchdog's thread: name as given to join, what as given to round or "-", and
 * how long the processor was had. One watchdog at a time. */
enum err base_watchdog_start(void (*report)(const char *name, const char *what, uint64_t ms));
void base_watchdog_stop(void);
/* Reported since the start. */
uint64_t base_watchdog_reports(void);

/* Until this thread ends. name: copied, at most 15 characters. */
void base_watchdog_join(const char *name);

/* This thread begins the next piece of work. */
static inline void base_watchdog_round(const char *what)
{
    struct base_watched *w = base_watched_here;
    if (w == NULL)
        return;
    uint64_t rounds = atomic_load_explicit(&w->rounds, memory_order_relaxed);
    atomic_store_explicit(&w->what, what, memory_order_relaxed);
    atomic_store_explicit(&w->rounds, rounds + 1, memory_order_relaxed);
}

/* What the piece of work is, when that is known later. */
static inline void base_watchdog_say(const char *what)
{
    if (base_watched_here != NULL)
        atomic_store_explicit(&base_watched_here->what, what, memory_order_relaxed);
}

/* Test tool: every piece of work is overdue at once. */
extern _Atomic bool base_watchdog_test_hurry;

/* The piece of work under way should end, where it can. */
static inline bool base_watchdog_is_overdue(void)
{
    const struct base_watched *w = base_watched_here;
    return w != NULL && (atomic_load_explicit(&w->overdue, memory_order_relaxed) ==
                             atomic_load_explicit(&w->rounds, memory_order_relaxed) ||
                         atomic_load_explicit(&base_watchdog_test_hurry, memory_order_relaxed));
}

#endif

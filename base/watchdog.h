/*
 * base/watchdog.h - detects a thread that computes for long without starting its next piece of
 * work.
 *
 * Does:     monitors threads that others wait for. Each thread signals when it starts its next
 *           piece of work. A thread that has used a processor for BASE_WATCHDOG_MS since then is
 *           reported, once, with its current work, and is marked as overdue.
 * Owns:     its thread, between start and stop.
 * May use:  base/.
 * Knows no: the kind of work.
 * Threads:  start and stop from one; join, round and is_overdue by the monitored thread.
 * Blocks:   stop joins; join, and the end of a thread that joined, take a short mutex.
 * Fails by: ERR_NO_MEMORY, ERR_IO if its thread cannot be created.
 * Limits:   BASE_WATCHDOG_THREADS; threads that join after that many are not monitored.
 * Promises: 1. Time is processor time: a thread that waits, or gets no processor because of others,
 *              is not reported.
 *           2. Starting a piece of work costs two stores, without a system call.
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
    _Atomic(const char *) what; /* valid as long as the program runs; NULL: not set */
    _Atomic uint64_t overdue;   /* number of the round that takes too long; 0: none */
};

/* State of this thread; NULL: it is not monitored. */
extern _Thread_local struct base_watched *base_watched_here;

/* Starts the watchdog. report runs on the watchdog's thread, with the name passed to join, the
 * `what` passed to round or "-", and the processor time used. One watchdog at a time. */
enum err base_watchdog_start(void (*report)(const char *name, const char *what, uint64_t ms));
void base_watchdog_stop(void);
/* Returns the number of reports since the start. */
uint64_t base_watchdog_reports(void);

/* Monitors this thread until it ends. name: copied, at most 15 characters. */
void base_watchdog_join(const char *name);

/* Signals that this thread starts its next piece of work. */
static inline void base_watchdog_round(const char *what)
{
    struct base_watched *w = base_watched_here;
    if (w == NULL)
        return;
    uint64_t rounds = atomic_load_explicit(&w->rounds, memory_order_relaxed);
    atomic_store_explicit(&w->what, what, memory_order_relaxed);
    atomic_store_explicit(&w->rounds, rounds + 1, memory_order_relaxed);
}

/* Sets the name of the current piece of work, if it is known only later. */
static inline void base_watchdog_say(const char *what)
{
    if (base_watched_here != NULL)
        atomic_store_explicit(&base_watched_here->what, what, memory_order_relaxed);
}

/* Test tool: every piece of work is overdue at once. */
extern _Atomic bool base_watchdog_test_hurry;

/* Returns whether the current piece of work should end, if it can. */
static inline bool base_watchdog_is_overdue(void)
{
    const struct base_watched *w = base_watched_here;
    return w != NULL && (atomic_load_explicit(&w->overdue, memory_order_relaxed) ==
                             atomic_load_explicit(&w->rounds, memory_order_relaxed) ||
                         atomic_load_explicit(&base_watchdog_test_hurry, memory_order_relaxed));
}

#endif

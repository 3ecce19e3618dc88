/*
 * gateway/timer.h - delayed work on a loop.
 *
 * Does:     calls a function on its loop once a moment has passed.
 * Owns:     nothing; a timer is embedded in the object that it is for.
 * May use:  gateway/loop.h.
 * Knows no: subject of the work.
 * Threads:  the loop's.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   as exact as an iteration of the loop; meant for tens of milliseconds and more: every
 *           timer is checked whenever the first one is due.
 * Promises: 1. run is called once for each start, unless the timer was stopped before.
 *           2. A timer is no longer started when run is called: run may free it, or start it again.
 */
#ifndef GATEWAY_TIMER_H
#define GATEWAY_TIMER_H

#include <stdint.h>

struct gw_loop;

/* All zero: not started. */
struct gw_timer {
    struct gw_timer *next;
    struct gw_timer **link; /* the pointer to this timer; NULL: not started */
    uint64_t due_ns;        /* monotonic */
    void (*run)(struct gw_timer *timer);
};

/* Of one loop; starts zeroed. */
struct gw_timers {
    struct gw_timer *first;
    uint64_t soonest_ns; /* no timer is due earlier; meaningless if there is none */
};

/* Starts a timer that is not started; due_ns and run are set. */
void gw_timer_start(struct gw_loop *loop, struct gw_timer *timer);
/* Stops a timer; does nothing if it is not started. */
void gw_timer_stop(struct gw_timer *timer);

/* Runs the timers that are due; for the loop. */
void gw_timers_run(struct gw_timers *timers, uint64_t now_ns);

#endif

/*
 * gateway/timer.h - something to be done on a loop, later.
 *
 * Does:     call a function on its loop once a moment has passed.
 * Owns:     nothing; a timer is embedded in what it is for.
 * May use:  gateway/loop.h.
 * Knows no: what is done.
 * Threads:  the loop's.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   as exact as a turn of the loop; meant for tens of milliseconds and more: every timer
 *           is looked at whenever the first one is due.
 * Promises: 1. run comes once for each start, unless the timer was stopped before.
 *           2. A timer that runs is not started any more: run may free it, or start it again.
 */
#ifndef GATEWAY_TIMER_H
#define GATEWAY_TIMER_H

#include <stdint.h>

struct gw_loop;

/* All zero: not started. */
struct gw_timer {
    struct gw_timer *next;
    struct gw_timer **link; /* what points to it; NULL: not started */
    uint64_t due_ns;        /* monotonic */
    void (*run)(struct gw_timer *timer);
};

/* Of one loop; starts zeroed. */
struct gw_timers {
    struct gw_timer *first;
    uint64_t soonest_ns; /* no timer is due before; of none, nothing */
};

/* due_ns and run are set; it was not started. */
void gw_timer_start(struct gw_loop *loop, struct gw_timer *timer);
/* Does nothing when it was not started. */
void gw_timer_stop(struct gw_timer *timer);

/* For the loop: run what is due. */
void gw_timers_run(struct gw_timers *timers, uint64_t now_ns);

#endif

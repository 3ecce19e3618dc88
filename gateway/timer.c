/*
 * gateway/timer.c - an unordered list, searched when its first timer is due.
 *
 * Timers that are due move to a list of their own before any of them runs: a timer started in the
 * meantime waits for the next iteration, and a timer stopped in the meantime is removed from
 * whichever list it is in.
 */
#include "gateway/timer.h"

#include <stddef.h>

#include "gateway/loop_internal.h"

#include "base/banned.h"

static void put(struct gw_timer **list, struct gw_timer *timer)
{
    timer->next = *list;
    timer->link = list;
    if (timer->next != NULL)
        timer->next->link = &timer->next;
    *list = timer;
}

void gw_timer_stop(struct gw_timer *timer)
{
    if (timer->link == NULL)
        return;
    *timer->link = timer->next;
    if (timer->next != NULL)
        timer->next->link = timer->link;
    timer->link = NULL;
}

void gw_timer_start(struct gw_loop *loop, struct gw_timer *timer)
{
    struct gw_timers *timers = &loop->timers;
    INVARIANT(timer->link == NULL && timer->run != NULL);
    if (timers->first == NULL || timer->due_ns < timers->soonest_ns)
        timers->soonest_ns = timer->due_ns;
    put(&timers->first, timer);
}

void gw_timers_run(struct gw_timers *timers, uint64_t now_ns)
{
    struct gw_timer *due = NULL, *next = NULL;
    if (timers->first == NULL || now_ns < timers->soonest_ns)
        return;
    timers->soonest_ns = UINT64_MAX;
    for (struct gw_timer *t = timers->first; t != NULL; t = next) {
        next = t->next;
        if (t->due_ns <= now_ns) {
            gw_timer_stop(t);
            put(&due, t);
        } else if (t->due_ns < timers->soonest_ns) {
            timers->soonest_ns = t->due_ns;
        }
    }
    while (due != NULL) {
        struct gw_timer *t = due;
        gw_timer_stop(t);
        t->run(t);
    }
}

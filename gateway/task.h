/*
 * gateway/task.h - a part of a call that runs on another thread and returns.
 *
 * Does:     passes a call to tenancy's control thread (which may wait for the disk) or to the
 *           helper thread (heavy parsing), runs the work there, and returns the result to the
 *           call's loop.
 * Owns:     nothing; embedded in the call, one at a time.
 * May use:  base/, tenancy/, gateway/.
 * Knows no: subject of the work.
 * Threads:  start from the call's loop; work runs on the other thread, done on the loop again.
 * Blocks:   no.
 * Fails by: passing work's result to done; 429 for a call whose tenant has too many on control.
 * Limits:   one task of a call at a time; LIM_CONTROL_WAITING of a tenant.
 * Promises: 1. The call is held from start until done returned; between the two it belongs to the
 *              other thread, and the loop only records that the peer is gone.
 *           2. Tenants are served by share; a call whose first task was admitted is not refused
 *              later. Revocations and suspensions are served first.
 *           3. An action returns when its record is durable, in the batch of the change itself.
 */
#ifndef GATEWAY_TASK_H
#define GATEWAY_TASK_H

#include "base/err.h"
#include "tenancy/fair_worker.h"

struct gw_call;

struct gw_task {
    struct ten_work turn;
    bool is_begun; /* the call had a task before: later ones are not refused */
    enum err (*work)(struct gw_call *call, struct errbuf *eb);
    void (*done)(struct gw_call *call);
    const char *action; /* recorded with its result; NULL: nothing to record */
    enum err result;
    struct errbuf detail;
};

/* Runs work on the control thread; done answers. The work is the call's action, if the call has one
 * that is not recorded yet. */
void gw_task_on_control(struct gw_call *call,
                        enum err (*work)(struct gw_call *call, struct errbuf *eb),
                        void (*done)(struct gw_call *call));
/* Runs work on the control thread for an action of that name, whatever the call's own is. */
void gw_task_as(struct gw_call *call, const char *action,
                enum err (*work)(struct gw_call *call, struct errbuf *eb),
                void (*done)(struct gw_call *call));
void gw_task_on_helper(struct gw_call *call,
                       enum err (*work)(struct gw_call *call, struct errbuf *eb),
                       void (*done)(struct gw_call *call));

#endif

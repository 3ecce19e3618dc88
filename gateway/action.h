/*
 * gateway/action.h - the audit trail's view of a call.
 *
 * Does:     holds the action of a call's route or method until the action is recorded; states
 *           actor, address and subject of the call; records calls that were refused before they
 *           reached the control thread.
 * Owns:     nothing; embedded in the call.
 * May use:  base/, tenancy/, auth/, gateway/.
 * Knows no: routes, methods: each protocol names tenant and target (struct gw_protocol).
 * Threads:  the call's loop; gw_action_get also where its task runs.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   GW_PEER_TEXT, LIM_AUDIT_TEXT.
 * Promises: 1. A call of a route with an action is recorded exactly once, if it was answered and
 *              the caller known: either when it was handed to the control thread, or as refused
 *              before that.
 *           2. Text that looks like an API key is in no record.
 */
#ifndef GATEWAY_ACTION_H
#define GATEWAY_ACTION_H

#include "base/limits.h"
#include "gateway/exchange.h"
#include "tenancy/action.h"

struct gw_call;

struct gw_action {
    const char *name;  /* action of the route or method; NULL: the call changes nothing */
    bool is_taken;     /* handed to the control thread, which records the action */
    bool is_elsewhere; /* the control thread owns the action and its text */
    bool has_address;
    char address[GW_PEER_TEXT];
    char target[LIM_AUDIT_TEXT];
};

/* Returns actor, address and subject of the call; the text points into the call. Must be called on
 * the loop once before another thread calls it. */
struct ten_action gw_action_get(struct gw_call *call, const char *name);
/* Records a call that is about to be refused. */
void gw_action_refused(struct gw_call *call, int problem);
/* Drops the action of a call that turns out to change nothing. */
void gw_action_forget(struct gw_call *call);
/* Stores the peer's address while the peer is there; later its address may be unknown. */
void gw_action_note_address(struct gw_call *call);
/* Returns the action of work that is recorded by code other than gw_task_on_control, and marks the
 * action as handed over. */
struct ten_action gw_action_take(struct gw_call *call);

/* Appends an ID to the target of the action; for protocols. */
void gw_action_target(struct gw_action *a, struct slice id);

#endif

/*
 * gateway/action.h - what a call means to the audit trail.
 *
 * Does:     know the action a call's route or method is, until it was recorded; say who does what
 *           from where; record calls that were refused before they came to the control thread.
 * Owns:     nothing; embedded in the call.
 * May use:  base/, tenancy/, auth/, gateway/.
 * Knows no: routes, methods: each protocol names tenant and target (struct gw_protocol).
 * Threads:  the call's loop; gw_action_get also where its task runs.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   GW_PEER_TEXT, LIM_AUDIT_TEXT.
 * Promises: 1. A call of a route with an action is recorded exactly once, if it was answered and
 *              the caller known: as handed to the control thread, or as refused before.
 *           2. What looks like an API key is in no record.
 */
#ifndef GATEWAY_ACTION_H
#define GATEWAY_ACTION_H

#include "base/limits.h"
#include "gateway/exchange.h"
#include "tenancy/action.h"

struct gw_call;

struct gw_action {
    const char *name;  /* of the route or method; NULL: it changes nothing */
    bool is_taken;     /* handed to the control thread, which records it */
    bool is_elsewhere; /* the control thread has it, and its words */
    bool has_address;
    char address[GW_PEER_TEXT];
    char target[LIM_AUDIT_TEXT];
};

/* Who, from where, to whom; the words point into the call. On the loop once before elsewhere. */
struct ten_action gw_action_get(struct gw_call *call, const char *name);
/* The call is about to be refused. */
void gw_action_refused(struct gw_call *call, int problem);
/* The call turns out to change nothing. */
void gw_action_forget(struct gw_call *call);
/* While the peer is there; later it may not have an address any more. */
void gw_action_note_address(struct gw_call *call);
/* For work that is recorded by others than gw_task_on_control. */
struct ten_action gw_action_take(struct gw_call *call);

/* Where the action's words are; for protocols. */
void gw_action_target(struct gw_action *a, struct slice id);

#endif

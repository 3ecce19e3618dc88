/*
 * gateway/api/portions.h - a response that is produced in portions, one after the peer has accepted
 * the last.
 *
 * Does:     runs each portion of a call's body on the helper or the control thread, sends it, and
 *           continues when the peer has consumed enough; a response of one portion has a length.
 * Owns:     nothing; the call's state starts with a struct gw_portions.
 * May use:  base/, gateway/api/rest.h, gateway/task.h, gateway/budget.h.
 * Knows no: listed objects.
 * Threads:  start from the call's loop; work runs on the other thread, prepare on the loop.
 * Blocks:   no.
 * Fails by: a problem before the first byte; after it the response is aborted, so that a truncated
 *           response does not look complete.
 * Limits:   GW_PORTION_BYTES of text, for work functions that check it.
 * Promises: 1. The cost of a portion is charged to the tenant that requests it.
 *           2. Other work is scheduled between two portions, by share (gateway/task.h).
 */
#ifndef GATEWAY_API_PORTIONS_H
#define GATEWAY_API_PORTIONS_H

#include "gateway/api/rest.h"

#define GW_PORTION_BYTES (64 * KIB) /* 1.5 ms of JSON */

struct gw_portions {
    enum err (*work)(struct gw_call *call, struct errbuf *eb); /* appends to out, sets is_last */
    void (*prepare)(struct gw_call *call);                     /* before each; NULL: nothing */
    const char *content_type;
    bool on_control; /* false: on the helper */
    bool is_last;
    /* private to portions.c */
    bool is_waiting; /* until the peer accepts the output */
    uint64_t work_ns;
};

/* Starts the response. call->state is a struct whose first member is a struct gw_portions. */
void gw_portions_start(struct gw_call *call);

#endif

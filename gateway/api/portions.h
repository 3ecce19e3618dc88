/*
 * gateway/api/portions.h - an answer that is made in portions, each when the peer took the last.
 *
 * Does:     carry a call to the helper or the control thread for each portion of its body, send it,
 *           and go on when the peer has taken enough; a whole answer of one portion has a length.
 * Owns:     nothing; the call's state begins with a struct gw_portions.
 * May use:  base/, gateway/api/rest.h, gateway/task.h, gateway/budget.h.
 * Knows no: what is listed.
 * Threads:  start from the call's loop; work runs there, prepare on the loop.
 * Blocks:   no.
 * Fails by: a problem before the first byte; behind it the answer is aborted, so that what is cut
 *           does not look whole.
 * Limits:   GW_PORTION_BYTES of text, for works that look at it.
 * Promises: 1. What a portion costs is charged to the tenant that asks for it.
 *           2. Between two portions other work has its turn, by share (gateway/task.h).
 */
#ifndef GATEWAY_API_PORTIONS_H
#define GATEWAY_API_PORTIONS_H

#include "gateway/api/rest.h"

#define GW_PORTION_BYTES (64 * KIB) /* 1.5 ms of JSON */

struct gw_portions {
    enum err (*work)(struct gw_call *call, struct errbuf *eb); /* appends to out, says is_last */
    void (*prepare)(struct gw_call *call);                     /* before each; NULL: nothing */
    const char *content_type;
    bool on_control; /* else on the helper */
    bool is_last;
    /* portions.c's */
    bool is_waiting; /* for the peer to take what was sent */
    uint64_t work_ns;
};

/* call->state is a struct whose first member is a struct gw_portions. */
void gw_portions_start(struct gw_call *call);

#endif

/*
 * gateway/sampling.h - keys that divide a call's table, asked of storage.
 *
 * Does:     sample the table of a call, charge what that visits, and try again while the server is
 *           busy and the call may wait.
 * Owns:     nothing; its state is in the call's arena.
 * May use:  gateway/call.h, storage/, tenancy/.
 * Knows no: how the samples are answered.
 * Threads:  the call's loop.
 * Blocks:   no.
 * Fails by: the operation's result, for which the handler answers.
 * Limits:   none of its own.
 * Promises: 1. done is called once, unless the call ends first.
 */
#ifndef GATEWAY_SAMPLING_H
#define GATEWAY_SAMPLING_H

#include "gateway/call.h"

/* Of a call that samples, at the beginning of its state. Filled in by the handler before the start:
 * op.rows, op.bytes_between and op.deadline_ns. */
struct gw_sampling {
    struct sto_sample_op op;
    void (*done)(struct gw_call *call, const struct sto_sample_op *op);
};

/* done answers the call, whatever op.result is. */
void gw_sampling_start(struct gw_call *call,
                       void (*done)(struct gw_call *call, const struct sto_sample_op *op));

#endif

/*
 * gateway/sampling.h - keys that divide a call's table, requested from storage.
 *
 * Does:     samples the table of a call, charges the rows and bytes that the sampling visits, and
 *           retries while the server is busy and the call may wait.
 * Owns:     nothing; its state is in the call's arena.
 * May use:  gateway/call.h, storage/, tenancy/.
 * Knows no: format of the response.
 * Threads:  the call's loop.
 * Blocks:   no.
 * Fails by: the operation's result, which the handler turns into a response.
 * Limits:   none of its own.
 * Promises: 1. done is called once, unless the call ends first.
 */
#ifndef GATEWAY_SAMPLING_H
#define GATEWAY_SAMPLING_H

#include "gateway/call.h"

/* State of a call that samples; the first member of the call's state. The handler fills in op.rows,
 * op.bytes_between and op.deadline_ns before the start. */
struct gw_sampling {
    struct sto_sample_op op;
    void (*done)(struct gw_call *call, const struct sto_sample_op *op);
};

/* Starts sampling. done answers the call, whatever op.result is. */
void gw_sampling_start(struct gw_call *call,
                       void (*done)(struct gw_call *call, const struct sto_sample_op *op));

#endif

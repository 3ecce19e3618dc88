/*
 * gateway/sampling.c - one operation of storage, resubmitted while it is refused for overload.
 */
#include "gateway/sampling.h"

#include "base/banned.h"

static void samples_submit(struct gw_call *call);

static void samples_done(struct sto_sample_op *op)
{
    struct gw_call *call = op->user;
    const struct gw_sampling *s = call->state;
    ten_charge_visited(&call->visit, op->rows_seen, op->bytes_seen);
    if (!gw_call_tries_again(call, op->result, op->retry_ns, samples_submit))
        s->done(call, op);
    gw_call_drop(call);
}

static void samples_submit(struct gw_call *call)
{
    struct gw_sampling *s = call->state;
    gw_call_hold(call);
    sto_sample_row_keys(call->api->engine, &s->op);
}

void gw_sampling_start(struct gw_call *call,
                       void (*done)(struct gw_call *call, const struct sto_sample_op *op))
{
    struct gw_sampling *s = call->state;
    s->done = done;
    s->op.reply_to = call->thread->mailbox;
    s->op.done = samples_done;
    s->op.user = call;
    s->op.unwanted = &call->unwanted;
    s->op.priority = call->priority;
    s->op.scope = call->scope; /* the call keeps the ref until it is freed */
    s->op.arena = &call->arena;
    samples_submit(call);
}

/*
 * gateway/recorded_drop.c - begin on the control thread, the drop in the engine, end on the control
 * thread. A crash in between leaves a beginning without an end: rows may be gone.
 */
#include "gateway/recorded_drop.h"

#include "tenancy/audit.h"

#include "base/banned.h"

static void answer(struct gw_call *call, enum err result, const char *detail)
{
    const struct gw_drop *d = call->state;
    if (result != ERR_OK)
        gw_call_problem(call, (int)result, detail);
    else
        d->answer(call, &d->op);
}

/* Control thread. */
static enum err record_end(struct gw_call *call, struct errbuf *eb)
{
    const struct gw_drop *d = call->state;
    ten_audit_set_detail("end rows=%llu bytes=%llu", (unsigned long long)d->op.removed.rows,
                         (unsigned long long)d->op.removed.bytes);
    if (d->op.result != ERR_OK)
        *eb = d->op.detail;
    return d->op.result;
}

static void end_recorded(struct gw_call *call)
{
    answer(call, call->task.result, call->task.detail.text);
}

static void drop_done(struct sto_drop_op *op)
{
    struct gw_call *call = op->user;
    if (op->dry_run)
        answer(call, op->result, op->detail.text);
    else
        gw_task_as(call, call->action.name, record_end, end_recorded);
    gw_call_drop(call);
}

static void drop(struct gw_call *call)
{
    struct gw_drop *d = call->state;
    gw_call_hold(call);
    sto_drop_rows(call->api->engine, &d->op);
}

/* Control thread. */
static enum err record_begin(struct gw_call *call, struct errbuf *eb)
{
    const struct gw_drop *d = call->state;
    (void)eb; /* nothing can go wrong yet */
    if (d->prefix_bytes == 0)
        ten_audit_set_detail("begin all");
    else
        ten_audit_set_detail("begin prefix_bytes=%zu", d->prefix_bytes);
    return ERR_OK;
}

static void begin_recorded(struct gw_call *call)
{
    if (call->task.result != ERR_OK)
        gw_call_problem(call, (int)call->task.result, call->task.detail.text);
    else
        drop(call);
}

void gw_drop_start(struct gw_call *call, struct gw_drop *d)
{
    INVARIANT(call->state == d);
    d->op.priority = call->priority;
    d->op.reply_to = call->thread->mailbox;
    d->op.done = drop_done;
    d->op.user = call;
    d->op.scope = call->scope; /* the call keeps the ref until it is freed */
    if (d->op.dry_run) {
        gw_action_forget(call);
        drop(call);
    } else {
        gw_task_on_control(call, record_begin, begin_recorded);
    }
}

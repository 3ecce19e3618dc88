/*
 * gateway/recorded_drop.c - a start record on the control thread, the drop in the engine, an end
 * record on the control thread. A crash in between leaves a start without an end: rows may be gone.
 *
 * A dry run consists of slices in the engine, and of pauses on a timer while its tenant or its key
 * is over its rate of bytes read. An unwanted dry run ends in the slice in flight, or before the
 * next.
 */
#include "gateway/recorded_drop.h"

#include "gateway/caller.h"
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

/* Records the end; on the control thread. */
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
    ten_charge_deleted(&call->visit, op->removed.bytes); /* whatever the result */
    gw_task_as(call, call->action.name, record_end, end_recorded);
    gw_call_drop(call);
}

static void drop(struct gw_call *call)
{
    struct gw_drop *d = call->state;
    gw_call_hold(call);
    sto_drop_rows(call->api->engine, &d->op);
}

/* Records the start; on the control thread. */
static enum err record_begin(struct gw_call *call, struct errbuf *eb)
{
    const struct gw_drop *d = call->state;
    (void)eb; /* nothing can fail yet */
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

/* --- dry runs --------------------------------------------------------------------------------- */

static void slice_submit(struct gw_call *call)
{
    struct gw_drop *d = call->state;
    gw_call_hold(call);
    base_buf_truncate(&d->resume, 0);
    sto_drop_rows(call->api->engine, &d->op);
}

/* Submits the next slice, after a pause if necessary. An unwanted call does not pause: the engine
 * ends it. */
static void slice_next(struct gw_call *call)
{
    uint64_t pause_ns = sto_is_unwanted(&call->unwanted) ? 0 : ten_visit_pause_ns(&call->visit);
    if (pause_ns > 0)
        gw_call_later(call, pause_ns, slice_next);
    else
        slice_submit(call);
}

static void slice_counted(struct gw_call *call, struct gw_drop *d)
{
    d->counted.rows += d->op.removed.rows;
    d->counted.cells += d->op.removed.cells;
    d->counted.bytes += d->op.removed.bytes;
    if (d->resume.len == 0) {
        d->op.removed = d->counted;
        answer(call, ERR_OK, NULL);
        return;
    }
    memcpy(d->start_bytes, d->resume.ptr, d->resume.len);
    d->op.range.start = base_slice(d->start_bytes, d->resume.len);
    d->op.range.start_exclusive = false;
    slice_next(call);
}

/* Charges each slice when it is over, whatever its result. */
static void slice_done(struct sto_drop_op *op)
{
    struct gw_call *call = op->user;
    ten_charge_visited(&call->visit, op->steps, op->bytes_seen);
    bool is_over = call->ex == NULL ||
                   gw_call_tries_again(call, op->result, op->retry_ns, slice_submit) ||
                   (op->result == ERR_CANCELLED && !gw_call_may_begin(call));
    if (!is_over && op->result != ERR_OK)
        gw_call_problem_retry(call, (int)op->result, op->detail.text, op->retry_ns);
    else if (!is_over)
        slice_counted(call, call->state);
    gw_call_drop(call);
}

static void dry_run_free(struct gw_call *call)
{
    struct gw_drop *d = call->state;
    base_buf_fini(&d->resume);
}

static void dry_run_start(struct gw_call *call, struct gw_drop *d)
{
    gw_action_forget(call);
    if (!gw_caller_admit_condition(call))
        return;
    base_buf_init(&d->resume, LIM_ROW_KEY);
    call->cleanup = dry_run_free;
    if (base_buf_reserve(&d->resume, LIM_ROW_KEY) != ERR_OK) {
        gw_call_problem(call, ERR_NO_MEMORY, "no memory for a dry run");
        return;
    }
    d->op.done = slice_done;
    d->op.resume = &d->resume;
    d->op.stop = &call->unwanted;
    slice_submit(call);
}

void gw_drop_start(struct gw_call *call, struct gw_drop *d)
{
    INVARIANT(call->state == d);
    d->op.priority = call->priority;
    d->op.reply_to = call->thread->mailbox;
    d->op.done = drop_done;
    d->op.user = call;
    d->op.scope = call->scope; /* the call keeps the ref until it is freed */
    if (d->op.dry_run)
        dry_run_start(call, d);
    else
        gw_task_on_control(call, record_begin, begin_recorded);
}

/*
 * gateway/api/portions.c - runs a task for each portion and sends its result.
 */
#include "gateway/api/portions.h"

#include "base/clock.h"
#include "gateway/budget.h"

#include "base/banned.h"

static enum err portion_work(struct gw_call *call, struct errbuf *eb)
{
    struct gw_portions *p = call->state;
    uint64_t began_ns = base_thread_cpu_ns();
    enum err e = p->work(call, eb);
    p->work_ns = base_thread_cpu_ns() - began_ns;
    return e == ERR_OK && call->out.error != ERR_OK ? gw_call_no_memory(call, eb) : e;
}

static void portion_send(struct gw_call *call);

static void go_on(struct gw_call *call)
{
    const struct gw_portions *p = call->state;
    if (p->prepare != NULL)
        p->prepare(call);
    if (p->on_control)
        gw_task_on_control(call, portion_work, portion_send);
    else
        gw_task_on_helper(call, portion_work, portion_send);
}

static void drained(struct gw_call *call)
{
    struct gw_portions *p = call->state;
    if (!p->is_waiting)
        return;
    p->is_waiting = false;
    go_on(call);
}

static void fail(struct gw_call *call)
{
    if (!call->answered) {
        gw_call_problem(call, (int)call->task.result, call->task.detail.text);
        return;
    }
    gw_observe_problem(call, (int)call->task.result, 0);
    gw_exchange_abort(call->ex);
}

/* Sends a portion, once the call is back on the loop. */
static void portion_send(struct gw_call *call)
{
    struct gw_portions *p = call->state;
    if (call->visit.tenant != NULL)
        ten_charge_work(&call->visit, p->work_ns);
    if (call->ex == NULL)
        return;
    if (call->task.result != ERR_OK) {
        fail(call);
        return;
    }
    if (p->is_last && !call->answered) {
        gw_rest_send(call, 200, p->content_type);
        return;
    }
    gw_rest_start_stream(call, 200, p->content_type);
    if (call->ex == NULL)
        return;
    if (p->is_last)
        gw_budget_put_cost_trailer(call);
    gw_exchange_send_take(call->ex, &call->out, p->is_last);
    if (p->is_last || call->ex == NULL)
        return;
    p->is_waiting = gw_exchange_is_full(call->ex);
    if (!p->is_waiting)
        go_on(call);
}

void gw_portions_start(struct gw_call *call)
{
    call->on_drained = drained;
    go_on(call);
}

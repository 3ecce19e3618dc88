/*
 * gateway/task.c - a part of a call that runs on another thread and returns.
 */
#include "gateway/task.h"

#include <stdio.h>

#include "base/watchdog.h"
#include "gateway/call.h"
#include "tenancy/audit.h"

#include "base/banned.h"

#define RETRY_NS 1000000000 /* in a second, a tenant's share is enough for several changes */

/* Actions that must not wait. */
static const char *const URGENT[] = {"key.revoke", "tenant.suspend", "tenant.hold"};

static struct gw_call *call_of(struct ten_work *turn)
{
    struct gw_call *call =
        (struct gw_call *)(void *)((char *)turn - offsetof(struct gw_call, task.turn));
    INVARIANT(call->magic == GW_CALL_MAGIC);
    return call;
}

static void come_back(struct base_msg *msg)
{
    struct gw_call *call =
        call_of((struct ten_work *)(void *)((char *)msg - offsetof(struct ten_work, msg)));
    call->action.is_elsewhere = false;
    call->task.done(call);
    gw_call_drop(call);
}

static void run_action(struct gw_call *call)
{
    struct gw_task *task = &call->task;
    struct ten_registry *registry = call->api->registry;
    struct ten_action action = gw_action_get(call, task->action);
    ten_audit_begin(registry, &action);
    task->result = task->work(call, &task->detail);
    task->result = ten_audit_end(registry, task->result, &task->detail);
}

static void run_there(struct ten_work *turn)
{
    struct gw_call *call = call_of(turn);
    struct gw_task *task = &call->task;
    base_watchdog_round(task->action == NULL ? "request" : task->action);
    if (task->action == NULL)
        task->result = task->work(call, &task->detail);
    else
        run_action(call);
    base_watchdog_round(NULL);
    turn->msg.run = come_back;
    base_mailbox_push(call->thread->mailbox, &turn->msg);
}

static void prepare(struct gw_call *call, enum err (*work)(struct gw_call *, struct errbuf *),
                    void (*done)(struct gw_call *))
{
    struct gw_task *task = &call->task;
    gw_call_hold(call);
    task->turn.run = run_there;
    task->work = work;
    task->done = done;
    task->action = NULL;
    task->detail.text[0] = '\0';
}

/* --- scheduling --------------------------------------------------------------------------------
 */

/* Returns the tenant whose share the call uses; NULL: it acts for no tenant. */
static struct ten_tenant *tenant_of(const struct gw_call *call)
{
    if (call->who.kind == AUTH_OPERATOR)
        return NULL;
    return call->tenant != NULL ? call->tenant : call->who.home;
}

static enum ten_lane lane_of(const struct gw_call *call, const char *action)
{
    if (call->who.kind != AUTH_OPERATOR)
        return TEN_LANE_SERVICES;
    for (size_t i = 0; action != NULL && i < sizeof URGENT / sizeof URGENT[0]; i++)
        if (strcmp(action, URGENT[i]) == 0)
            return TEN_LANE_URGENT;
    return TEN_LANE_OPERATORS;
}

/* Returns how many calls may wait; a call that has started is finished. */
static uint64_t most_of(const struct gw_call *call)
{
    if (call->task.is_begun)
        return UINT64_MAX;
    return tenant_of(call) != NULL ? LIM_CONTROL_WAITING : LIM_OPERATORS_WAITING;
}

static void refuse(struct gw_call *call, uint64_t most)
{
    const struct gw_problem_extra extra = {.retry_ns = RETRY_NS};
    char text[ERRBUF_BYTES];
    (void)snprintf(
        text, sizeof text,
        "%llu such requests wait for their turn, the most there may be; retry in a second",
        (unsigned long long)most);
    call->action.is_elsewhere = false;
    call->action.is_taken = false;
    gw_call_problem_with(call, ERR_RATE_LIMITED, text, &extra);
    gw_call_drop(call);
}

void gw_task_on_control(struct gw_call *call,
                        enum err (*work)(struct gw_call *call, struct errbuf *eb),
                        void (*done)(struct gw_call *call))
{
    struct gw_action *own = &call->action;
    const char *name = own->is_taken ? NULL : own->name;
    own->is_taken = true;
    gw_task_as(call, name, work, done);
}

void gw_task_as(struct gw_call *call, const char *action,
                enum err (*work)(struct gw_call *call, struct errbuf *eb),
                void (*done)(struct gw_call *call))
{
    prepare(call, work, done);
    call->task.action = action;
    if (action != NULL)
        (void)gw_action_get(call, action); /* stores the facts that only the loop knows */
    call->action.is_elsewhere = action != NULL;
    uint64_t most = most_of(call);
    call->task.is_begun = true;
    if (!ten_control_submit(call->api->registry, &call->task.turn, tenant_of(call),
                            lane_of(call, action), most))
        refuse(call, most);
}

void gw_task_on_helper(struct gw_call *call,
                       enum err (*work)(struct gw_call *call, struct errbuf *eb),
                       void (*done)(struct gw_call *call))
{
    prepare(call, work, done);
    struct ten_fair_worker *helper = &call->api->helper;
    struct ten_tenant *t = tenant_of(call);
    struct sto_fair_line *line =
        t != NULL ? &t->helper : ten_fair_lane(helper, lane_of(call, NULL));
    call->task.is_begun = true;
    bool is_queued = ten_fair_worker_submit(helper, &call->task.turn, line, UINT64_MAX);
    INVARIANT(is_queued); /* one for each request in flight, and those are bounded */
}

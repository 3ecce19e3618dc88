/*
 * gateway/task.c - a piece of a call that runs on another thread and comes back.
 */
#include "gateway/task.h"

#include "gateway/call.h"
#include "tenancy/audit.h"

#include "base/banned.h"

static struct gw_call *call_of(struct base_msg *msg)
{
    struct gw_call *call =
        (struct gw_call *)(void *)((char *)msg - offsetof(struct gw_call, task.msg));
    INVARIANT(call->magic == GW_CALL_MAGIC);
    return call;
}

static void come_back(struct base_msg *msg)
{
    struct gw_call *call = call_of(msg);
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

static void run_there(struct base_msg *msg)
{
    struct gw_call *call = call_of(msg);
    struct gw_task *task = &call->task;
    if (task->action == NULL)
        task->result = task->work(call, &task->detail);
    else
        run_action(call);
    task->msg.run = come_back;
    base_mailbox_push(call->thread->mailbox, &task->msg);
}

static void prepare(struct gw_call *call, enum err (*work)(struct gw_call *, struct errbuf *),
                    void (*done)(struct gw_call *))
{
    struct gw_task *task = &call->task;
    gw_call_hold(call);
    task->msg.run = run_there;
    task->work = work;
    task->done = done;
    task->action = NULL;
    task->detail.text[0] = '\0';
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
        (void)gw_action_get(call, action); /* what only the loop knows is noted */
    call->action.is_elsewhere = action != NULL;
    ten_control_post(call->api->registry, &call->task.msg);
}

void gw_task_on_helper(struct gw_call *call,
                       enum err (*work)(struct gw_call *call, struct errbuf *eb),
                       void (*done)(struct gw_call *call))
{
    prepare(call, work, done);
    base_worker_post(&call->api->helper, &call->task.msg);
}

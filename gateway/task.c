/*
 * gateway/task.c - a piece of a call that runs on another thread and comes back.
 */
#include "gateway/task.h"

#include "gateway/call.h"

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
    call->task.done(call);
    gw_call_drop(call);
}

static void run_there(struct base_msg *msg)
{
    struct gw_call *call = call_of(msg);
    struct gw_task *task = &call->task;
    task->result = task->work(call, &task->detail);
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
    task->detail.text[0] = '\0';
}

void gw_task_on_control(struct gw_call *call,
                        enum err (*work)(struct gw_call *call, struct errbuf *eb),
                        void (*done)(struct gw_call *call))
{
    prepare(call, work, done);
    ten_control_post(call->api->registry, &call->task.msg);
}

void gw_task_on_helper(struct gw_call *call,
                       enum err (*work)(struct gw_call *call, struct errbuf *eb),
                       void (*done)(struct gw_call *call))
{
    prepare(call, work, done);
    base_worker_post(&call->api->helper, &call->task.msg);
}

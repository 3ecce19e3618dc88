/*
 * tenancy/fair_worker.c - messages arrive in a mailbox, work items among them go into lines, and
 *                         after each item the mailbox is checked again.
 *
 * 1. Lines, queue and `stopping` belong to the thread; fields of a line that other threads read are
 *    atomic.
 * 2. An item counts as waiting from its submission until it starts to run.
 */
#include "tenancy/fair_worker.h"

#include <string.h>

#include "base/clock.h"
#include "base/share.h"
#include "base/watchdog.h"
#include "base/worker.h"

#include "base/banned.h"

#define NS_PER_OPERATION 1000000 /* of the thread's time, beyond the first */
#define STANDARD_WEIGHT  100     /* tenancy/quota.h */

/* --- submitting ------------------------------------------------------------------------------- */

static void arrive(struct base_msg *msg)
{
    struct ten_work *work =
        (struct ten_work *)(void *)((char *)msg - offsetof(struct ten_work, msg));
    struct ten_fair_worker *w = work->worker;
    if (!work->is_urgent) {
        sto_fair_put(&w->queue, work->line, STO_PRIORITY_MEDIUM, msg, base_monotonic_ns());
        return;
    }
    msg->next = NULL;
    if (w->urgent.last == NULL)
        w->urgent.first = msg;
    else
        w->urgent.last->next = msg;
    w->urgent.last = msg;
}

static void send(struct ten_fair_worker *w, struct ten_work *work, struct sto_fair_line *line)
{
    work->msg.run = arrive;
    work->worker = w;
    work->line = line;
    work->is_urgent = line == NULL;
    base_mailbox_push(&w->mailbox, &work->msg);
}

bool ten_fair_worker_submit(struct ten_fair_worker *w, struct ten_work *work,
                            struct sto_fair_line *line, uint64_t most)
{
    uint64_t waiting = atomic_fetch_add_explicit(&line->queued, 1, memory_order_relaxed);
    if (waiting >= most) {
        atomic_fetch_sub_explicit(&line->queued, 1, memory_order_relaxed);
        return false;
    }
    send(w, work, line);
    return true;
}

void ten_fair_worker_submit_urgent(struct ten_fair_worker *w, struct ten_work *work)
{
    send(w, work, NULL);
}

void ten_fair_worker_post(struct ten_fair_worker *w, struct base_msg *msg)
{
    base_mailbox_push(&w->mailbox, msg);
}

/* --- running ---------------------------------------------------------------------------------- */

static struct ten_work *urgent_take(struct ten_fair_worker *w)
{
    struct base_msg *msg = w->urgent.first;
    if (msg == NULL)
        return NULL;
    w->urgent.first = msg->next;
    if (msg->next == NULL)
        w->urgent.last = NULL;
    return (struct ten_work *)(void *)((char *)msg - offsetof(struct ten_work, msg));
}

/* The work may be freed when it has run; its line is not. */
static void line_serve(struct ten_fair_worker *w)
{
    struct sto_fair_line *line = NULL;
    uint64_t start_ns = base_monotonic_ns();
    struct base_msg *msg = sto_fair_take(&w->queue, start_ns, &line);
    if (msg == NULL)
        return;
    struct ten_work *work =
        (struct ten_work *)(void *)((char *)msg - offsetof(struct ten_work, msg));
    atomic_fetch_sub_explicit(&line->queued, 1, memory_order_relaxed);
    work->run(work);
    uint64_t now_ns = base_monotonic_ns();
    sto_fair_charge(&w->queue, line, (now_ns - start_ns) / NS_PER_OPERATION, now_ns);
}

static bool has_work(const struct ten_fair_worker *w)
{
    return w->urgent.first != NULL || w->queue.waiting > 0;
}

static void *worker_main(void *arg)
{
    struct ten_fair_worker *w = arg;
    base_watchdog_join(w->name);
    if (w->is_ahead)
        base_class_join(BASE_SERVE);
    while (!w->stopping || has_work(w)) {
        if (!has_work(w))
            base_mailbox_wait(&w->mailbox, -1);
        (void)base_mailbox_run(&w->mailbox); /* the count is not needed here */
        struct ten_work *urgent = urgent_take(w);
        if (urgent != NULL)
            urgent->run(urgent);
        else
            line_serve(w);
    }
    return NULL;
}

/* --- life ------------------------------------------------------------------------------------- */

static void run_stop(struct base_msg *msg)
{
    struct ten_fair_worker *w =
        (struct ten_fair_worker *)(void *)((char *)msg -
                                           offsetof(struct ten_fair_worker, stop_msg));
    w->stopping = true;
}

enum err ten_fair_worker_start(struct ten_fair_worker *w, const char *name, bool is_ahead)
{
    memset(w, 0, sizeof *w);
    w->name = name;
    w->is_ahead = is_ahead;
    enum err rc = base_mailbox_init(&w->mailbox);
    if (rc != ERR_OK)
        return rc;
    atomic_store(&w->share.weight, STANDARD_WEIGHT);
    sto_fair_queue_init(&w->queue);
    sto_fair_line_init(&w->operators, &w->share);
    sto_fair_line_init(&w->services, &w->share);
    w->stop_msg.run = run_stop;
    rc = base_thread_start(&w->thread, name, worker_main, w);
    if (rc == ERR_OK)
        return rc;
    sto_fair_queue_fini(&w->queue);
    base_mailbox_fini(&w->mailbox);
    return rc;
}

void ten_fair_worker_stop(struct ten_fair_worker *w)
{
    if (w == NULL || w->mailbox.wake_fd <= 0)
        return;
    base_mailbox_push(&w->mailbox, &w->stop_msg);
    int error = pthread_join(w->thread, NULL);
    INVARIANT(error == 0);
    sto_fair_queue_fini(&w->queue);
    base_mailbox_fini(&w->mailbox);
}

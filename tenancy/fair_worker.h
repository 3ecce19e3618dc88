/*
 * tenancy/fair_worker.h - a thread that serves tenants by share: the control thread, the API's
 *                         helper.
 *
 * Does:     runs work items one after the other: urgent ones first, then in the order of
 *           storage/fair_queue.h, in which operators and services have lines of their own.
 * Owns:     its thread, its mailbox, and these two lines; a tenant owns its own line.
 * May use:  base/, storage/.
 * Knows no: what the work does; it may block, which is the purpose of the thread.
 * Threads:  submit and post from any; start and stop from one.
 * Blocks:   ten_fair_worker_stop joins the thread.
 * Fails by: ERR_NO_MEMORY, ERR_IO when the thread cannot be created.
 * Limits:   the caller's, on the number of items waiting in a line.
 * Promises: 1. Everything submitted or posted before stop has run when stop returns.
 *           2. Urgent work waits for at most one item of other work.
 *           3. Items of a line run in the order in which they were submitted. An item that took
 *              long counts as several, so lines share the thread's time by weight.
 */
#ifndef TENANCY_FAIR_WORKER_H
#define TENANCY_FAIR_WORKER_H

#include <pthread.h>

#include "base/err.h"
#include "base/mailbox.h"
#include "storage/fair_queue.h"

/* The line for work that is for no tenant. */
enum ten_lane {
    TEN_LANE_SERVICES,
    TEN_LANE_OPERATORS,
    TEN_LANE_URGENT, /* before all others: a revocation, a suspension */
};

struct ten_fair_worker {
    const char *name;
    bool is_ahead;
    struct base_mailbox mailbox;
    pthread_t thread;
    struct base_msg stop_msg;
    bool stopping;
    struct sto_fair_queue queue;
    struct sto_fair_fifo urgent;
    struct sto_share share;         /* of each of the two lines: a tenant's standard share */
    struct sto_fair_line operators; /* and their services, if they act for no tenant */
    struct sto_fair_line services;
};

/* A work item, to be embedded; run is called on the thread, and may free it. */
struct ten_work {
    struct base_msg msg;
    void (*run)(struct ten_work *work);
    struct ten_fair_worker *worker;
    struct sto_fair_line *line;
    bool is_urgent;
};

/* name: as for base_thread_start, and must stay valid; the thread is monitored
 * (base/watchdog.h). */
enum err ten_fair_worker_start(struct ten_fair_worker *w, const char *name,
                               bool is_ahead) MUST_CHECK;
/* Stops the thread. No other thread may still submit. Accepts a zeroed worker. */
void ten_fair_worker_stop(struct ten_fair_worker *w);

/* Returns the worker's line for work that is for no tenant. */
static inline struct sto_fair_line *ten_fair_lane(struct ten_fair_worker *w, enum ten_lane lane)
{
    return lane == TEN_LANE_SERVICES ? &w->services : &w->operators;
}

/* line: a tenant's, or one of the worker's. False: `most` items of the line wait already; urgent
 * work is never refused. */
bool ten_fair_worker_submit(struct ten_fair_worker *w, struct ten_work *work,
                            struct sto_fair_line *line, uint64_t most) MUST_CHECK;
void ten_fair_worker_submit_urgent(struct ten_fair_worker *w, struct ten_work *work);
/* Posts the server's own work, of which there is little: runs before any work in lines. */
void ten_fair_worker_post(struct ten_fair_worker *w, struct base_msg *msg);

#endif

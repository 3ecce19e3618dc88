/*
 * tenancy/fair_worker.h - a thread that serves tenants by share: the control thread, the API's
 *                         helper.
 *
 * Does:     run work one piece after the other: what is urgent first, then by the order of
 *           storage/fair_queue.h, in which operators and services have lines of their own.
 * Owns:     its thread and mailbox, and the two lines; a tenant's line is the tenant's.
 * May use:  base/, storage/.
 * Knows no: what the work does; it may block, that is what the thread is for.
 * Threads:  submit and post from any; start and stop from one.
 * Blocks:   ten_fair_worker_stop joins the thread.
 * Fails by: ERR_NO_MEMORY, ERR_IO when the thread cannot be made.
 * Limits:   the caller's, of what a line may have waiting.
 * Promises: 1. Everything submitted or posted before stop has run when stop returns.
 *           2. Urgent work waits for one piece of other work at most.
 *           3. A line's pieces run in the order in which they were submitted, and a piece that took
 *              long counts as several: lines share the thread's time by weight.
 */
#ifndef TENANCY_FAIR_WORKER_H
#define TENANCY_FAIR_WORKER_H

#include <pthread.h>

#include "base/err.h"
#include "base/mailbox.h"
#include "storage/fair_queue.h"

/* Whose work it is that acts for no tenant. */
enum ten_lane {
    TEN_LANE_SERVICES,
    TEN_LANE_OPERATORS,
    TEN_LANE_URGENT, /* ahead of all: a revocation, a suspension */
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
    struct sto_share share;         /* of each of the two lines: a tenant's standard */
    struct sto_fair_line operators; /* and their services, as long as they act for no tenant */
    struct sto_fair_line services;
};

/* Embed; run is called on the thread, and may free it. */
struct ten_work {
    struct base_msg msg;
    void (*run)(struct ten_work *work);
    struct ten_fair_worker *worker;
    struct sto_fair_line *line;
    bool is_urgent;
};

/* name: as of base_thread_start, and for good; the thread is watched (base/watchdog.h). */
enum err ten_fair_worker_start(struct ten_fair_worker *w, const char *name,
                               bool is_ahead) MUST_CHECK;
/* Nothing may be submitted any more by others. Fine on a zeroed worker. */
void ten_fair_worker_stop(struct ten_fair_worker *w);

/* Its line for who acts for no tenant. */
static inline struct sto_fair_line *ten_fair_lane(struct ten_fair_worker *w, enum ten_lane lane)
{
    return lane == TEN_LANE_SERVICES ? &w->services : &w->operators;
}

/* line: a tenant's, or one of the worker's. False: `most` pieces of the line wait already; never of
 * urgent work. */
bool ten_fair_worker_submit(struct ten_fair_worker *w, struct ten_work *work,
                            struct sto_fair_line *line, uint64_t most) MUST_CHECK;
void ten_fair_worker_submit_urgent(struct ten_fair_worker *w, struct ten_work *work);
/* The server's own, of which there is little: runs before whatever waits in lines. */
void ten_fair_worker_post(struct ten_fair_worker *w, struct base_msg *msg);

#endif

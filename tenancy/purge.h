/*
 * tenancy/purge.h - one purge on the job worker, and several that search together.
 *
 * Does:     purge.c: take a purge through its steps. purge_queue.c: take all that wait at once, one
 *           after the other to their searches, which are one, then each to its end.
 * Owns:     the purges that wait, and what is told of those that run.
 * May use:  base/, storage/, tenancy/.
 * Knows no: when a purge may begin (tenancy/offboard.h, tenancy/grace.c).
 * Threads:  post: control. Progress: any. The rest: the job worker.
 * Blocks:   the job worker, on the disk.
 * Fails by: the job becomes FAILED, with the step and the reason.
 * Limits:   TEN_PURGES_AT_ONCE share a search; more wait for the next one.
 * Promises: 1. The files are searched once for all of a group. 2. One that fails, or finds
 *              something, does not keep the others from ending.
 */
#ifndef TENANCY_PURGE_H
#define TENANCY_PURGE_H

#include "tenancy/internal.h"

#define TEN_PURGE_TRIES 5 /* of a step that timed out */

struct ten_purge {
    struct base_msg msg;
    struct ten_purge *next; /* in the queue */
    struct ten_registry *registry;
    struct ten_tenant *tenant;
    struct ten_job job;
    uint64_t version; /* of the job's document */
    size_t canary_count;
    uint32_t step; /* under way */
    enum err result;
    struct errbuf detail; /* why, when it failed */
    bool is_hopeless;     /* trying again would find the same again */
};

/* --- purge.c ---------------------------------------------------------------------------------- */

struct ten_purge *ten_purge_new(struct ten_registry *r, struct ten_tenant *t);
/* ERR_OK: run it, from p->step; anything else: leave it alone. */
enum err ten_purge_prepare(struct ten_purge *p) MUST_CHECK;
/* Run the steps in front of `end`; the result is p's, too. ERR_CANCELLED: the registry closes. */
enum err ten_purge_run_to(struct ten_purge *p, uint32_t end) MUST_CHECK;
/* The hashes of its canaries. */
enum err ten_purge_canaries(const struct ten_purge *p, struct sto_canary out[STO_CANARIES],
                            struct errbuf *eb) MUST_CHECK;
/* What was found for it: takes the step, if that is nothing. ERR_TIMEOUT: search again. */
enum err ten_purge_take_search(struct ten_purge *p, const struct sto_search *found,
                               struct errbuf *eb) MUST_CHECK;
/* Certify and post the last batch, or say why it failed; p_take is gone. */
void ten_purge_end(struct ten_purge *p_take);

/* --- purge_retry.c ---------------------------------------------------------------------------- */

/* It is over and not done: tried again later, unless that is hopeless (purge_retry.c). p is gone.
 */
void ten_purge_leave(struct ten_purge *p, bool is_hopeless);

/* --- purge_queue.c: told to whoever asks ------------------------------------------------------ */

void ten_purge_queue_init(struct ten_purge_queue *q, struct sto_engine *engine);
void ten_purge_queue_fini(struct ten_purge_queue *q, struct sto_engine *engine);
/* These, all at that step, are worked on now; count 0: none is. */
void ten_purge_tell(struct ten_registry *r, struct ten_purge *const *purges, size_t count,
                    uint32_t step);

#endif

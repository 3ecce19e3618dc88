/*
 * tenancy/purge.h - purges on the job worker, of all tenants that wait, together.
 *
 * Does:     purge.c: the parts of a purge's steps. purge_queue.c: takes all purges that wait at
 *           once, step by step; flushes, compactions and searches are one for all of them.
 * Owns:     the purges that wait, and what is told of those that run.
 * May use:  base/, storage/, tenancy/.
 * Knows no: when a purge may begin (tenancy/offboard.h, tenancy/grace.c).
 * Threads:  post: control. Progress: any. The rest: the job worker.
 * Blocks:   the job worker, on the disk.
 * Fails by: the job becomes FAILED, with the step and the reason.
 * Limits:   TEN_PURGES_AT_ONCE in a group; more wait for the next one.
 * Promises: 1. A group costs one flush, one compaction of each stretch of files, one MANIFEST and
 *              one search. 2. A purge that fails, or finds something, does not keep the others from
 *              ending.
 */
#ifndef TENANCY_PURGE_H
#define TENANCY_PURGE_H

#include "tenancy/internal.h"

#define TEN_PURGE_TRIES 5 /* of a step that timed out, and of removing what is left */

struct ten_purge {
    struct base_msg msg;
    struct ten_purge *next; /* in the queue */
    struct ten_registry *registry;
    struct ten_tenant *tenant;
    struct ten_job job;
    uint64_t asked_ns; /* monotonic, when it began to wait, this time */
    uint64_t version;  /* of the job's document */
    size_t canary_count;
    uint64_t audit_days; /* for the certificate */
    uint32_t step;       /* under way */
    enum err result;
    struct errbuf detail; /* why, when it failed */
    bool is_hopeless;     /* trying again would find the same again */
};

/* --- purge.c ---------------------------------------------------------------------------------- */

struct ten_purge *ten_purge_new(struct ten_registry *r, struct ten_tenant *t);
/* ERR_OK: run it, from p->step; anything else: leave it alone. */
enum err ten_purge_prepare(struct ten_purge *p) MUST_CHECK;
/* Nothing was recorded of it before. */
bool ten_purge_is_first(const struct ten_purge *p);
/* What is done for one tenant at a time. All but the first two finish p->step. */
enum ten_purge_part {
    TEN_PART_FENCE,
    TEN_PART_COUNT, /* what is there, before anything is deleted */
    TEN_PART_KEYS,
    TEN_PART_DELETE_FILES,
    TEN_PART_DELETE_RANGE,
    TEN_PART_AUDIT,
    TEN_PART_FINISH /* of a step that was taken together */
};
/* The result is p->result. ERR_CANCELLED: the registry closes; ERR_TIMEOUT: something is left. */
void ten_purge_run_part(struct ten_purge *p, enum ten_purge_part part);
/* The hashes of its canaries. */
enum err ten_purge_canaries(const struct ten_purge *p, struct sto_canary out[STO_CANARIES],
                            struct errbuf *eb) MUST_CHECK;
/* What was found for it: finishes the step, if that is nothing, else p->result is ERR_TIMEOUT. */
void ten_purge_take_search(struct ten_purge *p, const struct sto_search *found);
/* Certify and post the last batch, or say why it failed; p_take is gone. */
void ten_purge_end(struct ten_purge *p_take);

/* When it was forbidden to delete the tenant, for its certificate (audit_cut.c). */
enum err ten_holds_read(struct ten_registry *r, struct slice tenant, struct ten_holds *out,
                        struct errbuf *eb) MUST_CHECK;

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

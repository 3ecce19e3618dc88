/*
 * tenancy/purge.h - purges of all waiting tenants together, on the job worker.
 *
 * Does:     purge.c: the parts of a purge's steps. purge_queue.c: runs all waiting purges together,
 *           step by step, with one flush, compaction and search for all of them.
 * Owns:     the waiting purges, and the reported progress of running ones.
 * May use:  base/, storage/, tenancy/.
 * Knows no: when a purge may start (tenancy/offboard.h, tenancy/grace.c).
 * Threads:  post: control. Progress: any. The rest: the job worker.
 * Blocks:   the job worker, on the disk.
 * Fails by: the job becomes FAILED, with the step and the reason.
 * Limits:   TEN_PURGES_AT_ONCE in a group; more wait for the next one.
 * Promises: 1. A group costs one flush, one compaction of each stretch of files, one MANIFEST and
 *              one search. 2. A purge that fails, or finds something, does not keep the others from
 *              finishing.
 */
#ifndef TENANCY_PURGE_H
#define TENANCY_PURGE_H

#include "tenancy/internal.h"

#define TEN_PURGE_TRIES 5 /* of a step that timed out, and of removing remaining data */

struct ten_purge {
    struct base_msg msg;
    struct ten_purge *next; /* in the queue */
    struct ten_registry *registry;
    struct ten_tenant *tenant;
    struct ten_job job;
    uint64_t asked_ns; /* monotonic, when it was last queued */
    uint64_t version;  /* of the job's document */
    size_t canary_count;
    uint64_t audit_days; /* for the certificate */
    uint32_t step;       /* the current one */
    enum err result;
    struct errbuf detail; /* the reason of a failure */
    bool is_hopeless;     /* a retry would find the same again */
};

/* --- purge.c ---------------------------------------------------------------------------------- */

struct ten_purge *ten_purge_new(struct ten_registry *r, struct ten_tenant *t);
/* ERR_OK: run it, starting at p->step; any other result: do not run it. */
enum err ten_purge_prepare(struct ten_purge *p) MUST_CHECK;
/* Returns whether nothing was recorded before the first deletion yet. */
bool ten_purge_is_first(const struct ten_purge *p);
/* Work that is done for one tenant at a time. All but the first two finish p->step. */
enum ten_purge_part {
    TEN_PART_FENCE,
    TEN_PART_COUNT, /* records the stored data before anything is deleted */
    TEN_PART_KEYS,
    TEN_PART_DELETE_FILES,
    TEN_PART_DELETE_RANGE,
    TEN_PART_AUDIT,
    TEN_PART_FINISH /* of a step that was run together */
};
/* Sets p->result. ERR_CANCELLED: the registry closes; ERR_TIMEOUT: something remains. */
void ten_purge_run_part(struct ten_purge *p, enum ten_purge_part part);
/* Returns the hashes of its canaries. */
enum err ten_purge_canaries(const struct ten_purge *p, struct sto_canary out[STO_CANARIES],
                            struct errbuf *eb) MUST_CHECK;
/* Records the search's result: finishes the step if nothing was found, otherwise sets p->result to
 * ERR_TIMEOUT. */
void ten_purge_take_search(struct ten_purge *p, const struct sto_search *found);
/* Certifies and posts the last batch, or records why it failed. p_take is consumed. */
void ten_purge_end(struct ten_purge *p_take);

/* Reads when deletion of the tenant was forbidden, for its certificate (audit_cut.c). */
enum err ten_holds_read(struct ten_registry *r, struct slice tenant, struct ten_holds *out,
                        struct errbuf *eb) MUST_CHECK;

/* --- purge_retry.c ---------------------------------------------------------------------------- */

/* Queues a purge that stopped before it was done: it is retried later, unless that is hopeless. p
 * is consumed. */
void ten_purge_leave(struct ten_purge *p, bool is_hopeless);

/* --- purge_queue.c: reported progress --------------------------------------------------------- */

void ten_purge_queue_init(struct ten_purge_queue *q, struct sto_engine *engine);
void ten_purge_queue_fini(struct ten_purge_queue *q, struct sto_engine *engine);
/* Reports that these purges, all at that step, are worked on now; count 0: none is. */
void ten_purge_tell(struct ten_registry *r, struct ten_purge *const *purges, size_t count,
                    uint32_t step);

#endif

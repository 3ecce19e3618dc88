/*
 * tenancy/offboard.h - deleting a departed tenant, as a job that survives kill -9 at any step.
 *
 * Does:     freeze, drop files, drop range, flush, compact, audit, in that order; each finished
 *           step is durable in the job's document; at start unfinished jobs go on.
 * Owns:     the job worker and the jobs' documents.
 * May use:  base/, storage/, tenancy/.
 * Knows no: HTTP.
 * Threads:  start and read from the control thread; steps run on the job worker.
 * Blocks:   yes.
 * Fails by: ERR_CONFLICT (state), ERR_NOT_FOUND (job).
 * Limits:   one running purge at a time; others wait in order.
 * Promises: 1. State PURGING is durable before the first destructive step, PURGED only after an
 *              audit that found nothing. 2. Every step may run again. 3. A job that failed leaves
 *              the tenant in PURGING and is tried again at the next start.
 */
#ifndef TENANCY_OFFBOARD_H
#define TENANCY_OFFBOARD_H

#include "storage/engine.h"
#include "tenancy/registry.h"

enum ten_job_state { TEN_JOB_RUNNING = 1, TEN_JOB_DONE = 2, TEN_JOB_FAILED = 3 };

#define TEN_JOB_ID 16
/* purge steps of the engine, then the audit */
#define TEN_JOB_STEPS (STO_PURGE_STEP_COUNT + 1)

struct ten_job {
    char id[TEN_JOB_ID + 1];
    char tenant[LIM_TENANT_ID + 1];
    char requested_by[64]; /* key ID */
    enum ten_job_state state;
    uint32_t steps_done;
    int64_t requested_us;
    int64_t step_done_us[TEN_JOB_STEPS]; /* 0: not yet */
    int64_t finished_us;
    struct sto_usage usage_before;
    struct sto_audit audit_before;
    struct sto_audit audit_after;
    char error[160];
};
const char *ten_job_step_name(uint32_t step);
const char *ten_job_state_name(enum ten_job_state s);

/* Control thread. Writes tenant state and job in one batch, closes the gate, wakes the worker.
 * ERR_CONFLICT when PURGED; the existing job when it is PURGING already, tried again if it FAILED.
 */
enum err ten_offboard_start(struct ten_registry *r, struct ten_tenant *t, struct slice requested_by,
                            char out_job[TEN_JOB_ID + 1], struct errbuf *eb) MUST_CHECK;
/* Control thread, blocking. */
enum err ten_job_get(struct ten_registry *r, struct slice id, struct ten_job *out,
                     struct errbuf *eb) MUST_CHECK;
/* Control thread, blocking. Newest first, at most limit; returns how many in *out_count. */
enum err ten_job_list(struct ten_registry *r, struct ten_job *out, size_t limit, size_t *out_count,
                      struct errbuf *eb) MUST_CHECK;

/* Test tool: stop the process (_exit 137) right after step n (0 to TEN_JOB_STEPS - 1) became
 * durable; negative: off. The environment variable BIGTENT_TEST_DIE_AFTER_STEP does the same. */
void ten_offboard_test_die_after(int step);

#endif

/*
 * tenancy/offboard.h - erasing a tenant, as a job that survives kill -9 at any step.
 *
 * Does:     freezes the tenant; then, when the grace period is over: drops files, drops the range,
 *           flushes, compacts, audits, searches the files, certifies, in that order. Each finished
 *           step is durable in the job's document; a start resumes unfinished jobs. Undeletes
 *           before the first step has started.
 * Owns:     the job worker and the jobs' documents.
 * May use:  base/, storage/, tenancy/.
 * Knows no: HTTP.
 * Threads:  start and read on the control thread; steps run on the job worker.
 * Blocks:   yes.
 * Fails by: ERR_CONFLICT (state), ERR_HELD (tenancy/hold.h), ERR_NOT_FOUND (job).
 * Limits:   one purge at a time, but purges that waited together share one search of the files;
 *           others wait in order. LIM_GRACE_US, LIM_REASON.
 * Promises: 1. State PURGING is durable before the first destructive step, PURGED only after an
 *              audit and a search that found nothing, and a certificate that says so. 2. Every step
 *              may be repeated. 3. A job that failed leaves the tenant in PURGING and is retried:
 *              at once when offboarding is requested again, at the next start, and automatically
 *              unless something of the tenant was found. 4. In a grace period nothing can be read
 *              or written, and nothing is deleted. 5. It ends by the wall clock, but never before
 *              the grace period has passed since the process first saw it.
 */
#ifndef TENANCY_OFFBOARD_H
#define TENANCY_OFFBOARD_H

#include "base/clock.h"
#include "storage/engine.h"
#include "tenancy/registry.h"

/* Stored as numbers: append only. */
enum ten_job_state {
    TEN_JOB_RUNNING = 1,
    TEN_JOB_DONE = 2,
    TEN_JOB_FAILED = 3,
    TEN_JOB_WAITING = 4,   /* for the end of the grace period, or of a hold */
    TEN_JOB_CANCELLED = 5, /* undeleted */
};

#define TEN_JOB_ID 16
/* Stored as numbers: append only. The purge steps of the engine, then these. */
enum {
    TEN_STEP_AUDIT = STO_PURGE_STEP_COUNT, /* nothing is in the range, by the engine's own index */
    TEN_STEP_FILES,                        /* nothing is in the files, by their bytes */
    TEN_STEP_CERTIFICATE,                  /* signed and in the ledger; then tenant PURGED */
    TEN_JOB_STEPS
};

/* A hold that was set, set again or released, as recorded in the audit trail. */
struct ten_hold_event {
    bool is_release;
    uint64_t record; /* its number among the tenant's records */
    char time[BASE_TIME_TEXT];
    char by[64]; /* key ID; "": the server's operator */
};
#define TEN_HOLD_EVENTS 16 /* the newest are kept */
struct ten_holds {
    size_t count;
    struct ten_hold_event of[TEN_HOLD_EVENTS]; /* oldest first */
};

struct ten_job {
    char id[TEN_JOB_ID + 1];
    char tenant[LIM_TENANT_ID + 1];
    char requested_by[64]; /* key ID */
    enum ten_job_state state;
    uint32_t steps_done;
    int64_t requested_us;
    int64_t step_done_us[TEN_JOB_STEPS]; /* 0: not done */
    int64_t finished_us;
    struct sto_usage usage_before;
    struct sto_audit audit_before;
    struct sto_audit audit_after;
    uint64_t deleted_at;      /* sequence number after the deletion; 0: older than this field */
    int64_t key_destroyed_us; /* 0: the tenant had no key, or not yet */
    uint32_t key_versions;    /* destroyed, or about to be */
    uint64_t copies_before;   /* backups that held the tenant when its purge started */
    char error[160];
    int64_t delete_at_us;               /* when the purge may start */
    char reason[LIM_REASON + 1];        /* of the deletion; "": none */
    struct sto_search search_before;    /* of the files that may hold the tenant's data */
    struct sto_search search_after;     /* of all files that may hold it */
    bool deep;                          /* searches read every table file, whatever it lists */
    uint64_t visible_after;             /* rows that a request could still read */
    uint64_t canaries;                  /* planted when the tenant was created */
    const struct ten_hold_event *holds; /* while a certificate is made; not stored: oldest first */
    size_t hold_count;
};
const char *ten_job_step_name(uint32_t step);
const char *ten_job_state_name(enum ten_job_state s);

struct ten_offboard_wanted {
    struct slice requested_by; /* key ID */
    struct slice reason;       /* may be empty */
    uint64_t grace_us;         /* 0: the purge starts at once */
    bool deep;                 /* search every table file; possible until the purge starts */
};

/* Control thread. Writes tenant state and job in one batch and closes the gate; without a grace
 * period, wakes the worker. ERR_HELD when a hold forbids an immediate purge. If the deletion was
 * already requested: returns its job, which becomes due sooner if this request says so, never
 * later. If PURGING, PURGED or EXPIRED: returns the job of the purge, which is retried if it
 * FAILED, and otherwise changes nothing; ERR_CONFLICT if that job granted a shorter grace period
 * than requested, or is not deep. */
enum err ten_offboard_start(struct ten_registry *r, struct ten_tenant *t,
                            const struct ten_offboard_wanted *wanted, char out_job[TEN_JOB_ID + 1],
                            struct errbuf *eb) MUST_CHECK;
/* Control thread. In the grace period: restores the tenant's previous state and sets the job to
 * CANCELLED. Does nothing for a tenant in use; ERR_CONFLICT when the purge has started. */
enum err ten_offboard_undelete(struct ten_registry *r, struct ten_tenant *t,
                               struct errbuf *eb) MUST_CHECK;
/* Control thread, blocking. */
enum err ten_job_get(struct ten_registry *r, struct slice id, struct ten_job *out,
                     struct errbuf *eb) MUST_CHECK;
/* Receives a job; valid during the call. Any result but ERR_OK stops the reading. */
typedef enum err ten_job_visit(void *ctx, const struct ten_job *job);
/* Any thread, blocking. Visits jobs newest first, at most limit. before: a job ID; only older jobs
 * are visited; empty: all. */
enum err ten_job_list(struct ten_registry *r, struct slice before, size_t limit,
                      ten_job_visit *visit, void *ctx, struct errbuf *eb) MUST_CHECK;

/* The job worker's progress at this moment. */
struct ten_job_progress {
    uint32_t step;
    enum sto_progress_unit unit; /* NONE: this step counts nothing */
    uint64_t done;
    uint64_t all; /* 0: unknown */
    uint64_t per_second;
    bool has_estimate;
    uint64_t seconds_left; /* for the items counted now, at the speed so far */
    uint64_t elapsed_ms;   /* since the step started */
    size_t together;       /* jobs that share the step: a search serves all of them */
    size_t waiting;        /* jobs that wait for the worker */
};
/* Any thread. False when the worker is not working on this job; then only `waiting` is set. */
bool ten_job_progress_get(struct ten_registry *r, const char *job, struct ten_job_progress *out);
/* The queue position of a job that waits for the worker. */
struct ten_job_place {
    size_t place; /* 1: the next one */
    size_t waiting;
    bool has_estimate;
    uint64_t seconds_left; /* until the job is done, if each group takes as long as the last one */
};
/* Any thread; scans all waiting jobs. False when the job does not wait. */
bool ten_job_place_get(struct ten_registry *r, const char *job, struct ten_job_place *out);

/* Any thread. Reports the worker's current step; together 0: it is idle. */
void ten_purges_get(struct ten_registry *r, struct ten_job_progress *out);

/* A purge that failed, and is retried. */
struct ten_purge_failure {
    const struct ten_tenant *tenant;
    const char *job;
    const char *error;
    unsigned failures; /* in a row, in this process; this one included */
    uint64_t again_s;  /* until the next retry */
};

/* Test tool: stops the process (_exit 137) right after step n (0 to TEN_JOB_STEPS - 1) became
 * durable; TEN_JOB_STEPS: between the line in the ledger and the last batch; TEN_DIE_BEHIND_KEYS:
 * between the destruction of the keys and its record; negative: off. The environment variable
 * BIGTENT_TEST_DIE_AFTER_STEP does the same. */
#define TEN_DIE_BEHIND_KEYS (TEN_JOB_STEPS + 1)
void ten_offboard_test_die_after(int step);

#endif

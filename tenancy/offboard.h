/*
 * tenancy/offboard.h - deleting a departed tenant, as a job that survives kill -9 at any step.
 *
 * Does:     freeze, then, when the grace period is over, drop files, drop range, flush, compact,
 *           audit, search the files, certify, in that order; each finished step is durable in the
 *           job's document; at start unfinished jobs go on. Undelete as long as the first step was
 *           not begun.
 * Owns:     the job worker and the jobs' documents.
 * May use:  base/, storage/, tenancy/.
 * Knows no: HTTP.
 * Threads:  start and read from the control thread; steps run on the job worker.
 * Blocks:   yes.
 * Fails by: ERR_CONFLICT (state), ERR_HELD (tenancy/hold.h), ERR_NOT_FOUND (job).
 * Limits:   one purge at a time, but those that waited together share one search of the files;
 *           others wait in order. LIM_GRACE_US, LIM_REASON.
 * Promises: 1. State PURGING is durable before the first destructive step, PURGED only after an
 *              audit and a search that found nothing, and a certificate that says so. 2. Every
 *              step may run again. 3. A job that failed leaves the tenant in PURGING and is tried
 *              again, at once when it is asked for once more, at the next start, and by itself
 *              unless something of the tenant was found. 4. In a grace period nothing can be read
 *              or written, and nothing is deleted. 5. It ends by the clock on the wall, but never
 *              before so much time has passed since the process saw it first.
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

/* A hold that was set, set anew or released, as the audit trail has it. */
struct ten_hold_event {
    bool is_release;
    uint64_t record; /* number among the tenant's */
    char time[BASE_TIME_TEXT];
    char by[64]; /* key ID; "": the server's operator */
};
#define TEN_HOLD_EVENTS 16 /* the newest are told */
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
    int64_t step_done_us[TEN_JOB_STEPS]; /* 0: not yet */
    int64_t finished_us;
    struct sto_usage usage_before;
    struct sto_audit audit_before;
    struct sto_audit audit_after;
    uint64_t deleted_at;      /* sequence number behind the deletion; 0: of before this was noted */
    int64_t key_destroyed_us; /* 0: it had none, or not yet */
    uint32_t key_versions;    /* that are destroyed, or about to be */
    uint64_t copies_before;   /* backups that held it when its purge began */
    char error[160];
    int64_t delete_at_us;               /* when its purge may begin */
    char reason[LIM_REASON + 1];        /* on what ground it is deleted; "": not said */
    struct sto_search search_before;    /* of the files that may hold it */
    struct sto_search search_after;     /* of all that may hold it */
    bool deep;                          /* its searches read every table, whatever it lists */
    uint64_t visible_after;             /* rows that a request could still be shown */
    uint64_t canaries;                  /* planted when the tenant was made */
    const struct ten_hold_event *holds; /* while a certificate is made; not stored: oldest first */
    size_t hold_count;
};
const char *ten_job_step_name(uint32_t step);
const char *ten_job_state_name(enum ten_job_state s);

struct ten_offboard_wanted {
    struct slice requested_by; /* key ID */
    struct slice reason;       /* may be empty */
    uint64_t grace_us;         /* 0: the purge begins at once */
    bool deep;                 /* search every table; may be requested until the purge begins */
};

/* Control thread. Writes tenant state and job in one batch and closes the gate; without grace wakes
 * the worker. ERR_HELD when a hold forbids a purge at once. When the deletion was requested before:
 * its job; it becomes due sooner if this asks for that, never later. When PURGING, PURGED or
 * EXPIRED: the job of the purge, tried again if it FAILED, else nothing changes; ERR_CONFLICT if
 * that job gave less grace than is requested, or is not deep. */
enum err ten_offboard_start(struct ten_registry *r, struct ten_tenant *t,
                            const struct ten_offboard_wanted *wanted, char out_job[TEN_JOB_ID + 1],
                            struct errbuf *eb) MUST_CHECK;
/* Control thread. In its grace period: the tenant is what it was before, and the job CANCELLED.
 * Nothing for one that is in use; ERR_CONFLICT when the purge has begun. */
enum err ten_offboard_undelete(struct ten_registry *r, struct ten_tenant *t,
                               struct errbuf *eb) MUST_CHECK;
/* Control thread, blocking. */
enum err ten_job_get(struct ten_registry *r, struct slice id, struct ten_job *out,
                     struct errbuf *eb) MUST_CHECK;
/* Valid during the visit. Anything but ERR_OK ends the reading. */
typedef enum err ten_job_visit(void *ctx, const struct ten_job *job);
/* Any thread, blocking. Newest first, at most limit. before: an ID, of the older; empty: all. */
enum err ten_job_list(struct ten_registry *r, struct slice before, size_t limit,
                      ten_job_visit *visit, void *ctx, struct errbuf *eb) MUST_CHECK;

/* How far the job worker is, as of now. */
struct ten_job_progress {
    uint32_t step;
    enum sto_progress_unit unit; /* NONE: this step counts nothing */
    uint64_t done;
    uint64_t all; /* 0: not known */
    uint64_t per_second;
    bool has_estimate;
    uint64_t seconds_left; /* of what is counted now, at the speed so far */
    uint64_t elapsed_ms;   /* since the step began */
    size_t together;       /* jobs that share the step: a search is for all of them */
    size_t waiting;        /* jobs that wait for the worker */
};
/* Any thread. False when the worker is not at this job; only `waiting` is set then. */
bool ten_job_progress_get(struct ten_registry *r, const char *job, struct ten_job_progress *out);
/* Of a job that waits for the worker. */
struct ten_job_place {
    size_t place; /* 1: the next one */
    size_t waiting;
    bool has_estimate;
    uint64_t seconds_left; /* until it is done, if each group takes as long as the last one did */
};
/* Any thread; looks at all that wait. False when it does not wait. */
bool ten_job_place_get(struct ten_registry *r, const char *job, struct ten_job_place *out);

/* Any thread. Of whatever the worker does; together 0: nothing. */
void ten_purges_get(struct ten_registry *r, struct ten_job_progress *out);

/* A purge that failed, and is tried again. */
struct ten_purge_failure {
    const struct ten_tenant *tenant;
    const char *job;
    const char *error;
    unsigned failures; /* in a row, in this process; this one included */
    uint64_t again_s;  /* until the next try */
};

/* Test tool: stop the process (_exit 137) right after step n (0 to TEN_JOB_STEPS - 1) became
 * durable, TEN_JOB_STEPS: between the line in the ledger and the last batch, TEN_DIE_BEHIND_KEYS:
 * between the end of the keys and the note of it; negative: off. The environment variable
 * BIGTENT_TEST_DIE_AFTER_STEP does the same. */
#define TEN_DIE_BEHIND_KEYS (TEN_JOB_STEPS + 1)
void ten_offboard_test_die_after(int step);

#endif

/*
 * tests/faults/job_steps.h - a purge that goes on from one commit to the next as the test says.
 *
 * Does:     hold back each sync of the database's log; tell what the only job says meanwhile.
 * Owns:     nothing.
 * May use:  tests/support/, libcheck.
 * Threads:  one.
 * Blocks:   until a sync is held back, or the purge is over.
 * Fails by: ck_abort_msg.
 * Promises: 1. RocksDB syncs its log once at a time: while one is held back nothing is committed,
 *              and what a step of the purge has counted is told before its end is.
 */
#ifndef TESTS_FAULTS_JOB_STEPS_H
#define TESTS_FAULTS_JOB_STEPS_H

#include <string.h>

#include "tests/support/disk.h"
#include "tests/support/world.h"

struct job_steps {
    struct disk *disk;
    struct http *op;
};

/* The only job, at /jobs/0 of the answer; false: there is none yet. */
static inline bool job_steps_look(struct job_steps *s)
{
    ck_assert_int_eq(http_get(s->op, "/v1/admin/jobs"), 200);
    return http_count(s->op, "/jobs") == 1;
}

static inline bool job_steps_has_rate(void *arg)
{
    struct job_steps *s = arg;
    return job_steps_look(s) && (!json_is_integer(http_at(s->op, "/jobs/0/progress/done")) ||
                                 http_number(s->op, "/jobs/0/progress/per_second") > 0);
}

/* Whether the step says what it has counted. Its rate is told from the first millisecond on. */
static inline bool job_steps_counts(struct job_steps *s)
{
    if (!job_steps_look(s) || !json_is_integer(http_at(s->op, "/jobs/0/progress/done")) ||
        http_number(s->op, "/jobs/0/progress/done") == 0)
        return false;
    process_await(job_steps_has_rate, s, "the rate of a step");
    return true;
}

static inline bool job_steps_is_over(struct job_steps *s)
{
    return job_steps_look(s) && strcmp(http_string(s->op, "/jobs/0/state"), "running") != 0;
}

static inline bool job_steps_is_held_or_over(void *arg)
{
    struct job_steps *s = arg;
    return disk_seen(s->disk) > 0 || job_steps_is_over(s);
}

/* Lets the commit that is held back go, and waits for the next one. */
static inline void job_steps_next(struct job_steps *s)
{
    disk_hold_sync(s->disk, ".log", 0);
    process_await(job_steps_is_held_or_over, s, "the next commit, or the end of the purge");
}

#endif

/*
 * tests/tenancy/test_job_progress.c - how far a job's step is, and what that says of the time left.
 */
#include "tests/tenancy/tent.h"

#include "base/clock.h"
#include "tenancy/internal.h"
#include "tenancy/offboard.h"
#include "tenancy/purge.h"

#include "base/banned.h"

#define SECOND_NS 1000000000ull

static struct tent tent;
static struct ten_purge purges[2];

static void setup(void)
{
    tent_make(&tent);
    tent_open(&tent);
    (void)snprintf(purges[0].job.id, sizeof purges[0].job.id, "job-a");
    (void)snprintf(purges[1].job.id, sizeof purges[1].job.id, "job-b");
}

static void teardown(void)
{
    ten_purge_tell(tent.registry, NULL, 0, 0);
    tent_close(&tent);
    tent_remove(&tent);
}

/* As the engine tells it. */
static void step_of(enum sto_progress_unit unit, uint64_t done, uint64_t all, uint64_t began_s_ago)
{
    static struct ten_purge *const BOTH[] = {&purges[0], &purges[1]};
    struct sto_progress *p = &tent.registry->purges.progress;
    ten_purge_tell(tent.registry, BOTH, 2, TEN_STEP_FILES);
    atomic_store(&p->done, done);
    atomic_store(&p->all, all);
    atomic_store(&p->since_ns, base_monotonic_ns() - began_s_ago * SECOND_NS);
    atomic_store(&p->unit, unit);
}

static struct ten_job_progress progress_of(const char *job)
{
    struct ten_job_progress p;
    ck_assert(ten_job_progress_get(tent.registry, job, &p));
    return p;
}

/* 10 s for 1,000 of 4,000: 100 a second, 30 s are left. */
START_TEST(what_is_left_follows_from_the_speed_so_far)
{
    step_of(STO_PROGRESS_BYTES, 1000, 4000, 10);
    struct ten_job_progress p = progress_of("job-b");
    ck_assert_uint_eq(p.step, TEN_STEP_FILES);
    ck_assert_int_eq(p.unit, STO_PROGRESS_BYTES);
    ck_assert_uint_eq(p.done, 1000);
    ck_assert_uint_eq(p.all, 4000);
    ck_assert_uint_eq(p.together, 2);
    ck_assert_uint_ge(p.per_second, 90);
    ck_assert_uint_le(p.per_second, 100);
    ck_assert(p.has_estimate);
    ck_assert_uint_ge(p.seconds_left, 30);
    ck_assert_uint_le(p.seconds_left, 34);
}
END_TEST

START_TEST(at_its_end_nothing_is_left)
{
    step_of(STO_PROGRESS_BYTES, 4000, 4000, 10);
    struct ten_job_progress p = progress_of("job-a");
    ck_assert(p.has_estimate);
    ck_assert_uint_eq(p.seconds_left, 0);
}
END_TEST

START_TEST(without_a_total_or_a_beginning_there_is_a_speed_at_most)
{
    step_of(STO_PROGRESS_KEYS, 500, 0, 5);
    struct ten_job_progress p = progress_of("job-a");
    ck_assert(!p.has_estimate);
    ck_assert_uint_ge(p.per_second, 90);
    ck_assert_uint_eq(p.seconds_left, 0);
    step_of(STO_PROGRESS_KEYS, 0, 700, 5);
    p = progress_of("job-a");
    ck_assert(!p.has_estimate);
    ck_assert_uint_eq(p.per_second, 0);
    step_of(STO_PROGRESS_NONE, 500, 700, 5);
    p = progress_of("job-a");
    ck_assert(!p.has_estimate);
    ck_assert_uint_eq(p.done, 0);
}
END_TEST

START_TEST(others_are_told_nothing_of_it)
{
    struct ten_job_progress p;
    step_of(STO_PROGRESS_BYTES, 1000, 4000, 10);
    ck_assert(!ten_job_progress_get(tent.registry, "job-c", &p));
    ck_assert_uint_eq(p.done, 0);
    ck_assert(!p.has_estimate);
    ten_purge_tell(tent.registry, NULL, 0, 0);
    ck_assert(!ten_job_progress_get(tent.registry, "job-a", &p));
}
END_TEST

Suite *suite_tenancy_job_progress(void);
Suite *suite_tenancy_job_progress(void)
{
    Suite *s = suite_create("tenancy_job_progress");
    TCase *c = tcase_create("progress");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, what_is_left_follows_from_the_speed_so_far);
    tcase_add_test(c, at_its_end_nothing_is_left);
    tcase_add_test(c, without_a_total_or_a_beginning_there_is_a_speed_at_most);
    tcase_add_test(c, others_are_told_nothing_of_it);
    suite_add_tcase(s, c);
    return s;
}

/*
 * tests/tenancy/test_offboard_together.c - several leave at once, and one search is for all.
 */
#include "tests/tenancy/departure.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/share.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/rdb.h"
#include "tenancy/activity.h"
#include "tenancy/doc_key.h"
#include "tenancy/internal.h"
#include "tests/support/wall.h"

#include "base/banned.h"

Suite *suite_tenancy_offboard_together(void);

#define LEAVING    3
#define MANY_FILES 4200
#define HOUR_US    3600000000LL

/* All end as the last one does, the second one as the first. */
static const char *const IDS[LEAVING] = {"alto", "contralto", "to"};

static struct ten_tenant *blocker;
static char blocker_job[TEN_JOB_ID + 1];
static char ids[LEAVING][TEN_JOB_ID + 1];
static struct ten_job jobs[LEAVING];

static bool has_begun(void *progress)
{
    return ten_job_progress_get(tent.registry, blocker_job, progress);
}

static bool is_alone(void *progress)
{
    struct ten_job_progress *p = progress;
    ten_purges_get(tent.registry, p);
    return p->together == 0;
}

/* A read of it seems to be open: its fence waits, and with it the worker. */
static void block_worker(void)
{
    blocker = tent_create(&tent, "blocker");
    atomic_fetch_add(&blocker->account.reads_open, 1);
    ck_assert_int_eq(tent_offboard(&tent, blocker, blocker_job), ERR_OK);
    struct ten_job_progress p;
    process_await(has_begun, &p, "the blocker's job");
    ck_assert_uint_eq(p.step, STO_PURGE_FENCE);
    ck_assert_uint_eq(p.together, 1);
}

static void unblock_worker(void)
{
    atomic_fetch_sub(&blocker->account.reads_open, 1);
}

static bool knows_how_long_it_takes;

/* As if the group before had taken so long. */
static void expect_estimate(uint64_t seconds)
{
    struct ten_purge_queue *q = &tent.registry->purges;
    struct ten_job_place place;
    pthread_mutex_lock(&q->lock);
    q->group_ns = seconds * 1000000000;
    pthread_mutex_unlock(&q->lock);
    ck_assert(ten_job_place_get(tent.registry, ids[0], &place));
    ck_assert_uint_gt(place.seconds_left, seconds); /* what is left of the blocker's, and its own */
    ck_assert_uint_le(place.seconds_left, 2 * seconds);
}

static void expect_places(void)
{
    struct ten_job_place place;
    for (size_t i = 0; i < LEAVING; i++) {
        ck_assert(ten_job_place_get(tent.registry, ids[i], &place));
        ck_assert_uint_eq(place.place, i + 1);
        ck_assert_uint_eq(place.waiting, LEAVING);
        ck_assert_int_eq(place.has_estimate, knows_how_long_it_takes);
        ck_assert_int_eq(place.seconds_left > 0, knows_how_long_it_takes);
    }
    ck_assert(!ten_job_place_get(tent.registry, blocker_job, &place)); /* it runs */
    if (knows_how_long_it_takes)
        expect_estimate(1000);
}

static void all_leave_together(void)
{
    block_worker();
    for (int i = 0; i < LEAVING; i++)
        ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, IDS[i]), ids[i]), ERR_OK);
    struct ten_job_progress p;
    ck_assert(!ten_job_progress_get(tent.registry, ids[0], &p));
    ck_assert_uint_eq(p.waiting, LEAVING);
    expect_places();
    unblock_worker();
    for (int i = 0; i < LEAVING; i++)
        tent_await_job(&tent, ids[i], &jobs[i]);
    tent_await_job(&tent, blocker_job, &(struct ten_job){0});
}

static void fill_all(void)
{
    for (int i = 0; i < LEAVING; i++) {
        struct ten_tenant *t = tent_create(&tent, IDS[i]);
        tent_table(&tent, t, "devices");
        for (int row = 0; row < 20 * (i + 1); row++) {
            char key[32];
            (void)snprintf(key, sizeof key, "row%03d", row);
            tent_write(&tent, t, "devices", key, "to# of somebody else");
        }
    }
}

/* All audits are over before any of them was looked for, and what was read is the same. */
START_TEST(those_that_wait_share_one_search)
{
    fill_all();
    all_leave_together();
    for (int i = 0; i < LEAVING; i++) {
        ck_assert_msg(jobs[i].state == TEN_JOB_DONE, "%s: %s", IDS[i], jobs[i].error);
        ck_assert_uint_eq(jobs[i].usage_before.rows, (uint64_t)(20 * (i + 1)));
        ck_assert_uint_gt(jobs[i].search_before.keys, 0);
        ck_assert_uint_ge(jobs[i].search_before.canaries, STO_CANARIES);
        ck_assert_uint_eq(jobs[i].search_after.keys, 0);
        ck_assert_uint_eq(jobs[i].search_after.canaries, 0);
        ck_assert_str_ne(jobs[i].search_after.engine, "");
        ck_assert_uint_eq(jobs[i].search_after.bytes, jobs[0].search_after.bytes);
        ck_assert_uint_eq(jobs[i].search_after.files, jobs[0].search_after.files);
        for (int k = 0; k < LEAVING; k++) {
            ck_assert_int_ge(jobs[i].step_done_us[TEN_STEP_FILES],
                             jobs[k].step_done_us[TEN_STEP_AUDIT]);
            ck_assert_int_ge(jobs[i].step_done_us[STO_PURGE_FLUSH],
                             jobs[k].step_done_us[STO_PURGE_DELETE_RANGE]);
            ck_assert_int_ge(jobs[i].step_done_us[TEN_STEP_AUDIT],
                             jobs[k].step_done_us[STO_PURGE_COMPACT]);
        }
        ck_assert_int_eq(certificates_of(IDS[i]), 1);
    }
    struct ten_job_progress p;
    process_await(is_alone, &p, "the end of the purges");
    ck_assert_uint_eq(p.waiting, 0);
}
END_TEST

static void activity_look(struct tent *t, void *sum)
{
    struct ten_active none;
    (void)ten_activity_look(t->registry, base_monotonic_ns(), &none, 0, sum);
}

/* Of the oldest purge that is not done; 0: there is none. */
static int64_t oldest_us(void)
{
    struct ten_activity sum;
    tent_control(&tent, activity_look, &sum);
    return sum.purging_since_us == 0 ? 0 : base_wall_us() - sum.purging_since_us;
}

static bool erasures_lag(void *lag)
{
    struct base_class_now now;
    base_class_get(BASE_ERASE, &now);
    return (now.lag > 0) == *(bool *)lag;
}

/* A departure that waits for a reader has its share, and gives it back. */
START_TEST(an_old_erasure_asks_for_more)
{
    bool lag = false;
    ck_assert_int_eq(oldest_us(), 0);
    ck_assert(erasures_lag(&lag));
    block_worker();
    lag = true;
    process_await(erasures_lag, &lag, "the erasure to lag");
    ck_assert_int_gt(oldest_us(), 0);
    unblock_worker();
    tent_await_job(&tent, blocker_job, &(struct ten_job){0});
    lag = false;
    process_await(erasures_lag, &lag, "the end of the lag");
    ck_assert_int_eq(oldest_us(), 0);
}
END_TEST

START_TEST(who_waits_knows_how_long_the_last_ones_took)
{
    struct ten_tenant *t = tent_create(&tent, "earlier");
    fill_all();
    ck_assert_int_eq(tent_offboard(&tent, t, ids[0]), ERR_OK);
    tent_await_job(&tent, ids[0], &jobs[0]);
    struct ten_job_progress p;
    process_await(is_alone, &p, "the end of the purge");
    knows_how_long_it_takes = true;
    all_leave_together();
}
END_TEST

/* What others hold is told apart for each of them, as if it were searched alone. */
START_TEST(each_finds_what_it_would_find_alone)
{
    fill_all();
    all_leave_together();
    /* "to" stands in all values, its own too; nobody else's prefix is in any */
    ck_assert_uint_ge(jobs[2].search_before.outside, 60);
    struct ten_tenant *stays = tent_create(&tent, "stays");
    tent_table(&tent, stays, "devices");
    tent_write(&tent, stays, "devices", "r", "contralto# sings");
    struct sto_tenant_scope scopes[LEAVING];
    struct sto_search_target targets[LEAVING];
    struct sto_search_spec spec = {.deep = true}; /* or the neighbour's table is not read */
    for (int i = 0; i < LEAVING; i++) {
        scopes[i] = ten_scope_tenant(tent_find(&tent, IDS[i]));
        targets[i] = (struct sto_search_target){.scope = &scopes[i]};
    }
    struct sto_progress progress = {0};
    sto_progress_watch(tent.engine, &progress);
    ck_assert_int_eq(sto_search_files(tent.engine, targets, LEAVING, &spec, &tent.eb), ERR_OK);
    ck_assert_uint_eq(atomic_load(&progress.unit), STO_PROGRESS_BYTES);
    ck_assert_uint_eq(atomic_load(&progress.done), targets[0].found.bytes);
    ck_assert_uint_gt(atomic_load(&progress.all), 0);
    for (int i = 0; i < LEAVING; i++) {
        struct sto_search_target alone = {.scope = &scopes[i]};
        ck_assert_int_eq(sto_search_files(tent.engine, &alone, 1, &spec, &tent.eb), ERR_OK);
        ck_assert_uint_eq(alone.found.outside, targets[i].found.outside);
        ck_assert_uint_eq(alone.found.keys, 0);
        ck_assert_uint_gt(alone.found.outside, 0); /* "contralto#" ends as all of them do */
    }
    sto_progress_watch(tent.engine, NULL);
}
END_TEST

/* A note of the engine names one of them; the worker was not held up by it for ever. */
START_TEST(one_that_finds_something_does_not_keep_the_others)
{
    char path[300];
    fill_all();
    (void)snprintf(path, sizeof path, "%s/db/LOG.old.1", tent.dir);
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("the alto# was here"), 0600, NULL), ERR_OK);
    all_leave_together();
    ck_assert_int_eq(jobs[0].state, TEN_JOB_FAILED); /* alto */
    ck_assert_ptr_nonnull(strstr(jobs[0].error, "step files: found 0 keys, 0 canaries, 1 notes"));
    ck_assert_int_eq(jobs[1].state, TEN_JOB_DONE);
    ck_assert_int_eq(jobs[2].state, TEN_JOB_FAILED); /* to, which "alto#" ends with */
    ck_assert_int_eq(certificates_of("alto"), 0);
    ck_assert_int_eq(unlink(path), 0);
    char again[TEN_JOB_ID + 1];
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, "alto"), again), ERR_OK);
    ck_assert_str_eq(again, ids[0]);
    tent_await_job_done(&tent, again, &jobs[0]);
    wall_pass_s(3600);                            /* until it is tried again */
    tent_await_job_done(&tent, ids[2], &jobs[2]); /* nobody asked for it */
}
END_TEST

/* The last byte of each table file whose first key is alto's: where RocksDB looks first when it
 * opens one. It has them open. */
static void flip_ends_of_altos(void)
{
    struct rdb_live_walk walk;
    struct rdb_live_file f;
    unsigned flipped = 0;
    sto_rdb_live_walk_open(&walk, sto_rdb_engine(tent.engine)->db.handle, NULL);
    while (sto_rdb_live_walk_next(&walk, &f)) {
        char path[sizeof tent.dir + 32];
        uint8_t byte;
        if (!base_slice_starts_with(f.low, SLICE_LIT("alto#")))
            continue;
        (void)snprintf(path, sizeof path, "%s/db/%s", tent.dir, f.name);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        off_t last = lseek(fd, -1, SEEK_END);
        ck_assert_int_eq(pread(fd, &byte, 1, last), 1);
        byte ^= 1;
        ck_assert_int_eq(pwrite(fd, &byte, 1, last), 1);
        ck_assert_int_eq(close(fd), 0);
        flipped++;
    }
    sto_rdb_live_walk_close(&walk);
    ck_assert_uint_gt(flipped, 0);
}

START_TEST(a_file_that_cannot_be_read_keeps_only_those_in_it)
{
    struct ten_tenant *alto = tent_create(&tent, IDS[0]);
    tent_table(&tent, alto, "devices");
    tent_write(&tent, alto, "devices", "row", "value");
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(tent.engine)), ERR_OK);
    for (int i = 1; i < LEAVING; i++) {
        struct ten_tenant *t = tent_create(&tent, IDS[i]);
        tent_table(&tent, t, "devices");
        tent_write(&tent, t, "devices", "row", "value");
    }
    flip_ends_of_altos();
    all_leave_together();
    ck_assert_int_eq(jobs[0].state, TEN_JOB_FAILED);
    ck_assert_ptr_nonnull(strstr(jobs[0].error, "it cannot be read: corrupt"));
    for (int i = 1; i < LEAVING; i++)
        ck_assert_msg(jobs[i].state == TEN_JOB_DONE, "%s: %s", IDS[i], jobs[i].error);
    flip_ends_of_altos();
    wall_pass_s(3600); /* until it is tried again */
    tent_await_job_done(&tent, ids[0], &jobs[0]);
}
END_TEST

static bool all_are_done(void *unused)
{
    (void)unused;
    return oldest_us() == 0;
}

static atomic_uint failures_told;
static char told_job[TEN_JOB_ID + 1]; /* of the first failure: written before it counts as told */

static void purge_failed(const struct ten_purge_failure *failure)
{
    unsigned told = atomic_load(&failures_told) + 1;
    ck_assert_str_eq(failure->tenant->id, "alto");
    if (told == 1)
        memcpy(told_job, failure->job, sizeof told_job);
    ck_assert_str_eq(failure->job, told_job);
    ck_assert_ptr_nonnull(strstr(failure->error, "step files: found 0 keys"));
    ck_assert_uint_eq(failure->failures, told);
    ck_assert_uint_eq(failure->again_s, 5ULL << (told - 1));
    atomic_store(&failures_told, told);
}

static bool are_told(void *failures)
{
    return atomic_load(&failures_told) >= *(unsigned *)failures;
}

static bool failed_again(void *first)
{
    struct ten_job job;
    struct tent_job_awaited awaited = {&tent, ids[0], &job};
    return tent_job_is_over(&awaited) && job.state == TEN_JOB_FAILED &&
           job.finished_us != ((const struct ten_job *)first)->finished_us;
}

START_TEST(a_departure_that_keeps_failing_grows_old)
{
    char path[300];
    unsigned failures = 1;
    tent.purge_failed = purge_failed;
    tent_reopen(&tent);
    fill_all();
    (void)snprintf(path, sizeof path, "%s/db/LOG.old.1", tent.dir);
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("the alto# was here"), 0600, NULL), ERR_OK);
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, "alto"), ids[0]), ERR_OK);
    process_await(are_told, &failures, "the first failure to be told");
    ck_assert_str_eq(told_job, ids[0]);
    tent_await_job(&tent, ids[0], &jobs[0]);
    wall_pass_s(3600); /* until it is tried again */
    process_await(failed_again, &jobs[0], "a second failure");
    failures = 2;
    process_await(are_told, &failures, "the second failure to be told");
    ck_assert_int_ge(oldest_us(), HOUR_US);
    tent_close(&tent);
    tent.awaits_keys = true; /* no purge is tried */
    tent_open(&tent);
    ck_assert_int_ge(oldest_us(), HOUR_US); /* not since the restart */
    tent_close(&tent);
    tent.awaits_keys = false;
    ck_assert_int_eq(unlink(path), 0);
    tent_open(&tent);
    tent_await_job_done(&tent, ids[0], &jobs[0]);
    process_await(all_are_done, NULL, "the age to be none");
}
END_TEST

/* Another document in the place of the job's, and the job's again. */
static void job_doc_swap(struct buf *body)
{
    struct buf now;
    uint64_t version;
    base_buf_init(&now, 65536);
    struct ten_doc_key key = ten_doc_key_job(base_slice_text(ids[0]));
    ck_assert_int_eq(sto_doc_get(tent.engine, ten_doc_key_slice(&key), &version, &now, &tent.eb),
                     ERR_OK);
    struct sto_doc_change change = {
        .key = ten_doc_key_slice(&key), .body = base_buf_slice(body), .expect = STO_DOC_ANY};
    ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
    base_buf_fini(body);
    *body = now;
}

START_TEST(a_job_that_cannot_be_read_is_tried_again)
{
    struct buf body;
    base_buf_init(&body, 65536);
    fill_all();
    block_worker();
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, "alto"), ids[0]), ERR_OK);
    ck_assert_int_eq(base_buf_append(&body, SLICE_LIT("not a job")), ERR_OK);
    job_doc_swap(&body);
    unblock_worker();
    tent_await_job(&tent, blocker_job, &(struct ten_job){0});
    struct ten_job_progress p;
    process_await(is_alone, &p, "the end of the blocker's purge");
    ck_assert(!ten_job_place_get(tent.registry, ids[0], &(struct ten_job_place){0}));
    job_doc_swap(&body);
    base_buf_fini(&body);
    wall_pass_s(3600);
    ck_assert_int_gt(oldest_us(), 0);
    tent_await_job_done(&tent, ids[0], &jobs[0]);
}
END_TEST

/* As many files as there are; nobody's names are too many. */
START_TEST(any_number_of_files_is_searched)
{
    char path[300];
    char id[TEN_JOB_ID + 1];
    fill_both();
    for (int i = 0; i < MANY_FILES; i++) {
        (void)snprintf(path, sizeof path, "%s/db/note-%d", tent.dir, i);
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        ck_assert_int_ge(fd, 0);
        (void)close(fd);
    }
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, "altostrat"), id), ERR_OK);
    tent_await_job(&tent, id, &jobs[0]);
    check_purged(&jobs[0]);
    ck_assert_uint_gt(jobs[0].search_after.files, MANY_FILES);
    check_neighbour();
}
END_TEST

Suite *suite_tenancy_offboard_together(void)
{
    Suite *s = suite_create("tenancy_offboard_together");
    TCase *t = tcase_create("together");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, those_that_wait_share_one_search);
    tcase_add_test(t, an_old_erasure_asks_for_more);
    tcase_add_test(t, who_waits_knows_how_long_the_last_ones_took);
    tcase_add_test(t, each_finds_what_it_would_find_alone);
    tcase_add_test(t, one_that_finds_something_does_not_keep_the_others);
    tcase_add_test(t, a_file_that_cannot_be_read_keeps_only_those_in_it);
    tcase_add_test(t, a_departure_that_keeps_failing_grows_old);
    tcase_add_test(t, a_job_that_cannot_be_read_is_tried_again);
    tcase_add_test(t, any_number_of_files_is_searched);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/tenancy/test_offboard.c - a departed tenant is gone, whatever happens on the way.
 */
#include "tests/tenancy/tent.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "tenancy/doc_key.h"

#include "base/banned.h"

#define ROWS_EACH 200
#define CANARY    "canary-6f1d2b-of-altostrat"

static struct tent tent;

static void setup(void)
{
    tent_make(&tent);
    tent_open(&tent);
}

static void teardown(void)
{
    tent_close(&tent);
    tent_remove(&tent);
}

/* --- two tenants with the same tables and rows --------------------------------------------------
 */

static void fill(const char *id, const char *value)
{
    struct ten_tenant *t = tent_create(&tent, id);
    tent_table(&tent, t, "devices");
    tent_table(&tent, t, "alarms");
    for (int i = 0; i < ROWS_EACH; i++) {
        char row[32];
        (void)snprintf(row, sizeof row, "row%03d", i);
        tent_write(&tent, t, i % 4 == 0 ? "alarms" : "devices", row, value);
    }
}

static void fill_both(void)
{
    fill("altostrat", CANARY);
    fill("altostrat2", "neighbour");
}

static void check_neighbour(void)
{
    struct ten_tenant *t = tent_find(&tent, "altostrat2");
    struct tent_sink sink;
    ck_assert_int_eq(atomic_load(&t->state), TEN_ACTIVE);
    ck_assert_uint_eq(ten_tenant_tables(t)->count, 2);
    tent_sink_init(&sink);
    ck_assert_int_eq(tent_scan(&tent, t, "devices", &sink), ERR_OK);
    ck_assert_uint_eq(sink.rows, ROWS_EACH * 3 / 4);
    ck_assert_int_eq(tent_scan(&tent, t, "alarms", &sink), ERR_OK);
    ck_assert_uint_eq(sink.rows, ROWS_EACH);
    tent_sink_fini(&sink);
    ck_assert_uint_eq(tent_recount(&tent, t).rows, ROWS_EACH);
}

static enum err count_doc(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    (void)key;
    (void)version;
    (void)body;
    ++*(size_t *)ctx;
    return ERR_OK;
}

static size_t docs_under(const char *prefix)
{
    size_t count = 0;
    ck_assert_int_eq(
        sto_docs_scan(tent.engine, base_slice_text(prefix), count_doc, &count, &tent.eb), ERR_OK);
    return count;
}

/* The job is done and nothing of altostrat is there. */
static void check_purged(const struct ten_job *job)
{
    ck_assert_msg(job->state == TEN_JOB_DONE, "%s: %s", ten_job_state_name(job->state), job->error);
    ck_assert_str_eq(job->tenant, "altostrat");
    ck_assert_str_eq(job->error, "");
    ck_assert_uint_eq(job->steps_done, TEN_JOB_STEPS);
    for (int i = 0; i < TEN_JOB_STEPS; i++)
        ck_assert_int_ge(job->step_done_us[i],
                         i == 0 ? job->requested_us : job->step_done_us[i - 1]);
    ck_assert_int_ge(job->finished_us, job->step_done_us[TEN_JOB_STEPS - 1]);
    ck_assert_uint_eq(job->audit_after.physical_keys, 0);
    ck_assert_uint_eq(job->audit_after.live_files_inside, 0);
    ck_assert_uint_eq(job->audit_after.counters, 0);
    ck_assert_uint_gt(job->audit_after.sequence, job->audit_before.sequence);

    struct ten_tenant *t = tent_find(&tent, "altostrat");
    struct sto_tenant_scope scope = ten_scope_tenant(t);
    struct sto_audit audit;
    ck_assert_int_eq(sto_audit_range(tent.engine, &scope, &audit, &tent.eb), ERR_OK);
    ck_assert_uint_eq(audit.physical_keys, 0);
    ck_assert_uint_eq(audit.live_files_inside, 0);
    ck_assert_uint_eq(audit.counters, 0);
    ck_assert_int_eq(atomic_load(&t->state), TEN_PURGED);
    ck_assert_uint_eq(atomic_load(&t->account.gate), STO_GATE_GONE);
    ck_assert_uint_eq(sto_counters_read(&t->account.total).bytes, 0);
    ck_assert_uint_eq(ten_tenant_tables(t)->count, 0);
    ck_assert_str_eq(ten_tenant_details(t)->display_name, "");
    ck_assert_str_eq(ten_tenant_details(t)->reason, "");
    ck_assert_str_eq(ten_tenant_details(t)->job, job->id);
    ck_assert_int_eq(ten_tenant_details(t)->state_since_us, job->finished_us);
    ck_assert_uint_eq(docs_under("s/altostrat/"), 0);
    ck_assert_uint_eq(docs_under("s/altostrat2/"), 2);
}

static void check_before(const struct ten_job *job)
{
    /* "row000", "f", "q", the value, 8 */
    ck_assert_uint_eq(job->usage_before.rows, ROWS_EACH);
    ck_assert_uint_eq(job->usage_before.cells, ROWS_EACH);
    ck_assert_uint_eq(job->usage_before.bytes, ROWS_EACH * (6 + 1 + 1 + strlen(CANARY) + 8));
    ck_assert_uint_ge(job->audit_before.physical_keys, ROWS_EACH);
    ck_assert_uint_ge(job->audit_before.counters, 2);
}

START_TEST(everything_goes_and_the_neighbour_keeps_all)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    fill_both();
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    ck_assert_int_eq(tent_suspend(&tent, t, "leaving"), ERR_OK);
    ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_OK);
    ck_assert_uint_eq(ten_tenant_tables(t)->count, 0);
    ck_assert_uint_eq(atomic_load(&t->account.gate), STO_GATE_GONE);
    tent_await_job(&tent, id, &job);
    ck_assert_str_eq(job.requested_by, "k0123456789a");
    check_purged(&job);
    check_before(&job);
    check_neighbour();
    tent_reopen(&tent);
    ck_assert_int_eq(tent_job(&tent, id, &job), ERR_OK);
    check_purged(&job);
    check_neighbour();
}
END_TEST

START_TEST(a_purged_tenant_stays_purged)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    struct ten_quota q;
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_OK);
    tent_await_job(&tent, id, &job);
    ck_assert_int_eq(job.state, TEN_JOB_DONE);
    ten_quota_default(&q);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_CONFLICT);
        ck_assert_int_eq(tent_suspend(&tent, t, "x"), ERR_CONFLICT);
        ck_assert_int_eq(tent_resume(&tent, t), ERR_CONFLICT);
        ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_CONFLICT);
        ck_assert_int_eq(tent_try_create(&tent, SLICE_LIT("altostrat"), SLICE_EMPTY, NULL),
                         ERR_EXISTS);
        struct ten_tenant *page[2];
        ck_assert_uint_eq(tent_list(&tent, "", page, 2), 1);
        tent_reopen(&tent);
        t = tent_find(&tent, "altostrat");
        ck_assert_int_eq(atomic_load(&t->state), TEN_PURGED);
    }
}
END_TEST

START_TEST(asking_again_gives_the_same_job)
{
    char first[TEN_JOB_ID + 1];
    char again[TEN_JOB_ID + 1];
    struct ten_job job;
    fill_both();
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    ck_assert_int_eq(tent_offboard(&tent, t, first), ERR_OK);
    enum err rc = tent_offboard(&tent, t, again);
    ck_assert(rc == ERR_OK || rc == ERR_CONFLICT); /* it may be done already */
    if (rc == ERR_OK)
        ck_assert_str_eq(first, again);
    tent_await_job(&tent, first, &job);
    check_purged(&job);
    ck_assert_uint_eq(docs_under("j/"), 1);
}
END_TEST

struct requester {
    struct ten_tenant *tenant;
    struct slice name;
    enum err rc;
};

static void do_offboard_by(struct tent *t, void *ctx)
{
    struct requester *q = ctx;
    char job[TEN_JOB_ID + 1];
    q->rc = ten_offboard_start(t->registry, q->tenant, q->name, job, &t->eb);
}

START_TEST(requesters_are_checked_at_the_edge)
{
    static char name[64];
    struct requester q = {.tenant = tent_create(&tent, "altostrat")};
    memset(name, 'k', sizeof name);
    q.name = base_slice(name, 64);
    tent_control(&tent, do_offboard_by, &q);
    ck_assert_int_eq(q.rc, ERR_INVALID);
    ck_assert_int_eq(atomic_load(&q.tenant->state), TEN_ACTIVE);
    ck_assert_uint_eq(docs_under("j/"), 0);
    q.name = base_slice(name, 63);
    tent_control(&tent, do_offboard_by, &q);
    ck_assert_int_eq(q.rc, ERR_OK);
}
END_TEST

/* --- the files themselves -----------------------------------------------------------------------
 */

static bool file_holds(const char *path, const char *what)
{
    static uint8_t bytes[64 * 1024 * 1024];
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return false; /* deleted meanwhile */
    ssize_t n = read(fd, bytes, sizeof bytes);
    close(fd);
    return n > 0 && memmem(bytes, (size_t)n, what, strlen(what)) != NULL;
}

static int files_with(const char *dir, const char *what)
{
    DIR *d = opendir(dir);
    int count = 0;
    if (d == NULL)
        return 0;
    for (const struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (e->d_type == DT_DIR && e->d_name[0] != '.')
            count += files_with(path, what);
        else if (e->d_type == DT_REG && strcmp(e->d_name, "ballast") != 0)
            count += file_holds(path, what);
    }
    closedir(d);
    return count;
}

START_TEST(no_file_holds_a_value_afterwards)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    fill_both();
    ck_assert_int_gt(files_with(tent.dir, CANARY), 0);
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, "altostrat"), id), ERR_OK);
    tent_await_job(&tent, id, &job);
    check_purged(&job);
    int left = files_with(tent.dir, CANARY);
    for (int i = 0; left > 0 && i < 300; i++) { /* obsolete files go a moment later */
        tent_pause_ms(10);
        left = files_with(tent.dir, CANARY);
    }
    ck_assert_int_eq(left, 0);
    ck_assert_int_gt(files_with(tent.dir, "neighbour"), 0);
}
END_TEST

/* --- killed after each step ---------------------------------------------------------------------
 */

/* In a child: fill, offboard, die. The parent has no threads and no engine open. */
static void run_and_die(int step, bool by_environment)
{
    char text[8];
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char id[TEN_JOB_ID + 1];
        struct ten_job job;
        (void)snprintf(text, sizeof text, "%d", step);
        if (by_environment)
            (void)setenv("BIGTENT_TEST_DIE_AFTER_STEP", text, 1);
        else
            ten_offboard_test_die_after(step);
        tent_open(&tent);
        fill_both();
        ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, "altostrat"), id), ERR_OK);
        tent_await_job(&tent, id, &job);
        _exit(1);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 137, "status %d", status);
}

static void finish_after_restart(int step)
{
    struct ten_job job;
    tent_open(&tent);
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    char id[TEN_JOB_ID + 1];
    (void)snprintf(id, sizeof id, "%.16s", ten_tenant_details(t)->job);
    enum ten_state state = (enum ten_state)atomic_load(&t->state);
    ck_assert(state == TEN_PURGED || (state == TEN_PURGING && step < TEN_JOB_STEPS - 1));
    ck_assert_uint_eq(ten_tenant_tables(t)->count, 0);
    ck_assert_int_eq(ten_access_check(t, TEN_READ, &tent.eb), ERR_GONE);
    tent_await_job(&tent, id, &job);
    check_purged(&job);
    check_before(&job);
    check_neighbour();
    tent_close(&tent);
}

START_TEST(killed_after_each_step_it_resumes)
{
    tent_make(&tent);
    run_and_die(_i, _i == 2);
    finish_after_restart(_i);
    tent_remove(&tent);
}
END_TEST

START_TEST(killed_again_and_again_it_resumes)
{
    tent_make(&tent);
    run_and_die(0, false);
    for (int step = 1; step < TEN_JOB_STEPS; step++) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            ten_offboard_test_die_after(step);
            tent_open(&tent);
            tent_pause_ms(30000);
            _exit(1);
        }
        int status = 0;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 137, "status %d", status);
    }
    finish_after_restart(TEN_JOB_STEPS - 1);
    tent_remove(&tent);
}
END_TEST

/* --- closed, failed, retried --------------------------------------------------------------------
 */

START_TEST(closing_in_the_middle_it_resumes)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    fill_both();
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, "altostrat"), id), ERR_OK);
    tent_reopen(&tent); /* between two steps, wherever that is */
    tent_await_job(&tent, id, &job);
    check_purged(&job);
    check_before(&job);
    check_neighbour();
}
END_TEST

START_TEST(engine_failure_leaves_it_resumable)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    fill_both();
    sto_rocksdb_test_fail_commit(tent.engine, 2 + _i); /* 1 is the start */
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, "altostrat"), id), ERR_OK);
    struct sto_health health;
    for (int i = 0; i < 3000; i++) {
        sto_health_get(tent.engine, &health);
        if (health.failed)
            break;
        tent_pause_ms(5);
    }
    ck_assert(health.failed);
    tent_reopen(&tent);
    tent_await_job(&tent, id, &job);
    check_purged(&job);
    check_before(&job);
    check_neighbour();
}
END_TEST

/* A schema document of altostrat that nobody put there while the purge was half done. */
static void plant(void)
{
    enum err rc = tent_open_engine(&tent);
    ck_assert_int_eq(rc, ERR_OK);
    struct sto_family_spec f = {.name = SLICE_LIT("f")};
    struct sto_schema *schema = NULL;
    struct buf body;
    base_buf_init(&body, 65536);
    ck_assert_int_eq(sto_schema_make(SLICE_LIT("devices"), NULL, &f, 1, &schema, &tent.eb), ERR_OK);
    ck_assert_int_eq(sto_schema_encode(schema, &body), ERR_OK);
    struct sto_doc_change change = {.key = SLICE_LIT("s/altostrat/devices"),
                                    .body = base_buf_slice(&body),
                                    .expect = STO_DOC_ABSENT};
    ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
    base_buf_fini(&body);
    sto_schema_unref(schema);
    tent_close_engine(&tent);
}

START_TEST(an_audit_that_finds_something_fails_and_is_retried)
{
    bool by_restart = _i == 0;
    char id[TEN_JOB_ID + 1];
    char again[TEN_JOB_ID + 1];
    struct ten_job job;
    tent_make(&tent);
    run_and_die(STO_PURGE_DELETE_RANGE, false);
    plant();
    tent_open(&tent);
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    (void)snprintf(id, sizeof id, "%.16s", ten_tenant_details(t)->job);
    tent_await_job(&tent, id, &job);
    ck_assert_int_eq(job.state, TEN_JOB_FAILED);
    ck_assert_ptr_nonnull(strstr(job.error, "step audit"));
    ck_assert_ptr_nonnull(strstr(job.error, "1 documents"));
    ck_assert_uint_eq(job.audit_after.counters, 1);
    ck_assert_uint_eq(job.steps_done, TEN_JOB_STEPS - 1);
    ck_assert_int_eq(job.step_done_us[TEN_JOB_STEPS - 1], 0);
    ck_assert_int_gt(job.finished_us, 0);
    ck_assert_int_eq(atomic_load(&t->state), TEN_PURGING);
    ck_assert_int_eq(ten_access_check(t, TEN_READ, &tent.eb), ERR_GONE);
    if (by_restart) {
        tent_reopen(&tent);
    } else {
        ck_assert_int_eq(tent_offboard(&tent, t, again), ERR_OK);
        ck_assert_str_eq(id, again);
    }
    for (int i = 0; i < 3000; i++) {
        ck_assert_int_eq(tent_job(&tent, id, &job), ERR_OK);
        if (job.state == TEN_JOB_DONE)
            break;
        tent_pause_ms(5);
    }
    check_purged(&job);
    check_before(&job);
    check_neighbour();
    tent_close(&tent);
    tent_remove(&tent);
}
END_TEST

START_TEST(a_purging_tenant_without_its_job_is_refused_at_open)
{
    tent_make(&tent);
    run_and_die(0, false);
    ck_assert_int_eq(tent_open_engine(&tent), ERR_OK);
    struct sto_doc_change change = {.expect = STO_DOC_ANY};
    struct ten_doc_key key;
    ck_assert_uint_eq(docs_under("j/"), 1);
    /* its ID stands in the tenant's document, as the last 16 bytes */
    struct buf body;
    uint64_t version;
    base_buf_init(&body, 65536);
    ck_assert_int_eq(sto_doc_get(tent.engine, SLICE_LIT("t/altostrat"), &version, &body, &tent.eb),
                     ERR_OK);
    key = ten_doc_key_job(base_slice(body.ptr + body.len - TEN_JOB_ID, TEN_JOB_ID));
    change.key = ten_doc_key_slice(&key);
    ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
    base_buf_fini(&body);
    ck_assert_uint_eq(docs_under("j/"), 0);
    ck_assert_int_eq(ten_registry_open(tent.engine, tent.epoch, &tent.registry, &tent.eb),
                     ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "no job"));
    tent_close_engine(&tent);
    tent_remove(&tent);
}
END_TEST

/* --- with table removals under way --------------------------------------------------------------
 */

START_TEST(offboarding_during_a_table_removal_waits_for_it)
{
    for (int round = 0; round < 10; round++) {
        char name[32];
        char id[TEN_JOB_ID + 1];
        struct ten_job job;
        bool done = false;
        (void)snprintf(name, sizeof name, "tenant%d", round);
        struct ten_tenant *t = tent_create(&tent, name);
        tent_table(&tent, t, "devices");
        for (int i = 0; i < 30; i++) {
            char row[32];
            (void)snprintf(row, sizeof row, "row%d", i);
            tent_write(&tent, t, "devices", row, "value");
        }
        struct ten_table_delete_op op = {.reply_to = &tent.mail,
                                         .done = tent_delete_done,
                                         .user = &done,
                                         .tenant = t,
                                         .table_id = "devices"};
        ten_table_delete(tent.registry, &op);
        ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_OK);
        tent_wait_flag(&tent, &done);
        ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
        tent_await_job(&tent, id, &job);
        ck_assert_msg(job.state == TEN_JOB_DONE, "%s", job.error);
        ck_assert_uint_eq(job.audit_after.physical_keys + job.audit_after.counters, 0);
    }
}
END_TEST

/* --- many jobs ----------------------------------------------------------------------------------
 */

struct list_args {
    struct ten_job *out;
    size_t limit;
    size_t count;
};

static void do_list(struct tent *t, void *ctx)
{
    struct list_args *a = ctx;
    enum err rc = ten_job_list(t->registry, a->out, a->limit, &a->count, &t->eb);
    INVARIANT(rc == ERR_OK);
}

START_TEST(jobs_run_one_after_the_other_and_list_newest_first)
{
    enum { JOBS = 7 };
    static struct ten_job jobs[JOBS + 1];
    char ids[JOBS][TEN_JOB_ID + 1];
    struct ten_job job;
    for (int i = 0; i < JOBS; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "tenant%d", i);
        struct ten_tenant *t = tent_create(&tent, name);
        tent_table(&tent, t, "devices");
        tent_write(&tent, t, "devices", "r", "v");
    }
    for (int i = 0; i < JOBS; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "tenant%d", i);
        ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, name), ids[i]), ERR_OK);
        if (i > 0)
            ck_assert_int_gt(strcmp(ids[i], ids[i - 1]), 0);
    }
    int64_t last_finished = 0;
    for (int i = 0; i < JOBS; i++) {
        tent_await_job(&tent, ids[i], &job);
        ck_assert_msg(job.state == TEN_JOB_DONE, "%s", job.error);
        ck_assert_int_ge(job.step_done_us[0], 0);
        ck_assert_int_ge(job.finished_us, last_finished);
        last_finished = job.finished_us;
    }
    for (size_t limit = 0; limit <= JOBS + 1; limit++) {
        struct list_args a = {.out = jobs, .limit = limit, .count = 99};
        tent_control(&tent, do_list, &a);
        ck_assert_uint_eq(a.count, limit < JOBS ? limit : JOBS);
        for (size_t i = 0; i < a.count; i++)
            ck_assert_str_eq(jobs[i].id, ids[JOBS - 1 - i]);
    }
    ck_assert_int_eq(tent_job(&tent, "0000000000000000", &job), ERR_NOT_FOUND);
    ck_assert_int_eq(tent_job(&tent, "", &job), ERR_NOT_FOUND);
    ck_assert_int_eq(tent_job(&tent, "../t/tenant0/../", &job), ERR_NOT_FOUND);
    tent_reopen(&tent);
    (void)tent_create(&tent, "later");
    char id[TEN_JOB_ID + 1];
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, "later"), id), ERR_OK);
    ck_assert_int_gt(strcmp(id, ids[JOBS - 1]), 0);
}
END_TEST

Suite *suite_tenancy_offboard(void);
Suite *suite_tenancy_offboard(void)
{
    Suite *s = suite_create("tenancy/offboard");
    TCase *c = tcase_create("purge");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, everything_goes_and_the_neighbour_keeps_all);
    tcase_add_test(c, a_purged_tenant_stays_purged);
    tcase_add_test(c, asking_again_gives_the_same_job);
    tcase_add_test(c, requesters_are_checked_at_the_edge);
    tcase_add_test(c, no_file_holds_a_value_afterwards);
    tcase_add_test(c, offboarding_during_a_table_removal_waits_for_it);
    tcase_add_test(c, jobs_run_one_after_the_other_and_list_newest_first);
    suite_add_tcase(s, c);
    c = tcase_create("resume");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, killed_after_each_step_it_resumes, 0, TEN_JOB_STEPS);
    tcase_add_test(c, killed_again_and_again_it_resumes);
    tcase_add_loop_test(c, an_audit_that_finds_something_fails_and_is_retried, 0, 2);
    tcase_add_test(c, a_purging_tenant_without_its_job_is_refused_at_open);
    suite_add_tcase(s, c);
    c = tcase_create("interrupted");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, closing_in_the_middle_it_resumes);
    tcase_add_loop_test(c, engine_failure_leaves_it_resumable, 0, TEN_JOB_STEPS);
    suite_add_tcase(s, c);
    return s;
}

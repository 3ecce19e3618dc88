/*
 * tests/tenancy/test_offboard_resume.c - killed, closed or failed anywhere, a departure ends the
 * same.
 */
#include "tests/tenancy/departure.h"

#include <sys/wait.h>

#include "tenancy/doc_key.h"

#include "base/banned.h"

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
    ck_assert(state == TEN_PURGED || (state == TEN_PURGING && step != TEN_JOB_STEPS - 1));
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
    static const int STEPS[] = {1, 2, 3, 4, 5, 6, TEN_JOB_STEPS, TEN_STEP_CERTIFICATE};
    _Static_assert(sizeof STEPS / sizeof STEPS[0] == TEN_JOB_STEPS, "each but the first");
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0]; i++) {
        int step = STEPS[i];
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            ten_offboard_test_die_after(step);
            tent_open(&tent);
            for (;;)
                (void)pause();
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
    tent_await_failure(&tent);
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
    struct sto_table_spec table = {.families = &f, .family_count = 1};
    struct sto_schema *schema = NULL;
    struct buf body;
    base_buf_init(&body, 65536);
    ck_assert_int_eq(sto_schema_make(SLICE_LIT("devices"), NULL, &table, &schema, &tent.eb),
                     ERR_OK);
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
    ck_assert_uint_eq(job.steps_done, TEN_STEP_AUDIT);
    ck_assert_int_eq(job.step_done_us[TEN_STEP_AUDIT], 0);
    ck_assert_uint_eq(certificates_of("altostrat"), 0);
    ck_assert_int_gt(job.finished_us, 0);
    ck_assert_int_eq(atomic_load(&t->state), TEN_PURGING);
    ck_assert_int_eq(ten_access_check(t, TEN_READ, &tent.eb), ERR_GONE);
    if (by_restart) {
        tent_reopen(&tent);
    } else {
        ck_assert_int_eq(tent_offboard(&tent, t, again), ERR_OK);
        ck_assert_str_eq(id, again);
    }
    tent_await_job_done(&tent, id, &job);
    check_purged(&job);
    check_before(&job);
    check_neighbour();
    tent_close(&tent);
    tent_remove(&tent);
}
END_TEST

/* Killed while a table was being removed as well: the purge does its work. */
START_TEST(a_table_that_was_under_removal_goes_with_its_tenant)
{
    tent_make(&tent);
    run_and_die(0, false);
    ck_assert_int_eq(tent_open_engine(&tent), ERR_OK);
    struct buf body;
    uint64_t version;
    struct sto_schema *schema = NULL;
    base_buf_init(&body, 65536);
    ck_assert_int_eq(
        sto_doc_get(tent.engine, SLICE_LIT("s/altostrat/devices"), &version, &body, &tent.eb),
        ERR_OK);
    ck_assert_int_eq(sto_schema_decode(SLICE_LIT("devices"), base_buf_slice(&body), NULL, &schema),
                     ERR_OK);
    struct sto_schema *deleting = sto_schema_make_deleting(schema);
    base_buf_truncate(&body, 0);
    ck_assert_int_eq(sto_schema_encode(deleting, &body), ERR_OK);
    struct sto_doc_change change = {
        .key = SLICE_LIT("s/altostrat/devices"), .body = base_buf_slice(&body), .expect = version};
    ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
    sto_schema_unref(deleting);
    sto_schema_unref(schema);
    base_buf_fini(&body);
    tent_close_engine(&tent);
    finish_after_restart(0);
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
    ck_assert_int_eq(tent_open_registry(&tent), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "no job"));
    tent_close_engine(&tent);
    tent_remove(&tent);
}
END_TEST

Suite *suite_tenancy_offboard_resume(void);
Suite *suite_tenancy_offboard_resume(void)
{
    Suite *s = suite_create("tenancy_offboard_resume");
    TCase *c = tcase_create("killed");
    tcase_set_timeout(c, 600);
    tcase_add_loop_test(c, killed_after_each_step_it_resumes, 0, TEN_JOB_STEPS + 1);
    tcase_add_test(c, killed_again_and_again_it_resumes);
    tcase_add_loop_test(c, an_audit_that_finds_something_fails_and_is_retried, 0, 2);
    tcase_add_test(c, a_table_that_was_under_removal_goes_with_its_tenant);
    tcase_add_test(c, a_purging_tenant_without_its_job_is_refused_at_open);
    suite_add_tcase(s, c);
    c = tcase_create("interrupted");
    tcase_set_timeout(c, 600);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, closing_in_the_middle_it_resumes);
    tcase_add_loop_test(c, engine_failure_leaves_it_resumable, 0, TEN_JOB_STEPS + 1);
    suite_add_tcase(s, c);
    return s;
}

/*
 * tests/tenancy/test_offboard.c - a departed tenant is gone, from every file.
 */
#include "tests/tenancy/departure.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/banned.h"

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

/* A script repeats a request whose answer it did not get: what it wanted is done. */
START_TEST(a_request_that_is_repeated_when_it_is_done_succeeds)
{
    char id[TEN_JOB_ID + 1], again[TEN_JOB_ID + 1];
    struct ten_job job;
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_OK);
    tent_await_job(&tent, id, &job);
    for (int round = 0; round < 2; round++) {
        memset(again, 0, sizeof again);
        ck_assert_int_eq(tent_offboard(&tent, t, again), ERR_OK);
        ck_assert_str_eq(again, id);
        ck_assert_int_eq(atomic_load(&t->state), TEN_PURGED);
        ck_assert_uint_eq(docs_under("j/"), 1);
        tent_reopen(&tent);
        t = tent_find(&tent, "altostrat");
    }
}
END_TEST

START_TEST(a_departure_of_another_kind_is_refused_when_it_is_done)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_OK);
    tent_await_job(&tent, id, &job);
    ck_assert_int_eq(tent_offboard_in(&tent, t, 1, "", id), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "the tenant is purged, without the grace period"));
    ck_assert_ptr_nonnull(strstr(tent.eb.text, job.id));
    tent.deep = true;
    ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_CONFLICT);
    ck_assert_ptr_nonnull(
        strstr(tent.eb.text, "the tenant is purged, and its purge began without"));
    ck_assert_ptr_nonnull(strstr(tent.eb.text, job.id));
    t = tent_create(&tent, "cirrus");
    ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_OK);
    tent_await_job(&tent, id, &job);
    ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_OK); /* as deep as it was */
    ck_assert_str_eq(job.id, id);
    ck_assert_int_eq(tent_undelete(&tent, t), ERR_CONFLICT);
}
END_TEST

struct repeated {
    struct ten_tenant *tenant;
    char job[TEN_JOB_ID + 1];
};

/* In one task of the control thread, which alone ends PURGING. */
static void do_offboard_repeatedly(struct tent *t, void *ctx)
{
    static const struct {
        struct ten_offboard_wanted wanted;
        enum err rc;
        const char *text;
    } REPEATED[] = {
        {{.grace_us = 0}, ERR_OK, NULL},
        {{.grace_us = 5000000}, ERR_CONFLICT, "is purging, without the grace period of 5 s that"},
        {{.deep = true}, ERR_CONFLICT, "is purging, and its purge began without a deep search"},
    };
    struct repeated *q = ctx;
    for (size_t i = 0; i < sizeof REPEATED / sizeof REPEATED[0]; i++) {
        char again[TEN_JOB_ID + 1] = "";
        struct ten_offboard_wanted wanted = REPEATED[i].wanted;
        wanted.requested_by = SLICE_LIT("k0123456789a");
        if (i == 0)
            ck_assert_int_eq(ten_offboard_start(t->registry, q->tenant, &wanted, q->job, &t->eb),
                             ERR_OK);
        ck_assert_int_eq(atomic_load(&q->tenant->state), TEN_PURGING);
        ck_assert_int_eq(ten_offboard_start(t->registry, q->tenant, &wanted, again, &t->eb),
                         REPEATED[i].rc);
        if (REPEATED[i].rc == ERR_OK) {
            ck_assert_str_eq(again, q->job);
            continue;
        }
        ck_assert_ptr_nonnull(strstr(t->eb.text, REPEATED[i].text));
        ck_assert_ptr_nonnull(strstr(t->eb.text, q->job));
    }
}

/* What it is answered does not depend on how far the purge is. */
START_TEST(a_request_that_is_repeated_while_it_purges_is_answered_as_when_it_is_done)
{
    struct ten_job job;
    struct repeated q = {.tenant = tent_create(&tent, "altostrat")};
    tent_control(&tent, do_offboard_repeatedly, &q);
    tent_await_job(&tent, q.job, &job);
    ck_assert_int_eq(job.state, TEN_JOB_DONE);
    ck_assert_uint_eq(docs_under("j/"), 1);
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
    ck_assert_int_eq(tent_offboard(&tent, t, again), ERR_OK); /* it may be done already */
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
    const struct ten_offboard_wanted wanted = {.requested_by = q->name};
    q->rc = ten_offboard_start(t->registry, q->tenant, &wanted, job, &t->eb);
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
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false; /* deleted meanwhile */
    struct stat st;
    ck_assert_int_eq(fstat(fd, &st), 0);
    size_t len = (size_t)st.st_size;
    void *bytes = len > 0 ? mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    (void)close(fd);
    if (bytes == NULL)
        return false;
    ck_assert(bytes != MAP_FAILED);
    bool holds = memmem(bytes, len, what, strlen(what)) != NULL;
    (void)munmap(bytes, len);
    return holds;
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

static bool no_file_has_canary(void *arg)
{
    (void)arg;
    return files_with(tent.dir, CANARY) == 0;
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
    process_await(no_file_has_canary, NULL, "obsolete files to go");
    ck_assert_int_gt(files_with(tent.dir, "neighbour"), 0);
}
END_TEST

/* --- with table removals under way --------------------------------------------------------------
 */

struct table_count {
    struct ten_tenant *tenant;
    size_t count;
};

static void count_tables(struct tent *t, void *ctx)
{
    struct table_count *c = ctx;
    (void)t;
    c->count = ten_tenant_tables(c->tenant)->count;
}

static bool has_one_table(void *tenant)
{
    struct table_count c = {.tenant = tenant};
    tent_control(&tent, count_tables, &c);
    return c.count == 1;
}

static void await_one_table(struct ten_tenant *t)
{
    process_await(has_one_table, t, "one table to be left");
}

/* 60,000 cells are some fifteen commits of the removal. */
START_TEST(offboarding_during_a_table_removal_waits_for_it)
{
    for (int round = 0; round < 3; round++) {
        char name[32];
        char id[TEN_JOB_ID + 1];
        struct ten_job job;
        bool done = false;
        (void)snprintf(name, sizeof name, "tenant%d", round);
        struct ten_tenant *t = tent_create(&tent, name);
        tent_table(&tent, t, "devices");
        tent_table(&tent, t, "alarms");
        tent_write(&tent, t, "alarms", "r", "v");
        for (int i = 0; i < 3; i++) {
            char row[32];
            (void)snprintf(row, sizeof row, "row%d", i);
            tent_write_cells(&tent, t, "devices", row, 20000);
        }
        struct ten_table_delete_op op = {.reply_to = &tent.mail,
                                         .done = tent_delete_done,
                                         .user = &done,
                                         .tenant = t,
                                         .table_id = "devices"};
        ten_table_delete(tent.registry, &op);
        await_one_table(t); /* what operators ask for would overtake it */
        ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_OK);
        tent_wait_flag(&tent, &done);
        ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
        ck_assert_uint_eq(op.removed.cells, 60000);
        tent_await_job(&tent, id, &job);
        ck_assert_msg(job.state == TEN_JOB_DONE, "%s", job.error);
        ck_assert_uint_eq(job.usage_before.cells, 1); /* the fence came after the removal */
        ck_assert_uint_eq(job.audit_after.physical_keys + job.audit_after.counters, 0);
    }
}
END_TEST

/* --- many jobs ----------------------------------------------------------------------------------
 */

struct listed {
    struct ten_job *out;
    size_t count;
};

static enum err take_job(void *ctx, const struct ten_job *job)
{
    struct listed *l = ctx;
    l->out[l->count++] = *job;
    return ERR_OK;
}

static size_t list_jobs(const char *before, size_t limit, struct ten_job *out)
{
    struct listed l = {.out = out};
    ck_assert_int_eq(
        ten_job_list(tent.registry, base_slice_text(before), limit, take_job, &l, NULL), ERR_OK);
    return l.count;
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
        size_t count = list_jobs("", limit, jobs);
        ck_assert_uint_eq(count, limit < JOBS ? limit : JOBS);
        for (size_t i = 0; i < count; i++)
            ck_assert_str_eq(jobs[i].id, ids[JOBS - 1 - i]);
        count = list_jobs(ids[4], limit, jobs); /* four are older */
        ck_assert_uint_eq(count, limit < 4 ? limit : 4);
        for (size_t i = 0; i < count; i++)
            ck_assert_str_eq(jobs[i].id, ids[3 - i]);
    }
    ck_assert_uint_eq(list_jobs(ids[0], JOBS, jobs), 0);
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
    Suite *s = suite_create("tenancy_offboard");
    TCase *c = tcase_create("purge");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, everything_goes_and_the_neighbour_keeps_all);
    tcase_add_test(c, a_purged_tenant_stays_purged);
    tcase_add_test(c, a_request_that_is_repeated_when_it_is_done_succeeds);
    tcase_add_test(c, a_departure_of_another_kind_is_refused_when_it_is_done);
    tcase_add_test(c, a_request_that_is_repeated_while_it_purges_is_answered_as_when_it_is_done);
    tcase_add_test(c, asking_again_gives_the_same_job);
    tcase_add_test(c, requesters_are_checked_at_the_edge);
    tcase_add_test(c, no_file_holds_a_value_afterwards);
    tcase_add_test(c, offboarding_during_a_table_removal_waits_for_it);
    tcase_add_test(c, jobs_run_one_after_the_other_and_list_newest_first);
    suite_add_tcase(s, c);
    return s;
}

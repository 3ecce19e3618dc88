/*
 * tests/tenancy/test_audit_subjects.c - what records of the audit trail name goes with its tenant,
 *                                       and what is left of them is still a chain.
 */
#include "tests/tenancy/tent.h"

#include "tests/tenancy/departure.h"

#include "tenancy/audit.h"
#include "tenancy/audit_doc.h"
#include "tenancy/internal.h"

#include "base/banned.h"

Suite *suite_tenancy_audit_subjects(void);

#define SUBJECTS "l/altostrat/"

/* --- actions ---------------------------------------------------------------------------------- */

struct deed {
    const char *name;
    const char *tenant;
    const char *target;
    size_t times;
};

/* Recorded, without a change. */
static void act(struct tent *t, void *ctx)
{
    const struct deed *d = ctx;
    const struct ten_action action = {.actor = {"k0123456789a", "tenant", "192.0.2.7"},
                                      .name = d->name,
                                      .tenant = base_slice_text(d->tenant),
                                      .target = base_slice_text(d->target),
                                      .detail = "families=zq-family"};
    for (size_t i = 0; i < d->times; i++) {
        ten_audit_begin(t->registry, &action);
        ck_assert_int_eq(ten_audit_end(t->registry, ERR_OK, &t->eb), ERR_OK);
    }
}

static void act_on(const char *tenant, const char *name, const char *target, size_t times)
{
    struct deed d = {name, tenant, target, times};
    tent_control(&tent, act, &d);
}

/* --- the trail -------------------------------------------------------------------------------- */

struct seen {
    struct base_audit_head head;
    bool is_tenants;
    size_t records;
    size_t erased;
    size_t naming; /* with a target that begins with "zq-" */
    size_t jobs;   /* purge.start with a job in its target */
};

static enum err look(void *ctx, const struct base_audit_record *r)
{
    struct seen *s = ctx;
    const char *wrong =
        s->is_tenants ? base_audit_follow_tenant(&s->head, r) : base_audit_follow(&s->head, r);
    ck_assert_msg(wrong == NULL, "record %zu: %s", s->records + 1, wrong);
    ck_assert_int_eq(r->form, BASE_AUDIT_SUBJECT);
    ck_assert(!r->is_erased || r->target.len + r->detail.len == 0);
    s->records++;
    s->erased += r->is_erased;
    s->naming += base_slice_starts_with(r->target, SLICE_LIT("zq-"));
    s->jobs += base_slice_is(r->action, "purge.start") && r->target.len > 0;
    return ERR_OK;
}

static struct seen look_at(const char *tenant)
{
    struct seen s = {.is_tenants = tenant[0] != '\0'};
    enum err rc =
        ten_audit_read(tent.registry, base_slice_text(tenant), 1, SIZE_MAX, look, &s, &tent.eb);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    return s;
}

static void purge(const char *tenant)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, tenant), id), ERR_OK);
    tent_await_job(&tent, id, &job);
    ck_assert_msg(job.state == TEN_JOB_DONE, "%s", job.error);
}

/* --- tests ------------------------------------------------------------------------------------ */

START_TEST(what_a_record_names_is_apart_and_read_with_it)
{
    (void)tent_create(&tent, "altostrat");
    act_on("altostrat", "table.create", "zq-table", 2);
    act_on("altostrat", "key.create", "k0123456789b", 1); /* an ID that the server made */
    act_on("altostrat", "tenant.quota", "", 1);           /* numbers */
    act_on("", "plan.put", "zq-plan", 1);                 /* of no tenant */
    ck_assert_uint_eq(docs_under(SUBJECTS), 2);
    struct seen all = look_at(""), own = look_at("altostrat");
    ck_assert_uint_eq(all.naming, 3);
    ck_assert_uint_eq(own.naming, 2);
    ck_assert_uint_eq(all.erased + own.erased, 0);
    tent_reopen(&tent);
    ck_assert_uint_eq(look_at("").naming, 3);
}
END_TEST

START_TEST(another_subject_in_its_place_is_no_subject)
{
    (void)tent_create(&tent, "altostrat");
    act_on("altostrat", "table.create", "zq-table", 1);
    const struct base_audit_record forged = {.target = SLICE_LIT("zq-other")};
    struct buf body;
    base_buf_init(&body, TEN_AUDIT_DOC_MAX);
    ck_assert_int_eq(ten_audit_subject_encode(&forged, &body), ERR_OK);
    const struct sto_doc_change change = {.key = SLICE_LIT(SUBJECTS "0000000000000001"),
                                          .body = base_buf_slice(&body),
                                          .expect = STO_DOC_ANY};
    ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
    base_buf_fini(&body);
    struct seen s = {0};
    ck_assert_int_eq(ten_audit_read(tent.registry, SLICE_EMPTY, 1, SIZE_MAX, look, &s, &tent.eb),
                     ERR_CORRUPT);
}
END_TEST

/* Nobody hides a name by deleting its document. */
START_TEST(a_missing_subject_of_a_tenant_that_is_there_is_damage)
{
    (void)tent_create(&tent, "altostrat");
    act_on("altostrat", "table.create", "zq-table", 2);
    const struct sto_doc_change change = {.key = SLICE_LIT(SUBJECTS "0000000000000002"),
                                          .expect = STO_DOC_ANY};
    ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
    for (int i = 0; i < 2; i++) {
        struct seen s = {.is_tenants = i == 1};
        ck_assert_int_eq(ten_audit_read(tent.registry,
                                        i == 1 ? SLICE_LIT("altostrat") : SLICE_EMPTY, 1, SIZE_MAX,
                                        look, &s, &tent.eb),
                         ERR_CORRUPT);
        ck_assert_uint_eq(s.naming, 1);
    }
}
END_TEST

START_TEST(it_goes_with_its_tenant_and_the_chain_stays)
{
    (void)tent_create(&tent, "altostrat");
    (void)tent_create(&tent, "altostrat2");
    act_on("altostrat", "table.create", "zq-table", 600); /* more than two batches */
    act_on("altostrat2", "table.create", "zq-theirs", 3);
    purge("altostrat");
    ck_assert_uint_eq(docs_under(SUBJECTS), 0);
    struct seen all = look_at("");
    ck_assert_uint_eq(all.erased, 600);
    ck_assert_uint_eq(all.naming, 3); /* the neighbour's */
    ck_assert_uint_eq(all.jobs, 1);   /* what the purge did is told */
    ck_assert_uint_eq(look_at("altostrat").erased, 600);
    ck_assert_uint_eq(look_at("altostrat2").naming, 3);
}
END_TEST

/* A trail of years is many batches, for which a server that stops does not wait. */
START_TEST(they_stay_while_the_registry_closes)
{
    (void)tent_create(&tent, "altostrat");
    act_on("altostrat", "table.create", "zq-table", 3);
    atomic_store(&tent.registry->stopping, true);
    enum err rc = ten_audit_forget_subjects(tent.registry, SLICE_LIT("altostrat"), &tent.eb);
    atomic_store(&tent.registry->stopping, false);
    ck_assert_int_eq(rc, ERR_CANCELLED);
    ck_assert_uint_eq(docs_under(SUBJECTS), 3);
    rc = ten_audit_forget_subjects(tent.registry, SLICE_LIT("altostrat"), &tent.eb);
    ck_assert_int_eq(rc, ERR_OK);
    ck_assert_uint_eq(docs_under(SUBJECTS), 0);
}
END_TEST

/* Somebody still asks for the tables of a tenant that left. */
START_TEST(what_is_named_afterwards_is_not_kept)
{
    (void)tent_create(&tent, "altostrat");
    purge("altostrat");
    act_on("altostrat", "table.create", "zq-table", 2);
    ck_assert_uint_eq(docs_under(SUBJECTS), 0);
    ck_assert_uint_eq(look_at("").erased, 2);
}
END_TEST

/* A departure that was only requested may be taken back. */
START_TEST(what_is_named_before_the_purge_begins_is_kept)
{
    char id[TEN_JOB_ID + 1];
    (void)tent_create(&tent, "altostrat");
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    ck_assert_int_eq(tent_offboard_in(&tent, t, 3600ULL * 1000000, "", id), ERR_OK);
    act_on("altostrat", "table.create", "zq-table", 1);
    ck_assert_uint_eq(docs_under(SUBJECTS), 1);
    ck_assert_uint_eq(look_at("").naming, 1);
}
END_TEST

static void expire(struct tent *t, void *ctx)
{
    size_t *removed = ctx;
    ck_assert_int_eq(ten_audit_expire(t->registry, base_wall_us(), removed, &t->eb), ERR_OK);
}

START_TEST(it_goes_with_its_record)
{
    size_t removed = 0;
    (void)tent_create(&tent, "altostrat");
    act_on("altostrat", "table.create", "zq-table", 5);
    act_on("", "plan.put", "zq-plan", 1);
    ck_assert_int_eq(setenv("BIGTENT_TEST_AUDIT_DAYS_AHEAD", "1000", 1), 0);
    tent_control(&tent, expire, &removed);
    ck_assert_uint_eq(removed, 5);
    ck_assert_uint_eq(docs_under(SUBJECTS), 0);
}
END_TEST

Suite *suite_tenancy_audit_subjects(void)
{
    Suite *s = suite_create("tenancy_audit_subjects");
    TCase *t = tcase_create("subjects");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, what_a_record_names_is_apart_and_read_with_it);
    tcase_add_test(t, another_subject_in_its_place_is_no_subject);
    tcase_add_test(t, a_missing_subject_of_a_tenant_that_is_there_is_damage);
    tcase_add_test(t, it_goes_with_its_tenant_and_the_chain_stays);
    tcase_add_test(t, they_stay_while_the_registry_closes);
    tcase_add_test(t, what_is_named_afterwards_is_not_kept);
    tcase_add_test(t, what_is_named_before_the_purge_begins_is_kept);
    tcase_add_test(t, it_goes_with_its_record);
    suite_add_tcase(s, t);
    return s;
}

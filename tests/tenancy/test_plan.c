/*
 * tests/tenancy/test_plan.c - plans: what tenants inherit, and that a change holds for all at once.
 */
#include "tests/tenancy/tent_rows.h"

#include "base/record.h"
#include "tenancy/plan_doc.h"

#include "base/banned.h"

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

/* --- on the control thread -------------------------------------------------------------------- */

struct plan_call {
    struct slice id;
    struct slice name;
    const struct ten_quota *quota;
    struct ten_plan *plan;
    struct ten_tenant *tenant;
    const struct ten_tenant_wanted *wanted;
    struct ten_plan *list[8];
    size_t count;
    enum err rc;
};

static void do_put(struct tent *t, void *ctx)
{
    struct plan_call *c = ctx;
    c->rc = ten_plan_put(t->registry, c->id, c->name, c->quota, &c->plan, &t->eb);
}

static enum err put_named(struct slice id, const char *name, const struct ten_quota *q)
{
    struct plan_call c = {.id = id, .name = base_slice_text(name), .quota = q};
    tent_control(&tent, do_put, &c);
    return c.rc;
}

static enum err put(const char *id, const struct ten_quota *q)
{
    return put_named(base_slice_text(id), "", q);
}

static void do_delete(struct tent *t, void *ctx)
{
    struct plan_call *c = ctx;
    c->rc = ten_plan_delete(t->registry, c->id, &t->eb);
}

static enum err remove_plan(const char *id)
{
    struct plan_call c = {.id = base_slice_text(id)};
    tent_control(&tent, do_delete, &c);
    return c.rc;
}

static void do_list(struct tent *t, void *ctx)
{
    struct plan_call *c = ctx;
    c->count = ten_plan_list(t->registry, c->list, 8);
    c->plan = ten_plan_find(t->registry, c->id);
}

static struct plan_call look(const char *id)
{
    struct plan_call c = {.id = base_slice_text(id)};
    tent_control(&tent, do_list, &c);
    return c;
}

static void do_change(struct tent *t, void *ctx)
{
    struct plan_call *c = ctx;
    c->rc = ten_tenant_change(t->registry, c->tenant, c->wanted, &t->eb);
}

static enum err change(struct ten_tenant *t, struct ten_tenant_wanted wanted)
{
    struct plan_call c = {.tenant = t, .wanted = &wanted};
    tent_control(&tent, do_change, &c);
    return c.rc;
}

static enum err give_plan(struct ten_tenant *t, const char *plan)
{
    return change(t, (struct ten_tenant_wanted){.plan = base_slice_text(plan)});
}

static void do_create(struct tent *t, void *ctx)
{
    struct plan_call *c = ctx;
    c->rc = ten_tenant_create(t->registry, c->id, c->wanted, &c->tenant, &t->eb);
}

static struct ten_quota rows_of(uint64_t rows)
{
    struct ten_quota q;
    ten_quota_default(&q);
    GIVE(&q, rows, rows);
    return q;
}

static uint64_t rows_max(const char *tenant)
{
    const struct ten_tenant *t = tent_find(&tent, tenant);
    struct ten_quota held;
    ten_tenant_quota(t, &held);
    ck_assert_uint_eq(held.rows, atomic_load(&t->account.rows_max));
    return held.rows;
}

/* --- what holds ------------------------------------------------------------------------------- */

START_TEST(own_fields_hold_before_the_plans_and_the_plans_before_the_standard)
{
    struct ten_tenant *a = tent_create(&tent, "aa");
    struct ten_tenant *b = tent_create(&tent, "bb");
    (void)tent_create(&tent, "cc");
    struct ten_quota gold = rows_of(10);
    GIVE(&gold, write_ops_per_s, 77);
    GIVE_LIMIT(&gold, STO_LIMIT_TABLES, 3);
    struct ten_quota own = rows_of(20);
    ck_assert_int_eq(put("gold", &gold), ERR_OK);
    ck_assert_int_eq(give_plan(a, "gold"), ERR_OK);
    ck_assert_int_eq(give_plan(b, "gold"), ERR_OK);
    ck_assert_int_eq(tent_set_quota(&tent, b, &own), ERR_OK);
    for (int round = 0; round < 2; round++) {
        ck_assert_uint_eq(rows_max("aa"), 10);
        ck_assert_uint_eq(rows_max("bb"), 20);
        ck_assert_uint_eq(rows_max("cc"), UINT64_MAX);
        a = tent_find(&tent, "aa");
        b = tent_find(&tent, "bb");
        ck_assert_uint_eq(atomic_load(&b->rates.write_ops.per_second), 77);
        ck_assert_uint_eq(sto_account_limit(&b->account, STO_LIMIT_TABLES), 3);
        ck_assert_uint_eq(ten_tenant_details(a)->quota.given, 0);
        ck_assert_str_eq(ten_tenant_details(b)->plan->id, "gold");
        ck_assert_uint_eq(look("gold").plan->tenants, 2);
        tent_reopen(&tent);
    }
    /* no limit of its own is a value like any other */
    b = tent_find(&tent, "bb");
    own = rows_of(UINT64_MAX);
    ck_assert_int_eq(tent_set_quota(&tent, b, &own), ERR_OK);
    ck_assert_uint_eq(rows_max("bb"), UINT64_MAX);
    own.given = 0;
    ck_assert_int_eq(tent_set_quota(&tent, b, &own), ERR_OK);
    ck_assert_uint_eq(rows_max("bb"), 10);
    ck_assert_int_eq(give_plan(b, ""), ERR_OK);
    ck_assert_uint_eq(rows_max("bb"), UINT64_MAX);
    ck_assert_uint_eq(look("gold").plan->tenants, 1);
}
END_TEST

START_TEST(a_change_of_a_plan_holds_for_its_tenants_at_once_and_writes_one_document)
{
    struct ten_tenant *a = tent_create(&tent, "aa");
    (void)tent_create(&tent, "bb");
    struct ten_quota q = rows_of(10);
    ck_assert_int_eq(put("gold", &q), ERR_OK);
    ck_assert_int_eq(give_plan(a, "gold"), ERR_OK);
    tent_table(&tent, a, "devices");
    tent_write(&tent, a, "devices", "r1", "v");
    q = rows_of(1);
    ck_assert_int_eq(put("gold", &q), ERR_OK);
    ck_assert_uint_eq(ten_tenant_details(a)->doc_version, 2); /* created, given a plan */
    for (int round = 0; round < 2; round++) {
        a = tent_find(&tent, "aa");
        ck_assert_uint_eq(rows_max("aa"), 1);
        ck_assert_uint_eq(rows_max("bb"), UINT64_MAX);
        ck_assert_int_eq(tent_try_write(&tent, a, "devices", "r2", SLICE_LIT("v")), ERR_QUOTA);
        tent_reopen(&tent);
    }
    q.given = 0; /* it says nothing any more */
    ck_assert_int_eq(put("gold", &q), ERR_OK);
    ck_assert_uint_eq(rows_max("aa"), UINT64_MAX);
    ck_assert_int_eq(tent_try_write(&tent, tent_find(&tent, "aa"), "devices", "r2", SLICE_LIT("v")),
                     ERR_OK);
}
END_TEST

START_TEST(a_tenant_is_created_with_plan_and_quota_or_not_at_all)
{
    struct ten_quota q = rows_of(10);
    ck_assert_int_eq(put("gold", &q), ERR_OK);
    struct ten_quota own;
    ten_quota_default(&own);
    GIVE(&own, stored_bytes, 5000);
    struct ten_tenant_wanted wanted = {.plan = SLICE_LIT("gold"), .quota = &own};
    struct plan_call c = {.id = SLICE_LIT("aa"), .wanted = &wanted};
    tent_control(&tent, do_create, &c);
    ck_assert_int_eq(c.rc, ERR_OK);
    for (int round = 0; round < 2; round++) {
        ck_assert_uint_eq(rows_max("aa"), 10);
        ck_assert_uint_eq(atomic_load(&tent_find(&tent, "aa")->account.bytes_max), 5000);
        tent_reopen(&tent);
    }
    wanted.plan = SLICE_LIT("silver");
    c.id = SLICE_LIT("bb");
    tent_control(&tent, do_create, &c);
    ck_assert_int_eq(c.rc, ERR_NOT_FOUND);
    GIVE(&own, reserved_ops_per_s, 100);
    GIVE(&own, read_ops_per_s, 5);
    GIVE(&own, write_ops_per_s, 6);
    wanted.plan = SLICE_LIT("gold");
    tent_control(&tent, do_create, &c);
    ck_assert_int_eq(c.rc, ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "reserved_ops_per_s"));
    ck_assert_ptr_null(tent_find(&tent, "bb"));
    ck_assert_uint_eq(look("gold").plan->tenants, 1);
}
END_TEST

START_TEST(reserved_ids_are_refused)
{
    static const char *const IDS[] = {"admin", "all",      "bigtent", "internal", "none",
                                      "ops",   "operator", "root",    "service",  "system"};
    for (size_t i = 0; i < sizeof IDS / sizeof IDS[0]; i++) {
        ck_assert_int_eq(tent_try_create(&tent, base_slice_text(IDS[i]), SLICE_EMPTY, NULL),
                         ERR_INVALID);
        ck_assert_ptr_nonnull(strstr(tent.eb.text, "reserved"));
    }
    ck_assert_int_eq(tent_try_create(&tent, SLICE_LIT("admins"), SLICE_EMPTY, NULL), ERR_OK);
}
END_TEST

START_TEST(a_change_leaves_alone_what_it_does_not_name)
{
    struct ten_tenant *t = tent_create(&tent, "aa");
    struct ten_quota q = rows_of(10);
    ck_assert_int_eq(put("gold", &q), ERR_OK);
    ck_assert_int_eq(give_plan(t, "gold"), ERR_OK);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    ck_assert_int_eq(change(t, (struct ten_tenant_wanted){.display_name = SLICE_LIT("New")}),
                     ERR_OK);
    for (int round = 0; round < 2; round++) {
        const struct ten_details *d = ten_tenant_details(tent_find(&tent, "aa"));
        ck_assert_str_eq(d->display_name, "New");
        ck_assert_str_eq(d->plan->id, "gold");
        ck_assert_uint_eq(d->quota.given, q.given);
        tent_reopen(&tent);
    }
    t = tent_find(&tent, "aa");
    ck_assert_int_eq(change(t, (struct ten_tenant_wanted){.display_name = SLICE_LIT("")}), ERR_OK);
    ck_assert_str_eq(ten_tenant_details(t)->display_name, "");
    ck_assert_int_eq(change(t, (struct ten_tenant_wanted){.display_name = SLICE_LIT("a\nb")}),
                     ERR_INVALID);
}
END_TEST

/* --- refusals --------------------------------------------------------------------------------- */

START_TEST(a_plan_that_contradicts_a_tenants_own_values_is_refused_with_its_name)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    (void)tent_create(&tent, "other");
    struct ten_quota q, own;
    ten_quota_default(&q);
    ten_quota_default(&own);
    GIVE(&q, rows, 10);
    GIVE(&own, reserved_ops_per_s, 100);
    ck_assert_int_eq(put("gold", &q), ERR_OK);
    ck_assert_int_eq(give_plan(t, "gold"), ERR_OK);
    ck_assert_int_eq(tent_set_quota(&tent, t, &own), ERR_OK);
    GIVE(&q, read_ops_per_s, 99);
    GIVE(&q, write_ops_per_s, 50);
    ck_assert_int_eq(put("gold", &q), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "\"altostrat\""));
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "reserved_ops_per_s is 100"));
    ck_assert_uint_eq(atomic_load(&t->rates.read_ops.per_second), 0);
    GIVE(&q, read_ops_per_s, 100);
    ck_assert_int_eq(put("gold", &q), ERR_OK);
    /* from the other side */
    GIVE(&own, reserved_ops_per_s, 101);
    ck_assert_int_eq(tent_set_quota(&tent, t, &own), ERR_INVALID);
    ck_assert_int_eq(give_plan(t, ""), ERR_OK);
    ck_assert_int_eq(tent_set_quota(&tent, t, &own), ERR_OK);
    ck_assert_int_eq(give_plan(t, "gold"), ERR_INVALID);
    ck_assert_ptr_null(ten_tenant_details(t)->plan);
    /* and alone */
    GIVE(&q, reserved_ops_per_s, 101);
    ck_assert_int_eq(put("gold", &q), ERR_INVALID);
    ck_assert_int_eq(put("silver", &q), ERR_INVALID);
}
END_TEST

START_TEST(a_plan_is_deleted_when_no_tenant_has_it)
{
    struct ten_quota q = rows_of(10);
    char job[TEN_JOB_ID + 1];
    struct ten_job done;
    ck_assert_int_eq(remove_plan("gold"), ERR_NOT_FOUND);
    ck_assert_int_eq(put("gold", &q), ERR_OK);
    struct ten_tenant *a = tent_create(&tent, "aa");
    struct ten_tenant *b = tent_create(&tent, "bb");
    ck_assert_int_eq(give_plan(a, "gold"), ERR_OK);
    ck_assert_int_eq(give_plan(b, "gold"), ERR_OK);
    ck_assert_int_eq(remove_plan("gold"), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "2 tenants have"));
    tent_reopen(&tent);
    ck_assert_int_eq(give_plan(tent_find(&tent, "aa"), ""), ERR_OK);
    ck_assert_int_eq(remove_plan("gold"), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "1 tenant has"));
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, "bb"), job), ERR_OK);
    tent_await_job(&tent, job, &done);
    ck_assert_int_eq(remove_plan("gold"), ERR_OK);
    ck_assert_ptr_null(look("gold").plan);
    tent_reopen(&tent);
    ck_assert_ptr_null(look("gold").plan);
    ck_assert_uint_eq(look("gold").count, 0);
    ck_assert_int_eq(put("gold", &q), ERR_OK); /* unlike a tenant's, the ID may come back */
}
END_TEST

START_TEST(plans_are_checked_at_every_edge)
{
    static char id[LIM_PLAN_ID + 1], name[LIM_DISPLAY_NAME + 2];
    struct ten_quota q = rows_of(10);
    memset(id, 'p', sizeof id);
    memset(name, 'n', LIM_DISPLAY_NAME + 1);
    ck_assert_int_eq(put_named(base_slice(id, LIM_PLAN_ID + 1), "", &q), ERR_INVALID);
    ck_assert_int_eq(put_named(base_slice(id, LIM_PLAN_ID), "", &q), ERR_OK);
    ck_assert_int_eq(put("p", &q), ERR_INVALID);
    ck_assert_int_eq(put("-p", &q), ERR_INVALID);
    ck_assert_int_eq(put("p/p", &q), ERR_INVALID);
    ck_assert_int_eq(put("pp", &q), ERR_OK);
    ck_assert_int_eq(put_named(SLICE_LIT("qq"), name, &q), ERR_INVALID);
    name[LIM_DISPLAY_NAME] = '\0';
    ck_assert_int_eq(put_named(SLICE_LIT("qq"), name, &q), ERR_OK);
    GIVE(&q, weight, 1001);
    ck_assert_int_eq(put("rr", &q), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "weight is 1001; it must be 1 to 1000"));
    tent_reopen(&tent);
    struct plan_call c = look("qq");
    ck_assert_uint_eq(c.count, 3);
    ck_assert_str_eq(c.list[0]->id, "pp");
    ck_assert_str_eq(c.list[2]->id, "qq");
    const struct ten_plan_terms *terms = ten_plan_terms(c.plan);
    ck_assert_uint_eq(strlen(terms->display_name), LIM_DISPLAY_NAME);
    ck_assert_int_gt(terms->created_us, 1600000000000000);
    int64_t created = terms->created_us;
    q = rows_of(11);
    ck_assert_int_eq(put("qq", &q), ERR_OK);
    terms = ten_plan_terms(look("qq").plan);
    ck_assert_int_eq(terms->created_us, created);
    ck_assert_int_gt(terms->changed_us, created);
    ck_assert_str_eq(terms->display_name, "");
}
END_TEST

/* --- documents -------------------------------------------------------------------------------- */

START_TEST(a_plans_document_round_trips_and_every_cut_is_refused_or_whole)
{
    struct ten_plan_terms terms = {.created_us = 5, .changed_us = 6, .display_name = "Gold"};
    struct ten_plan_terms back;
    struct buf body;
    ten_quota_default(&terms.quota);
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i += 2)
        ten_quota_give(&terms.quota, i, ten_quota_field(i).max);
    base_buf_init(&body, TEN_PLAN_DOC_MAX);
    ck_assert_int_eq(ten_plan_encode(&terms, &body), ERR_OK);
    ck_assert_int_eq(ten_plan_decode(base_buf_slice(&body), &back), ERR_OK);
    ck_assert_int_eq(memcmp(&back, &terms, sizeof terms), 0);
    size_t whole = 0;
    for (size_t len = 0; len < body.len; len++)
        whole += ten_plan_decode(base_slice(body.ptr, len), &back) == ERR_OK;
    ck_assert_uint_le(whole, 2 + TEN_QUOTA_FIELDS / 2 + 1);
    ck_assert_int_eq(ten_plan_decode(SLICE_EMPTY, &back), ERR_CORRUPT);
    ck_assert_int_eq(base_record_put_u64(&body, 60000, 1), ERR_OK);
    ck_assert_int_eq(ten_plan_decode(base_buf_slice(&body), &back), ERR_OK);
    ck_assert_int_eq(base_record_put_u64(&body, ten_quota_field(2).tag, 0), ERR_OK);
    ck_assert_int_eq(ten_plan_decode(base_buf_slice(&body), &back), ERR_CORRUPT);
    base_buf_fini(&body);
}
END_TEST

Suite *suite_tenancy_plan(void);
Suite *suite_tenancy_plan(void)
{
    Suite *s = suite_create("tenancy_plan");
    TCase *c = tcase_create("plan");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, own_fields_hold_before_the_plans_and_the_plans_before_the_standard);
    tcase_add_test(c, a_change_of_a_plan_holds_for_its_tenants_at_once_and_writes_one_document);
    tcase_add_test(c, a_tenant_is_created_with_plan_and_quota_or_not_at_all);
    tcase_add_test(c, reserved_ids_are_refused);
    tcase_add_test(c, a_change_leaves_alone_what_it_does_not_name);
    tcase_add_test(c, a_plan_that_contradicts_a_tenants_own_values_is_refused_with_its_name);
    tcase_add_test(c, a_plan_is_deleted_when_no_tenant_has_it);
    tcase_add_test(c, plans_are_checked_at_every_edge);
    suite_add_tcase(s, c);
    c = tcase_create("document");
    tcase_add_test(c, a_plans_document_round_trips_and_every_cut_is_refused_or_whole);
    suite_add_tcase(s, c);
    return s;
}

/*
 * tests/migrations/test_operations.c - backups by name, and the operations that make them.
 */
#include "tests/migrations/workshop.h"

#include "base/banned.h"

Suite *suite_migrations_operations(void);

#define ROWS  50
#define LATER 4102444800000000 /* the year 2100 */

static struct mig_tenant_backup get(const char *tenant, const char *name)
{
    struct mig_tenant_backup out;
    enum err rc =
        mig_tenant_backup_get(service, base_slice_text(tenant), base_slice_text(name), &out, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    return out;
}

static enum err try_get(const char *tenant, const char *name)
{
    struct mig_tenant_backup out;
    return mig_tenant_backup_get(service, base_slice_text(tenant), base_slice_text(name), &out,
                                 &eb);
}

static size_t count(const char *tenant)
{
    struct mig_tenant_backup out[4];
    return mig_tenant_backup_list(service, base_slice_text(tenant), out, 4);
}

static struct shop_ask create(const char *tenant, const char *name)
{
    return (struct shop_ask){SHOP_CREATE, tenant, name, "devices", NULL, LATER, "", ERR_OK};
}

static void expect_refusal(struct shop_ask a, enum err rc, const char *says)
{
    ck_assert_int_eq(shop_try(&a), rc);
    ck_assert_msg(strstr(eb.text, says) != NULL, "\"%s\" lacks \"%s\"", eb.text, says);
}

START_TEST(names_are_as_bigtables)
{
    char most[LIM_BACKUP_NAME + 2];
    memset(most, 'a', sizeof most);
    const char *good[] = {"_", "a", "9", "A-b.c_d"};
    const char *bad[] = {"", "-a", ".a", "a b", "a/b", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_int_eq(mig_backup_name_check(base_slice_text(good[i]), &eb), ERR_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(mig_backup_name_check(base_slice_text(bad[i]), &eb), ERR_INVALID);
    ck_assert_int_eq(mig_backup_name_check(base_slice(most, LIM_BACKUP_NAME), &eb), ERR_OK);
    ck_assert_int_eq(mig_backup_name_check(base_slice(most, LIM_BACKUP_NAME + 1), &eb),
                     ERR_INVALID);
    ck_assert_int_eq(mig_backup_name_check(base_slice("a\0b", 3), &eb), ERR_INVALID);
}
END_TEST

START_TEST(made_one_is_found_by_its_name)
{
    char id[MIG_BACKUP_ID + 1];
    vault_fill("altostrat", ROWS);
    shop_done(create("altostrat", "b1"), id);
    struct mig_tenant_backup b = get("altostrat", "b1");
    ck_assert_str_eq(b.id, id);
    ck_assert_str_eq(b.scope.table, "devices");
    ck_assert(b.is_ready);
    ck_assert_int_eq(b.expires_us, LATER);
    ck_assert_int_ge(b.finished_us, b.started_us);
    ck_assert_uint_gt(b.bytes, 0);
    ck_assert_int_eq(vault_verify(id), ERR_OK);
    shop_done(create("altostrat", "a0"), NULL);
    struct mig_tenant_backup out[4];
    ck_assert_uint_eq(mig_tenant_backup_list(service, SLICE_LIT("altostrat"), out, 4), 2);
    ck_assert_str_eq(out[0].scope.name, "a0");
    ck_assert_str_eq(out[1].scope.name, "b1");
    shop_done((struct shop_ask){.what = SHOP_CREATE, .tenant = "altostrat", .name = ""}, id);
    ck_assert_uint_eq(count("altostrat"), 2); /* the one without a name is found by its ID */
    ck_assert_int_eq(vault_verify(id), ERR_OK);
}
END_TEST

START_TEST(refusals_say_why)
{
    vault_fill("altostrat", ROWS);
    shop_done(create("altostrat", "b1"), NULL);
    expect_refusal(create("altostrat", "b1"), ERR_EXISTS, "a backup of this name");
    expect_refusal(create("altostrat", "-"), ERR_INVALID, "a backup's name is of 1 to 50");
    struct shop_ask a = create("altostrat", "b2");
    a.table = "nothing";
    expect_refusal(a, ERR_NOT_FOUND, "no such table");
    a = (struct shop_ask){.what = SHOP_RESTORE, .tenant = "altostrat", .name = "b1"};
    a.table = "devices";
    expect_refusal(a, ERR_EXISTS, "a table of this name");
    a.table = "no/name";
    expect_refusal(a, ERR_INVALID, "");
    a.name = "b9";
    a.table = "new";
    expect_refusal(a, ERR_NOT_FOUND, "no such backup");
    char job[TEN_JOB_ID + 1];
    ck_assert_int_eq(tent_offboard_in(&tent, tent_find(&tent, "altostrat"), 1000000000, "", job),
                     ERR_OK);
    expect_refusal(create("altostrat", "b3"), ERR_GONE, "delete_requested");
    a.name = "b1";
    expect_refusal(a, ERR_GONE, "delete_requested");
}
END_TEST

START_TEST(one_tenant_does_not_see_anothers)
{
    char id[MIG_BACKUP_ID + 1];
    struct mig_operation op;
    vault_fill("altostrat", ROWS);
    vault_fill("cirrus", ROWS);
    shop_done(create("altostrat", "b1"), id);
    ck_assert_int_eq(try_get("cirrus", "b1"), ERR_NOT_FOUND);
    ck_assert_uint_eq(count("cirrus"), 0);
    ck_assert_uint_eq(count(""), 0);
    ck_assert_int_eq(mig_operation_get(service, SLICE_LIT("cirrus"), base_slice_text(id), &op, &eb),
                     ERR_NOT_FOUND);
    ck_assert_uint_eq(mig_operation_list(service, SLICE_LIT("cirrus"), &op, 1), 0);
    ck_assert_uint_eq(mig_operation_list(service, SLICE_LIT("altostrat"), &op, 1), 1);
    ck_assert_str_eq(op.id, id);
    const enum shop_asking others[] = {SHOP_RESTORE, SHOP_COPY, SHOP_EXPIRY, SHOP_DELETE};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        expect_refusal((struct shop_ask){others[i], "cirrus", "b1", "new", NULL, 9, "", ERR_OK},
                       ERR_NOT_FOUND, "there is no such backup");
    expect_refusal((struct shop_ask){SHOP_TABLE, "cirrus", id, "devices", "new", 0, "", ERR_OK},
                   ERR_NOT_FOUND, "there is no such backup");
    expect_refusal((struct shop_ask){SHOP_ALL, "cirrus", id, "", "", 0, "", ERR_OK}, ERR_NOT_FOUND,
                   "there is no such backup");
    expect_refusal((struct shop_ask){SHOP_CANCEL, "cirrus", id, "", "", 0, "", ERR_OK},
                   ERR_NOT_FOUND, "there is no such operation");
    expect_refusal((struct shop_ask){SHOP_FORGET, "cirrus", id, "", "", 0, "", ERR_OK},
                   ERR_NOT_FOUND, "there is no such operation");
    shop_done(create("cirrus", "b1"), NULL); /* names are each tenant's own */
}
END_TEST

static bool is_backup_gone(void *arg)
{
    (void)arg;
    return try_get("altostrat", "b2") != ERR_OK;
}

START_TEST(copied_changed_and_deleted_by_name)
{
    vault_fill("altostrat", ROWS);
    shop_done(create("altostrat", "b1"), NULL);
    shop_done((struct shop_ask){SHOP_COPY, "altostrat", "b1", "b2", NULL, LATER + 1, "", ERR_OK},
              NULL);
    struct mig_tenant_backup copy = get("altostrat", "b2");
    ck_assert_str_eq(copy.scope.source, "b1");
    ck_assert_str_eq(copy.scope.table, "devices");
    ck_assert_int_eq(copy.expires_us, LATER + 1);
    struct shop_ask a = {SHOP_EXPIRY, "altostrat", "b2", NULL, NULL, 5, "", ERR_OK};
    ck_assert_int_eq(shop_try(&a), ERR_OK);
    /* It expires: the thread deletes it. */
    process_await(is_backup_gone, NULL, "the deletion of a backup that expired");
    ck_assert_int_eq(try_get("altostrat", "b2"), ERR_NOT_FOUND);
    a = (struct shop_ask){SHOP_DELETE, "altostrat", "b1", NULL, NULL, 0, "", ERR_OK};
    ck_assert_int_eq(shop_try(&a), ERR_OK);
    ck_assert_int_eq(try_get("altostrat", "b1"), ERR_NOT_FOUND);
}
END_TEST

START_TEST(operations_survive_a_restart_and_can_be_forgotten)
{
    char id[MIG_BACKUP_ID + 1];
    vault_fill("altostrat", ROWS);
    struct shop_ask a = create("altostrat", "b1");
    shop_done(a, id);
    shop_close();
    shop_open();
    struct mig_operation op = shop_await("altostrat", id);
    ck_assert_int_eq(op.state, MIG_OP_DONE);
    ck_assert_int_eq(op.kind, MIG_OP_BACKUP);
    ck_assert_str_eq(op.scope.name, "b1");
    ck_assert_str_eq(op.note, "n");
    ck_assert(get("altostrat", "b1").is_ready);
    a = (struct shop_ask){.what = SHOP_FORGET, .tenant = "altostrat", .name = id};
    ck_assert_int_eq(shop_try(&a), ERR_OK);
    expect_refusal(a, ERR_NOT_FOUND, "no such operation");
}
END_TEST

/* --- waiting -----------------------------------------------------------------------------------
 */

struct crowd {
    struct shop_ask asks[LIM_OPERATIONS_OF_TENANT + 1];
    char names[LIM_OPERATIONS_OF_TENANT + 1][16];
    struct shop_ask cancel;
    struct shop_ask again;
    struct shop_ask early;
    struct shop_ask late;
    uint64_t pending;
};

/* All at once on the control thread, which the service's thread needs to begin: none ends. */
static void ask_all(struct tent *t, void *ctx)
{
    struct crowd *c = ctx;
    for (int i = 0; i <= LIM_OPERATIONS_OF_TENANT; i++) {
        (void)snprintf(c->names[i], sizeof c->names[i], "b%d", i);
        c->asks[i] = create("altostrat", c->names[i]);
        shop_do(t, &c->asks[i]);
    }
    c->again = create("altostrat", c->names[2]);
    shop_do(t, &c->again);
    c->early = (struct shop_ask){SHOP_DELETE, "altostrat", c->names[2], "", "", 0, "", ERR_OK};
    shop_do(t, &c->early);
    c->late = create("cirrus", "b1");
    shop_do(t, &c->late);
    c->cancel = (struct shop_ask){SHOP_CANCEL, "altostrat", c->asks[3].id, "", "", 0, "", ERR_OK};
    shop_do(t, &c->cancel);
}

START_TEST(they_wait_in_order_and_leave_room_for_others)
{
    static struct crowd c;
    vault_fill("altostrat", ROWS);
    vault_fill("cirrus", ROWS);
    tent_control(&tent, ask_all, &c);
    for (int i = 0; i < LIM_OPERATIONS_OF_TENANT; i++)
        ck_assert_int_eq(c.asks[i].rc, ERR_OK);
    ck_assert_int_eq(c.asks[LIM_OPERATIONS_OF_TENANT].rc, ERR_OVERLOADED);
    ck_assert_int_eq(c.again.rc, ERR_EXISTS);
    ck_assert_int_eq(c.early.rc, ERR_CONFLICT);
    ck_assert_int_eq(c.late.rc, ERR_OK);
    ck_assert_int_eq(c.cancel.rc, ERR_OK);
    for (int i = 0; i < LIM_OPERATIONS_OF_TENANT; i++) {
        struct mig_operation op = shop_await("altostrat", c.asks[i].id);
        ck_assert_int_eq(op.state, i == 3 ? MIG_OP_CANCELLED : MIG_OP_DONE);
    }
    ck_assert_int_eq(shop_await("cirrus", c.late.id).state, MIG_OP_DONE);
    ck_assert_int_eq(try_get("altostrat", "b3"), ERR_NOT_FOUND);
}
END_TEST

START_TEST(what_waited_goes_on_after_a_restart)
{
    static struct crowd c;
    vault_fill("altostrat", ROWS);
    vault_fill("cirrus", ROWS);
    tent_control(&tent, ask_all, &c);
    shop_close();
    shop_open();
    for (int i = 0; i < LIM_OPERATIONS_OF_TENANT; i++) {
        struct mig_operation op = shop_await("altostrat", c.asks[i].id);
        ck_assert_int_eq(op.state, i == 3 ? MIG_OP_CANCELLED : MIG_OP_DONE);
    }
    ck_assert_int_eq(vault_verify(c.asks[5].id), ERR_OK);
}
END_TEST

/* --- who leaves --------------------------------------------------------------------------------
 */

static bool is_backup_removed(void *id)
{
    struct mig_backup_entry entry;
    return mig_backups_get(backups, base_slice_text(id), &entry, NULL) != ERR_OK;
}

static void purge(const char *tenant)
{
    char job_id[TEN_JOB_ID + 1];
    struct ten_job job;
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, tenant), job_id), ERR_OK);
    tent_await_job(&tent, job_id, &job);
    ck_assert_int_eq(job.state, TEN_JOB_DONE); /* and so its audit found no operation left */
}

START_TEST(backups_of_a_purged_tenant_go_and_nobody_elses)
{
    char id[MIG_BACKUP_ID + 1];
    struct mig_backup_entry entry;
    vault_fill("altostrat", ROWS);
    vault_fill("cirrus", ROWS);
    struct shop_ask a = create("altostrat", "b1");
    shop_done(a, id);
    a.tenant = "cirrus";
    shop_done(a, NULL);
    purge("altostrat");
    process_await(is_backup_removed, id, "the deletion of the backup of a purged tenant");
    ck_assert_int_eq(mig_backups_get(backups, base_slice_text(id), &entry, &eb), ERR_NOT_FOUND);
    ck_assert_int_eq(try_get("cirrus", "b1"), ERR_OK);
    struct mig_operation op;
    ck_assert_int_eq(
        mig_operation_get(service, SLICE_LIT("altostrat"), base_slice_text(id), &op, &eb),
        ERR_NOT_FOUND);
}
END_TEST

/* A scan that removes the backup of the second tenant began after the one that removed that of the
 * first had ended, and so one whole scan came across altostrat's. */
START_TEST(backups_of_a_tenant_in_its_grace_period_stay)
{
    static const char *const PURGED[] = {"cirrus", "stratus"};
    char job_id[TEN_JOB_ID + 1], id[MIG_BACKUP_ID + 1];
    vault_fill("altostrat", ROWS);
    struct shop_ask a = create("altostrat", "b1");
    shop_done(a, NULL);
    ck_assert_int_eq(
        tent_offboard_in(&tent, tent_find(&tent, "altostrat"), 3600000000UL, "", job_id), ERR_OK);
    for (size_t i = 0; i < 2; i++) {
        vault_fill(PURGED[i], ROWS);
        shop_done(create(PURGED[i], "b1"), id);
        purge(PURGED[i]);
        process_await(is_backup_removed, id, "the deletion of the backup of a purged tenant");
    }
    ck_assert_int_eq(try_get("altostrat", "b1"), ERR_OK);
}
END_TEST

/* --- documents ---------------------------------------------------------------------------------
 */

START_TEST(document_gives_back_what_was_put_in)
{
    struct buf body;
    struct mig_operation back, op = {.id = "01j0000000000000",
                                     .kind = MIG_OP_RESTORE_TABLE,
                                     .state = MIG_OP_FAILED,
                                     .scope = {"altostrat", "devices", "b1", "b0"},
                                     .backup = "01j0000000000001",
                                     .target = "new",
                                     .note = "note",
                                     .expires_us = 1,
                                     .requested_us = 2,
                                     .started_us = 3,
                                     .finished_us = 4,
                                     .rows = 5,
                                     .is_switching = true,
                                     .by_operator = true,
                                     .result = ERR_QUOTA,
                                     .error = "full"};
    base_buf_init(&body, MIG_OPERATION_DOC_MAX);
    ck_assert_int_eq(mig_operation_encode(&op, &body), ERR_OK);
    struct slice tenant = SLICE_LIT("altostrat"), id = base_slice_text(op.id);
    ck_assert_int_eq(mig_operation_decode(tenant, id, base_buf_slice(&body), &back), ERR_OK);
    ck_assert_int_eq(memcmp(&op, &back, sizeof op), 0);
    ck_assert_int_eq(mig_operation_decode(tenant, SLICE_LIT("x"), base_buf_slice(&body), &back),
                     ERR_CORRUPT);
    for (size_t len = 0; len < 4; len++) /* cut inside the kind and state */
        ck_assert_int_eq(mig_operation_decode(tenant, id, base_slice(body.ptr, len), &back),
                         ERR_CORRUPT);
    base_buf_fini(&body);
}
END_TEST

static uint64_t count_of(enum mig_op_kind kind, enum mig_op_state state)
{
    struct mig_operation_figures f;
    mig_operation_figures(service, &f);
    return f.counts[kind][state];
}

/* On the control thread, so that none ends meanwhile. */
static void ask_and_count(struct tent *t, void *ctx)
{
    struct crowd *c = ctx;
    struct mig_operation_figures f;
    ask_all(t, ctx);
    mig_operation_figures(service, &f);
    c->pending = f.counts[MIG_OP_BACKUP][MIG_OP_WAITING] + f.counts[MIG_OP_BACKUP][MIG_OP_RUNNING];
}

START_TEST(figures_count_operations_by_kind_and_state)
{
    static struct crowd c;
    struct mig_operation_figures f;
    struct ten_quota q = {.given = 0};
    vault_fill("altostrat", ROWS);
    vault_fill("cirrus", ROWS);
    tent_control(&tent, ask_and_count, &c);
    /* of altostrat but the one that was cancelled, and of cirrus */
    ck_assert_uint_eq(c.pending, LIM_OPERATIONS_OF_TENANT);
    (void)shop_await("cirrus", c.late.id);
    for (int i = 0; i < LIM_OPERATIONS_OF_TENANT; i++)
        (void)shop_await("altostrat", c.asks[i].id);
    ck_assert_uint_eq(count_of(MIG_OP_BACKUP, MIG_OP_DONE), LIM_OPERATIONS_OF_TENANT);
    ck_assert_uint_eq(count_of(MIG_OP_BACKUP, MIG_OP_CANCELLED), 1);
    GIVE(&q, rows, ROWS);
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    struct shop_ask restore = create("altostrat", "b1");
    restore.what = SHOP_RESTORE;
    restore.table = "again";
    shop_fails(restore, ERR_QUOTA);
    GIVE(&q, rows, 10 * ROWS);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    restore.table = "other";
    shop_done(restore, NULL);
    ck_assert_uint_eq(count_of(MIG_OP_RESTORE_TABLE, MIG_OP_FAILED), 1);
    ck_assert_uint_eq(count_of(MIG_OP_RESTORE_TABLE, MIG_OP_DONE), 1);
    mig_operation_figures(service, &f);
    ck_assert_uint_eq(f.running_ns, 0);
}
END_TEST

Suite *suite_migrations_operations(void)
{
    Suite *s = suite_create("migrations_operations");
    TCase *tc = tcase_create("names");
    tcase_add_test(tc, names_are_as_bigtables);
    tcase_add_test(tc, document_gives_back_what_was_put_in);
    suite_add_tcase(s, tc);
    tc = tcase_create("operations");
    tcase_add_checked_fixture(tc, shop_setup, shop_teardown);
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc, made_one_is_found_by_its_name);
    tcase_add_test(tc, refusals_say_why);
    tcase_add_test(tc, one_tenant_does_not_see_anothers);
    tcase_add_test(tc, copied_changed_and_deleted_by_name);
    tcase_add_test(tc, operations_survive_a_restart_and_can_be_forgotten);
    tcase_add_test(tc, they_wait_in_order_and_leave_room_for_others);
    tcase_add_test(tc, what_waited_goes_on_after_a_restart);
    tcase_add_test(tc, figures_count_operations_by_kind_and_state);
    tcase_add_test(tc, backups_of_a_purged_tenant_go_and_nobody_elses);
    tcase_add_test(tc, backups_of_a_tenant_in_its_grace_period_stay);
    suite_add_tcase(s, tc);
    return s;
}

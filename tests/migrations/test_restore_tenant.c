/*
 * tests/migrations/test_restore_tenant.c - all tables of a tenant back in a server that goes on,
 * together.
 *
 * Over 500 lines because each way to be stopped in the middle is tried with the same fixtures.
 */
#include "tests/migrations/restored.h"

#include "migrations/table_origin.h"
#include "tenancy/views.h"

#include "base/banned.h"

Suite *suite_migrations_restore_tenant(void);

#define ROWS 60

static char made[MIG_BACKUP_ID + 1];

/* --- a whole tenant ----------------------------------------------------------------------------
 */

START_TEST(tenant_is_put_back_as_it_was_then)
{
    vault_fill("altostrat", ROWS);
    vault_fill("cirrus", ROWS);
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    tent_table(&tent, t, "alarms");
    tent_write(&tent, t, "alarms", "a1", "then");
    struct buf devices = dump("altostrat", "devices"), alarms = dump("altostrat", "alarms");
    struct buf others = dump("cirrus", "devices");
    if (_i == 0)
        shop_done(of(SHOP_CREATE, "", "", NULL), made);
    else
        vault_backup(made);
    tent_write(&tent, t, "devices", "row00000", "changed");
    ck_assert_int_eq(tent_delete_table(&tent, t, "alarms", NULL), ERR_OK);
    tent_table(&tent, t, "newer");
    tent_write(&tent, t, "newer", "n1", "later");
    tent_write(&tent, tent_find(&tent, "cirrus"), "devices", "zz", "stays");
    shop_done(of(SHOP_ALL, made, "", NULL), NULL);
    assert_same(&devices, "altostrat", "devices");
    assert_same(&alarms, "altostrat", "alarms");
    ck_assert(!has_table("altostrat", "newer"));
    ck_assert_uint_eq(vault_rows("cirrus"), ROWS + 1);
    base_buf_fini(&devices);
    base_buf_fini(&alarms);
    base_buf_fini(&others);
}
END_TEST

START_TEST(protected_table_keeps_the_tenant_as_it_is)
{
    const struct sto_family_spec family = {.name = SLICE_LIT("f")};
    const struct ten_table_wanted wanted = {
        .families = &family, .family_count = 1, .has_protected = true, .protected = true};
    vault_fill("altostrat", ROWS);
    shop_done(of(SHOP_CREATE, "", "", NULL), made);
    ck_assert_int_eq(tent_put_table(&tent, tent_find(&tent, "altostrat"), "devices", &wanted),
                     ERR_OK);
    struct mig_operation op = shop_fails(of(SHOP_ALL, made, "", NULL), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(op.error, "deletion protection of the table devices"));
    ck_assert_uint_eq(vault_rows("altostrat"), ROWS);
}
END_TEST

START_TEST(damage_is_found_before_anything_is_deleted)
{
    char path[700];
    vault_fill("altostrat", 20 * ROWS);
    shop_done(of(SHOP_CREATE, "", "", NULL), made);
    struct mig_backup backup = vault_read(made);
    (void)snprintf(path, sizeof path, "%s/files/%s", vault_dir,
                   backup.files[backup.file_count - 1].content.sha256);
    vault_flip(path);
    shop_fails(of(SHOP_ALL, made, "", NULL), ERR_CORRUPT);
    ck_assert_uint_eq(vault_rows("altostrat"), 20 * ROWS);
    mig_backup_fini(&backup);
}
END_TEST

START_TEST(who_is_gone_is_not_restored)
{
    char job_id[TEN_JOB_ID + 1];
    struct ten_job job;
    vault_fill("altostrat", ROWS);
    vault_backup(made);
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, "altostrat"), job_id), ERR_OK);
    tent_await_job(&tent, job_id, &job);
    ck_assert_int_eq(job.state, TEN_JOB_DONE);
    struct shop_ask all = of(SHOP_ALL, made, "", NULL);
    struct shop_ask table = of(SHOP_TABLE, made, "devices", "again");
    ck_assert_int_eq(shop_try(&all), ERR_GONE);
    ck_assert_ptr_nonnull(strstr(eb.text, "the tenant is purged"));
    ck_assert_int_eq(shop_try(&table), ERR_GONE);
}
END_TEST

/* --- settings ----------------------------------------------------------------------------------
 */

static const struct slice prefix = SLICE_LIT("row");
static const struct sto_view_spec rows_only = {
    .row_prefixes = &prefix, .row_prefix_count = 1, .protected = true};

static void make_view(struct tent *t, void *ctx)
{
    struct sto_view *view = NULL;
    *(enum err *)ctx = ten_view_create(t->registry, tent_find(t, "altostrat"), SLICE_LIT("devices"),
                                       SLICE_LIT("rows"), &rows_only, &view, &t->eb);
    sto_view_unref(view);
}

static void drop_protection(struct tent *t, void *ctx)
{
    struct sto_view *view = NULL;
    const struct ten_view_change change = {.has_protected = true, .protected = false};
    *(enum err *)ctx = ten_view_update(t->registry, tent_find(t, "altostrat"), SLICE_LIT("devices"),
                                       SLICE_LIT("rows"), &change, &view, &t->eb);
    sto_view_unref(view);
}

static const struct sto_schema *devices(void)
{
    const struct ten_tables *tables = ten_tenant_tables(tent_find(&tent, "altostrat"));
    ck_assert_uint_ge(tables->count, 1);
    ck_assert_str_eq(tables->schemas[tables->count - 1]->table->id, "devices");
    return tables->schemas[tables->count - 1];
}

static void put_settings(bool protected, uint64_t retention_s)
{
    const struct sto_family_spec family = {.name = SLICE_LIT("f")};
    const struct ten_table_wanted wanted = {.families = &family,
                                            .family_count = 1,
                                            .has_protected = true,
                                            .protected = protected,
                                            .has_row_key_notes = true,
                                            .row_key_notes = SLICE_LIT("rowNNNNN"),
                                            .has_change_retention = true,
                                            .change_retention_s = retention_s};
    ck_assert_int_eq(tent_put_table(&tent, tent_find(&tent, "altostrat"), "devices", &wanted),
                     ERR_OK);
}

static void fill_with_settings(void)
{
    enum err rc = ERR_OK;
    vault_fill("altostrat", ROWS);
    put_settings(true, LIM_CHANGES_KEPT_MIN_S);
    tent_control(&tent, make_view, &rc);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
}

static void release_settings(void)
{
    enum err rc = ERR_OK;
    put_settings(false, 0);
    tent_control(&tent, drop_protection, &rc);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
}

static void assert_settings(int64_t after_us)
{
    const struct sto_schema *s = devices();
    struct sto_view *view = NULL;
    ck_assert(s->protected);
    ck_assert_uint_eq(s->change_retention_s, LIM_CHANGES_KEPT_MIN_S);
    ck_assert(base_slice_is(s->row_key_notes, "rowNNNNN"));
    /* tokens name the beginning of their stream: those of before are not of this one */
    ck_assert_int_gt(s->change_since_us, after_us);
    ck_assert_int_eq(atomic_load(&s->table->changes.since_us), s->change_since_us);
    ck_assert_int_eq(ten_view_find(s, SLICE_LIT("rows"), &view, &tent.eb), ERR_OK);
    ck_assert(view->spec.protected);
    ck_assert_uint_eq(view->spec.row_prefix_count, 1);
    sto_view_unref(view);
}

START_TEST(settings_and_views_come_back_with_the_tenant)
{
    fill_with_settings();
    int64_t since_us = devices()->change_since_us;
    if (_i == 0)
        shop_done(of(SHOP_CREATE, "", "", NULL), made);
    else
        vault_backup(made);
    release_settings();
    shop_done(of(SHOP_ALL, made, "", NULL), NULL);
    assert_settings(since_us);
    ck_assert_int_eq(atomic_load(&devices()->table->changes.last_us), 0); /* filling is no change */
    ck_assert_int_eq(vault_verify(made), ERR_OK);
    shop_close();
    shop_open();
    assert_settings(since_us);
    ck_assert_uint_eq(vault_rows("altostrat"), ROWS);
}
END_TEST

START_TEST(table_under_a_new_name_has_neither_protection_nor_stream)
{
    fill_with_settings();
    shop_done(of(SHOP_CREATE, "", "", NULL), made);
    shop_done(of(SHOP_TABLE, made, "devices", "again"), NULL);
    const struct ten_tables *tables = ten_tenant_tables(tent_find(&tent, "altostrat"));
    ck_assert_str_eq(tables->schemas[0]->table->id, "again");
    ck_assert(!tables->schemas[0]->protected);
    ck_assert_uint_eq(tables->schemas[0]->change_retention_s, 0);
    ck_assert_ptr_null(ten_views_of(tables->schemas[0]));
}
END_TEST

static void assert_origin(const char *table, const char *backup, const char *of_table)
{
    struct sto_table_scope scope;
    struct mig_tenant_backup from;
    ck_assert_int_eq(
        ten_scope_table(tent_find(&tent, "altostrat"), base_slice_text(table), &scope, &tent.eb),
        ERR_OK);
    ck_assert_int_eq(mig_table_origin_decode(scope.schema->origin, &from), ERR_OK);
    ck_assert_str_eq(from.scope.name, backup);
    ck_assert_str_eq(from.scope.table, of_table);
    ck_assert_int_gt(from.started_us, 0);
    ck_assert_int_ge(from.finished_us, from.started_us);
    sto_table_scope_release(&scope);
}

START_TEST(tables_know_for_good_what_they_were_restored_from)
{
    fill_with_settings();
    shop_done(of(SHOP_CREATE, "b1", "devices", NULL), made);
    shop_done(of(SHOP_RESTORE, "b1", "again", NULL), NULL);
    assert_origin("again", "b1", "devices");
    ck_assert_uint_eq(devices()->origin.len, 0);
    vault_backup(made);
    shop_done(of(SHOP_TABLE, made, "devices", "boxes"), NULL);
    assert_origin("boxes", "", "devices"); /* one of everything has no name */
    release_settings();
    shop_done(of(SHOP_ALL, made, "", NULL), NULL); /* as they were then */
    ck_assert(!has_table("altostrat", "boxes"));
    assert_origin("again", "b1", "devices");
    ck_assert_uint_eq(devices()->origin.len, 0);
    const struct sto_family_spec families[] = {{.name = SLICE_LIT("f")}, {.name = SLICE_LIT("g")}};
    const struct ten_table_wanted wanted = {.families = families, .family_count = 2};
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    ck_assert_int_eq(tent_put_table(&tent, t, "again", &wanted), ERR_OK);
    shop_close();
    shop_open();
    assert_origin("again", "b1", "devices");
}
END_TEST

/* An older program would leave views out without a word. */
START_TEST(list_with_views_is_of_a_later_format)
{
    char path[700];
    struct buf text = {0};
    fill_with_settings();
    shop_done(of(SHOP_CREATE, "", "", NULL), made);
    (void)snprintf(path, sizeof path, "%s/backups/%s.json", vault_dir, made);
    ck_assert_int_eq(base_file_read(path, MIB, &text, &eb), ERR_OK);
    ck_assert_ptr_nonnull(memmem(text.ptr, text.len, "\"format\":3", 10));
    base_buf_fini(&text);
    shop_done(of(SHOP_CREATE, "one", "devices", NULL), made);
    (void)snprintf(path, sizeof path, "%s/backups/%s.json", vault_dir, made);
    ck_assert_int_eq(base_file_read(path, MIB, &text, &eb), ERR_OK);
    ck_assert_ptr_nonnull(memmem(text.ptr, text.len, "\"format\":2", 10));
    base_buf_fini(&text);
}
END_TEST

START_TEST(protected_view_keeps_the_tenant_as_it_is)
{
    fill_with_settings();
    put_settings(false, 0);
    shop_done(of(SHOP_CREATE, "", "", NULL), made);
    struct mig_operation op = shop_fails(of(SHOP_ALL, made, "", NULL), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(op.error, "authorized view"));
    ck_assert_uint_eq(vault_rows("altostrat"), ROWS);
}
END_TEST

/* --- what does not fit -------------------------------------------------------------------------
 */

START_TEST(quota_is_looked_at_before_anything_is_deleted)
{
    struct ten_quota q = {.given = 0};
    struct ten_tenant *t;
    vault_fill("altostrat", ROWS);
    t = tent_find(&tent, "altostrat");
    tent_table(&tent, t, "second");
    shop_done(of(SHOP_CREATE, "", "", NULL), made);
    uint64_t bytes = sto_counters_read(&t->account.total).bytes;
    if (_i == 0)
        GIVE(&q, rows, ROWS - 1);
    else if (_i == 1)
        GIVE(&q, stored_bytes, bytes - 1);
    else
        GIVE_LIMIT(&q, STO_LIMIT_TABLES, 1);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    struct mig_operation op = shop_fails(of(SHOP_ALL, made, "", NULL), ERR_QUOTA);
    ck_assert_ptr_nonnull(strstr(op.error, "quota: the backup holds"));
    ck_assert_uint_eq(vault_rows("altostrat"), ROWS);
    ck_assert(has_table("altostrat", "second"));
    if (_i == 0)
        GIVE(&q, rows, ROWS);
    else if (_i == 1)
        GIVE(&q, stored_bytes, bytes);
    else
        GIVE_LIMIT(&q, STO_LIMIT_TABLES, 2);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    shop_done(of(SHOP_ALL, made, "", NULL), NULL); /* exactly fits */
}
END_TEST

/* --- killed ------------------------------------------------------------------------------------
 */

static void await_last(void)
{
    struct mig_operation op;
    ck_assert_uint_eq(mig_operation_list(service, SLICE_LIT("altostrat"), &op, 1), 1);
    op = shop_await("altostrat", op.id);
    ck_assert_msg(op.state == MIG_OP_DONE, "%s", op.error);
    ck_assert(!op.is_switching);
}

static const int POINTS[] = {MIG_POINT_TABLES_HIDDEN, MIG_POINT_TABLE_BEGUN, MIG_POINT_TABLE_FILLED,
                             MIG_POINT_TABLES_FILLED, MIG_POINT_TABLE_PUBLISHED};
#define POINTS_COUNT (int)(sizeof POINTS / sizeof POINTS[0])

START_TEST(killed_anywhere_it_ends_with_all_tables_of_the_backup)
{
    fill_with_settings();
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    tent_table(&tent, t, "alarms");
    tent_write(&tent, t, "alarms", "a1", "then");
    int64_t since_us = devices()->change_since_us;
    struct buf rows = dump("altostrat", "devices"), alarms = dump("altostrat", "alarms");
    shop_done(of(SHOP_CREATE, "", "", NULL), made);
    release_settings();
    tent_write(&tent, t, "devices", "row00000", "changed");
    tent_table(&tent, t, "newer");
    shop_close();
    die_at(POINTS[_i], of(SHOP_ALL, made, "", NULL));
    if (POINTS[_i] != MIG_POINT_TABLE_PUBLISHED) /* and once more on the way */
        die_at(MIG_POINT_TABLE_FILLED, of(SHOP_FORGET, made, "", NULL));
    shop_open();
    await_last();
    assert_same(&rows, "altostrat", "devices");
    assert_same(&alarms, "altostrat", "alarms");
    ck_assert(!has_table("altostrat", "newer"));
    assert_settings(since_us);
    tent_table(&tent, tent_find(&tent, "altostrat"), "newest"); /* nothing is held any more */
    base_buf_fini(&rows);
    base_buf_fini(&alarms);
}
END_TEST

static void try_table(struct tent *t, void *ctx)
{
    const struct sto_family_spec family = {.name = SLICE_LIT("f")};
    const struct ten_table_wanted wanted = {.families = &family, .family_count = 1};
    bool created;
    *(enum err *)ctx = ten_table_put(t->registry, tent_find(t, "altostrat"), SLICE_LIT("mine"),
                                     &wanted, &created, &t->eb);
}

START_TEST(while_tables_are_replaced_nobody_comes_in_between)
{
    struct sto_table_scope scope;
    struct mig_operation op;
    enum err rc = ERR_OK;
    vault_fill("altostrat", 40 * ROWS);
    shop_done(of(SHOP_CREATE, "", "", NULL), made);
    shop_close();
    die_at(MIG_POINT_TABLES_HIDDEN, of(SHOP_ALL, made, "", NULL));
    shop_open();
    ck_assert_int_eq(
        ten_scope_table(tent_find(&tent, "altostrat"), SLICE_LIT("devices"), &scope, &tent.eb),
        ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "being restored from a backup"));
    tent_control(&tent, try_table, &rc);
    ck_assert_int_eq(rc, ERR_UNAVAILABLE);
    ck_assert_uint_eq(mig_operation_list(service, SLICE_LIT("altostrat"), &op, 1), 1);
    ck_assert(op.is_switching);
    struct shop_ask cancel = of(SHOP_CANCEL, op.id, "", NULL);
    ck_assert_int_eq(shop_try(&cancel), ERR_CONFLICT);
    await_last();
    ck_assert_uint_eq(vault_rows("altostrat"), 40 * ROWS);
}
END_TEST

#define GRACE_US 3600000000ULL

/* --- something is in the way behind the deletion -----------------------------------------------
 */

static bool is_put_off(void *arg)
{
    struct mig_operation *op = arg;
    ck_assert_uint_eq(mig_operation_list(service, SLICE_LIT("altostrat"), op, 1), 1);
    return op->state == MIG_OP_WAITING && op->error[0] != '\0';
}

/* One that was killed behind the deletion, of a tenant that is suspended now, or in its grace
 * period; once it was tried. */
static struct mig_operation put_off(bool leaves)
{
    char job[TEN_JOB_ID + 1];
    struct mig_operation op;
    vault_fill("altostrat", ROWS);
    vault_fill("altostrat2", ROWS);
    shop_done(of(SHOP_CREATE, "", "", NULL), made);
    shop_close();
    die_at(MIG_POINT_TABLES_HIDDEN, of(SHOP_ALL, made, "", NULL));
    vault_open();
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    ck_assert_int_eq(leaves ? tent_offboard_in(&tent, t, GRACE_US, "unpaid", job)
                            : tent_suspend(&tent, t, "unpaid"),
                     ERR_OK);
    shop_open_service();
    process_await(is_put_off, &op, "an operation that is put off");
    ck_assert_ptr_nonnull(strstr(op.error, "no tables until it is done"));
    ck_assert_ptr_nonnull(strstr(op.error, leaves ? "deletion was requested" : "unpaid"));
    ck_assert(op.is_switching);
    return op;
}

START_TEST(what_is_in_the_way_delays_it_and_nobody_else)
{
    struct sto_table_scope scope;
    struct shop_ask other = of(SHOP_CREATE, "theirs", "devices", NULL);
    bool leaves = _i == 2;
    struct mig_operation op = put_off(leaves);
    if (_i == 1) { /* and the server is stopped meanwhile */
        shop_close();
        shop_open();
    }
    other.tenant = "altostrat2";
    shop_done(other, NULL);
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    ck_assert_int_eq(leaves ? tent_undelete(&tent, t) : tent_resume(&tent, t), ERR_OK);
    op = shop_await("altostrat", op.id);
    ck_assert_msg(op.state == MIG_OP_DONE, "%s", op.error);
    ck_assert_str_eq(op.error, "");
    ck_assert_uint_eq(vault_rows("altostrat"), ROWS);
    ck_assert_int_eq(ten_scope_table(t, SLICE_LIT("devices"), &scope, &tent.eb), ERR_OK);
    sto_table_scope_release(&scope);
}
END_TEST

/* While it is tried, it is not cancelled. */
static bool is_decided(void *cancel)
{
    return shop_try(cancel) != ERR_CONFLICT;
}

START_TEST(while_it_waits_it_may_be_given_up)
{
    struct mig_operation op = put_off(false);
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    struct shop_ask cancel = of(SHOP_CANCEL, op.id, "", NULL);
    process_await(is_decided, &cancel, "a moment in which it is not tried");
    ck_assert_int_eq(cancel.rc, ERR_OK);
    op = shop_await("altostrat", op.id);
    ck_assert_int_eq(op.state, MIG_OP_CANCELLED);
    ck_assert_ptr_nonnull(strstr(op.error, "has no tables now"));
    ck_assert_int_eq(tent_resume(&tent, t), ERR_OK);
    tent_table(&tent, t, "mine");
    shop_done(of(SHOP_ALL, made, "", NULL), NULL); /* the backup is there */
    ck_assert_uint_eq(vault_rows("altostrat"), ROWS);
}
END_TEST

/* Its files are damaged, or gone, behind the deletion. */
START_TEST(backup_that_got_lost_leaves_an_operation_that_says_so)
{
    char path[700];
    struct mig_operation op;
    vault_fill("altostrat", ROWS);
    shop_done(of(SHOP_CREATE, "", "", NULL), made);
    shop_close();
    die_at(MIG_POINT_TABLES_HIDDEN, of(SHOP_ALL, made, "", NULL));
    (void)snprintf(path, sizeof path, "%s/backups/%s.json", vault_dir, made);
    ck_assert_int_eq(unlink(path), 0);
    shop_open();
    ck_assert_uint_eq(mig_operation_list(service, SLICE_LIT("altostrat"), &op, 1), 1);
    op = shop_await("altostrat", op.id);
    ck_assert_int_eq(op.result, ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(op.error, "the tenant has no tables now"));
    struct sto_table_scope scope;
    ck_assert_int_eq(
        ten_scope_table(tent_find(&tent, "altostrat"), SLICE_LIT("devices"), &scope, &tent.eb),
        ERR_NOT_FOUND);
}
END_TEST

Suite *suite_migrations_restore_tenant(void)
{
    Suite *s = suite_create("migrations_restore_tenant");
    TCase *tc = tcase_create("tenant");
    tcase_add_checked_fixture(tc, shop_setup, shop_teardown);
    tcase_set_timeout(tc, 600);
    tcase_add_loop_test(tc, tenant_is_put_back_as_it_was_then, 0, 2);
    tcase_add_test(tc, protected_table_keeps_the_tenant_as_it_is);
    tcase_add_test(tc, damage_is_found_before_anything_is_deleted);
    tcase_add_test(tc, who_is_gone_is_not_restored);
    tcase_add_loop_test(tc, quota_is_looked_at_before_anything_is_deleted, 0, 3);
    suite_add_tcase(s, tc);
    tc = tcase_create("settings");
    tcase_add_checked_fixture(tc, shop_setup, shop_teardown);
    tcase_set_timeout(tc, 600);
    tcase_add_loop_test(tc, settings_and_views_come_back_with_the_tenant, 0, 2);
    tcase_add_test(tc, table_under_a_new_name_has_neither_protection_nor_stream);
    tcase_add_test(tc, tables_know_for_good_what_they_were_restored_from);
    tcase_add_test(tc, list_with_views_is_of_a_later_format);
    tcase_add_test(tc, protected_view_keeps_the_tenant_as_it_is);
    suite_add_tcase(s, tc);
    tc = tcase_create("killed");
    tcase_add_checked_fixture(tc, shop_setup, shop_teardown);
    tcase_set_timeout(tc, 600);
    tcase_add_loop_test(tc, killed_anywhere_it_ends_with_all_tables_of_the_backup, 0, POINTS_COUNT);
    tcase_add_test(tc, while_tables_are_replaced_nobody_comes_in_between);
    tcase_add_loop_test(tc, what_is_in_the_way_delays_it_and_nobody_else, 0, 3);
    tcase_add_test(tc, while_it_waits_it_may_be_given_up);
    tcase_add_test(tc, backup_that_got_lost_leaves_an_operation_that_says_so);
    suite_add_tcase(s, tc);
    return s;
}

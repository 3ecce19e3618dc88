/*
 * tests/migrations/test_restore_table.c - a table, back in a server that goes on.
 */
#include "tests/migrations/restored.h"

#include "storage/aggregate.h"
#include "tenancy/keystore.h"

#include "base/banned.h"

Suite *suite_migrations_restore_table(void);

#define ROWS 60

static char made[MIG_BACKUP_ID + 1];

/* A table of three families, one of them a sum, with cells of several versions and odd names. */
static void mutate(const char *table, const char *row, struct sto_mutation *m, size_t n)
{
    bool done = false;
    struct sto_table_scope scope;
    ck_assert_int_eq(
        ten_scope_table(tent_find(&tent, "altostrat"), base_slice_text(table), &scope, &tent.eb),
        ERR_OK);
    struct sto_mutate_op op = {.reply_to = &tent.mail,
                               .done = tent_mutate_done,
                               .user = &done,
                               .scope = scope,
                               .row_key = base_slice(row, 5),
                               .mutations = m,
                               .mutation_count = n};
    sto_mutate_row(tent.engine, &op);
    tent_wait_flag(&tent, &done);
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    sto_table_scope_release(&scope);
}

static void fill_rich(void)
{
    const struct sto_gc_node rule = {.kind = STO_GC_MAX_VERSIONS, .max_versions = 3};
    const struct sto_family_spec families[] = {
        {.name = SLICE_LIT("a"),
         .value_type = STO_VALUE_STRING,
         .gc_nodes = &rule,
         .gc_node_count = 1},
        {.name = SLICE_LIT("gone")},
        {.name = SLICE_LIT("sums"), .aggregate = STO_AGGREGATE_SUM}};
    const struct slice dropped = SLICE_LIT("gone");
    const struct ten_families_change drop = {.drop = &dropped, .drop_count = 1};
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    ck_assert_int_eq(tent_try_table(&tent, t, "rich", families, 3, NULL), ERR_OK);
    static char large[100000];
    memset(large, 'x', sizeof large);
    for (int i = 0; i < ROWS; i++) {
        char row[8] = "r\0000\n"; /* a NUL and a line feed: escaped in stored keys */
        row[2] = (char)('0' + i / 10);
        row[3] = (char)('0' + i % 10);
        uint8_t one[8] = {0, 0, 0, 0, 0, 0, 0, (uint8_t)i};
        struct sto_mutation m[5];
        for (int v = 0; v < 4; v++)
            m[v] = (struct sto_mutation){.kind = STO_SET_CELL,
                                         .family = v == 3 ? 2 : 1,
                                         .qualifier = v == 2 ? SLICE_LIT("q\0\1") : SLICE_EMPTY,
                                         .timestamp_us = (v + 1) * 1000,
                                         .value = base_slice(large, (size_t)(i * v * 7))};
        m[4] = (struct sto_mutation){.kind = STO_ADD_TO_CELL,
                                     .family = 3,
                                     .qualifier = SLICE_LIT("n"),
                                     .timestamp_us = 5000,
                                     .value = base_slice(one, sizeof one)};
        mutate("rich", row, m, 5);
        mutate("rich", row, m + 4, 1);
    }
    ck_assert_int_eq(tent_change_families(&tent, t, "rich", &drop), ERR_OK);
}

START_TEST(restored_table_is_the_table_of_then)
{
    fill_rich();
    struct buf before = dump("altostrat", "rich");
    shop_done(of(SHOP_CREATE, "b1", "rich", NULL), made);
    ck_assert_int_eq(tent_delete_table(&tent, tent_find(&tent, "altostrat"), "rich", NULL), ERR_OK);
    struct shop_ask a = of(SHOP_RESTORE, "b1", "again", NULL);
    ck_assert_int_eq(shop_try(&a), ERR_OK);
    struct mig_operation op = shop_await("altostrat", a.id);
    ck_assert_msg(op.state == MIG_OP_DONE, "%s", op.error);
    ck_assert_uint_eq(op.rows, ROWS);
    assert_same(&before, "altostrat", "again");
    shop_done(of(SHOP_RESTORE, "b1", "rich", NULL), NULL); /* under its own name as well */
    assert_same(&before, "altostrat", "rich");
    const struct ten_tables *tables = ten_tenant_tables(tent_find(&tent, "altostrat"));
    ck_assert_uint_eq(tables->count, 2);
    ck_assert_uint_eq(tables->schemas[0]->family_count, 2);
    ck_assert_uint_eq(tables->schemas[0]->families[0].gc.node_count, 1);
    ck_assert_int_eq(tables->schemas[0]->families[0].value_type, STO_VALUE_STRING);
    shop_close();
    shop_open();
    assert_same(&before, "altostrat", "again");
    base_buf_fini(&before);
}
END_TEST

START_TEST(table_comes_out_of_a_backup_of_everything_too)
{
    fill_rich();
    vault_fill("cirrus", ROWS);
    struct buf before = dump("altostrat", "rich");
    vault_backup(made);
    tent_write_cells(&tent, tent_find(&tent, "altostrat"), "rich", "later", 5);
    shop_done(of(SHOP_TABLE, made, "rich", "then"), NULL);
    assert_same(&before, "altostrat", "then");
    shop_fails(of(SHOP_TABLE, made, "devices", "theirs"), ERR_NOT_FOUND); /* cirrus' */
    ck_assert(!has_table("altostrat", "theirs"));
    ck_assert_int_eq(vault_verify(made), ERR_OK); /* reading changed nothing */
    base_buf_fini(&before);
}
END_TEST

START_TEST(row_of_many_cells_and_large_ones_is_whole)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    tent_table(&tent, t, "devices");
    tent_write_cells(&tent, t, "devices", "wide", 5000);
    static char large[3 * MIB];
    memset(large, 'L', sizeof large);
    for (int i = 0; i < 3; i++) {
        char row[16];
        (void)snprintf(row, sizeof row, "L%d", i);
        ck_assert_int_eq(tent_try_write(&tent, t, "devices", row, base_slice(large, sizeof large)),
                         ERR_OK);
    }
    struct buf before = dump("altostrat", "devices");
    shop_done(of(SHOP_CREATE, "b1", "devices", NULL), NULL);
    shop_done(of(SHOP_RESTORE, "b1", "again", NULL), NULL);
    assert_same(&before, "altostrat", "again");
    base_buf_fini(&before);
}
END_TEST

START_TEST(empty_table_is_restored)
{
    tent_table(&tent, tent_create(&tent, "altostrat"), "devices");
    shop_done(of(SHOP_CREATE, "b1", "devices", NULL), NULL);
    shop_done(of(SHOP_RESTORE, "b1", "again", NULL), NULL);
    ck_assert(has_table("altostrat", "again"));
}
END_TEST

static bool rows_are_as_before(void *t)
{
    return sto_counters_read(&((struct ten_tenant *)t)->account.total).rows == ROWS;
}

/* The name is free some time after its rows are gone: until then a restore fails. */
static bool is_restored(void *ask)
{
    struct shop_ask *a = ask;
    enum err rc = shop_try(a);
    ck_assert_msg(rc == ERR_OK || rc == ERR_EXISTS, "%s", eb.text);
    if (rc == ERR_EXISTS)
        return false;
    struct mig_operation op = shop_await(a->tenant, a->id);
    ck_assert_msg(op.state == MIG_OP_DONE || op.result == ERR_EXISTS, "%s", op.error);
    return op.state == MIG_OP_DONE;
}

START_TEST(quota_that_is_too_small_ends_it_and_nothing_is_left)
{
    struct ten_quota q = {.given = 0};
    vault_fill("altostrat", ROWS);
    shop_done(of(SHOP_CREATE, "b1", "devices", NULL), NULL);
    GIVE(&q, rows, ROWS + ROWS / 2);
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    struct mig_operation op = shop_fails(of(SHOP_RESTORE, "b1", "again", NULL), ERR_QUOTA);
    ck_assert_ptr_nonnull(strstr(op.error, "quota"));
    ck_assert(!has_table("altostrat", "again"));
    process_await(rows_are_as_before, t, "the removal of its rows"); /* after the failure */
    ck_assert_uint_eq(tent_recount(&tent, t).rows, ROWS);
    GIVE(&q, rows, 10 * ROWS);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    struct shop_ask again = of(SHOP_RESTORE, "b1", "again", NULL);
    process_await(is_restored, &again, "the name to be free");
}
END_TEST

START_TEST(damaged_backup_restores_nothing)
{
    char path[700];
    vault_fill("altostrat", 20 * ROWS);
    shop_done(of(SHOP_CREATE, "b1", "devices", NULL), made);
    struct mig_backup backup = vault_read(made);
    ck_assert_uint_gt(backup.file_count, 3);
    (void)snprintf(path, sizeof path, "%s/files/%s", vault_dir,
                   backup.files[backup.file_count - 1].content.sha256);
    vault_flip(path);
    shop_fails(of(SHOP_RESTORE, "b1", "again", NULL), ERR_CORRUPT);
    ck_assert(!has_table("altostrat", "again"));
    mig_backup_fini(&backup);
}
END_TEST

/* Hashes and parts are another tenant's: made by somebody who can write the directory. */
START_TEST(part_of_another_tenant_is_not_restored)
{
    char theirs[MIG_BACKUP_ID + 1], path[700];
    struct buf text;
    vault_fill("altostrat", ROWS);
    vault_fill("cirrus", ROWS);
    shop_done(of(SHOP_CREATE, "b1", "devices", NULL), made);
    struct shop_ask a = of(SHOP_CREATE, "b1", "devices", NULL);
    a.tenant = "cirrus";
    shop_done(a, theirs);
    struct mig_backup ours = vault_read(made), other = vault_read(theirs);
    ours.files[1] = other.files[1];
    base_buf_init(&text, MIB);
    ck_assert_int_eq(mig_backup_encode(&ours, &text, &eb), ERR_OK);
    (void)snprintf(path, sizeof path, "%s/backups/%s.json", vault_dir, made);
    ck_assert_int_eq(base_file_replace(path, base_buf_slice(&text), 0600, &eb), ERR_OK);
    base_buf_fini(&text);
    shop_fails(of(SHOP_RESTORE, "b1", "again", NULL), ERR_CORRUPT);
    ck_assert(!has_table("altostrat", "again"));
    mig_backup_fini(&ours);
    mig_backup_fini(&other);
}
END_TEST

/* --- encrypted ---------------------------------------------------------------------------------
 */

static void create_encrypted(struct tent *t, void *ctx)
{
    struct ten_tenant *tenant = NULL;
    const struct ten_tenant_wanted wanted = {.encrypted = true};
    *(enum err *)ctx =
        ten_tenant_create(t->registry, SLICE_LIT("altostrat"), &wanted, &tenant, &t->eb);
}

START_TEST(sealed_values_stay_sealed_and_come_back)
{
    enum err rc = ERR_OK;
    char path[700];
    uint8_t master[TEN_MASTER_KEY];
    memset(master, 7, sizeof master);
    shop_close();
    (void)snprintf(path, sizeof path, "%s/keystore", tent.dir);
    ck_assert_int_eq(ten_keystore_open(path, master, &tent.keystore, &eb), ERR_OK);
    shop_open();
    tent_control(&tent, create_encrypted, &rc);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    tent_table(&tent, t, "devices");
    tent_write(&tent, t, "devices", "row", "a very secret value");
    struct buf before = dump("altostrat", "devices");
    shop_done(of(SHOP_CREATE, "b1", "devices", NULL), made);
    struct mig_backup backup = vault_read(made);
    for (size_t i = 0; i < backup.file_count; i++) {
        struct buf bytes = {0};
        (void)snprintf(path, sizeof path, "%s/files/%s", vault_dir, backup.files[i].content.sha256);
        ck_assert_int_eq(base_file_read(path, MIB, &bytes, &eb), ERR_OK);
        ck_assert_ptr_null(memmem(bytes.ptr, bytes.len, "secret", 6));
        base_buf_fini(&bytes);
    }
    shop_done(of(SHOP_RESTORE, "b1", "again", NULL), NULL);
    assert_same(&before, "altostrat", "again");
    base_buf_fini(&before);
    mig_backup_fini(&backup);
}
END_TEST

/* --- killed in the middle ----------------------------------------------------------------------
 */

START_TEST(killed_anywhere_the_table_is_whole_or_gone)
{
    struct mig_operation op;
    vault_fill("altostrat", ROWS);
    struct buf before = dump("altostrat", "devices");
    shop_done(of(SHOP_CREATE, "b1", "devices", NULL), NULL);
    shop_close();
    die_at(_i, of(SHOP_RESTORE, "b1", "again", NULL));
    shop_open();
    ck_assert_uint_eq(mig_operation_list(service, SLICE_LIT("altostrat"), &op, 1), 1);
    if (_i == MIG_POINT_TABLE_PUBLISHED) {
        ck_assert_int_eq(op.state, MIG_OP_DONE);
        assert_same(&before, "altostrat", "again");
    } else {
        ck_assert_int_eq(op.state, MIG_OP_FAILED);
        ck_assert_int_eq(op.result, ERR_CANCELLED);
        ck_assert_ptr_nonnull(strstr(op.error, "the server stopped while it ran"));
        ck_assert(!has_table("altostrat", "again"));
        struct ten_tenant *t = tent_find(&tent, "altostrat");
        process_await(rows_are_as_before, t, "the removal of its rows");
        ck_assert_uint_eq(tent_recount(&tent, t).rows, ROWS);
        struct shop_ask again = of(SHOP_RESTORE, "b1", "again", NULL);
        process_await(is_restored, &again, "the name to be free");
        assert_same(&before, "altostrat", "again");
    }
    base_buf_fini(&before);
}
END_TEST

Suite *suite_migrations_restore_table(void)
{
    Suite *s = suite_create("migrations_restore_table");
    TCase *tc = tcase_create("table");
    tcase_add_checked_fixture(tc, shop_setup, shop_teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, restored_table_is_the_table_of_then);
    tcase_add_test(tc, table_comes_out_of_a_backup_of_everything_too);
    tcase_add_test(tc, row_of_many_cells_and_large_ones_is_whole);
    tcase_add_test(tc, empty_table_is_restored);
    tcase_add_test(tc, quota_that_is_too_small_ends_it_and_nothing_is_left);
    tcase_add_test(tc, damaged_backup_restores_nothing);
    tcase_add_test(tc, part_of_another_tenant_is_not_restored);
    tcase_add_test(tc, sealed_values_stay_sealed_and_come_back);
    suite_add_tcase(s, tc);
    tc = tcase_create("killed");
    tcase_add_checked_fixture(tc, shop_setup, shop_teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, killed_anywhere_the_table_is_whole_or_gone, MIG_POINT_TABLE_BEGUN,
                        MIG_POINT_TABLE_PUBLISHED + 1);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/auth/test_revoke_meanwhile.c - keys are revoked while a table with many changes is removed.
 */
#include "tests/auth/keys.h"

#include "tests/tenancy/tent_rows.h"

#include "base/banned.h"

enum { LIMIT = 20, CHANGES = 60 };

static const enum sto_die_point POINTS[] = {STO_DIE_CHANGES, STO_DIE_WRITTEN};

static void setup_few_points(void)
{
    tent_make(&tent);
    tent.drop_range_cells = LIMIT;
    tent_open(&tent);
    open_keyring();
}

static enum err put_stream(struct ten_tenant *t)
{
    static const struct sto_family_spec family = {.name = SLICE_LIT("f")};
    static const struct ten_table_wanted wanted = {.families = &family,
                                                   .family_count = 1,
                                                   .has_change_retention = true,
                                                   .change_retention_s = LIM_CHANGES_KEPT_S};
    return tent_put_table(&tent, t, "devices", &wanted);
}

static bool is_held(void *engine)
{
    return sto_rocksdb_test_is_held(engine);
}

/* The tenant's committer stands still in the middle of the changes; nothing else may. */
START_TEST(a_key_is_revoked_while_changes_are_removed)
{
    char text[AUTH_KEY_TEXT + 1];
    const struct auth_key *key = NULL;
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    ck_assert_int_eq(put_stream(t), ERR_OK);
    for (int i = 0; i < CHANGES; i++)
        tent_write(&tent, t, "devices", "row", "value");
    create(AUTH_TENANT, t, text);
    sto_rocksdb_test_hold_at(tent.engine, POINTS[_i]);
    bool done = false;
    struct ten_table_delete_op op = {.reply_to = &tent.mail,
                                     .done = tent_delete_done,
                                     .user = &done,
                                     .tenant = t,
                                     .table_id = "devices"};
    ten_table_delete(tent.registry, &op);
    process_await(is_held, tent.engine, "the committer to be held");
    ck_assert_int_eq(revoke_key(id_of(text), t), ERR_OK);
    ck_assert_int_eq(verify(text, &key), ERR_UNAUTHENTICATED);
    ck_assert_int_eq(put_stream(t), ERR_CONFLICT); /* the name is not free yet */
    ck_assert(!done);
    sto_rocksdb_test_hold_at(tent.engine, STO_DIE_NEVER);
    tent_wait_flag(&tent, &done);
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    ck_assert_uint_eq(op.removed.rows, 1);
    ck_assert_int_eq(put_stream(t), ERR_OK);
}
END_TEST

Suite *suite_auth_revoke_meanwhile(void);
Suite *suite_auth_revoke_meanwhile(void)
{
    Suite *s = suite_create("auth_revoke_meanwhile");
    TCase *c = tcase_create("removal");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup_few_points, teardown);
    tcase_add_loop_test(c, a_key_is_revoked_while_changes_are_removed, 0,
                        sizeof POINTS / sizeof POINTS[0]);
    suite_add_tcase(s, c);
    return s;
}

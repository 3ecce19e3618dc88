/*
 * tests/grpc/test_backups.c - backups of tables over gRPC: made, listed, changed, copied, restored.
 */
#include "backups.h"

#include "base/banned.h"

Suite *suite_grpc_backups(void);

/* --- make ---------------------------------------------------------------------------------------
 */

START_TEST(a_backup_is_made_by_an_operation)
{
    char operation[BACKUP_NAME];
    ck_assert_int_eq(create_backup("daily", in_days(3)), GW_STATUS_OK);
    Lro__Operation *o = last_operation(operation);
    Bta__CreateBackupMetadata *m = (void *)metadata_of(o, &bta__create_backup_metadata__descriptor);
    ck_assert_str_eq(m->name, backup_name("daily"));
    ck_assert_str_eq(m->source_table, table);
    ck_assert_ptr_nonnull(m->start_time);
    protobuf_c_message_free_unpacked(&m->base, NULL);
    lro__operation__free_unpacked(o, NULL);
    o = await_operation(operation);
    m = (void *)metadata_of(o, &bta__create_backup_metadata__descriptor);
    ck_assert_ptr_nonnull(m->end_time);
    protobuf_c_message_free_unpacked(&m->base, NULL);
    Bta__Backup *b = (void *)response_of(o, &bta__backup__descriptor);
    ck_assert_str_eq(b->name, backup_name("daily"));
    ck_assert_str_eq(b->source_table, table);
    ck_assert_int_eq(b->state, BTA__BACKUP__STATE__READY);
    ck_assert_int_gt(b->size_bytes, 0);
    ck_assert_int_ge(b->end_time->seconds, b->start_time->seconds);
    protobuf_c_message_free_unpacked(&b->base, NULL);
    lro__operation__free_unpacked(o, NULL);
    b = get_backup("daily");
    ck_assert_int_eq(b->state, BTA__BACKUP__STATE__READY);
    ck_assert_int_eq(b->backup_type, BTA__BACKUP__BACKUP_TYPE__STANDARD);
    protobuf_c_message_free_unpacked(&b->base, NULL);
}
END_TEST

START_TEST(backups_that_make_no_sense_are_refused)
{
    const int64_t now = base_wall_us() / 1000000;
    make_backup("daily");
    ck_assert_int_eq(create_backup("daily", in_days(3)), GW_STATUS_ALREADY_EXISTS);
    ck_assert_int_eq(create_backup("", in_days(3)), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(create_backup("-x", in_days(3)), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(create_backup("a/b", in_days(3)), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(create_backup("b", now + 5 * 3600), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(create_backup("b", in_days(91)), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(create_backup("b", -1), GW_STATUS_INVALID_ARGUMENT);
    wanted.expire_time = NULL;
    ck_assert_int_eq(ask(ADMIN "CreateBackup", &creation.base), GW_STATUS_INVALID_ARGUMENT);
    creation.backup = NULL;
    ck_assert_int_eq(ask(ADMIN "CreateBackup", &creation.base), GW_STATUS_INVALID_ARGUMENT);
}
END_TEST

START_TEST(what_a_backup_cannot_be_is_unimplemented)
{
    prepare_backup("b", in_days(3));
    wanted.backup_type = BTA__BACKUP__BACKUP_TYPE__HOT;
    ck_assert_int_eq(ask(ADMIN "CreateBackup", &creation.base), GW_STATUS_UNIMPLEMENTED);
    prepare_backup("b", in_days(3));
    wanted.hot_to_standard_time = wanted.expire_time;
    ck_assert_int_eq(ask(ADMIN "CreateBackup", &creation.base), GW_STATUS_UNIMPLEMENTED);
    prepare_backup("b", in_days(3));
    wanted.source_table = text("projects/nobody/instances/main/tables/devices");
    ck_assert_int_eq(ask(ADMIN "CreateBackup", &creation.base), GW_STATUS_UNIMPLEMENTED);
}
END_TEST

START_TEST(a_tenant_has_so_many_backups_and_no_more)
{
    for (int i = 0; i < LIM_BACKUPS_OF_TENANT; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "b%d", i);
        make_backup(id);
    }
    ck_assert_int_eq(create_backup("more", in_days(3)), GW_STATUS_RESOURCE_EXHAUSTED);
    ck_assert_int_eq(copy_backup("b0", "more", in_days(3)), GW_STATUS_RESOURCE_EXHAUSTED);
    ck_assert_int_eq(ask_backup("DeleteBackup", "b0"), GW_STATUS_OK);
    make_backup("more");
}
END_TEST

START_TEST(tables_and_clusters_that_are_not_there_are_not_found)
{
    char parent[BACKUP_NAME];
    prepare_backup("b", in_days(3));
    *strrchr(table, 's') = 'x'; /* device + x */
    ck_assert_int_eq(ask(ADMIN "CreateBackup", &creation.base), GW_STATUS_NOT_FOUND);
    *strrchr(table, 'x') = 's';
    (void)snprintf(parent, sizeof parent, "projects/%s/instances/main/clusters/other", w.tenant);
    creation.parent = parent;
    ck_assert_int_eq(ask(ADMIN "CreateBackup", &creation.base), GW_STATUS_NOT_FOUND);
    Bta__ListBackupsRequest list = BTA__LIST_BACKUPS_REQUEST__INIT;
    list.parent = parent;
    ck_assert_int_eq(ask(ADMIN "ListBackups", &list.base), GW_STATUS_NOT_FOUND);
    ck_assert_int_eq(ask_backup("GetBackup", "b"), GW_STATUS_NOT_FOUND);
    ck_assert_int_eq(ask_backup("DeleteBackup", "b"), GW_STATUS_NOT_FOUND);
    (void)snprintf(parent, sizeof parent, "projects/%s/instances/main/clusters/other/backups/b",
                   w.tenant);
    Bta__GetBackupRequest get = BTA__GET_BACKUP_REQUEST__INIT;
    get.name = parent;
    ck_assert_int_eq(ask(ADMIN "GetBackup", &get.base), GW_STATUS_NOT_FOUND);
}
END_TEST

/* --- list ---------------------------------------------------------------------------------------
 */

START_TEST(backups_are_listed_in_pages_newest_first)
{
    char token[1024];
    expect_list("", "", "");
    make_backup("a");
    make_backup("c");
    make_backup("b");
    expect_list("", "", "b c a");
    expect_list("", "name desc", "c b a");
    expect_list("name:a OR name:c", "name", "a c");
    expect_list("state:CREATING", "", "");
    expect_page("", "name", 2, "", "a b", token);
    ck_assert_str_ne(token, "");
    ck_assert_int_eq(ask_backup("DeleteBackup", "b"), GW_STATUS_OK);
    expect_page("", "name", 2, token, "c", NULL); /* behind one that is gone */
    ck_assert_int_eq(list_backups("", "name desc", 2, token), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(list_backups("name:a", "name", 2, token), GW_STATUS_INVALID_ARGUMENT);
    expect_page("", "name", 2, "", "a c", token);
    ck_assert_str_eq(token, "");
    ck_assert_int_eq(list_backups("colour:red", "", 0, ""), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(list_backups("", "colour", 0, ""), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(list_backups("", "", -1, ""), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(list_backups("", "", 0, "nonsense"), GW_STATUS_INVALID_ARGUMENT);
}
END_TEST

/* --- change -------------------------------------------------------------------------------------
 */

START_TEST(an_update_changes_when_a_backup_expires_and_nothing_else)
{
    int64_t until = in_days(20);
    make_backup("b");
    ck_assert_int_eq(update_backup("b", until, "expire_time"), GW_STATUS_OK);
    Bta__Backup *b = (void *)grpc_message_new(call, &bta__backup__descriptor, 0);
    ck_assert_int_eq(b->expire_time->seconds, until);
    protobuf_c_message_free_unpacked(&b->base, NULL);
    b = get_backup("b");
    ck_assert_int_eq(b->expire_time->seconds, until);
    protobuf_c_message_free_unpacked(&b->base, NULL);
    ck_assert_int_eq(update_backup("b", in_days(91), "expire_time"), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(update_backup("b", in_days(0), "expire_time"), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(update_backup("b", until, NULL), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(update_backup("b", until, "*"), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(update_backup("b", until, "name"), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(update_backup("b", until, "hot_to_standard_time"), GW_STATUS_UNIMPLEMENTED);
    ck_assert_int_eq(update_backup("x", until, "expire_time"), GW_STATUS_NOT_FOUND);
}
END_TEST

START_TEST(a_deleted_backup_is_gone)
{
    make_backup("b");
    ck_assert_int_eq(ask_backup("DeleteBackup", "b"), GW_STATUS_OK);
    ck_assert_int_eq(ask_backup("DeleteBackup", "b"), GW_STATUS_NOT_FOUND);
    ck_assert_int_eq(ask_backup("GetBackup", "b"), GW_STATUS_NOT_FOUND);
    expect_list("", "", "");
    make_backup("b");
    expect_list("", "", "b");
}
END_TEST

/* --- copy ---------------------------------------------------------------------------------------
 */

START_TEST(a_backup_is_copied_once)
{
    char operation[BACKUP_NAME];
    make_backup("b");
    ck_assert_int_eq(copy_backup("b", "c", in_days(9)), GW_STATUS_OK);
    lro__operation__free_unpacked(last_operation(operation), NULL);
    Lro__Operation *o = await_operation(operation);
    Bta__CopyBackupMetadata *m = (void *)metadata_of(o, &bta__copy_backup_metadata__descriptor);
    ck_assert_str_eq(m->name, backup_name("c"));
    ck_assert_str_eq(m->source_backup_info->backup, backup_name("b"));
    ck_assert_str_eq(m->source_backup_info->source_table, table);
    ck_assert_int_eq(m->progress->progress_percent, 100);
    protobuf_c_message_free_unpacked(&m->base, NULL);
    Bta__Backup *b = (void *)response_of(o, &bta__backup__descriptor);
    ck_assert_str_eq(b->name, backup_name("c"));
    ck_assert_str_eq(b->source_backup, backup_name("b"));
    ck_assert_str_eq(b->source_table, table);
    protobuf_c_message_free_unpacked(&b->base, NULL);
    lro__operation__free_unpacked(o, NULL);
    ck_assert_int_eq(copy_backup("c", "d", in_days(9)), GW_STATUS_FAILED_PRECONDITION);
    ck_assert_int_eq(copy_backup("b", "c", in_days(9)), GW_STATUS_ALREADY_EXISTS);
    ck_assert_int_eq(copy_backup("x", "d", in_days(9)), GW_STATUS_NOT_FOUND);
    ck_assert_int_eq(copy_backup("b", "-", in_days(9)), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(copy_backup("b", "d", in_days(91)), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(ask_backup("DeleteBackup", "b"), GW_STATUS_OK);
    b = get_backup("c");
    ck_assert_int_eq(b->state, BTA__BACKUP__STATE__READY);
    protobuf_c_message_free_unpacked(&b->base, NULL);
}
END_TEST

/* --- restore ------------------------------------------------------------------------------------
 */

START_TEST(a_table_is_restored_under_a_new_name)
{
    char operation[BACKUP_NAME];
    tenant_put(w.http, "devices", "r", "stats", "q", "kept");
    make_backup("b");
    tenant_put(w.http, "devices", "r", "stats", "q", "changed");
    ck_assert_int_eq(restore_table("b", "again"), GW_STATUS_OK);
    lro__operation__free_unpacked(last_operation(operation), NULL);
    Lro__Operation *o = await_operation(operation);
    Bta__RestoreTableMetadata *m = (void *)metadata_of(o, &bta__restore_table_metadata__descriptor);
    ck_assert_str_eq(strrchr(m->name, '/'), "/again");
    ck_assert_str_eq(m->backup_info->backup, backup_name("b"));
    ck_assert_str_eq(m->optimize_table_operation_name, "");
    ck_assert_int_eq(m->progress->progress_percent, 100);
    protobuf_c_message_free_unpacked(&m->base, NULL);
    Bta__Table *t = (void *)response_of(o, &bta__table__descriptor);
    ck_assert_str_eq(strrchr(t->name, '/'), "/again");
    ck_assert_uint_eq(t->n_column_families, 2);
    ck_assert_str_eq(t->restore_info->backup_info->source_table, table);
    protobuf_c_message_free_unpacked(&t->base, NULL);
    lro__operation__free_unpacked(o, NULL);
    http_get(w.http, "/v1/tables/again/rows/r");
    EXPECT_STATUS(w.http, 200);
    ck_assert_ptr_nonnull(strstr(http_text(w.http), "kept"));
    ck_assert_ptr_null(strstr(http_text(w.http), "changed"));
    ck_assert_int_eq(restore_table("b", "again"), GW_STATUS_ALREADY_EXISTS);
    ck_assert_int_eq(restore_table("b", "devices"), GW_STATUS_ALREADY_EXISTS);
    ck_assert_int_eq(restore_table("b", "a/b"), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_int_eq(restore_table("x", "other"), GW_STATUS_NOT_FOUND);
    Bta__RestoreTableRequest none = BTA__RESTORE_TABLE_REQUEST__INIT;
    none.parent = text(instance_name());
    none.table_id = text("other");
    ck_assert_int_eq(ask(ADMIN "RestoreTable", &none.base), GW_STATUS_INVALID_ARGUMENT);
    (void)admin_recount(w.op, w.tenant);
}
END_TEST

START_TEST(a_restored_table_that_was_deleted_since_is_told_by_its_name)
{
    char operation[BACKUP_NAME];
    make_backup("b");
    ck_assert_int_eq(restore_table("b", "again"), GW_STATUS_OK);
    lro__operation__free_unpacked(last_operation(operation), NULL);
    lro__operation__free_unpacked(await_operation(operation), NULL);
    http_delete(w.http, "/v1/tables/again");
    EXPECT_STATUS(w.http, 204);
    ck_assert_int_eq(ask_backup("DeleteBackup", "b"), GW_STATUS_OK);
    Lro__Operation *o = await_operation(operation);
    Bta__Table *t = (void *)response_of(o, &bta__table__descriptor);
    ck_assert_str_eq(strrchr(t->name, '/'), "/again");
    ck_assert_uint_eq(t->n_column_families, 0);
    ck_assert_str_eq(t->restore_info->backup_info->backup, backup_name("b"));
    protobuf_c_message_free_unpacked(&t->base, NULL);
    lro__operation__free_unpacked(o, NULL);
}
END_TEST

static Bta__RestoreInfo *restore_info_of(const char *id, Bta__Table__View view, Bta__Table **out)
{
    Bta__GetTableRequest get = BTA__GET_TABLE_REQUEST__INIT;
    char name[BACKUP_NAME];
    (void)snprintf(name, sizeof name, "%s/tables/%s", instance_name(), id);
    get.name = name;
    get.view = view;
    ck_assert_int_eq(ask(ADMIN "GetTable", &get.base), GW_STATUS_OK);
    *out = (void *)grpc_message_new(call, &bta__table__descriptor, 0);
    return (*out)->restore_info;
}

START_TEST(a_restored_table_tells_its_backup_as_long_as_it_is_there)
{
    char operation[BACKUP_NAME];
    Bta__Table *t;
    make_backup("b");
    ck_assert_int_eq(restore_table("b", "again"), GW_STATUS_OK);
    lro__operation__free_unpacked(last_operation(operation), NULL);
    lro__operation__free_unpacked(await_operation(operation), NULL);
    ck_assert_int_eq(ask_backup("DeleteBackup", "b"), GW_STATUS_OK);
    const Bta__Table__View telling[] = {BTA__TABLE__VIEW__VIEW_UNSPECIFIED,
                                        BTA__TABLE__VIEW__SCHEMA_VIEW, BTA__TABLE__VIEW__FULL};
    for (size_t i = 0; i < sizeof telling / sizeof telling[0]; i++) {
        const Bta__RestoreInfo *info = restore_info_of("again", telling[i], &t);
        ck_assert_ptr_nonnull(info);
        ck_assert_int_eq(info->source_type, BTA__RESTORE_SOURCE_TYPE__BACKUP);
        ck_assert_str_eq(info->backup_info->backup, backup_name("b"));
        ck_assert_str_eq(info->backup_info->source_table, table);
        ck_assert_int_gt(info->backup_info->start_time->seconds, 0);
        ck_assert_int_ge(info->backup_info->end_time->seconds,
                         info->backup_info->start_time->seconds);
        protobuf_c_message_free_unpacked(&t->base, NULL);
    }
    ck_assert_ptr_null(restore_info_of("again", BTA__TABLE__VIEW__NAME_ONLY, &t));
    protobuf_c_message_free_unpacked(&t->base, NULL);
    ck_assert_ptr_null(restore_info_of("devices", BTA__TABLE__VIEW__FULL, &t));
    protobuf_c_message_free_unpacked(&t->base, NULL);
}
END_TEST

Suite *suite_grpc_backups(void)
{
    Suite *s = suite_create("grpc_backups");
    TCase *tc = add_case(s, "backups");
    tcase_add_test(tc, a_backup_is_made_by_an_operation);
    tcase_add_test(tc, backups_that_make_no_sense_are_refused);
    tcase_add_test(tc, what_a_backup_cannot_be_is_unimplemented);
    tcase_add_test(tc, a_tenant_has_so_many_backups_and_no_more);
    tcase_add_test(tc, tables_and_clusters_that_are_not_there_are_not_found);
    tcase_add_test(tc, backups_are_listed_in_pages_newest_first);
    tcase_add_test(tc, an_update_changes_when_a_backup_expires_and_nothing_else);
    tcase_add_test(tc, a_deleted_backup_is_gone);
    tcase_add_test(tc, a_backup_is_copied_once);
    world_end(tc);
    tc = add_case(s, "restores");
    tcase_add_test(tc, a_table_is_restored_under_a_new_name);
    tcase_add_test(tc, a_restored_table_that_was_deleted_since_is_told_by_its_name);
    tcase_add_test(tc, a_restored_table_tells_its_backup_as_long_as_it_is_there);
    world_end(tc);
    return s;
}

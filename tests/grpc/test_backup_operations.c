/*
 * tests/grpc/test_backup_operations.c - the operations that make backups: cancelled, listed,
 * forgotten; whose they are.
 */
#include "backups.h"

#include "base/banned.h"

Suite *suite_grpc_backup_operations(void);

/* --- operations ---------------------------------------------------------------------------------
 */

#define BULK_BYTES (4 * MIB) /* so that a backup takes longer than to ask for it */

/* As much work as may wait; the last that was taken, and the ID of its backup. */
static void begin_much(char last[BACKUP_NAME], char id[16])
{
    static char bulk[BULK_BYTES + 1];
    memset(bulk, 'v', BULK_BYTES);
    tenant_put(w.http, "devices", "r", "stats", "q", bulk);
    struct grpc_call *asked[LIM_OPERATIONS_OF_TENANT + 2]; /* all at once: work does not wait */
    const size_t count = sizeof asked / sizeof asked[0];
    grpc_hurry(&client);
    grpc_forget(&client);
    for (size_t i = 0; i < count; i++) {
        char next[16];
        (void)snprintf(next, sizeof next, "b%zu", i);
        prepare_backup(next, in_days(3));
        asked[i] = grpc_start(&client, ADMIN "CreateBackup", &creation.base, NULL);
    }
    grpc_await(&client);
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        if (asked[i]->status != GW_STATUS_OK)
            continue;
        taken++;
        call = asked[i];
        (void)snprintf(id, 16, "b%zu", i);
    }
    ck_assert_uint_ge(taken, LIM_OPERATIONS_OF_TENANT);
    ck_assert_uint_lt(taken, count);
    lro__operation__free_unpacked(last_operation(last), NULL);
}

START_TEST(work_that_waits_is_cancelled_and_leaves_nothing)
{
    char operation[BACKUP_NAME], id[16];
    begin_much(operation, id);
    ck_assert_int_eq(ask_operation("CancelOperation", operation), GW_STATUS_OK);
    Lro__Operation *o = await_operation(operation);
    ck_assert_int_eq(o->result_case, LRO__OPERATION__RESULT_ERROR);
    ck_assert_int_eq(o->error->code, GW_STATUS_CANCELLED);
    ck_assert_str_ne(o->error->message, "");
    lro__operation__free_unpacked(o, NULL);
    ck_assert_int_eq(ask_backup("GetBackup", id), GW_STATUS_NOT_FOUND);
    ck_assert_int_eq(ask_operation("CancelOperation", operation), GW_STATUS_OK); /* it has ended */
}
END_TEST

START_TEST(a_backup_in_the_making_is_shown_but_cannot_be_used)
{
    char operation[BACKUP_NAME], id[16];
    begin_much(operation, id);
    Bta__Backup *b = get_backup(id);
    ck_assert_int_eq(b->state, BTA__BACKUP__STATE__CREATING);
    ck_assert_ptr_nonnull(b->end_time); /* Go's client wants one */
    protobuf_c_message_free_unpacked(&b->base, NULL);
    ck_assert_int_eq(ask_backup("DeleteBackup", id), GW_STATUS_FAILED_PRECONDITION);
    ck_assert_int_eq(copy_backup(id, "c", in_days(3)), GW_STATUS_FAILED_PRECONDITION);
    ck_assert_int_eq(restore_table(id, "again"), GW_STATUS_FAILED_PRECONDITION);
    ck_assert_int_eq(create_backup(id, in_days(3)), GW_STATUS_ALREADY_EXISTS);
    ck_assert_int_eq(ask_operation("DeleteOperation", operation), GW_STATUS_FAILED_PRECONDITION);
    lro__operation__free_unpacked(await_operation(operation), NULL);
}
END_TEST

/* Their IDs, newest first, with spaces. */
static void list_operations(int32_t page_size, char token[1024], struct buf *out)
{
    Lro__ListOperationsRequest list = LRO__LIST_OPERATIONS_REQUEST__INIT;
    list.name = text(instance_name());
    list.page_size = page_size;
    list.page_token = token;
    ck_assert_msg(ask(OPERATIONS "ListOperations", &list.base) == GW_STATUS_OK, "%s",
                  call->message);
    Lro__ListOperationsResponse *page =
        (void *)grpc_message_new(call, &lro__list_operations_response__descriptor, 0);
    for (size_t i = 0; i < page->n_operations; i++)
        ck_assert_int_eq(base_buf_printf(out, "%s ", page->operations[i]->name), ERR_OK);
    (void)snprintf(token, 1024, "%s", page->next_page_token);
    lro__list_operations_response__free_unpacked(page, NULL);
}

START_TEST(operations_are_listed_in_pages_and_forgotten)
{
    static const char *const ids[] = {"a", "b", "c"};
    char names[3][BACKUP_NAME], token[1024] = "", expected_text[4 * BACKUP_NAME];
    struct buf all;
    base_buf_init(&all, 64 * KIB);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(create_backup(ids[i], in_days(3)), GW_STATUS_OK);
        lro__operation__free_unpacked(last_operation(names[i]), NULL);
        lro__operation__free_unpacked(await_operation(names[i]), NULL);
    }
    list_operations(2, token, &all);
    ck_assert_str_ne(token, "");
    list_operations(2, token, &all);
    ck_assert_str_eq(token, "");
    ck_assert_int_eq(base_buf_append_byte(&all, '\0'), ERR_OK);
    (void)snprintf(expected_text, sizeof expected_text, "%s %s %s ", names[2], names[1], names[0]);
    ck_assert_str_eq((const char *)all.ptr, expected_text);
    ck_assert_int_eq(ask_operation("DeleteOperation", names[1]), GW_STATUS_OK);
    ck_assert_int_eq(ask_operation("DeleteOperation", names[1]), GW_STATUS_NOT_FOUND);
    ck_assert_int_eq(ask_operation("GetOperation", names[1]), GW_STATUS_NOT_FOUND);
    ck_assert_int_eq(ask_operation("GetOperation", names[0]), GW_STATUS_OK);
    ck_assert_int_eq(ask_operation("WaitOperation", names[0]), GW_STATUS_OK);
    expect_list("", "", "c b a"); /* what was made stays */
    Lro__ListOperationsRequest list = LRO__LIST_OPERATIONS_REQUEST__INIT;
    list.name = text(instance_name());
    list.filter = text("done:true");
    ck_assert_int_eq(ask(OPERATIONS "ListOperations", &list.base), GW_STATUS_UNIMPLEMENTED);
    list.filter = text("");
    list.page_size = -1;
    ck_assert_int_eq(ask(OPERATIONS "ListOperations", &list.base), GW_STATUS_INVALID_ARGUMENT);
    base_buf_fini(&all);
}
END_TEST

/* --- who may ------------------------------------------------------------------------------------
 */

START_TEST(a_key_that_may_only_read_sees_backups_and_makes_none)
{
    char reader_key[WORLD_KEY], operation[BACKUP_NAME];
    ck_assert_int_eq(create_backup("b", in_days(3)), GW_STATUS_OK);
    lro__operation__free_unpacked(last_operation(operation), NULL);
    lro__operation__free_unpacked(await_operation(operation), NULL);
    admin_create_key(w.op, w.tenant, "['data.read']", reader_key, NULL);
    grpc_close(&client);
    grpc_open(&client, world_server(), reader_key, 0);
    ck_assert_int_eq(ask_backup("GetBackup", "b"), GW_STATUS_OK);
    expect_list("", "", "b");
    ck_assert_int_eq(ask_operation("GetOperation", operation), GW_STATUS_OK);
    ck_assert_int_eq(create_backup("c", in_days(3)), GW_STATUS_PERMISSION_DENIED);
    ck_assert_int_eq(update_backup("b", in_days(4), "expire_time"), GW_STATUS_PERMISSION_DENIED);
    ck_assert_int_eq(copy_backup("b", "c", in_days(3)), GW_STATUS_PERMISSION_DENIED);
    ck_assert_int_eq(restore_table("b", "again"), GW_STATUS_PERMISSION_DENIED);
    ck_assert_int_eq(ask_backup("DeleteBackup", "b"), GW_STATUS_PERMISSION_DENIED);
    ck_assert_int_eq(ask_operation("CancelOperation", operation), GW_STATUS_PERMISSION_DENIED);
    ck_assert_int_eq(ask_operation("DeleteOperation", operation), GW_STATUS_PERMISSION_DENIED);
}
END_TEST

static struct server own;

static void use(const struct world *as)
{
    w = *as;
    grpc_close(&client);
    grpc_open(&client, &own, as->key, 0);
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/devices", as->tenant);
}

START_TEST(backups_and_operations_are_their_tenants_and_survive_a_restart)
{
    struct world acme, acme_eu;
    char operation[BACKUP_NAME], foreign[2 * BACKUP_NAME];
    server_create(&own);
    server_start(&own, NULL);
    world_init_on(&acme, &own, HTTP_2, "acme");
    world_init_on(&acme_eu, &own, HTTP_2, "acme-eu");
    grpc_open(&client, &own, acme.key, 0);
    use(&acme);
    ck_assert_int_eq(create_backup("b", in_days(3)), GW_STATUS_OK);
    lro__operation__free_unpacked(last_operation(operation), NULL);
    lro__operation__free_unpacked(await_operation(operation), NULL);
    (void)snprintf(foreign, sizeof foreign,
                   "operations/projects/acme-eu/instances/main/operations/%s",
                   strrchr(operation, '/') + 1);
    for (int round = 0; round < 2; round++) {
        expect_list("", "", "b");
        ck_assert_int_eq(ask_operation("GetOperation", operation), GW_STATUS_OK);
        use(&acme_eu);
        expect_list("", "", "");
        ck_assert_int_eq(ask_backup("GetBackup", "b"), GW_STATUS_NOT_FOUND);
        ck_assert_int_eq(ask_backup("DeleteBackup", "b"), GW_STATUS_NOT_FOUND);
        ck_assert_int_eq(restore_table("b", "again"), GW_STATUS_NOT_FOUND);
        ck_assert_int_eq(ask_operation("GetOperation", foreign), GW_STATUS_NOT_FOUND);
        ck_assert_int_eq(ask_operation("CancelOperation", foreign), GW_STATUS_NOT_FOUND);
        ck_assert_int_eq(ask_operation("DeleteOperation", foreign), GW_STATUS_NOT_FOUND);
        ck_assert_int_eq(ask_operation("GetOperation", operation), GW_STATUS_PERMISSION_DENIED);
        server_stop(&own);
        server_start(&own, NULL);
        use(&acme);
    }
    grpc_close(&client);
    world_fini(&acme);
    world_fini(&acme_eu);
    server_stop(&own);
    server_remove(&own);
}
END_TEST

Suite *suite_grpc_backup_operations(void)
{
    Suite *s = suite_create("grpc_backup_operations");
    TCase *tc = add_case(s, "operations");
    tcase_add_test(tc, work_that_waits_is_cancelled_and_leaves_nothing);
    tcase_add_test(tc, a_backup_in_the_making_is_shown_but_cannot_be_used);
    tcase_add_test(tc, operations_are_listed_in_pages_and_forgotten);
    tcase_add_test(tc, a_key_that_may_only_read_sees_backups_and_makes_none);
    world_end(tc);
    tc = tcase_create("tenants");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, backups_and_operations_are_their_tenants_and_survive_a_restart);
    suite_add_tcase(s, tc);
    return s;
}

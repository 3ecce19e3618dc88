/*
 * tests/grpc/backups.h - backups of a world's table, and the operations that create them.
 *
 * Does:     request backups, lists, restores; wait for an operation; unpack its result.
 * Owns:     nothing beyond tests/grpc/reads.h.
 * May use:  tests/, libcheck.
 * Knows no: the tests.
 * Threads:  one.
 * Blocks:   for answers, and for operations.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: 1. Data that a request points to stays valid until the next request is built.
 */
#ifndef TESTS_GRPC_BACKUPS_H
#define TESTS_GRPC_BACKUPS_H

#include "reads.h"

#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <google/longrunning/operations.pb-c.h>

#include "base/clock.h"

#include "base/banned.h"

#define ADMIN       "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define OPERATIONS  "/google.longrunning.Operations/"
#define BACKUP_NAME (WORLD_ID + 128)

static struct grpc_call *call;

/* Calls a method and returns its grpc-status; `call` becomes this call. */
UNUSED_FN static int ask(const char *method, const ProtobufCMessage *message)
{
    if (client.count == GRPC_CALLS)
        grpc_forget(&client);
    call = grpc_ask(&client, method, message);
    return call->status;
}

UNUSED_FN static char *text(const char *s)
{
    return (char *)(uintptr_t)s;
}

UNUSED_FN static int64_t in_days(int64_t days)
{
    return base_wall_us() / 1000000 + days * 24 * 60 * 60;
}

/* Return names in static memory, one buffer per function. */
UNUSED_FN static const char *instance_name(void)
{
    static char name[BACKUP_NAME];
    (void)snprintf(name, sizeof name, "projects/%s/instances/main", w.tenant);
    return name;
}

UNUSED_FN static const char *backup_name(const char *id)
{
    static char name[BACKUP_NAME];
    (void)snprintf(name, sizeof name, "projects/%s/instances/main/clusters/main/backups/%s",
                   w.tenant, id);
    return name;
}

/* --- backups ------------------------------------------------------------------------------------
 */

static Bta__CreateBackupRequest creation;
static Bta__Backup wanted;

UNUSED_FN static void prepare_backup(const char *id, int64_t expire_seconds)
{
    static Google__Protobuf__Timestamp expires;
    static char parent[BACKUP_NAME];
    bta__create_backup_request__init(&creation);
    bta__backup__init(&wanted);
    google__protobuf__timestamp__init(&expires);
    (void)snprintf(parent, sizeof parent, "%s/clusters/main", instance_name());
    expires.seconds = expire_seconds;
    wanted.source_table = table;
    wanted.expire_time = &expires;
    creation.parent = parent;
    creation.backup_id = text(id);
    creation.backup = &wanted;
}

UNUSED_FN static int create_backup(const char *id, int64_t expire_seconds)
{
    prepare_backup(id, expire_seconds);
    return ask(ADMIN "CreateBackup", &creation.base);
}

/* Calls GetBackup or DeleteBackup. */
UNUSED_FN static int ask_backup(const char *method, const char *id)
{
    Bta__GetBackupRequest by_name = BTA__GET_BACKUP_REQUEST__INIT; /* both have the same form */
    char path[128];
    by_name.name = text(backup_name(id));
    (void)snprintf(path, sizeof path, ADMIN "%s", method);
    return ask(path, &by_name.base);
}

UNUSED_FN static Bta__Backup *get_backup(const char *id)
{
    ck_assert_msg(ask_backup("GetBackup", id) == GW_STATUS_OK, "%s", call->message);
    Bta__Backup *b = (void *)grpc_message_new(call, &bta__backup__descriptor, 0);
    ck_assert_str_eq(b->name, backup_name(id));
    return b;
}

UNUSED_FN static int restore_table(const char *backup, const char *new_table)
{
    Bta__RestoreTableRequest restore = BTA__RESTORE_TABLE_REQUEST__INIT;
    restore.parent = text(instance_name());
    restore.table_id = text(new_table);
    restore.source_case = BTA__RESTORE_TABLE_REQUEST__SOURCE_BACKUP;
    restore.backup = text(backup_name(backup));
    return ask(ADMIN "RestoreTable", &restore.base);
}

UNUSED_FN static int copy_backup(const char *from, const char *id, int64_t seconds)
{
    Bta__CopyBackupRequest copy = BTA__COPY_BACKUP_REQUEST__INIT;
    char source[BACKUP_NAME];
    (void)snprintf(source, sizeof source, "%s", backup_name(from));
    prepare_backup(id, seconds);
    copy.parent = creation.parent;
    copy.backup_id = text(id);
    copy.source_backup = source;
    copy.expire_time = wanted.expire_time;
    return ask(ADMIN "CopyBackup", &copy.base);
}

UNUSED_FN static int update_backup(const char *id, int64_t seconds, const char *path)
{
    Bta__UpdateBackupRequest update = BTA__UPDATE_BACKUP_REQUEST__INIT;
    Google__Protobuf__FieldMask mask = GOOGLE__PROTOBUF__FIELD_MASK__INIT;
    char *paths[] = {text(path)};
    prepare_backup(id, seconds);
    wanted.name = text(backup_name(id));
    update.backup = &wanted;
    mask.n_paths = 1;
    mask.paths = paths;
    if (path != NULL)
        update.update_mask = &mask;
    return ask(ADMIN "UpdateBackup", &update.base);
}

/* --- operations ---------------------------------------------------------------------------------
 */

/* Returns the operation in the last call's answer; name: the operation's name. */
UNUSED_FN static Lro__Operation *last_operation(char name[BACKUP_NAME])
{
    ck_assert_msg(call->status == GW_STATUS_OK, "%s", call->message);
    Lro__Operation *o = (void *)grpc_message_new(call, &lro__operation__descriptor, 0);
    (void)snprintf(name, BACKUP_NAME, "%s", o->name);
    ck_assert_int_eq(o->done, o->result_case != LRO__OPERATION__RESULT__NOT_SET);
    return o;
}

/* Calls a method of an operation. All requests with only a name have the same form. */
UNUSED_FN static int ask_operation(const char *method, const char *name)
{
    Lro__GetOperationRequest by_name = LRO__GET_OPERATION_REQUEST__INIT;
    char path[128];
    by_name.name = text(name);
    (void)snprintf(path, sizeof path, OPERATIONS "%s", method);
    return ask(path, &by_name.base);
}

static bool operation_is_done(void *arg)
{
    const char *name = arg;
    char same[BACKUP_NAME];
    ck_assert_msg(ask_operation("GetOperation", name) == GW_STATUS_OK, "%s", call->message);
    Lro__Operation *o = last_operation(same);
    ck_assert_str_eq(same, name);
    bool is_done = o->done;
    lro__operation__free_unpacked(o, NULL);
    return is_done;
}

UNUSED_FN static Lro__Operation *await_operation(char name[BACKUP_NAME])
{
    process_await(operation_is_done, name, name);
    return last_operation(name);
}

UNUSED_FN static ProtobufCMessage *unpack_any(const Google__Protobuf__Any *any,
                                              const ProtobufCMessageDescriptor *type)
{
    static const char prefix[] = "type.googleapis.com/";
    ck_assert_ptr_nonnull(any);
    ck_assert_str_eq(any->type_url + strlen(prefix), type->name);
    ProtobufCMessage *m = protobuf_c_message_unpack(type, NULL, any->value.len, any->value.data);
    ck_assert_ptr_nonnull(m);
    return m;
}

UNUSED_FN static ProtobufCMessage *metadata_of(const Lro__Operation *o,
                                               const ProtobufCMessageDescriptor *type)
{
    return unpack_any(o->metadata, type);
}

UNUSED_FN static ProtobufCMessage *response_of(const Lro__Operation *o,
                                               const ProtobufCMessageDescriptor *type)
{
    ck_assert_msg(o->result_case == LRO__OPERATION__RESULT_RESPONSE, "%s",
                  o->result_case == LRO__OPERATION__RESULT_ERROR ? o->error->message : "-");
    return unpack_any(o->response, type);
}

/* Creates a backup that expires in three days, and waits until it is ready. */
UNUSED_FN static void make_backup(const char *id)
{
    char operation[BACKUP_NAME];
    ck_assert_msg(create_backup(id, in_days(3)) == GW_STATUS_OK, "%s", call->message);
    lro__operation__free_unpacked(last_operation(operation), NULL);
    Lro__Operation *o = await_operation(operation);
    protobuf_c_message_free_unpacked(response_of(o, &bta__backup__descriptor), NULL);
    lro__operation__free_unpacked(o, NULL);
}

/* --- lists --------------------------------------------------------------------------------------
 */

UNUSED_FN static int list_backups(const char *filter_text, const char *order_by, int32_t page_size,
                                  const char *token)
{
    Bta__ListBackupsRequest list = BTA__LIST_BACKUPS_REQUEST__INIT;
    char parent[BACKUP_NAME];
    (void)snprintf(parent, sizeof parent, "%s/clusters/-", instance_name());
    list.parent = parent;
    list.filter = text(filter_text);
    list.order_by = text(order_by);
    list.page_size = page_size;
    list.page_token = text(token);
    return ask(ADMIN "ListBackups", &list.base);
}

/* Expects a page with these IDs, separated by spaces; out_token: 1024 bytes, or NULL. */
UNUSED_FN static void expect_page(const char *filter_text, const char *order_by, int32_t page_size,
                                  const char *token, const char *ids, char *out_token)
{
    char got[512] = "";
    size_t len = 0;
    ck_assert_msg(list_backups(filter_text, order_by, page_size, token) == GW_STATUS_OK, "%s",
                  call->message);
    Bta__ListBackupsResponse *page =
        (void *)grpc_message_new(call, &bta__list_backups_response__descriptor, 0);
    for (size_t i = 0; i < page->n_backups; i++)
        len += (size_t)snprintf(got + len, sizeof got - len, "%s%s", i == 0 ? "" : " ",
                                strrchr(page->backups[i]->name, '/') + 1);
    ck_assert_str_eq(got, ids);
    if (out_token != NULL)
        (void)snprintf(out_token, 1024, "%s", page->next_page_token);
    bta__list_backups_response__free_unpacked(page, NULL);
}

UNUSED_FN static void expect_list(const char *filter_text, const char *order_by, const char *ids)
{
    expect_page(filter_text, order_by, 0, "", ids, NULL);
}

#endif

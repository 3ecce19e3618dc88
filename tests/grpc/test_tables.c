/*
 * tests/grpc/test_tables.c - what tables of a real server cannot have is refused by its name.
 */
#include "views.h"

#include "base/banned.h"

Suite *suite_grpc_tables(void);

static Bta__Type__Struct row_keys = BTA__TYPE__STRUCT__INIT;
static Bta__TieredStorageConfig tiers = BTA__TIERED_STORAGE_CONFIG__INIT;
static Bta__Table__AutomatedBackupPolicy policy = BTA__TABLE__AUTOMATED_BACKUP_POLICY__INIT;

static void use_row_keys(Bta__Table *t)
{
    t->row_key_schema = &row_keys;
}

static void use_tiers(Bta__Table *t)
{
    t->tiered_storage_config = &tiers;
}

static void use_policy(Bta__Table *t)
{
    t->automated_backup_config_case = BTA__TABLE__AUTOMATED_BACKUP_CONFIG_AUTOMATED_BACKUP_POLICY;
    t->automated_backup_policy = &policy;
}

static void use_micros(Bta__Table *t)
{
    t->granularity = BTA__TABLE__TIMESTAMP_GRANULARITY__MICROS;
}

static const struct {
    void (*use)(Bta__Table *t);
    const char *name; /* in the message */
    const char *path; /* of a mask */
} FIELDS[] = {
    {use_row_keys, "row_key_schema", "row_key_schema"},
    {use_tiers, "tiered_storage_config", "tiered_storage_config"},
    {use_tiers, "tiered_storage_config", "tiered_storage_config.infrequent_access"},
    {use_policy, "automated_backup_policy", "automated_backup_policy"},
    {use_micros, "granularity", "granularity"},
};
#define FIELD_COUNT (sizeof FIELDS / sizeof FIELDS[0])

START_TEST(a_table_is_not_created_without_what_was_asked_for)
{
    char parent[NAME];
    Bta__CreateTableRequest ask_create = BTA__CREATE_TABLE_REQUEST__INIT;
    Bta__Table wanted = BTA__TABLE__INIT;
    (void)snprintf(parent, sizeof parent, "projects/%s/instances/main", w.tenant);
    ask_create.parent = parent;
    ask_create.table_id = text("made");
    ask_create.table = &wanted;
    FIELDS[_i].use(&wanted);
    ck_assert_int_eq(ask(ADMIN "CreateTable", &ask_create.base), GW_STATUS_UNIMPLEMENTED);
    ck_assert_msg(strstr(call->message, FIELDS[_i].name) != NULL, "%s", call->message);
    http_get(w.http, "/v1/tables/made");
    EXPECT_STATUS(w.http, 404);
}
END_TEST

START_TEST(a_table_is_not_updated_by_what_is_not_here)
{
    char *paths[] = {text("deletion_protection"), text(FIELDS[_i].path)};
    Google__Protobuf__FieldMask mask = GOOGLE__PROTOBUF__FIELD_MASK__INIT;
    Bta__UpdateTableRequest ask_update = BTA__UPDATE_TABLE_REQUEST__INIT;
    Bta__Table wanted = BTA__TABLE__INIT;
    wanted.name = table;
    wanted.deletion_protection = true;
    FIELDS[_i].use(&wanted);
    mask.paths = paths;
    mask.n_paths = 2;
    ask_update.table = &wanted;
    ask_update.update_mask = &mask;
    ck_assert_int_eq(ask(ADMIN "UpdateTable", &ask_update.base), GW_STATUS_UNIMPLEMENTED);
    ck_assert_msg(strstr(call->message, FIELDS[_i].path) != NULL, "%s", call->message);
    http_get(w.http, "/v1/tables/devices");
    ck_assert(json_is_false(http_at(w.http, "/deletion_protection")));
}
END_TEST

/* The encryption of a tenant is its operator's to know. */
START_TEST(the_encryption_view_tells_what_the_replication_view_does)
{
    Bta__GetTableRequest ask_get = BTA__GET_TABLE_REQUEST__INIT;
    ask_get.name = table;
    for (int i = 0; i < 2; i++) {
        ask_get.view =
            i == 0 ? BTA__TABLE__VIEW__ENCRYPTION_VIEW : BTA__TABLE__VIEW__REPLICATION_VIEW;
        ck_assert_int_eq(ask(ADMIN "GetTable", &ask_get.base), GW_STATUS_OK);
        Bta__Table *got = (Bta__Table *)(void *)grpc_message_new(call, &bta__table__descriptor, 0);
        ck_assert_str_eq(got->name, table);
        ck_assert_uint_eq(got->n_column_families, 0);
        ck_assert_uint_eq(got->n_cluster_states, 1);
        const Bta__Table__ClusterState *state = got->cluster_states[0]->value;
        ck_assert_str_eq(got->cluster_states[0]->key, "main");
        ck_assert_int_eq(state->replication_state,
                         BTA__TABLE__CLUSTER_STATE__REPLICATION_STATE__READY);
        ck_assert_uint_eq(state->base.n_unknown_fields, 0); /* encryption_info would be one */
        bta__table__free_unpacked(got, NULL);
    }
}
END_TEST

Suite *suite_grpc_tables(void)
{
    Suite *s = suite_create("grpc_tables");
    TCase *tc = add_case(s, "tables");
    tcase_add_loop_test(tc, a_table_is_not_created_without_what_was_asked_for, 0, FIELD_COUNT);
    tcase_add_loop_test(tc, a_table_is_not_updated_by_what_is_not_here, 0, FIELD_COUNT);
    tcase_add_test(tc, the_encryption_view_tells_what_the_replication_view_does);
    world_end(tc);
    return s;
}

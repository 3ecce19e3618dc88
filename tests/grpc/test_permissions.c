/*
 * tests/grpc/test_permissions.c - TestIamPermissions of a real server, for keys of all scopes.
 */
#include <google/iam/v1/iam_policy.pb-c.h>

#include "views.h"

#include "base/banned.h"

Suite *suite_grpc_permissions(void);

#define INSTANCES  "/google.bigtable.admin.v2.BigtableInstanceAdmin/"
#define NAMES_MAX  (LIM_PERMISSIONS + 1)
#define TEXT_BYTES 1024

static const char *const SERVICES[] = {ADMIN, INSTANCES};

/* Its status; names: separated by spaces. */
static int test_permissions(struct grpc_client *of, const char *service, const char *resource,
                            const char *names)
{
    static char copy[8 * NAMES_MAX];
    static char *list[NAMES_MAX];
    char path[128];
    char *rest = NULL;
    Iam__TestIamPermissionsRequest ask_test = IAM__TEST_IAM_PERMISSIONS_REQUEST__INIT;
    (void)snprintf(path, sizeof path, "%sTestIamPermissions", service);
    (void)snprintf(copy, sizeof copy, "%s", names);
    ck_assert_uint_lt(strlen(names), sizeof copy);
    for (char *at = strtok_r(copy, " ", &rest); at != NULL; at = strtok_r(NULL, " ", &rest))
        list[ask_test.n_permissions++] = at;
    ask_test.resource = text(resource);
    ask_test.permissions = list;
    call = grpc_ask(of, path, &ask_test.base);
    return call->status;
}

static void expect_granted(const char *wanted)
{
    char granted[TEXT_BYTES] = "";
    size_t len = 0;
    ProtobufCMessage *message =
        grpc_message_new(call, &iam__test_iam_permissions_response__descriptor, 0);
    const Iam__TestIamPermissionsResponse *m = (const void *)message;
    for (size_t i = 0; i < m->n_permissions; i++)
        len += (size_t)snprintf(granted + len, sizeof granted - len, "%s%s", i == 0 ? "" : " ",
                                m->permissions[i]);
    ck_assert_str_eq(granted, wanted);
    protobuf_c_message_free_unpacked(message, NULL);
}

static void expect(const char *resource, const char *names, const char *granted)
{
    for (size_t i = 0; i < 2; i++) {
        int status = test_permissions(&client, SERVICES[i], resource, names);
        ck_assert_msg(status == GW_STATUS_OK, "%s", call->message);
        expect_granted(granted);
    }
}

/* --- scopes ------------------------------------------------------------------------------------
 */

#define ROWS "bigtable.tables.readRows bigtable.tables.mutateRows bigtable.tables.update"

static const struct {
    const char *scopes;
    const char *granted;
} KEYS[] = {
    {"['data.read']", "bigtable.tables.readRows"},
    {"['data.write']", "bigtable.tables.mutateRows"},
    {"['table.admin']", "bigtable.tables.update"},
    {"['data.read','table.admin']", "bigtable.tables.readRows bigtable.tables.update"},
    {"['data.read','data.write','table.admin']", ROWS},
};
#define KEY_COUNT (sizeof KEYS / sizeof KEYS[0])

START_TEST(a_key_has_the_permissions_of_its_scopes)
{
    char key[WORLD_KEY];
    admin_create_key(w.op, w.tenant, KEYS[_i].scopes, key, NULL);
    grpc_close(&client);
    grpc_open(&client, world_server(), key, 0);
    expect(table, ROWS, KEYS[_i].granted);
}
END_TEST

/* --- resources ---------------------------------------------------------------------------------
 */

/* Something of the tenant's project. */
static char *name_of(const char *rest)
{
    static char name[NAME];
    (void)snprintf(name, sizeof name, "projects/%s%s", w.tenant, rest);
    return name;
}

START_TEST(what_is_in_an_instance_may_be_named)
{
    begin_with_view();
    expect(name_of("/instances/main"), "bigtable.instances.ping bigtable.tables.list",
           "bigtable.instances.ping bigtable.tables.list");
    expect(name_of("/instances/-"), "bigtable.clusters.get", "bigtable.clusters.get");
    expect(view_name, "bigtable.authorizedViews.readRows", "bigtable.authorizedViews.readRows");
    expect(name_of("/instances/main/clusters/main/backups/b"),
           "bigtable.backups.restore bigtable.backups.read",
           "bigtable.backups.restore bigtable.backups.read");
    ck_assert_int_eq(test_permissions(&client, ADMIN, name_of(""), ROWS),
                     GW_STATUS_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(call->message, "instances/INSTANCE, or of what is in it"));
}
END_TEST

START_TEST(nothing_is_granted_on_what_is_not_there)
{
    begin_with_view();
    expect(name_of("/instances/main/tables/nosuch"), ROWS, "");
    expect(name_of("/instances/main/tables/devices/authorizedViews/nosuch"), ROWS, "");
    expect(name_of("/instances/main/tables/nosuch/authorizedViews/v"), ROWS, "");
}
END_TEST

START_TEST(another_tenants_table_is_forbidden)
{
    struct world other;
    char name[NAME];
    world_init(&other, HTTP_2);
    (void)snprintf(name, sizeof name, "projects/%s/instances/main/tables/devices", other.tenant);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(test_permissions(&client, SERVICES[i], name, ROWS),
                         GW_STATUS_PERMISSION_DENIED);
    world_fini(&other);
}
END_TEST

/* --- names -------------------------------------------------------------------------------------
 */

START_TEST(names_that_mean_nothing_are_not_granted)
{
    expect(table,
           "bigtable.instances.create bigtable.tables.setIamPolicy bigtable.tables.readrows "
           "tables.readRows storage.buckets.get bigtable. bigtable.tables.get",
           "bigtable.tables.get");
    expect(table, "", "");
    expect(table, "bigtable.tables.get bigtable.tables.get",
           "bigtable.tables.get bigtable.tables.get");
}
END_TEST

START_TEST(wildcards_and_too_many_names_are_refused)
{
    char names[8 * NAMES_MAX] = "";
    size_t len = 0;
    ck_assert_int_eq(test_permissions(&client, ADMIN, table, "bigtable.tables.get bigtable.*"),
                     GW_STATUS_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(call->message, "permission 2: \"bigtable.*\""));
    for (size_t i = 0; i < LIM_PERMISSIONS; i++)
        len += (size_t)snprintf(names + len, sizeof names - len, "b%zu ", i);
    ck_assert_int_eq(test_permissions(&client, ADMIN, table, names), GW_STATUS_OK);
    (void)snprintf(names + len, sizeof names - len, "b");
    ck_assert_int_eq(test_permissions(&client, ADMIN, table, names), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(call->message, "101 permissions; the limit is 100"));
}
END_TEST

/* A permission names its method: one that is not in the table of methods would end the server. */
START_TEST(every_permission_of_a_full_key_is_granted)
{
    static const char *const KINDS[][2] = {
        {"tables", "readRows sampleRowKeys mutateRows get list create update delete "
                   "generateConsistencyToken checkConsistency"},
        {"authorizedViews", "readRows sampleRowKeys mutateRows get list create update delete"},
        {"backups", "get list create update delete read restore"},
        {"instances", "get list ping"},
        {"clusters", "get list"},
        {"appProfiles", "get list"}};
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        char names[TEXT_BYTES] = "", verbs[TEXT_BYTES];
        char *rest = NULL;
        size_t len = 0;
        (void)snprintf(verbs, sizeof verbs, "%s", KINDS[i][1]);
        for (char *verb = strtok_r(verbs, " ", &rest); verb != NULL;
             verb = strtok_r(NULL, " ", &rest))
            len += (size_t)snprintf(names + len, sizeof names - len, "%sbigtable.%s.%s",
                                    len == 0 ? "" : " ", KINDS[i][0], verb);
        expect(table, names, names);
    }
}
END_TEST

Suite *suite_grpc_permissions(void)
{
    Suite *s = suite_create("grpc_permissions");
    TCase *tc = add_case(s, "permissions");
    tcase_add_loop_test(tc, a_key_has_the_permissions_of_its_scopes, 0, KEY_COUNT);
    tcase_add_test(tc, what_is_in_an_instance_may_be_named);
    tcase_add_test(tc, nothing_is_granted_on_what_is_not_there);
    tcase_add_test(tc, another_tenants_table_is_forbidden);
    tcase_add_test(tc, names_that_mean_nothing_are_not_granted);
    tcase_add_test(tc, wildcards_and_too_many_names_are_refused);
    tcase_add_test(tc, every_permission_of_a_full_key_is_granted);
    world_end(tc);
    return s;
}

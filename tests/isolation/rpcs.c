/*
 * tests/isolation/rpcs.c - requests for every gRPC method, made of the method table.
 *
 * A new method needs a form in FORMS, and each field of its request that takes text or bytes must
 * be in one of its forms, with {words} of names.h in it.
 */
#include "tests/isolation/rpcs.h"

#include <check.h>
#include <google/protobuf/empty.pb-c.h>
#include <stdio.h>
#include <string.h>

#include "tests/isolation/message.h"

#include "base/banned.h"

#define PROJECT  "projects/{tenant}"
#define INSTANCE PROJECT "/instances/main"
#define TABLE    INSTANCE "/tables/{table}"
#define VIEW     TABLE "/authorizedViews/{view}"
#define CLUSTER  INSTANCE "/clusters/main"
#define SAVED    CLUSTER "/backups/{saved}"
#define MISSING  "materialized_view_name=" INSTANCE "/materializedViews/{view}"

#define ON_TABLE "table_name=" TABLE ";app_profile_id={label}"
#define ON_VIEW  "authorized_view_name=" VIEW
#define SET(list)                                                                                  \
    list ".set_cell.family_name={family};" list ".set_cell.column_qualifier={qualifier};" list     \
         ".set_cell.value={value};" list ".set_cell.timestamp_micros=1000"
#define PARTITION(p)                                                                               \
    p "partition.row_range.start_key_closed=;" p "partition.row_range.end_key_open="
#define TOKENS "continuation_tokens.tokens."

static const struct form {
    const char *method; /* of all services that have one so named */
    const char *text;
} FORMS[] = {
    {"ReadRows", ON_TABLE},
    {"ReadRows", ON_TABLE ";rows.row_keys={key};request_stats_view=2"},
    {"ReadRows", ON_TABLE ";reversed=1;rows.row_ranges.start_key_closed={key}"},
    {"ReadRows",
     ON_TABLE ";rows.row_ranges.start_key_open=#;rows.row_ranges.end_key_closed={tenant}#"},
    {"ReadRows", ON_TABLE ";filter.row_key_regex_filter={key}.*;request_stats_view=2"},
    {"ReadRows", ON_TABLE ";filter.value_regex_filter={value};request_stats_view=2"},
    {"ReadRows", ON_TABLE ";filter.column_range_filter.family_name={family}"},
    {"ReadRows", ON_VIEW},
    {"ReadRows", MISSING},
    {"MutateRow", ON_TABLE ";row_key={key};" SET("mutations")},
    {"MutateRow", ON_TABLE ";row_key={key};mutations.delete_from_family.family_name={family}"},
    {"MutateRow", ON_TABLE ";row_key={key};idempotency.token={idempotency};" SET("mutations")},
    {"MutateRow", ON_VIEW ";row_key={key};" SET("mutations")},
    {"MutateRows", ON_TABLE ";entries.row_key={key};" SET("entries.mutations")},
    {"MutateRows", ON_VIEW ";entries.row_key={key};" SET("entries.mutations")},
    {"CheckAndMutateRow", ON_TABLE ";row_key={key};" SET("true_mutations")},
    {"CheckAndMutateRow",
     ON_TABLE ";row_key={key};predicate_filter.value_regex_filter={value};" SET("false_mutations")},
    {"CheckAndMutateRow", ON_VIEW ";row_key={key};" SET("true_mutations")},
    {"ReadModifyWriteRow",
     ON_TABLE ";row_key={key};rules.family_name={family};rules.column_qualifier={qualifier};"
              "rules.append_value="},
    {"ReadModifyWriteRow",
     ON_VIEW ";row_key={key};rules.family_name=stats;rules.column_qualifier={qualifier};"
             "rules.append_value="},
    {"SampleRowKeys", ON_TABLE},
    {"SampleRowKeys", ON_VIEW ";row_range.start_key_closed={key}"},
    {"SampleRowKeys", MISSING},
    {"GenerateInitialChangeStreamPartitions", ON_TABLE},
    {"ReadChangeStream", ON_TABLE ";" PARTITION("") ";end_time.seconds=1"},
    {"ReadChangeStream", ON_TABLE
     ";" PARTITION("") ";" TOKENS "token={change};" PARTITION(TOKENS) ";end_time.seconds=1"},
    {"PingAndWarm", "name=" INSTANCE ";app_profile_id={label}"},
    {"GetClientConfiguration", "instance_name=" INSTANCE ";app_profile_id={label}"},

    {"CreateTable", "parent=" INSTANCE ";table_id={table};table.column_families.key={family};"
                    "table.column_families.value=;initial_splits.key={key}"},
    {"CreateTable", "parent=" INSTANCE ";table_id={table}-new;table.column_families.key={family};"
                    "table.column_families.value="},
    {"ListTables", "parent=" INSTANCE ";page_size=1;page_token={list_page}"},
    {"ListTables", "parent=" INSTANCE ";view=4"},
    {"GetTable", "name=" TABLE},
    {"GetTable", "name=" TABLE ";view=4"},
    {"UpdateTable",
     "table.name=" TABLE ";table.deletion_protection=0;update_mask.paths=deletion_protection"},
    {"DeleteTable", "name=" TABLE},
    {"ModifyColumnFamilies",
     "name=" TABLE ";modifications.id={family};modifications.create.gc_rule.max_num_versions=1"},
    {"ModifyColumnFamilies",
     "name=" TABLE ";modifications.id={family};modifications.update.gc_rule.max_num_versions=1"},
    {"ModifyColumnFamilies", "name=" TABLE ";modifications.id={family};modifications.drop=1"},
    {"DropRowRange", "name=" TABLE ";row_key_prefix={key}"},
    {"DropRowRange", "name=" TABLE ";delete_all_data_from_table=1"},
    {"GenerateConsistencyToken", "name=" TABLE},
    {"CheckConsistency", "name=" TABLE ";consistency_token={consistency}"},

    {"CreateAuthorizedView",
     "parent=" TABLE ";authorized_view_id={view};authorized_view.subset_view.row_prefixes={key}"},
    {"CreateAuthorizedView",
     "parent=" TABLE
     ";authorized_view_id={view}-new;authorized_view.subset_view.row_prefixes={key}"},
    {"ListAuthorizedViews", "parent=" TABLE ";page_size=1;page_token={view_page}"},
    {"ListAuthorizedViews", "parent=" TABLE ";view=3"},
    {"GetAuthorizedView", "name=" VIEW ";view=3"},
    {"UpdateAuthorizedView",
     "authorized_view.name=" VIEW
     ";authorized_view.deletion_protection=0;update_mask.paths=deletion_protection"},
    {"DeleteAuthorizedView", "name=" VIEW},
    {"DeleteAuthorizedView", "name=" VIEW ";etag={label}"},

#define UNTIL(field) field ".seconds={next_week}"
    {"CreateBackup", "parent=" CLUSTER ";backup_id={saved};backup.source_table=" TABLE
                     ";" UNTIL("backup.expire_time")},
    {"CreateBackup", "parent=" CLUSTER ";backup_id={saved}-new;backup.source_table=" TABLE
                     ";" UNTIL("backup.expire_time")},
    {"CreateBackup", "parent=" CLUSTER ";backup_id={saved}-new;"
                     "backup.source_table=projects/acme/instances/main/tables/{table};" UNTIL(
                         "backup.expire_time")},
    {"GetBackup", "name=" SAVED},
    {"ListBackups", "parent=" CLUSTER ";page_size=1;page_token={saved_page}"},
    {"ListBackups", "parent=" CLUSTER ";filter=name:{saved} OR source_table:{table};order_by=name"},
    {"ListBackups", "parent=" CLUSTER ";order_by={label}"},
    {"UpdateBackup",
     "backup.name=" SAVED ";" UNTIL("backup.expire_time") ";update_mask.paths=expire_time"},
    {"DeleteBackup", "name=" SAVED},
    {"CopyBackup",
     "parent=" CLUSTER ";backup_id={saved}-new;source_backup=" SAVED ";" UNTIL("expire_time")},
    {"CopyBackup",
     "parent=" CLUSTER ";backup_id=copied;"
     "source_backup=projects/acme/instances/main/clusters/main/backups/{saved};" UNTIL(
         "expire_time")},
    {"RestoreTable", "parent=" INSTANCE ";table_id={table}-new;backup=" SAVED},
    {"RestoreTable", "parent=" INSTANCE ";table_id=devices-new;"
                     "backup=projects/acme/instances/main/clusters/main/backups/{saved}"},

    {"TestIamPermissions", "resource=" TABLE ";permissions=bigtable.tables.readRows"},
    {"TestIamPermissions", "resource=" VIEW ";permissions=bigtable.authorizedViews.mutateRows"},
    {"TestIamPermissions", "resource=" SAVED ";permissions=bigtable.backups.delete"},
    {"TestIamPermissions", "resource=" INSTANCE ";permissions={label}"},

    {"GetInstance", "name=" INSTANCE},
    {"ListInstances", "parent=" PROJECT},
    {"ListInstances", "parent=" PROJECT ";page_token={list_page}"},
    {"GetCluster", "name=" INSTANCE "/clusters/main"},
    {"GetCluster", "name=" INSTANCE "/clusters/{label}"},
    {"ListClusters", "parent=" INSTANCE},
    {"ListClusters", "parent=" INSTANCE ";page_token={list_page}"},
    {"GetAppProfile", "name=" INSTANCE "/appProfiles/default"},
    {"GetAppProfile", "name=" INSTANCE "/appProfiles/{label}"},
    {"ListAppProfiles", "parent=" INSTANCE},
    {"ListAppProfiles", "parent=" INSTANCE ";page_token={list_page}"},

#define MADE  PROJECT "/instances/made"
#define PLACE "location={label}"
    {"CreateInstance", "parent=" PROJECT ";instance_id=fresh;instance.display_name={table};"
                       "clusters.key=main;clusters.value." PLACE},
    {"UpdateInstance", "name=" MADE ";display_name={table}"},
    {"PartialUpdateInstance", "instance.name=" MADE ";instance.display_name={table};"
                              "update_mask.paths=display_name"},
    {"DeleteInstance", "name=" PROJECT "/instances/spare"},
    {"DeleteInstance", "name=" PROJECT "/instances/{label}"},
    {"CreateCluster", "parent=" MADE ";cluster_id=fresh;cluster." PLACE},
    {"UpdateCluster", "name=" MADE "/clusters/main;serve_nodes=3;" PLACE},
    {"UpdateCluster", "name=" MADE "/clusters/{label};serve_nodes=3"},
    {"PartialUpdateCluster",
     "cluster.name=" MADE "/clusters/main;cluster.serve_nodes=4;update_mask.paths=serve_nodes"},
    {"DeleteCluster", "name=" MADE "/clusters/spare"},
    {"DeleteCluster", "name=" MADE "/clusters/{label}"},
    {"CreateAppProfile", "parent=" MADE ";app_profile_id=fresh;"
                         "app_profile.single_cluster_routing.cluster_id=main"},
    {"CreateAppProfile", "parent=" MADE ";app_profile_id=fresh;"
                         "app_profile.single_cluster_routing.cluster_id={label}"},
    {"UpdateAppProfile", "app_profile.name=" MADE "/appProfiles/default;"
                         "app_profile.description={label};update_mask.paths=description"},
    {"DeleteAppProfile", "name=" MADE "/appProfiles/spare"},
    {"DeleteAppProfile", "name=" MADE "/appProfiles/{label}"},

#define OPERATION(kind) "name=operations/" INSTANCE "/operations/" kind
    {"GetOperation", OPERATION("update-table:{table}")},
    {"GetOperation", OPERATION("create-view:{table}:{view}")},
    {"WaitOperation", OPERATION("update-view:{table}:{view}")},
    {"ListOperations", "name=" INSTANCE},
    {"ListOperations", "name=" INSTANCE ";page_size=1;page_token={work_page}"},
    {"ListOperations", "name=" INSTANCE ";filter={label}"},
    {"GetOperation", OPERATION("{operation}")},
    {"CancelOperation", OPERATION("{operation}")},
    {"DeleteOperation", OPERATION("{operation}")},
    {"CancelOperation", OPERATION("update-table:{table}")},
    {"DeleteOperation", OPERATION("create-view:{table}:{view}")},

    {"Check", "service="},
    {"Check", "service={tenant}"},
    {"Watch", "service="},
    {"Watch", "service={tenant}"},
    {"ServerReflectionInfo", "host={tenant};list_services={table}"},
    {"ServerReflectionInfo", "host={tenant};file_containing_symbol={table}"},
    {"ServerReflectionInfo", "host={tenant};file_by_filename={table}"},
    {"ServerReflectionInfo", "host={tenant};all_extension_numbers_of_type={table}"},
    {"ServerReflectionInfo", "file_containing_extension.containing_type={table}"},
};
#define FORM_COUNT (sizeof FORMS / sizeof FORMS[0])

/* There are times in what they answer. */
static const char *const MOVING[] = {
    "ReadModifyWriteRow",   "ReadChangeStream",      "UpdateTable",    "GenerateConsistencyToken",
    "CreateAuthorizedView", "UpdateAuthorizedView",  "CreateBackup",   "GetBackup",
    "ListBackups",          "UpdateBackup",          "CopyBackup",     "RestoreTable",
    "GetOperation",         "ListOperations",        "CreateInstance", "UpdateInstance",
    "UpdateAppProfile",     "PartialUpdateInstance", "CreateCluster",  "UpdateCluster",
    "PartialUpdateCluster"};

static const unsigned WAYS[] = {
    RPC_PROJECT,
    RPC_NAME,
    RPC_PROJECT | RPC_NAME,
    RPC_BODY,
    RPC_BODY | RPC_NAME,
    RPC_ODD,
    RPC_PROJECT | RPC_NAME | RPC_BODY | RPC_ODD,
};
#define WAY_COUNT (sizeof WAYS / sizeof WAYS[0])

/* --- all of a method ---------------------------------------------------------------------------
 */

static bool is_of(const struct form *form, const struct gw_method *method)
{
    return strcmp(form->method, method->name) == 0;
}

/* NULL: it is served nowhere. */
static const ProtobufCMessageDescriptor *type_of(const struct gw_method *method)
{
    return method->request != NULL ? method->request : method->plain_request;
}

/* Something that can name a thing has to name one. */
static void expect_complete(const struct gw_method *method)
{
    for (unsigned i = 0; i < type_of(method)->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type_of(method)->fields[i];
        bool is_set = field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_BYTES;
        for (size_t f = 0; f < FORM_COUNT && !is_set; f++)
            is_set = is_of(&FORMS[f], method) && message_names(FORMS[f].text, field->name);
        ck_assert_msg(is_set,
                      "field %s of method %s/%s is in no request of tests/isolation/rpcs.c: FORMS "
                      "needs one",
                      field->name, method->service, method->name);
    }
}

/* Statistics have a latency among them. */
static bool moves(const struct gw_method *method, const char *text)
{
    if (message_names(text, "request_stats_view"))
        return true;
    for (size_t i = 0; i < sizeof MOVING / sizeof MOVING[0]; i++)
        if (strcmp(MOVING[i], method->name) == 0)
            return true;
    return false;
}

static size_t add_way(const struct gw_method *method, unsigned ways, struct rpc *out, size_t count)
{
    for (size_t f = 0; f < FORM_COUNT; f++) {
        if (!is_of(&FORMS[f], method))
            continue;
        ck_assert_uint_lt(count, RPCS_MAX);
        out[count++] = (struct rpc){.method = method,
                                    .ways = ways,
                                    .form = FORMS[f].text,
                                    .watches = strcmp(method->name, "Watch") == 0,
                                    .moves = moves(method, FORMS[f].text)};
    }
    return count;
}

size_t rpcs_of(const struct gw_method *method, struct rpc out[RPCS_MAX])
{
    if (type_of(method) == NULL) {
        out[0] = (struct rpc){.method = method, .form = ""};
        out[1] = (struct rpc){.method = method, .form = "", .ways = RPC_ODD};
        return 2;
    }
    size_t count = add_way(method, 0, out, 0);
    ck_assert_msg(count > 0,
                  "method %s/%s has no request in tests/isolation/rpcs.c: FORMS needs one",
                  method->service, method->name);
    expect_complete(method);
    for (size_t i = 0; i < WAY_COUNT; i++)
        count = add_way(method, WAYS[i], out, count);
    return count;
}

/* --- one ---------------------------------------------------------------------------------------
 */

const char *rpc_path(const struct rpc *r)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "/%s/%s", r->method->service, r->method->name);
    return path;
}

static bool is_name(const struct gw_method *method, const char *line, size_t len)
{
    const char *fields[] = {method->name_field, method->view_field};
    for (size_t i = 0; i < 2; i++) {
        size_t field = fields[i] == NULL ? len : strlen(fields[i]);
        if (field < len && strncmp(line, fields[i], field) == 0 && line[field] == '=')
            return true;
    }
    return false;
}

static void choose(const struct rpc *r, bool is_in_name, const struct names *own,
                   const struct names *foreign, struct names *out)
{
    unsigned way = is_in_name ? RPC_NAME : RPC_BODY;
    *out = (r->ways & way) != 0 ? *foreign : *own;
    if (is_in_name)
        name_set(out, NAME_TENANT,
                 ((r->ways & RPC_PROJECT) != 0 ? foreign : own)->text[NAME_TENANT]);
}

const ProtobufCMessage *rpc_message(const struct rpc *r, const struct names *own,
                                    const struct names *foreign, struct arena *arena)
{
    static struct names names;
    static char line[2048];
    struct buf text;
    base_buf_init(&text, 64 * KIB);
    for (const char *at = r->form; *at != '\0';) {
        size_t len = strcspn(at, ";");
        ck_assert_uint_lt(len, sizeof line - 1);
        (void)snprintf(line, sizeof line, "%.*s;", (int)len, at);
        choose(r, is_name(r->method, at, len), own, foreign, &names);
        names_expand(line, &names, &text);
        at += at[len] == ';' ? len + 1 : len;
    }
    ck_assert_int_eq(base_buf_append_byte(&text, '\0'), ERR_OK);
    const ProtobufCMessage *message = message_make(
        type_of(r->method) == NULL ? &google__protobuf__empty__descriptor : type_of(r->method),
        (const char *)text.ptr, arena);
    base_buf_fini(&text);
    return message;
}

const char *rpc_name(const struct rpc *r)
{
    static const char *const words[] = {"project", "name", "body", "odd metadata"};
    static char text[1024];
    int n = snprintf(text, sizeof text, "%s", rpc_path(r));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if ((r->ways & 1u << i) != 0)
            n += snprintf(text + n, sizeof text - (size_t)n, ", %s", words[i]);
    (void)snprintf(text + n, sizeof text - (size_t)n, ": %.400s", r->form);
    return text;
}

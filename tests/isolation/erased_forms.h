/*
 * tests/isolation/erased_forms.h - requests of gRPC for erased_story.c, as lines of text.
 *
 * Does:     name methods and tables; list what is sent beside the story's own requests.
 * Owns:     nothing.
 * May use:  protobuf-c.
 * Knows no: how they are sent.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Forms are as message.h reads them, with words of names.h.
 */
#ifndef TESTS_ISOLATION_ERASED_FORMS_H
#define TESTS_ISOLATION_ERASED_FORMS_H

#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <google/bigtable/v2/bigtable.pb-c.h>

#define ADMIN    "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define DATA     "/google.bigtable.v2.Bigtable/"
#define INSTANCE "projects/{tenant}/instances/main"
#define SUBSET                                                                                     \
    "authorized_view.subset_view.row_prefixes={key};"                                              \
    "authorized_view.subset_view.family_subsets.key={family};"                                     \
    "authorized_view.subset_view.family_subsets.value.qualifiers={qualifier};"                     \
    "authorized_view.subset_view.family_subsets.value.qualifier_prefixes={qualifier}-"
#define GRPC_SET(list)                                                                             \
    list ".set_cell.family_name={family};" list ".set_cell.column_qualifier={qualifier};" list     \
         ".set_cell.value={value};" list ".set_cell.timestamp_micros=1000"

/* Fields that are the server's to fill in, and those that it does not know: set all the same. */
#define POLICY_AND_STATES                                                                          \
    "table.automated_backup_policy.locations=zq-fam;table.cluster_states.key=zq-fam;"              \
    "table.restore_info.backup_info.backup=zq-saved;"                                              \
    "table.restore_info.backup_info.source_table={table};"                                         \
    "table.restore_info.backup_info.source_backup=zq-saved"
#define ENCRYPTION                                                                                 \
    "backup.encryption_info.kms_key_version=zq-memo;"                                              \
    "backup.encryption_info.encryption_status.message=zq-memo;"                                    \
    "backup.encryption_info.encryption_status.details.type_url=zq-memo;"                           \
    "backup.encryption_info.encryption_status.details.value=zq-memo"
static const struct {
    const char *path;
    const char *form;
} IGNORED[] = {
    {ADMIN "CreateTable",
     "parent=" INSTANCE ";table_id={table}-odd;table.name={table};"
     "table.column_families.key={family};table.column_families.value=;" POLICY_AND_STATES},
    {ADMIN "UpdateTable",
     "table.name=" INSTANCE "/tables/{table};table.column_families.key={family};"
     "table.column_families.value=;" POLICY_AND_STATES ";update_mask.paths=deletion_protection"},
    {ADMIN "CreateAuthorizedView",
     "parent=" INSTANCE "/tables/{table};authorized_view_id={view}-odd;authorized_view.name={view};"
     "authorized_view.etag={view};" SUBSET},
    {ADMIN "UpdateAuthorizedView",
     "authorized_view.name=" INSTANCE "/tables/{table}/authorizedViews/{view};"
     "authorized_view.etag={view};" SUBSET ";update_mask.paths=subset_view"},
    {ADMIN "CreateBackup",
     "parent=" INSTANCE "/clusters/main;backup_id={saved}-odd;backup.name={saved};"
     "backup.source_table=" INSTANCE "/tables/{table};backup.source_backup={saved};"
     "backup.expire_time.seconds={next_week};" ENCRYPTION},
    {ADMIN "UpdateBackup",
     "backup.name=" INSTANCE "/clusters/main/backups/{saved};backup.source_backup={saved};"
     "backup.source_table=" INSTANCE "/tables/{table};backup.expire_time.seconds={next_week};"
     "update_mask.paths=expire_time;" ENCRYPTION},
};

#define STATE "\001\001\001\001\001\001\001\001" /* 8 bytes, far from the range's end */
/* Mutations of each kind beside SetCell, in each list of them. */
#define GRPC_OTHERS(path, type, head, list)                                                        \
    {path, type,                                                                                   \
     head list ".delete_from_column.family_name={family};" list                                    \
               ".delete_from_column.column_qualifier={qualifier} gone"},                           \
        {path, type, head list ".delete_from_family.family_name={family}"},                        \
        {path, type,                                                                               \
         head list ".add_to_cell.family_name={family}-sums;" list                                  \
                   ".add_to_cell.column_qualifier.raw_value={qualifier};" list                     \
                   ".add_to_cell.timestamp.raw_timestamp_micros=2000;" list                        \
                   ".add_to_cell.input.int_value=5"},                                              \
    {                                                                                              \
        path, type,                                                                                \
            head list ".merge_to_cell.family_name={family}-sums;" list                             \
                      ".merge_to_cell.column_qualifier.raw_value={qualifier};" list                \
                      ".merge_to_cell.timestamp.raw_timestamp_micros=2000;" list                   \
                      ".merge_to_cell.input.raw_value=" STATE                                      \
    }
#define OF_TABLE "table_name=" INSTANCE "/tables/{table};"
static const struct {
    const char *path;
    const ProtobufCMessageDescriptor *type;
    const char *form;
} OTHERS[] = {
    GRPC_OTHERS(DATA "MutateRow", &bt__mutate_row_request__descriptor, OF_TABLE "row_key={key};",
                "mutations"),
    GRPC_OTHERS(DATA "MutateRows", &bt__mutate_rows_request__descriptor,
                OF_TABLE "entries.row_key={key};", "entries.mutations"),
    GRPC_OTHERS(DATA "CheckAndMutateRow", &bt__check_and_mutate_row_request__descriptor,
                OF_TABLE "row_key={key};", "true_mutations"),
    GRPC_OTHERS(DATA "CheckAndMutateRow", &bt__check_and_mutate_row_request__descriptor,
                OF_TABLE "row_key={key};", "false_mutations"),
};

#endif

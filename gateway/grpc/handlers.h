/*
 * gateway/grpc/handlers.h - the handlers that the method table names; one .c per subject.
 *
 * Does:     declares the handlers.
 * Owns:     nothing.
 * May use:  gateway/grpc/rpc.h.
 * Knows no: matching, credentials: a handler runs after all checks.
 * Threads:  the loop of the call.
 * Blocks:   no.
 * Fails by: ending the call with a status.
 * Limits:   those of each method.
 * Promises: 1. Every handler ends the call exactly once, now or later, or its peer is gone.
 */
#ifndef GATEWAY_GRPC_HANDLERS_H
#define GATEWAY_GRPC_HANDLERS_H

#include "gateway/grpc/rpc.h"

/* read_rows.c */
void gw_read_rows(struct gw_call *call);
/* sample_row_keys.c */
void gw_sample_row_keys(struct gw_call *call);
/* read_change_stream.c */
void gw_change_stream_partitions(struct gw_call *call);
void gw_read_change_stream(struct gw_call *call);
/* mutate_row.c: MutateRow, CheckAndMutateRow, ReadModifyWriteRow */
void gw_mutate_row(struct gw_call *call);
void gw_check_and_mutate_row(struct gw_call *call);
void gw_read_modify_write_row(struct gw_call *call);
/* mutate_rows.c */
void gw_mutate_rows(struct gw_call *call);
/* client_start.c: requests that clients send first */
void gw_ping_and_warm(struct gw_call *call);
void gw_get_client_configuration(struct gw_call *call);

/* table_admin.c */
void gw_admin_create_table(struct gw_call *call);
void gw_admin_list_tables(struct gw_call *call);
void gw_admin_get_table(struct gw_call *call);
void gw_admin_update_table(struct gw_call *call);
void gw_admin_delete_table(struct gw_call *call);
/* family_admin.c */
void gw_admin_modify_families(struct gw_call *call);
/* view_admin.c */
void gw_admin_create_view(struct gw_call *call);
void gw_admin_list_views(struct gw_call *call);
void gw_admin_get_view(struct gw_call *call);
void gw_admin_update_view(struct gw_call *call);
void gw_admin_delete_view(struct gw_call *call);
/* backup_work.c: methods that return an operation */
void gw_admin_create_backup(struct gw_call *call);
void gw_admin_copy_backup(struct gw_call *call);
void gw_admin_restore_table(struct gw_call *call);
/* backup_admin.c */
void gw_admin_get_backup(struct gw_call *call);
void gw_admin_list_backups(struct gw_call *call);
void gw_admin_update_backup(struct gw_call *call);
void gw_admin_delete_backup(struct gw_call *call);
/* permissions.c */
void gw_admin_test_permissions(struct gw_call *call);
/* drop_row_range.c */
void gw_admin_drop_row_range(struct gw_call *call);
/* consistency.c */
void gw_admin_generate_token(struct gw_call *call);
void gw_admin_check_consistency(struct gw_call *call);
/* instance_admin.c */
void gw_admin_get_instance(struct gw_call *call);
void gw_admin_list_instances(struct gw_call *call);
void gw_admin_get_cluster(struct gw_call *call);
void gw_admin_list_clusters(struct gw_call *call);
void gw_admin_get_app_profile(struct gw_call *call);
void gw_admin_list_app_profiles(struct gw_call *call);
/* instance_work.c: only at the emulator's listener, like the next two */
enum err gw_admin_check_instance(const ProtobufCMessage *request, struct errbuf *eb) MUST_CHECK;
void gw_admin_create_instance(struct gw_call *call);
void gw_admin_update_instance(struct gw_call *call);
void gw_admin_patch_instance(struct gw_call *call);
void gw_admin_delete_instance(struct gw_call *call);
/* cluster_work.c */
void gw_admin_create_cluster(struct gw_call *call);
void gw_admin_update_cluster(struct gw_call *call);
void gw_admin_patch_cluster(struct gw_call *call);
void gw_admin_delete_cluster(struct gw_call *call);
/* profile_work.c */
void gw_admin_create_profile(struct gw_call *call);
void gw_admin_update_profile(struct gw_call *call);
void gw_admin_delete_profile(struct gw_call *call);
/* operations.c */
void gw_operation_get(struct gw_call *call);
void gw_operation_list(struct gw_call *call);
void gw_operation_cancel(struct gw_call *call);
void gw_operation_forget(struct gw_call *call);

/* health.c */
void gw_health_check(struct gw_call *call);
void gw_health_watch(struct gw_call *call);
/* reflection.c */
void gw_reflection(struct gw_call *call);

#endif

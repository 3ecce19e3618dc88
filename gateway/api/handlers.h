/*
 * gateway/api/handlers.h - the handlers that the route table names; one .c per subject.
 *
 * Does:     declares the handlers and the query parameters they accept.
 * Owns:     nothing.
 * May use:  gateway/api/rest.h.
 * Knows no: matching, credentials: a handler runs after all checks.
 * Threads:  the loop of the call.
 * Blocks:   no.
 * Fails by: answering the call with a problem.
 * Limits:   those of each route.
 * Promises: 1. Every handler answers the call exactly once, now or later, or its peer is gone.
 */
#ifndef GATEWAY_API_HANDLERS_H
#define GATEWAY_API_HANDLERS_H

#include "gateway/api/rest.h"

/* rows.c */
void gw_row_put(struct gw_call *call);
void gw_row_patch(struct gw_call *call);
extern const char *const gw_row_get_query[];
void gw_row_get(struct gw_call *call);
void gw_row_delete(struct gw_call *call);

/* check_and_mutate.c, mutate.c, modify.c */
void gw_row_check(struct gw_call *call);
void gw_row_mutate(struct gw_call *call);
void gw_row_modify(struct gw_call *call);

/* scan.c */
extern const char *const gw_scan_query[];
void gw_scan(struct gw_call *call);

/* read.c */
void gw_read(struct gw_call *call);

/* samples.c */
extern const char *const gw_samples_query[];
void gw_samples(struct gw_call *call);

/* cells.c */
extern const char *const gw_row_write_query[];
extern const char *const gw_cell_put_query[];
void gw_cell_get(struct gw_call *call);
void gw_cell_put(struct gw_call *call);
void gw_cell_delete(struct gw_call *call);

/* write.c */
void gw_bulk_write(struct gw_call *call);

/* drop.c */
void gw_drop(struct gw_call *call);

/* tables.c */
void gw_table_list(struct gw_call *call);
void gw_table_put(struct gw_call *call);
void gw_table_get(struct gw_call *call);
void gw_table_delete(struct gw_call *call);
void gw_table_families(struct gw_call *call);

/* usage.c */
extern const char *const gw_admin_usage_query[];
void gw_usage_get(struct gw_call *call);
void gw_admin_usage_get(struct gw_call *call);

/* tenant_list.c */
extern const char *const gw_tenant_list_query[];
void gw_tenant_list(struct gw_call *call);

/* admin_plans.c */
void gw_plan_put(struct gw_call *call);
void gw_plan_list(struct gw_call *call);
void gw_plan_get(struct gw_call *call);
void gw_plan_delete(struct gw_call *call);

/* admin_tenants.c */
void gw_tenant_create(struct gw_call *call);
void gw_tenant_patch(struct gw_call *call);
void gw_tenant_get(struct gw_call *call);
void gw_tenant_suspend(struct gw_call *call);
void gw_tenant_resume(struct gw_call *call);
void gw_tenant_rotate_key(struct gw_call *call);
void gw_tenant_quota_get(struct gw_call *call);
void gw_tenant_quota_put(struct gw_call *call);

/* admin_departure.c */
void gw_tenant_offboard(struct gw_call *call);
void gw_tenant_undelete(struct gw_call *call);
void gw_tenant_hold(struct gw_call *call);
void gw_tenant_release(struct gw_call *call);

/* admin_keys.c */
void gw_tenant_key_create(struct gw_call *call);
void gw_tenant_key_list(struct gw_call *call);
void gw_tenant_key_revoke(struct gw_call *call);
void gw_admin_key_create(struct gw_call *call);
void gw_admin_key_list(struct gw_call *call);
void gw_admin_key_revoke(struct gw_call *call);

/* admin_jobs.c */
void gw_job_list(struct gw_call *call);
void gw_job_get(struct gw_call *call);

/* admin_backups.c */
void gw_backup_create(struct gw_call *call);
void gw_backup_list(struct gw_call *call);
void gw_backup_get(struct gw_call *call);
void gw_backup_verify(struct gw_call *call);
void gw_backup_delete(struct gw_call *call);

/* admin_tenant_backups.c */
void gw_tenant_backup_create(struct gw_call *call);
void gw_tenant_backup_list(struct gw_call *call);
void gw_tenant_restore(struct gw_call *call);
void gw_tenant_operation_list(struct gw_call *call);
void gw_tenant_operation_get(struct gw_call *call);
void gw_tenant_operation_cancel(struct gw_call *call);
/* admin_formats.c */
void gw_format_list(struct gw_call *call);

/* admin_certificates.c */
extern const char *const gw_certificate_query[];
void gw_certificate_get(struct gw_call *call);
void gw_certificate_key_get(struct gw_call *call);

/* admin_audit.c */
extern const char *const gw_audit_query[];
extern const char *const gw_own_audit_query[];
void gw_audit_list(struct gw_call *call);
void gw_own_audit_list(struct gw_call *call);
void gw_audit_head(struct gw_call *call);

/* admin_metering.c */
extern const char *const gw_metering_query[];
extern const char *const gw_own_metering_query[];
void gw_metering_list(struct gw_call *call);
void gw_own_metering_list(struct gw_call *call);

/* openapi_get.c */
void gw_openapi_get(struct gw_call *call);

/* top.c */
extern const char *const gw_top_query[];
void gw_top(struct gw_call *call);

/* gateway/metrics/ */
void gw_metrics(struct gw_call *call);

/* health.c */
void gw_healthz(struct gw_call *call);
void gw_readyz(struct gw_call *call);

#endif

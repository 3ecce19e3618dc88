/*
 * gateway/api/routes.c - the one table of routes.
 *
 * The routes that carry the load come first: matching walks the table from the top.
 */
#include "gateway/api/routes.h"

#include "auth/scopes.h"
#include "base/limits.h"
#include "gateway/api/handlers.h"

#include "base/banned.h"

#define READ   AUTH_DATA_READ, GW_ACCESS_READ, 1, NULL
#define WRITE  AUTH_DATA_WRITE, GW_ACCESS_WRITE, 1, NULL
#define MODIFY AUTH_DATA_READ | AUTH_DATA_WRITE, GW_ACCESS_MODIFY, 1, NULL
#define BULK   AUTH_DATA_WRITE, GW_ACCESS_WRITE, 0, NULL /* the handler charges line by line */
/* Routes that change more than rows are actions: macros like this one make the name of the action
 * mandatory. */
#define TABLE_W(action) AUTH_TABLE_ADMIN, GW_ACCESS_DEFINE, 1, action
#define TABLE_R         AUTH_TABLE_ADMIN, GW_ACCESS_READ, 1, NULL
#define ADMIN_R         AUTH_ADMIN_READ, GW_ACCESS_NONE, 0, NULL
#define ADMIN_W(action) AUTH_ADMIN_WRITE, GW_ACCESS_NONE, 0, action
#define OPS_R           AUTH_OPS_READ, GW_ACCESS_NONE, 0, NULL
#define OPEN            0, GW_ACCESS_NONE, 0, NULL

#define IN_ROWS  true, true /* only rows with the key's prefix, when the key has one */
#define IN_TABLE true, false
#define NO_TABLE false, false

#define NO_BODY    GW_BODY_NONE, 0
#define ROW_BODY   GW_BODY_JSON, LIM_BODY_BYTES
#define RAW_BODY   GW_BODY_RAW, LIM_BODY_BYTES
#define ADMIN_BODY GW_BODY_JSON, LIM_JSON_ADMIN_BYTES
/* Large enough for all splits that a table may have, in base64. */
#define TABLE_BODY GW_BODY_JSON, LIM_JSON_ADMIN_BYTES + 2 * LIM_SPLIT_BYTES
#define MAYBE_BODY GW_BODY_OPTIONAL, LIM_JSON_ADMIN_BYTES
#define LINES_BODY GW_BODY_LINES, 0

#define ROW    "/v1/tables/{table}/rows/{key}"
#define ROWS   "/v1/tables/{table}/rows"
#define CELL   "/v1/tables/{table}/cells/{key}/{family}/{qualifier}"
#define TABLE  "/v1/tables/{table}"
#define TENANT "/v1/admin/tenants/{id}"
#define PLAN   "/v1/admin/plans/{plan}"
#define BACKUP "/v1/admin/backups/{backup}"

/* clang-format off */
const struct gw_route gw_routes[] = {
    {"GET", ROW, READ, IN_ROWS, NO_BODY, gw_row_get_query, gw_row_get,
     "read a row, or some of its columns and versions"},
    {"PUT", ROW, WRITE, IN_ROWS, ROW_BODY, gw_row_write_query, gw_row_put,
     "replace a row"},
    {"PATCH", ROW, WRITE, IN_ROWS, ROW_BODY, gw_row_write_query, gw_row_patch,
     "add cells to a row; null deletes a column or a family"},
    {"DELETE", ROW, WRITE, IN_ROWS, NO_BODY, NULL, gw_row_delete,
     "delete a row"},
    {"POST", ROW ":mutate", WRITE, IN_ROWS, ROW_BODY, gw_row_write_query, gw_row_mutate,
     "apply a list of mutations to a row"},
    {"POST", ROW ":modify", MODIFY, IN_ROWS, ROW_BODY, NULL, gw_row_modify,
     "append to and increment cells of a row; answers the new ones"},
    {"POST", ROW ":check", MODIFY, IN_ROWS, ROW_BODY, gw_row_write_query, gw_row_check,
     "apply one of two lists of mutations, by whether a filter matches the row"},
    {"GET", ROWS, READ, IN_ROWS, NO_BODY, gw_scan_query, gw_scan,
     "read rows by prefix or range: JSON pages, or NDJSON by Accept"},
    {"POST", TABLE ":read", READ, IN_ROWS, ROW_BODY, NULL, gw_read,
     "read any set of rows through a filter: JSON pages, or NDJSON by Accept"},
    {"GET", TABLE ":samples", READ, IN_TABLE, NO_BODY, gw_samples_query, gw_samples,
     "keys that divide a table into parts of about the same size"},
    {"GET", CELL, READ, IN_ROWS, NO_BODY, NULL, gw_cell_get,
     "read one cell as raw bytes"},
    {"PUT", CELL, WRITE, IN_ROWS, RAW_BODY, gw_cell_put_query, gw_cell_put,
     "write one cell from raw bytes"},
    {"DELETE", CELL, WRITE, IN_ROWS, NO_BODY, NULL, gw_cell_delete,
     "delete all versions of one cell"},
    {"POST", TABLE ":write", BULK, IN_ROWS, LINES_BODY, gw_row_write_query, gw_bulk_write,
     "write many rows, one a line, with a verdict a line"},
    {"POST", TABLE ":drop", TABLE_W("table.drop_rows"), IN_TABLE, ADMIN_BODY, NULL, gw_drop,
     "delete all rows with a prefix, or all rows"},

    {"GET", "/v1/tables", READ, NO_TABLE, NO_BODY, NULL, gw_table_list,
     "list tables"},
    {"PUT", TABLE, TABLE_W("table.put"), NO_TABLE, TABLE_BODY, NULL, gw_table_put,
     "create a table, add or change families"},
    {"GET", TABLE, READ, IN_TABLE, NO_BODY, NULL, gw_table_get,
     "describe a table"},
    {"POST", TABLE ":families", TABLE_W("table.families"), IN_TABLE, ADMIN_BODY, NULL,
     gw_table_families,
     "create, update and drop families, all or nothing"},
    {"DELETE", TABLE, TABLE_W("table.delete"), NO_TABLE, NO_BODY, NULL, gw_table_delete,
     "delete a table and its rows"},
    {"GET", "/v1/audit", TABLE_R, NO_TABLE, NO_BODY, gw_own_audit_query, gw_own_audit_list,
     "the tenant's own part of the audit trail: JSON pages, or NDJSON by Accept"},
    {"GET", "/v1/metering", READ, NO_TABLE, NO_BODY, gw_own_metering_query, gw_own_metering_list,
     "what the tenant did and stored, an hour a line: NDJSON or CSV"},
    {"GET", "/v1/usage", READ, NO_TABLE, NO_BODY, NULL, gw_usage_get,
     "what the tenant stores, and its quota"},

    {"POST", "/v1/admin/tenants", ADMIN_W("tenant.create"), NO_TABLE, ADMIN_BODY, NULL,
     gw_tenant_create,
     "create a tenant"},
    {"GET", "/v1/admin/tenants", ADMIN_R, NO_TABLE, NO_BODY, gw_tenant_list_query, gw_tenant_list,
     "list tenants"},
    {"GET", TENANT, ADMIN_R, NO_TABLE, NO_BODY, NULL, gw_tenant_get,
     "describe a tenant"},
    {"PATCH", TENANT, ADMIN_W("tenant.change"), NO_TABLE, ADMIN_BODY, NULL, gw_tenant_patch,
     "change a tenant's display name or plan"},
    {"POST", TENANT ":suspend", ADMIN_W("tenant.suspend"), NO_TABLE, MAYBE_BODY, NULL,
     gw_tenant_suspend,
     "refuse a tenant's reads, writes or both"},
    {"POST", TENANT ":resume", ADMIN_W("tenant.resume"), NO_TABLE, MAYBE_BODY, NULL,
     gw_tenant_resume,
     "end a suspension"},
    {"POST", TENANT ":rotate-key", ADMIN_W("tenant.rotate_key"), NO_TABLE, MAYBE_BODY, NULL,
     gw_tenant_rotate_key,
     "a new data key for what an encrypted tenant writes from now on"},
    {"POST", TENANT ":offboard", ADMIN_W("tenant.offboard"), NO_TABLE, ADMIN_BODY, NULL,
     gw_tenant_offboard,
     "delete a tenant for good, with proof"},
    {"POST", TENANT ":undelete", ADMIN_W("tenant.undelete"), NO_TABLE, MAYBE_BODY, NULL,
     gw_tenant_undelete,
     "take back the deletion of a tenant, in its grace period"},
    {"POST", TENANT ":hold", ADMIN_W("tenant.hold"), NO_TABLE, ADMIN_BODY, NULL, gw_tenant_hold,
     "forbid to purge a tenant: legal hold"},
    {"POST", TENANT ":release", ADMIN_W("tenant.release"), NO_TABLE, MAYBE_BODY, NULL,
     gw_tenant_release,
     "end a legal hold"},
    {"GET", TENANT "/usage", ADMIN_R, NO_TABLE, NO_BODY, gw_admin_usage_query, gw_admin_usage_get,
     "what a tenant stores; with recount=true also counted anew"},
    {"GET", TENANT "/quota", ADMIN_R, NO_TABLE, NO_BODY, NULL, gw_tenant_quota_get,
     "what quota holds for a tenant, and what of it is its own"},
    {"PUT", TENANT "/quota", ADMIN_W("tenant.quota"), NO_TABLE, ADMIN_BODY, NULL,
     gw_tenant_quota_put,
     "set what a tenant has of its own quota"},
    {"POST", TENANT "/keys", ADMIN_W("key.create"), NO_TABLE, MAYBE_BODY, NULL,
     gw_tenant_key_create,
     "create a key of a tenant"},
    {"GET", TENANT "/keys", ADMIN_R, NO_TABLE, NO_BODY, NULL, gw_tenant_key_list,
     "list the keys of a tenant"},
    {"DELETE", TENANT "/keys/{keyid}", ADMIN_W("key.revoke"), NO_TABLE, NO_BODY, NULL,
     gw_tenant_key_revoke,
     "revoke a key of a tenant"},
    {"POST", "/v1/admin/keys", ADMIN_W("key.create"), NO_TABLE, ADMIN_BODY, NULL,
     gw_admin_key_create,
     "create a service or operator key"},
    {"GET", "/v1/admin/keys", ADMIN_R, NO_TABLE, NO_BODY, NULL, gw_admin_key_list,
     "list service and operator keys"},
    {"DELETE", "/v1/admin/keys/{keyid}", ADMIN_W("key.revoke"), NO_TABLE, NO_BODY, NULL,
     gw_admin_key_revoke,
     "revoke a service or operator key"},
    {"PUT", PLAN, ADMIN_W("plan.put"), NO_TABLE, ADMIN_BODY, NULL, gw_plan_put,
     "create or replace a plan; holds for its tenants at once"},
    {"GET", "/v1/admin/plans", ADMIN_R, NO_TABLE, NO_BODY, NULL, gw_plan_list,
     "list plans"},
    {"GET", PLAN, ADMIN_R, NO_TABLE, NO_BODY, NULL, gw_plan_get,
     "describe a plan"},
    {"DELETE", PLAN, ADMIN_W("plan.delete"), NO_TABLE, NO_BODY, NULL, gw_plan_delete,
     "delete a plan that no tenant has"},
    {"GET", "/v1/admin/jobs", ADMIN_R, NO_TABLE, NO_BODY, NULL, gw_job_list,
     "list offboarding jobs, newest first"},
    {"GET", "/v1/admin/jobs/{job}", ADMIN_R, NO_TABLE, NO_BODY, NULL, gw_job_get,
     "describe an offboarding job"},
    {"POST", "/v1/admin/backups", ADMIN_W("backup.create"), NO_TABLE, MAYBE_BODY, NULL,
     gw_backup_create,
     "begin a backup of everything"},
    {"GET", "/v1/admin/backups", ADMIN_R, NO_TABLE, NO_BODY, NULL, gw_backup_list,
     "list backups, newest first"},
    {"GET", BACKUP, ADMIN_R, NO_TABLE, NO_BODY, NULL, gw_backup_get,
     "describe a backup, or how far it is"},
    {"POST", BACKUP ":verify", ADMIN_W("backup.verify"), NO_TABLE, MAYBE_BODY, NULL,
     gw_backup_verify,
     "begin to read a backup again, every byte"},
    {"DELETE", BACKUP, ADMIN_W("backup.delete"), NO_TABLE, NO_BODY, NULL, gw_backup_delete,
     "delete a backup"},
    {"POST", TENANT "/backups", ADMIN_W("backup.create"), NO_TABLE, MAYBE_BODY, NULL,
     gw_tenant_backup_create,
     "begin a backup of one tenant, or of one table of it"},
    {"GET", TENANT "/backups", ADMIN_R, NO_TABLE, NO_BODY, NULL, gw_tenant_backup_list,
     "list the backups of one tenant, newest first"},
    {"POST", TENANT ":restore", ADMIN_W("tenant.restore"), NO_TABLE, ADMIN_BODY, NULL,
     gw_tenant_restore,
     "begin to restore a table, or all tables of a tenant, from a backup"},
    {"GET", TENANT "/operations", ADMIN_R, NO_TABLE, NO_BODY, NULL, gw_tenant_operation_list,
     "list a tenant's operations on backups, newest first"},
    {"GET", TENANT "/operations/{operation}", ADMIN_R, NO_TABLE, NO_BODY, NULL,
     gw_tenant_operation_get,
     "describe an operation on backups, or how far it is"},
    {"POST", TENANT "/operations/{operation}:cancel", ADMIN_W("operation.cancel"), NO_TABLE,
     MAYBE_BODY, NULL, gw_tenant_operation_cancel,
     "end an operation on backups early"},
    {"GET", "/v1/admin/formats", ADMIN_R, NO_TABLE, NO_BODY, NULL, gw_format_list,
     "formats of the data directory: which it has, and since when"},
    {"GET", TENANT "/certificate", ADMIN_R, NO_TABLE, NO_BODY, gw_certificate_query,
     gw_certificate_get,
     "the signed certificate of a tenant's erasure: JSON, or a page by Accept"},
    {"GET", "/v1/admin/certificate-key", ADMIN_R, NO_TABLE, NO_BODY, NULL, gw_certificate_key_get,
     "the public key that certificates are checked with, as PEM"},
    {"GET", "/v1/admin/audit", ADMIN_R, NO_TABLE, NO_BODY, gw_audit_query, gw_audit_list,
     "the audit trail, or a tenant's part of it: JSON pages, or NDJSON by Accept"},
    {"GET", "/v1/admin/audit/head", ADMIN_R, NO_TABLE, NO_BODY, NULL, gw_audit_head,
     "the newest record's number and hash, to be noted elsewhere"},
    {"GET", "/v1/admin/metering", ADMIN_R, NO_TABLE, NO_BODY, gw_metering_query, gw_metering_list,
     "what tenants did and stored, a line for each and hour: NDJSON or CSV"},

    {"GET", "/v1/admin/top", OPS_R, NO_TABLE, NO_BODY, gw_top_query, gw_top,
     "the tenants that do most at this moment"},

    {"GET", "/openapi.json", OPEN, NO_TABLE, NO_BODY, NULL, gw_openapi_get,
     "this API, described for programs"},
    {"GET", "/metrics", OPS_R, NO_TABLE, NO_BODY, NULL, gw_metrics,
     "figures of the server and of active tenants, for Prometheus"},
    {"GET", "/healthz", OPEN, NO_TABLE, NO_BODY, NULL, gw_healthz,
     "the process answers"},
    {"GET", "/readyz", OPEN, NO_TABLE, NO_BODY, NULL, gw_readyz,
     "the service can work"},
    {NULL, NULL, OPEN, NO_TABLE, GW_BODY_NONE, 0, NULL, NULL, NULL},
};
/* clang-format on */

const size_t gw_route_count = sizeof gw_routes / sizeof gw_routes[0] - 1;

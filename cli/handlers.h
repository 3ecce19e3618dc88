/*
 * cli/handlers.h - the handlers of the commands in the table, defined in cmd_<group>.c.
 *
 * Does:     declare one function per command.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: parsing.
 * Threads:  one.
 * Blocks:   on the network, input and output.
 * Fails by: the exit code, explained on stderr.
 * Limits:   those of cli/bounds.h.
 * Promises: 1. A handler prints its result only when it succeeded, streams excepted.
 */
#ifndef CLI_HANDLERS_H
#define CLI_HANDLERS_H

#include "base/buf.h"
#include "cli/cli.h"

enum cli_exit cli_tenant_create(struct cli *cli);
enum cli_exit cli_tenant_list(struct cli *cli);
enum cli_exit cli_tenant_change(struct cli *cli);
enum cli_exit cli_tenant_show(struct cli *cli);
enum cli_exit cli_tenant_suspend(struct cli *cli);
enum cli_exit cli_tenant_resume(struct cli *cli);
enum cli_exit cli_tenant_rotate_key(struct cli *cli);
enum cli_exit cli_tenant_offboard(struct cli *cli);
enum cli_exit cli_tenant_undelete(struct cli *cli);
enum cli_exit cli_tenant_hold(struct cli *cli);
enum cli_exit cli_tenant_release(struct cli *cli);
enum cli_exit cli_tenant_quota(struct cli *cli);

enum cli_exit cli_plan_put(struct cli *cli);
enum cli_exit cli_plan_list(struct cli *cli);
enum cli_exit cli_plan_show(struct cli *cli);
enum cli_exit cli_plan_delete(struct cli *cli);

enum cli_exit cli_key_create(struct cli *cli);
enum cli_exit cli_key_list(struct cli *cli);
enum cli_exit cli_key_revoke(struct cli *cli);

enum cli_exit cli_table_list(struct cli *cli);
enum cli_exit cli_table_create(struct cli *cli);
enum cli_exit cli_table_change(struct cli *cli);
enum cli_exit cli_table_show(struct cli *cli);
enum cli_exit cli_table_samples(struct cli *cli);
enum cli_exit cli_table_delete(struct cli *cli);

enum cli_exit cli_row_get(struct cli *cli);
enum cli_exit cli_row_put(struct cli *cli);
enum cli_exit cli_row_set(struct cli *cli);
enum cli_exit cli_row_delete(struct cli *cli);
enum cli_exit cli_row_mutate(struct cli *cli);
enum cli_exit cli_row_modify(struct cli *cli);
enum cli_exit cli_row_check(struct cli *cli);
enum cli_exit cli_row_load(struct cli *cli);
enum cli_exit cli_row_drop(struct cli *cli);

enum cli_exit cli_apply_run(struct cli *cli);
enum cli_exit cli_scan(struct cli *cli);
enum cli_exit cli_export_command(struct cli *cli);
enum cli_exit cli_import_command(struct cli *cli);
enum cli_exit cli_move_in_command(struct cli *cli);
enum cli_exit cli_tenant_move_command(struct cli *cli);
enum cli_exit cli_usage(struct cli *cli);
enum cli_exit cli_job_list(struct cli *cli);
enum cli_exit cli_job_show(struct cli *cli);
enum cli_exit cli_certificate_get(struct cli *cli);
enum cli_exit cli_certificate_verify(struct cli *cli);
enum cli_exit cli_certificate_html(struct cli *cli);
enum cli_exit cli_certificate_key(struct cli *cli);
enum cli_exit cli_backup_create(struct cli *cli);
enum cli_exit cli_backup_list(struct cli *cli);
enum cli_exit cli_backup_get(struct cli *cli);
enum cli_exit cli_backup_verify(struct cli *cli);
enum cli_exit cli_backup_delete(struct cli *cli);

/* cmd_restore.c */
enum cli_exit cli_backup_restore(struct cli *cli);
enum cli_exit cli_backup_operations(struct cli *cli);
/* Runs backup create with --tenant. Takes body. */
struct json_t;
enum cli_exit cli_restore_begin_backup(struct cli *cli, struct json_t *body);
enum cli_exit cli_migrate_status(struct cli *cli);
enum cli_exit cli_metering(struct cli *cli);
enum cli_exit cli_top(struct cli *cli);
enum cli_exit cli_audit_list(struct cli *cli);
enum cli_exit cli_audit_verify(struct cli *cli);
enum cli_exit cli_audit_export(struct cli *cli);
enum cli_exit cli_health(struct cli *cli);
/* Needs neither configuration nor connection. */
enum cli_exit cli_completion(struct cli *cli);

/* Follows a job to its end with a bar over its steps, then prints the job.
 * Returns CLI_CHECK_FAILED when the job failed. */
enum cli_exit cli_job_follow(struct cli *cli, const char *job_id);
/* Checks whether the server has the job. */
enum cli_exit cli_job_is_known(struct cli *cli, const char *job_id, bool *out);
/* Fills the pattern with table and key, the first two words. */
enum cli_exit cli_row_target(const struct cli *cli, const char *pattern, struct buf *target);

#endif

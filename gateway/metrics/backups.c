/*
 * gateway/metrics/backups.c - backups: their number, the newest, failures; operations of tenants.
 */
#include <stdio.h>

#include "gateway/metrics/exposition.h"
#include "gateway/metrics/groups.h"
#include "migrations/tenant_backup.h"

#include "base/banned.h"

#define US_DECIMALS 6
#define NS_DECIMALS 9
#define LABEL_BYTES 64

static void put_states(const struct gw_metric *m, const struct mig_operation_figures *f,
                       const char *label, const enum mig_op_state *states, size_t count)
{
    char labels[LABEL_BYTES];
    for (enum mig_op_kind kind = MIG_OP_BACKUP; kind < MIG_OP_KINDS; kind++) {
        for (size_t i = 0; i < count; i++) {
            (void)snprintf(labels, sizeof labels, "kind=\"%s\",%s=\"%s\"", mig_op_kind_name(kind),
                           label, mig_op_state_name(states[i])); /* fits */
            gw_metric_put(m, labels, f->counts[kind][states[i]]);
        }
    }
}

/* Writes the operations of all tenants together: a label with a tenant's name would show one
 * tenant's actions to others. */
static void put_operations(struct buf *out, struct mig_service *backups)
{
    static const enum mig_op_state PENDING[] = {MIG_OP_WAITING, MIG_OP_RUNNING};
    static const enum mig_op_state ENDED[] = {MIG_OP_DONE, MIG_OP_FAILED, MIG_OP_CANCELLED};
    struct mig_operation_figures f;
    mig_operation_figures(backups, &f);
    struct gw_metric m =
        gw_metric_begin(out, "bigtent_backup_operations", GW_GAUGE,
                        "Operations on tenants' backups that wait or run, of all tenants.");
    put_states(&m, &f, "state", PENDING, sizeof PENDING / sizeof PENDING[0]);
    m = gw_metric_begin(out, "bigtent_backup_operations_total", GW_COUNTER,
                        "Operations on tenants' backups that ended since the start.");
    put_states(&m, &f, "result", ENDED, sizeof ENDED / sizeof ENDED[0]);
    m = gw_metric_begin(out, "bigtent_backup_operation_running_seconds", GW_GAUGE,
                        "Since the operation under way began; 0: there is none.");
    gw_metric_put_fraction(&m, "", f.running_ns, NS_DECIMALS);
}

void gw_metrics_backups(struct buf *out, struct mig_service *backups)
{
    struct mig_service_figures f;
    mig_service_figures(backups, &f);
    gw_metric_one(out, "bigtent_backups", GW_GAUGE, "Backups on the list.", f.backups);
    struct gw_metric m = gw_metric_begin(out, "bigtent_backup_newest_timestamp_seconds", GW_GAUGE,
                                         "When the newest backup was begun; 0: there is none.");
    gw_metric_put_fraction(&m, "", (uint64_t)f.newest_us, US_DECIMALS);
    gw_metric_one(out, "bigtent_backup_newest_bytes", GW_GAUGE,
                  "Bytes of all files of the newest backup.", f.bytes);
    m = gw_metric_begin(out, "bigtent_backup_works_total", GW_COUNTER,
                        "Backups made, and those that failed; verifications that failed.");
    gw_metric_put(&m, "kind=\"create\",result=\"done\"", f.made);
    gw_metric_put(&m, "kind=\"create\",result=\"failed\"", f.failed);
    gw_metric_put(&m, "kind=\"verify\",result=\"failed\"", f.verify_failed);
    put_operations(out, backups);
}

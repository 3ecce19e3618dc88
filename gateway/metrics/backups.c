/*
 * gateway/metrics/backups.c - backups: how many, the newest, failures.
 */
#include "gateway/metrics/exposition.h"
#include "gateway/metrics/groups.h"
#include "migrations/backup_service.h"

#include "base/banned.h"

#define US_DECIMALS 6

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
}

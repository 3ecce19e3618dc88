/*
 * gateway/metrics/groups.h - the metrics by subject; one .c for each.
 *
 * Does:     writes all metrics of the edge, of requests, of the storage engine, of backups, of
 *           tenants.
 * Owns:     nothing.
 * May use:  base/, tenancy/, gateway/call.h.
 * Knows no: clients.
 * Threads:  the control thread.
 * Blocks:   no.
 * Fails by: latching an error in the buf.
 * Limits:   LIM_METRICS_TENANTS tenants by name.
 * Promises: 1. A name belongs to one group only.
 *           2. If the storage engine has failed, only metrics that would have to be read from it
 *              are missing.
 */
#ifndef GATEWAY_METRICS_GROUPS_H
#define GATEWAY_METRICS_GROUPS_H

#include "gateway/call.h"

/* edge.c: connections, memory of requests, and requests refused at the edge or because of their
 * caller. */
void gw_metrics_edge(struct buf *out, const struct gw_loops *loops, const struct gw_api *api);
/* requests.c: requests, their durations, bytes and failures, by route and method. */
void gw_metrics_requests(struct buf *out, const struct gw_observers *observers);
/* engine.c: queues, commits, RocksDB, the disk. */
void gw_metrics_engine(struct buf *out, struct sto_engine *engine);
/* backups.c: number, age, size, failures. */
void gw_metrics_backups(struct buf *out, struct mig_service *backups);
/* tenants.c: number of tenants, throttling, and the most active ones by name. */
void gw_metrics_tenants(struct buf *out, struct ten_registry *registry);

#endif

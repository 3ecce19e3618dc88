/*
 * gateway/metrics/groups.h - the metrics, by what they are about; one .c for each.
 *
 * Does:     write all metrics of the edge, of requests, of the storage engine, of backups, of
 *           tenants.
 * Owns:     nothing.
 * May use:  base/, tenancy/, gateway/call.h.
 * Knows no: who asks.
 * Threads:  the control thread.
 * Blocks:   no.
 * Fails by: latching an error in the buf.
 * Limits:   LIM_METRICS_TENANTS tenants by name.
 * Promises: 1. A name is of one group only.
 *           2. A storage engine that failed leaves out what it would have to read, and nothing
 * else.
 */
#ifndef GATEWAY_METRICS_GROUPS_H
#define GATEWAY_METRICS_GROUPS_H

#include "gateway/call.h"

/* edge.c: connections, memory of requests, and those that were refused at the edge or for who
 * asked. */
void gw_metrics_edge(struct buf *out, const struct gw_loops *loops, const struct gw_api *api);
/* requests.c: requests, their durations, bytes and failures, by route and method. */
void gw_metrics_requests(struct buf *out, const struct gw_observers *observers);
/* engine.c: queues, commits, RocksDB, the disk. */
void gw_metrics_engine(struct buf *out, struct sto_engine *engine);
/* backups.c: how many, how old, how large, failures. */
void gw_metrics_backups(struct buf *out, struct mig_service *backups);
/* tenants.c: how many there are, throttling, and the most active ones by name. */
void gw_metrics_tenants(struct buf *out, struct ten_registry *registry);

#endif

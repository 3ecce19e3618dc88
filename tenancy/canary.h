/*
 * tenancy/canary.h - markers that a new tenant gets, for the day it leaves.
 *
 * Does:     make random canaries, have them stored among the tenant's keys, keep their hashes.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: how they are looked for (storage/rocksdb/search.h).
 * Threads:  control.
 * Blocks:   yes.
 * Fails by: what the engine fails with.
 * Limits:   STO_CANARIES.
 * Promises: 1. A canary's bytes are in the engine's files and nowhere else. 2. They are in
 *              the batch that makes the tenant.
 */
#ifndef TENANCY_CANARY_H
#define TENANCY_CANARY_H

#include "tenancy/registry.h"

/* Any thread. Hashes are in the tenant's document alone: they are needed once, and would be most of
 * what an idle tenant costs. count: as its details say; ERR_CORRUPT when there are not so many. */
enum err ten_canaries_read(struct ten_registry *r, const struct ten_tenant *t, size_t count,
                           struct sto_canary out[STO_CANARIES], struct errbuf *eb) MUST_CHECK;
/* The commit of a tenant that is being created, with its canaries; details get their hashes. */
enum err ten_canaries_commit(struct ten_registry *r, struct ten_tenant *t,
                             struct ten_details *details, struct errbuf *eb) MUST_CHECK;

/* Those of tenants that were made before there were canaries, at most limit of them in one call;
 * *out_left: how many have none yet. A tenant that is being purged, or is gone, needs none. */
enum err ten_canaries_plant_missing(struct ten_registry *r, size_t limit, size_t *out_left,
                                    struct errbuf *eb) MUST_CHECK;
/* Whether the tenant of this stored document would get some there. ERR_CORRUPT. */
enum err ten_canaries_are_missing(struct slice document, bool *out) MUST_CHECK;

#endif

/*
 * tenancy/canary.h - markers stored for a new tenant, which the search after its purge checks.
 *
 * Does:     makes random canaries, stores them among the tenant's keys, keeps their hashes.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: how they are searched for (storage/rocksdb/search.h).
 * Threads:  control.
 * Blocks:   yes.
 * Fails by: the engine's errors.
 * Limits:   STO_CANARIES.
 * Promises: 1. A canary's bytes are in the engine's files and nowhere else. 2. They are in the
 *              batch that creates the tenant.
 */
#ifndef TENANCY_CANARY_H
#define TENANCY_CANARY_H

#include "tenancy/registry.h"

/* Reads the hashes from the tenant's document, on any thread. They are not kept in memory: they are
 * needed once, and would be most of an idle tenant's cost. count: as in the tenant's details;
 * ERR_CORRUPT when the document has another number. */
enum err ten_canaries_read(struct ten_registry *r, const struct ten_tenant *t, size_t count,
                           struct sto_canary out[STO_CANARIES], struct errbuf *eb) MUST_CHECK;
/* Commits a tenant that is being created, with its canaries; stores their hashes in details. */
enum err ten_canaries_commit(struct ten_registry *r, struct ten_tenant *t,
                             struct ten_details *details, struct errbuf *eb) MUST_CHECK;

/* Plants canaries for tenants created before there were canaries, at most `limit` tenants per call;
 * *out_left: how many still have none. A tenant that is PURGING, PURGED or EXPIRED needs none. */
enum err ten_canaries_plant_missing(struct ten_registry *r, size_t limit, size_t *out_left,
                                    struct errbuf *eb) MUST_CHECK;
/* Returns in *out whether ten_canaries_plant_missing would plant some for the tenant of this stored
 * document. ERR_CORRUPT. */
enum err ten_canaries_are_missing(struct slice document, bool *out) MUST_CHECK;

#endif

/*
 * tenancy/erasure_replay.h - repeats erasures in a database restored from a backup.
 *
 * Does:     checks every tenant of the ledger of erasures against the stored tenants, before any
 *           code reads them: an existing tenant is set to PURGING with a job; for an unknown one a
 *           tombstone is created, so that its ID is never used again.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: backups.
 * Threads:  the opening thread, before ten_registry_open.
 * Blocks:   yes: a synced batch for each changed tenant.
 * Fails by: ERR_CORRUPT (ledger, documents), engine errors.
 * Limits:   none.
 * Promises: 1. Afterwards no tenant of the ledger is served. 2. Repeated, or after a crash at any
 *              point, it ends in the same state. 3. Each change has its record in the audit trail.
 */
#ifndef TENANCY_ERASURE_REPLAY_H
#define TENANCY_ERASURE_REPLAY_H

#include "base/epoch.h"
#include "storage/engine.h"

/* out_changed: number of tenants changed. A missing ledger has no lines. */
enum err ten_erasure_replay(struct sto_engine *engine, struct base_epoch *epoch,
                            const char *ledger_path, size_t *out_changed,
                            struct errbuf *eb) MUST_CHECK;

#endif

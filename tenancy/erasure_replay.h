/*
 * tenancy/erasure_replay.h - a database from a backup learns who left since.
 *
 * Does:     hold every tenant of the ledger of erasures against the stored tenants, before anybody
 *           reads them: who is there is put to PURGING with a job; of whom nothing is known a
 *           tombstone is made, so that the ID is never used again.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: backups.
 * Threads:  the opening one, before ten_registry_open.
 * Blocks:   yes: a synced batch for each tenant that is changed.
 * Fails by: ERR_CORRUPT (ledger, documents), engine errors.
 * Limits:   none.
 * Promises: 1. After it no tenant of the ledger is served. 2. Again, or after a crash anywhere, it
 *              ends the same. 3. Each change has its record in the audit trail.
 */
#ifndef TENANCY_ERASURE_REPLAY_H
#define TENANCY_ERASURE_REPLAY_H

#include "base/epoch.h"
#include "storage/engine.h"

/* out_changed: how many tenants were. A ledger that is not there has no lines. */
enum err ten_erasure_replay(struct sto_engine *engine, struct base_epoch *epoch,
                            const char *ledger_path, size_t *out_changed,
                            struct errbuf *eb) MUST_CHECK;

#endif

/*
 * tenancy/erasure_lost.h - purged tenants without a line in the ledger of erasures.
 *
 * Does:     compares the tenants that are purged or expired in the database with the ledger;
 *           rewrites the missing lines from facts in the database.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: where the ledger's copy is stored.
 * Threads:  the thread that opens the registry, before its workers start.
 * Blocks:   yes: a read for each tenant without a line, a synced line for each rewritten one.
 * Fails by: ERR_CORRUPT (lines are lost, and `reissue` is false), engine errors, ERR_IO.
 * Limits:   none.
 * Promises: 1. A tenant that was purged before there were certificates does not count as missing.
 *              2. Nothing is written unless `reissue` is set; then the audit trail has a record of
 *              it.
 */
#ifndef TENANCY_ERASURE_LOST_H
#define TENANCY_ERASURE_LOST_H

#include "base/err.h"
#include "tenancy/registry.h"

/* out_reissued: number of tenants whose lines were rewritten. */
enum err ten_erasures_compare(struct ten_registry *r, bool reissue, size_t *out_reissued,
                              struct errbuf *eb) MUST_CHECK;

#endif

/*
 * tenancy/erasure_lost.h - tenants that are gone, and of whom the ledger of erasures has no line.
 *
 * Does:     compares the tenants that the database knows as purged or expired with the ledger;
 *           writes the missing lines again from what the database still knows.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: where the ledger's copy is.
 * Threads:  the one that opens the registry, before its workers start.
 * Blocks:   yes: a read for each tenant without a line, a synced line for each written again.
 * Fails by: ERR_CORRUPT (lines are lost, and may not be written again), engine errors, ERR_IO.
 * Limits:   none.
 * Promises: 1. A tenant that was purged before there were certificates is not missed. 2. Nothing is
 *              written unless it is asked for; then the audit trail has a record of it.
 */
#ifndef TENANCY_ERASURE_LOST_H
#define TENANCY_ERASURE_LOST_H

#include "base/err.h"
#include "tenancy/registry.h"

/* out_reissued: how many tenants' lines were written again. */
enum err ten_erasures_compare(struct ten_registry *r, bool reissue, size_t *out_reissued,
                              struct errbuf *eb) MUST_CHECK;

#endif

/*
 * tenancy/expiry.h - detects that the last backup of an erased tenant is gone.
 *
 * Does:     finds tenants that are PURGED and that no copy holds any more; issues their second
 *           certificate; makes them EXPIRED.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: how backups are stored; the store of certificates queries a callback.
 * Threads:  control.
 * Blocks:   yes.
 * Fails by: ERR_IO, ERR_UNAVAILABLE; tenants processed before the error are done.
 * Limits:   none.
 * Promises: 1. The line is in the ledger before the state says EXPIRED; after a crash between the
 *              two, the next pass sets the state. 2. A tenant whose certificate named no copies
 *              stays PURGED: it gets no second certificate.
 */
#ifndef TENANCY_EXPIRY_H
#define TENANCY_EXPIRY_H

#include "tenancy/registry.h"

/* Checks all purged tenants. To be called after copies were deleted; every start also runs it. */
enum err ten_expiry_look(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;

#endif

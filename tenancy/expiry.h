/*
 * tenancy/expiry.h - the day the last backup of a departed tenant is gone.
 *
 * Does:     find tenants that are PURGED and that no copy holds any more; issue their second
 *           certificate; make them EXPIRED.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: how backups are kept; the store of certificates asks whoever knows.
 * Threads:  control.
 * Blocks:   yes.
 * Fails by: ERR_IO, ERR_UNAVAILABLE; those before it are done.
 * Limits:   none.
 * Promises: 1. The line is in the ledger before the state says EXPIRED; a crash between both is
 *              made good by the next look. 2. A tenant whose certificate named no copies stays
 *              PURGED: that was its last word.
 */
#ifndef TENANCY_EXPIRY_H
#define TENANCY_EXPIRY_H

#include "tenancy/registry.h"

/* To be called when copies were deleted; done at every start, too. */
enum err ten_expiry_look(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;

#endif

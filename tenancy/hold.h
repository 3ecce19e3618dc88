/*
 * tenancy/hold.h - a legal hold: somebody forbids to delete a tenant, and says why.
 *
 * Does:     set and take away the hold of a tenant; say who has to be asked.
 * Owns:     nothing; a hold is a part of the tenant's details.
 * May use:  base/, tenancy/.
 * Knows no: HTTP.
 * Threads:  control.
 * Blocks:   setting and releasing do, on the disk.
 * Fails by: ERR_HELD, ERR_INVALID (no reason), ERR_CONFLICT (its purge has begun; a release without
 *           a hold), engine errors.
 * Limits:   LIM_REASON. One hold of a tenant: a second one takes the place of the first one's text.
 * Promises: 1. A held tenant does not come into PURGING; its grace period may end, then its purge
 *              waits for the release. 2. A hold is durable before the call returns.
 */
#ifndef TENANCY_HOLD_H
#define TENANCY_HOLD_H

#include "tenancy/registry.h"

/* ERR_HELD, naming who set it. */
enum err ten_hold_check(const struct ten_tenant *t, struct errbuf *eb) MUST_CHECK;
/* by: key ID. A held tenant stays held since when it was; by and reason become these. */
enum err ten_hold_set(struct ten_registry *r, struct ten_tenant *t, struct slice by,
                      struct slice reason, struct errbuf *eb) MUST_CHECK;
/* ERR_CONFLICT for a tenant that is not held: whoever releases it means another one. */
enum err ten_hold_release(struct ten_registry *r, struct ten_tenant *t,
                          struct errbuf *eb) MUST_CHECK;

#endif

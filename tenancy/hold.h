/*
 * tenancy/hold.h - legal holds: deletion of a tenant is forbidden, with a reason.
 *
 * Does:     sets and releases the hold of a tenant; reports who set it.
 * Owns:     nothing; a hold is a part of the tenant's details.
 * May use:  base/, tenancy/.
 * Knows no: HTTP.
 * Threads:  control.
 * Blocks:   setting and releasing do, on the disk.
 * Fails by: ERR_HELD, ERR_INVALID (no reason), ERR_CONFLICT (its purge has started; a release
 *           without a hold), engine errors.
 * Limits:   LIM_REASON. One hold per tenant: a second one replaces the text of the first.
 * Promises: 1. A held tenant does not become PURGING; its grace period may end, then its purge
 *              waits for the release. 2. A hold is durable before the call returns.
 */
#ifndef TENANCY_HOLD_H
#define TENANCY_HOLD_H

#include "tenancy/registry.h"

/* ERR_HELD, which names who set the hold. */
enum err ten_hold_check(const struct ten_tenant *t, struct errbuf *eb) MUST_CHECK;
/* by: key ID. A tenant that is held already keeps its since_us; by and reason are replaced. */
enum err ten_hold_set(struct ten_registry *r, struct ten_tenant *t, struct slice by,
                      struct slice reason, struct errbuf *eb) MUST_CHECK;
/* ERR_CONFLICT for a tenant that is not held: the caller probably means another tenant. */
enum err ten_hold_release(struct ten_registry *r, struct ten_tenant *t,
                          struct errbuf *eb) MUST_CHECK;

#endif

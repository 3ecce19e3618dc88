/*
 * tenancy/scope.h - the only maker of scopes: decides which keys a request may touch.
 *
 * Does:     checks the state of a tenant, and makes the storage scope of one of its tables.
 * Owns:     nothing; the caller releases the table scope.
 * May use:  base/, storage/, tenancy/.
 * Knows no: credentials; the caller has checked that the principal may act for the tenant.
 * Threads:  any thread joined to the epoch; lock-free.
 * Blocks:   no.
 * Fails by: ERR_SUSPENDED (with the reason), ERR_GONE, ERR_NOT_FOUND (table).
 * Limits:   none.
 * Promises: 1. No other code calls sto_scope_open (make lint).
 */
#ifndef TENANCY_SCOPE_H
#define TENANCY_SCOPE_H

#include "storage/scope.h"
#include "tenancy/tenant.h"

enum ten_access {
    TEN_READ,
    TEN_WRITE,
    TEN_MODIFY, /* a write that returns cells: both must be open; charged as a write */
    TEN_DEFINE, /* of tables, not rows: charged as a write; a busy server refuses it last */
};

/* Checks the state only: whether this tenant may be read or written now. */
enum err ten_access_check(const struct ten_tenant *t, enum ten_access access,
                          struct errbuf *eb) MUST_CHECK;

enum err ten_scope_table(struct ten_tenant *t, struct slice table_id, struct sto_table_scope *out,
                         struct errbuf *eb) MUST_CHECK;
struct sto_tenant_scope ten_scope_tenant(struct ten_tenant *t);

#endif

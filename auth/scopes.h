/*
 * auth/scopes.h - the permissions of a credential, as named bits.
 *
 * Does:     names the scopes; converts between names and bits.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: routes.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID for an unknown name.
 * Limits:   64 scopes.
 * Promises: 1. Bits are stored: append only.
 */
#ifndef AUTH_SCOPES_H
#define AUTH_SCOPES_H

#include "base/err.h"
#include "base/slice.h"

#define AUTH_DATA_READ   (1ull << 0) /* "data.read": rows, scans, own usage */
#define AUTH_DATA_WRITE  (1ull << 1) /* "data.write" */
#define AUTH_TABLE_ADMIN (1ull << 2) /* "table.admin": create, change, delete tables; drop rows */
#define AUTH_ADMIN_READ  (1ull << 3) /* "admin.read": tenants, keys (not secrets), jobs, usage */
#define AUTH_ADMIN_WRITE (1ull << 4) /* "admin.write": create, suspend, quota, keys, offboard */
#define AUTH_OPS_READ    (1ull << 5) /* "ops.read": metrics and live figures, nothing else */

#define AUTH_SCOPES_TENANT   (AUTH_DATA_READ | AUTH_DATA_WRITE | AUTH_TABLE_ADMIN)
#define AUTH_SCOPES_OPERATOR (AUTH_ADMIN_READ | AUTH_ADMIN_WRITE | AUTH_OPS_READ)

/* Returns the scopes with those that they include: admin.read includes ops.read. */
static inline uint64_t auth_scopes_held(uint64_t scopes)
{
    return (scopes & AUTH_ADMIN_READ) != 0 ? scopes | AUTH_OPS_READ : scopes;
}

enum err auth_scope_parse(struct slice name, uint64_t *out_bit) MUST_CHECK;
/* Returns the name of bit number i; NULL after the last. */
const char *auth_scope_name(unsigned i);
/* Writes "data.read,data.write", cut where it does not fit. */
#define AUTH_SCOPES_TEXT 128
void auth_scopes_text(uint64_t scopes, char out[AUTH_SCOPES_TEXT]);

#endif

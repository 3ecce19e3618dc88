/*
 * storage/scope.h - the right to touch one tenant's rows, as a type.
 *
 * Does:     carries the tenant's key prefix and account (tenant scope), and one of its tables
 *           (table scope). Every storage operation takes a scope, so no operation can name a key
 *           outside it.
 * Owns:     a table scope owns one ref on its schema, until sto_table_scope_release.
 * May use:  base/, storage/.
 * Knows no: who may have which scope; tenancy/scope.c decides and is the only caller of
 *           sto_scope_open (checked by make lint).
 * Threads:  any; copied by value.
 * Blocks:   no.
 * Fails by: ERR_INVALID for a malformed tenant ID.
 * Limits:   LIM_TENANT_ID.
 * Promises: 1. The prefix is "<tenant>#". No other tenant's prefix begins with it, and it begins
 *              with no other tenant's prefix, because IDs never contain '#'.
 */
#ifndef STORAGE_SCOPE_H
#define STORAGE_SCOPE_H

#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"
#include "storage/account.h"
#include "storage/schema.h"

#define STO_SCOPE_MAGIC 0x5c09e501u

struct sto_tenant_scope {
    uint32_t magic;
    uint8_t prefix_len; /* of "<tenant>#" */
    uint8_t prefix[LIM_TENANT_ID + 1];
    struct sto_account *account; /* lives until the process ends */
};

struct sto_table_scope {
    struct sto_tenant_scope tenant;
    struct sto_schema *schema; /* one ref */
};

/* Checks a tenant ID: [a-z0-9][a-z0-9-]{1,62} */
enum err sto_tenant_id_check(struct slice tenant_id, struct errbuf *eb) MUST_CHECK;

/* Makes a tenant scope. Only tenancy/scope.c calls this. */
enum err sto_scope_open(struct slice tenant_id, struct sto_account *account,
                        struct sto_tenant_scope *out) MUST_CHECK;
/* Makes a table scope, which acquires its own ref on the schema. */
struct sto_table_scope sto_table_scope_make(const struct sto_tenant_scope *tenant,
                                            struct sto_schema *schema);
void sto_table_scope_release(struct sto_table_scope *scope);

/* Returns the tenant ID without the '#'. Points into scope. */
struct slice sto_scope_tenant_id(const struct sto_tenant_scope *scope);

#endif

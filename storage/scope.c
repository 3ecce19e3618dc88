/*
 * storage/scope.c - checks a tenant ID and makes the prefix of all its keys.
 *
 * 1. A scope with the magic has a prefix of 3..64 bytes that ends in the only '#' it contains.
 */
#include "storage/scope.h"

#include "base/names.h"

#include "base/banned.h"

enum err sto_tenant_id_check(struct slice tenant_id, struct errbuf *eb)
{
    return base_tenant_id_check(tenant_id, eb);
}

enum err sto_scope_open(struct slice tenant_id, struct sto_account *account,
                        struct sto_tenant_scope *out)
{
    enum err rc = sto_tenant_id_check(tenant_id, NULL);
    if (rc != ERR_OK)
        return rc;
    INVARIANT(account != NULL);
    memset(out, 0, sizeof(*out));
    out->magic = STO_SCOPE_MAGIC;
    out->prefix_len = (uint8_t)(tenant_id.len + 1);
    memcpy(out->prefix, tenant_id.ptr, tenant_id.len);
    out->prefix[tenant_id.len] = '#';
    out->account = account;
    return ERR_OK;
}

struct sto_table_scope sto_table_scope_make(const struct sto_tenant_scope *tenant,
                                            struct sto_schema *schema)
{
    INVARIANT(tenant->magic == STO_SCOPE_MAGIC);
    return (struct sto_table_scope){.tenant = *tenant, .schema = sto_schema_ref(schema)};
}

void sto_table_scope_release(struct sto_table_scope *scope)
{
    if (scope == NULL || scope->schema == NULL)
        return;
    sto_schema_unref(scope->schema);
    scope->schema = NULL;
}

struct slice sto_scope_tenant_id(const struct sto_tenant_scope *scope)
{
    INVARIANT(scope->magic == STO_SCOPE_MAGIC);
    return base_slice(scope->prefix, (size_t)scope->prefix_len - 1);
}

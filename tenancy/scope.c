/*
 * tenancy/scope.c - the only code that turns a tenant into a key prefix.
 *
 * The tenant of a scope comes from a struct ten_tenant, never from a name in a request; the table
 * comes from that tenant's own list. The state is checked here and again by storage's gate, which
 * makes a purge safe; only the check here can say why.
 */
#include "tenancy/scope.h"

#include "tenancy/internal.h"
#include "tenancy/lifecycle.h"

#include "base/banned.h"

#define ALL (STO_GATE_NO_READS | STO_GATE_NO_WRITES)

static const uint32_t NEEDS_OPEN[] = {
    [TEN_READ] = STO_GATE_NO_READS,
    [TEN_WRITE] = STO_GATE_NO_WRITES,
    [TEN_MODIFY] = ALL,
    [TEN_DEFINE] = STO_GATE_NO_WRITES,
};

static enum err suspension_check(const struct ten_tenant *t, enum ten_access access,
                                 struct errbuf *eb)
{
    const struct ten_details *d = ten_tenant_details(t);
    if ((d->closed & NEEDS_OPEN[access]) == 0)
        return ERR_OK;
    return base_fail(eb, ERR_SUSPENDED, "%s suspended%s%s",
                     d->closed == ALL                 ? "the tenant is"
                     : d->closed == STO_GATE_NO_READS ? "the tenant's reads are"
                                                      : "the tenant's writes are",
                     d->reason[0] != '\0' ? ": " : "", d->reason);
}

static enum err fail_gone(enum ten_state state, struct errbuf *eb)
{
    return base_fail(eb, ERR_GONE,
                     state == TEN_DELETE_REQUESTED ? "the tenant's deletion was requested"
                     : state == TEN_PURGING        ? "the tenant is being deleted"
                                                   : "the tenant was deleted");
}

enum err ten_access_check(const struct ten_tenant *t, enum ten_access access, struct errbuf *eb)
{
    enum ten_state state = ten_tenant_state(t);
    switch (state) {
    case TEN_ACTIVE:
        return ERR_OK;
    case TEN_SUSPENDED:
        return suspension_check(t, access, eb);
    case TEN_DELETE_REQUESTED:
    case TEN_PURGING:
    case TEN_PURGED:
    case TEN_EXPIRED:
        return fail_gone(state, eb);
    }
    INVARIANT(!"a state this program does not know");
    return ERR_GONE;
}

struct sto_tenant_scope ten_scope_tenant(struct ten_tenant *t)
{
    INVARIANT(t != NULL && t->magic == TEN_TENANT_MAGIC);
    struct sto_tenant_scope scope;
    enum err rc = sto_scope_open(ten_tenant_id(t), &t->account, &scope);
    INVARIANT(rc == ERR_OK); /* the ID was checked when the tenant was created */
    return scope;
}

enum err ten_scope_table(struct ten_tenant *t, struct slice table_id, struct sto_table_scope *out,
                         struct errbuf *eb)
{
    enum ten_state state = ten_tenant_state(t);
    if (ten_state_is_leaving(state))
        return fail_gone(state, eb);
    const struct ten_tables *tables = ten_tenant_tables(t);
    size_t at;
    if (!ten_tables_search(tables, table_id, &at))
        return ten_tables_fail_missing(t, eb);
    struct sto_tenant_scope tenant = ten_scope_tenant(t);
    *out = sto_table_scope_make(&tenant, tables->schemas[at]);
    return ERR_OK;
}

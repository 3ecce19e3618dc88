/*
 * tenancy/scope.c - the one place where a tenant becomes a key prefix.
 *
 * The tenant of a scope comes from a struct ten_tenant, never from a name in a request; the table
 * from that tenant's own list. State is looked at here and again by storage's gate, under which a
 * purge is safe; the check here is the one that can say why.
 */
#include "tenancy/scope.h"

#include "base/clock.h"
#include "tenancy/internal.h"

#include "base/banned.h"

static enum err fail_suspended(const struct ten_tenant *t, struct errbuf *eb)
{
    const char *reason = ten_tenant_details(t)->reason;
    return base_fail(eb, ERR_SUSPENDED, "the tenant is suspended%s%s",
                     reason[0] != '\0' ? ": " : "", reason);
}

static enum err fail_gone(enum ten_state state, struct errbuf *eb)
{
    return base_fail(eb, ERR_GONE,
                     state == TEN_PURGING ? "the tenant is being deleted"
                                          : "the tenant was deleted");
}

enum err ten_access_check(const struct ten_tenant *t, enum ten_access access, struct errbuf *eb)
{
    (void)access; /* suspension stops reads and writes alike */
    enum ten_state state = ten_tenant_state(t);
    switch (state) {
    case TEN_ACTIVE:
        return ERR_OK;
    case TEN_SUSPENDED:
        return fail_suspended(t, eb);
    case TEN_PURGING:
    case TEN_PURGED:
        return fail_gone(state, eb);
    }
    INVARIANT(!"a state this program does not know");
    return ERR_GONE;
}

enum err ten_admit(struct ten_tenant *t, enum ten_access access, uint64_t cost,
                   uint64_t *out_retry_ns, struct errbuf *eb)
{
    enum err rc = ten_access_check(t, access, eb);
    if (rc != ERR_OK)
        return rc;
    struct ten_rate *rate = access == TEN_READ ? &t->read_ops : &t->write_ops;
    uint64_t wait_ns = 0;
    if (ten_rate_take(rate, cost, base_monotonic_ns(), &wait_ns))
        return ERR_OK;
    *out_retry_ns = wait_ns;
    return base_fail(
        eb, ERR_RATE_LIMITED, "the tenant's limit is %llu %s operations a second; retry in %llu ms",
        (unsigned long long)atomic_load_explicit(&rate->per_second, memory_order_relaxed),
        access == TEN_READ ? "read" : "write", (unsigned long long)(wait_ns / 1000000 + 1));
}

struct sto_tenant_scope ten_scope_tenant(struct ten_tenant *t)
{
    INVARIANT(t != NULL && t->magic == TEN_TENANT_MAGIC);
    struct sto_tenant_scope scope;
    enum err rc = sto_scope_open(ten_tenant_id(t), &t->account, &scope);
    INVARIANT(rc == ERR_OK); /* the ID was checked when the tenant was made */
    return scope;
}

enum err ten_scope_table(struct ten_tenant *t, struct slice table_id, struct sto_table_scope *out,
                         struct errbuf *eb)
{
    enum ten_state state = ten_tenant_state(t);
    if (state == TEN_PURGING || state == TEN_PURGED)
        return fail_gone(state, eb);
    const struct ten_tables *tables = ten_tenant_tables(t);
    size_t at;
    if (!ten_tables_search(tables, table_id, &at))
        return base_fail(eb, ERR_NOT_FOUND, "the tenant has no such table");
    struct sto_tenant_scope tenant = ten_scope_tenant(t);
    *out = sto_table_scope_make(&tenant, tables->schemas[at]);
    return ERR_OK;
}

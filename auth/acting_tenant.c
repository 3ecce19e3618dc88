/*
 * auth/acting_tenant.c - decides whose data a request reads or changes.
 *
 * Only service keys can choose, among the tenants on their list if they have one. A tenant that
 * does not exist is refused like one that the key may not use, so that names cannot be probed.
 */
#include "auth/keyring.h"

#include "base/banned.h"

static bool is_allowed(const struct auth_key *key, const struct ten_tenant *t)
{
    size_t low = 0;
    size_t high = key->allowed_count;
    if (key->allowed == NULL)
        return true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = base_slice_compare(ten_tenant_id(key->allowed[middle]), ten_tenant_id(t));
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static enum err acting_service(const struct auth_key *key, struct ten_registry *registry,
                               struct slice named, struct ten_tenant **out, struct errbuf *eb)
{
    if (named.len == 0)
        return base_fail(eb, ERR_INVALID,
                         "a service key acts for many tenants: the request must name one");
    struct ten_tenant *t =
        sto_tenant_id_check(named, NULL) == ERR_OK ? ten_tenant_find(registry, named) : NULL;
    if (t == NULL || !is_allowed(key, t))
        return base_fail(eb, ERR_FORBIDDEN, "this key may not act for the tenant that was named");
    *out = t;
    return ERR_OK;
}

enum err auth_acting_tenant(const struct auth_key *key, struct ten_registry *registry,
                            struct slice named, struct ten_tenant **out, struct errbuf *eb)
{
    switch (key->kind) {
    case AUTH_TENANT:
        INVARIANT(key->tenant != NULL);
        if (named.len > 0 && !base_slice_equal(named, ten_tenant_id(key->tenant)))
            return base_fail(eb, ERR_FORBIDDEN, "this key belongs to another tenant");
        *out = key->tenant;
        return ERR_OK;
    case AUTH_SERVICE:
        return acting_service(key, registry, named, out, eb);
    case AUTH_OPERATOR:
        return base_fail(eb, ERR_FORBIDDEN, "operator keys have no access to tenants' data");
    }
    INVARIANT(!"a kind this program does not know");
    return ERR_FORBIDDEN;
}

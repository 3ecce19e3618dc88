/*
 * storage/range.c - begin, end, and the last key inside, checked before they leave.
 *
 * 1. The separators '#' and '/' never occur in a tenant ID, so raising the separator by one gives
 *    the first key behind the tenant's.
 * 2. Table IDs begin with a letter, digit or '_', all below FF: separator FF is behind every key.
 */
#include "storage/range.h"

#include "base/banned.h"

static struct sto_range range_close(struct sto_range r, struct slice tenant, char separator)
{
    size_t n = r.begin_len;
    memcpy(r.end, r.begin, n);
    r.end[n - 1] = (uint8_t)(separator + 1);
    r.end_len = n;
    memcpy(r.last_inside, r.begin, n);
    r.last_inside[n] = 0xff;
    r.last_inside_len = n + 1;

    struct slice begin = sto_range_begin(&r);
    struct slice last = base_slice(r.last_inside, r.last_inside_len);
    INVARIANT(tenant.len >= LIM_TENANT_ID_MIN && n > tenant.len);
    INVARIANT(base_slice_compare(begin, last) < 0);
    INVARIANT(base_slice_compare(last, sto_range_end(&r)) < 0);
    INVARIANT(memcmp(r.begin + n - 1 - tenant.len, tenant.ptr, tenant.len) == 0);
    INVARIANT(memcmp(r.begin, r.end, n - 1) == 0 && r.begin[n - 1] == (uint8_t)separator);
    return r;
}

struct sto_range sto_range_of_tenant(const struct sto_tenant_scope *scope)
{
    struct sto_range r = {0};
    struct slice tenant = sto_scope_tenant_id(scope);
    memcpy(r.begin, tenant.ptr, tenant.len);
    r.begin[tenant.len] = '#';
    r.begin_len = tenant.len + 1;
    return range_close(r, tenant, '#');
}

struct sto_range sto_range_of_docs(const struct sto_tenant_scope *scope, char letter)
{
    struct sto_range r = {0};
    struct slice tenant = sto_scope_tenant_id(scope);
    r.begin[0] = (uint8_t)letter;
    r.begin[1] = '/';
    memcpy(r.begin + 2, tenant.ptr, tenant.len);
    r.begin[tenant.len + 2] = '/';
    r.begin_len = tenant.len + 3;
    return range_close(r, tenant, '/');
}

/*
 * storage/range.c - begin, end, and the last key inside, checked before they are returned.
 *
 * 1. The separators '#' and '/' never occur in the ID of a tenant or a table, so raising the
 *    separator by one makes the first key after the tenant's.
 * 2. Table IDs begin with a letter, digit or '_', all below FF: separator FF is after every key.
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

struct sto_range sto_range_of_docs(const struct sto_tenant_scope *scope, enum sto_doc_kind kind)
{
    struct sto_range r = {0};
    struct slice tenant = sto_scope_tenant_id(scope);
    r.begin[0] = (uint8_t)kind;
    r.begin[1] = '/';
    memcpy(r.begin + 2, tenant.ptr, tenant.len);
    r.begin[tenant.len + 2] = '/';
    r.begin_len = tenant.len + 3;
    return range_close(r, tenant, '/');
}

struct sto_range sto_range_of_tenant_doc(const struct sto_tenant_scope *scope)
{
    struct slice tenant = sto_scope_tenant_id(scope);
    struct sto_range r = {.begin = {STO_DOC_TENANT, '/'}, .begin_len = tenant.len + 2};
    memcpy(r.begin + 2, tenant.ptr, tenant.len);
    memcpy(r.end, r.begin, r.begin_len);
    r.end_len = r.begin_len + 1; /* the key and NUL: the next possible key */
    return r;
}

static struct sto_range range_of_table(struct slice tenant, struct slice table)
{
    struct sto_range r = {.begin_len = tenant.len + table.len + 2};
    memcpy(r.begin, tenant.ptr, tenant.len);
    r.begin[tenant.len] = '#';
    memcpy(r.begin + tenant.len + 1, table.ptr, table.len);
    r.begin[r.begin_len - 1] = '#';
    r.end_len = r.begin_len;
    memcpy(r.end, r.begin, r.begin_len);
    r.end[r.end_len - 1] = '#' + 1;

    INVARIANT(tenant.len >= LIM_TENANT_ID_MIN && table.len > 0);
    INVARIANT(memchr(r.begin, '#', r.begin_len - 1) == r.begin + tenant.len);
    INVARIANT(memchr(table.ptr, '#', table.len) == NULL);
    INVARIANT(base_slice_compare(sto_range_begin(&r), sto_range_end(&r)) < 0);
    return r;
}

struct sto_range sto_range_of_table(const struct sto_table_scope *scope)
{
    return range_of_table(sto_scope_tenant_id(&scope->tenant), sto_schema_table_id(scope->schema));
}

enum err sto_range_of_table_named(struct slice name, struct sto_range *out, struct errbuf *eb)
{
    const uint8_t *end = name.len == 0 ? NULL : memchr(name.ptr, '/', name.len);
    struct slice tenant = base_slice(name.ptr, end == NULL ? 0 : (size_t)(end - name.ptr));
    struct slice table = base_slice_skip(name, end == NULL ? name.len : tenant.len + 1);
    if (sto_tenant_id_check(tenant, NULL) != ERR_OK || sto_table_id_check(table, NULL) != ERR_OK)
        return base_fail(eb, ERR_CORRUPT, "a stored name is not of a table");
    *out = range_of_table(tenant, table);
    return ERR_OK;
}

struct sto_span sto_span_of_rows(const struct sto_range *table, struct slice begin,
                                 struct slice end)
{
    INVARIANT(base_slice_starts_with(begin, sto_range_begin(table)));
    INVARIANT(base_slice_compare(begin, end) < 0);
    INVARIANT(base_slice_compare(end, sto_range_end(table)) <= 0);
    return (struct sto_span){begin, end};
}

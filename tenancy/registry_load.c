/*
 * tenancy/registry_load.c - loads the registry before it serves.
 *
 * Plans and tenants first, then schemas, which arrive grouped by tenant (doc_key.h, promise 1),
 * then the counters of each table, through a scope, so that the account is exact before the first
 * request.
 *
 * 1. A schema of a tenant that is being purged only adds its counters; the purge removes it.
 * 2. Views and the sweeper's progress come last: they belong to visible tables.
 * 3. A schema marked as deleting becomes a removal, not a visible table. One with dropped families
 *    whose cells may still exist is visible and has a removal too.
 */
#include "base/alloc.h"
#include "tenancy/doc_key.h"
#include "tenancy/internal.h"
#include "tenancy/lifecycle.h"
#include "tenancy/scope.h"
#include "tenancy/sweep_memory.h"
#include "tenancy/tenant_doc.h"

#include "base/banned.h"

static enum err visit_tenant(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct ten_registry *r = ctx;
    struct slice id = base_slice_skip(key, 2);
    struct ten_tenant_doc doc;
    enum err rc = sto_tenant_id_check(id, NULL) == ERR_OK ? ERR_OK : ERR_CORRUPT;
    if (rc == ERR_OK)
        rc = ten_tenant_decode(body, &doc);
    if (rc != ERR_OK)
        return rc;
    doc.details.doc_version = version;
    if (doc.plan[0] != '\0') {
        doc.details.plan = ten_plan_of(r, base_slice_text(doc.plan));
        if (doc.details.plan == NULL)
            return ERR_CORRUPT;
    }
    struct ten_tenant *t = ten_tenant_new(id, doc.state, &doc.details);
    rc = ten_registry_add(r, t);
    if (rc != ERR_OK)
        ten_tenant_free(t);
    return rc;
}

/* --- schemas ---------------------------------------------------------------------------------- */

struct loaded {
    struct ten_tenant *tenant;
    struct sto_schema *schema;
};

struct schema_scan {
    struct ten_registry *registry;
    struct loaded *items;
    size_t count;
    size_t capacity;
};

static void scan_add(struct schema_scan *s, struct ten_tenant *t, struct sto_schema *schema)
{
    if (s->count == s->capacity) {
        size_t capacity = s->capacity == 0 ? 64 : s->capacity * 2;
        struct loaded *larger = base_new_array(capacity, sizeof larger[0]);
        for (size_t i = 0; i < s->count; i++)
            larger[i] = s->items[i];
        base_free(s->items);
        s->items = larger;
        s->capacity = capacity;
    }
    s->items[s->count++] = (struct loaded){.tenant = t, .schema = schema};
}

static enum err visit_schema(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct schema_scan *s = ctx;
    struct slice tenant_id;
    struct slice table_id;
    enum err rc = ten_doc_key_table_parts(key, &tenant_id, &table_id);
    if (rc != ERR_OK)
        return rc;
    struct ten_tenant *t = ten_tenant_find(s->registry, tenant_id);
    if (t == NULL || sto_table_id_check(table_id, NULL) != ERR_OK)
        return ERR_CORRUPT;
    struct sto_schema *schema = NULL;
    rc = sto_schema_decode(table_id, body, NULL, &schema);
    if (rc != ERR_OK)
        return rc;
    schema->version = version;
    if (schema->revision == 0) /* stored before there were revisions */
        schema->revision = version;
    scan_add(s, t, schema);
    return ERR_OK;
}

static enum err load_counters(struct ten_registry *r, const struct schema_scan *s,
                              struct errbuf *eb)
{
    for (size_t i = 0; i < s->count; i++) {
        struct sto_tenant_scope tenant = ten_scope_tenant(s->items[i].tenant);
        struct sto_table_scope scope = sto_table_scope_make(&tenant, s->items[i].schema);
        enum err rc = sto_counters_load(r->engine, &scope, eb);
        sto_table_scope_release(&scope);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

/* Adds the items [from, to), all of one tenant, to it. */
static void hand_over(struct ten_registry *r, struct loaded *items, size_t from, size_t to)
{
    struct ten_tenant *t = items[from].tenant;
    bool is_gone = ten_state_is_final(ten_tenant_state(t));
    size_t visible = 0;
    for (size_t i = from; i < to; i++)
        visible += !is_gone && !items[i].schema->deleting;
    struct ten_tables *tables = ten_tables_new(visible);
    size_t at = 0;
    for (size_t i = from; i < to; i++) {
        struct sto_schema *schema = items[i].schema;
        items[i].schema = NULL;
        if (is_gone)
            sto_schema_unref(schema);
        else if (schema->deleting)
            (void)ten_removal_add(r, t, schema); /* found again through the list */
        else
            tables->schemas[at++] = schema;
    }
    for (size_t i = 0; i < visible; i++)
        if (tables->schemas[i]->dropped_count > 0)
            (void)ten_removal_add(r, t, sto_schema_ref(tables->schemas[i]));
    ten_tables_publish(r, t, tables);
}

static enum err load_schemas(struct ten_registry *r, struct errbuf *eb)
{
    struct schema_scan s = {.registry = r};
    enum err rc = sto_docs_scan(r->engine, sto_doc_prefix(STO_DOC_SCHEMA), visit_schema, &s, eb);
    if (rc == ERR_OK)
        rc = load_counters(r, &s, eb);
    size_t from = 0;
    for (size_t i = 1; rc == ERR_OK && i <= s.count; i++) {
        if (i < s.count && s.items[i].tenant == s.items[from].tenant)
            continue;
        hand_over(r, s.items, from, i);
        from = i;
    }
    for (size_t i = 0; i < s.count; i++)
        sto_schema_unref(s.items[i].schema);
    base_free(s.items);
    return rc;
}

enum err ten_registry_load(struct ten_registry *r, struct errbuf *eb)
{
    enum err rc = ten_plans_load(r, eb);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "the plans' documents cannot be read: %s", base_err_name(rc));
    rc = sto_docs_scan(r->engine, sto_doc_prefix(STO_DOC_TENANT), visit_tenant, r, eb);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "the tenants' documents cannot be read: %s", base_err_name(rc));
    rc = ten_ciphers_load(r, eb);
    if (rc != ERR_OK)
        return rc;
    rc = load_schemas(r, eb);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "the tables' documents cannot be read: %s", base_err_name(rc));
    rc = ten_views_load(r, eb);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "the views' documents cannot be read: %s", base_err_name(rc));
    rc = ten_sweep_load(r, eb);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "the sweeper's documents cannot be read: %s", base_err_name(rc));
    ten_threshold_load(r);
    return ERR_OK;
}

/*
 * tenancy/table_restore.c - writers hold the schema of a normal table, while the stored schema is
 * that of a table that is being deleted.
 *
 *   begin     stored as deleting; on the registry's list of restores, which reserves its name
 *   publish   stored as a normal table; in the visible list
 *   abandon   a removal, as after a deletion; for a tenant that is being purged nothing: the purge
 *             removes rows and document
 *
 * 1. A table is in the visible list, or on the list of restores, or its removal is whole; never in
 *    two of them.
 */
#include "tenancy/table_restore.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "tenancy/doc_key.h"
#include "tenancy/internal.h"
#include "tenancy/lifecycle.h"
#include "tenancy/scope.h"

#include "base/banned.h"

struct ten_table_restore {
    struct ten_table_restore *next;
    struct ten_registry *registry;
    struct ten_tenant *tenant;
    struct sto_schema *schema; /* one ref */
};

/* --- the list --------------------------------------------------------------------------------- */

bool ten_table_is_restoring(const struct ten_registry *r, const struct ten_tenant *t,
                            struct slice table_id)
{
    for (const struct ten_table_restore *m = r->restores; m != NULL; m = m->next)
        if (m->tenant == t && base_slice_equal(sto_schema_table_id(m->schema), table_id))
            return true;
    return false;
}

uint64_t ten_table_restores_bytes(const struct ten_registry *r, const struct ten_tenant *t)
{
    uint64_t bytes = 0;
    for (const struct ten_table_restore *m = r->restores; m != NULL; m = m->next)
        bytes += m->tenant == t ? ten_schema_and_views_bytes(m->schema) : 0;
    return bytes;
}

static void restore_free(struct ten_table_restore *m)
{
    struct ten_table_restore **link = &m->registry->restores;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    m->tenant->tables_restoring--;
    ten_schema_bytes_count(m->registry, m->tenant);
    sto_schema_unref(m->schema);
    base_free(m);
}

/* --- begin ------------------------------------------------------------------------------------ */

static enum err name_check(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                           struct errbuf *eb)
{
    size_t at;
    const struct ten_removal *removal = ten_removal_find(r, t, table_id);
    if (ten_tables_search(ten_tenant_tables(t), table_id, &at))
        return base_fail(eb, ERR_EXISTS, "the tenant has a table of this name");
    if (removal != NULL)
        return base_fail(eb, ERR_EXISTS, "a table of this name is being deleted");
    if (ten_table_is_restoring(r, t, table_id))
        return base_fail(eb, ERR_EXISTS, "a table of this name is being restored");
    return ERR_OK;
}

static enum err make_like(const struct ten_table_wish *wish, struct sto_schema **out,
                          struct errbuf *eb)
{
    const struct sto_schema *like = wish->like;
    struct sto_family_spec *families =
        base_new_array(like->family_count + 1, sizeof families[0]); /* may have none */
    for (size_t i = 0; i < like->family_count; i++)
        families[i] = sto_family_spec_of(&like->families[i]);
    const struct sto_table_spec spec = {.families = families,
                                        .family_count = like->family_count,
                                        .protected = wish->is_whole && like->protected,
                                        .change_retention_s =
                                            wish->is_whole ? like->change_retention_s : 0,
                                        .row_key_notes = like->row_key_notes,
                                        .origin = wish->is_whole ? like->origin : wish->origin,
                                        .splits = like->splits,
                                        .split_count = like->split_count,
                                        .now_us = base_wall_us()};
    enum err rc = sto_schema_make(wish->table_id, NULL, &spec, out, eb);
    base_free(families);
    return rc;
}

static enum err store_hidden(struct ten_registry *r, struct ten_tenant *t,
                             struct sto_schema *schema, struct errbuf *eb)
{
    struct sto_schema *hidden = sto_schema_make_deleting(schema);
    enum err rc = ten_schema_commit(r, t, hidden, STO_DOC_ABSENT, eb);
    if (rc == ERR_OK)
        schema->version = hidden->version;
    sto_schema_unref(hidden);
    return rc;
}

enum err ten_table_restore_begin(struct ten_registry *r, struct ten_tenant *t,
                                 const struct ten_table_wish *wish, struct ten_table_restore **out,
                                 struct errbuf *eb)
{
    struct slice table_id = wish->table_id;
    struct sto_schema *schema = NULL;
    ten_control_check(r);
    enum err rc = ten_access_check(t, TEN_WRITE, eb);
    if (rc == ERR_OK && atomic_load(&r->stopping))
        rc = base_fail(eb, ERR_UNAVAILABLE, "the service is stopping");
    if (rc == ERR_OK)
        rc = sto_table_id_check(table_id, eb);
    if (rc == ERR_OK)
        rc = name_check(r, t, table_id, eb);
    if (rc == ERR_OK)
        rc = ten_tables_growth_check(t, NULL, wish->like->family_count, eb);
    if (rc == ERR_OK)
        rc = make_like(wish, &schema, eb);
    if (rc != ERR_OK)
        return rc;
    rc = ten_schema_bytes_check(r, t, 0, schema->bytes, eb);
    if (rc == ERR_OK)
        rc = store_hidden(r, t, schema, eb);
    if (rc != ERR_OK) {
        sto_schema_unref(schema);
        return rc;
    }
    struct ten_table_restore *m = base_new(sizeof *m);
    *m = (struct ten_table_restore){
        .next = r->restores, .registry = r, .tenant = t, .schema = schema};
    r->restores = m;
    t->tables_restoring++;
    ten_schema_bytes_count(r, t);
    *out = m;
    return ERR_OK;
}

struct sto_table_scope ten_table_restore_scope(const struct ten_table_restore *m)
{
    struct sto_tenant_scope tenant = ten_scope_tenant(m->tenant);
    return sto_table_scope_make(&tenant, m->schema);
}

enum err ten_table_restore_view(struct ten_table_restore *m, struct slice view_id,
                                struct slice body, struct errbuf *eb)
{
    ten_control_check(m->registry);
    return ten_view_restore(m->registry, m->tenant, m->schema, view_id, body, eb);
}

/* --- end -------------------------------------------------------------------------------------- */

/* Merges two sorted lists; no table is in both: name_check. */
static struct ten_tables *merge(const struct ten_tables *old, struct sto_schema *const *schemas,
                                size_t count)
{
    struct ten_tables *fresh = ten_tables_new(old->count + count);
    size_t from_old = 0, from_new = 0;
    for (size_t at = 0; at < fresh->count; at++) {
        bool is_old = from_new == count;
        if (!is_old && from_old < old->count)
            is_old = base_slice_compare(sto_schema_table_id(old->schemas[from_old]),
                                        sto_schema_table_id(schemas[from_new])) < 0;
        fresh->schemas[at] =
            sto_schema_ref(is_old ? old->schemas[from_old++] : schemas[from_new++]);
    }
    return fresh;
}

enum err ten_table_restores_publish(struct ten_table_restore *const *all, size_t count,
                                    const struct sto_doc_change *also, size_t also_count,
                                    struct errbuf *eb)
{
    INVARIANT(count > 0);
    struct ten_registry *r = all[0]->registry;
    struct ten_tenant *t = all[0]->tenant;
    struct sto_schema **schemas = base_new_array(count, sizeof schemas[0]);
    ten_control_check(r);
    for (size_t i = 0; i < count; i++) {
        INVARIANT(all[i]->tenant == t);
        schemas[i] = all[i]->schema;
        if (schemas[i]->change_retention_s > 0)
            schemas[i]->change_since_us = base_wall_us(); /* restored cells are not changes */
    }
    enum err rc = ten_access_check(t, TEN_WRITE, eb);
    if (rc == ERR_OK)
        rc = ten_schemas_commit(r, t, schemas, count, also, also_count, eb);
    if (rc == ERR_OK) {
        ten_tables_publish(r, t, merge(ten_tenant_tables(t), schemas, count));
        for (size_t i = 0; i < count; i++)
            restore_free(all[i]);
    }
    base_free(schemas);
    return rc;
}

void ten_table_restore_abandon(struct ten_table_restore *m)
{
    struct ten_registry *r = m->registry;
    ten_control_check(r);
    bool is_purged = ten_state_is_final(ten_tenant_state(m->tenant));
    if (!is_purged && !atomic_load(&r->stopping)) {
        struct sto_schema *deleting = sto_schema_make_deleting(m->schema);
        deleting->version = m->schema->version;
        ten_table_removal_run(ten_removal_add(r, m->tenant, deleting));
    }
    restore_free(m);
}

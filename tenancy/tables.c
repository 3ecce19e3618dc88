/*
 * tenancy/tables.c - the list of a tenant's tables; creating and changing a table.
 *
 * The visible list is an array sorted by table ID, replaced as a whole. Tables that are being
 * removed are not in it (removal.c), so a request cannot find them.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tenancy/audit_detail.h"
#include "tenancy/doc_key.h"
#include "tenancy/feature.h"
#include "tenancy/internal.h"
#include "tenancy/scope.h"
#include "tenancy/views.h"

#include "base/banned.h"

#define SCHEMA_DOC_MAX                                                                             \
    (320 *                                                                                         \
     KIB) /* 100 families of at most 2 KiB, notes, dropped ones, splits                      \
                 */

bool ten_tables_search(const struct ten_tables *tables, struct slice table_id, size_t *out_at)
{
    size_t low = 0;
    size_t high = tables->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = base_slice_compare(sto_schema_table_id(tables->schemas[middle]), table_id);
        if (order == 0) {
            *out_at = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *out_at = low;
    return false;
}

size_t ten_tables_behind(const struct ten_tables *tables, struct slice table_id)
{
    size_t at;
    return ten_tables_search(tables, table_id, &at) ? at + 1 : at;
}

struct ten_tables *ten_tables_with(const struct ten_tables *old, struct sto_schema *schema_take)
{
    size_t at;
    bool is_there = ten_tables_search(old, sto_schema_table_id(schema_take), &at);
    struct ten_tables *fresh = ten_tables_new(old->count + (is_there ? 0 : 1));
    for (size_t i = 0; i < at; i++)
        fresh->schemas[i] = sto_schema_ref(old->schemas[i]);
    fresh->schemas[at] = schema_take;
    size_t from = is_there ? at + 1 : at;
    for (size_t i = from; i < old->count; i++)
        fresh->schemas[at + 1 + i - from] = sto_schema_ref(old->schemas[i]);
    return fresh;
}

struct ten_tables *ten_tables_without(const struct ten_tables *old, size_t at)
{
    INVARIANT(at < old->count);
    struct ten_tables *fresh = ten_tables_new(old->count - 1);
    for (size_t i = 0; i < old->count; i++)
        if (i != at)
            fresh->schemas[i < at ? i : i - 1] = sto_schema_ref(old->schemas[i]);
    return fresh;
}

/* --- storing ---------------------------------------------------------------------------------- */

/* Prepares a change of the schema's document, based on its current version. body: one per
 * schema. */
static enum err change_of(const struct ten_tenant *t, const struct sto_schema *schema,
                          struct ten_doc_key *key, struct buf *body, struct sto_doc_change *out)
{
    base_buf_init(body, SCHEMA_DOC_MAX);
    *key = ten_doc_key_schema(ten_tenant_id(t), sto_schema_table_id(schema));
    enum err rc = sto_schema_encode(schema, body);
    *out = (struct sto_doc_change){
        .key = ten_doc_key_slice(key), .body = base_buf_slice(body), .expect = schema->version};
    return rc;
}

enum err ten_schemas_commit(struct ten_registry *r, struct ten_tenant *t,
                            struct sto_schema *const *schemas, size_t count,
                            const struct sto_doc_change *also, size_t also_count, struct errbuf *eb)
{
    struct sto_doc_change *changes = base_new_array(count + also_count, sizeof changes[0]);
    struct ten_doc_key *keys = base_new_array(count, sizeof keys[0]);
    struct buf *bodies = base_new_array(count, sizeof bodies[0]);
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < count; i++)
        rc = change_of(t, schemas[i], &keys[i], &bodies[i], &changes[i]);
    for (size_t i = 0; i < also_count; i++)
        changes[count + i] = also[i];
    if (rc == ERR_OK)
        rc = ten_docs_commit(r, changes, count + also_count, eb);
    else
        rc = base_fail(eb, rc, "the table's document cannot be written: %s", base_err_name(rc));
    for (size_t i = 0; rc == ERR_OK && i < count; i++)
        schemas[i]->version++; /* not published yet: no other thread sees it change */
    for (size_t i = 0; i < count; i++)
        base_buf_fini(&bodies[i]);
    base_free(bodies);
    base_free(keys);
    base_free(changes);
    return rc;
}

enum err ten_schema_commit(struct ten_registry *r, struct ten_tenant *t, struct sto_schema *schema,
                           uint64_t expect, struct errbuf *eb)
{
    schema->version = expect;
    return ten_schemas_commit(r, t, &schema, 1, NULL, 0, eb);
}

size_t ten_tables_used(const struct ten_tenant *t)
{
    return ten_tenant_tables(t)->count + t->tables_restoring;
}

static enum err tables_check(const struct ten_tenant *t, struct errbuf *eb)
{
    uint64_t max = sto_account_limit(&t->account, STO_LIMIT_TABLES);
    size_t used = ten_tables_used(t);
    if (used < max)
        return ERR_OK;
    return base_fail(eb, ERR_QUOTA, "tables quota: %zu used, 1 would be added, limit %" PRIu64,
                     used, max);
}

/* Existing tables and families stay, also above a limit that was lowered since. */
enum err ten_tables_growth_check(const struct ten_tenant *t, const struct sto_schema *old,
                                 size_t family_count, struct errbuf *eb)
{
    enum err rc = ERR_OK;
    if (old == NULL)
        rc = tables_check(t, eb);
    if (rc == ERR_OK && (old == NULL || family_count > old->family_count))
        rc = sto_account_limit_check(&t->account, STO_LIMIT_FAMILIES, family_count, eb);
    return rc;
}

/* Returns the bytes beyond LIM_SCHEMA_BYTES_FREE, which every tenant may use in any case. */
static size_t schemas_counted(uint64_t bytes)
{
    return bytes > LIM_SCHEMA_BYTES_FREE ? (size_t)bytes - LIM_SCHEMA_BYTES_FREE : 0;
}

/* Returns the share of a tenant whose schemas take `bytes`, for a change on the control thread. */
static struct base_memory_share schemas_share(struct ten_registry *r, uint64_t bytes)
{
    return (struct base_memory_share){.budget = r->schemas.limit == 0 ? NULL : &r->schemas,
                                      .used = schemas_counted(bytes)};
}

static enum err schemas_memory_check(struct ten_registry *r, uint64_t used, size_t more,
                                     struct errbuf *eb)
{
    struct base_memory_share share = schemas_share(r, used);
    size_t counted = schemas_counted(used + more) - schemas_counted(used);
    if (base_memory_take(&share, counted)) {
        base_memory_give(&share, counted); /* acquired when the schema exists */
        return ERR_OK;
    }
    return base_fail(eb, ERR_NO_MEMORY,
                     "schemas and authorized views of the tenant would take %zu bytes of the "
                     "server's memory, more than it has left for one tenant at this moment; "
                     "delete some, or have the operator give the server more (--request-mb)",
                     (size_t)used + more);
}

enum err ten_schema_bytes_check(struct ten_registry *r, const struct ten_tenant *t, size_t before,
                                size_t after, struct errbuf *eb)
{
    uint64_t used = atomic_load_explicit(&t->schema_bytes, memory_order_relaxed);
    if (after <= before)
        return ERR_OK;
    if (used + (after - before) > t->schema_bytes_max)
        return base_fail(eb, ERR_QUOTA,
                         "schemas quota (schema_bytes): %" PRIu64 " used by schemas and "
                         "authorized views, %zu would be added, limit %" PRIu32,
                         used, after - before, t->schema_bytes_max);
    return schemas_memory_check(r, used, after - before, eb);
}

void ten_schema_bytes_set(struct ten_registry *r, struct ten_tenant *t, uint64_t bytes)
{
    uint64_t before = atomic_load_explicit(&t->schema_bytes, memory_order_relaxed);
    struct base_memory_share share = schemas_share(r, before);
    if (bytes > before)
        base_memory_take_anyway(&share, schemas_counted(bytes) - schemas_counted(before));
    else
        base_memory_give(&share, schemas_counted(before) - schemas_counted(bytes));
    atomic_store_explicit(&t->schema_bytes, bytes, memory_order_relaxed);
}

uint64_t ten_schema_and_views_bytes(const struct sto_schema *schema)
{
    const struct sto_view_list *views = ten_views_of(schema);
    return schema->bytes + (views == NULL ? 0 : views->bytes);
}

void ten_schema_bytes_count(struct ten_registry *r, struct ten_tenant *t)
{
    const struct ten_tables *tables = ten_tenant_tables(t);
    uint64_t bytes = ten_table_restores_bytes(r, t);
    for (size_t i = 0; i < tables->count; i++)
        bytes += ten_schema_and_views_bytes(tables->schemas[i]);
    ten_schema_bytes_set(r, t, bytes);
}

enum err ten_table_store(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                         struct sto_schema *old, const struct sto_table_spec *spec,
                         struct errbuf *eb)
{
    const struct ten_tables *tables = ten_tenant_tables(t);
    struct sto_schema *fresh = NULL;
    enum err rc = ten_tables_growth_check(t, old, spec->family_count, eb);
    if (rc == ERR_OK)
        rc = sto_schema_make(table_id, old, spec, &fresh, eb);
    if (rc != ERR_OK)
        return rc;
    bool is_same = old != NULL && sto_schema_looks_same(old, fresh);
    if (is_same)
        ten_audit_set_unchanged();
    else
        rc = ten_schema_bytes_check(r, t, old != NULL ? old->bytes : 0, fresh->bytes, eb);
    if (!is_same && rc == ERR_OK)
        rc = ten_schema_commit(r, t, fresh, old != NULL ? old->version : STO_DOC_ABSENT, eb);
    if (is_same || rc != ERR_OK) {
        sto_schema_unref(fresh);
        return rc;
    }
    ten_tables_publish(r, t, ten_tables_with(tables, fresh));
    ten_family_removal_begin(r, t, fresh);
    return ERR_OK;
}

/* --- making and changing ---------------------------------------------------------------------- */

enum err ten_expect_check(const struct ten_expect *expect, const struct sto_schema *schema,
                          struct errbuf *eb)
{
    if (schema == NULL) {
        if (expect->present || expect->revision != 0)
            return base_fail(eb, ERR_PRECONDITION, "the table does not exist");
        return ERR_OK;
    }
    if (expect->absent)
        return base_fail(eb, ERR_PRECONDITION, "the table exists; its version is %" PRIu64,
                         schema->revision);
    if (expect->revision != 0 && expect->revision != schema->revision)
        return base_fail(eb, ERR_PRECONDITION,
                         "the table's version is %" PRIu64 ", not the one that was expected",
                         schema->revision);
    return ERR_OK;
}

enum err ten_table_for_change(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                              const struct ten_expect *expect, struct sto_schema **out,
                              struct errbuf *eb)
{
    ten_control_check(r);
    enum err rc = ten_access_check(t, TEN_WRITE, eb);
    if (rc == ERR_OK)
        rc = ten_tables_replacing_check(t, eb);
    if (rc != ERR_OK)
        return rc;
    const struct ten_removal *removal = ten_removal_find(r, t, table_id);
    if (removal != NULL && removal->whole)
        return base_fail(eb, ERR_CONFLICT,
                         "a table of this name is being deleted; try again when its rows are gone");
    if (ten_table_is_restoring(r, t, table_id))
        return base_fail(eb, ERR_CONFLICT, "a table of this name is being restored");
    const struct ten_tables *tables = ten_tenant_tables(t);
    size_t at;
    struct sto_schema *schema =
        ten_tables_search(tables, table_id, &at) ? tables->schemas[at] : NULL;
    rc = ten_expect_check(expect, schema, eb);
    if (rc == ERR_OK)
        *out = schema;
    return rc;
}

/* Checks that every family of old is among the wanted ones. */
static enum err nothing_dropped(const struct sto_schema *old, const struct ten_table_wanted *wanted,
                                struct errbuf *eb)
{
    for (size_t i = 0; i < old->family_count; i++) {
        struct slice name = base_slice(old->families[i].name, old->families[i].name_len);
        size_t k = 0;
        while (k < wanted->family_count && !base_slice_equal(wanted->families[k].name, name))
            k++;
        if (k == wanted->family_count)
            return base_fail(eb, ERR_CONFLICT,
                             "the table has a family \"%s\" that is left out; here families are "
                             "only added or changed",
                             old->families[i].name);
    }
    return ERR_OK;
}

enum err ten_table_put(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                       const struct ten_table_wanted *wanted, bool *out_created, struct errbuf *eb)
{
    struct sto_schema *old = NULL;
    ten_audit_set_table(wanted);
    enum err rc = ten_table_for_change(r, t, table_id, &wanted->expect, &old, eb);
    if (rc == ERR_OK && old != NULL)
        rc = nothing_dropped(old, wanted, eb);
    if (rc != ERR_OK)
        return rc;
    struct sto_table_spec spec = {
        .families = wanted->families,
        .family_count = wanted->family_count,
        .protected = old != NULL && old->protected,
        .row_key_notes = old != NULL ? old->row_key_notes : SLICE_EMPTY,
        .splits = wanted->splits,
        .split_count = wanted->split_count,
        .change_retention_s = old != NULL ? old->change_retention_s : 0,
        .now_us = base_wall_us(),
    };
    if (wanted->has_protected)
        spec.protected = wanted->protected;
    if (wanted->has_row_key_notes)
        spec.row_key_notes = wanted->row_key_notes;
    if (wanted->has_change_retention)
        spec.change_retention_s = wanted->change_retention_s;
    bool is_new_stream =
        spec.change_retention_s > 0 && (old == NULL || old->change_retention_s == 0);
    if (is_new_stream)
        rc = ten_feature_check(t, TEN_CHANGE_STREAMS, eb);
    if (rc != ERR_OK)
        return rc;
    bool created = old == NULL; /* old may be freed by the next call */
    rc = ten_table_store(r, t, table_id, old, &spec, eb);
    if (rc == ERR_OK)
        *out_created = created;
    return rc;
}

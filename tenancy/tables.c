/*
 * tenancy/tables.c - the list of a tenant's tables, and making and changing one.
 *
 * The visible list is an array sorted by table ID, replaced as a whole. Tables that are being
 * removed are not in it (table_removal.c), so a request cannot find them.
 */
#include "base/alloc.h"
#include "tenancy/doc_key.h"
#include "tenancy/internal.h"
#include "tenancy/scope.h"

#include "base/banned.h"

#define SCHEMA_DOC_MAX (64 * KIB) /* 100 families of some 90 bytes */

static struct slice id_of(const struct sto_schema *s)
{
    return base_slice(s->table->id, s->table->id_len);
}

bool ten_tables_search(const struct ten_tables *tables, struct slice table_id, size_t *out_at)
{
    size_t low = 0;
    size_t high = tables->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = base_slice_compare(id_of(tables->schemas[middle]), table_id);
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

struct ten_tables *ten_tables_with(const struct ten_tables *old, struct sto_schema *schema_take)
{
    size_t at;
    bool is_there = ten_tables_search(old, id_of(schema_take), &at);
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

/* --- making and changing ---------------------------------------------------------------------- */

/* Every family of old must be among the wanted ones. */
static enum err nothing_dropped(const struct sto_schema *old, const struct sto_schema *wanted,
                                struct errbuf *eb)
{
    for (size_t i = 0; i < old->family_count; i++)
        if (sto_schema_family_by_number(wanted, old->families[i].number) == NULL)
            return base_fail(eb, ERR_CONFLICT,
                             "the table has a family \"%s\" that is left out; families are only "
                             "added or changed",
                             old->families[i].name);
    return ERR_OK;
}

/* No family was dropped, so the same number of families are the same families. */
static bool is_same(const struct sto_schema *old, const struct sto_schema *wanted)
{
    if (old->family_count != wanted->family_count)
        return false;
    for (size_t i = 0; i < old->family_count; i++)
        if (old->families[i].gc.max_versions != wanted->families[i].gc.max_versions ||
            old->families[i].gc.max_age_us != wanted->families[i].gc.max_age_us)
            return false;
    return true;
}

enum err ten_schema_commit(struct ten_registry *r, struct ten_tenant *t, struct sto_schema *schema,
                           uint64_t expect, struct errbuf *eb)
{
    struct buf body;
    base_buf_init(&body, SCHEMA_DOC_MAX);
    enum err rc = sto_schema_encode(schema, &body);
    if (rc == ERR_OK) {
        struct ten_doc_key key = ten_doc_key_schema(ten_tenant_id(t), id_of(schema));
        struct sto_doc_change change = {
            .key = ten_doc_key_slice(&key),
            .body = base_buf_slice(&body),
            .expect = expect,
        };
        rc = sto_docs_commit(r->engine, &change, 1, eb);
    } else {
        rc = base_fail(eb, rc, "the table's document cannot be written: %s", base_err_name(rc));
    }
    base_buf_fini(&body);
    if (rc == ERR_OK)
        schema->version = expect + 1; /* not published yet: nobody else sees it change */
    return rc;
}

static enum err put_checked(struct ten_registry *r, struct ten_tenant *t, struct sto_schema *old,
                            struct sto_schema *wanted, bool *out_is_used, struct errbuf *eb)
{
    const struct ten_tables *tables = ten_tenant_tables(t);
    if (old == NULL && tables->count >= LIM_TABLES)
        return base_fail(eb, ERR_TOO_BIG, "the tenant has %zu tables; the limit is %d",
                         tables->count, LIM_TABLES);
    if (old != NULL) {
        enum err rc = nothing_dropped(old, wanted, eb);
        if (rc != ERR_OK || is_same(old, wanted))
            return rc;
    }
    enum err rc = ten_schema_commit(r, t, wanted, old != NULL ? old->version : STO_DOC_ABSENT, eb);
    if (rc != ERR_OK)
        return rc;
    ten_tables_publish(r, t, ten_tables_with(tables, wanted));
    *out_is_used = true;
    return ERR_OK;
}

enum err ten_table_put(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                       const struct sto_family_spec *families, size_t count, bool *out_created,
                       struct errbuf *eb)
{
    ten_control_check(r);
    enum err rc = ten_access_check(t, TEN_WRITE, eb);
    if (rc != ERR_OK)
        return rc;
    if (ten_removal_find(r, t, table_id) != NULL)
        return base_fail(eb, ERR_CONFLICT,
                         "a table of this name is being deleted; try again when its rows are gone");
    const struct ten_tables *tables = ten_tenant_tables(t);
    size_t at;
    struct sto_schema *old = ten_tables_search(tables, table_id, &at) ? tables->schemas[at] : NULL;
    struct sto_schema *wanted = NULL;
    rc = sto_schema_make(table_id, old, families, count, &wanted, eb);
    if (rc != ERR_OK)
        return rc;
    bool is_used = false;
    rc = put_checked(r, t, old, wanted, &is_used, eb);
    if (!is_used)
        sto_schema_unref(wanted);
    if (rc == ERR_OK)
        *out_created = old == NULL;
    return rc;
}

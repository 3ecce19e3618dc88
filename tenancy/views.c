/*
 * tenancy/views.c - a document for each view, a list for each table.
 *
 * The list belongs to the sto_table, not to its schemas: changes of families do not affect it, and
 * it is freed with a deleted table. The documents are removed in the batch that removes the table's
 * (table_removal.c), or the tenant's (purge.c).
 */
#include "tenancy/views.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "tenancy/doc_key.h"
#include "tenancy/feature.h"
#include "tenancy/internal.h"
#include "tenancy/view_doc.h"

#include "base/banned.h"

/* --- finding ---------------------------------------------------------------------------------- */

void ten_view_etag(const struct sto_view *view, char out[TEN_VIEW_ETAG_BYTES])
{
    (void)snprintf(out, TEN_VIEW_ETAG_BYTES, "%016" PRIx64, view->digest);
}

const struct sto_view_list *ten_views_of(const struct sto_schema *schema)
{
    return atomic_load_explicit(&schema->table->views, memory_order_acquire);
}

enum err ten_view_find(const struct sto_schema *schema, struct slice id, struct sto_view **out,
                       struct errbuf *eb)
{
    const struct sto_view_list *list = ten_views_of(schema);
    size_t at;
    if (!sto_view_list_search(list, id, &at))
        return base_fail(eb, ERR_NOT_FOUND, "the table has no such authorized view");
    *out = sto_view_ref(list->views[at]);
    return ERR_OK;
}

enum err ten_views_protection_check(const struct sto_schema *schema, struct errbuf *eb)
{
    const struct sto_view_list *list = ten_views_of(schema);
    for (size_t i = 0; list != NULL && i < list->count; i++)
        if (list->views[i]->spec.protected)
            return base_fail(eb, ERR_CONFLICT,
                             "deletion protection is on for the table's authorized view \"%s\": "
                             "the table cannot be deleted",
                             list->views[i]->id);
    return ERR_OK;
}

/* --- storing ---------------------------------------------------------------------------------- */

static void publish(struct ten_registry *r, struct sto_table *table,
                    struct sto_view_list *list_take)
{
    struct sto_view_list *old =
        atomic_exchange_explicit(&table->views, list_take, memory_order_acq_rel);
    if (old != NULL)
        base_epoch_retire(r->epoch, old, sto_view_list_free);
}

static enum err commit_doc(struct ten_registry *r, const struct ten_doc_key *key,
                           struct sto_view *view, uint64_t expect, struct errbuf *eb)
{
    struct buf body;
    base_buf_init(&body, TEN_VIEW_DOC_MAX);
    enum err rc = ten_view_encode(&view->spec, &body);
    if (rc == ERR_OK) {
        struct sto_doc_change change = {
            .key = ten_doc_key_slice(key), .body = base_buf_slice(&body), .expect = expect};
        rc = ten_docs_commit(r, &change, 1, eb);
    } else {
        rc = base_fail(eb, rc, "the view's document cannot be written: %s", base_err_name(rc));
    }
    if (rc == ERR_OK) {
        view->version = expect + 1; /* not published yet: no other thread sees it change */
        view->digest = ten_view_digest(base_buf_slice(&body));
    }
    base_buf_fini(&body);
    return rc;
}

/* Returns whether both have the same stored form. */
static bool is_same(const struct sto_view *a, const struct sto_view *b)
{
    struct buf left, right;
    base_buf_init(&left, TEN_VIEW_DOC_MAX);
    base_buf_init(&right, TEN_VIEW_DOC_MAX);
    bool same = ten_view_encode(&a->spec, &left) == ERR_OK &&
                ten_view_encode(&b->spec, &right) == ERR_OK &&
                base_slice_equal(base_buf_slice(&left), base_buf_slice(&right));
    base_buf_fini(&left);
    base_buf_fini(&right);
    return same;
}

/* Makes, stores and publishes a view: a new one, or the successor of `old`. */
static enum err store(struct ten_registry *r, struct ten_tenant *t, const struct sto_schema *schema,
                      struct slice id, const struct sto_view_spec *spec, struct sto_view *old,
                      struct sto_view **out, struct errbuf *eb)
{
    struct sto_table *table = schema->table;
    struct sto_view *view = NULL;
    enum err rc = sto_view_make(id, spec, &view, eb);
    if (rc != ERR_OK)
        return rc;
    if (old != NULL && is_same(old, view)) {
        sto_view_unref(view);
        ten_audit_set_unchanged();
        *out = sto_view_ref(old);
        return ERR_OK;
    }
    struct ten_doc_key key = ten_doc_key_view(ten_tenant_id(t), sto_schema_table_id(schema), id);
    rc = ten_schema_bytes_check(r, t, old == NULL ? 0 : old->bytes, view->bytes, eb);
    if (rc == ERR_OK)
        rc = commit_doc(r, &key, view, old == NULL ? STO_DOC_ABSENT : old->version, eb);
    if (rc != ERR_OK) {
        sto_view_unref(view);
        return rc;
    }
    *out = sto_view_ref(view);
    publish(r, table, sto_view_list_with(ten_views_of(schema), view));
    ten_schema_bytes_count(r, t);
    return ERR_OK;
}

enum err ten_view_restore(struct ten_registry *r, struct ten_tenant *t,
                          const struct sto_schema *schema, struct slice id, struct slice body,
                          struct errbuf *eb)
{
    const struct sto_view_list *list = ten_views_of(schema);
    struct sto_view *view = NULL, *stored = NULL;
    enum err rc = sto_view_id_check(id, NULL) == ERR_OK ? ERR_OK : ERR_CORRUPT;
    if (rc == ERR_OK)
        rc = ten_view_decode(id, body, &view);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "an authorized view of the backup is damaged");
    if (list != NULL && list->count >= LIM_VIEWS)
        rc = base_fail(eb, ERR_TOO_BIG, "the table has %zu authorized views; the limit is %d",
                       list->count, LIM_VIEWS);
    if (rc == ERR_OK)
        rc = store(r, t, schema, id, &view->spec, NULL, &stored, eb);
    sto_view_unref(stored);
    sto_view_unref(view);
    return rc;
}

/* --- changing --------------------------------------------------------------------------------- */

static enum err table_find(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                           struct sto_schema **out, struct errbuf *eb)
{
    static const struct ten_expect anything;
    struct sto_schema *schema = NULL;
    enum err rc = ten_table_for_change(r, t, table_id, &anything, &schema, eb);
    if (rc == ERR_OK && schema == NULL)
        rc = base_fail(eb, ERR_NOT_FOUND, "the tenant has no such table");
    *out = schema;
    return rc;
}

/* Finds the view to change; it lives as long as the list, which only this thread replaces. */
static enum err view_find(const struct sto_schema *schema, struct slice id, struct slice etag,
                          size_t *out_at, struct errbuf *eb)
{
    const struct sto_view_list *list = ten_views_of(schema);
    char now[TEN_VIEW_ETAG_BYTES];
    if (!sto_view_list_search(list, id, out_at))
        return base_fail(eb, ERR_NOT_FOUND, "the table has no such authorized view");
    ten_view_etag(list->views[*out_at], now);
    if (etag.len > 0 && !base_slice_is(etag, now))
        return base_fail(eb, ERR_PRECONDITION, "the view's etag is %s, not the one that was given",
                         now);
    return ERR_OK;
}

static enum err families_check(const struct sto_schema *schema, const struct sto_view_spec *spec,
                               struct errbuf *eb)
{
    for (size_t i = 0; i < spec->family_count; i++) {
        struct slice name = spec->families[i].name;
        if (sto_family_name_check(name, NULL) == ERR_OK && sto_schema_family(schema, name) == NULL)
            return base_fail(eb, ERR_NOT_FOUND, "the table has no family \"%.*s\"",
                             SLICE_ARGS(name));
    }
    return ERR_OK;
}

enum err ten_view_create(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                         struct slice id, const struct sto_view_spec *spec, struct sto_view **out,
                         struct errbuf *eb)
{
    struct sto_schema *schema;
    size_t at;
    enum err rc = sto_view_id_check(id, eb);
    if (rc == ERR_OK)
        rc = table_find(r, t, table_id, &schema, eb);
    if (rc != ERR_OK)
        return rc;
    const struct sto_view_list *list = ten_views_of(schema);
    rc = ten_feature_check(t, TEN_AUTHORIZED_VIEWS, eb);
    if (rc != ERR_OK)
        return rc;
    if (sto_view_list_search(list, id, &at))
        return base_fail(eb, ERR_EXISTS, "the authorized view \"%.*s\" exists", SLICE_ARGS(id));
    if (list != NULL && list->count >= LIM_VIEWS)
        return base_fail(eb, ERR_TOO_BIG, "the table has %zu authorized views; the limit is %d",
                         list->count, LIM_VIEWS);
    rc = families_check(schema, spec, eb);
    return rc == ERR_OK ? store(r, t, schema, id, spec, NULL, out, eb) : rc;
}

enum err ten_view_update(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                         struct slice id, const struct ten_view_change *change,
                         struct sto_view **out, struct errbuf *eb)
{
    struct sto_schema *schema;
    size_t at;
    enum err rc = table_find(r, t, table_id, &schema, eb);
    if (rc == ERR_OK)
        rc = view_find(schema, id, change->etag, &at, eb);
    if (rc == ERR_OK && change->spec != NULL)
        rc = families_check(schema, change->spec, eb);
    if (rc != ERR_OK)
        return rc;
    struct sto_view *old = ten_views_of(schema)->views[at];
    struct sto_view_spec spec = change->spec != NULL ? *change->spec : old->spec;
    spec.protected = change->has_protected ? change->protected : old->spec.protected;
    return store(r, t, schema, id, &spec, old, out, eb);
}

enum err ten_view_delete(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                         struct slice id, struct slice etag, struct errbuf *eb)
{
    struct sto_schema *schema;
    size_t at;
    enum err rc = table_find(r, t, table_id, &schema, eb);
    if (rc == ERR_OK)
        rc = view_find(schema, id, etag, &at, eb);
    if (rc != ERR_OK)
        return rc;
    const struct sto_view_list *list = ten_views_of(schema);
    if (list->views[at]->spec.protected)
        return base_fail(eb, ERR_CONFLICT, "deletion protection is on: the view cannot be deleted");
    struct ten_doc_key key = ten_doc_key_view(ten_tenant_id(t), table_id, id);
    struct sto_doc_change change = {.key = ten_doc_key_slice(&key),
                                    .expect = list->views[at]->version};
    rc = ten_docs_commit(r, &change, 1, eb);
    if (rc == ERR_OK) {
        publish(r, schema->table, sto_view_list_without(list, at));
        ten_schema_bytes_count(r, t);
    }
    return rc;
}

/* --- loading ---------------------------------------------------------------------------------- */

static enum err visit_view(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct ten_registry *r = ctx;
    struct slice tenant_id, table_id, id;
    struct sto_view *view = NULL;
    enum err rc = ten_doc_key_view_parts(key, &tenant_id, &table_id, &id);
    if (rc == ERR_OK)
        rc = ten_view_decode(id, body, &view);
    if (rc != ERR_OK)
        return rc;
    view->version = version;
    view->digest = ten_view_digest(body);
    struct ten_tenant *t = ten_tenant_find(r, tenant_id);
    const struct ten_tables *tables = t == NULL ? NULL : ten_tenant_tables(t);
    size_t at;
    if (tables == NULL) {
        sto_view_unref(view);
        return ERR_CORRUPT;
    }
    if (!ten_tables_search(tables, table_id, &at)) {
        sto_view_unref(view);
        return ERR_OK; /* the table is being removed, and this document with it */
    }
    const struct sto_schema *schema = tables->schemas[at];
    publish(r, schema->table, sto_view_list_with(ten_views_of(schema), view));
    ten_schema_bytes_set(r, t, atomic_load(&t->schema_bytes) + view->bytes);
    return ERR_OK;
}

enum err ten_views_load(struct ten_registry *r, struct errbuf *eb)
{
    return sto_docs_scan(r->engine, sto_doc_prefix(STO_DOC_VIEW), visit_view, r, eb);
}

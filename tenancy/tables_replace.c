/*
 * tenancy/tables_replace.c - stored keys contain the table's name, so the old rows are removed
 * before the new ones are written; in between there is no table, and requests are told to retry.
 *
 * 1. The batch of begin marks every table as being deleted: a crash after it leaves removals that
 *    the next start resumes, and no table. The caller that replaces them must record that, in
 *    `also`.
 */
#include "tenancy/tables_replace.h"

#include "base/alloc.h"
#include "tenancy/internal.h"
#include "tenancy/scope.h"

#include "base/banned.h"

enum err ten_tables_replacing_check(const struct ten_tenant *t, struct errbuf *eb)
{
    if (!atomic_load(&t->is_replacing))
        return ERR_OK;
    return base_fail(eb, ERR_UNAVAILABLE,
                     "the tenant's tables are being restored from a backup; try again when that is "
                     "done");
}

enum err ten_tables_fail_missing(const struct ten_tenant *t, struct errbuf *eb)
{
    enum err rc = ten_tables_replacing_check(t, eb);
    return rc == ERR_OK ? base_fail(eb, ERR_NOT_FOUND, "the tenant has no such table") : rc;
}

static enum err protection_check(const struct sto_schema *schema, struct errbuf *eb)
{
    if (schema->protected)
        return base_fail(eb, ERR_CONFLICT,
                         "deletion protection of the table %s is on: it cannot be replaced",
                         schema->table->id);
    return ten_views_protection_check(schema, eb);
}

enum err ten_tables_replace_check(const struct ten_tenant *t, struct errbuf *eb)
{
    const struct ten_tables *tables = ten_tenant_tables(t);
    enum err rc = ten_access_check(t, TEN_WRITE, eb);
    for (size_t i = 0; rc == ERR_OK && i < tables->count; i++)
        rc = protection_check(tables->schemas[i], eb);
    return rc;
}

enum err ten_tables_replace_begin(struct ten_registry *r, struct ten_tenant *t,
                                  const struct sto_doc_change *also, size_t also_count,
                                  struct errbuf *eb)
{
    const struct ten_tables *tables = ten_tenant_tables(t);
    size_t count = tables->count;
    ten_control_check(r);
    enum err rc = ten_tables_replace_check(t, eb);
    if (rc == ERR_OK && atomic_load(&r->stopping))
        rc = base_fail(eb, ERR_UNAVAILABLE, "the service is stopping");
    if (rc != ERR_OK)
        return rc;
    struct sto_schema **deleting = base_new_array(count, sizeof deleting[0]);
    for (size_t i = 0; i < count; i++) {
        deleting[i] = sto_schema_make_deleting(tables->schemas[i]);
    }
    rc = ten_schemas_commit(r, t, deleting, count, also, also_count, eb);
    if (rc == ERR_OK) {
        atomic_store(&t->is_replacing, true);
        ten_tables_publish(r, t, ten_tables_new(0));
    }
    for (size_t i = 0; i < count; i++) {
        if (rc == ERR_OK)
            ten_table_removal_run(ten_table_removal_of(r, t, deleting[i]));
        else
            sto_schema_unref(deleting[i]);
    }
    base_free(deleting);
    return rc;
}

void ten_tables_replace_resume(struct ten_tenant *t)
{
    atomic_store(&t->is_replacing, true);
}

bool ten_tables_replace_is_clear(struct ten_registry *r, const struct ten_tenant *t)
{
    struct ten_removal *next;
    bool is_clear = true;
    ten_control_check(r);
    for (struct ten_removal *m = r->removals; m != NULL; m = next) {
        next = m->next;
        if (m->tenant != t || !m->whole)
            continue;
        is_clear = false;
        if (!m->running && !atomic_load(&r->stopping))
            ten_table_removal_run(m);
    }
    return is_clear;
}

void ten_tables_replace_end(struct ten_tenant *t)
{
    atomic_store(&t->is_replacing, false);
}

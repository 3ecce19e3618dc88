/*
 * tenancy/table_families.c - creating, updating and dropping families of a table in one change.
 *
 * The change is applied to a list of the resulting families, from which the next schema is made:
 * completely or not at all. The memory that the list points into lives until the schema is stored.
 */
#include "base/alloc.h"
#include "tenancy/audit_detail.h"
#include "tenancy/internal.h"

#include "base/banned.h"

struct family_list {
    struct sto_family_spec *specs;
    size_t count;
};

static struct sto_family_spec *find(const struct family_list *list, struct slice name)
{
    for (size_t i = 0; i < list->count; i++)
        if (base_slice_equal(list->specs[i].name, name))
            return &list->specs[i];
    return NULL;
}

static enum err create(struct family_list *list, const struct sto_family_spec *family,
                       struct errbuf *eb)
{
    if (find(list, family->name) != NULL)
        return base_fail(eb, ERR_EXISTS, "create: the table has a family \"%.*s\"",
                         SLICE_ARGS(family->name));
    list->specs[list->count++] = *family;
    return ERR_OK;
}

static enum err update(struct family_list *list, const struct sto_family_spec *family,
                       struct errbuf *eb)
{
    struct sto_family_spec *there = find(list, family->name);
    if (there == NULL)
        return base_fail(eb, ERR_NOT_FOUND, "update: the table has no family \"%.*s\"",
                         SLICE_ARGS(family->name));
    if (!family->keeps_gc) {
        there->gc_nodes = family->gc_nodes;
        there->gc_node_count = family->gc_node_count;
    }
    if (!family->keeps_type) {
        there->aggregate = family->aggregate;
        there->value_type = family->value_type;
    }
    return ERR_OK;
}

static enum err drop(struct family_list *list, struct slice name, struct errbuf *eb)
{
    struct sto_family_spec *there = find(list, name);
    if (there == NULL)
        return base_fail(eb, ERR_NOT_FOUND, "drop: the table has no family \"%.*s\"",
                         SLICE_ARGS(name));
    *there = list->specs[--list->count];
    return ERR_OK;
}

static enum err names_check(const struct ten_families_change *change, struct errbuf *eb)
{
    enum err rc = ERR_OK;
    if (change->create_count > LIM_FAMILIES)
        return base_fail(eb, ERR_TOO_BIG, "create: %zu families; the limit is %d",
                         change->create_count, LIM_FAMILIES);
    for (size_t i = 0; rc == ERR_OK && i < change->create_count; i++)
        rc = sto_family_name_check(change->create[i].name, eb);
    for (size_t i = 0; rc == ERR_OK && i < change->update_count; i++)
        rc = sto_family_name_check(change->update[i].name, eb);
    for (size_t i = 0; rc == ERR_OK && i < change->drop_count; i++)
        rc = sto_family_name_check(change->drop[i], eb);
    return rc;
}

static enum err apply(struct family_list *list, const struct ten_families_change *change,
                      struct errbuf *eb)
{
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < change->create_count; i++)
        rc = create(list, &change->create[i], eb);
    for (size_t i = 0; rc == ERR_OK && i < change->update_count; i++)
        rc = update(list, &change->update[i], eb);
    for (size_t i = 0; rc == ERR_OK && i < change->drop_count; i++)
        rc = drop(list, change->drop[i], eb);
    return rc;
}

enum err ten_table_change_families(struct ten_registry *r, struct ten_tenant *t,
                                   struct slice table_id, const struct ten_families_change *change,
                                   struct errbuf *eb)
{
    struct sto_schema *old = NULL;
    ten_audit_set_families(change);
    enum err rc = ten_table_for_change(r, t, table_id, &change->expect, &old, eb);
    if (rc == ERR_OK && old == NULL)
        rc = base_fail(eb, ERR_NOT_FOUND, "the tenant has no such table");
    if (rc == ERR_OK)
        rc = names_check(change, eb);
    if (rc != ERR_OK)
        return rc;
    struct family_list list = {.specs = base_new_array(old->family_count + change->create_count + 1,
                                                       sizeof list.specs[0])};
    for (size_t i = 0; i < old->family_count; i++)
        list.specs[list.count++] = sto_family_spec_of(&old->families[i]);
    rc = apply(&list, change, eb);
    if (rc == ERR_OK) {
        struct sto_table_spec spec = {
            .families = list.specs,
            .family_count = list.count,
            .protected = old->protected,
            .row_key_notes = old->row_key_notes,
            .change_retention_s = old->change_retention_s,
        };
        rc = ten_table_store(r, t, table_id, old, &spec, eb);
    }
    base_free(list.specs);
    return rc;
}

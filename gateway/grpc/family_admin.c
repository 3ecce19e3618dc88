/*
 * gateway/grpc/family_admin.c - BigtableTableAdmin.ModifyColumnFamilies: all or nothing.
 *
 * Tenancy creates, then updates, then drops. That order has the same result as the request's order,
 * as long as nothing follows the drop of the same family; a request in which something does is
 * refused.
 */
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "gateway/grpc/family_proto.h"
#include "gateway/grpc/handlers.h"
#include "gateway/grpc/table_proto.h"

#include "base/banned.h"

#define STEPS_MAX (3 * LIM_FAMILIES)

typedef Bta__ModifyColumnFamiliesRequest__Modification modification;

struct change {
    struct ten_families_change families;
    Bta__Table *table;
};

/* The lists of the change, each with space for all steps. */
struct lists {
    struct sto_family_spec *create;
    struct sto_family_spec *update;
    struct slice *drop;
};

static bool is_dropped(const struct ten_families_change *change, struct slice name)
{
    for (size_t i = 0; i < change->drop_count; i++)
        if (base_slice_equal(change->drop[i], name))
            return true;
    return false;
}

/* Reads the fields that the mask names; an absent or empty mask names gc_rule. Other fields of the
 * family are not read. */
static enum err read_update(const modification *m, struct arena *arena, struct sto_family_spec *out,
                            struct errbuf *eb)
{
    const Google__Protobuf__FieldMask *mask = m->update_mask;
    size_t paths = mask != NULL ? mask->n_paths : 0;
    bool has_gc = paths == 0;
    bool has_type = false;
    for (size_t i = 0; i < paths; i++) {
        bool is_gc = strcmp(mask->paths[i], "gc_rule") == 0;
        bool is_type = strcmp(mask->paths[i], "value_type") == 0;
        if (!is_gc && !is_type)
            return base_fail(eb, ERR_INVALID,
                             "family \"%s\": update_mask may name gc_rule and value_type, not %s",
                             m->id, mask->paths[i]);
        has_gc = has_gc || is_gc;
        has_type = has_type || is_type;
    }
    Bta__ColumnFamily masked = BTA__COLUMN_FAMILY__INIT;
    masked.gc_rule = has_gc ? m->update->gc_rule : NULL;
    masked.value_type = has_type ? m->update->value_type : NULL;
    enum err e = gw_family_from_proto(base_slice_text(m->id), &masked, arena, out, eb);
    out->keeps_gc = !has_gc;
    out->keeps_type = !has_type;
    return e;
}

static enum err add_step(const modification *m, struct arena *arena, struct lists *lists,
                         struct ten_families_change *out, struct errbuf *eb)
{
    struct slice name = base_slice_text(m->id);
    if (is_dropped(out, name))
        return base_fail(eb, ERR_INVALID,
                         "family \"%s\" is changed behind its drop; make two requests of it",
                         m->id);
    switch (m->mod_case) {
    case BTA__MODIFY_COLUMN_FAMILIES_REQUEST__MODIFICATION__MOD_CREATE:
        return gw_family_from_proto(name, m->create, arena, &lists->create[out->create_count++],
                                    eb);
    case BTA__MODIFY_COLUMN_FAMILIES_REQUEST__MODIFICATION__MOD_UPDATE:
        return read_update(m, arena, &lists->update[out->update_count++], eb);
    case BTA__MODIFY_COLUMN_FAMILIES_REQUEST__MODIFICATION__MOD_DROP:
        if (!m->drop)
            return base_fail(eb, ERR_INVALID, "family \"%s\": drop must be true", m->id);
        lists->drop[out->drop_count++] = name;
        return ERR_OK;
    case BTA__MODIFY_COLUMN_FAMILIES_REQUEST__MODIFICATION__MOD__NOT_SET:
    default:
        return base_fail(eb, ERR_INVALID, "family \"%s\": give create, update or drop", m->id);
    }
}

static enum err read_steps(const Bta__ModifyColumnFamiliesRequest *request, struct arena *arena,
                           struct ten_families_change *out, struct errbuf *eb)
{
    size_t count = request->n_modifications;
    struct lists lists;
    if (count == 0)
        return base_fail(eb, ERR_INVALID, "modifications are empty");
    if (count > STEPS_MAX)
        return base_fail(eb, ERR_TOO_BIG, "%zu modifications; the limit is %d", count, STEPS_MAX);
    lists.create = base_arena_zalloc(arena, count * sizeof *lists.create);
    lists.update = base_arena_zalloc(arena, count * sizeof *lists.update);
    lists.drop = base_arena_zalloc(arena, count * sizeof *lists.drop);
    if (lists.create == NULL || lists.update == NULL || lists.drop == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for %zu modifications", count);
    out->create = lists.create;
    out->update = lists.update;
    out->drop = lists.drop;
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        e = add_step(request->modifications[i], arena, &lists, out, eb);
    return e;
}

/* Applies the change; on the control thread. */
static enum err apply(struct gw_call *call, struct errbuf *eb)
{
    struct change *c = call->state;
    const struct gw_resource *resource = &gw_rpc(call)->resource;
    enum err e = ten_table_change_families(call->api->registry, call->tenant, resource->table,
                                           &c->families, eb);
    if (e == ERR_OK)
        e = gw_call_enter_table(call, resource->table, eb);
    if (e == ERR_OK)
        e = gw_table_to_proto(call->scope.schema, resource, BTA__TABLE__VIEW__SCHEMA_VIEW,
                              &call->arena, &c->table, eb);
    return e;
}

static void reply(struct gw_call *call)
{
    const struct change *c = call->state;
    gw_rpc_reply(call, &c->table->base);
}

void gw_admin_modify_families(struct gw_call *call)
{
    const Bta__ModifyColumnFamiliesRequest *request = (const void *)gw_rpc(call)->request;
    struct change *c = gw_call_new_state(call, sizeof *c, NULL);
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = read_steps(request, &call->arena, &c->families, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        gw_rpc_on_control(call, apply, reply);
}

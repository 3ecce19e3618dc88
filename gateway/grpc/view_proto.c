/*
 * gateway/grpc/view_proto.c - lists of bytes, in both directions.
 */
#include "gateway/grpc/view_proto.h"

#include "gateway/grpc/decode.h"
#include "tenancy/views.h"

#include "base/banned.h"

static enum err no_memory(struct errbuf *eb)
{
    return base_fail(eb, ERR_NO_MEMORY, "out of memory for the description of a view");
}

/* --- from messages ------------------------------------------------------------------------------
 */

static enum err slices_of(const ProtobufCBinaryData *list, size_t count, struct arena *arena,
                          const struct slice **out, struct errbuf *eb)
{
    if (count > LIM_VIEW_PARTS)
        return base_fail(eb, ERR_TOO_BIG, "a view has at most %d prefixes and qualifiers",
                         LIM_VIEW_PARTS);
    struct slice *slices = base_arena_alloc(arena, (count + 1) * sizeof *slices);
    if (slices == NULL)
        return no_memory(eb);
    for (size_t i = 0; i < count; i++)
        slices[i] = gw_proto_bytes(list[i]);
    *out = slices;
    return ERR_OK;
}

static enum err family_from(const Bta__AuthorizedView__SubsetView__FamilySubsetsEntry *entry,
                            struct arena *arena, struct sto_view_family_spec *out,
                            struct errbuf *eb)
{
    const Bta__AuthorizedView__FamilySubsets *columns = entry->value;
    *out = (struct sto_view_family_spec){.name = base_slice_text(entry->key)};
    if (columns == NULL)
        return ERR_OK;
    out->qualifier_count = columns->n_qualifiers;
    out->prefix_count = columns->n_qualifier_prefixes;
    enum err e = slices_of(columns->qualifiers, columns->n_qualifiers, arena, &out->qualifiers, eb);
    if (e == ERR_OK)
        e = slices_of(columns->qualifier_prefixes, columns->n_qualifier_prefixes, arena,
                      &out->prefixes, eb);
    return e;
}

enum err gw_view_from_proto(const Bta__AuthorizedView *message, struct arena *arena,
                            struct sto_view_spec *out, struct errbuf *eb)
{
    if (message == NULL ||
        message->authorized_view_case != BTA__AUTHORIZED_VIEW__AUTHORIZED_VIEW_SUBSET_VIEW)
        return base_fail(eb, ERR_INVALID, "authorized_view must have a subset_view");
    const Bta__AuthorizedView__SubsetView *subset = message->subset_view;
    size_t count = subset->n_family_subsets;
    if (count > LIM_FAMILIES)
        return base_fail(eb, ERR_TOO_BIG, "%zu families; the limit is %d", count, LIM_FAMILIES);
    struct sto_view_family_spec *families = base_arena_alloc(arena, (count + 1) * sizeof *families);
    if (families == NULL)
        return no_memory(eb);
    *out = (struct sto_view_spec){.row_prefix_count = subset->n_row_prefixes,
                                  .families = families,
                                  .family_count = count,
                                  .protected = message->deletion_protection != 0};
    enum err e =
        slices_of(subset->row_prefixes, subset->n_row_prefixes, arena, &out->row_prefixes, eb);
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        e = family_from(subset->family_subsets[i], arena, &families[i], eb);
    return e;
}

/* --- to messages --------------------------------------------------------------------------------
 */

static bool put_slices(const struct slice *slices, size_t count, struct arena *arena,
                       ProtobufCBinaryData **out, size_t *out_count)
{
    *out = base_arena_alloc(arena, (count + 1) * sizeof **out);
    if (*out == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct slice copy = base_arena_copy(arena, slices[i]); /* the view may be freed first */
        if (copy.len != slices[i].len || (copy.len != 0 && copy.ptr == NULL))
            return false;
        /* protobuf-c only reads what it packs. */
        (*out)[i] = (ProtobufCBinaryData){copy.len, (uint8_t *)(uintptr_t)copy.ptr};
    }
    *out_count = count;
    return true;
}

static Bta__AuthorizedView__SubsetView__FamilySubsetsEntry *
entry_of(const struct sto_view_family_spec *f, struct arena *arena)
{
    Bta__AuthorizedView__SubsetView__FamilySubsetsEntry *entry =
        gw_proto_new(arena, &bta__authorized_view__subset_view__family_subsets_entry__descriptor);
    Bta__AuthorizedView__FamilySubsets *columns =
        gw_proto_new(arena, &bta__authorized_view__family_subsets__descriptor);
    if (entry == NULL || columns == NULL)
        return NULL;
    entry->key = base_arena_text(arena, f->name);
    entry->value = columns;
    bool is_made = entry->key != NULL &&
                   put_slices(f->qualifiers, f->qualifier_count, arena, &columns->qualifiers,
                              &columns->n_qualifiers) &&
                   put_slices(f->prefixes, f->prefix_count, arena, &columns->qualifier_prefixes,
                              &columns->n_qualifier_prefixes);
    return is_made ? entry : NULL;
}

static enum err put_subset(Bta__AuthorizedView *message, const struct sto_view_spec *spec,
                           struct arena *arena, struct errbuf *eb)
{
    Bta__AuthorizedView__SubsetView *subset =
        gw_proto_new(arena, &bta__authorized_view__subset_view__descriptor);
    if (subset == NULL || !put_slices(spec->row_prefixes, spec->row_prefix_count, arena,
                                      &subset->row_prefixes, &subset->n_row_prefixes))
        return no_memory(eb);
    subset->family_subsets =
        base_arena_alloc(arena, (spec->family_count + 1) * sizeof(*subset->family_subsets));
    if (subset->family_subsets == NULL)
        return no_memory(eb);
    for (size_t i = 0; i < spec->family_count; i++) {
        subset->family_subsets[i] = entry_of(&spec->families[i], arena);
        if (subset->family_subsets[i] == NULL)
            return no_memory(eb);
    }
    subset->n_family_subsets = spec->family_count;
    message->authorized_view_case = BTA__AUTHORIZED_VIEW__AUTHORIZED_VIEW_SUBSET_VIEW;
    message->subset_view = subset;
    return ERR_OK;
}

enum err gw_view_to_proto(const struct sto_view *view, const struct gw_resource *of,
                          Bta__AuthorizedView__ResponseView wanted, struct arena *arena,
                          Bta__AuthorizedView **out, struct errbuf *eb)
{
    struct gw_resource name = {.kind = GW_RESOURCE_VIEW,
                               .project = of->project,
                               .instance = of->instance,
                               .table = of->table,
                               .leaf = sto_view_id(view)};
    char etag[TEN_VIEW_ETAG_BYTES];
    Bta__AuthorizedView *message = gw_proto_new(arena, &bta__authorized_view__descriptor);
    if (message == NULL || (message->name = gw_resource_name(arena, &name)) == NULL)
        return no_memory(eb);
    *out = message;
    if (wanted == BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__NAME_ONLY)
        return ERR_OK;
    ten_view_etag(view, etag);
    message->etag = base_arena_text(arena, base_slice_text(etag));
    message->deletion_protection = view->spec.protected;
    if (message->etag == NULL)
        return no_memory(eb);
    return wanted == BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__FULL
               ? put_subset(message, &view->spec, arena, eb)
               : ERR_OK;
}

/*
 * storage/schema_make.c - makes the next schema of a table from its owner's request.
 *
 * 1. A request is checked as a whole before anything is allocated, except for the gc rules, which
 *    are checked where they are compiled; a schema that was filled in part is freed.
 * 2. A schema that is not stored or not used has no effect: only a stored schema assigns numbers.
 */
#include <inttypes.h>

#include "base/text.h"
#include "storage/schema_internal.h"

#include "base/banned.h"

static enum err families_check(const struct sto_family_spec *families, size_t count,
                               struct errbuf *eb)
{
    if (count > LIM_FAMILIES)
        return base_fail(eb, ERR_TOO_BIG, "a table has at most %d families; this one has %zu",
                         LIM_FAMILIES, count);
    for (size_t i = 0; i < count; i++) {
        enum err rc = sto_family_name_check(families[i].name, eb);
        if (rc != ERR_OK)
            return rc;
        for (size_t k = 0; k < i; k++)
            if (base_slice_equal(families[i].name, families[k].name))
                return base_fail(eb, ERR_INVALID, "family \"%.*s\" is named twice",
                                 SLICE_ARGS(families[i].name));
        if (families[i].gc_node_count > LIM_GC_NODES)
            return base_fail(eb, ERR_TOO_BIG,
                             "family \"%.*s\": a gc rule has %zu parts; the limit is %d",
                             SLICE_ARGS(families[i].name), families[i].gc_node_count, LIM_GC_NODES);
    }
    return ERR_OK;
}

static enum err notes_check(struct slice notes, struct errbuf *eb)
{
    if (notes.len > LIM_ROW_KEY_NOTES)
        return base_fail(eb, ERR_TOO_BIG, "row key notes have %zu bytes; the limit is %lu",
                         notes.len, LIM_ROW_KEY_NOTES);
    if (!base_utf8_is_valid(notes))
        return base_fail(eb, ERR_INVALID, "row key notes must be UTF-8");
    return ERR_OK;
}

/* Selects the splits of the existing table, or those requested for a new one. */
static enum err splits_choose(const struct sto_schema *old, const struct sto_table_spec *spec,
                              const struct slice **out, struct sto_schema_room *room,
                              struct errbuf *eb)
{
    if (old != NULL && spec->split_count > 0)
        return base_fail(eb, ERR_INVALID,
                         "a table is split when it is made; this one is there already");
    *out = old != NULL ? old->splits : spec->splits;
    sto_schema_splits_room(*out, old != NULL ? old->split_count : spec->split_count, room);
    return old != NULL ? ERR_OK : sto_schema_splits_check(spec->splits, spec->split_count, eb);
}

static enum err retention_check(uint64_t seconds, struct errbuf *eb)
{
    if (seconds == 0 || (seconds >= LIM_CHANGES_KEPT_MIN_S && seconds <= LIM_CHANGES_KEPT_S))
        return ERR_OK;
    return base_fail(eb, ERR_INVALID,
                     "a change stream keeps changes for %lu s (1 day) to %lu s (7 days), not for "
                     "%" PRIu64 " s",
                     LIM_CHANGES_KEPT_MIN_S, LIM_CHANGES_KEPT_S, seconds);
}

/* Sets the stream's retention and start. A stream that continues keeps its start; a new one starts
 * after all changes that were ever recorded. */
static void changes_fill(struct sto_schema *s, const struct sto_schema *old,
                         const struct sto_table_spec *spec)
{
    s->change_retention_s = (uint32_t)spec->change_retention_s;
    if (s->change_retention_s == 0)
        return;
    int64_t last_us = atomic_load(&s->table->changes.last_us);
    s->change_since_us = spec->now_us > last_us ? spec->now_us : last_us + 1;
    if (old != NULL && old->change_retention_s != 0)
        s->change_since_us = old->change_since_us;
}

static const struct sto_family_spec *spec_named(const struct sto_table_spec *spec,
                                                const struct sto_family *family)
{
    struct slice name = base_slice(family->name, family->name_len);
    for (size_t i = 0; i < spec->family_count; i++)
        if (base_slice_equal(spec->families[i].name, name))
            return &spec->families[i];
    return NULL;
}

/* Refuses to make a family an aggregate, or to change an aggregate. Types of plain values may
 * change, because no stored byte depends on them. The text from "Immutable" on is Bigtable's;
 * clients match it. */
static enum err aggregate_check(const struct sto_family *family, const struct sto_family_spec *next,
                                struct errbuf *eb)
{
    if (next->aggregate == family->aggregate)
        return ERR_OK;
    const char *type = sto_family_type_name(family->aggregate, family->value_type);
    if (family->aggregate == STO_AGGREGATE_NONE)
        return base_fail(eb, ERR_CONFLICT,
                         "family \"%s\" has type %s, and only a new family can have type %s",
                         family->name, type, sto_aggregate_name(next->aggregate));
    return base_fail(eb, ERR_CONFLICT,
                     "family \"%s\" has type %s, which never changes: Immutable fields "
                     "'value_type.aggregate_type' cannot be updated",
                     family->name, type);
}

/* Checks the changes to existing families. Returns how many are dropped, or why one of them cannot
 * be changed. */
static enum err families_compare(const struct sto_schema *old, const struct sto_table_spec *spec,
                                 size_t *out_dropped, struct errbuf *eb)
{
    size_t dropped = 0;
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < old->family_count; i++) {
        const struct sto_family *family = &old->families[i];
        const struct sto_family_spec *next = spec_named(spec, family);
        if (next == NULL && old->protected)
            return base_fail(eb, ERR_CONFLICT,
                             "deletion protection is on: family \"%s\" cannot be dropped",
                             family->name);
        if (next == NULL)
            dropped++;
        else
            rc = aggregate_check(family, next, eb);
    }
    if (rc != ERR_OK)
        return rc;
    if (dropped > 0 && old->dropped_count + dropped > LIM_FAMILIES_DROPPED)
        return base_fail(eb, ERR_OVERLOADED,
                         "the cells of %zu dropped families are still being removed; the limit is "
                         "%d; retry later",
                         old->dropped_count, LIM_FAMILIES_DROPPED);
    *out_dropped = dropped;
    return ERR_OK;
}

static bool is_dropped(const struct sto_schema *old, size_t family, const struct sto_table_spec *s)
{
    return family < old->family_count && spec_named(s, &old->families[family]) == NULL;
}

/* Merges the old list with the families dropped now, both ascending. */
static void dropped_merge(struct sto_schema_fill *f, const struct sto_schema *old,
                          const struct sto_table_spec *spec)
{
    size_t i = 0;
    for (size_t k = 0; k < old->family_count; k++) {
        if (!is_dropped(old, k, spec))
            continue;
        while (i < old->dropped_count && old->dropped[i] < old->families[k].number)
            sto_schema_fill_dropped(f, old->dropped[i++]);
        sto_schema_fill_dropped(f, old->families[k].number);
    }
    while (i < old->dropped_count)
        sto_schema_fill_dropped(f, old->dropped[i++]);
}

static enum err families_fill(struct sto_schema_fill *f, const struct sto_schema *old,
                              const struct sto_table_spec *spec, struct errbuf *eb)
{
    uint32_t next = old != NULL ? old->next_number : 1;
    for (size_t i = 0; i < spec->family_count; i++) {
        const struct sto_family *kept =
            old != NULL ? sto_schema_family(old, spec->families[i].name) : NULL;
        if (kept == NULL && next >= STO_FAMILY_NUMBER_MAX)
            return base_fail(eb, ERR_TOO_BIG,
                             "this table has had %u families; make a new table for more",
                             STO_FAMILY_NUMBER_MAX - 1);
        uint16_t number = kept != NULL ? kept->number : (uint16_t)next++;
        enum err rc = sto_schema_fill_family(f, number, &spec->families[i], eb);
        if (rc != ERR_OK)
            return rc;
    }
    f->schema->next_number = (uint16_t)next;
    return ERR_OK;
}

enum err sto_schema_make(struct slice table_id, const struct sto_schema *old,
                         const struct sto_table_spec *spec, struct sto_schema **out,
                         struct errbuf *eb)
{
    struct sto_schema_room room = {.families = spec->family_count,
                                   .notes_bytes = spec->row_key_notes.len};
    const struct slice origin = old != NULL ? old->origin : spec->origin;
    const struct slice *splits = NULL;
    enum err rc = sto_table_id_check(table_id, eb);
    if (rc == ERR_OK)
        rc = families_check(spec->families, spec->family_count, eb);
    if (rc == ERR_OK)
        rc = notes_check(spec->row_key_notes, eb);
    if (rc == ERR_OK)
        rc = retention_check(spec->change_retention_s, eb);
    if (rc == ERR_OK)
        rc = splits_choose(old, spec, &splits, &room, eb);
    if (rc == ERR_OK && old != NULL)
        rc = families_compare(old, spec, &room.dropped, eb);
    if (rc != ERR_OK)
        return rc;
    if (old != NULL && !base_slice_equal(table_id, base_slice(old->table->id, old->table->id_len)))
        return base_fail(eb, ERR_INVALID, "the table ID does not match the schema it replaces");
    for (size_t i = 0; i < spec->family_count; i++)
        room.gc_nodes += spec->families[i].gc_node_count;
    if (old != NULL)
        room.dropped += old->dropped_count;
    room.origin_bytes = origin.len;
    INVARIANT(origin.len <= LIM_TABLE_ORIGIN); /* made by the server itself */

    struct sto_schema_fill fill;
    sto_schema_fill_begin(&fill, old != NULL ? old->table : NULL, table_id, &room);
    rc = families_fill(&fill, old, spec, eb);
    if (rc != ERR_OK) {
        sto_schema_unref(fill.schema);
        return rc;
    }
    if (old != NULL)
        dropped_merge(&fill, old, spec);
    sto_schema_fill_notes(&fill, spec->row_key_notes);
    sto_schema_fill_origin(&fill, origin);
    sto_schema_fill_splits(&fill, splits, room.splits);
    fill.schema->version = old != NULL ? old->version : 0;
    fill.schema->revision = old != NULL ? old->revision + 1 : 1;
    fill.schema->protected = spec->protected;
    changes_fill(fill.schema, old, spec);
    *out = fill.schema;
    return ERR_OK;
}

static struct sto_schema *copy_without(const struct sto_schema *old, uint16_t swept)
{
    struct sto_schema_room room = {.families = old->family_count,
                                   .dropped = old->dropped_count,
                                   .notes_bytes = old->row_key_notes.len,
                                   .origin_bytes = old->origin.len};
    sto_schema_splits_room(old->splits, old->split_count, &room);
    for (size_t i = 0; i < old->family_count; i++)
        room.gc_nodes += old->families[i].gc.node_count;
    struct sto_schema_fill fill;
    sto_schema_fill_begin(&fill, old->table, SLICE_EMPTY, &room);
    for (size_t i = 0; i < old->family_count; i++) {
        const struct sto_family *family = &old->families[i];
        struct sto_family_spec spec = sto_family_spec_of(family);
        enum err rc = sto_schema_fill_family(&fill, family->number, &spec, NULL);
        INVARIANT(rc == ERR_OK); /* it was compiled before */
    }
    for (size_t i = 0; i < old->dropped_count; i++)
        if (old->dropped[i] != swept)
            sto_schema_fill_dropped(&fill, old->dropped[i]);
    sto_schema_fill_notes(&fill, old->row_key_notes);
    sto_schema_fill_origin(&fill, old->origin);
    sto_schema_fill_splits(&fill, old->splits, old->split_count);
    fill.schema->version = old->version;
    fill.schema->revision = old->revision;
    fill.schema->next_number = old->next_number;
    fill.schema->protected = old->protected;
    fill.schema->change_retention_s = old->change_retention_s;
    fill.schema->change_since_us = old->change_since_us;
    fill.schema->deleting = old->deleting;
    return fill.schema;
}

struct sto_family_spec sto_family_spec_of(const struct sto_family *family)
{
    return (struct sto_family_spec){
        .name = base_slice(family->name, family->name_len),
        .aggregate = family->aggregate,
        .value_type = family->value_type,
        .gc_nodes = family->gc.nodes,
        .gc_node_count = family->gc.node_count,
    };
}

struct sto_schema *sto_schema_make_deleting(const struct sto_schema *old)
{
    struct sto_schema *s = copy_without(old, 0);
    s->deleting = true;
    return s;
}

struct sto_schema *sto_schema_make_swept(const struct sto_schema *old, uint16_t number)
{
    return copy_without(old, number);
}

bool sto_schema_looks_same(const struct sto_schema *a, const struct sto_schema *b)
{
    if (a->family_count != b->family_count || a->protected != b->protected ||
        a->deleting != b->deleting || a->change_retention_s != b->change_retention_s ||
        !base_slice_equal(a->row_key_notes, b->row_key_notes))
        return false;
    for (size_t i = 0; i < a->family_count; i++)
        if (a->families[i].number != b->families[i].number ||
            a->families[i].value_type != b->families[i].value_type ||
            !sto_gc_equal(&a->families[i].gc, &b->families[i].gc))
            return false;
    return true;
}

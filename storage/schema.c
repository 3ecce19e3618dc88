/*
 * storage/schema.c - immutable schemas that share one persistent table: names, refs, lookup,
 * filling.
 *
 * 1. A schema holds one ref on its table; the table lives as long as any of its schemas.
 * 2. Families are sorted by number, names are unique, every number is below next_number.
 * 3. A schema is one allocation: itself, its families, gc nodes, gc terms, splits, dropped numbers,
 *    notes, bytes of splits, the origin.
 */
#include "storage/schema.h"

#include "base/alloc.h"
#include "base/names.h"
#include "storage/schema_internal.h"
#include "storage/view_list.h"

#include "base/banned.h"

enum err sto_table_id_check(struct slice id, struct errbuf *eb)
{
    return base_table_id_check(id, eb);
}

enum err sto_family_name_check(struct slice name, struct errbuf *eb)
{
    return base_family_name_check(name, eb);
}

/* --- refs --------------------------------------------------------------------------------- */

static struct sto_table *table_new(struct slice id)
{
    struct sto_table *t = base_new(sizeof(*t));
    atomic_init(&t->refs, 1);
    memcpy(t->id, id.ptr, id.len);
    t->id_len = (uint8_t)id.len;
    return t;
}

static struct sto_table *table_ref(struct sto_table *t)
{
    uint32_t before = atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    INVARIANT(before > 0 && before < UINT32_MAX);
    return t;
}

static void table_unref(struct sto_table *t)
{
    uint32_t before = atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel);
    INVARIANT(before > 0);
    if (before != 1)
        return;
    base_free(atomic_load(&t->closed));
    sto_view_list_free(atomic_load(&t->views));
    base_free(t);
}

void sto_table_close_family(struct sto_table *t, uint16_t number)
{
    struct sto_family_bits *bits = atomic_load(&t->closed);
    if (bits == NULL) {
        bits = base_new(sizeof(*bits));
        atomic_store_explicit(&t->closed, bits, memory_order_release);
    }
    atomic_fetch_or(&bits->words[number / 64], 1ULL << (number % 64));
}

void sto_schema_publish(const struct sto_schema *s)
{
    struct sto_change_stream *changes = &s->table->changes;
    atomic_store(&changes->retention_us, (int64_t)s->change_retention_s * 1000000);
    atomic_store(&changes->since_us, s->change_since_us);
    atomic_store(&s->table->published, s->version);
}

struct sto_schema *sto_schema_ref(struct sto_schema *s)
{
    uint32_t before = atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    INVARIANT(before > 0 && before < UINT32_MAX);
    return s;
}

void sto_schema_unref(struct sto_schema *s)
{
    if (s == NULL)
        return;
    uint32_t before = atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel);
    INVARIANT(before > 0);
    if (before != 1)
        return;
    table_unref(s->table);
    base_free(s);
}

/* --- lookup ------------------------------------------------------------------------------- */

uint64_t sto_schema_uncollected(const struct sto_schema *s)
{
    const struct sto_table *table = s->table;
    bool has_rules = false;
    for (size_t i = 0; i < s->family_count; i++)
        has_rules = has_rules || s->families[i].gc.term_count > 0;
    if (!has_rules)
        return 0;
    return sto_garbage_estimate(&table->garbage,
                                atomic_load_explicit(&table->additions, memory_order_relaxed),
                                sto_counters_read(&table->counters).bytes);
}

const struct sto_family *sto_schema_family(const struct sto_schema *s, struct slice name)
{
    for (size_t i = 0; i < s->family_count; i++)
        if (base_slice_equal(base_slice(s->families[i].name, s->families[i].name_len), name))
            return &s->families[i];
    return NULL;
}

const struct sto_family *sto_schema_family_by_number(const struct sto_schema *s, uint16_t number)
{
    size_t low = 0;
    size_t high = s->family_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->families[mid].number == number)
            return &s->families[mid];
        if (s->families[mid].number < number)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

/* --- filling ------------------------------------------------------------------------------ */

void sto_schema_fill_begin(struct sto_schema_fill *f, struct sto_table *table,
                           struct slice table_id, const struct sto_schema_room *room)
{
    size_t families_end = sizeof(*f->schema) + room->families * sizeof(f->schema->families[0]);
    size_t nodes_end = families_end + room->gc_nodes * sizeof(f->nodes[0]);
    size_t terms_end = nodes_end + room->gc_nodes * sizeof(f->terms[0]);
    size_t splits_end = terms_end + room->splits * sizeof(f->splits[0]);
    size_t dropped_end = splits_end + room->dropped * sizeof(f->dropped[0]);
    size_t notes_end = dropped_end + room->notes_bytes;
    size_t split_bytes_end = notes_end + room->split_bytes;
    size_t bytes = split_bytes_end + room->origin_bytes;
    uint8_t *memory = base_new(bytes);
    struct sto_schema *s = (struct sto_schema *)(void *)memory;
    s->bytes = bytes;
    atomic_init(&s->refs, 1);
    s->table = table != NULL ? table_ref(table) : table_new(table_id);
    *f = (struct sto_schema_fill){
        .schema = s,
        .left = *room,
        .nodes = (struct sto_gc_node *)(void *)(memory + families_end),
        .terms = (struct sto_gc_term *)(void *)(memory + nodes_end),
        .splits = (struct slice *)(void *)(memory + terms_end),
        .dropped = (uint16_t *)(void *)(memory + splits_end),
        .notes = memory + dropped_end,
        .split_bytes = memory + notes_end,
        .origin = memory + split_bytes_end,
    };
    s->dropped = f->dropped;
    s->splits = f->splits;
}

/* Makes a gap at the place of the number. */
static struct sto_family *family_slot(struct sto_schema *s, uint16_t number)
{
    size_t at = s->family_count++;
    while (at > 0 && s->families[at - 1].number > number) {
        s->families[at] = s->families[at - 1];
        at--;
    }
    memset(&s->families[at], 0, sizeof(s->families[at]));
    return &s->families[at];
}

enum err sto_schema_fill_family(struct sto_schema_fill *f, uint16_t number,
                                const struct sto_family_spec *spec, struct errbuf *eb)
{
    INVARIANT(f->left.families > 0 && f->left.gc_nodes >= spec->gc_node_count);
    struct errbuf inner = {{0}};
    size_t term_count = 0;
    enum err rc =
        sto_gc_compile(spec->gc_nodes, spec->gc_node_count, f->terms, &term_count, &inner);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "family \"%.*s\": %s", SLICE_ARGS(spec->name), inner.text);
    struct sto_family *family = family_slot(f->schema, number);
    family->number = number;
    memcpy(family->name, spec->name.ptr, spec->name.len);
    family->name_len = (uint8_t)spec->name.len;
    family->aggregate = spec->aggregate;
    family->value_type = spec->value_type;
    if (spec->gc_node_count > 0)
        memcpy(f->nodes, spec->gc_nodes, spec->gc_node_count * sizeof(f->nodes[0]));
    family->gc = (struct sto_gc){
        .nodes = f->nodes,
        .terms = f->terms,
        .node_count = (uint16_t)spec->gc_node_count,
        .term_count = (uint16_t)term_count,
    };
    f->nodes += spec->gc_node_count;
    f->terms += term_count;
    f->left.gc_nodes -= spec->gc_node_count;
    f->left.families--;
    return ERR_OK;
}

void sto_schema_fill_dropped(struct sto_schema_fill *f, uint16_t number)
{
    INVARIANT(f->left.dropped > 0);
    f->left.dropped--;
    *f->dropped++ = number;
    f->schema->dropped_count++;
}

void sto_schema_fill_notes(struct sto_schema_fill *f, struct slice notes)
{
    INVARIANT(f->left.notes_bytes >= notes.len);
    if (notes.len > 0)
        memcpy(f->notes, notes.ptr, notes.len);
    f->schema->row_key_notes = base_slice(f->notes, notes.len);
}

void sto_schema_fill_origin(struct sto_schema_fill *f, struct slice origin)
{
    INVARIANT(f->left.origin_bytes >= origin.len);
    if (origin.len > 0)
        memcpy(f->origin, origin.ptr, origin.len);
    f->schema->origin = base_slice(f->origin, origin.len);
}

void sto_schema_fill_split(struct sto_schema_fill *f, struct slice key)
{
    INVARIANT(f->left.splits > 0 && f->left.split_bytes >= key.len);
    memcpy(f->split_bytes, key.ptr, key.len);
    *f->splits++ = base_slice(f->split_bytes, key.len);
    f->split_bytes += key.len;
    f->left.splits--;
    f->left.split_bytes -= key.len;
    f->schema->split_count++;
}

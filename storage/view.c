/*
 * storage/view.c - copies and sorts a view's parts, removes parts inside others, and searches.
 *
 * 1. In the order of bytes, all strings that begin with p are contiguous, directly after p. So if
 *    no kept set is inside a prefix, only the last set that is not after a qualifier can hold it.
 */
#include "storage/view.h"

#include <stdlib.h>

#include "base/alloc.h"

#include "base/banned.h"

/* All bytes twice, because prefixes have ends, and less than 100 bytes around each part. */
#define ARENA_MAX (1 * MIB)

/* --- checking --------------------------------------------------------------------------------- */

enum err sto_view_id_check(struct slice id, struct errbuf *eb)
{
    _Static_assert(LIM_VIEW_ID == LIM_TABLE_ID, "the rules are those of table IDs");
    if (sto_table_id_check(id, NULL) == ERR_OK)
        return ERR_OK;
    return base_fail(eb, ERR_INVALID,
                     "a view's ID has 1 to %d characters of a-z, A-Z, 0-9, '_', '-' and '.', and "
                     "begins with none of the last two",
                     LIM_VIEW_ID);
}

struct sizes {
    size_t parts;
    size_t bytes;
};

static enum err list_check(const struct slice *list, size_t count, size_t len_max, const char *noun,
                           struct sizes *sizes, struct errbuf *eb)
{
    sizes->parts += count;
    if (sizes->parts > LIM_VIEW_PARTS)
        return base_fail(eb, ERR_TOO_BIG,
                         "a view names at most %d row prefixes, families, qualifiers and qualifier "
                         "prefixes",
                         LIM_VIEW_PARTS);
    for (size_t i = 0; i < count; i++) {
        if (list[i].len > len_max)
            return base_fail(eb, ERR_TOO_BIG, "a %s of %zu bytes; the limit is %zu", noun,
                             list[i].len, len_max);
        sizes->bytes += list[i].len;
    }
    if (sizes->bytes > LIM_VIEW_BYTES)
        return base_fail(eb, ERR_TOO_BIG, "what a view names has at most %zu bytes",
                         (size_t)LIM_VIEW_BYTES);
    return ERR_OK;
}

static enum err family_check(const struct sto_view_family_spec *f, struct sizes *sizes,
                             struct errbuf *eb)
{
    enum err rc = sto_family_name_check(f->name, eb);
    if (rc == ERR_OK)
        rc = list_check(&f->name, 1, LIM_FAMILY_NAME, "family name", sizes, eb);
    if (rc == ERR_OK)
        rc = list_check(f->qualifiers, f->qualifier_count, LIM_QUALIFIER, "qualifier", sizes, eb);
    if (rc == ERR_OK)
        rc = list_check(f->prefixes, f->prefix_count, LIM_QUALIFIER, "qualifier prefix", sizes, eb);
    return rc;
}

static enum err spec_check(const struct sto_view_spec *spec, struct errbuf *eb)
{
    struct sizes sizes = {0};
    enum err rc = list_check(spec->row_prefixes, spec->row_prefix_count, LIM_ROW_KEY, "row prefix",
                             &sizes, eb);
    if (rc == ERR_OK && spec->family_count > LIM_FAMILIES)
        rc = base_fail(eb, ERR_TOO_BIG, "%zu families; the limit is %d", spec->family_count,
                       LIM_FAMILIES);
    for (size_t i = 0; rc == ERR_OK && i < spec->family_count; i++)
        rc = family_check(&spec->families[i], &sizes, eb);
    return rc;
}

/* --- copying ---------------------------------------------------------------------------------- */

static enum err list_copy(struct arena *arena, const struct slice *list, size_t count,
                          const struct slice **out)
{
    struct slice *copy = base_arena_alloc(arena, (count + 1) * sizeof *copy);
    if (copy == NULL)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        copy[i] = base_arena_copy(arena, list[i]);
        if (copy[i].len != 0 && copy[i].ptr == NULL)
            return ERR_NO_MEMORY;
    }
    *out = copy;
    return ERR_OK;
}

static int family_spec_compare(const void *a, const void *b)
{
    return base_slice_compare(((const struct sto_view_family_spec *)a)->name,
                              ((const struct sto_view_family_spec *)b)->name);
}

static enum err spec_copy(struct sto_view *v, const struct sto_view_spec *from)
{
    struct arena *arena = &v->arena;
    struct sto_view_family_spec *families =
        base_arena_alloc(arena, (from->family_count + 1) * sizeof *families);
    if (families == NULL)
        return ERR_NO_MEMORY;
    v->spec = *from;
    v->spec.families = families;
    enum err rc =
        list_copy(arena, from->row_prefixes, from->row_prefix_count, &v->spec.row_prefixes);
    for (size_t i = 0; rc == ERR_OK && i < from->family_count; i++) {
        const struct sto_view_family_spec *f = &from->families[i];
        families[i] = *f;
        families[i].name = base_arena_copy(arena, f->name);
        if (families[i].name.ptr == NULL)
            return ERR_NO_MEMORY;
        rc = list_copy(arena, f->qualifiers, f->qualifier_count, &families[i].qualifiers);
        if (rc == ERR_OK)
            rc = list_copy(arena, f->prefixes, f->prefix_count, &families[i].prefixes);
    }
    if (rc == ERR_OK && from->family_count > 1)
        qsort(families, from->family_count, sizeof families[0], family_spec_compare);
    return rc;
}

/* --- sorting ---------------------------------------------------------------------------------- */

static enum err rows_make(struct sto_view *v)
{
    size_t count = v->spec.row_prefix_count;
    struct sto_row_range *ranges = base_arena_alloc(&v->arena, (count + 1) * sizeof *ranges);
    if (ranges == NULL)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct slice prefix = v->spec.row_prefixes[i];
        uint8_t end[LIM_ROW_KEY];
        ranges[i] = sto_range_of_prefix(prefix, end);
        ranges[i].end = base_arena_copy(&v->arena, ranges[i].end);
        if (ranges[i].end.len != 0 && ranges[i].end.ptr == NULL)
            return ERR_NO_MEMORY;
    }
    enum err rc = sto_row_set_make(ranges, count, &v->rows, NULL);
    v->rows.none = count == 0;
    return rc;
}

/* Orders a prefix before the qualifier that is equal to it. */
static int columns_compare(const void *a, const void *b)
{
    const struct sto_view_columns *x = a;
    const struct sto_view_columns *y = b;
    int order = base_slice_compare(x->bytes, y->bytes);
    return order != 0 ? order : (int)y->is_prefix - (int)x->is_prefix;
}

static bool columns_hold(const struct sto_view_columns *c, struct slice qualifier)
{
    return c->is_prefix ? base_slice_starts_with(qualifier, c->bytes)
                        : base_slice_equal(qualifier, c->bytes);
}

static enum err family_make(struct arena *arena, const struct sto_view_family_spec *from,
                            struct sto_view_family *out)
{
    size_t count = from->qualifier_count + from->prefix_count;
    struct sto_view_columns *columns = base_arena_alloc(arena, (count + 1) * sizeof *columns);
    if (columns == NULL)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < from->qualifier_count; i++)
        columns[i] = (struct sto_view_columns){.bytes = from->qualifiers[i]};
    for (size_t i = 0; i < from->prefix_count; i++)
        columns[from->qualifier_count + i] =
            (struct sto_view_columns){.bytes = from->prefixes[i], .is_prefix = true};
    if (count > 1)
        qsort(columns, count, sizeof columns[0], columns_compare);
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (used == 0 || !columns_hold(&columns[used - 1], columns[i].bytes))
            columns[used++] = columns[i];
    *out = (struct sto_view_family){from->name, columns, used};
    return ERR_OK;
}

static enum err families_make(struct sto_view *v, struct errbuf *eb)
{
    struct sto_view_family *families =
        base_arena_alloc(&v->arena, (v->spec.family_count + 1) * sizeof *families);
    if (families == NULL)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < v->spec.family_count; i++) {
        const struct sto_view_family_spec *f = &v->spec.families[i];
        if (i > 0 && base_slice_equal(f->name, f[-1].name))
            return base_fail(eb, ERR_INVALID, "family \"%.*s\" is there twice",
                             SLICE_ARGS(f->name));
        enum err rc = family_make(&v->arena, f, &families[i]);
        if (rc != ERR_OK)
            return rc;
    }
    v->families = families;
    v->family_count = v->spec.family_count;
    return ERR_OK;
}

/* --- life cycle ------------------------------------------------------------------------------- */

enum err sto_view_make(struct slice id, const struct sto_view_spec *spec, struct sto_view **out,
                       struct errbuf *eb)
{
    enum err rc = sto_view_id_check(id, eb);
    if (rc == ERR_OK)
        rc = spec_check(spec, eb);
    if (rc != ERR_OK)
        return rc;
    struct sto_view *v = base_new(sizeof *v);
    atomic_init(&v->refs, 1);
    base_arena_init(&v->arena, ARENA_MAX);
    v->id_len = (uint8_t)id.len;
    memcpy(v->id, id.ptr, id.len);
    rc = spec_copy(v, spec);
    if (rc == ERR_OK)
        rc = rows_make(v);
    if (rc == ERR_OK)
        rc = families_make(v, eb);
    if (rc != ERR_OK) {
        sto_view_unref(v);
        return rc == ERR_NO_MEMORY ? base_fail(eb, rc, "out of memory for the view") : rc;
    }
    v->bytes = sizeof *v + v->arena.used;
    *out = v;
    return ERR_OK;
}

struct sto_view *sto_view_ref(struct sto_view *v)
{
    uint32_t before = atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    INVARIANT(before > 0 && before < UINT32_MAX);
    return v;
}

void sto_view_unref(struct sto_view *v)
{
    if (v == NULL)
        return;
    uint32_t before = atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel);
    INVARIANT(before > 0);
    if (before != 1)
        return;
    base_arena_fini(&v->arena);
    base_free(v);
}

/* --- searching -------------------------------------------------------------------------------- */

const struct sto_view_family *sto_view_family(const struct sto_view *v, struct slice name)
{
    size_t low = 0;
    size_t high = v->family_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct sto_view_family *f = &v->families[middle];
        int order = base_slice_compare(f->name, name);
        if (order == 0)
            return f->column_count > 0 ? f : NULL;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool sto_view_family_is_whole(const struct sto_view_family *f)
{
    return f->columns[0].is_prefix && f->columns[0].bytes.len == 0;
}

const struct sto_view_columns *sto_view_family_find(const struct sto_view_family *f,
                                                    struct slice qualifier,
                                                    const struct sto_view_columns **out_next)
{
    size_t low = 0; /* the first set after the qualifier */
    size_t high = f->column_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (base_slice_compare(f->columns[middle].bytes, qualifier) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0 && columns_hold(&f->columns[low - 1], qualifier))
        return &f->columns[low - 1];
    *out_next = low < f->column_count ? &f->columns[low] : NULL;
    return NULL;
}

/* --- changes ---------------------------------------------------------------------------------- */

static enum err mutation_check(const struct sto_view *v, const struct sto_schema *schema,
                               const struct sto_mutation *m, struct errbuf *eb)
{
    if (m->kind == STO_DELETE_FROM_ROW)
        return base_fail(eb, ERR_FORBIDDEN, "a whole row cannot be deleted through a view");
    const struct sto_family *family = sto_schema_family_by_number(schema, m->family);
    INVARIANT(family != NULL); /* sto_mutations_check found it */
    const struct sto_view_family *f =
        sto_view_family(v, base_slice(family->name, family->name_len));
    const struct sto_view_columns *next;
    if (f == NULL)
        return base_fail(eb, ERR_FORBIDDEN, "family \"%s\" is outside the view", family->name);
    if (m->kind == STO_DELETE_FROM_FAMILY && !sto_view_family_is_whole(f))
        return base_fail(eb, ERR_FORBIDDEN, "a part of family \"%s\" is outside the view",
                         family->name);
    if (m->kind != STO_DELETE_FROM_FAMILY && sto_view_family_find(f, m->qualifier, &next) == NULL)
        return base_fail(eb, ERR_FORBIDDEN, "column \"%.*s\" of family \"%s\" is outside the view",
                         m->qualifier.len < 64 ? (int)m->qualifier.len : 64,
                         (const char *)m->qualifier.ptr, family->name);
    return ERR_OK;
}

enum err sto_view_mutations_check(const struct sto_view *v, const struct sto_schema *schema,
                                  struct slice row_key, const struct sto_mutation *mutations,
                                  size_t count, struct errbuf *eb)
{
    struct errbuf why = {{0}};
    if (!sto_row_set_holds(&v->rows, row_key))
        return base_fail(eb, ERR_FORBIDDEN, "the row key is outside the view");
    for (size_t i = 0; i < count; i++) {
        enum err rc = mutation_check(v, schema, &mutations[i], &why);
        if (rc != ERR_OK)
            return base_fail(eb, rc, "mutation %zu: %s", i + 1, why.text);
    }
    return ERR_OK;
}

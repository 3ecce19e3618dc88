/*
 * gateway/api/row_body.c - the JSON body of a row, as a list of mutations.
 *
 * Mechanism: the shape is fixed and four levels deep, so the text is read in one pass, without a
 * tree: jansson's tree costs ten times the rest of the request and up to 80 bytes per byte. This
 * pass refuses everything that it does not understand; then jansson reads the text once more and
 * decides whether the text was malformed (its error is reported) or only meaningless (ours is).
 *
 * Duplicate names: families are few and compared one by one; columns of a family are collected and
 * sorted when the family ends.
 *
 * The order of the list is the order of the body, with "$binary" in its place.
 */
#include "gateway/api/row_body.h"

#include <stdlib.h>

#include "gateway/api/cell_scan.h"
#include "gateway/api/json_in.h"
#include "gateway/cell_fields.h"

#include "base/banned.h"

#define BINARY_NAME "$binary"
#define FIRST_ROOM  8 /* mutations, and columns of a family */

/* Columns of the family being read. */
struct names {
    struct slice *list;
    size_t count;
    size_t room;
};

struct builder {
    struct gw_scan *scan;
    const struct sto_schema *schema;
    int64_t unit_us; /* of timestamps */
    struct gw_row_cells *out;
    struct names columns;
    bool seen[LIM_FAMILIES + 1]; /* by index in the schema; the last one is "$binary" */
    struct errbuf *eb;
};

/* --- lists that grow in the arena --------------------------------------------------------------
 */

static enum err no_memory(struct builder *b)
{
    return base_fail(b->eb, ERR_NO_MEMORY, "out of memory for the changes to one row");
}

/* Makes space for one more element of `each` bytes after count; *list and *room change. */
static enum err grow(struct builder *b, void **list, size_t *room, size_t count, size_t each)
{
    if (count < *room)
        return ERR_OK;
    size_t wanted = *room == 0 ? FIRST_ROOM : *room * 2;
    void *larger = base_arena_alloc(b->scan->arena, wanted * each);
    if (larger == NULL)
        return no_memory(b);
    if (count != 0)
        memcpy(larger, *list, count * each);
    *list = larger;
    *room = wanted;
    return ERR_OK;
}

static enum err add(struct builder *b, const struct sto_mutation *m)
{
    struct gw_row_cells *out = b->out;
    void *list = out->list;
    if (out->count - 1 == LIM_MUTATIONS_PER_ROW)
        return base_fail(b->eb, ERR_TOO_BIG, "more than %d changes to one row",
                         LIM_MUTATIONS_PER_ROW);
    enum err e = grow(b, &list, &out->room, out->count, sizeof *m);
    if (e != ERR_OK)
        return e;
    out->list = list;
    out->list[out->count++] = *m;
    bool deletes = m->kind == STO_DELETE_FROM_COLUMN || m->kind == STO_DELETE_FROM_FAMILY;
    out->cells += !deletes;
    out->has_null |= deletes;
    return ERR_OK;
}

static enum err add_column_name(struct builder *b, struct slice name)
{
    void *list = b->columns.list;
    enum err e = grow(b, &list, &b->columns.room, b->columns.count, sizeof name);
    if (e != ERR_OK)
        return e;
    b->columns.list = list;
    b->columns.list[b->columns.count++] = name;
    return ERR_OK;
}

static int compare_names(const void *a, const void *b)
{
    return base_slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

static enum err syntax(struct builder *b)
{
    return gw_scan_failed(b->scan, b->eb);
}

static enum err check_column_names(struct builder *b)
{
    struct names *names = &b->columns;
    if (names->count > 1)
        qsort(names->list, names->count, sizeof names->list[0], compare_names);
    for (size_t i = 1; i < names->count; i++) {
        if (base_slice_equal(names->list[i - 1], names->list[i]))
            return syntax(b);
    }
    names->count = 0;
    return ERR_OK;
}

/* --- columns, families, "$binary" --------------------------------------------------------------
 */

static enum err add_fields(struct builder *b, const struct sto_family *family,
                           struct slice qualifier, const struct gw_cell_fields *f)
{
    struct sto_mutation m;
    enum err e = gw_cell_mutation(f, family, qualifier, b->unit_us, &m, b->eb);
    return e == ERR_OK ? add(b, &m) : e;
}

static enum err add_cell(struct builder *b, const struct sto_family *family, struct slice qualifier)
{
    struct gw_cell_fields f;
    enum err e = gw_cell_scan(b->scan, family, &f, b->eb);
    return e == ERR_OK ? add_fields(b, family, qualifier, &f) : e;
}

static enum err delete_column(struct builder *b, const struct sto_family *family,
                              struct slice qualifier)
{
    return add(b, &(struct sto_mutation){.kind = STO_DELETE_FROM_COLUMN,
                                         .family = family->number,
                                         .qualifier = qualifier});
}

static enum err add_column(struct builder *b, const struct sto_family *family,
                           struct slice qualifier)
{
    if (gw_scan_null(b->scan))
        return delete_column(b, family, qualifier);
    if (!gw_scan_take(b->scan, '['))
        return gw_cell_fail_at(b->eb, add_cell(b, family, qualifier), family, qualifier, SIZE_MAX);
    bool more = !gw_scan_take(b->scan, ']');
    for (size_t i = 0; more; i++) {
        enum err e = add_cell(b, family, qualifier);
        if (e != ERR_OK)
            return gw_cell_fail_at(b->eb, e, family, qualifier, i);
        if (!gw_scan_next(b->scan, ']', &more))
            return syntax(b);
    }
    return ERR_OK;
}

/* Marks index i of the schema; false when it was marked before. */
static bool is_first(struct builder *b, size_t i)
{
    INVARIANT(i <= LIM_FAMILIES);
    bool first = !b->seen[i];
    b->seen[i] = true;
    return first;
}

static enum err add_family(struct builder *b, struct slice name)
{
    const struct sto_family *family = NULL;
    enum err e = gw_family_find(b->schema, name, &family, b->eb);
    if (e != ERR_OK)
        return e;
    if (!is_first(b, (size_t)(family - b->schema->families)))
        return syntax(b);
    if (gw_scan_null(b->scan))
        return add(
            b, &(struct sto_mutation){.kind = STO_DELETE_FROM_FAMILY, .family = family->number});
    if (!gw_scan_take(b->scan, '{'))
        return base_fail(b->eb, ERR_INVALID, "family \"%s\" must be an object of columns",
                         family->name);
    bool more = !gw_scan_take(b->scan, '}');
    while (more) {
        struct slice qualifier;
        if (!gw_scan_name(b->scan, &qualifier))
            return syntax(b);
        e = add_column_name(b, qualifier);
        if (e == ERR_OK)
            e = add_column(b, family, qualifier);
        if (e != ERR_OK)
            return e;
        if (!gw_scan_next(b->scan, '}', &more))
            return syntax(b);
    }
    return check_column_names(b);
}

/* Adds one entry of "$binary": {"family","qualifier_b64" or "qualifier","value".., "timestamp"}. */
static enum err add_binary(struct builder *b)
{
    struct gw_cell_fields f;
    const struct sto_family *family = NULL;
    if (!gw_scan_take(b->scan, '{'))
        return base_fail(b->eb, ERR_INVALID, "an entry must be an object");
    enum err e = gw_cell_scan_entry(b->scan, &f, b->eb);
    if (e != ERR_OK)
        return e;
    if (f.family.ptr == NULL || f.qualifier.ptr == NULL)
        return base_fail(b->eb, ERR_INVALID, "an entry needs \"family\" and \"qualifier_b64\"");
    e = gw_family_find(b->schema, f.family, &family, b->eb);
    if (e != ERR_OK)
        return e;
    if (f.value_is_null && f.value.ptr == NULL && f.input.ptr == NULL)
        return delete_column(b, family, f.qualifier);
    return add_fields(b, family, f.qualifier, &f);
}

static enum err add_binaries(struct builder *b)
{
    if (!is_first(b, LIM_FAMILIES))
        return syntax(b);
    if (!gw_scan_take(b->scan, '['))
        return base_fail(b->eb, ERR_INVALID, "\"" BINARY_NAME "\" must be a list");
    bool more = !gw_scan_take(b->scan, ']');
    for (size_t i = 0; more; i++) {
        enum err e = add_binary(b);
        if (e != ERR_OK)
            return e == ERR_NO_MEMORY ? e : base_fail_at(b->eb, e, BINARY_NAME "[%zu]", i);
        if (!gw_scan_next(b->scan, ']', &more))
            return syntax(b);
    }
    return ERR_OK;
}

enum err gw_row_cells_scan(struct gw_scan *scan, const struct sto_schema *schema, int64_t unit_us,
                           struct gw_row_cells *out, struct errbuf *eb)
{
    struct builder b = {.scan = scan, .schema = schema, .unit_us = unit_us, .out = out, .eb = eb};
    void *list = NULL;
    *out = (struct gw_row_cells){.count = 1};
    enum err e = grow(&b, &list, &out->room, 0, sizeof out->list[0]);
    if (e != ERR_OK)
        return e;
    out->list = list;
    if (!gw_scan_take(scan, '{'))
        return base_fail(eb, ERR_INVALID, "an object of families is expected");
    bool more = !gw_scan_take(scan, '}');
    while (more) {
        struct slice name;
        if (!gw_scan_name(scan, &name))
            return syntax(&b);
        e = base_slice_is(name, BINARY_NAME) ? add_binaries(&b) : add_family(&b, name);
        if (e != ERR_OK)
            return e;
        if (!gw_scan_next(scan, '}', &more))
            return syntax(&b);
    }
    return ERR_OK;
}

enum err gw_row_cells_finish(struct gw_row_cells *cells, enum gw_row_verb verb,
                             struct gw_row_body *out, struct errbuf *eb)
{
    if (verb == GW_ROW_PUT && cells->has_null)
        return base_fail(eb, ERR_INVALID, "null deletes, which PUT does not do: use PATCH");
    if (verb == GW_ROW_PUT && cells->cells == 0)
        return base_fail(eb, ERR_INVALID, "PUT needs at least one cell; DELETE removes the row");
    if (cells->count == 1)
        return base_fail(eb, ERR_INVALID, "the body changes nothing");
    cells->list[0] = (struct sto_mutation){.kind = STO_DELETE_FROM_ROW};
    size_t skip = verb == GW_ROW_PUT ? 0 : 1;
    *out = (struct gw_row_body){cells->list + skip, cells->count - skip, cells->cells};
    return ERR_OK;
}

enum err gw_row_body_blame(struct slice text, enum err found, struct errbuf *eb)
{
    json_t *tree = NULL;
    struct errbuf strict;
    if (found == ERR_NO_MEMORY || found == ERR_TOO_BIG)
        return found;
    strict.text[0] = '\0';
    enum err e = gw_json_parse(text, NULL, &tree, &strict);
    json_decref(tree);
    return e == ERR_OK ? found : base_fail(eb, e, "%s", strict.text);
}

enum err gw_row_body_build(struct slice text, enum gw_row_verb verb,
                           const struct sto_schema *schema, int64_t unit_us, struct arena *arena,
                           struct gw_row_body *out, struct errbuf *eb)
{
    struct gw_scan scan;
    struct gw_row_cells cells;
    gw_scan_init(&scan, text, arena);
    enum err e = gw_row_cells_scan(&scan, schema, unit_us, &cells, eb);
    if (e == ERR_OK && !gw_scan_is_end(&scan))
        e = base_fail(eb, ERR_INVALID, "something follows the end of the body");
    if (e == ERR_OK)
        e = gw_row_cells_finish(&cells, verb, out, eb);
    return e == ERR_OK ? ERR_OK : gw_row_body_blame(text, e, eb);
}

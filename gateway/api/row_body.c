/*
 * gateway/api/row_body.c - the JSON body of a row, as a list of mutations.
 *
 * Mechanism: the shape is fixed and four levels deep, so the text is read in one pass, without a
 * tree: a tree of jansson's costs ten times the rest of the request and up to 80 bytes a byte. What
 * this pass does not understand it refuses; then jansson reads the text once more and decides
 * whether it was malformed (its error is reported) or only meant nothing (ours is).
 *
 * Duplicate names: families are few and compared one by one; columns of a family are collected and
 * sorted when the family ends.
 *
 * The order of the list is the order of the body, "$binary" where it stands.
 */
#include "gateway/api/row_body.h"

#include <stdlib.h>

#include "base/text.h"
#include "gateway/api/json_in.h"

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
    struct gw_row_cells *out;
    struct names columns;
    bool seen[LIM_FAMILIES + 1]; /* by place in the schema; the last one is "$binary" */
    struct errbuf *eb;
};

/* --- lists that grow in the arena --------------------------------------------------------------
 */

static enum err no_memory(struct builder *b)
{
    return base_fail(b->eb, ERR_NO_MEMORY, "out of memory for the changes to one row");
}

/* Room for one more of `each` bytes behind count; *list and *room change. */
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
    out->cells += m->kind == STO_SET_CELL;
    out->has_null |= m->kind != STO_SET_CELL;
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
    if (b->scan->out_of_memory)
        return no_memory(b);
    return base_fail(b->eb, ERR_INVALID, "not valid JSON");
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

/* --- values ------------------------------------------------------------------------------------
 */

/* The members of a value object, or of an entry of "$binary". */
struct value_fields {
    struct slice family;
    struct slice qualifier;
    struct slice value;
    struct slice timestamp;
    bool value_is_null;
};

static enum err refuse_both(struct builder *b, const char *name)
{
    return base_fail(b->eb, ERR_INVALID, "give \"%s\" or \"%s_b64\", once", name, name);
}

/* A text member into *out; null counts as absent. */
static enum err take_text(struct builder *b, const char *name, struct slice *out)
{
    if (gw_scan_null(b->scan))
        return ERR_OK;
    if (out->ptr != NULL)
        return refuse_both(b, name);
    if (gw_scan_string(b->scan, out))
        return ERR_OK;
    return gw_scan_peek(b->scan) == '"'
               ? syntax(b)
               : base_fail(b->eb, ERR_INVALID, "\"%s\" must be text", name);
}

static enum err take_base64(struct builder *b, const char *name, struct slice *out)
{
    struct slice text = SLICE_EMPTY;
    enum err e = take_text(b, name, &text);
    if (e != ERR_OK || text.ptr == NULL)
        return e;
    if (out->ptr != NULL)
        return refuse_both(b, name);
    return gw_scan_base64(b->scan, text, name, out, b->eb);
}

static enum err unknown_field(struct builder *b, struct slice name)
{
    return base_fail(b->eb, ERR_INVALID, "unknown field \"%.*s\"",
                     (int)(name.len < 48 ? name.len : 48), (const char *)name.ptr);
}

static enum err take_member(struct builder *b, struct slice name, bool is_binary,
                            struct value_fields *f)
{
    if (base_slice_is(name, "value")) {
        f->value_is_null = gw_scan_peek(b->scan) == 'n';
        return take_text(b, "value", &f->value);
    }
    if (base_slice_is(name, "value_b64"))
        return take_base64(b, "value", &f->value);
    if (base_slice_is(name, "timestamp"))
        return take_text(b, "timestamp", &f->timestamp);
    if (is_binary && base_slice_is(name, "family"))
        return take_text(b, "family", &f->family);
    if (is_binary && base_slice_is(name, "qualifier"))
        return take_text(b, "qualifier", &f->qualifier);
    if (is_binary && base_slice_is(name, "qualifier_b64"))
        return take_base64(b, "qualifier", &f->qualifier);
    return unknown_field(b, name);
}

/* A bit for each name a value object may have, to find duplicates. */
static unsigned member_bit(struct slice name)
{
    static const char *const names[] = {"value",  "value_b64", "timestamp",
                                        "family", "qualifier", "qualifier_b64"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (base_slice_is(name, names[i]))
            return 1u << i;
    }
    return 0;
}

/* Behind '{'. */
static enum err take_fields(struct builder *b, bool is_binary, struct value_fields *f)
{
    unsigned seen = 0;
    bool more = !gw_scan_take(b->scan, '}');
    while (more) {
        struct slice name;
        if (!gw_scan_name(b->scan, &name))
            return syntax(b);
        if ((seen & member_bit(name)) != 0)
            return syntax(b);
        seen |= member_bit(name);
        enum err e = take_member(b, name, is_binary, f);
        if (e != ERR_OK)
            return e;
        if (!gw_scan_next(b->scan, '}', &more))
            return syntax(b);
    }
    return ERR_OK;
}

static enum err parse_timestamp(struct builder *b, struct slice text, int64_t *out)
{
    uint64_t number = 0;
    *out = STO_TIMESTAMP_SERVER;
    if (text.ptr == NULL)
        return ERR_OK;
    if (base_parse_u64(text, &number) != ERR_OK || number > INT64_MAX)
        return base_fail(b->eb, ERR_INVALID,
                         "\"timestamp\" must be a decimal string of microseconds");
    *out = (int64_t)number;
    return ERR_OK;
}

static enum err add_fields(struct builder *b, const struct sto_family *family,
                           struct slice qualifier, const struct value_fields *f)
{
    struct sto_mutation m = {
        .kind = STO_SET_CELL, .family = family->number, .qualifier = qualifier, .value = f->value};
    enum err e = parse_timestamp(b, f->timestamp, &m.timestamp_us);
    if (e != ERR_OK)
        return e;
    if (f->value.ptr == NULL)
        return base_fail(b->eb, ERR_INVALID,
                         "a cell of family \"%s\" has neither \"value\" nor \"value_b64\"",
                         family->name);
    return add(b, &m);
}

static enum err add_cell(struct builder *b, const struct sto_family *family, struct slice qualifier)
{
    struct value_fields f = {.value_is_null = false};
    uint8_t next = gw_scan_peek(b->scan);
    if (next == '"') {
        if (!gw_scan_string(b->scan, &f.value))
            return syntax(b);
        return add_fields(b, family, qualifier, &f);
    }
    if (!gw_scan_take(b->scan, '{'))
        return base_fail(b->eb, ERR_INVALID,
                         "a cell of family \"%s\" must be text, {\"value\":..}, {\"value_b64\":..} "
                         "or a list of those",
                         family->name);
    enum err e = take_fields(b, false, &f);
    return e == ERR_OK ? add_fields(b, family, qualifier, &f) : e;
}

/* --- columns, families, "$binary" --------------------------------------------------------------
 */

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
        return add_cell(b, family, qualifier);
    bool more = !gw_scan_take(b->scan, ']');
    while (more) {
        enum err e = add_cell(b, family, qualifier);
        if (e != ERR_OK)
            return e;
        if (!gw_scan_next(b->scan, ']', &more))
            return syntax(b);
    }
    return ERR_OK;
}

static enum err find_family(struct builder *b, struct slice name, const struct sto_family **out)
{
    *out = sto_schema_family(b->schema, name);
    if (*out != NULL)
        return ERR_OK;
    return base_fail(b->eb, ERR_NOT_FOUND, "the table has no family \"%.*s\"",
                     (int)(name.len < LIM_FAMILY_NAME ? name.len : LIM_FAMILY_NAME),
                     (const char *)name.ptr);
}

/* Mark what stands at place i of the schema; false when it was there before. */
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
    enum err e = find_family(b, name, &family);
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

/* One entry of "$binary": {"family","qualifier_b64" or "qualifier","value".., "timestamp"}. */
static enum err add_binary(struct builder *b)
{
    struct value_fields f = {.value_is_null = false};
    const struct sto_family *family = NULL;
    if (!gw_scan_take(b->scan, '{'))
        return base_fail(b->eb, ERR_INVALID, "entries of \"" BINARY_NAME "\" must be objects");
    enum err e = take_fields(b, true, &f);
    if (e != ERR_OK)
        return e;
    if (f.family.ptr == NULL || f.qualifier.ptr == NULL)
        return base_fail(b->eb, ERR_INVALID,
                         "entries of \"" BINARY_NAME "\" need \"family\" and \"qualifier_b64\"");
    e = find_family(b, f.family, &family);
    if (e != ERR_OK)
        return e;
    if (f.value_is_null && f.value.ptr == NULL)
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
    while (more) {
        enum err e = add_binary(b);
        if (e != ERR_OK)
            return e;
        if (!gw_scan_next(b->scan, ']', &more))
            return syntax(b);
    }
    return ERR_OK;
}

enum err gw_row_cells_scan(struct gw_scan *scan, const struct sto_schema *schema,
                           struct gw_row_cells *out, struct errbuf *eb)
{
    struct builder b = {.scan = scan, .schema = schema, .out = out, .eb = eb};
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
    enum err e = gw_json_parse(text, &tree, &strict);
    json_decref(tree);
    return e == ERR_OK ? found : base_fail(eb, e, "%s", strict.text);
}

enum err gw_row_body_build(struct slice text, enum gw_row_verb verb,
                           const struct sto_schema *schema, struct arena *arena,
                           struct gw_row_body *out, struct errbuf *eb)
{
    struct gw_scan scan;
    struct gw_row_cells cells;
    gw_scan_init(&scan, text, arena);
    enum err e = gw_row_cells_scan(&scan, schema, &cells, eb);
    if (e == ERR_OK && !gw_scan_is_end(&scan))
        e = base_fail(eb, ERR_INVALID, "something follows the end of the body");
    if (e == ERR_OK)
        e = gw_row_cells_finish(&cells, verb, out, eb);
    return e == ERR_OK ? ERR_OK : gw_row_body_blame(text, e, eb);
}

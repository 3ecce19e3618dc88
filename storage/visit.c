/*
 * storage/visit.c - visits one column after another, one version after another.
 *
 *   a version is            then
 *   garbage                 the rest of its column is too (storage/gc_rule.h, promise 2)
 *   newer than requested    seek to the first requested one, unless the rule counts versions
 *   older than requested    skip the column
 *   one too many            skip the column
 *   requested               to the filter, or to the sink
 *
 * The view is checked before anything else of a column, so all later steps, filter included,
 * process a row that has no other columns.
 *
 * 1. versions_max counts versions within the projection's time. So with versions_max the filter's
 *    own time is not pushed into the projection: the filter must see all counted versions.
 */
#include "storage/visit.h"

#include "base/banned.h"

#define PREPARED_BYTES (2 * KIB) /* times patterns: fewer are matched when a cell meets them */

/* --- open and close ------------------------------------------------------------------------- */

/* Emits a cell to the sink: the end of every filter. */
static void give(void *ctx, const struct sto_cell *cell)
{
    struct sto_visit *v = ctx;
    if (!v->begun)
        v->sink->row_begin(v->sink, v->row_key);
    v->begun = true;
    v->cells_given++;
    v->sink->cell(v->sink, cell);
}

static bool leaves_something_out(const struct sto_schema *schema, const struct sto_projection *p)
{
    struct sto_projection all;
    sto_projection_all(schema, &all);
    return memcmp(p->families, all.families, sizeof(all.families)) != 0 ||
           p->qualifiers.start.len != 0 || p->qualifiers.start_exclusive || p->qualifiers.has_end ||
           p->since_us > 0 || p->until_us != 0;
}

static struct slice name_of(const struct sto_family *family)
{
    return base_slice(family->name, family->name_len);
}

/* Excludes families of which the view shows nothing. */
static void narrow_to_view(struct sto_visit *v)
{
    if (v->view == NULL)
        return;
    if (!v->narrowed)
        sto_projection_all(v->schema, &v->projection);
    v->narrowed = true;
    for (size_t i = 0; i < v->schema->family_count; i++)
        if (sto_view_family(v->view, name_of(&v->schema->families[i])) == NULL)
            sto_projection_drop_family(&v->projection, i);
}

static enum err open_filter(struct sto_visit *v, const struct sto_read_spec *spec,
                            struct errbuf *eb)
{
    v->run = sto_filter_run_new(spec->filter, give, v);
    if (v->run == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "no memory for the filter");
    v->regexes = sto_filter_regexes(spec->filter);
    v->instructions = sto_filter_instructions(spec->filter);
    if (sto_filter_copies(spec->filter) > 1)
        v->copies = sto_filter_copies(spec->filter);
    struct sto_projection wanted = *sto_filter_projection(spec->filter);
    if (spec->versions != 0) {
        wanted.since_us = 0;
        wanted.until_us = 0;
    }
    if (!spec->narrowed)
        v->projection = wanted;
    else
        sto_projection_intersect(&v->projection, &wanted);
    v->narrowed = leaves_something_out(v->schema, &v->projection);
    return ERR_OK;
}

enum err sto_visit_open(struct sto_visit *v, const struct sto_schema *schema,
                        const struct sto_read_spec *spec, struct sto_row_sink *sink,
                        struct errbuf *eb)
{
    v->schema = schema;
    v->sink = sink;
    v->run = NULL;
    v->regexes = 0;
    v->instructions = 0;
    v->copies = 1;
    v->view = spec->view;
    v->family = NULL;
    v->begun = false;
    v->versions_max = spec->versions;
    v->narrowed = spec->narrowed;
    if (spec->narrowed)
        v->projection = spec->projection;
    enum err rc = spec->filter == NULL ? ERR_OK : open_filter(v, spec, eb);
    if (rc == ERR_OK)
        narrow_to_view(v);
    return rc;
}

void sto_visit_close(struct sto_visit *v)
{
    sto_filter_run_free(v->run);
    v->run = NULL;
}

/* --- where to continue ------------------------------------------------------------------------ */

/* Returns the lowest qualifier of a family that can be requested. */
static struct slice first_qualifier(const struct sto_visit *v, const struct sto_family *family)
{
    struct slice wanted = v->narrowed ? v->projection.qualifiers.start : SLICE_EMPTY;
    if (v->view == NULL)
        return wanted;
    struct slice shown = sto_view_family(v->view, name_of(family))->columns[0].bytes;
    return base_slice_compare(shown, wanted) > 0 ? shown : wanted;
}

/* Seeks the first requested family from this index of the schema on. */
static enum sto_visit_next seek_family(struct sto_visit *v, size_t from)
{
    for (size_t i = from; i < v->schema->family_count; i++) {
        if (v->narrowed && !sto_projection_has_family(&v->projection, i))
            continue;
        v->seek_family = v->schema->families[i].number;
        v->seek_qualifier = first_qualifier(v, &v->schema->families[i]);
        return STO_VISIT_SEEK_COLUMN;
    }
    return STO_VISIT_SKIP_ROW;
}

static size_t index_of(const struct sto_visit *v, const struct sto_family *family)
{
    return (size_t)(family - v->schema->families);
}

/* Returns the index of the first family whose number is higher. */
static size_t index_behind(const struct sto_visit *v, uint16_t number)
{
    size_t i = 0;
    while (i < v->schema->family_count && v->schema->families[i].number <= number)
        i++;
    return i;
}

/* Skips the rest of the column: to the next column, unless this was the last that can be
 * requested. */
static enum sto_visit_next skip_column(struct sto_visit *v)
{
    const struct sto_bytes_range *wanted = &v->projection.qualifiers;
    if (v->narrowed && wanted->has_end && base_slice_compare(v->qualifier, wanted->end) >= 0)
        return seek_family(v, index_of(v, v->family) + 1);
    return STO_VISIT_SKIP_COLUMN;
}

static enum sto_visit_next follow(struct sto_visit *v, enum sto_filter_hint hint)
{
    switch (hint) {
    case STO_FILTER_NEXT_COLUMN:
        return skip_column(v);
    case STO_FILTER_NEXT_FAMILY:
        return seek_family(v, index_of(v, v->family) + 1);
    case STO_FILTER_NEXT_ROW:
        return STO_VISIT_SKIP_ROW;
    case STO_FILTER_NEXT_CELL:
        break;
    }
    return STO_VISIT_NEXT;
}

/* --- visiting ------------------------------------------------------------------------------- */

enum sto_visit_next sto_visit_row_again(struct sto_visit *v)
{
    v->family = NULL;
    return v->narrowed ? seek_family(v, 0) : STO_VISIT_NEXT;
}

enum sto_visit_next sto_visit_row_begin(struct sto_visit *v, struct slice row_key)
{
    v->row_key = row_key;
    v->begun = false;
    v->cells_given = 0;
    if (v->run != NULL && sto_filter_row_begin(v->run, row_key) == STO_FILTER_NEXT_ROW)
        return STO_VISIT_SKIP_ROW;
    return sto_visit_row_again(v);
}

/* Checks whether the projection includes the column that is being entered. */
static enum sto_visit_next enter_projected(struct sto_visit *v, struct slice qualifier)
{
    const struct sto_bytes_range *wanted = &v->projection.qualifiers;
    size_t index = index_of(v, v->family);
    if (!sto_projection_has_family(&v->projection, index))
        return seek_family(v, index + 1);
    if (base_slice_compare(qualifier, wanted->start) < 0)
        return seek_family(v, index);
    if (!sto_bytes_range_holds(wanted, qualifier))
        return base_slice_equal(qualifier, wanted->start) ? STO_VISIT_SKIP_COLUMN
                                                          : seek_family(v, index + 1);
    return STO_VISIT_NEXT;
}

/* Checks whether the view shows the column. Its family is projected, so the view has columns
 * there. */
static enum sto_visit_next enter_shown(struct sto_visit *v, struct slice qualifier)
{
    const struct sto_view_columns *next;
    if (sto_view_family_find(v->shown, qualifier, &next) != NULL)
        return STO_VISIT_NEXT;
    if (next == NULL)
        return seek_family(v, index_of(v, v->family) + 1);
    v->seek_family = v->family->number;
    v->seek_qualifier = next->bytes;
    return STO_VISIT_SEEK_COLUMN;
}

enum sto_visit_next sto_visit_column(struct sto_visit *v, uint16_t family, struct slice qualifier)
{
    const struct sto_family *before = v->family;
    enum sto_visit_next next = STO_VISIT_NEXT;
    v->family = sto_schema_family_by_number(v->schema, family);
    if (v->family == NULL)
        return seek_family(v, index_behind(v, family));
    if (v->view != NULL && v->family != before)
        v->shown = sto_view_family(v->view, name_of(v->family));
    if (v->narrowed)
        next = enter_projected(v, qualifier);
    if (next == STO_VISIT_NEXT && v->view != NULL)
        next = enter_shown(v, qualifier);
    if (next != STO_VISIT_NEXT)
        return next;
    v->qualifier = qualifier;
    v->column_new = true;
    v->newer = 0;
    v->versions_given = 0;
    return STO_VISIT_NEXT;
}

static enum sto_visit_next show(struct sto_visit *v, int64_t timestamp_us, struct slice value)
{
    struct sto_cell cell = {.family = v->family,
                            .qualifier = v->qualifier,
                            .timestamp_us = timestamp_us,
                            .value = value};
    v->versions_given++;
    if (v->run == NULL) {
        give(v, &cell);
    } else {
        enum sto_filter_hint hint = sto_filter_cell(v->run, &cell, v->column_new);
        v->column_new = false;
        if (hint != STO_FILTER_NEXT_CELL)
            return follow(v, hint);
    }
    return v->versions_given == v->versions_max ? skip_column(v) : STO_VISIT_NEXT;
}

enum sto_visit_next sto_visit_version(struct sto_visit *v, int64_t timestamp_us, struct slice value)
{
    if (sto_gc_collects(&v->family->gc, v->newer, timestamp_us, v->now_us))
        return skip_column(v);
    v->newer++;
    if (v->narrowed && timestamp_us < v->projection.since_us)
        return skip_column(v);
    if (v->narrowed && v->projection.until_us != 0 && timestamp_us >= v->projection.until_us) {
        if (sto_gc_counts(&v->family->gc))
            return STO_VISIT_NEXT;
        v->seek_us = v->projection.until_us - 1;
        return STO_VISIT_SEEK_VERSION;
    }
    return show(v, timestamp_us, value);
}

static bool is_to_be_shown(const struct sto_visit *v, int64_t timestamp_us)
{
    if (sto_gc_collects(&v->family->gc, v->newer, timestamp_us, v->now_us))
        return false;
    return !v->narrowed || (timestamp_us >= v->projection.since_us &&
                            (v->projection.until_us == 0 || timestamp_us < v->projection.until_us));
}

bool sto_visit_prepare(struct sto_visit *v, int64_t timestamp_us, struct slice value,
                       uint64_t budget_ns)
{
    size_t bytes = value.len + v->qualifier.len;
    if (v->run == NULL || bytes * v->regexes < PREPARED_BYTES || !is_to_be_shown(v, timestamp_us))
        return true;
    struct sto_cell cell = {.family = v->family,
                            .qualifier = v->qualifier,
                            .timestamp_us = timestamp_us,
                            .value = value};
    return sto_filter_prepare(v->run, &cell, v->column_new, budget_ns);
}

enum err sto_visit_error(const struct sto_visit *v, struct errbuf *eb)
{
    return v->run == NULL ? ERR_OK : sto_filter_error(v->run, eb);
}

bool sto_visit_row_end(struct sto_visit *v)
{
    if (v->run != NULL && sto_filter_row_end(v->run))
        return true;
    if (v->begun)
        v->sink->row_end(v->sink);
    return false;
}

/*
 * storage/filter_narrow.c - computes which cells and rows can matter to a program at all.
 *
 * Mechanism: from the ends to the entry, each node gets the box of cells that can change the output
 * if they enter there, and the range of rows that can emit cells from there.
 *
 *   node                         cells that matter
 *   an end                       all
 *   family, column, timestamp    those it passes, of those that matter after it
 *   offset and limit per row     all, because each cell that enters is counted
 *   limit per column             those that matter after it, and newer cells of their columns:
 *                                whole columns and older versions can be skipped, newer ones count
 *   interleave, condition        those that matter to any branch (to the predicate, too)
 *   every other                  those that matter after it
 *
 * If no cell matters after a node, no cell matters before it, whatever the node counts. Only
 * row_key_regex restricts rows. A predicate does not restrict them: a row that it rejects takes the
 * other branch.
 */
#include "base/alloc.h"
#include "storage/filter_program.h"

#include "base/banned.h"

struct reach {
    struct sto_projection cells;
    struct sto_bytes_range rows;
};

struct narrow {
    struct sto_filter_program *p;
    struct sto_projection all;
    struct reach *at; /* one per node */
    uint8_t *bytes;   /* unused room for bounds */
};

static const struct sto_bytes_range no_rows = {.has_end = true}; /* up to the empty key */

static bool pattern_bounds(struct narrow *n, const struct sto_pattern *pattern,
                           struct sto_bytes_range *out)
{
    size_t min_len = 0;
    size_t max_len = 0;
    uint8_t *min = n->bytes;
    uint8_t *max = n->bytes + STO_PATTERN_RANGE_MAX;
    if (!sto_pattern_range(pattern, min, &min_len, max, &max_len))
        return false;
    n->bytes += (size_t)2 * STO_PATTERN_RANGE_MAX;
    *out = (struct sto_bytes_range){.start = base_slice(min, min_len),
                                    .has_end = true,
                                    .end = base_slice(max, max_len),
                                    .end_inclusive = true};
    return true;
}

static void join_reach(struct reach *to, const struct reach *with)
{
    sto_projection_join(&to->cells, &with->cells);
    sto_bytes_range_join(&to->rows, &with->rows);
}

static struct reach reach_of_interleave(const struct narrow *n, const struct filter_node *node)
{
    const uint32_t *branches = n->p->branches + node->u.interleave.first;
    struct reach reach = n->at[branches[0]];
    for (uint32_t i = 1; i < node->u.interleave.count; i++)
        join_reach(&reach, &n->at[branches[i]]);
    return reach;
}

static struct reach reach_of_condition(const struct narrow *n, const struct filter_node *node)
{
    struct reach reach = n->at[node->u.condition.when_true];
    join_reach(&reach, &n->at[node->u.condition.when_false]);
    if (!sto_projection_is_empty(&reach.cells))
        sto_projection_join(&reach.cells, &n->at[node->u.condition.predicate].cells);
    return reach;
}

static void restrict_families(struct sto_projection *cells, const struct filter_node *node)
{
    for (size_t i = 0; i < STO_FAMILY_WORDS; i++)
        cells->families[i] &= node->u.families.set[i];
}

static void restrict_column(const struct narrow *n, struct sto_projection *cells,
                            const struct filter_node *node)
{
    size_t index = filter_family_index(n->p, node->u.column.family_number);
    if (sto_projection_has_family(cells, index))
        sto_projection_family(cells, index);
    else
        sto_projection_none(cells);
    sto_bytes_range_intersect(&cells->qualifiers, &node->u.column.range);
}

static void restrict_times(struct sto_projection *cells, const struct filter_node *node)
{
    struct sto_projection times = *cells;
    times.since_us = node->u.time.since_us;
    times.until_us = node->u.time.until_us;
    sto_projection_intersect(cells, &times);
}

static struct reach reach_of_leaf(struct narrow *n, const struct filter_node *node)
{
    struct reach reach = n->at[node->next];
    struct sto_bytes_range bounds;
    if (sto_projection_is_empty(&reach.cells))
        return reach;
    if (node->op == FILTER_FAMILIES)
        restrict_families(&reach.cells, node);
    else if (node->op == FILTER_COLUMN_RANGE)
        restrict_column(n, &reach.cells, node);
    else if (node->op == FILTER_TIMESTAMP_RANGE)
        restrict_times(&reach.cells, node);
    else if (node->op == FILTER_ROW_OFFSET || node->op == FILTER_ROW_LIMIT)
        reach.cells = n->all;
    else if (node->op == FILTER_COLUMN_LIMIT)
        reach.cells.until_us = 0;
    else if (node->op == FILTER_QUALIFIER_REGEX && pattern_bounds(n, node->u.pattern, &bounds))
        sto_bytes_range_intersect(&reach.cells.qualifiers, &bounds);
    else if (node->op == FILTER_ROW_KEY_REGEX && pattern_bounds(n, node->u.pattern, &bounds))
        sto_bytes_range_intersect(&reach.rows, &bounds);
    return reach;
}

static struct reach reach_of(struct narrow *n, const struct filter_node *node)
{
    struct reach reach = {.rows = no_rows};
    switch (node->op) {
    case FILTER_DEAD_END:
        return reach;
    case FILTER_OUTPUT:
    case FILTER_MATCHED:
        return (struct reach){.cells = n->all};
    case FILTER_INTERLEAVE:
        return reach_of_interleave(n, node);
    case FILTER_CONDITION:
        return reach_of_condition(n, node);
    case FILTER_ROW_KEY_REGEX:
    case FILTER_ROW_SAMPLE:
    case FILTER_FAMILIES:
    case FILTER_QUALIFIER_REGEX:
    case FILTER_COLUMN_RANGE:
    case FILTER_TIMESTAMP_RANGE:
    case FILTER_VALUE_REGEX:
    case FILTER_VALUE_RANGE:
    case FILTER_VALUE_BITMASK:
    case FILTER_ROW_OFFSET:
    case FILTER_ROW_LIMIT:
    case FILTER_COLUMN_LIMIT:
    case FILTER_STRIP_VALUE:
    case FILTER_LABEL:
        break;
    }
    return reach_of_leaf(n, node);
}

enum err sto_filter_narrow(struct sto_filter_program *p, const struct sto_schema *schema,
                           uint8_t *bytes, struct errbuf *eb)
{
    struct narrow n = {.p = p, .bytes = bytes};
    sto_projection_all(schema, &n.all);
    n.at = base_try_alloc(p->node_count * sizeof *n.at);
    if (n.at == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "no memory for a filter");
    for (uint32_t i = 0; i < p->node_count; i++)
        n.at[i] = reach_of(&n, &p->nodes[i]);
    p->projection = n.at[p->entry].cells;
    p->rows = n.at[p->entry].rows;
    p->restricts_rows = p->rows.start.len > 0 || p->rows.start_exclusive || p->rows.has_end;
    base_free(n.at);
    return ERR_OK;
}

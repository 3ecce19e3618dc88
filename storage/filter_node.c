/*
 * storage/filter_node.c - evaluates one node of a program for one cell.
 *
 * Mechanism: patterns are matched once per row (by storage/filter_run.c), column or value. A node
 * that rejects a cell returns how far its verdict reaches: to the end of the row if no later cell
 * can pass, of the family, or of the column; older versions follow newer ones. A limit that is
 * reached by a cell that it passes raises the floor of the hint of that cell's path.
 *
 * In a dry run, a counting node passes every cell that it may pass later, so that no pattern which
 * the cell will meet is left out.
 */
#include "storage/filter_run.h"

#include "base/banned.h"

static struct filter_state *state_of(struct sto_filter_run *run, uint32_t index, uint64_t of)
{
    struct filter_state *state = &run->states[index];
    if (state->of != of)
        *state = (struct filter_state){.of = of};
    return state;
}

static const char *name_of(enum filter_op op)
{
    return sto_filter_kind_name(op == FILTER_VALUE_REGEX       ? STO_FILTER_VALUE_REGEX
                                : op == FILTER_QUALIFIER_REGEX ? STO_FILTER_QUALIFIER_REGEX
                                                               : STO_FILTER_ROW_KEY_REGEX);
}

static void states_refuse(struct sto_filter_run *run, enum filter_op op)
{
    run->error = base_fail(
        &run->detail, ERR_NO_MEMORY,
        "%s: the states of regular expressions take too much memory: requests of one caller may "
        "hold %zu bytes together at this moment; use fewer or simpler expressions, or retry later",
        name_of(op), base_memory_most(run->program->share));
}

bool sto_filter_match(struct sto_filter_run *run, uint32_t index, struct slice text)
{
    const struct filter_node *node = &run->program->nodes[index];
    struct sto_match match;
    enum err rc = sto_pattern_match(node->u.pattern, text, &match);
    run->work_ns += match.work_ns;
    run->budget_ns -= match.work_ns < run->budget_ns ? match.work_ns : run->budget_ns;
    if (rc != ERR_OK && run->error == ERR_OK)
        run->error = base_fail(
            &run->detail, rc,
            "%s: %zu bytes took a regular expression through more states than its share of memory "
            "holds; use fewer or simpler ones (counted repetitions make many states), or narrow "
            "the filter to other columns",
            name_of(node->op), text.len);
    if (!sto_filter_count_states(run->program, match.state_bytes) && run->error == ERR_OK)
        states_refuse(run, node->op);
    return rc == ERR_OK && match.yes;
}

/* Matches the text once for the number `of` and caches the verdict. */
static bool matches(struct sto_filter_run *run, uint32_t index, uint64_t of, struct slice text)
{
    struct filter_state *state = &run->states[index];
    if (state->of == of)
        return state->verdict;
    if (run->is_dry && run->has_met && sto_pattern_match_ns(text.len) > run->budget_ns) {
        run->is_cut = true;
        return false;
    }
    run->has_met = true;
    state->verdict = sto_filter_match(run, index, text);
    state->of = of;
    return state->verdict;
}

/* Matches a value once: a copy of the cell may reach the node again. */
static bool value_matches(struct sto_filter_run *run, const struct filter_position *at,
                          const struct sto_cell *cell)
{
    if (at->stripped)
        return sto_filter_match(run, at->node, SLICE_EMPTY);
    return matches(run, at->node, run->cell, cell->value);
}

static bool has_mask(struct slice value, struct slice mask)
{
    if (value.len != mask.len)
        return false;
    for (size_t i = 0; i < mask.len; i++)
        if ((value.ptr[i] & mask.ptr[i]) != mask.ptr[i])
            return false;
    return true;
}

static bool pass_column(const struct filter_node *node, const struct sto_cell *cell,
                        enum sto_filter_hint *out_hint)
{
    uint16_t number = cell->family->number;
    const struct sto_bytes_range *range = &node->u.column.range;
    if (number == node->u.column.family_number && sto_bytes_range_holds(range, cell->qualifier))
        return true;
    if (number < node->u.column.family_number)
        *out_hint = STO_FILTER_NEXT_FAMILY;
    else if (number == node->u.column.family_number &&
             base_slice_compare(cell->qualifier, range->start) <= 0)
        *out_hint = STO_FILTER_NEXT_COLUMN;
    else
        *out_hint = STO_FILTER_NEXT_ROW;
    return false;
}

static bool pass_family(const struct sto_filter_run *run, const struct filter_node *node,
                        const struct sto_cell *cell, enum sto_filter_hint *out_hint)
{
    if (filter_has_family(node, run->family_index))
        return true;
    *out_hint = cell->family->number > node->u.families.last_number ? STO_FILTER_NEXT_ROW
                                                                    : STO_FILTER_NEXT_FAMILY;
    return false;
}

static bool pass_time(const struct filter_node *node, const struct sto_cell *cell,
                      enum sto_filter_hint *out_hint)
{
    if (cell->timestamp_us < node->u.time.since_us) {
        *out_hint = STO_FILTER_NEXT_COLUMN; /* the following versions are older */
        return false;
    }
    *out_hint = STO_FILTER_NEXT_CELL;
    return node->u.time.until_us == 0 || cell->timestamp_us < node->u.time.until_us;
}

static void raise_floor(struct filter_position *at, enum sto_filter_hint floor)
{
    bool holds = !at->counted || floor == STO_FILTER_NEXT_ROW;
    if (holds && floor > at->floor)
        at->floor = floor;
}

static bool pass_offset(struct sto_filter_run *run, const struct filter_node *node,
                        struct filter_position *at, enum sto_filter_hint *out_hint)
{
    struct filter_state *state = state_of(run, at->node, run->pass_of_row);
    *out_hint = STO_FILTER_NEXT_CELL;
    if (run->is_dry) /* false only if no copy of the cell can pass */
        return state->count + run->program->visits > node->u.count;
    if (state->count < node->u.count) {
        state->count++;
        return false;
    }
    return true; /* the offset is complete: no further counting */
}

static bool pass_limit(struct sto_filter_run *run, const struct filter_node *node,
                       struct filter_position *at, enum sto_filter_hint *out_hint)
{
    bool per_row = node->op == FILTER_ROW_LIMIT;
    struct filter_state *state = state_of(run, at->node, per_row ? run->pass_of_row : run->column);
    *out_hint = per_row ? STO_FILTER_NEXT_ROW : STO_FILTER_NEXT_COLUMN;
    if (state->count == node->u.count)
        return false;
    if (run->is_dry)
        return true;
    if (++state->count == node->u.count)
        raise_floor(at, *out_hint);
    if (per_row)
        at->counted = true;
    return true;
}

bool sto_filter_pass(struct sto_filter_run *run, struct filter_position *at,
                     const struct sto_cell *cell, enum sto_filter_hint *out_hint)
{
    const struct filter_node *node = &run->program->nodes[at->node];
    *out_hint = STO_FILTER_NEXT_CELL;
    switch (node->op) {
    case FILTER_FAMILIES:
        return pass_family(run, node, cell, out_hint);
    case FILTER_QUALIFIER_REGEX:
        *out_hint = STO_FILTER_NEXT_COLUMN;
        return matches(run, at->node, run->column, cell->qualifier);
    case FILTER_COLUMN_RANGE:
        return pass_column(node, cell, out_hint);
    case FILTER_TIMESTAMP_RANGE:
        return pass_time(node, cell, out_hint);
    case FILTER_VALUE_REGEX:
        return value_matches(run, at, cell);
    case FILTER_VALUE_RANGE:
        return sto_bytes_range_holds(&node->u.values, filter_value_of(at, cell));
    case FILTER_VALUE_BITMASK:
        return has_mask(filter_value_of(at, cell), node->u.bytes);
    case FILTER_ROW_OFFSET:
        return pass_offset(run, node, at, out_hint);
    case FILTER_ROW_LIMIT:
    case FILTER_COLUMN_LIMIT:
        return pass_limit(run, node, at, out_hint);
    case FILTER_STRIP_VALUE:
        at->stripped = true;
        return true;
    case FILTER_LABEL:
        at->label = &node->u.bytes;
        return true;
    case FILTER_ROW_KEY_REGEX:
    case FILTER_ROW_SAMPLE:
        return true; /* dead ones are not entered */
    case FILTER_OUTPUT:
    case FILTER_DEAD_END:
    case FILTER_MATCHED:
    case FILTER_INTERLEAVE:
    case FILTER_CONDITION:
        break;
    }
    INVARIANT(false);
    return false;
}

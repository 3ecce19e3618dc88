/*
 * tests/support/program_draw.c - programs and filters from random numbers.
 *
 * A filter is drawn from its own small number, so that an operation can name it. Copies that an
 * interleave emits have equal bytes, because the API leaves their order open.
 */
#include "tests/support/program.h"

#include "base/err.h"

#include "base/banned.h"

static uint8_t below(struct random *rng, uint32_t n)
{
    return (uint8_t)random_below(rng, n);
}

/* --- filters
 * -------------------------------------------------------------------------------------- */

static struct sto_filter text_leaf(enum sto_filter_kind kind, const char *text)
{
    return (struct sto_filter){.kind = kind, .bytes = base_slice_text(text)};
}

static struct sto_filter range_leaf(struct random *rng)
{
    struct sto_bytes_range range = {.start = program_qualifier(below(rng, PROGRAM_QUALIFIERS)),
                                    .start_exclusive = below(rng, 2) == 0};
    if (below(rng, 2) == 0)
        return (struct sto_filter){.kind = STO_FILTER_COLUMN_RANGE,
                                   .bytes = program_family_name(below(rng, 3)),
                                   .range = range};
    range.start = below(rng, 2) == 0 ? SLICE_LIT("v") : SLICE_LIT("\0\0");
    range.has_end = below(rng, 2) == 0;
    range.end = SLICE_LIT("vz");
    return (struct sto_filter){.kind = STO_FILTER_VALUE_RANGE, .range = range};
}

static struct sto_filter leaf(struct random *rng, int64_t base_us)
{
    static const char *const keys[] = {"a.*", "b#.*", "(?s).*", "b#1|~", "\\C"};
    static const char *const families[] = {"f|gg", "tree", "m.*|hll", ".*", "f"};
    static const char *const columns[] = {"a\\C*", "", "\\C+", "\xff", "q"};
    static const char *const texts[] = {"odd", "v", "o.*", "nothing", "\\C{8}"};
    switch (below(rng, 12)) {
    case 0:
        return text_leaf(STO_FILTER_ROW_KEY_REGEX, keys[below(rng, 5)]);
    case 1:
    case 2:
        return text_leaf(STO_FILTER_FAMILY_REGEX, families[below(rng, 5)]);
    case 3:
        return text_leaf(STO_FILTER_QUALIFIER_REGEX, columns[below(rng, 5)]);
    case 4:
        return text_leaf(STO_FILTER_VALUE_REGEX, texts[below(rng, 5)]);
    case 5:
    case 6:
        return (struct sto_filter){.kind = STO_FILTER_CELLS_PER_COLUMN_LIMIT,
                                   .count = 1 + below(rng, 2)};
    case 7:
        return (struct sto_filter){.kind = STO_FILTER_CELLS_PER_ROW_LIMIT,
                                   .count = 1 + below(rng, 12)};
    case 8:
        return (struct sto_filter){.kind = STO_FILTER_CELLS_PER_ROW_OFFSET,
                                   .count = 1 + below(rng, 6)};
    case 9:
    case 10:
        return range_leaf(rng);
    default:
        return (struct sto_filter){.kind = STO_FILTER_TIMESTAMP_RANGE,
                                   .start_us = program_time((uint8_t)(1 + below(rng, 7)), base_us),
                                   .end_us = below(rng, 2) == 0 ? 0 : program_time(8, base_us)};
    }
}

static void tree(struct random *rng, int64_t base_us, struct sto_filter *nodes, size_t *used,
                 struct sto_filter *out, int depth)
{
    uint32_t kind = below(rng, 8);
    if (depth == 0 || kind < 2) {
        *out = leaf(rng, base_us);
        return;
    }
    bool condition = kind == 2;
    size_t count = condition ? 3 : 2;
    struct sto_filter *members = &nodes[*used];
    *used += count;
    INVARIANT(*used <= PROGRAM_FILTER_NODES);
    *out = (struct sto_filter){.kind = condition  ? STO_FILTER_CONDITION
                                       : kind < 5 ? STO_FILTER_INTERLEAVE
                                                  : STO_FILTER_CHAIN,
                               .members = members,
                               .member_count = count};
    for (size_t i = 0; i < count; i++)
        tree(rng, base_us, nodes, used, &members[i], depth - 1);
    if (condition && below(rng, 2) == 0)
        members[1 + below(rng, 2)] = (struct sto_filter){.kind = STO_FILTER_NONE};
}

const struct sto_filter *program_filter(uint8_t filter, int64_t base_us,
                                        struct sto_filter nodes[PROGRAM_FILTER_NODES])
{
    struct random rng = {.state = filter};
    size_t used = 1;
    tree(&rng, base_us, nodes, &used, &nodes[0], filter % 4);
    return &nodes[0];
}

/* --- mutations ----------------------------------------------------------------------------------
 */

static uint8_t draw_family(struct random *rng, uint32_t first, uint32_t count)
{
    return (uint8_t)(first + below(rng, count));
}

static struct program_mutation draw_mutation(struct random *rng)
{
    struct program_mutation m = {.qualifier = below(rng, PROGRAM_QUALIFIERS)};
    uint32_t kind = below(rng, 24);
    if (kind == 0) {
        m = (struct program_mutation){.kind = STO_DELETE_FROM_ROW};
    } else if (kind == 1) {
        m = (struct program_mutation){.kind = STO_DELETE_FROM_FAMILY,
                                      .family = draw_family(rng, 0, PROGRAM_FAMILIES)};
    } else if (kind < 5) {
        m.kind = STO_DELETE_FROM_COLUMN;
        m.family = draw_family(rng, 0, PROGRAM_FAMILIES);
        m.time = below(rng, 2) == 0 ? 0 : below(rng, PROGRAM_TIMES);
        m.until = below(rng, 2) == 0 ? 0 : below(rng, PROGRAM_TIMES);
    } else {
        m.kind = kind < 16 ? STO_SET_CELL : kind < 21 ? STO_ADD_TO_CELL : STO_MERGE_TO_CELL;
        m.family = kind < 16 ? draw_family(rng, 0, 3) : draw_family(rng, 3, 4);
        m.time = below(rng, PROGRAM_TIMES);
        m.value = below(rng, PROGRAM_VALUES);
    }
    return m;
}

static struct program_mutation draw_rule(struct random *rng)
{
    return (struct program_mutation){.kind =
                                         (uint8_t)(below(rng, 2) == 0 ? STO_APPEND : STO_INCREMENT),
                                     .family = draw_family(rng, 0, 3),
                                     .qualifier = below(rng, PROGRAM_QUALIFIERS),
                                     .value = below(rng, PROGRAM_VALUES)};
}

static void draw_mutate(struct random *rng, struct program_op *op)
{
    bool rules = below(rng, 5) == 0;
    op->joins = below(rng, 24) != 0;
    op->held = below(rng, 2) == 0;
    op->count = (uint8_t)(1 + below(rng, PROGRAM_MUTATIONS));
    for (size_t i = 0; i < op->count; i++)
        op->list[i] = rules ? draw_rule(rng) : draw_mutation(rng);
    if (below(rng, 8) == 0)
        op->expects = (uint8_t)(1 + below(rng, 2));
    if (below(rng, 6) == 0) {
        op->checks = 1;
        op->filter = below(rng, 3) == 0 ? 0 : below(rng, 256);
        op->otherwise_count = below(rng, PROGRAM_MUTATIONS);
        for (size_t i = 0; i < op->otherwise_count; i++)
            op->otherwise[i] = draw_mutation(rng);
    }
}

/* --- everything else
 * ------------------------------------------------------------------------------ */

static void draw_read(struct random *rng, struct program_op *op)
{
    uint32_t rows = below(rng, 6);
    op->range_count = rows < 3 ? UINT8_MAX : rows == 3 ? 0 : (uint8_t)(1 + below(rng, 3));
    for (size_t i = 0; rows > 3 && i < op->range_count; i++) {
        op->ranges[i][0] = below(rng, PROGRAM_ROWS);
        op->ranges[i][1] = below(rng, PROGRAM_ROWS);
        op->ranges[i][2] = below(rng, 8);
    }
    op->reversed = below(rng, 2);
    op->limit = below(rng, 3) == 0 ? (uint8_t)(1 + below(rng, 8)) : 0;
    op->versions = below(rng, 3) == 0 ? (uint8_t)(1 + below(rng, 3)) : 0;
    op->filter = below(rng, 2) == 0 ? below(rng, 256) : 0;
    op->slice = below(rng, 2) == 0 ? 0 : (uint8_t)(1 + below(rng, 80));
    op->on_loop = below(rng, 2);
    if (below(rng, 2) == 0)
        return;
    op->narrowed = 1;
    op->families = (uint8_t)(below(rng, 2) == 0 ? 255 : 1 + below(rng, 127));
    op->from = below(rng, 2) == 0 ? 0 : below(rng, 2 * PROGRAM_QUALIFIERS);
    op->to = below(rng, 2) == 0 ? 0 : below(rng, 2 * PROGRAM_QUALIFIERS);
    op->since = below(rng, 3) == 0 ? below(rng, PROGRAM_TIMES) : 0;
    op->until = below(rng, 3) == 0 ? below(rng, PROGRAM_TIMES) : 0;
}

static void draw_rare(struct random *rng, struct program_op *op)
{
    static const struct {
        enum program_kind kind;
        uint32_t weight;
        uint32_t arguments;
    } kinds[] = {{PROGRAM_DROP, 12, 8},     {PROGRAM_DROP_FAMILY, 8, PROGRAM_FAMILIES},
                 {PROGRAM_SWEEP, 20, 1},    {PROGRAM_SCHEMA, 12, PROGRAM_RULES},
                 {PROGRAM_CEILINGS, 25, 6}, {PROGRAM_RECOUNT, 15, 1},
                 {PROGRAM_REMAKE, 3, 1},    {PROGRAM_GATE, 4, 3},
                 {PROGRAM_REOPEN, 1, 1}};
    uint32_t n = below(rng, 100);
    size_t i = 0;
    while (n >= kinds[i].weight)
        n -= kinds[i++].weight;
    op->kind = (uint8_t)kinds[i].kind;
    op->argument = below(rng, kinds[i].arguments);
    if (op->kind == PROGRAM_SCHEMA)
        op->families = (uint8_t)(1 | (below(rng, 2) == 0 ? 127 : below(rng, 128)));
}

static bool survives_a_kill(uint8_t kind)
{
    return kind == PROGRAM_MUTATE || kind == PROGRAM_READ || kind == PROGRAM_DROP ||
           kind == PROGRAM_SWEEP || kind == PROGRAM_RECOUNT;
}

static void draw_one(struct random *rng, struct program_op *op)
{
    *op = (struct program_op){.tenant = below(rng, PROGRAM_TENANTS),
                              .table = below(rng, PROGRAM_TABLES),
                              .row = below(rng, PROGRAM_ROWS)};
    uint32_t n = below(rng, 200);
    if (n < 162)
        draw_mutate(rng, op);
    else if (n < 197)
        op->kind = PROGRAM_READ;
    else
        draw_rare(rng, op);
    if (op->kind == PROGRAM_READ)
        draw_read(rng, op);
}

void program_draw(struct random *rng, struct program_op *ops, size_t count, bool plain)
{
    size_t shut = 0; /* operations until the gate opens */
    size_t last[PROGRAM_TOKENS] = {0};
    for (size_t i = 0; i < count; i++) {
        struct program_op *op = &ops[i];
        draw_one(rng, op);
        if (plain && !survives_a_kill(op->kind))
            *op = (struct program_op){.kind = PROGRAM_RECOUNT};
        if (shut == 1 && op->kind != PROGRAM_GATE)
            *op = (struct program_op){.kind = PROGRAM_GATE};
        shut = op->kind == PROGRAM_GATE ? (op->argument != 0 ? 12 : 0) : shut - (shut > 0);
        if (op->kind != PROGRAM_MUTATE || below(rng, 8) != 0)
            continue;
        op->token = (uint8_t)(1 + below(rng, PROGRAM_TOKENS - 1));
        uint8_t joins = op->joins;
        if (last[op->token] != 0 && below(rng, 2) == 0) /* a retry */
            *op = ops[last[op->token]];
        op->joins = joins;
        last[op->token] = i;
    }
}

static void heat_mutations(struct program_mutation *list)
{
    for (size_t i = 0; i < PROGRAM_MUTATIONS; i++)
        list[i].qualifier %= 2;
}

void program_heat(struct program_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct program_op *op = &ops[i];
        if (op->kind != PROGRAM_MUTATE && op->kind != PROGRAM_READ && op->kind != PROGRAM_SCHEMA)
            *op = (struct program_op){.kind = PROGRAM_SWEEP};
        op->tenant = 0;
        op->table = 0;
        op->row %= 2;
        heat_mutations(op->list);
        heat_mutations(op->otherwise);
    }
}

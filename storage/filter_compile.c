/*
 * storage/filter_compile.c - compiles a tree of filters to a program of linked nodes.
 *
 * Mechanism: a filter is built for a known next node, so a chain is built from its last member to
 * its first, and indexes decrease along every path (storage/filter_program.h). Building calls
 * itself once per level of nesting; sto_filter_check has made sure that there are at most
 * LIM_FILTER_DEPTH levels. All memory is allocated at once, sized by the census of the check.
 *
 * The maximum cost of one cell is summed while the nodes are made, at each node for a cell that
 * enters there: steps, outputs, and the stack to return to the other branches. The sums stop
 * counting just above their limits, so they cannot overflow.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "storage/filter_program.h"

#include "base/banned.h"

struct cost {
    uint32_t visits;
    uint32_t copies;
    uint32_t frames;
};

struct build {
    struct sto_filter_program *p;
    const struct sto_schema *schema;
    struct errbuf *eb;
    struct cost *costs; /* one per node */
    uint32_t branches_used;
    size_t bytes_used;
    size_t pattern_memory; /* share of each pattern */
    enum err error;        /* the first; later calls have no effect */
};

static uint32_t sum_up_to(uint32_t a, uint32_t b, uint32_t limit)
{
    return a > limit || b > limit - a ? limit + 1 : a + b;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static struct slice keep(struct build *b, struct slice bytes)
{
    if (bytes.len == 0)
        return SLICE_EMPTY;
    uint8_t *at = b->p->bytes + b->bytes_used;
    memcpy(at, bytes.ptr, bytes.len);
    b->bytes_used += bytes.len;
    return base_slice(at, bytes.len);
}

static struct sto_bytes_range keep_range(struct build *b, const struct sto_bytes_range *range)
{
    struct sto_bytes_range kept = *range;
    kept.start = keep(b, range->start);
    kept.end = range->has_end ? keep(b, range->end) : SLICE_EMPTY;
    return kept;
}

static uint32_t add(struct build *b, struct filter_node node, struct cost after)
{
    uint32_t index = b->p->node_count++;
    after.visits = sum_up_to(after.visits, 1, LIM_FILTER_VISITS);
    b->p->nodes[index] = node;
    b->costs[index] = after;
    return index;
}

static uint32_t add_before(struct build *b, struct filter_node node, uint32_t next)
{
    node.next = next;
    return add(b, node, b->costs[next]);
}

/* --- kinds with members ----------------------------------------------------------------------- */

static uint32_t build_one(struct build *b, const struct sto_filter *f, uint32_t next);

static uint32_t build_chain(struct build *b, const struct sto_filter *f, uint32_t next)
{
    for (size_t i = f->member_count; i > 0; i--)
        next = build_one(b, &f->members[i - 1], next);
    return next;
}

static uint32_t build_interleave(struct build *b, const struct sto_filter *f, uint32_t next)
{
    uint32_t first = b->branches_used;
    uint32_t branch_count = (uint32_t)f->member_count;
    b->branches_used += branch_count;
    struct cost cost = {0};
    for (uint32_t i = 0; i < branch_count; i++) {
        uint32_t branch = build_one(b, &f->members[i], next);
        const struct cost *c = &b->costs[branch];
        b->p->branches[first + i] = branch;
        cost.visits = sum_up_to(cost.visits, c->visits, LIM_FILTER_VISITS);
        cost.copies = sum_up_to(cost.copies, c->copies, LIM_FILTER_COPIES);
        /* The last branch needs no frame: nothing is left to return to. */
        cost.frames = larger(cost.frames, c->frames + (i + 1 < branch_count ? 1 : 0));
    }
    struct filter_node node = {.op = FILTER_INTERLEAVE};
    node.u.interleave.first = first;
    node.u.interleave.count = branch_count;
    return add(b, node, cost);
}

static uint32_t build_condition(struct build *b, const struct sto_filter *f, uint32_t next)
{
    struct filter_node node = {.op = FILTER_CONDITION};
    node.u.condition.when_false = build_one(b, &f->members[2], next);
    node.u.condition.when_true = build_one(b, &f->members[1], next);
    node.u.condition.matched = add(b, (struct filter_node){.op = FILTER_MATCHED}, (struct cost){0});
    node.u.condition.predicate = build_one(b, &f->members[0], node.u.condition.matched);
    const struct cost *predicate = &b->costs[node.u.condition.predicate];
    const struct cost *yes = &b->costs[node.u.condition.when_true];
    const struct cost *no = &b->costs[node.u.condition.when_false];
    /* A pass follows one of the three. */
    struct cost cost = {
        .visits = larger(predicate->visits, larger(yes->visits, no->visits)),
        .copies = larger(yes->copies, no->copies),
        .frames = larger(predicate->frames, larger(yes->frames, no->frames)),
    };
    uint32_t index = add(b, node, cost);
    b->p->nodes[node.u.condition.matched].u.condition_of = index;
    return index;
}

/* --- kinds without members -------------------------------------------------------------------- */

static struct sto_pattern *compile_pattern(struct build *b, const struct sto_filter *f)
{
    struct sto_pattern *pattern = NULL;
    struct errbuf why = {{0}};
    enum err e = b->error != ERR_OK
                     ? b->error
                     : sto_pattern_compile(f->bytes, b->pattern_memory, &pattern, &why);
    if (e != ERR_OK && b->error == ERR_OK)
        b->error = base_fail(b->eb, e, "%s: %s", sto_filter_kind_name(f->kind), why.text);
    return pattern;
}

static uint32_t build_pattern(struct build *b, enum filter_op op, const struct sto_filter *f,
                              uint32_t next)
{
    struct filter_node node = {.op = op};
    node.u.pattern = compile_pattern(b, f);
    if (node.u.pattern != NULL)
        b->p->instructions += sto_pattern_instructions(node.u.pattern);
    return add_before(b, node, next);
}

/* Matches the pattern once, here: there are few families, and their names are short. */
static uint32_t build_family_regex(struct build *b, const struct sto_filter *f, uint32_t next)
{
    struct filter_node node = {.op = FILTER_FAMILIES};
    struct sto_pattern *pattern = compile_pattern(b, f);
    for (size_t i = 0; pattern != NULL && i < b->schema->family_count; i++) {
        const struct sto_family *family = &b->schema->families[i];
        struct sto_match match;
        enum err e = sto_pattern_match(pattern, base_slice(family->name, family->name_len), &match);
        if (e != ERR_OK && b->error == ERR_OK)
            b->error = base_fail(b->eb, e, "family_name_regex has too many states");
        if (match.yes) {
            node.u.families.set[i / 64] |= (uint64_t)1 << i % 64;
            node.u.families.last_number = family->number;
        }
    }
    sto_pattern_free(pattern);
    return add_before(b, node, next);
}

static uint32_t build_column_range(struct build *b, const struct sto_filter *f, uint32_t next)
{
    const struct sto_family *family = sto_schema_family(b->schema, f->bytes);
    if (family == NULL && b->error == ERR_OK)
        b->error = base_fail(b->eb, ERR_NOT_FOUND,
                             "column_range names a column family that the table does not have");
    struct filter_node node = {.op = FILTER_COLUMN_RANGE};
    node.u.column.range = keep_range(b, &f->range);
    node.u.column.family_number = family == NULL ? 0 : family->number;
    return add_before(b, node, next);
}

static uint32_t build_number(struct build *b, enum filter_op op, uint64_t number, uint32_t next)
{
    struct filter_node node = {.op = op};
    if (op == FILTER_ROW_SAMPLE)
        node.u.sample_below = number;
    else
        node.u.count = number;
    return add_before(b, node, next);
}

static uint32_t build_bytes(struct build *b, enum filter_op op, struct slice bytes, uint32_t next)
{
    struct filter_node node = {.op = op};
    node.u.bytes = keep(b, bytes);
    return add_before(b, node, next);
}

static uint32_t build_value_range(struct build *b, const struct sto_filter *f, uint32_t next)
{
    struct filter_node node = {.op = FILTER_VALUE_RANGE};
    node.u.values = keep_range(b, &f->range);
    return add_before(b, node, next);
}

static uint32_t build_timestamp_range(struct build *b, const struct sto_filter *f, uint32_t next)
{
    struct filter_node node = {.op = FILTER_TIMESTAMP_RANGE};
    node.u.time.since_us = f->start_us;
    node.u.time.until_us = f->end_us;
    return add_before(b, node, next);
}

static uint32_t build_one(struct build *b, const struct sto_filter *f, uint32_t next)
{
    switch (f->kind) {
    case STO_FILTER_PASS_ALL:
        return next;
    case STO_FILTER_SINK:
        return FILTER_OUTPUT_NODE;
    case STO_FILTER_CHAIN:
        return build_chain(b, f, next);
    case STO_FILTER_INTERLEAVE:
        return build_interleave(b, f, next);
    case STO_FILTER_CONDITION:
        return build_condition(b, f, next);
    case STO_FILTER_ROW_KEY_REGEX:
        return build_pattern(b, FILTER_ROW_KEY_REGEX, f, next);
    case STO_FILTER_QUALIFIER_REGEX:
        return build_pattern(b, FILTER_QUALIFIER_REGEX, f, next);
    case STO_FILTER_VALUE_REGEX:
        return build_pattern(b, FILTER_VALUE_REGEX, f, next);
    case STO_FILTER_FAMILY_REGEX:
        return build_family_regex(b, f, next);
    case STO_FILTER_ROW_SAMPLE:
        return build_number(b, FILTER_ROW_SAMPLE, (uint64_t)(f->probability * 0x1p64), next);
    case STO_FILTER_COLUMN_RANGE:
        return build_column_range(b, f, next);
    case STO_FILTER_TIMESTAMP_RANGE:
        return build_timestamp_range(b, f, next);
    case STO_FILTER_VALUE_RANGE:
        return build_value_range(b, f, next);
    case STO_FILTER_VALUE_BITMASK:
        return build_bytes(b, FILTER_VALUE_BITMASK, f->bytes, next);
    case STO_FILTER_CELLS_PER_ROW_OFFSET:
        return build_number(b, FILTER_ROW_OFFSET, (uint64_t)f->count, next);
    case STO_FILTER_CELLS_PER_ROW_LIMIT:
        return build_number(b, FILTER_ROW_LIMIT, (uint64_t)f->count, next);
    case STO_FILTER_CELLS_PER_COLUMN_LIMIT:
        return build_number(b, FILTER_COLUMN_LIMIT, (uint64_t)f->count, next);
    case STO_FILTER_STRIP_VALUE:
        return add_before(b, (struct filter_node){.op = FILTER_STRIP_VALUE}, next);
    case STO_FILTER_APPLY_LABEL:
        return build_bytes(b, FILTER_LABEL, f->bytes, next);
    case STO_FILTER_NONE:
    case STO_FILTER_BLOCK_ALL:
    case STO_FILTER_KIND_COUNT:
        break;
    }
    return FILTER_DEAD_END_NODE;
}

/* --- the whole program ------------------------------------------------------------------------ */

static enum err check_cost(const struct cost *cost, struct errbuf *eb)
{
    if (cost->copies > LIM_FILTER_COPIES)
        return base_fail(eb, ERR_TOO_BIG,
                         "interleave: one cell can come out more than %d times, which is the limit",
                         LIM_FILTER_COPIES);
    if (cost->visits > LIM_FILTER_VISITS)
        return base_fail(eb, ERR_TOO_BIG,
                         "interleave: one cell can take more than %d steps, which is the limit",
                         LIM_FILTER_VISITS);
    return ERR_OK;
}

static bool looks_at_rows(const struct sto_filter_program *p)
{
    for (uint32_t i = 0; i < p->node_count; i++)
        if (p->nodes[i].op == FILTER_ROW_KEY_REGEX || p->nodes[i].op == FILTER_ROW_SAMPLE)
            return true;
    return false;
}

static enum err build_program(struct build *b, const struct sto_filter *filter)
{
    struct sto_filter_program *p = b->p;
    (void)add(b, (struct filter_node){.op = FILTER_OUTPUT}, (struct cost){.copies = 1});
    (void)add(b, (struct filter_node){.op = FILTER_DEAD_END}, (struct cost){0});
    p->entry = build_one(b, filter, FILTER_OUTPUT_NODE);
    if (b->error != ERR_OK)
        return b->error;
    enum err e = check_cost(&b->costs[p->entry], b->eb);
    if (e != ERR_OK)
        return e;
    p->frames = b->costs[p->entry].frames;
    p->copies = b->costs[p->entry].copies;
    p->visits = b->costs[p->entry].visits;
    p->looks_at_rows = looks_at_rows(p);
    e = sto_filter_rank(p, b->eb);
    if (e != ERR_OK)
        return e;
    return sto_filter_narrow(p, b->schema, p->bytes + b->bytes_used, b->eb);
}

enum err sto_filter_compile(const struct sto_filter *filter, const struct sto_schema *schema,
                            struct sto_filter_program **out, struct errbuf *eb)
{
    INVARIANT(schema->family_count <= LIM_FAMILIES);
    struct filter_census census;
    enum err e = sto_filter_check(filter, &census, eb);
    if (e != ERR_OK)
        return e;
    struct build b = {.schema = schema, .eb = eb};
    b.pattern_memory = LIM_FILTER_REGEX_BYTES / (census.regexes == 0 ? 1 : census.regexes);
    b.p = sto_filter_program_new(schema, &census);
    b.costs = base_try_alloc(filter_nodes_max(&census) * sizeof *b.costs);
    uint64_t began_ns = filter_is_small(&census) ? 0 : base_thread_cpu_ns();
    if (b.p == NULL || b.costs == NULL)
        e = base_fail(eb, ERR_NO_MEMORY, "no memory for a filter");
    else
        e = build_program(&b, filter);
    if (b.p != NULL) {
        b.p->regexes = census.regexes;
        b.p->compile_ns = filter_is_small(&census) ? 0 : base_thread_cpu_ns() - began_ns;
    }
    base_free(b.costs);
    if (e != ERR_OK)
        sto_filter_unref(b.p);
    else
        *out = b.p;
    return e;
}

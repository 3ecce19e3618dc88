/*
 * tests/support/program.c - the meaning of the indices of an operation.
 */
#include "tests/support/program.h"

#include "base/alloc.h"
#include "storage/row_set.h"

#include "base/banned.h"

#define MINUTE_US 60000000LL
#define HOUR_US   (60 * MINUTE_US)

static const struct slice row_keys[PROGRAM_ROWS] = {
    SLICE_LIT("a"),     SLICE_LIT("b"),   SLICE_LIT("\0"), SLICE_LIT("\0\0"), SLICE_LIT("\0\1"),
    SLICE_LIT("\1"),    SLICE_LIT("#"),   SLICE_LIT("aa"), SLICE_LIT("a\0"),  SLICE_LIT("a\0b"),
    SLICE_LIT("a\1"),   SLICE_LIT("ab"),  SLICE_LIT("b#"), SLICE_LIT("b#1"),  SLICE_LIT("b#22"),
    SLICE_LIT("z\xff"), SLICE_LIT("a#b"), SLICE_LIT("~"),  SLICE_LIT("\xff"), SLICE_LIT("\xff\xff"),
};
static const struct slice qualifiers[PROGRAM_QUALIFIERS] = {SLICE_LIT("q"), SLICE_LIT(""),
                                                            SLICE_LIT("a\0b"), SLICE_LIT("\xff")};
static const char *const family_names[PROGRAM_FAMILIES] = {"f",   "gg",  "tree", "sum",
                                                           "min", "max", "hll"};
static const enum sto_aggregate aggregates[PROGRAM_FAMILIES] = {
    STO_AGGREGATE_NONE, STO_AGGREGATE_NONE, STO_AGGREGATE_NONE, STO_AGGREGATE_SUM,
    STO_AGGREGATE_MIN,  STO_AGGREGATE_MAX,  STO_AGGREGATE_HLL};
static const struct slice values[PROGRAM_VALUES] = {
    SLICE_LIT("v"),
    SLICE_LIT("odd"),
    SLICE_LIT(""),
    SLICE_LIT("\0\0\0\0\0\0\0\1"),
    SLICE_LIT("\xff\xff\xff\xff\xff\xff\xff\xfe"),
    SLICE_LIT("\x7f\xff\xff\xff\xff\xff\xff\xff"),
    SLICE_LIT("\0\0\0\0\0\1\2\3"),
    SLICE_LIT("\0\xff\0\xff\1"),
    SLICE_LIT("0123456789"),
    SLICE_LIT("thirty bytes of a longer value"),
    SLICE_LIT("sixty bytes, so that an append or two come near to the ceiling"),
    SLICE_LIT(
        "ninety bytes: a cell that is as large as the ceiling of the account lets it be. ......."
        "123456"),
};

struct slice program_row_key(uint8_t index)
{
    return row_keys[index % PROGRAM_ROWS];
}

struct slice program_qualifier(uint8_t index)
{
    return qualifiers[index % PROGRAM_QUALIFIERS];
}

struct slice program_family_name(uint8_t index)
{
    return base_slice_text(family_names[index % PROGRAM_FAMILIES]);
}

/* Returns a time, either old or within the last half hour, so that the clock's progress during a
 * run does not change whether a cell is older than one hour. */
int64_t program_time(uint8_t index, int64_t base_us)
{
    const int64_t times[PROGRAM_TIMES] = {STO_TIMESTAMP_SERVER,
                                          1000,
                                          0,
                                          2000,
                                          base_us - 20 * MINUTE_US,
                                          base_us - 21 * MINUTE_US,
                                          base_us - 2 * HOUR_US,
                                          base_us - 3 * HOUR_US,
                                          7258118400000000 /* the year 2200 */};
    return times[index % PROGRAM_TIMES];
}

/* --- schemas ------------------------------------------------------------------------------------
 */

struct rule {
    struct sto_gc_node nodes[7];
    size_t count;
};

static const struct rule rules[PROGRAM_RULES] = {
    {{{0}}, 0},
    {{{.kind = STO_GC_MAX_VERSIONS, .max_versions = 2}}, 1},
    {{{.kind = STO_GC_MAX_AGE, .max_age_us = HOUR_US}}, 1},
    {{{.kind = STO_GC_UNION, .member_count = 2},
      {.kind = STO_GC_MAX_VERSIONS, .max_versions = 3},
      {.kind = STO_GC_MAX_AGE, .max_age_us = HOUR_US}},
     3},
    {{{.kind = STO_GC_UNION, .member_count = 2},
      {.kind = STO_GC_MAX_VERSIONS, .max_versions = 4},
      {.kind = STO_GC_INTERSECTION, .member_count = 2},
      {.kind = STO_GC_MAX_VERSIONS, .max_versions = 1},
      {.kind = STO_GC_MAX_AGE, .max_age_us = HOUR_US}},
     5},
    {{{.kind = STO_GC_INTERSECTION, .member_count = 3},
      {.kind = STO_GC_MAX_VERSIONS, .max_versions = 1},
      {.kind = STO_GC_UNION, .member_count = 2},
      {.kind = STO_GC_MAX_VERSIONS, .max_versions = 5},
      {.kind = STO_GC_MAX_AGE, .max_age_us = 150 * MINUTE_US},
      {.kind = STO_GC_MAX_AGE, .max_age_us = HOUR_US}},
     6},
};

struct sto_schema *program_schema(const char *table, const struct sto_schema *old, uint8_t families,
                                  uint8_t rule)
{
    struct sto_family_spec specs[PROGRAM_FAMILIES] = {0};
    struct sto_table_spec spec = {.families = specs};
    const uint8_t count = PROGRAM_FAMILIES;
    for (uint8_t i = 0; i < count; i++) {
        bool ruled = i != 0 && rule != PROGRAM_NO_RULES;
        const struct rule *r = &rules[ruled ? (rule + (i < 3 ? i : 0)) % PROGRAM_RULES : 0];
        if ((families >> i & 1) == 0)
            continue;
        specs[spec.family_count++] = (struct sto_family_spec){.name = program_family_name(i),
                                                              .aggregate = aggregates[i],
                                                              .gc_nodes = r->nodes,
                                                              .gc_node_count = r->count};
    }
    struct sto_schema *schema = NULL;
    INVARIANT(sto_schema_make(base_slice_text(table), old, &spec, &schema, NULL) == ERR_OK);
    return schema;
}

/* --- mutations ----------------------------------------------------------------------------------
 */

static struct slice aggregate_input(const struct program_mutation *m)
{
    if (aggregates[m->family] != STO_AGGREGATE_HLL)
        return values[3 + m->value % 4];
    if (m->kind == STO_MERGE_TO_CELL) /* a state with one index, or without any */
        return base_slice("\x01\x00\x00\x00\x05", m->value % 2 == 0 ? 5 : 1);
    return base_slice(&"abcdef"[m->value % 6], 1);
}

struct sto_mutation program_mutation(const struct program_mutation *m,
                                     const struct sto_schema *schema, int64_t base_us)
{
    static const int64_t increments[] = {1, -1, 500, INT64_MAX};
    const struct sto_family *family = sto_schema_family(schema, program_family_name(m->family));
    struct sto_mutation out = {.kind = (enum sto_mutation_kind)m->kind};
    if (m->kind == STO_DELETE_FROM_ROW)
        return out;
    out.family = family != NULL ? family->number : 0;
    if (m->kind == STO_DELETE_FROM_FAMILY)
        return out;
    out.qualifier = program_qualifier(m->qualifier);
    if (m->kind == STO_DELETE_FROM_COLUMN) {
        out.start_us = m->time == 0 ? 0 : program_time(m->time, base_us);
        out.end_us = m->until == 0 ? 0 : program_time(m->until, base_us);
        if (out.end_us <= out.start_us)
            out.end_us = 0;
    } else if (m->kind == STO_INCREMENT) {
        out.increment = increments[m->value % 4];
    } else if (m->kind == STO_APPEND) {
        out.value = values[m->value % PROGRAM_VALUES];
    } else {
        out.timestamp_us = program_time(m->time, base_us);
        out.value =
            m->kind == STO_SET_CELL ? values[m->value % PROGRAM_VALUES] : aggregate_input(m);
    }
    return out;
}

/* --- reads
 * ---------------------------------------------------------------------------------------- */

static void read_rows(const struct program_op *op, struct sto_row_range ranges[PROGRAM_RANGES],
                      struct sto_read_spec *out)
{
    if (op->range_count == UINT8_MAX)
        out->row_key = program_row_key(op->row);
    if (op->range_count == UINT8_MAX || op->range_count == 0)
        return;
    for (size_t i = 0; i < op->range_count; i++) {
        struct slice a = program_row_key(op->ranges[i][0]), b = program_row_key(op->ranges[i][1]);
        uint8_t flags = op->ranges[i][2];
        int order = base_slice_compare(a, b);
        ranges[i] = sto_range_of_key(a);
        if (order == 0)
            continue;
        ranges[i].start = order < 0 ? a : b;
        ranges[i].end = (flags & 4) != 0 ? SLICE_EMPTY : order < 0 ? b : a;
        ranges[i].start_exclusive = (flags & 1) != 0;
        ranges[i].end_inclusive = (flags & 2) != 0 && ranges[i].end.len > 0;
    }
    INVARIANT(sto_row_set_make(ranges, op->range_count, &out->rows, NULL) == ERR_OK);
}

void program_read(const struct program_op *op, const struct sto_schema *schema, int64_t base_us,
                  struct sto_row_range ranges[PROGRAM_RANGES], struct sto_read_spec *out)
{
    *out = (struct sto_read_spec){.reversed = op->reversed != 0,
                                  .row_limit = op->limit,
                                  .versions = op->versions,
                                  .narrowed = op->narrowed != 0};
    read_rows(op, ranges, out);
    if (!out->narrowed)
        return;
    struct sto_projection *p = &out->projection;
    sto_projection_all(schema, p);
    p->families[0] &= op->families;
    if (op->from != 0) {
        p->qualifiers.start = program_qualifier(op->from);
        p->qualifiers.start_exclusive = op->from > PROGRAM_QUALIFIERS;
    }
    if (op->to != 0) {
        p->qualifiers.has_end = true;
        p->qualifiers.end = program_qualifier(op->to);
        p->qualifiers.end_inclusive = op->to > PROGRAM_QUALIFIERS;
    }
    if (op->since != 0)
        p->since_us = program_time(op->since, base_us);
    if (op->until != 0)
        p->until_us = program_time(op->until, base_us) + 1;
}

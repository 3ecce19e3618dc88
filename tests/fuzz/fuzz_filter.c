/*
 * tests/fuzz/fuzz_filter.c - filters of any shape over rows (storage/filter.h).
 *
 * The input is read as a tree (also trees no parser would make: deeper and larger than the limits,
 * counts below 1, kinds that do not exist, groups of one) and a row.
 *   - The compiler refuses or compiles, and what it refuses it explains.
 *   - A compiled filter gives what tests/support/filter_oracle.h gives, whether all hints and the
 *     projection are honoured, none, or some (promises 1 to 3).
 */
#include <stdio.h>

#include "tests/fuzz/fuzz.h"
#include "tests/storage/filter_rows.h"

#include "base/banned.h"

#define NODES       400
#define DEPTH       (LIM_FILTER_DEPTH + 4)
#define MEMBERS_MAX 4
#define CELLS_MAX   24
#define OUTPUT_MAX  4000 /* of a row: the oracle holds lists, and searches them */

static const char *const family_names[] = {"a", "bc", "b"};
static struct sto_schema *schema;
static uint8_t zeros[2 * LIM_FILTER_BYTES]; /* for texts larger than any filter may be */

static const char *const texts[] = {"", "a", "ab", "b", "ba", "\xff", "c-d", "l"};
static const char *const patterns[] = {"a",    "a.*", "b.*", ".*", "a|b", "[ab]+",
                                       "\\C*", "c.d", "",    "a?", "(",   "(?i)A"};

/* --- trees --------------------------------------------------------------------------------- */

struct maker {
    struct fuzz_input in;
    struct sto_filter nodes[NODES];
    size_t used;
    unsigned samples;
};

static struct slice text_from(struct maker *m, const char *const *list, unsigned count)
{
    unsigned choice = fuzz_below(&m->in, count + 8);
    if (choice < count)
        return base_slice_text(list[choice]);
    if (choice == count)
        return base_slice(zeros, fuzz_number(&m->in, 2) % sizeof zeros);
    return fuzz_bytes(&m->in, 12);
}

static struct slice any_text(struct maker *m)
{
    return text_from(m, texts, sizeof texts / sizeof texts[0]);
}

/* Mostly what is allowed, sometimes anything. */
static int64_t number_from(struct maker *m)
{
    uint8_t small = fuzz_byte(&m->in);
    return small < 0xf0 ? small % 8 : (int64_t)fuzz_number(&m->in, 8);
}

static struct sto_bytes_range range_from(struct maker *m)
{
    uint8_t ends = fuzz_byte(&m->in);
    return (struct sto_bytes_range){.start = any_text(m),
                                    .start_exclusive = ends & 1,
                                    .has_end = ends & 2,
                                    .end = any_text(m),
                                    .end_inclusive = ends & 4};
}

static void make_leaf(struct maker *m, struct sto_filter *f)
{
    switch (f->kind) {
    case STO_FILTER_ROW_KEY_REGEX:
    case STO_FILTER_FAMILY_REGEX:
    case STO_FILTER_QUALIFIER_REGEX:
    case STO_FILTER_VALUE_REGEX:
        f->bytes = text_from(m, patterns, sizeof patterns / sizeof patterns[0]);
        break;
    case STO_FILTER_COLUMN_RANGE:
    case STO_FILTER_VALUE_RANGE:
        f->bytes = text_from(m, family_names, 3);
        f->range = range_from(m);
        break;
    case STO_FILTER_TIMESTAMP_RANGE:
        f->start_us = number_from(m);
        f->end_us = number_from(m);
        break;
    case STO_FILTER_ROW_SAMPLE:
        m->samples++;
        f->probability = (double)number_from(m) / 8;
        break;
    case STO_FILTER_VALUE_BITMASK:
    case STO_FILTER_APPLY_LABEL:
        f->bytes = any_text(m);
        break;
    default:
        f->count = number_from(m);
    }
}

static bool is_group(const struct sto_filter *f)
{
    return f->kind == STO_FILTER_CHAIN || f->kind == STO_FILTER_INTERLEAVE ||
           f->kind == STO_FILTER_CONDITION;
}

/* Returns how many copies of one cell can come out of it, or more. */
static uint64_t make_filter(struct maker *m, struct sto_filter *f, unsigned depth)
{
    f->kind = (enum sto_filter_kind)fuzz_below(&m->in, STO_FILTER_KIND_COUNT + 1);
    if (!is_group(f)) {
        make_leaf(m, f);
        return 1;
    }
    size_t members = f->kind == STO_FILTER_CONDITION ? 3 : fuzz_below(&m->in, MEMBERS_MAX + 1);
    if (depth == 0 || m->used + members > NODES)
        members = 0;
    struct sto_filter *of = &m->nodes[m->used];
    m->used += members;
    f->members = of;
    f->member_count = members;
    uint64_t sum = 1, product = 1;
    for (size_t i = 0; i < members; i++) {
        uint64_t copies = make_filter(m, &of[i], depth - 1);
        sum += copies;
        product = product * copies < UINT32_MAX ? product * copies : UINT32_MAX;
    }
    return f->kind == STO_FILTER_CHAIN ? product + sum : sum; /* sinks: what went in, too */
}

/* --- rows ---------------------------------------------------------------------------------- */

static void make_row(struct fuzz_input *in, struct oracle_row *row)
{
    static const char *const qualifiers[] = {"", "a", "ab", "b", "c-d"};
    static const char *const keys[] = {"a", "ab", "b", "bb"};
    uint64_t there = fuzz_number(in, 8);
    row->key = base_slice_text(keys[fuzz_below(in, 4)]);
    row->count = 0;
    for (unsigned i = 0; i < 60 && row->count < CELLS_MAX; i++) {
        if ((there >> i & 1) == 0)
            continue;
        uint8_t value = fuzz_byte(in);
        row->cells[row->count++] = (struct sto_cell){
            .family = &schema->families[i / 20],
            .qualifier = base_slice_text(qualifiers[i / 4 % 5]),
            .timestamp_us = 3 - i % 4,
            .value = value < 0xf0 ? base_slice_text(texts[value % 8]) : fuzz_bytes(in, 8),
        };
    }
}

/* --- trying -------------------------------------------------------------------------------- */

static void try_row(struct sto_filter_program *program, const struct sto_filter *filter,
                    const struct oracle_row *row)
{
    if (is_right(schema, program, filter, row, 1))
        return;
    oracle_print_filter(stderr, filter);
    (void)fputc('\n', stderr);
    oracle_print_row(stderr, row);
    struct oracle_list right = oracle_evaluate(filter, row, true);
    (void)fprintf(stderr, "right (where row_sample takes the row):\n");
    oracle_print_list(stderr, &right);
    base_panic(__FILE__, __LINE__, "the filter gives something else");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct maker m;
    static struct oracle_row row;
    if (schema == NULL)
        schema = filter_schema(family_names, 3);
    m.in.rest = base_slice(data, size);
    m.used = 0;
    m.samples = 0;
    memset(m.nodes, 0, sizeof m.nodes);
    struct sto_filter root = {0};
    struct sto_filter_program *program = NULL;
    struct errbuf eb = {{0}};
    uint64_t copies = make_filter(&m, &root, DEPTH);
    enum err e = sto_filter_compile(&root, schema, &program, &eb);
    fuzz_expect_told(e, &eb);
    if (e != ERR_OK) {
        INVARIANT(e == ERR_INVALID || e == ERR_NOT_FOUND || e == ERR_TOO_BIG);
        return 0;
    }
    INVARIANT(sto_filter_wire_bytes(&root) <= LIM_FILTER_BYTES);
    make_row(&m.in, &row);
    /* The oracle knows one verdict of sampling for the whole tree. */
    if (m.samples <= 1 && copies * (row.count + 1) <= OUTPUT_MAX)
        try_row(program, &root, &row);
    sto_filter_unref(program);
    return 0;
}

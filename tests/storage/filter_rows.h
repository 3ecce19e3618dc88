/*
 * tests/storage/filter_rows.h - a schema, rows, and a reader that drives a filter over them.
 *
 * Does:     create a schema without storing it; build filters in one expression; pass a row to a
 *           run as a scan does, skip cells as hints and the projection allow, and prepare cells,
 *           always or at random; compare the output with the oracle.
 * Owns:     nothing; the caller owns results.
 * May use:  base/, storage/, tests/support/.
 * Knows no: the source of filters and rows.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: aborting; tests and fuzz targets share it.
 * Limits:   those of tests/support/filter_oracle.h.
 * Promises: 1. Output cells that are out of order, or not in the row, abort.
 */
#ifndef TESTS_STORAGE_FILTER_ROWS_H
#define TESTS_STORAGE_FILTER_ROWS_H

#include "base/alloc.h"
#include "storage/filter_run.h"
#include "tests/support/filter_oracle.h"
#include "tests/support/random.h"

/* --- filters in one expression ----------------------------------------------------------------
 */

#define ARRAY_OF(...)                                                                              \
    (const struct sto_filter[])                                                                    \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define GROUP(kind_, ...)                                                                          \
    ((struct sto_filter){.kind = (kind_),                                                          \
                         .members = ARRAY_OF(__VA_ARGS__),                                         \
                         .member_count =                                                           \
                             sizeof(ARRAY_OF(__VA_ARGS__)) / sizeof(struct sto_filter)})
#define CHAIN(...)      GROUP(STO_FILTER_CHAIN, __VA_ARGS__)
#define INTERLEAVE(...) GROUP(STO_FILTER_INTERLEAVE, __VA_ARGS__)
#define CONDITION(...)  GROUP(STO_FILTER_CONDITION, __VA_ARGS__)

#define OF_BYTES(kind_, text_)  ((struct sto_filter){.kind = (kind_), .bytes = SLICE_LIT(text_)})
#define OF_COUNT(kind_, count_) ((struct sto_filter){.kind = (kind_), .count = (count_)})
#define PLAIN(kind_)            ((struct sto_filter){.kind = (kind_)})

#define NONE             PLAIN(STO_FILTER_NONE)
#define PASS             PLAIN(STO_FILTER_PASS_ALL)
#define BLOCK            PLAIN(STO_FILTER_BLOCK_ALL)
#define SINK             PLAIN(STO_FILTER_SINK)
#define STRIP            PLAIN(STO_FILTER_STRIP_VALUE)
#define ROW_KEY(text_)   OF_BYTES(STO_FILTER_ROW_KEY_REGEX, text_)
#define FAMILY(text_)    OF_BYTES(STO_FILTER_FAMILY_REGEX, text_)
#define QUALIFIER(text_) OF_BYTES(STO_FILTER_QUALIFIER_REGEX, text_)
#define VALUE(text_)     OF_BYTES(STO_FILTER_VALUE_REGEX, text_)
#define BITMASK(text_)   OF_BYTES(STO_FILTER_VALUE_BITMASK, text_)
#define LABEL(text_)     OF_BYTES(STO_FILTER_APPLY_LABEL, text_)
#define OFFSET(n_)       OF_COUNT(STO_FILTER_CELLS_PER_ROW_OFFSET, n_)
#define PER_ROW(n_)      OF_COUNT(STO_FILTER_CELLS_PER_ROW_LIMIT, n_)
#define PER_COLUMN(n_)   OF_COUNT(STO_FILTER_CELLS_PER_COLUMN_LIMIT, n_)
#define SAMPLE(p_)       ((struct sto_filter){.kind = STO_FILTER_ROW_SAMPLE, .probability = (p_)})
#define TIMES(start_, end_)                                                                        \
    ((struct sto_filter){                                                                          \
        .kind = STO_FILTER_TIMESTAMP_RANGE, .start_us = (start_), .end_us = (end_)})

/* --- a schema ---------------------------------------------------------------------------------
 */

/* Returns a schema with families of these names and numbers 2, 4, 6, ... */
static inline struct sto_schema *filter_schema(const char *const *names, size_t count)
{
    struct sto_schema *s = base_new(sizeof *s + count * sizeof s->families[0]);
    s->refs = 1;
    s->family_count = count;
    for (size_t i = 0; i < count; i++) {
        s->families[i].number = (uint16_t)(2 * i + 2);
        s->families[i].name_len = (uint8_t)strlen(names[i]);
        memcpy(s->families[i].name, names[i], strlen(names[i]));
    }
    return s;
}

/* --- a reader ---------------------------------------------------------------------------------
 */

enum honour { HONOUR_NOTHING, HONOUR_EVERYTHING, HONOUR_BY_CHANCE };

struct reader {
    const struct sto_schema *schema;
    const struct oracle_row *row;
    struct oracle_list out;
    enum honour honour;
    struct random *random;
    size_t passes; /* number of passes over the last row */
    size_t given;  /* number of cells passed to the filter, all passes */
};

static inline size_t position_in_row(const struct oracle_row *row, const struct sto_cell *cell)
{
    size_t i = 0;
    while (i < row->count && (row->cells[i].family != cell->family ||
                              row->cells[i].timestamp_us != cell->timestamp_us ||
                              !base_slice_equal(row->cells[i].qualifier, cell->qualifier)))
        i++;
    return i;
}

static inline void reader_emit(void *ctx, const struct sto_cell *cell)
{
    struct reader *r = ctx;
    size_t position = position_in_row(r->row, cell);
    INVARIANT(position < r->row->count); /* it is one of the row's */
    INVARIANT(r->out.count == 0 || position >= r->out.items[r->out.count - 1].position);
    oracle_list_add(&r->out, (struct oracle_item){.cell = *cell, .position = position});
}

static inline bool reader_skips(struct reader *r)
{
    return r->honour == HONOUR_EVERYTHING ||
           (r->honour == HONOUR_BY_CHANCE && random_below(r->random, 2) == 0);
}

static inline bool same_column(const struct sto_cell *a, const struct sto_cell *b)
{
    return a->family == b->family && base_slice_equal(a->qualifier, b->qualifier);
}

static inline bool is_projected(const struct sto_schema *s, const struct sto_projection *p,
                                const struct sto_cell *cell)
{
    return sto_projection_has_family(p, (size_t)(cell->family - s->families)) &&
           sto_bytes_range_holds(&p->qualifiers, cell->qualifier) &&
           cell->timestamp_us >= p->since_us &&
           (p->until_us == 0 || cell->timestamp_us < p->until_us);
}

/* Returns the index after the cells that the hint allows to skip after the cell at `index`. */
static inline size_t reader_skip(const struct oracle_row *row, size_t index,
                                 enum sto_filter_hint hint)
{
    const struct sto_cell *at = &row->cells[index++];
    while (index < row->count &&
           (hint == STO_FILTER_NEXT_ROW ||
            (hint == STO_FILTER_NEXT_FAMILY && row->cells[index].family == at->family) ||
            (hint == STO_FILTER_NEXT_COLUMN && same_column(&row->cells[index], at))))
        index++;
    return index;
}

static inline void reader_pass(struct reader *r, struct sto_filter_run *run,
                               const struct sto_projection *projection)
{
    const struct sto_cell *before = NULL;
    size_t i = 0;
    while (i < r->row->count) {
        const struct sto_cell *cell = &r->row->cells[i];
        if (!is_projected(r->schema, projection, cell) && reader_skips(r)) {
            i++;
            continue;
        }
        bool new_column = before == NULL || !same_column(before, cell);
        bool prepares = reader_skips(r);
        while (prepares && !sto_filter_prepare(run, cell, new_column, 0))
            continue; /* one pattern at a time: fewer each time */
        run->has_met = false;
        enum sto_filter_hint hint = sto_filter_cell(run, cell, new_column);
        INVARIANT(!prepares || !run->has_met); /* all of them were prepared */
        r->given++;
        before = cell;
        i = reader_skips(r) ? reader_skip(r->row, i, hint) : i + 1;
    }
}

/* Reads a row; r->out receives the run's output, which the caller frees. */
static inline void reader_read(struct reader *r, struct sto_filter_program *program,
                               struct sto_filter_run *run)
{
    r->out = (struct oracle_list){0};
    r->passes = 0;
    r->given = 0;
    bool is_more = true;
    if (sto_filter_row_begin(run, r->row->key) == STO_FILTER_NEXT_ROW && reader_skips(r))
        is_more = sto_filter_row_end(run);
    while (is_more) {
        r->passes++;
        reader_pass(r, run, sto_filter_projection(program));
        is_more = sto_filter_row_end(run);
    }
    oracle_list_sort(&r->out);
}

/* --- comparing --------------------------------------------------------------------------------
 */

struct expected {
    struct oracle_list sampled; /* row_sample accepts the row */
    struct oracle_list not_sampled;
};

static inline bool reads_right(const struct sto_schema *schema, struct sto_filter_program *program,
                               const struct oracle_row *row, const struct expected *expected,
                               struct random *r, enum honour honour)
{
    struct reader reader = {.schema = schema, .row = row, .honour = honour, .random = r};
    struct sto_filter_run *run = sto_filter_run_new(program, reader_emit, &reader);
    bool is_right = run != NULL;
    for (int again = 0; again < 2 && is_right; again++) { /* a run is used for many rows */
        reader_read(&reader, program, run);
        struct errbuf eb; /* a fuzzer's pattern may be too large to be matched */
        is_right = sto_filter_error(run, &eb) != ERR_OK ||
                   oracle_list_equal(&reader.out, &expected->sampled) ||
                   oracle_list_equal(&reader.out, &expected->not_sampled);
        oracle_list_free(&reader.out);
    }
    sto_filter_run_free(run);
    return is_right;
}

/* Returns whether skipping everything that may be skipped, skipping nothing, and skipping at random
 * all emit the oracle's output. */
static inline bool is_right(const struct sto_schema *schema, struct sto_filter_program *program,
                            const struct sto_filter *filter, const struct oracle_row *row,
                            uint64_t seed)
{
    struct random r = {seed};
    struct expected expected = {oracle_evaluate(filter, row, true),
                                oracle_evaluate(filter, row, false)};
    const struct sto_bytes_range *rows = sto_filter_rows(program);
    bool is_outside = rows != NULL && !sto_bytes_range_holds(rows, row->key);
    bool right = (!is_outside || expected.sampled.count == 0) &&
                 reads_right(schema, program, row, &expected, &r, HONOUR_NOTHING) &&
                 reads_right(schema, program, row, &expected, &r, HONOUR_EVERYTHING) &&
                 reads_right(schema, program, row, &expected, &r, HONOUR_BY_CHANCE);
    oracle_list_free(&expected.sampled);
    oracle_list_free(&expected.not_sampled);
    return right;
}

#endif

/*
 * storage/filter_run.h - inside of a run over a program; for filter_*.c and tests.
 *
 * Does:     holds the state of a reader's filter within a row; evaluates one node for one cell.
 * Owns:     states, frames and a ref on the program, from sto_filter_run_new to _free.
 * May use:  base/, storage/.
 * Knows no: where the cells come from.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: see storage/filter.h.
 * Limits:   see storage/filter.h.
 * Promises: 1. A count or verdict stored at a node carries the number of the row, pass, column or
 *              cell it belongs to: a new one starts without clearing anything.
 *           2. A pass starts with column and cell numbers that no earlier pass used, prepared cells
 *              included.
 */
#ifndef STORAGE_FILTER_RUN_H
#define STORAGE_FILTER_RUN_H

#include "base/siphash.h"
#include "storage/filter_program.h"

/* Rows, passes, columns and cells are numbered from 1. */
struct filter_state {
    uint64_t of;    /* number that count and verdict belong to */
    uint64_t count; /* cells that entered (offset) or passed (limits) */
    bool verdict;   /* of a pattern */
};

/* Position of a cell in the program, and the changes made to the cell. */
struct filter_position {
    uint32_t node;
    uint32_t branch;           /* of an interleave in a frame: the next branch */
    const struct slice *label; /* NULL: none applied */
    bool stripped;
    bool counted; /* passed a count per row */
    enum sto_filter_hint floor;
};

struct sto_filter_run {
    struct sto_filter_program *program;
    sto_filter_emit *emit;
    void *ctx;
    struct filter_state *states; /* one per node */
    bool *live;                  /* one per node */
    struct filter_position *frames;
    struct base_siphash_key sample_key;

    uint64_t row;
    uint64_t pass_of_row;
    uint64_t column;
    uint64_t cell;
    uint32_t pass;
    bool is_done; /* no pass of this row is left */
    bool got_cells;

    uint64_t work_ns; /* since the last call of sto_filter_work */
    enum err error;   /* the first; later cells are not followed */
    struct errbuf detail;

    /* sto_filter_prepare */
    bool is_dry;  /* patterns are matched, and no other state changes */
    bool is_cut;  /* the budget ran out */
    bool has_met; /* a pattern of a column or value was matched, not taken from the cache */
    uint64_t budget_ns;

    const struct sto_family *family; /* of the last cell */
    size_t family_index;
    enum sto_filter_hint hint; /* lowest of the paths so far */
};

static inline struct slice filter_value_of(const struct filter_position *at,
                                           const struct sto_cell *cell)
{
    return at->stripped ? SLICE_EMPTY : cell->value;
}

/* Matches a pattern. Returns false and sets the run's error if the text takes the pattern through
 * too many states. */
bool sto_filter_match(struct sto_filter_run *run, uint32_t index, struct slice text);

/* Evaluates the node where the cell is, which must have a `next`. Returns true if the cell passes;
 * `at` then holds the changes made there. If false, *out_hint says which following cells cannot
 * pass either. */
bool sto_filter_pass(struct sto_filter_run *run, struct filter_position *at,
                     const struct sto_cell *cell, enum sto_filter_hint *out_hint);

#endif

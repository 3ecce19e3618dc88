/*
 * storage/filter_run.h - inside of a run over a program; for filter_*.c and tests.
 *
 * Does:     hold what a reader's filter knows about the row it is in; ask one node about one cell.
 * Owns:     states, frames and a ref on the program, from sto_filter_run_new to _free.
 * May use:  base/, storage/.
 * Knows no: where the cells come from.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: see storage/filter.h.
 * Limits:   see storage/filter.h.
 * Promises: 1. What is counted or remembered at a node carries the number of the row, pass, column
 *              or cell it belongs to: a new one begins without anything being cleared.
 *           2. A pass begins with numbers of column and cell that no earlier one has used, prepared
 *              cells included.
 */
#ifndef STORAGE_FILTER_RUN_H
#define STORAGE_FILTER_RUN_H

#include "base/siphash.h"
#include "storage/filter_program.h"

/* Number 0 is never given to a row, pass, column or cell. */
struct filter_state {
    uint64_t of;    /* what count and verdict belong to */
    uint64_t count; /* cells that came in (offset) or went out (limits) */
    bool verdict;   /* of a pattern */
};

/* Where a cell is, and what happened to it. */
struct filter_position {
    uint32_t node;
    uint32_t branch;           /* of an interleave in a frame: the next one */
    const struct slice *label; /* NULL: none given */
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

    uint64_t work_ns; /* since sto_filter_work was called last */
    enum err error;   /* the first; cells are not followed any more */
    struct errbuf detail;

    /* sto_filter_prepare */
    bool is_dry;  /* patterns are matched, and nothing else changes */
    bool is_cut;  /* for want of budget */
    bool has_met; /* a pattern of a column or value was matched, not remembered */
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

/* False, and an error of the run, when the pattern's states are too many for the text. */
bool sto_filter_match(struct sto_filter_run *run, uint32_t index, struct slice text);

/* Ask the node where the cell is, which must be one with a `next`. True: it passes, and `at` knows
 * what happened to it there. False: *out_hint says what cannot pass either, whatever it is. */
bool sto_filter_pass(struct sto_filter_run *run, struct filter_position *at,
                     const struct sto_cell *cell, enum sto_filter_hint *out_hint);

#endif

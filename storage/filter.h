/*
 * storage/filter.h - filters: which cells of a row a read emits, as in Bigtable's RowFilter.
 *
 * Does:     describes a filter as a tree; checks it and compiles it for a schema; computes which
 *           part of a row can matter to it (so that a scan seeks); runs it over rows, cell by cell,
 *           without buffering a row.
 * Owns:     a program (compiled, ref-counted) and a run (the state of one reader).
 * May use:  base/, storage/.
 * Knows no: JSON, protobuf, the engine.
 * Threads:  a program never changes and is used by any number of threads; a run by one at a time.
 * Blocks:   no.
 * Fails by: compile: ERR_INVALID, ERR_NOT_FOUND and ERR_TOO_BIG naming the kind of filter, its
 *           limit and value; ERR_NO_MEMORY. Running: see sto_filter_error.
 * Limits:   LIM_FILTER_BYTES, LIM_FILTER_DEPTH, LIM_FILTER_COPIES, LIM_FILTER_VISITS,
 *           LIM_FILTER_PASSES, LIM_FILTER_REGEXES, LIM_FILTER_CLASSES, LIM_FILTER_REGEX_BYTES,
 *           LIM_LABEL; those of storage/pattern.h.
 * Promises: 1. A run emits the cells that the Bigtable API defines: a chain applies its members in
 *              order; each branch of an interleave gets its own copy, and the results are merged in
 *              the order of the cells, with duplicates kept and counted by later filters; a
 *              condition chooses by whether its predicate emits any cell of that row; a sink emits
 *              to the output directly.
 *           2. Emitted cells come in the order of the row: family number, qualifier, newest first.
 *           3. A hint never hides a cell that would have been emitted, nor changes a count.
 *           4. Memory of a run depends on the program only, never on the row.
 *
 * A condition must know whether its predicate emits a cell before it can pass the first cell on.
 * Rows are not buffered. Instead the row is run several times: passes without output decide the
 * conditions, each condition after those before it, around it and inside its predicate. The last
 * pass emits. Without a condition there is one pass.
 */
#ifndef STORAGE_FILTER_H
#define STORAGE_FILTER_H

#include "base/err.h"
#include "base/memory.h"
#include "storage/projection.h"
#include "storage/read.h"

/* --- a filter as requested -------------------------------------------------------------------- */

enum sto_filter_kind {
    STO_FILTER_NONE, /* an absent branch of a condition: emits nothing; an error anywhere else */
    STO_FILTER_PASS_ALL,
    STO_FILTER_BLOCK_ALL,
    STO_FILTER_SINK,
    STO_FILTER_CHAIN,                  /* members, two or more */
    STO_FILTER_INTERLEAVE,             /* members, two or more */
    STO_FILTER_CONDITION,              /* members: predicate, when true, when false */
    STO_FILTER_ROW_KEY_REGEX,          /* bytes */
    STO_FILTER_ROW_SAMPLE,             /* probability, above 0 and below 1 */
    STO_FILTER_FAMILY_REGEX,           /* bytes */
    STO_FILTER_QUALIFIER_REGEX,        /* bytes */
    STO_FILTER_COLUMN_RANGE,           /* bytes: family name; range: qualifiers */
    STO_FILTER_TIMESTAMP_RANGE,        /* start_us, end_us (0: no end) */
    STO_FILTER_VALUE_REGEX,            /* bytes */
    STO_FILTER_VALUE_RANGE,            /* range */
    STO_FILTER_VALUE_BITMASK,          /* bytes: as long as the value, (value & mask) == mask */
    STO_FILTER_CELLS_PER_ROW_OFFSET,   /* count, above 0 */
    STO_FILTER_CELLS_PER_ROW_LIMIT,    /* count, above 0 */
    STO_FILTER_CELLS_PER_COLUMN_LIMIT, /* count, above 0 */
    STO_FILTER_STRIP_VALUE,
    STO_FILTER_APPLY_LABEL, /* bytes: [a-z0-9-]{1,15}, at most one in a chain */
    STO_FILTER_KIND_COUNT
};

/* Returns the name of a kind, also used in JSON: as in the Bigtable API, e.g.
 * "cells_per_column_limit_filter" without "_filter". "condition", "chain", "interleave", "sink",
 * "pass_all", "block_all", "row_key_regex", ... */
const char *sto_filter_kind_name(enum sto_filter_kind kind);

struct sto_filter {
    enum sto_filter_kind kind;
    const struct sto_filter *members;
    size_t member_count;
    struct slice bytes;
    struct sto_bytes_range range;
    int64_t start_us;
    int64_t end_us;
    int64_t count;
    double probability;
};

/* --- compiled --------------------------------------------------------------------------------- */

struct sto_filter_program;

/* Checks and compiles a tree. The tree and its bytes are not needed afterwards. A column range of a
 * family that the schema does not have is ERR_NOT_FOUND. */
enum err sto_filter_compile(const struct sto_filter *filter, const struct sto_schema *schema,
                            struct sto_filter_program **out, struct errbuf *eb) MUST_CHECK;
/* Counts the program's memory in the share until its last ref is released: its nodes and
 * expressions now, and the states that matching adds when they are made (LIM_FILTER_REGEX_BYTES at
 * most, for both). A run that makes more states than the share has left fails with ERR_NO_MEMORY.
 * Called once, before others use the program; after that only one run at a time may use it. The
 * share must outlive it. Returns false if the share is exhausted. */
bool sto_filter_charge(struct sto_filter_program *p, struct base_memory_share *share) MUST_CHECK;
struct sto_filter_program *sto_filter_ref(struct sto_filter_program *p);
void sto_filter_unref(struct sto_filter_program *p);

/* Returns whether compiling takes at most about a tenth of a millisecond. */
bool sto_filter_is_small(const struct sto_filter *filter);
/* Returns the measured processor time of compiling; 0: the filter was small. */
uint64_t sto_filter_compile_ns(const struct sto_filter_program *p);
/* Returns how many of its patterns are not literal, and the number of instructions of all of them:
 * each may be executed for each byte (storage/pattern.h). */
size_t sto_filter_regexes(const struct sto_filter_program *p);
size_t sto_filter_instructions(const struct sto_filter_program *p);
/* Returns how often one cell can be emitted. */
size_t sto_filter_copies(const struct sto_filter_program *p);

/* Returns the size of the filter as a google.bigtable.v2.RowFilter message; SIZE_MAX if it is
 * nested deeper than LIM_FILTER_DEPTH. */
size_t sto_filter_wire_bytes(const struct sto_filter *filter);

/* Returns the box of cells that can matter: cells outside can be skipped without changing the
 * output. Bytes belong to the program. */
const struct sto_projection *sto_filter_projection(const struct sto_filter_program *p);
/* Returns the maximum cost of a cell, as the number of cells whose visit without a filter costs as
 * much; UINT32_MAX: unknown, because there are regular expressions. */
uint32_t sto_filter_steps(const struct sto_filter_program *p);
/* Returns the range of rows that can emit cells. NULL: any row may. */
const struct sto_bytes_range *sto_filter_rows(const struct sto_filter_program *p);

/* --- running ---------------------------------------------------------------------------------- */

struct sto_filter_run;

/* How far the reader may skip: skipped cells need not be passed to the filter. */
enum sto_filter_hint {
    STO_FILTER_NEXT_CELL,
    STO_FILTER_NEXT_COLUMN, /* no further cell of this column changes anything in this pass */
    STO_FILTER_NEXT_FAMILY,
    STO_FILTER_NEXT_ROW,
};

typedef void sto_filter_emit(void *ctx, const struct sto_cell *cell);

/* Creates a run, which holds a ref on the program. NULL: no memory. */
struct sto_filter_run *sto_filter_run_new(struct sto_filter_program *p, sto_filter_emit *emit,
                                          void *ctx);
void sto_filter_run_free(struct sto_filter_run *run);

/* Starts a row, at its first pass. NEXT_ROW: the row emits nothing; row_end then returns false. */
enum sto_filter_hint sto_filter_row_begin(struct sto_filter_run *run, struct slice row_key);
/* Processes the next cell in the order of the row, already visible under the rules of its family;
 * may emit. new_column: the cell before it in this pass is of another column. */
enum sto_filter_hint sto_filter_cell(struct sto_filter_run *run, const struct sto_cell *cell,
                                     bool new_column);
/* Matches the patterns that this cell, the next one, will meet, until about budget_ns of work is
 * done. Returns true if no pattern is left, false if it must be called again. Matches at least one
 * pattern. The call is optional: without it, patterns are matched when the cell meets them. */
bool sto_filter_prepare(struct sto_filter_run *run, const struct sto_cell *cell, bool new_column,
                        uint64_t budget_ns) MUST_CHECK;
/* Ends a pass: the row has no more cells, or none that matter. Returns true if the row must be run
 * again from its first cell. */
bool sto_filter_row_end(struct sto_filter_run *run) MUST_CHECK;

/* Returns the work done since the last call: estimated, not measured (storage/pattern.h). */
uint64_t sto_filter_work(struct sto_filter_run *run);
/* Returns the run's error. ERR_TOO_BIG: a pattern could not be matched. After an error the cells
 * emitted of the row are invalid, and no more cells are emitted. Must be checked after every
 * row_begin and cell. */
enum err sto_filter_error(const struct sto_filter_run *run, struct errbuf *eb) MUST_CHECK;

#endif

/*
 * storage/filter.h - which cells of a row a reader wants, as Bigtable's RowFilter says it.
 *
 * Does:     describe a filter as a tree; check it and compile it for a schema; say what part of a
 *           row can matter to it (so that a scan seeks); run it over rows, cell by cell, without
 *           holding a row.
 * Owns:     a program (compiled, shared by count of refs) and a run (the state of one reader).
 * May use:  base/, storage/.
 * Knows no: JSON, protobuf, the engine.
 * Threads:  a program never changes and is used by any number of threads; a run by one at a time.
 * Blocks:   no.
 * Fails by: compile: ERR_INVALID, ERR_NOT_FOUND and ERR_TOO_BIG naming the kind of filter, its
 *           limit and value; ERR_NO_MEMORY. Running: see sto_filter_error.
 * Limits:   LIM_FILTER_BYTES, LIM_FILTER_DEPTH, LIM_FILTER_COPIES, LIM_FILTER_VISITS,
 *           LIM_FILTER_PASSES, LIM_FILTER_REGEXES, LIM_FILTER_CLASSES, LIM_FILTER_REGEX_BYTES,
 *           LIM_LABEL; those of storage/pattern.h.
 * Promises: 1. What a run emits is what the definition of the Bigtable API gives: members of a
 *              chain in turn; branches of an interleave each with its own copy, pooled in the order
 *              of the cells, duplicates kept and counted by what follows; a condition chooses by
 *              whether its predicate gives any cell of that row; a sink gives to the output
 *              directly.
 *           2. Emitted cells come in the order of the row: family number, qualifier, newest first.
 *           3. A hint never hides a cell that would have been emitted, nor changes a count.
 *           4. Memory of a run depends on the program only, never on the row.
 *
 * A condition needs to know whether its predicate gives a cell before it can pass the first one on.
 * Rows are not held; instead the row is run again: passes without output decide the conditions,
 * each after those in front of it, around it and inside its predicate; the last pass emits. Without
 * a condition there is one pass.
 */
#ifndef STORAGE_FILTER_H
#define STORAGE_FILTER_H

#include "base/err.h"
#include "base/memory.h"
#include "storage/projection.h"
#include "storage/read.h"

/* --- a filter as it is asked for ---------------------------------------------------------------
 */

enum sto_filter_kind {
    STO_FILTER_NONE, /* an absent branch of a condition: gives nothing; an error anywhere else */
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

/* Name as in the Bigtable API, e.g. "cells_per_column_limit_filter" without "_filter": the JSON
 * name. "condition", "chain", "interleave", "sink", "pass_all", "block_all", "row_key_regex", ...
 */
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

/* --- compiled ----------------------------------------------------------------------------------
 */

struct sto_filter_program;

/* The tree and its bytes are not needed afterwards. A column range of a family that the schema does
 * not have is ERR_NOT_FOUND. */
enum err sto_filter_compile(const struct sto_filter *filter, const struct sto_schema *schema,
                            struct sto_filter_program **out, struct errbuf *eb) MUST_CHECK;
/* Counts what the program takes in the share until its last ref is gone: its nodes and expressions
 * now, and the states that matching adds when they are made (LIM_FILTER_REGEX_BYTES at most, for
 * both). A run that makes more of them than the share has left fails with ERR_NO_MEMORY. Once,
 * before others use it, and then one run at a time does; the share outlives it. False: the share
 * is at its end. */
bool sto_filter_charge(struct sto_filter_program *p, struct base_memory_share *share) MUST_CHECK;
struct sto_filter_program *sto_filter_ref(struct sto_filter_program *p);
void sto_filter_unref(struct sto_filter_program *p);

/* Whether compiling it is a matter of a tenth of a millisecond at most. */
bool sto_filter_is_small(const struct sto_filter *filter);
/* What compiling it took of a processor, measured; 0: it was small. */
uint64_t sto_filter_compile_ns(const struct sto_filter_program *p);
/* How many of its patterns are not literal, and the instructions of all of them: each may be
 * matched with each byte (storage/pattern.h). */
size_t sto_filter_regexes(const struct sto_filter_program *p);
size_t sto_filter_instructions(const struct sto_filter_program *p);
/* How often one cell can come out. */
size_t sto_filter_copies(const struct sto_filter_program *p);

/* Bytes of the filter as a google.bigtable.v2.RowFilter message; SIZE_MAX when it is nested deeper
 * than LIM_FILTER_DEPTH. */
size_t sto_filter_wire_bytes(const struct sto_filter *filter);

/* Cells outside can be left out without changing what is emitted. Bytes belong to the program. */
const struct sto_projection *sto_filter_projection(const struct sto_filter_program *p);
/* What a cell costs at most, as the number of cells whose visit without a filter costs as much;
 * UINT32_MAX: not known, there are regular expressions. */
uint32_t sto_filter_steps(const struct sto_filter_program *p);
/* Rows outside give nothing. NULL: any row may. */
const struct sto_bytes_range *sto_filter_rows(const struct sto_filter_program *p);

/* --- running -----------------------------------------------------------------------------------
 */

struct sto_filter_run;

/* What the filter can do without: what is skipped need not be given to it. */
enum sto_filter_hint {
    STO_FILTER_NEXT_CELL,
    STO_FILTER_NEXT_COLUMN, /* nothing more of this column changes anything in this pass */
    STO_FILTER_NEXT_FAMILY,
    STO_FILTER_NEXT_ROW,
};

typedef void sto_filter_emit(void *ctx, const struct sto_cell *cell);

/* NULL: no memory. The run holds a ref on the program. */
struct sto_filter_run *sto_filter_run_new(struct sto_filter_program *p, sto_filter_emit *emit,
                                          void *ctx);
void sto_filter_run_free(struct sto_filter_run *run);

/* A row begins, at its first pass. NEXT_ROW: nothing can come of it; row_end will say so, too. */
enum sto_filter_hint sto_filter_row_begin(struct sto_filter_run *run, struct slice row_key);
/* The next cell in the order of the row, already visible under the rules of its family; may emit.
 * new_column: it is not of the same column as the one before it in this pass. */
enum sto_filter_hint sto_filter_cell(struct sto_filter_run *run, const struct sto_cell *cell,
                                     bool new_column);
/* Matches the patterns that this cell, the next one, will meet, until about so much of work is
 * done: true when none is left, false: call it again. At least one is matched. May be left out;
 * then they are matched as they are met. */
bool sto_filter_prepare(struct sto_filter_run *run, const struct sto_cell *cell, bool new_column,
                        uint64_t budget_ns) MUST_CHECK;
/* The row has no more cells, or none that matter. True: give it again from its first cell. */
bool sto_filter_row_end(struct sto_filter_run *run) MUST_CHECK;

/* Work that was done since the last call: reckoned, not measured (storage/pattern.h). */
uint64_t sto_filter_work(struct sto_filter_run *run);
/* ERR_TOO_BIG: a pattern could not be matched. What was emitted of the row is worth nothing, and
 * nothing is emitted any more. To be looked at after every row_begin and cell. */
enum err sto_filter_error(const struct sto_filter_run *run, struct errbuf *eb) MUST_CHECK;

#endif

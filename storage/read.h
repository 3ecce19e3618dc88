/*
 * storage/read.h - the specification of a read, and the sink that receives its cells.
 *
 * Does:     describes a set of rows and columns, and the sink that receives cells in order.
 * Owns:     nothing.
 * May use:  base/, storage/schema.h, storage/projection.h.
 * Knows no: the engine, JSON.
 * Threads:  a sink is called by one thread at a time, but not always the same one.
 * Blocks:   sinks must not.
 * Fails by: ERR_INVALID for an empty or reversed range.
 * Limits:   a sink should report full at LIM_SLICE_BYTES.
 * Promises: 1. Calls come as row_begin cell+ row_end, rows in key order, cells by family number,
 *              qualifier, newest first; row_begin is not called for rows without a visible cell.
 *           2. row_undo returns the sink to its state before that row's row_begin; the row is
 *              emitted again later.
 */
#ifndef STORAGE_READ_H
#define STORAGE_READ_H

#include "base/err.h"
#include "base/slice.h"
#include "storage/projection.h"
#include "storage/schema.h"

struct sto_cell {
    const struct sto_family *family;
    struct slice qualifier;
    int64_t timestamp_us;
    struct slice value;
    struct slice label; /* applied by a filter; empty: none */
};

/* Slices passed in are valid during the call only. */
struct sto_row_sink {
    void (*row_begin)(struct sto_row_sink *sink, struct slice row_key);
    void (*cell)(struct sto_row_sink *sink, const struct sto_cell *cell);
    void (*row_end)(struct sto_row_sink *sink);
    void (*row_undo)(struct sto_row_sink *sink);
    /* Called after each cell and row: true ends the slice there. */
    bool (*is_full)(struct sto_row_sink *sink);
};

/* Row keys are the tenant's own (no prefix). Bytes belong to the operation's submitter. */
struct sto_row_range {
    struct slice start;   /* empty: from the first row */
    bool start_exclusive; /* excludes start itself (to continue a page) */
    struct slice end;     /* empty: to the last row */
    bool end_inclusive;
};

/* Sorted ranges that do not overlap (storage/row_set.h makes them). All zero: every row. */
struct sto_row_set {
    const struct sto_row_range *ranges;
    size_t count; /* 0: every row, unless none */
    bool none;
};

struct sto_filter_program;
struct sto_view;

struct sto_read_spec {
    struct slice row_key;    /* if not empty: only this row; rows is ignored */
    struct sto_row_set rows; /* unchanged by the engine */
    bool reversed;           /* rows in descending order; the order of cells in a row stays */
    uint64_t row_limit;      /* maximum number of emitted rows; 0: no limit */
    bool narrowed;           /* use projection; else include everything */
    struct sto_projection projection;
    uint32_t versions; /* newest n of each column within projection; 0: all; before filter */
    const struct sto_view *view;       /* NULL: none. Columns outside do not exist; applied before
                                        * all of the above. The submitter applies the view's rows.
                                        * Borrowed */
    struct sto_filter_program *filter; /* NULL: none. Borrowed; compiled for the scope's schema */
};

/* Returns the range of rows whose key begins with prefix. Its end is the smallest key after them,
 * written to end_bytes (LIM_ROW_KEY long); an all-FF prefix has no end. */
struct sto_row_range sto_range_of_prefix(struct slice prefix, uint8_t *end_bytes);
/* Checks a range. ERR_INVALID if start >= end, naming both fields. */
enum err sto_range_check(const struct sto_row_range *range, struct errbuf *eb) MUST_CHECK;

#endif

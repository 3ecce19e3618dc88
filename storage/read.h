/*
 * storage/read.h - which rows to read, and where they go.
 *
 * Does:     describe a set of rows and columns, and the sink that receives cells in order.
 * Owns:     nothing.
 * May use:  base/, storage/schema.h, storage/projection.h.
 * Knows no: the engine, JSON.
 * Threads:  a sink is called by one thread at a time, but not always the same one.
 * Blocks:   sinks must not.
 * Fails by: ERR_INVALID for an empty or reversed range.
 * Limits:   LIM_SLICE_BYTES is what a sink should report as full.
 * Promises: 1. Calls come as row_begin cell+ row_end, rows in key order, cells by family number,
 *              qualifier, newest first; rows without a visible cell are not begun.
 *           2. After row_undo, the sink is as before that row's row_begin; the row comes again.
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
    struct slice label; /* given by a filter; empty: none */
};

/* Slices passed in are valid during the call only. */
struct sto_row_sink {
    void (*row_begin)(struct sto_row_sink *sink, struct slice row_key);
    void (*cell)(struct sto_row_sink *sink, const struct sto_cell *cell);
    void (*row_end)(struct sto_row_sink *sink);
    void (*row_undo)(struct sto_row_sink *sink);
    /* Asked after each cell and row: true ends the slice there. */
    bool (*is_full)(struct sto_row_sink *sink);
};

/* Row keys are the tenant's own (no prefix). Bytes belong to the operation's maker. */
struct sto_row_range {
    struct slice start;   /* empty: from the first row */
    bool start_exclusive; /* start itself is left out (continuing a page) */
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
    struct slice row_key;    /* not empty: only this row, and rows is not looked at */
    struct sto_row_set rows; /* unchanged by the engine */
    bool reversed;           /* rows last to first; cells inside a row stay in order */
    uint64_t row_limit;      /* rows given to the sink; 0: no limit */
    bool narrowed;           /* projection counts; else everything is wanted */
    struct sto_projection projection;
    uint32_t versions; /* newest n of each column within projection; 0: all; before filter */
    const struct sto_view *view; /* NULL: none. Columns outside do not exist; before all of the
                                  * above. Its rows are for the maker to look after. Borrowed */
    struct sto_filter_program *filter; /* NULL: none. Borrowed; compiled for the scope's schema */
};

/* The range of rows whose key begins with prefix: end is the smallest key behind them, written to
 * end_bytes (LIM_ROW_KEY long); an all-FF prefix has no end. */
struct sto_row_range sto_range_of_prefix(struct slice prefix, uint8_t *end_bytes);
/* ERR_INVALID when start >= end, naming both fields. */
enum err sto_range_check(const struct sto_row_range *range, struct errbuf *eb) MUST_CHECK;

#endif

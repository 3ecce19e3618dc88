/*
 * storage/visit.h - decides which cells of a stored row are shown: garbage rules, view, projection,
 * versions, filter.
 *
 * Does:     processes the stored cells of a row in order, emits the visible and requested ones to a
 *           sink, and tells the caller which cells it can skip.
 * Owns:     the run of its filter, from open to close.
 * May use:  base/, storage/.
 * Knows no: where the cells come from: a scan's iterator, or a commit in progress.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: ERR_NO_MEMORY at open; sto_visit_error.
 * Limits:   none of its own.
 * Promises: 1. No cell of a column outside the view reaches filter or sink: sto_visit_column
 *              returns NEXT only for columns inside.
 *           2. row_begin of the sink is called at the row's first emitted cell, and no function of
 *              the sink in passes that decide conditions.
 *           3. Cells that a skip leaves out would not have been shown.
 *
 *   sto_visit_row_begin
 *     for each column: sto_visit_column, then sto_visit_version for each of its cells
 *   sto_visit_row_end      true: again from sto_visit_row_again, as from row_begin
 *
 * A row may be abandoned at any point; the next row_begin resets the state.
 */
#ifndef STORAGE_VISIT_H
#define STORAGE_VISIT_H

#include "storage/filter.h"
#include "storage/read.h"
#include "storage/view.h"

enum sto_visit_next {
    STO_VISIT_NEXT,         /* the next stored cell; after column: its first version */
    STO_VISIT_SKIP_COLUMN,  /* the next column */
    STO_VISIT_SEEK_COLUMN,  /* the first column at or after seek_family, seek_qualifier */
    STO_VISIT_SEEK_VERSION, /* the first version of this column at or before seek_us */
    STO_VISIT_SKIP_ROW,     /* this pass needs nothing more of the row: sto_visit_row_end */
};

struct sto_visit {
    /* set by open */
    const struct sto_schema *schema;
    struct sto_row_sink *sink;
    struct sto_filter_run *run;  /* NULL: no filter */
    size_t regexes;              /* number of the filter's non-literal patterns */
    size_t instructions;         /* of all these patterns together */
    size_t copies;               /* maximum number of copies of a cell that reach the sink; not 0 */
    const struct sto_view *view; /* NULL: everything; else projection excludes families */
    bool narrowed;               /* projection excludes something */
    struct sto_projection projection;
    uint32_t versions_max; /* 0: all */

    int64_t now_us; /* set by the caller before a row: time at which the ages of its cells are
                     * computed */

    /* the row */
    struct slice row_key;
    bool begun;           /* row_begin of the sink was called */
    uint64_t cells_given; /* cells of the row emitted to the sink */

    /* the column */
    const struct sto_family *family;
    const struct sto_view_family *shown; /* its part of the view; with a view only */
    struct slice qualifier;
    bool column_new;         /* the filter has processed no cell of it */
    uint64_t newer;          /* stored cells of the column passed so far */
    uint32_t versions_given; /* versions passed to the filter or the sink */

    /* where to continue */
    uint16_t seek_family;
    struct slice seek_qualifier;
    int64_t seek_us;
};

/* Opens a visit of rows of that schema as spec requests. The sink and spec's bytes must outlive
 * it. */
enum err sto_visit_open(struct sto_visit *v, const struct sto_schema *schema,
                        const struct sto_read_spec *spec, struct sto_row_sink *sink,
                        struct errbuf *eb) MUST_CHECK;
void sto_visit_close(struct sto_visit *v);

/* Start a row, or run it again. row_key must stay valid until the row ends. Return NEXT (from the
 * first column), SEEK_COLUMN or SKIP_ROW. */
enum sto_visit_next sto_visit_row_begin(struct sto_visit *v, struct slice row_key);
enum sto_visit_next sto_visit_row_again(struct sto_visit *v);
/* Starts a column. qualifier must stay valid until the next column. Never returns SEEK_VERSION. */
enum sto_visit_next sto_visit_column(struct sto_visit *v, uint16_t family, struct slice qualifier);
enum sto_visit_next sto_visit_version(struct sto_visit *v, int64_t timestamp_us,
                                      struct slice value);
/* Called before sto_visit_version where time matters: matches patterns that sto_visit_version would
 * match, for about budget_ns. Returns false if it must be called again for the same version.
 * Changes nothing else. */
bool sto_visit_prepare(struct sto_visit *v, int64_t timestamp_us, struct slice value,
                       uint64_t budget_ns) MUST_CHECK;
/* Returns the error that invalidates all cells emitted since the row started: sto_filter_error.
 * Must be checked after row_begin and each version. */
enum err sto_visit_error(const struct sto_visit *v, struct errbuf *eb) MUST_CHECK;
/* Ends a pass, and ends the row for the sink if it was the last one. */
bool sto_visit_row_end(struct sto_visit *v) MUST_CHECK;

#endif

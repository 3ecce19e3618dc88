/*
 * storage/visit.h - what of a stored row is shown: garbage rules, view, projection, versions,
 * filter.
 *
 * Does:     take the stored cells of a row in order, give those that are visible and wanted to a
 *           sink, and tell the caller what it can skip.
 * Owns:     the run of its filter, from open to close.
 * May use:  base/, storage/.
 * Knows no: where the cells come from: a scan's iterator, or a commit under way.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: ERR_NO_MEMORY at open; sto_visit_error.
 * Limits:   none of its own.
 * Promises: 1. Nothing of a column outside the view reaches filter or sink: sto_visit_column says
 *              NEXT for those inside only. 2. The sink hears of a row at its first cell, and of
 * nothing in passes that decide conditions. 3. What a skip leaves out would not have been shown.
 *
 *   sto_visit_row_begin
 *     for each column: sto_visit_column, then sto_visit_version for each of its cells
 *   sto_visit_row_end      true: again from sto_visit_row_again, as from row_begin
 *
 * A row may be left in the middle; the next row_begin starts afresh.
 */
#ifndef STORAGE_VISIT_H
#define STORAGE_VISIT_H

#include "storage/filter.h"
#include "storage/read.h"
#include "storage/view.h"

enum sto_visit_next {
    STO_VISIT_NEXT,         /* the next stored cell; after column: its first version */
    STO_VISIT_SKIP_COLUMN,  /* the next column */
    STO_VISIT_SEEK_COLUMN,  /* the first column at or behind seek_family, seek_qualifier */
    STO_VISIT_SEEK_VERSION, /* the first version of this column at or before seek_us */
    STO_VISIT_SKIP_ROW,     /* nothing more of the row in this pass: sto_visit_row_end */
};

struct sto_visit {
    /* set by open */
    const struct sto_schema *schema;
    struct sto_row_sink *sink;
    struct sto_filter_run *run;  /* NULL: no filter */
    size_t regexes;              /* of it, with */
    size_t instructions;         /* so many of all of them */
    size_t copies;               /* of a cell, to the sink: at most; not 0 */
    const struct sto_view *view; /* NULL: everything; else projection leaves out families */
    bool narrowed;               /* projection leaves something out */
    struct sto_projection projection;
    uint32_t versions_max; /* 0: all */

    int64_t now_us; /* set by the caller before a row: the ages of its cells count from here */

    /* the row */
    struct slice row_key;
    bool begun;           /* the sink knows of it */
    uint64_t cells_given; /* of it, to the sink */

    /* the column */
    const struct sto_family *family;
    const struct sto_view_family *shown; /* of it; with a view only */
    struct slice qualifier;
    bool column_new;         /* the filter has seen no cell of it */
    uint64_t newer;          /* stored cells passed in it */
    uint32_t versions_given; /* to the filter or the sink */

    /* where to go on */
    uint16_t seek_family;
    struct slice seek_qualifier;
    int64_t seek_us;
};

/* What spec asks for, in rows of that schema. The sink and spec's bytes outlive it. */
enum err sto_visit_open(struct sto_visit *v, const struct sto_schema *schema,
                        const struct sto_read_spec *spec, struct sto_row_sink *sink,
                        struct errbuf *eb) MUST_CHECK;
void sto_visit_close(struct sto_visit *v);

/* row_key stays valid until the row ends. NEXT (from the first column), SEEK_COLUMN or SKIP_ROW. */
enum sto_visit_next sto_visit_row_begin(struct sto_visit *v, struct slice row_key);
enum sto_visit_next sto_visit_row_again(struct sto_visit *v);
/* qualifier stays valid until the next column. Never SEEK_VERSION. */
enum sto_visit_next sto_visit_column(struct sto_visit *v, uint16_t family, struct slice qualifier);
enum sto_visit_next sto_visit_version(struct sto_visit *v, int64_t timestamp_us,
                                      struct slice value);
/* Before sto_visit_version where time matters: matches patterns that it would, for about so long;
 * false: call it again for the same version. Changes nothing else. */
bool sto_visit_prepare(struct sto_visit *v, int64_t timestamp_us, struct slice value,
                       uint64_t budget_ns) MUST_CHECK;
/* Why what was shown since the row began is worth nothing: sto_filter_error. To be asked after
 * row_begin and each version. */
enum err sto_visit_error(const struct sto_visit *v, struct errbuf *eb) MUST_CHECK;
/* Ends the row for the sink when that was all. */
bool sto_visit_row_end(struct sto_visit *v) MUST_CHECK;

#endif

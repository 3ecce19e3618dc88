/*
 * gateway/api/row_sink.h - converts rows from the engine into JSON in a buf.
 *
 * Does:     writes {"key":..,"cells":{"family":{"qualifier":[{"value":..,"timestamp":..}]}}}, or in
 *           the flat form {"key":..,"cells":{"family":{"qualifier":value}}}, row by row while a
 *           reader walks over the cells; ends a slice; stops after N rows.
 * Owns:     small buffers beside the output (until gw_row_sink_fini); not the output.
 * May use:  base/, storage/read.h, gateway/api/json_out.h, gateway/api/row_form.h,
 *           gateway/cell_fields.h.
 * Knows no: HTTP, calls, the engine.
 * Threads:  one at a time: a reader while a slice runs, the loop in between.
 * Blocks:   no.
 * Fails by: the output buf's latched error; the code that sends it checks it.
 * Limits:   LIM_SLICE_BYTES per slice, the output's max.
 * Promises: 1. After the end of each row the output is whole rows of valid JSON.
 *           2. Qualifiers that are not UTF-8, or hold NUL (many parsers refuse it in a member
 *              name), are in "$binary".
 *           3. Aggregates are {"number":..} or, of distinct inputs, {"estimate":..}, with the state
 *              as "value_b64" beside it; integers of a family of int64 likewise, whose other bytes
 *              are "value_b64" alone, so that a cell's members do not depend on its value.
 *           4. The cells of a row in the flat form are the body of a write of its newest values,
 *              except the estimates of distinct counts.
 */
#ifndef GATEWAY_API_ROW_SINK_H
#define GATEWAY_API_ROW_SINK_H

#include "base/buf.h"
#include "gateway/api/row_form.h"
#include "storage/read.h"

enum gw_row_framing {
    GW_ROWS_SINGLE, /* one row, nothing around it */
    GW_ROWS_LIST,   /* a comma between rows */
    GW_ROWS_LINES,  /* a line feed after each row */
};

struct gw_row_sink {
    struct sto_row_sink sink; /* first: the engine's view */
    struct buf *out;
    enum gw_row_framing framing;
    struct gw_row_form form;
    uint64_t row_cap; /* rows to write; one more row sets over_cap and ends the slice; 0: no cap */
    bool keep_last_key;

    uint64_t rows; /* written completely */
    bool over_cap;
    bool in_row;
    bool broken;     /* a row was rolled back whose start is sent: the stream cannot continue */
    bool begun_here; /* the current row started in this slice: it can be rolled back */
    size_t row_start;
    struct buf last_key; /* of the newest row started */

    uint16_t family; /* open in the output; 0: none */
    bool any_family;
    bool column_open;     /* in the open family; in the flat form: a column was written there */
    uint16_t column_of;   /* family of the column seen last in the flat form; 0: none */
    struct buf qualifier; /* of the open column, or of the one seen last */
    struct buf binary;    /* "$binary" entries of this row */
};

void gw_row_sink_init(struct gw_row_sink *s, struct buf *out, enum gw_row_framing framing);
/* Starts a new slice; the output was moved away. */
void gw_row_sink_next_slice(struct gw_row_sink *s);
void gw_row_sink_fini(struct gw_row_sink *s);

#endif

/*
 * gateway/api/row_body.h - the JSON body of a row, as a list of mutations.
 *
 * Does:     turns {"family":{"qualifier":value}} and "$binary" into struct sto_mutation.
 * Owns:     nothing; mutations are in the arena, their bytes in the text or the arena.
 * May use:  base/, storage/, gateway/api/cell_scan.h, gateway/api/json_scan.h,
 *           gateway/api/json_in.h, gateway/cell_fields.h.
 * Knows no: HTTP, callers.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_NOT_FOUND (family), ERR_TOO_BIG, ERR_NO_MEMORY.
 * Limits:   LIM_MUTATIONS_PER_ROW.
 * Promises: 1. A PUT list starts with the deletion of the row and sets at least one cell.
 *           2. Sizes and timestamps are left to sto_mutations_check.
 *           3. Text that a strict parser refuses (base syntax, duplicate names) is refused, and
 *              with that parser's error: syntax errors are reported before errors of content.
 */
#ifndef GATEWAY_API_ROW_BODY_H
#define GATEWAY_API_ROW_BODY_H

#include "base/arena.h"
#include "gateway/api/json_scan.h"
#include "storage/mutation.h"

enum gw_row_verb { GW_ROW_PUT, GW_ROW_PATCH };

struct gw_row_body {
    struct sto_mutation *mutations;
    size_t count;
    size_t cells; /* number of mutations that set a cell or add to one */
};

/* Builds the mutations of a body. unit_us: of its timestamps (time_unit.h). The text must live as
 * long as the mutations. */
enum err gw_row_body_build(struct slice text, enum gw_row_verb verb,
                           const struct sto_schema *schema, int64_t unit_us, struct arena *arena,
                           struct gw_row_body *out, struct errbuf *eb) MUST_CHECK;

/* --- a body inside a larger text ---------------------------------------------------------------
 */

struct gw_row_cells {
    struct sto_mutation *list; /* list[0] is kept free for the deletion of the row */
    size_t count;
    size_t room;
    size_t cells;
    bool has_null; /* a cell is deleted, which PUT does not allow */
};

/* Reads the object that comes next. After a failure, which may be one of syntax, call
 * gw_row_body_blame for the error. */
enum err gw_row_cells_scan(struct gw_scan *scan, const struct sto_schema *schema, int64_t unit_us,
                           struct gw_row_cells *out, struct errbuf *eb) MUST_CHECK;
enum err gw_row_cells_finish(struct gw_row_cells *cells, enum gw_row_verb verb,
                             struct gw_row_body *out, struct errbuf *eb) MUST_CHECK;
/* Returns the error to report when reading text failed with `found`: the strict parser's error if
 * it has one. */
enum err gw_row_body_blame(struct slice text, enum err found, struct errbuf *eb) MUST_CHECK;

#endif

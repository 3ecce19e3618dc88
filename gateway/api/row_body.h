/*
 * gateway/api/row_body.h - the JSON body of a row, as a list of mutations.
 *
 * Does:     turn {"family":{"qualifier":value}} and "$binary" into struct sto_mutation.
 * Owns:     nothing; mutations lie in the arena, their bytes in the text or the arena.
 * May use:  base/, storage/, gateway/api/cell_scan.h, gateway/api/json_scan.h,
 *           gateway/api/json_in.h, gateway/cell_fields.h.
 * Knows no: HTTP, who writes.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_NOT_FOUND (family), ERR_TOO_BIG, ERR_NO_MEMORY.
 * Limits:   LIM_MUTATIONS_PER_ROW.
 * Promises: 1. A PUT list begins with the deletion of the row and sets at least one cell.
 *           2. Sizes and timestamps are left to sto_mutations_check.
 *           3. Text that a strict parser refuses (base syntax, duplicate names) is refused, and
 *              with its error: malformed comes before meaningless.
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
    size_t cells; /* how many of them set a cell or add to one */
};

/* unit_us: of its timestamps (time_unit.h). The text must live as long as the mutations. */
enum err gw_row_body_build(struct slice text, enum gw_row_verb verb,
                           const struct sto_schema *schema, int64_t unit_us, struct arena *arena,
                           struct gw_row_body *out, struct errbuf *eb) MUST_CHECK;

/* --- the same, inside a larger text ------------------------------------------------------------
 */

struct gw_row_cells {
    struct sto_mutation *list; /* list[0] is kept free for the deletion of the row */
    size_t count;
    size_t room;
    size_t cells;
    bool has_null; /* something is deleted: not for PUT */
};

/* Read the object that comes next. A failure may also be one of syntax: gw_row_body_blame tells. */
enum err gw_row_cells_scan(struct gw_scan *scan, const struct sto_schema *schema, int64_t unit_us,
                           struct gw_row_cells *out, struct errbuf *eb) MUST_CHECK;
enum err gw_row_cells_finish(struct gw_row_cells *cells, enum gw_row_verb verb,
                             struct gw_row_body *out, struct errbuf *eb) MUST_CHECK;
/* The error to report when reading text failed with `found`: the strict parser's if it has one. */
enum err gw_row_body_blame(struct slice text, enum err found, struct errbuf *eb) MUST_CHECK;

#endif

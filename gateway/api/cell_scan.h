/*
 * gateway/api/cell_scan.h - parses one cell of a row's JSON body, straight from its text.
 *
 * Does:     reads a cell after its column's name, or an entry of "$binary", and creates the
 *           mutation it describes.
 * Owns:     nothing; bytes are in the text or the scan's arena.
 * May use:  base/, storage/, gateway/api/json_scan.h,
 *           gateway/api/time_unit.h, gateway/cell_fields.h.
 * Knows no: families' names, lists, rows.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_NO_MEMORY.
 * Limits:   the arena's.
 * Promises: 1. In a family of plain cells a cell is text, {"value":..} or {"value_b64":..}, in a
 *              family of int64 also a number or {"number":..} ("value_b64" beside it counts), and
 *              is set.
 *           2. In a family of aggregates a number (in a distinct count: text) or {"input":..} is
 *              added; the form in which reads return cells, {"value":..} or {"value_b64":..}, is a
 *              state that is merged ("number" and "estimate" beside it are ignored): cells read
 *              from one table can be written to another.
 */
#ifndef GATEWAY_API_CELL_SCAN_H
#define GATEWAY_API_CELL_SCAN_H

#include "gateway/api/json_scan.h"
#include "storage/mutation.h"

/* Members of a cell. Each ptr is NULL when the member is absent. */
struct gw_cell_fields {
    struct slice family; /* of an entry of "$binary", like qualifier */
    struct slice qualifier;
    struct slice value;
    struct slice input;
    struct slice timestamp;
    bool input_is_integer;
    bool input_is_text; /* neither: bytes, of either kind */
    bool value_is_null;
    bool has_reading;    /* "number" or "estimate", as reads return them beside a value or state */
    struct slice number; /* "number" as 8 bytes, big-endian */
};

/* Reads a cell of that family, which must come next. */
enum err gw_cell_scan(struct gw_scan *scan, const struct sto_family *family,
                      struct gw_cell_fields *out, struct errbuf *eb) MUST_CHECK;
/* Reads the rest of an entry of "$binary", after its '{'. */
enum err gw_cell_scan_entry(struct gw_scan *scan, struct gw_cell_fields *out,
                            struct errbuf *eb) MUST_CHECK;
/* Prepends the path of a cell to eb's sentence, "family.qualifier[index]: ..", as base_fail_at
 * does; index SIZE_MAX: without an index. Errors that are not the client's fault get no path,
 * because they may be logged. */
enum err gw_cell_fail_at(struct errbuf *eb, enum err rc, const struct sto_family *family,
                         struct slice qualifier, size_t index) MUST_CHECK;
/* Creates the mutation. unit_us: of its timestamp. */
enum err gw_cell_mutation(const struct gw_cell_fields *f, const struct sto_family *family,
                          struct slice qualifier, int64_t unit_us, struct sto_mutation *out,
                          struct errbuf *eb) MUST_CHECK;

#endif

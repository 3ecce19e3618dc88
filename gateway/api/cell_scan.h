/*
 * gateway/api/cell_scan.h - one cell of a row's JSON body, straight from its text.
 *
 * Does:     read a cell as it stands behind its column, or as an entry of "$binary", and make the
 *           mutation it means.
 * Owns:     nothing; bytes lie in the text or the scan's arena.
 * May use:  base/, storage/, gateway/api/json_scan.h,
 *           gateway/api/time_unit.h, gateway/cell_fields.h.
 * Knows no: families' names, lists, rows.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_NO_MEMORY.
 * Limits:   the arena's.
 * Promises: 1. In a family of plain cells a cell is text, {"value":..} or {"value_b64":..}, in one
 *              of int64 also a number or {"number":..} ("value_b64" beside it counts), and is set.
 *           2. In one of aggregates a number (of distinct counts: text) or {"input":..} is
 *              added, and what reads show, {"value":..} or {"value_b64":..}, is a state that is
 *              merged ("number" and "estimate" beside it say nothing more): what was read from
 *              one table can be written to another.
 */
#ifndef GATEWAY_API_CELL_SCAN_H
#define GATEWAY_API_CELL_SCAN_H

#include "gateway/api/json_scan.h"
#include "storage/mutation.h"

/* Each ptr is NULL when it was not given. */
struct gw_cell_fields {
    struct slice family; /* of an entry of "$binary", like qualifier */
    struct slice qualifier;
    struct slice value;
    struct slice input;
    struct slice timestamp;
    bool input_is_integer;
    bool input_is_text; /* neither: bytes, of either kind */
    bool value_is_null;
    bool has_reading;    /* "number" or "estimate", as reads show them beside a value or state */
    struct slice number; /* the former, as 8 bytes, big-endian */
};

/* What comes next is a cell of that family. */
enum err gw_cell_scan(struct gw_scan *scan, const struct sto_family *family,
                      struct gw_cell_fields *out, struct errbuf *eb) MUST_CHECK;
/* The rest of an entry of "$binary", behind its '{'. */
enum err gw_cell_scan_entry(struct gw_scan *scan, struct gw_cell_fields *out,
                            struct errbuf *eb) MUST_CHECK;
/* Puts the path of a cell in front of eb's sentence, "family.qualifier[index]: ..", as
 * base_fail_at does; index SIZE_MAX: without. What is not the client's fault has no path: it may be
 * logged. */
enum err gw_cell_fail_at(struct errbuf *eb, enum err rc, const struct sto_family *family,
                         struct slice qualifier, size_t index) MUST_CHECK;
/* The mutation. unit_us: of its timestamp. */
enum err gw_cell_mutation(const struct gw_cell_fields *f, const struct sto_family *family,
                          struct slice qualifier, int64_t unit_us, struct sto_mutation *out,
                          struct errbuf *eb) MUST_CHECK;

#endif

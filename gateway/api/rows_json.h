/*
 * gateway/api/rows_json.h - a set of rows as JSON: keys, ranges, prefixes.
 *
 * Does:     turns {"keys":["a"],"ranges":[{"prefix":"b"},{"start":"c","end":"d"}]} into a row set.
 *           A range has "start" or "start_open", "end" or "end_closed"; bytes that are not text are
 *           in members whose names end in "_b64" ("keys_b64" for keys).
 * Owns:     nothing; ranges are in the arena, their bytes in arena and JSON.
 * May use:  base/, storage/row_set.h, gateway/api/json_in.h.
 * Knows no: filters, use of the rows.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_TOO_BIG naming the element; ERR_NO_MEMORY.
 * Limits:   LIM_ROW_SET, LIM_ROW_KEY.
 * Promises: 1. Neither keys nor ranges: every row.
 */
#ifndef GATEWAY_API_ROWS_JSON_H
#define GATEWAY_API_ROWS_JSON_H

#include "gateway/api/json_in.h"
#include "storage/row_set.h"

/* Member names, for gw_json_only. */
#define GW_ROWS_FIELDS "keys", "keys_b64", "ranges"

/* Parses a row set. out_ranges: those of the set, at least one. */
enum err gw_rows_from_json(const json_t *object, struct arena *arena, struct sto_row_set *out,
                           struct sto_row_range **out_ranges, struct errbuf *eb) MUST_CHECK;

#endif

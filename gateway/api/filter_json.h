/*
 * gateway/api/filter_json.h - row filters as JSON, with the names of the Bigtable API.
 *
 * Does:     turns {"chain":[{"family_name_regex":"a.*"},{"cells_per_column_limit":1}]} into a
 *           struct sto_filter. Names may carry the API's endings "_filter" and "_transformer";
 *           bytes that are not text are in a member whose name ends in "_b64".
 * Owns:     nothing; the tree is in the arena, its text in the JSON.
 * May use:  base/, storage/filter.h, gateway/api/json_in.h.
 * Knows no: schemas, effect of filters.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID naming the filter and the field, ERR_TOO_BIG, ERR_NO_MEMORY.
 *           sto_filter_compile checks the contents of filters.
 * Limits:   LIM_FILTER_DEPTH.
 * Promises: 1. Every kind of filter can be expressed, each in one way.
 */
#ifndef GATEWAY_API_FILTER_JSON_H
#define GATEWAY_API_FILTER_JSON_H

#include "gateway/api/json_in.h"
#include "storage/filter.h"

/* Parses a filter. json must outlive out. */
enum err gw_filter_from_json(const json_t *json, struct arena *arena, struct sto_filter *out,
                             struct errbuf *eb) MUST_CHECK;

#endif

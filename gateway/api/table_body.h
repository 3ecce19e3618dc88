/*
 * gateway/api/table_body.h - parses tables and families from JSON.
 *
 * Does:     turns the documents of PUT /v1/tables/{t} and POST /v1/tables/{t}:families into
 *           tenancy's structures.
 * Owns:     nothing; lists and decoded keys are in the arena, names and notes in the JSON tree.
 * May use:  base/, storage/, tenancy/, gateway/api/json_in.h.
 * Knows no: calls, current table.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_TOO_BIG, ERR_NO_MEMORY, naming family and member.
 * Limits:   LIM_FAMILIES, LIM_GC_NODES, LIM_SPLITS.
 * Promises: 1. {"max_versions":N,"max_age":"S"} is the union of the two, and the union of one
 *              max_versions and one max_age, in this order, is written so (describe.h).
 *
 * A gc rule is {"max_versions":N}, {"max_age":"86400s"}, both together, {"union":[rule,...]} or
 * {"intersection":[rule,...]}; {} or null is none. A family is {"gc":rule,"type":"sum"}, with a
 * type of storage/family_type.h. Splits are {"splits":["key",...],"splits_b64":["a2V5",...]},
 * either or both.
 */
#ifndef GATEWAY_API_TABLE_BODY_H
#define GATEWAY_API_TABLE_BODY_H

#include <jansson.h>

#include "base/arena.h"
#include "tenancy/registry.h"

/* Parse a table, or a change of families. The caller fills in expect, in both. */
enum err gw_table_body_parse(const json_t *json, struct arena *arena, struct ten_table_wanted *out,
                             struct errbuf *eb) MUST_CHECK;
enum err gw_families_body_parse(const json_t *json, struct arena *arena,
                                struct ten_families_change *out, struct errbuf *eb) MUST_CHECK;

#endif

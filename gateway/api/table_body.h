/*
 * gateway/api/table_body.h - families and tables as JSON: what is asked for.
 *
 * Does:     turn the documents of PUT /v1/tables/{t} and POST /v1/tables/{t}:families into what
 *           tenancy takes.
 * Owns:     nothing; lists and decoded keys live in the arena, names and notes in the JSON tree.
 * May use:  base/, storage/, tenancy/, gateway/api/json_in.h.
 * Knows no: calls, the table as it is.
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

/* expect is the caller's to fill in, in both. */
enum err gw_table_body_parse(const json_t *json, struct arena *arena, struct ten_table_wanted *out,
                             struct errbuf *eb) MUST_CHECK;
enum err gw_families_body_parse(const json_t *json, struct arena *arena,
                                struct ten_families_change *out, struct errbuf *eb) MUST_CHECK;

#endif

/*
 * gateway/api/mutation_json.h - changes to one row as JSON, with the names of the Bigtable API.
 *
 * Does:     turns lists of mutations into struct sto_mutation:
 *             {"set_cell":{"family":"f","qualifier":"q","value":"v","timestamp":"1000"}}
 *               (or "number":5, in a family of type int64)
 *             {"delete_from_column":{"family":"f","qualifier":"q","start":"0","end":"1000"}}
 *             {"delete_from_family":{"family":"f"}}          {"delete_from_row":{}}
 *             {"add_to_cell":{"family":"f","qualifier":"q","input":5,"timestamp":"0"}}
 *             {"merge_to_cell":{"family":"f","qualifier":"q","state_b64":"..","timestamp":"0"}}
 *           and lists of rules of read-modify-write:
 *             {"family":"f","qualifier":"q","append":"x"}    {..,"increment":5}
 *           Bytes that are not text are in members whose names end in "_b64".
 * Owns:     nothing; lists are in the arena, their bytes in arena and JSON.
 * May use:  base/, storage/, gateway/api/json_in.h, gateway/api/cell_scan.h,
 *           gateway/api/time_unit.h, gateway/cell_fields.h.
 * Knows no: HTTP, which row.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_NOT_FOUND (family), ERR_TOO_BIG, ERR_NO_MEMORY, naming list, place and
 *           field by their path.
 * Limits:   LIM_MUTATIONS_PER_ROW, LIM_MODIFY_RULES.
 * Promises: 1. Sizes, values of timestamps and states are left to sto_mutations_check.
 */
#ifndef GATEWAY_API_MUTATION_JSON_H
#define GATEWAY_API_MUTATION_JSON_H

#include "gateway/api/json_in.h"
#include "storage/mutation.h"

struct gw_mutations {
    struct sto_mutation *list;
    size_t count;
};

/* Parses the list in the member `name` of object; absent or null is an empty list. unit_us: of
 * timestamps (time_unit.h). The JSON must outlive the mutations. */
enum err gw_mutations_from_json(const json_t *object, const char *name,
                                const struct sto_schema *schema, int64_t unit_us,
                                struct arena *arena, struct gw_mutations *out,
                                struct errbuf *eb) MUST_CHECK;
/* Parses a list of rules in the same way. */
enum err gw_rules_from_json(const json_t *object, const char *name, const struct sto_schema *schema,
                            struct arena *arena, struct gw_mutations *out,
                            struct errbuf *eb) MUST_CHECK;

/* Calls sto_mutations_check; errors name the wrong mutation by its path in the body: "then[2]: ..",
 * or with name NULL, for a body of cells, "family.qualifier: ..". */
enum err gw_mutations_check(const struct sto_schema *schema, const struct sto_account *account,
                            struct slice row_key, const struct sto_mutation *list, size_t count,
                            const char *name, struct errbuf *eb) MUST_CHECK;

/* Returns whether the row exists after the list was applied: the last mutation adds a cell. */
bool gw_mutations_end_with_a_cell(const struct sto_mutation *list, size_t count);

#endif

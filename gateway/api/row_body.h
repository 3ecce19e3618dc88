/*
 * gateway/api/row_body.h - the JSON body of a row, as a list of mutations.
 *
 * Does:     turn {"family":{"qualifier":value}} and "$binary" into struct sto_mutation.
 * Owns:     nothing; mutations lie in the arena, their bytes in the JSON tree or the arena.
 * May use:  base/, storage/, gateway/api/json_in.h.
 * Knows no: HTTP, who writes.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_NOT_FOUND (family), ERR_TOO_BIG, ERR_NO_MEMORY.
 * Limits:   LIM_MUTATIONS_PER_ROW.
 * Promises: 1. A PUT list begins with the deletion of the row and sets at least one cell.
 *           2. Sizes and timestamps are left to sto_mutations_check.
 */
#ifndef GATEWAY_API_ROW_BODY_H
#define GATEWAY_API_ROW_BODY_H

#include "base/arena.h"
#include "gateway/api/json_in.h"
#include "storage/mutation.h"

enum gw_row_verb { GW_ROW_PUT, GW_ROW_PATCH };

struct gw_row_body {
    struct sto_mutation *mutations;
    size_t count;
    size_t cells; /* how many of them set a cell */
};

/* The tree must live as long as the mutations. */
enum err gw_row_body_build(const json_t *body, enum gw_row_verb verb,
                           const struct sto_schema *schema, struct arena *arena,
                           struct gw_row_body *out, struct errbuf *eb) MUST_CHECK;

#endif

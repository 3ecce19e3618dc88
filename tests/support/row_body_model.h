/*
 * tests/support/row_body_model.h - the JSON body of a row, read the plain way.
 *
 * Does:     turn a tree that jansson parsed into mutations; compare with what the product's reader,
 *           which makes no tree, gives for the same text.
 * Owns:     nothing.
 * May use:  base/, storage/, gateway/api/.
 * Knows no: where texts come from.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: the errors of gateway/api/row_body.h.
 * Limits:   ROW_BODY_ARENA_MAX of memory for each reader.
 * Promises: 1. Both readers agree when they take or refuse the same texts, with the same error
 * where the text is no JSON, and give the same mutations in the same order.
 */
#ifndef TESTS_SUPPORT_ROW_BODY_MODEL_H
#define TESTS_SUPPORT_ROW_BODY_MODEL_H

#include "gateway/api/json_in.h"
#include "gateway/api/row_body.h"

#define ROW_BODY_ARENA_MAX (64 * MIB)

enum err row_body_model(const json_t *body, enum gw_row_verb verb, const struct sto_schema *schema,
                        struct arena *arena, struct gw_row_body *out, struct errbuf *eb) MUST_CHECK;

/* False: why says how they differ. */
bool row_body_readers_agree(struct slice text, enum gw_row_verb verb,
                            const struct sto_schema *schema, struct errbuf *why);

#endif

/*
 * tests/support/row_body_model.h - a simple parser of the JSON body of a row.
 *
 * Does:     convert a tree that jansson parsed to mutations; compare them with the mutations of the
 *           product's parser, which builds no tree, for the same text.
 * Owns:     nothing.
 * May use:  base/, storage/, gateway/api/.
 * Knows no: the source of texts.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: the errors of gateway/api/row_body.h.
 * Limits:   ROW_BODY_ARENA_MAX of memory for each parser.
 * Promises: 1. Both parsers agree when they accept or refuse the same texts, with the same error
 *              where the text is not JSON, and return the same mutations in the same order.
 */
#ifndef TESTS_SUPPORT_ROW_BODY_MODEL_H
#define TESTS_SUPPORT_ROW_BODY_MODEL_H

#include "gateway/api/json_in.h"
#include "gateway/api/row_body.h"

#define ROW_BODY_ARENA_MAX (64 * MIB)

enum err row_body_model(const json_t *body, enum gw_row_verb verb, const struct sto_schema *schema,
                        struct arena *arena, struct gw_row_body *out, struct errbuf *eb) MUST_CHECK;

/* Returns whether both parsers agree; if not, why describes the difference. */
bool row_body_readers_agree(struct slice text, enum gw_row_verb verb,
                            const struct sto_schema *schema, struct errbuf *why);

#endif

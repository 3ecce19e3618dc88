/*
 * cli/families.h - column families written as one word each: stats:max_versions=3, hits:type=sum.
 *
 * Does:     convert words to the server's JSON, and the server's JSON to words; distinguish
 *           aggregates from plain cells.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: routes.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: CLI_USAGE, ERR_INVALID.
 * Limits:   LIM_FILTER_DEPTH levels of rules.
 * Promises: 1. Printed words are accepted as input.
 *
 *   FAMILY[:TERM]...   TERM is type=T, max_versions=N, max_age=Ns (also m, h, d),
 *                      union(RULE,...) or intersection(RULE,...); RULE is TERM[:TERM]...
 */
#ifndef CLI_FAMILIES_H
#define CLI_FAMILIES_H

#include <jansson.h>

#include "base/buf.h"
#include "cli/exit.h"

/* Adds the family of a word to an object of families. cli_families_add also reports errors. */
enum err cli_families_parse(json_t *families, const char *word, struct errbuf *eb) MUST_CHECK;
enum cli_exit cli_families_add(json_t *families, const char *word);
/* Returns the type of a family of aggregates, NULL for one of plain cells. */
const char *cli_family_aggregate(const json_t *family);
bool cli_families_have_aggregates(json_t *families);
/* Appends all families of an object, separated by commas. */
void cli_families_put(struct buf *out, json_t *families);

#endif

/*
 * cli/apply_families.h - column families of a file for `bigtent apply`.
 *
 * Does:     read families, as a mapping in the API's words or as a list of the command line's
 *           words; convert rules to the one form in which the server shows them.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: requests.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: complaints with line and column.
 * Limits:   LIM_FILTER_DEPTH levels, LIM_FAMILIES.
 * Promises: 1. Rules that mean the same to the server are equal as JSON.
 */
#ifndef CLI_APPLY_FAMILIES_H
#define CLI_APPLY_FAMILIES_H

#include "cli/apply_values.h"

void cli_apply_families(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                        const char *name);
/* Returns an age such as "30d", "1.5s" or "86400" in the server's form;
 * NULL when text is not one. */
json_t *cli_apply_age(const char *text);

#endif

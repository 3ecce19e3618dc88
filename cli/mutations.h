/*
 * cli/mutations.h - words that change a row, as the JSON API has them.
 *
 * Does:     turn words into mutations and into rules of read-modify-write.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: requests.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: CLI_USAGE, said on stderr.
 * Limits:   CLI_REQUEST_BYTES.
 * Promises: 1. Any bytes the command line can carry are sent unchanged.
 */
#ifndef CLI_MUTATIONS_H
#define CLI_MUTATIONS_H

#include <jansson.h>

#include "cli/exit.h"

/* FAMILY:QUAL=VALUE sets a cell, FAMILY:QUAL+=INPUT adds to an aggregate (a whole number is an
 * integer, anything else text), FAMILY:QUAL- and FAMILY- delete, - deletes the row. Appended to
 * list. */
enum cli_exit cli_mutation_from_word(const char *word, json_t *list);
/* FAMILY:QUAL+=N increments, FAMILY:QUAL.=TEXT appends. */
enum cli_exit cli_rule_from_word(const char *word, json_t *list);

#endif

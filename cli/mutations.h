/*
 * cli/mutations.h - words that change a row, converted to the JSON API's mutations.
 *
 * Does:     convert words to mutations and to rules of read-modify-write.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: requests.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: CLI_USAGE, reported on stderr.
 * Limits:   CLI_REQUEST_BYTES.
 * Promises: 1. All bytes that a command line can hold are sent unchanged.
 */
#ifndef CLI_MUTATIONS_H
#define CLI_MUTATIONS_H

#include <jansson.h>

#include "cli/exit.h"

/* Appends a word's mutation to list: FAMILY:QUAL=VALUE sets a cell, FAMILY:QUAL+=INPUT adds to an
 * aggregate (a whole number is an integer, anything else text), FAMILY:QUAL- and FAMILY- delete, -
 * deletes the row. */
enum cli_exit cli_mutation_from_word(const char *word, json_t *list);
/* Appends a word's rule to list: FAMILY:QUAL+=N increments, FAMILY:QUAL.=TEXT appends. */
enum cli_exit cli_rule_from_word(const char *word, json_t *list);

#endif

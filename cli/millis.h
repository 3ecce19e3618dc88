/*
 * cli/millis.h - detects timestamps in milliseconds where microseconds are expected.
 *
 * Does:     recognize such a number, find one in a line of row load, warn about it.
 * Owns:     nothing.
 * May use:  base/, cli/out.h.
 * Knows no: the cells' destination.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: false.
 * Limits:   none.
 * Promises: 1. Only numbers that mean January or February 1970 in microseconds, and 2001 to 2099 in
 *              milliseconds, are suspected; small numbers that serve as versions are not.
 *           2. A qualifier or value with the name "timestamp" is not taken for a timestamp.
 */
#ifndef CLI_MILLIS_H
#define CLI_MILLIS_H

#include "base/slice.h"

bool cli_millis_suspected(int64_t micros);
/* Finds the first suspected timestamp of a line; false for a line without one, or not in JSON. */
bool cli_millis_find(struct slice line, int64_t *out);
/* Prints a warning on stderr; where: the thing that has the timestamp. */
void cli_millis_warn(const char *where, int64_t micros);

#endif

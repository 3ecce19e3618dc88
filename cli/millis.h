/*
 * cli/millis.h - timestamps that look like milliseconds where microseconds are meant.
 *
 * Does:     tell such a number from others, find one in a line of row load, warn about it.
 * Owns:     nothing.
 * May use:  base/, cli/out.h.
 * Knows no: where cells go.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: false.
 * Limits:   none.
 * Promises: 1. Only numbers that are January or February 1970 in microseconds, and 2001 to 2099 in
 *              milliseconds, are suspected: small numbers that are versions are not.
 *           2. A qualifier or a value that is called timestamp is none.
 */
#ifndef CLI_MILLIS_H
#define CLI_MILLIS_H

#include "base/slice.h"

bool cli_millis_suspected(int64_t micros);
/* The first suspected timestamp of a line; lines that are no JSON have none. */
bool cli_millis_find(struct slice line, int64_t *out);
/* To stderr; where: what has the timestamp. */
void cli_millis_warn(const char *where, int64_t micros);

#endif

/*
 * cli/target.h - request targets: routes with percent-encoded values.
 *
 * Does:     fill a pattern, add query parameters.
 * Owns:     nothing.
 * May use:  base/, cli/bounds.h.
 * Knows no: which routes exist.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: the buf's latched error.
 * Limits:   CLI_TARGET_BYTES.
 * Promises: 1. Any value remains one path segment or one query value.
 */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "base/buf.h"

/* Replace each "{}" in pattern by the next value. Initialise out; base_buf_fini it. */
void cli_target1(struct buf *out, const char *pattern, const char *value);
void cli_target2(struct buf *out, const char *pattern, const char *first, const char *second);
/* Adds "?name=value" or "&name=value"; a NULL value adds nothing. */
void cli_target_query(struct buf *target, const char *name, const char *value);

#endif

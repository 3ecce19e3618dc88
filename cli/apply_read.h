/*
 * cli/apply_read.h - a YAML file for `bigtent apply`, read into items.
 *
 * Does:     read plans, tenants with their tables and keys, service and operator keys; check
 *           everything that can be checked without a server.
 * Owns:     nothing; the items are the apply's.
 * May use:  base/, cli/.
 * Knows no: the server.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: complaints with line and column.
 * Limits:   those of cli/yaml_tree.h and base/limits.h.
 * Promises: 1. Reading continues after an error, so that one run reports all errors.
 */
#ifndef CLI_APPLY_READ_H
#define CLI_APPLY_READ_H

#include "base/slice.h"
#include "cli/apply.h"

/* file: the file's name; it must live as long as a. */
void cli_apply_read(struct cli_apply *a, const char *file, struct slice text);

#endif

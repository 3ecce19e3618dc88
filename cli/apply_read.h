/*
 * cli/apply_read.h - a YAML file for `bigtent apply`, read into items.
 *
 * Does:     read plans, tenants with their tables and keys, service and operator keys; check all
 *           that can be checked without a server.
 * Owns:     nothing; the items are the apply's.
 * May use:  base/, cli/.
 * Knows no: the server.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: complaints with line and column.
 * Limits:   those of cli/yaml_tree.h and base/limits.h.
 * Promises: 1. It goes on behind an error, so that all of them are found at once.
 */
#ifndef CLI_APPLY_READ_H
#define CLI_APPLY_READ_H

#include "base/slice.h"
#include "cli/apply.h"

/* file: its name, which lives as long as the apply. */
void cli_apply_read(struct cli_apply *a, const char *file, struct slice text);

#endif

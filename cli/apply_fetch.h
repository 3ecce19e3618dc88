/*
 * cli/apply_fetch.h - reads the server's state of the things that `bigtent apply` was given.
 *
 * Does:     read plans, tenants, tables and keys from the server into the items' `present`.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: what differs.
 * Threads:  one.
 * Blocks:   on the network.
 * Fails by: what cli/http.h reports.
 * Limits:   CLI_APPLY_ASK_EACH.
 * Promises: 1. More than CLI_APPLY_ASK_EACH tenants are read by pages of the list, and kept only
 *              when the file names them.
 *           2. A tenant's tables and keys are requested only when the file has some.
 */
#ifndef CLI_APPLY_FETCH_H
#define CLI_APPLY_FETCH_H

#include "cli/apply_server.h"

/* *out_plans: all plans by ID; json_decref it. NULL: tenants and plans were not requested. */
enum cli_exit cli_apply_fetch(struct cli_apply_server *s, struct cli_apply *a, json_t **out_plans);

#endif

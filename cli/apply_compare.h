/*
 * cli/apply_compare.h - what is to be done so that the server is as the file says.
 *
 * Does:     give each item its verb, its changes and the body to send.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: requests.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: complaints about what the file wants and nobody can have.
 * Limits:   none.
 * Promises: 1. What the file does not name stays as it is. 2. What is as the file says is kept:
 *              nothing is sent for it.
 *
 *   body: of plans, new tenants, new tables and keys the request's; of tenants that change
 *         {"patch":{},"quota":{}}, of tables that change {"families":{},"settings":{}}, each only
 *         when there is something in it.
 */
#ifndef CLI_APPLY_COMPARE_H
#define CLI_APPLY_COMPARE_H

#include "cli/apply.h"

/* plans: those of the server, by ID; NULL: it was not asked for tenants and plans. */
void cli_apply_compare(struct cli_apply *a, const json_t *plans);

#endif

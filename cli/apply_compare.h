/*
 * cli/apply_compare.h - determines the changes that make the server match the file.
 *
 * Does:     set each item's verb, its changes and the body to send.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: requests.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: complaints about requests in the file that cannot be fulfilled.
 * Limits:   none.
 * Promises: 1. Things that the file does not name stay unchanged. 2. A thing that matches the file
 *              is kept: nothing is sent for it.
 *
 *   body: for plans, new tenants, new tables and keys, the body of the request; for tenants that
 *         change, {"patch":{},"quota":{}}; for tables that change, {"families":{},"settings":{}}.
 *         Empty members are left out.
 */
#ifndef CLI_APPLY_COMPARE_H
#define CLI_APPLY_COMPARE_H

#include "cli/apply.h"

/* plans: the server's plans by ID; NULL: tenants and plans were not requested from the server. */
void cli_apply_compare(struct cli_apply *a, const json_t *plans);

#endif

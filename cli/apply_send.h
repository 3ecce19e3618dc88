/*
 * cli/apply_send.h - executes the plan of `bigtent apply`.
 *
 * Does:     send the requests of all items that are not kept, in an order that satisfies their
 *           dependencies.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: what differs.
 * Threads:  one.
 * Blocks:   on the network and the disk.
 * Fails by: what cli/http.h reports; CLI_CHECK_FAILED when something changed since it was compared.
 * Limits:   none.
 * Promises: 1. It stops at the first failure. Changes made until then remain; the next run finds
 *              the rest. 2. A new key is in the file before the next request is sent; a key that
 *              cannot be written there is revoked.
 */
#ifndef CLI_APPLY_SEND_H
#define CLI_APPLY_SEND_H

#include "cli/apply_secrets.h"
#include "cli/apply_server.h"

enum cli_exit cli_apply_send(struct cli_apply_server *s, struct cli_apply *a,
                             struct cli_apply_secrets *secrets);

#endif

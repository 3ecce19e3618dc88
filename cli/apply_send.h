/*
 * cli/apply_send.h - doing what `bigtent apply` has planned.
 *
 * Does:     send the requests of all items that are not kept, in an order in which each finds what
 *           it needs.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: what differs.
 * Threads:  one.
 * Blocks:   on the network and the disk.
 * Fails by: what cli/http.h reports; CLI_CHECK_FAILED when something changed since it was compared.
 * Limits:   none.
 * Promises: 1. It ends at the first failure; what was done until then stays, and the rest is what
 *              the next run finds to do. 2. A new key is in the file before anything else is sent;
 *              one that cannot be written there is revoked.
 */
#ifndef CLI_APPLY_SEND_H
#define CLI_APPLY_SEND_H

#include "cli/apply_secrets.h"
#include "cli/apply_server.h"

enum cli_exit cli_apply_send(struct cli_apply_server *s, struct cli_apply *a,
                             struct cli_apply_secrets *secrets);

#endif

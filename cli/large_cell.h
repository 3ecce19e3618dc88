/*
 * cli/large_cell.h - cells that no request of the JSON API may hold, over gRPC.
 *
 * Does:     find out what a tenant's instance is called; write a cell with MutateRow.
 * Owns:     its buffers, between init and fini; the connection is borrowed.
 * May use:  base/, cli/.
 * Knows no: where cells come from.
 * Threads:  one for each.
 * Blocks:   on the network.
 * Fails by: CLI_UNREACHABLE (another try may help), CLI_REFUSED, said; as cli/http.h.
 * Limits:   LIM_CELL_BYTES_HARD.
 * Promises: 1. Writing the same cell again changes nothing.
 */
#ifndef CLI_LARGE_CELL_H
#define CLI_LARGE_CELL_H

#include "cli/call.h"
#include "cli/transfer_cell.h"

/* Values from this size on go this way; smaller ones may be a request of their own. */
#define CLI_LARGE_CELL_BYTES (LIM_BODY_BYTES + 1)

struct cli_large_cell {
    struct cli_call call;
    char instance[CLI_SERVICE_NAME]; /* "projects/T/instances/I"; empty: not asked yet */
};

void cli_large_cell_init(struct cli_large_cell *l, struct cli_http *http,
                         bool (*goes_on)(void *ctx), void *ctx);
void cli_large_cell_fini(struct cli_large_cell *l);
enum cli_exit cli_large_cell_write(struct cli_large_cell *l, const char *tenant, const char *table,
                                   const struct cli_cell *cell);

#endif

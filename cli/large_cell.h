/*
 * cli/large_cell.h - writes cells over gRPC that are too large for requests of the JSON API.
 *
 * Does:     request the name of a tenant's instance; write a cell with MutateRow.
 * Owns:     its buffers, between init and fini; the connection is borrowed.
 * May use:  base/, cli/.
 * Knows no: the source of cells.
 * Threads:  one for each.
 * Blocks:   on the network.
 * Fails by: CLI_UNREACHABLE (a retry may help), CLI_REFUSED, reported; as cli/http.h.
 * Limits:   LIM_CELL_BYTES_HARD.
 * Promises: 1. Writing the same cell again changes nothing.
 */
#ifndef CLI_LARGE_CELL_H
#define CLI_LARGE_CELL_H

#include "cli/call.h"
#include "cli/transfer_cell.h"

/* Values of at least this size are sent over gRPC; a smaller one fits a request of its own. */
#define CLI_LARGE_CELL_BYTES (LIM_BODY_BYTES + 1)

struct cli_large_cell {
    struct cli_call call;
    char instance[CLI_SERVICE_NAME]; /* "projects/T/instances/I"; empty: not requested yet */
};

void cli_large_cell_init(struct cli_large_cell *l, struct cli_http *http,
                         bool (*goes_on)(void *ctx), void *ctx);
void cli_large_cell_fini(struct cli_large_cell *l);
enum cli_exit cli_large_cell_write(struct cli_large_cell *l, const char *tenant, const char *table,
                                   const struct cli_cell *cell);

#endif

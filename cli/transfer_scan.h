/*
 * cli/transfer_scan.h - every row of a range, however often the connection breaks.
 *
 * Does:     read a range as a stream; after a break go on behind the last row that was taken.
 * Owns:     its connection and buffers, between init and fini.
 * May use:  base/, cli/.
 * Knows no: what becomes of rows.
 * Threads:  one for each scan; several scans may run at a time.
 * Blocks:   on the network, and between tries.
 * Fails by: as cli/http.h; what on_cell and on_row returned; CLI_INTERRUPTED when *stop is set.
 * Limits:   CLI_TRANSFER_TRIES, CLI_TRANSFER_WAIT_MS.
 * Promises: 1. on_row sees each row of the range once, in order, behind on_cell for its cells.
 *           2. CLI_OK means that the range was read to its end.
 */
#ifndef CLI_TRANSFER_SCAN_H
#define CLI_TRANSFER_SCAN_H

#include <jansson.h>
#include <stdatomic.h>

#include "cli/http.h"
#include "cli/lines.h"
#include "cli/transfer_cell.h"

struct cli_transfer_scan {
    struct cli_config config; /* borrows from the one given */
    struct cli_http *http;
    struct cli_lines lines;
    struct buf holder;
    struct buf last; /* key of the last row taken, empty: none */
    const atomic_bool *stop;
    enum cli_exit (*on_cell)(void *ctx, const struct cli_cell *cell);
    enum cli_exit (*on_row)(void *ctx, struct slice key);
    void *ctx;
    bool moved; /* a row came in this try */
};

/* Call it, and fini, in the main thread. stop lasts as long as the scan does. */
enum cli_exit cli_transfer_scan_init(struct cli_transfer_scan *s, const struct cli_config *config,
                                     const atomic_bool *stop);
void cli_transfer_scan_fini(struct cli_transfer_scan *s);

/* The configuration of a connection that waits for a busy server longer than a person would. */
struct cli_config cli_transfer_config(const struct cli_config *config);
/* Wait before the next try; false: stopped. tries: how many brought nothing. */
bool cli_transfer_wait(const atomic_bool *stop, unsigned tries);

/* start inclusive, end exclusive, empty: no bound; after, when not empty: begin behind this row. */
enum cli_exit cli_transfer_scan_run(struct cli_transfer_scan *s, const char *table,
                                    struct slice start, struct slice end, struct slice after);

/* The rows with these keys, {"keys":[..],"keys_b64":[..]}, which is borrowed. After a break all
 * come once more. */
enum cli_exit cli_transfer_scan_keys(struct cli_transfer_scan *s, const char *table,
                                     const json_t *keys);

#endif

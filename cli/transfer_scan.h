/*
 * cli/transfer_scan.h - reads every row of a range, across broken connections.
 *
 * Does:     read a range as a stream; after a broken connection, continue after the last row read.
 * Owns:     its connection and buffers, between init and fini.
 * May use:  base/, cli/.
 * Knows no: the use of rows.
 * Threads:  one for each scan; several scans may run at a time.
 * Blocks:   on the network, and between tries.
 * Fails by: as cli/http.h; the results of on_cell and on_row; CLI_INTERRUPTED when *stop is set.
 * Limits:   CLI_TRANSFER_TRIES, CLI_TRANSFER_WAIT_MS.
 * Promises: 1. on_row receives each row of the range once, in order, after on_cell for its cells.
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
    struct cli_config config; /* borrows from the configuration passed to init */
    struct cli_http *http;
    struct cli_lines lines;
    struct buf holder;
    struct buf last; /* key of the last row passed to on_row; empty: none */
    const atomic_bool *stop;
    enum cli_exit (*on_cell)(void *ctx, const struct cli_cell *cell);
    enum cli_exit (*on_row)(void *ctx, struct slice key);
    void *ctx;
    bool moved; /* a row arrived in this try */
};

/* Initializes s; call it, and fini, in the main thread. stop must live as long as s. */
enum cli_exit cli_transfer_scan_init(struct cli_transfer_scan *s, const struct cli_config *config,
                                     const atomic_bool *stop);
void cli_transfer_scan_fini(struct cli_transfer_scan *s);

/* Returns the configuration of a connection with at least CLI_TRANSFER_TRIES retries, so that it
 * waits longer for a busy server than an interactive command. */
struct cli_config cli_transfer_config(const struct cli_config *config);
/* Waits before the next try; false: stopped. tries: the number of tries without a result. */
bool cli_transfer_wait(const atomic_bool *stop, unsigned tries);

/* Scans a range. start is inclusive, end exclusive; empty: no bound.
 * after, if not empty: start after this row. */
enum cli_exit cli_transfer_scan_run(struct cli_transfer_scan *s, const char *table,
                                    struct slice start, struct slice end, struct slice after);

/* Reads the rows with these keys, {"keys":[..],"keys_b64":[..]}, which is borrowed. After a broken
 * connection all rows are emitted again. */
enum cli_exit cli_transfer_scan_keys(struct cli_transfer_scan *s, const char *table,
                                     const json_t *keys);

#endif

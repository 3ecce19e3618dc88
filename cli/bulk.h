/*
 * cli/bulk.h - a piece of lines, written by POST /v1/tables/{table}:write.
 *
 * Does:     send a chunk's lines until each has its verdict; slow down when the server is busy.
 * Owns:     its buffers, between init and fini.
 * May use:  base/, cli/.
 * Knows no: where the lines come from.
 * Threads:  one for each bulk.
 * Blocks:   on the network, and while the server asks for a pause.
 * Fails by: as cli/http.h; CLI_CHECK_FAILED when nothing passes any more.
 * Limits:   CLI_CHUNK_BYTES, CLI_CHUNK_LINES, CLI_LINE_WAIT_*.
 * Promises: 1. After CLI_OK no line is pending: each was written or refused for good.
 *           2. Lines about one row take effect in their order.
 */
#ifndef CLI_BULK_H
#define CLI_BULK_H

#include <jansson.h>

#include "cli/chunk.h"
#include "cli/http.h"
#include "cli/lines.h"

struct cli_bulk {
    struct cli_http *http;
    const char *table;
    uint64_t retries;
    const char *timestamps; /* their unit, "us" or "ms"; NULL: us */
    /* A line was written or refused, or, PENDING, will be written once more; verdict is then NULL,
     * else the server's line about it. */
    void (*on_state)(void *ctx, const struct cli_line *line, enum cli_line_state state,
                     const json_t *verdict);
    void *ctx;
    /* Whether to go on, asked about once a second; NULL: only a signal stops it. */
    bool (*goes_on)(void *ctx);

    bool slow; /* something was throttled */
    struct cli_chunk *chunk;
    struct cli_lines verdicts;
    struct buf body;
    size_t *sent; /* the round's lines, as indexes into the chunk */
    size_t sent_count;
    size_t verdict_count;
    size_t throttled_count;
    uint64_t wait_ms; /* asked for by the round's throttled lines */
    bool summed_up;   /* the round's summary came */
    size_t window;
};

/* The fields in front of `slow` are the caller's, to be set before the first send. */
void cli_bulk_init(struct cli_bulk *b);
void cli_bulk_fini(struct cli_bulk *b);
enum cli_exit cli_bulk_send(struct cli_bulk *b, struct cli_chunk *chunk);

#endif

/*
 * cli/bulk.h - writes a chunk of lines with POST /v1/tables/{table}:write.
 *
 * Does:     send a chunk's lines until each is written or refused; slow down when the server is
 *           busy.
 * Owns:     its buffers, between init and fini.
 * May use:  base/, cli/.
 * Knows no: where the lines come from.
 * Threads:  one for each bulk.
 * Blocks:   on the network, and for pauses that the server requests.
 * Fails by: as cli/http.h; CLI_CHECK_FAILED when the server no longer admits any line.
 * Limits:   CLI_CHUNK_BYTES, CLI_CHUNK_LINES, CLI_LINE_WAIT_*.
 * Promises: 1. After CLI_OK no line is pending: each was written or permanently refused.
 *           2. Lines about the same row are applied in their order.
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
    /* Called when a line was written or refused, with the server's line about it as verdict; and,
     * with PENDING and verdict NULL, before a line is sent again. */
    void (*on_state)(void *ctx, const struct cli_line *line, enum cli_line_state state,
                     const json_t *verdict);
    void *ctx;
    /* Returns whether to continue; called about once a second.
     * NULL: only a signal stops the send. */
    bool (*goes_on)(void *ctx);

    bool slow; /* the server throttled a line */
    struct cli_chunk *chunk;
    struct cli_lines verdicts;
    struct buf body;
    size_t *sent; /* indexes of the round's lines in the chunk */
    size_t sent_count;
    size_t verdict_count;
    size_t throttled_count;
    uint64_t wait_ms; /* pause requested for the round's throttled lines */
    bool summed_up;   /* the round's summary arrived */
    size_t window;
};

/* Initializes b. The caller sets the fields before `slow`, ahead of the first send. */
void cli_bulk_init(struct cli_bulk *b);
void cli_bulk_fini(struct cli_bulk *b);
enum cli_exit cli_bulk_send(struct cli_bulk *b, struct cli_chunk *chunk);

#endif

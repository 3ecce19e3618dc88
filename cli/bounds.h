/*
 * cli/bounds.h - the limits on memory, time and terminal lines of the command line.
 *
 * Does:     define the limits, each with its reason; the server's limits are in base/limits.h.
 * Owns:     nothing.
 * May use:  base/limits.h.
 * Knows no: how they are enforced.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   these.
 * Promises: 1. Every number that bounds input, memory or time of bigtent is defined here.
 */
#ifndef CLI_BOUNDS_H
#define CLI_BOUNDS_H

#include "base/limits.h"

/* One answer held in memory, or one line of a stream: the largest row, doubled by JSON escapes. */
#define CLI_ANSWER_BYTES  (2 * LIM_ROW_BYTES)
#define CLI_PROBLEM_BYTES (64 * KIB) /* a refusal; more is not a problem document */
#define CLI_REQUEST_BYTES LIM_BODY_BYTES
#define CLI_TARGET_BYTES  (64 * KIB) /* over the server's limit, so that the server reports it */
#define CLI_TEXT_BYTES    (4 * CLI_ANSWER_BYTES) /* an answer with every byte shown as \xNN */
#define CLI_KEY_BYTES     (3 * KIB) /* one line: 58 characters, or a token of another service */

/* Bulk load: a chunk is one request; small enough to keep and retry, large enough that the pause
 * between two requests is negligible. */
#define CLI_CHUNK_BYTES   (1 * MIB)
#define CLI_CHUNK_LINES   8192
#define CLI_LOAD_SAID     20 /* failed lines that are reported; the others are counted */
#define CLI_READ_BYTES    (256 * KIB)
#define CLI_INPUT_WAIT_MS 100 /* lines of a slow pipe are sent after a pause of this length */

/* Files of apply: enough for 100,000 tenants with a few tables each, and for no more. */
#define CLI_YAML_BYTES     (64 * MIB)
#define CLI_YAML_NODES     4000000
#define CLI_YAML_MEMORY    (512 * MIB)
#define CLI_APPLY_ERRORS   20 /* reported; the others are counted */
#define CLI_APPLY_ASK_EACH 64 /* tenants requested one by one; above it the whole list is */

/* Export and import. A record is a cell, each byte of which may need six bytes in JSON. The limits
 * bound a write to disk, a request, and the work that an interrupted run repeats. */
#define CLI_RECORD_BYTES        (6 * LIM_CELL_BYTES_HARD + 1 * MIB)
#define CLI_HOLDER_BYTES        (2 * CLI_ANSWER_BYTES + 1)
#define CLI_TRANSFER_BLOCK      (256 * KIB)
#define CLI_TRANSFER_FILE_BYTES (256 * MIB)
#define CLI_TRANSFER_FILE_ROWS  1000000
#define CLI_TRANSFER_STREAMS    2 /* concurrent requests */
#define CLI_TRANSFER_RANGES     16
#define CLI_TRANSFER_PART       (64 * MIB) /* a range smaller than this is not worth a request */
#define CLI_TRANSFER_TRIES      12         /* consecutive, without a row: a restart takes seconds */
#define CLI_TRANSFER_WAIT_MS    5000
#define CLI_TRANSFER_VALUE      (2 * MIB) /* larger cells are sent alone: they may not fit a line */
#define CLI_TRANSFER_LINE_CELLS 1000
#define CLI_MANIFEST_BYTES      (256 * MIB)
#define CLI_MANIFEST_FILES      1000000

/* Migration from foreign databases. A key of a foreign database is a row key, a qualifier and a
 * time, with space to show that the key is too long. Progress is recorded after CLI_MOVE_STEP
 * bytes, at most every CLI_MOVE_NOTE_MS. */
#define CLI_MOVE_KEY_BYTES   (64 * KIB)
#define CLI_MOVE_SOURCES     20000
#define CLI_MOVE_STEP        (8 * MIB)
#define CLI_MOVE_NOTE_MS     500
#define CLI_MOVE_SAID        10 /* reported pairs that do not fit; the others are counted */
#define CLI_MOVE_STATE_BYTES (256 * MIB)

/* Reading a Bigtable-compatible service. A message holds at most the largest row. Requests for
 * schemas have short answers. A read is restarted after at most one hour, because a token may
 * expire by then. */
#define CLI_SERVICE_MESSAGE (LIM_ROW_BYTES + 1 * MIB)
#define CLI_SERVICE_SCHEMA  (4 * MIB)
#define CLI_SERVICE_WAIT_MS 60000
#define CLI_SERVICE_READ_MS 3600000
#define CLI_SERVICE_NAME    256

/* Moving a tenant. FEED_MESSAGE and FEED_TOKEN bound a message of a change stream and its token;
 * TENANT_ROWS is the number of changed rows copied at a time. Writes are stopped after a pass with
 * at most SMALL changes that came near the end of all streams, or after NEAR consecutive passes
 * that were at most BEHIND_S seconds late.
 * After PASSES passes the move fails, because the tenant writes too fast. */
#define CLI_FEED_MESSAGE    (16 * MIB)
#define CLI_FEED_TOKEN      128
#define CLI_KEY_ID          32 /* bytes of a key's ID as text */
#define CLI_TENANT_CHANGES  5000
#define CLI_TENANT_ROWS     256
#define CLI_TENANT_SMALL    500
#define CLI_TENANT_NEAR     3
#define CLI_TENANT_BEHIND_S 1
#define CLI_TENANT_PASSES   1000

#define CLI_CONNECT_TIMEOUT_MS 10000
#define CLI_STALL_SECONDS      600 /* recounts and drops may be silent for minutes */
#define CLI_RETRY_DEFAULT      3
#define CLI_RETRY_MAX          1000
#define CLI_RETRY_WAIT_MAX_MS  300000 /* a longer Retry-After is not obeyed: the command fails */
#define CLI_LINE_WAIT_MIN_MS   100    /* ten requests a second keep up with any rate limit */
#define CLI_LINE_WAIT_MAX_MS   10000

#define CLI_JOB_POLL_MIN_MS 100
#define CLI_JOB_POLL_MAX_MS 2000
#define CLI_BAR_PERIOD_MS   100
#define CLI_PAGE_ROWS       1000

/* top: the server takes a sample every second; a window has at most 250 lines of 1,000 columns. */
#define CLI_TOP_INTERVAL_DEFAULT_S 2
#define CLI_TOP_INTERVAL_MAX_S     3600
#define CLI_TOP_ROWS_DEFAULT       20
#define CLI_TOP_WAIT_MS            10000 /* after a longer silence the server is unreachable */
#define CLI_SCREEN_BYTES           (1 * MIB)

#define CLI_ANSWER_LINE_BYTES 256 /* a typed answer to a question */

/* Completion: a user waits at the keyboard. */
#define CLI_COMPLETE_WAIT_MS 700
#define CLI_COMPLETE_IDS     "200"

/* Terminal tables: column widths are derived from the first rows. */
#define CLI_TABLE_COLUMNS      10
#define CLI_TABLE_WINDOW_ROWS  256
#define CLI_TABLE_WINDOW_BYTES (256 * KIB)
#define CLI_TABLE_PAD_MAX      60   /* wider cells shift the rest of their line only */
#define CLI_CELL_COLUMNS       1000 /* longer texts are truncated on a terminal; not in --json */

#endif

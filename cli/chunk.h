/*
 * cli/chunk.h - lines of a file or pipe, a bounded chunk at a time.
 *
 * Does:     read, split into lines, keep a chunk of lines until it is processed.
 * Owns:     the bytes read and not yet consumed, the chunk, its list of lines.
 * May use:  base/, cli/.
 * Knows no: requests; the contents of lines, except for their keys.
 * Threads:  one.
 * Blocks:   on the input, not longer than CLI_INPUT_WAIT_MS once there is a line to send.
 * Fails by: CLI_USAGE (cannot open), CLI_INTERRUPTED, CLI_CHECK_FAILED (a read error, a line over
 *           the limit): earlier lines are returned first.
 * Limits:   CLI_CHUNK_BYTES, CLI_CHUNK_LINES, LIM_BULK_LINE_BYTES.
 * Promises: 1. Every line that is not empty is returned once, in order, with its number.
 */
#ifndef CLI_CHUNK_H
#define CLI_CHUNK_H

#include "base/buf.h"
#include "cli/exit.h"

struct cli_input {
    int fd;
    const char *name;     /* for messages */
    uint64_t total_bytes; /* 0: unknown, a pipe */
    struct buf bytes;     /* read, not yet consumed */
    size_t scanned;       /* leading bytes known to hold no line feed */
    uint64_t line_number; /* of the last line returned */
    bool ended;
    enum cli_exit failed; /* the error that ended the input early */
};

enum cli_line_state {
    CLI_LINE_PENDING,
    CLI_LINE_OK,
    CLI_LINE_FAILED,
};

struct cli_line {
    size_t begin;
    size_t len; /* without line feed */
    uint64_t number;
    enum cli_line_state state;
};

struct cli_chunk {
    struct buf bytes; /* the lines, each with a line feed */
    struct cli_line *lines;
    size_t count;
};

/* "-" is stdin. */
enum cli_exit cli_input_open(struct cli_input *in, const char *path);
void cli_input_close(struct cli_input *in);

void cli_chunk_init(struct cli_chunk *c);
void cli_chunk_fini(struct cli_chunk *c);
/* Replaces the chunk by the next one; count is 0 at the end of the input. */
enum cli_exit cli_chunk_fill(struct cli_chunk *c, struct cli_input *in);

struct slice cli_chunk_line(const struct cli_chunk *c, size_t index);
/* Outputs a number that is equal for lines about the same row key;
 * false when the line has no key. */
bool cli_chunk_row(const struct cli_chunk *c, size_t index, uint64_t *out);

#endif

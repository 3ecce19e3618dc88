/*
 * cli/lines.h - splits a stream that arrives in pieces into lines.
 *
 * Does:     split at line feeds; keep an incomplete line until its end arrives.
 * Owns:     the incomplete line.
 * May use:  base/.
 * Knows no: the contents of lines.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: CLI_REFUSED for a line over max; the result of take.
 * Limits:   max, an argument of init.
 * Promises: 1. take receives each line once, without its line feed, in order.
 *           2. At most one line is buffered.
 */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include "base/buf.h"
#include "cli/exit.h"

struct cli_lines {
    struct buf pending;
    enum cli_exit (*take)(void *ctx, struct slice line);
    void *ctx;
};

void cli_lines_init(struct cli_lines *l, size_t max,
                    enum cli_exit (*take)(void *ctx, struct slice line), void *ctx);
void cli_lines_fini(struct cli_lines *l);

/* Appends bytes and calls take for each complete line. Returns CLI_OK, the first other result of
 * take, or CLI_REFUSED (reported) for a line over max. */
enum cli_exit cli_lines_feed(struct cli_lines *l, struct slice bytes);
/* Reads a whole file, or standard input ("-"); bytes after the last line feed stay pending. Returns
 * CLI_USAGE (reported) when the file cannot be read. */
enum cli_exit cli_lines_read(struct cli_lines *l, const char *path);

#endif

/*
 * cli/lines.h - lines out of a stream that arrives in pieces.
 *
 * Does:     cut at line feeds; keep an unfinished line until its end comes.
 * Owns:     the unfinished line.
 * May use:  base/.
 * Knows no: what lines hold.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: ERR_TOO_BIG for a line over max; whatever take returned.
 * Limits:   max given at init.
 * Promises: 1. take sees each line once, without its line feed, in order.
 *           2. At most one line is held.
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

/* CLI_OK, or what take returned; CLI_REFUSED (said) for a line over max. */
enum cli_exit cli_lines_feed(struct cli_lines *l, struct slice bytes);
/* All of a file, or of standard input ("-"); what is behind the last line feed stays pending.
 * CLI_USAGE (said) when it cannot be read. */
enum cli_exit cli_lines_read(struct cli_lines *l, const char *path);

#endif

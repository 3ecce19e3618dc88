/*
 * cli/move_pairs.h - the keys and values of a RocksDB database, out of another process.
 *
 * Does:     start `bigtentd read-database`, take its stream apart, end it.
 * Owns:     the process, its pipe and what was read of it, between open and close.
 * May use:  base/, cli/.
 * Knows no: RocksDB, what keys mean.
 * Threads:  one for each; several may run at a time.
 * Blocks:   on the pipe, not longer than *stop says.
 * Fails by: CLI_USAGE (the program cannot be started), CLI_CHECK_FAILED (what the program said;
 *           a stream that is none, or not whole), CLI_INTERRUPTED when *stop is set.
 * Limits:   CLI_MOVE_KEY_BYTES, LIM_CELL_BYTES_HARD: what is longer is passed over and told.
 * Promises: 1. The end is told only when the stream had its end and every pair before it was given.
 *           2. No key stands on a command line, and the process does not outlive its reader.
 */
#ifndef CLI_MOVE_PAIRS_H
#define CLI_MOVE_PAIRS_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/buf.h"
#include "cli/bounds.h"
#include "cli/exit.h"

struct cli_pairs {
    const atomic_bool *stop;
    const char *name; /* of the database, for messages */
    pid_t pid;        /* 0: none */
    int fd;           /* -1: not open */
    struct buf bytes; /* read; those before `at` were given */
    size_t at;
    uint64_t count;
    uint64_t sequence;  /* of the database's last change */
    uint64_t all_bytes; /* about what it holds */
};

struct cli_pair {
    bool is_end;
    bool is_long; /* over the limits: only the lengths are true */
    struct slice key;
    struct slice value;
};

struct cli_pairs_request {
    const char *program; /* NULL: bigtentd beside this program, or on PATH */
    const char *dir;
    const char *family;
    bool is_after;
    struct slice after; /* with is_after: begin behind this key */
};

/* *p is zeroed here; close it whatever was returned. */
enum cli_exit cli_pairs_open(struct cli_pairs *p, const struct cli_pairs_request *request,
                             const char *name, const atomic_bool *stop);
void cli_pairs_close(struct cli_pairs *p);
/* The slices last until the next call. */
enum cli_exit cli_pairs_next(struct cli_pairs *p, struct cli_pair *out);

#endif

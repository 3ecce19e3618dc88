/*
 * cli/move_pairs.h - the keys and values of a RocksDB database, read by another process.
 *
 * Does:     start `bigtentd read-database`, parse its stream, stop it.
 * Owns:     the process, its pipe and the bytes read from it, between open and close.
 * May use:  base/, cli/.
 * Knows no: RocksDB, the meaning of keys.
 * Threads:  one for each; several may run at a time.
 * Blocks:   on the pipe, until *stop is set.
 * Fails by: CLI_USAGE (the program cannot be started), CLI_CHECK_FAILED (an error of the program;
 *           an invalid or incomplete stream), CLI_INTERRUPTED when *stop is set.
 * Limits:   CLI_MOVE_KEY_BYTES, LIM_CELL_BYTES_HARD: longer pairs are skipped and reported.
 * Promises: 1. The end is returned only when the stream had its end marker and every earlier pair
 *              was returned.
 *           2. No key appears on a command line, and the process does not outlive its reader.
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
    struct buf bytes; /* bytes read; pairs before `at` were returned */
    size_t at;
    uint64_t count;
    uint64_t sequence;  /* of the database's last change */
    uint64_t all_bytes; /* approximate size of the database */
};

struct cli_pair {
    bool is_end;
    bool is_long; /* over the limits: only the lengths are valid */
    struct slice key;
    struct slice value;
};

struct cli_pairs_request {
    const char *program; /* NULL: bigtentd beside this program, or on PATH */
    const char *dir;
    const char *family;
    bool is_after;
    struct slice after; /* with is_after: start after this key */
};

/* Starts the process and zeroes *p first; close *p also after an error. */
enum cli_exit cli_pairs_open(struct cli_pairs *p, const struct cli_pairs_request *request,
                             const char *name, const atomic_bool *stop);
void cli_pairs_close(struct cli_pairs *p);
/* Reads the next pair; its slices are valid until the next call. */
enum cli_exit cli_pairs_next(struct cli_pairs *p, struct cli_pair *out);

#endif

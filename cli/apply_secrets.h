/*
 * cli/apply_secrets.h - the file that `bigtent apply` writes new keys into.
 *
 * Does:     make the file, for its owner alone; append a key as a line of JSON.
 * Owns:     the descriptor, until cli_apply_secrets_close.
 * May use:  base/, cli/.
 * Knows no: how keys are made.
 * Threads:  one.
 * Blocks:   on the disk.
 * Fails by: CLI_USAGE (it is there already, it cannot be made), CLI_REFUSED (it cannot be written).
 * Limits:   none.
 * Promises: 1. A file that is there, a link too, is never touched. 2. A key that was added is on
 *              the disk. 3. No file is left behind when no key was added.
 */
#ifndef CLI_APPLY_SECRETS_H
#define CLI_APPLY_SECRETS_H

#include "cli/apply.h"

struct cli_apply_secrets {
    int fd;           /* -1: none */
    const char *path; /* NULL: none was asked for */
    size_t count;
};

enum cli_exit cli_apply_secrets_open(struct cli_apply_secrets *s, const char *path);
void cli_apply_secrets_close(struct cli_apply_secrets *s);

/* made: the server's answer, with "id" and "key". */
enum cli_exit cli_apply_secrets_add(struct cli_apply_secrets *s, const struct cli_apply_item *item,
                                    const json_t *made);

#endif

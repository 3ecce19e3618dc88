/*
 * cli/apply_secrets.h - the file that `bigtent apply` writes new keys into.
 *
 * Does:     create the file, readable by its owner only; append a key as a line of JSON.
 * Owns:     the descriptor, until cli_apply_secrets_close.
 * May use:  base/, cli/.
 * Knows no: how keys are created.
 * Threads:  one.
 * Blocks:   on the disk.
 * Fails by: CLI_USAGE (it exists already, it cannot be created), CLI_REFUSED (it cannot be
 *           written).
 * Limits:   none.
 * Promises: 1. An existing file, or link, is never touched. 2. A key that was added is on the disk.
 *              3. No file remains when no key was added.
 */
#ifndef CLI_APPLY_SECRETS_H
#define CLI_APPLY_SECRETS_H

#include "cli/apply.h"

struct cli_apply_secrets {
    int fd;           /* -1: none */
    const char *path; /* NULL: no file was requested */
    size_t count;
};

enum cli_exit cli_apply_secrets_open(struct cli_apply_secrets *s, const char *path);
void cli_apply_secrets_close(struct cli_apply_secrets *s);

/* Appends a new key. made: the server's answer, with "id" and "key". */
enum cli_exit cli_apply_secrets_add(struct cli_apply_secrets *s, const struct cli_apply_item *item,
                                    const json_t *made);

#endif

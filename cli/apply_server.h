/*
 * cli/apply_server.h - the connections of `bigtent apply` to the server, with one key or two.
 *
 * Does:     choose the key for each request; name the thing that a refusal is about.
 * Owns:     the second connection and its key.
 * May use:  base/, cli/.
 * Knows no: which things are compared or changed.
 * Threads:  one.
 * Blocks:   on reading the key file.
 * Fails by: CLI_USAGE, CLI_UNREACHABLE; reported on stderr.
 * Limits:   CLI_KEY_BYTES.
 * Promises: 1. Operator keys manage no tables, and other keys manage tables only: a file that needs
 *              more than the given keys can do is refused before anything is sent.
 */
#ifndef CLI_APPLY_SERVER_H
#define CLI_APPLY_SERVER_H

#include "cli/apply.h"
#include "cli/cli.h"

struct cli_apply_server {
    struct cli *cli;
    struct cli_http *admin;           /* NULL: the file describes tables only */
    struct cli_http *tables;          /* NULL: the file describes no tables */
    struct cli_config *tables_config; /* its tenant is set before each request */
    struct cli_config own_config;     /* with the second key */
    struct cli_http *own_http;
    char about[ERRBUF_BYTES];
};

enum cli_exit cli_apply_server_open(struct cli_apply_server *s, struct cli *cli,
                                    struct cli_apply *a);
void cli_apply_server_close(struct cli_apply_server *s);

/* Sets the item that refusals of later requests name; NULL: none.
 * Requests about tables go to the item's tenant. */
void cli_apply_server_about(struct cli_apply_server *s, const struct cli_apply_item *item);

#endif

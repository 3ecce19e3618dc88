/*
 * cli/apply_server.h - the server as `bigtent apply` meets it: with one key or two.
 *
 * Does:     choose which key goes with which request; say what a refusal is about.
 * Owns:     the second connection and its key.
 * May use:  base/, cli/.
 * Knows no: what is compared or changed.
 * Threads:  one.
 * Blocks:   on reading the key file.
 * Fails by: CLI_USAGE, CLI_UNREACHABLE; said on stderr.
 * Limits:   CLI_KEY_BYTES.
 * Promises: 1. Operator keys manage no tables and other keys manage nothing else: a file that asks
 *              for what no given key can do is refused before anything is sent.
 */
#ifndef CLI_APPLY_SERVER_H
#define CLI_APPLY_SERVER_H

#include "cli/apply.h"
#include "cli/cli.h"

struct cli_apply_server {
    struct cli *cli;
    struct cli_http *admin;           /* NULL: the file is about tables alone */
    struct cli_http *tables;          /* NULL: it is about none */
    struct cli_config *tables_config; /* its tenant is set before each request */
    struct cli_config own_config;     /* with the second key */
    struct cli_http *own_http;
    char about[ERRBUF_BYTES];
};

enum cli_exit cli_apply_server_open(struct cli_apply_server *s, struct cli *cli,
                                    struct cli_apply *a);
void cli_apply_server_close(struct cli_apply_server *s);

/* Requests from now on are about this; NULL: about nothing. Tables' go to the item's tenant. */
void cli_apply_server_about(struct cli_apply_server *s, const struct cli_apply_item *item);

#endif

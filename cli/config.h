/*
 * cli/config.h - the server's address, and the caller's key.
 *
 * Does:     merge options, environment and defaults; read the key file; refuse combinations that
 *           cannot work.
 * Owns:     its strings until cli_config_fini, which wipes the key.
 * May use:  base/, cli/.
 * Knows no: the network.
 * Threads:  one.
 * Blocks:   on reading the key file.
 * Fails by: CLI_USAGE, reported on stderr.
 * Limits:   CLI_KEY_BYTES, CLI_RETRY_MAX.
 * Promises: 1. The key is never printed, and is wiped from argv, so that the process list does not
 *              show it.
 *           2. The URL is https. Only the URL of a foreign service may be http, and no key is sent
 *              to it.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include <stdint.h>

#include "cli/args.h"

enum cli_key_kind { CLI_KEY_UNKNOWN, CLI_KEY_TENANT, CLI_KEY_SERVICE, CLI_KEY_OPERATOR };

struct cli_config {
    char *url;          /* without a trailing slash */
    char *key;          /* NULL: none */
    const char *cacert; /* NULL: the system's certificates */
    const char *tenant; /* NULL: the key's own */
    const char *about;  /* subject of requests, a prefix of refusals; NULL: none */
    uint64_t retries;
    bool json;
    bool is_foreign; /* the URL names a Bigtable-compatible service to read from */
};

enum cli_exit cli_config_load(const struct cli_args *args, int argc, char **argv,
                              struct cli_config *out);
/* Reads the key in the first line of a file into out->key. */
enum cli_exit cli_config_read_key(const char *path, struct cli_config *out);
void cli_config_fini(struct cli_config *c);

/* Returns whether the connection is plaintext. */
bool cli_config_is_plain(const struct cli_config *c);
/* Returns the URL of a foreign service, without a trailing slash, owned by the caller;
 * NULL when the URL is not valid. */
char *cli_config_foreign_url(const char *url);

/* Derives the kind from the key's first letters; it selects routes, never permissions. */
enum cli_key_kind cli_config_key_kind(const struct cli_config *c);
/* Returns text for messages: the CA file, or the system's certificates. */
const char *cli_config_trust(const struct cli_config *c);

#endif

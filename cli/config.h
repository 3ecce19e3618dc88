/*
 * cli/config.h - where the server is and who is asking.
 *
 * Does:     merge options, environment and defaults; read the key file; refuse what cannot work.
 * Owns:     its texts until cli_config_fini, which wipes the key.
 * May use:  base/, cli/.
 * Knows no: the network.
 * Threads:  one.
 * Blocks:   on reading the key file.
 * Fails by: CLI_USAGE, said on stderr.
 * Limits:   CLI_KEY_BYTES, CLI_RETRY_MAX.
 * Promises: 1. The key is never printed, and wiped from argv: it leaves the process list.
 *           2. The URL is https; only that of a foreign service may be http, and no key goes there.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include <stdint.h>

#include "cli/args.h"

enum cli_key_kind { CLI_KEY_UNKNOWN, CLI_KEY_TENANT, CLI_KEY_SERVICE, CLI_KEY_OPERATOR };

struct cli_config {
    char *url;          /* without a slash at its end */
    char *key;          /* NULL: none */
    const char *cacert; /* NULL: the system's certificates */
    const char *tenant; /* NULL: the key's own */
    const char *about;  /* what requests are about, in front of refusals; NULL: nothing */
    uint64_t retries;
    bool json;
    bool is_foreign; /* the URL is that of a Bigtable-compatible service to read from */
};

enum cli_exit cli_config_load(const struct cli_args *args, int argc, char **argv,
                              struct cli_config *out);
/* The key in the first line of a file, in out->key. */
enum cli_exit cli_config_read_key(const char *path, struct cli_config *out);
void cli_config_fini(struct cli_config *c);

/* Nothing is encrypted on the way there. */
bool cli_config_is_plain(const struct cli_config *c);
/* The URL of a foreign service, without a slash at its end; NULL: it cannot be. The caller's. */
char *cli_config_foreign_url(const char *url);

/* Told by the key's first letters; decides routes, never permissions. */
enum cli_key_kind cli_config_key_kind(const struct cli_config *c);
/* For messages: the CA file, or that it is the system's. */
const char *cli_config_trust(const struct cli_config *c);

#endif

/*
 * cli/public_key.h - the server's public key, from a file.
 *
 * Does:     read the PEM that --pubkey names.
 * Owns:     nothing; the caller frees the key with base_seal_key_free.
 * May use:  base/, cli/, OpenSSL.
 * Knows no: the signed data.
 * Threads:  one.
 * Blocks:   on the file.
 * Fails by: CLI_USAGE, reported on stderr.
 * Limits:   BASE_SEAL_PEM_MAX.
 * Promises: 1. A key is returned exactly when the result is CLI_OK.
 */
#ifndef CLI_PUBLIC_KEY_H
#define CLI_PUBLIC_KEY_H

#include <openssl/types.h>

#include "cli/exit.h"

enum cli_exit cli_public_key_read(const char *path, EVP_PKEY **out);

#endif

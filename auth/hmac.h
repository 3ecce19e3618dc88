/*
 * auth/hmac.h - the HMAC of a secret, prepared once per thread.
 *
 * Does:     computes HMAC-SHA-256(pepper, secret) with a context that was keyed at creation.
 * Owns:     its EVP context.
 * May use:  base/, auth/.
 * Knows no: keys.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: ERR_NO_MEMORY, ERR_IO (OpenSSL refuses).
 * Limits:   none.
 * Promises: 1. Every call starts from the keyed state: no earlier secret affects the result.
 */
#ifndef AUTH_HMAC_H
#define AUTH_HMAC_H

#include <openssl/evp.h>

#include "auth/keyring.h"

#define AUTH_DIGEST_BYTES 32

struct auth_hmac {
    EVP_MAC_CTX *keyed;
};

/* Keys a context. mac: fetched once for the program; SHA-256 is looked up here, not per secret. */
enum err auth_hmac_init(struct auth_hmac *h, EVP_MAC *mac,
                        const uint8_t pepper[AUTH_PEPPER_BYTES]) MUST_CHECK;
void auth_hmac_fini(struct auth_hmac *h);
enum err auth_hmac_run(struct auth_hmac *h, struct slice secret,
                       uint8_t out[AUTH_DIGEST_BYTES]) MUST_CHECK;

#endif

/*
 * auth/keyring_internal.h - what keyring.c and verifier.c share.
 *
 * Does:     lay out the keyring.
 * Owns:     nothing of its own.
 * May use:  base/, auth/.
 * Knows no: HTTP, documents.
 * Threads:  by_id, revoked, mac, pepper and dummy: any; the rest: tenancy's control thread.
 * Blocks:   no.
 * Fails by: aborts on a keyring that is none.
 * Limits:   none.
 * Promises: none of its own; those of keyring.h.
 */
#ifndef AUTH_KEYRING_INTERNAL_H
#define AUTH_KEYRING_INTERNAL_H

#include "auth/hmac.h"
#include "auth/keyring.h"
#include "base/hashmap.h"

#define AUTH_KEYRING_MAGIC 0x6b657972u

struct auth_keyring {
    uint32_t magic;
    struct ten_registry *registry;
    struct base_epoch *epoch;
    struct base_hashmap *by_id; /* find: any thread */
    _Atomic uint64_t revoked;   /* how many keys were, since it was opened */
    EVP_MAC *mac;
    uint8_t pepper[AUTH_PEPPER_BYTES];
    uint8_t dummy[AUTH_DIGEST_BYTES];

    /* control thread */
    struct auth_key **sorted;
    size_t count;
    size_t capacity;
    struct auth_hmac hmac;
};

static inline struct auth_keyring *auth_keyring_check(struct auth_keyring *k)
{
    INVARIANT(k != NULL && k->magic == AUTH_KEYRING_MAGIC);
    return k;
}

#endif

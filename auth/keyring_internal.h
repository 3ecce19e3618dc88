/*
 * auth/keyring_internal.h - the parts shared by keyring.c, departed_keys.c and verifier.c.
 *
 * Does:     defines the keyring's structure.
 * Owns:     nothing of its own.
 * May use:  base/, auth/.
 * Knows no: HTTP, documents.
 * Threads:  by_id, revoked, mac, pepper and dummy: any; the rest: tenancy's control thread.
 * Blocks:   no.
 * Fails by: aborts on an invalid keyring.
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
    bool is_attached;           /* to the registry, whose purges request that keys are stripped */
    struct base_hashmap *by_id; /* find: any thread */
    _Atomic uint64_t revoked;   /* number of keys revoked since it was opened */
    EVP_MAC *mac;
    uint8_t pepper[AUTH_PEPPER_BYTES];
    uint8_t dummy[AUTH_DIGEST_BYTES];

    /* control thread */
    struct auth_key **sorted;
    size_t count;
    size_t capacity;
    struct auth_hmac hmac;
};

#define AUTH_DOC_KEY (2 + AUTH_KEY_ID)

/* Writes the key of a document. */
void auth_doc_key(struct slice id, uint8_t out[AUTH_DOC_KEY]);
/* Return the index of the tenant's first key in the list, and the number of keys of one tenant from
 * an index on. */
size_t auth_keyring_first(const struct auth_keyring *k, const struct ten_tenant *tenant);
size_t auth_keyring_run(const struct auth_keyring *k, size_t from);

/* --- departed_keys.c, control thread ---------------------------------------------------------- */

/* Strips the documents of t's keys, and of service keys for offboarded tenants only, when t is
 * offboarded: only ID, digest and tenants stay. ctx: the keyring. */
enum err auth_departed_strip(void *ctx, const struct ten_tenant *t, struct errbuf *eb) MUST_CHECK;
/* Strips the keys of all tenants whose purge has started. */
enum err auth_departed_strip_all(struct auth_keyring *k, struct errbuf *eb) MUST_CHECK;

static inline struct auth_keyring *auth_keyring_check(struct auth_keyring *k)
{
    INVARIANT(k != NULL && k->magic == AUTH_KEYRING_MAGIC);
    return k;
}

#endif

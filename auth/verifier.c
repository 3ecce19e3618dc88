/*
 * auth/verifier.c - checks a presented text, thread by thread.
 *
 * Parses the text; looks the ID up; computes the HMAC of the secret; compares it with the stored
 * digest, or with a random dummy if there is no such key, so that both cost the same; then checks
 * the kind.
 *
 * A verified text is cached by its thread, with its key: the next request with the same text costs
 * one comparison, in constant time, instead of checksum, lookup and HMAC (a tenth of a microsecond
 * instead of half of one). A cached text counts only while no key was revoked since.
 *
 * 1. A slot is found by the ID in the text, which is random: keys of one tenant do not collide more
 *    often than others. Only valid texts are cached, so that an untrusted text cannot evict one.
 * 2. `revoked` is read before the key is looked up. A thread that reads the number from before a
 *    revocation has not been quiescent since, so the key is still readable.
 */
#include <openssl/crypto.h>

#include "auth/keyring_internal.h"
#include "base/alloc.h"

#include "base/banned.h"

#define SLOT_BITS 9
#define ID_AT     (AUTH_KEY_TEXT - AUTH_KEY_CHECKSUM - AUTH_KEY_SECRET - AUTH_KEY_ID)
#define SPREAD    0x9e3779b97f4a7c15u /* 2^64 divided by the golden ratio: Fibonacci hashing */

struct verified {
    const struct auth_key *key; /* NULL: the slot is empty */
    uint64_t revoked;           /* number of revoked keys when the text was verified */
    uint8_t text[AUTH_KEY_TEXT];
};

struct auth_verifier {
    struct auth_keyring *keyring;
    struct auth_hmac hmac;
    enum auth_mismatch why;
    struct verified verified[1 << SLOT_BITS];
};

enum err auth_verifier_new(struct auth_keyring *k, struct auth_verifier **out)
{
    struct auth_verifier *v = base_new(sizeof *v);
    v->keyring = auth_keyring_check(k);
    enum err rc = auth_hmac_init(&v->hmac, k->mac, k->pepper);
    if (rc != ERR_OK) {
        base_free(v);
        return rc;
    }
    *out = v;
    return ERR_OK;
}

void auth_verifier_free(struct auth_verifier *v)
{
    if (v == NULL)
        return;
    auth_hmac_fini(&v->hmac);
    base_free_secret(v, sizeof *v);
}

enum auth_mismatch auth_verifier_why(const struct auth_verifier *v)
{
    return v->why;
}

static struct verified *slot_of(struct auth_verifier *v, struct slice text)
{
    uint64_t id;
    memcpy(&id, text.ptr + ID_AT, sizeof id);
    return &v->verified[id * SPREAD >> (64 - SLOT_BITS)];
}

static enum err verify(struct auth_verifier *v, struct slice text, const struct auth_key **out)
{
    const struct auth_keyring *k = v->keyring;
    struct auth_key_parts parts;
    v->why = AUTH_MALFORMED;
    if (auth_key_parse(text, &parts) != ERR_OK)
        return ERR_UNAUTHENTICATED;
    const struct auth_key *key = base_hashmap_find(k->by_id, parts.id);
    uint8_t digest[AUTH_DIGEST_BYTES];
    enum err rc = auth_hmac_run(&v->hmac, parts.secret, digest);
    bool is_right = CRYPTO_memcmp(digest, key != NULL ? key->digest : k->dummy, sizeof digest) == 0;
    OPENSSL_cleanse(digest, sizeof digest);
    v->why = key == NULL ? AUTH_UNKNOWN : AUTH_WRONG_SECRET;
    if (rc != ERR_OK || !is_right || key == NULL || key->kind != parts.kind)
        return ERR_UNAUTHENTICATED;
    *out = key;
    return ERR_OK;
}

enum err auth_verify(struct auth_verifier *v, struct slice text, const struct auth_key **out)
{
    uint64_t revoked = atomic_load(&auth_keyring_check(v->keyring)->revoked);
    struct verified *slot = text.len == AUTH_KEY_TEXT ? slot_of(v, text) : NULL;
    if (slot != NULL && slot->key != NULL && slot->revoked == revoked &&
        CRYPTO_memcmp(slot->text, text.ptr, AUTH_KEY_TEXT) == 0) {
        v->why = AUTH_MATCHES;
        *out = slot->key;
        return ERR_OK;
    }
    enum err rc = verify(v, text, out);
    if (rc != ERR_OK)
        return rc;
    v->why = AUTH_MATCHES;
    INVARIANT(slot != NULL); /* a valid text has that length */
    slot->key = *out;
    slot->revoked = revoked;
    memcpy(slot->text, text.ptr, AUTH_KEY_TEXT);
    return ERR_OK;
}

uint64_t auth_revocations(const struct auth_verifier *v)
{
    return atomic_load(&v->keyring->revoked);
}

const struct auth_key *auth_key_find(const struct auth_verifier *v, const char id[AUTH_KEY_ID + 1])
{
    return base_hashmap_find(v->keyring->by_id, base_slice(id, AUTH_KEY_ID));
}

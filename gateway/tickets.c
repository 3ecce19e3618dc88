/*
 * Two keys: the newer one encrypts, both decrypt. A ticket is valid for LIM_TICKET_KEY_S, so its
 * key exists for as long as the ticket is valid. Keys are renewed at their next use, and by the
 * server's check once a second, so that an old key does not stay in an idle server's memory.
 *
 * OpenSSL fills tickets and detects changed ones: it requests a cipher and a MAC with their keys.
 */
#include "gateway/tickets.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <pthread.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"

#include "base/banned.h"

#define NAME_BYTES 16 /* size required by OpenSSL */
#define KEY_BYTES  32
#define KEYS       2
#define KEY_NS     (LIM_TICKET_KEY_S * 1000000000ULL)

struct key {
    uint8_t name[NAME_BYTES];
    uint8_t cipher[KEY_BYTES];
    uint8_t mac[KEY_BYTES];
    bool is_set;
};

struct tickets {
    pthread_mutex_t mutex; /* guards the rest */
    struct key keys[KEYS]; /* newest first */
    uint64_t renewed_ns;   /* when keys[0] was made */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int slot; /* of all contexts' data; negative: OpenSSL has none left */

static void tickets_free(void *parent, void *ptr, CRYPTO_EX_DATA *data, int index, long argl,
                         void *argp)
{
    struct tickets *t = ptr;
    (void)parent;
    (void)data;
    (void)index;
    (void)argl;
    (void)argp;
    if (t == NULL)
        return;
    OPENSSL_cleanse(t->keys, sizeof t->keys);
    pthread_mutex_destroy(&t->mutex);
    base_free(t);
}

static void slot_reserve(void)
{
    slot = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, tickets_free);
}

static bool key_make(struct key *key)
{
    key->is_set = RAND_bytes(key->name, sizeof key->name) == 1 &&
                  RAND_priv_bytes(key->cipher, sizeof key->cipher) == 1 &&
                  RAND_priv_bytes(key->mac, sizeof key->mac) == 1;
    return key->is_set;
}

/* Renews the keys. Without random bytes there is no key, hence no ticket, until the next
 * renewal. */
static void keys_renew(struct tickets *t, uint64_t now_ns)
{
    if (now_ns < t->renewed_ns + KEY_NS)
        return;
    if (now_ns < t->renewed_ns + 2 * KEY_NS)
        t->keys[1] = t->keys[0];
    else
        OPENSSL_cleanse(&t->keys[1], sizeof t->keys[1]);
    OPENSSL_cleanse(&t->keys[0], sizeof t->keys[0]);
    (void)key_make(&t->keys[0]); /* is_set says whether it succeeded */
    t->renewed_ns = now_ns;
}

/* Copies the key of that name, or the newest for NULL; returns its index, 0 for the newest, or -1
 * when there is none. */
static int key_copy(struct tickets *t, const uint8_t *name, struct key *out)
{
    int found = -1;
    pthread_mutex_lock(&t->mutex);
    keys_renew(t, base_monotonic_ns());
    for (int i = 0; i < (name == NULL ? 1 : KEYS) && found < 0; i++) {
        const struct key *key = &t->keys[i];
        if (key->is_set && (name == NULL || memcmp(key->name, name, NAME_BYTES) == 0)) {
            *out = *key;
            found = i;
        }
    }
    pthread_mutex_unlock(&t->mutex);
    return found;
}

static bool mac_set(EVP_MAC_CTX *mac, struct key *key)
{
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key->mac, sizeof key->mac),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_CTX_set_params(mac, params) == 1;
}

/* SSL_CTX_set_tlsext_ticket_key_evp_cb(3): 0 no ticket or a full handshake, 1 fine, 2 fine but
 * give the client a newer ticket, -1 an error. */
static int on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                     EVP_MAC_CTX *mac, int is_new)
{
    struct tickets *t = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), slot);
    struct key key;
    int age = key_copy(t, is_new ? NULL : name, &key);
    if (age < 0)
        return 0;
    bool is_set = mac_set(mac, &key);
    if (is_set && is_new) {
        memcpy(name, key.name, NAME_BYTES);
        is_set = RAND_bytes(iv, EVP_MAX_IV_LENGTH) == 1 &&
                 EVP_EncryptInit_ex2(cipher, EVP_aes_256_cbc(), key.cipher, iv, NULL) == 1;
    } else if (is_set) {
        is_set = EVP_DecryptInit_ex2(cipher, EVP_aes_256_cbc(), key.cipher, iv, NULL) == 1;
    }
    OPENSSL_cleanse(&key, sizeof key);
    if (!is_set)
        return -1;
    return age == 0 ? 1 : 2;
}

enum err gw_tickets_attach(SSL_CTX *ctx, struct errbuf *eb)
{
    (void)pthread_once(&once, slot_reserve); /* cannot fail with a valid control */
    if (slot < 0)
        return base_fail(eb, ERR_NO_MEMORY, "no memory for session tickets");
    struct tickets *t = base_new(sizeof *t);
    int rc = pthread_mutex_init(&t->mutex, NULL);
    INVARIANT(rc == 0);
    t->renewed_ns = base_monotonic_ns();
    bool is_made = key_make(&t->keys[0]);
    if (SSL_CTX_set_ex_data(ctx, slot, t) != 1) {
        tickets_free(NULL, t, NULL, 0, 0, NULL);
        return base_fail(eb, ERR_NO_MEMORY, "no memory for session tickets");
    }
    if (!is_made)
        return base_fail(eb, ERR_IO, "no random bytes for session tickets");
    if (SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, on_ticket) != 1)
        return base_fail(eb, ERR_UNSUPPORTED, "TLS library lacks session tickets");
    (void)SSL_CTX_set_timeout(ctx, (long)LIM_TICKET_KEY_S); /* returns the previous timeout */
    return ERR_OK;
}

void gw_tickets_rotate(SSL_CTX *ctx, uint64_t now_ns)
{
    struct tickets *t = SSL_CTX_get_ex_data(ctx, slot);
    pthread_mutex_lock(&t->mutex);
    keys_renew(t, now_ns);
    pthread_mutex_unlock(&t->mutex);
}

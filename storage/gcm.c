/*
 * storage/gcm.c - selects the implementation, and checks that hold for all of them.
 *
 * 1. An implementation that is not OpenSSL's is used only if it returned OpenSSL's bytes on this
 *    very processor, because not every combination has been tested.
 */
#include <openssl/crypto.h>
#include <pthread.h>

#include "base/alloc.h"
#include "storage/gcm_way.h"

#include "base/banned.h"

struct sto_gcm_key {
    const struct sto_gcm_way *way;
    void *ready; /* in room, aligned */
    size_t room_bytes;
    uint8_t room[];
};

/* --- keys ------------------------------------------------------------------------------------- */

struct sto_gcm_key *sto_gcm_key_new(const struct sto_gcm_way *way, const uint8_t key[STO_GCM_KEY])
{
    size_t room_bytes = way->ready_bytes + STO_GCM_ALIGNMENT - 1;
    struct sto_gcm_key *k = base_new(sizeof *k + room_bytes);
    k->way = way;
    k->room_bytes = room_bytes;
    k->ready =
        k->room + (STO_GCM_ALIGNMENT - (uintptr_t)k->room % STO_GCM_ALIGNMENT) % STO_GCM_ALIGNMENT;
    way->make_ready(way, key, k->ready);
    return k;
}

void sto_gcm_key_wipe(struct sto_gcm_key *key)
{
    if (key != NULL)
        OPENSSL_cleanse(key->room, key->room_bytes);
}

void sto_gcm_key_free(struct sto_gcm_key *key)
{
    sto_gcm_key_wipe(key);
    base_free(key);
}

/* --- messages --------------------------------------------------------------------------------- */

static void check_bounds(const struct sto_gcm_message *m)
{
    INVARIANT(m->text.len <= STO_GCM_TEXT_MAX && m->bound.len <= STO_GCM_TEXT_MAX);
    INVARIANT((m->text.len == 0 || m->text.ptr != NULL) &&
              (m->bound.len == 0 || m->bound.ptr != NULL));
}

enum err sto_gcm_seal(struct sto_sealer *s, const struct sto_gcm_key *key,
                      const struct sto_gcm_message *plain, uint8_t *out_text,
                      uint8_t out_tag[STO_GCM_TAG])
{
    check_bounds(plain);
    return key->way->seal(key->way, s, key->ready, plain, out_text, out_tag);
}

enum err sto_gcm_open(struct sto_sealer *s, const struct sto_gcm_key *key,
                      const struct sto_gcm_message *sealed, const uint8_t tag[STO_GCM_TAG],
                      uint8_t *out_text)
{
    check_bounds(sealed);
    enum err rc = key->way->open(key->way, s, key->ready, sealed, tag, out_text);
    if (rc != ERR_OK && sealed->text.len > 0)
        OPENSSL_cleanse(out_text, sealed->text.len);
    return rc;
}

/* --- ways ------------------------------------------------------------------------------------- */

#define TRIAL_MAX 1100

struct trial {
    struct sto_gcm_key *keys[2]; /* OpenSSL's, and the tested implementation's */
    uint8_t plain[TRIAL_MAX];
    uint8_t sealed[2][TRIAL_MAX];
    uint8_t opened[TRIAL_MAX];
};

static bool agrees_at(struct trial *t, size_t len)
{
    struct sto_sealer sealer;
    struct sto_gcm_message plain = {t->plain + 1, base_slice(t->plain + 2, len % 67),
                                    base_slice(t->plain, len)};
    struct sto_gcm_message sealed = {plain.nonce, plain.bound, base_slice(t->sealed[0], len)};
    uint8_t tags[2][STO_GCM_TAG];
    sto_sealer_init(&sealer);
    bool agrees = sto_gcm_seal(&sealer, t->keys[0], &plain, t->sealed[0], tags[0]) == ERR_OK &&
                  sto_gcm_seal(&sealer, t->keys[1], &plain, t->sealed[1], tags[1]) == ERR_OK &&
                  memcmp(t->sealed[0], t->sealed[1], len) == 0 &&
                  memcmp(tags[0], tags[1], sizeof tags[0]) == 0 &&
                  sto_gcm_open(&sealer, t->keys[1], &sealed, tags[0], t->opened) == ERR_OK &&
                  memcmp(t->opened, t->plain, len) == 0;
    tags[0][0] ^= 1;
    agrees =
        agrees && sto_gcm_open(&sealer, t->keys[1], &sealed, tags[0], t->opened) == ERR_CORRUPT;
    sto_sealer_fini(&sealer);
    return agrees;
}

/* Compares at lengths around the block counts that code for 16 or 48 blocks at a time handles
 * alike. */
static bool agrees(const struct sto_gcm_way *way)
{
    static const uint8_t KEY[STO_GCM_KEY] = {3, 1, 4, 1, 5, 9, 2, 6};
    struct trial *t = base_new(sizeof *t);
    bool same = true;
    for (size_t i = 0; i < TRIAL_MAX; i++)
        t->plain[i] = (uint8_t)(i * 7 + i / 13);
    t->keys[0] = sto_gcm_key_new(&sto_gcm_openssl, KEY);
    t->keys[1] = sto_gcm_key_new(way, KEY);
    for (size_t len = 0; same && len <= TRIAL_MAX; len += len < 40 ? 1 : 53)
        same = agrees_at(t, len);
    sto_gcm_key_free(t->keys[0]);
    sto_gcm_key_free(t->keys[1]);
    base_free(t);
    return same;
}

const struct sto_gcm_way *sto_gcm_way(size_t i)
{
    size_t seen = 0;
    for (size_t k = 0; k < STO_GCM_IPSEC_MB_WAYS; k++) {
        const struct sto_gcm_way *way = sto_gcm_ipsec_mb(k);
        if (way == NULL || !agrees(way))
            continue;
        if (seen++ == i)
            return way;
    }
    return seen == i ? &sto_gcm_openssl : NULL;
}

static pthread_once_t chosen = PTHREAD_ONCE_INIT;
static const struct sto_gcm_way *best;

static void choose(void)
{
    best = sto_gcm_way(0);
}

const struct sto_gcm_way *sto_gcm_best(void)
{
    (void)pthread_once(&chosen, choose); /* cannot fail: the control is valid */
    return best;
}

const char *sto_gcm_way_name(const struct sto_gcm_way *way)
{
    return way->name;
}

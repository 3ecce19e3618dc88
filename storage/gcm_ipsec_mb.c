/*
 * storage/gcm_ipsec_mb.c - AES-256-GCM by Intel's Multi-Buffer Crypto Library.
 *
 * 1. Only three functions of the library's manager are kept; the manager itself may be used by one
 *    thread only. The functions work on their arguments. All they share is the number of the last
 *    error, which each call sets to 0 and no code reads.
 * 2. They return nothing, and do nothing if an argument is invalid: text with a length but without
 *    an address, a length of 2^36. gcm.c rejects such messages.
 * 3. Only code with AES and carry-less multiplication in hardware is used: the other code looks
 *    bytes up in tables, so its time reveals them.
 */
#include <openssl/crypto.h>

#include "storage/gcm_way.h"

#ifdef STO_WITH_IPSEC_MB

#include <intel-ipsec-mb.h>
#include <pthread.h>

#include "base/banned.h"

_Static_assert(_Alignof(struct gcm_key_data) <= STO_GCM_ALIGNMENT, "ready keys are aligned");
_Static_assert(STO_GCM_KEY == IMB_GCM_256_KEY_LEN && STO_GCM_NONCE == IMB_GCM_IV_DATA_LEN &&
                   STO_GCM_TAG <= IMB_MAX_TAG_LEN,
               "the library's sizes");

struct mb_code {
    aes_gcm_pre_t pre;
    aes_gcm_enc_dec_t encrypt;
    aes_gcm_enc_dec_t decrypt;
};

static void make_ready(const struct sto_gcm_way *way, const uint8_t key[STO_GCM_KEY],
                       void *out_ready)
{
    const struct mb_code *code = way->code;
    code->pre(key, out_ready);
}

/* Runs either direction; the tag is that of the ciphertext. The context is wiped because it holds
 * key stream of the last block. */
static void run(aes_gcm_enc_dec_t code, const void *ready, const struct sto_gcm_message *m,
                uint8_t *out_text, uint8_t out_tag[STO_GCM_TAG])
{
    struct gcm_context_data context;
    code(ready, &context, out_text, m->text.ptr, m->text.len, m->nonce, m->bound.ptr, m->bound.len,
         out_tag, STO_GCM_TAG);
    OPENSSL_cleanse(&context, sizeof context);
}

static enum err seal(const struct sto_gcm_way *way, struct sto_sealer *s, const void *ready,
                     const struct sto_gcm_message *plain, uint8_t *out_text,
                     uint8_t out_tag[STO_GCM_TAG])
{
    const struct mb_code *code = way->code;
    (void)s; /* keys are prepared without it */
    run(code->encrypt, ready, plain, out_text, out_tag);
    return ERR_OK;
}

static enum err open_sealed(const struct sto_gcm_way *way, struct sto_sealer *s, const void *ready,
                            const struct sto_gcm_message *sealed, const uint8_t tag[STO_GCM_TAG],
                            uint8_t *out_text)
{
    const struct mb_code *code = way->code;
    uint8_t actual[STO_GCM_TAG];
    (void)s;
    run(code->decrypt, ready, sealed, out_text, actual);
    enum err rc = CRYPTO_memcmp(actual, tag, sizeof actual) == 0 ? ERR_OK : ERR_CORRUPT;
    OPENSSL_cleanse(actual, sizeof actual); /* for a forged message it is the valid tag */
    return rc;
}

/* --- available instruction sets --------------------------------------------------------------- */

struct instruction_set {
    const char *name;
    uint64_t needs;
    void (*init)(IMB_MGR *manager);
};

/* Sets that the library lacks are at the end, without a name. */
static const struct instruction_set SETS[STO_GCM_IPSEC_MB_WAYS] = {
    {"ipsec-mb-avx512", IMB_CPUFLAGS_AVX512 | IMB_FEATURE_PCLMULQDQ, init_mb_mgr_avx512},
    {"ipsec-mb-avx2", IMB_CPUFLAGS_AVX2 | IMB_FEATURE_PCLMULQDQ, init_mb_mgr_avx2},
#if IMB_VERSION_NUM < IMB_VERSION(2, 0, 0) /* since 2.0, SSE serves these processors */
    {"ipsec-mb-avx", IMB_CPUFLAGS_AVX | IMB_FEATURE_PCLMULQDQ, init_mb_mgr_avx},
#endif
    {"ipsec-mb-sse", IMB_CPUFLAGS_SSE | IMB_FEATURE_PCLMULQDQ, init_mb_mgr_sse},
};

static bool has(const IMB_MGR *manager, uint64_t features)
{
    return (manager->features & features) == features;
}

static bool take_code(const struct instruction_set *set, struct mb_code *out)
{
    const uint64_t tested = IMB_FEATURE_SELF_TEST | IMB_FEATURE_SELF_TEST_PASS;
    IMB_MGR *manager = set->name != NULL ? alloc_mb_mgr(0) : NULL;
    if (manager == NULL)
        return false;
    bool usable = has(manager, set->needs);
    if (usable) {
        set->init(manager);
        usable = imb_get_errno(manager) == 0 && has(manager, tested);
    }
    if (usable)
        *out = (struct mb_code){manager->gcm256_pre, manager->gcm256_enc, manager->gcm256_dec};
    free_mb_mgr(manager);
    return usable;
}

const struct sto_gcm_way *sto_gcm_ipsec_mb(size_t i)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct mb_code codes[STO_GCM_IPSEC_MB_WAYS];
    static struct sto_gcm_way ways[STO_GCM_IPSEC_MB_WAYS];
    static bool asked[STO_GCM_IPSEC_MB_WAYS];
    if (i >= STO_GCM_IPSEC_MB_WAYS)
        return NULL;
    (void)pthread_mutex_lock(&lock); /* cannot fail: a default mutex */
    if (!asked[i] && take_code(&SETS[i], &codes[i]))
        ways[i] = (struct sto_gcm_way){
            .name = SETS[i].name,
            .ready_bytes = sizeof(struct gcm_key_data),
            .code = &codes[i],
            .make_ready = make_ready,
            .seal = seal,
            .open = open_sealed,
        };
    asked[i] = true;
    (void)pthread_mutex_unlock(&lock);
    return ways[i].code == NULL ? NULL : &ways[i];
}

#else

#include "base/banned.h"

const struct sto_gcm_way *sto_gcm_ipsec_mb(size_t i)
{
    (void)i;
    return NULL;
}

#endif

/*
 * tests/storage/test_gcm.c - AES-256-GCM, by every way that this machine has: the standard's bytes,
 * the same bytes by all of them, and not a byte besides.
 */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef STO_WITH_IPSEC_MB
#include <intel-ipsec-mb.h>
#endif

#include "base/alloc.h"
#include "base/limits.h"
#include "storage/gcm_way.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_storage_gcm(void);

enum { WAYS = STO_GCM_IPSEC_MB_WAYS + 1, AREA = 64 * KIB, THREADS = 4, ROUNDS = 3000 };

static struct random rng;
static struct sto_sealer sealer;

static void set_up(void)
{
    rng = (struct random){.state = 11};
    sto_sealer_init(&sealer);
}

static void tear_down(void)
{
    sto_sealer_fini(&sealer);
}

static void fill(uint8_t *out, size_t len)
{
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)random_below(&rng, 256);
}

static struct sto_gcm_key *random_key(const struct sto_gcm_way *way)
{
    uint8_t key[STO_GCM_KEY];
    fill(key, sizeof key);
    return sto_gcm_key_new(way, key);
}

/* --- the standard ----------------------------------------------------------------------------- */

/* Test cases 13 to 16 of "The Galois/Counter Mode of Operation", as submitted to NIST. */
struct vector {
    const char *key, *nonce, *bound, *plain, *sealed, *tag;
};

#define KEY_15                                                                                     \
    "feffe9928665731c6d6a8f9467308308"                                                             \
    "feffe9928665731c6d6a8f9467308308"
#define PLAIN_16                                                                                   \
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"                             \
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
#define SEALED_16                                                                                  \
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"                             \
    "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
#define ZEROS_12 "000000000000000000000000"
#define ZEROS_16 "00000000000000000000000000000000"

static const struct vector VECTORS[] = {
    {ZEROS_16 ZEROS_16, ZEROS_12, "", "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
    {ZEROS_16 ZEROS_16, ZEROS_12, "", ZEROS_16, "cea7403d4d606b6e074ec5d3baf39d18",
     "d0d1c8a799996bf0265b98b5d48ab919"},
    {KEY_15, "cafebabefacedbaddecaf888", "", PLAIN_16 "1aafd255", SEALED_16 "898015ad",
     "b094dac5d93471bdec1a502270e3cc6c"},
    {KEY_15, "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2", PLAIN_16,
     SEALED_16, "76fc6ece0f4e1768cddf8853bb2d551b"},
};

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static struct slice bytes_of(const char *hex, uint8_t out[64])
{
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    return base_slice(out, n);
}

static void check_vector(const struct sto_gcm_way *way, const struct vector *v)
{
    uint8_t key[64], nonce[64], bound[64], plain[64], sealed[64], tag[64], out[64], out_tag[16];
    (void)bytes_of(v->key, key);
    (void)bytes_of(v->nonce, nonce);
    (void)bytes_of(v->tag, tag);
    struct sto_gcm_message m = {nonce, bytes_of(v->bound, bound), bytes_of(v->plain, plain)};
    struct sto_gcm_key *k = sto_gcm_key_new(way, key);
    ck_assert_int_eq(sto_gcm_seal(&sealer, k, &m, out, out_tag), ERR_OK);
    struct slice expected = bytes_of(v->sealed, sealed);
    ck_assert_mem_eq(out, expected.ptr, expected.len);
    ck_assert_mem_eq(out_tag, tag, sizeof out_tag);
    m.text = expected;
    ck_assert_int_eq(sto_gcm_open(&sealer, k, &m, tag, out), ERR_OK);
    ck_assert_mem_eq(out, plain, expected.len);
    sto_gcm_key_free(k);
}

START_TEST(each_way_gives_what_the_standard_says)
{
    const struct sto_gcm_way *way = sto_gcm_way((size_t)_i);
    for (size_t i = 0; way != NULL && i < sizeof VECTORS / sizeof VECTORS[0]; i++)
        check_vector(way, &VECTORS[i]);
}
END_TEST

/* --- which there are -------------------------------------------------------------------------- */

#ifdef STO_WITH_IPSEC_MB
enum { HAS_AVX_WAY = IMB_VERSION_NUM < IMB_VERSION(2, 0, 0) };

static size_t expected_ways(void)
{
    bool sse = __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul") &&
               __builtin_cpu_supports("sse4.2");
    bool avx = sse && __builtin_cpu_supports("avx");
    bool avx2 = avx && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512vl");
    return 1 + (size_t)sse + (size_t)(avx && HAS_AVX_WAY) + (size_t)avx2 + (size_t)avx512;
}
#else
static size_t expected_ways(void)
{
    return 1;
}
#endif

START_TEST(there_is_a_way_for_each_instruction_set_and_openssl_is_last)
{
    size_t n = 0;
    const struct sto_gcm_way *last = NULL;
    for (const struct sto_gcm_way *way; (way = sto_gcm_way(n)) != NULL; n++) {
        ck_assert_ptr_ne(way, last);
        last = way;
    }
    ck_assert_ptr_eq(last, &sto_gcm_openssl);
    ck_assert_str_eq(sto_gcm_way_name(last), "openssl");
    ck_assert_uint_eq(n, expected_ways());
    ck_assert_ptr_eq(sto_gcm_best(), sto_gcm_way(0));
    ck_assert_ptr_null(sto_gcm_way(n + 1));
    ck_assert_ptr_null(sto_gcm_ipsec_mb(STO_GCM_IPSEC_MB_WAYS));
}
END_TEST

/* --- the same bytes --------------------------------------------------------------------------- */

struct pair {
    struct sto_gcm_key *ours;
    struct sto_gcm_key *openssl;
    uint8_t *plain, *bound, *sealed[2], *opened;
};

static void pair_init(struct pair *p, const struct sto_gcm_way *way)
{
    uint8_t key[STO_GCM_KEY];
    fill(key, sizeof key);
    *p = (struct pair){sto_gcm_key_new(way, key),
                       sto_gcm_key_new(&sto_gcm_openssl, key),
                       base_new(3 * MIB),
                       base_new(AREA),
                       {base_new(3 * MIB), base_new(3 * MIB)},
                       base_new(3 * MIB)};
    fill(p->plain, 3 * MIB);
    fill(p->bound, AREA);
}

static void pair_fini(struct pair *p)
{
    sto_gcm_key_free(p->ours);
    sto_gcm_key_free(p->openssl);
    base_free(p->plain);
    base_free(p->bound);
    base_free(p->sealed[0]);
    base_free(p->sealed[1]);
    base_free(p->opened);
}

static void check_same(struct pair *p, size_t text_len, size_t bound_len)
{
    uint8_t nonce[STO_GCM_NONCE], tags[2][STO_GCM_TAG];
    fill(nonce, sizeof nonce);
    struct slice bound = base_slice(p->bound, bound_len);
    struct sto_gcm_message plain = {nonce, bound, base_slice(p->plain, text_len)};
    struct sto_gcm_message sealed = {nonce, bound, base_slice(p->sealed[0], text_len)};
    ck_assert_int_eq(sto_gcm_seal(&sealer, p->ours, &plain, p->sealed[0], tags[0]), ERR_OK);
    ck_assert_int_eq(sto_gcm_seal(&sealer, p->openssl, &plain, p->sealed[1], tags[1]), ERR_OK);
    ck_assert_msg(memcmp(p->sealed[0], p->sealed[1], text_len) == 0, "text of %zu, %zu bound",
                  text_len, bound_len);
    ck_assert_mem_eq(tags[0], tags[1], STO_GCM_TAG);
    ck_assert_int_eq(sto_gcm_open(&sealer, p->ours, &sealed, tags[1], p->opened), ERR_OK);
    ck_assert(memcmp(p->opened, p->plain, text_len) == 0);
    ck_assert_int_eq(sto_gcm_open(&sealer, p->openssl, &sealed, tags[0], p->opened), ERR_OK);
    ck_assert(memcmp(p->opened, p->plain, text_len) == 0);
}

START_TEST(each_way_gives_the_same_bytes_as_openssl)
{
    const struct sto_gcm_way *way = sto_gcm_way((size_t)_i);
    struct pair p;
    if (way == NULL)
        return;
    pair_init(&p, way);
    for (size_t len = 0; len < 1700; len++)
        check_same(&p, len, random_below(&rng, 90));
    for (size_t bound = 0; bound < 900; bound++)
        check_same(&p, random_below(&rng, 90), bound);
    for (int i = 0; i < 100; i++)
        check_same(&p, random_below(&rng, 40000), random_below(&rng, 600));
    check_same(&p, 100, AREA);
    check_same(&p, 3 * MIB, 33);
    pair_fini(&p);
}
END_TEST

/* --- damage ----------------------------------------------------------------------------------- */

static void check_flips(const struct sto_gcm_key *key, struct sto_gcm_message *m, uint8_t *tag,
                        uint8_t *part, size_t len)
{
    static const uint8_t zeros[64];
    uint8_t out[64];
    for (size_t bit = 0; bit < 8 * len; bit++) {
        memset(out, 0x5a, sizeof out);
        part[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert_int_eq(sto_gcm_open(&sealer, key, m, tag, out), ERR_CORRUPT);
        ck_assert_mem_eq(out, zeros, m->text.len);
        ck_assert_uint_eq(out[m->text.len], 0x5a);
        part[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    ck_assert_int_eq(sto_gcm_open(&sealer, key, m, tag, out), ERR_OK);
}

START_TEST(each_way_notices_every_flipped_bit_and_shows_nothing)
{
    const struct sto_gcm_way *way = sto_gcm_way((size_t)_i);
    uint8_t nonce[STO_GCM_NONCE], bound[21], plain[37], text[37], tag[STO_GCM_TAG];
    if (way == NULL)
        return;
    struct sto_gcm_key *key = random_key(way);
    fill(nonce, sizeof nonce);
    fill(bound, sizeof bound);
    fill(plain, sizeof plain);
    struct sto_gcm_message m = {nonce, base_slice(bound, sizeof bound),
                                base_slice(plain, sizeof plain)};
    ck_assert_int_eq(sto_gcm_seal(&sealer, key, &m, text, tag), ERR_OK);
    m.text = base_slice(text, sizeof text);
    check_flips(key, &m, tag, text, sizeof text);
    check_flips(key, &m, tag, tag, sizeof tag);
    check_flips(key, &m, tag, bound, sizeof bound);
    check_flips(key, &m, tag, nonce, sizeof nonce);
    sto_gcm_key_free(key);
}
END_TEST

/* --- nothing besides -------------------------------------------------------------------------- */

/* An area between two pages that nobody may touch. */
static uint8_t *fenced_new(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *all = mmap(NULL, AREA + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(all, MAP_FAILED);
    ck_assert_int_eq(mprotect(all + page, AREA, PROT_READ | PROT_WRITE), 0);
    return all + page;
}

struct fenced {
    uint8_t *key, *nonce, *bound, *plain, *sealed, *tag, *opened;
};

/* len bytes at one of the two fences of area. */
static uint8_t *at_fence(uint8_t *area, size_t len, bool at_end)
{
    return at_end ? area + AREA - len : area;
}

static void check_fenced(const struct sto_gcm_way *way, const struct fenced *f, size_t len,
                         bool at_end)
{
    size_t bound_len = len % 83;
    uint8_t *key_bytes = at_fence(f->key, STO_GCM_KEY, at_end);
    uint8_t *nonce = at_fence(f->nonce, STO_GCM_NONCE, at_end);
    uint8_t *bound = at_fence(f->bound, bound_len, at_end);
    uint8_t *plain = at_fence(f->plain, len, at_end);
    uint8_t *sealed = at_fence(f->sealed, len, at_end);
    uint8_t *opened = at_fence(f->opened, len, at_end);
    uint8_t *tag = at_fence(f->tag, STO_GCM_TAG, at_end);
    fill(plain, len);
    struct sto_gcm_key *key = sto_gcm_key_new(way, key_bytes);
    struct sto_gcm_message m = {nonce, base_slice(bound, bound_len), base_slice(plain, len)};
    ck_assert_int_eq(sto_gcm_seal(&sealer, key, &m, sealed, tag), ERR_OK);
    m.text = base_slice(sealed, len);
    ck_assert_int_eq(sto_gcm_open(&sealer, key, &m, tag, opened), ERR_OK);
    ck_assert(memcmp(plain, opened, len) == 0);
    sto_gcm_key_free(key);
}

START_TEST(each_way_touches_nothing_beside_its_buffers)
{
    const struct sto_gcm_way *way = sto_gcm_way((size_t)_i);
    if (way == NULL)
        return;
    struct fenced f = {fenced_new(), fenced_new(), fenced_new(), fenced_new(),
                       fenced_new(), fenced_new(), fenced_new()};
    for (size_t len = 0; len < 1700; len++) {
        check_fenced(way, &f, len, true);
        check_fenced(way, &f, len, false);
    }
    check_fenced(way, &f, AREA, true);
}
END_TEST

START_TEST(each_way_writes_its_result_and_no_byte_behind)
{
    const struct sto_gcm_way *way = sto_gcm_way((size_t)_i);
    uint8_t plain[1100] = {0}, out[1100 + 64], tag[STO_GCM_TAG + 16];
    static const uint8_t nonce[STO_GCM_NONCE];
    if (way == NULL)
        return;
    struct sto_gcm_key *key = random_key(way);
    for (size_t len = 0; len <= sizeof plain; len++) {
        struct sto_gcm_message m = {nonce, SLICE_LIT("bound"), base_slice(plain, len)};
        memset(out, 0x5a, sizeof out);
        memset(tag, 0x5a, sizeof tag);
        ck_assert_int_eq(sto_gcm_seal(&sealer, key, &m, out, tag), ERR_OK);
        for (size_t i = 0; i < 64; i++)
            ck_assert_uint_eq(out[len + i], 0x5a);
        for (size_t i = STO_GCM_TAG; i < sizeof tag; i++)
            ck_assert_uint_eq(tag[i], 0x5a);
    }
    sto_gcm_key_free(key);
}
END_TEST

/* --- keys ------------------------------------------------------------------------------------- */

/* The C library gives a block of one size again once it holds some of them. */
START_TEST(a_key_at_the_address_of_a_freed_one_is_another_key)
{
    const struct sto_gcm_way *way = sto_gcm_way((size_t)_i);
    static const uint8_t nonce[STO_GCM_NONCE];
    struct sto_gcm_message m = {nonce, SLICE_EMPTY, SLICE_LIT("a value")};
    uint8_t last[7] = {0}, text[7], tag[STO_GCM_TAG];
    for (int i = 0; way != NULL && i < 40; i++) {
        struct sto_gcm_key *key = random_key(way);
        ck_assert_int_eq(sto_gcm_seal(&sealer, key, &m, text, tag), ERR_OK);
        ck_assert_mem_ne(text, last, sizeof text);
        memcpy(last, text, sizeof last);
        sto_gcm_key_free(key);
    }
}
END_TEST

START_TEST(a_wiped_key_seals_nothing_that_the_key_opens)
{
    const struct sto_gcm_way *way = sto_gcm_way((size_t)_i);
    static const uint8_t nonce[STO_GCM_NONCE];
    uint8_t bytes[STO_GCM_KEY], text[7], opened[7], tag[STO_GCM_TAG] = {0};
    if (way == NULL)
        return;
    fill(bytes, sizeof bytes);
    struct sto_gcm_key *wiped = sto_gcm_key_new(way, bytes);
    struct sto_gcm_key *key = sto_gcm_key_new(way, bytes);
    sto_gcm_key_wipe(wiped);
    struct sto_gcm_message m = {nonce, SLICE_EMPTY, SLICE_LIT("a value")};
    if (sto_gcm_seal(&sealer, wiped, &m, text, tag) == ERR_OK) {
        m.text = base_slice(text, sizeof text);
        ck_assert_int_eq(sto_gcm_open(&sealer, key, &m, tag, opened), ERR_CORRUPT);
    }
    sto_gcm_key_free(wiped);
    sto_gcm_key_free(key);
    sto_gcm_key_free(NULL);
}
END_TEST

static void *seal_and_open(void *shared)
{
    const struct sto_gcm_key *key = shared;
    struct sto_sealer own;
    uint8_t nonce[STO_GCM_NONCE] = {0}, plain[300], text[300], opened[300], tag[STO_GCM_TAG];
    size_t good = 0;
    sto_sealer_init(&own);
    memset(plain, 7, sizeof plain);
    for (unsigned i = 0; i < ROUNDS; i++) {
        nonce[0] = (uint8_t)i;
        struct sto_gcm_message m = {nonce, SLICE_LIT("bound"), base_slice(plain, i % 300)};
        enum err rc = sto_gcm_seal(&own, key, &m, text, tag);
        m.text = base_slice(text, i % 300);
        if (rc == ERR_OK)
            rc = sto_gcm_open(&own, key, &m, tag, opened);
        good += rc == ERR_OK && memcmp(opened, plain, i % 300) == 0;
    }
    sto_sealer_fini(&own);
    return good == ROUNDS ? NULL : shared;
}

START_TEST(each_way_shares_a_key_between_threads)
{
    const struct sto_gcm_way *way = sto_gcm_way((size_t)_i);
    pthread_t threads[THREADS];
    if (way == NULL)
        return;
    struct sto_gcm_key *key = random_key(way);
    for (size_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, seal_and_open, key), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *failed;
        ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
        ck_assert_ptr_null(failed);
    }
    sto_gcm_key_free(key);
}
END_TEST

START_TEST(a_longer_text_than_the_limit_aborts)
{
    static const uint8_t nonce[STO_GCM_NONCE];
    uint8_t tag[STO_GCM_TAG];
    struct sto_gcm_message m = {nonce, SLICE_EMPTY, base_slice(nonce, STO_GCM_TEXT_MAX + 1ul)};
    enum err rc = sto_gcm_seal(&sealer, random_key(sto_gcm_best()), &m, tag, tag);
    ck_abort_msg("it gave %s", base_err_name(rc));
}
END_TEST

Suite *suite_storage_gcm(void)
{
    Suite *s = suite_create("storage_gcm");
    TCase *t = tcase_create("gcm");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, there_is_a_way_for_each_instruction_set_and_openssl_is_last);
    tcase_add_loop_test(t, each_way_gives_what_the_standard_says, 0, WAYS);
    tcase_add_loop_test(t, each_way_gives_the_same_bytes_as_openssl, 0, WAYS);
    tcase_add_loop_test(t, each_way_notices_every_flipped_bit_and_shows_nothing, 0, WAYS);
    tcase_add_loop_test(t, each_way_touches_nothing_beside_its_buffers, 0, WAYS);
    tcase_add_loop_test(t, each_way_writes_its_result_and_no_byte_behind, 0, WAYS);
    tcase_add_loop_test(t, a_key_at_the_address_of_a_freed_one_is_another_key, 0, WAYS);
    tcase_add_loop_test(t, a_wiped_key_seals_nothing_that_the_key_opens, 0, WAYS);
    tcase_add_loop_test(t, each_way_shares_a_key_between_threads, 0, WAYS);
    tcase_add_test_raise_signal(t, a_longer_text_than_the_limit_aborts, SIGABRT);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/auth/test_keyring.c - keys made, checked, revoked, over the real engine.
 */
#include "tests/auth/keys.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/banned.h"

/* --- verifying -------------------------------------------------------------------------------- */

START_TEST(created_key_verifies_with_all_it_was_given)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    char text[AUTH_KEY_TEXT + 1];
    const struct auth_key *key = NULL;
    ck_assert_int_eq(try_create(AUTH_TENANT, t, AUTH_DATA_READ | AUTH_TABLE_ADMIN,
                                SLICE_LIT("k\xc3\xbc"
                                          "che"),
                                text),
                     ERR_OK);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(verify(text, &key), ERR_OK);
        ck_assert(base_slice_equal(base_slice_text(key->id), id_of(text)));
        ck_assert_int_eq(key->kind, AUTH_TENANT);
        ck_assert_uint_eq(key->scopes, AUTH_DATA_READ | AUTH_TABLE_ADMIN);
        ck_assert_ptr_eq(key->tenant, tent_find(&tent, "altostrat"));
        ck_assert_str_eq(key->label, "k\xc3\xbc"
                                     "che");
        ck_assert_int_gt(key->created_us, 1600000000000000);
        ck_assert_uint_eq(key->doc_version, 1);
        reopen();
    }
}
END_TEST

START_TEST(a_row_prefix_holds_after_a_restart)
{
    struct key_args a = {.kind = AUTH_TENANT,
                         .tenant = tent_create(&tent, "altostrat"),
                         .scopes = AUTH_DATA_READ,
                         .text = SLICE_LIT("app"),
                         .row_prefix = SLICE_LIT("a\xff#")};
    const struct auth_key *key = NULL;
    tent_control(&tent, do_create, &a);
    ck_assert_int_eq(a.rc, ERR_OK);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(verify(a.out, &key), ERR_OK);
        ck_assert(base_slice_equal(key->row_prefix, a.row_prefix));
        ck_assert_str_eq(key->label, "app");
        reopen();
    }
}
END_TEST

START_TEST(service_and_operator_keys_have_no_tenant)
{
    char service[AUTH_KEY_TEXT + 1];
    char operator[AUTH_KEY_TEXT + 1];
    const struct auth_key *key = NULL;
    create(AUTH_SERVICE, NULL, service);
    create(AUTH_OPERATOR, NULL, operator);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(verify(service, &key), ERR_OK);
        ck_assert_int_eq(key->kind, AUTH_SERVICE);
        ck_assert_ptr_null(key->tenant);
        ck_assert_int_eq(verify(operator, & key), ERR_OK);
        ck_assert_int_eq(key->kind, AUTH_OPERATOR);
        ck_assert_uint_eq(key->scopes, AUTH_SCOPES_OPERATOR);
        reopen();
    }
}
END_TEST

START_TEST(only_the_hmac_of_the_secret_is_kept)
{
    char text[AUTH_KEY_TEXT + 1];
    const struct auth_key *key = NULL;
    struct auth_key_parts parts;
    uint8_t expected[32];
    unsigned len = sizeof expected;
    create(AUTH_SERVICE, NULL, text);
    ck_assert_int_eq(verify(text, &key), ERR_OK);
    ck_assert_int_eq(auth_key_parse(base_slice_text(text), &parts), ERR_OK);
    ck_assert_ptr_nonnull(HMAC(EVP_sha256(), pepper, sizeof pepper, parts.secret.ptr,
                               parts.secret.len, expected, &len));
    ck_assert_int_eq(memcmp(key->digest, expected, sizeof expected), 0);

    char doc_key[2 + AUTH_KEY_ID + 1];
    uint64_t version;
    struct buf body;
    base_buf_init(&body, 4096);
    (void)snprintf(doc_key, sizeof doc_key, "k/%s", key->id);
    ck_assert_int_eq(sto_doc_get(tent.engine, base_slice_text(doc_key), &version, &body, &tent.eb),
                     ERR_OK);
    ck_assert_ptr_null(memmem(body.ptr, body.len, parts.secret.ptr, 8));
    base_buf_fini(&body);
}
END_TEST

/* A well-formed text of any kind, ID and secret. */
static void forge(char out[AUTH_KEY_TEXT + 1], const char *prefix, struct slice id,
                  struct slice secret)
{
    /* the checksum is found by trying: it is no secret how it is made */
    char fresh[AUTH_KEY_TEXT + 1];
    ck_assert_int_eq(auth_key_generate(AUTH_TENANT, fresh), ERR_OK);
    memcpy(out, prefix, 4);
    memcpy(out + 4, id.ptr, AUTH_KEY_ID);
    memcpy(out + 4 + AUTH_KEY_ID, secret.ptr, AUTH_KEY_SECRET);
    size_t checked = AUTH_KEY_TEXT - AUTH_KEY_CHECKSUM;
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < checked; i++) {
        crc ^= (uint8_t)out[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320 & -(crc & 1));
    }
    crc = ~crc;
    static const char DIGITS[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (size_t i = AUTH_KEY_TEXT; i-- > checked; crc /= 62)
        out[i] = DIGITS[crc % 62];
    out[AUTH_KEY_TEXT] = '\0';
}

START_TEST(wrong_secret_unknown_id_and_wrong_kind_are_all_alike)
{
    char a[AUTH_KEY_TEXT + 1];
    char b[AUTH_KEY_TEXT + 1];
    char forged[AUTH_KEY_TEXT + 1];
    struct auth_key_parts pa;
    struct auth_key_parts pb;
    const struct auth_key *untouched = (const struct auth_key *)(const void *)&tent;
    const struct auth_key *key = untouched;
    create(AUTH_SERVICE, NULL, a);
    create(AUTH_SERVICE, NULL, b);
    ck_assert_int_eq(auth_key_parse(base_slice_text(a), &pa), ERR_OK);
    ck_assert_int_eq(auth_key_parse(base_slice_text(b), &pb), ERR_OK);
    forge(forged, "bts_", pa.id, pa.secret);
    ck_assert_str_eq(forged, a); /* the forger works */

    forge(forged, "bts_", pa.id, pb.secret);
    ck_assert_int_eq(verify(forged, &key), ERR_UNAUTHENTICATED);
    forge(forged, "bts_", SLICE_LIT("000000000000"), pa.secret);
    ck_assert_int_eq(verify(forged, &key), ERR_UNAUTHENTICATED);
    forge(forged, "bto_", pa.id, pa.secret);
    ck_assert_int_eq(verify(forged, &key), ERR_UNAUTHENTICATED);
    forge(forged, "btt_", pa.id, pa.secret);
    ck_assert_int_eq(verify(forged, &key), ERR_UNAUTHENTICATED);
    ck_assert_int_eq(verify("", &key), ERR_UNAUTHENTICATED);
    ck_assert_int_eq(verify("bts_short", &key), ERR_UNAUTHENTICATED);
    a[10] = a[10] == 'x' ? 'y' : 'x';
    ck_assert_int_eq(verify(a, &key), ERR_UNAUTHENTICATED);
    ck_assert_ptr_eq(key, untouched);
    ck_assert_int_eq(verify(b, &key), ERR_OK); /* and nothing was left in the verifier */
}
END_TEST

START_TEST(another_pepper_verifies_nothing)
{
    char text[AUTH_KEY_TEXT + 1];
    const struct auth_key *key = NULL;
    create(AUTH_SERVICE, NULL, text);
    pepper[0] ^= 1;
    reopen();
    ck_assert_int_eq(verify(text, &key), ERR_UNAUTHENTICATED);
    pepper[0] ^= 1;
    reopen();
    ck_assert_int_eq(verify(text, &key), ERR_OK);
}
END_TEST

/* --- creating --------------------------------------------------------------------------------- */

START_TEST(scopes_must_fit_the_kind)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    char text[AUTH_KEY_TEXT + 1];
    struct slice none = SLICE_EMPTY;
    ck_assert_int_eq(try_create(AUTH_TENANT, t, 0, none, text), ERR_INVALID);
    ck_assert_int_eq(text[0], 'x'); /* nothing was written */
    ck_assert_int_eq(try_create(AUTH_TENANT, t, AUTH_ADMIN_READ, none, NULL), ERR_INVALID);
    ck_assert_int_eq(try_create(AUTH_TENANT, t, AUTH_DATA_READ | AUTH_ADMIN_WRITE, none, NULL),
                     ERR_INVALID);
    ck_assert_int_eq(try_create(AUTH_SERVICE, NULL, AUTH_ADMIN_READ, none, NULL), ERR_INVALID);
    ck_assert_int_eq(try_create(AUTH_OPERATOR, NULL, AUTH_DATA_READ, none, NULL), ERR_INVALID);
    ck_assert_int_eq(try_create(AUTH_OPERATOR, NULL, 1ull << 6, none, NULL), ERR_INVALID);
    ck_assert_int_eq(try_create(AUTH_OPERATOR, NULL, 1ull << 63, none, NULL), ERR_INVALID);
    ck_assert_int_eq(try_create(AUTH_OPERATOR, NULL, AUTH_ADMIN_READ, none, NULL), ERR_OK);
}
END_TEST

START_TEST(labels_are_checked_at_every_edge)
{
    static char label[AUTH_LABEL_BYTES + 1];
    memset(label, 'l', sizeof label);
    ck_assert_int_eq(try_create(AUTH_SERVICE, NULL, 1, base_slice(label, sizeof label), NULL),
                     ERR_INVALID);
    ck_assert_int_eq(try_create(AUTH_SERVICE, NULL, 1, base_slice(label, AUTH_LABEL_BYTES), NULL),
                     ERR_OK);
    ck_assert_int_eq(try_create(AUTH_SERVICE, NULL, 1, SLICE_LIT("\xff"), NULL), ERR_INVALID);
    ck_assert_int_eq(try_create(AUTH_SERVICE, NULL, 1, SLICE_LIT("a\0b"), NULL), ERR_INVALID);
    ck_assert_int_eq(try_create(AUTH_SERVICE, NULL, 1, SLICE_LIT("a\nb"), NULL), ERR_INVALID);
    ck_assert_int_eq(try_create(AUTH_SERVICE, NULL, 1, SLICE_LIT("a\x7f"), NULL), ERR_INVALID);
    ck_assert_int_eq(try_create(AUTH_SERVICE, NULL, 1, SLICE_EMPTY, NULL), ERR_OK);
    reopen();
    const struct auth_key *keys[3];
    ck_assert_uint_eq(list(NULL, keys, 3), 2);
}
END_TEST

static void create_up_to_limit(struct tent *t, void *ctx)
{
    struct key_args *a = ctx;
    a->rc = ERR_OK;
    struct auth_key_wanted wanted = {.kind = a->kind, .tenant = a->tenant, .scopes = 1};
    for (int i = 0; a->rc == ERR_OK && i < LIM_KEYS_PER_TENANT; i++)
        a->rc = auth_key_create(keyring, &wanted, a->out, &t->eb);
}

START_TEST(keys_of_a_tenant_are_limited)
{
    struct key_args a = {.kind = AUTH_TENANT, .tenant = tent_create(&tent, "altostrat")};
    struct ten_tenant *other = tent_create(&tent, "brightleaf");
    char text[AUTH_KEY_TEXT + 1];
    create(AUTH_TENANT, other, text);
    tent_control(&tent, create_up_to_limit, &a);
    ck_assert_msg(a.rc == ERR_OK, "%s", tent.eb.text);
    ck_assert_int_eq(try_create(AUTH_TENANT, a.tenant, 1, SLICE_EMPTY, NULL), ERR_QUOTA);
    ck_assert_str_eq(tent.eb.text, "keys quota: 1000 used, 1 would be added, limit 1000; revoking "
                                   "still passes");
    create(AUTH_TENANT, other, text); /* nobody else is concerned */
    create(AUTH_SERVICE, NULL, text);
    ck_assert_int_eq(revoke_key(id_of(a.out), a.tenant), ERR_OK);
    ck_assert_int_eq(try_create(AUTH_TENANT, a.tenant, 1, SLICE_EMPTY, NULL), ERR_OK);
    ck_assert_int_eq(try_create(AUTH_TENANT, a.tenant, 1, SLICE_EMPTY, NULL), ERR_QUOTA);
    static const struct auth_key *keys[LIM_KEYS_PER_TENANT + 1];
    reopen();
    a.tenant = tent_find(&tent, "altostrat");
    ck_assert_uint_eq(list(a.tenant, keys, LIM_KEYS_PER_TENANT + 1), LIM_KEYS_PER_TENANT);
}
END_TEST

START_TEST(a_key_that_is_not_durable_does_not_exist)
{
    char text[AUTH_KEY_TEXT + 1];
    const struct auth_key *keys[2];
    create(AUTH_SERVICE, NULL, text);
    sto_rocksdb_test_fail_commit(tent.engine, 1);
    ck_assert_int_eq(try_create(AUTH_SERVICE, NULL, 1, SLICE_EMPTY, text), ERR_OUTCOME_UNKNOWN);
    ck_assert_int_eq(text[0], '\0'); /* wiped */
    ck_assert_int_eq(memcmp(text, text + 1, AUTH_KEY_TEXT), 0);
    ck_assert_uint_eq(list(NULL, keys, 2), 1);
}
END_TEST

/* --- listing and revoking --------------------------------------------------------------------- */

START_TEST(lists_are_per_tenant_and_in_id_order)
{
    struct ten_tenant *tenants[] = {tent_create(&tent, "ab"), tent_create(&tent, "abc"), NULL};
    char text[AUTH_KEY_TEXT + 1];
    for (int i = 0; i < 30; i++)
        create(i % 3 == 2 ? AUTH_SERVICE : AUTH_TENANT, tenants[i % 3], text);
    for (int round = 0; round < 2; round++) {
        tenants[0] = tent_find(&tent, "ab");
        tenants[1] = tent_find(&tent, "abc");
        for (int i = 0; i < 3; i++) {
            const struct auth_key *keys[40];
            ck_assert_uint_eq(list(tenants[i], keys, 40), 10);
            for (int k = 0; k < 10; k++) {
                ck_assert_ptr_eq(keys[k]->tenant, tenants[i]);
                if (k > 0)
                    ck_assert_int_lt(strcmp(keys[k - 1]->id, keys[k]->id), 0);
            }
            ck_assert_uint_eq(list(tenants[i], keys, 3), 3);
            ck_assert_uint_eq(list(tenants[i], keys, 0), 0);
        }
        reopen();
    }
    const struct auth_key *keys[1];
    ck_assert_uint_eq(list(tent_create(&tent, "nokeys"), keys, 1), 0);
}
END_TEST

START_TEST(revoked_key_is_refused_at_once_and_for_ever)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    char gone[AUTH_KEY_TEXT + 1];
    char stays[AUTH_KEY_TEXT + 1];
    const struct auth_key *key = NULL;
    create(AUTH_TENANT, t, gone);
    create(AUTH_TENANT, t, stays);
    ck_assert_int_eq(revoke_key(id_of(gone), t), ERR_OK);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(verify(gone, &key), ERR_UNAUTHENTICATED);
        ck_assert_int_eq(verify(stays, &key), ERR_OK);
        ck_assert_int_eq(revoke_key(id_of(gone), tent_find(&tent, "altostrat")), ERR_NOT_FOUND);
        reopen();
    }
}
END_TEST

START_TEST(a_text_near_a_right_one_is_refused_behind_it)
{
    char text[AUTH_KEY_TEXT + 1];
    const struct auth_key *key = NULL;
    create(AUTH_SERVICE, NULL, text);
    for (size_t i = 0; i < AUTH_KEY_TEXT; i++) {
        ck_assert_int_eq(verify(text, &key), ERR_OK); /* remembered */
        text[i] ^= 1;
        ck_assert_int_eq(verify(text, &key), ERR_UNAUTHENTICATED);
        text[i] ^= 1;
    }
    text[AUTH_KEY_TEXT - 1] = '\0';
    ck_assert_int_eq(verify(text, &key), ERR_UNAUTHENTICATED); /* shorter */
}
END_TEST

START_TEST(keys_are_revoked_by_their_owner_only)
{
    struct ten_tenant *a = tent_create(&tent, "aa");
    struct ten_tenant *b = tent_create(&tent, "bb");
    char ka[AUTH_KEY_TEXT + 1];
    char service[AUTH_KEY_TEXT + 1];
    const struct auth_key *key = NULL;
    create(AUTH_TENANT, a, ka);
    create(AUTH_SERVICE, NULL, service);
    ck_assert_int_eq(revoke_key(id_of(ka), b), ERR_NOT_FOUND);
    ck_assert_int_eq(revoke_key(id_of(ka), NULL), ERR_NOT_FOUND);
    ck_assert_int_eq(revoke_key(id_of(service), a), ERR_NOT_FOUND);
    ck_assert_int_eq(revoke_key(SLICE_EMPTY, NULL), ERR_NOT_FOUND);
    ck_assert_int_eq(revoke_key(SLICE_LIT("no such key, and much too long"), NULL), ERR_NOT_FOUND);
    ck_assert_int_eq(verify(ka, &key), ERR_OK);
    ck_assert_int_eq(verify(service, &key), ERR_OK);
}
END_TEST

START_TEST(a_key_in_use_outlives_its_revocation)
{
    char text[AUTH_KEY_TEXT + 1];
    const struct auth_key *key = NULL;
    create(AUTH_SERVICE, NULL, text);
    int slot = base_epoch_join(tent.epoch); /* another reader, which is not quiescent */
    ck_assert_int_eq(verify(text, &key), ERR_OK);
    ck_assert_int_eq(revoke_key(id_of(text), NULL), ERR_OK);
    ck_assert(base_slice_equal(base_slice_text(key->id), id_of(text)));
    ck_assert_uint_eq(key->scopes, AUTH_SCOPES_TENANT);
    base_epoch_leave(tent.epoch, slot);
}
END_TEST

/* --- threads that verify while keys go ----------------------------------------------------------
 */

enum { RACE_KEYS = 40, RACE_THREADS = 3 };

static char race_keys[RACE_KEYS][AUTH_KEY_TEXT + 1];
static atomic_int revoked_count; /* keys below it were revoked before */
static atomic_bool stop_race;

static void *verify_on(void *arg)
{
    struct auth_verifier *v = NULL;
    int slot = base_epoch_join(tent.epoch);
    enum err rc = auth_verifier_new(keyring, &v);
    INVARIANT(rc == ERR_OK);
    for (int i = 0; !atomic_load(&stop_race); i = (i + 1) % RACE_KEYS) {
        const struct auth_key *key = NULL;
        int revoked = atomic_load(&revoked_count);
        rc = auth_verify(v, base_slice_text(race_keys[i]), &key);
        if (i < revoked)
            INVARIANT(rc == ERR_UNAUTHENTICATED); /* it began after revoke had returned */
        if (rc == ERR_OK)
            INVARIANT(key->kind == AUTH_SERVICE && key->scopes != 0);
        base_epoch_quiescent(tent.epoch, slot);
    }
    auth_verifier_free(v);
    base_epoch_leave(tent.epoch, slot);
    return arg;
}

START_TEST(revocation_is_effective_at_once_across_threads)
{
    pthread_t threads[RACE_THREADS];
    for (int i = 0; i < RACE_KEYS; i++)
        create(AUTH_SERVICE, NULL, race_keys[i]);
    for (int i = 0; i < RACE_THREADS; i++)
        ck_assert_int_eq(base_thread_start(&threads[i], "verify", verify_on, NULL), ERR_OK);
    for (int i = 0; i < RACE_KEYS; i++) {
        char more[AUTH_KEY_TEXT + 1];
        ck_assert_int_eq(revoke_key(id_of(race_keys[i]), NULL), ERR_OK);
        atomic_store(&revoked_count, i + 1);
        create(AUTH_SERVICE, NULL, more); /* the map changes all the time */
    }
    atomic_store(&stop_race, true);
    for (int i = 0; i < RACE_THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}
END_TEST

/* --- damage -------------------------------------------------------------------------------------
 */

START_TEST(damaged_key_documents_are_refused_at_open)
{
    static const char *const BAD[] = {"k/AAAABBBBCCCC", "k/short"};
    char text[AUTH_KEY_TEXT + 1];
    create(AUTH_SERVICE, NULL, text);
    for (size_t i = 0; i < 2; i++) {
        struct auth_keyring *other = NULL;
        struct sto_doc_change change = {.key = base_slice_text(BAD[i]),
                                        .body = SLICE_LIT("\xff\xff\xff"),
                                        .expect = STO_DOC_ANY};
        ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
        ck_assert_int_eq(auth_keyring_open(tent.registry, tent.epoch, pepper, &other, &tent.eb),
                         ERR_CORRUPT);
        change.body = SLICE_EMPTY;
        ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
    }
}
END_TEST

START_TEST(closing_nothing_is_fine)
{
    auth_keyring_close(NULL);
    auth_verifier_free(NULL);
}
END_TEST

Suite *suite_auth_keyring(void);
Suite *suite_auth_keyring(void)
{
    Suite *s = suite_create("auth_keyring");
    const TTest *const verify_tests[] = {
        created_key_verifies_with_all_it_was_given,
        a_row_prefix_holds_after_a_restart,
        service_and_operator_keys_have_no_tenant,
        only_the_hmac_of_the_secret_is_kept,
        wrong_secret_unknown_id_and_wrong_kind_are_all_alike,
        another_pepper_verifies_nothing,
    };
    const TTest *const create_tests[] = {
        scopes_must_fit_the_kind,
        labels_are_checked_at_every_edge,
        keys_of_a_tenant_are_limited,
        a_key_that_is_not_durable_does_not_exist,
        damaged_key_documents_are_refused_at_open,
        closing_nothing_is_fine,
    };
    const TTest *const revoke_tests[] = {
        lists_are_per_tenant_and_in_id_order,
        revoked_key_is_refused_at_once_and_for_ever,
        a_text_near_a_right_one_is_refused_behind_it,
        keys_are_revoked_by_their_owner_only,
        a_key_in_use_outlives_its_revocation,
        revocation_is_effective_at_once_across_threads,
    };
    ADD_CASE(s, "verify", verify_tests);
    ADD_CASE(s, "create", create_tests);
    ADD_CASE(s, "revoke", revoke_tests);
    return s;
}

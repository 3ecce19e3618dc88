/*
 * tests/auth/test_key_doc.c - the stored form of an API key.
 */
#include <check.h>

#include "auth/key_doc.h"
#include "base/record.h"

#include "base/banned.h"

#define ID "AAAABBBBCCCC"

static struct ten_tenant tenant = {.magic = TEN_TENANT_MAGIC, .id = "altostrat", .id_len = 9};

static struct ten_tenant *const LIST[] = {&tenant, &tenant};

static struct auth_key sample(enum auth_kind kind)
{
    static char label[AUTH_LABEL_BYTES + 1];
    memset(label, 'l', AUTH_LABEL_BYTES);
    struct auth_key k = {.id = ID,
                         .kind = kind,
                         .scopes = auth_kind_scopes(kind) & ~(uint64_t)AUTH_TABLE_ADMIN,
                         .tenant = kind == AUTH_TENANT ? &tenant : NULL,
                         .allowed = kind == AUTH_SERVICE ? LIST : NULL,
                         .allowed_count = kind == AUTH_SERVICE ? 2 : 0,
                         .label = label,
                         .row_prefix = kind == AUTH_OPERATOR ? SLICE_EMPTY : SLICE_LIT("a\xff#"),
                         .limits = {1, 2, 3, 4},
                         .created_us = 1700000000123456};
    for (size_t i = 0; i < sizeof k.digest; i++)
        k.digest[i] = (uint8_t)(i * 9);
    return k;
}

static void encode(const struct auth_key *k, struct buf *out)
{
    base_buf_init(out, AUTH_KEY_DOC_MAX);
    ck_assert_int_eq(auth_key_encode(k, out), ERR_OK);
}

START_TEST(round_trip_keeps_everything)
{
    for (enum auth_kind kind = AUTH_TENANT; kind <= AUTH_OPERATOR; kind++) {
        struct auth_key k = sample(kind);
        struct auth_key_doc doc;
        struct slice id;
        struct buf body;
        encode(&k, &body);
        ck_assert_int_eq(auth_key_decode(SLICE_LIT(ID), base_buf_slice(&body), &doc), ERR_OK);
        const struct auth_key back = doc.key;
        ck_assert_int_eq(memcmp(&back.limits, &k.limits, sizeof k.limits), 0);
        ck_assert_uint_eq(doc.allowed_count, k.allowed_count);
        struct slice rest = base_buf_slice(&body);
        for (size_t i = 0; i < k.allowed_count; i++) {
            ck_assert(auth_key_allowed_next(&rest, &id));
            ck_assert(base_slice_is(id, "altostrat"));
        }
        ck_assert(!auth_key_allowed_next(&rest, &id));
        ck_assert_str_eq(back.id, ID);
        ck_assert_int_eq(back.kind, kind);
        ck_assert_uint_eq(back.scopes, k.scopes);
        ck_assert_ptr_null(back.tenant);
        ck_assert(base_slice_is(doc.tenant_id, kind == AUTH_TENANT ? "altostrat" : ""));
        ck_assert_str_eq(back.label, k.label);
        ck_assert(base_slice_equal(back.row_prefix, k.row_prefix));
        ck_assert_int_eq(back.created_us, k.created_us);
        ck_assert_int_eq(memcmp(back.digest, k.digest, sizeof k.digest), 0);
        base_buf_fini(&body);
    }
}
END_TEST

static enum err decode_with(enum auth_kind kind, uint32_t tag, bool number, uint64_t n,
                            struct slice bytes)
{
    struct auth_key k = sample(kind);
    struct auth_key_doc doc;
    struct buf body;
    encode(&k, &body);
    ck_assert_int_eq(number ? base_record_put_u64(&body, tag, n)
                            : base_record_put_bytes(&body, tag, bytes),
                     ERR_OK);
    enum err rc = auth_key_decode(SLICE_LIT(ID), base_buf_slice(&body), &doc);
    base_buf_fini(&body);
    return rc;
}

START_TEST(a_key_that_claims_too_much_is_refused)
{
    ck_assert_int_eq(decode_with(AUTH_TENANT, 2, true, AUTH_ADMIN_READ, SLICE_EMPTY), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(AUTH_OPERATOR, 2, true, AUTH_DATA_READ, SLICE_EMPTY), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(AUTH_SERVICE, 2, true, 0, SLICE_EMPTY), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(AUTH_TENANT, 1, true, AUTH_OPERATOR, SLICE_EMPTY), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(AUTH_SERVICE, 3, false, 0, SLICE_LIT("altostrat")), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(AUTH_SERVICE, 1, true, AUTH_TENANT, SLICE_EMPTY), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(AUTH_OPERATOR, 1, true, 4, SLICE_EMPTY), ERR_UNSUPPORTED);
}
END_TEST

START_TEST(damaged_fields_are_refused)
{
    static const char LONG[AUTH_LABEL_BYTES + 1] = {0};
    ck_assert_int_eq(decode_with(AUTH_SERVICE, 6, false, 0, SLICE_LIT("short")), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(AUTH_SERVICE, 4, false, 0, base_slice(LONG, sizeof LONG)),
                     ERR_CORRUPT);
    ck_assert_int_eq(decode_with(AUTH_TENANT, 3, false, 0, SLICE_EMPTY), ERR_CORRUPT);
    for (uint32_t tag = 1; tag <= 6; tag++) {
        bool is_number = tag == 1 || tag == 2 || tag == 5;
        ck_assert_int_eq(is_number ? decode_with(AUTH_TENANT, tag, false, 0, SLICE_LIT("text"))
                                   : decode_with(AUTH_TENANT, tag, true, 1, SLICE_EMPTY),
                         ERR_CORRUPT);
    }
    struct auth_key_doc doc;
    ck_assert_int_eq(auth_key_decode(SLICE_LIT(ID), SLICE_EMPTY, &doc), ERR_CORRUPT);
}
END_TEST

START_TEST(unknown_fields_are_skipped_and_the_id_is_checked)
{
    ck_assert_int_eq(decode_with(AUTH_TENANT, 500, true, 1, SLICE_EMPTY), ERR_OK);
    struct auth_key k = sample(AUTH_SERVICE);
    struct auth_key_doc doc;
    struct buf body;
    encode(&k, &body);
    ck_assert_int_eq(auth_key_decode(SLICE_LIT("short"), base_buf_slice(&body), &doc), ERR_CORRUPT);
    base_buf_fini(&body);
}
END_TEST

Suite *suite_auth_key_doc(void);
Suite *suite_auth_key_doc(void)
{
    Suite *s = suite_create("auth_key_doc");
    TCase *c = tcase_create("body");
    tcase_add_test(c, round_trip_keeps_everything);
    tcase_add_test(c, a_key_that_claims_too_much_is_refused);
    tcase_add_test(c, damaged_fields_are_refused);
    tcase_add_test(c, unknown_fields_are_skipped_and_the_id_is_checked);
    suite_add_tcase(s, c);
    return s;
}

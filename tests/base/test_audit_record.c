/* tests/base/test_audit_record.c - the canonical texts, and chains of them. */
#include "tests/base/check_base.h"

#include "base/audit_record.h"

Suite *suite_base_audit_record(void);

static struct base_audit_record sample(void)
{
    struct base_audit_record r = {
        .number = 1,
        .tenant_number = 1,
        .tenant = SLICE_LIT("altostrat"),
        .time = SLICE_LIT("2026-11-20T10:00:00.000Z"),
        .key = SLICE_LIT("4fGh67kPq2Xa"),
        .kind = SLICE_LIT("operator"),
        .address = SLICE_LIT("192.0.2.7"),
        .action = SLICE_LIT("tenant.create"),
        .outcome = SLICE_LIT("done"),
        .form = BASE_AUDIT_PLAIN,
    };
    base_audit_seal(&r);
    return r;
}

/* Made with sha256sum of the text that docs/operations.md describes. */
START_TEST(hashes_are_those_of_the_documented_text)
{
    char hex[BASE_AUDIT_HEX + 1];
    struct base_audit_record r = sample();
    base_audit_hex(&r.entry, hex);
    ck_assert_str_eq(hex, "70e8ab8ebc8ded092b04bc781d3adc06c3c81c15a0f2ae154aab2b87fe8ad26c");
    base_audit_hex(&r.hash, hex);
    ck_assert_str_eq(hex, "0c828c626e96a112d1f3a924fefc436248708f5d99229b26553b704e81919610");
}
END_TEST

static struct base_audit_record committed(void)
{
    struct base_audit_record r = sample();
    r.form = BASE_AUDIT_ACTOR;
    for (uint8_t i = 0; i < BASE_AUDIT_SALT; i++)
        r.salt[i] = i;
    base_audit_seal(&r);
    return r;
}

/* The same of the second form. */
START_TEST(hashes_of_the_second_form_cover_a_commitment)
{
    char hex[BASE_AUDIT_HEX + 1];
    struct base_audit_record r = committed();
    base_audit_hex(&r.actor, hex);
    ck_assert_str_eq(hex, "12fe3574214a380d52ebea1bbf1f02db8f762fc54c6f150fd6034ed75f10cce1");
    base_audit_hex(&r.entry, hex);
    ck_assert_str_eq(hex, "02e9af1215e88c0a9284b74b7c1bfe718f90a34a6c294b99665380ecfad73a4c");
    base_audit_hex(&r.hash, hex);
    ck_assert_str_eq(hex, "581d7b127be0905187dcccbaf1cec76aa9bf56e4819d279c9e7c0587b318a4b8");
}
END_TEST

static bool follows(const struct base_audit_record *r)
{
    struct base_audit_head head = {0};
    return base_audit_follow_tenant(&head, r) == NULL;
}

START_TEST(without_its_actor_all_the_rest_of_a_record_is_checked)
{
    struct base_audit_record r = committed();
    r.key = r.address = SLICE_EMPTY;
    memset(r.salt, 0, sizeof r.salt);
    ck_assert(!follows(&r)); /* they are told, and wrong */
    r.is_withheld = true;
    ck_assert(follows(&r));
    r.actor.bytes[0] ^= 1;
    ck_assert(!follows(&r));
    r.actor.bytes[0] ^= 1;
    r.detail = SLICE_LIT("rows=8");
    ck_assert(!follows(&r));
    struct base_audit_record told = committed();
    told.address = SLICE_LIT("192.0.2.8");
    ck_assert(!follows(&told));
}
END_TEST

static struct base_audit_record apart(void)
{
    struct base_audit_record r = committed();
    r.form = BASE_AUDIT_SUBJECT;
    r.action = SLICE_LIT("table.create");
    r.target = SLICE_LIT("events");
    r.detail = SLICE_LIT("families=cf");
    for (uint8_t i = 0; i < BASE_AUDIT_SALT; i++)
        r.subject_salt[i] = 0xf0 | i;
    base_audit_seal(&r);
    return r;
}

/* The same of the third form. */
START_TEST(hashes_of_the_third_form_cover_two_commitments)
{
    char hex[BASE_AUDIT_HEX + 1];
    struct base_audit_record r = apart();
    base_audit_hex(&r.subject, hex);
    ck_assert_str_eq(hex, "b83a3813a3128913a090e2f6644ee7ab039c4645ef6c0f177613044e33213975");
    base_audit_hex(&r.entry, hex);
    ck_assert_str_eq(hex, "f403a2a89aca8dbc8138850be26a8640bad5e48380edb3ed47fe7e33c4c07e04");
    base_audit_hex(&r.hash, hex);
    ck_assert_str_eq(hex, "6438c76fafb6183ff1101f45b08cbfd8581adf64071b3cc85c7a550464deffc6");
}
END_TEST

START_TEST(without_its_subject_all_the_rest_of_a_record_is_checked)
{
    struct base_audit_record r = apart();
    r.target = r.detail = SLICE_EMPTY;
    memset(r.subject_salt, 0, sizeof r.subject_salt);
    ck_assert(!follows(&r)); /* they are told, and wrong */
    r.is_erased = true;
    ck_assert(follows(&r));
    r.subject.bytes[0] ^= 1;
    ck_assert(!follows(&r));
    r.subject.bytes[0] ^= 1;
    r.outcome = SLICE_LIT("conflict");
    ck_assert(!follows(&r));
    struct base_audit_record kept = apart();
    kept.action = SLICE_LIT("key.create"); /* what it names stays */
    base_audit_seal(&kept);
    kept.target = kept.detail = SLICE_EMPTY;
    kept.is_erased = true;
    ck_assert(!follows(&kept));
    struct base_audit_record told = apart();
    told.target = SLICE_LIT("event");
    ck_assert(!follows(&told));
    told = apart();
    told.subject_salt[0] ^= 1;
    ck_assert(!follows(&told));
}
END_TEST

START_TEST(of_the_first_form_without_its_actor_the_place_is_checked)
{
    struct base_audit_record r = sample();
    r.key = r.address = SLICE_EMPTY;
    r.is_withheld = true;
    ck_assert(follows(&r));
    r.tenant_before.bytes[0] ^= 1;
    ck_assert(!follows(&r));
}
END_TEST

START_TEST(records_follow_one_another)
{
    struct base_audit_head head = {0}, of_tenant = {0};
    struct base_audit_record r = sample();
    ck_assert_ptr_null(base_audit_follow(&head, &r));
    ck_assert_ptr_null(base_audit_follow_tenant(&of_tenant, &r));
    ck_assert_ptr_nonnull(base_audit_follow(&head, &r)); /* not twice */
    ck_assert_ptr_nonnull(base_audit_follow_tenant(&of_tenant, &r));
    r.number = 2;
    r.tenant_number = 2;
    r.before = head.hash;
    r.tenant_before = of_tenant.hash;
    base_audit_seal(&r);
    ck_assert_ptr_null(base_audit_follow(&head, &r));
    ck_assert_ptr_null(base_audit_follow_tenant(&of_tenant, &r));
    ck_assert_uint_eq(head.number, 2);
}
END_TEST

START_TEST(a_record_about_no_tenant_has_no_place_among_a_tenants)
{
    struct base_audit_head head = {0};
    struct base_audit_record r = sample();
    r.tenant = SLICE_EMPTY;
    base_audit_seal(&r);
    ck_assert_ptr_nonnull(base_audit_follow_tenant(&head, &r));
    r.tenant_number = 0;
    base_audit_seal(&r);
    ck_assert_ptr_null(base_audit_follow_tenant(&head, &r));
    ck_assert_uint_eq(head.number, 0);
}
END_TEST

/* Two records whose texts would be the same, if a line feed could be in a value. */
START_TEST(a_value_with_a_line_feed_is_refused)
{
    struct base_audit_head head = {0};
    struct base_audit_record r = sample();
    r.target = SLICE_LIT("a\ndetail=b");
    base_audit_seal(&r);
    ck_assert_ptr_nonnull(base_audit_follow(&head, &r));
    ck_assert(!base_audit_value_is_fine(SLICE_LIT("\xff")));
    ck_assert(!base_audit_value_is_fine(SLICE_LIT("\x7f")));
    ck_assert(base_audit_value_is_fine(SLICE_LIT("S\xc3\xb6hne")));
    ck_assert(base_audit_value_is_fine(SLICE_EMPTY));
}
END_TEST

START_TEST(only_canonical_hexadecimal_is_a_hash)
{
    struct base_audit_hash h;
    char text[BASE_AUDIT_HEX + 2];
    memset(text, 'a', sizeof text);
    ck_assert_int_eq(base_audit_unhex(base_slice(text, BASE_AUDIT_HEX), &h), ERR_OK);
    ck_assert_uint_eq(h.bytes[31], 0xaa);
    ck_assert_int_eq(base_audit_unhex(base_slice(text, BASE_AUDIT_HEX - 1), &h), ERR_INVALID);
    ck_assert_int_eq(base_audit_unhex(base_slice(text, BASE_AUDIT_HEX + 1), &h), ERR_INVALID);
    text[5] = 'A';
    ck_assert_int_eq(base_audit_unhex(base_slice(text, BASE_AUDIT_HEX), &h), ERR_INVALID);
    text[5] = '\0';
    ck_assert_int_eq(base_audit_unhex(base_slice(text, BASE_AUDIT_HEX), &h), ERR_INVALID);
}
END_TEST

Suite *suite_base_audit_record(void)
{
    Suite *s = suite_create("base_audit_record");
    TCase *tc = tcase_create("records");
    tcase_add_test(tc, hashes_are_those_of_the_documented_text);
    tcase_add_test(tc, hashes_of_the_second_form_cover_a_commitment);
    tcase_add_test(tc, without_its_actor_all_the_rest_of_a_record_is_checked);
    tcase_add_test(tc, hashes_of_the_third_form_cover_two_commitments);
    tcase_add_test(tc, without_its_subject_all_the_rest_of_a_record_is_checked);
    tcase_add_test(tc, of_the_first_form_without_its_actor_the_place_is_checked);
    tcase_add_test(tc, records_follow_one_another);
    tcase_add_test(tc, a_record_about_no_tenant_has_no_place_among_a_tenants);
    tcase_add_test(tc, a_value_with_a_line_feed_is_refused);
    tcase_add_test(tc, only_canonical_hexadecimal_is_a_hash);
    suite_add_tcase(s, tc);
    return s;
}

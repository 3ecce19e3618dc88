/*
 * tests/auth/test_acting_tenant.c - whose data a key's requests are about.
 */
#include "tests/auth/keys.h"

#include "tenancy/scope.h"

#include "base/banned.h"

/* --- who acts for whom --------------------------------------------------------------------------
 */

static enum err acting(const char *text, const char *named, struct ten_tenant **out)
{
    const struct auth_key *key = NULL;
    ck_assert_int_eq(verify(text, &key), ERR_OK);
    *out = NULL;
    return auth_acting_tenant(key, tent.registry, base_slice_text(named), out, &tent.eb);
}

START_TEST(each_kind_acts_for_whom_it_may)
{
    struct ten_tenant *a = tent_create(&tent, "ab");
    struct ten_tenant *b = tent_create(&tent, "abc");
    struct ten_tenant *got;
    char ka[AUTH_KEY_TEXT + 1];
    char service[AUTH_KEY_TEXT + 1];
    char operator[AUTH_KEY_TEXT + 1];
    create(AUTH_TENANT, a, ka);
    create(AUTH_SERVICE, NULL, service);
    create(AUTH_OPERATOR, NULL, operator);
    ck_assert_int_eq(acting(ka, "", &got), ERR_OK);
    ck_assert_ptr_eq(got, a);
    ck_assert_int_eq(acting(ka, "ab", &got), ERR_OK);
    ck_assert_ptr_eq(got, a);
    ck_assert_int_eq(acting(ka, "abc", &got), ERR_FORBIDDEN);
    ck_assert_int_eq(acting(ka, "a", &got), ERR_FORBIDDEN);
    ck_assert_int_eq(acting(ka, "nobody", &got), ERR_FORBIDDEN);
    ck_assert_ptr_null(got);
    ck_assert_int_eq(acting(service, "abc", &got), ERR_OK);
    ck_assert_ptr_eq(got, b);
    ck_assert_int_eq(acting(service, "", &got), ERR_INVALID);
    ck_assert_int_eq(acting(service, "nobody", &got), ERR_FORBIDDEN);
    struct errbuf unknown = tent.eb;
    ck_assert_int_eq(acting(service, "AB#\x01", &got), ERR_FORBIDDEN);
    ck_assert_str_eq(unknown.text, tent.eb.text); /* says nothing about what exists */
    ck_assert_int_eq(acting(operator, "ab", &got), ERR_FORBIDDEN);
    ck_assert_int_eq(acting(operator, "", &got), ERR_FORBIDDEN);
}
END_TEST

START_TEST(keys_of_a_purged_tenant_stay_valid_and_can_be_revoked)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    char text[AUTH_KEY_TEXT + 1];
    char id[TEN_JOB_ID + 1];
    const struct auth_key *key = NULL;
    struct ten_job job;
    create(AUTH_TENANT, t, text);
    ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_OK);
    ck_assert_int_eq(try_create(AUTH_TENANT, t, 1, SLICE_EMPTY, NULL), ERR_GONE);
    tent_await_job(&tent, id, &job);
    ck_assert_int_eq(job.state, TEN_JOB_DONE);
    ck_assert_int_eq(try_create(AUTH_TENANT, t, 1, SLICE_EMPTY, NULL), ERR_GONE);
    reopen();
    ck_assert_int_eq(verify(text, &key), ERR_OK);
    ck_assert_int_eq(ten_access_check(key->tenant, TEN_READ, &tent.eb), ERR_GONE);
    ck_assert_int_eq(revoke_key(id_of(text), tent_find(&tent, "altostrat")), ERR_OK);
    ck_assert_int_eq(verify(text, &key), ERR_UNAUTHENTICATED);
}
END_TEST

Suite *suite_auth_acting_tenant(void);
Suite *suite_auth_acting_tenant(void)
{
    Suite *s = suite_create("auth_acting_tenant");
    const TTest *const tests[] = {
        each_kind_acts_for_whom_it_may,
        keys_of_a_purged_tenant_stay_valid_and_can_be_revoked,
    };
    ADD_CASE(s, "acting", tests);
    return s;
}

/*
 * tests/auth/test_key_counts.c - tenancy knows how many keys a tenant has: thresholds of its quota.
 */
#include "tests/auth/keys.h"

#include "tenancy/internal.h"
#include "tenancy/sweeper.h"
#include "tenancy/threshold.h"

#include "base/banned.h"

static _Atomic int thresholds_told;

static void threshold_told(const struct ten_threshold_event *event)
{
    ck_assert_str_eq(event->field, "keys");
    ck_assert_str_eq(event->tenant->id, "altostrat");
    atomic_fetch_add(&thresholds_told, 1);
}

static bool so_many_are_told(void *count)
{
    return atomic_load(&thresholds_told) >= *(const int *)count;
}

/* And at none of its other quotas; brightleaf at none at all. */
static void expect_level(uint8_t percent, int told)
{
    struct ten_tenant *t = tent_find(&tent, "altostrat");
    process_await(so_many_are_told, &told, "a threshold");
    ck_assert_int_eq(atomic_load(&thresholds_told), told);
    for (enum ten_used i = 0; i < TEN_USED_COUNT; i++) {
        ck_assert_uint_eq(ten_threshold_level(t, i), i == TEN_USED_KEYS ? percent : 0);
        ck_assert_uint_eq(ten_threshold_level(tent_find(&tent, "brightleaf"), i), 0);
    }
}

static bool rounds_reach(void *count)
{
    return ten_sweeper_stats(tent.registry->sweeper).rounds >= *(const uint64_t *)count;
}

/* The sweeper's, at each of whose ticks a part of the tenants is looked at, one at least. */
static void pass_rounds(void)
{
    uint64_t count = ten_sweeper_stats(tent.registry->sweeper).rounds + 10;
    process_await(rounds_reach, &count, "a look at every tenant");
}

START_TEST(keys_that_are_made_and_revoked_move_the_level_of_their_tenant_alone)
{
    struct ten_quota q;
    char text[AUTH_KEY_TEXT + 1];
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    struct ten_tenant *other = tent_create(&tent, "brightleaf");
    ten_quota_default(&q);
    GIVE(&q, keys, 5);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    GIVE(&q, keys, 10);
    ck_assert_int_eq(tent_set_quota(&tent, other, &q), ERR_OK);
    ten_threshold_listen(tent.registry, threshold_told);
    for (int i = 0; i < 7; i++)
        create(AUTH_TENANT, other, text);
    create(AUTH_SERVICE, NULL, text);
    for (int i = 0; i < 4; i++)
        create(AUTH_TENANT, t, text);
    expect_level(80, 1);
    ck_assert_int_eq(revoke_key(id_of(text), other), ERR_NOT_FOUND);
    create(AUTH_TENANT, t, text);
    expect_level(100, 2);
    ck_assert_int_eq(try_create(AUTH_TENANT, t, 1, SLICE_EMPTY, NULL), ERR_QUOTA);
    ck_assert_int_eq(revoke_key(id_of(text), t), ERR_OK);
    expect_level(80, 3);

    close_keyring();
    tent_reopen(&tent);
    ten_threshold_listen(tent.registry, threshold_told);
    pass_rounds(); /* looked at before there is a keyring */
    open_keyring();
    expect_level(80, 3); /* there at once, and not told again */
    pass_rounds();
    expect_level(80, 3);
    create(AUTH_TENANT, tent_find(&tent, "altostrat"), text);
    expect_level(100, 4);
}
END_TEST

Suite *suite_auth_key_counts(void);
Suite *suite_auth_key_counts(void)
{
    Suite *s = suite_create("auth_key_counts");
    const TTest *const tests[] = {
        keys_that_are_made_and_revoked_move_the_level_of_their_tenant_alone,
    };
    ADD_CASE(s, "counts", tests);
    return s;
}

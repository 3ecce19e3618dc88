/*
 * tests/isolation/test_erased.c - whatever anybody named or wrote of a tenant, through any route or
 * method, at the emulator's listener as well, is nowhere when the tenant is erased, but for what
 * its certificate names.
 */
#include "tests/isolation/erased.h"

#include "base/banned.h"

static struct erased x;

static void leave(void)
{
    http_json(x.op, "POST",
              "{'confirm':'" ERASED_TENANT "','reason':'zq-leave for good','deep':true}",
              "/v1/admin/tenants/" ERASED_TENANT ":offboard");
    EXPECT_STATUS(x.op, 202);
    char job[WORLD_ID];
    (void)snprintf(job, sizeof job, "%s", http_string(x.op, "/job"));
    admin_await_job(x.op, job);
    http_get(x.op, "/v1/admin/tenants/" ERASED_TENANT "/certificate");
    EXPECT_STATUS(x.op, 200);
    ck_assert_uint_eq(http_count(x.op, "/exceptions"), STO_REMAINDERS - 1);
}

/* The tenants of the emulator's listener, under whatever IDs. */
static void leave_plain(void)
{
    size_t i, left = 0;
    json_t *tenant;
    http_get(x.op, "/v1/admin/tenants");
    EXPECT_STATUS(x.op, 200);
    json_t *tenants = json_incref(http_at(x.op, "/tenants"));
    json_array_foreach(tenants, i, tenant)
    {
        if (!json_is_true(json_object_get(tenant, "keyless")))
            continue;
        admin_offboard(x.op, json_string_value(json_object_get(tenant, "id")));
        left++;
    }
    json_decref(tenants);
    ck_assert_uint_eq(left, ERASED_PLAINS);
}

static bool is_stored(void *mark)
{
    return erased_is_somewhere(&x, mark);
}

/* Only what was there can be seen to be gone: each mark is in some file before. */
static void expect_all_marks(void)
{
    for (size_t i = 0; i < ERASED_MARK_COUNT; i++)
        process_await(is_stored, (void *)(uintptr_t)ERASED_MARKS[i].text, ERASED_MARKS[i].text);
}

START_TEST(no_file_holds_what_was_named_or_written)
{
    erased_begin(&x);
    erased_tell_story(&x);
    expect_all_marks();
    erased_walk_all(&x);
    erased_check_fields(&x);
    leave();
    leave_plain();
    server_stop(&x.server);
    const char *found = erased_find(&x);
    ck_assert_msg(found == NULL, "DATA: %s", found);
    erased_end(&x);
}
END_TEST

Suite *suite_isolation_erased(void);
Suite *suite_isolation_erased(void)
{
    Suite *s = suite_create("isolation_erased");
    TCase *tc = tcase_create("erased");
    tcase_set_timeout(tc, 1200);
    tcase_add_test(tc, no_file_holds_what_was_named_or_written);
    suite_add_tcase(s, tc);
    return s;
}

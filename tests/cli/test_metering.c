/* tests/cli/test_metering.c - bills on the command line, with an operator's and a tenant's key. */
#define _GNU_SOURCE
#include "tests/cli/session.h"

#include "base/banned.h"

START_TEST(metering_prints_what_the_server_sends)
{
    bigtent(&r, &op, "metering", "--format", "csv", "--tenant", w.tenant);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "hour,tenant,stored_bytes,stored_byte_seconds,read_ops,");
    bigtent(&r, &tenant, "metering", "--format", "csv", "--from", "2020-01-01T00:00:00Z");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "hour,tenant,");
    bigtent(&r, &op, "metering", "--from", "2020-01-01T00:00:00Z", "--until",
            "2020-01-02T00:00:00Z");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "");
}
END_TEST

START_TEST(metering_refuses_what_makes_no_sense)
{
    bigtent(&r, &op, "metering", "--format", "xml");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &op, "metering", "--from", "yesterday");
    ck_assert_int_ne(r.code, 0);
    EXPECT_IN(r.err, "from is the beginning of an hour");
    bigtent(&r, &op, "metering", "--tenant", "nobody-is-called-this");
    ck_assert_int_ne(r.code, 0);
    bigtent(&r, &op, "metering", "november");
    EXPECT_CODE(&r, 2);
}
END_TEST

Suite *suite_cli_metering(void);

Suite *suite_cli_metering(void)
{
    Suite *s = suite_create("cli_metering");
    TCase *t = session_tcase("metering", session_set_up);
    tcase_add_test(t, metering_prints_what_the_server_sends);
    tcase_add_test(t, metering_refuses_what_makes_no_sense);
    world_end(t);
    suite_add_tcase(s, t);
    return s;
}

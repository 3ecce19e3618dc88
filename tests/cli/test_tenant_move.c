/*
 * tests/cli/test_tenant_move.c - a tenant from one server to another: while it is written to, and
 * the way back. Kills are in test_tenant_move_cut.c, what moves beside rows in
 * test_tenant_move_parts.c.
 */
#define _GNU_SOURCE
#include "tests/cli/tenant_move.h"

#include "base/banned.h"

START_TEST(everything_of_a_tenant_moves)
{
    fill_random(7);
    fill_table("devices", 500, 100);
    http_json(w.http, "PUT", "{'families':{'f':{'type':'int64','gc':{'max_versions':3}}}}",
              "/v1/tables/empty");
    admin_set_quota(w.op, w.tenant, "{'tables':17}");
    bigtent(&r, &op, MOVE, "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("tables"), 3);
    ck_assert_int_eq(figure("rows"), 700);
    ck_assert_int_eq(http_get(their_http, "/v1/usage"), 200);
    ck_assert_int_eq(http_number(their_http, "/quota/tables"), 17);
    expect_equal("random");
    expect_equal("devices");
    ck_assert_int_eq(http_get(their_http, "/v1/tables/empty"), 200);
    ck_assert_int_eq(http_number(their_http, "/families/f/gc/max_versions"), 3);
    ck_assert_str_eq(http_string(their_http, "/families/f/type"), "int64");
    ck_assert(!has_stream(their_http, "devices"));
    /* Here it can be read, and nobody writes. */
    ck_assert(!writes_pass());
    EXPECT_IN(http_text(w.http), "moved to https://");
    /* It is done: nothing is left to do. */
    bigtent(&r, &op, MOVE, "--resume");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.err, "moved by an earlier run");
    bigtent(&r, &op, MOVE);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "has notes of this move");
}
END_TEST

/* --- while it is written to ---------------------------------------------------------------------
 */

START_TEST(writes_go_on_and_none_is_lost)
{
    struct random rnd = {(uint64_t)_i + 11};
    start_slow_move();
    ck_assert_int_eq(write_on(&rnd, 150), 150);
    admin_set_quota(w.op, w.tenant, "{}");
    (void)write_on(&rnd, 1000000); /* until it is suspended, which may be at once */
    run_finish(&r);
    EXPECT_CODE(&r, 0);
    expect_equal("devices");
    expect_equal("random");
}
END_TEST

START_TEST(tables_and_families_that_come_meanwhile_move_too)
{
    struct random rnd = {31};
    start_slow_move();
    (void)write_on(&rnd, 60);
    ck_assert_int_eq(http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/late"), 201);
    tenant_put(w.http, "late", "row", "f", "q", "v");
    ck_assert_int_eq(
        http_json(w.http, "POST", "{'create':{'more':{}}}", "/v1/tables/devices:families"), 200);
    tenant_put(w.http, "devices", "row", "more", "q", "v");
    admin_set_quota(w.op, w.tenant, "{}");
    run_finish(&r);
    EXPECT_CODE(&r, 0);
    expect_equal("late");
    expect_equal("devices");
}
END_TEST

/* --- the way back -------------------------------------------------------------------------------
 */

START_TEST(aborted_move_leaves_the_tenant_as_it_was)
{
    struct random rnd = {41};
    if (_i == 0) { /* cut in the middle */
        start_slow_move();
        (void)write_on(&rnd, 60);
        (void)kill(r.pid, SIGKILL);
        run_finish(&r);
    } else { /* or at its end */
        bigtent(&r, &op, MOVE);
        EXPECT_CODE(&r, 0);
        ck_assert(!writes_pass());
    }
    bigtent(&r, &op, MOVE, "--abort");
    EXPECT_CODE(&r, 0);
    ck_assert(!is_there("notes"));
    ck_assert(writes_pass());
    ck_assert(!has_stream(w.http, "devices"));
    /* Behind its end it may be in use over there. */
    ck_assert_int_eq(http_get(their_http, "/v1/tables/devices"), _i == 0 ? 404 : 200);
    bigtent(&r, &op, MOVE, "--abort");
    EXPECT_CODE(&r, 2);
}
END_TEST

START_TEST(sides_that_differ_are_not_switched)
{
    struct random rnd = {51};
    start_slow_move();
    (void)write_on(&rnd, 60);
    put_stranger();
    admin_set_quota(w.op, w.tenant, "{}");
    run_finish(&r);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "the table devices differs");
    EXPECT_IN(r.err, "writes go on here");
    ck_assert(writes_pass());
    ck_assert_int_eq(http_delete(their_http, "/v1/tables/devices/rows/zebra"), 204);
    bigtent(&r, &op, MOVE, "--resume");
    EXPECT_CODE(&r, 0);
    expect_equal("devices");
}
END_TEST

/* --- what is refused ----------------------------------------------------------------------------
 */

START_TEST(tenants_in_the_way_are_not_touched)
{
    admin_create_tenant(their_op, w.tenant);
    ck_assert_int_eq(http_json(their_http, "PUT", "{'families':{'f':{}}}", "/v1/tables/t"), 201);
    bigtent(&r, &op, MOVE);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "has tables over there already");
    ck_assert(!is_there("notes"));
    ck_assert_int_eq(http_delete(their_http, "/v1/tables/t"), 204);
    /* Suspended by somebody. */
    http_json(w.op, "POST", "{'reason':'unpaid','access':'all'}", "/v1/admin/tenants/%s:suspend",
              w.tenant);
    bigtent(&r, &op, MOVE);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "is suspended, and not by a move there");
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s:resume", w.tenant);
    bigtent(&r, &op, MOVE);
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(notes_of_other_moves_are_not_believed)
{
    write_file("notes", "{}", 2);
    bigtent(&r, &op, MOVE, "--resume");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "holds no notes of a tenant's move");
    static const char other[] =
        "{\"format\":\"bigtent-tenant-move\",\"version\":1,\"tenant\":\"x\","
        "\"from\":\"y\",\"to\":\"z\",\"tables\":[]}";
    write_file("notes", other, strlen(other));
    bigtent(&r, &op, MOVE, "--resume");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "is about another move");
}
END_TEST

START_TEST(servers_and_keys_are_checked)
{
    bigtent(&r, &op, "tenant", "move", "No-Tenant", "--data-key-file", in_dir("data.key"), "--to",
            to_url, "--to-key-file", in_dir("to.key"), "--to-data-key-file", to_data_key());
    EXPECT_CODE(&r, 2);
    bigtent(&r, &op, "tenant", "move", w.tenant, "--data-key-file", in_dir("data.key"), "--to", url,
            "--to-key-file", in_dir("to.key"), "--to-data-key-file", to_data_key());
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "--to is the server itself");
    bigtent(&r, &op, "tenant", "move", w.tenant, "--data-key-file", in_dir("data.key"), "--to",
            "http://x", "--to-key-file", in_dir("to.key"), "--to-data-key-file", to_data_key());
    EXPECT_CODE(&r, 2);
    /* A key of another server. */
    write_key("to.key", world_server()->operator_key);
    bigtent(&r, &op, MOVE);
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "over there");
    ck_assert(writes_pass());
}
END_TEST

START_TEST(change_stream_of_the_tenant_stays)
{
    ck_assert_int_eq(http_json(w.http, "PUT",
                               "{'families':{'f':{}},'change_stream_retention':'172800s'}",
                               "/v1/tables/watched"),
                     201);
    tenant_put(w.http, "watched", "row", "f", "q", "v");
    bigtent(&r, &op, MOVE);
    EXPECT_CODE(&r, 0);
    expect_equal("watched");
    ck_assert_int_eq(http_get(their_http, "/v1/tables/watched"), 200);
    ck_assert_str_eq(http_string(their_http, "/change_stream_retention"), "172800s");
    bigtent(&r, &op, MOVE, "--abort");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(http_get(w.http, "/v1/tables/watched"), 200);
    ck_assert_str_eq(http_string(w.http, "/change_stream_retention"), "172800s");
}
END_TEST

Suite *suite_cli_tenant_move(void);
Suite *suite_cli_tenant_move(void)
{
    Suite *s = suite_create("cli_tenant_move");
    TCase *t = tcase_create("two servers");
    tcase_set_timeout(t, 90);
    world_begin(t);
    tcase_add_checked_fixture(t, move_set_up, move_tear_down);
    tcase_add_test(t, everything_of_a_tenant_moves);
    tcase_add_loop_test(t, writes_go_on_and_none_is_lost, 0, 2);
    tcase_add_test(t, tables_and_families_that_come_meanwhile_move_too);
    tcase_add_loop_test(t, aborted_move_leaves_the_tenant_as_it_was, 0, 2);
    tcase_add_test(t, sides_that_differ_are_not_switched);
    tcase_add_test(t, tenants_in_the_way_are_not_touched);
    tcase_add_test(t, notes_of_other_moves_are_not_believed);
    tcase_add_test(t, servers_and_keys_are_checked);
    tcase_add_test(t, change_stream_of_the_tenant_stays);
    world_end(t);
    suite_add_tcase(s, t);
    return s;
}

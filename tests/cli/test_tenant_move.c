/*
 * tests/cli/test_tenant_move.c - a tenant from one server to another: while it is written to, with
 * kills, and the way back.
 */
#define _GNU_SOURCE
#include "tests/cli/transfer.h"

#include "base/banned.h"

static struct server there;
static struct http *their_op;
static struct http *their_http; /* as the tenant, over there */
static char to_url[64];
static char our_data_key[WORLD_KEY];
static char their_data_key[WORLD_KEY];

static void write_key(const char *name, const char *key)
{
    write_file(name, key, strlen(key));
    ck_assert_int_eq(chmod(in_dir(name), 0600), 0);
}

static void set_up(void)
{
    char id[WORLD_ID];
    session_set_up();
    keeper = process_temp_dir(dir);
    server_create(&there);
    server_start(&there, NULL);
    (void)snprintf(to_url, sizeof to_url, "https://127.0.0.1:%u", there.port);
    their_op = http_open(&there, HTTP_2, there.operator_key);
    admin_create_global_key(w.op, "service", our_data_key, id);
    admin_create_global_key(their_op, "service", their_data_key, id);
    write_key("data.key", our_data_key);
    write_key("to.key", there.operator_key);
    write_key("to-data.key", their_data_key);
    their_http = http_open(&there, HTTP_2, their_data_key);
    http_always(their_http, "Bigtent-Tenant: %s", w.tenant);
}

static void tear_down(void)
{
    http_close(their_http);
    http_close(their_op);
    server_remove(&there);
    process_temp_dir_remove(dir, keeper);
    session_tear_down();
}

#define MOVE                                                                                       \
    "tenant", "move", w.tenant, "--data-key-file", in_dir("data.key"), "--to", to_url,             \
        "--to-cacert", there.ca, "--to-key-file", in_dir("to.key"), "--to-data-key-file",          \
        to_data_key(), "--state", state_path()

/* in_dir's texts last for four calls. */
static const char *to_data_key(void)
{
    static char path[TRANSFER_PATH];
    (void)snprintf(path, sizeof path, "%s/to-data.key", dir);
    return path;
}

static const char *state_path(void)
{
    static char path[TRANSFER_PATH];
    (void)snprintf(path, sizeof path, "%s/notes", dir);
    return path;
}

/* All rows of a table, as lines. */
static struct buf rows_of(struct http *h, const char *table)
{
    struct buf rows;
    http_once(h, "Accept: application/x-ndjson");
    ck_assert_int_eq(http_get(h, "/v1/tables/%s/rows", table), 200);
    base_buf_init(&rows, HTTP_BODY_MAX);
    ck_assert_int_eq(base_buf_append(&rows, base_buf_slice(&h->body)), ERR_OK);
    return rows;
}

/* A slow tenant is slow over there, too: what holds for it moved with it. */
static void expect_equal(const char *table)
{
    admin_set_quota(their_op, w.tenant, "{}");
    struct buf here = rows_of(w.http, table);
    struct buf over_there = rows_of(their_http, table);
    ck_assert_msg(base_slice_equal(base_buf_slice(&here), base_buf_slice(&over_there)),
                  "%s differs: %zu and %zu bytes", table, here.len, over_there.len);
    base_buf_fini(&here);
    base_buf_fini(&over_there);
}

static bool writes_pass(void)
{
    int got = http_json(w.http, "PATCH", "{'stats':{'q':'v'}}", "/v1/tables/devices/rows/after");
    ck_assert(got == 200 || got == 201 || got == 403);
    return got != 403;
}

START_TEST(everything_of_a_tenant_moves)
{
    fill_random(7);
    fill_table("devices", 500, 100);
    http_json(w.http, "PUT", "{'families':{'f':{'gc':{'max_versions':3}}}}", "/v1/tables/empty");
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
    ck_assert_int_eq(http_get(their_http, "/v1/tables/devices"), 200);
    json_t *retention = http_at(their_http, "/change_stream_retention");
    ck_assert(retention == NULL || json_is_null(retention));
    /* Here it can be read, and nobody writes. */
    ck_assert(!writes_pass());
    EXPECT_IN(http_text(w.http), "moved to https://");
    /* Again it is compared, and that is all. */
    bigtent(&r, &op, MOVE, "--resume");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, MOVE);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "has notes of this move");
}
END_TEST

/* --- while it is written to ---------------------------------------------------------------------
 */

static void start_slow_move(void)
{
    fill_table("devices", 3000, 200);
    fill_random(8);
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':400000,'burst_ms':100}");
    const char *const args[] = {MOVE, NULL};
    run_start(&r, &op, args);
    for (int tries = 0; !is_there("notes"); tries++) {
        ck_assert_int_lt(tries, 6000);
        process_sleep_ms(5);
    }
}

/* A write of some kind; false: the tenant is suspended. */
static bool write_something(struct random *rnd, int n)
{
    int row = (int)random_below(rnd, 3500);
    int status = 0;
    switch (random_below(rnd, 5)) {
    case 0:
        status = http_delete(w.http, "/v1/tables/devices/rows/k%06d", row);
        break;
    case 1:
        status = http_json(w.http, "PATCH", "{'stats':{'q':null}}", "/v1/tables/devices/rows/k%06d",
                           row);
        break;
    case 2:
        http_once(w.http, "Content-Type: application/json");
        status = http_json(w.http, "PATCH", "{'n':{'count':1},'h':{'who':'me'}}",
                           "/v1/tables/random/rows/r%d", row % 50);
        break;
    case 3:
        status = n % 40 == 0
                     ? http_json(w.http, "POST", "{'prefix':'k0001'}", "/v1/tables/devices:drop")
                     : 200;
        break;
    default:
        status =
            http_json(w.http, "PATCH", "{'raw':{'x':'new'}}", "/v1/tables/devices/rows/k%06d", row);
        break;
    }
    /* 503: nothing was done, a busy server may say so. */
    ck_assert_msg(status == 403 || status == 200 || status == 201 || status == 204 ||
                      status == 404 || status == 503,
                  "status %d: %s", status, http_text(w.http));
    return status != 403;
}

static bool is_running(pid_t pid)
{
    int status = 0;
    siginfo_t info = {0};
    (void)status;
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

/* Writes until it is suspended, or so many; how many passed. */
static int write_on(struct random *rnd, int most)
{
    int n = 0;
    while (n < most && is_running(r.pid) && write_something(rnd, n))
        n++;
    return n;
}

START_TEST(writes_go_on_and_none_is_lost)
{
    struct random rnd = {(uint64_t)_i + 11};
    start_slow_move();
    (void)write_on(&rnd, 300);
    admin_set_quota(w.op, w.tenant, "{}");
    ck_assert_int_gt(write_on(&rnd, 1000000), 20); /* until it is suspended */
    run_finish(&r);
    EXPECT_CODE(&r, 0);
    expect_equal("devices");
    expect_equal("random");
}
END_TEST

START_TEST(killed_move_goes_on)
{
    struct random rnd = {(uint64_t)_i + 21};
    start_slow_move();
    (void)write_on(&rnd, 1 + (int)random_below(&rnd, 400));
    (void)kill(r.pid, SIGKILL);
    run_finish(&r);
    (void)write_something(&rnd, 1);
    admin_set_quota(w.op, w.tenant, "{}");
    bool begun = is_there("notes");
    if (begun)
        bigtent(&r, &op, MOVE, "--resume");
    else
        bigtent(&r, &op, MOVE);
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
    ck_assert_int_eq(http_get(w.http, "/v1/tables/devices"), 200);
    json_t *retention = http_at(w.http, "/change_stream_retention");
    ck_assert(retention == NULL || json_is_null(retention));
    bigtent(&r, &op, MOVE, "--abort");
    EXPECT_CODE(&r, 2);
}
END_TEST

START_TEST(sides_that_differ_are_not_switched)
{
    struct random rnd = {51};
    start_slow_move();
    (void)write_on(&rnd, 60);
    tenant_put(their_http, "devices", "zebra", "stats", "q", "a stranger's");
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
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, everything_of_a_tenant_moves);
    tcase_add_loop_test(t, writes_go_on_and_none_is_lost, 0, 2);
    tcase_add_loop_test(t, killed_move_goes_on, 0, 4);
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

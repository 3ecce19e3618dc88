/*
 * tests/cli/test_tenant_move_cut.c - a tenant's move that is cut: kill -9 of the tool and of either
 * server, at each of its steps, while all kinds of writes go on.
 */
#define _GNU_SOURCE
#include "tests/cli/tenant_move.h"

#include "base/banned.h"

enum step { BEGUN, COPYING, CATCHING_UP, STOPPED, COMPARED, STEPS };

/* What the notes say; NULL while they are being replaced. */
static json_t *read_notes(void)
{
    struct buf bytes = {0};
    if (base_file_read(state_path(), 1UL << 20, &bytes, NULL) != ERR_OK)
        return NULL;
    json_t *doc = json_loadb((const char *)bytes.ptr, bytes.len, JSON_ALLOW_NUL, NULL);
    base_buf_fini(&bytes);
    return doc;
}

static bool all_is_copied(void)
{
    json_t *notes = read_notes();
    const json_t *tables = json_object_get(notes, "tables");
    bool is_copied = json_array_size(tables) > 0;
    for (size_t i = 0; i < json_array_size(tables); i++)
        is_copied = is_copied && json_is_true(json_at(json_array_get(tables, i), "/copied"));
    json_decref(notes);
    return is_copied;
}

static bool is_done(void)
{
    json_t *notes = read_notes();
    bool done = json_is_true(json_object_get(notes, "done"));
    json_decref(notes);
    return done;
}

static bool is_suspended(void)
{
    ck_assert_int_eq(http_get(w.op, "/v1/admin/tenants/%s", w.tenant), 200);
    return strcmp(http_string(w.op, "/state"), "suspended") == 0;
}

static bool is_reached(enum step step, int writes)
{
    switch (step) {
    case BEGUN:
        return true;
    case COPYING:
        return writes >= 30;
    case CATCHING_UP:
        return all_is_copied();
    case STOPPED:
        return is_suspended();
    case COMPARED:
        return is_done();
    case STEPS:
        break;
    }
    return true;
}

/* Writes as long as it may, until the step is reached or the tool has ended. */
static void write_until(struct random *rnd, enum step step)
{
    bool passes = true;
    for (int n = 0; is_running(r.pid) && !is_reached(step, n); n++) {
        if (passes)
            passes = write_something(rnd, n);
    }
}

/* A move in which that step was just reached. Slow up to the middle of the copy. */
static void start_move_until(struct random *rnd, enum step step)
{
    start_slow_move();
    if (step > BEGUN)
        write_until(rnd, COPYING);
    if (step > COPYING)
        admin_set_quota(w.op, w.tenant, "{}");
    write_until(rnd, step);
}

static void expect_moved(void)
{
    ck_assert(is_done());
    expect_equal("devices");
    expect_equal("random");
    ck_assert(!writes_pass());
}

START_TEST(killed_tool_goes_on)
{
    struct random rnd = {(uint64_t)_i + 21};
    start_move_until(&rnd, (enum step)_i);
    (void)kill(r.pid, SIGKILL);
    run_finish(&r);
    if (!is_suspended())
        for (int n = 0; n < 20; n++)
            ck_assert(write_something(&rnd, n));
    admin_set_quota(w.op, w.tenant, "{}");
    bigtent(&r, &op, MOVE, "--resume");
    EXPECT_CODE(&r, 0);
    expect_moved();
}
END_TEST

START_TEST(killed_tool_is_aborted)
{
    struct random rnd = {(uint64_t)_i + 31};
    start_move_until(&rnd, (enum step)_i);
    (void)kill(r.pid, SIGKILL);
    run_finish(&r);
    bool was_done = is_done(); /* it may have come to its end before the signal */
    admin_set_quota(w.op, w.tenant, "{}");
    bigtent(&r, &op, MOVE, "--abort");
    EXPECT_CODE(&r, 0);
    ck_assert(!is_there("notes"));
    ck_assert(writes_pass());
    ck_assert(!has_stream(w.http, "devices"));
    ck_assert(!has_stream(w.http, "random"));
    /* Nothing of it is left over there, and it may be started again. What is done stays. */
    ck_assert_int_eq(http_get(their_http, "/v1/tables"), 200);
    ck_assert_uint_eq(json_array_size(http_at(their_http, "/tables")), was_done ? 2 : 0);
    if (was_done)
        return;
    bigtent(&r, &op, MOVE);
    EXPECT_CODE(&r, 0);
    expect_moved();
}
END_TEST

/* --- servers ------------------------------------------------------------------------------------
 */

/* At its own port. */
static void kill_and_start(struct server *s)
{
    static char address[2][32];
    char *own = address[s == &there];
    (void)snprintf(own, sizeof address[0], "127.0.0.1:%u", s->port);
    server_kill(s);
    s->options[0] = "--listen";
    s->options[1] = own;
    server_start(s, NULL);
    http_reconnect(s == &here ? w.op : their_op);
    http_reconnect(s == &here ? w.http : their_http);
}

/* By itself where requests are repeated; else --resume goes on. */
static void expect_goes_on(void)
{
    run_finish(&r);
    ck_assert_msg(r.code == 0 || r.code == 3, "code %d: %s", r.code, r.err);
    if (r.code != 0)
        bigtent(&r, &op, MOVE, "--resume");
    EXPECT_CODE(&r, 0);
    expect_moved();
}

START_TEST(killed_servers_are_waited_for)
{
    struct random rnd = {(uint64_t)_i + 41};
    start_move_until(&rnd, (enum step)_i);
    kill_and_start(&here);
    write_until(&rnd, (enum step)_i);
    kill_and_start(&there);
    admin_set_quota(w.op, w.tenant, "{}");
    write_until(&rnd, COMPARED);
    expect_goes_on();
}
END_TEST

Suite *suite_cli_tenant_move_cut(void);
Suite *suite_cli_tenant_move_cut(void)
{
    Suite *s = suite_create("cli_tenant_move_cut");
    TCase *t = tcase_create("tool");
    tcase_set_timeout(t, 600);
    tcase_add_checked_fixture(t, move_set_up_own, move_tear_down_own);
    tcase_add_loop_test(t, killed_tool_goes_on, BEGUN, STEPS);
    tcase_add_loop_test(t, killed_tool_is_aborted, CATCHING_UP, STEPS);
    suite_add_tcase(s, t);
    t = tcase_create("servers");
    tcase_set_timeout(t, 600);
    tcase_add_checked_fixture(t, move_set_up_own, move_tear_down_own);
    tcase_add_loop_test(t, killed_servers_are_waited_for, COPYING, COMPARED);
    suite_add_tcase(s, t);
    return s;
}

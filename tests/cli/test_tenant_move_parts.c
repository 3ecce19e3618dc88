/*
 * tests/cli/test_tenant_move_parts.c - what is a tenant's beside its rows, and moves with it:
 * views, protection, plan, hold, encryption; keys, which cannot; and what is another tenant's, and
 * stays.
 */
#define _GNU_SOURCE
#include "tests/cli/tenant_move.h"
#include "tests/grpc/views.h"

#include "base/banned.h"

#define MASTER "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF\n"

/* --- authorized views ---------------------------------------------------------------------------
 */

static void make_view(const char *id, const char *prefix, bool protected)
{
    static struct subset parts;
    Bta__AuthorizedView *view = subset_of(&parts, prefix);
    view->deletion_protection = protected;
    ck_assert_msg(create_view(id, view) == 0, "%s", call->message);
}

/* The list as it comes, without etags: they are the server's. */
static Bta__ListAuthorizedViewsResponse *list_views(const struct server *s, const char *key)
{
    struct grpc_client other;
    Bta__ListAuthorizedViewsRequest all = BTA__LIST_AUTHORIZED_VIEWS_REQUEST__INIT;
    all.parent = table;
    all.view = BTA__AUTHORIZED_VIEW__RESPONSE_VIEW__FULL;
    grpc_open(&other, s, key, 0);
    struct grpc_call *listed = grpc_ask(&other, ADMIN "ListAuthorizedViews", &all.base);
    ck_assert_msg(listed->status == 0, "%s", listed->message);
    Bta__ListAuthorizedViewsResponse *list =
        (void *)grpc_message_new(listed, &bta__list_authorized_views_response__descriptor, 0);
    ck_assert_ptr_nonnull(list);
    grpc_close(&other);
    return list;
}

static void expect_same_view(const Bta__AuthorizedView *a, const Bta__AuthorizedView *b)
{
    uint8_t first[4096];
    uint8_t second[4096];
    ck_assert_str_eq(a->name, b->name);
    ck_assert_int_eq(a->deletion_protection, b->deletion_protection);
    size_t len = protobuf_c_message_get_packed_size(&a->subset_view->base);
    ck_assert_uint_eq(len, protobuf_c_message_get_packed_size(&b->subset_view->base));
    ck_assert_uint_le(len, sizeof first);
    (void)protobuf_c_message_pack(&a->subset_view->base, first);
    (void)protobuf_c_message_pack(&b->subset_view->base, second);
    ck_assert_mem_eq(first, second, len);
}

static void expect_same_views(size_t wanted)
{
    char key[WORLD_KEY], id[WORLD_ID];
    admin_create_key(their_op, w.tenant, NULL, key, id);
    Bta__ListAuthorizedViewsResponse *ours = list_views(world_server(), w.key);
    Bta__ListAuthorizedViewsResponse *theirs = list_views(&there, key);
    ck_assert_uint_eq(ours->n_authorized_views, wanted);
    ck_assert_uint_eq(theirs->n_authorized_views, wanted);
    for (size_t i = 0; i < wanted; i++)
        expect_same_view(ours->authorized_views[i], theirs->authorized_views[i]);
    bta__list_authorized_views_response__free_unpacked(ours, NULL);
    bta__list_authorized_views_response__free_unpacked(theirs, NULL);
}

static void begin_views(void)
{
    grpc_open(&client, world_server(), w.key, 0);
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/devices", w.tenant);
    tenant_put(w.http, "devices", "u1", "stats", "q", "v");
}

START_TEST(authorized_views_move)
{
    begin_views();
    make_view("first", "u", false);
    make_view("second", "u1", true);
    bigtent(&r, &op, MOVE, "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("views"), 2);
    expect_same_views(2);
    grpc_close(&client);
}
END_TEST

/* A first try brought views, and was taken back by a difference. */
START_TEST(views_that_changed_between_two_tries_are_as_they_are_now)
{
    begin_views();
    make_view("changed", "u", true);
    make_view("dropped", "u", true);
    start_slow_move();
    put_stranger();
    admin_set_quota(w.op, w.tenant, "{}");
    run_finish(&r);
    EXPECT_CODE(&r, 5);
    Bta__AuthorizedView gone = BTA__AUTHORIZED_VIEW__INIT;
    Bta__UpdateAuthorizedViewRequest open = BTA__UPDATE_AUTHORIZED_VIEW_REQUEST__INIT;
    Google__Protobuf__FieldMask mask = GOOGLE__PROTOBUF__FIELD_MASK__INIT;
    char *paths[] = {text("deletion_protection")};
    Bta__DeleteAuthorizedViewRequest drop = BTA__DELETE_AUTHORIZED_VIEW_REQUEST__INIT;
    mask.paths = paths;
    mask.n_paths = 1;
    gone.name = view_name; /* of "dropped", which was made last */
    open.authorized_view = &gone;
    open.update_mask = &mask;
    drop.name = view_name;
    ck_assert_int_eq(ask(ADMIN "UpdateAuthorizedView", &open.base), 0);
    ck_assert_int_eq(ask(ADMIN "DeleteAuthorizedView", &drop.base), 0);
    make_view("new", "u2", false);
    static struct subset parts;
    Bta__UpdateAuthorizedViewRequest other = BTA__UPDATE_AUTHORIZED_VIEW_REQUEST__INIT;
    char name[NAME];
    (void)snprintf(name, sizeof name, "%s/authorizedViews/changed", table);
    other.authorized_view = subset_of(&parts, "x");
    other.authorized_view->name = name;
    ck_assert_int_eq(ask(ADMIN "UpdateAuthorizedView", &other.base), 0);
    ck_assert_int_eq(http_delete(their_http, "/v1/tables/devices/rows/zebra"), 204);
    bigtent(&r, &op, MOVE, "--resume");
    EXPECT_CODE(&r, 0);
    expect_same_views(2);
    grpc_close(&client);
}
END_TEST

/* --- what protects and limits -------------------------------------------------------------------
 */

START_TEST(protected_tables_move_and_are_taken_back)
{
    begin_views();
    ck_assert_int_eq(http_json(w.http, "PUT",
                               "{'families':{'stats':{},'raw':{}},'deletion_protection':true,"
                               "'row_key_notes':'serial'}",
                               "/v1/tables/devices"),
                     200);
    make_view("view", "u", true);
    start_slow_move();
    put_stranger();
    admin_set_quota(w.op, w.tenant, "{}");
    run_finish(&r);
    EXPECT_CODE(&r, 5);
    ck_assert_int_eq(http_get(their_http, "/v1/tables/devices"), 200);
    ck_assert(json_is_true(http_at(their_http, "/deletion_protection")));
    ck_assert_str_eq(http_string(their_http, "/row_key_notes"), "serial");
    bigtent(&r, &op, MOVE, "--abort");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(http_get(their_http, "/v1/tables"), 200);
    ck_assert_uint_eq(json_array_size(http_at(their_http, "/tables")), 0);
    ck_assert_int_eq(http_get(w.http, "/v1/tables/devices"), 200);
    ck_assert(json_is_true(http_at(w.http, "/deletion_protection")));
    grpc_close(&client);
}
END_TEST

START_TEST(name_plan_and_hold_move)
{
    static const char PLAN[] = "{'quota':{'tables':33}}";
    ck_assert_int_eq(http_json(w.op, "PUT", PLAN, "/v1/admin/plans/moving"), 201);
    ck_assert_int_eq(http_json(w.op, "PATCH", "{'display_name':'Acme \xc3\xa9','plan':'moving'}",
                               "/v1/admin/tenants/%s", w.tenant),
                     200);
    ck_assert_int_eq(
        http_json(w.op, "POST", "{'reason':'file 17'}", "/v1/admin/tenants/%s:hold", w.tenant),
        200);
    bigtent(&r, &op, MOVE, "--dry-run");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "plan moving is not over there");
    bigtent(&r, &op, MOVE);
    EXPECT_CODE(&r, 4);
    ck_assert(!is_there("notes"));
    ck_assert_int_eq(http_json(their_op, "PUT", PLAN, "/v1/admin/plans/moving"), 201);
    bigtent(&r, &op, MOVE);
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(http_get(their_op, "/v1/admin/tenants/%s", w.tenant), 200);
    ck_assert_str_eq(http_string(their_op, "/display_name"), "Acme \xc3\xa9");
    ck_assert_str_eq(http_string(their_op, "/plan"), "moving");
    ck_assert_str_eq(http_string(their_op, "/hold/reason"), "file 17");
    ck_assert_int_eq(http_number(their_op, "/quota/tables"), 33);
}
END_TEST

/* --- encryption ---------------------------------------------------------------------------------
 */

static void start_sealed(struct server *s)
{
    static char path[2][PROCESS_PATH + 32];
    char *own = path[s == &there];
    (void)snprintf(own, sizeof path[0], "%s/master.key", s->root);
    ck_assert_int_eq(base_file_replace(own, base_slice_text(MASTER), 0600, NULL), ERR_OK);
    if (s->pid > 0)
        server_stop(s);
    s->options[0] = "--master-key-file";
    s->options[1] = own;
    server_start(s, NULL);
}

/* The tenant of w: one that is encrypted, instead of acme. */
static void make_sealed(void)
{
    char id[WORLD_ID];
    start_sealed(&here);
    http_close(w.http);
    http_close(w.op);
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u", here.port);
    w.op = http_open(&here, HTTP_2, here.operator_key);
    (void)snprintf(w.tenant, sizeof w.tenant, "sealed");
    ck_assert_int_eq(
        http_json(w.op, "POST", "{'id':'sealed','encrypted':true}", "/v1/admin/tenants"), 201);
    admin_create_key(w.op, w.tenant, NULL, w.key, id);
    w.http = http_open(&here, HTTP_2, w.key);
    ck_assert_int_eq(http_json(w.http, "PUT", "{'families':{'stats':{}}}", "/v1/tables/devices"),
                     201);
    tenant_put(w.http, "devices", "k", "stats", "q", "secret");
    http_close(their_http);
    their_http = http_open(&there, HTTP_2, their_data_key);
    http_always(their_http, "Bigtent-Tenant: %s", w.tenant);
}

START_TEST(encrypted_tenant_is_encrypted_over_there)
{
    make_sealed();
    bigtent(&r, &op, MOVE);
    ck_assert_int_ne(r.code, 0);
    EXPECT_IN(r.err, "master key");
    ck_assert(!is_there("notes"));
    /* Made in plain by somebody. */
    admin_create_tenant(their_op, w.tenant);
    bigtent(&r, &op, MOVE);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "is encrypted here, and not over there");
    ck_assert(writes_pass());
}
END_TEST

START_TEST(encrypted_tenant_moves_where_there_is_a_master_key)
{
    make_sealed();
    start_sealed(&there);
    (void)snprintf(to_url, sizeof to_url, "https://127.0.0.1:%u", there.port);
    http_close(their_http);
    http_close(their_op);
    their_op = http_open(&there, HTTP_2, there.operator_key);
    their_http = http_open(&there, HTTP_2, their_data_key);
    http_always(their_http, "Bigtent-Tenant: %s", w.tenant);
    bigtent(&r, &op, MOVE, "--dry-run");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "yes");
    bigtent(&r, &op, MOVE);
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(http_get(their_op, "/v1/admin/tenants/%s", w.tenant), 200);
    ck_assert(json_is_true(http_at(their_op, "/encrypted")));
    expect_equal("devices");
}
END_TEST

/* --- what is not this tenant's
 * --------------------------------------------------------------------
 */

struct neighbour {
    char id[WORLD_ID];
    struct http *http;
    struct buf rows;
    struct buf described;
};

/* Of an ID that begins like the tenant's. */
static void open_neighbour(struct neighbour *n, const struct server *s, struct http *operator_http,
                           const char *value)
{
    char key[WORLD_KEY], id[WORLD_ID];
    (void)snprintf(n->id, sizeof n->id, "%.40s-eu", w.tenant);
    admin_create_tenant(operator_http, n->id);
    admin_create_key(operator_http, n->id, NULL, key, id);
    n->http = http_open(s, HTTP_2, key);
    ck_assert_int_eq(
        http_json(n->http, "PUT", "{'families':{'stats':{},'raw':{}}}", "/v1/tables/devices"), 201);
    for (int i = 0; i < 20; i++) {
        char row[16];
        (void)snprintf(row, sizeof row, "k%06d", i);
        tenant_put(n->http, "devices", row, "stats", "q", value);
    }
    n->rows = rows_of(n->http, "devices");
    ck_assert_int_eq(http_get(n->http, "/v1/tables/devices"), 200);
    base_buf_init(&n->described, HTTP_BODY_MAX);
    base_buf_append(&n->described, base_buf_slice(&n->http->body));
}

static void close_neighbour(struct neighbour *n)
{
    struct buf now = rows_of(n->http, "devices");
    ck_assert(base_slice_equal(base_buf_slice(&now), base_buf_slice(&n->rows)));
    ck_assert_int_eq(http_get(n->http, "/v1/tables/devices"), 200);
    ck_assert(base_slice_equal(base_buf_slice(&n->http->body), base_buf_slice(&n->described)));
    ck_assert_int_eq(http_json(n->http, "PATCH", "{'raw':{'q':'v'}}", "/v1/tables/devices/rows/k"),
                     201);
    base_buf_fini(&now);
    base_buf_fini(&n->rows);
    base_buf_fini(&n->described);
    http_close(n->http);
}

START_TEST(neighbours_on_both_servers_stay_as_they_are)
{
    struct neighbour ours, theirs;
    struct random rnd = {61};
    open_neighbour(&ours, world_server(), w.op, "here");
    open_neighbour(&theirs, &there, their_op, "there");
    start_slow_move();
    (void)write_on(&rnd, 40);
    (void)kill(r.pid, SIGKILL);
    run_finish(&r);
    admin_set_quota(w.op, w.tenant, "{}");
    bigtent(&r, &op, MOVE, "--abort");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &op, MOVE, "--issue-keys", in_dir("keys"));
    EXPECT_CODE(&r, 0);
    expect_equal("devices");
    close_neighbour(&ours);
    close_neighbour(&theirs);
}
END_TEST

/* --- what happens meanwhile
 * -----------------------------------------------------------------------
 */

/* Many tables, and a move that stands still as soon as the first is over there. */
#define MANY_TABLES 16

/* It runs a few milliseconds at a time, and stands still while the test asks. */
static bool goes_on_to_first_table(void *arg)
{
    static char first[] = "z00";
    (void)arg;
    if (has_table_over_there(first))
        return true;
    ck_assert_int_eq(kill(r.pid, SIGCONT), 0);
    process_sleep_ms(5);
    ck_assert_int_eq(kill(r.pid, SIGSTOP), 0);
    return false;
}

static void start_move_and_hold_it(void)
{
    for (int i = 0; i < MANY_TABLES; i++)
        ck_assert_int_eq(http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/z%02d", i),
                         201);
    const char *const args[] = {MOVE, NULL};
    run_start(&r, &op, args);
    process_await(notes_are_there, NULL, "the notes of a move"); /* it has made no table yet */
    ck_assert_int_eq(kill(r.pid, SIGSTOP), 0);
    process_await(goes_on_to_first_table, NULL, "the table z00 over there");
    ck_assert_int_eq(http_get(their_http, "/v1/tables/z15"), 404); /* its turn has not come */
}

static void let_it_go_on(void)
{
    ck_assert_int_eq(kill(r.pid, SIGCONT), 0);
    run_finish(&r);
    EXPECT_CODE(&r, 1); /* it says that the table is not as it was */
    bigtent(&r, &op, MOVE, "--resume");
    EXPECT_CODE(&r, 0);
}

START_TEST(table_that_went_before_its_turn_does_not_come_back)
{
    start_move_and_hold_it();
    ck_assert_int_eq(http_delete(w.http, "/v1/tables/z15"), 204);
    let_it_go_on();
    ck_assert_int_eq(http_get(w.http, "/v1/tables/z15"), 404);
    ck_assert_int_eq(http_get(their_http, "/v1/tables/z15"), 404);
}
END_TEST

/* Its change stream too, which is the tenant's and not the move's. */
START_TEST(table_that_changed_before_its_turn_stays_as_it_is)
{
    start_move_and_hold_it();
    ck_assert_int_eq(http_json(w.http, "PUT",
                               "{'families':{'f':{'gc':{'max_versions':7}}},"
                               "'change_stream_retention':'172800s'}",
                               "/v1/tables/z15"),
                     200);
    let_it_go_on();
    struct http *both[] = {w.http, their_http};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(http_get(both[i], "/v1/tables/z15"), 200);
        ck_assert_int_eq(http_number(both[i], "/families/f/gc/max_versions"), 7);
        ck_assert_str_eq(http_string(both[i], "/change_stream_retention"), "172800s");
    }
    bigtent(&r, &op, MOVE, "--abort");
    EXPECT_CODE(&r, 0);
    ck_assert(has_stream(w.http, "z15"));
    ck_assert(!has_stream(w.http, "z14"));
}
END_TEST

START_TEST(table_that_is_deleted_meanwhile_is_gone_over_there)
{
    struct random rnd = {71};
    start_slow_move();
    (void)write_on(&rnd, 20);
    ck_assert_int_eq(http_delete(w.http, "/v1/tables/random"), 204);
    admin_set_quota(w.op, w.tenant, "{}");
    run_finish(&r);
    if (r.code != 0) { /* it was being read */
        bigtent(&r, &op, MOVE, "--resume");
        EXPECT_CODE(&r, 0);
    }
    expect_equal("devices");
    ck_assert_int_eq(http_get(their_http, "/v1/tables/random"), 404);
}
END_TEST

/* It came so late that its changes are in no stream; then writes went on. */
START_TEST(late_table_of_a_first_try_begins_anew)
{
    struct random rnd = {81};
    start_slow_move();
    (void)write_on(&rnd, 20);
    ck_assert_int_eq(http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/late"), 201);
    tenant_put(w.http, "late", "a", "f", "q", "v");
    tenant_put(w.http, "late", "b", "f", "q", "v");
    put_stranger();
    admin_set_quota(w.op, w.tenant, "{}");
    run_finish(&r);
    EXPECT_CODE(&r, 5);
    expect_equal("late");
    ck_assert_int_eq(http_delete(w.http, "/v1/tables/late/rows/a"), 204);
    tenant_put(w.http, "late", "c", "f", "q", "v");
    ck_assert_int_eq(http_delete(their_http, "/v1/tables/devices/rows/zebra"), 204);
    bigtent(&r, &op, MOVE, "--resume");
    EXPECT_CODE(&r, 0);
    expect_equal("late");
}
END_TEST

/* A write a poll, with which a move can keep up: writes without a pause may outrun it for ever. */
static bool writes_are_refused(void *rnd)
{
    return !is_running(r.pid) || !write_something(rnd, 1);
}

START_TEST(suspension_that_was_ended_meanwhile_is_no_switch)
{
    static const char BODY[] = "{'access':'writes','reason':'moved to %s'}";
    struct random rnd = {91};
    start_slow_move(); /* slow over there, too: it is still being compared at the suspension */
    admin_set_quota(their_op, w.tenant, "{'read_bytes_per_s':20000,'burst_ms':100}");
    admin_set_quota(w.op, w.tenant, "{}");
    process_await(writes_are_refused, &rnd, "the suspension before the switch");
    ck_assert(is_running(r.pid));
    ck_assert_int_eq(http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s:resume", w.tenant), 200);
    char body[256];
    (void)snprintf(body, sizeof body, BODY, to_url);
    ck_assert_int_eq(http_json(w.op, "POST", body, "/v1/admin/tenants/%s:suspend", w.tenant), 200);
    ck_assert(is_running(r.pid));
    admin_set_quota(their_op, w.tenant, "{}");
    run_finish(&r);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "somebody ended or changed the tenant's suspension");
    ck_assert(writes_pass());
}
END_TEST

Suite *suite_cli_tenant_move_parts(void);
Suite *suite_cli_tenant_move_parts(void)
{
    Suite *s = suite_create("cli_tenant_move_parts");
    TCase *t = tcase_create("beside rows");
    tcase_set_timeout(t, 600);
    world_begin(t);
    tcase_add_checked_fixture(t, move_set_up, move_tear_down);
    tcase_add_test(t, authorized_views_move);
    tcase_add_test(t, views_that_changed_between_two_tries_are_as_they_are_now);
    tcase_add_test(t, protected_tables_move_and_are_taken_back);
    tcase_add_test(t, name_plan_and_hold_move);
    tcase_add_test(t, neighbours_on_both_servers_stay_as_they_are);
    tcase_add_test(t, table_that_is_deleted_meanwhile_is_gone_over_there);
    tcase_add_test(t, table_that_went_before_its_turn_does_not_come_back);
    tcase_add_test(t, table_that_changed_before_its_turn_stays_as_it_is);
    tcase_add_test(t, late_table_of_a_first_try_begins_anew);
    tcase_add_test(t, suspension_that_was_ended_meanwhile_is_no_switch);
    world_end(t);
    suite_add_tcase(s, t);
    t = tcase_create("encryption");
    tcase_set_timeout(t, 600);
    tcase_add_checked_fixture(t, move_set_up_own, move_tear_down_own);
    tcase_add_test(t, encrypted_tenant_is_encrypted_over_there);
    tcase_add_test(t, encrypted_tenant_moves_where_there_is_a_master_key);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/cli/test_move_service.c - move-in from a Bigtable-compatible service: a server of our own
 * is the service, over TLS and in plaintext. Over 500 lines because what a move promises of
 * databases is asked of a service once more.
 */
#define _GNU_SOURCE
#include "tests/cli/transfer.h"

#include <google/bigtable/v2/bigtable.pb-c.h>

#include "tests/cli/impostor.h"
#include "tests/support/grpc_client.h"

#include "base/banned.h"

#define MAP_BYTES (64UL * 1024)

static char source[WORLD_ID]; /* the tenant whose tables are the service's */
static struct http *theirs;
static char other[WORLD_ID]; /* a second tenant that something comes to */
static struct http *others;
static char service_key[WORLD_KEY];
static struct setup service; /* with a key for every tenant */

static void make_tenant(char id[WORLD_ID], struct http **client, const char *key_file)
{
    char key[WORLD_KEY];
    char key_id[WORLD_ID];
    world_fresh_id(id);
    admin_create_tenant(w.op, id);
    admin_create_key(w.op, id, NULL, key, key_id);
    *client = http_open(world_server(), HTTP_2, key);
    if (key_file == NULL)
        return;
    write_file(key_file, key, strlen(key));
    ck_assert_int_eq(chmod(in_dir(key_file), 0600), 0);
}

static void set_up(void)
{
    char id[WORLD_ID];
    session_set_up();
    keeper = process_temp_dir(dir);
    make_tenant(source, &theirs, "source.key");
    make_tenant(other, &others, NULL);
    admin_create_global_key(w.op, "service", service_key, id);
    service = tenant;
    service.key = service_key;
}

static void tear_down(void)
{
    http_close(theirs);
    http_close(others);
    process_temp_dir_remove(dir, keeper);
    session_tear_down();
}

/* The mapping: the text with SOURCE, OTHER and TENANT replaced. */
static void write_map(const char *text)
{
    static const char *const words[] = {"SOURCE", "OTHER", "TENANT"};
    const char *const names[] = {source, other, w.tenant};
    struct buf map;
    base_buf_init(&map, MAP_BYTES);
    while (*text != '\0') {
        size_t i = 0;
        while (i < 3 && strncmp(text, words[i], strlen(words[i])) != 0)
            i++;
        if (i < 3)
            base_buf_append_text(&map, names[i]);
        else
            base_buf_append_byte(&map, (uint8_t)*text);
        text += i < 3 ? strlen(words[i]) : 1;
    }
    write_file("map.yaml", map.ptr, map.len);
    base_buf_fini(&map);
}

#define FROM "from_table: projects/SOURCE/instances/main/tables/orders"
#define ONE  "sources:\n- {" FROM ", tenant: TENANT, table: moved}\n"
#define MOVE                                                                                       \
    "move-in", in_dir("map.yaml"), "--from-service", url, "--from-key-file", in_dir("source.key"), \
        "--from-cacert", world_server()->ca

static void make_orders(const char *families)
{
    ck_assert_int_eq(http_json(theirs, "PUT", families, "/v1/tables/orders"), 201);
}

static void put_cell(struct http *h, const char *table, const char *path, const char *value)
{
    http_once(h, "Content-Type: application/octet-stream");
    int status =
        http_bytes(h, "PUT", base_slice_text(value), "/v1/tables/%s/cells/%s", table, path);
    ck_assert_msg(status / 100 == 2, "%d: %s", status, http_text(h));
}

static void fill_orders(int rows)
{
    char path[64];
    make_orders("{'families':{'f':{}}}");
    for (int i = 0; i < rows; i++) {
        (void)snprintf(path, sizeof path, "k%05d/f/q?timestamp=1000", i);
        put_cell(theirs, "orders", path, "value");
    }
}

/* All rows of a table, as NDJSON. */
static struct buf rows_of(struct http *h, const char *table)
{
    struct buf rows;
    http_once(h, "Accept: application/x-ndjson");
    ck_assert_int_eq(http_get(h, "/v1/tables/%s/rows", table), 200);
    base_buf_init(&rows, HTTP_BODY_MAX);
    ck_assert_int_eq(base_buf_append(&rows, base_buf_slice(&h->body)), ERR_OK);
    return rows;
}

static void expect_equal(struct http *a, const char *table_a, struct http *b, const char *table_b)
{
    struct buf first = rows_of(a, table_a);
    struct buf second = rows_of(b, table_b);
    ck_assert_msg(base_slice_equal(base_buf_slice(&first), base_buf_slice(&second)),
                  "%s and %s differ: %zu and %zu bytes", table_a, table_b, first.len, second.len);
    base_buf_fini(&first);
    base_buf_fini(&second);
}

/* --- what comes -------------------------------------------------------------------------------
 */

/* No request of the JSON API may hold it. */
static void put_huge_cell(void)
{
    static struct grpc_client client;
    struct buf key = file_bytes("source.key");
    char table[WORLD_ID + 64];
    Bt__MutateRowRequest request = BT__MUTATE_ROW_REQUEST__INIT;
    Bt__Mutation mutation = BT__MUTATION__INIT;
    Bt__Mutation__SetCell set = BT__MUTATION__SET_CELL__INIT;
    Bt__Mutation *mutations[] = {&mutation};
    struct buf huge;
    base_buf_init(&huge, 32UL << 20);
    ck_assert_int_eq(base_buf_reserve(&huge, 20UL << 20), ERR_OK);
    memset(huge.ptr, 'x', 20UL << 20);
    (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/orders", source);
    request.table_name = table;
    request.row_key = (ProtobufCBinaryData){4, (uint8_t *)(uintptr_t) "huge"};
    request.mutations = mutations;
    request.n_mutations = 1;
    mutation.mutation_case = BT__MUTATION__MUTATION_SET_CELL;
    mutation.set_cell = &set;
    set.family_name = (char *)(uintptr_t) "f";
    set.timestamp_micros = 4000;
    set.value = (ProtobufCBinaryData){20UL << 20, huge.ptr};
    ck_assert_int_eq(base_buf_append_byte(&key, '\0'), ERR_OK);
    grpc_open(&client, world_server(), (const char *)key.ptr, 0);
    const struct grpc_call *call =
        grpc_ask(&client, "/google.bigtable.v2.Bigtable/MutateRow", &request.base);
    ck_assert_msg(call->status == 0, "%s", call->message);
    grpc_close(&client);
    base_buf_fini(&key);
    base_buf_fini(&huge);
}

static void fill_odd_rows(void)
{
    make_orders("{'families':{'f':{'gc':{'max_versions':9}},"
                "'g':{'gc':{'intersection':[{'max_age':'86400s'},{'max_versions':2}]}},"
                "'hits':{'type':'sum'}}}");
    put_cell(theirs, "orders", "a/f/q?timestamp=1000", "first");
    put_cell(theirs, "orders", "a/f/q?timestamp=2000", "second");
    put_cell(theirs, "orders", "a/f/q?timestamp=0", "");
    put_cell(theirs, "orders", "%00%ff/f/%00?timestamp=7000", "binary");
    ck_assert_int_eq(http_json(theirs, "PATCH", "{'g':{'':{'value':'empty','timestamp':'5000'}}}",
                               "/v1/tables/orders/rows/e"),
                     201);
    ck_assert_int_eq(http_json(theirs, "POST",
                               "{'mutations':[{'add_to_cell':{'family':'hits','qualifier':'n',"
                               "'timestamp':'3000','input':41}}]}",
                               "/v1/tables/orders/rows/h:mutate"),
                     201);
    put_huge_cell();
}

START_TEST(every_cell_comes_with_its_versions_and_times)
{
    admin_set_quota(w.op, source, "{'cell_bytes':104857600}");
    admin_set_quota(w.op, w.tenant, "{'cell_bytes':104857600}");
    fill_odd_rows();
    struct usage before = tenant_usage(theirs);
    write_map(ONE);
    bigtent(&r, &tenant, MOVE, "--verify", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 5);
    ck_assert_int_eq(figure("cells"), 7);
    ck_assert_int_eq(figure("unfit"), 0);
    expect_equal(theirs, "orders", w.http, "moved");
    struct usage after = tenant_usage(theirs);
    EXPECT_USAGE(after, before.bytes, before.rows, before.cells);
    /* With the rules, which came last. */
    ck_assert_int_eq(http_get(theirs, "/v1/tables/orders"), 200);
    json_t *families = json_deep_copy(http_at(theirs, "/families"));
    ck_assert_int_eq(http_get(w.http, "/v1/tables/moved"), 200);
    ck_assert(json_equal(families, http_at(w.http, "/families")));
    json_decref(families);
    bigtent(&r, &tenant, MOVE, "--resume", "--verify");
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(empty_table_comes_with_its_families)
{
    make_orders("{'families':{'f':{},'g':{'gc':{'max_versions':1}}}}");
    write_map(ONE);
    bigtent(&r, &tenant, MOVE, "--verify", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 0);
    ck_assert_int_eq(http_get(w.http, "/v1/tables/moved"), 200);
    ck_assert_int_eq(http_number(w.http, "/families/g/gc/max_versions"), 1);
}
END_TEST

START_TEST(prefixes_go_to_their_tenants_and_nowhere_else)
{
    make_orders("{'families':{'f':{}}}");
    for (int i = 0; i < 50; i++) {
        char path[64];
        const char *const prefixes[] = {"acm", "acme%23", "acme%24", "b%23", "bb%23"};
        (void)snprintf(path, sizeof path, "%s%03d/f/q?timestamp=1000", prefixes[i % 5], i);
        put_cell(theirs, "orders", path, prefixes[i % 5]);
    }
    write_map("sources:\n"
              "- {" FROM ", tenant: TENANT, table: own, strip_prefix: 'acme#'}\n"
              "- {" FROM ", tenant: OTHER, table: own, strip_prefix_b64: YiM=,\n"
              "   row_prefix: 'from-b/'}\n");
    bigtent(&r, &service, MOVE, "--verify", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 20);
    ck_assert_int_eq(tenant_usage(w.http).rows, 10);
    ck_assert_int_eq(tenant_usage(others).rows, 10);
    ck_assert_int_eq(http_get(w.http, "/v1/tables/own/rows/001"), 200);
    ck_assert_int_eq(http_get(others, "/v1/tables/own/rows/from-b%%2F003"), 200);
    struct buf mine = rows_of(w.http, "own");
    struct buf his = rows_of(others, "own");
    ck_assert_ptr_null(memmem(mine.ptr, mine.len, "b%23", 4));
    ck_assert_ptr_null(memmem(mine.ptr, mine.len, "acme%24", 7));
    ck_assert_ptr_null(memmem(his.ptr, his.len, "acm", 3));
    ck_assert_ptr_null(memmem(his.ptr, his.len, "bb%23", 5));
    base_buf_fini(&mine);
    base_buf_fini(&his);
}
END_TEST

START_TEST(families_get_other_names)
{
    make_orders("{'families':{'f':{},'g':{},'h':{}}}");
    put_cell(theirs, "orders", "k/f/q?timestamp=1000", "of f");
    put_cell(theirs, "orders", "k/g/q?timestamp=1000", "of g");
    put_cell(theirs, "orders", "k/h/q?timestamp=1000", "of h");
    write_map("sources:\n- {" FROM ", tenant: TENANT, table: moved, families: {f: g, g: new}}\n");
    bigtent(&r, &tenant, MOVE, "--verify");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(http_get(w.http, "/v1/tables/moved/rows/k"), 200);
    ck_assert_str_eq(http_string(w.http, "/cells/g/q/0/value"), "of f");
    ck_assert_str_eq(http_string(w.http, "/cells/new/q/0/value"), "of g");
    ck_assert_str_eq(http_string(w.http, "/cells/h/q/0/value"), "of h");
}
END_TEST

/* --- what cannot come -------------------------------------------------------------------------
 */

static const struct {
    const char *source;
    const char *table; /* here, made before; NULL: none */
    int code;
    const char *says;
} REFUSED[] = {
    {"families: {f: g}", NULL, 5, "another family is renamed to g, which it has, too"},
    {"families: {nothing: n}", NULL, 5, "has no family nothing, which is to be renamed"},
    {"unfit: stop", "{'families':{'f':{}}}", 5, "has no family g"},
    {"unfit: stop", "{'families':{'f':{'type':'sum'},'g':{}}}", 5,
     "has the type sum; it needs none"},
};
#define REFUSED_COUNT (sizeof REFUSED / sizeof REFUSED[0])

START_TEST(tables_that_do_not_match_are_refused_before_anything_comes)
{
    char map[512];
    make_orders("{'families':{'f':{},'g':{}}}");
    put_cell(theirs, "orders", "k/f/q?timestamp=1000", "v");
    if (REFUSED[_i].table != NULL)
        ck_assert_int_eq(http_json(w.http, "PUT", REFUSED[_i].table, "/v1/tables/moved"), 201);
    (void)snprintf(map, sizeof map, "sources:\n- {" FROM ", tenant: TENANT, table: moved, %s}\n",
                   REFUSED[_i].source);
    write_map(map);
    bigtent(&r, &tenant, MOVE);
    EXPECT_CODE(&r, REFUSED[_i].code);
    EXPECT_IN(r.err, REFUSED[_i].says);
    ck_assert_int_eq(tenant_usage(w.http).cells, 0);
    ck_assert_int_eq(http_get(w.http, "/v1/tables/moved"), REFUSED[_i].table != NULL ? 200 : 404);
}
END_TEST

START_TEST(sources_that_want_other_rules_of_one_table_are_refused)
{
    make_orders("{'families':{'f':{}}}");
    ck_assert_int_eq(
        http_json(theirs, "PUT", "{'families':{'f':{'gc':{'max_versions':1}}}}", "/v1/tables/more"),
        201);
    write_map("sources:\n- {" FROM ", tenant: TENANT, table: moved, row_prefix: 'a#'}\n"
              "- {from_table: projects/SOURCE/instances/main/tables/more, tenant: TENANT,\n"
              "   table: moved, row_prefix: 'b#'}\n");
    bigtent(&r, &tenant, MOVE);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "would get other rules, or another type, from another source");
    ck_assert_int_eq(http_get(w.http, "/v1/tables/moved"), 404);
}
END_TEST

START_TEST(rows_that_are_taken_are_not_written_over)
{
    fill_orders(3);
    ck_assert_int_eq(http_json(w.http, "PUT", "{'families':{'f':{},'z':{}}}", "/v1/tables/moved"),
                     201);
    put_cell(w.http, "moved", "x/z/q?timestamp=1000", "mine");
    write_map(ONE);
    bigtent(&r, &tenant, MOVE);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "has cells of any family already in the rows that would come");
    /* Beside them they are in nobody's way. */
    write_map("sources:\n- {" FROM ", tenant: TENANT, table: moved, row_prefix: 'y'}\n");
    bigtent(&r, &tenant, MOVE, "--verify");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(tenant_usage(w.http).cells, 4);
}
END_TEST

START_TEST(cells_over_the_tenants_limits_are_named_or_left_out)
{
    fill_orders(3);
    put_cell(theirs, "orders", "long/f/q?timestamp=1000", "0123456789");
    admin_set_quota(w.op, w.tenant, "{'cell_bytes':9}");
    write_map(ONE);
    bigtent(&r, &tenant, MOVE, "--dry-run");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "cell 4, key \"long\": its value is longer than the tenant's cell_bytes");
    bigtent(&r, &tenant, MOVE);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "unfit: skip");
    write_map("sources:\n- {" FROM ", tenant: TENANT, table: moved, unfit: skip}\n");
    bigtent(&r, &tenant, MOVE, "--verify", "--json", "--state", in_dir("other.state"));
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 3);
    ck_assert_int_eq(figure("unfit"), 1);
}
END_TEST

START_TEST(rehearsal_makes_and_writes_nothing)
{
    fill_orders(20);
    write_map(ONE);
    bigtent(&r, &tenant, MOVE, "--dry-run");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.err, "would be made, with 1 families");
    EXPECT_IN(r.out, "projects/");
    ck_assert_int_eq(http_get(w.http, "/v1/tables/moved"), 404);
    ck_assert(!is_there("map.yaml.state"));
}
END_TEST

START_TEST(verify_finds_what_is_different_on_either_side)
{
    fill_orders(10);
    write_map(ONE);
    bigtent(&r, &tenant, MOVE, "--verify");
    EXPECT_CODE(&r, 0);
    if (_i == 0)
        put_cell(w.http, "moved", "k00005/f/q?timestamp=1000", "other");
    else if (_i == 1)
        put_cell(theirs, "orders", "k00005/f/q?timestamp=1000", "other");
    else
        http_delete(theirs, "/v1/tables/orders/rows/k00005");
    bigtent(&r, &tenant, MOVE, "--resume", "--verify");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "the table moved of the tenant");
    if (_i == 0)
        EXPECT_NOT_IN(r.err, "not as it was when it moved");
    else
        EXPECT_IN(r.err, "which is not as it was when it moved");
}
END_TEST

/* --- cuts ---------------------------------------------------------------------------------------
 */

static bool cells_are_there(void *least)
{
    return tenant_usage(w.http).cells >= *(const int64_t *)least;
}

static void await_cells(int64_t least)
{
    process_await(cells_are_there, &least, "cells of a move");
}

static void fill_in_bulk(int rows)
{
    struct buf lines;
    make_orders("{'families':{'f':{'gc':{'max_versions':2}}}}");
    base_buf_init(&lines, 64UL << 20);
    for (int i = 0; i < rows; i++)
        base_buf_printf(&lines,
                        "{\"key\":\"k%06d\",\"mutations\":["
                        "{\"set_cell\":{\"family\":\"f\",\"qualifier\":\"a\",\"value\":\"%d\","
                        "\"timestamp\":\"1000\"}},"
                        "{\"set_cell\":{\"family\":\"f\",\"qualifier\":\"a\",\"value\":\"new\","
                        "\"timestamp\":\"2000\"}}]}\n",
                        i, i);
    http_once(theirs, "Content-Type: application/x-ndjson");
    ck_assert_int_eq(http_bytes(theirs, "POST", base_buf_slice(&lines), "/v1/tables/orders:write"),
                     200);
    base_buf_fini(&lines);
}

static void start_slow_move(void)
{
    fill_in_bulk(6000);
    write_map("sources:\n- {" FROM ", tenant: TENANT, table: moved, strip_prefix: k}\n"
              "- {" FROM ", tenant: OTHER, table: moved, row_prefix: '~'}\n");
    admin_set_quota(w.op, w.tenant, "{'write_ops_per_s':2000,'burst_ms':100}");
    admin_set_quota(w.op, other, "{'write_ops_per_s':2000,'burst_ms':100}");
    const char *const args[] = {MOVE, NULL};
    run_start(&r, &service, args);
}

static void hurry(void)
{
    admin_set_quota(w.op, w.tenant, "{}");
    admin_set_quota(w.op, other, "{}");
}

START_TEST(killed_move_goes_on_and_is_equal)
{
    struct random rnd = {(uint64_t)_i + 3};
    start_slow_move();
    await_cells(1 + (int64_t)random_below(&rnd, 9000));
    (void)kill(r.pid, SIGKILL);
    run_finish(&r);
    hurry();
    bigtent(&r, &service, MOVE, "--resume", "--verify", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 12000);
    ck_assert_int_eq(figure("cells"), 24000);
    ck_assert_int_eq(tenant_usage(w.http).cells, 12000);
    ck_assert_int_eq(http_get(w.http, "/v1/tables/moved"), 200);
    ck_assert_int_eq(http_number(w.http, "/families/f/gc/max_versions"), 2);
}
END_TEST

START_TEST(table_that_is_deleted_meanwhile_ends_the_move)
{
    start_slow_move();
    await_cells(100);
    (void)kill(r.pid, SIGINT);
    run_finish(&r);
    EXPECT_CODE(&r, 128 + SIGINT);
    hurry();
    ck_assert_int_eq(http_delete(theirs, "/v1/tables/orders"), 204);
    bigtent(&r, &service, MOVE, "--resume");
    EXPECT_CODE(&r, 4);
    EXPECT_IN(r.err, "it is not there");
    EXPECT_IN(r.err, "trying again will not help");
}
END_TEST

START_TEST(notes_are_about_one_service)
{
    fill_orders(3);
    write_map(ONE);
    bigtent(&r, &tenant, MOVE);
    EXPECT_CODE(&r, 0);
    json_t *notes = read_json("map.yaml.state");
    json_object_set_new(notes, "service", json_string("https://elsewhere.example"));
    write_json("map.yaml.state", notes);
    bigtent(&r, &tenant, MOVE, "--resume");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "is about another service than");
}
END_TEST

/* --- credentials ------------------------------------------------------------------------------
 */

#define WRONG_KEY "btt_ThisIsNoCredentialAtAll0123456789ThisIsNone0000000000"

static void expect_no_secret(const char *secret)
{
    EXPECT_NOT_IN(r.err, secret);
    EXPECT_NOT_IN(r.out, secret);
    if (!is_there("map.yaml.state"))
        return;
    struct buf notes = file_bytes("map.yaml.state");
    ck_assert_ptr_null(memmem(notes.ptr, notes.len, secret, strlen(secret)));
    base_buf_fini(&notes);
}

START_TEST(wrong_credential_is_said_and_not_shown)
{
    fill_orders(3);
    write_map(ONE);
    write_file("source.key", WRONG_KEY, strlen(WRONG_KEY));
    bigtent(&r, &tenant, MOVE);
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "the credential is none, or has ended");
    expect_no_secret(WRONG_KEY);
    bigtent(&r, &tenant, "move-in", in_dir("map.yaml"), "--from-service", url, "--from-cacert",
            world_server()->ca);
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "no --from-key-file was given");
}
END_TEST

START_TEST(credential_is_in_no_notes)
{
    fill_orders(3);
    write_map(ONE);
    bigtent(&r, &tenant, MOVE, "--verify");
    EXPECT_CODE(&r, 0);
    struct buf key = file_bytes("source.key");
    ck_assert_int_eq(base_buf_append_byte(&key, '\0'), ERR_OK);
    expect_no_secret((const char *)key.ptr);
    base_buf_fini(&key);
}
END_TEST

START_TEST(tables_of_others_cannot_be_read_with_the_credential)
{
    ck_assert_int_eq(http_json(others, "PUT", "{'families':{'f':{}}}", "/v1/tables/orders"), 201);
    put_cell(others, "orders", "k/f/q?timestamp=1000", "secret");
    ck_assert_int_eq(http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/moved"), 201);
    write_map("sources:\n- {from_table: projects/OTHER/instances/main/tables/orders,\n"
              "   tenant: TENANT, table: moved}\n");
    bigtent(&r, &tenant, MOVE);
    ck_assert_int_ne(r.code, 0);
    ck_assert_int_eq(tenant_usage(w.http).cells, 0);
}
END_TEST

START_TEST(key_of_one_tenant_moves_nothing_into_another)
{
    fill_orders(3);
    write_map("sources:\n- {" FROM ", tenant: OTHER, table: moved}\n");
    bigtent(&r, &tenant, MOVE);
    ck_assert_int_ne(r.code, 0);
    ck_assert_int_eq(http_get(others, "/v1/tables/moved"), 404);
    ck_assert_int_eq(tenant_usage(others).cells, 0);
}
END_TEST

START_TEST(key_that_may_not_make_tables_needs_one)
{
    char key[WORLD_KEY];
    char id[WORLD_ID];
    fill_orders(3);
    admin_create_key(w.op, w.tenant, "['data.read','data.write']", key, id);
    struct setup lesser = tenant;
    lesser.key = key;
    write_map(ONE);
    bigtent(&r, &lesser, MOVE);
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "the key must have table.admin, or the table be there");
    ck_assert_int_eq(http_json(w.http, "PUT", "{'families':{'f':{}}}", "/v1/tables/moved"), 201);
    bigtent(&r, &lesser, MOVE, "--state", in_dir("other.state"), "--verify");
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(credential_that_may_not_describe_tables_needs_one_here)
{
    char key[WORLD_KEY];
    char id[WORLD_ID];
    fill_orders(3);
    admin_create_key(w.op, source, "['data.write']", key, id);
    write_file("source.key", key, strlen(key));
    write_map(ONE);
    bigtent(&r, &tenant, MOVE);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "does not say which families");
    EXPECT_IN(r.err, "nobody says which families it needs: make it first");
}
END_TEST

/* --- services that are none -------------------------------------------------------------------
 */

static const struct {
    const char *status;
    int code;
    const char *says;
} ANSWERS[] = {
    {"404 Not Found", 5, "nobody says which families it needs"},
    {"401 Unauthorized", 1, "the credential is none, or has ended"},
    {"200 OK", 1, "the server sent something that is not a table"},
};
#define ANSWER_COUNT (sizeof ANSWERS / sizeof ANSWERS[0])

START_TEST(servers_of_something_else_are_told)
{
    static struct impostor impostor;
    impostor_start(&impostor, world_server());
    impostor_answers(&impostor, ANSWERS[_i].status, "<html>some page</html>");
    write_map(ONE);
    bigtent(&r, &tenant, "move-in", in_dir("map.yaml"), "--from-service", impostor.url,
            "--from-cacert", world_server()->ca);
    EXPECT_CODE(&r, ANSWERS[_i].code);
    EXPECT_IN(r.err, ANSWERS[_i].says);
    impostor_stop(&impostor);
}
END_TEST

static const struct {
    const char *const args[6];
    const char *says;
} WRONG_LINES[] = {
    {{NULL}, "--from"},
    {{"--from", "/tmp"}, "a table of a service needs --from-service URL"},
    {{"--from", "/tmp", "--from-cacert", "x"}, "--from-cacert needs --from-service"},
    {{"--from-service", "ftp://x"}, "--from-service takes https://"},
    {{"--from-service", "https://"}, "--from-service takes https://"},
    {{"--from-service", "https://a@b"}, "--from-service takes https://"},
    {{"--from-service", "https://a", "--from-admin", "b"}, "--from-admin takes a URL"},
    {{"--from-service", "http://127.0.0.1:1", "--from-key-file", "x"}, "goes with https only"},
    {{"--from-service", "https://a", "--from-admin", "http://a", "--from-key-file", "x"},
     "goes with https only"},
};
#define WRONG_LINE_COUNT (sizeof WRONG_LINES / sizeof WRONG_LINES[0])

START_TEST(command_lines_that_cannot_be_are_refused)
{
    const char *args[10] = {"move-in", in_dir("map.yaml")};
    for (size_t i = 0; i < 6; i++)
        args[2 + i] = WRONG_LINES[_i].args[i];
    (void)snprintf(source, sizeof source, "src");
    (void)snprintf(w.tenant, sizeof w.tenant, "ten");
    write_map(ONE);
    struct setup nobody = {.key = "bts_nobody"};
    run_all(&r, &nobody, args);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, WRONG_LINES[_i].says);
}
END_TEST

/* --- in plaintext -------------------------------------------------------------------------------
 */

static struct server emulator;

static void set_up_emulator(void)
{
    session_set_up();
    keeper = process_temp_dir(dir);
    (void)snprintf(source, sizeof source, "dev-source");
    server_create(&emulator);
    emulator.options[0] = "--emulator";
    emulator.options[1] = "127.0.0.1:0";
    server_start(&emulator, NULL);
}

static void tear_down_emulator(void)
{
    server_stop(&emulator);
    server_remove(&emulator);
    process_temp_dir_remove(dir, keeper);
    session_tear_down();
}

/* Its tenant is made by being asked for. */
static void provision(void)
{
    static struct grpc_client client;
    char name[WORLD_ID + 32];
    Bt__PingAndWarmRequest ping = BT__PING_AND_WARM_REQUEST__INIT;
    (void)snprintf(name, sizeof name, "projects/%s/instances/main", source);
    ping.name = name;
    grpc_open_plain(&client, &emulator);
    const struct grpc_call *call =
        grpc_ask(&client, "/google.bigtable.v2.Bigtable/PingAndWarm", &ping.base);
    ck_assert_int_eq(call->status, 0);
    grpc_close(&client);
}

START_TEST(emulators_are_read_without_a_credential)
{
    char key[WORLD_KEY];
    char id[WORLD_ID];
    char plain[64];
    provision();
    struct http *operator= http_open(&emulator, HTTP_2, emulator.operator_key);
    admin_create_key(operator, source, NULL, key, id);
    theirs = http_open(&emulator, HTTP_2, key);
    fill_orders(30);
    write_map(ONE);
    (void)snprintf(plain, sizeof plain, "http://127.0.0.1:%u", emulator.plain_port);
    bigtent(&r, &tenant, "move-in", in_dir("map.yaml"), "--from-service", plain, "--verify",
            "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 30);
    expect_equal(theirs, "orders", w.http, "moved");
    http_close(theirs);
    http_close(operator);
}
END_TEST

static void set_up_files(void)
{
    keeper = process_temp_dir(dir);
}

static void tear_down_files(void)
{
    process_temp_dir_remove(dir, keeper);
}

static void add_moves(TCase *t)
{
    tcase_add_test(t, every_cell_comes_with_its_versions_and_times);
    tcase_add_test(t, empty_table_comes_with_its_families);
    tcase_add_test(t, prefixes_go_to_their_tenants_and_nowhere_else);
    tcase_add_test(t, families_get_other_names);
    tcase_add_loop_test(t, tables_that_do_not_match_are_refused_before_anything_comes, 0,
                        REFUSED_COUNT);
    tcase_add_test(t, sources_that_want_other_rules_of_one_table_are_refused);
    tcase_add_test(t, rows_that_are_taken_are_not_written_over);
    tcase_add_test(t, cells_over_the_tenants_limits_are_named_or_left_out);
    tcase_add_test(t, rehearsal_makes_and_writes_nothing);
    tcase_add_loop_test(t, verify_finds_what_is_different_on_either_side, 0, 3);
    tcase_add_loop_test(t, killed_move_goes_on_and_is_equal, 0, 3);
    tcase_add_test(t, table_that_is_deleted_meanwhile_ends_the_move);
    tcase_add_test(t, notes_are_about_one_service);
    tcase_add_test(t, wrong_credential_is_said_and_not_shown);
    tcase_add_test(t, credential_is_in_no_notes);
    tcase_add_test(t, tables_of_others_cannot_be_read_with_the_credential);
    tcase_add_test(t, key_of_one_tenant_moves_nothing_into_another);
    tcase_add_test(t, key_that_may_not_make_tables_needs_one);
    tcase_add_test(t, credential_that_may_not_describe_tables_needs_one_here);
    tcase_add_loop_test(t, servers_of_something_else_are_told, 0, ANSWER_COUNT);
}

Suite *suite_cli_move_service(void);
Suite *suite_cli_move_service(void)
{
    Suite *s = suite_create("cli_move_service");
    TCase *t = tcase_create("lines");
    tcase_add_checked_fixture(t, set_up_files, tear_down_files);
    tcase_add_loop_test(t, command_lines_that_cannot_be_are_refused, 0, WRONG_LINE_COUNT);
    suite_add_tcase(s, t);
    t = tcase_create("moves");
    tcase_set_timeout(t, 60);
    world_begin(t);
    tcase_add_checked_fixture(t, set_up, tear_down);
    add_moves(t);
    world_end(t);
    suite_add_tcase(s, t);
    t = tcase_create("plaintext");
    tcase_set_timeout(t, 60);
    world_begin(t);
    tcase_add_checked_fixture(t, set_up_emulator, tear_down_emulator);
    tcase_add_test(t, emulators_are_read_without_a_credential);
    world_end(t);
    suite_add_tcase(s, t);
    return s;
}

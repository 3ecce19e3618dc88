/*
 * tests/cli/test_move_in.c - move-in: databases into tables, mappings that cannot be, kills,
 * readers that lie. Over 500 lines because every wrong mapping is a row of a table.
 */
#define _GNU_SOURCE
#include "tests/cli/transfer.h"

#include "tests/support/foreign.h"

#include "base/banned.h"

static char second[WORLD_ID]; /* another tenant */
static char service_key[WORLD_KEY];
static struct setup service;
static struct http *theirs; /* the other tenant's client */

static void set_up(void)
{
    char id[WORLD_ID];
    char key[WORLD_KEY];
    session_set_up();
    keeper = process_temp_dir(dir);
    world_fresh_id(second);
    admin_create_tenant(w.op, second);
    admin_create_key(w.op, second, NULL, key, id);
    theirs = http_open(world_server(), HTTP_2, key);
    admin_create_global_key(w.op, "service", service_key, id);
    service = tenant;
    service.key = service_key;
}

static void tear_down(void)
{
    http_close(theirs);
    process_temp_dir_remove(dir, keeper);
    session_tear_down();
}

static void set_up_files(void)
{
    keeper = process_temp_dir(dir);
}

static void tear_down_files(void)
{
    process_temp_dir_remove(dir, keeper);
}

/* The mapping dir/map.yaml: the text with TENANT and SECOND replaced. */
static void write_map(const char *text)
{
    struct buf map;
    base_buf_init(&map, 1UL << 20);
    for (const char *at = text; *at != '\0';) {
        if (strncmp(at, "TENANT", 6) == 0 || strncmp(at, "SECOND", 6) == 0) {
            base_buf_append_text(&map, at[0] == 'T' ? w.tenant : second);
            at += 6;
        } else {
            base_buf_append_byte(&map, (uint8_t)*at++);
        }
    }
    write_file("map.yaml", map.ptr, map.len);
    base_buf_fini(&map);
}

#define MOVE "move-in", in_dir("map.yaml"), "--from", dir

/* dir/db: count keys k00000.., each with a value. */
static void make_database(const char *name, int count, int value_bytes)
{
    struct foreign db = foreign_open(in_dir(name));
    struct buf value;
    base_buf_init(&value, 16UL << 20);
    for (int i = 0; i < value_bytes; i++)
        base_buf_append_byte(&value, (uint8_t)('a' + i % 26));
    for (int i = 0; i < count; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "k%05d", i);
        foreign_put_bytes(&db, 0, base_slice_text(key), base_buf_slice(&value));
    }
    base_buf_fini(&value);
    foreign_close(&db);
}

static void put_one(const char *name, struct slice key, struct slice value)
{
    struct foreign db = foreign_open(in_dir(name));
    foreign_put_bytes(&db, 0, key, value);
    foreign_close(&db);
}

#define SIMPLE                                                                                     \
    "sources:\n- {database: db, tenant: TENANT, table: devices, family: stats, qualifier: v}\n"

/* --- what becomes of keys -----------------------------------------------------------------------
 */

START_TEST(keys_become_rows)
{
    make_database("db", 2000, 50);
    write_map(SIMPLE);
    bigtent(&r, &tenant, MOVE, "--verify", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 2000);
    ck_assert_int_eq(figure("cells"), 2000);
    struct usage u = tenant_usage(w.http);
    ck_assert_int_eq(u.rows, 2000);
    ck_assert_int_eq(figure("bytes"), u.bytes);
    ck_assert_int_eq(http_get(w.http, "/v1/tables/devices/cells/k01999/stats/v"), 200);
    ck_assert_uint_eq(w.http->body.len, 50);
    ck_assert(is_there("map.yaml.state"));
    /* Later once more, without writing. */
    bigtent(&r, &tenant, MOVE, "--resume", "--verify");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(tenant_usage(w.http).bytes, u.bytes);
}
END_TEST

START_TEST(bytes_of_every_kind_survive)
{
    struct foreign db = foreign_open(in_dir("db"));
    for (int i = 0; i < 256; i++) {
        uint8_t key[3] = {(uint8_t)i, 0, (uint8_t)(255 - i)};
        uint8_t value[2] = {0, (uint8_t)i};
        foreign_put_bytes(&db, 0, base_slice(key, sizeof key), base_slice(value, sizeof value));
    }
    foreign_put(&db, 0, "empty", "");
    foreign_close(&db);
    write_map("sources:\n- {database: db, tenant: TENANT, table: devices, family: stats,\n"
              "   qualifier_b64: AP8=, row_prefix_b64: //8=, timestamp: 1700000000000000}\n");
    bigtent(&r, &tenant, MOVE, "--verify", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 257);
    ck_assert_int_eq(
        http_get(w.http, "/v1/tables/devices/cells/%%ff%%ff%%07%%00%%f8/stats/%%00%%ff"), 200);
    ck_assert_uint_eq(w.http->body.len, 2);
    ck_assert_uint_eq(w.http->body.ptr[1], 7);
}
END_TEST

START_TEST(parts_of_keys_become_qualifiers_and_timestamps)
{
    struct foreign db = foreign_open(in_dir("db"));
    foreign_put(&db, 0, "a|os|1700000000001", "first");
    foreign_put(&db, 0, "a|os|1700000000002", "second");
    foreign_put(&db, 0, "a|cpu|5", "third");
    foreign_put(&db, 0, "b||0", "fourth");
    foreign_put(&db, 1, "a|17|x|y", "fifth");
    foreign_close(&db);
    write_map("sources:\n"
              "- {database: db, tenant: TENANT, table: devices, family: stats,\n"
              "   key: [row, qualifier, timestamp], separator: '|', timestamp_unit: ms}\n"
              "- {database: db, column_family: more, tenant: TENANT, table: devices,\n"
              "   family: raw, key: [row, timestamp, qualifier], separator_b64: fA==,\n"
              "   timestamp_unit: s}\n");
    bigtent(&r, &tenant, MOVE, "--verify", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 3); /* of two sources, which share one */
    ck_assert_int_eq(figure("cells"), 5);
    ck_assert_int_eq(http_get(w.http, "/v1/tables/devices/rows/a"), 200);
    ck_assert_str_eq(http_string(w.http, "/cells/stats/os/0/value"), "second");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/os/0/timestamp"), "1700000000002000");
    ck_assert_str_eq(http_string(w.http, "/cells/stats/os/1/value"), "first");
    ck_assert_str_eq(http_string(w.http, "/cells/raw/x|y/0/timestamp"), "17000000");
    ck_assert_int_eq(http_get(w.http, "/v1/tables/devices/rows/b"), 200);
}
END_TEST

START_TEST(several_tenants_and_prefixes_move_at_once)
{
    make_database("db", 300, 10);
    make_database("eu", 200, 10);
    ck_assert_int_eq(http_json(theirs, "PUT", "{'families':{'f':{}}}", "/v1/tables/kv"), 201);
    write_map("sources:\n"
              "- {database: db, tenant: TENANT, table: devices, family: stats, qualifier: v,\n"
              "   row_prefix: 'us#'}\n"
              "- {database: eu, tenant: TENANT, table: devices, family: stats, qualifier: v,\n"
              "   row_prefix: 'eu#'}\n"
              "- {database: eu, tenant: SECOND, table: kv, family: f, qualifier: ''}\n");
    bigtent(&r, &service, MOVE, "--verify", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 700);
    ck_assert_int_eq(tenant_usage(w.http).rows, 500);
    ck_assert_int_eq(tenant_usage(theirs).rows, 200);
    ck_assert_int_eq(http_get(w.http, "/v1/tables/devices/cells/eu%%23k00199/stats/v"), 200);
    ck_assert_int_eq(http_get(w.http, "/v1/tables/devices/cells/eu%%23k00200/stats/v"), 404);
}
END_TEST

START_TEST(key_of_one_tenant_moves_nothing_into_another)
{
    make_database("db", 10, 10);
    ck_assert_int_eq(http_json(theirs, "PUT", "{'families':{'f':{}}}", "/v1/tables/kv"), 201);
    write_map("sources:\n- {database: db, tenant: SECOND, table: kv, family: f, qualifier: v}\n");
    bigtent(&r, &tenant, MOVE);
    ck_assert_int_ne(r.code, 0);
    ck_assert_int_eq(tenant_usage(theirs).rows, 0);
    ck_assert_int_eq(tenant_usage(w.http).rows, 0);
    ck_assert(!is_there("map.yaml.state"));
}
END_TEST

START_TEST(large_values_go_alone)
{
    make_database("db", 3, 3 * 1024 * 1024);
    write_map(SIMPLE);
    bigtent(&r, &tenant, MOVE, "--verify");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(tenant_usage(w.http).rows, 3);
}
END_TEST

/* --- what does not fit --------------------------------------------------------------------------
 */

static const struct {
    const char *key;
    const char *says;
} UNFIT[] = {
    {"nothing", "its key lacks a separator"},
    {"|5", "its row key would be empty"},
    {"row|", "its key has no timestamp"},
    {"row|05", "its key has no timestamp"},
    {"row|-5", "its key has no timestamp"},
    {"row|5x", "its key has no timestamp"},
    {"row|9223372036854775807", "its key has no timestamp"},
    {"row|18446744073709551616", "its key has no timestamp"},
};
#define UNFIT_COUNT (sizeof UNFIT / sizeof UNFIT[0])

START_TEST(pairs_that_do_not_fit_are_named)
{
    put_one("db", base_slice_text(UNFIT[_i].key), base_slice_text("v"));
    write_map("sources:\n- {database: db, tenant: TENANT, table: devices, family: stats,\n"
              "   qualifier: v, key: [row, timestamp], separator: '|', timestamp_unit: ms}\n");
    bigtent(&r, &tenant, MOVE, "--dry-run");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, UNFIT[_i].says);
    EXPECT_IN(r.err, "db: 1 pairs do not fit");
    bigtent(&r, &tenant, MOVE);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, UNFIT[_i].says);
    EXPECT_IN(r.err, "\"unfit: skip\"");
    ck_assert_int_eq(tenant_usage(w.http).rows, 0);
}
END_TEST

START_TEST(limits_of_the_tenant_are_known_before_anything_is_written)
{
    make_database("db", 10, 20);
    put_one("db", base_slice_text("k-long-key"), base_slice_text("v"));
    write_map(SIMPLE);
    admin_set_quota(w.op, w.tenant, _i == 0 ? "{'row_key_bytes':9}" : "{'cell_bytes':19}");
    bigtent(&r, &tenant, MOVE, "--dry-run", "--json");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, _i == 0 ? "key \"k-long-key\": its row key would be longer"
                             : "key \"k00000\": its value is longer than the tenant's cell_bytes");
    json_t *doc = json_loads(r.out, 0, NULL);
    ck_assert_int_eq(json_integer_value(json_at(doc, "/unfit")), _i == 0 ? 1 : 10);
    ck_assert_int_eq(json_integer_value(json_at(doc, "/cells")), _i == 0 ? 10 : 1);
    ck_assert_int_eq(json_integer_value(json_at(doc, "/sources/0/longest_key")), 10);
    ck_assert_int_eq(json_integer_value(json_at(doc, "/sources/0/largest_value")), 20);
    json_decref(doc);
    /* One below. */
    admin_set_quota(w.op, w.tenant, "{'row_key_bytes':10,'cell_bytes':20}");
    bigtent(&r, &tenant, MOVE, "--dry-run");
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(keys_and_values_beyond_all_limits_are_passed_over)
{
    struct buf huge;
    base_buf_init(&huge, 128UL << 20);
    ck_assert_int_eq(base_buf_reserve(&huge, 101UL << 20), ERR_OK);
    memset(huge.ptr, 'x', 101UL << 20);
    put_one("db", base_slice_text("a"), base_slice_text("first"));
    put_one("db", base_slice_text("b"), base_slice(huge.ptr, (100UL << 20) + 1));
    put_one("db", base_slice(huge.ptr, 70000), base_slice_text("v"));
    put_one("db", base_slice_text("z"), base_slice_text("last"));
    base_buf_fini(&huge);
    write_map("sources:\n- {database: db, tenant: TENANT, table: devices, family: stats,\n"
              "   qualifier: v, unfit: skip}\n");
    bigtent(&r, &tenant, MOVE, "--verify", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 2);
    ck_assert_int_eq(figure("unfit"), 2);
    EXPECT_IN(r.err, "its key or value is longer than any cell can be");
}
END_TEST

START_TEST(quota_that_would_not_hold_it_is_said)
{
    make_database("db", 100, 20);
    write_map(SIMPLE);
    admin_set_quota(w.op, w.tenant, _i == 0 ? "{'rows':99}" : "{'stored_bytes':1000}");
    bigtent(&r, &tenant, MOVE, "--dry-run");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, _i == 0 ? "has 99 rows left of its quota; 100 would come"
                             : "has 1000 bytes left of its quota");
    bigtent(&r, &tenant, MOVE);
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "go on with --resume");
    admin_set_quota(w.op, w.tenant, "{}");
    bigtent(&r, &tenant, MOVE, "--resume", "--verify");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(tenant_usage(w.http).rows, 100);
}
END_TEST

START_TEST(rehearsal_writes_nothing)
{
    make_database("db", 100, 20);
    write_map(SIMPLE);
    bigtent(&r, &tenant, MOVE, "--dry-run");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "devices");
    ck_assert_int_eq(tenant_usage(w.http).rows, 0);
    ck_assert(!is_there("map.yaml.state"));
    bigtent(&r, &tenant, MOVE, "--dry-run", "--verify");
    EXPECT_CODE(&r, 2);
}
END_TEST

/* --- what is there already ----------------------------------------------------------------------
 */

START_TEST(rows_that_are_taken_are_not_written_over)
{
    make_database("db", 10, 10);
    tenant_put(w.http, "devices", "us#k", "stats", "other", "mine");
    write_map("sources:\n- {database: db, tenant: TENANT, table: devices, family: stats,\n"
              "   qualifier: v, row_prefix: 'us#'}\n");
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            bigtent(&r, &tenant, MOVE, "--dry-run");
        else
            bigtent(&r, &tenant, MOVE);
        EXPECT_CODE(&r, 5);
        EXPECT_IN(r.err, "map.yaml:2: the table devices of the tenant");
        EXPECT_IN(r.err, "has cells of the family stats already");
        ck_assert_int_eq(tenant_usage(w.http).cells, 1);
    }
    /* Another family, and rows beside them, are in nobody's way. */
    http_delete(w.http, "/v1/tables/devices/rows/us%%23k");
    tenant_put(w.http, "devices", "us#k00001", "raw", "other", "mine");
    tenant_put(w.http, "devices", "us$", "stats", "other", "mine");
    bigtent(&r, &tenant, MOVE, "--verify");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(tenant_usage(w.http).cells, 12);
}
END_TEST

START_TEST(verify_finds_what_is_different)
{
    make_database("db", 10, 10);
    write_map(SIMPLE);
    bigtent(&r, &tenant, MOVE, "--verify");
    EXPECT_CODE(&r, 0);
    if (_i == 0)
        tenant_put(w.http, "devices", "k00005", "stats", "v", "changed");
    else if (_i == 1)
        http_delete(w.http, "/v1/tables/devices/rows/k00005");
    else
        tenant_put(w.http, "devices", "zebra", "stats", "v", "more");
    bigtent(&r, &tenant, MOVE, "--resume", "--verify");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "db: the table devices of the tenant");
}
END_TEST

START_TEST(tables_and_families_must_be_there)
{
    static const char *const says[] = {"bigtent apply makes both", "has no family nothing"};
    make_database("db", 10, 10);
    write_map(_i == 0 ? "sources: [{database: db, tenant: TENANT, table: nothing, family: f,\n"
                        "  qualifier: v}]\n"
                      : "sources: [{database: db, tenant: TENANT, table: devices,\n"
                        "  family: nothing, qualifier: v}]\n");
    bigtent(&r, &tenant, MOVE);
    EXPECT_CODE(&r, _i == 0 ? 4 : 5);
    EXPECT_IN(r.err, says[_i]);
}
END_TEST

/* --- notes --------------------------------------------------------------------------------------
 */

START_TEST(notes_are_not_written_over_nor_believed)
{
    make_database("db", 10, 10);
    write_map(SIMPLE);
    bigtent(&r, &tenant, MOVE);
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, MOVE);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "has notes of this move");
    write_map(SIMPLE "# changed\n");
    bigtent(&r, &tenant, MOVE, "--resume");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "is about another mapping");
    write_map(SIMPLE);
    json_t *notes = read_json("map.yaml.state");
    json_object_set_new(json_at(notes, "/sources/0"), "content", json_string("ff"));
    write_json("map.yaml.state", notes);
    bigtent(&r, &tenant, MOVE, "--resume");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "is damaged");
    write_file("map.yaml.state", "{}", 2);
    bigtent(&r, &tenant, MOVE, "--resume");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "holds no notes of a move");
}
END_TEST

static void start_slow_move(void)
{
    make_database("db", 4000, 100);
    /* Keys of two parts, four cells a row. */
    struct foreign db = foreign_open(in_dir("two"));
    for (int i = 0; i < 6000; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "r%05d|q%d", i / 4, i % 4);
        foreign_put(&db, 0, key, "0123456789012345678901234567890123456789");
    }
    foreign_close(&db);
    write_map("sources:\n"
              "- {database: db, tenant: TENANT, table: devices, family: raw, qualifier: v}\n"
              "- {database: two, tenant: TENANT, table: devices, family: stats,\n"
              "   key: [row, qualifier], separator: '|'}\n");
    admin_set_quota(w.op, w.tenant, "{'write_ops_per_s':2000,'burst_ms':100}");
    const char *const args[] = {MOVE, NULL};
    run_start(&r, &tenant, args);
}

static bool cells_are_there(void *cells)
{
    return tenant_usage(w.http).cells >= *(const int64_t *)cells;
}

static void await_cells(int64_t cells)
{
    process_await(cells_are_there, &cells, "cells of a move");
}

START_TEST(killed_move_goes_on_and_is_equal)
{
    struct random rnd = {(uint64_t)_i + 3};
    start_slow_move();
    await_cells(1 + (int64_t)random_below(&rnd, 8000));
    (void)kill(r.pid, SIGKILL);
    run_finish(&r);
    admin_set_quota(w.op, w.tenant, "{}");
    bigtent(&r, &tenant, MOVE, "--resume", "--verify", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 4000 + 1500);
    ck_assert_int_eq(figure("cells"), 10000);
    ck_assert_int_eq(tenant_usage(w.http).cells, 10000);
}
END_TEST

START_TEST(interrupted_move_notes_how_far_it_is)
{
    start_slow_move();
    await_cells(2000);
    (void)kill(r.pid, SIGINT);
    run_finish(&r);
    EXPECT_CODE(&r, 128 + SIGINT);
    ck_assert(is_there("map.yaml.state"));
    admin_set_quota(w.op, w.tenant, "{}");
    bigtent(&r, &tenant, MOVE, "--resume", "--verify");
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(database_that_changed_meanwhile_is_not_gone_on_with)
{
    start_slow_move();
    await_cells(3000);
    (void)kill(r.pid, SIGINT);
    run_finish(&r);
    put_one("db", base_slice_text("k99999"), base_slice_text("new"));
    bigtent(&r, &tenant, MOVE, "--resume");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "db was written to since its move began");
}
END_TEST

START_TEST(two_moves_with_one_mapping_exclude_each_other)
{
    static struct run other;
    start_slow_move();
    await_cells(10);
    bigtent(&other, &tenant, MOVE, "--resume");
    EXPECT_CODE(&other, 2);
    EXPECT_IN(other.err, "is in use by another move");
    (void)kill(r.pid, SIGKILL);
    run_finish(&r);
}
END_TEST

/* --- readers ------------------------------------------------------------------------------------
 */

static const struct {
    const char *script; /* behind #!/bin/sh */
    const char *says;
} READERS[] = {
    {"exit 7", "its reader ended before the end of the database, with status 7"},
    {"kill -9 $$", "its reader was ended by signal 9"},
    {"echo something that is no stream of pairs at all", "is no stream of pairs"},
    /* a magic text and nothing */
    {"printf 'bigtent pairs 1\\n'", "ended before the end"},
    /* a failure in words */
    {"printf 'bigtent pairs 1\\n\\377\\377\\377\\376\\0\\0\\0\\005wrong'", "wrong"},
    /* a failure of 4 GiB */
    {"printf 'bigtent pairs 1\\n\\377\\377\\377\\376\\377\\377\\377\\377'", "is no stream"},
    /* about, one pair, an end that counts two */
    {"printf 'bigtent pairs 1\\n\\377\\377\\377\\375\\0\\0\\0\\020"
     "\\0\\0\\0\\0\\0\\0\\0\\1\\0\\0\\0\\0\\0\\0\\0\\1\\0\\0\\0\\1\\0\\0\\0\\1kv"
     "\\377\\377\\377\\377\\0\\0\\0\\010\\0\\0\\0\\0\\0\\0\\0\\2'",
     "1 of 2 pairs came"},
    /* the same, cut before its end */
    {"printf 'bigtent pairs 1\\n\\377\\377\\377\\375\\0\\0\\0\\020"
     "\\0\\0\\0\\0\\0\\0\\0\\1\\0\\0\\0\\0\\0\\0\\0\\1\\0\\0\\0\\1\\0\\0\\0\\1kv'",
     "ended before the end of the database, with status 0"},
    /* about twice */
    {"printf 'bigtent pairs 1\\n\\377\\377\\377\\375\\0\\0\\0\\020"
     "\\0\\0\\0\\0\\0\\0\\0\\1\\0\\0\\0\\0\\0\\0\\0\\1"
     "\\377\\377\\377\\375\\0\\0\\0\\020\\0\\0\\0\\0\\0\\0\\0\\1\\0\\0\\0\\0\\0\\0\\0\\1'",
     "is no stream"},
};
#define READER_COUNT (sizeof READERS / sizeof READERS[0])

START_TEST(readers_that_lie_are_found_out)
{
    char script[1024];
    (void)snprintf(script, sizeof script, "#!/bin/sh\n%s\n", READERS[_i].script);
    write_file("reader", script, strlen(script));
    ck_assert_int_eq(chmod(in_dir("reader"), 0700), 0);
    write_map(SIMPLE);
    bigtent(&r, &tenant, MOVE, "--reader", in_dir("reader"));
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, READERS[_i].says);
    json_t *notes = read_json("map.yaml.state");
    ck_assert(!json_is_true(json_at(notes, "/sources/0/done")));
    json_decref(notes);
}
END_TEST

START_TEST(databases_that_cannot_be_read_are_said)
{
    write_map(SIMPLE);
    bigtent(&r, &tenant, MOVE);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "is no RocksDB database");
    bigtent(&r, &tenant, MOVE, "--resume", "--reader", in_dir("nothing"));
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "cannot start");
    make_database("db", 10, 10);
    write_map("sources:\n- {database: db, column_family: nothing, tenant: TENANT,\n"
              "   table: devices, family: stats, qualifier: v}\n");
    bigtent(&r, &tenant, MOVE, "--state", in_dir("notes"));
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "nothing");
    ck_assert(is_there("notes"));
}
END_TEST

/* --- mappings -----------------------------------------------------------------------------------
 */

#define SOURCE(more) "sources: [{database: db, tenant: ab, table: t, family: f" more "}]\n"

#define TABLE(more) "sources: [{tenant: ab, table: t, from_table: " more "}]\n"

static const struct {
    const char *text;
    const char *says;
} WRONG[] = {
    {"", "the file needs \"sources\""},
    {"[]\n", "the file must be a mapping"},
    {"sources: []\n", "there are 0 sources"},
    {"sources: 5\n", "sources must be a list"},
    {"sources: [5]\n", "a source must be a mapping"},
    {"sources: [{}]\n", "a source needs \"database\""},
    {"source: []\n", "did you mean \"sources\"?"},
    {SOURCE("") "---\n" SOURCE(""), "the file has a second document"},
    {SOURCE(", qualifier: v, famly: x"), "unknown field \"famly\"; did you mean \"family\"?"},
    {SOURCE(", qualifier: v, tenant: x"), "stands here a second time"},
    {"sources: &a [*a]\n", "anchor"},
    {"sources: [{database: ../db, tenant: ab, table: t, family: f, qualifier: v}]\n",
     "1:22: database must be a path below"},
    {"sources: [{database: a/../../db, tenant: ab, table: t, family: f, qualifier: v}]\n",
     "database must be a path below"},
    {"sources: [{database: /etc, tenant: ab, table: t, family: f, qualifier: v}]\n",
     "database must be a path below"},
    {"sources: [{database: '', tenant: ab, table: t, family: f, qualifier: v}]\n", "database"},
    {"sources: [{database: db, tenant: Ab, table: t, family: f, qualifier: v}]\n",
     "tenant \"Ab\": tenant ID may hold"},
    {"sources: [{database: db, tenant: ab, table: t/x, family: f, qualifier: v}]\n",
     "table \"t/x\""},
    {"sources: [{database: db, tenant: ab, table: t, family: 'f:', qualifier: v}]\n",
     "family \"f:\""},
    {SOURCE(""), "the qualifier is either a part of the key, or given"},
    {SOURCE(", qualifier: a, qualifier_b64: YQ=="), "exclude each other"},
    {SOURCE(", qualifier_b64: '*'"), "must be base64"},
    {SOURCE(", qualifier: [a]"), "qualifier must be text"},
    {SOURCE(", qualifier: null"), "qualifier must be text"},
    {SOURCE(", key: [row, qualifier], qualifier: a, separator: x"), "one of both"},
    {SOURCE(", key: [row, qualifier]"), "needs a separator"},
    {SOURCE(", key: [row, qualifier], separator: ''"), "needs a separator"},
    {SOURCE(", key: [row], qualifier: a, separator: x"), "needs a key of several parts"},
    {SOURCE(", key: [qualifier, row], separator: x"), "the first part of the key must be row"},
    {SOURCE(", key: [], qualifier: a"), "the first part of the key must be row"},
    {SOURCE(", key: [row, row], separator: x, qualifier: a"), "has the part row twice"},
    {SOURCE(", key: [row, family], separator: x, qualifier: a"), "is row, qualifier or timestamp"},
    {SOURCE(", key: row, qualifier: a"), "key must be a list"},
    {SOURCE(", qualifier: a, timestamp: 5"), "timestamp must be now"},
    {SOURCE(", qualifier: a, timestamp: -1000"), "timestamp must be now"},
    {SOURCE(", qualifier: a, timestamp: 9223372036854775000"), "timestamp must be now"},
    {SOURCE(", qualifier: a, timestamp_unit: ms"), "is that of a timestamp in the key"},
    {SOURCE(", qualifier: a, key: [row, timestamp], separator: x, timestamp: now"),
     "either a part of the key, or given"},
    {SOURCE(", qualifier: a, key: [row, timestamp], separator: x, timestamp_unit: h"),
     "must be us, ms or s"},
    {SOURCE(", qualifier: a, unfit: drop"), "must be stop or skip"},
    /* tables of a service */
    {"sources: [{tenant: ab, table: t}]\n", "a source needs \"database\" or \"from_table\""},
    {TABLE("projects/p/instances/i/tables/t, database: db"), "exclude each other"},
    {TABLE("projects/p/instances/i/tables/"), "from_table must be projects/P/instances/I"},
    {TABLE("projects/p/instances/i/tables/t/x"), "from_table must be projects/P/instances/I"},
    {TABLE("projects//instances/i/tables/t"), "from_table must be projects/P/instances/I"},
    {TABLE("'projects/p/instances/i/tables/t&x=y'"), "from_table must be projects/P/instances/I"},
    {TABLE("projects/p/instances/i/tables/t, family: f"), "family is for databases"},
    {TABLE("projects/p/instances/i/tables/t, qualifier: f"), "qualifier is for databases"},
    {TABLE("projects/p/instances/i/tables/t, key: [row]"), "key is for databases"},
    {TABLE("projects/p/instances/i/tables/t, timestamp: now"), "timestamp is for databases"},
    {TABLE("projects/p/instances/i/tables/t, families: [a]"), "families must be a mapping"},
    {TABLE("projects/p/instances/i/tables/t, families: {a: 'b:c'}"), "family"},
    {TABLE("projects/p/instances/i/tables/t, families: {a: [b]}"), "a family must be"},
    {TABLE("projects/p/instances/i/tables/t, families: {a: c, b: c}"),
     "two families would become c"},
    {TABLE("projects/p/instances/i/tables/t, strip_prefix: a, strip_prefix_b64: YQ=="),
     "exclude each other"},
    {SOURCE(", qualifier: v, strip_prefix: a"), "strip_prefix is for tables of a service"},
    {SOURCE(", qualifier: v, families: {a: b}"), "families is for tables of a service"},
    {"sources:\n- {from_table: projects/p/instances/i/tables/t, tenant: ab, table: t}\n"
     "- {from_table: projects/p/instances/i/tables/u, tenant: ab, table: t, row_prefix: x}\n",
     "3:3: its rows may be those of the source in line 2"},
    {"sources:\n- {database: a, tenant: ab, table: t, family: f, qualifier: a, row_prefix: a}\n"
     "- {from_table: projects/p/instances/i/tables/u, tenant: ab, table: t, row_prefix: x}\n",
     "2:3: a database and, in line 3, a table of a service cannot come into one table"},
    /* rows that meet */
    {"sources:\n- {database: a, tenant: ab, table: t, family: f, qualifier: a}\n"
     "- {database: b, tenant: ab, table: t, family: f, qualifier: b}\n",
     "3:3: its rows may be those of the source in line 2"},
    {"sources:\n- {database: a, tenant: ab, table: t, family: f, qualifier: a, row_prefix: x#y}\n"
     "- {database: b, tenant: ab, table: u, family: f, qualifier: a}\n"
     "- {database: c, tenant: ab, table: t, family: f, qualifier: a, row_prefix: x#}\n",
     "2:3: its rows may be those of the source in line 4"},
};
#define WRONG_COUNT (sizeof WRONG / sizeof WRONG[0])

START_TEST(mappings_that_cannot_be_are_refused)
{
    write_file("map.yaml", WRONG[_i].text, strlen(WRONG[_i].text));
    struct setup nobody = {.key = "bts_nobody"}; /* nothing is sent */
    bigtent(&r, &nobody, MOVE);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, WRONG[_i].says);
}
END_TEST

START_TEST(mapping_must_be_a_file_that_can_be_read)
{
    struct setup nobody = {.key = "bts_nobody"};
    bigtent(&r, &nobody, MOVE);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "cannot open");
    bigtent(&r, &nobody, "move-in", in_dir("map.yaml"));
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "--from");
}
END_TEST

static void add_moves(TCase *t)
{
    tcase_add_test(t, keys_become_rows);
    tcase_add_test(t, bytes_of_every_kind_survive);
    tcase_add_test(t, parts_of_keys_become_qualifiers_and_timestamps);
    tcase_add_test(t, several_tenants_and_prefixes_move_at_once);
    tcase_add_test(t, key_of_one_tenant_moves_nothing_into_another);
    tcase_add_test(t, large_values_go_alone);
    tcase_add_loop_test(t, pairs_that_do_not_fit_are_named, 0, UNFIT_COUNT);
    tcase_add_loop_test(t, limits_of_the_tenant_are_known_before_anything_is_written, 0, 2);
    tcase_add_test(t, keys_and_values_beyond_all_limits_are_passed_over);
    tcase_add_loop_test(t, quota_that_would_not_hold_it_is_said, 0, 2);
    tcase_add_test(t, rehearsal_writes_nothing);
    tcase_add_test(t, rows_that_are_taken_are_not_written_over);
    tcase_add_loop_test(t, verify_finds_what_is_different, 0, 3);
    tcase_add_loop_test(t, tables_and_families_must_be_there, 0, 2);
    tcase_add_test(t, notes_are_not_written_over_nor_believed);
    tcase_add_loop_test(t, killed_move_goes_on_and_is_equal, 0, 4);
    tcase_add_test(t, interrupted_move_notes_how_far_it_is);
    tcase_add_test(t, database_that_changed_meanwhile_is_not_gone_on_with);
    tcase_add_test(t, two_moves_with_one_mapping_exclude_each_other);
    tcase_add_loop_test(t, readers_that_lie_are_found_out, 0, READER_COUNT);
    tcase_add_test(t, databases_that_cannot_be_read_are_said);
}

Suite *suite_cli_move_in(void);
Suite *suite_cli_move_in(void)
{
    Suite *s = suite_create("cli_move_in");
    TCase *t = tcase_create("mappings");
    tcase_add_checked_fixture(t, set_up_files, tear_down_files);
    tcase_add_loop_test(t, mappings_that_cannot_be_are_refused, 0, WRONG_COUNT);
    tcase_add_test(t, mapping_must_be_a_file_that_can_be_read);
    suite_add_tcase(s, t);
    t = tcase_create("moves");
    tcase_set_timeout(t, 60);
    world_begin(t);
    tcase_add_checked_fixture(t, set_up, tear_down);
    add_moves(t);
    world_end(t);
    suite_add_tcase(s, t);
    return s;
}

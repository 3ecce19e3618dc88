/*
 * tests/cli/test_export.c - export: what is in the files, scans that break, exports that are
 * killed.
 */
#define _GNU_SOURCE
#include "tests/cli/transfer.h"

#include <openssl/evp.h>
#include <sys/stat.h>

#include "tests/support/modes.h"

#include "base/banned.h"

static struct server own; /* a server that may be killed */

static void set_up(void)
{
    session_set_up();
    keeper = process_temp_dir(dir);
}

static void tear_down(void)
{
    process_temp_dir_remove(dir, keeper);
    session_tear_down();
}

static void set_up_own(void)
{
    server_create(&own);
    server_start(&own, NULL);
    world_init_on(&w, &own, HTTP_2, "loner");
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u", own.port);
    tenant = (struct setup){.url = url, .key = w.key, .cacert = own.ca};
    keeper = process_temp_dir(dir);
}

static void tear_down_own(void)
{
    process_temp_dir_remove(dir, keeper);
    world_fini(&w);
    server_remove(&own);
}

/* --- files --------------------------------------------------------------------------------------
 */

START_TEST(export_writes_a_record_for_each_cell)
{
    http_json(w.http, "PATCH",
              "{'stats':{'os':{'value':'1\\\"7','timestamp':'2000'},'':{'value':'','timestamp':"
              "'1000'}},'$binary':[{'family':'raw','qualifier_b64':'/w==','value_b64':'AP8=',"
              "'timestamp':'3000'}]}",
              "/v1/tables/devices/rows/k%%2C1");
    const char *format = _i == 0 ? "ndjson" : "csv";
    bigtent(&r, &tenant, "export", in_dir("x"), "--format", format, "--compress", "none", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 1);
    ck_assert_int_eq(figure("cells"), 3);
    struct buf bytes = file_bytes(_i == 0 ? "x/devices/00000.ndjson" : "x/devices/00000.csv");
    base_buf_append_byte(&bytes, '\0');
    ck_assert_str_eq(
        (const char *)bytes.ptr,
        _i == 0 ? "{\"key\":\"k,1\",\"family\":\"stats\",\"qualifier\":\"\",\"timestamp\":\"1000\","
                  "\"value\":\"\"}\n"
                  "{\"key\":\"k,1\",\"family\":\"stats\",\"qualifier\":\"os\",\"timestamp\":"
                  "\"2000\",\"value\":\"1\\\"7\"}\n"
                  "{\"key\":\"k,1\",\"family\":\"raw\",\"qualifier_b64\":\"/w==\",\"timestamp\":"
                  "\"3000\",\"value_b64\":\"AP8=\"}\n"
                : "key,family,qualifier,timestamp,value,b64\n"
                  "\"k,1\",stats,\"\",1000,\"\",\n"
                  "\"k,1\",stats,\"os\",2000,\"1\"\"7\",\n"
                  "\"k,1\",raw,\"/w==\",3000,\"AP8=\",qv\n");
    base_buf_fini(&bytes);
}
END_TEST

START_TEST(an_export_is_its_owners_alone)
{
    static const char *const none[] = {NULL};
    tenant_put(w.http, "devices", "a", "stats", "q", "v");
    (void)umask(0);
    bigtent(&r, &tenant, "export", in_dir("x"), "--compress", "none", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_uint_eq(modes_open_to_others(in_dir("x"), none), 0);
}
END_TEST

START_TEST(manifest_says_what_there_is)
{
    tenant_put(w.http, "devices", "a", "stats", "q", "v");
    tenant_put(w.http, "devices", "b", "stats", "q", "v");
    tenant_put(w.http, "devices", "c", "stats", "q", "v");
    http_json(w.http, "PUT", "{'families':{'f':{'gc':{'max_versions':3}}}}", "/v1/tables/empty");
    bigtent(&r, &tenant, "export", in_dir("x"), "--rows-per-file", "2");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.err, "");
    json_t *m = read_json("x/manifest.json");
    ck_assert_str_eq(json_string_value(json_object_get(m, "format")), "bigtent-export");
    ck_assert_int_eq(json_integer_value(json_object_get(m, "version")), 1);
    ck_assert_str_eq(json_string_value(json_object_get(m, "tenant")), w.tenant);
    ck_assert(json_is_true(json_object_get(m, "complete")));
    ck_assert_int_eq(json_array_size(json_object_get(m, "tables")), 2);
    json_t *t = json_at(m, "/tables/0");
    ck_assert_str_eq(json_string_value(json_at(t, "/files/0/first_key")), "a");
    ck_assert_str_eq(json_string_value(json_at(t, "/files/0/last_key")), "b");
    ck_assert_int_eq(json_integer_value(json_at(t, "/files/0/rows")), 2);
    ck_assert_str_eq(json_string_value(json_at(t, "/files/1/name")), "devices/00001.ndjson.zst");
    ck_assert_int_eq(json_integer_value(json_object_get(t, "rows")), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(t, "bytes")), tenant_usage(w.http).bytes);
    ck_assert_int_eq(json_array_size(json_at(m, "/tables/1/files")), 0);
    ck_assert_int_eq(json_integer_value(json_at(m, "/tables/1/schema/families/f/gc/max_versions")),
                     3);
    json_decref(m);
}
END_TEST

/* The hash is written down in docs/export-format.md; here it is computed once more, by hand. */
START_TEST(content_is_the_sum_of_the_cells_hashes)
{
    uint8_t sum[32] = {0};
    static const char *const cells[] = {
        "\0\0\0\1a\0\0\0\5stats\0\0\0\1q\0\0\0\0\0\0\x03\xe8\0\0\0\1v",
        "\0\0\0\1b\0\0\0\5stats\0\0\0\1q\0\0\0\0\0\0\x03\xe8\0\0\0\0"};
    static const size_t lengths[] = {5 + 9 + 5 + 8 + 5, 5 + 9 + 5 + 8 + 4};
    for (size_t i = 0; i < 2; i++) {
        uint8_t hash[32];
        unsigned carry = 0;
        ck_assert_int_eq(EVP_Digest(cells[i], lengths[i], hash, NULL, EVP_sha256(), NULL), 1);
        for (int n = 31; n >= 0; n--) {
            carry += (unsigned)sum[n] + hash[n];
            sum[n] = (uint8_t)carry;
            carry >>= 8;
        }
    }
    struct buf text;
    base_buf_init(&text, 100);
    base_hex_encode(base_slice(sum, 32), &text);
    base_buf_append_byte(&text, '\0');
    http_json(w.http, "PATCH", "{'stats':{'q':{'value':'v','timestamp':'1000'}}}",
              "/v1/tables/devices/rows/a");
    http_json(w.http, "PATCH", "{'stats':{'q':{'value':'','timestamp':'1000'}}}",
              "/v1/tables/devices/rows/b");
    bigtent(&r, &tenant, "export", in_dir("x"), "--rows-per-file", _i == 0 ? "1" : "10");
    EXPECT_CODE(&r, 0);
    json_t *m = read_json("x/manifest.json");
    ck_assert_str_eq(json_string_value(json_at(m, "/tables/0/content")), (const char *)text.ptr);
    json_decref(m);
    base_buf_fini(&text);
}
END_TEST

START_TEST(rows_can_be_chosen)
{
    static const char *const keys[] = {"a", "b1", "b2", "c", "\xff", "\xff\xff"};
    for (size_t i = 0; i < 6; i++) {
        bigtent(&r, &tenant, "row", "put", "devices", keys[i], "stats:q=v");
        EXPECT_CODE(&r, 0);
    }
    bigtent(&r, &tenant, "export", in_dir("1"), "--prefix", "b", "--json");
    ck_assert_int_eq(figure("rows"), 2);
    bigtent(&r, &tenant, "export", in_dir("2"), "--start", "b2", "--end", "\xff", "--json");
    ck_assert_int_eq(figure("rows"), 2);
    bigtent(&r, &tenant, "export", in_dir("3"), "--prefix", "\xff", "--json");
    ck_assert_int_eq(figure("rows"), 2);
    bigtent(&r, &tenant, "export", in_dir("4"), "--start", "b2", "--end", "b2");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &tenant, "export", in_dir("5"), "--table", "nothing");
    EXPECT_CODE(&r, 4);
}
END_TEST

START_TEST(large_rows_and_values_are_whole)
{
    static char value[3 << 20];
    memset(value, '"', sizeof value); /* each is two bytes of JSON */
    ck_assert_int_eq(http_bytes(w.http, "PUT", base_slice(value, sizeof value),
                                "/v1/tables/devices/cells/big/stats/q?timestamp=5000"),
                     204);
    value[0] = (char)0xff; /* and now base64 */
    ck_assert_int_eq(http_bytes(w.http, "PUT", base_slice(value, sizeof value),
                                "/v1/tables/devices/cells/big/stats/q?timestamp=6000"),
                     204);
    ck_assert_int_eq(http_bytes(w.http, "PUT", base_slice(value, sizeof value),
                                "/v1/tables/devices/cells/%%2E%%2E/raw/%%2E?timestamp=6000"),
                     204);
    bigtent(&r, &tenant, "export", in_dir("x"), "--format", _i == 0 ? "ndjson" : "csv");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "import", in_dir("x"), "--table", "devices", "--into", "copy", "--create",
            "--verify");
    EXPECT_CODE(&r, 0);
    expect_same_rows("devices", "copy");
}
END_TEST

START_TEST(directory_that_is_not_empty_is_left_alone)
{
    bigtent(&r, &tenant, "export", dir, "--resume");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "manifest.json");
    write_file("mine", "x", 1);
    bigtent(&r, &tenant, "export", dir);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "is not empty");
    bigtent(&r, &tenant, "export", in_dir("mine"));
    EXPECT_CODE(&r, 2);
    bigtent(&r, &tenant, "export", in_dir("no/where"));
    EXPECT_CODE(&r, 2);
}
END_TEST

START_TEST(options_are_checked)
{
    bigtent(&r, &tenant, "export", in_dir("x"), "--format", "xml");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &tenant, "export", in_dir("x"), "--compress", "gzip");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &tenant, "export", in_dir("x"), "--rows-per-file", "0");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &tenant, "export", in_dir("x"), "--prefix", "a", "--start", "b");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &tenant, "export", in_dir("x"), "--resume", "--format", "csv");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "--format was settled");
}
END_TEST

START_TEST(full_disk_is_said_and_the_export_goes_on_later)
{
    fill_table("devices", 4000, 1000);
    const char *const args[] = {"export",          in_dir("x"), "--compress", "none",
                                "--rows-per-file", "1000",      NULL};
    struct rlimit before;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {500000, before.rlim_max}; /* half of a file */
    (void)signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    run_start(&r, &tenant, args);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    run_finish(&r);
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "cannot write devices/00000.ndjson: File too large");
    EXPECT_IN(r.err, "--resume");
    ck_assert_uint_eq(count_files("x/devices", ".part"), 0);
    bigtent(&r, &tenant, "export", in_dir("x"), "--resume", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 4000);
}
END_TEST

/* --- breaks -------------------------------------------------------------------------------------
 */

/* A rate makes an export last long enough to be killed at any of its moments. */
static void start_slow_export(void)
{
    fill_table("devices", 6000, 500);
    ck_assert_int_eq(http_json(w.http, "PUT", "{'families':{'stats':{}}}", "/v1/tables/other"),
                     201);
    fill_table("other", 1000, 100);
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':3000000,'burst_ms':100}");
    const char *const args[] = {"export", in_dir("x"), "--rows-per-file", "500", NULL};
    run_start(&r, &tenant, args);
}

static bool files_are_there(void *count)
{
    return is_there("x/devices") && count_files("x/devices", ".zst") >= *(const size_t *)count;
}

static void await_files(size_t count)
{
    process_await(files_are_there, &count, "files of an export");
}

START_TEST(killed_export_goes_on_with_nothing_twice_and_nothing_missing)
{
    struct random rnd = {(uint64_t)_i + 17};
    start_slow_export();
    await_files((size_t)_i % 4);
    process_sleep_ms((int)random_below(&rnd, 200));
    (void)kill(r.pid, SIGKILL);
    run_finish(&r);
    for (int kills = 0; kills < 2; kills++) {
        const char *const args[] = {"export", in_dir("x"), "--resume", NULL};
        if (!is_there("x/manifest.json"))
            break;
        run_start(&r, &tenant, args);
        process_sleep_ms(100 + (int)random_below(&rnd, 300));
        (void)kill(r.pid, SIGKILL);
        run_finish(&r);
    }
    admin_set_quota(w.op, w.tenant, "{}");
    bool begun = is_there("x/manifest.json");
    if (begun)
        bigtent(&r, &tenant, "export", in_dir("x"), "--resume", "--json");
    else
        bigtent(&r, &tenant, "export", in_dir("y"), "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 7000);
    const char *name = begun ? "x" : "y";
    ck_assert_uint_eq(count_files(begun ? "x/devices" : "y/devices", ".part"), 0);
    bigtent(&r, &tenant, "import", in_dir(name), "--table", "devices", "--into", "copy", "--create",
            "--verify");
    EXPECT_CODE(&r, 0);
    expect_same_rows("devices", "copy");
}
END_TEST

/* The second time the range ends right behind its last row: nothing is left that could be asked
 * for. */
START_TEST(files_the_manifest_does_not_name_go)
{
    fill_table("devices", 10, 10);
    bigtent(&r, &tenant, "export", in_dir("x"));
    EXPECT_CODE(&r, 0);
    json_t *m = read_json("x/manifest.json");
    json_object_set_new(m, "complete", json_false());
    json_t *t = json_at(m, "/tables/0");
    json_object_set_new(t, "ranges",
                        json_pack("[{s:s,s:s,s:s,s:b}]", "start", "", _i == 0 ? "end" : "end_b64",
                                  _i == 0 ? "" : "azAwMDAwOQA=", "after", "k000009", "done", 0));
    write_json("x/manifest.json", m);
    write_file("x/devices/00007.ndjson.zst", "x", 1);
    write_file("x/devices/00003.ndjson.zst.part", "x", 1);
    write_file("x/devices/notes.txt", "x", 1);
    bigtent(&r, &tenant, "export", in_dir("x"), "--resume", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("rows"), 10);
    ck_assert_uint_eq(count_files("x/devices", ".zst"), 1);
    ck_assert_uint_eq(count_files("x/devices", ".part"), 0);
    ck_assert(is_there("x/devices/notes.txt"));
    bigtent(&r, &tenant, "import", in_dir("x"), "--dry-run");
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(export_goes_on_by_itself_when_the_server_comes_back)
{
    static char address[32];
    start_slow_export();
    await_files(2);
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", own.port);
    server_kill(&own);
    process_sleep_ms(500);
    own.options[0] = "--listen";
    own.options[1] = address;
    server_start(&own, NULL);
    run_finish(&r);
    EXPECT_CODE(&r, 0);
    http_reconnect(w.http);
    ck_assert_str_eq(plain_value(&r, "rows"), "7000");
    http_reconnect(w.op);
    admin_set_quota(w.op, w.tenant, "{}");
    bigtent(&r, &tenant, "import", in_dir("x"), "--table", "devices", "--into", "copy", "--create",
            "--verify");
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(server_that_stays_away_ends_it)
{
    start_slow_export();
    await_files(1);
    server_kill(&own);
    run_read(&r, "broke off");
    (void)kill(r.pid, SIGINT);
    run_finish(&r);
    EXPECT_CODE(&r, 128 + SIGINT);
    EXPECT_IN(r.err, "to go on: bigtent export");
}
END_TEST

START_TEST(another_tenants_export_is_not_gone_on_with)
{
    tenant_put(w.http, "devices", "a", "stats", "q", "v");
    bigtent(&r, &tenant, "export", in_dir("x"));
    EXPECT_CODE(&r, 0);
    json_t *m = read_json("x/manifest.json");
    json_object_set_new(m, "tenant", json_string("somebody"));
    write_json("x/manifest.json", m);
    bigtent(&r, &tenant, "export", in_dir("x"), "--resume");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "of the tenant somebody");
}
END_TEST

START_TEST(memory_does_not_grow_with_the_table)
{
    if (process_sanitized())
        return; /* sanitizers keep freed memory */
    for (int i = 0; i < 3; i++) {
        char table[16];
        (void)snprintf(table, sizeof table, "t%d", i);
        http_json(w.http, "PUT", "{'families':{'stats':{}}}", "/v1/tables/%s", table);
        fill_table(table, 400, 100000);
    }
    bigtent(&r, &tenant, "export", in_dir("x"));
    EXPECT_CODE(&r, 0);
    ck_assert_msg(r.max_rss_kib < 64 * 1024, "export took %ld KiB", r.max_rss_kib);
    bigtent(&r, &tenant, "import", in_dir("x"), "--verify");
    EXPECT_CODE(&r, 0);
    ck_assert_msg(r.max_rss_kib < 96 * 1024, "import took %ld KiB", r.max_rss_kib);
}
END_TEST

START_TEST(terminal_shows_a_bar)
{
    fill_table("devices", 6000, 500);
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':6000000,'burst_ms':100}");
    tenant.terminal = true;
    bigtent(&r, &tenant, "export", in_dir("x"));
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "\r[");
    EXPECT_IN(r.out, " rows  ");
    EXPECT_IN(r.out, "6,000");
}
END_TEST

Suite *suite_cli_export(void);
Suite *suite_cli_export(void)
{
    Suite *s = suite_create("cli_export");
    TCase *t = tcase_create("files");
    tcase_set_timeout(t, 60);
    world_begin(t);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, export_writes_a_record_for_each_cell, 0, 2);
    tcase_add_test(t, an_export_is_its_owners_alone);
    tcase_add_test(t, manifest_says_what_there_is);
    tcase_add_loop_test(t, content_is_the_sum_of_the_cells_hashes, 0, 2);
    tcase_add_test(t, rows_can_be_chosen);
    tcase_add_loop_test(t, large_rows_and_values_are_whole, 0, 2);
    tcase_add_test(t, directory_that_is_not_empty_is_left_alone);
    tcase_add_test(t, options_are_checked);
    tcase_add_test(t, full_disk_is_said_and_the_export_goes_on_later);
    tcase_add_loop_test(t, files_the_manifest_does_not_name_go, 0, 2);
    tcase_add_test(t, another_tenants_export_is_not_gone_on_with);
    tcase_add_test(t, memory_does_not_grow_with_the_table);
    tcase_add_test(t, terminal_shows_a_bar);
    tcase_add_loop_test(t, killed_export_goes_on_with_nothing_twice_and_nothing_missing, 0, 4);
    world_end(t);
    suite_add_tcase(s, t);
    t = tcase_create("servers that die");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up_own, tear_down_own);
    tcase_add_test(t, export_goes_on_by_itself_when_the_server_comes_back);
    tcase_add_test(t, server_that_stays_away_ends_it);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/cli/test_import.c - import: the same rows again, damage, strangers' manifests, kills.
 * Over 500 lines because every kind of damage is a row of a table.
 */
#define _GNU_SOURCE
#include "tests/cli/transfer.h"

#include <openssl/evp.h>

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

/* Ten rows in one file, dir/x. */
static void export_ten(const char *compress, const char *format)
{
    fill_table("devices", 10, 10);
    bigtent(&r, &tenant, "export", in_dir("x"), "--compress", compress, "--format", format);
    EXPECT_CODE(&r, 0);
}

#define IMPORT_COPY "--table", "devices", "--into", "copy", "--create"

static void sha256_hex(struct slice bytes, struct buf *out)
{
    uint8_t hash[32];
    ck_assert_int_eq(EVP_Digest(bytes.ptr, bytes.len, hash, NULL, EVP_sha256(), NULL), 1);
    base_hex_encode(base_slice(hash, sizeof hash), out);
    base_buf_append_byte(out, '\0');
}

/* The file is replaced and its hash with it: the manifest vouches for what is no record. */
static void replace_file(const char *format, const char *text)
{
    struct buf hash;
    char name[64];
    (void)snprintf(name, sizeof name, "x/devices/00000.%s", format);
    write_file(name, text, strlen(text));
    json_t *m = read_json("x/manifest.json");
    json_t *file = json_at(m, "/tables/0/files/0");
    base_buf_init(&hash, 100);
    sha256_hex(base_slice_text(text), &hash);
    json_object_set_new(file, "sha256", json_string((const char *)hash.ptr));
    json_object_set_new(file, "size", json_integer((json_int_t)strlen(text)));
    write_json("x/manifest.json", m);
    base_buf_fini(&hash);
}

/* --- the same again -----------------------------------------------------------------------------
 */

START_TEST(random_tables_come_back_as_they_were)
{
    fill_random((uint64_t)_i + 1);
    bigtent(&r, &tenant, "export", in_dir("x"), "--table", "random", "--format",
            _i % 2 == 0 ? "ndjson" : "csv", "--compress", _i % 4 < 2 ? "zstd" : "none",
            "--rows-per-file", _i % 3 == 0 ? "7" : "1000");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "import", in_dir("x"), "--dry-run");
    EXPECT_CODE(&r, 0);
    /* Twice: the second time changes nothing, aggregates included. */
    for (int i = 0; i < 2; i++) {
        bigtent(&r, &tenant, "import", in_dir("x"), "--table", "random", "--into", "copy",
                "--create", "--verify", "--json");
        EXPECT_CODE(&r, 0);
        ck_assert_int_eq(figure("rows"), 200);
        expect_same_rows("random", "copy");
    }
    ck_assert_int_eq(http_get(w.http, "/v1/tables/copy"), 200);
    ck_assert_str_eq(http_string(w.http, "/row_key_notes"), "any bytes");
    ck_assert_str_eq(http_string(w.http, "/families/n/type"), "sum");
    ck_assert(!is_there("x/import.json"));
}
END_TEST

START_TEST(content_is_the_same_in_every_encoding_and_division)
{
    fill_random(99);
    bigtent(&r, &tenant, "export", in_dir("a"), "--table", "random");
    bigtent(&r, &tenant, "export", in_dir("b"), "--table", "random", "--format", "csv",
            "--compress", "none", "--rows-per-file", "3");
    json_t *a = read_json("a/manifest.json");
    json_t *b = read_json("b/manifest.json");
    ck_assert_str_eq(json_string_value(json_at(a, "/tables/0/content")),
                     json_string_value(json_at(b, "/tables/0/content")));
    json_decref(a);
    json_decref(b);
}
END_TEST

START_TEST(every_table_is_made_and_empty_ones_too)
{
    fill_table("devices", 10, 10);
    http_json(w.http, "PUT", "{'families':{'f':{'type':'int64'}}}", "/v1/tables/empty");
    bigtent(&r, &tenant, "export", in_dir("x"));
    EXPECT_CODE(&r, 0);
    http_delete(w.http, "/v1/tables/empty");
    bigtent(&r, &tenant, "import", in_dir("x"));
    EXPECT_CODE(&r, 4);
    EXPECT_IN(r.err, "there is no table empty; --create makes it");
    bigtent(&r, &tenant, "import", in_dir("x"), "--create", "--verify", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(figure("tables"), 2);
    ck_assert_int_eq(http_get(w.http, "/v1/tables/empty"), 200);
    ck_assert_str_eq(http_string(w.http, "/families/f/type"), "int64");
}
END_TEST

START_TEST(small_limits_of_a_tenant_divide_lines)
{
    fill_random(5);
    bigtent(&r, &tenant, "export", in_dir("x"), "--table", "random");
    admin_set_quota(w.op, w.tenant, "{'mutations_per_row':2}");
    bigtent(&r, &tenant, "import", in_dir("x"), "--table", "random", "--into", "copy", "--create",
            "--verify");
    EXPECT_CODE(&r, 0);
    expect_same_rows("random", "copy");
}
END_TEST

START_TEST(csv_and_ndjson_of_others_are_read)
{
    static const char *const files[] = {
        "key,family,qualifier,timestamp,value,b64\r\nk,stats,q,1000,v,\r\n",
        "key,family,qualifier,timestamp,value,b64\n\"k\",\"stats\",\"q\",\"1000\",\"v\",\"\"\n",
        "key,family,qualifier,timestamp,value,b64\nk,stats,cQ==,1000,dg==,qv\n",
        " { \"value\" : \"\\u0076\", \"timestamp\":\"1000\",\"qualifier_b64\":\"cQ==\",\t"
        "\"family\":\"stats\", \"key\":\"\\u006b\" } \r\n",
    };
    bool csv = _i < 3;
    http_json(w.http, "PATCH", "{'stats':{'q':{'value':'v','timestamp':'1000'}}}",
              "/v1/tables/devices/rows/k");
    bigtent(&r, &tenant, "export", in_dir("x"), "--compress", "none", "--format",
            csv ? "csv" : "ndjson");
    replace_file(csv ? "csv" : "ndjson", files[_i]);
    bigtent(&r, &tenant, "import", in_dir("x"), IMPORT_COPY, "--verify");
    EXPECT_CODE(&r, 0);
    expect_same_rows("devices", "copy");
}
END_TEST

/* --- damage -------------------------------------------------------------------------------------
 */

static void expect_refused(const char *says)
{
    bigtent(&r, &tenant, "import", in_dir("x"), IMPORT_COPY);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, says);
    ck_assert_int_eq(http_get(w.http, "/v1/tables/copy"), 404); /* nothing was written */
}

START_TEST(damaged_files_are_refused_before_anything_is_written)
{
    export_ten("zstd", "ndjson");
    const char *name = "x/devices/00000.ndjson.zst";
    struct buf bytes = file_bytes(name);
    if (_i == 0) {
        bytes.ptr[bytes.len / 2] ^= 1;
        write_file(name, bytes.ptr, bytes.len);
        expect_refused("devices/00000.ndjson.zst does not have the hash of the manifest");
    } else if (_i == 1) {
        write_file(name, bytes.ptr, bytes.len - 1);
        expect_refused("bytes; the manifest says");
    } else if (_i == 2) {
        ck_assert_int_eq(unlink(in_dir(name)), 0);
        expect_refused("cannot open devices/00000.ndjson.zst: No such file");
    } else if (_i == 3) {
        ck_assert_int_eq(rename(in_dir(name), in_dir("elsewhere")), 0);
        ck_assert_int_eq(symlink(in_dir("elsewhere"), in_dir(name)), 0);
        expect_refused("cannot open devices/00000.ndjson.zst");
    } else if (_i == 4) {
        ck_assert_int_eq(rename(in_dir("x/devices"), in_dir("elsewhere")), 0);
        ck_assert_int_eq(symlink(in_dir("elsewhere"), in_dir("x/devices")), 0);
        expect_refused("cannot open devices");
    } else {
        ck_assert_int_eq(unlink(in_dir(name)), 0);
        ck_assert_int_eq(mkfifo(in_dir(name), 0600), 0);
        expect_refused("is not a regular file");
    }
    base_buf_fini(&bytes);
}
END_TEST

struct edit {
    const char *path; /* of an object in the manifest */
    const char *member;
    const char *value; /* as JSON, with ' for " */
    const char *says;
};

static const struct edit EDITS[] = {
    {"", "format", "'tar'", "no manifest of an export"},
    {"", "version", "2", "another version"},
    {"", "version", "'1'", "another version"},
    {"", "complete", "false", "is not finished"},
    {"", "encoding", "'xml'", "encoding"},
    {"", "compression", "'gzip'", "compression"},
    {"", "tables", "{}", "tables is no list"},
    {"/tables/0", "id", "'../etc'", "a table has no ID, or one that cannot be"},
    {"/tables/0", "id", "'/etc'", "one that cannot be"},
    {"/tables/0", "id", "'..'", "one that cannot be"},
    {"/tables/0", "id", "'a\\u0000b'", "one that cannot be"},
    {"/tables/0", "id", "''", "one that cannot be"},
    {"/tables/0", "schema", "[]", "no schema"},
    {"/tables/0", "rows", "11", "not those of its files"},
    {"/tables/0", "cells", "-1", "no schema, counts or files"},
    {"/tables/0/files/0", "name", "'devices/../00000.ndjson'", "the name of a file"},
    {"/tables/0/files/0", "name", "'/etc/passwd'", "the name of a file"},
    {"/tables/0/files/0", "name", "'other/00000.ndjson'", "the name of a file"},
    {"/tables/0/files/0", "name", "'devices/0.ndjson'", "the name of a file"},
    {"/tables/0/files/0", "name", "'devices/99999999999999999999.ndjson'", "the name of a file"},
    {"/tables/0/files/0", "name", "'devices/00000.ndjson\\u0000'", "the name of a file"},
    {"/tables/0/files/0", "sha256", "'00'", "hashes of a file"},
    {"/tables/0/files/0", "size", "1.5", "hashes of a file"},
    {"/tables/0/files/0", "first_key", "null", "first key"},
    {"/tables/0/files/0", "last_key", "7", "last key"},
};
#define EDIT_COUNT ((int)(sizeof EDITS / sizeof EDITS[0]))

static json_t *quoted_json(const char *text)
{
    char json[256];
    size_t len = strlen(text);
    ck_assert_uint_lt(len, sizeof json);
    for (size_t i = 0; i <= len; i++)
        json[i] = text[i] == '\'' ? '"' : text[i];
    json_t *value = json_loads(json, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    ck_assert_ptr_nonnull(value);
    return value;
}

START_TEST(strange_manifests_are_refused)
{
    export_ten("none", "ndjson");
    json_t *m = read_json("x/manifest.json");
    const struct edit *edit = &EDITS[_i];
    json_t *object = edit->path[0] == '\0' ? m : json_at(m, edit->path);
    json_object_set_new(object, edit->member, quoted_json(edit->value));
    write_json("x/manifest.json", m);
    expect_refused(edit->says);
}
END_TEST

START_TEST(manifests_that_are_none_are_refused)
{
    export_ten("none", "ndjson");
    write_file("x/manifest.json", "{", _i == 0 ? 1 : 0);
    expect_refused("this is not JSON");
    ck_assert_int_eq(unlink(in_dir("x/manifest.json")), 0);
    expect_refused("manifest.json");
    json_t *twice = json_pack("{}");
    write_json("x/manifest.json", twice);
    expect_refused("no manifest of an export");
}
END_TEST

struct line {
    const char *format;
    const char *text;
    const char *says;
};

static const struct line LINES[] = {
    {"ndjson", "{\"key\":\"a\"}\n", "line 1: not an object with key"},
    {"ndjson",
     "{\"key\":\"a\",\"family\":\"stats\",\"qualifier\":\"q\",\"timestamp\":\"1000\",\"value\":"
     "\"v\"}\nx\n",
     "line 2: not an object"},
    {"ndjson",
     "{\"key\":\"a\",\"family\":\"stats\",\"qualifier\":\"q\",\"timestamp\":1000,\"value\":\"v\"}"
     "\n",
     "line 1: not an object"},
    {"ndjson",
     "{\"key\":\"a\",\"key_b64\":\"YQ==\",\"family\":\"stats\",\"qualifier\":\"q\",\"timestamp\":"
     "\"1\",\"value\":\"v\"}\n",
     "line 1: not an object"},
    {"ndjson",
     "{\"key\":\"\",\"family\":\"stats\",\"qualifier\":\"q\",\"timestamp\":\"1000\",\"value\":"
     "\"v\"}\n",
     "the key must have 1 to 4096 bytes"},
    {"ndjson",
     "{\"key\":\"\\ud800\",\"family\":\"stats\",\"qualifier\":\"q\",\"timestamp\":\"1\",\"value\":"
     "\"v\"}\n",
     "line 1: not an object"},
    {"ndjson", "{\"key\":\"a\",\"family\":\"stats\"", "the last record has no end"},
    {"csv", "key,value\n", "the names of the columns differ"},
    {"csv", "key,family,qualifier,timestamp,value,b64\na,stats,q,1000,v\n",
     "line 2: not the six fields"},
    {"csv", "key,family,qualifier,timestamp,value,b64\na,stats,q,1000,v,,\n",
     "line 2: not the six fields"},
    {"csv", "key,family,qualifier,timestamp,value,b64\na,stats,q,1000,\"v\"x,\n",
     "line 2: not the six fields"},
    {"csv", "key,family,qualifier,timestamp,value,b64\n\"a\nb\",stats,q,1000,v,\na,stats,q,x,v,\n",
     "line 4: the timestamp"},
    {"csv", "key,family,qualifier,timestamp,value,b64\na,stats,q,1000,*,v\n",
     "line 2: b64 names a field"},
    {"csv", "key,family,qualifier,timestamp,value,b64\na,stats,q,1000,dg==,vk\n",
     "line 2: b64 names a field"},
    {"csv", "key,family,qualifier,timestamp,value,b64\n\"a,stats\n", "the last record has no end"},
};
#define LINE_COUNT ((int)(sizeof LINES / sizeof LINES[0]))

START_TEST(records_that_are_none_are_named_by_file_and_line)
{
    const struct line *line = &LINES[_i];
    export_ten("none", line->format);
    replace_file(line->format, line->text);
    bigtent(&r, &tenant, "import", in_dir("x"), "--dry-run");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "devices/00000.");
    EXPECT_IN(r.err, line->says);
}
END_TEST

START_TEST(contents_that_differ_from_the_manifest_are_found)
{
    export_ten("none", "ndjson");
    replace_file("ndjson", "{\"key\":\"a\",\"family\":\"stats\",\"qualifier\":\"q\",\"timestamp\":"
                           "\"1000\",\"value\":\"v\"}\n");
    bigtent(&r, &tenant, "import", in_dir("x"), "--dry-run");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "rows, cells or content differ");
}
END_TEST

/* --- tables and quotas --------------------------------------------------------------------------
 */

START_TEST(table_that_does_not_fit_is_refused)
{
    export_ten("zstd", "ndjson");
    http_json(w.http, "PUT",
              _i == 0 ? "{'families':{'stats':{'type':'sum'},'raw':{}}}"
                      : "{'families':{'stats':{}}}",
              "/v1/tables/copy");
    bigtent(&r, &tenant, "import", in_dir("x"), IMPORT_COPY);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, _i == 0 ? "has another type" : "has no family raw");
}
END_TEST

START_TEST(verify_finds_what_is_different)
{
    export_ten("zstd", "ndjson");
    tenant_put(w.http, "devices", "one more", "stats", "q", "v");
    bigtent(&r, &tenant, "import", in_dir("x"), "--verify");
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "11 rows and 11 cells, 10 and 10 in the export");
}
END_TEST

START_TEST(full_quota_is_said_and_the_import_goes_on_later)
{
    fill_table("devices", 3000, 100);
    bigtent(&r, &tenant, "export", in_dir("x"), "--rows-per-file", "500");
    EXPECT_CODE(&r, 0);
    admin_set_quota(w.op, w.tenant, "{'rows':4200}");
    bigtent(&r, &tenant, "import", in_dir("x"), IMPORT_COPY, "--state", in_dir("state"));
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "(status 403)");
    EXPECT_IN(r.err, "a quota or the disk is full");
    ck_assert(is_there("state") && !is_there("x/import.json"));
    admin_set_quota(w.op, w.tenant, "{}");
    bigtent(&r, &tenant, "import", in_dir("x"), IMPORT_COPY, "--state", in_dir("state"), "--resume",
            "--verify");
    EXPECT_CODE(&r, 0);
    ck_assert(!is_there("state"));
    expect_same_rows("devices", "copy");
}
END_TEST

START_TEST(lines_that_are_refused_are_named)
{
    export_ten("zstd", "ndjson");
    admin_set_quota(w.op, w.tenant, "{'cell_bytes':5}");
    bigtent(&r, &tenant, "import", in_dir("x"), IMPORT_COPY);
    EXPECT_CODE(&r, 5);
    EXPECT_IN(r.err, "devices/00000.ndjson.zst, line 1: too_big");
    EXPECT_IN(r.err, "10 lines were refused");
}
END_TEST

START_TEST(options_are_checked)
{
    export_ten("zstd", "ndjson");
    bigtent(&r, &tenant, "import", in_dir("x"), "--into", "copy");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &tenant, "import", in_dir("x"), "--table", "nothing");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "the export has no table nothing");
    bigtent(&r, &tenant, "import", in_dir("x"), "--dry-run", "--verify");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &tenant, "import", in_dir("nothing"));
    EXPECT_CODE(&r, 2);
}
END_TEST

START_TEST(notes_of_another_import_are_not_believed)
{
    export_ten("zstd", "ndjson");
    write_file("x/import.json", "{}", 2);
    bigtent(&r, &tenant, "import", in_dir("x"), "--resume");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "is about another import");
    bigtent(&r, &tenant, "import", in_dir("x"));
    EXPECT_CODE(&r, 0);
}
END_TEST

/* --- kills --------------------------------------------------------------------------------------
 */

static void start_slow_import(void)
{
    fill_table("devices", 4000, 200);
    bigtent(&r, &tenant, "export", in_dir("x"), "--rows-per-file", "300");
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(
        http_json(w.http, "PUT", "{'families':{'stats':{},'raw':{}}}", "/v1/tables/copy"), 201);
    admin_set_quota(w.op, w.tenant, "{'write_ops_per_s':3000,'burst_ms':100}");
    const char *const args[] = {"import", in_dir("x"), "--table", "devices",
                                "--into", "copy",      NULL};
    run_start(&r, &tenant, args);
}

static bool rows_are_there(void *rows)
{
    return tenant_usage(w.http).rows >= *(const int64_t *)rows;
}

static void await_rows(int64_t rows)
{
    process_await(rows_are_there, &rows, "rows of an import");
}

START_TEST(killed_import_goes_on)
{
    struct random rnd = {(uint64_t)_i + 3};
    start_slow_import();
    await_rows(4000 + 1 + (int64_t)random_below(&rnd, 3000));
    (void)kill(r.pid, SIGKILL);
    run_finish(&r);
    admin_set_quota(w.op, w.tenant, "{}");
    bigtent(&r, &tenant, "import", in_dir("x"), "--table", "devices", "--into", "copy", "--resume",
            "--verify");
    EXPECT_CODE(&r, 0);
    expect_same_rows("devices", "copy");
}
END_TEST

START_TEST(import_goes_on_by_itself_when_the_server_comes_back)
{
    static char address[32];
    start_slow_import();
    await_rows(4800);
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", own.port);
    server_kill(&own);
    process_sleep_ms(500);
    own.options[0] = "--listen";
    own.options[1] = address;
    server_start(&own, NULL);
    run_finish(&r);
    EXPECT_CODE(&r, 0);
    http_reconnect(w.http);
    expect_same_rows("devices", "copy");
}
END_TEST

Suite *suite_cli_import(void);
Suite *suite_cli_import(void)
{
    Suite *s = suite_create("cli_import");
    TCase *t = tcase_create("files");
    tcase_set_timeout(t, 60);
    world_begin(t);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, random_tables_come_back_as_they_were, 0, 12);
    tcase_add_test(t, content_is_the_same_in_every_encoding_and_division);
    tcase_add_test(t, every_table_is_made_and_empty_ones_too);
    tcase_add_test(t, small_limits_of_a_tenant_divide_lines);
    tcase_add_loop_test(t, csv_and_ndjson_of_others_are_read, 0, 4);
    tcase_add_loop_test(t, damaged_files_are_refused_before_anything_is_written, 0, 6);
    tcase_add_loop_test(t, strange_manifests_are_refused, 0, EDIT_COUNT);
    tcase_add_loop_test(t, manifests_that_are_none_are_refused, 0, 2);
    tcase_add_loop_test(t, records_that_are_none_are_named_by_file_and_line, 0, LINE_COUNT);
    tcase_add_test(t, contents_that_differ_from_the_manifest_are_found);
    tcase_add_loop_test(t, table_that_does_not_fit_is_refused, 0, 2);
    tcase_add_test(t, verify_finds_what_is_different);
    tcase_add_test(t, full_quota_is_said_and_the_import_goes_on_later);
    tcase_add_test(t, lines_that_are_refused_are_named);
    tcase_add_test(t, options_are_checked);
    tcase_add_test(t, notes_of_another_import_are_not_believed);
    tcase_add_loop_test(t, killed_import_goes_on, 0, 3);
    world_end(t);
    suite_add_tcase(s, t);
    t = tcase_create("servers that die");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up_own, tear_down_own);
    tcase_add_test(t, import_goes_on_by_itself_when_the_server_comes_back);
    suite_add_tcase(s, t);
    return s;
}

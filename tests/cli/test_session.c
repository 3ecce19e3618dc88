/*
 * tests/cli/test_session.c - the whole command line against a real server: tenants, keys, tables,
 * rows, usage, jobs.
 *
 * Over 500 lines because it is one session: each command once, in the order a person meets them.
 */
#define _GNU_SOURCE
#include "tests/cli/program.h"

#include <jansson.h>

#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;
static char url[64];
static struct setup op;     /* with the operator's key */
static struct setup tenant; /* with a tenant's key */
static struct run r;

static void set_up(void)
{
    world_init(&w, HTTP_2);
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u", world_server()->port);
    op = (struct setup){
        .url = url, .key = world_server()->operator_key, .cacert = world_server()->ca};
    tenant = (struct setup){.url = url, .key = w.key, .cacert = world_server()->ca};
}

static void tear_down(void)
{
    world_fini(&w);
}

/* The output as JSON; the caller decrefs. */
static json_t *json_of(const struct run *run)
{
    json_error_t error;
    json_t *doc = json_loads(run->out, 0, &error);
    ck_assert_msg(doc != NULL, "not JSON (%s): %s", error.text, run->out);
    ck_assert_msg(strchr(run->out, '\n') == run->out + run->out_len - 1, "not one line: %s",
                  run->out);
    return doc;
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++)
        lines++;
    return lines;
}

/* --- tenants ------------------------------------------------------------------------------------
 */

START_TEST(tenant_is_made_listed_and_shown)
{
    char id[WORLD_ID];
    world_fresh_id(id);
    bigtent(&r, &op, "tenant", "create", id, "--name", "Acme & S\xc3\xb6hne");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "id"), id);
    ck_assert_str_eq(plain_value(&r, "display_name"), "Acme & S\xc3\xb6hne");
    ck_assert_str_eq(plain_value(&r, "state"), "active");
    ck_assert_str_eq(plain_value(&r, "quota.rows"), "none");
    bigtent(&r, &op, "tenant", "list");
    EXPECT_CODE(&r, 0);
    char line[WORLD_ID + 32];
    (void)snprintf(line, sizeof line, "%s active 0 0 20", id);
    EXPECT_IN(r.out, line);
    EXPECT_IN(r.out, "Z Acme & S\xc3\xb6hne\n");
    EXPECT_NOT_IN(r.out, "\t");
    bigtent(&r, &op, "tenant", "show", id, "--json");
    EXPECT_CODE(&r, 0);
    json_t *doc = json_of(&r);
    ck_assert_str_eq(json_string_value(json_object_get(doc, "id")), id);
    json_decref(doc);
}
END_TEST

START_TEST(tenant_made_twice_is_refused_and_a_retry_does_not_help)
{
    bigtent(&r, &op, "tenant", "create", w.tenant);
    EXPECT_CODE(&r, 1);
    ck_assert_str_eq(r.out, "");
    ck_assert_msg(strncmp(r.err, "bigtent: ", 9) == 0, "%s", r.err);
    EXPECT_IN(r.err, "trying again will not help");
}
END_TEST

START_TEST(unknown_tenant_exits_4)
{
    bigtent(&r, &op, "tenant", "show", "nobody");
    EXPECT_CODE(&r, 4);
    ck_assert_str_eq(r.out, "");
    bigtent(&r, &op, "usage", "--tenant", "nobody");
    EXPECT_CODE(&r, 4);
    bigtent(&r, &op, "job", "show", "nothing");
    EXPECT_CODE(&r, 4);
}
END_TEST

START_TEST(list_follows_pages_to_the_end)
{
    /* More tenants than one page has. */
    char prefix[WORLD_ID];
    world_fresh_id(prefix);
    for (int i = 0; i < 1005; i++) {
        char id[WORLD_ID + 16];
        (void)snprintf(id, sizeof id, "%s-%04d", prefix, i);
        admin_create_tenant(w.op, id);
    }
    bigtent(&r, &op, "tenant", "list");
    EXPECT_CODE(&r, 0);
    ck_assert_uint_ge(count_lines(r.out), 1006);
    bigtent(&r, &op, "tenant", "list", "--json");
    EXPECT_CODE(&r, 0);
    json_t *doc = json_of(&r);
    ck_assert_uint_ge(json_array_size(json_object_get(doc, "tenants")), 1006);
    ck_assert_uint_eq(json_object_size(doc), 1);
    json_decref(doc);
}
END_TEST

START_TEST(suspension_shows_its_reason_and_ends)
{
    bigtent(&r, &op, "tenant", "suspend", w.tenant, "--reason", "invoice unpaid");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "state"), "suspended");
    ck_assert_str_eq(plain_value(&r, "reason"), "invoice unpaid");
    bigtent(&r, &tenant, "table", "list");
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "invoice unpaid");
    bigtent(&r, &op, "tenant", "resume", w.tenant);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "state"), "active");
    bigtent(&r, &tenant, "table", "list");
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(quota_changes_what_is_named_and_keeps_the_rest)
{
    bigtent(&r, &op, "tenant", "quota", w.tenant, "--bytes", "10M", "--rows=7");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "stored_bytes"), "10485760");
    ck_assert_str_eq(plain_value(&r, "rows"), "7");
    bigtent(&r, &op, "tenant", "quota", w.tenant, "--reads-per-s", "100", "--rows", "none");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "stored_bytes"), "10485760");
    ck_assert_str_eq(plain_value(&r, "rows"), "none");
    ck_assert_str_eq(plain_value(&r, "read_ops_per_s"), "100");
    bigtent(&r, &op, "tenant", "quota", w.tenant, "--writes-per-s=5", "--cell-bytes=1K");
    ck_assert_str_eq(plain_value(&r, "write_ops_per_s"), "5");
    ck_assert_str_eq(plain_value(&r, "cell_bytes"), "1024");
    bigtent(&r, &op, "tenant", "quota", w.tenant);
    ck_assert_str_eq(plain_value(&r, "stored_bytes"), "10485760");
    ck_assert_str_eq(plain_value(&r, "cell_bytes"), "1024");
    bigtent(&r, &op, "tenant", "quota", w.tenant, "--none");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "stored_bytes"), "none");
    ck_assert_str_eq(plain_value(&r, "read_ops_per_s"), "none");
}
END_TEST

static const struct {
    const char *option;
    const char *member;
    const char *standard;
    const char *too_much;
} LIMITS[] = {
    {"--row-key-bytes", "row_key_bytes", "4096", "4097"},
    {"--qualifier-bytes", "qualifier_bytes", "16384", "17K"},
    {"--cell-bytes", "cell_bytes", "10485760", "101M"},
    {"--row-bytes", "row_bytes", "268435456", "1G"},
    {"--mutations-per-row", "mutations_per_row", "100000", "100001"},
    {"--families", "families", "100", "101"},
    {"--tables", "tables", "1000", "0"},
};

START_TEST(each_limit_of_the_data_model_is_set_shown_and_taken_back)
{
    char path[64];
    (void)snprintf(path, sizeof path, "quota.%s", LIMITS[_i].member);
    bigtent(&r, &op, "tenant", "quota", w.tenant, "--rows", "7");
    ck_assert_str_eq(plain_value(&r, LIMITS[_i].member), LIMITS[_i].standard);
    bigtent(&r, &op, "tenant", "quota", w.tenant, LIMITS[_i].option, "9");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, LIMITS[_i].member), "9");
    ck_assert_str_eq(plain_value(&r, "rows"), "7");
    bigtent(&r, &op, "tenant", "show", w.tenant);
    ck_assert_str_eq(plain_value(&r, path), "9");
    bigtent(&r, &tenant, "usage");
    ck_assert_str_eq(plain_value(&r, path), "9");
    bigtent(&r, &op, "tenant", "quota", w.tenant, LIMITS[_i].option, LIMITS[_i].too_much);
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, LIMITS[_i].member);
    bigtent(&r, &op, "tenant", "quota", w.tenant, LIMITS[_i].option, "none");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, LIMITS[_i].member), LIMITS[_i].standard);
    ck_assert_str_eq(plain_value(&r, "rows"), "7");
}
END_TEST

START_TEST(offboarding_is_followed_to_its_proof)
{
    char job[64];
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
    bigtent(&r, &op, "tenant", "offboard", w.tenant, "--confirm", w.tenant, "--wait");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "state"), "done");
    ck_assert_str_eq(plain_value(&r, "usage_before.rows"), "1");
    ck_assert_str_eq(plain_value(&r, "audit.physical_keys"), "0");
    copy_plain_value(&r, "id", job, sizeof job);
    bigtent(&r, &op, "job", "list");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, job);
    bigtent(&r, &op, "job", "show", job, "--wait", "--json");
    EXPECT_CODE(&r, 0);
    json_t *doc = json_of(&r);
    ck_assert_str_eq(json_string_value(json_object_get(doc, "tenant")), w.tenant);
    json_decref(doc);
    bigtent(&r, &op, "tenant", "show", w.tenant);
    ck_assert_str_eq(plain_value(&r, "state"), "purged");
    ck_assert_str_eq(plain_value(&r, "job"), job);
    bigtent(&r, &tenant, "row", "get", "devices", "k");
    EXPECT_CODE(&r, 1);
}
END_TEST

/* --- keys ---------------------------------------------------------------------------------------
 */

START_TEST(key_works_until_it_is_revoked)
{
    char id[64];
    char key[256];
    bigtent(&r, &op, "key", "create", "--tenant", w.tenant, "--scope", "data.read", "--label",
            "my label");
    EXPECT_CODE(&r, 0);
    copy_plain_value(&r, "id", id, sizeof id);
    copy_plain_value(&r, "key", key, sizeof key);
    ck_assert_str_eq(plain_value(&r, "scopes"), "data.read");
    struct setup reader = tenant;
    reader.key = key;
    bigtent(&r, &reader, "table", "list");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &reader, "row", "put", "devices", "k", "stats:q=v");
    EXPECT_CODE(&r, 1);
    EXPECT_NOT_IN(r.err, key);
    bigtent(&r, &op, "key", "list", "--tenant", w.tenant);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, id);
    EXPECT_IN(r.out, " my label\n");
    EXPECT_NOT_IN(r.out, key);
    bigtent(&r, &op, "key", "revoke", id, "--tenant", w.tenant);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "");
    bigtent(&r, &reader, "table", "list");
    EXPECT_CODE(&r, 1);
    EXPECT_NOT_IN(r.err, key);
    bigtent(&r, &op, "key", "revoke", id, "--tenant", w.tenant);
    EXPECT_CODE(&r, 4);
}
END_TEST

START_TEST(service_key_acts_for_the_tenant_it_names)
{
    char id[64];
    char key[256];
    bigtent(&r, &op, "key", "create", "--service", "--label", "backend");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "kind"), "service");
    copy_plain_value(&r, "id", id, sizeof id);
    copy_plain_value(&r, "key", key, sizeof key);
    struct setup service = tenant;
    service.key = key;
    bigtent(&r, &service, "table", "list");
    EXPECT_CODE(&r, 1);
    bigtent(&r, &service, "--tenant", w.tenant, "table", "list");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "devices 0 0 0 stats,raw\n");
    bigtent(&r, &service, "usage", "--tenant", w.tenant);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "tenant"), w.tenant);
    bigtent(&r, &op, "key", "list");
    EXPECT_IN(r.out, id);
    bigtent(&r, &op, "key", "revoke", id);
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(operator_key_is_made)
{
    bigtent(&r, &op, "key", "create", "--operator", "--scope=admin.read", "--json");
    EXPECT_CODE(&r, 0);
    json_t *doc = json_of(&r);
    char key[256];
    (void)snprintf(key, sizeof key, "%s", json_string_value(json_object_get(doc, "key")));
    json_decref(doc);
    struct setup reader = op;
    reader.key = key;
    bigtent(&r, &reader, "tenant", "list");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &reader, "tenant", "create", "never-made");
    EXPECT_CODE(&r, 1);
}
END_TEST

START_TEST(key_comes_from_a_file_too)
{
    char dir[PROCESS_PATH];
    char path[PROCESS_PATH + 8];
    int keeper = process_temp_dir(dir);
    (void)snprintf(path, sizeof path, "%s/key", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(dprintf(fd, "%s\n", w.key), (int)strlen(w.key) + 1);
    (void)close(fd);
    struct setup without = tenant;
    without.key = "btt_wrong";
    bigtent(&r, &without, "table", "list", "--key-file", path);
    EXPECT_CODE(&r, 0);
    bigtent(&r, &without, "table", "list", "--key", w.key);
    EXPECT_CODE(&r, 0);
    bigtent(&r, &without, "table", "list");
    EXPECT_CODE(&r, 1);
    process_temp_dir_remove(dir, keeper);
}
END_TEST

/* --- tables -------------------------------------------------------------------------------------
 */

START_TEST(table_is_made_changed_shown_and_deleted)
{
    bigtent(&r, &tenant, "table", "create", "phone", "stats:max_versions=3", "log:max_age=2d",
            "raw");
    EXPECT_CODE(&r, 0);
    const char *families = "stats:max_versions=3,log:max_age=172800s,raw";
    ck_assert_str_eq(plain_value(&r, "families"), families);
    bigtent(&r, &tenant, "table", "create", "phone", "stats");
    EXPECT_CODE(&r, 1); /* families are not taken away */
    bigtent(&r, &tenant, "table", "list");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "phone 0 0 0 stats:max_versions=3,log:max_age=172800s,raw\n");
    bigtent(&r, &tenant, "table", "show", "phone", "--json");
    EXPECT_CODE(&r, 0);
    json_t *doc = json_of(&r);
    ck_assert_uint_eq(json_object_size(json_object_get(doc, "families")), 3);
    json_decref(doc);
    bigtent(&r, &tenant, "table", "delete", "phone");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "");
    bigtent(&r, &tenant, "table", "show", "phone");
    EXPECT_CODE(&r, 4);
}
END_TEST

START_TEST(table_rules_and_types_are_shown_as_they_are_given)
{
    static const char *const words[] = {
        "a:max_versions=3:max_age=60s",
        "b:intersection(max_versions=2,max_age=86400s)",
        "c:union(max_age=5s,intersection(max_versions=2:max_age=7s,max_versions=9),max_versions=4)",
        "d:type=sum",
        "e:type=hll:max_age=0.5s",
    };
    char all[512];
    bigtent(&r, &tenant, "table", "create", "rules", words[0], words[1], words[2], words[3],
            words[4], "f", "--protect", "--notes", "tenant#day");
    EXPECT_CODE(&r, 0);
    (void)snprintf(all, sizeof all, "%s,%s,%s,%s,%s,f", words[0], words[1], words[2], words[3],
                   words[4]);
    ck_assert_str_eq(plain_value(&r, "families"), all);
    ck_assert_str_eq(plain_value(&r, "version"), "1");
    ck_assert_str_eq(plain_value(&r, "deletion_protection"), "true");
    ck_assert_str_eq(plain_value(&r, "row_key_notes"), "tenant#day");
    bigtent(&r, &tenant, "table", "change", "rules", "--drop", "f");
    EXPECT_CODE(&r, 1);
    bigtent(&r, &tenant, "table", "create", "rules", words[0], words[1], words[2], words[3],
            words[4], "f", "--no-protect");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "table", "change", "rules", "--drop", "f", "--drop", "a", "--update",
            "b:max_versions=1", "--create", "g:type=max");
    EXPECT_CODE(&r, 0);
    (void)snprintf(all, sizeof all, "b:max_versions=1,%s,%s,%s,g:type=max", words[2], words[3],
                   words[4]);
    ck_assert_str_eq(plain_value(&r, "families"), all);
    ck_assert_str_eq(plain_value(&r, "version"), "3");
}
END_TEST

/* --- rows ---------------------------------------------------------------------------------------
 */

START_TEST(row_is_put_set_read_and_deleted)
{
    bigtent(&r, &tenant, "row", "put", "devices", "phone#1", "stats:os=17", "stats:os=build=x");
    EXPECT_CODE(&r, 2); /* the same column twice */
    bigtent(&r, &tenant, "row", "put", "devices", "phone#1", "stats:os=17", "raw:=a b=c");
    EXPECT_CODE(&r, 0);
    ck_assert_uint_eq(strlen(plain_value(&r, "timestamp")), 16);
    bigtent(&r, &tenant, "row", "set", "devices", "phone#1", "stats:wifi=");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "row", "get", "devices", "phone#1");
    EXPECT_CODE(&r, 0);
    ck_assert_uint_eq(count_lines(r.out), 3);
    EXPECT_IN(r.out, "phone#1 stats:os ");
    EXPECT_IN(r.out, " 17\n");
    EXPECT_IN(r.out, "phone#1 raw: ");
    EXPECT_IN(r.out, " a b=c\n");
    EXPECT_IN(r.out, "phone#1 stats:wifi ");
    EXPECT_IN(r.out, " -\n");
    bigtent(&r, &tenant, "row", "delete", "devices", "phone#1", "stats:os", "raw");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "row", "get", "devices", "phone#1");
    ck_assert_uint_eq(count_lines(r.out), 1);
    bigtent(&r, &tenant, "row", "put", "devices", "phone#1", "raw:only=1");
    bigtent(&r, &tenant, "row", "get", "devices", "phone#1");
    ck_assert_uint_eq(count_lines(r.out), 1);
    EXPECT_IN(r.out, "raw:only");
    bigtent(&r, &tenant, "row", "delete", "devices", "phone#1");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "");
    bigtent(&r, &tenant, "row", "get", "devices", "phone#1");
    EXPECT_CODE(&r, 4);
    EXPECT_IN(r.err, "bigtent: Not found: ");
}
END_TEST

START_TEST(any_bytes_go_there_and_back)
{
    static const char *const keys[] = {".", "..", "a/b?c=d&e#f%41+ ", "\xff\xfe", "\xc3\xa4\x01"};
    const char *key = keys[_i];
    char shown[64];
    static const char *const as_shown[] = {".", "..", "a/b?c=d&e#f%41+\\x20", "\\xff\\xfe",
                                           "\xc3\xa4\\x01"};
    bigtent(&r, &tenant, "row", "put", "devices", key, "stats:q\xff=v\xfe", "stats:t=tab\there\\",
            "stats:b=w\xfd");
    EXPECT_CODE(&r, 0);
    bigtent(&r, &tenant, "row", "get", "devices", key);
    EXPECT_CODE(&r, 0);
    (void)snprintf(shown, sizeof shown, "%s stats:q\\xff ", as_shown[_i]);
    EXPECT_IN(r.out, shown);
    EXPECT_IN(r.out, " v\\xfe\n");
    EXPECT_IN(r.out, " w\\xfd\n");
    EXPECT_IN(r.out, " tab\\there\\\\\n");
    bigtent(&r, &tenant, "scan", "devices", "--start", key, "--limit", "1");
    EXPECT_IN(r.out, shown);
    bigtent(&r, &tenant, "row", "drop", "devices", "--prefix", key);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "removed.rows"), "1");
}
END_TEST

START_TEST(drop_takes_the_prefix_and_no_more)
{
    tenant_put(w.http, "devices", "phone#1", "stats", "q", "v");
    tenant_put(w.http, "devices", "phone#2", "stats", "q", "v");
    tenant_put(w.http, "devices", "tablet#1", "stats", "q", "v");
    bigtent(&r, &tenant, "row", "drop", "devices", "--prefix", "phone#");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "removed.rows"), "2");
    bigtent(&r, &tenant, "row", "drop", "devices", "--all");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &tenant, "row", "drop", "devices", "--all", "--yes", "--json");
    EXPECT_CODE(&r, 0);
    json_t *doc = json_of(&r);
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(doc, "removed"), "rows")),
                     1);
    json_decref(doc);
}
END_TEST

START_TEST(scan_takes_ranges_and_limits)
{
    static const char *const rows[] = {"a1", "a2", "b1", "b2", "c1"};
    for (size_t i = 0; i < 5; i++)
        tenant_put(w.http, "devices", rows[i], "stats", "q", rows[i]);
    bigtent(&r, &tenant, "scan", "devices");
    EXPECT_CODE(&r, 0);
    ck_assert_uint_eq(count_lines(r.out), 5);
    ck_assert_str_eq(r.err, "");
    bigtent(&r, &tenant, "scan", "devices", "--prefix", "a");
    ck_assert_uint_eq(count_lines(r.out), 2);
    bigtent(&r, &tenant, "scan", "devices", "--start", "a2", "--end", "b2");
    ck_assert_uint_eq(count_lines(r.out), 2);
    EXPECT_IN(r.out, "a2 stats:q ");
    EXPECT_IN(r.out, "b1 stats:q ");
    bigtent(&r, &tenant, "scan", "devices", "--limit=3", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_uint_eq(count_lines(r.out), 3);
    ck_assert_msg(strncmp(r.out, "{\"key\":\"a1\",\"cells\":", 20) == 0, "%s", r.out);
    bigtent(&r, &tenant, "scan", "nothing");
    EXPECT_CODE(&r, 4);
    bigtent(&r, &tenant, "scan", "devices", "--prefix", "zzz");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "");
}
END_TEST

/* --- usage, health ------------------------------------------------------------------------------
 */

START_TEST(usage_counts_and_recount_finds_no_drift)
{
    tenant_put(w.http, "devices", "key", "stats", "q", "value");
    bigtent(&r, &tenant, "usage");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "tenant"), w.tenant);
    ck_assert_str_eq(plain_value(&r, "stored_bytes"), "22");
    ck_assert_str_eq(plain_value(&r, "rows"), "1");
    bigtent(&r, &op, "usage", "--tenant", w.tenant, "--recount");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "recount.stored_bytes"), "22");
    ck_assert_str_eq(plain_value(&r, "drift.stored_bytes"), "0");
    bigtent(&r, &op, "usage");
    EXPECT_CODE(&r, 2); /* whose? */
    bigtent(&r, &tenant, "usage", "--recount", "--tenant", w.tenant);
    EXPECT_CODE(&r, 1); /* not an operator */
}
END_TEST

START_TEST(health_speaks_http_2_and_needs_no_key)
{
    struct setup nobody = tenant;
    nobody.key = NULL;
    bigtent(&r, &nobody, "health");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(plain_value(&r, "ready"), "ready");
    ck_assert_str_eq(plain_value(&r, "protocol"), "HTTP/2");
    bigtent(&r, &nobody, "health", "--json");
    json_decref(json_of(&r));
}
END_TEST

START_TEST(untrusted_server_exits_3_and_says_how_to_trust_it)
{
    struct setup stranger = tenant;
    stranger.cacert = NULL;
    bigtent(&r, &stranger, "table", "list");
    EXPECT_CODE(&r, 3);
    EXPECT_IN(r.err, url);
    EXPECT_IN(r.err, "the system's certificates");
    EXPECT_IN(r.err, "--cacert");
    /* Trust in one CA replaces the system's: a CA that did not sign this server. */
    char dir[PROCESS_PATH];
    char path[PROCESS_PATH + 16];
    int keeper = process_temp_dir(dir);
    (void)snprintf(path, sizeof path, "%s/data", dir);
    char program[PROCESS_PATH];
    static struct process_result made;
    process_program("bigtentd", program);
    process_run((const char *const[]){program, "init", "--data", path, NULL}, NULL, 20000, &made);
    ck_assert_int_eq(made.exit_code, 0);
    (void)snprintf(path, sizeof path, "%s/data/ca.pem", dir);
    stranger.cacert = path;
    bigtent(&r, &stranger, "table", "list");
    EXPECT_CODE(&r, 3);
    EXPECT_IN(r.err, path);
    process_temp_dir_remove(dir, keeper);
}
END_TEST

START_TEST(wrong_host_name_is_not_trusted)
{
    /* curl takes every name under localhost for this machine; the certificate does not. */
    char other[64];
    (void)snprintf(other, sizeof other, "https://other.localhost:%u", world_server()->port);
    bigtent(&r, &tenant, "table", "list", "--url", other);
    EXPECT_CODE(&r, 3);
    EXPECT_IN(r.err, "other.localhost");
    EXPECT_IN(r.err, "certificate");
    (void)snprintf(other, sizeof other, "https://localhost:%u", world_server()->port);
    bigtent(&r, &tenant, "table", "list", "--url", other);
    EXPECT_CODE(&r, 0);
}
END_TEST

START_TEST(rate_limit_is_waited_for)
{
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
    admin_set_quota(w.op, w.tenant, "{'read_ops_per_s':1}");
    for (int i = 0; i < 3; i++) {
        bigtent(&r, &tenant, "row", "get", "devices", "k", "--retry", "9");
        EXPECT_CODE(&r, 0);
    }
    int refused = 0;
    for (int i = 0; i < 3; i++) {
        bigtent(&r, &tenant, "row", "get", "devices", "k", "--retry", "0");
        refused += r.code == 1;
    }
    ck_assert_int_ge(refused, 1);
    if (r.code == 1)
        EXPECT_IN(r.err, "trying again later may help");
}
END_TEST

Suite *suite_cli_session(void);
Suite *suite_cli_session(void)
{
    Suite *s = suite_create("cli_session");
    TCase *t = tcase_create("session");
    tcase_set_timeout(t, 60);
    world_begin(t);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, tenant_is_made_listed_and_shown);
    tcase_add_test(t, tenant_made_twice_is_refused_and_a_retry_does_not_help);
    tcase_add_test(t, unknown_tenant_exits_4);
    tcase_add_test(t, list_follows_pages_to_the_end);
    tcase_add_test(t, suspension_shows_its_reason_and_ends);
    tcase_add_test(t, quota_changes_what_is_named_and_keeps_the_rest);
    tcase_add_loop_test(t, each_limit_of_the_data_model_is_set_shown_and_taken_back, 0,
                        (int)(sizeof LIMITS / sizeof LIMITS[0]));
    tcase_add_test(t, offboarding_is_followed_to_its_proof);
    tcase_add_test(t, key_works_until_it_is_revoked);
    tcase_add_test(t, service_key_acts_for_the_tenant_it_names);
    tcase_add_test(t, operator_key_is_made);
    tcase_add_test(t, key_comes_from_a_file_too);
    tcase_add_test(t, table_is_made_changed_shown_and_deleted);
    tcase_add_test(t, table_rules_and_types_are_shown_as_they_are_given);
    tcase_add_test(t, row_is_put_set_read_and_deleted);
    tcase_add_loop_test(t, any_bytes_go_there_and_back, 0, 5);
    tcase_add_test(t, drop_takes_the_prefix_and_no_more);
    tcase_add_test(t, scan_takes_ranges_and_limits);
    tcase_add_test(t, usage_counts_and_recount_finds_no_drift);
    tcase_add_test(t, health_speaks_http_2_and_needs_no_key);
    tcase_add_test(t, untrusted_server_exits_3_and_says_how_to_trust_it);
    tcase_add_test(t, wrong_host_name_is_not_trusted);
    tcase_add_test(t, rate_limit_is_waited_for);
    world_end(t);
    suite_add_tcase(s, t);
    return s;
}

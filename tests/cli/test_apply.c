/*
 * tests/cli/test_apply.c - apply against a server: what is made, changed, removed, refused and left
 * alone.
 */
#define _GNU_SOURCE
#include "tests/cli/apply.h"

#include "base/banned.h"

#define EVERYTHING                                                                                 \
    "plans:\n"                                                                                     \
    "  - id: p-@\n"                                                                                \
    "    display_name: Gold\n"                                                                     \
    "    quota: {stored_bytes: 1T, weight: 300}\n"                                                 \
    "tenants:\n"                                                                                   \
    "  - id: @\n"                                                                                  \
    "    display_name: Acme \"& S\xc3\xb6hne\"\n"                                                  \
    "    plan: p-@\n"                                                                              \
    "    quota: {rows: 10M, keys: 5, stored_bytes: none}\n"                                        \
    "    tables:\n"                                                                                \
    "      - id: phone\n"                                                                          \
    "        families:\n"                                                                          \
    "          stats: {gc: {max_versions: 3}}\n"                                                   \
    "          log: {gc: {union: [{max_versions: 1}, {max_age: 1.50s}]}}\n"                        \
    "          deep:\n"                                                                            \
    "            gc:\n"                                                                            \
    "              intersection:\n"                                                                \
    "                - union: [{max_versions: 2}, {max_age: 1d}]\n"                                \
    "                - {max_age: 2h, max_versions: 9}\n"                                           \
    "                - union: [{max_age: 60}, {max_versions: 2}]\n"                                \
    "          hits: {type: sum}\n"                                                                \
    "          raw:\n"                                                                             \
    "        deletion_protection: true\n"                                                          \
    "        row_key_notes: \"tenant#day\"\n"                                                      \
    "      - id: words\n"                                                                          \
    "        families: [stats:max_versions=3, 'log:union(max_versions=1,max_age=1d)', raw]\n"      \
    "        change_stream_retention: 7d\n"                                                        \
    "        splits: [a, m]\n"                                                                     \
    "    keys:\n"                                                                                  \
    "      - label: app\n"                                                                         \
    "        scopes: [data.write, data.read]\n"                                                    \
    "        limits: {read_ops_per_s: 1K, write_ops_per_s: none}\n"                                \
    "service_keys:\n"                                                                              \
    "  - {label: service-@, tenants: [@]}\n"                                                       \
    "operator_keys:\n"                                                                             \
    "  - {label: operator-@, scopes: [ops.read]}\n"

START_TEST(all_of_it_is_made_from_nothing_and_a_second_run_does_nothing)
{
    apply(EVERYTHING, 0);
    expect_out("+ plan p-@\n    display_name Gold\n    quota.stored_bytes 1T\n");
    expect_out("+ tenant @\n");
    expect_out("+ table @/phone\n    family stats:max_versions=3\n    family "
               "log:max_versions=1:max_age=1.5s\n");
    expect_out("+ key @/app\n");
    expect_out("+ service key service-@\n");
    expect_out("7 to create, 0 to change, 0 to remove, 0 unchanged\ndone\n");
    EXPECT_NOT_IN(r.out, "btt_");
    EXPECT_NOT_IN(r.err, "btt_");
    EXPECT_IN(r.err, "new keys: 3, in ");
    http_get(w.op, "/v1/admin/tenants/%s", id);
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/display_name"), "Acme \"& S\xc3\xb6hne\"");
    ck_assert_int_eq(http_number(w.op, "/quota/rows"), 10 << 20);
    ck_assert_int_eq(http_number(w.op, "/quota/weight"), 300);
    ck_assert(json_is_null(http_at(w.op, "/quota/stored_bytes")));
    ck_assert_uint_eq(http_count(w.op, "/own_quota"), 3);
    bigtent(&r, &op, "table", "show", "phone", "--tenant", id, "--key-file", service_key, "--json");
    EXPECT_IN(r.out, "\"deep\":{\"gc\":{\"intersection\":[{\"max_versions\":2,\"max_age\":"
                     "\"86400s\"},{\"max_versions\":9,\"max_age\":\"7200s\"},{\"union\":[{"
                     "\"max_age\":\"60s\"},{\"max_versions\":2}]}]}}");
    int64_t records = audit_records();
    APPLY("--yes"); /* no keys are made, so they need no place */
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "0 to create, 0 to change, 0 to remove, 7 unchanged\n");
    ck_assert_str_eq(r.err, "");
    APPLY("--dry-run");
    EXPECT_CODE(&r, 0);
    expect_nothing_done_since(records);
}
END_TEST

/* --- each kind of change ------------------------------------------------------------------------
 */

static const struct {
    const char *before;
    const char *after;
    const char *says;
} CHANGES[] = {
    {TENANT("  display_name: Old\n"), TENANT("  display_name: New\n"),
     "~ tenant @ display_name Old -> New\n"},
    {TENANT("  quota: {stored_bytes: 10G, rows: 5}\n"), TENANT("  quota: {stored_bytes: 20G}\n"),
     "~ tenant @ quota.stored_bytes 10G -> 20G\n"},
    {TENANT(""), TENANT("  quota: {rows: 5}\n"), "~ tenant @ quota.rows 5\n"},
    {TENANT("  quota: {rows: 5}\n"), TENANT("  quota: {rows: none}\n"),
     "~ tenant @ quota.rows 5 -> none\n"},
    {TENANT("  quota: {rows: 5}\n"), TENANT("  quota: {rows: inherit}\n"),
     "~ tenant @ quota.rows 5 -> inherit\n"},
    {"plans: [{id: p-@}]\n" TENANT(""), TENANT("  plan: p-@\n"),
     "~ tenant @ plan standard -> p-@\n"},
    {"plans: [{id: p-@}]\n" TENANT("  plan: null\n"), TENANT("  plan: p-@\n"),
     "~ tenant @ plan none -> p-@\n"},
    {"plans: [{id: p-@}]\n" TENANT("  plan: p-@\n"), TENANT("  plan: null\n"),
     "~ tenant @ plan p-@ -> none\n"},
    {TENANT(""), TENANT("  suspended: {reason: unpaid, access: writes}\n"),
     "~ tenant @ suspended writes: unpaid\n"},
    {TENANT("  suspended: {reason: unpaid}\n"), TENANT("  suspended: {reason: moved}\n"),
     "~ tenant @ suspended all: unpaid -> all: moved\n"},
    {TENANT("  suspended: {reason: unpaid}\n"), TENANT("  suspended: false\n"),
     "~ tenant @ suspended all: unpaid -> no\n"},
    {"plans: [{id: p-@, quota: {rows: 5}, display_name: P}]\n",
     "plans: [{id: p-@, quota: {rows: 6}}]\n", "~ plan p-@ quota.rows 5 -> 6\n"},
    {"plans: [{id: p-@, quota: {rows: 5}}]\n", "plans: [{id: p-@, quota: {rows: inherit}}]\n",
     "~ plan p-@ quota.rows 5 -> inherit\n"},
    {"plans: [{id: p-@}]\n", "plans: [{id: p-@, display_name: P}]\n",
     "~ plan p-@ display_name \"\" -> P\n"},
    {"plans: [{id: p-@}]\n", "plans: [{id: p-@, absent: true}]\n", "- plan p-@\n"},
    {FAMILY("{}"), FAMILY("{gc: {max_versions: 1}}"), "~ table @/t family f -> f:max_versions=1\n"},
    {FAMILY("{gc: {max_versions: 1}}"), FAMILY("{}"), "~ table @/t family f:max_versions=1 -> f\n"},
    {FAMILY("{type: sum}"), FAMILY("{gc: {max_age: 1d}}"),
     "~ table @/t family f:type=sum -> f:max_age=86400s\n"},
    {FAMILY("{gc: {max_versions: 1}}"), FAMILY("{type: int64, gc: {max_versions: 1}}"),
     "~ table @/t family f:max_versions=1 -> f:type=int64:max_versions=1\n"},
    {FAMILY("{type: string}"), FAMILY("{type: none}"),
     "~ table @/t family f:type=string -> f:type=none\n"},
    {FAMILY("{}"), TABLE("    families: [g]\n"), "~ table @/t family g\n"},
    {TABLE("    families: [f, g]\n"), FAMILY("{absent: true}"), "~ table @/t family f -> absent\n"},
    {FAMILY("{}"), TABLE("    deletion_protection: true\n"),
     "~ table @/t deletion_protection false -> true\n"},
    {FAMILY("{}"), TABLE("    row_key_notes: day\n"), "~ table @/t row_key_notes none -> day\n"},
    {TABLE("    families: [f]\n    row_key_notes: day\n"), TABLE("    row_key_notes: null\n"),
     "~ table @/t row_key_notes day -> \"\"\n"},
    {FAMILY("{}"), TABLE("    change_stream_retention: 1d\n"),
     "~ table @/t change_stream_retention none -> 86400s\n"},
    {TABLE("    families: [f, g]\n    deletion_protection: true\n"),
     TABLE("    families: {g: {absent: true}}\n    deletion_protection: false\n"),
     "    deletion_protection true -> false\n"},
    {TABLE("    families: [f, g]\n"),
     TABLE("    families: {g: {absent: true}, h: {}, f: {gc: {max_versions: 2}}}\n"
           "    deletion_protection: true\n"),
     "    family g -> absent\n    family h\n    family f -> f:max_versions=2\n"},
    {FAMILY("{}"), TABLE("    absent: true\n"), "- table @/t\n"},
    {TENANT("  keys: [{label: app}, {label: other}]\n"),
     TENANT("  keys: [{label: app, absent: true}]\n"), "- key @/app\n"},
    {"service_keys: [{label: s-@}]\n", "service_keys: [{label: s-@, absent: true}]\n",
     "- service key s-@\n"},
};

START_TEST(each_kind_of_change_is_shown_done_and_then_there)
{
    apply(CHANGES[_i].before, 0);
    apply(CHANGES[_i].after, 0);
    expect_out(CHANGES[_i].says);
    ck_assert_msg(strstr(r.out, " 1 to change, 0 to remove,") != NULL ||
                      strstr(r.out, " 0 to change, 1 to remove,") != NULL,
                  "%s", r.out);
    int64_t records = audit_records();
    APPLY("--yes");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "0 to create, 0 to change, 0 to remove,");
    expect_nothing_done_since(records);
}
END_TEST

START_TEST(keys_of_two_kinds_may_have_one_label)
{
    apply("service_keys: [{label: s-@}]\n", 0);
    apply("service_keys: [{label: s-@}]\noperator_keys: [{label: s-@, scopes: [ops.read]}]\n", 0);
    expect_out("+ operator key s-@\n");
    EXPECT_IN(r.out, "1 to create, 0 to change, 0 to remove, 1 unchanged\n");
    apply("service_keys: [{label: s-@, absent: true}]\noperator_keys: [{label: s-@}]\n", 0);
    EXPECT_IN(r.out, "0 to create, 0 to change, 1 to remove, 1 unchanged\n");
    apply("operator_keys: [{label: s-@}]\n", 0);
    EXPECT_IN(r.out, "1 unchanged\n");
}
END_TEST

START_TEST(what_the_file_does_not_name_stays_as_it_is)
{
    apply(EVERYTHING, 0);
    http_get(w.op, "/v1/admin/tenants/%s/quota", w.tenant);
    char before[8192];
    (void)snprintf(before, sizeof before, "%s", http_text(w.op));
    apply(
        TENANT(
            "  quota: {rows: 7}\n  tables:\n  - id: phone\n    families: [extra]\n") "plans: [{id: "
                                                                                     "p-@, quota: "
                                                                                     "{weight: "
                                                                                     "200}}]\n",
        0);
    EXPECT_IN(r.out, "0 to create, 3 to change, 0 to remove, 0 unchanged\n");
    http_get(w.op, "/v1/admin/tenants/%s", id);
    ck_assert_str_eq(http_string(w.op, "/display_name"), "Acme \"& S\xc3\xb6hne\"");
    ck_assert_int_eq(http_number(w.op, "/own_quota/keys"), 5);
    ck_assert_int_eq(http_number(w.op, "/own_quota/rows"), 7);
    http_get(w.op, "/v1/admin/plans/p-%s", id);
    ck_assert_str_eq(http_string(w.op, "/display_name"), "Gold");
    ck_assert_uint_eq(http_count(w.op, "/quota"), 2);
    bigtent(&r, &op, "table", "list", "--tenant", id, "--key-file", service_key);
    ck_assert_uint_eq(count_lines(r.out), 2);
    EXPECT_IN(r.out, "hits:type=sum,raw,extra\n");
    http_get(w.op, "/v1/admin/tenants/%s/keys", id);
    ck_assert_uint_eq(http_count(w.op, "/keys"), 1);
    http_get(w.op, "/v1/admin/tenants/%s/quota", w.tenant); /* a stranger to the file */
    ck_assert_str_eq(http_text(w.op), before);
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
}
END_TEST

/* --- what is refused ----------------------------------------------------------------------------
 */

static const struct {
    const char *before;
    const char *after;
    int code;
    const char *says; /* behind the file's name */
} REFUSED[] = {
    /* by the server: said with the place of the thing */
    {"", TENANT("  quota: {weight: 5000}\n"), 1, ":2:3: tenant \""},
    {"", TENANT("  encrypted: true\n"), 1, ":2:3: tenant \""}, /* it has no master key */
    {"", "plans: [{id: p-@, quota: {weight: 5000}}]\n", 1, ":1:9: plan \"p-"},
    {TENANT(""), TABLE("    families: {f: {type: hll, gc: {max_age: 0.0001s}}}\n"), 1,
     ":4:5: table \"t\": "},
    {TENANT("  quota: {keys: 1}\n"), TENANT("  keys:\n  - label: a\n  - label: b\n"), 1,
     ":5:5: key \"b\": "},
    {"plans: [{id: p-@}]\n" TENANT("  plan: p-@\n"), "plans: [{id: p-@, absent: true}]\n", 1,
     "1 tenant has this plan"},
    /* before anything is sent */
    {"", TENANT("  plan: p-@\n"), 2, "neither on the server nor in the file"},
    {"plans: [{id: p-@}]\n", "plans: [{id: p-@, absent: true}]\n" TENANT("  plan: p-@\n"), 2,
     "the file removes it"},
    {FAMILY("{}"), FAMILY("{type: sum}"), 2, ":4:5: table \"t\" of tenant \""},
    {"", TABLE("    row_key_notes: x\n"), 2, "say its families"},
    {"", TABLE("    families: {f: {absent: true}}\n"), 2, "say its families"},
    {TENANT(""), TENANT("  encrypted: true\n"), 2, "is not encrypted, and that never changes"},
    /* not as the file says, and never to be */
    {TENANT("  keys: [{label: k, scopes: [data.read]}]\n"),
     TENANT("  keys: [{label: k, scopes: [data.write]}]\n"), 5, "has other scopes than the file"},
    {TENANT("  keys: [{label: k, limits: {read_ops_per_s: 5}}]\n"),
     TENANT("  keys: [{label: k, limits: {read_ops_per_s: 6}}]\n"), 5, "has other limits"},
    {TENANT("  keys: [{label: k, scopes: [data.read]}]\n"),
     TENANT("  keys: [{label: k, scopes: [data.read], row_prefix: 'a#'}]\n"), 5,
     "has other row_prefix"},
    {TENANT("  keys: [{label: k, scopes: [data.read], row_prefix: 'a#'}]\n"),
     TENANT("  keys: [{label: k, scopes: [data.read]}]\n"), 5, "has other row_prefix"},
    {TENANT("") "service_keys: [{label: s-@}]\n", "service_keys: [{label: s-@, tenants: [@]}]\n", 5,
     "has other tenants"},
};

START_TEST(what_can_not_be_is_refused_with_its_place)
{
    apply(REFUSED[_i].before, 0);
    int64_t records = audit_records();
    apply(REFUSED[_i].after, REFUSED[_i].code);
    EXPECT_IN(r.err, yaml);
    EXPECT_IN(r.err, REFUSED[_i].says);
    if (REFUSED[_i].code == 1)
        EXPECT_IN(r.err, " steps were done; run it again for the rest");
    else
        expect_nothing_done_since(records);
}
END_TEST

START_TEST(an_offboarded_tenant_is_never_made_again)
{
    apply(TENANT(""), 0);
    admin_offboard(w.op, id);
    apply(TENANT("  display_name: x\n"), 2);
    EXPECT_IN(r.err, "was offboarded, and IDs are never used again");
}
END_TEST

START_TEST(a_tenant_in_its_grace_period_is_undeleted_first)
{
    apply(TENANT(""), 0);
    http_value_take(w.op, "POST", json_pack("{s:s, s:s}", "confirm", id, "grace", "3600s"),
                    "/v1/admin/tenants/%s:offboard", id);
    EXPECT_STATUS(w.op, 202);
    apply(TENANT("  display_name: x\n"), 2);
    EXPECT_IN(r.err, "is to be deleted: undelete it first");
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s:undelete", id);
    apply(TENANT("  display_name: x\n"), 0);
}
END_TEST

START_TEST(tables_of_a_suspended_tenant_wait_until_it_is_resumed)
{
    apply(FAMILY("{}"), 0);
    apply(TENANT("  suspended: {reason: unpaid}\n  tables: [{id: t, families: [f, g]}]\n"), 0);
    apply(TENANT("  suspended: {reason: unpaid}\n  tables: [{id: t, families: [f, h]}]\n"), 0);
    EXPECT_IN(r.err, "is suspended: its tables cannot be compared\n");
    EXPECT_IN(r.out, "0 to change");
    apply(TENANT("  suspended: false\n  tables: [{id: t, families: [f, h]}]\n"), 5);
    EXPECT_IN(r.err, "run it again when it is resumed");
    apply(TENANT("  suspended: false\n  tables: [{id: t, families: [f, h]}]\n"), 0);
    expect_out("~ table @/t family h\n");
}
END_TEST

/* --- encrypted tenants --------------------------------------------------------------------------
 */

static struct server sealing;
static char master[PROCESS_PATH + 32];

static void sealing_set_up(void)
{
    server_create(&sealing);
    (void)snprintf(master, sizeof master, "%s/master.key", sealing.root);
    write_file(master, "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n");
    sealing.options[0] = "--master-key-file";
    sealing.options[1] = master;
    server_start(&sealing, NULL);
    world_init_on(&w, &sealing, HTTP_2, "sealing");
    session_begin(&sealing);
    apply_begin();
}

static void sealing_tear_down(void)
{
    apply_tear_down();
    server_remove(&sealing);
}

START_TEST(a_tenant_is_made_encrypted_and_stays_so)
{
    apply(TENANT("  encrypted: true\n"), 0);
    expect_out("+ tenant @\n    encrypted true\n");
    http_get(w.op, "/v1/admin/tenants/%s", id);
    ck_assert(json_is_true(http_at(w.op, "/encrypted")));
    int64_t records = audit_records();
    apply(TENANT("  encrypted: true\n"), 0);
    EXPECT_IN(r.out, "0 to create, 0 to change, 0 to remove, 1 unchanged\n");
    apply(TENANT(""), 0); /* what it does not say is no difference */
    apply(TENANT("  encrypted: false\n"), 2);
    EXPECT_IN(r.err, "is encrypted, and that never changes");
    expect_nothing_done_since(records);
}
END_TEST

START_TEST(a_tenant_is_made_plain_where_the_file_says_so)
{
    apply(TENANT("  encrypted: false\n"), 0);
    EXPECT_NOT_IN(r.out, "encrypted");
    http_get(w.op, "/v1/admin/tenants/%s", id);
    ck_assert(json_is_false(http_at(w.op, "/encrypted")));
    apply(TENANT("  encrypted: false\n"), 0);
    EXPECT_IN(r.out, "1 unchanged\n");
}
END_TEST

#define EACH(list) (int)(sizeof(list) / sizeof((list)[0]))

Suite *suite_cli_apply(void);
Suite *suite_cli_apply(void)
{
    Suite *s = suite_create("cli_apply");
    TCase *t = apply_tcase("apply");
    tcase_add_test(t, all_of_it_is_made_from_nothing_and_a_second_run_does_nothing);
    tcase_add_loop_test(t, each_kind_of_change_is_shown_done_and_then_there, 0, EACH(CHANGES));
    tcase_add_test(t, keys_of_two_kinds_may_have_one_label);
    tcase_add_test(t, what_the_file_does_not_name_stays_as_it_is);
    tcase_add_loop_test(t, what_can_not_be_is_refused_with_its_place, 0, EACH(REFUSED));
    tcase_add_test(t, an_offboarded_tenant_is_never_made_again);
    tcase_add_test(t, a_tenant_in_its_grace_period_is_undeleted_first);
    tcase_add_test(t, tables_of_a_suspended_tenant_wait_until_it_is_resumed);
    world_end(t);
    suite_add_tcase(s, t);
    t = tcase_create("encrypted");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, sealing_set_up, sealing_tear_down);
    tcase_add_test(t, a_tenant_is_made_encrypted_and_stays_so);
    tcase_add_test(t, a_tenant_is_made_plain_where_the_file_says_so);
    suite_add_tcase(s, t);
    return s;
}

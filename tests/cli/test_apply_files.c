/*
 * tests/cli/test_apply_files.c - apply: what is wrong in files, found before anything is sent.
 *
 * There is no server here: a file that is taken ends in exit 3, nobody listens.
 */
#define _GNU_SOURCE
#include "base/buf.h"
#include "tests/cli/program.h"

#include "base/banned.h"

#define MANY (2U * 1024U * 1024U)

static struct run r;
static const struct setup nobody = {.key = "bto_nobody"};

/* args: behind "apply -f -"; NULL: none. */
static void apply(const char *text)
{
    struct setup s = nobody;
    s.input = text;
    bigtent(&r, &s, "apply", "-f", "-", "--tables-key-file", "/dev/null");
}

/* --- what files may say ------------------------------------------------------------------------
 */

static const struct {
    const char *text;
    const char *says; /* behind "standard input:" */
} WRONG[] = {
    /* where it is wrong */
    {"tenants:\n  - id: Acme\n", "2:9: tenant \"Acme\": tenant ID may hold a-z"},
    {"tenants:\n- id: acme\n  plan: Gold\n", "3:9: tenant \"acme\": a plan's ID is made like"},
    {"---\nplans: []\n---\ntenants: [{id: a}]\n", "4:16: tenant \"a\": tenant ID has 1 char"},
    {"tenants: [{id: admin}]\n", "1:16: tenant \"admin\": this ID is reserved"},
    {"tenants: [{id: ab, tables: [{id: x/y, families: [f]}]}]\n",
     "1:34: tenant \"ab\": table \"x/y\": table ID may hold"},
    /* unknown and missing fields */
    {"tenant:\n", "1:1: unknown field \"tenant\"; did you mean \"tenants\"?"},
    {"tenants: [{id: ab, plans: x}]\n", "1:20: tenant \"ab\": unknown field \"plans\"; did you "
                                        "mean \"plan\"?"},
    {"tenants: [{id: ab, quota: {bytes: 1}}]\n", "did you mean \"stored_bytes\"?"},
    {"tenants: [{id: ab, quota: {zebra: 1}}]\n", "1:28: tenant \"ab\": unknown field \"zebra\"\n"},
    {"tenants: [{display_name: x}]\n", "1:11: a tenant needs \"id\""},
    {"service_keys: [{scopes: [data.read]}]\n", "1:16: a service key needs \"label\""},
    {"tenants: [{id: ab, absent: true}]\n", "bigtent tenant offboard"},
    {"operator_keys: [{label: x, tenants: [ab]}]\n", "unknown field \"tenants\""},
    /* kinds */
    {"- id: ab\n", "1:1: the file must be a mapping (\"name: value\"), and there is a list"},
    {"tenants: {ab: {}}\n", "1:10: tenants must be a list (\"- ...\"), and there is a mapping"},
    {"tenants: [ab]\n", "1:11: tenant must be a mapping"},
    {"tenants: [{id: [ab]}]\n", "1:16: id must be a single value, and there is a list"},
    {"tenants: [{id: ab, quota: }]\n", "quota must be a mapping (\"name: value\"), and there is "
                                       "nothing"},
    {"tenants: [{id: ab, quota: {rows: }}]\n", "rows must be a single value, and there is nothing"},
    {"tenants: [{id: ab, plan: }]\n", "plan must be a single value, and there is nothing"},
    {"tenants: [{id: ab, display_name: null}]\n", "display_name must be text"},
    /* values */
    {"tenants: [{id: ab, quota: {rows: many}}]\n", "1:34: tenant \"ab\": rows must be a number"},
    {"tenants: [{id: ab, quota: {rows: -1}}]\n", "rows must be a number"},
    {"tenants: [{id: ab, quota: {rows: 9223372036854775808}}]\n", "rows must be a number"},
    {"tenants: [{id: ab, display_name: \"a\\tb\"}]\n", "1:34: tenant \"ab\": "},
    {"tenants: [{id: ab, suspended: true}]\n", "suspended is false, or a mapping with a reason"},
    {"tenants: [{id: ab, suspended: {access: all}}]\n", "a mapping with a reason"},
    {"tenants: [{id: ab, suspended: {reason: x, access: no}}]\n", "access must be reads, writes"},
    {"plans: [{id: free, absent: yes}]\n", "absent must be true or false, not \"yes\""},
    {"service_keys: [{label: x, scopes: [data.reed]}]\n",
     "1:36: service key \"x\": scopes: there is no scope \"data.reed\"; did you mean "
     "\"data.read\"?"},
    {"service_keys: [{label: x, scopes: []}]\n", "scopes is empty"},
    {"service_keys: [{label: x, tenants: [A]}]\n", "tenants: tenant ID has 1"},
    {"service_keys: [{label: x, limits: {read_ops_per_s: inherit}}]\n", "must be a number"},
    {"service_keys: [{label: x, row_prefix: ''}]\n", "row_prefix has 0 bytes"},
    {"service_keys: [{label: ''}]\n", "it is empty"},
    /* twice */
    {"tenants: [{id: ab}]\ntenants: []\n", "2:1: \"tenants\" stands here a second time"},
    {"tenants:\n- id: ab\n- id: ab\n", "3:3: tenant \"ab\" is described already, at standard "
                                       "input:2"},
    {"tenants: [{id: ab, keys: [{label: x}, {label: x}]}]\n", "1:39: key \"x\" is described "
                                                              "already"},
    {"tenants: [{id: ab, quota: {rows: 1, tables: 1, keys: 1, weight: 1, families: 1, row_bytes: "
     "1, cell_bytes: 1, burst_ms: 1, rows: 2, tables: 2}}]\n",
     "1:123: \"rows\" stands here a second time"},
};

START_TEST(wrong_values_are_named_with_line_and_column)
{
    char expected[512];
    apply(WRONG[_i].text);
    EXPECT_CODE(&r, 2);
    (void)snprintf(expected, sizeof expected, "%s", WRONG[_i].says);
    EXPECT_IN(r.err, "bigtent: standard input:");
    EXPECT_IN(r.err, expected);
    ck_assert_str_eq(r.out, "");
}
END_TEST

#define TABLE(what) "tenants: [{id: ab, tables: [{id: t, " what "}]}]\n"
#define GC(rule)    TABLE("families: {f: {gc: " rule "}}")

static const struct {
    const char *text;
    const char *says;
} WRONG_TABLES[] = {
    {GC("{max_versions: 0}"), "max_versions must be a number from 1"},
    {GC("{max_versions: 2147483648}"), "max_versions must be a number from 1"},
    {GC("{max_age: soon}"), "max_age must be a time"},
    {GC("{max_age: 1.}"), "max_age must be a time"},
    {GC("{max_ages: 1d}"), "did you mean \"max_age\"?"},
    {GC("{union: []}"), "union is empty"},
    {GC("{union: [{}]}"), "a rule inside another says nothing"},
    {GC("{union: {max_age: 1d}}"), "union must be a list"},
    {GC("{union: [{max_age: 1d}], max_versions: 1}"), "union and intersection stand alone"},
    {TABLE("families: {'f:g': {}}"), "family name may hold"},
    {TABLE("families: {f: {type: count}}"),
     "type must be none, bytes, string, int64, sum, min, max or hll"},
    {TABLE("families: [f, 'f:max_versions=1']"), "family \"f\" was named twice"},
    {TABLE("families: ['f:max_versions=x']"), "\"f:max_versions=x\" is no family"},
    {TABLE("families: x"), "families must be a list"},
    {TABLE("change_stream_retention: 23h"), "from 1d to 7d"},
    {TABLE("change_stream_retention: 8d"), "from 1d to 7d"},
    {TABLE("splits: a"), "splits must be a list"},
};

START_TEST(wrong_tables_are_named_with_line_and_column)
{
    apply(WRONG_TABLES[_i].text);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "bigtent: standard input:1:");
    EXPECT_IN(r.err, "tenant \"ab\", table \"t\": ");
    EXPECT_IN(r.err, WRONG_TABLES[_i].says);
}
END_TEST

START_TEST(all_errors_are_said_at_once_and_more_than_20_are_counted)
{
    char text[4096] = "tenants:\n";
    for (int i = 0; i < 25; i++) {
        size_t len = strlen(text);
        (void)snprintf(text + len, sizeof text - len, "- id: A%02d\n", i);
    }
    apply(text);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "standard input:2:7: ");
    EXPECT_IN(r.err, "standard input:21:7: ");
    EXPECT_NOT_IN(r.err, "standard input:22:7: ");
    EXPECT_IN(r.err, "and 5 more errors\n");
}
END_TEST

START_TEST(files_are_named_and_what_one_says_the_other_does_not_repeat)
{
    char dir[PROCESS_PATH];
    char one[PROCESS_PATH + 16];
    char two[PROCESS_PATH + 16];
    char expected[2 * PROCESS_PATH + 128];
    int keeper = process_temp_dir(dir);
    (void)snprintf(one, sizeof one, "%s/one.yaml", dir);
    (void)snprintf(two, sizeof two, "%s/two.yaml", dir);
    for (int i = 0; i < 2; i++) {
        FILE *f = fopen(i == 0 ? one : two, "we");
        ck_assert_ptr_nonnull(f);
        ck_assert_int_gt(fputs("\ntenants:\n  - id: ab\n", f), 0);
        ck_assert_int_eq(fclose(f), 0);
    }
    bigtent(&r, &nobody, "apply", "-f", one, "--file", two);
    EXPECT_CODE(&r, 2);
    (void)snprintf(expected, sizeof expected, "%s:3:5: tenant \"ab\" is described already, at %s:3",
                   two, one);
    EXPECT_IN(r.err, expected);
    bigtent(&r, &nobody, "apply", "-f", one);
    EXPECT_CODE(&r, 3);
    (void)snprintf(expected, sizeof expected, "%s/none.yaml", dir);
    bigtent(&r, &nobody, "apply", "-f", expected);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "No such file");
    bigtent(&r, &nobody, "apply", "-f", dir);
    EXPECT_CODE(&r, 2);
    bigtent(&r, &nobody, "apply");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "--file FILE");
    process_temp_dir_remove(dir, keeper);
}
END_TEST

START_TEST(a_file_that_says_nothing_needs_no_server)
{
    static const char *const EMPTY[] = {
        "", "\n", "# nothing\n", "---\n---\n...\n", "tenants:\n", "tenants: []\nplans: []\n"};
    for (size_t i = 0; i < sizeof EMPTY / sizeof EMPTY[0]; i++) {
        apply(EMPTY[i]);
        EXPECT_CODE(&r, 0);
        EXPECT_IN(r.out, "0 to create, 0 to change, 0 to remove, 0 unchanged\n");
    }
}
END_TEST

START_TEST(keys_that_can_not_do_it_are_told_before_anything_is_sent)
{
    struct setup s = nobody;
    s.input = TABLE("families: [f]");
    bigtent(&r, &s, "apply", "-f", "-");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "standard input:1:29: an operator key manages no tables");
    s.key = "btt_nobody";
    s.input = "tenants: [{id: ab, plan: gold}]\n";
    bigtent(&r, &s, "apply", "-f", "-");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "needs an operator key");
    s.input = TABLE("families: [f]");
    bigtent(&r, &s, "apply", "-f", "-");
    EXPECT_CODE(&r, 3);
    s.key = NULL;
    bigtent(&r, &s, "apply", "-f", "-");
    EXPECT_CODE(&r, 2);
}
END_TEST

/* --- hostile YAML -------------------------------------------------------------------------------
 */

static const struct {
    const char *text;
    const char *says;
} HOSTILE[] = {
    {"a: &a [x]\n", "1:4: anchors and aliases"},
    {"a: &a [x,x,x]\nb: [*a,*a,*a]\n", "1:4: anchors and aliases"},
    {"tenants: *a\n", "1:10: anchors and aliases"},
    {"tenants:\n  <<: {id: ab}\n", "2:3: merge keys"},
    {"tenants: !!set {ab}\n", "1:10: tags"},
    {"tenants: [{id: !!binary YWI=}]\n", "1:16: tags"},
    {"%TAG ! tag:example.com:\n---\ntenants: []\n", "directives"},
    {"? [a, b]\n: c\n", "1:3: a key must be a plain name"},
    {"tenants: [{id: \"a\\0b\"}]\n", "1:16: the text holds NUL"},
    {"tenants:\n\t- id: ab\n", "2:1: "},
    {"tenants:\n\t- id: ab\n", "only spaces indent"},
    {"tenants: [\n", "2:1: "},
    {"a: b: c\n", "1:5: mapping values are not allowed"},
    {"tenants: [{id: \"a\xff\"}]\n", "1:18: invalid"},
    {"plans: []\ntenants: \x01\n", "2:10: control characters are not allowed"},
    {"\x7f"
     "ELF\x02\x01",
     "1:1: control characters"},
};

START_TEST(hostile_yaml_is_refused_with_line_and_column)
{
    apply(HOSTILE[_i].text);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "bigtent: standard input:");
    EXPECT_IN(r.err, HOSTILE[_i].says);
}
END_TEST

/* begin, then middle until it is long enough, then end. */
static void apply_many(const char *begin, const char *middle, const char *end, size_t bytes)
{
    struct buf text;
    base_buf_init(&text, bytes + 4096);
    base_buf_append_text(&text, begin);
    while (text.len < bytes)
        base_buf_append_text(&text, middle);
    base_buf_append_text(&text, end);
    base_buf_append_byte(&text, '\0');
    ck_assert_int_eq(text.error, ERR_OK);
    apply((const char *)text.ptr);
    base_buf_fini(&text);
}

START_TEST(what_is_deep_or_huge_is_refused_and_takes_little_memory)
{
    apply_many("", "[", "", MANY);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "nested too deep");
    apply_many("", "{a: ", "", MANY);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "nested too deep");
    apply_many("", "- ", "", MANY);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "nested too deep");
    apply_many("tenants: [{id: ", "a", "}]\n", MANY);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "1:16: tenant \"aaaa");
    EXPECT_IN(r.err, "characters; it must have 2 to 63");
    ck_assert_uint_lt(r.err_len, 1024);
    apply_many("tenants: [{id: ab, tables: [{id: t, families: [", "'f:union(',", "]}]}]\n", MANY);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "more errors\n");
    apply_many("tenants: [", "a,", "a]\n", 9 * 1024 * 1024);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "the file has too many parts");
    apply_many("#", "a", "\n", 64 * 1024 * 1024 - 1);
    EXPECT_CODE(&r, 0);
    apply_many("#", "a", "\n", 64 * 1024 * 1024);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "has more than 64 MiB");
}
END_TEST

/* "begin a000,a001,... end" */
static void apply_numbered(const char *begin, int count, const char *end)
{
    static char text[64 * 1024];
    size_t len = (size_t)snprintf(text, sizeof text, "%s", begin);
    for (int i = 0; i < count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%sa%d", i > 0 ? "," : "", i);
    ck_assert_uint_lt(len + strlen(end), sizeof text);
    (void)snprintf(text + len, sizeof text - len, "%s", end);
    apply(text);
}

static const struct {
    const char *begin;
    const char *end;
    int max;
    const char *says;
} LONG[] = {
    {"service_keys: [{label: x, tenants: [b0,", "]}]\n", 999,
     "tenants has 1001 entries; the limit "},
    {"tenants: [{id: ab, tables: [{id: t, families: [f], splits: [", "]}]}]\n", 1000,
     "splits has 1001 entries; the limit is 1000"},
    {"tenants: [{id: ab, tables: [{id: t, families: [", "]}]}]\n", 100,
     "a table has at most 100 families"},
};

START_TEST(lists_are_taken_up_to_their_limit)
{
    apply_numbered(LONG[_i].begin, LONG[_i].max, LONG[_i].end);
    EXPECT_NOT_IN(r.err, "standard input:"); /* it goes on to keys and server */
    apply_numbered(LONG[_i].begin, LONG[_i].max + 1, LONG[_i].end);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "bigtent: standard input:1:");
    EXPECT_IN(r.err, LONG[_i].says);
}
END_TEST

START_TEST(rules_are_taken_up_to_their_depth)
{
    char rule[4096] = "{max_versions: 1}";
    for (int depth = 1; depth <= 21; depth++) {
        char outer[sizeof rule];
        (void)snprintf(outer, sizeof outer, "{union: [%.3900s]}", rule);
        memcpy(rule, outer, sizeof rule);
        if (depth < 20)
            continue;
        char text[sizeof rule + 128];
        (void)snprintf(text, sizeof text,
                       "tenants: [{id: ab, tables: [{id: t, families: {f: {gc: "
                       "%s}}}]}]\n",
                       rule);
        struct setup s = {.key = "btt_nobody", .input = text};
        bigtent(&r, &s, "apply", "-f", "-");
        EXPECT_CODE(&r, depth == 20 ? 3 : 2);
    }
    EXPECT_IN(r.err, "union is nested too deep");
}
END_TEST

START_TEST(text_of_the_file_can_not_act_on_a_terminal)
{
    apply("tenants: [{id: ab, \"\\e[2J\": x}]\n");
    EXPECT_CODE(&r, 2);
    EXPECT_NOT_IN(r.err, "\x1b");
    EXPECT_IN(r.err, "unknown field \"\\x1b[2J\"");
}
END_TEST

#define EACH(list) (int)(sizeof(list) / sizeof((list)[0]))

Suite *suite_cli_apply_files(void);
Suite *suite_cli_apply_files(void)
{
    Suite *s = suite_create("cli_apply_files");
    TCase *t = tcase_create("files");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, wrong_values_are_named_with_line_and_column, 0, EACH(WRONG));
    tcase_add_loop_test(t, wrong_tables_are_named_with_line_and_column, 0, EACH(WRONG_TABLES));
    tcase_add_test(t, all_errors_are_said_at_once_and_more_than_20_are_counted);
    tcase_add_test(t, files_are_named_and_what_one_says_the_other_does_not_repeat);
    tcase_add_test(t, a_file_that_says_nothing_needs_no_server);
    tcase_add_test(t, keys_that_can_not_do_it_are_told_before_anything_is_sent);
    tcase_add_loop_test(t, hostile_yaml_is_refused_with_line_and_column, 0, EACH(HOSTILE));
    tcase_add_test(t, what_is_deep_or_huge_is_refused_and_takes_little_memory);
    tcase_add_loop_test(t, lists_are_taken_up_to_their_limit, 0, EACH(LONG));
    tcase_add_test(t, rules_are_taken_up_to_their_depth);
    tcase_add_test(t, text_of_the_file_can_not_act_on_a_terminal);
    suite_add_tcase(s, t);
    return s;
}

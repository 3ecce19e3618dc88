/*
 * tests/cli/test_apply_runs.c - runs of apply: consent, new keys, what others do meanwhile, JSON,
 * being killed.
 */
#define _GNU_SOURCE
#include "tests/cli/apply.h"

#include "base/banned.h"

/* --- keys' file, consent ------------------------------------------------------------------------
 */

START_TEST(new_keys_work_and_are_for_the_owner_of_their_file_alone)
{
    char text[4096];
    struct stat st;
    mode_t old = umask(0);
    apply(TENANT(
              "  tables:\n  - {id: phone, families: [f]}\n  - {id: words, families: [f]}\n"
              "  keys:\n  - label: app\n    scopes: [data.write, data.read]\n"
              "    limits: {read_ops_per_s: 1K, write_ops_per_s: none}\n") "service_keys: [{label: "
                                                                           "service-@}]\noperator_"
                                                                           "keys: [{label: "
                                                                           "operator-@}]\n",
          0);
    (void)umask(old);
    ck_assert_int_eq(stat(keys, &st), 0);
    ck_assert_uint_eq(st.st_mode, S_IFREG | 0600);
    read_text(keys, text, sizeof text);
    ck_assert_uint_eq(count_lines(text), 3);
    *strchr(text, '\n') = '\0';
    json_t *line = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(line);
    ck_assert_str_eq(json_string_value(json_object_get(line, "tenant")), id);
    ck_assert_str_eq(json_string_value(json_object_get(line, "label")), "app");
    struct setup fresh = tenant;
    fresh.key = json_string_value(json_object_get(line, "key"));
    bigtent(&r, &fresh, "table", "list");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "phone ");
    bigtent(&r, &fresh, "table", "delete", "words", "--yes");
    EXPECT_CODE(&r, 1); /* no table.admin */
    http_get(w.op, "/v1/admin/tenants/%s/keys", id);
    ck_assert_uint_eq(http_count(w.op, "/keys"), 1);
    ck_assert_int_eq(http_number(w.op, "/keys/0/limits/read_ops_per_s"), 1024);
    ck_assert(json_is_null(http_at(w.op, "/keys/0/limits/write_ops_per_s")));
    json_decref(line);
}
END_TEST

START_TEST(nothing_is_changed_when_new_keys_have_no_place)
{
    char target[PATH_BYTES];
    (void)snprintf(target, sizeof target, "%s/target", dir);
    say(TENANT("  keys: [{label: app}]\n"));
    int64_t records = audit_records();
    APPLY("--yes");
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "new keys (1) need a place: --keys-out FILE; nothing was changed");
    write_file(keys, "precious");
    APPLY("--yes", "--keys-out", keys);
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "File exists; nothing was changed");
    char text[16];
    read_text(keys, text, sizeof text);
    ck_assert_str_eq(text, "precious");
    ck_assert_int_eq(unlink(keys), 0);
    ck_assert_int_eq(symlink(target, keys), 0);
    APPLY("--yes", "--keys-out", keys);
    EXPECT_CODE(&r, 2);
    ck_assert_int_ne(access(target, F_OK), 0);
    APPLY("--yes", "--keys-out", "/nowhere/keys");
    EXPECT_CODE(&r, 2);
    expect_nothing_done_since(records);
    /* Refused later: no empty file is left. */
    ck_assert_int_eq(unlink(keys), 0);
    apply(TENANT("  quota: {weight: 5000}\n  keys: [{label: app}]\n"), 1);
    EXPECT_IN(r.err, "0 of 2 steps were done; run it again for the rest\n");
    ck_assert_int_ne(access(keys, F_OK), 0);
}
END_TEST

START_TEST(a_key_that_can_not_be_written_down_is_revoked)
{
    say(TENANT("  keys: [{label: app}]\n"));
    /* A file may grow to no size at all: the write fails, and nobody would ever know the key. */
    struct rlimit old, none;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    none = old;
    none.rlim_cur = 0;
    (void)signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    APPLY("--yes", "--keys-out", keys);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    EXPECT_CODE(&r, 1);
    EXPECT_IN(r.err, "cannot write a key to ");
    EXPECT_IN(r.err, "the key was revoked again");
    http_get(w.op, "/v1/admin/tenants/%s/keys", id);
    ck_assert_uint_eq(http_count(w.op, "/keys"), 0);
    APPLY("--yes", "--keys-out", keys);
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, "1 to create, 0 to change, 0 to remove, 1 unchanged\n");
}
END_TEST

START_TEST(without_yes_or_a_terminal_nothing_is_changed_and_it_exits_5)
{
    say(TENANT(""));
    int64_t records = audit_records();
    APPLY("--dry-run");
    EXPECT_CODE(&r, 5);
    expect_out("+ tenant @\n1 to create,");
    ck_assert_str_eq(r.err, "");
    bigtent(&r, &op, "apply", "-f", yaml);
    EXPECT_CODE(&r, 5);
    expect_out("+ tenant @\n1 to create,");
    EXPECT_IN(r.err, "nothing was changed: add --yes");
    expect_nothing_done_since(records);
}
END_TEST

/* Start on a terminal, up to its question. */
static void start_and_wait_for_question(void)
{
    const char *const args[] = {"apply", "-f", yaml, "--tables-key-file", service_key, NULL};
    op.terminal = true;
    run_start(&r, &op, args);
    run_read(&r, "[y/N]");
}

static void answer(const char *text)
{
    ck_assert_int_eq(write(r.out_fd, text, strlen(text)), (ssize_t)strlen(text));
    run_finish(&r);
}

START_TEST(a_terminal_is_asked)
{
    say(TENANT(""));
    int64_t records = audit_records();
    static const char *const NO[] = {"\n", "n\n", "yo\n", "Y\n"};
    for (size_t i = 0; i < sizeof NO / sizeof NO[0]; i++) {
        start_and_wait_for_question();
        answer(NO[i]);
        EXPECT_CODE(&r, 5);
    }
    start_and_wait_for_question();
    (void)kill(r.pid, SIGINT);
    run_finish(&r);
    EXPECT_CODE(&r, 128 + SIGINT);
    expect_nothing_done_since(records);
    start_and_wait_for_question();
    answer("y\n");
    EXPECT_CODE(&r, 0);
    http_get(w.op, "/v1/admin/tenants/%s", id);
    EXPECT_STATUS(w.op, 200);
}
END_TEST

START_TEST(what_others_changed_since_the_plan_is_not_overwritten)
{
    static const char *const FILES[] = {
        TENANT("  quota: {rows: 8}\n"), "plans: [{id: p-@, quota: {rows: 8}}]\n",
        TABLE("    families: [g]\n"),   TABLE("    deletion_protection: true\n"),
        TABLE("    absent: true\n"),    "tenants: [{id: new-@}]\n",
    };
    apply("plans: [{id: p-@, quota: {rows: 5}}]\n" TENANT(
              "  quota: {rows: 5}\n  tables: [{id: t, families: [f]}]\n"),
          0);
    say(FILES[_i]);
    start_and_wait_for_question();
    admin_set_quota(w.op, id, "{'rows':5,'weight':7}");
    http_json(w.op, "PUT", "{'quota':{'rows':5,'weight':7}}", "/v1/admin/plans/p-%s", id);
    EXPECT_STATUS(w.op, 200);
    char body[2 * WORLD_ID];
    (void)snprintf(body, sizeof body, "{'id':'new-%s'}", id);
    http_json(w.op, "POST", body, "/v1/admin/tenants");
    EXPECT_STATUS(w.op, 201);
    static struct run other;
    bigtent(&other, &tenant, "table", "change", "t", "--create", "x", "--tenant", id, "--key-file",
            service_key);
    EXPECT_CODE(&other, 0);
    answer("y\n");
    EXPECT_CODE(&r, _i < 2 ? 5 : 1);
    EXPECT_IN(r.out, "run it again for the rest");
    http_get(w.op, "/v1/admin/tenants/%s", id);
    ck_assert_int_eq(http_number(w.op, "/own_quota/rows"), 5);
    ck_assert_int_eq(http_number(w.op, "/own_quota/weight"), 7);
    op.terminal = false;
    APPLY("--yes");
    EXPECT_CODE(&r, 0);
}
END_TEST

/* --- a tenant's own key -------------------------------------------------------------------------
 */

START_TEST(tables_alone_need_no_operator)
{
    say(TABLE("    families: [f]\n"));
    apply(TENANT(""), 0);
    say(TABLE("    families: [f]\n"));
    struct setup service = op;
    char key[WORLD_KEY];
    read_text(service_key, key, sizeof key);
    service.key = key;
    bigtent(&r, &service, "apply", "-f", yaml, "--yes");
    EXPECT_CODE(&r, 0);
    expect_out("+ table @/t\n    family f\n1 to create, 0 to change, 0 to remove, 1 unchanged\n");
    (void)snprintf(id, sizeof id, "%s", w.tenant);
    say("tenants: [{id: @, tables: [{id: devices, families: [stats, more]}]}]\n");
    bigtent(&r, &tenant, "apply", "-f", yaml, "--yes");
    EXPECT_CODE(&r, 0);
    expect_out("~ table @/devices family more\n");
    bigtent(&r, &tenant, "apply", "-f", yaml, "--dry-run");
    EXPECT_CODE(&r, 0);
}
END_TEST

/* --- JSON ---------------------------------------------------------------------------------------
 */

START_TEST(the_plan_is_printed_as_json_lines)
{
    apply(TENANT("  quota: {rows: 5}\n"), 0);
    say(TENANT("  quota: {rows: 6, weight: inherit}\n  tables: [{id: t, families: [f]}]\n"));
    APPLY("--dry-run", "--json");
    EXPECT_CODE(&r, 5);
    ck_assert_uint_eq(count_lines(r.out), 3);
    char expected[1024];
    (void)snprintf(expected, sizeof expected,
                   "{\"action\":\"change\",\"kind\":\"tenant\",\"id\":\"%s\",\"file\":\"%.300s\","
                   "\"line\":2,\"fields\":[{\"field\":\"quota.rows\",\"from\":5,\"to\":6}]}\n",
                   id, yaml);
    ck_assert_msg(strncmp(r.out, expected, strlen(expected)) == 0, "%s", r.out);
    (void)snprintf(expected, sizeof expected,
                   "{\"action\":\"create\",\"kind\":\"table\",\"tenant\":\"%s\",\"id\":\"t\",", id);
    EXPECT_IN(r.out, expected);
    EXPECT_IN(r.out, "{\"summary\":{\"create\":1,\"change\":1,\"remove\":0,\"unchanged\":0,"
                     "\"unresolved\":0}}\n");
    APPLY("--yes", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_uint_eq(count_lines(r.out), 3);
    APPLY("--yes", "--json");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "{\"summary\":{\"create\":0,\"change\":0,\"remove\":0,\"unchanged\":2,"
                            "\"unresolved\":0}}\n");
}
END_TEST

/* --- many, and broken off -----------------------------------------------------------------------
 */

#define TENANTS   300
#define KEY_BYTES 256 /* of a line of --keys-out */

static void say_many(void)
{
    struct buf out;
    base_buf_init(&out, 1U << 20);
    base_buf_append_text(&out, "plans: [{id: p-@}]\ntenants:\n");
    for (int i = 0; i < TENANTS; i++)
        base_buf_printf(&out,
                        "- id: @-%03d\n  plan: p-@\n  tables: [{id: t, families: [f]}]\n"
                        "  keys: [{label: app}]\n",
                        i);
    base_buf_append_byte(&out, '\0');
    say((const char *)out.ptr);
    base_buf_fini(&out);
}

static size_t keys_written(const char *path)
{
    static char text[KEY_BYTES * TENANTS];
    if (access(path, F_OK) != 0)
        return 0;
    read_text(path, text, sizeof text);
    return count_lines(text);
}

/* Phase 0: tenants are being made; 1: keys. */
static bool is_under_way(int phase)
{
    if (phase == 1)
        return keys_written(keys) > 10;
    http_get(w.op, "/v1/admin/tenants/%s-%03d", id, 10);
    return w.op->status == 200;
}

static bool has_ended(void)
{
    siginfo_t info = {0};
    ck_assert_int_eq(waitid(P_PID, (id_t)r.pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid == r.pid;
}

/* False when it was done before anybody saw it at work. */
static bool kill_under_way(int phase, int signal_number)
{
    const char *const args[] = {"apply",      "-f", yaml, "--tables-key-file", service_key, "--yes",
                                "--keys-out", keys, NULL};
    run_start(&r, &op, args);
    while (!has_ended() && !is_under_way(phase)) {
    }
    bool in_time = !has_ended();
    (void)kill(r.pid, signal_number);
    run_finish(&r);
    return in_time && r.code == 128 + signal_number;
}

START_TEST(a_run_that_was_killed_is_completed_by_the_next_one)
{
    char more[PATH_BYTES];
    (void)snprintf(more, sizeof more, "%s/more", dir);
    say_many();
    for (int tries = 0; !kill_under_way(_i % 2, _i < 2 ? SIGKILL : SIGINT); tries++) {
        ck_assert_int_lt(tries, 10); /* on a machine that is busy */
        world_fresh_id(id);
        (void)unlink(keys);
        say_many();
    }
    APPLY("--yes", "--keys-out", more);
    EXPECT_CODE(&r, 0);
    EXPECT_NOT_IN(r.out, "to create, 0 to change, 0 to remove, 0 unchanged");
    /* One key may have been made and not yet written down. */
    ck_assert_uint_ge(keys_written(keys) + keys_written(more), TENANTS - 1);
    APPLY("--dry-run");
    EXPECT_CODE(&r, 0);
    http_get(w.op, "/v1/admin/tenants?prefix=%s-&limit=1000", id);
    ck_assert_uint_eq(http_count(w.op, "/tenants"), TENANTS);
}
END_TEST

Suite *suite_cli_apply_runs(void);
Suite *suite_cli_apply_runs(void)
{
    Suite *s = suite_create("cli_apply_runs");
    TCase *t = apply_tcase("apply_runs");
    tcase_add_test(t, new_keys_work_and_are_for_the_owner_of_their_file_alone);
    tcase_add_test(t, nothing_is_changed_when_new_keys_have_no_place);
    tcase_add_test(t, a_key_that_can_not_be_written_down_is_revoked);
    tcase_add_test(t, without_yes_or_a_terminal_nothing_is_changed_and_it_exits_5);
    tcase_add_test(t, a_terminal_is_asked);
    tcase_add_loop_test(t, what_others_changed_since_the_plan_is_not_overwritten, 0, 6);
    tcase_add_test(t, tables_alone_need_no_operator);
    tcase_add_test(t, the_plan_is_printed_as_json_lines);
    tcase_add_loop_test(t, a_run_that_was_killed_is_completed_by_the_next_one, 0, 4);
    world_end(t);
    suite_add_tcase(s, t);
    return s;
}

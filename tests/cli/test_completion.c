/*
 * tests/cli/test_completion.c - what fits where somebody pressed Tab: by the command table, by the
 * server, and as bash, zsh and fish take it.
 */
#define _GNU_SOURCE
#include "tests/cli/impostor.h"
#include "tests/cli/session.h"

#include "base/banned.h"

static const struct setup PLAIN = {.url = ""};
static struct process_result shell;

#define candidates(setup, ...) bigtent(&r, (setup), "completion", "candidates", "--", __VA_ARGS__)

/* Whether a line begins with the word and ends there, or goes on with what it is. */
static bool proposes(const char *word)
{
    size_t len = strlen(word);
    for (const char *line = r.out; *line != '\0';) {
        size_t line_len = strcspn(line, "\n");
        if (strncmp(line, word, len) == 0 && (line[len] == '\n' || line[len] == '\t'))
            return true;
        line += line_len + (line[line_len] == '\n');
    }
    return false;
}

#define EXPECT_PROPOSED(word)                                                                      \
    ck_assert_msg(proposes(word), "\"%s\" is not proposed: %s", (word), r.out)
#define EXPECT_NOT_PROPOSED(word)                                                                  \
    ck_assert_msg(!proposes(word), "\"%s\" is proposed: %s", (word), r.out)

/* --- by the table ------------------------------------------------------------------------------
 */

/* Words, then what is proposed, then what is not. */
static const struct fit {
    const char *words[6];
    const char *proposed[3];
    const char *not_proposed[3];
} FITS[] = {
    {{""}, {"tenant", "scan", "completion"}, {"list", "create", "--json"}},
    {{"te"}, {"tenant"}, {"table", "top", "test"}},
    {{"tenant", ""}, {"create", "list", "quota"}, {"load", "tenant", "scan"}},
    {{"tenant", "s"}, {"show", "suspend"}, {"resume", "scan"}},
    {{"row", "get", "-"}, {"--family", "--json", "--key-file"}, {"--dry-run", "--order"}},
    {{"-"}, {"--url", "--help"}, {"--family"}},
    {{"tenant", "list", "--order", ""}, {"id", "-id", "-created"}, {"ops", "--order", "list"}},
    {{"tenant", "list", "--order", "-b"}, {"-bytes"}, {"bytes", "-id"}},
    {{"tenant", "list", "--order=-b"}, {"--order=-bytes"}, {"-bytes", "--order=-id"}},
    {{"tenant", "suspend", "x", "--access", ""}, {"reads", "writes", "all"}, {"A"}},
    {{"key", "create", "--scope", "admin."}, {"admin.read", "admin.write"}, {"ops.read"}},
    {{"metering", "--format", ""}, {"ndjson", "csv"}, {":files"}},
    {{"top", "--order", ""}, {"ops", "latency"}, {"id"}},
    {{"--key-file", ""}, {":files"}, {"tenant"}},
    {{"--key-file", "k", "plan", ""}, {"put", "list"}, {":files"}},
    {{"scan", "--cacert=x"}, {":files"}, {"--cacert"}},
    {{"row", "load", "t", ""}, {":files", "-"}, {"t", "FILE|-"}},
    {{"row", "load", "t", "-"}, {"--json"}, {":files"}},
    {{"audit", "verify", "--file", "tr"}, {":files"}, {"--file"}},
    {{"help", ""}, {"tenant", "scan"}, {"list"}},
    {{"help", "plan", ""}, {"put", "delete"}, {"load", "plan"}},
    {{"help", "scan", ""}, {"--json"}, {"scan"}},
    {{"completion", ""}, {"bash", "zsh", "fish"}, {"--json"}},
    {{"scan", "t", ""}, {"--prefix", "--json"}, {"t"}},
    {{"scan", "t", "--prefix", ""}, {NULL}, {"--limit", ":files"}},
    {{"scan", "--", "-"}, {NULL}, {"--limit", "--json"}},
    {{"scan", "--limit=3", "--l"}, {NULL}, {"--limit"}},
    {{"scan", "--limit", "3", "--"}, {"--prefix"}, {"--limit"}},
    {{"key", "create", "--scope", "x", "--sc"}, {"--scope"}, {NULL}},
    {{"nonsense", ""}, {NULL}, {"tenant", "--json"}},
    {{"tenant", "nonsense", ""}, {NULL}, {"list", "--json"}},
    {{"scan", "--nonsense", ""}, {NULL}, {"--json", "--limit"}},
};
#define FIT_COUNT (sizeof FITS / sizeof FITS[0])

START_TEST(candidates_are_what_fits)
{
    const struct fit *fit = &FITS[_i];
    const char *args[RUN_ARGS] = {"completion", "candidates", "--"};
    for (size_t i = 0; i < 6 && fit->words[i] != NULL; i++)
        args[3 + i] = fit->words[i];
    run_all(&r, &PLAIN, args);
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.err, "");
    for (size_t i = 0; i < 3 && fit->proposed[i] != NULL; i++)
        EXPECT_PROPOSED(fit->proposed[i]);
    for (size_t i = 0; i < 3 && fit->not_proposed[i] != NULL; i++)
        EXPECT_NOT_PROPOSED(fit->not_proposed[i]);
    if (fit->proposed[0] == NULL)
        ck_assert_str_eq(r.out, "");
}
END_TEST

/* What help knows is proposed; help is made from the same table, and tested to be whole. */
START_TEST(every_command_and_option_of_help_is_proposed)
{
    static struct run help;
    bigtent(&help, &PLAIN, "help", "row", "get");
    candidates(&PLAIN, "row", "get", "--");
    size_t options = 0;
    for (const char *at = help.out; (at = strstr(at, "\n  --")) != NULL; at++, options++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 3, " \n"), at + 3);
        EXPECT_PROPOSED(name);
    }
    ck_assert_uint_ge(options, 6);
}
END_TEST

START_TEST(candidates_say_what_they_are)
{
    candidates(&PLAIN, "tenant", "cr");
    ck_assert_str_eq(r.out, "create\tmake a tenant\n");
    candidates(&PLAIN, "scan", "--rev");
    ck_assert_str_eq(r.out, "--reverse\tthe last row first\n");
    bigtent(&r, &PLAIN, "completion", "candidates");
    EXPECT_PROPOSED("tenant");
}
END_TEST

START_TEST(completion_takes_a_shell_it_knows)
{
    bigtent(&r, &PLAIN, "completion", "tcsh");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &PLAIN, "completion", "bash", "zsh");
    EXPECT_CODE(&r, 2);
    bigtent(&r, &PLAIN, "completion");
    EXPECT_CODE(&r, 2);
}
END_TEST

/* --- by the server -----------------------------------------------------------------------------
 */

START_TEST(ids_come_from_the_server)
{
    char begin[4];
    (void)snprintf(begin, sizeof begin, "%.3s", w.tenant);
    candidates(&op, "tenant", "show", begin);
    EXPECT_CODE(&r, 0);
    EXPECT_PROPOSED(w.tenant);
    candidates(&op, "audit", "list", "--tenant", "");
    EXPECT_PROPOSED(w.tenant);
    candidates(&op, "tenant", "show", "zzz");
    ck_assert_str_eq(r.out, "");
    http_json(w.op, "PUT", "{'quota':{}}", "/v1/admin/plans/gold");
    candidates(&op, "plan", "show", "");
    EXPECT_PROPOSED("gold");
    candidates(&op, "tenant", "create", "x", "--plan=g");
    EXPECT_PROPOSED("--plan=gold");
    candidates(&tenant, "scan", "d");
    ck_assert_str_eq(r.out, "devices\n");
}
END_TEST

START_TEST(service_key_completes_tables_of_the_tenant_on_the_line)
{
    char key[WORLD_KEY];
    char id[WORLD_ID];
    admin_create_global_key(w.op, "service", key, id);
    struct setup service = tenant;
    service.key = key;
    candidates(&service, "--tenant", w.tenant, "scan", "");
    EXPECT_PROPOSED("devices");
    candidates(&service, "--tenant", "no tenant\r\nX: y", "scan", "");
    EXPECT_NOT_PROPOSED("devices");
}
END_TEST

static void expect_nothing(const struct setup *s, const char *option, const char *value)
{
    candidates(s, option, value, "tenant", "show", "");
    EXPECT_CODE(&r, 0);
    EXPECT_NOT_PROPOSED(w.tenant);
    ck_assert_str_eq(r.err, "");
}

START_TEST(server_is_not_asked_unless_the_environment_says_where_and_who)
{
    struct setup s = op;
    s.url = "";
    expect_nothing(&s, "--retry", "1");
    s = op;
    s.key = NULL;
    expect_nothing(&s, "--retry", "1");
    expect_nothing(&op, "--url", "https://127.0.0.1:1");
    expect_nothing(&op, "--key", "another");
    expect_nothing(&op, "--key-file", "another");
    expect_nothing(&op, "--cacert", "another");
}
END_TEST

START_TEST(server_that_does_not_help_is_no_error)
{
    struct setup s = op;
    s.url = nobody_url();
    expect_nothing(&s, "--retry", "1");
    s.url = "nonsense";
    expect_nothing(&s, "--retry", "1");
    expect_nothing(&tenant, "--retry", "1"); /* may not list tenants */
}
END_TEST

/* What is proposed is typed into a shell. */
START_TEST(ids_that_mean_something_in_a_shell_are_left_out)
{
    static struct impostor impostor;
    struct setup s = tenant;
    impostor_start(&impostor, world_server());
    impostor_answers(&impostor, "200 OK",
                     "{\"tables\":[{\"id\":\"$(reboot)\"},{\"id\":\"a b\"},{\"id\":\"-rf\"},"
                     "{\"id\":\"a\\nb\"},{\"id\":\"a;b\"},{\"id\":\"\"},{\"id\":7},{},"
                     "{\"id\":\"Good_1.x-y\"}]}");
    s.url = impostor.url;
    candidates(&s, "scan", "");
    EXPECT_CODE(&r, 0);
    ck_assert_str_eq(r.out, "Good_1.x-y\n");
    impostor_stop(&impostor);
}
END_TEST

/* It takes the connection and says nothing: it is asked once, for all of the wait. */
START_TEST(silent_server_is_not_waited_for)
{
    char silent[64];
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(fd, 4), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    (void)snprintf(silent, sizeof silent, "https://127.0.0.1:%u", ntohs(address.sin_port));
    struct setup s = op;
    s.url = silent;
    uint64_t begin_ns = base_monotonic_ns();
    expect_nothing(&s, "--retry", "1");
    ck_assert_uint_ge(base_monotonic_ns() - begin_ns, 500000000);
    ck_assert_int_eq(close(accept(fd, NULL, NULL)), 0);
    ck_assert_int_eq(accept(fd, NULL, NULL), -1);
    (void)close(fd);
}
END_TEST

/* --- in shells ---------------------------------------------------------------------------------
 */

/* program -f -c 'script', where bigtent is the one that was built. */
static void run_shell(const char *program, const char *flag, const char *script)
{
    static char path[2 * PROCESS_PATH];
    char built[PROCESS_PATH], dir[PROCESS_PATH], home[PROCESS_PATH + 8];
    int keeper_fd = process_temp_dir(dir); /* fish writes to it */
    (void)snprintf(home, sizeof home, "HOME=%s", dir);
    process_program("bigtent", built);
    *strrchr(built, '/') = '\0';
    (void)snprintf(path, sizeof path, "PATH=%s:%s", built, getenv("PATH"));
    /* Arguments of env: of two equal names in the environment each shell takes another. */
    const char *const argv[] = {
        "/usr/bin/env", path, "BIGTENT_URL=", home, "BASH_ENV=", program, flag, "-c", script, NULL};
    process_run(argv, NULL, 30000, &shell);
    process_temp_dir_remove(dir, keeper_fd);
    ck_assert_msg(!shell.timed_out && shell.exit_code == 0, "%s: exit %d: %s", program,
                  shell.exit_code, shell.output);
}

/* Each case: the words as bash takes them apart, the last of them being typed. */
static const char *const BASH_CASES[][2] = {
    {"ten", "[tenant]"},
    {"tenant sus", "[suspend]"},
    {"tenant list --order by", "[bytes]"},
    {"tenant list --order = by", "[bytes]"}, /* --order=by */
    {"tenant list --order =", "[id][-id][bytes][-bytes][rows][-rows][created][-created]"},
    {"--url https : //127.0.0.1 : 8443 pla", "[plan]"},
    {"--key-file = k plan sh", "[show]"},
    {"row load t ''", "<files>[-]"},
    {"audit verify --file = a", "<files>"},
    {"nonsense ''", ""},
};

START_TEST(bash_takes_the_script)
{
    static char script[4096];
    (void)snprintf(
        script, sizeof script,
        "source <(bigtent completion bash) && complete -p bigtent > /dev/null || exit 1\n"
        "compopt() { [[ $* == '-o default' ]] && printf '<files>'; }\n"
        "COMP_WORDS=(bigtent %s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
        "%s"
        "_bigtent bigtent\n"
        "[[ ${#COMPREPLY[@]} -eq 0 ]] || printf '[%%s]' \"${COMPREPLY[@]}\"\n",
        BASH_CASES[_i][0], "set -u\n");
    run_shell("bash", "--norc", script);
    if (strncmp(BASH_CASES[_i][1], "<files>", 7) == 0)
        EXPECT_IN(shell.output, "<files>");
    const char *words = strchr(BASH_CASES[_i][1], '[');
    const char *proposed = strchr(shell.output, '[');
    ck_assert_str_eq(proposed != NULL ? proposed : "", words != NULL ? words : "");
}
END_TEST

START_TEST(bash_that_does_not_end_words_at_equals_signs)
{
    run_shell("bash", "--norc",
              "source <(bigtent completion bash)\n"
              "COMP_WORDBREAKS=$' \\t\\n'\n"
              "COMP_WORDS=(bigtent tenant list --order=by); COMP_CWORD=3; _bigtent bigtent\n"
              "printf '%s\\n' \"${COMPREPLY[@]}\"");
    ck_assert_str_eq(shell.output, "--order=bytes\n");
}
END_TEST

/* zsh's own completion functions are stood in for: they want a line editor. */
static void run_zsh(const char *words, const char *prefix)
{
    static char script[4096];
    (void)snprintf(script, sizeof script,
                   "compdef() { print compdef $*; }\n"
                   "_describe() { print -rl -- \"${(@P)2}\"; }\n"
                   "_files() { print files $cut; }\n"
                   "compset() { cut=\"$*\"; }\n"
                   "source <(bigtent completion zsh)\n"
                   "words=(bigtent %s '%s'); CURRENT=${#words}; PREFIX='%s'; _bigtent\n",
                   words, prefix, prefix);
    run_shell("zsh", "-f", script);
}

START_TEST(zsh_takes_the_script)
{
    run_zsh("", "tena");
    ck_assert_str_eq(shell.output,
                     "compdef _bigtent bigtent\ntenant:Tenants, with an operator key:\n");
    run_zsh("tenant", "");
    EXPECT_IN(shell.output, "\nsuspend:refuse a tenant's requests\n");
    run_zsh("tenant list", "--order=by");
    EXPECT_IN(shell.output, "\n--order=bytes\n");
    run_zsh("'row' load t", "");
    EXPECT_IN(shell.output, "\n-\nfiles\n");
    run_zsh("audit verify", "--file=x");
    EXPECT_IN(shell.output, "\nfiles -P *=\n");
    run_zsh("nonsense", "");
    ck_assert_str_eq(shell.output, "compdef _bigtent bigtent\n");
}
END_TEST

static void run_fish(const char *line)
{
    static char script[1024];
    (void)snprintf(script, sizeof script,
                   "bigtent completion fish | source; cd /etc; complete -C '%s'", line);
    run_shell("fish", "--no-config", script);
}

START_TEST(fish_takes_the_script)
{
    run_fish("bigtent tena");
    ck_assert_str_eq(shell.output, "tenant\tTenants, with an operator key:\n");
    run_fish("bigtent tenant ");
    EXPECT_IN(shell.output, "suspend\trefuse a tenant's requests\n");
    run_fish("bigtent tenant list --order=by");
    ck_assert_str_eq(shell.output, "--order=bytes\n");
    run_fish("bigtent row load t passw");
    EXPECT_IN(shell.output, "passwd");
    run_fish("bigtent audit verify --file=passw");
    EXPECT_IN(shell.output, "--file=passwd");
    run_fish("bigtent tenant show passw");
    ck_assert_str_eq(shell.output, "");
}
END_TEST

Suite *suite_cli_completion(void);

Suite *suite_cli_completion(void)
{
    Suite *s = suite_create("cli_completion");
    TCase *table = tcase_create("table");
    tcase_add_loop_test(table, candidates_are_what_fits, 0, FIT_COUNT);
    tcase_add_test(table, every_command_and_option_of_help_is_proposed);
    tcase_add_test(table, candidates_say_what_they_are);
    tcase_add_test(table, completion_takes_a_shell_it_knows);
    suite_add_tcase(s, table);
    TCase *ids = session_tcase("ids", session_set_up);
    tcase_add_test(ids, ids_come_from_the_server);
    tcase_add_test(ids, service_key_completes_tables_of_the_tenant_on_the_line);
    tcase_add_test(ids, server_is_not_asked_unless_the_environment_says_where_and_who);
    tcase_add_test(ids, server_that_does_not_help_is_no_error);
    tcase_add_test(ids, ids_that_mean_something_in_a_shell_are_left_out);
    tcase_add_test(ids, silent_server_is_not_waited_for);
    world_end(ids);
    suite_add_tcase(s, ids);
    TCase *shells = tcase_create("shells");
    tcase_set_timeout(shells, 60);
    tcase_add_loop_test(shells, bash_takes_the_script, 0, sizeof BASH_CASES / sizeof BASH_CASES[0]);
    tcase_add_test(shells, bash_that_does_not_end_words_at_equals_signs);
    tcase_add_test(shells, zsh_takes_the_script);
    tcase_add_test(shells, fish_takes_the_script);
    suite_add_tcase(s, shells);
    return s;
}

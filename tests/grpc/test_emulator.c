/*
 * tests/grpc/test_emulator.c - the listener for BIGTABLE_EMULATOR_HOST: only when asked for, only
 * on this machine; projects come by their first use and stay, under every limit.
 */
#include <dirent.h>
#include <unistd.h>

#include "tests/grpc/emulator.h"

#include "base/banned.h"

#define LAB      "projects/dev/instances/lab"
#define ON_TABLE "table_name=" LAB "/tables/t"
#define PUT      ";mutations.set_cell.family_name=f;mutations.set_cell.timestamp_micros=1000"

/* A process that refuses core dumps shows its descriptors to root alone. */
static void start_visible(void)
{
    server.options[0] = "--allow-core-dumps";
    server_start(&server, NULL);
}

static void create_table(void)
{
    expect_status(tell(TABLES "CreateTable", &bta__create_table_request__descriptor,
                       "parent=" LAB ";table_id=t;table.column_families.key=f;"
                       "table.column_families.value="),
                  GW_STATUS_OK);
}

static const struct grpc_call *write_row(const char *form)
{
    return tell(DATA "MutateRow", &bt__mutate_row_request__descriptor, form);
}

/* --- where -------------------------------------------------------------------------------------
 */

/* Is that one of the sockets that the server has open? */
static bool is_of_server(const char *inode)
{
    char path[64], name[64], link[64];
    bool found = false;
    (void)snprintf(name, sizeof name, "socket:[%.*s]", (int)strcspn(inode, " "), inode);
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)server.pid);
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL && !found; entry = readdir(dir)) {
        ssize_t n = readlinkat(dirfd(dir), entry->d_name, link, sizeof link - 1);
        found = n > 0 && (size_t)n == strlen(name) && memcmp(link, name, (size_t)n) == 0;
    }
    (void)closedir(dir);
    return found;
}

/* The nth word of a line of /proc/net/tcp. */
static const char *word(const char *line, int nth)
{
    const char *at = line + strspn(line, " ");
    for (; nth > 0; nth--) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    return at;
}

/* Where the server listens, by what the kernel says: all ports but that of TLS. */
static size_t other_listeners(const char *table)
{
    enum { LOCAL = 1, STATE = 3, INODE = 9 };
    char line[512], tls_port[8];
    size_t count = 0;
    (void)snprintf(tls_port, sizeof tls_port, "%04X ", server.port);
    FILE *f = fopen(table, "re");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f) != NULL) {
        const char *colon = strchr(word(line, LOCAL), ':');
        if (strncmp(word(line, STATE), "0A ", 3) != 0 || colon == NULL)
            continue;
        bool is_tls = strncmp(colon + 1, tls_port, strlen(tls_port)) == 0;
        count += !is_tls && is_of_server(word(line, INODE));
    }
    (void)fclose(f);
    return count;
}

START_TEST(nothing_listens_in_plaintext_unless_asked)
{
    start_visible();
    ck_assert_uint_eq(server.plain_port, 0);
    ck_assert_uint_eq(other_listeners("/proc/net/tcp") + other_listeners("/proc/net/tcp6"), 0);
    server_stop(&server);
    start();
    ck_assert_uint_ne(server.plain_port, 0);
    ck_assert_uint_ge(other_listeners("/proc/net/tcp"), 1);
    ck_assert_uint_eq(other_listeners("/proc/net/tcp6"), 0);
    stop();
}
END_TEST

static const char *const ELSEWHERE[] = {"0.0.0.0:0",
                                        "[::]:0",
                                        "192.0.2.1:0",
                                        "10.0.0.1:8086",
                                        "128.0.0.1:0",
                                        "[2001:db8::1]:0",
                                        "[::ffff:192.0.2.1]:0",
                                        "localhost:0",
                                        "example.org:0",
                                        ":8086",
                                        "8086",
                                        ""};
#define ELSEWHERE_COUNT (int)(sizeof ELSEWHERE / sizeof ELSEWHERE[0])

START_TEST(elsewhere_than_on_this_machine_it_refuses_to_start)
{
    static struct process_result result;
    char program[PROCESS_PATH];
    process_program("bigtentd", program);
    const char *argv[] = {program,       "serve",      "--data",      server.data, "--listen",
                          "127.0.0.1:0", "--emulator", ELSEWHERE[_i], NULL};
    process_run(argv, NULL, 20000 * process_patience(), &result);
    ck_assert_msg(!result.timed_out, "it went on running: %s", result.output);
    ck_assert_msg(result.exit_code > 0 && result.exit_code < 126, "exit code %d: %s",
                  result.exit_code, result.output);
    ck_assert_ptr_nonnull(strstr(result.output, "--emulator"));
    ck_assert_ptr_null(strstr(result.output, "listening"));
}
END_TEST

/* A page in a browser of this machine speaks HTTP/1.1, and is not heard. */
START_TEST(nothing_but_grpc_is_spoken)
{
    static struct raw_tls raw;
    start();
    raw_open_plain(&raw, &server);
    ck_assert(raw_send(&raw, SLICE_LIT("GET /v1/tables HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")));
    (void)raw_read_to_close(&raw, process_await_ms());
    ck_assert_int_eq(base_buf_append_byte(&raw.in, '\0'), ERR_OK);
    ck_assert(raw.closed);
    ck_assert_ptr_null(strstr((const char *)raw.in.ptr, "HTTP/1"));
    raw_close(&raw);
    stop();
}
END_TEST

/* --- projects ----------------------------------------------------------------------------------
 */

/* Whatever method is the first to name it. */
START_TEST(a_project_comes_by_its_first_use)
{
    start();
    if (_i == 0)
        expect_status(tell(DATA "PingAndWarm", &bt__ping_and_warm_request__descriptor, "name=" LAB),
                      GW_STATUS_OK);
    else if (_i == 1)
        expect_status(tell(DATA "ReadRows", &bt__read_rows_request__descriptor, ON_TABLE),
                      GW_STATUS_NOT_FOUND); /* the table is not there */
    create_table();
    expect_status(write_row(ON_TABLE ";row_key=k" PUT), GW_STATUS_OK);
    const struct grpc_call *call =
        tell(INSTANCES "GetInstance", &bta__get_instance_request__descriptor, "name=" LAB);
    expect_status(call, GW_STATUS_OK);
    stop();
}
END_TEST

START_TEST(what_is_written_stays_over_a_restart)
{
    start();
    create_table();
    expect_status(write_row(ON_TABLE ";row_key=k" PUT ";mutations.set_cell.value=kept"),
                  GW_STATUS_OK);
    if (_i == 0) {
        stop();
    } else {
        server_kill(&server);
        grpc_close(&client);
    }
    start();
    const struct grpc_call *call =
        tell(DATA "ReadRows", &bt__read_rows_request__descriptor, ON_TABLE);
    expect_status(call, GW_STATUS_OK);
    Bt__ReadRowsResponse *reply = (Bt__ReadRowsResponse *)(void *)grpc_message_new(
        call, &bt__read_rows_response__descriptor, 0);
    ck_assert_uint_eq(reply->n_chunks, 1);
    ck_assert_uint_eq(reply->chunks[0]->value.len, 4);
    ck_assert_int_eq(memcmp(reply->chunks[0]->value.data, "kept", 4), 0);
    bt__read_rows_response__free_unpacked(reply, NULL);
    stop();
}
END_TEST

START_TEST(it_is_as_strict_as_the_other_port)
{
    static char form[16 * KIB];
    start();
    create_table();
    expect_status(write_row(ON_TABLE ";row_key=k;mutations.set_cell.family_name=nobody"),
                  GW_STATUS_NOT_FOUND);
    expect_status(write_row(ON_TABLE ";row_key=" PUT), GW_STATUS_INVALID_ARGUMENT);
    int n = snprintf(form, sizeof form, ON_TABLE PUT ";row_key=");
    memset(form + n, 'k', LIM_ROW_KEY + 1);
    expect_status(write_row(form), GW_STATUS_INVALID_ARGUMENT);
    form[n + LIM_ROW_KEY] = '\0';
    expect_status(write_row(form), GW_STATUS_OK);
    expect_status(tell(DATA "ReadRows", &bt__read_rows_request__descriptor,
                       ON_TABLE ";filter.value_regex_filter=("),
                  GW_STATUS_INVALID_ARGUMENT);
    stop();
}
END_TEST

/* --- what the emulator takes --------------------------------------------------------------------
 */

/* docs/bigtable-compatibility.md, What differs from the official emulator: that takes all of
 * these. */
static const struct {
    const char *path;
    const ProtobufCMessageDescriptor *type;
    const char *form;
    enum gw_status_code status;
    const char *words;
} REFUSED[] = {
    {TABLES "ListTables", &bta__list_tables_request__descriptor, "parent=anything",
     GW_STATUS_INVALID_ARGUMENT, "projects/PROJECT/instances/INSTANCE"},
    {DATA "PingAndWarm", &bt__ping_and_warm_request__descriptor,
     "name=", GW_STATUS_INVALID_ARGUMENT, "projects/PROJECT/instances/INSTANCE"},
    {TABLES "CreateTable", &bta__create_table_request__descriptor,
     "parent=" LAB ";table_id=a table;table=", GW_STATUS_INVALID_ARGUMENT, "table ID may hold"},
    {TABLES "CreateTable", &bta__create_table_request__descriptor,
     "parent=" LAB ";table_id=u;table.column_families.key=a:b;table.column_families.value=",
     GW_STATUS_INVALID_ARGUMENT, "family name may hold"},
    {TABLES "CreateTable", &bta__create_table_request__descriptor,
     "parent=" LAB ";table_id=u;table.granularity=2", GW_STATUS_UNIMPLEMENTED, "MICROS"},
    {TABLES "CreateTable", &bta__create_table_request__descriptor,
     "parent=" LAB ";table_id=u;table.automated_backup_policy=", GW_STATUS_UNIMPLEMENTED,
     "automated_backup_policy"},
    {TABLES "UpdateTable", &bta__update_table_request__descriptor,
     "table.name=" LAB "/tables/t;update_mask.paths=automated_backup_policy",
     GW_STATUS_UNIMPLEMENTED, "automated_backup_policy"},
    {TABLES "ModifyColumnFamilies", &bta__modify_column_families_request__descriptor,
     "name=" LAB "/tables/t;modifications.id=f;modifications.update.gc_rule.max_age.nanos=1000",
     GW_STATUS_INVALID_ARGUMENT, "one millisecond"},
    {TABLES "DropRowRange", &bta__drop_row_range_request__descriptor,
     "name=" LAB "/tables/t;row_key_prefix=", GW_STATUS_INVALID_ARGUMENT, "prefix"},
};
#define REFUSED_COUNT (sizeof REFUSED / sizeof REFUSED[0])

START_TEST(what_the_emulator_takes_and_this_does_not_is_refused_by_name)
{
    start();
    create_table();
    for (size_t i = 0; i < REFUSED_COUNT; i++)
        expect_refusal(tell(REFUSED[i].path, REFUSED[i].type, REFUSED[i].form), REFUSED[i].status,
                       REFUSED[i].words);
    stop();
}
END_TEST

Suite *suite_grpc_emulator(void);
Suite *suite_grpc_emulator(void)
{
    Suite *s = suite_create("grpc_emulator");
    TCase *tc = tcase_create("emulator");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, nothing_listens_in_plaintext_unless_asked);
    tcase_add_loop_test(tc, elsewhere_than_on_this_machine_it_refuses_to_start, 0, ELSEWHERE_COUNT);
    tcase_add_test(tc, nothing_but_grpc_is_spoken);
    tcase_add_loop_test(tc, a_project_comes_by_its_first_use, 0, 3);
    tcase_add_loop_test(tc, what_is_written_stays_over_a_restart, 0, 2);
    tcase_add_test(tc, it_is_as_strict_as_the_other_port);
    tcase_add_test(tc, what_the_emulator_takes_and_this_does_not_is_refused_by_name);
    suite_add_tcase(s, tc);
    return s;
}

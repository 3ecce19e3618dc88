/*
 * tests/grpc/test_methods.c - what is not here says why, and what clients ask before they begin.
 */
#include <check.h>
#include <google/bigtable/v2/bigtable.pb-c.h>
#include <google/protobuf/empty.pb-c.h>
#include <stdio.h>
#include <string.h>

#include "gateway/grpc/method.h"
#include "gateway/grpc/status.h"
#include "tests/support/grpc_client.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define BIGTABLE "/google.bigtable.v2.Bigtable/"

static struct world w;
static struct grpc_client client;
static char instance[WORLD_ID + 64];

static void set_up(void)
{
    world_init(&w, HTTP_2);
    grpc_open(&client, world_server(), w.key, 0);
    (void)snprintf(instance, sizeof instance, "projects/%s/instances/main", w.tenant);
}

static void tear_down(void)
{
    grpc_close(&client);
    world_fini(&w);
}

static const struct grpc_call *ask_nothing(const char *path)
{
    static const Google__Protobuf__Empty nothing = GOOGLE__PROTOBUF__EMPTY__INIT;
    if (client.count == GRPC_CALLS)
        grpc_forget(&client);
    return grpc_ask(&client, path, &nothing.base);
}

/* --- what is not here --------------------------------------------------------------------------
 */

/* The same words as in docs/bigtable-compatibility.md. */
START_TEST(methods_that_are_not_here_say_why)
{
    size_t count = 0;
    for (size_t i = 0; i < gw_method_count; i++) {
        const struct gw_method *m = &gw_methods[i];
        char path[256];
        if (m->request != NULL)
            continue;
        (void)snprintf(path, sizeof path, "/%s/%s", m->service, m->name);
        const struct grpc_call *call = ask_nothing(path);
        ck_assert_int_eq(call->status, m->refusal == ERR_OK ? GW_STATUS_UNIMPLEMENTED
                                                            : GW_STATUS_PERMISSION_DENIED);
        ck_assert_str_eq(call->message, m->doc);
        ck_assert_uint_ge(strlen(m->doc), 20); /* a reason, not a word */
        count++;
    }
    ck_assert_uint_ge(count, 40);
}
END_TEST

static const char *const SQL_AND_SESSIONS[][2] = {{"PrepareQuery", "ReadRows"},
                                                  {"ExecuteQuery", "ReadRows"},
                                                  {"OpenTable", "plain RPCs"},
                                                  {"OpenAuthorizedView", "plain RPCs"},
                                                  {"OpenMaterializedView", "plain RPCs"}};

START_TEST(queries_and_sessions_are_sent_elsewhere)
{
    char path[128];
    (void)snprintf(path, sizeof path, BIGTABLE "%s", SQL_AND_SESSIONS[_i][0]);
    const struct grpc_call *call = ask_nothing(path);
    ck_assert_int_eq(call->status, GW_STATUS_UNIMPLEMENTED);
    ck_assert_ptr_nonnull(strstr(call->message, SQL_AND_SESSIONS[_i][1]));
}
END_TEST

START_TEST(names_that_nobody_knows_are_unimplemented)
{
    static const char *const paths[] = {BIGTABLE "ReadRow", BIGTABLE "ReadRowsX",
                                        BIGTABLE,           "/google.bigtable.v3.Bigtable/ReadRows",
                                        "/ReadRows",        "/"};
    const struct grpc_call *call = ask_nothing(paths[_i]);
    ck_assert_msg(call->status == GW_STATUS_UNIMPLEMENTED, "%d %s", call->status, call->message);
}
END_TEST

/* --- before clients begin ----------------------------------------------------------------------
 */

/* Or else new clients speak sessions, or come again and again to ask. */
START_TEST(clients_are_told_of_no_sessions_and_not_to_ask_again)
{
    Bt__GetClientConfigurationRequest ask = BT__GET_CLIENT_CONFIGURATION_REQUEST__INIT;
    ask.instance_name = instance;
    const struct grpc_call *call = grpc_ask(&client, BIGTABLE "GetClientConfiguration", &ask.base);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    Bt__ClientConfiguration *told = (Bt__ClientConfiguration *)(void *)grpc_message_new(
        call, &bt__client_configuration__descriptor, 0);
    ck_assert_ptr_nonnull(told->session_configuration);
    ck_assert(told->session_configuration->session_load <= 0);
    ck_assert_int_eq(told->polling_case, BT__CLIENT_CONFIGURATION__POLLING_STOP_POLLING);
    ck_assert(told->stop_polling);
    bt__client_configuration__free_unpacked(told, NULL);
}
END_TEST

START_TEST(channels_are_warmed_for_those_who_may)
{
    Bt__PingAndWarmRequest ping = BT__PING_AND_WARM_REQUEST__INIT;
    ping.name = instance;
    ck_assert_int_eq(grpc_ask(&client, BIGTABLE "PingAndWarm", &ping.base)->status, GW_STATUS_OK);
    char other[] = "projects/nobody-here/instances/main";
    ping.name = other;
    ck_assert_int_eq(grpc_ask(&client, BIGTABLE "PingAndWarm", &ping.base)->status,
                     GW_STATUS_PERMISSION_DENIED);
    (void)snprintf(instance, sizeof instance, "projects/%s/instances/other", w.tenant);
    ping.name = instance;
    ck_assert_int_eq(grpc_ask(&client, BIGTABLE "PingAndWarm", &ping.base)->status,
                     GW_STATUS_NOT_FOUND);
}
END_TEST

Suite *suite_grpc_methods(void);
Suite *suite_grpc_methods(void)
{
    Suite *s = suite_create("grpc_methods");
    TCase *tc = tcase_create("methods");
    world_begin(tc);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    suite_add_tcase(s, tc);
    tcase_add_test(tc, methods_that_are_not_here_say_why);
    tcase_add_loop_test(tc, queries_and_sessions_are_sent_elsewhere, 0, 5);
    tcase_add_loop_test(tc, names_that_nobody_knows_are_unimplemented, 0, 6);
    tcase_add_test(tc, clients_are_told_of_no_sessions_and_not_to_ask_again);
    tcase_add_test(tc, channels_are_warmed_for_those_who_may);
    world_end(tc);
    return s;
}

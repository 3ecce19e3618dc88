/*
 * tests/grpc/emulator.h - a server with an emulator's listener, and calls built from lines of text.
 *
 * Does:     start, stop and restart the server; call methods in plaintext; compare statuses.
 * Owns:     the server and a client, between start and stop; messages' memory until tear_down.
 * May use:  base/, tests/isolation/message.h, tests/support/, libcheck.
 * Knows no: the tests.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Limits:   16 MiB of requests per test.
 * Promises: 1. A restarted server has the same data directory.
 */
#ifndef TESTS_GRPC_EMULATOR_H
#define TESTS_GRPC_EMULATOR_H

#include <check.h>
#include <google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h>
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <google/bigtable/v2/bigtable.pb-c.h>
#include <google/longrunning/operations.pb-c.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gateway/grpc/status.h"
#include "tests/isolation/message.h"
#include "tests/support/grpc_client.h"
#include "tests/support/http.h"

#define UNUSED_FN __attribute__((unused))
#define DATA      "/google.bigtable.v2.Bigtable/"
#define TABLES    "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define INSTANCES "/google.bigtable.admin.v2.BigtableInstanceAdmin/"

static struct server server;
static struct grpc_client client;
static struct arena arena;

UNUSED_FN static void set_up(void)
{
    server_create(&server);
    base_arena_init(&arena, 16 * MIB);
}

UNUSED_FN static void tear_down(void)
{
    base_arena_fini(&arena);
    server_remove(&server);
}

UNUSED_FN static void start(void)
{
    server.options[0] = "--emulator";
    server.options[1] = "127.0.0.1:0";
    server.options[2] = "--allow-core-dumps"; /* else only root sees its descriptors */
    server_start(&server, NULL);
    grpc_open_plain(&client, &server);
}

UNUSED_FN static void stop(void)
{
    grpc_close(&client);
    server_stop(&server);
}

UNUSED_FN static const struct grpc_call *
tell(const char *path, const ProtobufCMessageDescriptor *type, const char *form)
{
    if (client.count == GRPC_CALLS)
        grpc_forget(&client);
    return grpc_ask(&client, path, message_make(type, form, &arena));
}

/* Calls a method in the same way, with formatted text. */
UNUSED_FN __attribute__((format(printf, 3, 4))) static const struct grpc_call *
ask(const char *path, const ProtobufCMessageDescriptor *type, const char *form, ...)
{
    static char text[8 * KIB];
    va_list words;
    va_start(words, form);
    int len = vsnprintf(text, sizeof text, form, words);
    va_end(words);
    ck_assert_int_lt(len, (int)sizeof text);
    return tell(path, type, text);
}

UNUSED_FN static void expect_status(const struct grpc_call *call, enum gw_status_code status)
{
    ck_assert_msg(call->status == (int)status, "status %d: %s", call->status, call->message);
}

/* Expects a refusal with these words. */
UNUSED_FN static void expect_refusal(const struct grpc_call *call, enum gw_status_code status,
                                     const char *words)
{
    expect_status(call, status);
    ck_assert_msg(strstr(call->message, words) != NULL, "%s: not \"%s\"", call->message, words);
}

/* Returns the only answer of a call that succeeded; free it with
 * protobuf_c_message_free_unpacked. */
UNUSED_FN static void *answer_new(const struct grpc_call *call,
                                  const ProtobufCMessageDescriptor *type)
{
    expect_status(call, GW_STATUS_OK);
    return grpc_message_new(call, type, 0);
}

UNUSED_FN static void answer_free(void *message)
{
    protobuf_c_message_free_unpacked(message, NULL);
}

#endif

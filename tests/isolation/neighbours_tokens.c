/*
 * tests/isolation/neighbours_tokens.c - views, and every token that a tenant can be given.
 */
#include <check.h>
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <google/bigtable/v2/bigtable.pb-c.h>
#include <google/longrunning/operations.pb-c.h>
#include <stdio.h>
#include <string.h>

#include "gateway/grpc/status.h"
#include "tests/isolation/message.h"
#include "tests/isolation/neighbours_make.h"

#include "base/banned.h"

#define DATA   "/google.bigtable.v2.Bigtable/"
#define TABLES "/google.bigtable.admin.v2.BigtableTableAdmin/"

struct question {
    struct grpc_client *client;
    const char *path;
    const ProtobufCMessage *message;
    const struct grpc_call *call;
};

/* Asks again while the server is overloaded by other tests, which is not the subject here. */
static bool is_answered(void *arg)
{
    struct question *q = arg;
    if (q->call != NULL)
        grpc_forget(q->client);
    q->call = grpc_ask(q->client, q->path, q->message);
    return q->call->status != GW_STATUS_UNAVAILABLE;
}

const struct grpc_call *neighbours_ask(struct grpc_client *c, const struct names *names,
                                       const char *path, const ProtobufCMessageDescriptor *type,
                                       const char *form)
{
    struct arena arena;
    struct buf text;
    base_arena_init(&arena, MIB);
    base_buf_init(&text, 64 * KIB);
    names_expand(form, names, &text);
    ck_assert_int_eq(base_buf_append_byte(&text, '\0'), ERR_OK);
    struct question q = {
        .client = c, .path = path, .message = message_make(type, (const char *)text.ptr, &arena)};
    process_await(is_answered, &q, path);
    ck_assert_msg(q.call->status == GW_STATUS_OK, "%s: %s", path, q.call->message);
    base_buf_fini(&text);
    base_arena_fini(&arena);
    return q.call;
}

#define INSTANCE "projects/{tenant}/instances/main"
#define TABLE    INSTANCE "/tables/{table}"

static void put_views(struct grpc_client *c, const struct names *names)
{
    static const char *const forms[] = {
        "parent=" TABLE ";authorized_view_id={view};authorized_view.subset_view.row_prefixes=row",
        "parent=" TABLE ";authorized_view_id={view}-2;authorized_view.subset_view.row_prefixes=z"};
    for (size_t i = 0; i < 2; i++)
        (void)neighbours_ask(c, names, TABLES "CreateAuthorizedView",
                             &bta__create_authorized_view_request__descriptor, forms[i]);
}

#define TAKE_TOKEN(call, name, type, member)                                                       \
    do {                                                                                           \
        type *reply_ = (type *)(void *)grpc_message_new(call, name, 0);                            \
        ck_assert_str_ne(reply_->member, "");                                                      \
        name_set(names, into, reply_->member);                                                     \
        protobuf_c_message_free_unpacked(&reply_->base, NULL);                                     \
    } while (0)

static void take_lists(struct grpc_client *c, struct names *names)
{
    enum name into = NAME_CONSISTENCY;
    const struct grpc_call *call =
        neighbours_ask(c, names, TABLES "GenerateConsistencyToken",
                       &bta__generate_consistency_token_request__descriptor, "name=" TABLE);
    TAKE_TOKEN(call, &bta__generate_consistency_token_response__descriptor,
               Bta__GenerateConsistencyTokenResponse, consistency_token);
    into = NAME_LIST_PAGE;
    call = neighbours_ask(c, names, TABLES "ListTables", &bta__list_tables_request__descriptor,
                          "parent=" INSTANCE ";page_size=1");
    TAKE_TOKEN(call, &bta__list_tables_response__descriptor, Bta__ListTablesResponse,
               next_page_token);
    into = NAME_VIEW_PAGE;
    call = neighbours_ask(c, names, TABLES "ListAuthorizedViews",
                          &bta__list_authorized_views_request__descriptor,
                          "parent=" TABLE ";page_size=1");
    TAKE_TOKEN(call, &bta__list_authorized_views_response__descriptor,
               Bta__ListAuthorizedViewsResponse, next_page_token);
    into = NAME_SAVED_PAGE;
    call = neighbours_ask(c, names, TABLES "ListBackups", &bta__list_backups_request__descriptor,
                          "parent=" INSTANCE "/clusters/main;page_size=1");
    TAKE_TOKEN(call, &bta__list_backups_response__descriptor, Bta__ListBackupsResponse,
               next_page_token);
    into = NAME_WORK_PAGE;
    call =
        neighbours_ask(c, names, "/google.longrunning.Operations/ListOperations",
                       &lro__list_operations_request__descriptor, "name=" INSTANCE ";page_size=1");
    TAKE_TOKEN(call, &lro__list_operations_response__descriptor, Lro__ListOperationsResponse,
               next_page_token);
}

/* One that is bound to the moment would be over at once: the first heartbeat has it. */
static void take_change_token(struct grpc_client *c, struct names *names)
{
    struct arena arena;
    char text[NAME_BYTES * 3];
    base_arena_init(&arena, MIB);
    (void)snprintf(text, sizeof text,
                   "table_name=projects/%s/instances/main/tables/%s;"
                   "partition.row_range.start_key_closed=;partition.row_range.end_key_open=;"
                   "heartbeat_duration.nanos=100000000",
                   names->text[NAME_TENANT], names->text[NAME_TABLE]);
    struct grpc_call *call =
        grpc_start(c, DATA "ReadChangeStream",
                   message_make(&bt__read_change_stream_request__descriptor, text, &arena), NULL);
    grpc_await_bytes(c, call, 6);
    while (grpc_message_count(call) == 0)
        grpc_await_bytes(c, call, call->body.len + 1);
    Bt__ReadChangeStreamResponse *reply = (Bt__ReadChangeStreamResponse *)(void *)grpc_message_new(
        call, &bt__read_change_stream_response__descriptor, 0);
    ck_assert_ptr_nonnull(reply->heartbeat);
    name_set(names, NAME_CHANGE, reply->heartbeat->continuation_token->token);
    bt__read_change_stream_response__free_unpacked(reply, NULL);
    grpc_cancel(c, call);
    base_arena_fini(&arena);
}

void neighbours_take_tokens(struct neighbours *n, struct http *h, const char *key,
                            struct names *names)
{
    static struct grpc_client c;
    grpc_open(&c, &n->server, key, 0);
    grpc_hurry(&c);
    put_views(&c, names);
    neighbours_put_backups(&c, names);
    take_lists(&c, names);
    take_change_token(&c, names);
    grpc_close(&c);
    http_get(h, "/v1/tables/%s/rows?limit=1", names->text[NAME_TABLE]);
    EXPECT_STATUS(h, 200);
    name_set(names, NAME_PAGE, http_string(h, "/next_page_token"));
}

void neighbours_make_views(struct neighbours *n, const char *key, const struct names *names)
{
    static struct grpc_client c;
    grpc_open(&c, &n->server, key, 0);
    grpc_hurry(&c);
    put_views(&c, names);
    grpc_close(&c);
}

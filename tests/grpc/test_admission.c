/*
 * tests/grpc/test_admission.c - a call that may not be made is refused by its head: its message is
 * neither waited for nor kept.
 */
#include "calls.h"

#include "base/banned.h"

#define MUTATE_ROW "/google.bigtable.v2.Bigtable/MutateRow"
#define ANNOUNCED  (100 * MIB)
#define PART       (64 * KIB)

static const char *const METHODS[] = {MUTATE_ROW, READ_ROWS};

/* The head of a call, the head of a message of 100 MiB, and a part of it. */
static struct grpc_call *begin_large(const char *method)
{
    static uint8_t bytes[5 + PART];
    for (size_t i = 0; i < 4; i++)
        bytes[1 + i] = (uint8_t)(ANNOUNCED >> (8 * (3 - i)));
    struct grpc_call *call = grpc_begin(&client, method, NULL);
    grpc_put_bytes(&client, call, base_slice(bytes, sizeof bytes));
    return call;
}

static void state_set(const char *verb)
{
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s:%s", w.tenant, verb);
    EXPECT_STATUS(w.op, 200);
}

START_TEST(a_suspended_tenant_is_refused_by_the_head)
{
    state_set("suspend");
    struct grpc_call *call = begin_large(METHODS[_i]);
    grpc_await(&client);
    expect_status(call, GW_STATUS_PERMISSION_DENIED, "suspended");
    state_set("resume");
}
END_TEST

START_TEST(a_call_over_the_cap_is_refused_by_the_head)
{
    admin_set_quota(w.op, w.tenant, "{'concurrent_requests':1}");
    struct grpc_call *first = begin_large(METHODS[_i]);
    grpc_listen(&client, 100);
    ck_assert(!first->is_closed);
    struct grpc_call *second = begin_large(METHODS[_i]);
    grpc_await_end(&client, second);
    expect_status(second, GW_STATUS_RESOURCE_EXHAUSTED, "");
    ck_assert(!first->is_closed);
    grpc_cancel(&client, first);
    grpc_await(&client);
    admin_set_quota(w.op, w.tenant, "{}");
}
END_TEST

START_TEST(a_rate_is_held_against_the_head)
{
    admin_set_quota(w.op, w.tenant, "{'read_ops_per_s':1,'write_ops_per_s':1}");
    struct grpc_call *last = NULL;
    for (int i = 0; i < 8 && (last == NULL || !last->is_closed); i++) {
        last = begin_large(METHODS[_i]);
        grpc_listen(&client, 50);
    }
    expect_status(last, GW_STATUS_RESOURCE_EXHAUSTED, "");
    admin_set_quota(w.op, w.tenant, "{}");
}
END_TEST

/* Its operation is charged once, whenever the message comes. */
START_TEST(a_message_that_comes_later_is_looked_at_again)
{
    make_mutate(10);
    struct grpc_call *call = grpc_begin(&client, MUTATE_ROW, NULL);
    grpc_listen(&client, 100);
    grpc_put(&client, call, &mutate.base);
    grpc_finish(&client, call);
    grpc_await(&client);
    expect_status(call, GW_STATUS_OK, "");
    ck_assert_str_eq(call->cost, "2");
    call = grpc_begin(&client, MUTATE_ROW, NULL);
    grpc_listen(&client, 100);
    state_set("suspend");
    grpc_put(&client, call, &mutate.base);
    grpc_finish(&client, call);
    grpc_await(&client);
    expect_status(call, GW_STATUS_PERMISSION_DENIED, "suspended");
    state_set("resume");
}
END_TEST

/* The head was admitted for the key's tenant, which is not the one that the message names. */
START_TEST(a_message_for_another_tenant_is_refused)
{
    make_mutate(10);
    static char other[] = "projects/someone-else/instances/main/tables/devices";
    mutate.table_name = other;
    struct grpc_call *call = grpc_ask(&client, MUTATE_ROW, &mutate.base);
    ck_assert_int_eq(call->status, GW_STATUS_PERMISSION_DENIED);
    call = grpc_begin(&client, MUTATE_ROW, NULL);
    grpc_listen(&client, 100);
    grpc_put(&client, call, &mutate.base);
    grpc_finish(&client, call);
    grpc_await(&client);
    ck_assert_int_eq(call->status, GW_STATUS_PERMISSION_DENIED);
}
END_TEST

/* --- heads whose message does not come, of a key whose tenants only a message names ----------- */

enum { CONNECTIONS = 34, HEADS = 124 /* all together more than a key may have */ };

static struct server own;
static struct world victim;

static nghttp2_nv field(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .namelen = strlen(name),
                        .value = (uint8_t *)(uintptr_t)value,
                        .valuelen = strlen(value)};
}

static bool has_pong(void *arg)
{
    struct grpc_client *c = arg;
    grpc_listen(c, 1);
    return c->pongs > 0;
}

/* The server has looked at all that was sent, and what it answered has come: the second ping is
 * behind it. */
static void await_look(struct grpc_client *c)
{
    for (int i = 0; i < 2; i++) {
        c->pongs = 0;
        grpc_ping(c, 1);
        process_await(has_pong, c, "the answer to a ping");
    }
}

static void put_heads(struct grpc_client *c)
{
    const nghttp2_nv head[] = {field(":method", "POST"),
                               field(":scheme", "https"),
                               field(":path", MUTATE_ROW),
                               field(":authority", "x"),
                               field("content-type", "application/grpc"),
                               field("te", "trailers"),
                               field("authorization", c->authorization)};
    await_look(c); /* how many calls a connection may have is known from now on */
    for (int i = 0; i < HEADS; i++)
        ck_assert_int_gt(nghttp2_submit_headers(c->session, NGHTTP2_FLAG_NONE, -1, NULL, head,
                                                sizeof head / sizeof head[0], NULL),
                         0);
    (void)grpc_run(c, 0); /* sends them */
    await_look(c);
}

static void expect_refused_head(const char *key)
{
    static struct grpc_client c;
    grpc_open(&c, &own, key, 0);
    struct grpc_call *call = grpc_begin(&c, MUTATE_ROW, NULL);
    grpc_put_bytes(&c, call, SLICE_EMPTY); /* sends the head */
    await_look(&c);
    expect_status(call, GW_STATUS_UNAVAILABLE, "have sent no message");
    grpc_cancel(&c, call);
    grpc_await(&c);
    grpc_close(&c);
}

static bool write_passes(void *arg)
{
    struct grpc_client *c = arg;
    int status = grpc_ask(c, MUTATE_ROW, &mutate.base)->status;
    ck_assert(status == GW_STATUS_OK || status == GW_STATUS_UNAVAILABLE);
    grpc_forget(c);
    return status == GW_STATUS_OK;
}

static void expect_write(const char *key)
{
    static struct grpc_client c;
    grpc_open(&c, &own, key, 0);
    ck_assert(write_passes(&c));
    grpc_close(&c);
}

START_TEST(heads_of_a_service_key_leave_room_for_others)
{
    static struct grpc_client clients[CONNECTIONS], later;
    static char victims_table[128];
    char key[WORLD_KEY], other[WORLD_KEY], id[WORLD_ID];
    server_create(&own);
    own.options[0] = "--loops";
    own.options[1] = "1";
    server_start(&own, NULL);
    world_init_on(&victim, &own, HTTP_2, "victim");
    admin_create_global_key(victim.op, "service", key, id);
    admin_create_global_key(victim.op, "service", other, id);
    make_mutate(10);
    (void)snprintf(victims_table, sizeof victims_table,
                   "projects/victim/instances/main/tables/devices");
    mutate.table_name = victims_table;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        grpc_open(&clients[i], &own, key, 0);
        put_heads(&clients[i]);
    }
    expect_refused_head(key);
    expect_write(victim.key);
    expect_write(other);
    for (size_t i = 0; i < CONNECTIONS; i++)
        grpc_close(&clients[i]);
    grpc_open(&later, &own, key, 0);
    process_await(write_passes, &later, "room for the key after its connections have ended");
    grpc_close(&later);
    world_fini(&victim);
    server_remove(&own);
}
END_TEST

/* A service key that may act for the tenant alone, and what the head says of the message. */
static struct grpc_call *begin_for(struct grpc_client *c, const char *key, const char *params)
{
    grpc_open(c, world_server(), key, 0);
    grpc_add_header(c, "x-goog-request-params", params);
    return grpc_begin(c, MUTATE_ROW, NULL);
}

static void service_key_of(const char *tenant, char out[WORLD_KEY])
{
    http_value_take(w.op, "POST",
                    json_pack("{s:s,s:s,s:[s],s:[s,s]}", "kind", "service", "label", "s", "tenants",
                              tenant, "scopes", "data.read", "data.write"),
                    "/v1/admin/keys");
    EXPECT_STATUS(w.op, 201);
    (void)snprintf(out, WORLD_KEY, "%s", http_string(w.op, "/key"));
}

/* No message is sent: it is the head that is refused. */
static void expect_head_refused(const char *key, const char *params, const char *word)
{
    static struct grpc_client c;
    struct grpc_call *call = begin_for(&c, key, params);
    grpc_await(&c);
    expect_status(call, GW_STATUS_PERMISSION_DENIED, word);
    grpc_close(&c);
}

/* Whatever the head says that is not understood, the message decides. */
static void expect_head_passes(const char *key, const char *params)
{
    static struct grpc_client c;
    struct grpc_call *call = begin_for(&c, key, params);
    grpc_put(&c, call, &mutate.base);
    grpc_finish(&c, call);
    grpc_await(&c);
    expect_status(call, GW_STATUS_OK, "");
    grpc_close(&c);
}

START_TEST(a_service_key_is_refused_by_what_its_head_names)
{
    char key[WORLD_KEY], params[256];
    make_mutate(10);
    service_key_of(w.tenant, key);
    expect_head_refused(key, "table_name=projects%2Fnobody%2Finstances%2Fmain%2Ftables%2Ft", "act");
    expect_head_refused(key, "name=projects/nobody/instances/main", "act");
    expect_head_refused(key, "app_profile_id=p&parent=projects%2fnobody", "act");
    (void)snprintf(params, sizeof params, "table_name=projects%%2F%s%%2Finstances%%2Fmain&a=b",
                   w.tenant);
    expect_head_passes(key, params);
    expect_head_passes(key, "table_name=projects%2Fno%62ody%2Finstances%2Fmain");
    expect_head_passes(key, "app_profile_id=p");
    expect_head_passes(key, "nobody");
    state_set("suspend");
    expect_head_refused(key, params, "suspended");
    state_set("resume");
    expect_head_passes(key, params);
}
END_TEST

Suite *suite_grpc_admission(void);
Suite *suite_grpc_admission(void)
{
    Suite *s = suite_create("grpc_admission");
    TCase *tc = add_case(s, "admission");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, a_suspended_tenant_is_refused_by_the_head, 0, 2);
    tcase_add_loop_test(tc, a_call_over_the_cap_is_refused_by_the_head, 0, 2);
    tcase_add_loop_test(tc, a_rate_is_held_against_the_head, 0, 2);
    tcase_add_test(tc, a_message_that_comes_later_is_looked_at_again);
    tcase_add_test(tc, a_message_for_another_tenant_is_refused);
    tcase_add_test(tc, heads_of_a_service_key_leave_room_for_others);
    tcase_add_test(tc, a_service_key_is_refused_by_what_its_head_names);
    world_end(tc);
    return s;
}

/*
 * tests/hostile/attack.c - what every attack needs: a tenant, keys, large rows, counted answers.
 */
#include "tests/hostile/hostile.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/hostile/peer.h"
#include "tests/hostile/wire.h"

#include "base/banned.h"

#define WAIT_S              10L
#define MUTATIONS_A_REQUEST 1000 /* more would rest beside the victim */
#define SETUP_OPS_PER_S     1000 /* changes of tables */

static void create_key(struct attack *a, const char *scopes, const char *row_prefix, char out[128],
                       char out_id[48])
{
    json_error_t error;
    json_t *body = json_pack("{s:s}", "label", "hostile");
    if (scopes != NULL) {
        struct slice text = quoted(scopes);
        json_object_set_new(body, "scopes",
                            json_loadb((const char *)text.ptr, text.len, 0, &error));
    }
    if (row_prefix != NULL)
        json_object_set_new(body, "row_prefix", json_string(row_prefix));
    http_value_take(a->op, "POST", body, "/v1/admin/tenants/%s/keys", a->tenant);
    EXPECT_STATUS(a->op, 201);
    (void)snprintf(out, 128, "%s", http_string(a->op, "/key"));
    (void)snprintf(out_id, 48, "%s", http_string(a->op, "/id"));
}

static json_t *quota_new(const char *quota)
{
    json_error_t error;
    struct slice text = quoted(quota != NULL ? quota : "{}");
    json_t *value = json_loadb((const char *)text.ptr, text.len, 0, &error);
    ck_assert_msg(value != NULL, "%s", error.text);
    return value;
}

static void put_quota_take(struct attack *a, json_t *quota)
{
    http_value_take(a->op, "PUT", quota, "/v1/admin/tenants/%s/quota", a->tenant);
    EXPECT_STATUS(a->op, 200);
}

/* Without rates, so that a setup is done soon and whole. */
static void create_tenant(struct attack *a, const char *quota)
{
    static unsigned count;
    char id[48];
    (void)snprintf(a->tenant, sizeof a->tenant, "m%u-%.32s", ++count, a->kind->name);
    http_value_take(a->op, "POST", json_pack("{s:s,s:n}", "id", a->tenant, "plan"),
                    "/v1/admin/tenants");
    EXPECT_STATUS(a->op, 201);
    json_t *setup = quota_new(quota);
    json_object_set_new(setup, "control_ops_per_s", json_integer(SETUP_OPS_PER_S));
    put_quota_take(a, setup);
    a->quota = quota;
    create_key(a, NULL, NULL, a->owner_key, id);
}

void attack_limit(struct attack *a)
{
    if (a->tenant[0] == '\0')
        return;
    put_quota_take(a, quota_new(a->quota));
    http_json(a->op, "PATCH", "{'plan':'standard'}", "/v1/admin/tenants/%s", a->tenant);
    EXPECT_STATUS(a->op, 200);
}

void attack_prepare(struct attack *a, const struct attack_needs *needs)
{
    if (a->tenant[0] == '\0')
        create_tenant(a, needs->quota);
    a->owner = http_open(a->server, HTTP_2, a->owner_key);
    create_key(a, needs->scopes, needs->row_prefix, a->key, a->key_id);
    (void)snprintf(a->table, sizeof a->table, "%s", a->kind->name);
    (void)snprintf(a->table_name, sizeof a->table_name, "projects/%s/instances/main/tables/%s",
                   a->tenant, a->table);
    http_json(a->owner, "PUT", needs->table != NULL ? needs->table : "{'families':{'f':{}}}",
              "/v1/tables/%s", a->table);
    ck_assert_msg(a->owner->status == 200 || a->owner->status == 201, "%s", http_text(a->owner));
}

void attack_fini(struct attack *a)
{
    http_close(a->owner);
    a->owner = NULL;
}

void attack_suspend(struct attack *a)
{
    http_json(a->op, "POST", "{'reason':'unpaid','access':'all'}", "/v1/admin/tenants/%s:suspend",
              a->tenant);
    EXPECT_STATUS(a->op, 200);
}

void attack_put_cell(struct attack *a, const char *row, struct slice value)
{
    http_bytes(a->owner, "PUT", value, "/v1/tables/%s/cells/%s/f/q", a->table, row);
    ck_assert_msg(a->owner->status == 204, "PUT of a cell: %d %s", a->owner->status,
                  http_text(a->owner));
}

void attack_put_cells(struct attack *a, const char *row, size_t count)
{
    struct peer p;
    struct buf message;
    size_t done = 0;
    peer_open(&p, a->server, a->owner_key, PEER_WINDOW);
    wire_init(&message);
    while (done < count) {
        base_buf_truncate(&message, 0);
        wire_text(&message, 1, a->table_name);
        wire_text(&message, 2, row);
        for (size_t i = 0; i < MUTATIONS_A_REQUEST && done < count; i++, done++) {
            char qualifier[24];
            (void)snprintf(qualifier, sizeof qualifier, "q%zu", done);
            wire_set_cell(&message, 3, base_slice_text(qualifier), base_slice("v", 1));
        }
        struct peer_call *call = peer_grpc(&p, PEER_DATA "MutateRow", &message, NULL);
        ck_assert_msg(peer_run(&p, 120000), "writing the cells of a row takes over 120 s");
        ck_assert_msg(call->grpc_status == 0, "writing the cells of a row: status %d",
                      call->grpc_status);
        peer_forget(&p);
    }
    base_buf_fini(&message);
    peer_close(&p);
}

uint8_t *attack_noise(size_t len)
{
    struct random r = {len};
    uint8_t *bytes = base_new(len);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)('a' + random_below(&r, 2));
    return bytes;
}

struct http *attack_http(struct attack *a, enum http_version version)
{
    struct http *h = http_open(a->server, version, a->key[0] != '\0' ? a->key : NULL);
    curl_easy_setopt(h->curl, CURLOPT_TIMEOUT, WAIT_S);
    return h;
}

int attack_send(struct attack *a, struct http *h, const char *method, const char *target,
                struct slice body)
{
    int status = http_try(h, method, target, body) ? h->status : 0;
    (void)atomic_fetch_add(&a->codes[status < HOSTILE_CODES ? status : 0], 1);
    return status;
}

bool attack_is_over(const struct attack *a)
{
    return base_monotonic_ns() >= atomic_load(&a->until_ns);
}

void attack_sleep_ms(const struct attack *a, int ms)
{
    for (; ms > 0 && !attack_is_over(a); ms -= 10)
        process_sleep_ms(10);
}

uint64_t attack_answers(const struct attack *a, bool good)
{
    uint64_t n[2] = {0, 0};
    for (int i = 0; i < HOSTILE_CODES; i++)
        n[i >= 200 && i < 300] += atomic_load(&a->codes[i]);
    for (int i = 0; i < HOSTILE_STATUSES; i++)
        n[i == 0] += atomic_load(&a->statuses[i]);
    return n[good];
}

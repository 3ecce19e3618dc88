/*
 * tests/hostile/streams.c - attacks by streams that outlive what ends them: a purge, a revoked key.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/hostile/peer.h"
#include "tests/hostile/wire.h"
#include "tests/support/raw_tls.h"

#include "base/banned.h"

#define LEAVER_BYTES    32 /* of its ID */
#define LEAVER_ROWS     1000
#define SLOW_CELLS      600
#define SLOW_CELL_BYTES 102400
#define PURGE_WAIT_MS   30000
#define PURGE_MAX_MS    5000
#define REVOKED_MAX_MS  2000 /* a second, and what a slow machine needs to notice */
#define REVOKED_WAIT_MS 10000

/* --- a slow reader during a purge --------------------------------------------------------------
 */

/* Another tenant, which has rows in the same files as the one whose rows are read slowly. */
static void leaver_make(struct attack *a)
{
    static unsigned count;
    struct buf body;
    char *id = base_new(LEAVER_BYTES);
    (void)snprintf(id, LEAVER_BYTES, "leaver%u", ++count);
    a->state = id;
    http_value_take(a->op, "POST", json_pack("{s:s}", "id", id), "/v1/admin/tenants");
    EXPECT_STATUS(a->op, 201);
    http_json(a->op, "POST", "{'label':'leaver'}", "/v1/admin/tenants/%s/keys", id);
    EXPECT_STATUS(a->op, 201);
    struct http *h = http_open(a->server, HTTP_2, http_string(a->op, "/key"));
    http_json(h, "PUT", "{'families':{'f':{}}}", "/v1/tables/t");
    EXPECT_STATUS(h, 201);
    base_buf_init(&body, MIB);
    for (int i = 0; i < LEAVER_ROWS; i++)
        ck_assert_int_eq(
            base_buf_printf(&body, "{\"key\":\"d%06d\",\"cells\":{\"f\":{\"q\":\"v\"}}}\n", i),
            ERR_OK);
    http_once(h, "Content-Type: application/x-ndjson");
    http_bytes(h, "POST", base_buf_slice(&body), "/v1/tables/t:write");
    EXPECT_STATUS(h, 200);
    base_buf_fini(&body);
    http_close(h);
}

static void leaver_free(struct attack *a)
{
    base_free(a->state);
}

static void slow_setup(struct attack *a)
{
    leaver_make(a);
    attack_prepare(a, &(struct attack_needs){.scopes = "['data.read']", .row_prefix = "r"});
    struct buf body;
    uint8_t *value = attack_noise(SLOW_CELL_BYTES);
    base_buf_init(&body, 16 * MIB);
    for (int i = 0; i < SLOW_CELLS; i++) {
        base_buf_truncate(&body, 0);
        ck_assert_int_eq(base_buf_printf(&body, "{\"f\":{\"q%d\":\"%.*s\"}}", i, SLOW_CELL_BYTES,
                                         (const char *)value),
                         ERR_OK);
        http_bytes(a->owner, "PATCH", base_buf_slice(&body), "/v1/tables/%s/rows/r1", a->table);
        ck_assert_msg(a->owner->status / 100 == 2, "PATCH: %s", http_text(a->owner));
    }
    base_buf_fini(&body);
    base_free(value);
}

/* A byte at once and one every ten seconds, of a socket that holds little. */
static void slow_attack(struct attack *a, unsigned thread)
{
    struct raw_tls all[4];
    struct buf head;
    char byte;
    (void)thread;
    base_buf_init(&head, 4 * KIB);
    for (int i = 0; i < 4; i++) {
        raw_open(&all[i], a->server, "http/1.1");
        (void)setsockopt(all[i].fd, SOL_SOCKET, SO_RCVBUF, &(int){4096}, sizeof(int));
        base_buf_truncate(&head, 0);
        (void)base_buf_printf(&head,
                              "GET /v1/tables/%s/rows HTTP/1.1\r\nHost: x\r\n"
                              "Accept: application/x-ndjson\r\nAuthorization: Bearer %s\r\n\r\n",
                              a->table, a->key);
        (void)raw_send(&all[i], base_buf_slice(&head));
        int got;
        do /* a ticket is no byte */
            got = SSL_read(all[i].ssl, &byte, 1);
        while (got <= 0 && SSL_get_error(all[i].ssl, got) == SSL_ERROR_WANT_READ);
        if (got == 1)
            (void)atomic_fetch_add(&a->note, 1);
    }
    while (!attack_is_over(a)) {
        attack_sleep_ms(a, 10000);
        for (int i = 0; i < 4 && !attack_is_over(a); i++)
            (void)recv(all[i].fd, &byte, 1, MSG_DONTWAIT);
    }
    for (int i = 0; i < 4; i++)
        raw_close(&all[i]);
    base_buf_fini(&head);
}

/* The second thread is the operator, who has the other tenant erased meanwhile. */
static void purge_attack(struct attack *a, unsigned thread)
{
    if (thread == 0) {
        slow_attack(a, thread);
        return;
    }
    if (atomic_load(&a->accepted_bytes) > 0) {
        attack_sleep_ms(a, 1000);
        return;
    }
    struct http *op = http_open(a->server, HTTP_2, a->server->operator_key);
    attack_sleep_ms(a, 1000);
    uint64_t start_ns = base_monotonic_ns();
    http_value_take(op, "POST", json_pack("{s:s}", "confirm", (const char *)a->state),
                    "/v1/admin/tenants/%s:offboard", (const char *)a->state);
    EXPECT_STATUS(op, 202);
    char job[64];
    (void)snprintf(job, sizeof job, "%s", http_string(op, "/job"));
    for (int ms = 0; ms < PURGE_WAIT_MS; ms += 50) {
        http_get(op, "/v1/admin/jobs/%s", job);
        if (op->status == 200 && strcmp(http_string(op, "/state"), "done") == 0)
            break;
        /* The reader's thread must stay: the attack lasts as long as the purge. */
        uint64_t soon_ns = base_monotonic_ns() + 500000000u;
        if (atomic_load(&a->until_ns) < soon_ns)
            atomic_store(&a->until_ns, soon_ns);
        process_sleep_ms(50);
    }
    atomic_store(&a->accepted_bytes, (base_monotonic_ns() - start_ns) / 1000000u + 1);
    http_close(op);
}

static bool purge_verify(struct attack *a, char finding[HOSTILE_FINDING])
{
    unsigned long long ms = atomic_load(&a->accepted_bytes);
    (void)snprintf(
        finding, HOSTILE_FINDING,
        "another tenant's erasure took %.1f s beside %llu slow readers; the limit is %d s",
        (double)ms / 1000, (unsigned long long)atomic_load(&a->note), PURGE_MAX_MS / 1000);
    return ms > 0 && ms <= PURGE_MAX_MS && atomic_load(&a->note) > 0;
}

/* --- a key that is revoked ---------------------------------------------------------------------
 */

static void revoked_setup(struct attack *a)
{
    attack_prepare(a, &(struct attack_needs){.scopes = "['data.read','data.write']",
                                             .table = "{'families':{'f':{}},"
                                                      "'change_stream_retention':'86400s'}"});
}

static void start_change_stream(struct attack *a, struct peer *p)
{
    struct buf message, partition, range;
    wire_init(&message);
    wire_init(&partition);
    wire_init(&range);
    wire_text(&message, 1, a->table_name);
    wire_text(&range, 1, "");
    wire_text(&range, 3, "");
    wire_message(&partition, 1, &range);
    wire_message(&message, 3, &partition);
    (void)peer_grpc(p, PEER_DATA "ReadChangeStream", &message, NULL);
    base_buf_fini(&message);
    base_buf_fini(&partition);
    base_buf_fini(&range);
}

/* A bulk write whose body goes on: a line every 50 ms. */
static void write_line(struct peer *p, struct peer_call *call, unsigned n)
{
    if (call->is_closed)
        return;
    (void)base_buf_printf(&call->body, "{\"key\":\"r%u\",\"cells\":{\"f\":{\"q\":\"v\"}}}\n", n);
    (void)nghttp2_session_resume_data(p->session, call->id);
}

/* Revokes a key while a change stream and a bulk write of it are open. */
static void revoked_attack(struct attack *a, unsigned thread)
{
    char path[96];
    (void)thread;
    if (atomic_load(&a->accepted_bytes) > 0) {
        attack_sleep_ms(a, 100);
        return;
    }
    struct peer *streams = peer_new(a, PEER_WINDOW), *writes = peer_new(a, PEER_WINDOW);
    start_change_stream(a, streams);
    (void)snprintf(path, sizeof path, "/v1/tables/%s:write", a->table);
    writes->content_type = "application/x-ndjson";
    struct peer_call *bulk = peer_request(writes, "POST", path, SLICE_EMPTY, 0, true);
    unsigned n = 0;
    for (; n < 20; n++) {
        write_line(writes, bulk, n);
        (void)peer_pump(writes, 25);
        (void)peer_pump(streams, 25);
    }
    bool were_open = streams->open == 1 && writes->open == 1;
    struct http *op = http_open(a->server, HTTP_2, a->server->operator_key);
    http_delete(op, "/v1/admin/tenants/%s/keys/%s", a->tenant, a->key_id);
    EXPECT_STATUS(op, 204);
    uint64_t start_ns = base_monotonic_ns(), ms = 0;
    for (; ms < REVOKED_WAIT_MS && streams->open + writes->open > 0; n++) {
        write_line(writes, bulk, n);
        bool alive = peer_pump(writes, 25);
        if (!alive)
            writes->open = 0;
        if (!peer_pump(streams, 25))
            streams->open = 0;
        ms = (base_monotonic_ns() - start_ns) / 1000000u;
    }
    atomic_store(&a->note, were_open);
    atomic_store(&a->accepted_bytes, ms + 1);
    http_close(op);
}

static bool revoked_verify(struct attack *a, char finding[HOSTILE_FINDING])
{
    unsigned long long ms = atomic_load(&a->accepted_bytes);
    (void)snprintf(finding, HOSTILE_FINDING, "%s: streams of a revoked key went on for %s%.1f s",
                   atomic_load(&a->note) ? "both were open" : "one ended before",
                   ms > REVOKED_WAIT_MS ? "over " : "", (double)ms / 1000);
    return atomic_load(&a->note) != 0 && ms > 0 && ms <= REVOKED_MAX_MS;
}

const struct hostile_case hostile_streams[] = {
    {.name = "slow-reader-purge",
     .proved = "a reader of one byte in ten seconds held up the erasure of another tenant",
     .threads = 2,
     .setup = slow_setup,
     .attack = purge_attack,
     .verify = purge_verify,
     .teardown = leaver_free},
    {.name = "revoked-key",
     .proved = "a revoked key's open change stream and bulk write went on for minutes",
     .threads = 1,
     .setup = revoked_setup,
     .attack = revoked_attack,
     .verify = revoked_verify},
    {.name = NULL},
};

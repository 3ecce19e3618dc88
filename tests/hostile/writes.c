/*
 * tests/hostile/writes.c - attacks by single writes that take a committer long.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/hostile/peer.h"
#include "tests/hostile/wire.h"

#include "base/banned.h"

#define DELETE_CELLS       2000000
#define DELETE_CELLS_SHORT 1000000
#define MUTATIONS          100000
#define ROW_CELLS          190000
#define CHECKS_EVERY_MS    33
#define DROP_ROWS          200000
#define DROP_ROWS_SHORT    100000
#define ROWS_A_BODY        10000

static void writer_setup(struct attack *a)
{
    attack_prepare(a, &(struct attack_needs){.scopes = "['data.write']", .row_prefix = "r"});
}

static void delete_setup(struct attack *a)
{
    writer_setup(a);
    attack_put_cells(a, "r1", a->is_short ? DELETE_CELLS_SHORT : DELETE_CELLS);
}

static void message_send(struct attack *a, const char *method, const struct buf *message)
{
    struct peer *p = peer_new(a, PEER_WINDOW);
    (void)peer_grpc(p, method, message, NULL);
    while (!attack_is_over(a) && p->open > 0 && peer_pump(p, 50)) {
    }
}

static void delete_attack(struct attack *a, unsigned thread)
{
    struct buf message, mutation;
    (void)thread;
    wire_init(&message);
    wire_init(&mutation);
    wire_text(&message, 1, a->table_name);
    wire_text(&message, 2, "r1");
    wire_bytes(&mutation, 4, SLICE_EMPTY); /* delete_from_row */
    wire_message(&message, 3, &mutation);
    message_send(a, PEER_DATA "MutateRow", &message);
    base_buf_fini(&message);
    base_buf_fini(&mutation);
    attack_sleep_ms(a, 200);
}

static void mutations_attack(struct attack *a, unsigned thread)
{
    struct buf message;
    char row[16], qualifier[16];
    (void)snprintf(row, sizeof row, "r%u", thread);
    wire_init(&message);
    wire_text(&message, 1, a->table_name);
    wire_text(&message, 2, row);
    for (int i = 0; i < MUTATIONS; i++) {
        (void)snprintf(qualifier, sizeof qualifier, "q%d", i);
        wire_set_cell(&message, 3, base_slice_text(qualifier), base_slice("v", 1));
    }
    while (!attack_is_over(a)) {
        message_send(a, PEER_DATA "MutateRow", &message);
        peers_close_all();
    }
    base_buf_fini(&message);
}

static void conditional_setup(struct attack *a)
{
    attack_prepare(
        a, &(struct attack_needs){.scopes = "['data.read','data.write']", .row_prefix = "r"});
    attack_put_cells(a, "r1", ROW_CELLS);
}

/* Thirty a second, each of which looks at every cell: no value begins with x. */
static void conditional_attack(struct attack *a, unsigned thread)
{
    struct buf message, filter;
    struct peer *p = peer_new(a, PEER_WINDOW);
    (void)thread;
    wire_init(&message);
    wire_init(&filter);
    wire_text(&message, 1, a->table_name);
    wire_text(&message, 2, "r1");
    wire_text(&filter, 9, "x.*"); /* value_regex_filter */
    ;
    wire_message(&message, 6, &filter);
    wire_set_cell(&message, 5, base_slice("q1", 2), base_slice("v", 1));
    while (!attack_is_over(a)) {
        if (p->open < 90)
            (void)peer_grpc(p, PEER_DATA "CheckAndMutateRow", &message, NULL);
        for (int ms = 0; ms < CHECKS_EVERY_MS; ms += 11)
            if (!peer_pump(p, 11))
                break;
        peer_forget(p);
        if (p->tls.closed)
            break;
    }
    base_buf_fini(&message);
    base_buf_fini(&filter);
}

static void fill_rows(struct attack *a)
{
    struct buf body;
    int rows = a->is_short ? DROP_ROWS_SHORT : DROP_ROWS;
    base_buf_init(&body, 16 * MIB);
    for (int i = 0; i < rows; i++) {
        ck_assert_int_eq(
            base_buf_printf(&body, "{\"key\":\"d%06d\",\"cells\":{\"f\":{\"q\":\"v\"}}}\n", i),
            ERR_OK);
        if (i % ROWS_A_BODY != ROWS_A_BODY - 1)
            continue;
        http_once(a->owner, "Content-Type: application/x-ndjson");
        http_bytes(a->owner, "POST", base_buf_slice(&body), "/v1/tables/%s:write", a->table);
        EXPECT_STATUS(a->owner, 200);
        base_buf_truncate(&body, 0);
    }
    base_buf_fini(&body);
}

static void drop_setup(struct attack *a)
{
    attack_prepare(a, &(struct attack_needs){.scopes = "['table.admin']"});
    fill_rows(a);
}

/* Once: what the drop leaves behind is the attack. */
static void drop_attack(struct attack *a, unsigned thread)
{
    char path[96];
    (void)thread;
    if (atomic_fetch_add(&a->note, 1) == 0) {
        struct http *h = attack_http(a, HTTP_2);
        (void)snprintf(path, sizeof path, "/v1/tables/%s:drop", a->table);
        (void)attack_send(a, h, "POST", path, quoted("{'prefix':'d'}"));
        http_close(h);
    }
    attack_sleep_ms(a, 500);
}

const struct hostile_case hostile_writes[] = {
    {.name = "delete-from-row",
     .proved = "DeleteFromRow of 2,000,000 cells held all writes for 5.5 s",
     .threads = 1,
     .setup = delete_setup,
     .attack = delete_attack},
    {.name = "mutate-100000",
     .proved = "one MutateRow of 100,000 mutations held all writes for 1 s",
     .threads = 2,
     .setup = writer_setup,
     .attack = mutations_attack},
    {.name = "conditional-writes",
     .proved = "30 conditional writes a second on a row of 190,000 cells: p50 from 1.9 to 20 ms",
     .threads = 1,
     .setup = conditional_setup,
     .attack = conditional_attack},
    {.name = "one-drop",
     .proved = "one large drop switched inline reads off for all tenants",
     .threads = 1,
     .setup = drop_setup,
     .attack = drop_attack},
    {.name = NULL},
};

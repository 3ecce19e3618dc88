/*
 * tests/hostile/regex.c - attacks by what a filter costs, and by what is cheap to ask.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/hostile/peer.h"
#include "tests/hostile/wire.h"

#include "base/banned.h"

#define LARGE_CELL    (10 * MIB - 4096)
#define READS         6
#define READ_REGEXES  8
#define CHECK_REGEXES 120
#define JSON_REGEXES  128
#define SAMPLE_ROWS   100000
#define ROWS_A_BODY   10000
#define GETS_AT_ONCE  50
#define GETS_EVERY_MS 20

static void large_cell_setup(struct attack *a, const char *scopes)
{
    attack_prepare(a, &(struct attack_needs){.scopes = scopes, .row_prefix = "r"});
    uint8_t *value = attack_noise(LARGE_CELL);
    attack_put_cell(a, "r1", base_slice(value, LARGE_CELL));
    base_free(value);
}

static void reads_setup(struct attack *a)
{
    large_cell_setup(a, "['data.read']");
}

static void reads_attack(struct attack *a, unsigned thread)
{
    struct buf message, part;
    (void)thread;
    wire_init(&message);
    wire_init(&part);
    wire_text(&message, 1, a->table_name);
    wire_text(&part, 1, "r1");
    wire_message(&message, 2, &part);
    wire_nasty_filter(&part, READ_REGEXES);
    wire_message(&message, 3, &part);
    /* Connections are spread over the loops; their clients leave after 2 s. */
    struct peer *peers[READS];
    for (int i = 0; i < READS; i++) {
        peers[i] = peer_new(a, PEER_WINDOW);
        (void)peer_grpc(peers[i], PEER_DATA "ReadRows", &message, "2S");
        (void)peer_pump(peers[i], 0);
    }
    for (int tick = 0; tick < 20 && !attack_is_over(a); tick++)
        for (int i = 0; i < READS; i++)
            (void)peer_pump(peers[i], 20);
    base_buf_fini(&message);
    base_buf_fini(&part);
}

static void check_setup(struct attack *a)
{
    large_cell_setup(a, "['data.read','data.write']");
}

static void check_attack(struct attack *a, unsigned thread)
{
    struct buf message, filter;
    (void)thread;
    wire_init(&message);
    wire_init(&filter);
    wire_text(&message, 1, a->table_name);
    wire_text(&message, 2, "r1");
    wire_nasty_filter(&filter, CHECK_REGEXES);
    wire_message(&message, 6, &filter);
    wire_set_cell(&message, 4, base_slice("x", 1), base_slice("v", 1));
    struct peer *p = peer_new(a, PEER_WINDOW);
    (void)peer_grpc(p, PEER_DATA "CheckAndMutateRow", &message, NULL);
    while (!attack_is_over(a) && p->open > 0 && peer_pump(p, 50)) {
    }
    base_buf_fini(&message);
    base_buf_fini(&filter);
}

static void compile_setup(struct attack *a)
{
    attack_prepare(a, &(struct attack_needs){.scopes = "['data.read']", .row_prefix = "r"});
    struct buf *body = base_new(sizeof *body);
    base_buf_init(body, MIB);
    ck_assert_int_eq(base_buf_append_text(body, "{\"keys\":[\"r1\"],\"filter\":{\"interleave\":["),
                     ERR_OK);
    for (int i = 0; i < JSON_REGEXES; i++)
        ck_assert_int_eq(base_buf_printf(body, "%s{\"value_regex\":\"(ab|c%d|[d-z])*x{%d}[a-m]*\"}",
                                         i == 0 ? "" : ",", i, 10 + i % 7),
                         ERR_OK);
    ck_assert_int_eq(base_buf_append_text(body, "]}}"), ERR_OK);
    a->state = body;
}

static void compile_attack(struct attack *a, unsigned thread)
{
    char path[96];
    struct peer *p = peer_new(a, PEER_WINDOW);
    (void)thread;
    (void)snprintf(path, sizeof path, "/v1/tables/%s:read", a->table);
    while (!attack_is_over(a)) {
        while (p->open < 8)
            (void)peer_request(p, "POST", path, base_buf_slice(a->state), 0, false);
        if (!peer_pump(p, 50))
            return;
        peer_forget(p);
    }
}

static void buffer_teardown(struct attack *a)
{
    base_buf_fini(a->state);
    base_free(a->state);
}

static void samples_setup(struct attack *a)
{
    attack_prepare(a, &(struct attack_needs){.scopes = "['data.read']"});
    struct buf body;
    base_buf_init(&body, 16 * MIB);
    for (int i = 0; i < SAMPLE_ROWS; i++) {
        ck_assert_int_eq(
            base_buf_printf(&body, "{\"key\":\"r%06d\",\"cells\":{\"f\":{\"q\":\"v\"}}}\n", i),
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

static void samples_attack(struct attack *a, unsigned thread)
{
    struct buf message;
    (void)thread;
    wire_init(&message);
    wire_text(&message, 1, a->table_name);
    struct peer *p = peer_new(a, PEER_WINDOW);
    while (!attack_is_over(a)) {
        while (p->open < 32)
            (void)peer_grpc(p, PEER_DATA "SampleRowKeys", &message, NULL);
        if (!peer_pump(p, 50))
            break;
        peer_forget(p);
    }
    base_buf_fini(&message);
}

static void gets_setup(struct attack *a)
{
    attack_prepare(a, &(struct attack_needs){.scopes = "['data.read']", .row_prefix = "r"});
}

/* 2 threads x 50 requests each 20 ms are 5,000/s. */
static void gets_attack(struct attack *a, unsigned thread)
{
    char path[96];
    struct peer *p = peer_new(a, PEER_WINDOW);
    (void)thread;
    (void)snprintf(path, sizeof path, "/v1/tables/%s/rows/r1", a->table);
    while (!attack_is_over(a)) {
        for (int i = 0; i < GETS_AT_ONCE && p->open < 4 * GETS_AT_ONCE; i++)
            (void)peer_request(p, "GET", path, SLICE_EMPTY, 0, false);
        for (int ms = 0; ms < GETS_EVERY_MS; ms += 5)
            if (!peer_pump(p, 5))
                return;
        peer_forget(p);
    }
}

const struct hostile_case hostile_regex[] = {
    {.name = "regex-reads",
     .proved = "six ReadRows of 8 regexes over a cell of 10 MiB stopped every loop for 16 to 120 s",
     .threads = 1,
     .setup = reads_setup,
     .attack = reads_attack},
    {.name = "regex-predicate",
     .proved = "one CheckAndMutateRow of 2.9 KB kept all tenants from writing for 270 s",
     .threads = 1,
     .setup = check_setup,
     .attack = check_attack},
    {.name = "regex-compile",
     .proved = "each JSON :read of 128 regexes took 14 ms of a loop before it read anything",
     .threads = 4,
     .setup = compile_setup,
     .attack = compile_attack,
     .teardown = buffer_teardown},
    {.name = "sample-row-keys",
     .proved = "SampleRowKeys in a loop raised the p99 of others",
     .threads = 2,
     .setup = samples_setup,
     .attack = samples_attack},
    {.name = "cheap-gets",
     .proved = "5,000 GETs a second of a row that is not there raised the p99 of others",
     .threads = 2,
     .setup = gets_setup,
     .attack = gets_attack},
    {.name = NULL},
};

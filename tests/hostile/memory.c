/*
 * tests/hostile/memory.c - attacks by bytes that are kept: half-sent bodies, unread answers.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "tests/hostile/peer.h"
#include "tests/hostile/wire.h"

#include "base/banned.h"

#define LARGE_CELL      (10 * MIB - 4096)
#define GRPC_HALVES     12
#define GRPC_ANNOUNCED  (101 * MIB)
#define JSON_HALVES     120
#define JSON_HALF_BYTES (15 * MIB)
#define UNREAD_CELLS    30
#define UNREAD_LISTS    60
#define TABLES          900 /* of 1,000: the mixture has others */
#define BOMBS           240
#define BOMB_BYTES      (100 * MIB)

/* Keep the connections as they are until the end, or until the server has ended what they asked. */
static void hold(struct attack *a, struct peer **peers, size_t count)
{
    for (size_t open = count; open > 0 && !attack_is_over(a);) {
        open = 0;
        for (size_t i = 0; i < count; i++)
            open += peer_pump(peers[i], 2) && peers[i]->open > 0;
    }
    attack_sleep_ms(a, 50);
}

static void suspended_setup(struct attack *a)
{
    attack_prepare(a, &(struct attack_needs){.scopes = "['data.write']", .row_prefix = "r"});
    attack_suspend(a);
}

static void half_grpc_attack(struct attack *a, unsigned thread)
{
    static const uint8_t HEAD[] = {0, GRPC_ANNOUNCED >> 24, GRPC_ANNOUNCED >> 16 & 255,
                                   GRPC_ANNOUNCED >> 8 & 255, GRPC_ANNOUNCED & 255};
    struct peer *peers[GRPC_HALVES];
    (void)thread;
    for (int i = 0; i < GRPC_HALVES; i++) {
        peers[i] = peer_new(a, PEER_WINDOW);
        (void)peer_grpc_frame(peers[i], PEER_DATA "MutateRow", base_slice(HEAD, sizeof HEAD),
                              GRPC_ANNOUNCED - 1, true);
    }
    hold(a, peers, GRPC_HALVES);
}

static void writer_setup(struct attack *a)
{
    attack_prepare(a, &(struct attack_needs){.scopes = "['data.write']", .row_prefix = "r"});
}

static void half_json_attack(struct attack *a, unsigned thread)
{
    static const char OPEN[] = "{\"f\":{\"q\":\"";
    struct peer *p = peer_new(a, PEER_WINDOW);
    (void)thread;
    for (int i = 0; i < JSON_HALVES; i++) {
        char path[96];
        (void)snprintf(path, sizeof path, "/v1/tables/%s/rows/r%d", a->table, i);
        (void)peer_request(p, "PATCH", path, base_slice(OPEN, sizeof OPEN - 1), JSON_HALF_BYTES,
                           true);
    }
    hold(a, &p, 1);
}

static void unread_cells_setup(struct attack *a)
{
    attack_prepare(a, &(struct attack_needs){.scopes = "['data.read']", .row_prefix = "r"});
    uint8_t *value = attack_noise(LARGE_CELL);
    attack_put_cell(a, "r1", base_slice(value, LARGE_CELL));
    base_free(value);
}

/* A row as JSON and a cell as it is, in turn: either is an answer of its own kind. */
static void unread_cells_attack(struct attack *a, unsigned thread)
{
    char row[96], cell[96];
    struct peer *peers[2];
    (void)thread;
    (void)snprintf(row, sizeof row, "/v1/tables/%s/rows/r1", a->table);
    (void)snprintf(cell, sizeof cell, "/v1/tables/%s/cells/r1/f/q", a->table);
    for (int i = 0; i < 2; i++)
        peers[i] = peer_new(a, 0);
    for (int i = 0; i < UNREAD_CELLS; i++)
        (void)peer_request(peers[i % 2], "GET", i % 4 < 3 ? row : cell, SLICE_EMPTY, 0, false);
    hold(a, peers, 2);
}

/* Characters that JSON escapes make a list six times as long as what is stored. */
static void unread_lists_setup(struct attack *a)
{
    attack_prepare(a, &(struct attack_needs){.scopes = "['data.read']"});
    struct peer p;
    char notes[4001], path[32];
    memset(notes, 1, sizeof notes - 1);
    notes[sizeof notes - 1] = '\0';
    json_t *table = json_pack("{s:{s:{}},s:s}", "families", "f", "row_key_notes", notes);
    char *body = json_dumps(table, JSON_COMPACT);
    json_decref(table);
    peer_open(&p, a->server, a->owner_key, PEER_WINDOW);
    for (int i = 0; i < TABLES;) {
        for (; i < TABLES && p.open < 50; i++) {
            (void)snprintf(path, sizeof path, "/v1/tables/l%d", i);
            (void)peer_request(&p, "PUT", path, base_slice_text(body), 0, false);
        }
        ck_assert_msg(peer_run(&p, 60000), "making tables takes over 60 s");
        for (const struct peer_call *c = p.calls; c != NULL; c = c->next)
            ck_assert_msg(c->status == 201, "a table: %d", c->status);
        peer_forget(&p);
    }
    peer_close(&p);
    base_free(body);
}

static void unread_lists_attack(struct attack *a, unsigned thread)
{
    struct peer *peers[2];
    (void)thread;
    for (int i = 0; i < 2; i++)
        peers[i] = peer_new(a, 0);
    for (int i = 0; i < UNREAD_LISTS; i++)
        (void)peer_request(peers[i % 2], "GET", "/v1/tables", SLICE_EMPTY, 0, false);
    hold(a, peers, 2);
}

/* A message of zeros in its frame, compressed: about 100 KB for 100 MiB. */
static void bombs_setup(struct attack *a)
{
    suspended_setup(a);
    size_t max = MIB;
    uint8_t *zeros = base_new(MIB);
    struct buf *frame = base_new(sizeof *frame);
    base_buf_init(frame, 2 * MIB);
    ck_assert_int_eq(base_buf_reserve(frame, max + 5), ERR_OK);
    z_stream z = {.next_out = frame->ptr + 5, .avail_out = (uInt)max};
    ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    for (size_t done = 0; done < BOMB_BYTES; done += MIB) {
        z.next_in = zeros;
        z.avail_in = (uInt)MIB;
        ck_assert_int_eq(deflate(&z, done + MIB == BOMB_BYTES ? Z_FINISH : Z_NO_FLUSH),
                         done + MIB == BOMB_BYTES ? Z_STREAM_END : Z_OK);
    }
    uint32_t len = (uint32_t)z.total_out;
    uint8_t head[5] = {1, (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                       (uint8_t)len};
    memcpy(frame->ptr, head, sizeof head);
    frame->len = len + sizeof head;
    (void)deflateEnd(&z);
    base_free(zeros);
    a->state = frame;
}

static void bombs_attack(struct attack *a, unsigned thread)
{
    struct peer *p = peer_new(a, PEER_WINDOW);
    (void)thread;
    p->more[0][0] = "grpc-encoding";
    p->more[0][1] = "gzip";
    for (int sent = 0; !attack_is_over(a) && sent < BOMBS;) {
        for (; p->open < 60 && sent < BOMBS; sent++)
            (void)peer_grpc_frame(p, PEER_DATA "MutateRow", base_buf_slice(a->state), 0, false);
        if (!peer_pump(p, 50))
            return;
        peer_forget(p);
    }
    while (!attack_is_over(a) && p->open > 0 && peer_pump(p, 50)) {
    }
}

static void bombs_teardown(struct attack *a)
{
    base_buf_fini(a->state);
    base_free(a->state);
}

const struct hostile_case hostile_memory[] = {
    {.name = "half-sent-grpc",
     .proved = "a suspended tenant's 12 messages of 101 MiB, half sent: UNAVAILABLE for everybody",
     .threads = 1,
     .in_own_tenant = true,
     .setup = suspended_setup,
     .attack = half_grpc_attack},
    {.name = "half-sent-grpc-active",
     .proved = "the same of a tenant that is not suspended",
     .threads = 1,
     .setup = writer_setup,
     .attack = half_grpc_attack},
    {.name = "half-sent-json",
     .proved = "JSON bodies half sent over one HTTP/2 connection took 1.8 GiB",
     .threads = 1,
     .setup = writer_setup,
     .attack = half_json_attack},
    {.name = "unread-cells",
     .proved = "30 unread answers of a cell of 10 MiB took 1.8 GiB",
     .threads = 1,
     .setup = unread_cells_setup,
     .attack = unread_cells_attack},
    {.name = "unread-lists",
     .proved = "60 unread lists of tables took 1.6 GiB, each built whole on a loop",
     .threads = 1,
     .setup = unread_lists_setup,
     .attack = unread_lists_attack},
    {.name = "gzip-suspended",
     .proved = "240 gzip messages of a suspended tenant delayed a victim's write by 11 s",
     .threads = 2,
     .in_own_tenant = true,
     .setup = bombs_setup,
     .attack = bombs_attack,
     .teardown = bombs_teardown},
    {.name = NULL},
};

/*
 * tests/hostile/growth.c - attacks by what is stored and not counted.
 *
 * A quota holds here when at most GROWTH_TIMES as much was accepted; of backups, which are
 * compressed, twice as much.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/hostile/peer.h"
#include "tests/hostile/wire.h"

#include "base/banned.h"

#define GROWTH_TIMES  4
#define QUOTA_BYTES   (4 * MIB)
#define QUOTA_JSON    "{'stored_bytes':4194304,'change_bytes':4194304}"
#define CHANGE_BYTES  (512 * KIB)
#define BACKUP_QUOTA  "{'stored_bytes':12582912,'backup_bytes':25165824}"
#define BACKUP_LIMIT  (24 * MIB)
#define BACKUP_BYTES  (10 * MIB - 4096)
#define BACKUPS       12
#define VIEW_PREFIXES 990
#define VIEWS_A_TABLE 100
#define SCHEMA_NOTES  4000
#define SCHEMA_COUNT  1000
#define TOKEN_QUOTA   "{'stored_bytes':65536,'rows':4,'idempotency_tokens':1000}"
#define TOKEN_LIMIT   (64 * KIB)
#define TOKEN_BYTES   64
#define AUDIT_REFUSED 20 /* a second: 16 of one key, and the count of the others */

/* Bytes that were accepted against those that the quota allows. */
static bool judge_bytes(struct attack *a, uint64_t quota, const char *what,
                        char finding[HOSTILE_FINDING])
{
    uint64_t bytes = atomic_load(&a->accepted_bytes);
    (void)snprintf(finding, HOSTILE_FINDING, "%.1f MiB of %s kept, with a quota of %.1f MiB",
                   (double)bytes / (double)MIB, what, (double)quota / (double)MIB);
    return bytes <= GROWTH_TIMES * quota;
}

static void changes_setup(struct attack *a)
{
    attack_prepare(a, &(struct attack_needs){.quota = QUOTA_JSON,
                                             .scopes = "['data.write']",
                                             .row_prefix = "r",
                                             .table = "{'families':{'f':{'gc':{'max_versions':1}}},"
                                                      "'change_stream_retention':'604800s'}"});
}

/* Over the same cell again and again: what is stored stays, its changes add up. */
static void changes_attack(struct attack *a, unsigned thread)
{
    char path[128];
    uint8_t *value = attack_noise(CHANGE_BYTES);
    struct http *h = attack_http(a, HTTP_2);
    (void)snprintf(path, sizeof path, "/v1/tables/%s/cells/r%u/f/q?timestamp=1000", a->table,
                   thread);
    for (unsigned n = 0; !attack_is_over(a); n++) {
        memcpy(value, &n, sizeof n);
        if (attack_send(a, h, "PUT", path, base_slice(value, CHANGE_BYTES)) == 204)
            (void)atomic_fetch_add(&a->accepted_bytes, CHANGE_BYTES);
        else
            attack_sleep_ms(a, 20);
    }
    http_close(h);
    base_free(value);
}

static bool changes_verify(struct attack *a, char finding[HOSTILE_FINDING])
{
    return judge_bytes(a, QUOTA_BYTES, "changes", finding);
}

static void backups_setup(struct attack *a)
{
    attack_prepare(a, &(struct attack_needs){.quota = BACKUP_QUOTA, .scopes = "['table.admin']"});
    uint8_t *value = attack_noise(BACKUP_BYTES);
    attack_put_cell(a, "r1", base_slice(value, BACKUP_BYTES));
    base_free(value);
}

static void backups_attack(struct attack *a, unsigned thread)
{
    struct buf message, backup, expires;
    char parent[128], id[32];
    struct peer *p = peer_new(a, PEER_WINDOW);
    (void)thread;
    wire_init(&message);
    wire_init(&backup);
    wire_init(&expires);
    (void)snprintf(parent, sizeof parent, "projects/%s/instances/main/clusters/main", a->tenant);
    for (int i = 0; i < BACKUPS && !attack_is_over(a); i++) {
        base_buf_truncate(&message, 0);
        (void)snprintf(id, sizeof id, "b%llu", (unsigned long long)atomic_fetch_add(&a->note, 1));
        wire_text(&message, 1, parent);
        wire_text(&message, 2, id);
        wire_text(&backup, 2, a->table_name);
        wire_number(&expires, 1, (uint64_t)base_wall_us() / 1000000 + 7 * 86400);
        wire_message(&backup, 3, &expires);
        wire_message(&message, 3, &backup);
        struct peer_call *call = peer_grpc(p, PEER_ADMIN "CreateBackup", &message, NULL);
        if (peer_run(p, 10000) && call->grpc_status == 0)
            (void)atomic_fetch_add(&a->accepted_bytes, BACKUP_BYTES);
        peer_forget(p);
        attack_sleep_ms(a, 200);
    }
    base_buf_fini(&message);
    base_buf_fini(&backup);
    base_buf_fini(&expires);
    while (!attack_is_over(a))
        attack_sleep_ms(a, 100);
}

static bool backups_verify(struct attack *a, char finding[HOSTILE_FINDING])
{
    return judge_bytes(a, BACKUP_LIMIT / 2, "backups", finding);
}

static void admin_setup(struct attack *a)
{
    attack_prepare(a, &(struct attack_needs){.quota = QUOTA_JSON, .scopes = "['table.admin']"});
}

/* 100 views of 30 KB on one table after the other. */
static void views_attack(struct attack *a, unsigned thread)
{
    struct buf message, view, subset;
    char table[256], id[32], path[64], prefix[40];
    struct http *h = attack_http(a, HTTP_2);
    struct peer *p = peer_new(a, PEER_WINDOW);
    wire_init(&message);
    wire_init(&view);
    wire_init(&subset);
    for (unsigned n = 0; !attack_is_over(a); n++) {
        unsigned nth = (unsigned)atomic_fetch_add(&a->note, 1);
        (void)snprintf(path, sizeof path, "/v1/tables/views%u-%u", thread, nth);
        (void)attack_send(a, h, "PUT", path, quoted("{'families':{'f':{}}}"));
        (void)snprintf(table, sizeof table, "projects/%s/instances/main/tables/views%u-%u",
                       a->tenant, thread, nth);
        for (int i = 0; i < VIEWS_A_TABLE && !attack_is_over(a); i++) {
            base_buf_truncate(&message, 0);
            (void)snprintf(id, sizeof id, "v%d", i);
            wire_text(&message, 1, table);
            wire_text(&message, 2, id);
            for (int k = 0; k < VIEW_PREFIXES; k++) {
                (void)snprintf(prefix, sizeof prefix, "prefix-%04d-%016x", k, nth);
                wire_text(&subset, 1, prefix);
            }
            size_t bytes = subset.len;
            wire_message(&view, 2, &subset);
            wire_message(&message, 3, &view);
            struct peer_call *call =
                peer_grpc(p, PEER_ADMIN "CreateAuthorizedView", &message, NULL);
            if (peer_run(p, 10000) && call->grpc_status == 0)
                (void)atomic_fetch_add(&a->accepted_bytes, bytes);
            peer_forget(p);
        }
    }
    http_close(h);
    base_buf_fini(&message);
    base_buf_fini(&view);
    base_buf_fini(&subset);
}

static bool views_verify(struct attack *a, char finding[HOSTILE_FINDING])
{
    return judge_bytes(a, QUOTA_BYTES, "authorized views", finding);
}

static void schemas_setup(struct attack *a)
{
    admin_setup(a);
    json_t *families = json_object();
    for (int i = 0; i < 99; i++) {
        char name[72];
        (void)snprintf(name, sizeof name, "f%02d-%060d", i, i);
        json_object_set_new(families, name, json_pack("{s:{s:i}}", "gc", "max_versions", 1 + i));
    }
    char notes[SCHEMA_NOTES + 1];
    memset(notes, 'n', SCHEMA_NOTES);
    notes[SCHEMA_NOTES] = '\0';
    json_t *table = json_pack("{s:o,s:s}", "families", families, "row_key_notes", notes);
    a->state = json_dumps(table, JSON_COMPACT);
    json_decref(table);
}

static void schemas_attack(struct attack *a, unsigned thread)
{
    struct http *h = attack_http(a, HTTP_2);
    struct slice body = base_slice_text(a->state);
    (void)thread;
    while (!attack_is_over(a)) {
        char path[64];
        (void)snprintf(path, sizeof path, "/v1/tables/schema%llu",
                       (unsigned long long)atomic_fetch_add(&a->note, 1) % SCHEMA_COUNT);
        if (attack_send(a, h, "PUT", path, body) == 201)
            (void)atomic_fetch_add(&a->accepted_bytes, body.len);
    }
    http_close(h);
}

static void schemas_teardown(struct attack *a)
{
    base_free(a->state);
}

static bool schemas_verify(struct attack *a, char finding[HOSTILE_FINDING])
{
    return judge_bytes(a, QUOTA_BYTES, "schemas", finding);
}

static void tokens_setup(struct attack *a)
{
    attack_prepare(a, &(struct attack_needs){
                          .quota = TOKEN_QUOTA, .scopes = "['data.write']", .row_prefix = "r"});
}

static void tokens_attack(struct attack *a, unsigned thread)
{
    struct buf message, idempotency;
    char token[TOKEN_BYTES + 1], row[16];
    struct peer *p = peer_new(a, PEER_WINDOW);
    (void)snprintf(row, sizeof row, "r%u", thread);
    wire_init(&message);
    wire_init(&idempotency);
    for (unsigned long n = 0; !attack_is_over(a);) {
        for (; p->open < 64; n++) {
            base_buf_truncate(&message, 0);
            (void)snprintf(token, sizeof token, "%032x%032lx", thread, n);
            wire_text(&message, 1, a->table_name);
            wire_text(&message, 2, row);
            wire_set_cell(&message, 3, base_slice("q", 1), base_slice("v", 1));
            wire_text(&idempotency, 1, token);
            wire_message(&message, 8, &idempotency);
            (void)peer_grpc(p, PEER_DATA "MutateRow", &message, NULL);
        }
        if (!peer_pump(p, 50))
            break;
        peer_forget(p);
    }
    base_buf_fini(&message);
    base_buf_fini(&idempotency);
}

static bool tokens_verify(struct attack *a, char finding[HOSTILE_FINDING])
{
    atomic_store(&a->accepted_bytes, attack_answers(a, true) * TOKEN_BYTES);
    return judge_bytes(a, TOKEN_LIMIT, "idempotency tokens", finding);
}

/* The tenant's records from that number on. */
static size_t audit_read(struct attack *a, uint64_t from)
{
    http_get(a->op, "/v1/admin/audit?tenant=%s&from=%llu", a->tenant, (unsigned long long)from);
    EXPECT_STATUS(a->op, 200);
    return http_count(a->op, "/records");
}

static void audit_setup(struct attack *a)
{
    admin_setup(a);
    atomic_store(&a->note, audit_read(a, 1));
}

static void audit_attack(struct attack *a, unsigned thread)
{
    char path[96];
    struct http *h = attack_http(a, HTTP_2);
    (void)thread;
    (void)snprintf(path, sizeof path, "/v1/tables/%s", a->table);
    while (!attack_is_over(a))
        (void)attack_send(a, h, "PUT", path, quoted("{'families':{'f':{}}}"));
    http_close(h);
}

static bool is_of_table(const json_t *record)
{
    return strncmp(json_string_value(json_object_get(record, "action")), "table.", 6) == 0;
}

/* What changes nothing has no record; of what is refused, AUDIT_REFUSED a second may have one. The
 * operator's limits after the setup have records, too. */
static bool audit_verify(struct attack *a, char finding[HOSTILE_FINDING])
{
    size_t done = 0, refused = 0;
    size_t count = audit_read(a, atomic_load(&a->note) + 1);
    double seconds = (double)(base_monotonic_ns() - a->began_ns) / 1e9;
    for (size_t i = 0; i < count; i++) {
        const json_t *record = json_array_get(http_at(a->op, "/records"), i);
        bool is_done = strcmp(json_string_value(json_object_get(record, "outcome")), "done") == 0;
        done += is_of_table(record) && is_done;
        refused += !is_done;
    }
    (void)snprintf(finding, HOSTILE_FINDING,
                   "%llu changes of nothing: %zu records, and %zu of what was refused in %.0f s",
                   (unsigned long long)attack_answers(a, true), done, refused, seconds);
    return done == 0 && (double)refused < AUDIT_REFUSED * seconds;
}

const struct hostile_case hostile_growth[] = {
    {.name = "change-log",
     .proved = "a quota of 4 MiB held 1.1 GiB of recorded changes after 21 s",
     .threads = 4,
     .setup = changes_setup,
     .attack = changes_attack,
     .verify = changes_verify},
    {.name = "backups",
     .proved = "a quota of 12 MiB held 12 backups of 10 MB",
     .threads = 1,
     .setup = backups_setup,
     .attack = backups_attack,
     .verify = backups_verify},
    {.name = "views",
     .proved = "authorized views were not counted: the limits allowed 13.7 GB of memory",
     .threads = 2,
     .setup = admin_setup,
     .attack = views_attack,
     .verify = views_verify},
    {.name = "schemas",
     .proved = "schemas and notes of 1,000 tables were not counted",
     .threads = 4,
     .setup = schemas_setup,
     .attack = schemas_attack,
     .verify = schemas_verify,
     .teardown = schemas_teardown},
    {.name = "tokens",
     .proved = "idempotency tokens were not counted",
     .threads = 2,
     .setup = tokens_setup,
     .attack = tokens_attack,
     .verify = tokens_verify},
    {.name = "audit-noops",
     .proved = "table changes that change nothing wrote 746 permanent audit records a second",
     .threads = 4,
     .setup = audit_setup,
     .attack = audit_attack,
     .verify = audit_verify},
    {.name = NULL},
};

/*
 * tests/grpc/test_turns.c - while small requests of others wait long, or the disk does not keep up,
 * who sends one request after the other waits for its turn: it is slowed down and not sent away,
 * and nothing of it is lost. The disk is made slow, so that others wait whatever the machine.
 */
#include <check.h>
#include <endian.h>
#include <google/rpc/error_details.pb-c.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/text.h"
#include "gateway/grpc/status.h"
#include "tests/grpc/writes.h"
#include "tests/support/disk.h"
#include "tests/support/scrape.h"

#include "base/banned.h"

enum {
    FLOODERS = 8,
    LINES = 100,
    VALUE = 4096,
    SYNC_MS = 40,  /* beyond what counts as slow */
    ATTEMPT = 100, /* requests of the flood */
    HELD_S = 8,    /* all of its requests together: its limit is the least by then */
    ENTRIES = 1000,
    ENTRY_VALUE = 8192,
    LARGE = 8 * MIB,
    INCREMENTS = 8,        /* between two looks at the metric */
    PRESSED_VALUE = 20000, /* ten times what the quiet tenant writes at a time: above its share */
};

static struct server server;
static struct disk disk;
static struct world flooding, quiet;

static struct {
    _Atomic bool stop;
    _Atomic uint64_t whole; /* requests all of whose lines were done */
    _Atomic uint64_t other; /* any other answer */
    pthread_t threads[FLOODERS];
    struct http *clients[FLOODERS];
} flood;

static struct {
    _Atomic bool stop;
    pthread_t thread;
} small; /* requests of the quiet tenant */

static void start(const char *memtable_mb)
{
    server_create(&server);
    server.options[0] = "--memtable-mb";
    server.options[1] = memtable_mb;
    disk_init(&disk, &server, server.data);
    server_start(&server, disk.env);
    world_init_on(&flooding, &server, HTTP_2, "flooding");
    world_init_on(&quiet, &server, HTTP_2, "quiet");
}

static void set_up(void)
{
    start("64");
}

static void set_up_small_memtables(void)
{
    start("1");
}

static void tear_down(void)
{
    world_fini(&quiet);
    world_fini(&flooding);
    disk_heal(&disk);
    server_stop(&server); /* what a sanitizer finds is a failure */
    disk_fini(&disk);
    server_remove(&server);
}

/* Nothing here may end the test: the main thread looks at the counts. */
static void *flood_thread(void *arg)
{
    struct http *http = arg;
    struct buf body;
    base_buf_init(&body, MIB);
    for (int i = 0; i < LINES; i++)
        (void)base_buf_printf(&body, "{\"key\":\"k%d\",\"cells\":{\"stats\":{\"v\":\"%0*d\"}}}\n",
                              i, VALUE, i); /* fits */
    while (!atomic_load(&flood.stop) &&
           http_try(http, "POST", "/v1/tables/devices:write", base_buf_slice(&body))) {
        bool is_whole = http->status == 200 && strstr(http_text(http), "\"failed\":0") != NULL;
        atomic_fetch_add(is_whole ? &flood.whole : &flood.other, 1);
    }
    base_buf_fini(&body);
    return NULL;
}

static void *small_thread(void *arg)
{
    static const char body[] = "{\"stats\":{\"q\":\"v\"}}";
    (void)arg;
    while (!atomic_load(&small.stop) &&
           http_try(quiet.http, "PUT", "/v1/tables/devices/rows/row", base_slice_text(body)))
        continue;
    return NULL;
}

static const char *of_flooding(const char *name)
{
    static char series[128];
    (void)snprintf(series, sizeof series,
                   "bigtent_tenant_%s{tenant=\"flooding\",policy=\"service\"}", name); /* fits */
    return series;
}

static double told_s(void)
{
    scrape(quiet.op);
    return strtod(scrape_value(of_flooding("throttled_seconds_total")), NULL);
}

static void begin_flood(void)
{
    atomic_store(&flood.stop, false);
    for (size_t i = 0; i < FLOODERS; i++) {
        flood.clients[i] = http_open(&server, HTTP_2, flooding.key);
        flood.clients[i]->no_default_type = true;
        http_always(flood.clients[i], "Content-Type: application/x-ndjson");
        ck_assert_int_eq(pthread_create(&flood.threads[i], NULL, flood_thread, flood.clients[i]),
                         0);
    }
}

static void end_flood(void)
{
    atomic_store(&flood.stop, true);
    for (size_t i = 0; i < FLOODERS; i++) {
        (void)pthread_join(flood.threads[i], NULL); /* made above */
        http_close(flood.clients[i]);
    }
}

/* --- one after the other ---------------------------------------------------------------------- */

/* For which the tenant owes more than half a second at least. */
static void put_large(void)
{
    struct buf body;
    base_buf_init(&body, 2 * LARGE);
    (void)base_buf_printf(&body, "{\"raw\":{\"large\":\"%0*d\"}}", LARGE, 0); /* fits */
    http_bytes(flooding.http, "PUT", base_buf_slice(&body), "/v1/tables/devices/rows/put");
    ck_assert(flooding.http->status == 200 || flooding.http->status == 201);
    base_buf_fini(&body);
}

/* As long as the server says that it let it wait; false: it did not, because its tenant's limit had
 * grown meanwhile. */
static bool has_waited(double before_s, double took_s)
{
    double told = told_s() - before_s;
    ck_assert_msg(took_s >= told, "waited %g s of %g", took_s, told);
    return told > 0;
}

static bool many_wait(void *arg)
{
    (void)arg;
    static char keys[ENTRIES][16], table[TABLE_NAME], value[ENTRY_VALUE + 1];
    static Bt__MutateRowsRequest__Entry entries[ENTRIES], *pointers[ENTRIES];
    struct grpc_client client;
    struct set_cell cell;
    memset(value, 'v', ENTRY_VALUE);
    Bt__Mutation *list[] = {set_cell(&cell, "stats", "q", value)};
    Bt__MutateRowsRequest many = BT__MUTATE_ROWS_REQUEST__INIT;
    for (size_t i = 0; i < ENTRIES; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "entry%zu", i); /* fits */
        pointers[i] = &entries[i];
        bt__mutate_rows_request__entry__init(&entries[i]);
        entries[i].row_key = binary(keys[i]);
        entries[i].mutations = list;
        entries[i].n_mutations = 1;
    }
    many.table_name = table_name(table, &flooding);
    many.entries = pointers;
    many.n_entries = ENTRIES;
    grpc_open(&client, &server, flooding.key, 0);
    double before_s = told_s();
    uint64_t began_ns = base_monotonic_ns();
    const struct grpc_call *call = grpc_ask(&client, BIGTABLE "MutateRows", &many.base);
    double took_s = (double)(base_monotonic_ns() - began_ns) / 1e9;
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    grpc_close(&client);
    return has_waited(before_s, took_s);
}

static bool a_write_waits(void *arg)
{
    (void)arg;
    put_large();
    double before_s = told_s();
    http_json(flooding.http, "PUT", "{'stats':{'a':'b'}}", "/v1/tables/devices/rows/small");
    ck_assert(flooding.http->status == 200 || flooding.http->status == 201);
    return has_waited(before_s, flooding.http->seconds);
}

static bool a_read_waits(void *arg)
{
    (void)arg;
    put_large();
    double before_s = told_s();
    http_get(flooding.http, "/v1/tables/devices/rows/small");
    ck_assert_str_eq(http_string(flooding.http, "/cells/stats/a/0/value"), "b");
    return has_waited(before_s, flooding.http->seconds);
}

static bool who_waits_goes(void *arg)
{
    (void)arg;
    put_large();
    curl_easy_setopt(flooding.http->curl, CURLOPT_TIMEOUT_MS, 20L);
    bool is_answered = http_try(flooding.http, "GET", "/v1/tables/devices/rows/put", SLICE_EMPTY);
    curl_easy_setopt(flooding.http->curl, CURLOPT_TIMEOUT_MS, 0L);
    http_reconnect(flooding.http);
    http_get(flooding.http, "/v1/tables/devices/rows/small");
    EXPECT_STATUS(flooding.http, 200);
    return !is_answered;
}

static struct {
    struct http *http;
    double before_s;
    _Atomic bool is_answered;
} late;

static void *late_thread(void *arg)
{
    static const char body[] = "{\"stats\":{\"q\":\"v\"}}";
    (void)arg;
    (void)http_try(late.http, "PUT", "/v1/tables/devices/rows/small", base_slice_text(body));
    atomic_store(&late.is_answered, true);
    return NULL;
}

static bool late_waits_or_is_answered(void *arg)
{
    (void)arg;
    return atomic_load(&late.is_answered) || told_s() > late.before_s;
}

/* A write was admitted and waits; then its key is revoked. Done all the same if its turn came
 * before that. */
static bool who_waits_is_revoked(void *arg)
{
    char key[WORLD_KEY], id[WORLD_ID];
    pthread_t thread;
    (void)arg;
    admin_create_key(flooding.op, "flooding", NULL, key, id);
    late.http = http_open(&server, HTTP_2, key);
    put_large();
    late.before_s = told_s();
    atomic_store(&late.is_answered, false);
    ck_assert_int_eq(pthread_create(&thread, NULL, late_thread, NULL), 0);
    process_await(late_waits_or_is_answered, NULL, "a write waits or is answered");
    http_delete(flooding.op, "/v1/admin/tenants/flooding/keys/%s", id);
    ck_assert(flooding.op->status == 200 || flooding.op->status == 204);
    (void)pthread_join(thread, NULL); /* made above */
    bool is_refused = late.http->status == 401;
    ck_assert(is_refused || late.http->status == 200);
    http_close(late.http);
    return is_refused;
}

static void small_begin(void)
{
    atomic_store(&small.stop, false);
    ck_assert_int_eq(pthread_create(&small.thread, NULL, small_thread, NULL), 0);
}

static void small_end(void)
{
    atomic_store(&small.stop, true);
    (void)pthread_join(small.thread, NULL); /* made in small_begin */
}

/* On a slow machine a small write takes long without a flood. Usual is the least: with the most,
 * after a pause of seconds each sync took as long. */
static double usual_seconds(void)
{
    double usual_s = 60;
    disk_heal(&disk);
    for (int i = 0; i < 10; i++) {
        tenant_put(quiet.http, "devices", "row", "stats", "q", "v");
        usual_s = quiet.http->seconds < usual_s ? quiet.http->seconds : usual_s;
    }
    return usual_s;
}

/* Tried again with what is usual then: where that was long because others used the disk, syncs are
 * so slow that the flood does too little to be limited. */
static bool flood_is_held(void *arg)
{
    (void)arg;
    disk_slow(&disk, SYNC_MS + (uint32_t)(LIM_OVERLOAD_TIMES * usual_seconds() * 1000));
    small_begin();
    begin_flood();
    uint64_t enough = atomic_load(&flood.whole) + ATTEMPT;
    bool is_held = false;
    while (!is_held && atomic_load(&flood.whole) < enough && atomic_load(&flood.other) == 0)
        is_held = told_s() >= HELD_S;
    end_flood();
    if (!is_held)
        small_end();
    return is_held || atomic_load(&flood.other) != 0;
}

/* Bulk writes of both protocols, single ones with a body, and reads. */
START_TEST(a_flood_waits_for_its_turn_and_is_not_sent_away)
{
    process_await(flood_is_held, NULL, "the flood is held");
    ck_assert_uint_gt(atomic_load(&flood.whole), 0);
    ck_assert_uint_eq(atomic_load(&flood.other), 0);
    process_await(a_write_waits, NULL, "a write waits");
    process_await(a_read_waits, NULL, "a read waits");
    process_await(many_wait, NULL, "MutateRows waits");
    process_await(who_waits_goes, NULL, "a client gives up while it waits");
    ck_assert_int_eq(admin_recount(flooding.op, "flooding").rows, LINES + 2 + ENTRIES);
    process_await(who_waits_is_revoked, NULL, "a key is revoked while a write waits");
    small_end();
}
END_TEST

/* --- a disk that does not keep up --------------------------------------------------------------
 */

static struct {
    _Atomic bool stop;
    _Atomic uint64_t done;
    _Atomic uint64_t other; /* any other answer */
    pthread_t puts, flushes;
} pressed;

/* On a machine that is so slow, a request waits as long as one may, and is refused then. */
static bool had_to_wait(uint64_t began_ns, uint64_t retry_ms)
{
    return (base_monotonic_ns() - began_ns) / 1000000 + retry_ms >= LIM_OVERLOAD_TURN_MS;
}

static uint64_t retry_ms_after(struct http *h)
{
    uint64_t seconds = 0;
    ck_assert_int_eq(base_parse_u64(base_slice_text(http_header(h, "retry-after")), &seconds),
                     ERR_OK);
    return seconds * 1000;
}

static void *puts_thread(void *arg)
{
    struct http *http = arg;
    struct buf body;
    base_buf_init(&body, MIB);
    (void)base_buf_printf(&body, "{\"raw\":{\"v\":\"%0*d\"}}", PRESSED_VALUE, 0); /* fits */
    while (!atomic_load(&pressed.stop)) {
        uint64_t began_ns = base_monotonic_ns();
        if (!http_try(http, "PUT", "/v1/tables/devices/rows/put", base_buf_slice(&body)))
            break;
        if (http->status / 100 == 2)
            atomic_fetch_add(&pressed.done, 1);
        else if (http->status != 503 || !had_to_wait(began_ns, retry_ms_after(http)))
            atomic_fetch_add(&pressed.other, 1);
    }
    base_buf_fini(&body);
    return NULL;
}

/* So many that writes are delayed, or stopped until one of them is flushed. */
static bool memtables_wait(void *arg)
{
    static const char series[] = "\nbigtent_memtables_waiting ";
    struct http *op = arg;
    http_get(op, "/metrics");
    const char *at = strstr(http_text(op), series);
    ck_assert_ptr_nonnull(at);
    return atomic_load(&pressed.stop) || at[sizeof series - 1] >= '3';
}

static void *flushes_thread(void *arg)
{
    while (!atomic_load(&pressed.stop)) {
        disk_hold_sync(&disk, ".sst", 0);
        process_await(memtables_wait, arg, "memtables that wait");
        disk_let_go(&disk);
    }
    return NULL;
}

struct counting {
    struct grpc_client client;
    uint64_t times;
};

static uint64_t retry_ms_of(const struct grpc_call *call)
{
    Rpc__Status *status = grpc_status_new(call);
    const ProtobufCBinaryData *detail = grpc_detail(status, "RetryInfo");
    ck_assert_ptr_nonnull(detail);
    Rpc__RetryInfo *info = rpc__retry_info__unpack(NULL, detail->len, detail->data);
    ck_assert_ptr_nonnull(info);
    uint64_t ms = (uint64_t)info->retry_delay->seconds * 1000 +
                  ((uint64_t)info->retry_delay->nanos + 999999) / 1000000;
    rpc__retry_info__free_unpacked(info, NULL);
    rpc__status__free_unpacked(status, NULL);
    return ms;
}

/* Until the engine has refused some write for pressure. */
static bool counts_under_pressure(void *arg)
{
    struct counting *c = arg;
    char table[TABLE_NAME];
    Bt__ReadModifyWriteRule rule = BT__READ_MODIFY_WRITE_RULE__INIT;
    Bt__ReadModifyWriteRule *rules[] = {&rule};
    Bt__ReadModifyWriteRowRequest request = BT__READ_MODIFY_WRITE_ROW_REQUEST__INIT;
    rule.family_name = (char *)(uintptr_t) "stats";
    rule.column_qualifier = binary("count");
    rule.rule_case = BT__READ_MODIFY_WRITE_RULE__RULE_INCREMENT_AMOUNT;
    rule.increment_amount = 1;
    request.table_name = table_name(table, &flooding);
    request.row_key = binary("counter");
    request.rules = rules;
    request.n_rules = 1;
    for (size_t i = 0; i < INCREMENTS; i++) {
        uint64_t began_ns = base_monotonic_ns();
        const struct grpc_call *call =
            grpc_ask(&c->client, BIGTABLE "ReadModifyWriteRow", &request.base);
        if (call->status == GW_STATUS_UNAVAILABLE && had_to_wait(began_ns, retry_ms_of(call)))
            continue;
        ck_assert_msg(call->status == GW_STATUS_OK, "increment %zu: %d %s", (size_t)c->times,
                      call->status, call->message);
        c->times++;
    }
    grpc_close(&c->client);
    grpc_open(&c->client, &server, flooding.key, 0);
    scrape(quiet.op);
    return scrape_seen("bigtent_queue_refusals_total{kind=\"write\",reason=\"pressure\"}") > 0;
}

START_TEST(who_sends_one_write_after_the_other_waits_for_the_disk)
{
    struct counting counting = {.times = 0};
    struct http *puts = http_open(&server, HTTP_2, flooding.key);
    grpc_open(&counting.client, &server, flooding.key, 0);
    small_begin();
    ck_assert_int_eq(pthread_create(&pressed.puts, NULL, puts_thread, puts), 0);
    ck_assert_int_eq(pthread_create(&pressed.flushes, NULL, flushes_thread, flooding.op), 0);
    process_await(counts_under_pressure, &counting, "a write that the engine refused for pressure");
    atomic_store(&pressed.stop, true);
    (void)pthread_join(pressed.flushes, NULL); /* made above, and the other */
    (void)pthread_join(pressed.puts, NULL);
    small_end();
    ck_assert_uint_gt(atomic_load(&pressed.done), 0);
    ck_assert_uint_eq(atomic_load(&pressed.other), 0);
    http_get(flooding.http, "/v1/tables/devices/cells/counter/stats/count");
    EXPECT_STATUS(flooding.http, 200);
    uint64_t sum;
    ck_assert_uint_eq(flooding.http->body.len, sizeof sum);
    memcpy(&sum, flooding.http->body.ptr, sizeof sum);
    ck_assert_uint_eq(be64toh(sum), counting.times); /* each was done once */
    grpc_close(&counting.client);
    http_close(puts);
}
END_TEST

Suite *suite_grpc_turns(void);
Suite *suite_grpc_turns(void)
{
    Suite *s = suite_create("grpc_turns");
    TCase *c = tcase_create("turns");
    tcase_set_timeout(c, 600);
    tcase_add_checked_fixture(c, set_up, tear_down);
    suite_add_tcase(s, c);
    tcase_add_test(c, a_flood_waits_for_its_turn_and_is_not_sent_away);
    c = tcase_create("pressure");
    tcase_set_timeout(c, 600);
    tcase_add_checked_fixture(c, set_up_small_memtables, tear_down);
    suite_add_tcase(s, c);
    tcase_add_test(c, who_sends_one_write_after_the_other_waits_for_the_disk);
    return s;
}

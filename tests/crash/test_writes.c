/*
 * tests/crash/test_writes.c - kill -9 under concurrent writers: what was acknowledged is there.
 *
 * Each writer owns its rows and writes them one request after the other, so that for every row
 * there is one acknowledged state and, at the moment of the kill, at most a list of writes nobody
 * heard of. After the restart a row must be in the acknowledged state or in one that a later
 * unacknowledged write would have made; its two columns always carry the same value; counters equal
 * a recount. ROUNDS says how often (default 20).
 */
#define _GNU_SOURCE
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "tests/support/random.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define BUSY            503 /* the status of a request that overload control refused */
#define TENANTS         3
#define WRITERS         6
#define ROWS_PER_WRITER 120
#define BULK_MAX        40
#define ACKS_LEAST      10 /* of each writer, before a kill */
#define ABSENT          0  /* the value of a row that is not there; values are unique, from 1 */
#define NEVER           UINT64_MAX
#define TORN            (UINT64_MAX - 1)

struct row {
    uint64_t acknowledged;
    uint64_t pending; /* NEVER: none */
};

struct writer {
    pthread_t thread;
    struct http *http;
    struct random dice;
    size_t number;
    size_t tenant;
    uint64_t next_value;
    struct row rows[ROWS_PER_WRITER];
    _Atomic uint64_t acks;
    uint64_t maybes;
    const char *wrong; /* an answer that should not have come */
    int wrong_status;
};

static const char *const IDS[TENANTS] = {"ab", "abc", "ab-"};
static struct server server;
static struct http *op;
static char keys[TENANTS][WORLD_KEY];
static struct writer writers[WRITERS];

#define PAD "................................................................................"

static int body_of(char *out, size_t size, uint64_t value)
{
    return snprintf(out, size, "{\"a\":{\"v\":\"%llu\"},\"b\":{\"v\":\"%llu\",\"pad\":\"%.*s\"}}",
                    (unsigned long long)value, (unsigned long long)value, (int)(value % 80), PAD);
}

/* --- one request at a time --------------------------------------------------------------------*/

static void settle(struct writer *w, struct row *row)
{
    row->acknowledged = row->pending;
    row->pending = NEVER;
    w->acks++;
}

/* Overload control refused it: nothing was done. */
static void refuse(struct row *row)
{
    row->pending = NEVER;
    process_sleep_ms(1);
}

/* Put, patch or delete one row; false when the server is gone. */
static bool write_one(struct writer *w)
{
    size_t n = random_below(&w->dice, ROWS_PER_WRITER);
    struct row *row = &w->rows[n];
    uint32_t kind = random_below(&w->dice, 5);
    char target[64], body[256];
    (void)snprintf(target, sizeof(target), "/v1/tables/t/rows/w%zu-%03zu", w->number, n);
    uint64_t value = kind == 0 ? ABSENT : w->next_value++;
    int len = body_of(body, sizeof(body), value);
    row->pending = value;
    bool answered = kind == 0 ? http_try(w->http, "DELETE", target, SLICE_EMPTY)
                              : http_try(w->http, kind < 3 ? "PUT" : "PATCH", target,
                                         base_slice(body, (size_t)len));
    if (!answered) {
        w->maybes++;
        return false;
    }
    if (w->http->status == BUSY) {
        refuse(row);
        return true;
    }
    if (w->http->status / 100 != 2) {
        w->wrong = kind == 0 ? "DELETE" : "PUT or PATCH";
        w->wrong_status = w->http->status;
        return false;
    }
    settle(w, row);
    return true;
}

/* Verdicts that arrived whole count, even when the stream broke off behind them; they come in the
 * order of the rows. Returns how many there are. */
static size_t settle_verdicts(struct writer *w, struct row *rows, size_t count)
{
    const char *at = (const char *)w->http->body.ptr;
    const char *end = at + w->http->body.len;
    size_t seen = 0;
    while (at != NULL && at < end && seen < count) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        if (eol == NULL)
            break;
        if (memmem(at, (size_t)(eol - at), "\"status\":20", 11) != NULL)
            settle(w, &rows[seen++]);
        else if (memmem(at, (size_t)(eol - at), "\"status\":503", 12) != NULL)
            refuse(&rows[seen++]);
        else if (memmem(at, (size_t)(eol - at), "\"status\":", 9) != NULL)
            w->wrong = ":write verdict";
        at = eol + 1;
    }
    return seen;
}

static bool write_many(struct writer *w)
{
    size_t first = random_below(&w->dice, ROWS_PER_WRITER - BULK_MAX);
    size_t count = 1 + random_below(&w->dice, BULK_MAX);
    struct buf lines;
    base_buf_init(&lines, 64 * 1024);
    for (size_t i = 0; i < count; i++) {
        uint32_t kind = random_below(&w->dice, 5);
        char body[256];
        w->rows[first + i].pending = kind == 0 ? ABSENT : w->next_value++;
        (void)body_of(body, sizeof(body), w->rows[first + i].pending);
        (void)base_buf_printf(&lines, "{\"key\":\"w%zu-%03zu\",\"op\":\"%s\"%s%s}\n", w->number,
                              first + i,
                              kind == 0  ? "delete"
                              : kind < 3 ? "put"
                                         : "patch",
                              kind == 0 ? "" : ",\"cells\":", kind == 0 ? "" : body);
    }
    http_once(w->http, "Content-Type: application/x-ndjson");
    bool answered = http_try(w->http, "POST", "/v1/tables/t:write", base_buf_slice(&lines));
    base_buf_fini(&lines);
    if (answered && w->http->status == BUSY) {
        for (size_t i = 0; i < count; i++)
            refuse(&w->rows[first + i]);
        return true;
    }
    size_t seen = settle_verdicts(w, &w->rows[first], count);
    w->maybes += count - seen;
    if (answered && (w->http->status != 200 || seen != count)) {
        w->wrong = ":write";
        w->wrong_status = w->http->status;
    }
    return answered && w->wrong == NULL;
}

static void *write_until_gone(void *arg)
{
    struct writer *w = arg;
    bool up = true;
    while (up)
        up = random_below(&w->dice, 4) == 0 ? write_many(w) : write_one(w);
    return NULL;
}

/* --- looking ---------------------------------------------------------------------------------- */

static uint64_t value_at(const json_t *row, const char *path)
{
    json_t *newest = json_at((json_t *)(uintptr_t)row, path);
    uint64_t value = 0;
    ck_assert_msg(json_is_string(newest), "no %s in a row", path);
    ck_assert_int_eq(base_parse_u64(base_slice_text(json_string_value(newest)), &value), ERR_OK);
    return value;
}

/* The value of a row in the server, ABSENT without one, TORN when its columns disagree. */
static uint64_t value_of(const json_t *row)
{
    if (row == NULL)
        return ABSENT;
    uint64_t a = value_at(row, "/cells/a/v/0/value");
    uint64_t b = value_at(row, "/cells/b/v/0/value");
    const char *pad = json_string_value(json_at((json_t *)(uintptr_t)row, "/cells/b/pad/0/value"));
    return a == b && pad != NULL && strlen(pad) == a % 80 ? a : TORN;
}

/* All rows of a tenant, by key. The caller decrefs. */
static json_t *rows_new(struct http *h)
{
    json_t *all = json_object();
    http_once(h, "Accept: application/x-ndjson");
    http_get(h, "/v1/tables/t/rows");
    EXPECT_STATUS(h, 200);
    const char *at = (const char *)h->body.ptr;
    const char *end = at + h->body.len;
    while (at != NULL && at < end) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        ck_assert_ptr_nonnull(eol);
        json_t *row = json_loadb(at, (size_t)(eol - at), 0, NULL);
        ck_assert_ptr_nonnull(row);
        json_object_set_new(all, json_string_value(json_at(row, "/key")), row);
        at = eol + 1;
    }
    return all;
}

struct findings {
    size_t lost;
    size_t torn;
    char example[256];
};

/* Compare the rows of a writer with what is there, and go on from what is there. */
static void check_writer(struct writer *w, const json_t *all, struct findings *found)
{
    for (size_t n = 0; n < ROWS_PER_WRITER; n++) {
        char key[32];
        struct row *row = &w->rows[n];
        (void)snprintf(key, sizeof(key), "w%zu-%03zu", w->number, n);
        uint64_t there = value_of(json_object_get(all, key));
        bool fine = there == row->acknowledged || there == row->pending;
        found->torn += there == TORN;
        found->lost += there != TORN && !fine;
        if (!fine)
            (void)snprintf(
                found->example, sizeof(found->example),
                "row %s of %s: %llu was acknowledged, %llu was on its way, %lld is there", key,
                IDS[w->tenant], (unsigned long long)row->acknowledged,
                (unsigned long long)row->pending, (long long)there);
        row->acknowledged = there; /* what is there after a restart stays */
        row->pending = NEVER;
    }
}

/* Every row of every tenant, and the counters. */
struct counts {
    struct http *http;
    const char *tenant;
    struct usage counted; /* drift 0 */
    struct usage used;
};

/* The sweeper may take old versions between the two questions: they are asked until it is done. */
static bool counts_agree(void *arg)
{
    struct counts *c = arg;
    c->counted = admin_recount(op, c->tenant);
    c->used = tenant_usage(c->http);
    return c->used.bytes == c->counted.bytes;
}

static struct findings look(void)
{
    struct findings found = {0, 0, ""};
    for (size_t t = 0; t < TENANTS; t++) {
        struct http *h = http_open(&server, HTTP_2, keys[t]);
        json_t *all = rows_new(h);
        size_t expected = 0;
        for (size_t i = 0; i < WRITERS; i++) {
            if (writers[i].tenant != t)
                continue;
            check_writer(&writers[i], all, &found);
            for (size_t n = 0; n < ROWS_PER_WRITER; n++)
                expected += writers[i].rows[n].acknowledged != ABSENT;
        }
        ck_assert_uint_eq(json_object_size(all), expected);
        json_decref(all);
        struct counts c = {h, IDS[t], {0, 0, 0}, {0, 0, 0}};
        process_await(counts_agree, &c, "usage that equals its recount");
        ck_assert_int_eq(c.counted.rows, (int64_t)expected);
        EXPECT_USAGE(c.used, c.counted.bytes, c.counted.rows, c.counted.cells);
        http_close(h);
    }
    return found;
}

/* --- rounds ------------------------------------------------------------------------------------*/

static void set_up(void)
{
    server_create(&server);
    server_start(&server, NULL);
    op = http_open(&server, HTTP_2, server.operator_key);
    for (size_t t = 0; t < TENANTS; t++) {
        admin_create_tenant(op, IDS[t]);
        admin_create_key(op, IDS[t], NULL, keys[t], NULL);
        struct http *h = http_open(&server, HTTP_2, keys[t]);
        http_json(h, "PUT",
                  "{'families':{'a':{'gc':{'max_versions':1}},'b':{'gc':{'max_versions':1}}}}",
                  "/v1/tables/t");
        EXPECT_STATUS(h, 201);
        http_close(h);
    }
    for (size_t i = 0; i < WRITERS; i++) {
        struct writer *w = &writers[i];
        memset(w, 0, sizeof(*w));
        w->number = i;
        w->tenant = i % TENANTS;
        w->next_value = 1 + i * 1000000000u;
        w->http = http_open(&server, HTTP_2, keys[w->tenant]);
        for (size_t n = 0; n < ROWS_PER_WRITER; n++)
            w->rows[n].pending = NEVER;
    }
}

/* The same question asked of the data directory itself. */
static void check_offline(void)
{
    static struct process_result result;
    char program[PROCESS_PATH];
    process_program("bigtentd", program);
    const char *argv[] = {program, "check", "--data", server.data, NULL};
    process_run(argv, NULL, 60000, &result);
    ck_assert_msg(result.exit_code == 0, "DATA: bigtentd check: exit %d: %s", result.exit_code,
                  result.output);
}

static void tear_down(void)
{
    for (size_t i = 0; i < WRITERS; i++)
        http_close(writers[i].http);
    http_close(op);
    server_kill(&server);
    check_offline();
    server_start(&server, NULL);
    server_stop(&server);
    server_remove(&server);
}

static bool all_have_written(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < WRITERS; i++)
        if (atomic_load(&writers[i].acks) < ACKS_LEAST)
            return false;
    return true;
}

/* Writers have written something, and run for run_ms more, when the server is killed under them and
 * started again. */
static void crash_once(int run_ms)
{
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i].wrong = NULL;
        http_reconnect(writers[i].http);
        ck_assert_int_eq(pthread_create(&writers[i].thread, NULL, write_until_gone, &writers[i]),
                         0);
    }
    process_await(all_have_written, NULL, "acknowledgements of each writer");
    process_sleep_ms(run_ms);
    server_kill(&server);
    for (size_t i = 0; i < WRITERS; i++)
        (void)pthread_join(writers[i].thread, NULL);
    for (size_t i = 0; i < WRITERS; i++)
        ck_assert_msg(writers[i].wrong == NULL, "writer %zu: %s was answered with %d: %s", i,
                      writers[i].wrong, writers[i].wrong_status, http_text(writers[i].http));
    server_start(&server, NULL);
    http_reconnect(op);
    struct findings found = look();
    ck_assert_msg(found.lost == 0 && found.torn == 0, "DATA: %zu lost, %zu torn; %s", found.lost,
                  found.torn, found.example);
}

START_TEST(acknowledged_writes_survive_kill_9)
{
    struct random dice = {base_monotonic_ns()};
    long rounds = process_env_number("ROUNDS", 20);
    uint64_t acks = 0;
    uint64_t maybes = 0;
    for (long round = 1; round <= rounds; round++) {
        uint64_t started = base_monotonic_ns();
        int run_ms = 50 + (int)random_below(&dice, 600);
        /* every other server flushes and compacts all the time */
        server.options[0] = round % 2 == 0 ? "--memtable-mb" : NULL;
        server.options[1] = "1";
        crash_once(run_ms);
        uint64_t round_acks = 0;
        uint64_t round_maybes = 0;
        for (size_t i = 0; i < WRITERS; i++) {
            round_acks += writers[i].acks;
            round_maybes += writers[i].maybes;
            writers[i].acks = writers[i].maybes = 0;
        }
        (void)printf(
            "crash: round %ld of %ld, killed after %d ms, %llu writes acknowledged, %llu on "
            "their way, 0 lost, 0 torn, drift 0, %.2f s\n",
            round, rounds, run_ms, (unsigned long long)round_acks, (unsigned long long)round_maybes,
            (double)(base_monotonic_ns() - started) / 1e9);
        (void)fflush(stdout);
        acks += round_acks;
        maybes += round_maybes;
    }
    (void)printf("crash: %ld rounds, %llu acknowledged, %llu on their way, 0 lost\n", rounds,
                 (unsigned long long)acks, (unsigned long long)maybes);
    ck_assert_uint_ge(acks, (uint64_t)rounds * WRITERS * ACKS_LEAST);
}
END_TEST

/* The look that finds nothing must be able to find something. */
START_TEST(a_lost_or_torn_write_would_be_noticed)
{
    crash_once(200);
    struct writer *w = &writers[0];
    size_t n = 0;
    while (n < ROWS_PER_WRITER && w->rows[n].acknowledged == ABSENT)
        n++;
    ck_assert_uint_lt(n, ROWS_PER_WRITER);
    w->rows[n].acknowledged = 999999999;
    struct findings found = look();
    ck_assert_uint_eq(found.lost, 1);
    ck_assert_uint_eq(found.torn, 0);
    http_reconnect(w->http);
    http_json(w->http, "PATCH", "{'a':{'v':'77'}}", "/v1/tables/t/rows/w0-%03zu", n);
    EXPECT_STATUS(w->http, 200);
    found = look();
    ck_assert_uint_eq(found.torn, 1);
}
END_TEST

Suite *suite_crash_writes(void);
Suite *suite_crash_writes(void)
{
    Suite *s = suite_create("crash_writes");
    TCase *tc = tcase_create("writes");
    tcase_set_timeout(tc, (double)(60 + process_env_number("ROUNDS", 20) * 5));
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, acknowledged_writes_survive_kill_9);
    tcase_add_test(tc, a_lost_or_torn_write_would_be_noticed);
    suite_add_tcase(s, tc);
    return s;
}

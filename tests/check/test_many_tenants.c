/*
 * tests/check/test_many_tenants.c - 100,000 tenants on one server: made, listed, used, billed,
 * restarted.
 *
 * They are made through the registry in this process, each with a plan and a key, on the memory
 * file system where there is one: each is an fsync, and how long one takes is the disk's affair
 * (make bench measures that). Then a real server serves the directory.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "gateway/store.h"
#include "tenancy/metering.h"
#include "tests/support/memory.h"
#include "tests/support/scrape.h"
#include "tests/support/world.h"

#include "base/banned.h"

Suite *suite_check_many_tenants(void);

enum { TENANTS = 100000, KEPT = 50, OVER_HTTP = 300, PAGE = 10000 };

/* The goals are a start in 2 s, 2048 bytes each, and one more made in 5 ms. Memory is asserted: it
 * is 2.4 KB since each tenant has lines of its own at the control thread and at the API's helper
 * (docs/decisions/0053). No time is: bounds are 5 and 20 times the goal, and several times what
 * was seen where there is none, all times the run's patience, so that a busy machine passes. They
 * find what grows with the square of the tenants; whether a goal of time is met, only who reads
 * the printed numbers on a quiet machine knows. The last start, with bills of all, is printed and
 * has no bound. */
#define START_MS_MAX     10000
#define TENANT_BYTES     2560
#define CREATE_MS_MAX    100
#define PLAN_MS_MAX      3000
#define LIST_PAGE_MS_MAX 3000
#define FLUSH_MS_MAX     20000
#define SCRAPE_MS_MAX    2000
#define READ_P99_MS_MAX  250

static struct server server;
static struct http *op;
static int reads_of_first;                 /* by read_for */
static char kept[KEPT][AUTH_KEY_TEXT + 1]; /* keys of tenants 0, TENANTS / KEPT, ... */

static double now_ms(void)
{
    return (double)base_monotonic_ns() / 1e6;
}

static void tenant_id(int n, char out[32])
{
    (void)snprintf(out, 32, "t%05d", n);
}

struct making {
    struct gw_store *store;
    struct errbuf eb;
    enum err rc;
};

static enum err make_one(struct gw_store *store, int n, struct errbuf *eb)
{
    char id[32], text[AUTH_KEY_TEXT + 1];
    struct ten_tenant *t = NULL;
    struct ten_tenant_wanted wanted = {.plan = SLICE_LIT("basic")};
    tenant_id(n, id);
    enum err rc = ten_tenant_create(store->registry, base_slice_text(id), &wanted, &t, eb);
    if (rc != ERR_OK)
        return rc;
    struct auth_key_wanted key = {.kind = AUTH_TENANT, .tenant = t, .scopes = AUTH_SCOPES_TENANT};
    rc = auth_key_create(store->keyring, &key, text, eb);
    if (rc == ERR_OK && n % (TENANTS / KEPT) == 0)
        memcpy(kept[n / (TENANTS / KEPT)], text, sizeof text);
    return rc;
}

static void make_all(void *ctx)
{
    struct making *m = ctx;
    struct ten_quota quota;
    struct ten_plan *plan = NULL;
    ten_quota_default(&quota);
    m->rc =
        ten_plan_put(m->store->registry, SLICE_LIT("basic"), SLICE_EMPTY, &quota, &plan, &m->eb);
    for (int i = 0; m->rc == ERR_OK && i < TENANTS; i++)
        m->rc = make_one(m->store, i * 7919 % TENANTS, &m->eb); /* in no order */
}

/* Each has done something; all bills at once, as at the turn of an hour. */
static void bill_all(void *ctx)
{
    struct making *m = ctx;
    for (int i = 0; i < TENANTS; i++) {
        char id[32];
        tenant_id(i, id);
        ten_meter_add(ten_tenant_find(m->store->registry, base_slice_text(id)), TEN_METER_READ_OPS,
                      1);
    }
    double began = now_ms();
    m->rc = ten_metering_flush(m->store->registry, base_wall_us(), &m->eb);
    double took = now_ms() - began;
    (void)printf("many tenants: bills of %d that did something are flushed at once in %.0f ms\n",
                 TENANTS, took);
    ck_assert_msg(took < FLUSH_MS_MAX * process_patience(), "%.0f ms", took);
}

static void make_tenants(void)
{
    struct mig_datadir dir;
    struct sto_rocksdb_options options;
    struct gw_store store;
    struct making m = {.store = &store};
    sto_rocksdb_options_default(&options);
    ck_assert_int_eq(mig_datadir_open(server.data, &dir, &m.eb), ERR_OK);
    ck_assert_msg(gw_store_open(&store, &dir, NULL, &options, &m.eb) == ERR_OK, "%s", m.eb.text);
    double start = now_ms();
    gw_store_on_control(&store, make_all, &m);
    ck_assert_msg(m.rc == ERR_OK, "%s", m.eb.text);
    (void)printf("many tenants: %d made in %.1f s\n", TENANTS, (now_ms() - start) / 1e3);
    gw_store_on_control(&store, bill_all, &m);
    ck_assert_msg(m.rc == ERR_OK, "%s", m.eb.text);
    gw_store_close(&store);
    mig_datadir_close(&dir);
}

/* Starts the server; returns its memory when it is ready. */
static uint64_t start(double *out_ms)
{
    double began = now_ms();
    server_start(&server, NULL);
    *out_ms = now_ms() - began;
    op = http_open(&server, HTTP_2, server.operator_key);
    curl_easy_setopt(op->curl, CURLOPT_TIMEOUT, 60L);
    http_get(op, "/readyz");
    EXPECT_STATUS(op, 200);
    return memory_of(server.pid);
}

static void stop(void)
{
    http_close(op);
    op = NULL;
    server_stop(&server);
}

static void set_up(void)
{
    if (access("/dev/shm", W_OK) == 0)
        ck_assert_int_eq(setenv("TMPDIR", "/dev/shm", 1), 0);
    server_create(&server);
}

static void tear_down(void)
{
    server_remove(&server);
}

/* --- what is done with them ------------------------------------------------------------------- */

static size_t list_all(const char *order)
{
    char token[512] = "", last[64] = "";
    size_t count = 0;
    for (int pages = 0; pages <= TENANTS / PAGE + 1; pages++) {
        double began = now_ms();
        http_get(op, "/v1/admin/tenants?limit=%d&order=%s%s%s", PAGE, order,
                 pages > 0 ? "&page_token=" : "", token);
        EXPECT_STATUS(op, 200);
        double took = now_ms() - began;
        ck_assert_msg(took < LIST_PAGE_MS_MAX * process_patience(), "a page took %.0f ms", took);
        const json_t *tenants = http_at(op, "/tenants");
        for (size_t i = 0; i < json_array_size(tenants); i++) {
            const char *id = json_string_value(json_object_get(json_array_get(tenants, i), "id"));
            if (strcmp(order, "id") == 0)
                ck_assert_msg(strcmp(last, id) < 0, "%s behind %s", id, last);
            (void)snprintf(last, sizeof last, "%s", id);
        }
        count += json_array_size(tenants);
        const json_t *next = http_at(op, "/next_page_token");
        if (next == NULL)
            return count;
        (void)snprintf(token, sizeof token, "%s", json_string_value(next));
    }
    ck_abort_msg("the list has no end");
}

static void use_some(const char *value, bool first)
{
    for (int i = 0; i < KEPT; i++) {
        struct http *h = http_open(&server, HTTP_2, kept[i]);
        if (first) {
            http_json(h, "PUT", "{'families':{'f':{}}}", "/v1/tables/t");
            EXPECT_STATUS(h, 201);
        } else {
            http_get(h, "/v1/tables/t/rows/r");
            EXPECT_STATUS(h, 200);
        }
        tenant_put(h, "t", "r", "f", "q", value);
        uint64_t cells = first ? 1 : 2; /* another version of the same column */
        EXPECT_USAGE(tenant_usage(h), cells * (3 + strlen(value) + 8), 1, cells);
        http_close(h);
    }
}

/* --- all of them at work -----------------------------------------------------------------------
 */

/* One request of each. */
static void use_all(void)
{
    enum { AT_ONCE = 100 };
    static struct http_call calls[AT_ONCE];
    static char headers[AT_ONCE][64];
    const char *own[AT_ONCE];
    char key[WORLD_KEY];
    admin_create_global_key(op, "service", key, NULL);
    struct http *h = http_open(&server, HTTP_2, key);
    double began = now_ms();
    for (int first = 0; first < TENANTS; first += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++) {
            (void)snprintf(headers[i], sizeof headers[i], "Bigtent-Tenant: t%05d", first + i);
            own[i] = headers[i];
            calls[i] = (struct http_call){.method = "GET", .target = "/v1/usage"};
        }
        http_send_all_with(h, calls, own, AT_ONCE);
        for (int i = 0; i < AT_ONCE; i++)
            ck_assert_int_eq(calls[i].status, 200);
    }
    (void)printf("many tenants: a request of each takes %.1f s\n", (now_ms() - began) / 1e3);
    http_close(h);
}

static int compare_ms(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* One request at a time for so long; prints what they took. */
static void read_for(double ms, const char *meanwhile)
{
    enum { READS_MAX = 100000, PAUSE_US = 500 };
    static double took[READS_MAX];
    size_t count = 0;
    struct http *h = http_open(&server, HTTP_2, kept[0]);
    for (double began = now_ms(); now_ms() - began < ms && count < READS_MAX; count++) {
        double before = now_ms();
        http_get(h, "/v1/tables/t/rows/r");
        EXPECT_STATUS(h, 200);
        took[count] = now_ms() - before;
        reads_of_first++;
        (void)usleep(PAUSE_US);
    }
    http_close(h);
    qsort(took, count, sizeof took[0], compare_ms);
    double p99 = took[count * 99 / 100];
    (void)printf("many tenants: %s a read takes %.2f ms, p99 %.2f, at most %.2f\n", meanwhile,
                 took[count / 2], p99, took[count - 1]);
    ck_assert_msg(p99 < READ_P99_MS_MAX * process_patience(), "%s: %.1f ms", meanwhile, p99);
}

static void scrape_all(void)
{
    double began = now_ms();
    scrape(op);
    double took = now_ms() - began;
    size_t names = 0;
    for (const char *at = scrape_page(); (at = strstr(at, "\nbigtent_tenant_stored_rows{")) != NULL;
         at++)
        names++;
    (void)printf("many tenants: a scrape with %d active ones takes %.0f ms and has %zu bytes\n",
                 TENANTS, took, strlen(scrape_page()));
    ck_assert_uint_eq(names, LIM_METRICS_TENANTS);
    ck_assert_uint_eq(scrape_seen("bigtent_tenants_seen"), TENANTS);
    ck_assert_uint_eq(scrape_seen("bigtent_tenants_left_out"), TENANTS - LIM_METRICS_TENANTS);
    ck_assert_msg(took < SCRAPE_MS_MAX * process_patience(), "%.0f ms", took);
}

/* --- bills -------------------------------------------------------------------------------------
 */

struct billed {
    json_int_t read_ops;
    json_int_t write_ops;
    json_int_t other_ops;
    json_int_t refusals;
    json_int_t stored_bytes; /* of the last line */
};

static struct billed billed[TENANTS];

static json_int_t number_of(const json_t *line, const char *name)
{
    const json_t *value = json_object_get(line, name);
    ck_assert(json_is_integer(value));
    return json_integer_value(value);
}

static void add_line(const json_t *line)
{
    const char *id = json_string_value(json_object_get(line, "tenant"));
    size_t n = 0;
    ck_assert(id != NULL && id[0] == 't' && strlen(id) == 6); /* others did nothing */
    for (const char *digit = id + 1; *digit != '\0'; digit++)
        n = n * 10 + (size_t)(*digit - '0');
    ck_assert_uint_lt(n, TENANTS);
    billed[n].read_ops += number_of(line, "read_ops");
    billed[n].write_ops += number_of(line, "write_ops");
    billed[n].other_ops += number_of(line, "other_ops");
    billed[n].refusals += number_of(line, "refusals");
    billed[n].stored_bytes = number_of(line, "stored_bytes");
}

/* Of the last 24 hours, which may be two lines of a tenant. */
static void read_bills(void)
{
    double began = now_ms();
    memset(billed, 0, sizeof billed);
    http_get(op, "/v1/admin/metering");
    EXPECT_STATUS(op, 200);
    double took = now_ms() - began;
    const char *at = (const char *)op->body.ptr, *end = at + op->body.len;
    size_t lines = 0;
    for (const char *next; at < end; at = next + 1, lines++) {
        next = memchr(at, '\n', (size_t)(end - at));
        ck_assert_ptr_nonnull(next);
        json_t *line = json_loadb(at, (size_t)(next - at), 0, NULL);
        ck_assert_ptr_nonnull(line);
        add_line(line);
        json_decref(line);
    }
    (void)printf("many tenants: %zu bills are read in %.0f ms\n", lines, took);
}

/* So often each of all, and each of those that are kept, did it. */
struct done {
    int others_of_all;
    int reads, writes, others;
    size_t bytes;
    bool reads_of_first; /* have all come to an end, and to a bill */
};

static void expect_bills(const struct done *d)
{
    read_bills();
    for (int i = 0; i < TENANTS; i++) {
        bool is_kept = i % (TENANTS / KEPT) == 0;
        const struct billed *b = &billed[i];
        if (i > 0 || d->reads_of_first)
            ck_assert_int_eq(b->read_ops,
                             1 + (is_kept ? d->reads : 0) + (i == 0 ? reads_of_first : 0));
        ck_assert_int_eq(b->write_ops, is_kept ? d->writes : 0);
        ck_assert_int_eq(b->other_ops, d->others_of_all + (is_kept ? d->others : 0));
        ck_assert_int_eq(b->refusals, 0);
        ck_assert_uint_eq((uint64_t)b->stored_bytes, is_kept ? d->bytes : 0);
    }
}

/* --- made one by one, and changed together -----------------------------------------------------
 */

static void make_over_http(void)
{
    double began = now_ms();
    for (int i = 0; i < OVER_HTTP; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "http%d", i);
        admin_create_tenant(op, id);
    }
    double each = (now_ms() - began) / OVER_HTTP;
    (void)printf("many tenants: one more over HTTP takes %.2f ms\n", each);
    ck_assert_msg(each < CREATE_MS_MAX * process_patience(), "%.1f ms", each);
}

static void change_the_plan_of_all(void)
{
    double began = now_ms();
    http_json(op, "PUT", "{'quota':{'rows':12345}}", "/v1/admin/plans/basic");
    EXPECT_STATUS(op, 200);
    double took = now_ms() - began;
    ck_assert_int_eq(http_number(op, "/tenants"), TENANTS);
    (void)printf("many tenants: a plan of %d is changed in %.1f ms\n", TENANTS, took);
    ck_assert_msg(took < PLAN_MS_MAX * process_patience(), "%.0f ms", took);
    http_get(op, "/v1/admin/tenants/t%05d", TENANTS - 1);
    ck_assert_int_eq(http_number(op, "/quota/rows"), 12345);
}

START_TEST(a_hundred_thousand_tenants_cost_little_and_start_soon)
{
    struct done all = {.others_of_all = 1, .reads = 1, .writes = 2, .others = 3, .bytes = 28};
    double empty_ms, full_ms;
    uint64_t before = start(&empty_ms);
    stop();
    make_tenants();
    uint64_t after = start(&full_ms);
    double each = ((double)after - (double)before) / TENANTS;
    (void)printf("many tenants: start takes %.0f ms (%.0f ms without any), %.0f bytes each\n",
                 full_ms, empty_ms, each);
    ck_assert_msg(each < TENANT_BYTES, "%.0f bytes each", each);
    ck_assert_msg(full_ms < START_MS_MAX * process_patience(), "%.0f ms", full_ms);
    ck_assert_uint_eq(list_all("id"), TENANTS);
    ck_assert_uint_eq(list_all("-created"), TENANTS);
    use_some("one", true);
    make_over_http();
    change_the_plan_of_all();
    stop();
    (void)start(&full_ms);
    ck_assert_msg(full_ms < START_MS_MAX * process_patience(), "%.0f ms", full_ms);
    expect_bills(&(struct done){.writes = 1, .others = 2, .bytes = 14}); /* its table, its usage */
    use_some("two", false);
    ck_assert_uint_eq(list_all("-bytes"), TENANTS + OVER_HTTP);
    use_all();
    scrape_all();
    read_for(TEN_METERING_FLUSH_MS * 1.5, "while bills of all are flushed");
    expect_bills(&all); /* none of the bills waits for an end in order */
    read_for(3000, "afterwards");
    stop();
    (void)start(&full_ms);
    all.reads_of_first = true;
    (void)printf("many tenants: start with bills of all takes %.0f ms\n", full_ms);
    expect_bills(&all);
    stop();
}
END_TEST

Suite *suite_check_many_tenants(void)
{
    Suite *s = suite_create("check_many_tenants");
    TCase *c = tcase_create("many");
    tcase_set_timeout(c, 1200);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, a_hundred_thousand_tenants_cost_little_and_start_soon);
    suite_add_tcase(s, c);
    return s;
}

/*
 * tests/api/test_offboard.c - a departed tenant is gone, provably, and its ID never comes back.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "tests/support/random.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

#define ROW "/v1/tables/devices/rows/"

static void fill(struct http *h, const char *value, int count)
{
    struct buf body;
    base_buf_init(&body, 16 * MIB);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(
            base_buf_printf(&body, "{\"key\":\"row%05d\",\"cells\":{\"raw\":{\"v\":\"%s\"}}}\n", i,
                            value),
            ERR_OK);
    http_once(h, "Content-Type: application/x-ndjson");
    http_bytes(h, "POST", base_buf_slice(&body), "/v1/tables/devices:write");
    EXPECT_STATUS(h, 200);
    base_buf_fini(&body);
}

static void expect_zero_audit(struct http *op, int64_t rows_before)
{
    ck_assert_int_eq(http_number(op, "/audit/physical_keys"), 0);
    ck_assert_int_eq(http_number(op, "/audit/live_files_inside"), 0);
    ck_assert_int_eq(http_number(op, "/audit/counters"), 0);
    ck_assert_int_gt(http_number(op, "/audit/sequence"), 0);
    ck_assert_int_eq(http_number(op, "/usage_before/rows"), rows_before);
    ck_assert_int_gt(http_number(op, "/audit_before/physical_keys"), 0);
    char key_id[13];
    (void)snprintf(key_id, sizeof(key_id), "%.12s", op->server->operator_key + 4);
    ck_assert_str_eq(http_string(op, "/requested_by"), key_id);
    ck_assert_uint_eq(http_count(op, "/steps"), 8);
    for (int i = 0; i < 8; i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "/steps/%d/done", i);
        json_t *done = http_at(op, path);
        ck_assert_msg(done != NULL && !json_is_null(done) && !json_is_false(done),
                      "step %d is not done", i);
    }
}

START_TEST(offboarding_runs_to_done_with_nothing_left)
{
    world_init(&w, (enum http_version)_i);
    struct world neighbour;
    world_init(&neighbour, (enum http_version)_i);
    fill(w.http, "departing", 3000);
    fill(neighbour.http, "staying", 3000);
    struct usage before = tenant_usage(neighbour.http);

    admin_offboard(w.op, w.tenant);
    expect_zero_audit(w.op, 3000);
    char job[WORLD_ID];
    (void)snprintf(job, sizeof(job), "%s", http_string(w.op, "/id"));
    ck_assert_str_eq(http_string(w.op, "/tenant"), w.tenant);
    http_get(w.op, "/v1/admin/jobs");
    EXPECT_STATUS(w.op, 200);
    ck_assert_ptr_nonnull(strstr((const char *)http_text(w.op), job));
    http_get(w.op, "/v1/admin/tenants/%s", w.tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/state"), "purged");
    ck_assert_int_eq(http_number(w.op, "/usage/stored_bytes"), 0);
    ck_assert_str_eq(http_string(w.op, "/job"), job);

    struct usage after = tenant_usage(neighbour.http);
    EXPECT_USAGE(after, before.bytes, before.rows, before.cells);
    EXPECT_USAGE(admin_recount(w.op, neighbour.tenant), before.bytes, before.rows, before.cells);
    world_fini(&neighbour);
}
END_TEST

START_TEST(everything_of_a_gone_tenant_answers_410)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "1");
    http_get(w.op, "/v1/admin/tenants/%s/keys", w.tenant);
    ck_assert_uint_eq(http_count(w.op, "/keys"), 1);
    admin_offboard(w.op, w.tenant);
    http_get(w.op, "/v1/admin/tenants/%s/keys", w.tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_uint_eq(http_count(w.op, "/keys"), 0);
    static const struct {
        const char *method;
        const char *target;
        const char *body;
    } routes[] = {{"GET", ROW "k", NULL},
                  {"PUT", ROW "k", "{'stats':{'q':'1'}}"},
                  {"PATCH", ROW "k", "{'stats':{'q':'1'}}"},
                  {"DELETE", ROW "k", NULL},
                  {"GET", "/v1/tables/devices/rows", NULL},
                  {"GET", "/v1/tables", NULL},
                  {"GET", "/v1/tables/devices", NULL},
                  {"PUT", "/v1/tables/devices", "{'families':{'f':{}}}"},
                  {"DELETE", "/v1/tables/devices", NULL},
                  {"GET", "/v1/tables/devices/cells/k/stats/q", NULL},
                  {"DELETE", "/v1/tables/devices/cells/k/stats/q", NULL},
                  {"POST", "/v1/tables/devices:drop", "{'all':true}"},
                  {"GET", "/v1/usage", NULL}};
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        http_send(w.http, routes[i].method, routes[i].target,
                  routes[i].body != NULL ? quoted(routes[i].body) : SLICE_EMPTY);
        const char *mismatch = http_problem_mismatch(w.http, 410, "gone");
        ck_assert_msg(mismatch == NULL, "%s %s: %s", routes[i].method, routes[i].target, mismatch);
    }
}
END_TEST

/* In its grace period, a second request makes it deep. */
START_TEST(a_deep_search_reads_every_table)
{
    char job[64];
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "1");
    http_json(w.op, "POST", "{'confirm':true,'deep':1}", "/v1/admin/tenants/%s:offboard", w.tenant);
    EXPECT_PROBLEM(w.op, 400, "invalid");
    http_value_take(w.op, "POST", json_pack("{s:s, s:s}", "confirm", w.tenant, "grace", "600s"),
                    "/v1/admin/tenants/%s:offboard", w.tenant);
    EXPECT_STATUS(w.op, 202);
    http_value_take(w.op, "POST",
                    json_pack("{s:s, s:s, s:b}", "confirm", w.tenant, "grace", "700s", "deep", 1),
                    "/v1/admin/tenants/%s:offboard", w.tenant);
    EXPECT_STATUS(w.op, 202);
    http_value_take(w.op, "POST", json_pack("{s:s}", "confirm", w.tenant),
                    "/v1/admin/tenants/%s:offboard", w.tenant);
    EXPECT_STATUS(w.op, 202);
    (void)snprintf(job, sizeof job, "%s", http_string(w.op, "/job"));
    admin_await_job(w.op, job);
    ck_assert(json_is_true(http_at(w.op, "/search_before/deep")));
    ck_assert(json_is_true(http_at(w.op, "/search/deep")));
    ck_assert_int_eq(http_number(w.op, "/search/listed_files"), 0);
    ck_assert_int_eq(http_number(w.op, "/search/listed_bytes"), 0);
}
END_TEST

START_TEST(an_id_is_never_used_again)
{
    world_init(&w, (enum http_version)_i);
    admin_offboard(w.op, w.tenant);
    http_value_take(w.op, "POST", json_pack("{s:s}", "id", w.tenant), "/v1/admin/tenants");
    EXPECT_PROBLEM(w.op, 409, "exists");
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s:resume", w.tenant);
    ck_assert_msg(w.op->status == 409 || w.op->status == 410, "%d", w.op->status);
    http_json(w.op, "POST", "{'reason':'x'}", "/v1/admin/tenants/%s:suspend", w.tenant);
    ck_assert_msg(w.op->status == 409 || w.op->status == 410, "%d", w.op->status);
    http_json(w.op, "POST", "{}", "/v1/admin/tenants/%s/keys", w.tenant);
    ck_assert_msg(w.op->status == 409 || w.op->status == 410, "%d", w.op->status);
}
END_TEST

START_TEST(offboarding_wants_the_name_repeated)
{
    world_init(&w, (enum http_version)_i);
    tenant_put(w.http, "devices", "k", "stats", "q", "1");
    static const char *const bodies[] = {"{}", "{'confirm':'other'}", "{'confirm':true}",
                                         "{'confirm':''}", "[]"};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        http_json(w.op, "POST", bodies[i], "/v1/admin/tenants/%s:offboard", w.tenant);
        EXPECT_PROBLEM(w.op, 400, "invalid");
    }
    http_get(w.http, ROW "k");
    EXPECT_STATUS(w.http, 200);
}
END_TEST

START_TEST(offboarding_an_empty_or_suspended_tenant_works)
{
    world_init(&w, (enum http_version)_i);
    http_json(w.op, "POST", "{'reason':'leaving'}", "/v1/admin/tenants/%s:suspend", w.tenant);
    EXPECT_STATUS(w.op, 200);
    admin_offboard(w.op, w.tenant);
    ck_assert_int_eq(http_number(w.op, "/audit/physical_keys"), 0);
    char job[WORLD_ID];
    (void)snprintf(job, sizeof job, "%s", http_string(w.op, "/id"));
    http_get(w.op, "/v1/admin/audit?tenant=%s", w.tenant);
    size_t records = http_count(w.op, "/records");
    /* a script repeats it: done, with the job that its certificate names */
    http_value_take(w.op, "POST", json_pack("{s:s}", "confirm", w.tenant),
                    "/v1/admin/tenants/%s:offboard", w.tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/job"), job);
    ck_assert_str_eq(http_string(w.op, "/tenant"), w.tenant);
    ck_assert_str_eq(http_string(w.op, "/state"), "purged");
    ck_assert(json_is_null(http_at(w.op, "/delete_at")));
    http_get(w.op, "/v1/admin/tenants/%s/certificate", w.tenant);
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_eq(http_string(w.op, "/job"), job);
    http_get(w.op, "/v1/admin/audit?tenant=%s", w.tenant);
    ck_assert_uint_eq(http_count(w.op, "/records"), records); /* nothing was changed */
}
END_TEST

START_TEST(the_neighbours_whose_ids_enclose_it_stay_whole)
{
    char middle[WORLD_ID], longer[WORLD_ID + 8], dashed[WORLD_ID + 8];
    struct world a, b;
    world_fresh_id(middle);
    (void)snprintf(longer, sizeof(longer), "%.60sz", middle);
    (void)snprintf(dashed, sizeof(dashed), "%.60s-", middle);
    world_init_on(&w, world_server(), HTTP_2, middle);
    world_init_on(&a, world_server(), HTTP_2, longer);
    world_init_on(&b, world_server(), HTTP_2, dashed);
    fill(w.http, "middle", 500);
    fill(a.http, "longer", 500);
    fill(b.http, "dashed", 500);
    admin_offboard(w.op, middle);
    expect_zero_audit(w.op, 500);
    ck_assert_int_eq(tenant_usage(a.http).rows, 500);
    ck_assert_int_eq(tenant_usage(b.http).rows, 500);
    ck_assert_int_eq(admin_recount(w.op, longer).rows, 500);
    ck_assert_int_eq(admin_recount(w.op, dashed).rows, 500);
    world_fini(&a);
    world_fini(&b);
}
END_TEST

struct reader {
    pthread_t thread;
    struct http *http;
    atomic_bool *stop;
    _Atomic unsigned served;
    unsigned wrong;
};

static void *read_rows(void *arg)
{
    struct reader *r = arg;
    for (unsigned i = 0; !atomic_load(r->stop); i++) {
        char target[64];
        (void)snprintf(target, sizeof(target), "/v1/tables/devices/rows/row%05u", i % 1000);
        bool answered = i % 5 == 0 ? http_try(r->http, "PUT", target,
                                              SLICE_LIT("{\"raw\":{\"v\":\"staying\"}}"))
                                   : http_try(r->http, "GET", target, SLICE_EMPTY);
        bool is_busy = answered && r->http->status == 503;
        r->wrong += !answered || (!is_busy && r->http->status != 200);
        r->served += answered && !is_busy;
        if (is_busy)
            process_sleep_ms(5);
    }
    return NULL;
}

static bool all_are_served(void *arg)
{
    struct reader *readers = arg;
    for (size_t i = 0; i < 4; i++)
        if (atomic_load(&readers[i].served) == 0)
            return false;
    return true;
}

/* Reads that end at any moment of the job must not keep its files: it is done whether the others go
 * on or fall silent. */
START_TEST(offboarding_is_done_while_others_read_and_then_fall_silent)
{
    struct random dice = {(uint64_t)_i + 1};
    struct reader readers[4];
    struct world neighbour;
    atomic_bool stop = false;
    char job[WORLD_ID];
    world_init(&w, HTTP_2);
    world_init(&neighbour, HTTP_2);
    fill(w.http, "departing", 2000);
    fill(neighbour.http, "staying", 1000);
    for (size_t i = 0; i < 4; i++) {
        readers[i] = (struct reader){.stop = &stop};
        readers[i].http = http_open(world_server(), HTTP_2, neighbour.key);
        ck_assert_int_eq(pthread_create(&readers[i].thread, NULL, read_rows, &readers[i]), 0);
    }
    process_await(all_are_served, readers, "the neighbour's readers");
    http_value_take(w.op, "POST", json_pack("{s:s}", "confirm", w.tenant),
                    "/v1/admin/tenants/%s:offboard", w.tenant);
    EXPECT_STATUS(w.op, 202);
    (void)snprintf(job, sizeof(job), "%s", http_string(w.op, "/job"));
    process_sleep_ms((int)random_below(&dice, 60));
    atomic_store(&stop, true);
    for (size_t i = 0; i < 4; i++) {
        (void)pthread_join(readers[i].thread, NULL);
        http_close(readers[i].http);
        ck_assert_uint_eq(readers[i].wrong, 0);
    }
    admin_await_job(w.op, job);
    expect_zero_audit(w.op, 2000);
    ck_assert_int_eq(admin_recount(w.op, neighbour.tenant).rows, 1000);
    world_fini(&neighbour);
}
END_TEST

Suite *suite_api_offboard(void);
Suite *suite_api_offboard(void)
{
    Suite *s = suite_create("api_offboard");
    TCase *tc = tcase_create("offboard");
    tcase_set_timeout(tc, 90);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, offboarding_runs_to_done_with_nothing_left, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, everything_of_a_gone_tenant_answers_410, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, a_deep_search_reads_every_table, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, an_id_is_never_used_again, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, offboarding_wants_the_name_repeated, 0, HTTP_VERSIONS);
    tcase_add_loop_test(tc, offboarding_an_empty_or_suspended_tenant_works, 0, HTTP_VERSIONS);
    tcase_add_test(tc, the_neighbours_whose_ids_enclose_it_stay_whole);
    tcase_add_loop_test(tc, offboarding_is_done_while_others_read_and_then_fall_silent, 0, 8);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/faults/test_job_progress.c - how far a purge is, while it runs.
 *
 * Each step of a purge ends with a document that is made durable. On a slow disk that takes so long
 * that whoever asks again and again meets what the step has counted, whatever its own speed.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "tests/support/disk.h"
#include "tests/support/scrape.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define SYNC_MS 120
#define ROWS    30000
#define LEAVING 20
#define GROWTH  MIB /* of files, from when they are measured until they are read */

static struct server server;
static struct disk disk;
static struct world world;

static void fill(void)
{
    struct buf lines;
    base_buf_init(&lines, 16 * MIB);
    for (int i = 0; i < ROWS; i++)
        base_buf_printf(&lines, "{\"key\":\"r%06d\",\"cells\":{\"raw\":{\"v\":\"%0200d\"}}}\n", i,
                        i);
    ck_assert_int_eq(lines.error, ERR_OK);
    http_once(world.http, "Content-Type: application/x-ndjson");
    ck_assert_int_eq(
        http_bytes(world.http, "POST", base_buf_slice(&lines), "/v1/tables/devices:write"), 200);
    base_buf_fini(&lines);
}

static void set_up(void)
{
    server_create(&server);
    disk_init(&disk, &server, server.data);
    server_start(&server, disk.env);
    world_init_on(&world, &server, HTTP_2, "acme");
    fill();
    disk_slow(&disk, SYNC_MS);
}

static void tear_down(void)
{
    disk_heal(&disk);
    world_fini(&world);
    server_stop(&server);
    disk_fini(&disk);
    server_remove(&server);
}

/* --- one look -----------------------------------------------------------------------------------
 */

struct look {
    char step[32];
    char unit[16]; /* "": the step counts nothing */
    int64_t done;
    int64_t total;
    int64_t per_second;
    bool has_estimate;
};

static void expect_step_of_job(const char *step)
{
    size_t count = http_count(world.op, "/steps");
    for (size_t i = 0; i < count; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/steps/%zu/name", i);
        if (strcmp(http_string(world.op, path), step) == 0)
            return;
    }
    ck_abort_msg("the job has no step %s", step);
}

/* False when nobody works on the job; *over: nobody will any more. */
static bool look_at(const char *job, struct look *out, bool *over)
{
    *out = (struct look){0};
    ck_assert_int_eq(http_get(world.op, "/v1/admin/jobs/%s", job), 200);
    *over = strcmp(http_string(world.op, "/state"), "running") != 0;
    if (json_is_null(http_at(world.op, "/progress")))
        return false;
    (void)snprintf(out->step, sizeof out->step, "%s", http_string(world.op, "/progress/step"));
    expect_step_of_job(out->step);
    ck_assert_int_ge(http_number(world.op, "/progress/elapsed_ms"), 0);
    ck_assert_int_eq(http_number(world.op, "/progress/jobs"), 1);
    out->done = http_number(world.op, "/progress/done");
    out->total = http_number(world.op, "/progress/total");
    out->per_second = http_number(world.op, "/progress/per_second");
    out->has_estimate = !json_is_null(http_at(world.op, "/progress/seconds_left"));
    if (out->has_estimate)
        ck_assert_int_ge(http_number(world.op, "/progress/seconds_left"), 0);
    if (json_is_string(http_at(world.op, "/progress/unit")))
        (void)snprintf(out->unit, sizeof out->unit, "%s", http_string(world.op, "/progress/unit"));
    return true;
}

static void check_look(const struct look *at)
{
    bool is_bytes = strcmp(at->unit, "bytes") == 0;
    ck_assert_int_ge(at->done, 0);
    ck_assert_int_ge(at->per_second, 0);
    if (at->unit[0] == '\0')
        ck_assert(at->done == 0 && at->total == 0 && !at->has_estimate);
    else
        ck_assert_msg(is_bytes || strcmp(at->unit, "keys") == 0, "%s", at->unit);
    if (at->total > 0)
        ck_assert_int_le(at->done, at->total + GROWTH);
    else
        ck_assert(!at->has_estimate);
}

/* --- all of a job ------------------------------------------------------------------------------
 */

struct seen {
    char job[WORLD_ID];
    size_t first_search; /* looks at amounts with an estimate */
    size_t last_search;
    size_t audit;
    size_t metrics; /* that said the same */
};

/* Whether both were of one moment in which nothing moved. */
static bool is_same(const struct look *a, const struct look *b)
{
    return strcmp(a->step, b->step) == 0 && strcmp(a->unit, b->unit) == 0 && a->done == b->done &&
           a->total == b->total;
}

static void compare_metrics(const struct look *at)
{
    bool is_bytes = strcmp(at->unit, "bytes") == 0;
    uint64_t bytes = is_bytes ? (uint64_t)at->done : 0;
    uint64_t keys = is_bytes ? 0 : (uint64_t)at->done;
    ck_assert_uint_eq(scrape_seen("bigtent_purge_amount{unit=\"bytes\",part=\"done\"}"), bytes);
    ck_assert_uint_eq(scrape_seen("bigtent_purge_amount{unit=\"bytes\",part=\"all\"}"),
                      is_bytes ? (uint64_t)at->total : 0);
    ck_assert_uint_eq(scrape_seen("bigtent_purge_amount{unit=\"keys\",part=\"done\"}"), keys);
    ck_assert_uint_eq(scrape_seen("bigtent_purges_running"), 1);
}

static void count_look(const struct look *at, struct seen *seen)
{
    bool is_estimated = strcmp(at->unit, "bytes") == 0 && at->done > 0 && at->total > 0 &&
                        at->per_second > 0 && at->has_estimate;
    seen->first_search += is_estimated && strcmp(at->step, "fence") == 0;
    seen->last_search += is_estimated && strcmp(at->step, "files") == 0;
    seen->audit += strcmp(at->unit, "keys") == 0 && strcmp(at->step, "audit") == 0;
}

static bool is_over(void *arg)
{
    struct seen *seen = arg;
    struct look before, behind;
    bool over = false;
    bool is_told = look_at(seen->job, &before, &over);
    if (is_told) {
        check_look(&before);
        count_look(&before, seen);
    }
    scrape(world.op);
    if (look_at(seen->job, &behind, &over) && is_told && before.done > 0 &&
        is_same(&before, &behind)) {
        compare_metrics(&before);
        seen->metrics++;
    }
    return over;
}

START_TEST(a_purge_says_how_far_it_is)
{
    struct seen seen = {.audit = 0};
    ck_assert_int_eq(
        http_json(world.op, "POST", "{'confirm':'acme'}", "/v1/admin/tenants/acme:offboard"), 202);
    (void)snprintf(seen.job, sizeof seen.job, "%s", http_string(world.op, "/job"));
    process_await(is_over, &seen, "the end of the job");
    ck_assert_str_eq(http_string(world.op, "/state"), "done");
    ck_assert(json_is_null(http_at(world.op, "/progress")));
    ck_assert_uint_gt(seen.first_search, 0);
    ck_assert_uint_gt(seen.last_search, 0);
    ck_assert_uint_gt(seen.audit, 0);
    ck_assert_uint_gt(seen.metrics, 0);
}
END_TEST

static void create(int i)
{
    char body[64];
    (void)snprintf(body, sizeof body, "{'id':'waits-%02d'}", i);
    ck_assert_int_eq(http_json(world.op, "POST", body, "/v1/admin/tenants"), 201);
}

/* job: of it. */
static void leave(int i, char job[WORLD_ID])
{
    char body[64];
    (void)snprintf(body, sizeof body, "{'confirm':'waits-%02d'}", i);
    ck_assert_int_eq(http_json(world.op, "POST", body, "/v1/admin/tenants/waits-%02d:offboard", i),
                     202);
    (void)snprintf(job, WORLD_ID, "%s", http_string(world.op, "/job"));
}

static bool has_place(const char *job)
{
    ck_assert_int_eq(http_get(world.op, "/v1/admin/jobs/%s", job), 200);
    return !json_is_null(http_at(world.op, "/queue"));
}

/* While the purge of acme runs, who leaves waits for its end. */
START_TEST(a_job_that_waits_says_its_place)
{
    char job[WORLD_ID] = "";
    disk_heal(&disk);
    for (int i = 0; i < LEAVING; i++)
        create(i);
    disk_slow(&disk, SYNC_MS);
    ck_assert_int_eq(
        http_json(world.op, "POST", "{'confirm':'acme'}", "/v1/admin/tenants/acme:offboard"), 202);
    leave(0, job);
    for (int i = 1; i < LEAVING && !has_place(job); i++)
        leave(i, job);
    ck_assert(has_place(job));
    ck_assert_int_ge(http_number(world.op, "/queue/place"), 1);
    ck_assert_int_ge(http_number(world.op, "/queue/waiting"),
                     http_number(world.op, "/queue/place"));
}
END_TEST

Suite *suite_faults_job_progress(void);
Suite *suite_faults_job_progress(void)
{
    Suite *s = suite_create("faults_job_progress");
    TCase *t = tcase_create("slow disk");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_purge_says_how_far_it_is);
    tcase_add_test(t, a_job_that_waits_says_its_place);
    suite_add_tcase(s, t);
    return s;
}

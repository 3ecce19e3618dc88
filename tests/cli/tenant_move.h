/*
 * tests/cli/tenant_move.h - a tenant, the server where it is, and another one.
 *
 * Does:     start the other server, and one for the tenant when that is to be killed; give the
 * words of `tenant move`; write all kinds of things; compare both sides. Owns:     the servers,
 * clients and keys, until the fixture ends. May use:  tests/cli/transfer.h. Knows no: what is
 * tested. Threads:  one. Blocks:   yes. Fails by: ck_assert. Limits:   none. Promises: 1. What is
 * read of the source behind a move is the model of what has to be over there.
 */
#ifndef TESTS_CLI_TENANT_MOVE_H
#define TESTS_CLI_TENANT_MOVE_H

#include "tests/cli/transfer.h"

#define UNUSED_FN __attribute__((unused))

static struct server here; /* of tests that kill it; else the tenant is on the world's */
static struct server there;
static struct http *their_op;
static struct http *their_http; /* as the tenant, over there */
static char to_url[64];
static char our_data_key[WORLD_KEY];
static char their_data_key[WORLD_KEY];

static void write_key(const char *name, const char *key)
{
    write_file(name, key, strlen(key));
    ck_assert_int_eq(chmod(in_dir(name), 0600), 0);
}

/* in_dir's texts last for four calls; these for good. */
static const char *kept_path(char path[TRANSFER_PATH], const char *name)
{
    (void)snprintf(path, TRANSFER_PATH, "%s/%s", dir, name);
    return path;
}

static const char *to_data_key(void)
{
    static char path[TRANSFER_PATH];
    return kept_path(path, "to-data.key");
}

static const char *state_path(void)
{
    static char path[TRANSFER_PATH];
    return kept_path(path, "notes");
}

#define MOVE                                                                                       \
    "tenant", "move", w.tenant, "--data-key-file", in_dir("data.key"), "--to", to_url,             \
        "--to-cacert", there.ca, "--to-key-file", in_dir("to.key"), "--to-data-key-file",          \
        to_data_key(), "--state", state_path()

/* Both servers are there. */
static void make_keys(void)
{
    char id[WORLD_ID];
    (void)snprintf(to_url, sizeof to_url, "https://127.0.0.1:%u", there.port);
    their_op = http_open(&there, HTTP_2, there.operator_key);
    admin_create_global_key(w.op, "service", our_data_key, id);
    admin_create_global_key(their_op, "service", their_data_key, id);
    write_key("data.key", our_data_key);
    write_key("to.key", there.operator_key);
    write_key("to-data.key", their_data_key);
    their_http = http_open(&there, HTTP_2, their_data_key);
    http_always(their_http, "Bigtent-Tenant: %s", w.tenant);
}

UNUSED_FN static void move_set_up(void)
{
    session_set_up();
    keeper = process_temp_dir(dir);
    server_create(&there);
    server_start(&there, NULL);
    make_keys();
}

static void close_both(void)
{
    http_close(their_http);
    http_close(their_op);
    server_remove(&there);
    process_temp_dir_remove(dir, keeper);
}

UNUSED_FN static void move_tear_down(void)
{
    close_both();
    session_tear_down();
}

/* The tenant "acme" on a server of the test's own. */
UNUSED_FN static void move_set_up_own(void)
{
    server_create(&here);
    server_start(&here, NULL);
    world_init_on(&w, &here, HTTP_2, "acme");
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u", here.port);
    op = (struct setup){.url = url, .key = here.operator_key, .cacert = here.ca};
    keeper = process_temp_dir(dir);
    server_create(&there);
    server_start(&there, NULL);
    make_keys();
}

UNUSED_FN static void move_tear_down_own(void)
{
    close_both();
    world_fini(&w);
    server_remove(&here);
}

/* --- both sides ----------------------------------------------------------------------------------
 */

/* All rows of a table, as lines. */
UNUSED_FN static struct buf rows_of(struct http *h, const char *table_id)
{
    struct buf lines;
    http_once(h, "Accept: application/x-ndjson");
    ck_assert_int_eq(http_get(h, "/v1/tables/%s/rows", table_id), 200);
    base_buf_init(&lines, HTTP_BODY_MAX);
    ck_assert_int_eq(base_buf_append(&lines, base_buf_slice(&h->body)), ERR_OK);
    return lines;
}

UNUSED_FN static void expect_equal(const char *table_id)
{
    struct buf ours = rows_of(w.http, table_id);
    struct buf theirs = rows_of(their_http, table_id);
    ck_assert_msg(base_slice_equal(base_buf_slice(&ours), base_buf_slice(&theirs)),
                  "%s differs: %zu and %zu bytes", table_id, ours.len, theirs.len);
    base_buf_fini(&ours);
    base_buf_fini(&theirs);
}

UNUSED_FN static bool writes_pass(void)
{
    int got = http_json(w.http, "PATCH", "{'stats':{'q':'v'}}", "/v1/tables/devices/rows/after");
    ck_assert(got == 200 || got == 201 || got == 403);
    return got != 403;
}

UNUSED_FN static bool has_stream(struct http *h, const char *table_id)
{
    ck_assert_int_eq(http_get(h, "/v1/tables/%s", table_id), 200);
    const json_t *retention = http_at(h, "/change_stream_retention");
    return retention != NULL && !json_is_null(retention);
}

/* --- while it is written to ---------------------------------------------------------------------
 */

#define SLOW_ROWS      1500
#define WRITE_PAUSE_MS 2

static bool notes_are_there(void *arg)
{
    (void)arg;
    return is_there("notes");
}

/* Reads here are so slow that everything in the move can be met. The limit moves with the tenant,
 * and is lifted over there at once: nothing has to wait for that side. */
UNUSED_FN static void start_slow_move(void)
{
    fill_table("devices", SLOW_ROWS, 200);
    fill_random(8);
    admin_set_quota(w.op, w.tenant, "{'read_bytes_per_s':120000,'burst_ms':100}");
    const char *const args[] = {MOVE, NULL};
    run_start(&r, &op, args);
    process_await(notes_are_there, NULL, "the notes of a move"); /* the tenant is over there */
    ck_assert_int_eq(http_get(their_op, "/v1/admin/tenants/%s", w.tenant), 200);
    ck_assert_int_eq(http_number(their_op, "/quota/read_bytes_per_s"), 120000);
    admin_set_quota(their_op, w.tenant, "{}");
}

/* A bulk write of which each line may be refused. */
static int write_bulk(struct random *rnd)
{
    struct buf lines;
    base_buf_init(&lines, 64UL << 10);
    for (int i = 0; i < 20; i++)
        base_buf_printf(&lines, "{\"key\":\"k%06u\",\"cells\":{\"raw\":{\"bulk\":\"%u\"}}}\n",
                        random_below(rnd, SLOW_ROWS + 500), random_below(rnd, 1000));
    http_once(w.http, "Content-Type: application/x-ndjson");
    int status = http_bytes(w.http, "POST", base_buf_slice(&lines), "/v1/tables/devices:write");
    base_buf_fini(&lines);
    bool is_refused = status == 200 && strstr(http_text(w.http), "\"suspended\"") != NULL;
    return is_refused ? 403 : status;
}

/* Where syncs cost nothing, a writer that never pauses is faster than any copy. */
static void leave_time_to_copy(void)
{
    process_sleep_ms(WRITE_PAUSE_MS);
}

/* A write of some kind; false: the tenant is suspended. */
UNUSED_FN static bool write_something(struct random *rnd, int n)
{
    int row = (int)random_below(rnd, SLOW_ROWS + 500);
    int status = 0;
    leave_time_to_copy();
    switch (random_below(rnd, 8)) {
    case 0:
        status = http_delete(w.http, "/v1/tables/devices/rows/k%06d", row);
        break;
    case 1:
        status = http_json(w.http, "PATCH", "{'stats':{'q':null}}", "/v1/tables/devices/rows/k%06d",
                           row);
        break;
    case 2:
        status = http_json(w.http, "PATCH", "{'n':{'count':1},'h':{'who':'me'}}",
                           "/v1/tables/random/rows/r%d", row % 50);
        break;
    case 3:
        status = n % 40 == 0
                     ? http_json(w.http, "POST", "{'prefix':'k0001'}", "/v1/tables/devices:drop")
                     : 200;
        break;
    case 4:
        status =
            http_json(w.http, "POST", "{'rules':[{'family':'raw','qualifier':'log','append':'x'}]}",
                      "/v1/tables/devices/rows/k%06d:modify", row % 100);
        break;
    case 5:
        status = http_json(w.http, "POST",
                           "{'then':[{'delete_from_row':{}}],'else':[{'set_cell':{'family':'raw',"
                           "'qualifier':'c','value':'made'}}]}",
                           "/v1/tables/devices/rows/k%06d:check", row % 100);
        break;
    case 6:
        status = write_bulk(rnd);
        break;
    default:
        status =
            http_json(w.http, "PATCH", "{'raw':{'x':'new'}}", "/v1/tables/devices/rows/k%06d", row);
        break;
    }
    /* 503: nothing was done, a busy server may say so. */
    ck_assert_msg(status == 403 || status == 200 || status == 201 || status == 204 ||
                      status == 404 || status == 503,
                  "status %d: %s", status, http_text(w.http));
    return status != 403;
}

static bool has_table_over_there(void *table_id)
{
    return http_get(their_http, "/v1/tables/%s", (const char *)table_id) == 200;
}

/* A row that the move did not bring, as soon as its table is there. */
UNUSED_FN static void put_stranger(void)
{
    static char devices[] = "devices";
    process_await(has_table_over_there, devices, "the table devices over there");
    tenant_put(their_http, "devices", "zebra", "stats", "q", "a stranger's");
}

static bool is_running(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

/* Writes until it is suspended, or so many; how many passed. */
UNUSED_FN static int write_on(struct random *rnd, int most)
{
    int n = 0;
    while (n < most && is_running(r.pid) && write_something(rnd, n))
        n++;
    return n;
}

#endif

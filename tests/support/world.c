/*
 * tests/support/world.c - the fixture of most tests: a server, an operator, tenants.
 *
 * The runner itself starts the shared server (an unchecked fixture). The server is another program,
 * so the process that forks the tests has no threads and no database.
 */
#include "tests/support/world.h"

#include <check.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

#include "base/banned.h"

static struct server shared;

static void server_up(void)
{
    server_create(&shared);
    server_start(&shared, NULL);
}

/* Stops the server. Does not assert, because it runs in the runner,
 * where a failed assertion would end the whole run. */
static void server_down(void)
{
    int status;
    if (shared.pid > 0 && !process_wait(shared.pid, 100, &status)) {
        (void)kill(shared.pid, SIGKILL);
        (void)process_wait(shared.pid, 10000, &status);
    }
    shared.pid = 0;
    server_remove(&shared);
}

START_TEST(the_server_of_these_tests_stops_with_0)
{
    int code = server_end_of_runner(&shared);
    if (code != 0)
        server_show_log(&shared);
    ck_assert_int_eq(code, 0);
}
END_TEST

void world_begin(TCase *tc)
{
    tcase_add_unchecked_fixture(tc, server_up, server_down);
}

void world_end(TCase *tc)
{
    tcase_add_test(tc, the_server_of_these_tests_stops_with_0);
}

const struct server *world_server(void)
{
    return &shared;
}

void world_fresh_id(char out[WORLD_ID])
{
    static unsigned count;
    (void)snprintf(out, WORLD_ID, "w%x-%llx-%u", (unsigned)getpid(),
                   (unsigned long long)(base_monotonic_ns() & 0xffffffffffu), count++);
}

void world_init_on(struct world *w, const struct server *s, enum http_version version,
                   const char *tenant)
{
    memset(w, 0, sizeof(*w));
    (void)snprintf(w->tenant, sizeof(w->tenant), "%s", tenant);
    w->op = http_open(s, version, s->operator_key);
    admin_create_tenant(w->op, w->tenant);
    admin_create_key(w->op, w->tenant, NULL, w->key, NULL);
    w->http = http_open(s, version, w->key);
    http_json(w->http, "PUT", "{'families':{'stats':{},'raw':{}}}", "/v1/tables/devices");
    EXPECT_STATUS(w->http, 201);
}

void world_init(struct world *w, enum http_version version)
{
    char id[WORLD_ID];
    world_fresh_id(id);
    world_init_on(w, &shared, version, id);
}

void world_fini(struct world *w)
{
    http_close(w->op);
    http_close(w->http);
    memset(w, 0, sizeof(*w));
}

/* --- operator ----------------------------------------------------------------------------------*/

void admin_create_tenant(struct http *op, const char *id)
{
    http_value_take(op, "POST", json_pack("{s:s,s:s,s:n}", "id", id, "display_name", id, "plan"),
                    "/v1/admin/tenants");
    EXPECT_STATUS(op, 201);
}

static void take_key(struct http *op, char out_key[WORLD_KEY], char out_id[WORLD_ID])
{
    EXPECT_STATUS(op, 201);
    (void)snprintf(out_key, WORLD_KEY, "%s", http_string(op, "/key"));
    if (out_id != NULL)
        (void)snprintf(out_id, WORLD_ID, "%s", http_string(op, "/id"));
}

void admin_create_key(struct http *op, const char *tenant, const char *scopes,
                      char out_key[WORLD_KEY], char out_id[WORLD_ID])
{
    char body[512];
    if (scopes != NULL)
        (void)snprintf(body, sizeof(body), "{'scopes':%s,'label':'test'}", scopes);
    else
        (void)snprintf(body, sizeof(body), "{'label':'test'}");
    http_json(op, "POST", body, "/v1/admin/tenants/%s/keys", tenant);
    take_key(op, out_key, out_id);
}

void admin_create_global_key(struct http *op, const char *kind, char out_key[WORLD_KEY],
                             char out_id[WORLD_ID])
{
    char body[128];
    (void)snprintf(body, sizeof(body), "{'kind':'%s','label':'test'}", kind);
    http_json(op, "POST", body, "/v1/admin/keys");
    take_key(op, out_key, out_id);
}

void admin_set_quota(struct http *op, const char *tenant, const char *json)
{
    http_json(op, "PUT", json, "/v1/admin/tenants/%s/quota", tenant);
    EXPECT_STATUS(op, 200);
}

struct job_of {
    struct http *op;
    const char *job;
};

static bool job_has_ended(void *arg)
{
    const struct job_of *j = arg;
    http_get(j->op, "/v1/admin/jobs/%s", j->job);
    EXPECT_STATUS(j->op, 200);
    const char *state = http_string(j->op, "/state");
    return strcmp(state, "running") != 0 && strcmp(state, "waiting") != 0;
}

void admin_await_job(struct http *op, const char *job)
{
    process_await(job_has_ended, &(struct job_of){op, job}, "the end of a job");
    ck_assert_msg(strcmp(http_string(op, "/state"), "done") == 0, "the job failed: %s",
                  http_text(op));
}

void admin_offboard(struct http *op, const char *tenant)
{
    char job[WORLD_ID];
    http_value_take(op, "POST", json_pack("{s:s}", "confirm", tenant),
                    "/v1/admin/tenants/%s:offboard", tenant);
    EXPECT_STATUS(op, 202);
    (void)snprintf(job, sizeof(job), "%s", http_string(op, "/job"));
    admin_await_job(op, job);
}

struct state {
    struct http *op;
    const char *path;
    char target[256];
};

static bool state_is_last(void *arg)
{
    const struct state *s = arg;
    http_get(s->op, "%s", s->target);
    EXPECT_STATUS(s->op, 200);
    const char *state = http_string(s->op, s->path);
    return strcmp(state, "creating") != 0 && strcmp(state, "waiting") != 0 &&
           strcmp(state, "running") != 0;
}

const char *admin_await_end(struct http *op, const char *path, const char *target, ...)
{
    struct state s = {.op = op, .path = path};
    va_list args;
    va_start(args, target);
    (void)vsnprintf(s.target, sizeof s.target, target, args);
    va_end(args);
    process_await(state_is_last, &s, s.target);
    return http_string(op, path);
}

struct usage admin_recount(struct http *op, const char *tenant)
{
    http_get(op, "/v1/admin/tenants/%s/usage?recount=true", tenant);
    EXPECT_STATUS(op, 200);
    ck_assert_msg(http_number(op, "/drift/stored_bytes") == 0 &&
                      http_number(op, "/drift/rows") == 0 && http_number(op, "/drift/cells") == 0,
                  "DATA: counters drifted: %s", http_text(op));
    return (struct usage){http_number(op, "/recount/stored_bytes"),
                          http_number(op, "/recount/rows"), http_number(op, "/recount/cells")};
}

/* --- tenant ------------------------------------------------------------------------------------*/

struct usage tenant_usage(struct http *h)
{
    http_get(h, "/v1/usage");
    EXPECT_STATUS(h, 200);
    return (struct usage){http_number(h, "/stored_bytes"), http_number(h, "/rows"),
                          http_number(h, "/cells")};
}

void tenant_put(struct http *h, const char *table, const char *key, const char *family,
                const char *qualifier, const char *value)
{
    http_value_take(h, "PATCH", json_pack("{s:{s:s}}", family, qualifier, value),
                    "/v1/tables/%s/rows/%s", table, pcts(key));
    ck_assert_msg(h->status == 200 || h->status == 201, "PATCH: %d %s", h->status, http_text(h));
}

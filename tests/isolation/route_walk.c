/*
 * tests/isolation/route_walk.c - routes, asked with every kind of key, in every way to name a
 * neighbour.
 *
 * The requests are made of the route table (requests.c): a route that has none fails here. Each is
 * sent twice, once naming what acme-zebra has and once what nobody has, and both answers must be
 * the same byte by byte when the names are exchanged: so what a neighbour has cannot be told from
 * what nobody has. Neither shows a secret, and what others have is as it was after each of them.
 */
#include "tests/isolation/route_walk.h"

#include <check.h>

#include "tests/isolation/answers.h"
#include "tests/isolation/callers.h"

#include "base/banned.h"

static struct neighbours n;
static struct caller callers[CALLERS_MAX];
static struct caller caller; /* the one that asks */
static struct names own;     /* the caller's */
static struct http *h;
static struct buf before, trails_before, after;

void route_walk_set_up(void)
{
    neighbours_begin(&n);
    base_buf_init(&before, ANSWER_MAX);
    base_buf_init(&trails_before, ANSWER_MAX);
    base_buf_init(&after, ANSWER_MAX);
}

void route_walk_tear_down(void)
{
    base_buf_fini(&before);
    base_buf_fini(&trails_before);
    base_buf_fini(&after);
    neighbours_end(&n);
}

/* --- one request -------------------------------------------------------------------------------
 */

/* What is told of oneself and grows with what was asked before, or with the clock; the cells of a
 * dropped family go in the background. */
static bool moves(const struct request *r)
{
    bool drops = r->body != NULL && strstr(r->body, "'drop'") != NULL;
    return drops || strcmp(r->route->pattern, "/v1/audit") == 0 ||
           strcmp(r->route->pattern, "/v1/metering") == 0;
}

static void add_headers(const struct request *r, const struct names *foreign)
{
    const char *tenant = foreign->text[NAME_TENANT];
    if ((r->ways & WAY_HEADER) != 0)
        http_once(h, "Bigtent-Tenant: %s", tenant);
    else if (caller.names_home)
        http_once(h, "Bigtent-Tenant: %s", caller.home);
    if ((r->ways & WAY_TOKEN) != 0)
        http_once(h, "Idempotency-Key: %s", foreign->text[NAME_IDEMPOTENCY]);
    if ((r->ways & WAY_STREAM) != 0)
        http_once(h, "Accept: application/x-ndjson");
    if (r->route->body == GW_BODY_LINES)
        http_once(h, "Content-Type: application/x-ndjson");
    if ((r->ways & WAY_ODD) == 0)
        return;
    http_once(h, "X-Tenant: %s", tenant);
    http_once(h, "X-Tenant-Id: %s", tenant);
    http_once(h, "X-Goog-User-Project: %s", tenant);
    http_once(h, "X-Goog-Request-Params: project=%s", tenant);
    http_once(h, "X-Forwarded-Host: %s.example", tenant);
    http_once(h, "X-Original-URL: /v1/tables/%s/rows", foreign->text[NAME_TABLE]);
    http_once(h, "Cookie: tenant=%s", tenant);
    http_once(h, "Bigtent-Priority: %s", "high");
}

static void converse(const struct request *r, const struct names *foreign, struct buf *out)
{
    struct buf target, body;
    base_buf_init(&target, 64 * KIB);
    base_buf_init(&body, 64 * KIB);
    request_target(r, &own, foreign, &target);
    if (r->body != NULL)
        request_body(r, &own, foreign, &body);
    add_headers(r, foreign);
    http_send(h, r->route->method, (const char *)target.ptr, base_buf_slice(&body));
    base_buf_truncate(out, 0);
    answer_of_http(h, moves(r), out);
    base_buf_fini(&target);
    base_buf_fini(&body);
}

/* A status that holds whatever the route does. */
static void expect_wall(const struct request *r)
{
    const struct gw_route *route = r->route;
    bool is_foreign = (r->ways & WAY_HEADER) != 0 && route->access != GW_ACCESS_NONE;
    if (route->scope == 0)
        return;
    if (!caller.is_known)
        ck_assert_msg(h->status == 401, "%s: %d", request_name(r), h->status);
    else if (is_foreign || (route->scope & ~AUTH_SCOPES_TENANT) != 0)
        ck_assert_msg(h->status == 403, "%s: %d: %s", request_name(r), h->status, http_text(h));
}

static void expect_no_secret(const struct request *r, const struct buf *answer)
{
    struct slice body = base_buf_slice(&h->body); /* of one that moves, too */
    const char *found = neighbours_secret(&n, base_buf_slice(answer));
    if (found == NULL)
        found = neighbours_secret(&n, body);
    ck_assert_msg(found == NULL, "DATA: %s: %s sees %s: %.*s", request_name(r), caller.what, found,
                  SLICE_ARGS(body));
}

/* --- the caller's own state --------------------------------------------------------------------
 */

/* What the same request must find the second time. */
static void renew(const struct request *r)
{
    bool changes = r->route->access != GW_ACCESS_NONE && r->route->access != GW_ACCESS_READ;
    if (!changes || h->status >= 300)
        return;
    if (r->route->audit != NULL)
        neighbours_renew(&n, n.a, r->ways != 0);
    else
        neighbours_renew_rows(&n, n.a);
}

/* --- walks -------------------------------------------------------------------------------------
 */

static void try_others(const struct request *r)
{
    static struct buf first, second;
    base_buf_init(&first, ANSWER_MAX);
    base_buf_init(&second, ANSWER_MAX);
    converse(r, &n.theirs, &first);
    expect_wall(r);
    expect_no_secret(r, &first);
    neighbours_look(&n, &after);
    neighbours_same(&before, &after, request_name(r));
    renew(r);
    converse(r, &n.nobodys, &second);
    expect_no_secret(r, &second);
    renew(r);
    names_exchange(&first, &n.theirs, &n.nobodys);
    names_exchange(&second, &n.theirs, &n.nobodys);
    const char *difference = answer_difference(&first, &second);
    ck_assert_msg(difference == NULL, "DATA: %s: %s can tell theirs from nobody's: %s",
                  request_name(r), caller.what, difference);
    base_buf_fini(&first);
    base_buf_fini(&second);
}

/* Before anybody else was named, not even a name may come. */
static void try_own(const struct request *r)
{
    converse(r, &own, &after);
    expect_wall(r);
    expect_no_secret(r, &after);
    const char *found = neighbours_name(&n, base_buf_slice(&h->body));
    ck_assert_msg(found == NULL, "DATA: %s: %s is told of %s: %s", request_name(r), caller.what,
                  found, http_text(h));
    renew(r);
}

typedef void try_request(const struct request *r);

/* A full key's own request of each route must do something, or naming others in it shows nothing.
 */
static void each_route(try_request *try, bool names_others, route_filter *takes)
{
    static struct request requests[REQUESTS_MAX];
    for (size_t i = 0; i < gw_route_count; i++) {
        if (!takes(&gw_routes[i]))
            continue;
        size_t count = requests_of(&gw_routes[i], requests);
        size_t good = 0;
        for (size_t k = 0; k < count; k++) {
            if ((requests[k].ways != 0) != names_others)
                continue;
            try(&requests[k]);
            good += h->status < 300;
        }
        neighbours_look_at_trails(&n, &after);
        neighbours_same(&trails_before, &after, gw_routes[i].pattern);
        bool is_allowed = (gw_routes[i].scope & ~AUTH_SCOPES_TENANT) == 0;
        ck_assert_msg(names_others || !caller.may_all || !is_allowed || good > 0,
                      "%s %s was never answered with success: its request in "
                      "tests/isolation/requests.c tests nothing",
                      gw_routes[i].method, gw_routes[i].pattern);
    }
}

/* Callers in turn speak HTTP/2 and HTTP/1.1. */
static void each_caller(try_request *try, bool names_others, size_t part, route_filter *takes)
{
    for (size_t i = part; i < caller_count; i += ROUTE_PARTS) {
        if (!names_others)
            caller_make(&n, i, &callers[i]);
        caller = callers[i];
        own = n.own;
        name_set(&own, NAME_TENANT, caller.home);
        h = http_open(&n.server, i % 3 == 0 ? HTTP_2 : HTTP_1, caller.has_key ? caller.key : NULL);
        neighbours_look_first(&n, &before, &trails_before);
        each_route(try, names_others, takes);
        http_close(h);
    }
}

void route_walk(size_t part, route_filter *takes)
{
    static struct buf all_before, all_after;
    base_buf_init(&all_before, ANSWER_MAX);
    base_buf_init(&all_after, ANSWER_MAX);
    each_caller(try_own, false, part, takes);
    neighbours_look_closely(&n, &all_before);
    each_caller(try_others, true, part, takes);
    neighbours_look_closely(&n, &all_after);
    neighbours_same(&all_before, &all_after, "one of the callers");
    base_buf_fini(&all_before);
    base_buf_fini(&all_after);
}

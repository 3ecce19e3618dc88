/*
 * tests/isolation/test_operators.c - what operators may see of tenants: names and counts, no rows.
 *
 * Every route is asked with each kind of operator key; methods in test_operators_methods.c. With
 * ops.read alone there are figures, and nothing can be changed; with admin.read what can be read of
 * administration, and still no row, column or secret of a key.
 */
#include <check.h>
#include <string.h>

#include "tests/isolation/answers.h"
#include "tests/isolation/operators.h"
#include "tests/isolation/requests.h"

#include "base/banned.h"

static struct neighbours n;
static char key[WORLD_KEY];
static struct http *h;

static void set_up(void)
{
    neighbours_begin(&n);
}

static void tear_down(void)
{
    neighbours_end(&n);
}

/* --- routes ------------------------------------------------------------------------------------
 */

static void converse(const struct request *r)
{
    struct buf target, body;
    base_buf_init(&target, 64 * KIB);
    base_buf_init(&body, 64 * KIB);
    request_target(r, &n.own, &n.theirs, &target);
    if (r->body != NULL)
        request_body(r, &n.own, &n.theirs, &body);
    if ((r->ways & WAY_HEADER) != 0)
        http_once(h, "Bigtent-Tenant: %s", n.theirs.text[NAME_TENANT]);
    if ((r->ways & WAY_STREAM) != 0)
        http_once(h, "Accept: application/x-ndjson");
    if (r->route->body == GW_BODY_LINES)
        http_once(h, "Content-Type: application/x-ndjson");
    http_send(h, r->route->method, (const char *)target.ptr, base_buf_slice(&body));
    base_buf_fini(&target);
    base_buf_fini(&body);
}

/* Refused without the scope; no route needs a scope of tenants and one of operators. */
static void expect_scope(const struct request *r, uint64_t scopes)
{
    bool is_allowed = (r->route->scope & ~scopes) == 0;
    const char *found = neighbours_data(&n, base_buf_slice(&h->body));
    ck_assert_msg(found == NULL, "DATA: %s shows %s: %s", request_name(r), found, http_text(h));
    found = neighbours_data(&n, base_buf_slice(&h->headers));
    ck_assert_msg(found == NULL, "DATA: %s shows %s", request_name(r), found);
    ck_assert_msg(is_allowed == (h->status != 403), "%s: %d: %s", request_name(r), h->status,
                  http_text(h));
    if (is_allowed || strcmp(r->route->method, "GET") != 0)
        return;
    found = neighbours_secret(&n, base_buf_slice(&h->body));
    ck_assert_msg(found == NULL, "DATA: %s is refused, but shows %s", request_name(r), found);
}

START_TEST(operators_see_what_their_scopes_say_and_no_rows)
{
    static struct request requests[REQUESTS_MAX];
    static struct buf before, after;
    uint64_t scopes = OPERATORS[_i].scopes;
    base_buf_init(&before, ANSWER_MAX);
    base_buf_init(&after, ANSWER_MAX);
    operator_make(&n, (size_t)_i, key);
    h = http_open(&n.server, HTTP_2, key);
    neighbours_look_at_things(&n, &before);
    for (size_t i = 0; i < gw_route_count; i++) {
        size_t count = requests_of(&gw_routes[i], requests);
        bool changes = (gw_routes[i].scope & AUTH_ADMIN_WRITE & scopes) != 0;
        for (size_t k = 0; k < count && !changes; k++) {
            converse(&requests[k]);
            expect_scope(&requests[k], scopes);
        }
    }
    neighbours_look_at_things(&n, &after);
    neighbours_same(&before, &after, OPERATORS[_i].what);
    http_close(h);
    base_buf_fini(&before);
    base_buf_fini(&after);
}
END_TEST

/* It is about them that operators want to know: a look at nothing would pass as well. */
START_TEST(operators_do_see_names_and_counts)
{
    static const char *const seen[][2] = {
        {"/v1/admin/tenants/acme-zebra", "1299709"},
        {"/v1/admin/tenants/acme-zebra", "display-of-yak"},
        {"/v1/admin/tenants/acme-zebra/usage?recount=true", "10007"},
        {"/v1/admin/tenants/acme-zebra/keys", "label-of-zho"},
        {"/v1/admin/audit?tenant=acme-zebra", "hidden-koala"},
        {"/v1/admin/top", "1299709"},
        {"/metrics", "acme-zebra"},
    };
    http_get(n.op, "/v1/admin/top"); /* it tells what was done since */
    EXPECT_STATUS(n.op, 200);
    http_get(n.b, "/v1/tables/devices/rows?limit=1");
    EXPECT_STATUS(n.b, 200);
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++) {
        http_get(n.op, "%s", seen[i][0]);
        EXPECT_STATUS(n.op, 200);
        ck_assert_msg(names_find(base_buf_slice(&n.op->body), seen[i][1]), "%s: %s", seen[i][0],
                      http_text(n.op));
        ck_assert_ptr_null(neighbours_data(&n, base_buf_slice(&n.op->body)));
    }
}
END_TEST

Suite *suite_isolation_operators(void);
Suite *suite_isolation_operators(void)
{
    Suite *s = suite_create("isolation_operators");
    TCase *tc = tcase_create("operators");
    tcase_set_timeout(tc, 1200);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, operators_see_what_their_scopes_say_and_no_rows, 0, OPERATOR_COUNT);
    tcase_add_test(tc, operators_do_see_names_and_counts);
    suite_add_tcase(s, tc);
    return s;
}

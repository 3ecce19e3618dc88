/*
 * tests/api/test_member_paths.c - a refusal of a body names the member that is wrong by its path.
 */
#include <check.h>
#include <string.h>

#include "tests/support/world.h"

#include "base/banned.h"

static struct world w;

static void tear_down(void)
{
    world_fini(&w);
}

static const struct {
    const char *method;
    const char *path; /* "%" is the tenant's ID */
    const char *body;
    const char *detail; /* its beginning */
} WRONGS[] = {
    {"PUT", "/v1/tables/t", "{'families':{'ok':{},'bad':{'ttl':1}}}",
     "family \"bad\": unknown field \"ttl\""},
    {"PUT", "/v1/tables/t", "{'families':{'bad':{'gc':{'newest':1}}}}",
     "family \"bad\": gc: unknown field \"newest\""},
    {"PUT", "/v1/tables/t", "{'families':{'bad':{'gc':{'max_versions':0}}}}",
     "family \"bad\": gc: \"max_versions\" must be"},
    {"PUT", "/v1/tables/t",
     "{'families':{'bad':{'gc':{'union':[{'max_versions':1},{'intersection':[{'max_age':'1s'},"
     "{'max_versions':2},{'max_age':'soon'}]}]}}}}",
     "family \"bad\": gc.union[1].intersection[2]: \"max_age\" must be"},
    {"PUT", "/v1/tables/t",
     "{'families':{'bad':{'gc':{'union':[{'union':[{'max_age':'1s'}]},{}]}}}}",
     "family \"bad\": gc.union[1]: a member of a gc rule is empty"},
    {"POST", "/v1/tables/devices:families", "{'update':{'stats':{'gc':7}}}",
     "family \"stats\": gc: a gc rule must be an object"},
    {"POST", "/v1/tables/devices:read", "{'filter':{'nothing':1}}",
     "filter: unknown filter \"nothing\""},
    {"POST", "/v1/tables/devices:read",
     "{'filter':{'chain':[{'pass_all':true},{'interleave':{'filters':[{'pass_all':true},"
     "{'value_range':{'start':'a'}}]}}]}}",
     "filter: chain[1].interleave[1]: unknown field \"start\""},
    {"POST", "/v1/tables/devices:read",
     "{'filter':{'condition':{'predicate':{'pass_all':true},'false_filter':{'chain':["
     "{'cells_per_row_limit':'3'}]}}}}",
     "filter: condition.false_filter.chain[0]: filter \"cells_per_row_limit\" must be"},
    {"POST", "/v1/tables/devices:read", "{'ranges':[{'start':'a'},{'begin':'a'}]}",
     "ranges[1]: unknown field \"begin\""},
    {"POST", "/v1/tables/devices:read", "{'ranges':[{'start':'a','start_open':'b'}]}",
     "ranges[0]: give \"start\" or \"start_open\", not both"},
    {"POST", "/v1/tables/devices:read", "{'keys':['a','']}",
     "keys[1]: row keys have at least one byte"},
    {"POST", "/v1/tables/devices/rows/k:check",
     "{'predicate':{'chain':[{'pass_all':1}]},'then':[{'delete_from_row':{}}]}",
     "predicate: chain[0]: filter \"pass_all\" must be true"},
    {"POST", "/v1/tables/devices/rows/k:check",
     "{'then':[{'delete_from_row':{}},{'delete_from_row':{'all':true}}]}",
     "mutation 2 of \"then\": unknown field \"all\""},
    {"POST", "/v1/admin/tenants", "{'id':'other','quota':{'rows':'many'}}",
     "quota: \"rows\" must be a whole number"},
    {"POST", "/v1/admin/tenants", "{'id':'other','quota':{'columns':1}}",
     "quota: unknown field \"columns\""},
    {"POST", "/v1/admin/tenants/%/keys", "{'limits':{'read_ops_per_s':-1}}",
     "limits: \"read_ops_per_s\" must be a whole number"},
    {"POST", "/v1/admin/tenants/%/keys", "{'limits':{'write_ops_per_s':0}}",
     "limits: \"write_ops_per_s\" is 0"},
    {"POST", "/v1/admin/tenants/%/keys", "{'scopes':['data.read','data.reed']}",
     "scopes[1]: unknown scope \"data.reed\""},
};

START_TEST(the_member_that_is_wrong_is_named_with_its_path)
{
    size_t n = (size_t)_i;
    world_init(&w, HTTP_2);
    struct http *http = strstr(WRONGS[n].path, "/admin/") != NULL ? w.op : w.http;
    const char *tenant = strchr(WRONGS[n].path, '%');
    if (tenant == NULL)
        http_json(http, WRONGS[n].method, WRONGS[n].body, "%s", WRONGS[n].path);
    else
        http_json(http, WRONGS[n].method, WRONGS[n].body, "%.*s%s%s",
                  (int)(tenant - WRONGS[n].path), WRONGS[n].path, w.tenant, tenant + 1);
    EXPECT_PROBLEM(http, 400, "invalid");
    const char *detail = http_string(http, "/detail");
    ck_assert_msg(strncmp(detail, WRONGS[n].detail, strlen(WRONGS[n].detail)) == 0, "%s", detail);
}
END_TEST

Suite *suite_api_member_paths(void);
Suite *suite_api_member_paths(void)
{
    Suite *s = suite_create("api_member_paths");
    TCase *tc = tcase_create("bodies");
    tcase_set_timeout(tc, 60);
    world_begin(tc);
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, the_member_that_is_wrong_is_named_with_its_path, 0,
                        (int)(sizeof WRONGS / sizeof WRONGS[0]));
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

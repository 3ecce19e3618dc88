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
     "then[1]: unknown field \"all\""},
    {"POST", "/v1/tables/devices/rows/k:mutate",
     "{'mutations':[{'delete_from_row':{}},{'set_cell':{'family':'stats','value':'v'}}]}",
     "mutations[1]: \"qualifier\" or \"qualifier_b64\" is missing"},
    {"POST", "/v1/tables/devices/rows/k:mutate",
     "{'mutations':[{'set_cell':{'family':'stats','qualifier':'q','value':'v','timestamp':'7'}}]}",
     "mutations[0]: timestamp 7 is not a multiple"},
    {"POST", "/v1/tables/devices/rows/k:check",
     "{'then':[{'delete_from_row':{}}],'else':[{'delete_from_row':{}},{'delete_from_column':"
     "{'family':'stats','qualifier':'q','start':'2000','end':'1000'}}]}",
     "else[1]: the time range of a delete is empty"},
    {"POST", "/v1/tables/devices/rows/k:modify",
     "{'rules':[{'family':'stats','qualifier':'a','append':'x'},{'family':'stats','qualifier':'n',"
     "'increment':'5'}]}",
     "rules[1]: \"increment\" must be"},
    {"PUT", "/v1/tables/devices/rows/k", "{'stats':{'a':'v','name':{'value':1}}}",
     "stats.name: \"value\" must be text"},
    {"PUT", "/v1/tables/devices/rows/k", "{'stats':{'name':['v',{'value':'v','time':'1'}]}}",
     "stats.name[1]: unknown field \"time\""},
    {"PATCH", "/v1/tables/devices/rows/k",
     "{'stats':{'a':['v',{'value':'w','timestamp':'yesterday'}]}}",
     "stats.a[1]: \"timestamp\" must be a decimal string"},
    {"PUT", "/v1/tables/devices/rows/k", "{'stats':{'a':'v','b':{'value':'w','timestamp':'7'}}}",
     "stats.b: timestamp 7 is not a multiple"},
    {"PATCH", "/v1/tables/devices/rows/k",
     "{'$binary':[{'family':'raw','qualifier':'q','value':'v'},{'family':'raw','value_b64':'dg=='}]"
     "}",
     "$binary[1]: an entry needs \"family\""},
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

static const struct {
    const char *line;
    const char *detail; /* its beginning */
} LINES[] = {
    {"{'key':'k','cells':{'stats':{'name':['v',{'value':1}]}}}",
     "stats.name[1]: \"value\" must be text"},
    {"{'key':'k','cells':{'stats':{'name':{'value':'v','timestamp':'7'}}}}",
     "stats.name: timestamp 7 is not a multiple"},
    {"{'key':'k','mutations':[{'delete_from_row':{}},{'add':{}}]}",
     "mutations[1]: there is no mutation \"add\""},
    {"{'key':'k','mutations':[{'delete_from_row':{}},{'set_cell':{'family':'stats','qualifier':'q',"
     "'value':'v','timestamp':'7'}}]}",
     "mutations[1]: timestamp 7 is not a multiple"},
};

START_TEST(a_line_of_a_bulk_write_names_it_as_well)
{
    enum { COUNT = sizeof LINES / sizeof LINES[0] };
    struct buf body;
    world_init(&w, HTTP_2);
    base_buf_init(&body, 4096);
    for (size_t i = 0; i < COUNT; i++)
        (void)base_buf_printf(&body, "%s\n", LINES[i].line); /* fits */
    (void)base_buf_append_byte(&body, '\0');
    http_once(w.http, "Content-Type: application/x-ndjson");
    http_bytes(w.http, "POST", quoted((const char *)body.ptr), "/v1/tables/devices:write");
    base_buf_fini(&body);
    EXPECT_STATUS(w.http, 200);
    for (size_t i = 0; i < COUNT; i++) {
        json_t *line = http_line_new(w.http, i);
        const char *detail = json_string_value(json_at(line, "/detail"));
        ck_assert_ptr_nonnull(detail);
        ck_assert_msg(strncmp(detail, LINES[i].detail, strlen(LINES[i].detail)) == 0, "%s", detail);
        json_decref(line);
    }
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
    tcase_add_test(tc, a_line_of_a_bulk_write_names_it_as_well);
    world_end(tc);
    suite_add_tcase(s, tc);
    return s;
}

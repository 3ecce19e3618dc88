/*
 * tests/gateway/test_openapi.c - the description of the API: whole, and true to the route table.
 *
 * Whether it is valid OpenAPI, and whether the server does what it says, is for `make openapi`.
 */
#define _GNU_SOURCE
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "gateway/api/openapi.h"
#include "tenancy/quota.h"

#include "base/banned.h"

static struct gw_openapi doc;
static json_t *tree;
static struct errbuf eb;

static void set_up(void)
{
    ck_assert_msg(gw_openapi_build(gw_routes, gw_route_count, &doc, &eb) == ERR_OK, "%s", eb.text);
    json_error_t error;
    tree = json_loadb((const char *)doc.text.ptr, doc.text.len, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(tree != NULL, "%s", error.text);
}

static void tear_down(void)
{
    json_decref(tree);
    tree = NULL;
    gw_openapi_fini(&doc);
}

/* The operation of a route; fails the test when there is none. */
static json_t *operation_of(const struct gw_route *route)
{
    char method[8] = "";
    for (size_t i = 0; route->method[i] != '\0' && i + 1 < sizeof method; i++)
        method[i] = (char)(route->method[i] | 0x20);
    json_t *operation =
        json_object_get(json_object_get(json_object_get(tree, "paths"), route->pattern), method);
    ck_assert_msg(operation != NULL, "%s %s has no operation", route->method, route->pattern);
    return operation;
}

/* What "#/a/b" means; NULL when it is not there. */
static json_t *resolve(const char *reference)
{
    json_t *at = tree;
    ck_assert_msg(strncmp(reference, "#/", 2) == 0, "%s is not in this document", reference);
    for (const char *part = reference + 2; at != NULL; part++) {
        char name[128];
        size_t len = strcspn(part, "/");
        (void)snprintf(name, sizeof name, "%.*s", (int)len, part);
        at = json_object_get(at, name);
        part += len;
        if (*part == '\0')
            break;
    }
    return at;
}

START_TEST(requests_for_a_tenant_take_a_priority)
{
    const struct gw_route *route = &gw_routes[_i];
    json_t *list = json_object_get(operation_of(route), "parameters");
    bool found = false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *reference = json_string_value(json_object_get(json_array_get(list, i), "$ref"));
        found |=
            reference != NULL && strcmp(reference, "#/components/parameters/header_priority") == 0;
    }
    ck_assert_int_eq(found, route->access != GW_ACCESS_NONE);
    json_t *words = json_object_get(
        json_object_get(resolve("#/components/parameters/header_priority"), "schema"), "enum");
    ck_assert_uint_eq(json_array_size(words), 3);
}
END_TEST

START_TEST(every_route_has_a_whole_operation)
{
    const struct gw_route *route = &gw_routes[_i];
    json_t *operation = operation_of(route);
    ck_assert_str_eq(json_string_value(json_object_get(operation, "summary")), route->doc);
    ck_assert_ptr_nonnull(json_string_value(json_object_get(operation, "operationId")));
    ck_assert_uint_eq(json_array_size(json_object_get(operation, "tags")), 1);
    json_t *responses = json_object_get(operation, "responses");
    bool succeeds = false;
    const char *status;
    json_t *response;
    json_object_foreach(responses, status, response) succeeds |= status[0] == '2';
    ck_assert_msg(succeeds, "%s %s never succeeds", route->method, route->pattern);
    ck_assert_ptr_nonnull(json_object_get(responses, "400"));
    ck_assert_ptr_nonnull(json_object_get(responses, "503"));
}
END_TEST

START_TEST(scopes_and_credentials_are_those_of_the_route)
{
    const struct gw_route *route = &gw_routes[_i];
    json_t *operation = operation_of(route);
    json_t *security = json_object_get(operation, "security");
    json_t *scope = json_object_get(operation, "x-bigtent-scope");
    bool may_be_401 = json_object_get(json_object_get(operation, "responses"), "401") != NULL;
    if (route->scope == 0) {
        ck_assert(json_is_array(security) && json_array_size(security) == 0);
        ck_assert_ptr_null(scope);
    } else {
        ck_assert_ptr_null(security); /* that of the document */
        ck_assert_int_eq((int)json_array_size(scope), __builtin_popcountll(route->scope));
    }
    ck_assert_int_eq(may_be_401, route->scope != 0);
}
END_TEST

static size_t parameters_in(const json_t *operation, const char *place)
{
    size_t count = 0;
    const json_t *list = json_object_get(operation, "parameters");
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *one = json_array_get(list, i);
        json_t *reference = json_object_get(one, "$ref");
        if (reference != NULL)
            one = resolve(json_string_value(reference));
        count += strcmp(json_string_value(json_object_get(one, "in")), place) == 0;
    }
    return count;
}

START_TEST(parameters_and_bodies_are_those_of_the_route)
{
    const struct gw_route *route = &gw_routes[_i];
    const json_t *operation = operation_of(route);
    size_t in_path = 0;
    size_t in_query = 0;
    for (const char *at = route->pattern; *at != '\0'; at++)
        in_path += *at == '{';
    while (route->query != NULL && route->query[in_query] != NULL)
        in_query++;
    ck_assert_uint_eq(parameters_in(operation, "path"), in_path);
    ck_assert_uint_eq(parameters_in(operation, "query"), in_query);
    json_t *body = json_object_get(operation, "requestBody");
    ck_assert_int_eq(body != NULL, route->body != GW_BODY_NONE);
    ck_assert_int_eq(json_is_true(json_object_get(body, "required")), route->body == GW_BODY_JSON);
}
END_TEST

START_TEST(names_of_operations_are_unique)
{
    json_t *seen = json_object();
    for (size_t i = 0; i < gw_route_count; i++) {
        const char *id =
            json_string_value(json_object_get(operation_of(&gw_routes[i]), "operationId"));
        ck_assert_msg(json_object_get(seen, id) == NULL, "two operations are called %s", id);
        json_object_set_new(seen, id, json_true());
    }
    json_decref(seen);
}
END_TEST

START_TEST(references_lead_somewhere)
{
    static const char mark[] = "\"$ref\":\"";
    size_t count = 0;
    struct slice rest = base_buf_slice(&doc.text);
    const uint8_t *at;
    while ((at = memmem(rest.ptr, rest.len, mark, sizeof mark - 1)) != NULL) {
        char reference[160];
        const char *text = (const char *)at + sizeof mark - 1;
        rest = base_slice_skip(rest, (size_t)((const uint8_t *)text - rest.ptr));
        (void)snprintf(reference, sizeof reference, "%.*s", (int)strcspn(text, "\""), text);
        ck_assert_msg(resolve(reference) != NULL, "%s leads nowhere", reference);
        count++;
    }
    ck_assert_uint_gt(count, gw_route_count);
}
END_TEST

START_TEST(the_text_is_always_the_same)
{
    struct gw_openapi again;
    ck_assert_int_eq(gw_openapi_build(gw_routes, gw_route_count, &again, &eb), ERR_OK);
    ck_assert(base_slice_equal(base_buf_slice(&doc.text), base_buf_slice(&again.text)));
    ck_assert_str_eq(doc.etag, again.etag);
    ck_assert_uint_eq(strlen(doc.etag), GW_OPENAPI_ETAG);
    ck_assert_int_eq(doc.etag[0], '"');
    ck_assert_int_eq(doc.etag[GW_OPENAPI_ETAG - 1], '"');
    gw_openapi_fini(&again);
}
END_TEST

/* --- a table that does not fit the files ------------------------------------------------------ */

static const char *const NO_SUCH_QUERY[] = {"colour", NULL};
static const char *const OTHER_QUERY[] = {"bytes", NULL};

static const struct {
    struct gw_route route;
    const char *complaint;
} MISFITS[] = {
    {{.method = "GET", .pattern = "/v1/unwritten"}, "GET /v1/unwritten"},
    {{.method = "PUT", .pattern = "/healthz"}, "PUT /healthz"},
    {{.method = "GET", .pattern = "/healthz", .query = NO_SUCH_QUERY}, "query_colour"},
    {{.method = "GET", .pattern = "/healthz", .body = GW_BODY_JSON}, "application/json"},
    {{.method = "POST", .pattern = "/v1/admin/tenants"}, "takes no body"},
    {{.method = "POST", .pattern = "/v1/admin/tenants", .body = GW_BODY_LINES}, "x-ndjson"},
    {{.method = "GET", .pattern = "/v1/admin/tenants", .query = OTHER_QUERY}, "limit"},
    {{.method = "GET", .pattern = "/healthz"}, "there is no route"},
};

START_TEST(a_table_and_files_that_do_not_fit_are_refused_by_name)
{
    struct gw_openapi none;
    struct gw_route route = MISFITS[_i].route;
    route.doc = "misfit";
    ck_assert_int_eq(gw_openapi_build(&route, 1, &none, &eb), ERR_INVALID);
    ck_assert_msg(strstr(eb.text, MISFITS[_i].complaint) != NULL, "%s", eb.text);
}
END_TEST

static json_t *quota_property(const char *schema, const char *name)
{
    char path[96];
    (void)snprintf(path, sizeof path, "#/components/schemas/%s/properties/%s", schema, name);
    json_t *property = resolve(path);
    ck_assert_msg(property != NULL, "%s is missing", path);
    const char *reference = json_string_value(json_object_get(property, "$ref"));
    return reference == NULL ? property : resolve(reference);
}

START_TEST(quotas_have_the_fields_and_ranges_of_tenancy)
{
    struct ten_quota_field f = ten_quota_field((size_t)_i);
    json_t *put = quota_property("QuotaPut", f.name);
    ck_assert_int_eq(json_integer_value(json_object_get(put, "minimum")), (json_int_t)f.min);
    if (f.max != UINT64_MAX)
        ck_assert_int_eq(json_integer_value(json_object_get(put, "maximum")), (json_int_t)f.max);
    json_t *required = resolve("#/components/schemas/Quota/required");
    json_t *properties = resolve("#/components/schemas/Quota/properties");
    (void)quota_property("Quota", f.name);
    ck_assert_uint_eq(json_array_size(required), TEN_QUOTA_FIELDS);
    ck_assert_uint_eq(json_object_size(properties), TEN_QUOTA_FIELDS);
}
END_TEST

Suite *suite_gateway_openapi(void);
Suite *suite_gateway_openapi(void)
{
    Suite *s = suite_create("gateway_openapi");
    TCase *tc = tcase_create("openapi");
    int routes = (int)gw_route_count;
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, every_route_has_a_whole_operation, 0, routes);
    tcase_add_loop_test(tc, requests_for_a_tenant_take_a_priority, 0, routes);
    tcase_add_loop_test(tc, scopes_and_credentials_are_those_of_the_route, 0, routes);
    tcase_add_loop_test(tc, parameters_and_bodies_are_those_of_the_route, 0, routes);
    tcase_add_test(tc, names_of_operations_are_unique);
    tcase_add_test(tc, references_lead_somewhere);
    tcase_add_test(tc, the_text_is_always_the_same);
    tcase_add_loop_test(tc, quotas_have_the_fields_and_ranges_of_tenancy, 0, TEN_QUOTA_FIELDS);
    suite_add_tcase(s, tc);
    TCase *misfits = tcase_create("misfits");
    tcase_add_loop_test(misfits, a_table_and_files_that_do_not_fit_are_refused_by_name, 0,
                        (int)(sizeof MISFITS / sizeof MISFITS[0]));
    suite_add_tcase(s, misfits);
    return s;
}

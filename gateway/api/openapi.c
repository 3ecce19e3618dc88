/*
 * gateway/api/openapi.c - the API's own description: OpenAPI 3.1, from the route table.
 *
 * The files contain what the table cannot express: schemas, examples, the meaning of responses.
 * Everything else is added here, so that it cannot differ from what dispatch does. Parameters are
 * found by their names: a path's is components/parameters/path_NAME, a query's query_NAME, unless
 * the operation describes it itself.
 */
#include "gateway/api/openapi.h"

#include <inttypes.h>
#include <stdio.h>

#include "auth/scopes.h"
#include "base/siphash.h"
#include "gateway/api/json_in.h"

#include "base/banned.h"

#define NAME_MAX_BYTES 64

struct builder {
    json_t *doc;
    const struct gw_route *route;
    json_t *operation;
    struct errbuf *eb;
};

static enum err fail(const struct builder *b, const char *what, const char *name)
{
    return base_fail(b->eb, ERR_INVALID, "gateway/api/openapi/: %s %s: %s%s", b->route->method,
                     b->route->pattern, what, name);
}

/* --- the files -------------------------------------------------------------------------------- */

/* Adds the members of `from` that `into` does not have; where both are objects, merges them,
 * `levels` deep: paths/PATTERN/METHOD and components/KIND/NAME. */
static enum err merge(json_t *into, json_t *from, unsigned levels, const char *file,
                      struct errbuf *eb)
{
    const char *name;
    json_t *value;
    json_object_foreach(from, name, value)
    {
        json_t *present = json_object_get(into, name);
        bool both = levels > 0 && json_is_object(present) && json_is_object(value);
        if (present != NULL && !both)
            return base_fail(eb, ERR_INVALID, "%s: \"%s\" stands in another file too", file, name);
        enum err e = both ? merge(present, value, levels - 1, file, eb) : ERR_OK;
        if (e == ERR_OK && !both && json_object_set(into, name, value) != 0)
            e = base_fail(eb, ERR_NO_MEMORY, "out of memory for %s", file);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

static enum err add_part(json_t *doc, const struct gw_openapi_part *part, struct errbuf *eb)
{
    json_t *tree = NULL;
    struct errbuf detail;
    enum err e = gw_json_parse(base_slice_text(part->text), NULL, &tree, &detail);
    if (e != ERR_OK)
        return base_fail(eb, e, "%s: %s", part->name, detail.text);
    e = merge(doc, tree, 2, part->name, eb);
    json_decref(tree);
    return e;
}

/* --- one operation ---------------------------------------------------------------------------- */

static enum err no_memory(const struct builder *b)
{
    return base_fail(b->eb, ERR_NO_MEMORY, "out of memory for the API's description");
}

static enum err set_take(struct builder *b, json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) == 0)
        return ERR_OK;
    return no_memory(b);
}

static json_t *reference(const char *kind, const char *prefix, const char *name)
{
    return json_pack("{s:o}", "$ref", json_sprintf("#/components/%s/%s%s", kind, prefix, name));
}

/* Adds the credential, and all scopes that it needs. */
static enum err add_security(struct builder *b)
{
    uint64_t left = b->route->scope;
    if (left == 0)
        return set_take(b, b->operation, "security", json_array());
    json_t *names = json_array();
    enum err e = set_take(b, b->operation, "x-bigtent-scope", names);
    for (; e == ERR_OK && left != 0; left &= left - 1) {
        const char *name = auth_scope_name((unsigned)__builtin_ctzll(left));
        if (json_array_append_new(names, json_string(name)) != 0)
            e = no_memory(b);
    }
    return e;
}

/* Returns whether the operation describes the parameter itself. */
static bool has_parameter(const json_t *list, const char *place, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *in = json_string_value(json_object_get(one, "in"));
        const char *own = json_string_value(json_object_get(one, "name"));
        if (in != NULL && own != NULL && strcmp(in, place) == 0 && strcmp(own, name) == 0)
            return true;
    }
    return false;
}

static enum err add_parameter(struct builder *b, json_t *list, const char *place, const char *name)
{
    char key[NAME_MAX_BYTES];
    if (has_parameter(list, place, name))
        return ERR_OK;
    (void)snprintf(key, sizeof key, "%s_%s", place, name); /* a cut name is not found */
    const json_t *known =
        json_object_get(json_object_get(json_object_get(b->doc, "components"), "parameters"), key);
    if (known == NULL)
        return fail(b, "no file describes the parameter ", key);
    if (json_array_append_new(list, reference("parameters", "", key)) == 0)
        return ERR_OK;
    return no_memory(b);
}

static enum err add_path_parameters(struct builder *b, json_t *list)
{
    const char *at = b->route->pattern;
    enum err e = ERR_OK;
    while (e == ERR_OK && (at = strchr(at, '{')) != NULL) {
        char name[NAME_MAX_BYTES];
        size_t len = strcspn(++at, "}");
        (void)snprintf(name, sizeof name, "%.*s", (int)len, at); /* a cut name is not found */
        e = add_parameter(b, list, "path", name);
    }
    return e;
}

/* Checks that the parameters that the operation describes itself are the route's. */
static enum err check_query(const struct builder *b, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *in = json_string_value(json_object_get(one, "in"));
        const char *name = json_string_value(json_object_get(one, "name"));
        if (in == NULL || name == NULL || strcmp(in, "query") != 0)
            continue;
        const char *const *taken = b->route->query;
        while (taken != NULL && *taken != NULL && strcmp(*taken, name) != 0)
            taken++;
        if (taken == NULL || *taken == NULL)
            return fail(b, "the route takes no parameter ", name);
    }
    return ERR_OK;
}

static enum err add_parameters(struct builder *b)
{
    json_t *list = json_object_get(b->operation, "parameters");
    enum err e = ERR_OK;
    if (list == NULL) {
        list = json_array();
        e = set_take(b, b->operation, "parameters", list);
    }
    if (e == ERR_OK)
        e = check_query(b, list);
    if (e == ERR_OK)
        e = add_path_parameters(b, list);
    for (const char *const *q = b->route->query; e == ERR_OK && q != NULL && *q != NULL; q++)
        e = add_parameter(b, list, "query", *q);
    if (e == ERR_OK && b->route->access != GW_ACCESS_NONE)
        e = add_parameter(b, list, "header", "tenant");
    if (e == ERR_OK && b->route->access != GW_ACCESS_NONE)
        e = add_parameter(b, list, "header", "priority");
    return e;
}

static const char *media_type(enum gw_body body)
{
    switch (body) {
    case GW_BODY_JSON:
    case GW_BODY_OPTIONAL:
        return "application/json";
    case GW_BODY_RAW:
        return "application/octet-stream";
    case GW_BODY_LINES:
        return "application/x-ndjson";
    case GW_BODY_NONE:
    default:
        return NULL;
    }
}

static enum err add_body(struct builder *b)
{
    json_t *body = json_object_get(b->operation, "requestBody");
    const char *type = media_type(b->route->body);
    if (type == NULL)
        return body == NULL ? ERR_OK : fail(b, "the route takes no body", "");
    if (json_object_get(json_object_get(body, "content"), type) == NULL)
        return fail(b, "no file describes the body as ", type);
    enum err e = set_take(b, body, "required", json_boolean(b->route->body == GW_BODY_JSON));
    if (e == ERR_OK && b->route->body_max != 0)
        e = set_take(b, body, "x-bigtent-max-bytes", json_integer((json_int_t)b->route->body_max));
    return e;
}

/* --- refusals --------------------------------------------------------------------------------- */

enum {
    ANY = 1,     /* every route */
    KEYED = 2,   /* needs a credential */
    ACTING = 4,  /* acts for a tenant */
    NAMING = 8,  /* has parameters in its path */
    BODIED = 16, /* accepts a body */
    TYPED = 32,  /* of a media type */
    WRITING = 64,
};

static const struct {
    const char *status;
    const char *response;
    unsigned of;
} REFUSALS[] = {
    {"400", "Invalid", ANY},        {"401", "Unauthenticated", KEYED},
    {"403", "Forbidden", KEYED},    {"404", "NotFound", NAMING},
    {"410", "Gone", ACTING},        {"413", "TooBig", NAMING | BODIED},
    {"414", "TargetTooLong", ANY},  {"415", "UnsupportedMediaType", TYPED},
    {"429", "RateLimited", ACTING}, {"431", "HeadersTooLarge", ANY},
    {"500", "Failed", ANY},         {"503", "Unavailable", ANY},
    {"507", "NoRoom", WRITING},
};

static unsigned nature(const struct gw_route *route)
{
    unsigned is = ANY;
    is |= route->scope != 0 ? KEYED : 0;
    is |= route->access != GW_ACCESS_NONE ? ACTING : 0;
    is |= strchr(route->pattern, '{') != NULL ? NAMING : 0;
    is |= route->body != GW_BODY_NONE ? BODIED : 0;
    is |= route->body != GW_BODY_NONE && route->body != GW_BODY_RAW ? TYPED : 0;
    is |= route->scope != 0 && strcmp(route->method, "GET") != 0 ? WRITING : 0;
    return is;
}

static enum err add_refusals(struct builder *b)
{
    json_t *responses = json_object_get(b->operation, "responses");
    unsigned is = nature(b->route);
    enum err e = ERR_OK;
    if (json_object_size(responses) == 0)
        return fail(b, "no file describes its answers", "");
    for (size_t i = 0; e == ERR_OK && i < sizeof REFUSALS / sizeof REFUSALS[0]; i++) {
        if ((REFUSALS[i].of & is) != 0 && json_object_get(responses, REFUSALS[i].status) == NULL)
            e = set_take(b, responses, REFUSALS[i].status,
                         reference("responses", "", REFUSALS[i].response));
    }
    return e;
}

/* --- headers of responses to tenants ------------------------------------------------------------
 */

/* Adds headers to the responses that the files describe for this operation alone; refusals that all
 * operations share have their headers in common.json. */
static enum err add_headers(struct builder *b)
{
    static const char *const all[][2] = {{"RateLimit-Policy", "RateLimitPolicy"},
                                         {"RateLimit", "RateLimit"},
                                         {"Bigtent-Cost", "Cost"}};
    const char *status;
    json_t *response;
    enum err e = ERR_OK;
    json_object_foreach(json_object_get(b->operation, "responses"), status, response)
    {
        if (json_object_get(response, "$ref") != NULL)
            continue;
        json_t *headers = json_object_get(response, "headers");
        if (headers == NULL) {
            headers = json_object();
            e = set_take(b, response, "headers", headers);
        }
        for (size_t i = 0; e == ERR_OK && i < sizeof all / sizeof all[0]; i++)
            e = set_take(b, headers, all[i][0], reference("headers", "", all[i][1]));
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* --- the document ----------------------------------------------------------------------------- */

/* Completes an operation. Its summary also marks it: an operation without a summary has no
 * route. */
static enum err complete(struct builder *b, json_t *paths)
{
    char method[NAME_MAX_BYTES];
    size_t len = 0;
    for (; b->route->method[len] != '\0' && len + 1 < sizeof method; len++)
        method[len] = (char)(b->route->method[len] | 0x20);
    method[len] = '\0';
    b->operation = json_object_get(json_object_get(paths, b->route->pattern), method);
    if (!json_is_object(b->operation) || json_object_get(b->operation, "operationId") == NULL)
        return fail(b, "no file describes this route, or it has no operationId", "");
    enum err e = set_take(b, b->operation, "summary", json_string(b->route->doc));
    if (e == ERR_OK)
        e = add_security(b);
    if (e == ERR_OK)
        e = add_parameters(b);
    if (e == ERR_OK)
        e = add_body(b);
    if (e == ERR_OK && b->route->access != GW_ACCESS_NONE)
        e = add_headers(b);
    return e == ERR_OK ? add_refusals(b) : e;
}

static enum err check_routes(json_t *paths, struct errbuf *eb)
{
    const char *pattern, *method;
    json_t *item, *operation;
    json_object_foreach(paths, pattern, item)
    {
        json_object_foreach(item, method, operation)
        {
            if (json_object_get(operation, "summary") == NULL)
                return base_fail(eb, ERR_INVALID, "gateway/api/openapi/: there is no route %s %s",
                                 method, pattern);
        }
    }
    return ERR_OK;
}

static enum err assemble(const struct gw_route *routes, size_t count, json_t *doc,
                         struct errbuf *eb)
{
    struct builder b = {.doc = doc, .eb = eb};
    enum err e = ERR_OK;
    for (const struct gw_openapi_part *p = gw_openapi_parts; e == ERR_OK && p->name != NULL; p++)
        e = add_part(doc, p, eb);
    if (e != ERR_OK)
        return e;
    json_t *paths = json_object_get(doc, "paths");
    for (size_t i = 0; e == ERR_OK && i < count; i++) {
        b.route = &routes[i];
        e = complete(&b, paths);
    }
    if (e == ERR_OK)
        e = check_routes(paths, eb);
    return e == ERR_OK
               ? set_take(&b, json_object_get(doc, "info"), "version", json_string(BIGTENT_VERSION))
               : e;
}

/* Computes an ETag of the text, so that copies can be checked; a collision benefits no attacker. */
static void name_text(struct gw_openapi *doc)
{
    struct base_siphash_key no_secret = {0, 0};
    uint64_t hash = base_siphash13(no_secret, base_buf_slice(&doc->text));
    (void)snprintf(doc->etag, sizeof doc->etag, "\"%016" PRIx64 "\"", hash); /* fits */
}

enum err gw_openapi_build(const struct gw_route *routes, size_t count, struct gw_openapi *out,
                          struct errbuf *eb)
{
    json_t *doc = json_object();
    if (doc == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for the API's description");
    base_buf_init(&out->text, GW_OPENAPI_BYTES);
    enum err e = assemble(routes, count, doc, eb);
    if (e == ERR_OK && gw_json_dump(doc, 0, &out->text) != ERR_OK)
        e = base_fail(eb, ERR_NO_MEMORY, "the API's description does not fit");
    json_decref(doc);
    if (e == ERR_OK)
        name_text(out);
    else
        base_buf_fini(&out->text);
    return e;
}

void gw_openapi_fini(struct gw_openapi *doc)
{
    base_buf_fini(&doc->text);
}

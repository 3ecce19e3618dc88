/*
 * tests/isolation/erased_fields.c - which fields of requests can hold a text, and which had a mark.
 *
 * The fields of the JSON API are those of its own description (/openapi.json), those of gRPC the
 * ones of the methods' messages, at the emulator's listener as well. A field is told by its whole
 * path in the request: one that no request set to a mark there must be below, with its reason.
 */
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "gateway/api/routes.h"
#include "gateway/grpc/method.h"
#include "tests/isolation/erased.h"

#include "base/banned.h"

#define DEPTH_MAX  10
#define PATH_BYTES 256

static const struct {
    const char *end; /* of the dotted path; a '.' before it: the whole of it */
    const char *why;
} WITHOUT[] = {
    {"_b64", "the bytes of the field without _b64"},
    {"_b64[]", "the same in a list"},
    {".timestamp", "a time"},
    {"delete_from_column.start", "a time"},
    {"delete_from_column.end", "a time"},
    {".change_stream_retention", "a period"},
    {".grace", "a period"},
    {"add_to_cell.input", "a number; distinct counts keep a hash of it"},
    {"merge_to_cell.state", "the bytes of an aggregate"},
    {".input", "a number; distinct counts keep a hash of it"},
    {".id", "the tenant's ID, which stays"},
    {".confirm", "the tenant's ID, which stays"},
    {".tenants[]", "the tenant's ID, which stays"},
    {".backup", "an ID that the server made"},
    {".page_token", "a token that the server made"},
    {"$binary[].family", "a family as in the form without $binary"},
    {"$binary[].value", "a value as in the form without $binary"},
};

/* Whole requests, by their routes, and parts of them. */
static const struct {
    const char *place; /* begins so; NULL: anywhere */
    const char *path;  /* begins so */
    const char *why;
} PARTS[] = {
    {"/v1/tables/{table}:read", "", "a read: nothing of it is stored"},
    {NULL, ".predicate", "a filter: nothing of it is stored"},
};

/* Messages of gRPC, and fields as "message.field". */
static const struct {
    const char *name;
    const char *why;
} MESSAGES[] = {
    {"google.bigtable.v2.RowFilter", "a filter: nothing of it is stored"},
    {"google.bigtable.v2.Value", "input of an aggregate: a number, or kept as a hash of it"},
    {"google.bigtable.admin.v2.Type", "a type with names in it is refused"},
    {"google.bigtable.admin.v2.Type.Struct", "a schema of row keys is refused"},
    {"google.protobuf.FieldMask", "names of fields"},
    {"google.bigtable.admin.v2.CreateTableRequest.parent", "the tenant's ID, which stays"},
    {"google.bigtable.admin.v2.CreateBackupRequest.parent", "the tenant's ID, which stays"},
    {"google.bigtable.admin.v2.CopyBackupRequest.parent", "the tenant's ID, which stays"},
    {"google.bigtable.admin.v2.RestoreTableRequest.parent", "the tenant's ID, which stays"},
};

/* --- what was sent ---------------------------------------------------------------------------- */

/* A literal mark, or a word that stands for one. */
static bool has_mark(const char *text)
{
    static const char *const WORDS[] = {ERASED_HEAD, "{table}",     "{view}",       "{key}",
                                        "{family}",  "{qualifier}", "{value}",      "{plan}",
                                        "{label}",   "{saved}",     "{idempotency}"};
    for (size_t i = 0; text != NULL && i < sizeof WORDS / sizeof WORDS[0]; i++)
        if (strstr(text, WORDS[i]) != NULL)
            return true;
    return false;
}

/* Whether a value at the path has a mark. path: of the description, ".rules[].family": a name after
 * a dot is a member, "*" any member, "[]" any element. */
static bool sets_mark(const json_t *json, const char *path)
{
    char name[PATH_BYTES];
    const char *key;
    json_t *value;
    size_t i;
    if (path[0] == '\0')
        return has_mark(json_string_value(json));
    if (path[0] == '[') {
        json_array_foreach(json, i, value) if (sets_mark(value, path + 2)) return true;
        return false;
    }
    size_t len = strcspn(path + 1, ".[");
    (void)snprintf(name, sizeof name, "%.*s", (int)len, path + 1);
    if (strcmp(name, "*") != 0)
        return sets_mark(json_object_get(json, name), path + 1 + len);
    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        if (sets_mark(value, path + 1 + len))
            return true;
    }
    return false;
}

static bool body_sets_mark(const char *body, const char *path)
{
    bool found = false;
    while (!found && body != NULL && *body != '\0') { /* lines of NDJSON are one each */
        size_t len = strcspn(body, "\n");
        char text[4096];
        ck_assert_uint_lt(len, sizeof text);
        (void)snprintf(text, sizeof text, "%.*s", (int)len, body);
        for (char *c = text; *c != '\0'; c++)
            if (*c == '\'')
                *c = '"';
        json_t *json = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
        found = sets_mark(json, path);
        json_decref(json);
        body += body[len] == '\n' ? len + 1 : len;
    }
    return found;
}

/* path "": the body itself, which is no JSON. */
static bool was_sent(const struct erased *x, const char *method, const char *place,
                     const char *path)
{
    for (size_t i = 0; i < x->sent_count; i++) {
        const struct erased_sent *s = &x->sent[i];
        if (s->body == NULL || strcmp(s->method, method) != 0 || strcmp(s->place, place) != 0)
            continue;
        if (path[0] == '\0' ? has_mark(s->body) : body_sets_mark(s->body, path))
            return true;
    }
    return false;
}

/* --- the JSON API ----------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);
    size_t end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

static bool has_reason(const char *place, const char *path)
{
    for (size_t i = 0; i < sizeof WITHOUT / sizeof WITHOUT[0]; i++)
        if (ends_with(path, WITHOUT[i].end))
            return true;
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++)
        if ((PARTS[i].place == NULL || strcmp(place, PARTS[i].place) == 0) &&
            begins_with(path, PARTS[i].path))
            return true;
    return false;
}

struct description {
    const struct erased *x;
    const json_t *schemas;
    const char *method;
    const char *place;
    size_t fields;
};

static void check_leaf(struct description *d, const char *path)
{
    d->fields++;
    ck_assert_msg(has_reason(d->place, path) || was_sent(d->x, d->method, d->place, path),
                  "field \"%s\" of %s %s had no mark: tests/isolation/erased_story.c needs a "
                  "request with one, or erased_fields.c a reason",
                  path, d->method, d->place);
}

static bool may_be_text(const json_t *schema)
{
    const json_t *type = json_object_get(schema, "type");
    size_t i;
    json_t *one;
    bool is_text = json_is_string(type) && strcmp(json_string_value(type), "string") == 0;
    json_array_foreach(type, i, one) is_text |= strcmp(json_string_value(one), "string") == 0;
    return is_text && json_object_get(schema, "enum") == NULL &&
           json_object_get(schema, "const") == NULL;
}

static void check_schema(struct description *d, const json_t *schema, const char *path, int depth)
{
    static const char *const CHOICES[] = {"anyOf", "oneOf", "allOf"};
    char below[PATH_BYTES];
    const char *name;
    json_t *one;
    size_t i;
    if (depth > DEPTH_MAX) /* filters hold filters */
        return;
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    if (ref != NULL) {
        const json_t *other = json_object_get(d->schemas, strrchr(ref, '/') + 1);
        ck_assert_msg(other != NULL, "%s is not there", ref);
        check_schema(d, other, path, depth + 1);
        return;
    }
    if (may_be_text(schema))
        check_leaf(d, path);
    for (size_t k = 0; k < sizeof CHOICES / sizeof CHOICES[0]; k++)
        json_array_foreach(json_object_get(schema, CHOICES[k]), i, one)
            check_schema(d, one, path, depth + 1);
    json_object_foreach(json_object_get(schema, "properties"), name, one)
    {
        (void)snprintf(below, sizeof below, "%s.%s", path, name);
        check_schema(d, one, below, depth + 1);
    }
    (void)snprintf(below, sizeof below, "%s.*", path);
    check_schema(d, json_object_get(schema, "additionalProperties"), below, depth + 1);
    (void)snprintf(below, sizeof below, "%s[]", path);
    check_schema(d, json_object_get(schema, "items"), below, depth + 1);
}

static size_t check_json(const struct erased *x)
{
    size_t fields = 0;
    http_get(x->op, "/openapi.json");
    EXPECT_STATUS(x->op, 200);
    for (size_t i = 0; i < gw_route_count; i++) {
        const struct gw_route *route = &gw_routes[i];
        char method[16];
        if (route->body == GW_BODY_NONE)
            continue;
        (void)snprintf(method, sizeof method, "%s", route->method);
        for (char *c = method; *c != '\0'; c++)
            *c = (char)(*c | 0x20);
        const json_t *paths = json_object_get(http_body(x->op), "paths");
        const json_t *operation = json_object_get(json_object_get(paths, route->pattern), method);
        ck_assert_msg(operation != NULL, "%s %s is not described", route->method, route->pattern);
        struct description d = {.x = x,
                                .schemas = http_at(x->op, "/components/schemas"),
                                .method = route->method,
                                .place = route->pattern};
        const char *type;
        json_t *content;
        json_t *body = json_object_get(operation, "requestBody");
        json_object_foreach(json_object_get(body, "content"), type, content)
            check_schema(&d, json_object_get(content, "schema"), "", 0);
        fields += d.fields;
    }
    return fields;
}

/* --- gRPC ------------------------------------------------------------------------------------- */

static bool message_has_reason(const char *name)
{
    for (size_t i = 0; i < sizeof MESSAGES / sizeof MESSAGES[0]; i++)
        if (strcmp(MESSAGES[i].name, name) == 0)
            return true;
    return false;
}

/* Whether a form, "mutations.set_cell.value=zq-value;..", sets that path to a mark. */
static bool form_sets_mark(const char *form, const char *path)
{
    size_t len = strlen(path);
    for (const char *at = form; *at != '\0'; at += at[0] == ';') {
        size_t all = strcspn(at, ";");
        char value[512];
        if (strncmp(at, path, len) == 0 && at[len] == '=') {
            (void)snprintf(value, sizeof value, "%.*s", (int)(all - len), at + len);
            if (has_mark(value))
                return true;
        }
        at += all;
    }
    return false;
}

/* place: the method's path, or its name alone. */
static bool is_of_method(const char *place, const struct gw_method *method)
{
    const char *slash = strrchr(place, '/');
    return strcmp(slash == NULL ? place : slash + 1, method->name) == 0;
}

static bool was_asked(const struct erased *x, const struct gw_method *method, const char *path)
{
    for (size_t i = 0; i < x->sent_count; i++)
        if (strcmp(x->sent[i].method, "gRPC") == 0 && is_of_method(x->sent[i].place, method) &&
            form_sets_mark(x->sent[i].body, path))
            return true;
    return false;
}

/* above: the path to the message, with its dot; "": it is the request. */
static size_t check_message(const struct erased *x, const struct gw_method *method,
                            const ProtobufCMessageDescriptor *type, const char *above, int depth)
{
    char name[PATH_BYTES], path[PATH_BYTES], below[PATH_BYTES + 1];
    size_t fields = 0;
    if (depth > DEPTH_MAX || message_has_reason(type->name))
        return 0;
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        (void)snprintf(name, sizeof name, "%s.%s", type->name, field->name);
        if (message_has_reason(name))
            continue;
        (void)snprintf(path, sizeof path, "%s%s", above, field->name);
        if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
            (void)snprintf(below, sizeof below, "%s.", path);
            fields += check_message(x, method, field->descriptor, below, depth + 1);
            continue;
        }
        if (field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_BYTES)
            continue;
        fields++;
        ck_assert_msg(was_asked(x, method, path),
                      "field %s of %s had no mark: tests/isolation/erased_story.c needs a request "
                      "with one, or erased_fields.c a reason",
                      path, method->name);
    }
    return fields;
}

static size_t check_methods(const struct erased *x)
{
    size_t fields = 0;
    for (size_t i = 0; i < gw_method_count; i++) {
        const struct gw_method *method = &gw_methods[i];
        bool stores = method->audit != NULL || method->access > GW_ACCESS_READ;
        const ProtobufCMessageDescriptor *type =
            method->request != NULL ? method->request : method->plain_request;
        if (type != NULL && stores)
            fields += check_message(x, method, type, "", 0);
    }
    return fields;
}

void erased_check_fields(struct erased *x)
{
    ck_assert_uint_gt(check_json(x), 50);
    ck_assert_uint_gt(check_methods(x), 50);
}

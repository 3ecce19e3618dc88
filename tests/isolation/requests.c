/*
 * tests/isolation/requests.c - requests for every route, made of the route table.
 *
 * A new route with a body needs one in BODIES, with {words} of names.h wherever it can name
 * something; a new query parameter needs its values in QUERIES. A pattern's {parameter} that is no
 * word of names.h is said by names_expand.
 */
#include "tests/isolation/requests.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define SET_THEIRS                                                                                 \
    "{'set_cell':{'family':'{family}','qualifier':'{qualifier}','value':'{value}',"                \
    "'timestamp':'2000'}}"
#define SET_OWN                                                                                    \
    "{'set_cell':{'family':'stats','qualifier':'q','value':'{value}','timestamp':'2000'}}"
#define ROW  "/v1/tables/{table}/rows/{key}"
#define CELL "/v1/tables/{table}/cells/{key}/{family}/{qualifier}"
#define ID   "/v1/admin/tenants/{id}"

/* With ' for ". What has an own effect has the same a second time. */
static const struct {
    const char *method;
    const char *pattern;
    const char *body;
} BODIES[] = {
    {"PUT", ROW, "{'{family}':{'{qualifier}':{'value':'{value}','timestamp':'2000'}}}"},
    {"PUT", ROW, "{'stats':{'{qualifier}':{'value':'{value}','timestamp':'2000'}}}"},
    {"PATCH", ROW, "{'{family}':{'{qualifier}':{'value':'{value}','timestamp':'2000'}}}"},
    {"PATCH", ROW, "{'stats':{'{qualifier}':null}}"},
    {"POST", ROW ":mutate", "{'mutations':[" SET_THEIRS "]}"},
    {"POST", ROW ":mutate", "{'mutations':[" SET_OWN ",{'delete_from_family':{'family':'raw'}}]}"},
    {"POST", ROW ":mutate", "{'mutations':[{'delete_from_family':{'family':'{family}'}}]}"},
    {"POST", ROW ":modify",
     "{'rules':[{'family':'{family}','qualifier':'{qualifier}','append':''}]}"},
    {"POST", ROW ":modify", "{'rules':[{'family':'stats','qualifier':'{qualifier}','append':''}]}"},
    {"POST", ROW ":modify", "{'rules':[{'family':'stats','qualifier':'n','increment':0}]}"},
    {"POST", ROW ":check", "{'then':[" SET_OWN "],'else':[" SET_THEIRS "]}"},
    {"POST", ROW ":check",
     "{'predicate':{'value_regex':'{value}'},'then':[" SET_OWN "],'else':[{'delete_from_family':"
     "{'family':'raw'}}]}"},
    {"POST", "/v1/tables/{table}:read", "{}"},
    {"POST", "/v1/tables/{table}:read",
     "{'keys':['{key}','acme-zebra#{table}#{key}'],'stats':true}"},
    {"POST", "/v1/tables/{table}:read",
     "{'ranges':[{'start':''},{'end_closed_b64':'/////w=='},{'prefix':'{tenant}#'}],'stats':true}"},
    {"POST", "/v1/tables/{table}:read",
     "{'filter':{'row_key_regex':'(?s).*{key}.*'},'stats':true}"},
    {"POST", "/v1/tables/{table}:read", "{'filter':{'value_regex':'.*{value}.*'},'order':'desc'}"},
    {"POST", "/v1/tables/{table}:read", "{'filter':{'column_range':{'family_name':'{family}'}}}"},
    {"POST", "/v1/tables/{table}:read",
     "{'keys':['{key}'],'form':'flat','values':'base64','stats':true}"},
    {"POST", "/v1/tables/{table}:read", "{'page_token':'{page}'}"},
    {"PUT", CELL, "{value}"},
    {"POST", "/v1/tables/{table}:write",
     "{'key':'{key}','cells':{'stats':{'{qualifier}':{'value':'{value}','timestamp':'2000'}}}}\n"
     "{'key':'row-3','cells':{'{family}':{'q':'x'}}}\n{'op':'delete','key':'{key}'}\n"
     "{'key':'row-4','cells':{'stats':{'q':'x'}},'idempotency_token':'{idempotency}'}\n"},
    {"POST", "/v1/tables/{table}:drop", "{'all':true,'dry_run':true}"},
    {"POST", "/v1/tables/{table}:drop", "{'all':true}"},
    {"POST", "/v1/tables/{table}:drop", "{'prefix':'{key}'}"},
    {"POST", "/v1/tables/{table}:drop", "{'prefix':'{tenant}#'}"},
    {"PUT", "/v1/tables/{table}", "{'families':{'stats':{},'{family}':{}},'splits':['{key}']}"},
    {"PUT", "/v1/tables/{table}", "{'families':{'stats':{},'raw':{},'sums':{'type':'sum'}}}"},
    {"POST", "/v1/tables/{table}:families", "{'drop':['{family}']}"},
    {"POST", "/v1/tables/{table}:families", "{'create':{'{family}':{}}}"},
    {"POST", "/v1/tables/{table}:families", "{'update':{'{family}':{'gc':{'max_versions':1}}}}"},
    {"POST", "/v1/tables/{table}:families", "{'update':{'{family}':{'type':'int64'}}}"},
    {"POST", "/v1/admin/tenants", "{'id':'{tenant}'}"},
    {"POST", "/v1/admin/tenants", "{'id':'another-one','plan':'{plan}'}"},
    {"PATCH", ID, "{'display_name':'x','plan':'{plan}'}"},
    {"POST", ID ":suspend", "{'reason':'x','access':'all'}"},
    {"POST", ID ":resume", "{}"},
    {"POST", ID ":rotate-key", "{}"},
    {"POST", ID ":offboard", "{'confirm':'{tenant}'}"},
    {"POST", ID ":offboard", "{'dry_run':true}"},
    {"POST", ID ":offboard", "{'confirm':'{tenant}','grace':'60s','reason':'x'}"},
    {"POST", ID ":undelete", "{}"},
    {"POST", ID ":hold", "{'reason':'x'}"},
    {"POST", ID ":release", "{}"},
    {"PUT", ID "/quota", "{'rows':1}"},
    {"POST", ID "/keys", "{'label':'{label}'}"},
    {"POST", "/v1/admin/keys", "{'kind':'service','tenants':['{tenant}'],'label':'{label}'}"},
    {"POST", "/v1/admin/keys", "{'kind':'operator'}"},
    {"PUT", "/v1/admin/plans/{plan}", "{'quota':{'rows':1}}"},
    {"POST", "/v1/admin/backups", "{'note':'{label}','keep_seconds':60}"},
    {"POST", "/v1/admin/backups/{backup}:verify", "{}"},
    {"POST", ID "/backups", "{'table':'{table}','name':'b','note':'{label}','keep_seconds':60}"},
    {"POST", ID "/backups", "{}"},
    {"POST", ID ":restore", "{'backup':'{backup}','table':'{table}','new_table':'{table}-new'}"},
    {"POST", ID ":restore", "{'backup':'{backup}','confirm':'{tenant}'}"},
    {"POST", ID ":restore", "{'backup':'{backup}','dry_run':true}"},
    {"POST", ID "/operations/{operation}:cancel", "{}"},
};
#define BODY_COUNT (sizeof BODIES / sizeof BODIES[0])

static const char *const QUERIES[] = {
    "prefix={key}",
    "prefix={tenant}%23",
    "start={key}",
    "start=%00",
    "end={key}",
    "end=%FF%FF%FF",
    "limit=1",
    "page_token={page}",
    "order=desc",
    "order=bytes",
    "stats=true",
    "family={family}",
    "column={qualifier}&family={family}",
    "since=1000",
    "until=1000000",
    "timestamps=ms",
    "until=2020-01-01T00:00:00Z",
    "versions=1",
    "form=flat",
    "values=base64",
    "bytes=1",
    "timestamp=2000",
    "tenant={tenant}",
    "from=1",
    "from=2020-01-01T00:00:00Z",
    "format=csv",
    "recount=true",
    "state=active",
    "event=expired",
    "plan={plan}",
};
#define QUERY_COUNT (sizeof QUERIES / sizeof QUERIES[0])

static const unsigned WAYS[] = {
    WAY_PLACE,
    WAY_ITEM,
    WAY_PLACE | WAY_ITEM,
    WAY_HEADER,
    WAY_HEADER | WAY_PLACE | WAY_ITEM | WAY_BODY,
    WAY_ODD,
    WAY_BODY,
    WAY_BODY | WAY_ITEM,
    WAY_TOKEN,
    WAY_STREAM | WAY_PLACE,
    WAY_STREAM | WAY_BODY,
};
#define WAY_COUNT (sizeof WAYS / sizeof WAYS[0])

/* --- all of a route ----------------------------------------------------------------------------
 */

struct list {
    const struct gw_route *route;
    struct request *out;
    size_t count;
};

static void add(struct list *l, unsigned ways, const char *query, const char *body)
{
    ck_assert_uint_lt(l->count, REQUESTS_MAX);
    l->out[l->count++] = (struct request){l->route, ways, query, body};
}

static bool names_item(const char *pattern)
{
    static const char *const items[] = {"{key}", "{family}", "{qualifier}", "{keyid}"};
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++)
        if (strstr(pattern, items[i]) != NULL)
            return true;
    return false;
}

static bool makes_sense(const struct gw_route *route, unsigned ways, const char *body)
{
    bool has_place = strchr(route->pattern, '{') != NULL;
    bool takes_token = route->in_table && route->audit == NULL &&
                       strcmp(route->method, "GET") != 0 && names_item(route->pattern);
    bool reads = strcmp(route->method, "GET") == 0 || route->access == GW_ACCESS_READ;
    return (has_place || (ways & WAY_PLACE) == 0 || (ways & WAY_HEADER) != 0) &&
           (names_item(route->pattern) || (ways & WAY_ITEM) == 0 || (ways & WAY_HEADER) != 0) &&
           (body != NULL || (ways & WAY_BODY) == 0 || (ways & WAY_HEADER) != 0) &&
           (takes_token || (ways & WAY_TOKEN) == 0) && (reads || (ways & WAY_STREAM) == 0);
}

static size_t add_bodies(struct list *l, unsigned ways)
{
    size_t found = 0;
    for (size_t b = 0; b < BODY_COUNT; b++) {
        if (strcmp(BODIES[b].method, l->route->method) != 0 ||
            strcmp(BODIES[b].pattern, l->route->pattern) != 0)
            continue;
        found++;
        if (makes_sense(l->route, ways, BODIES[b].body))
            add(l, ways, NULL, BODIES[b].body);
    }
    return found;
}

static void add_way(struct list *l, unsigned ways)
{
    if (l->route->body == GW_BODY_NONE) {
        if (makes_sense(l->route, ways, NULL))
            add(l, ways, NULL, NULL);
        return;
    }
    ck_assert_msg(add_bodies(l, ways) > 0,
                  "route %s %s has no request in tests/isolation/requests.c: BODIES needs one",
                  l->route->method, l->route->pattern);
}

static void add_queries(struct list *l)
{
    for (const char *const *p = l->route->query; p != NULL && *p != NULL; p++) {
        bool found = false;
        for (size_t q = 0; q < QUERY_COUNT; q++) {
            size_t len = strlen(*p);
            if (strncmp(QUERIES[q], *p, len) != 0 || QUERIES[q][len] != '=')
                continue;
            found = true;
            const char *body = l->route->body == GW_BODY_NONE ? NULL : "{value}";
            add(l, WAY_QUERY, QUERIES[q], body);
            add(l, WAY_QUERY | WAY_PLACE, QUERIES[q], body);
            add(l, WAY_QUERY | WAY_STREAM, QUERIES[q], body);
        }
        ck_assert_msg(found,
                      "query parameter %s of route %s %s has no value in "
                      "tests/isolation/requests.c: QUERIES needs one",
                      *p, l->route->method, l->route->pattern);
    }
}

size_t requests_of(const struct gw_route *route, struct request out[REQUESTS_MAX])
{
    struct list l = {.route = route, .out = out};
    add_way(&l, 0);
    for (size_t i = 0; i < WAY_COUNT; i++)
        add_way(&l, WAYS[i]);
    add_queries(&l);
    return l.count;
}

/* --- one ---------------------------------------------------------------------------------------
 */

static struct names *mixed(const struct request *r, const struct names *own,
                           const struct names *foreign)
{
    static const enum name places[] = {NAME_TENANT, NAME_TABLE,  NAME_PLAN,
                                       NAME_JOB,    NAME_BACKUP, NAME_OPERATION};
    static const enum name items[] = {NAME_KEY, NAME_FAMILY, NAME_QUALIFIER, NAME_KEYID};
    static struct names names;
    names = *own;
    for (size_t i = 0; (r->ways & WAY_PLACE) != 0 && i < sizeof places / sizeof places[0]; i++)
        name_set(&names, places[i], foreign->text[places[i]]);
    for (size_t i = 0; (r->ways & WAY_ITEM) != 0 && i < sizeof items / sizeof items[0]; i++)
        name_set(&names, items[i], foreign->text[items[i]]);
    return &names;
}

void request_target(const struct request *r, const struct names *own, const struct names *foreign,
                    struct buf *out)
{
    names_expand(r->route->pattern, mixed(r, own, foreign), out);
    if (r->query != NULL) {
        ck_assert_int_eq(base_buf_append_byte(out, '?'), ERR_OK);
        names_expand(r->query, (r->ways & WAY_QUERY) != 0 ? foreign : own, out);
    }
    ck_assert_int_eq(base_buf_append_byte(out, '\0'), ERR_OK);
}

void request_body(const struct request *r, const struct names *own, const struct names *foreign,
                  struct buf *out)
{
    names_expand(r->body, (r->ways & WAY_BODY) != 0 ? foreign : own, out);
    for (size_t i = 0; i < out->len; i++)
        if (out->ptr[i] == '\'')
            out->ptr[i] = '"';
}

const char *request_name(const struct request *r)
{
    static const char *const words[] = {"place", "item",  "header", "odd headers",
                                        "body",  "query", "token",  "stream"};
    static char text[1024];
    int n = snprintf(text, sizeof text, "%s %s%s%s", r->route->method, r->route->pattern,
                     r->query == NULL ? "" : "?", r->query == NULL ? "" : r->query);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if ((r->ways & 1u << i) != 0)
            n += snprintf(text + n, sizeof text - (size_t)n, ", %s", words[i]);
    if (r->body != NULL)
        (void)snprintf(text + n, sizeof text - (size_t)n, ": %.300s", r->body);
    return text;
}

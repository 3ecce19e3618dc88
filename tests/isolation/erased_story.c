/*
 * tests/isolation/erased_story.c - a tenant's life in which everything has a mark.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "gateway/grpc/status.h"
#include "tests/isolation/erased.h"
#include "tests/isolation/erased_forms.h"
#include "tests/isolation/neighbours_make.h"
#include "tests/isolation/requests.h"
#include "tests/isolation/rpcs.h"

#include "base/banned.h"

#define TRAIL   ERASED_IN(STO_REMAINS_AUDIT)
#define JOB     ERASED_IN(STO_REMAINS_JOB)
#define LINE    ERASED_IN(STO_REMAINS_CERTIFICATE)
#define PLANS   ERASED_IN(ERASED_FREE)
#define NOWHERE 0

const struct erased_mark ERASED_MARKS[] = {
    {"zq-table", "a table's name", NOWHERE},
    {"zq-view", "a view's name", NOWHERE},
    {"zq-fam", "a family's name", NOWHERE},
    {"zq-saved", "a backup's name", NOWHERE},
    {"zq-plan", "a plan's name", TRAIL | PLANS},
    {"zq-leave", "the reason of the deletion", JOB | LINE},
    {"zq-row", "a row key", NOWHERE},
    {"zq-qual", "a qualifier", NOWHERE},
    {"zq-value", "a value", NOWHERE},
    {"zq-label", "a label of a key", NOWHERE},
    {"zq-shared", "a label of a service key", NOWHERE},
    {"zq-prefix", "a row prefix of a key", NOWHERE},
    {"zq-token", "a token of idempotency", NOWHERE},
    {"zq-display", "the tenant's display name", NOWHERE},
    {"zq-notes", "notes on row keys", NOWHERE},
    {"zq-split", "a split of a table", NOWHERE},
    {"zq-memo", "a note on a backup", NOWHERE},
    {"zq-why", "the reason of a suspension", NOWHERE},
    {"zq-hold", "the reason of a hold", NOWHERE},
    {"zq-Proj", "a project's name", NOWHERE},
    {"zq-inst", "an instance's name", NOWHERE},
    {"zq-shown", "an instance's display name", NOWHERE},
    {"zq-tied", "an instance's label", NOWHERE},
    {"zq-clus", "a cluster's name", NOWHERE},
    {"zq-place", "a cluster's location", NOWHERE},
    {"zq-kms", "the name of a cluster's key", NOWHERE},
    {"zq-prof", "an application profile's name", NOWHERE},
    {"zq-about", "an application profile's description", NOWHERE},
};
const size_t ERASED_MARK_COUNT = sizeof ERASED_MARKS / sizeof ERASED_MARKS[0];

static const char *const OWN[NAME_COUNT] = {
    [NAME_TENANT] = ERASED_TENANT,
    [NAME_TABLE] = "zq-table",
    [NAME_VIEW] = "zq-view",
    [NAME_KEY] = "zq-row",
    [NAME_FAMILY] = "zq-fam",
    [NAME_QUALIFIER] = "zq-qual",
    [NAME_VALUE] = "zq-value",
    [NAME_PLAN] = "zq-plan",
    [NAME_LABEL] = "zq-label",
    [NAME_KEYID] = "AAAAAAAAAAAA",
    [NAME_JOB] = "0000000000000009",
    [NAME_BACKUP] = "0000000000000008",
    [NAME_SAVED] = "zq-saved",
    [NAME_OPERATION] = "0000000000000007",
    [NAME_IDEMPOTENCY] = "zq-token-of-mine",
};

/* --- the server ------------------------------------------------------------------------------- */

void erased_begin(struct erased *x)
{
    memset(x, 0, sizeof *x);
    server_create(&x->server);
    (void)snprintf(x->access_log, sizeof x->access_log, "%s/access.log", x->server.root);
    x->server.options[0] = "--access-log";
    x->server.options[1] = x->access_log;
    x->server.options[2] = "--emulator";
    x->server.options[3] = "127.0.0.1:0";
    server_start(&x->server, NULL);
    x->op = http_open(&x->server, HTTP_2, x->server.operator_key);
    for (size_t i = 0; i < NAME_COUNT; i++)
        name_set(&x->own, (enum name)i, OWN[i] == NULL ? "" : OWN[i]);
}

void erased_end(struct erased *x)
{
    http_close(x->http);
    http_close(x->op);
    server_remove(&x->server);
}

/* --- one request ------------------------------------------------------------------------------ */

void erased_remember(struct erased *x, const char *method, const char *place, const char *body)
{
    ck_assert_uint_lt(x->sent_count, ERASED_SENT);
    x->sent[x->sent_count++] = (struct erased_sent){method, place, body};
}

struct asking {
    struct http *http;
    const struct gw_route *route;
    struct buf target;
    struct buf body;
};

/* Asks again while the server is overloaded by other tests, which is not the subject here. */
static bool is_answered(void *arg)
{
    struct asking *a = arg;
    if (a->route->body == GW_BODY_LINES)
        http_once(a->http, "Content-Type: application/x-ndjson");
    http_send(a->http, a->route->method, (const char *)a->target.ptr, base_buf_slice(&a->body));
    return a->http->status != 503 && a->http->status != 429;
}

/* As it stands in requests.c: pattern and body with {words}, ' for ". */
static void send_form(struct erased *x, const struct gw_route *route, const char *query,
                      const char *body)
{
    bool is_admin = strncmp(route->pattern, "/v1/admin/", strlen("/v1/admin/")) == 0 ||
                    (route->scope & ~AUTH_SCOPES_TENANT) != 0;
    const struct request r = {.route = route, .query = query, .body = body};
    struct asking a = {.http = is_admin ? x->op : x->http, .route = route};
    base_buf_init(&a.target, 64 * KIB);
    base_buf_init(&a.body, 64 * KIB);
    request_target(&r, &x->own, &x->own, &a.target);
    if (body != NULL)
        request_body(&r, &x->own, &x->own, &a.body);
    process_await(is_answered, &a, route->pattern);
    x->last = a.http;
    base_buf_fini(&a.target);
    base_buf_fini(&a.body);
}

static const struct gw_route *route_find(const char *method, const char *pattern)
{
    for (size_t i = 0; i < gw_route_count; i++)
        if (strcmp(gw_routes[i].method, method) == 0 && strcmp(gw_routes[i].pattern, pattern) == 0)
            return &gw_routes[i];
    ck_abort_msg("there is no route %s %s", method, pattern);
}

/* It must succeed: a refused mark shows nothing. */
static void tell(struct erased *x, const char *method, const char *pattern, const char *body)
{
    send_form(x, route_find(method, pattern), NULL, body);
    erased_remember(x, method, pattern, body);
    ck_assert_msg(x->last->status < 300, "%s %s %s: %d: %s", method, pattern,
                  body == NULL ? "" : body, x->last->status, http_text(x->last));
}

/* What a name stands for from now on, out of the last answer. */
static void take_name(struct erased *x, enum name n, const char *path)
{
    name_set(&x->own, n, http_string(x->last, path));
}

/* --- the story -------------------------------------------------------------------------------- */

#define ID    "/v1/admin/tenants/{id}"
#define TABLE "/v1/tables/{table}"
#define ROW   TABLE "/rows/{key}"
#define CELL  TABLE "/cells/{key}/{family}/{qualifier}"

/* Has the memory written to files, so that what goes next stays there as an old version. */
static void write_files(struct erased *x)
{
    tell(x, "POST", "/v1/admin/backups", "{'note':'zq-memo of all'}");
    take_name(x, NAME_BACKUP, "/id");
    (void)admin_await_end(x->op, "/state", "/v1/admin/backups/%s", x->own.text[NAME_BACKUP]);
}

static void tell_beginning(struct erased *x)
{
    tell(x, "PUT", "/v1/admin/plans/{plan}",
         "{'display_name':'zq-plan of gold','quota':{'control_ops_per_s':1000}}");
    tell(x, "POST", "/v1/admin/tenants",
         "{'id':'{tenant}','display_name':'zq-display of old','plan':'{plan}'}");
    tell(x, "PATCH", ID, "{'display_name':'zq-display','plan':'{plan}'}");
    tell(x, "PUT", ID "/quota", "{'rows':1000000,'control_ops_per_s':1000}");
    tell(x, "POST", ID "/keys", "{'label':'zq-label of the app'}");
    (void)snprintf(x->key, sizeof x->key, "%s", http_string(x->op, "/key"));
    x->http = http_open(&x->server, HTTP_2, x->key);
    tell(x, "POST", ID "/keys",
         "{'label':'zq-label of a reader','row_prefix':'zq-prefix','scopes':['data.read']}");
    tell(x, "POST", ID "/keys", "{'label':'zq-label of old','row_prefix':'zq-prefix of old'}");
    take_name(x, NAME_KEYID, "/id");
    write_files(x);
    tell(x, "DELETE", ID "/keys/{keyid}", NULL);
    tell(x, "POST", "/v1/admin/keys",
         "{'kind':'service','tenants':['{tenant}'],'label':'zq-shared','row_prefix':'zq-prefix'}");
    take_name(x, NAME_KEYID, "/id");
    write_files(x);
    tell(x, "DELETE", "/v1/admin/keys/{keyid}", NULL);
    tell(x, "POST", "/v1/admin/keys",
         "{'kind':'service','tenants':['{tenant}'],'label':'zq-shared','row_prefix':'zq-prefix'}");
}

#define TABLE_AGAIN                                                                                \
    "{'families':{'{family}':{},'stats':{},'raw':{},'sums':{'type':'sum'},'{family}-sums':{'type'" \
    ":'sum'}},"                                                                                    \
    "'change_stream_retention':'86400s','row_key_notes':'zq-notes'}"
#define ROW_AGAIN "{'{family}':{'{qualifier}':{'value':'{value}','timestamp':'2000'}}}"

static void tell_tables(struct erased *x)
{
    tell(x, "PUT", TABLE,
         "{'families':{'{family}':{},'stats':{},'raw':{},'sums':{'type':'sum'},'{family}-sums':{'"
         "type':'sum'}},"
         "'change_stream_retention':'86400s','row_key_notes':'zq-notes of old',"
         "'splits':['zq-split']}");
    tell(x, "PUT", TABLE, TABLE_AGAIN);
    tell(x, "POST", TABLE ":families", "{'create':{'{family}-2':{}}}");
    tell(x, "POST", TABLE ":families", "{'update':{'{family}-2':{'gc':{'max_versions':1}}}}");
    tell(x, "POST", TABLE ":families", "{'drop':['{family}-2']}");
}

#define SET                                                                                        \
    "{'set_cell':{'family':'{family}','qualifier':'{qualifier}','value':'{value}',"                \
    "'timestamp':'2000'}}"
#define DELETE_COLUMN "{'delete_from_column':{'family':'{family}','qualifier':'{qualifier} gone'}}"
#define DELETE_FAMILY "{'delete_from_family':{'family':'{family}'}}"
#define ADD                                                                                        \
    "{'add_to_cell':{'family':'{family}-sums','qualifier':'{qualifier}','timestamp':'2000','"      \
    "input':5}}"
#define MERGE                                                                                      \
    "{'merge_to_cell':{'family':'{family}-sums','qualifier':'{qualifier}','timestamp':'2000',"     \
    "'state_b64':'AAAAAAAAAAE='}}"
#define ALL "[" DELETE_FAMILY "," SET "," DELETE_COLUMN "," ADD "," MERGE "]"

/* A cell as text, and lists of cells. */
static const char *const FORMS[] = {
    "{'{family}':{'{qualifier}':'{value}'}}",
    "{'{family}':{'{qualifier}':['{value}']}}",
    "{'{family}':{'{qualifier}':[{'value':'{value}','timestamp':'2000'}]}}",
};

static void tell_rows(struct erased *x)
{
    tell(x, "PUT", ROW, ROW_AGAIN);
    for (size_t i = 0; i < sizeof FORMS / sizeof FORMS[0]; i++) {
        tell(x, "PUT", ROW, FORMS[i]);
        tell(x, "PATCH", ROW, FORMS[i]);
    }
    http_once(x->http, "Idempotency-Key: %s", x->own.text[NAME_IDEMPOTENCY]);
    tell(x, "PATCH", ROW, "{'{family}':{'{qualifier}':{'value':'{value}','timestamp':'3000'}}}");
    tell(x, "POST", ROW ":mutate", "{'mutations':" ALL "}");
    tell(x, "POST", ROW ":modify",
         "{'rules':[{'family':'{family}','qualifier':'{qualifier}','append':'{value}'}]}");
    tell(x, "POST", ROW ":check",
         "{'predicate':{'value_regex':'{value}.*'},'then':" ALL ",'else':" ALL "}");
    tell(x, "POST", ROW ":check",
         "{'predicate':{'value_regex':'nothing'},'then':" ALL ",'else':" ALL "}");
    tell(x, "PUT", CELL, "{value} as it is");
    tell(x, "POST", TABLE ":write",
         "{'key':'{key} of many','cells':{'{family}':{'{qualifier}':'{value}'}},"
         "'idempotency_token':'{idempotency}-2'}\n{'op':'delete','key':'{key} of many'}\n"
         "{'key':'{key} dropped','cells':{'{family}':{'{qualifier}':'{value}'}}}\n");
    tell(x, "POST", TABLE ":drop", "{'prefix':'{key} dropped'}");
}

static void ask(struct erased *x, struct grpc_client *c, const char *path,
                const ProtobufCMessageDescriptor *type, const char *form)
{
    (void)neighbours_ask(c, &x->own, path, type, form);
    erased_remember(x, "gRPC", path, form);
    grpc_forget(c);
}

/* Whatever comes of them. */
static void offer_ignored(struct erased *x, struct grpc_client *c)
{
    for (size_t i = 0; i < sizeof IGNORED / sizeof IGNORED[0]; i++) {
        const struct gw_method *method = gw_method_find(base_slice_text(IGNORED[i].path));
        const struct rpc r = {.method = method, .form = IGNORED[i].form};
        struct arena arena;
        base_arena_init(&arena, MIB);
        (void)grpc_ask(c, IGNORED[i].path, rpc_message(&r, &x->own, &x->own, &arena));
        erased_remember(x, "gRPC", IGNORED[i].path, IGNORED[i].form);
        grpc_forget(c);
        base_arena_fini(&arena);
    }
}

static void tell_over_grpc(struct erased *x)
{
    static struct grpc_client c;
    grpc_open(&c, &x->server, x->key, 0);
    grpc_hurry(&c);
    offer_ignored(x, &c);
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        ask(x, &c, OTHERS[i].path, OTHERS[i].type, OTHERS[i].form);
    ask(x, &c, ADMIN "CreateAuthorizedView", &bta__create_authorized_view_request__descriptor,
        "parent=" INSTANCE "/tables/{table};authorized_view_id={view};" SUBSET);
    ask(x, &c, ADMIN "UpdateAuthorizedView", &bta__update_authorized_view_request__descriptor,
        "authorized_view.name=" INSTANCE "/tables/{table}/authorizedViews/{view};" SUBSET
        ";update_mask.paths=subset_view");
    ask(x, &c, DATA "MutateRow", &bt__mutate_row_request__descriptor,
        "table_name=" INSTANCE "/tables/{table};row_key={key};" GRPC_SET("mutations"));
    ask(x, &c, DATA "MutateRows", &bt__mutate_rows_request__descriptor,
        "table_name=" INSTANCE "/tables/{table};entries.row_key={key};"
        "entries.idempotency.token={idempotency}-3;" GRPC_SET("entries.mutations"));
    ask(x, &c, DATA "ReadModifyWriteRow", &bt__read_modify_write_row_request__descriptor,
        "table_name=" INSTANCE "/tables/{table};row_key={key};rules.family_name={family};"
        "rules.column_qualifier={qualifier};rules.append_value={value}");
    ask(x, &c, ADMIN "CreateTable", &bta__create_table_request__descriptor,
        "parent=" INSTANCE ";table_id={table}-grpc;table.column_families.key={family};"
        "table.column_families.value=;initial_splits.key=zq-split");
    grpc_close(&c);
}

static void await_operation(struct erased *x)
{
    take_name(x, NAME_OPERATION, "/id");
    ck_assert_str_eq(admin_await_end(x->op, "/state", "/v1/admin/tenants/%s/operations/%s",
                                     ERASED_TENANT, x->own.text[NAME_OPERATION]),
                     "done");
}

static void tell_backups(struct erased *x)
{
    write_files(x);
    tell(x, "POST", ID "/backups", "{'table':'{table}','name':'{saved}','note':'zq-memo'}");
    await_operation(x);
    name_set(&x->own, NAME_BACKUP, http_string(x->op, "/backup"));
    tell(x, "POST", ID ":restore",
         "{'backup':'{backup}','table':'{table}','new_table':'{table}-new'}");
    await_operation(x);
}

static void tell_states(struct erased *x)
{
    tell(x, "POST", ID ":suspend", "{'reason':'zq-why','access':'all'}");
    write_files(x);
    tell(x, "POST", ID ":resume", "{}");
    tell(x, "POST", ID ":hold", "{'reason':'zq-hold'}");
    write_files(x);
    tell(x, "POST", ID ":release", "{}");
    tell(x, "POST", ID ":offboard",
         "{'confirm':'{tenant}','grace':'3600s','reason':'zq-leave at first'}");
    tell(x, "POST", ID ":undelete", "{}");
    write_files(x);
}

void erased_tell_story(struct erased *x)
{
    tell_beginning(x);
    tell_tables(x);
    tell_rows(x);
    tell_over_grpc(x);
    erased_tell_plain(x);
    tell_backups(x);
    tell_states(x);
}

/* --- everything else -------------------------------------------------------------------------- */

static bool ends_tenant(const struct gw_route *route, const char *body)
{
    return strcmp(route->pattern, ID ":offboard") == 0 && strstr(body, "dry_run") == NULL;
}

/* What a request took away, so that the next ones find something. */
static void put_back(struct erased *x)
{
    send_form(x, route_find("POST", ID ":resume"), NULL, "{}");
    send_form(x, route_find("POST", ID ":release"), NULL, "{}");
    send_form(x, route_find("PUT", ID "/quota"), NULL, "{'control_ops_per_s':1000}");
    send_form(x, route_find("PUT", TABLE), NULL, TABLE_AGAIN);
    send_form(x, route_find("PUT", ROW), NULL, ROW_AGAIN);
}

static void walk_routes(struct erased *x)
{
    static struct request requests[REQUESTS_MAX];
    for (size_t i = 0; i < gw_route_count; i++) {
        size_t count = requests_of(&gw_routes[i], requests);
        for (size_t k = 0; k < count; k++) {
            const struct request *r = &requests[k];
            if ((r->ways & ~(unsigned)WAY_QUERY) != 0 ||
                (r->body != NULL && ends_tenant(r->route, r->body)))
                continue;
            send_form(x, r->route, r->query, r->body);
            erased_remember(x, r->route->method, r->route->pattern, r->body);
            ck_assert_msg(x->last->status < 500, "%s: %s", request_name(r), http_text(x->last));
            if (r->route->audit != NULL && x->last->status < 300)
                put_back(x);
        }
    }
}

static void walk_methods(struct erased *x)
{
    static struct rpc rpcs[RPCS_MAX];
    static struct grpc_client c;
    grpc_open(&c, &x->server, x->key, 0);
    grpc_hurry(&c);
    for (size_t i = 0; i < gw_method_count; i++) {
        size_t count = rpcs_of(&gw_methods[i], rpcs);
        for (size_t k = 0; k < count && rpcs[k].ways == 0; k++) {
            struct arena arena;
            base_arena_init(&arena, MIB);
            const struct grpc_call *call = grpc_start(
                &c, rpc_path(&rpcs[k]), rpc_message(&rpcs[k], &x->own, &x->own, &arena), NULL);
            if (rpcs[k].watches) {
                grpc_await_bytes(&c, call, 1);
                grpc_cancel(&c, call);
            }
            grpc_await(&c);
            ck_assert_msg(call->status != GW_STATUS_INTERNAL, "%s: %s", rpc_name(&rpcs[k]),
                          call->message);
            bool is_done = gw_methods[i].audit != NULL && call->status == GW_STATUS_OK;
            if (gw_methods[i].request != NULL) /* others are refused here, whatever they say */
                erased_remember(x, "gRPC", gw_methods[i].name, rpcs[k].form);
            grpc_forget(&c);
            base_arena_fini(&arena);
            if (is_done)
                put_back(x);
        }
    }
    grpc_close(&c);
}

/* Keys for all tenants stay as they are, and their labels are marks here; those for the tenant
 * alone are left to its purge. */
static void revoke_service_keys(struct erased *x)
{
    http_get(x->op, "/v1/admin/keys");
    EXPECT_STATUS(x->op, 200);
    json_t *keys = json_incref(http_at(x->op, "/keys"));
    size_t i;
    json_t *key;
    json_array_foreach(keys, i, key)
    {
        if (strcmp(json_string_value(json_object_get(key, "kind")), "service") != 0 ||
            !json_is_null(json_object_get(key, "tenants")))
            continue;
        http_delete(x->op, "/v1/admin/keys/%s", json_string_value(json_object_get(key, "id")));
        EXPECT_STATUS(x->op, 204);
    }
    json_decref(keys);
}

void erased_walk_all(struct erased *x)
{
    walk_routes(x);
    walk_methods(x);
    revoke_service_keys(x);
}

/*
 * gateway/api/dispatch.c - from a request's head to its handler, through every check, in one order.
 *
 * Each check either passes (true) or has answered the call (false). What costs the caller something
 * (rate) comes before what tells him something (table), and both behind who he is.
 *
 * A table's scope is taken when the head arrives, so that a missing table is refused before a long
 * body is sent, and again when the body is complete: the table may have been deleted meanwhile, and
 * nothing must be written to one that is.
 */
#include "gateway/api/dispatch.h"

#include <strings.h>

#include "gateway/problem.h"

#include "base/banned.h"

/* One text for every tenant a key may not act for, whether it exists or not. */
#define FOREIGN_TENANT "this key may not act for that tenant"

static bool refused(struct gw_call *call, enum err code, const struct errbuf *eb)
{
    if (code == ERR_OK)
        return false;
    gw_call_problem(call, (int)code, eb->text);
    return true;
}

/* --- route -------------------------------------------------------------------------------------
 */

static bool check_route(struct gw_call *call)
{
    struct gw_exchange *ex = call->ex;
    struct errbuf eb;
    switch (gw_router_match(call->api->router, ex->method, ex->path, &call->match)) {
    case GW_MATCHED_NO_PATH:
        gw_call_problem(call, ERR_NOT_FOUND, "there is no such route");
        return false;
    case GW_MATCHED_NO_METHOD:
        gw_call_problem(call, GW_PROBLEM_METHOD, "this route does not have that method");
        return false;
    case GW_MATCHED_BAD_PATH:
        gw_call_problem(call, ERR_INVALID,
                        "a path segment is empty, \".\" or \"..\"; percent-encode dots of a key");
        return false;
    case GW_MATCHED:
    default:
        call->route = call->match.route;
        eb.text[0] = '\0';
        return !refused(call, gw_match_decode(&call->match, &call->arena, &eb), &eb);
    }
}

/* --- credential --------------------------------------------------------------------------------
 */

static bool is_bearer(struct slice value)
{
    static const char scheme[] = "bearer ";
    if (value.len < sizeof scheme - 1)
        return false;
    for (size_t i = 0; i < sizeof scheme - 2; i++) {
        if ((value.ptr[i] | 0x20) != (uint8_t)scheme[i])
            return false;
    }
    return value.ptr[sizeof scheme - 2] == ' ';
}

/* The one credential of the request; ptr NULL when the call was answered. */
static struct slice find_credential(struct gw_call *call)
{
    size_t bearers = 0;
    size_t api_keys = 0;
    struct slice bearer = gw_exchange_header(call->ex, "authorization", &bearers);
    struct slice api_key = gw_exchange_header(call->ex, "x-goog-api-key", &api_keys);
    if (bearers + api_keys > 1) {
        gw_call_problem(call, ERR_INVALID,
                        "give exactly one credential: Authorization or x-goog-api-key, once");
        return SLICE_EMPTY;
    }
    if (api_keys == 1 && api_key.len > 0)
        return api_key;
    if (bearers == 1 && is_bearer(bearer))
        return base_slice_skip(bearer, sizeof "bearer " - 1);
    gw_call_problem(call, ERR_UNAUTHENTICATED,
                    "an API key is needed: Authorization: Bearer KEY or x-goog-api-key: KEY");
    return SLICE_EMPTY;
}

static const char *scope_name(uint64_t bit)
{
    return auth_scope_name((unsigned)__builtin_ctzll(bit));
}

/* Out: the key, valid until this loop turn ends. */
static const struct auth_key *check_credential(struct gw_call *call)
{
    const struct auth_key *key = NULL;
    struct slice text = find_credential(call);
    if (text.ptr == NULL)
        return NULL;
    enum err e = auth_verify(call->thread->verifier, text, &key);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e,
                        e == ERR_UNAUTHENTICATED ? "the API key is not valid"
                                                 : "the API key could not be checked");
        return NULL;
    }
    memcpy(call->who.key_id, key->id, sizeof call->who.key_id);
    call->who.kind = key->kind;
    call->who.scopes = key->scopes;
    uint64_t missing = call->route->scope & ~key->scopes;
    if (missing != 0) {
        gw_call_refuse(call, ERR_FORBIDDEN, "this key does not have the scope %s",
                       scope_name(missing));
        return NULL;
    }
    return key;
}

/* --- tenant and table --------------------------------------------------------------------------
 */

static bool check_tenant(struct gw_call *call, const struct auth_key *key)
{
    struct errbuf eb;
    size_t count = 0;
    struct slice named = gw_exchange_header(call->ex, "bigtent-tenant", &count);
    if (count > 1) {
        gw_call_problem(call, ERR_INVALID, "Bigtent-Tenant is given more than once");
        return false;
    }
    eb.text[0] = '\0';
    enum err e = auth_acting_tenant(key, call->api->registry, named, &call->tenant, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, e == ERR_FORBIDDEN ? FOREIGN_TENANT : eb.text);
        return false;
    }
    enum ten_access access = call->route->access == GW_ACCESS_READ ? TEN_READ : TEN_WRITE;
    if (call->route->cost == 0)
        return !refused(call, ten_access_check(call->tenant, access, &eb), &eb);
    uint64_t retry_ns = 0;
    e = ten_admit(call->tenant, access, call->route->cost, &retry_ns, &eb);
    if (e == ERR_RATE_LIMITED) {
        gw_call_limited(call, eb.text, retry_ns);
        return false;
    }
    return !refused(call, e, &eb);
}

static bool check_table(struct gw_call *call)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    if (!call->route->in_table || call->has_scope)
        return true;
    return !refused(call, gw_call_enter_table(call, &eb), &eb);
}

/* --- input -------------------------------------------------------------------------------------
 */

/* Types a body may be declared as. curl's default for -d is let pass: nobody means a form. */
static bool is_media_type_fine(enum gw_body body, struct slice type)
{
    static const char *const json[] = {"application/json", "text/json", "text/plain",
                                       "application/x-www-form-urlencoded", NULL};
    static const char *const lines[] = {"application/x-ndjson",
                                        "application/jsonl",
                                        "application/ndjson",
                                        "application/x-jsonlines",
                                        "text/plain",
                                        "application/octet-stream",
                                        "application/x-www-form-urlencoded",
                                        NULL};
    const char *const *names = body == GW_BODY_LINES ? lines : json;
    const uint8_t *semicolon = type.len == 0 ? NULL : memchr(type.ptr, ';', type.len);
    size_t len = semicolon == NULL ? type.len : (size_t)(semicolon - type.ptr);
    while (len > 0 && type.ptr[len - 1] == ' ')
        len--;
    for (; *names != NULL; names++) {
        if (len == strlen(*names) && strncasecmp((const char *)type.ptr, *names, len) == 0)
            return true;
    }
    bool is_suffixed = len > 5 && strncasecmp((const char *)type.ptr + len - 5, "+json", 5) == 0;
    return is_suffixed && body != GW_BODY_LINES;
}

static bool check_media_type(struct gw_call *call)
{
    enum gw_body body = call->route->body;
    if (body == GW_BODY_NONE || body == GW_BODY_RAW || !call->ex->has_body)
        return true;
    size_t count = 0;
    struct slice type = gw_exchange_header(call->ex, "content-type", &count);
    if (count == 0 || (count == 1 && is_media_type_fine(body, type)))
        return true;
    gw_call_problem(call, GW_PROBLEM_MEDIA_TYPE,
                    body == GW_BODY_LINES ? "the body must be application/x-ndjson"
                                          : "the body must be application/json");
    return false;
}

static void refuse_length(struct gw_call *call)
{
    if (call->route->body == GW_BODY_NONE)
        gw_call_problem(call, ERR_INVALID, "this request takes no body");
    else
        gw_call_refuse(call, ERR_TOO_BIG, "the body is larger than the limit of %zu bytes",
                       call->route->body_max);
}

static bool check_input(struct gw_call *call)
{
    static const char *const nothing[] = {NULL};
    const struct gw_route *route = call->route;
    const char *const *names = route->query == NULL ? nothing : route->query;
    struct errbuf eb;
    eb.text[0] = '\0';
    if (refused(call, gw_query_parse(call->ex->query, names, &call->arena, &call->query, &eb), &eb))
        return false;
    if (!check_media_type(call))
        return false;
    if (route->body != GW_BODY_LINES && call->ex->content_length > (int64_t)route->body_max) {
        refuse_length(call);
        return false;
    }
    return true;
}

static void run_handler(struct gw_call *call)
{
    call->running = true;
    if (check_table(call))
        call->route->handler(call);
}

/* --- events ------------------------------------------------------------------------------------
 */

static void collect(struct gw_call *call, struct slice bytes, bool end)
{
    size_t held = call->body_bytes.len;
    if (bytes.len > call->route->body_max - held) {
        refuse_length(call);
        return;
    }
    if (end && held == 0) {
        call->body = bytes;
        run_handler(call);
        return;
    }
    if (base_buf_append(&call->body_bytes, bytes) != ERR_OK) {
        gw_call_problem(call, ERR_NO_MEMORY, "out of memory for the body");
        return;
    }
    if (!end)
        return;
    call->body = base_buf_slice(&call->body_bytes);
    run_handler(call);
}

static void on_body(struct gw_exchange *ex, void *user, struct slice bytes, bool end)
{
    struct gw_call *call = user;
    gw_call_hold(call);
    if (call->on_body != NULL) {
        call->on_body(call, bytes, end);
    } else {
        gw_exchange_consumed(ex, bytes.len);
        if (!call->running && !call->answered)
            collect(call, bytes, end);
    }
    gw_call_drop(call);
}

static void on_drained(struct gw_exchange *ex, void *user)
{
    (void)ex; /* the call knows it */
    struct gw_call *call = user;
    gw_call_hold(call);
    if (call->on_drained != NULL)
        call->on_drained(call);
    gw_call_drop(call);
}

static void on_gone(struct gw_exchange *ex, void *user)
{
    struct gw_call *call = user;
    INVARIANT(call->magic == GW_CALL_MAGIC && call->ex == ex);
    gw_call_hold(call);
    call->ex = NULL;
    gw_call_drop(call);
}

static const struct gw_events EVENTS = {on_body, on_drained, on_gone};

static bool passes_checks(struct gw_call *call)
{
    if (!check_route(call))
        return false;
    if (call->route->scope != 0) {
        const struct auth_key *key = check_credential(call);
        if (key == NULL)
            return false;
        if (call->route->access != GW_ACCESS_NONE && !check_tenant(call, key))
            return false;
    }
    return check_table(call) && check_input(call);
}

void gw_dispatch(struct gw_api_thread *thread, struct gw_exchange *ex)
{
    struct gw_call *call = gw_call_new(thread, ex);
    gw_exchange_listen(ex, &EVENTS, call);
    if (passes_checks(call)) {
        if (!ex->has_body || call->route->body == GW_BODY_LINES) {
            run_handler(call);
        } else {
            gw_call_leave_table(call);
            base_buf_init(&call->body_bytes, call->route->body_max);
        }
    }
    gw_call_drop(call);
}

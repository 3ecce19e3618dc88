/*
 * gateway/api/dispatch.c - from a request's head to its handler, through every check, in one order.
 *
 * Each check either passes (true) or has answered the call (false). The caller is identified first;
 * then come checks that cost the caller something (rate), and then checks that reveal something to
 * the caller (table).
 *
 * A table's scope is acquired when the head arrives, so that a missing table is refused before a
 * long body is sent, and again when the body is complete: the table may have been deleted in the
 * meantime, and nothing must be written to a deleted table.
 */
#include "gateway/api/dispatch.h"

#include <strings.h>

#include "base/watchdog.h"
#include "gateway/caller.h"
#include "gateway/grpc/metadata.h"

#include "base/banned.h"

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
    if (gw_metadata_is_grpc(ex)) {
        gw_call_problem(call, GW_PROBLEM_MEDIA_TYPE,
                        "gRPC needs HTTP/2: its status comes in trailers");
        return false;
    }
    switch (gw_router_match(call->api->router, ex->method, ex->path, &gw_rest(call)->match)) {
    case GW_MATCHED_NO_PATH:
        gw_call_problem(call, ERR_NOT_FOUND, "there is no such route");
        return false;
    case GW_MATCHED_LONG_PATH:
        gw_call_problem(call, ERR_NOT_FOUND,
                        "there is no such route; a slash in a row key or qualifier is written %2F");
        return false;
    case GW_MATCHED_NO_METHOD:
        gw_call_problem(call, GW_PROBLEM_METHOD, "this route does not have that method");
        return false;
    case GW_MATCHED_BAD_PATH:
        gw_call_problem(call, ERR_INVALID,
                        "a path segment is empty, \".\" or \"..\"; in a row key or qualifier, a "
                        "dot is written %2E, and a # %23");
        return false;
    case GW_MATCHED:
    default:
        gw_rest(call)->route = gw_rest(call)->match.route;
        eb.text[0] = '\0';
        if (refused(call, gw_match_decode(&gw_rest(call)->match, &call->arena, &eb), &eb))
            return false;
        call->action.name = gw_rest(call)->route->audit;
        base_watchdog_say(gw_rest(call)->route->pattern);
        return true;
    }
}

/* --- tenant and table --------------------------------------------------------------------------
 */

static bool check_tenant(struct gw_call *call, const struct auth_key *key)
{
    const struct gw_route *route = gw_rest(call)->route;
    size_t count = 0;
    struct slice named = gw_exchange_header(call->ex, "bigtent-tenant", &count);
    if (count > 1) {
        gw_call_problem(call, ERR_INVALID, "Bigtent-Tenant is given more than once");
        return false;
    }
    const struct ten_load load = {route->cost, 0};
    return gw_caller_act_for(call, key, named) && gw_caller_admit(call, route->access, load);
}

static bool check_table(struct gw_call *call)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    if (!gw_rest(call)->route->in_table || call->has_scope)
        return true;
    return !refused(call, gw_rest_enter_table(call, &eb), &eb);
}

/* --- input -------------------------------------------------------------------------------------
 */

/* Returns whether a body may be declared as this type. curl's default for -d is accepted: no client
 * means a form. */
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
    enum gw_body body = gw_rest(call)->route->body;
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
    if (gw_rest(call)->route->body == GW_BODY_NONE)
        gw_call_problem(call, ERR_INVALID, "this request takes no body");
    else
        gw_call_refuse(call, ERR_TOO_BIG, "the body is larger than the limit of %zu bytes",
                       gw_rest(call)->route->body_max);
}

static bool check_input(struct gw_call *call)
{
    static const char *const nothing[] = {NULL};
    const struct gw_route *route = gw_rest(call)->route;
    const char *const *names = route->query == NULL ? nothing : route->query;
    struct errbuf eb;
    eb.text[0] = '\0';
    if (refused(call,
                gw_query_parse(call->ex->query, names, &call->arena, &gw_rest(call)->query, &eb),
                &eb))
        return false;
    if (!check_media_type(call))
        return false;
    if (route->body != GW_BODY_LINES && call->ex->content_length > (int64_t)route->body_max) {
        refuse_length(call);
        return false;
    }
    return true;
}

/* --- the body ----------------------------------------------------------------------------------
 */

static void refuse_memory(struct gw_call *call)
{
    struct errbuf eb;
    (void)gw_call_no_memory(call, &eb); /* ERR_NO_MEMORY */
    gw_call_problem(call, ERR_NO_MEMORY, eb.text);
}

/* Allocates memory for the whole body, when its length is known: it is refused now, or fits. A body
 * that the transport passes in one piece is in the transport's memory already. */
static void begin_body(struct gw_call *call)
{
    struct buf *body = &gw_rest(call)->body_bytes;
    gw_call_leave_table(call);
    base_buf_init(body, gw_rest(call)->route->body_max);
    base_buf_charge(body, call->memory);
    if (call->ex->http_major == 2 && call->ex->content_length > 0 &&
        base_buf_reserve(body, (size_t)call->ex->content_length) != ERR_OK)
        refuse_memory(call);
}

/* Copies a body that the transport passed with an event, and that is invalid after the event. */
static void keep_body(struct gw_call *call)
{
    struct buf *kept = &gw_rest(call)->body_bytes;
    struct slice body = gw_rest(call)->body;
    if (body.len == 0 || kept->len > 0)
        return;
    if (base_buf_append(kept, body) != ERR_OK)
        refuse_memory(call);
    else
        gw_rest(call)->body = base_buf_slice(kept);
}

/* --- the handler -------------------------------------------------------------------------------
 */

static void begin(struct gw_call *call)
{
    if (check_table(call))
        gw_rest(call)->route->handler(call);
}

static void turn_came(struct gw_call *call)
{
    if (!call->answered && gw_call_may_begin(call))
        begin(call);
}

/* Runs the handler. Lines wait for their scheduling turn one by one, in their handler. */
static void run_handler(struct gw_call *call)
{
    gw_rest(call)->running = true;
    if (gw_rest(call)->route->body == GW_BODY_LINES || !gw_call_waits_turn(call, turn_came)) {
        begin(call);
        return;
    }
    gw_call_leave_table(call); /* the table may be deleted in the meantime */
    keep_body(call);
}

/* --- events ------------------------------------------------------------------------------------
 */

static void collect(struct gw_call *call, struct slice bytes, bool end)
{
    size_t held = gw_rest(call)->body_bytes.len;
    if (bytes.len > gw_rest(call)->route->body_max - held) {
        refuse_length(call);
        return;
    }
    if (end && held == 0) {
        gw_rest(call)->body = bytes;
        run_handler(call);
        return;
    }
    if (base_buf_append(&gw_rest(call)->body_bytes, bytes) != ERR_OK) {
        refuse_memory(call);
        return;
    }
    if (!end)
        return;
    gw_rest(call)->body = base_buf_slice(&gw_rest(call)->body_bytes);
    run_handler(call);
}

static void on_body(struct gw_exchange *ex, void *user, struct slice bytes, bool end)
{
    struct gw_call *call = user;
    gw_call_hold(call);
    if (gw_rest(call)->on_body != NULL) {
        gw_rest(call)->on_body(call, bytes, end);
    } else {
        gw_exchange_consumed(ex, bytes.len);
        if (!gw_rest(call)->running && !call->answered)
            collect(call, bytes, end);
    }
    gw_call_drop(call);
}

static const struct gw_events EVENTS = {on_body, gw_call_drained, gw_call_gone};

static bool passes_checks(struct gw_call *call)
{
    if (!check_route(call))
        return false;
    if (gw_rest(call)->route->scope != 0) {
        const struct auth_key *key =
            gw_caller_check(call, gw_rest(call)->route->scope, gw_rest(call)->route->by_row);
        if (key == NULL)
            return false;
        if (gw_rest(call)->route->access != GW_ACCESS_NONE && !check_tenant(call, key))
            return false;
    }
    return check_table(call) && check_input(call);
}

void gw_dispatch(struct gw_api_thread *thread, struct gw_exchange *ex)
{
    struct gw_call *call = gw_call_new(&gw_rest_protocol, thread, ex);
    gw_exchange_listen(ex, &EVENTS, call);
    if (passes_checks(call)) {
        if (!ex->has_body || gw_rest(call)->route->body == GW_BODY_LINES)
            run_handler(call);
        else
            begin_body(call);
    }
    gw_call_drop(call);
}

/*
 * gateway/api/rest.c - a call of the JSON API: the parsed parts of its head and body, and its
 * responses.
 */
#define _GNU_SOURCE
#include "gateway/api/rest.h"

#include "auth/scopes.h"
#include "base/log.h"
#include "gateway/budget.h"
#include "gateway/cell_fields.h"

#include "base/banned.h"

/* --- the protocol ------------------------------------------------------------------------------
 */

static void refuse(struct gw_call *call, int problem, const char *detail,
                   const struct gw_problem_extra *extra)
{
    const struct gw_rest *rest = gw_rest(call);
    struct gw_problem_extra all = {.allow = rest->match.allow};
    if (extra != NULL) {
        all.retry_ns = extra->retry_ns;
        all.policy = extra->policy;
    }
    if (gw_problem_get(problem)->status == 500)
        base_log(BASE_LOG_ERROR, "request_failed", "code=%s route=\"%s %s\" detail=\"%s\"",
                 gw_problem_get(problem)->code, rest->route == NULL ? "-" : rest->route->method,
                 rest->route == NULL ? "-" : rest->route->pattern, detail == NULL ? "" : detail);
    gw_budget_put_limits(call, gw_problem_get(problem)->retry_after_s != 0);
    gw_budget_put_cost(call);
    gw_problem_send(call->ex, problem, detail, &all);
}

static void charge(struct gw_call *call)
{
    base_buf_charge(&gw_rest(call)->body_bytes, call->memory);
}

/* Resets the protocol's part. The large arrays are only ever read up to their counts. */
static void reset(struct gw_call *call)
{
    struct gw_rest *rest = gw_rest(call);
    gw_json_free(rest->json, &rest->json_charge);
    base_buf_fini(&rest->body_bytes);
    rest->route = NULL;
    rest->match.param_count = 0;
    rest->match.allow[0] = '\0';
    rest->running = false;
    rest->body = SLICE_EMPTY;
    rest->json = NULL;
    rest->on_body = NULL;
}

/* States tenant and target from the parameters, which are, by their names, a tenant and other
 * IDs. */
static void name_action(struct gw_call *call, struct slice *out_tenant)
{
    const struct gw_rest *rest = gw_rest(call);
    bool is_tenants = strstr(rest->route->pattern, "/tenants/{id}") != NULL;
    for (size_t i = 0; i < rest->match.param_count; i++) {
        if (i == 0 && is_tenants)
            *out_tenant = rest->match.params[i];
        else
            gw_action_target(&call->action, rest->match.params[i]);
    }
}

/* Aborts the response, whether it has started or not: handlers can handle the loss of their
 * peer. */
static void cut(struct gw_call *call, enum err why, const char *detail)
{
    (void)detail; /* an aborted response has no place for it */
    gw_observe_problem(call, (int)why, 0);
    gw_exchange_abort(call->ex);
}

static void label(const struct gw_call *call, struct gw_label *out)
{
    const struct gw_route *route = gw_rest(call)->route;
    out->what = route == NULL ? gw_route_count : (size_t)(route - gw_routes);
    out->code = (uint8_t)(call->seen.status / 100);
    out->is_data = route != NULL && route->in_table &&
                   (route->scope & (AUTH_DATA_READ | AUTH_DATA_WRITE)) != 0;
}

const struct gw_protocol gw_rest_protocol = {
    .id = GW_PROTOCOL_JSON,
    .call_bytes = sizeof(struct gw_rest),
    .arena_max = 4 * LIM_BODY_BYTES, /* mutations of the longest list and decoded values */
    .refuse = refuse,
    .charge = charge,
    .cut = cut,
    .reset = reset,
    .name_action = name_action,
    .label = label,
};

/* --- the table ---------------------------------------------------------------------------------
 */

enum err gw_rest_enter_table(struct gw_call *call, struct errbuf *eb)
{
    return gw_call_enter_table(call, gw_rest_param(call, 0), eb);
}

enum err gw_rest_family(const struct gw_call *call, struct slice name,
                        const struct sto_family **out, struct errbuf *eb)
{
    return gw_family_find(call->scope.schema, name, out, eb);
}

/* --- input -------------------------------------------------------------------------------------
 */

enum err gw_rest_parse(struct gw_call *call, struct errbuf *eb)
{
    struct gw_rest *rest = gw_rest(call);
    bool is_absent = rest->route->body == GW_BODY_OPTIONAL && rest->body.len == 0;
    struct slice text = is_absent ? SLICE_LIT("{}") : rest->body;
    rest->json_charge.share = call->memory;
    enum err e = gw_json_parse(text, &rest->json_charge, &rest->json, eb);
    return e == ERR_NO_MEMORY ? gw_call_no_memory(call, eb) : e;
}

enum err gw_rest_keep_body(struct gw_call *call, struct errbuf *eb)
{
    struct gw_rest *rest = gw_rest(call);
    struct slice body = rest->body;
    bool is_ours = body.len == 0 || body.ptr == rest->body_bytes.ptr;
    if (is_ours)
        return ERR_OK;
    rest->body = base_arena_copy(&call->arena, body);
    if (rest->body.ptr == NULL)
        return gw_call_no_memory(call, eb);
    return ERR_OK;
}

static bool equal_fold(struct slice a, const char *b)
{
    size_t i = 0;
    for (; i < a.len && b[i] != '\0'; i++) {
        uint8_t c = a.ptr[i];
        c = c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
        if (c != (uint8_t)b[i])
            return false;
    }
    return i == a.len && b[i] == '\0';
}

/* Returns the bytes before `stop`, without blanks around them; *rest continues after it. */
static struct slice take_until(struct slice *rest, uint8_t stop)
{
    const uint8_t *at = rest->len == 0 ? NULL : memchr(rest->ptr, stop, rest->len);
    size_t len = at == NULL ? rest->len : (size_t)(at - rest->ptr);
    struct slice part = base_slice(rest->ptr, len);
    *rest = base_slice_skip(*rest, at == NULL ? len : len + 1);
    while (part.len > 0 && (part.ptr[0] == ' ' || part.ptr[0] == '\t'))
        part = base_slice_skip(part, 1);
    while (part.len > 0 && (part.ptr[part.len - 1] == ' ' || part.ptr[part.len - 1] == '\t'))
        part.len--;
    return part;
}

static bool is_zero_weight(struct slice parameters)
{
    while (parameters.len > 0) {
        struct slice one = take_until(&parameters, ';');
        if (equal_fold(one, "q=0") || equal_fold(one, "q=0.0") || equal_fold(one, "q=0.00") ||
            equal_fold(one, "q=0.000"))
            return true;
    }
    return false;
}

bool gw_rest_accepts(const struct gw_call *call, const char *media_type)
{
    struct slice list = gw_exchange_header(call->ex, "accept", NULL);
    while (list.len > 0) {
        struct slice range = take_until(&list, ',');
        if (equal_fold(take_until(&range, ';'), media_type))
            return !is_zero_weight(range);
    }
    return false;
}

/* --- answers -----------------------------------------------------------------------------------
 */

void gw_rest_start_stream(struct gw_call *call, int status, const char *content_type)
{
    if (!gw_call_begin_answer(call))
        return;
    gw_exchange_add_header(call->ex, "content-type", base_slice_text(content_type));
    gw_exchange_add_header(call->ex, "cache-control", SLICE_LIT("no-store"));
    gw_budget_put_limits(call, false);
    gw_exchange_start(call->ex, status, -1);
}

void gw_rest_send(struct gw_call *call, int status, const char *content_type)
{
    if (call->out.error != ERR_OK) {
        struct errbuf eb;
        gw_call_problem(call, (int)gw_call_no_memory(call, &eb), eb.text);
        return;
    }
    if (!gw_call_begin_answer(call))
        return;
    gw_exchange_add_header(call->ex, "content-type", base_slice_text(content_type));
    gw_exchange_add_header(call->ex, "cache-control", SLICE_LIT("no-store"));
    gw_budget_put_limits(call, false);
    gw_budget_put_cost(call);
    gw_exchange_start(call->ex, status, (int64_t)call->out.len);
    if (call->ex != NULL)
        gw_exchange_send_take(call->ex, &call->out, true);
}

void gw_rest_send_json(struct gw_call *call, int status)
{
    gw_rest_send(call, status, "application/json");
}

/* Returns whether the client has a copy. An ETag is quoted, so that it cannot be found inside
 * another one. */
static bool has_copy(const struct gw_call *call, const char *etag)
{
    struct slice known = gw_exchange_header(call->ex, "if-none-match", NULL);
    return known.len > 0 &&
           (base_slice_is(known, "*") || memmem(known.ptr, known.len, etag, strlen(etag)) != NULL);
}

void gw_rest_send_static(struct gw_call *call, const char *content_type, const char *etag,
                         struct slice bytes)
{
    if (!gw_call_begin_answer(call))
        return;
    bool is_known = has_copy(call, etag);
    gw_exchange_add_header(call->ex, "etag", base_slice_text(etag));
    gw_exchange_add_header(call->ex, "cache-control", SLICE_LIT("public, max-age=300"));
    if (!is_known)
        gw_exchange_add_header(call->ex, "content-type", base_slice_text(content_type));
    gw_exchange_start(call->ex, is_known ? 304 : 200, is_known ? 0 : (int64_t)bytes.len);
    if (call->ex != NULL)
        gw_exchange_send_static(call->ex, is_known ? SLICE_EMPTY : bytes, true);
}

void gw_rest_no_content(struct gw_call *call)
{
    if (!gw_call_begin_answer(call))
        return;
    gw_exchange_add_header(call->ex, "cache-control", SLICE_LIT("no-store"));
    gw_budget_put_limits(call, false);
    gw_budget_put_cost(call);
    gw_exchange_start(call->ex, 204, 0);
    if (call->ex == NULL)
        return;
    struct buf empty;
    base_buf_init(&empty, 0);
    gw_exchange_send_take(call->ex, &empty, true);
}

/* --- tasks -------------------------------------------------------------------------------------
 */

void gw_rest_answer_task(struct gw_call *call)
{
    const struct gw_task *task = &call->task;
    int status = gw_rest(call)->status;
    if (task->result != ERR_OK)
        gw_call_problem(call, (int)task->result, task->detail.text);
    else if (status == 204)
        gw_rest_no_content(call);
    else
        gw_rest_send_json(call, status);
}

void gw_rest_on_control(struct gw_call *call, int status,
                        enum err (*work)(struct gw_call *call, struct errbuf *eb))
{
    gw_rest(call)->status = status;
    gw_task_on_control(call, work, gw_rest_answer_task);
}

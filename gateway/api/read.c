/*
 * gateway/api/read.c - POST :read: any set of rows, through a filter.
 *
 *     {"keys":[..],"ranges":[..],"filter":{..},"order":"desc","limit":N,"stats":true,
 *      "form":"flat","values":"base64","page_token":".."}
 *
 * A page's token is bound to everything else in the body: the token's context contains the body
 * without the token, rewritten with its members sorted.
 */
#include "gateway/api/filter_json.h"
#include "gateway/api/handlers.h"
#include "gateway/api/row_page.h"
#include "gateway/api/rows_json.h"

#include "base/banned.h"

#define PARSE_ON_LOOP_MAX LIM_SLICE_BYTES

struct read {
    struct sto_row_range *ranges;
    struct slice token;
    const struct gw_page_context *context;
    bool has_filter;
    bool stats;
    struct gw_row_form form;
    struct sto_filter filter;
};

static enum err context_make(struct gw_call *call, const struct gw_page_context **out)
{
    struct gw_page_context *context = base_arena_zalloc(&call->arena, sizeof *context);
    struct buf text;
    base_buf_init(&text, 2 * LIM_BODY_BYTES);
    enum err e = gw_json_dump(gw_rest(call)->json, JSON_SORT_KEYS, &text);
    struct slice body =
        e == ERR_OK ? base_arena_copy(&call->arena, base_buf_slice(&text)) : SLICE_EMPTY;
    base_buf_fini(&text);
    if (context == NULL || body.ptr == NULL)
        return ERR_NO_MEMORY;
    context->parts[0] = SLICE_LIT("read");
    context->parts[1] = ten_tenant_id(call->tenant);
    context->parts[2] = gw_rest_param(call, 0);
    context->parts[3] = body;
    context->count = 4;
    *out = context;
    return ERR_OK;
}

/* Removes the token from the body, so that the rest is what the token is bound to. */
static enum err take_token(struct gw_call *call, struct slice *out, struct errbuf *eb)
{
    struct slice text;
    enum err e = gw_json_get_text(gw_rest(call)->json, "page_token", &text, eb);
    *out = SLICE_EMPTY;
    if (e != ERR_OK || text.ptr == NULL)
        return e;
    *out = text.len == 0 ? base_slice("", 0) : base_arena_copy(&call->arena, text);
    (void)json_object_del(gw_rest(call)->json, "page_token"); /* it exists */
    return out->ptr != NULL ? ERR_OK : base_fail(eb, ERR_NO_MEMORY, "out of memory for the token");
}

static enum err take_filter(struct gw_call *call, struct read *r, struct errbuf *eb)
{
    const json_t *json = json_object_get(gw_rest(call)->json, "filter");
    r->has_filter = json != NULL && !json_is_null(json);
    enum err e = r->has_filter ? gw_filter_from_json(json, &call->arena, &r->filter, eb) : ERR_OK;
    return base_fail_at(eb, e, "filter");
}

static enum err take_order(struct gw_call *call, bool *out_reversed, struct errbuf *eb)
{
    struct slice order;
    enum err e = gw_json_get_text(gw_rest(call)->json, "order", &order, eb);
    if (e != ERR_OK || order.ptr == NULL)
        return e;
    *out_reversed = base_slice_is(order, "desc");
    return *out_reversed || base_slice_is(order, "asc")
               ? ERR_OK
               : base_fail(eb, ERR_INVALID, "\"order\" must be \"asc\" or \"desc\"");
}

static enum err take_paging(struct gw_row_answer *s, struct read *r, struct errbuf *eb)
{
    struct gw_call *call = s->stream.call;
    uint64_t limit = UINT64_MAX;
    enum err e = gw_json_get_u64(gw_rest(call)->json, "limit", &limit, eb);
    if (e == ERR_OK)
        e = gw_row_page_limit(s, limit, eb);
    if (e == ERR_OK)
        e = gw_json_get_bool(gw_rest(call)->json, "stats", &r->stats, eb);
    if (e == ERR_OK)
        e = take_token(call, &r->token, eb);
    if (e == ERR_OK && context_make(call, &r->context) != ERR_OK)
        e = base_fail(eb, ERR_NO_MEMORY, "out of memory for the page token");
    return e;
}

/* Builds the spec from the body; on the loop or the helper. */
static enum err build(struct gw_call *call, struct errbuf *eb)
{
    static const char *const names[] = {
        GW_ROWS_FIELDS, GW_ROW_FORM_FIELDS, "filter", "order", "limit",
        "stats",        "page_token",       NULL};
    struct gw_row_answer *s = call->state;
    struct read *r = s->user;
    enum err e = gw_rest_parse(call, eb);
    if (e == ERR_OK)
        e = gw_json_only(gw_rest(call)->json, names, eb);
    if (e == ERR_OK)
        e = take_order(call, &s->stream.op.spec.reversed, eb);
    if (e == ERR_OK)
        e = gw_row_form_from_json(gw_rest(call)->json, &r->form, eb);
    if (e == ERR_OK)
        e = take_paging(s, r, eb);
    if (e == ERR_OK)
        e = gw_rows_from_json(gw_rest(call)->json, &call->arena, &s->stream.op.spec.rows,
                              &r->ranges, eb);
    if (e == ERR_OK)
        e = take_filter(call, r, eb);
    gw_row_answer_form(s, r->form, r->has_filter);
    return e;
}

static void start(struct gw_call *call)
{
    struct gw_row_answer *s = call->state;
    struct read *r = s->user;
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = gw_row_page_continue(s, r->context, r->token, r->ranges, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        gw_row_page_start(s, r->stats);
}

/* Compiles the filter on the loop or the helper: the call, and with it the table's schema, is held
 * in the meantime. */
static enum err compile(struct gw_call *call, struct errbuf *eb)
{
    struct gw_row_answer *s = call->state;
    struct read *r = s->user;
    return gw_call_compile(call, &r->filter, &s->stream.op.spec.filter, eb);
}

static void compiled_on_helper(struct gw_call *call)
{
    if (call->task.result != ERR_OK)
        gw_call_problem(call, (int)call->task.result, call->task.detail.text);
    else if (call->ex != NULL)
        start(call);
}

/* Compiles for the schema that the read will use; starts on the loop. */
static void prepare(struct gw_call *call)
{
    struct gw_row_answer *s = call->state;
    struct read *r = s->user;
    struct errbuf eb;
    eb.text[0] = '\0';
    if (r->has_filter && !sto_filter_is_small(&r->filter)) {
        gw_task_on_helper(call, compile, compiled_on_helper);
        return;
    }
    enum err e = r->has_filter ? compile(call, &eb) : ERR_OK;
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        start(call);
}

/* Continues after the helper; the table may have changed, or been deleted, in the meantime. */
static void built_on_helper(struct gw_call *call)
{
    enum err e = call->task.result;
    if (e == ERR_OK && call->ex != NULL)
        e = gw_rest_enter_table(call, &call->task.detail);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, call->task.detail.text);
    else if (call->ex != NULL)
        prepare(call);
}

void gw_read(struct gw_call *call)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    struct gw_row_answer *s = gw_row_page_new(call);
    s->user = base_arena_zalloc(&call->arena, sizeof(struct read));
    enum err e = s->user == NULL ? base_fail(&eb, ERR_NO_MEMORY, "out of memory for the read")
                                 : gw_rest_keep_body(call, &eb);
    if (e == ERR_OK && gw_rest(call)->body.len > PARSE_ON_LOOP_MAX) {
        gw_task_on_helper(call, build, built_on_helper);
        return;
    }
    if (e == ERR_OK)
        e = build(call, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        prepare(call);
}

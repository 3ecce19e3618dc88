/*
 * gateway/api/scan.c - GET of many rows: a prefix or a range, and a projection of each row.
 */
#include "gateway/api/columns.h"
#include "gateway/api/handlers.h"
#include "gateway/api/row_page.h"
#include "storage/row_set.h"

#include "base/banned.h"

const char *const gw_scan_query[] = {"prefix",           "start", "end",   "limit",
                                     "page_token",       "order", "stats", GW_COLUMNS_QUERY,
                                     GW_ROW_FORM_FIELDS, NULL};

/* Builds a token's context from everything that determines the rows. */
static enum err context_make(struct gw_call *call, const struct gw_page_context **out)
{
    static const char *const bound[] = {"prefix", "start", "end", "order", GW_COLUMNS_QUERY, NULL};
    struct gw_page_context *context = base_arena_zalloc(&call->arena, sizeof *context);
    if (context == NULL)
        return ERR_NO_MEMORY;
    context->parts[context->count++] = SLICE_LIT("rows");
    context->parts[context->count++] = ten_tenant_id(call->tenant);
    context->parts[context->count++] = gw_rest_param(call, 0);
    for (size_t i = 0; bound[i] != NULL; i++)
        context->parts[context->count++] = gw_query_get(&gw_rest(call)->query, bound[i]);
    *out = context;
    return ERR_OK;
}

/* --- parameters --------------------------------------------------------------------------------
 */

static enum err too_long(const char *name, size_t len, struct errbuf *eb)
{
    return base_fail(eb, ERR_TOO_BIG, "query parameter \"%s\" is %zu bytes; the limit is %d", name,
                     len, LIM_ROW_KEY);
}

static enum err range_of_prefix(struct gw_call *call, struct slice prefix,
                                struct sto_row_range *out, struct errbuf *eb)
{
    if (prefix.len == 0) {
        *out = (struct sto_row_range){.start = SLICE_EMPTY};
        return ERR_OK;
    }
    uint8_t *end_bytes = base_arena_alloc(&call->arena, LIM_ROW_KEY);
    if (end_bytes == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for the prefix");
    *out = sto_range_of_prefix(prefix, end_bytes);
    return ERR_OK;
}

static enum err get_range(struct gw_call *call, struct sto_row_range *out, struct errbuf *eb)
{
    struct slice prefix = gw_query_get(&gw_rest(call)->query, "prefix");
    struct slice start = gw_query_get(&gw_rest(call)->query, "start");
    struct slice end = gw_query_get(&gw_rest(call)->query, "end");
    if (prefix.ptr != NULL && (start.ptr != NULL || end.ptr != NULL))
        return base_fail(eb, ERR_INVALID, "\"prefix\" goes with neither \"start\" nor \"end\"");
    if (prefix.len > LIM_ROW_KEY)
        return too_long("prefix", prefix.len, eb);
    if (start.len > LIM_ROW_KEY)
        return too_long("start", start.len, eb);
    if (end.len > LIM_ROW_KEY)
        return too_long("end", end.len, eb);
    if (prefix.ptr != NULL)
        return range_of_prefix(call, prefix, out, eb);
    *out = (struct sto_row_range){.start = start, .end = end};
    return sto_range_check(out, eb);
}

static enum err get_flag(struct gw_call *call, const char *name, const char *no, const char *yes,
                         bool *out, struct errbuf *eb)
{
    struct slice text = gw_query_get(&gw_rest(call)->query, name);
    *out = text.ptr != NULL && base_slice_is(text, yes);
    if (text.ptr == NULL || *out || base_slice_is(text, no))
        return ERR_OK;
    return base_fail(eb, ERR_INVALID, "query parameter \"%s\" must be %s or %s", name, no, yes);
}

static enum err get_rows(struct gw_row_answer *s, struct errbuf *eb)
{
    struct gw_call *call = s->stream.call;
    struct sto_read_spec *spec = &s->stream.op.spec;
    const struct gw_page_context *context = NULL;
    struct sto_row_range *range = base_arena_alloc(&call->arena, sizeof *range);
    if (range == NULL || context_make(call, &context) != ERR_OK)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for the range");
    enum err e = get_range(call, range, eb);
    if (e == ERR_OK)
        e = sto_row_set_make(range, 1, &spec->rows, eb);
    if (e == ERR_OK)
        e = gw_row_page_continue(s, context, gw_query_get(&gw_rest(call)->query, "page_token"),
                                 range, eb);
    return e;
}

void gw_scan(struct gw_call *call)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    struct gw_row_answer *s = gw_row_page_new(call);
    uint64_t limit = UINT64_MAX;
    bool stats = false;
    struct gw_row_form form = {0};
    enum err e =
        gw_query_number(&gw_rest(call)->query, "limit", 1, INT64_MAX, UINT64_MAX, &limit, &eb);
    if (e == ERR_OK)
        e = gw_row_page_limit(s, limit, &eb);
    if (e == ERR_OK)
        e = get_flag(call, "order", "asc", "desc", &s->stream.op.spec.reversed, &eb);
    if (e == ERR_OK)
        e = get_flag(call, "stats", "false", "true", &stats, &eb);
    if (e == ERR_OK)
        e = gw_columns_from_query(call, &s->stream.op.spec, &eb);
    if (e == ERR_OK)
        e = gw_row_form_from_query(&gw_rest(call)->query, &form, &eb);
    if (e == ERR_OK)
        e = get_rows(s, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    gw_row_answer_form(s, form, false);
    gw_row_page_start(s, stats);
}

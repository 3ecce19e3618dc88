/*
 * gateway/api/scan.c - many rows: JSON pages with tokens, or one NDJSON stream.
 *
 * A page asks the engine for one row more than it shows: that row tells whether there is another
 * page, so that a missing token means "that was all".
 */
#include "gateway/api/handlers.h"
#include "gateway/api/json_out.h"
#include "gateway/api/row_stream.h"
#include "gateway/problem.h"

#include "base/banned.h"

#define NDJSON "application/x-ndjson"

const char *const gw_scan_query[] = {"prefix", "start", "end", "limit", "page_token", NULL};

static struct gw_page_context context_of(const struct gw_call *call)
{
    return (struct gw_page_context){
        .parts = {SLICE_LIT("rows"), ten_tenant_id(call->tenant), gw_call_param(call, 0),
                  gw_query_get(&call->query, "prefix"), gw_query_get(&call->query, "start"),
                  gw_query_get(&call->query, "end")},
        .count = 6,
    };
}

/* The rest of {"rows":[...]; the out buf begins with the rows of the last slice. */
static enum err finish_page(struct gw_call *call, bool cut, struct errbuf *eb)
{
    const struct gw_row_stream *s = call->state;
    struct buf *out = &call->out;
    (void)base_buf_append_byte(out, ']'); /* everything here latches */
    if (cut) {
        struct gw_page_context context = context_of(call);
        (void)base_buf_append(out, SLICE_LIT(",\"next_page_token\":\""));
        enum err e = gw_page_token_make(&call->api->page_key, &context,
                                        base_buf_slice(&s->sink.last_key), out);
        if (e != ERR_OK)
            return base_fail(eb, e, "out of memory for the page token");
        (void)base_buf_append_byte(out, '"');
    }
    (void)base_buf_append_byte(out, '}');
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
    struct slice prefix = gw_query_get(&call->query, "prefix");
    struct slice start = gw_query_get(&call->query, "start");
    struct slice end = gw_query_get(&call->query, "end");
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

/* Move the start of the range behind the last row of the page before. */
static enum err apply_token(struct gw_call *call, struct sto_row_range *range, struct errbuf *eb)
{
    struct slice token = gw_query_get(&call->query, "page_token");
    if (token.ptr == NULL)
        return ERR_OK;
    struct gw_page_context context = context_of(call);
    struct buf last;
    base_buf_init(&last, LIM_ROW_KEY);
    enum err e = gw_page_token_open(&call->api->page_key, &context, token, &last, eb);
    if (e == ERR_OK) {
        range->start = base_arena_copy(&call->arena, base_buf_slice(&last));
        range->start_exclusive = true;
        if (range->start.ptr == NULL)
            e = base_fail(eb, ERR_NO_MEMORY, "out of memory for the page token");
    }
    base_buf_fini(&last);
    return e;
}

static enum err get_spec(struct gw_call *call, bool is_stream, struct sto_read_spec *spec,
                         struct errbuf *eb)
{
    if (is_stream && gw_query_get(&call->query, "page_token").ptr != NULL)
        return base_fail(eb, ERR_INVALID, "\"page_token\" is for JSON pages, not for streams");
    enum err e = gw_query_number(&call->query, "limit", 1, is_stream ? INT64_MAX : LIM_PAGE_ROWS,
                                 is_stream ? 0 : LIM_PAGE_ROWS_DEFAULT, &spec->row_limit, eb);
    if (e == ERR_OK)
        e = get_range(call, &spec->range, eb);
    if (e == ERR_OK)
        e = apply_token(call, &spec->range, eb);
    return e;
}

/* --- handler -----------------------------------------------------------------------------------
 */

static void begin_page(struct gw_row_stream *s)
{
    s->sink.row_cap = s->op.spec.row_limit;
    s->sink.keep_last_key = true;
    s->op.spec.row_limit++;
    s->bytes_max = LIM_PAGE_BYTES;
    s->finish = finish_page;
    (void)base_buf_append(&s->call->out, SLICE_LIT("{\"rows\":[")); /* latches */
}

void gw_scan(struct gw_call *call)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    bool is_stream = gw_call_accepts(call, NDJSON);
    struct gw_row_stream *s = gw_row_stream_new(call, is_stream ? GW_ROWS_LINES : GW_ROWS_LIST,
                                                is_stream ? NDJSON : "application/json");
    enum err e = get_spec(call, is_stream, &s->op.spec, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    if (!is_stream)
        begin_page(s);
    gw_row_stream_start(s, false);
}

/*
 * gateway/api/row_page.c - rows as a JSON page with a token for the next page, or as lines.
 *
 * A page requests one row more than it shows: that row shows whether there is another page, so that
 * a missing token means that there are no more rows.
 */
#include "gateway/api/row_page.h"

#include "gateway/api/json_out.h"
#include "storage/row_set.h"

#include "base/banned.h"

#define NDJSON "application/x-ndjson"

bool gw_row_page_is_stream(const struct gw_call *call)
{
    return gw_rest_accepts(call, NDJSON);
}

struct gw_row_answer *gw_row_page_new(struct gw_call *call)
{
    bool is_stream = gw_row_page_is_stream(call);
    return gw_row_answer_new(call, is_stream ? GW_ROWS_LINES : GW_ROWS_LIST,
                             is_stream ? NDJSON : "application/json");
}

/* --- the end of the response ----------------------------------------------------------------- */

static void put_stats(struct gw_row_answer *s)
{
    struct gw_json j = gw_json_start(&s->stream.call->out);
    gw_json_open(&j, '{');
    gw_json_name_u64(&j, "rows_seen", s->stream.op.rows_seen);
    gw_json_name_u64(&j, "rows_returned", s->sink.rows);
    gw_json_name_u64(&j, "cells_seen", s->stream.op.cells_seen);
    gw_json_name_u64(&j, "cells_returned", s->stream.op.cells_given);
    gw_json_name_u64(&j, "bytes_seen", s->stream.op.bytes_seen);
    gw_json_name_u64(&j, "cost", ten_visit_cost(&s->stream.call->visit));
    gw_json_close(&j, '}');
}

/* Writes the rest of {"rows":[...]; the out buf starts with the rows of the last slice. */
static enum err finish_page(struct gw_call *call, bool cut, struct errbuf *eb)
{
    struct gw_row_answer *s = call->state;
    struct buf *out = &call->out;
    (void)base_buf_append_byte(out, ']'); /* everything here latches */
    if (cut) {
        (void)base_buf_append(out, SLICE_LIT(",\"next_page_token\":\""));
        enum err e = gw_page_token_make(&call->api->page_key, s->page,
                                        base_buf_slice(&s->sink.last_key), out);
        if (e != ERR_OK)
            return base_fail(eb, e, "out of memory for the page token");
        (void)base_buf_append_byte(out, '"');
    }
    if (s->with_stats) {
        (void)base_buf_append(out, SLICE_LIT(",\"stats\":"));
        put_stats(s);
    }
    (void)base_buf_append_byte(out, '}');
    return ERR_OK;
}

/* Writes a last line that is no row. */
static enum err finish_lines(struct gw_call *call, bool cut, struct errbuf *eb)
{
    struct gw_row_answer *s = call->state;
    (void)cut;
    (void)eb;
    if (s->with_stats) {
        (void)base_buf_append(&call->out, SLICE_LIT("{\"stats\":")); /* all of it latches */
        put_stats(s);
        (void)base_buf_append(&call->out, SLICE_LIT("}\n"));
    }
    return ERR_OK;
}

/* --- the request ----------------------------------------------------------------------------- */

enum err gw_row_page_limit(struct gw_row_answer *s, uint64_t limit, struct errbuf *eb)
{
    bool is_stream = s->sink.framing == GW_ROWS_LINES;
    if (limit == UINT64_MAX)
        limit = is_stream ? 0 : LIM_PAGE_ROWS_DEFAULT;
    else if (limit == 0 || (!is_stream && limit > LIM_PAGE_ROWS))
        return base_fail(eb, ERR_INVALID, "\"limit\" must be a whole number from 1%s",
                         is_stream ? "" : " to 10000; more rows come as further pages");
    s->stream.op.spec.row_limit = limit;
    return ERR_OK;
}

enum err gw_row_page_continue(struct gw_row_answer *s, const struct gw_page_context *context,
                              struct slice token, struct sto_row_range *ranges, struct errbuf *eb)
{
    struct gw_call *call = s->stream.call;
    struct sto_read_spec *spec = &s->stream.op.spec;
    s->page = context;
    if (token.ptr == NULL)
        return ERR_OK;
    if (s->sink.framing == GW_ROWS_LINES)
        return base_fail(eb, ERR_INVALID, "\"page_token\" is for JSON pages, not for streams");
    struct buf last;
    base_buf_init(&last, LIM_ROW_KEY);
    enum err e = gw_page_token_open(&call->api->page_key, context, token, &last, eb);
    if (e == ERR_OK) {
        struct slice key = base_arena_copy(&call->arena, base_buf_slice(&last));
        if (key.ptr == NULL)
            e = base_fail(eb, ERR_NO_MEMORY, "out of memory for the page token");
        else
            sto_row_set_continue(ranges, &spec->rows, key, spec->reversed);
    }
    base_buf_fini(&last);
    return e;
}

void gw_row_page_start(struct gw_row_answer *s, bool with_stats)
{
    s->with_stats = with_stats;
    if (s->sink.framing == GW_ROWS_LINES) {
        s->finish = finish_lines;
    } else {
        s->sink.row_cap = s->stream.op.spec.row_limit;
        s->sink.keep_last_key = true;
        s->stream.op.spec.row_limit++;
        s->bytes_max = LIM_PAGE_BYTES;
        s->finish = finish_page;
        (void)base_buf_append(&s->stream.call->out, SLICE_LIT("{\"rows\":[")); /* latches */
    }
    gw_row_stream_start(&s->stream, false);
}

/*
 * gateway/api/row_answer.c - rows as JSON: in one piece when they fit into one slice, streamed
 * otherwise.
 */
#include "gateway/api/row_answer.h"

#include "gateway/budget.h"

#include "base/banned.h"

static struct gw_row_answer *of(struct gw_row_stream *s)
{
    return (struct gw_row_answer *)(void *)s;
}

static enum err sink_error(const struct gw_row_answer *a)
{
    if (a->sink.broken)
        return ERR_CORRUPT;
    if (a->sink.binary.error != ERR_OK)
        return a->sink.binary.error;
    if (a->sink.last_key.error != ERR_OK)
        return a->sink.last_key.error;
    return a->stream.call->out.error;
}

static enum err look(struct gw_row_stream *s, bool *out_is_last, bool *out_cut, struct errbuf *eb)
{
    struct gw_row_answer *a = of(s);
    enum err e = sink_error(a);
    if (e != ERR_OK)
        return base_fail(eb, e, "a row is too large");
    a->bytes += s->call->out.len;
    bool is_full = a->bytes_max != 0 && a->bytes >= a->bytes_max && !a->sink.in_row;
    *out_cut = a->sink.over_cap || !*out_is_last;
    a->head_is_enough = !*out_is_last && base_slice_is(s->call->ex->method, "HEAD");
    *out_is_last = *out_is_last || a->sink.over_cap || is_full || a->head_is_enough;
    return ERR_OK;
}

static void fail(struct gw_row_stream *s, enum err code, const char *detail)
{
    struct gw_call *call = s->call;
    if (!call->answered) {
        gw_call_problem_retry(call, (int)code, detail, s->op.retry_ns);
    } else if (call->ex != NULL) {
        gw_observe_problem(call, (int)code, s->op.retry_ns);
        gw_exchange_abort(call->ex);
    }
}

static void send_more(struct gw_row_answer *a, bool is_last)
{
    struct gw_call *call = a->stream.call;
    gw_rest_start_stream(call, 200, a->content_type);
    if (call->ex == NULL)
        return;
    if (is_last)
        gw_budget_put_cost_trailer(call);
    gw_exchange_send_take(call->ex, &call->out, is_last);
}

static void end(struct gw_row_stream *s, bool cut)
{
    struct gw_row_answer *a = of(s);
    struct gw_call *call = s->call;
    struct errbuf eb;
    eb.text[0] = '\0';
    if (a->sink.framing == GW_ROWS_SINGLE && a->sink.rows == 0) {
        fail(s, ERR_NOT_FOUND, "there is no such row");
        return;
    }
    if (a->head_is_enough) {
        send_more(a, true);
        return;
    }
    enum err e = a->finish == NULL ? ERR_OK : a->finish(call, cut, &eb);
    if (e == ERR_OK)
        e = call->out.error;
    if (e != ERR_OK)
        fail(s, e, eb.text);
    else if (!call->answered)
        gw_rest_send(call, 200, a->content_type);
    else
        send_more(a, true);
}

static void send_slice(struct gw_row_stream *s)
{
    struct gw_row_answer *a = of(s);
    if (s->call->out.len > 0)
        send_more(a, false);
    gw_row_sink_next_slice(&a->sink);
}

static const struct gw_row_format FORMAT = {look, send_slice, end, fail};

static void cleanup(struct gw_call *call)
{
    struct gw_row_answer *a = call->state;
    gw_row_stream_fini(&a->stream);
    gw_row_sink_fini(&a->sink);
}

struct gw_row_answer *gw_row_answer_new(struct gw_call *call, enum gw_row_framing framing,
                                        const char *content_type)
{
    struct gw_row_answer *a = gw_call_new_state(call, sizeof *a, cleanup);
    a->content_type = content_type;
    gw_row_sink_init(&a->sink, &call->out, framing);
    gw_row_stream_init(&a->stream, call, &FORMAT, &a->sink.sink);
    return a;
}

void gw_row_answer_form(struct gw_row_answer *a, struct gw_row_form form, bool has_filter)
{
    a->sink.form = form;
    if (form.flat && !has_filter)
        a->stream.op.spec.versions = 1;
}

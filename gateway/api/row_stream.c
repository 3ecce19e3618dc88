/*
 * gateway/api/row_stream.c - rows from the engine to the peer, slice by slice, with backpressure.
 *
 * States of a stream, all on the loop:
 *
 *     reading   a slice is with the engine; the call is held
 *     waiting   the peer's queue is full; on_drained goes on with the next slice
 *     ended     the answer is complete, broken off, or its peer is gone
 *
 * The peer may vanish in any of them: while reading, the completion notices; while waiting, the
 * call is simply freed and its cleanup gives the cursor back.
 */
#include "gateway/api/row_stream.h"

#include "base/banned.h"

static void cleanup(struct gw_call *call)
{
    struct gw_row_stream *s = call->state;
    sto_read_finish(call->api->engine, &s->op);
    sto_filter_unref(s->op.spec.filter);
    gw_row_sink_fini(&s->sink);
}

/* --- ends --------------------------------------------------------------------------------------
 */

static void fail(struct gw_row_stream *s, enum err code, const char *detail)
{
    struct gw_call *call = s->call;
    s->ended = true;
    if (!call->answered)
        gw_call_problem(call, (int)code, detail);
    else if (call->ex != NULL)
        gw_exchange_abort(call->ex);
}

static void end(struct gw_row_stream *s, bool cut)
{
    struct gw_call *call = s->call;
    struct errbuf eb;
    eb.text[0] = '\0';
    s->ended = true;
    if (s->sink.framing == GW_ROWS_SINGLE && s->sink.rows == 0) {
        fail(s, ERR_NOT_FOUND, "there is no such row");
        return;
    }
    enum err e = s->finish == NULL ? ERR_OK : s->finish(call, cut, &eb);
    if (e == ERR_OK)
        e = call->out.error;
    if (e != ERR_OK)
        fail(s, e, eb.text);
    else if (!call->answered)
        gw_call_send(call, 200, s->content_type);
    else if (call->ex != NULL)
        gw_exchange_send_take(call->ex, &call->out, true);
}

/* --- slices ------------------------------------------------------------------------------------
 */

static enum err sink_error(const struct gw_row_stream *s)
{
    if (s->sink.broken)
        return ERR_CORRUPT;
    if (s->sink.binary.error != ERR_OK)
        return s->sink.binary.error;
    if (s->sink.last_key.error != ERR_OK)
        return s->sink.last_key.error;
    return s->call->out.error;
}

static bool is_cut(const struct gw_row_stream *s)
{
    return s->sink.over_cap || (s->bytes_max != 0 && s->bytes >= s->bytes_max && !s->sink.in_row);
}

/* Send what the slice brought. */
static void send_slice(struct gw_row_stream *s)
{
    struct gw_call *call = s->call;
    if (call->out.len == 0)
        return;
    gw_call_start_stream(call, 200, s->content_type);
    if (call->ex != NULL)
        gw_exchange_send_take(call->ex, &call->out, false);
}

/* What a slice brought has been looked at; true when the next one is to be read now. */
static bool slice_done(struct gw_row_stream *s)
{
    struct gw_call *call = s->call;
    enum err e = s->op.state == STO_READ_FAILED ? s->op.result : sink_error(s);
    if (call->ex == NULL) {
        s->ended = true;
        return false;
    }
    if (e != ERR_OK) {
        fail(s, e, s->op.state == STO_READ_FAILED ? s->op.detail.text : "a row is too large");
        return false;
    }
    s->bytes += call->out.len;
    if (s->op.state == STO_READ_END || is_cut(s)) {
        end(s, s->op.state != STO_READ_END || s->sink.over_cap);
        return false;
    }
    if (base_slice_is(call->ex->method, "HEAD")) { /* the head is known: nothing more to read */
        s->ended = true;
        gw_call_start_stream(call, 200, s->content_type);
        if (call->ex != NULL)
            gw_exchange_send_take(call->ex, &call->out, true);
        return false;
    }
    send_slice(s);
    gw_row_sink_next_slice(&s->sink);
    if (call->ex == NULL) {
        s->ended = true;
        return false;
    }
    s->waiting = gw_exchange_is_full(call->ex);
    return !s->waiting;
}

static void read_slices(struct gw_row_stream *s, bool try_inline)
{
    bool go_on = true;
    while (go_on) {
        gw_call_hold(s->call);
        if (!sto_read_rows(s->call->api->engine, &s->op, try_inline))
            return; /* read_done drops the hold */
        go_on = slice_done(s);
        gw_call_drop(s->call);
        try_inline = false;
    }
}

static void read_done(struct sto_read_op *op)
{
    struct gw_row_stream *s = op->user;
    struct gw_call *call = s->call;
    if (slice_done(s))
        read_slices(s, false);
    gw_call_drop(call);
}

static void drained(struct gw_call *call)
{
    struct gw_row_stream *s = call->state;
    if (!s->waiting || s->ended)
        return;
    s->waiting = false;
    read_slices(s, false);
}

/* --- beginning ---------------------------------------------------------------------------------
 */

struct gw_row_stream *gw_row_stream_new(struct gw_call *call, enum gw_row_framing framing,
                                        const char *content_type)
{
    struct gw_row_stream *s = gw_call_new_state(call, sizeof *s, cleanup);
    s->call = call;
    s->content_type = content_type;
    gw_row_sink_init(&s->sink, &call->out, framing);
    return s;
}

void gw_row_stream_start(struct gw_row_stream *s, bool try_inline)
{
    struct gw_call *call = s->call;
    s->op.reply_to = call->thread->mailbox;
    s->op.done = read_done;
    s->op.user = s;
    s->op.scope = call->scope; /* the call keeps the ref until it is freed */
    s->op.sink = &s->sink.sink;
    call->on_drained = drained;
    read_slices(s, try_inline);
}

/*
 * gateway/row_stream.c - rows from the engine to the peer, slice by slice, with backpressure.
 *
 * States of a stream, all on the loop:
 *
 *     reading   a slice is with the engine; the call is held
 *     waiting   the peer's queue is full; drained continues with the next slice
 *     paused    the tenant or the key is over its rate of visited bytes, or its memory is scarce,
 *               or the engine is busy; a timer continues. Nothing holds the call, and the engine
 *               holds only a position in the table.
 *     ended     the response is complete or aborted, or its peer is gone
 *
 * Compiling the filter is charged before the first slice.
 *
 * The peer may vanish in any state. While reading, the reader is notified, and the completion
 * checks for it; while waiting or paused, the call is simply freed and its cleanup releases the
 * cursor.
 */
#include "gateway/row_stream.h"

#include "base/clock.h"
#include "gateway/caller.h"

#include "base/banned.h"

#define NS_PER_MS       1000000ULL
#define MEMORY_PAUSE_NS (20 * NS_PER_MS)

static void end(struct gw_row_stream *s, bool cut)
{
    s->ended = true;
    s->format->end(s, cut);
}

static void fail(struct gw_row_stream *s, enum err code, const char *detail)
{
    s->ended = true;
    s->format->fail(s, code, detail);
}

/* Charges a slice when it is over, whatever its result. */
static void charge(struct gw_row_stream *s)
{
    const struct sto_read_op *op = &s->op;
    ten_charge_visited(&s->call->visit, op->rows_seen - s->rows_charged,
                       op->bytes_seen - s->bytes_charged);
    s->rows_charged = op->rows_seen;
    s->bytes_charged = op->bytes_seen;
    ten_charge_work(&s->call->visit, op->work_ns - s->work_charged_ns);
    s->work_charged_ns = op->work_ns;
}

/* Returns how long to pause for memory, which other calls of the tenant may release; 0 after
 * LIM_MEMORY_WAIT_MS. */
static uint64_t memory_pause_ns(struct gw_row_stream *s)
{
    uint64_t now_ns = base_monotonic_ns();
    if (!base_memory_is_scarce(s->call->memory)) {
        s->scarce_since_ns = 0;
        return 0;
    }
    if (s->scarce_since_ns == 0)
        s->scarce_since_ns = now_ns;
    bool waits = now_ns - s->scarce_since_ns < LIM_MEMORY_WAIT_MS * NS_PER_MS;
    return waits ? MEMORY_PAUSE_NS : 0;
}

static void pause_is_over(struct gw_call *call);

/* Returns true if the stream pauses; a timer then continues it. */
static bool pauses(struct gw_row_stream *s)
{
    uint64_t pause_ns = ten_visit_pause_ns(&s->call->visit);
    if (pause_ns == 0)
        pause_ns = memory_pause_ns(s);
    if (pause_ns == 0)
        return false;
    gw_call_later(s->call, pause_ns, pause_is_over);
    return true;
}

static bool is_late(const struct gw_row_stream *s)
{
    return s->deadline_ns != 0 && base_monotonic_ns() >= s->deadline_ns;
}

static void fail_late(struct gw_row_stream *s)
{
    fail(s, ERR_TIMEOUT, "the deadline passed before everything was read");
}

/* Handles a finished slice; returns true when the next one is to be read now. */
static bool slice_done(struct gw_row_stream *s)
{
    struct gw_call *call = s->call;
    struct errbuf eb;
    bool is_last = s->op.state == STO_READ_END;
    bool cut = false;
    eb.text[0] = '\0';
    if (call->ex == NULL || call->ex->ended) { /* gone, or its deadline passed */
        s->ended = true;
        return false;
    }
    enum err e = s->op.state == STO_READ_FAILED ? s->op.result : ERR_OK;
    if (gw_call_tries_again(call, e, s->op.retry_ns, pause_is_over))
        return false;
    if (e != ERR_OK) {
        fail(s, e, s->op.detail.text);
        return false;
    }
    e = s->format->look(s, &is_last, &cut, &eb);
    if (e != ERR_OK) {
        fail(s, e, eb.text);
        return false;
    }
    if (is_last) {
        end(s, cut);
        return false;
    }
    if (is_late(s)) {
        fail_late(s);
        return false;
    }
    s->format->send(s);
    if (call->ex == NULL || call->ex->ended) {
        s->ended = true;
        return false;
    }
    s->waiting = gw_exchange_is_full(call->ex);
    return !s->waiting && !pauses(s);
}

static void read_slices(struct gw_row_stream *s, bool try_inline)
{
    bool go_on = true;
    while (go_on) {
        gw_call_hold(s->call);
        ten_visit_waits(&s->call->visit);
        if (!sto_read_rows(s->call->api->engine, &s->op, try_inline))
            return; /* read_done drops the hold */
        charge(s);
        go_on = slice_done(s);
        gw_call_drop(s->call);
        try_inline = false;
    }
}

static void read_done(struct sto_read_op *op)
{
    struct gw_row_stream *s = op->user;
    struct gw_call *call = s->call;
    charge(s);
    ten_visit_waited(&call->visit); /* after the charge: many rows are no small request */
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
    if (!pauses(s))
        read_slices(s, false);
}

static void pause_is_over(struct gw_call *call)
{
    struct gw_row_stream *s = call->state;
    if (call->ex->ended)
        s->ended = true;
    else if (is_late(s))
        fail_late(s);
    else if (!pauses(s))
        read_slices(s, false);
}

static void gone(struct gw_call *call)
{
    struct gw_row_stream *s = call->state;
    atomic_store_explicit(&s->op.cancelled, true, memory_order_relaxed);
}

/* --- life --------------------------------------------------------------------------------------
 */

void gw_row_stream_init(struct gw_row_stream *s, struct gw_call *call,
                        const struct gw_row_format *format, struct sto_row_sink *sink)
{
    s->call = call;
    s->format = format;
    s->op.sink = sink;
}

void gw_row_stream_fini(struct gw_row_stream *s)
{
    sto_read_finish(s->call->api->engine, &s->op);
    sto_filter_unref(s->op.spec.filter);
}

void gw_row_stream_start(struct gw_row_stream *s, bool try_inline)
{
    struct gw_call *call = s->call;
    INVARIANT(call->state == s);
    s->op.priority = call->priority;
    s->op.deadline_ns = s->deadline_ns;
    if (s->op.spec.filter != NULL)
        ten_charge_work(&call->visit, sto_filter_compile_ns(s->op.spec.filter));
    s->op.reply_to = call->thread->mailbox;
    s->op.done = read_done;
    s->op.user = s;
    s->op.scope = call->scope; /* the call keeps the ref until it is freed */
    call->on_drained = drained;
    call->on_gone = gone;
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = gw_caller_narrow(call, &s->op.spec, &eb);
    if (e != ERR_OK)
        fail(s, e, eb.text);
    else if (!base_memory_is_scarce(call->memory) || !pauses(s))
        read_slices(s, try_inline);
}

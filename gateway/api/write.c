/*
 * gateway/api/write.c - many writes: NDJSON in, a verdict per line out, in order, in flat memory.
 *
 * Lines become operations as they arrive and are kept in a list in their order. The list holds at
 * most LIM_BULK_INFLIGHT lines, or LIM_BODY_BYTES of them; beyond that, or while the peer does not
 * accept verdicts, nothing more is read: bytes that arrive anyway wait in `pending` and are not
 * reported as consumed, so that the peer's window closes. Reading continues when half of the list
 * is free, so that commits stay large. While the tenant has more than its share of a busy server,
 * nothing more is read either.
 *
 * A line that takes long to parse goes to the helper thread; nothing after it is read until it
 * returns, because lines of one row must be applied in order.
 *
 * Invariants:
 *   1. Every line in the list is done, or its operation or the helper has it (undone counts those).
 *   2. Verdicts are sent only from the head of the list.
 *   3. The call is held once per operation, and by the helper's task.
 */
#include "base/alloc.h"
#include "gateway/api/bulk_line.h"
#include "gateway/api/handlers.h"
#include "gateway/api/json_out.h"
#include "gateway/api/time_unit.h"
#include "gateway/budget.h"
#include "gateway/caller.h"

#include "base/banned.h"

#define NDJSON            "application/x-ndjson"
#define PARSE_ON_LOOP_MAX LIM_SLICE_BYTES
#define SEND_BYTES        (16 * KIB)
#define PENDING_MAX       (2 * LIM_BODY_BYTES) /* a whole HTTP/1.1 body, or a window */

struct gw_bulk {
    struct gw_call *call;
    struct gw_bulk_line *first;
    struct gw_bulk_line **last;
    struct gw_bulk_line *spare;
    struct gw_bulk_line *with_helper;
    int64_t unit_us; /* of timestamps */
    size_t in_list;
    size_t in_list_bytes;
    size_t undone;
    struct buf partial; /* the start of a line whose end has not arrived */
    struct buf pending; /* arrived while paused; not consumed */
    size_t pending_at;  /* bytes before it were consumed */
    bool skipping;      /* inside a line that is too long */
    bool paused;
    bool waits; /* for the tenant's scheduling turn */
    bool input_ended;
    bool finished;
    uint64_t lines;
    uint64_t ok;
    uint64_t failed;
};

static void pump(struct gw_bulk *b);
static void turn_came(struct gw_call *call);

/* --- lines -------------------------------------------------------------------------------------
 */

static struct gw_bulk_line *line_append(struct gw_bulk *b, size_t bytes)
{
    struct gw_bulk_line *l = b->spare;
    if (l != NULL)
        b->spare = l->next;
    else
        l = base_new(sizeof *l);
    gw_bulk_line_init(l, b, b->lines, bytes);
    l->unit_us = b->unit_us;
    base_arena_charge(&l->arena, b->call->memory);
    l->json_charge.share = b->call->memory;
    *b->last = l;
    b->last = &l->next;
    b->in_list++;
    b->in_list_bytes += bytes;
    return l;
}

static void line_done(struct gw_bulk_line *l, enum err result)
{
    l->op.result = result;
    l->done = true;
    if (result != ERR_OK)
        gw_observe_entry(l->bulk->call, (int)result, l->op.retry_ns, l->refusal.name != NULL);
}

static void free_lines(struct gw_bulk_line *l)
{
    while (l != NULL) {
        struct gw_bulk_line *next = l->next;
        base_free(l);
        l = next;
    }
}

static void cleanup(struct gw_call *call)
{
    struct gw_bulk *b = call->state;
    for (struct gw_bulk_line *l = b->first; l != NULL; l = l->next)
        gw_bulk_line_clear(l);
    free_lines(b->first);
    free_lines(b->spare);
    base_buf_fini(&b->partial);
    base_buf_fini(&b->pending);
}

/* --- verdicts ----------------------------------------------------------------------------------
 */

static void take_verdicts(struct gw_bulk *b)
{
    while (b->first != NULL && b->first->done) {
        struct gw_bulk_line *l = b->first;
        if (l->op.result == ERR_OK)
            b->ok++;
        else
            b->failed++;
        gw_bulk_line_put_verdict(&b->call->out, l);
        gw_bulk_line_clear(l);
        b->first = l->next;
        if (b->first == NULL)
            b->last = &b->first;
        b->in_list--;
        b->in_list_bytes -= l->bytes;
        l->next = b->spare;
        b->spare = l;
    }
}

static void break_off(struct gw_bulk *b, enum err e, const char *detail)
{
    struct gw_call *call = b->call;
    b->finished = true;
    if (!call->answered) {
        gw_call_problem(call, (int)e, detail);
    } else if (call->ex != NULL) {
        gw_observe_problem(call, (int)e, 0);
        gw_exchange_abort(call->ex);
    }
}

static void put_summary(struct gw_bulk *b)
{
    struct gw_json j = gw_json_start(&b->call->out);
    gw_json_open(&j, '{');
    gw_json_name(&j, "done");
    gw_json_bool(&j, true);
    gw_json_name_u64(&j, "lines", b->lines);
    gw_json_name_u64(&j, "ok", b->ok);
    gw_json_name_u64(&j, "failed", b->failed);
    gw_json_name_u64(&j, "cost", ten_visit_cost(&b->call->visit));
    gw_json_close(&j, '}');
    (void)base_buf_append_byte(&b->call->out, '\n'); /* latches; send_verdicts checks it */
}

/* --- one line becomes an operation -------------------------------------------------------------
 */

static void write_done(struct sto_mutate_op *op)
{
    struct gw_bulk_line *l = op->user;
    struct gw_bulk *b = l->bulk;
    struct gw_call *call = b->call;
    gw_caller_charge_write(call, op);
    line_done(l, op->result);
    b->undone--;
    pump(b);
    gw_call_drop(call);
}

/* Submits the line to the engine, if its bytes are admitted as well. */
static enum err submit(struct gw_bulk_line *l)
{
    struct gw_bulk *b = l->bulk;
    enum err e = gw_caller_check_row(b->call, l->op.row_key, &l->op.detail);
    if (e != ERR_OK)
        return e;
    e = ten_admit_bytes(&b->call->visit, gw_budget_bytes_of(&l->op), 1, &l->refusal, &l->op.detail);
    if (e != ERR_OK)
        return e;
    l->op.unwanted = &b->call->unwanted;
    l->op.priority = b->call->priority;
    l->op.reply_to = b->call->thread->mailbox;
    l->op.done = write_done;
    l->op.user = l;
    b->undone++;
    gw_call_hold(b->call);
    sto_mutate_row(b->call->api->engine, &l->op);
    return ERR_OK;
}

static enum err enter(struct gw_bulk_line *l)
{
    const struct gw_call *call = l->bulk->call;
    return gw_bulk_line_enter(l, call->tenant, gw_rest_param(call, 0));
}

static enum err work_on_helper(struct gw_call *call, struct errbuf *eb)
{
    (void)eb; /* the line has an error buffer of its own */
    struct gw_bulk *b = call->state;
    return gw_bulk_line_build(b->with_helper, &call->tenant->account,
                              base_buf_slice(&b->with_helper->text));
}

static void back_from_helper(struct gw_call *call)
{
    struct gw_bulk *b = call->state;
    struct gw_bulk_line *l = b->with_helper;
    enum err e = call->task.result;
    b->with_helper = NULL;
    b->undone--;
    if (e == ERR_OK)
        e = enter(l); /* the table may have been deleted in the meantime */
    if (e == ERR_OK && call->ex != NULL)
        e = submit(l);
    if (e != ERR_OK)
        line_done(l, e);
    pump(b);
}

static enum err give_to_helper(struct gw_bulk_line *l, struct slice text)
{
    struct gw_bulk *b = l->bulk;
    base_buf_init(&l->text, text.len);
    base_buf_charge(&l->text, b->call->memory);
    enum err e = base_buf_append(&l->text, text);
    if (e != ERR_OK)
        return base_fail(&l->op.detail, e, "out of memory for a line of %zu bytes", text.len);
    b->with_helper = l;
    b->undone++;
    gw_task_on_helper(b->call, work_on_helper, back_from_helper);
    return ERR_OK;
}

/* Builds a line whose input bytes will be gone: it keeps a copy of its text. */
static enum err keep_and_build(struct gw_bulk_line *l, struct slice text)
{
    struct slice copy = base_arena_copy(&l->arena, text);
    if (copy.ptr == NULL)
        return base_fail(&l->op.detail, ERR_NO_MEMORY, "out of memory for a line");
    return gw_bulk_line_build(l, &l->bulk->call->tenant->account, copy);
}

static bool is_blank(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != ' ' && text.ptr[i] != '\t' && text.ptr[i] != '\r')
            return false;
    }
    return true;
}

/* Handles a line, with the checks in the order of every other request: state and rate, table,
 * input. */
static void take_line(struct gw_bulk *b, struct slice text)
{
    b->lines++;
    if (is_blank(text))
        return;
    const struct ten_load one = {.ops = 1};
    struct gw_bulk_line *l = line_append(b, text.len);
    enum err e = ten_admit(&b->call->visit, TEN_WRITE, one, &l->refusal, &l->op.detail);
    if (e == ERR_OK)
        e = enter(l);
    if (e == ERR_OK && text.len > PARSE_ON_LOOP_MAX) {
        e = give_to_helper(l, text);
    } else if (e == ERR_OK) {
        e = keep_and_build(l, text);
        if (e == ERR_OK)
            e = submit(l);
    }
    if (e != ERR_OK)
        line_done(l, e);
    b->waits = b->call->ex != NULL && gw_call_waits_turn(b->call, turn_came);
}

static void refuse_long_line(struct gw_bulk *b)
{
    b->lines++;
    struct gw_bulk_line *l = line_append(b, 0);
    line_done(l, base_fail(&l->op.detail, ERR_TOO_BIG,
                           "the line is longer than the limit of %lu bytes", LIM_BULK_LINE_BYTES));
}

/* --- bytes become lines ------------------------------------------------------------------------
 */

static bool is_full(const struct gw_bulk *b, size_t divisor)
{
    return b->in_list >= LIM_BULK_INFLIGHT / divisor ||
           b->in_list_bytes >= LIM_BODY_BYTES / divisor || b->with_helper != NULL || b->waits ||
           (b->in_list > 0 && base_memory_is_scarce(b->call->memory)) ||
           (b->call->ex != NULL && gw_exchange_is_full(b->call->ex));
}

/* Ends a line, which consists of `partial` and tail. */
static void end_line(struct gw_bulk *b, struct slice tail)
{
    if (!b->skipping && b->partial.len + tail.len > LIM_BULK_LINE_BYTES)
        b->skipping = true;
    if (b->skipping) {
        refuse_long_line(b);
    } else if (b->partial.len == 0) {
        take_line(b, tail);
    } else {
        (void)base_buf_append(&b->partial, tail); /* latches */
        if (b->partial.error != ERR_OK)
            break_off(b, b->partial.error, "out of memory for a line");
        else
            take_line(b, base_buf_slice(&b->partial));
    }
    b->skipping = false;
    base_buf_truncate(&b->partial, 0);
}

static void keep_partial(struct gw_bulk *b, struct slice bytes)
{
    if (!b->skipping && b->partial.len + bytes.len > LIM_BULK_LINE_BYTES) {
        b->skipping = true;
        base_buf_clear(&b->partial);
    }
    if (!b->skipping && base_buf_append(&b->partial, bytes) != ERR_OK)
        break_off(b, ERR_NO_MEMORY, "out of memory for a line");
}

/* Handles lines until the bytes end or the list is full; returns how many bytes were consumed. */
static size_t take_lines(struct gw_bulk *b, struct slice bytes)
{
    size_t at = 0;
    while (at < bytes.len && !b->finished && !(b->paused = is_full(b, 1))) {
        const uint8_t *from = bytes.ptr + at;
        const uint8_t *newline = memchr(from, '\n', bytes.len - at);
        if (newline == NULL) {
            keep_partial(b, base_slice(from, bytes.len - at));
            return bytes.len;
        }
        end_line(b, base_slice(from, (size_t)(newline - from)));
        at += (size_t)(newline - from) + 1;
    }
    return at;
}

static void consumed(const struct gw_bulk *b, size_t n)
{
    if (b->call->ex != NULL && n > 0)
        gw_exchange_consumed(b->call->ex, n);
}

static size_t pending_bytes(const struct gw_bulk *b)
{
    return b->pending.len - b->pending_at;
}

static void take_pending(struct gw_bulk *b)
{
    if (b->pending.len == 0)
        return;
    size_t taken = take_lines(b, base_slice_skip(base_buf_slice(&b->pending), b->pending_at));
    b->pending_at += taken;
    consumed(b, taken);
    if (pending_bytes(b) == 0) { /* frees its memory */
        base_buf_clear(&b->pending);
        b->pending_at = 0;
    } else if (b->pending_at >
               pending_bytes(b)) { /* moves fewer bytes than were consumed since the last move */
        base_buf_consume(&b->pending, b->pending_at);
        b->pending_at = 0;
    }
}

static bool is_input_left(const struct gw_bulk *b)
{
    return !b->input_ended || b->pending.len > 0 || b->partial.len > 0 || b->skipping;
}

/* Handles the last line, which may come without its line feed. */
static void take_rest(struct gw_bulk *b)
{
    bool is_last = b->input_ended && b->pending.len == 0;
    if (is_last && is_input_left(b) && !b->finished && !is_full(b, 1))
        end_line(b, SLICE_EMPTY);
}

/* Sends verdicts in pieces of some size, or all output when nothing else is coming. */
static void send_verdicts(struct gw_bulk *b)
{
    struct gw_call *call = b->call;
    bool is_last = b->first == NULL && !is_input_left(b);
    if (is_last)
        put_summary(b);
    bool is_due = call->out.len >= SEND_BYTES || b->undone == 0;
    if (call->out.len == 0 || !is_due)
        return;
    if (call->out.error != ERR_OK) {
        break_off(b, call->out.error, "out of memory for the verdicts");
        return;
    }
    b->finished = is_last;
    gw_rest_start_stream(call, 200, NDJSON);
    if (call->ex == NULL)
        return;
    if (is_last)
        gw_budget_put_cost_trailer(call);
    gw_exchange_send_take(call->ex, &call->out, is_last);
}

static void pump_once(struct gw_bulk *b)
{
    take_verdicts(b);
    if (b->paused && !is_full(b, 2))
        b->paused = false;
    if (!b->paused) {
        take_pending(b);
        take_rest(b);
        take_verdicts(b);
    }
    if (!b->finished)
        send_verdicts(b);
}

/* Continues whatever can continue. Lines that are refused at once enter and leave the list without
 * any completion, so the next lines must be read here: nothing would call this function again. */
static void pump(struct gw_bulk *b)
{
    while (!b->finished && b->call->ex != NULL) {
        pump_once(b);
        if (!b->paused || is_full(b, 2))
            return;
    }
}

static void on_body(struct gw_call *call, struct slice bytes, bool end)
{
    struct gw_bulk *b = call->state;
    if (b->finished) {
        consumed(b, bytes.len);
        return;
    }
    size_t taken = b->pending.len == 0 ? take_lines(b, bytes) : 0;
    consumed(b, taken);
    if (base_buf_append(&b->pending, base_slice_skip(bytes, taken)) != ERR_OK)
        break_off(b, b->pending.error, "more body came than the window allows");
    b->input_ended = end;
    pump(b);
}

static void on_drained(struct gw_call *call)
{
    pump(call->state);
}

static void turn_came(struct gw_call *call)
{
    struct gw_bulk *b = call->state;
    b->waits = false;
    pump(b);
}

void gw_bulk_write(struct gw_call *call)
{
    struct gw_bulk *b = gw_call_new_state(call, sizeof *b, cleanup);
    size_t tokens = 0;
    (void)gw_exchange_header(call->ex, "idempotency-key", &tokens);
    b->call = call;
    b->last = &b->first;
    base_buf_init(&b->partial, LIM_BULK_LINE_BYTES);
    base_buf_init(&b->pending, PENDING_MAX);
    base_buf_charge(&b->partial, call->memory);
    base_buf_charge(&b->pending, call->memory);
    gw_call_leave_table(call); /* every line acquires it again */
    gw_rest(call)->on_body = on_body;
    call->on_drained = on_drained;
    if (tokens > 0) {
        break_off(b, ERR_INVALID,
                  "\"idempotency-key\" is for one row: give lines an \"idempotency_token\"");
        return;
    }
    struct errbuf eb = {{0}};
    enum err e = gw_time_unit_read(&gw_rest(call)->query, &b->unit_us, &eb);
    if (e != ERR_OK) {
        break_off(b, e, eb.text);
        return;
    }
    b->waits = gw_call_waits_turn(call, turn_came);
    if (!call->ex->has_body) {
        b->input_ended = true;
        pump(b);
    }
}

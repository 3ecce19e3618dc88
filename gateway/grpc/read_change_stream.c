/*
 * gateway/grpc/read_change_stream.c - change streams: reading a partition.
 *
 * States of a stream, all on the loop:
 *
 *     reading   a slice is with the engine; the call is held
 *     full      the peer's queue is full; drained continues with the next slice
 *     paused    the tenant or the key is over its rate of visited bytes; a timer continues
 *     idle      all existing changes were emitted; a timer checks for more, which costs a few
 *               loads, and sends heartbeats. Nothing holds the call.
 *     ended     the response is complete or aborted, or its peer is gone
 *
 * Any range of rows is a partition, and stays one: no stream is ever closed because of a split or a
 * merge. change_partitions.c selects the initial partitions.
 */
#include <google/bigtable/v2/bigtable.pb-c.h>

#include "base/clock.h"
#include "gateway/grpc/change_proto.h"
#include "gateway/grpc/handlers.h"
#include "gateway/grpc/rows_proto.h"
#include "gateway/grpc/time_proto.h"

#include "base/banned.h"

#define NS_PER_US        1000ULL
#define US_PER_S         1000000LL
#define POLL_NS          (20 * 1000000ULL) /* longest time until a commit is noticed */
#define HEARTBEAT_US     (5 * US_PER_S)
#define HEARTBEAT_US_MIN (US_PER_S / 10)
#define HEARTBEAT_US_MAX (24 * 3600 * US_PER_S)
/* How far a start may be in the future: the clocks of clients differ. */
#define START_AHEAD_US ((int64_t)LIM_IDEMPOTENCY_AHEAD_US)

struct change_stream {
    struct gw_call *call;
    struct sto_change_op op;
    struct gw_change_writer writer;
    struct gw_change_stream_id id;
    Bt__StreamPartition *partition; /* as the client named it */
    uint64_t heartbeat_ns;
    uint64_t sent_ns; /* when the last message was sent */
    bool full;
    bool ended;
};

static const Bt__ReadChangeStreamRequest *request_of(const struct gw_call *call)
{
    return (const Bt__ReadChangeStreamRequest *)gw_rpc(call)->request;
}

/* --- sending -----------------------------------------------------------------------------------
 */

static void fail(struct change_stream *s, enum err code, const char *detail)
{
    s->ended = true;
    gw_rpc_fail_retry(s->call, code, detail, s->op.retry_ns);
}

static void send(struct change_stream *s, const Bt__ReadChangeStreamResponse *message)
{
    s->sent_ns = base_monotonic_ns();
    gw_rpc_send(s->call, &message->base);
}

static void send_heartbeat(struct change_stream *s)
{
    Google__Protobuf__Timestamp watermark;
    Bt__StreamContinuationToken token = BT__STREAM_CONTINUATION_TOKEN__INIT;
    Bt__ReadChangeStreamResponse__Heartbeat heartbeat =
        BT__READ_CHANGE_STREAM_RESPONSE__HEARTBEAT__INIT;
    Bt__ReadChangeStreamResponse response = BT__READ_CHANGE_STREAM_RESPONSE__INIT;
    struct gw_change_place place = {s->op.since_us, s->op.passed_us};
    struct buf text;
    base_buf_init(&text, GW_CHANGE_TOKEN_MAX + 1);
    enum err e = gw_change_token_make(&s->id, &place, &text);
    if (e == ERR_OK)
        e = base_buf_append_byte(&text, '\0');
    if (e == ERR_OK) {
        gw_time_to_proto(s->op.passed_us, &watermark);
        token.partition = s->partition;
        token.token = (char *)text.ptr;
        heartbeat.continuation_token = &token;
        heartbeat.estimated_low_watermark = &watermark;
        response.stream_record_case = BT__READ_CHANGE_STREAM_RESPONSE__STREAM_RECORD_HEARTBEAT;
        response.heartbeat = &heartbeat;
        send(s, &response);
    } else {
        fail(s, e, "out of memory for a heartbeat");
    }
    base_buf_fini(&text);
}

/* Ends a stream whose requested end time has been reached. */
static void close_stream(struct change_stream *s)
{
    Rpc__Status ok = RPC__STATUS__INIT;
    Bt__ReadChangeStreamResponse__CloseStream close =
        BT__READ_CHANGE_STREAM_RESPONSE__CLOSE_STREAM__INIT;
    Bt__ReadChangeStreamResponse response = BT__READ_CHANGE_STREAM_RESPONSE__INIT;
    close.status = &ok;
    response.stream_record_case = BT__READ_CHANGE_STREAM_RESPONSE__STREAM_RECORD_CLOSE_STREAM;
    response.close_stream = &close;
    s->ended = true;
    send(s, &response);
    gw_rpc_end(s->call);
}

/* --- reading -----------------------------------------------------------------------------------
 */

static void read_on(struct change_stream *s)
{
    gw_call_hold(s->call);
    sto_read_changes(s->call->api->engine, &s->op);
}

static bool heartbeat_is_due(const struct change_stream *s)
{
    return s->op.at_us == 0 && base_monotonic_ns() - s->sent_ns >= s->heartbeat_ns;
}

/* Returns true if the stream ended because its deadline passed or the server stops. */
static bool ends(struct change_stream *s)
{
    uint64_t deadline_ns = gw_rpc(s->call)->deadline_ns;
    if (deadline_ns != 0 && base_monotonic_ns() >= deadline_ns)
        fail(s, ERR_TIMEOUT, "the deadline passed");
    else if (atomic_load_explicit(&s->call->api->draining, memory_order_relaxed))
        fail(s, ERR_UNAVAILABLE, "the server is stopping");
    return s->ended;
}

static void look_for_more(struct gw_call *call);

static void wait_for_more(struct change_stream *s)
{
    gw_call_later(s->call, POLL_NS, look_for_more);
}

/* Returns true if the tenant or key is over its rate; a timer then continues. */
static bool pauses(struct change_stream *s)
{
    uint64_t pause_ns = ten_visit_pause_ns(&s->call->visit);
    if (pause_ns > 0)
        gw_call_later(s->call, pause_ns, look_for_more);
    return pause_ns > 0;
}

static void look_for_more(struct gw_call *call)
{
    struct change_stream *s = call->state;
    if (ends(s) || pauses(s))
        return;
    bool is_over = s->op.until_us != 0 && base_wall_us() > s->op.until_us;
    if (is_over || heartbeat_is_due(s) || sto_changes_wait_for(&s->op))
        read_on(s);
    else
        wait_for_more(s);
}

/* Sends the output of a slice, and charges all that it scanned, changes of other partitions as
 * well; returns true when the next slice is to be read now. */
static bool slice_done(struct change_stream *s)
{
    struct gw_call *call = s->call;
    ten_charge_visited(&call->visit, s->op.parts_seen, s->op.bytes_seen);
    if (gw_rpc_is_over(call)) {
        s->ended = true;
        return false;
    }
    enum err e = s->op.state == STO_READ_FAILED ? s->op.result : ERR_OK;
    if (gw_call_tries_again(call, e, s->op.retry_ns, look_for_more))
        return false;
    if (s->op.state == STO_READ_FAILED || s->writer.error != ERR_OK) {
        bool mine = s->op.state != STO_READ_FAILED;
        fail(s, mine ? s->writer.error : s->op.result,
             mine ? "a stored change cannot be given" : s->op.detail.text);
        return false;
    }
    if (call->out.len > 0 || call->out.error != ERR_OK) {
        s->sent_ns = base_monotonic_ns();
        gw_rpc_send_out(call);
    }
    bool is_end = s->op.state == STO_READ_END;
    if (is_end && s->op.until_us != 0 && s->op.passed_us >= s->op.until_us) {
        close_stream(s);
        return false;
    }
    if (ends(s))
        return false;
    if (heartbeat_is_due(s))
        send_heartbeat(s);
    if (gw_rpc_is_over(call) || s->ended) {
        s->ended = true;
        return false;
    }
    s->full = gw_exchange_is_full(call->ex);
    if (is_end && !s->full)
        wait_for_more(s);
    return !is_end && !s->full && !pauses(s);
}

static void changes_done(struct sto_change_op *op)
{
    struct change_stream *s = op->user;
    struct gw_call *call = s->call;
    if (slice_done(s))
        read_on(s);
    gw_call_drop(call);
}

static void drained(struct gw_call *call)
{
    struct change_stream *s = call->state;
    if (!s->full || s->ended)
        return;
    s->full = false;
    if (!pauses(s))
        read_on(s);
}

static void gone(struct gw_call *call)
{
    struct change_stream *s = call->state;
    atomic_store_explicit(&s->op.cancelled, true, memory_order_relaxed);
}

static void cleanup(struct gw_call *call)
{
    struct change_stream *s = call->state;
    gw_change_writer_fini(&s->writer);
}

/* --- the request -------------------------------------------------------------------------------
 */

static enum err take_partition(struct change_stream *s, struct errbuf *eb)
{
    s->partition = request_of(s->call)->partition;
    if (s->partition == NULL || s->partition->row_range == NULL) /* the whole table */
        return ERR_OK;
    return gw_range_from_proto(s->partition->row_range, &s->call->arena, &s->op.range, eb);
}

static bool same_range(const struct sto_row_range *a, const struct sto_row_range *b)
{
    return base_slice_equal(a->start, b->start) && base_slice_equal(a->end, b->end) &&
           a->start_exclusive == b->start_exclusive && a->end_inclusive == b->end_inclusive;
}

static enum err take_token(struct change_stream *s, const Bt__StreamContinuationTokens *tokens,
                           struct errbuf *eb)
{
    struct sto_row_range range = {.start = SLICE_EMPTY};
    struct gw_change_place place;
    if (tokens->n_tokens == 0)
        return base_fail(eb, ERR_INVALID, "continuation_tokens holds no token");
    if (tokens->n_tokens > 1)
        return base_fail(eb, ERR_UNSUPPORTED,
                         "this server never merges partitions: continue each with its own token");
    const Bt__StreamContinuationToken *token = tokens->tokens[0];
    enum err e =
        token->partition == NULL || token->partition->row_range == NULL
            ? ERR_OK
            : gw_range_from_proto(token->partition->row_range, &s->call->arena, &range, eb);
    if (e == ERR_OK && !same_range(&range, &s->op.range))
        e = base_fail(eb, ERR_INVALID, "the continuation token's partition is not the request's");
    if (e == ERR_OK)
        e = gw_change_token_open(&s->id, base_slice_text(token->token), &place, eb);
    if (e != ERR_OK)
        return e;
    s->op.since_us = place.since_us;
    s->op.passed_us = place.passed_us;
    return ERR_OK;
}

static enum err take_start(struct change_stream *s, struct errbuf *eb)
{
    const Bt__ReadChangeStreamRequest *request = request_of(s->call);
    int64_t now_us = base_wall_us(), start_us = now_us;
    s->op.since_us = atomic_load(&s->call->scope.schema->table->changes.since_us);
    if (request->start_from_case == BT__READ_CHANGE_STREAM_REQUEST__START_FROM_CONTINUATION_TOKENS)
        return take_token(s, request->continuation_tokens, eb);
    if (request->start_from_case == BT__READ_CHANGE_STREAM_REQUEST__START_FROM_START_TIME &&
        (!gw_time_from_proto(request->start_time, &start_us) || start_us < 1))
        return base_fail(eb, ERR_INVALID, "start_time is out of range");
    if (start_us > now_us + START_AHEAD_US)
        return base_fail(eb, ERR_INVALID, "start_time is in the future");
    if (start_us < s->op.since_us) /* before the stream existed there were no changes to miss */
        start_us = s->op.since_us;
    s->op.passed_us = start_us - 1;
    return ERR_OK;
}

static enum err take_times(struct change_stream *s, struct errbuf *eb)
{
    const Bt__ReadChangeStreamRequest *request = request_of(s->call);
    int64_t heartbeat_us = HEARTBEAT_US;
    if (request->end_time != NULL && (!gw_time_from_proto(request->end_time, &s->op.until_us) ||
                                      s->op.until_us < 1 || s->op.until_us >= INT64_MAX - 1))
        return base_fail(eb, ERR_INVALID, "end_time is out of range");
    if (request->heartbeat_duration != NULL &&
        (!gw_duration_from_proto(request->heartbeat_duration, &heartbeat_us) ||
         heartbeat_us < HEARTBEAT_US_MIN || heartbeat_us > HEARTBEAT_US_MAX))
        return base_fail(eb, ERR_INVALID, "heartbeat_duration must be from 0.1 seconds to one day");
    s->heartbeat_ns = (uint64_t)heartbeat_us * NS_PER_US;
    return ERR_OK;
}

static struct gw_change_stream_id id_of(const struct change_stream *s)
{
    return (struct gw_change_stream_id){
        .key = &s->call->api->page_key,
        .tenant = ten_tenant_id(s->call->tenant),
        .table = sto_schema_table_id(s->call->scope.schema),
        .partition = s->op.range,
    };
}

static void begin(struct change_stream *s)
{
    struct gw_call *call = s->call;
    s->op.scope = call->scope; /* the call keeps the ref until it is freed */
    s->op.sink = &s->writer.sink;
    s->op.priority = call->priority;
    s->op.deadline_ns = gw_rpc(call)->deadline_ns;
    s->op.reply_to = call->thread->mailbox;
    s->op.done = changes_done;
    s->op.user = s;
    s->writer.schema = call->scope.schema;
    s->writer.id = &s->id;
    s->writer.since_us = s->op.since_us;
    s->sent_ns = base_monotonic_ns();
    call->on_drained = drained;
    call->on_gone = gone;
    read_on(s);
}

void gw_read_change_stream(struct gw_call *call)
{
    struct change_stream *s = gw_call_new_state(call, sizeof *s, cleanup);
    struct errbuf eb;
    eb.text[0] = '\0';
    s->call = call;
    gw_change_writer_init(&s->writer, &call->out);
    enum err e = take_partition(s, &eb);
    s->id = id_of(s);
    if (e == ERR_OK)
        e = take_start(s, &eb);
    if (e == ERR_OK)
        e = take_times(s, &eb);
    if (e == ERR_OK)
        begin(s);
    else
        gw_rpc_fail(call, e, eb.text);
}

/*
 * gateway/grpc/read_rows.c - ReadRows: any set of rows, through a filter, as a stream of messages.
 *
 * A slice that emitted nothing still reports to the client how far the read has come, in
 * last_scanned_row_key: a client that has to retry starts there, and a client that monitors the
 * stream sees that it is alive. The field has a message of its own, only between rows, and is
 * always beyond every row and key sent before.
 */
#include <google/bigtable/v2/bigtable.pb-c.h>

#include "base/clock.h"
#include "base/text.h"
#include "gateway/caller.h"
#include "gateway/grpc/chunk_sink.h"
#include "gateway/grpc/filter_proto.h"
#include "gateway/grpc/handlers.h"
#include "gateway/grpc/rows_proto.h"
#include "gateway/row_stream.h"

#include "base/banned.h"

#define SORT_ON_LOOP_MAX 1024 /* more ranges are sorted on the helper's thread */

#define STATS_MAX 128 /* of a RequestStats: six numbers, and their envelope */

struct read_rows {
    struct gw_row_stream stream; /* first */
    struct gw_chunk_sink sink;
    struct buf last_passed;
    uint64_t rows_before; /* emitted before the slice that was inspected last */
    bool with_stats;
};

static struct read_rows *of(struct gw_row_stream *s)
{
    return (struct read_rows *)(void *)s;
}

static const Bt__ReadRowsRequest *request_of(const struct gw_call *call)
{
    return (const Bt__ReadRowsRequest *)gw_rpc(call)->request;
}

/* --- the format of the stream ------------------------------------------------------------------
 */

static void put_last_scanned(struct read_rows *r)
{
    bool is_idle = r->stream.op.rows_given == r->rows_before && !r->sink.in_row;
    if (is_idle && r->last_passed.len > 0)
        gw_chunk_sink_put_message(&r->sink, GW_READ_ROWS_LAST_SCANNED,
                                  base_buf_slice(&r->last_passed));
    r->rows_before = r->stream.op.rows_given;
    base_buf_truncate(&r->last_passed, 0);
}

/* Returns the info that names the row that was too large; clients that know it skip the row.
 * Without memory for it, clients only learn less. */
static const struct gw_status_info *large_row_info(struct gw_call *call, struct slice row_key)
{
    struct gw_status_info *info = base_arena_alloc(&call->arena, sizeof *info);
    const char *value = NULL;
    struct buf base64;
    base_buf_init(&base64, GW_STATUS_INFO_VALUE);
    if (base_base64_encode(row_key, &base64) == ERR_OK)
        value = base_arena_text(&call->arena, base_buf_slice(&base64));
    base_buf_fini(&base64);
    if (info == NULL || value == NULL)
        return NULL;
    *info = (struct gw_status_info){.reason = "LargeRowReadError",
                                    .domain = "bigtable.googleapis.com",
                                    .name = "rowKeyBase64Encoded",
                                    .value = value};
    return info;
}

static enum err fail_large_row(struct read_rows *r, struct errbuf *eb)
{
    struct gw_call *call = r->stream.call;
    gw_rpc(call)->info = large_row_info(call, base_buf_slice(&r->sink.row_key));
    return base_fail(eb, ERR_CONFLICT,
                     "a row is larger than %lu bytes, which no client takes at once: read it in "
                     "parts, by a filter",
                     GW_CHUNK_ROW_BYTES);
}

static enum err look(struct gw_row_stream *s, bool *out_is_last, bool *out_cut, struct errbuf *eb)
{
    struct read_rows *r = of(s);
    (void)out_cut; /* a stream ends where its rows end */
    gw_chunk_sink_end_slice(&r->sink);
    if (!*out_is_last)
        put_last_scanned(r);
    if (r->sink.row.error == ERR_TOO_BIG)
        return fail_large_row(r, eb);
    enum err e = r->last_passed.error;
    if (e == ERR_OK)
        e = gw_chunk_sink_error(&r->sink);
    if (e == ERR_NO_MEMORY)
        return gw_call_no_memory(s->call, eb);
    if (e != ERR_OK)
        return base_fail(eb, e, "a row does not fit into memory");
    return ERR_OK;
}

static void send_slice(struct gw_row_stream *s)
{
    struct read_rows *r = of(s);
    gw_rpc_send_out(s->call);
    if (s->call->ex != NULL)
        gw_chunk_sink_next_slice(&r->sink);
}

static void put_stats(struct read_rows *r)
{
    const struct gw_call *call = r->stream.call;
    const struct sto_read_op *op = &r->stream.op;
    uint64_t latency_ns = base_monotonic_ns() - call->ex->received_ns;
    Bt__ReadIterationStats rows = BT__READ_ITERATION_STATS__INIT;
    Google__Protobuf__Duration latency = GOOGLE__PROTOBUF__DURATION__INIT;
    Bt__RequestLatencyStats times = BT__REQUEST_LATENCY_STATS__INIT;
    Bt__FullReadStatsView view = BT__FULL_READ_STATS_VIEW__INIT;
    Bt__RequestStats stats = BT__REQUEST_STATS__INIT;
    rows.rows_seen_count = (int64_t)op->rows_seen;
    rows.rows_returned_count = (int64_t)op->rows_given;
    rows.cells_seen_count = (int64_t)op->cells_seen;
    rows.cells_returned_count = (int64_t)op->cells_given;
    latency.seconds = (int64_t)(latency_ns / 1000000000);
    latency.nanos = (int32_t)(latency_ns % 1000000000);
    times.frontend_server_latency = &latency;
    view.read_iteration_stats = &rows;
    view.request_latency_stats = &times;
    stats.stats_view_case = BT__REQUEST_STATS__STATS_VIEW_FULL_READ_STATS_VIEW;
    stats.full_read_stats_view = &view;
    uint8_t bytes[STATS_MAX];
    INVARIANT(bt__request_stats__get_packed_size(&stats) <= sizeof bytes);
    size_t len = bt__request_stats__pack(&stats, bytes);
    gw_chunk_sink_put_message(&r->sink, GW_READ_ROWS_STATS, base_slice(bytes, len));
}

static void end(struct gw_row_stream *s, bool cut)
{
    struct read_rows *r = of(s);
    (void)cut;
    if (r->with_stats)
        put_stats(r);
    gw_rpc_end(s->call);
}

static void fail(struct gw_row_stream *s, enum err code, const char *detail)
{
    gw_rpc_fail_retry(s->call, code, detail, s->op.retry_ns);
}

static const struct gw_row_format FORMAT = {look, send_slice, end, fail};

/* --- the request -------------------------------------------------------------------------------
 */

/* Restricts the read to rows that the view shows. */
static enum err narrow_rows(struct gw_call *call, struct sto_read_spec *spec, struct errbuf *eb)
{
    spec->view = gw_rpc(call)->view;
    if (spec->view == NULL)
        return ERR_OK;
    size_t max = sto_row_set_intersect_max(&spec->rows, &spec->view->rows);
    struct sto_row_range *ranges = base_arena_alloc(&call->arena, max * sizeof *ranges);
    if (ranges == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for %zu ranges", max);
    sto_row_set_intersect(&spec->rows, &spec->view->rows, ranges, &spec->rows);
    return ERR_OK;
}

static enum err take_filter(struct gw_call *call, struct sto_read_spec *spec, struct errbuf *eb)
{
    const Bt__RowFilter *message = request_of(call)->filter;
    struct sto_filter filter = {0};
    if (message == NULL)
        return ERR_OK;
    enum err e = gw_filter_from_proto(message, &call->arena, &filter, eb);
    return e == ERR_OK ? gw_call_compile(call, &filter, &spec->filter, eb) : e;
}

static bool is_one_key(const struct sto_row_set *rows)
{
    return rows->count == 1 && rows->ranges[0].end_inclusive && !rows->ranges[0].start_exclusive &&
           rows->ranges[0].start.len > 0 &&
           base_slice_equal(rows->ranges[0].start, rows->ranges[0].end);
}

static enum err take_rows(struct gw_call *call, struct sto_read_spec *spec, struct errbuf *eb)
{
    const Bt__ReadRowsRequest *request = request_of(call);
    if (request->rows_limit < 0)
        return base_fail(eb, ERR_INVALID, "rows_limit must not be negative");
    spec->row_limit = (uint64_t)request->rows_limit;
    spec->reversed = request->reversed;
    enum err e = gw_rows_from_proto(request->rows, &call->arena, &spec->rows, eb);
    if (e == ERR_OK)
        e = narrow_rows(call, spec, eb);
    if (e == ERR_OK)
        e = gw_caller_narrow(call, spec, eb); /* before a single key becomes a point read */
    if (e == ERR_OK && is_one_key(&spec->rows))
        spec->row_key = spec->rows.ranges[0].start;
    return e;
}

/* Builds the spec on the loop or the helper: the call, and with it the table's schema, is held in
 * the meantime. */
static enum err build(struct gw_call *call, struct errbuf *eb)
{
    struct read_rows *r = call->state;
    struct sto_read_spec *spec = &r->stream.op.spec;
    enum err e = take_rows(call, spec, eb);
    return e == ERR_OK ? take_filter(call, spec, eb) : e;
}

static bool is_small(struct gw_call *call)
{
    const Bt__RowSet *rows = request_of(call)->rows;
    if (rows != NULL && rows->n_row_keys + rows->n_row_ranges > SORT_ON_LOOP_MAX)
        return false;
    return gw_filter_is_small(request_of(call)->filter, &call->arena);
}

/* --- the call ----------------------------------------------------------------------------------
 */

static void start(struct gw_call *call)
{
    struct read_rows *r = call->state;
    struct sto_read_op *op = &r->stream.op;
    bool is_point = op->spec.row_key.len != 0;
    if (!is_point)
        op->last_passed = &r->last_passed;
    gw_row_stream_start(&r->stream, is_point);
}

static void built_on_helper(struct gw_call *call)
{
    if (call->task.result != ERR_OK)
        gw_rpc_fail(call, call->task.result, call->task.detail.text);
    else if (!gw_rpc_is_over(call))
        start(call);
}

static void cleanup(struct gw_call *call)
{
    struct read_rows *r = call->state;
    gw_row_stream_fini(&r->stream);
    gw_chunk_sink_fini(&r->sink);
    base_buf_fini(&r->last_passed);
}

static void state_new(struct gw_call *call)
{
    struct read_rows *r = gw_call_new_state(call, sizeof *r, cleanup);
    gw_chunk_sink_init(&r->sink, &call->out);
    gw_row_stream_init(&r->stream, call, &FORMAT, &r->sink.sink);
    base_buf_init(&r->last_passed, LIM_ROW_KEY);
    gw_rpc_send_plain(call);
    r->stream.deadline_ns = gw_rpc(call)->deadline_ns;
    r->with_stats = request_of(call)->request_stats_view ==
                    BT__READ_ROWS_REQUEST__REQUEST_STATS_VIEW__REQUEST_STATS_FULL;
}

void gw_read_rows(struct gw_call *call)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    state_new(call);
    if (!is_small(call)) {
        gw_task_on_helper(call, build, built_on_helper);
        return;
    }
    enum err e = build(call, &eb);
    if (e != ERR_OK)
        gw_rpc_fail(call, e, eb.text);
    else
        start(call);
}

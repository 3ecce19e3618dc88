/*
 * gateway/grpc/sample_row_keys.c - SampleRowKeys: keys that divide a table, or a range of it, into
 * parts of about the same size.
 *
 * Through a view only the rows with its prefixes count, as if the table had no others; whole rows,
 * because no cell is read. The samples of a range are the table's samples inside it; the last one
 * is the end of the requested range, in the form in which it was requested, or the end of the
 * view's last prefix where that comes first. Its offset is that of the table's first sample that is
 * not before it, which is at most one part too far.
 */
#include <google/bigtable/v2/bigtable.pb-c.h>

#include "gateway/grpc/handlers.h"
#include "gateway/grpc/rows_proto.h"
#include "gateway/grpc/wire_write.h"
#include "gateway/sampling.h"

#include "base/banned.h"

/* SampleRowKeysResponse */
enum { SAMPLE_ROW_KEY = 1, SAMPLE_OFFSET_BYTES = 2 };

struct samples {
    struct gw_sampling sampling; /* first */
    struct sto_row_range range;
    size_t next;  /* next sample to send */
    bool waiting; /* for drained */
};

static const Bt__SampleRowKeysRequest *request_of(const struct gw_call *call)
{
    return (const Bt__SampleRowKeysRequest *)gw_rpc(call)->request;
}

/* Returns whether no key of the range follows. */
static bool is_at_end(const struct samples *s, struct slice key)
{
    return key.len == 0 || (s->range.end.len != 0 && base_slice_compare(key, s->range.end) >= 0);
}

static void put_sample(struct buf *out, struct slice row_key, uint64_t offset_bytes)
{
    size_t message = gw_frame_begin(out);
    if (row_key.len != 0)
        gw_wire_put_bytes(out, SAMPLE_ROW_KEY, row_key);
    if (offset_bytes != 0)
        gw_wire_put_int(out, SAMPLE_OFFSET_BYTES, offset_bytes);
    if (out->error == ERR_OK)
        gw_frame_end(out, message);
}

/* Appends one slice of messages; true: the last one is among them. */
static bool put_slice(struct samples *s, struct buf *out)
{
    while (out->len < LIM_SLICE_BYTES && out->error == ERR_OK) {
        INVARIANT(s->next < s->sampling.op.count);
        const struct sto_sample *sample = &s->sampling.op.samples[s->next++];
        if (is_at_end(s, sample->row_key)) {
            put_sample(out, s->range.end, sample->offset_bytes);
            return true;
        }
        if (base_slice_compare(sample->row_key, s->range.start) > 0)
            put_sample(out, sample->row_key, sample->offset_bytes);
    }
    return false;
}

/* Sends samples until the peer has enough output for now. */
static void send_samples(struct gw_call *call)
{
    struct samples *s = call->state;
    s->waiting = false;
    while (call->ex != NULL && !s->waiting) {
        if (put_slice(s, &call->out)) {
            gw_rpc_end(call);
            return;
        }
        if (call->out.error != ERR_OK) {
            gw_rpc_fail(call, call->out.error, "the samples do not fit into memory");
            return;
        }
        gw_rpc_send_out(call);
        s->waiting = call->ex != NULL && gw_exchange_is_full(call->ex);
    }
}

static void drained(struct gw_call *call)
{
    const struct samples *s = call->state;
    if (s->waiting)
        send_samples(call);
}

static void samples_answer(struct gw_call *call, const struct sto_sample_op *op)
{
    if (op->result != ERR_OK)
        gw_rpc_fail_retry(call, op->result, op->detail.text, op->retry_ns);
    else
        send_samples(call);
}

/* Ends the range with the view's last prefix, unless the range starts after it. */
static void end_with_view(struct samples *s)
{
    const struct sto_row_set *rows = &s->sampling.op.rows;
    struct slice end = rows->count == 0 ? SLICE_EMPTY : rows->ranges[rows->count - 1].end;
    if (!is_at_end(s, end) && base_slice_compare(end, s->range.start) > 0)
        s->range.end = end;
}

static enum err take_request(struct gw_call *call, struct samples *s, struct errbuf *eb)
{
    const Bt__SampleRowKeysRequest *request = request_of(call);
    enum err e = request->row_range == NULL
                     ? ERR_OK
                     : gw_range_from_proto(request->row_range, &call->arena, &s->range, eb);
    if (e == ERR_OK && gw_rpc(call)->view != NULL) {
        s->sampling.op.rows = gw_rpc(call)->view->rows;
        end_with_view(s);
    }
    return e;
}

void gw_sample_row_keys(struct gw_call *call)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    struct samples *s = gw_call_new_state(call, sizeof *s, NULL);
    enum err e = take_request(call, s, &eb);
    if (e != ERR_OK) {
        gw_rpc_fail(call, e, eb.text);
        return;
    }
    gw_rpc_send_plain(call);
    s->sampling.op.deadline_ns = gw_rpc(call)->deadline_ns;
    call->on_drained = drained;
    gw_sampling_start(call, samples_answer);
}

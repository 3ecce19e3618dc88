/*
 * gateway/grpc/change_partitions.c - GenerateInitialChangeStreamPartitions: the ranges of rows that
 *                                    clients read a change stream by, in parallel.
 *
 * Partitions are bounded by the table's splits, and by keys that divide its contents into parts of
 * PARTITION_BYTES; if there are more than LIM_CHANGE_PARTITIONS parts, some are merged. Nothing is
 * stored: a reader may read any range, and a table that grows is divided further for later
 * requests. There are few partitions because each reader scans all changes of the table for those
 * of its range (docs/decisions/0070).
 */
#include <google/bigtable/v2/bigtable.pb-c.h>

#include "gateway/grpc/handlers.h"
#include "gateway/sampling.h"

#include "base/banned.h"

#define PARTITION_BYTES (256 * MIB)

/* Sends one partition; the last one ends with the table. */
static void send_partition(struct gw_call *call, struct slice start, struct slice end)
{
    Bt__RowRange range = BT__ROW_RANGE__INIT;
    Bt__StreamPartition partition = BT__STREAM_PARTITION__INIT;
    Bt__GenerateInitialChangeStreamPartitionsResponse reply =
        BT__GENERATE_INITIAL_CHANGE_STREAM_PARTITIONS_RESPONSE__INIT;
    range.start_key_case = BT__ROW_RANGE__START_KEY_START_KEY_CLOSED;
    range.start_key_closed = gw_proto_data(start);
    range.end_key_case = BT__ROW_RANGE__END_KEY_END_KEY_OPEN;
    range.end_key_open = gw_proto_data(end);
    partition.row_range = &range;
    reply.partition = &partition;
    gw_rpc_send(call, &reply.base);
}

/* Sends all partitions; the last sample is the end of the table. */
static void send_partitions(struct gw_call *call, const struct sto_sample *samples, size_t count)
{
    size_t partitions = count < LIM_CHANGE_PARTITIONS ? count : LIM_CHANGE_PARTITIONS;
    struct slice start = SLICE_EMPTY;
    for (size_t i = 1; i <= partitions; i++) {
        struct slice end = samples[i * count / partitions - 1].row_key;
        send_partition(call, start, end);
        start = end;
    }
    gw_rpc_end(call);
}

static void samples_answer(struct gw_call *call, const struct sto_sample_op *op)
{
    if (op->result != ERR_OK)
        gw_rpc_fail_retry(call, op->result, op->detail.text, op->retry_ns);
    else
        send_partitions(call, op->samples, op->count);
}

void gw_change_stream_partitions(struct gw_call *call)
{
    if (atomic_load(&call->scope.schema->table->changes.since_us) == 0) {
        gw_rpc_fail(call, ERR_CONFLICT, "the table has no change stream");
        return;
    }
    struct gw_sampling *s = gw_call_new_state(call, sizeof *s, NULL);
    s->op.deadline_ns = gw_rpc(call)->deadline_ns;
    s->op.bytes_between = PARTITION_BYTES;
    gw_sampling_start(call, samples_answer);
}

/*
 * gateway/grpc/change_proto.h - stored changes as DataChange messages.
 *
 * Does:     writes each part of a change as one framed ReadChangeStreamResponse.
 * Owns:     scratch memory, until fini.
 * May use:  base/, storage/, gateway/grpc/.
 * Knows no: calls.
 * Threads:  readers, and the loop between slices; one at a time.
 * Blocks:   no.
 * Fails by: the out buf's latched error, or its own (ERR_CORRUPT, ERR_NO_MEMORY): see error.
 * Limits:   LIM_SLICE_BYTES, then it is full; a message is one part and its envelope.
 * Promises: 1. Changes have the form that official clients require: the first message has type, row
 *              key, commit timestamp and a mutation, the last one done, a token and a low
 *              watermark; a piece of a value that continues is the last of its message, a piece
 *              that continues an earlier one is the first; a change by a user names its cluster, a
 *              removal of garbage does not.
 */
#ifndef GATEWAY_GRPC_CHANGE_PROTO_H
#define GATEWAY_GRPC_CHANGE_PROTO_H

#include "gateway/grpc/change_token.h"
#include "storage/change.h"
#include "storage/schema.h"

struct gw_change_writer {
    struct sto_change_sink sink; /* first */
    struct buf *out;
    const struct sto_schema *schema; /* determines which inputs are integers */
    const struct gw_change_stream_id *id;
    int64_t since_us;
    struct buf change; /* the DataChange in progress */
    struct buf token;
    enum err error;
};

void gw_change_writer_init(struct gw_change_writer *w, struct buf *out);
void gw_change_writer_fini(struct gw_change_writer *w);

#endif

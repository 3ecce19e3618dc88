/*
 * gateway/grpc/change_proto.h - stored changes as DataChange messages.
 *
 * Does:     write each part of a change as one framed ReadChangeStreamResponse.
 * Owns:     scratch memory, until fini.
 * May use:  base/, storage/, gateway/grpc/.
 * Knows no: calls.
 * Threads:  readers, and the loop between slices; one at a time.
 * Blocks:   no.
 * Fails by: the out buf's latched error, or its own (ERR_CORRUPT, ERR_NO_MEMORY): see error.
 * Limits:   LIM_SLICE_BYTES, then it is full; a message is a part and what is around it.
 * Promises: 1. What official clients demand of a change: the first message has type, row key,
 *              commit timestamp and a mutation, the last one done, a token and a low watermark; a
 *              piece of a value that goes on is the last of its message, one that came before the
 *              first; what a user did names its cluster, what was garbage none.
 */
#ifndef GATEWAY_GRPC_CHANGE_PROTO_H
#define GATEWAY_GRPC_CHANGE_PROTO_H

#include "gateway/grpc/change_token.h"
#include "storage/change.h"
#include "storage/schema.h"

struct gw_change_writer {
    struct sto_change_sink sink; /* first */
    struct buf *out;
    const struct sto_schema *schema; /* says which inputs are integers */
    const struct gw_change_stream_id *id;
    int64_t since_us;
    struct buf change; /* the DataChange under way */
    struct buf token;
    enum err error;
};

void gw_change_writer_init(struct gw_change_writer *w, struct buf *out);
void gw_change_writer_fini(struct gw_change_writer *w);

#endif

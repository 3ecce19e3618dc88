/*
 * gateway/api/row_stream.h - rows from the engine to the peer, slice by slice, with backpressure.
 *
 * Does:     run a read for a call; answer whole when it fits into one slice, streamed otherwise;
 *           stop while the peer does not take what it has; end when it is gone.
 * Owns:     the read operation and its sink, in the call's state, until the call is freed.
 * May use:  base/, storage/, gateway/api/.
 * Knows no: query parameters, page tokens: `finish` writes what ends the answer.
 * Threads:  the loop of the call; the sink runs on readers in between.
 * Blocks:   no.
 * Fails by: a problem before the first byte, breaking the stream off behind it.
 * Limits:   one slice in the making and LIM_OUT_HIGH_BYTES queued per call.
 * Promises: 1. A stream that is not complete never ends as if it were.
 *           2. The next slice is made while the last one is sent, never more.
 */
#ifndef GATEWAY_API_ROW_STREAM_H
#define GATEWAY_API_ROW_STREAM_H

#include "gateway/api/call.h"
#include "gateway/api/row_sink.h"

struct gw_row_stream {
    struct gw_call *call;
    struct sto_read_op op; /* spec is filled in by the handler before start */
    struct gw_row_sink sink;
    const char *content_type;
    size_t bytes_max;                   /* end behind the row that passes it; 0: no limit */
    const struct gw_page_context *page; /* for gateway/api/row_page.c */
    bool with_stats;                    /* the same */
    void *user;                         /* the handler's */
    /* Write the end of the answer into call->out; cut: rows may be left. May be NULL. */
    enum err (*finish)(struct gw_call *call, bool cut, struct errbuf *eb);

    size_t bytes; /* of rows, sent and not yet sent */
    bool waiting; /* for drained */
    bool ended;
};

/* State of the call, zeroed, with its sink writing into call->out. */
struct gw_row_stream *gw_row_stream_new(struct gw_call *call, enum gw_row_framing framing,
                                        const char *content_type);
/* Takes the call's table scope. try_inline: a point read that may be answered at once. */
void gw_row_stream_start(struct gw_row_stream *s, bool try_inline);

#endif

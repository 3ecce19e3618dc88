/*
 * gateway/row_stream.h - rows from the engine to the peer, slice by slice, with backpressure.
 *
 * Does:     runs a read for a call; has each slice sent in the protocol's format and charged;
 *           pauses while the peer has not consumed enough of the output, and while the tenant is
 *           over its rate of visited bytes; ends when the peer is gone.
 * Owns:     the read operation, until gw_row_stream_fini.
 * May use:  base/, storage/, tenancy/, gateway/call.h, gateway/timer.h.
 * Knows no: representation of rows on the wire: the format and its sink do.
 * Threads:  the loop of the call; the sink runs on readers in between.
 * Blocks:   no.
 * Fails by: the format's fail; ERR_TIMEOUT when the deadline passes.
 * Limits:   one slice in progress and LIM_OUT_HIGH_BYTES queued per call.
 * Promises: 1. An incomplete stream never ends as if it were complete: end or fail is called once,
 *              or the peer is gone.
 *           2. The next slice is read while the last one is sent, never more.
 *           3. The reader of a peer that vanished stops in the middle of its slice.
 */
#ifndef GATEWAY_ROW_STREAM_H
#define GATEWAY_ROW_STREAM_H

#include "gateway/call.h"
#include "gateway/timer.h"

struct gw_row_stream;

/* The functions that turn the sink's bytes in call->out into a response. All on the loop. */
struct gw_row_format {
    /* Inspects the slice that arrived. Returns ERR_OK, or the reason why nothing of it can be sent;
     * *out_is_last: nothing more is wanted; *out_cut: although rows may be left. */
    enum err (*look)(struct gw_row_stream *s, bool *out_is_last, bool *out_cut, struct errbuf *eb);
    /* Sends the bytes collected so far; another slice follows. */
    void (*send)(struct gw_row_stream *s);
    void (*end)(struct gw_row_stream *s, bool cut);
    void (*fail)(struct gw_row_stream *s, enum err code, const char *detail);
};

struct gw_row_stream {
    struct gw_call *call;
    const struct gw_row_format *format;
    struct sto_read_op op; /* spec and sink are filled in before start */
    uint64_t deadline_ns;  /* monotonic; 0: none */
    uint64_t rows_charged;
    uint64_t bytes_charged;
    uint64_t work_charged_ns;
    uint64_t scarce_since_ns; /* when it started to wait for memory; 0: it does not wait */
    bool waiting;             /* for drained */
    bool ended;
};

/* Initializes s, which is in the call's state, zeroed. */
void gw_row_stream_init(struct gw_row_stream *s, struct gw_call *call,
                        const struct gw_row_format *format, struct sto_row_sink *sink);
/* Releases the cursor and the filter; for the cleanup of the call. */
void gw_row_stream_fini(struct gw_row_stream *s);
/* Starts the read in the call's table scope. try_inline: a point read that may be answered at
 * once. */
void gw_row_stream_start(struct gw_row_stream *s, bool try_inline);

#endif

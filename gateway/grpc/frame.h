/*
 * gateway/grpc/frame.h - gRPC's length-prefixed messages.
 *
 * Does:     extracts messages from a body as it arrives, and inflates them; appends messages to an
 *           output, deflated if wanted.
 * Owns:     a reader: the message being collected.
 * May use:  base/, zlib.
 * Knows no: HTTP, protobuf.
 * Threads:  one at a time; the thread may change between two calls.
 * Blocks:   no.
 * Fails by: ERR_TOO_BIG (naming the limit), ERR_UNSUPPORTED (a compressed message without a known
 *           grpc-encoding), ERR_INVALID (flags, damaged gzip), ERR_NO_MEMORY.
 * Limits:   the reader's max, less than 4 GiB, before and after inflating; LIM_INFLATE_RATIO.
 * Promises: 1. The memory of a message is counted in its share when its length is announced; the
 *              message is refused then, or fits.
 */
#ifndef GATEWAY_GRPC_FRAME_H
#define GATEWAY_GRPC_FRAME_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* Inflating to at most this many bytes, or deflating them, is included in the charge of the
 * operation. */
#define GW_FRAME_SMALL_BYTES (4 * KIB)
#define GW_FRAME_HEAD        5 /* a flag, then the length in 4 bytes, big-endian */

/* Values of grpc-encoding. */
enum gw_encoding { GW_ENCODING_IDENTITY, GW_ENCODING_GZIP };

/* Must be zeroed before init. */
struct gw_frame_reader {
    size_t max;
    enum gw_encoding encoding; /* of messages whose flag says that they are compressed */
    uint8_t head[GW_FRAME_HEAD];
    size_t head_len;
    bool is_inflated;    /* `inflated` is the message */
    struct buf bytes;    /* of the message, as sent */
    struct buf inflated; /* the same, when it was compressed */
};

void gw_frame_reader_init(struct gw_frame_reader *r, size_t max, enum gw_encoding encoding);
void gw_frame_reader_fini(struct gw_frame_reader *r);
/* Sets the share that is charged for the reader's memory. */
void gw_frame_reader_charge(struct gw_frame_reader *r, struct base_memory_share *share);
/* Appends bytes to the message in progress: *out_used of them, which may be fewer than passed.
 * *out_complete: the message is complete, and nothing more is accepted until gw_frame_next. After a
 * failure nothing may be fed. */
enum err gw_frame_feed(struct gw_frame_reader *r, struct slice bytes, size_t *out_used,
                       bool *out_complete, struct errbuf *eb) MUST_CHECK;
/* Returns whether the complete message arrived compressed. */
bool gw_frame_is_compressed(const struct gw_frame_reader *r);
/* Prepares the complete message: inflates it, if it arrived compressed. */
enum err gw_frame_unpack(struct gw_frame_reader *r, struct errbuf *eb) MUST_CHECK;
/* Returns the size of the message as it was sent. */
size_t gw_frame_sent_bytes(const struct gw_frame_reader *r);
/* Returns the size to which the message was inflated, also if that failed half way; 0: it did not
 * arrive compressed. */
size_t gw_frame_inflated_bytes(const struct gw_frame_reader *r);
/* Returns the complete message, after gw_frame_unpack. */
struct slice gw_frame_message(const struct gw_frame_reader *r);
void gw_frame_next(struct gw_frame_reader *r);
/* Returns whether the reader is between two messages, where a body may end. */
bool gw_frame_is_between(const struct gw_frame_reader *r);

/* Starts a message at the end of out; returns its position. Errors latch in out. */
size_t gw_frame_begin(struct buf *out);
/* Finishes the message that started at `begin`: fills in its head. */
void gw_frame_end(struct buf *out, size_t begin);
/* Replaces the finished message at `begin`, the last one in out, by its gzip form. A message that
 * would not become shorter stays as it is, and its flag says so. On failure it stays, too. */
enum err gw_frame_deflate(struct buf *out, size_t begin) MUST_CHECK;

#endif

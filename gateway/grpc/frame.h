/*
 * gateway/grpc/frame.h - gRPC's length-prefixed messages.
 *
 * Does:     take messages out of a body as it arrives, and inflate them; put messages into an
 *           output, deflated if wanted.
 * Owns:     a reader: the message being collected.
 * May use:  base/, zlib.
 * Knows no: HTTP, protobuf.
 * Threads:  one at a time; which one may change between two functions.
 * Blocks:   no.
 * Fails by: ERR_TOO_BIG (naming the limit), ERR_UNSUPPORTED (a compressed message without a known
 *           grpc-encoding), ERR_INVALID (flags, damaged gzip), ERR_NO_MEMORY.
 * Limits:   the reader's max, less than 4 GiB, before and after inflating; LIM_INFLATE_RATIO.
 * Promises: 1. What a message will take is counted in its share when its length is announced; it
 *           is refused then, or fits.
 */
#ifndef GATEWAY_GRPC_FRAME_H
#define GATEWAY_GRPC_FRAME_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* Inflating to so many bytes, or deflating them, is paid for by the operation. */
#define GW_FRAME_SMALL_BYTES (4 * KIB)
#define GW_FRAME_HEAD        5 /* a flag, then the length in 4 bytes, big-endian */

/* grpc-encoding. */
enum gw_encoding { GW_ENCODING_IDENTITY, GW_ENCODING_GZIP };

/* Zeroed and then initialised. */
struct gw_frame_reader {
    size_t max;
    enum gw_encoding encoding; /* of messages that say they are compressed */
    uint8_t head[GW_FRAME_HEAD];
    size_t head_len;
    bool is_inflated;    /* `inflated` is the message */
    struct buf bytes;    /* of the message, as sent */
    struct buf inflated; /* the same, when it was compressed */
};

void gw_frame_reader_init(struct gw_frame_reader *r, size_t max, enum gw_encoding encoding);
void gw_frame_reader_fini(struct gw_frame_reader *r);
/* Whose memory it takes. */
void gw_frame_reader_charge(struct gw_frame_reader *r, struct base_memory_share *share);
/* Take what belongs to the message under way: *out_used bytes, which may be fewer than given.
 * *out_complete: the message is there, and nothing more is taken until gw_frame_next. Behind a
 * failure nothing may be fed any more. */
enum err gw_frame_feed(struct gw_frame_reader *r, struct slice bytes, size_t *out_used,
                       bool *out_complete, struct errbuf *eb) MUST_CHECK;
/* The complete message came compressed. */
bool gw_frame_is_compressed(const struct gw_frame_reader *r);
/* Make the complete message ready: inflate it, if it came compressed. */
enum err gw_frame_unpack(struct gw_frame_reader *r, struct errbuf *eb) MUST_CHECK;
/* The bytes of the message as it was sent. */
size_t gw_frame_sent_bytes(const struct gw_frame_reader *r);
/* What it was inflated to, also if that failed half way; 0: it did not come compressed. */
size_t gw_frame_inflated_bytes(const struct gw_frame_reader *r);
/* The complete message, behind gw_frame_unpack. */
struct slice gw_frame_message(const struct gw_frame_reader *r);
void gw_frame_next(struct gw_frame_reader *r);
/* True between two messages: here a body may end. */
bool gw_frame_is_between(const struct gw_frame_reader *r);

/* Begin a message at the end of out; returns where it begins. Errors latch in out. */
size_t gw_frame_begin(struct buf *out);
/* What stands behind `begin` is the message: fill in its head. */
void gw_frame_end(struct buf *out, size_t begin);
/* Replace the message that was ended there, the last one in out, by its gzip form. One that would
 * not become shorter stays as it is, and says so in its flag. On failure it stays, too. */
enum err gw_frame_deflate(struct buf *out, size_t begin) MUST_CHECK;

#endif

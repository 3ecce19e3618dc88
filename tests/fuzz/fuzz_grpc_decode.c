/*
 * tests/fuzz/fuzz_grpc_decode.c - bytes of gRPC calls (gateway/grpc/decode.h, frame.h, metadata.h).
 *
 * The first byte says what the rest is: a message of one of TYPES, a body of frames, or headers.
 *   - A message that is taken, packed by protobuf-c, is taken again and packs to the same bytes.
 *   - A body gives the same messages whole and in pieces; what comes out, written and deflated,
 *     comes out again.
 */
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>
#include <google/bigtable/v2/bigtable.pb-c.h>
#include <google/rpc/error_details.pb-c.h>
#include <grpc/reflection/v1/reflection.pb-c.h>

#include "base/limits.h"
#include "gateway/grpc/decode.h"
#include "gateway/grpc/metadata.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/every_proto.h"

#include "base/banned.h"

#define ARENA_MAX   (4 * MIB)
#define PACKED_MAX  (64 * MIB)
#define MESSAGE_MAX (64 * KIB)
#define HEADERS_MAX 4

static const ProtobufCMessageDescriptor *const TYPES[] = {
    &bt__read_rows_request__descriptor,
    &bt__mutate_rows_request__descriptor,
    &bt__mutate_row_request__descriptor,
    &bt__check_and_mutate_row_request__descriptor,
    &bt__read_modify_write_row_request__descriptor,
    &bt__sample_row_keys_request__descriptor,
    &bt__ping_and_warm_request__descriptor,
    &bta__create_table_request__descriptor,
    &bta__modify_column_families_request__descriptor,
    &bta__drop_row_range_request__descriptor,
    &bta__update_table_request__descriptor,
    &refl__server_reflection_request__descriptor,
    &rpc__error_info__descriptor,
};
#define TYPE_COUNT (sizeof TYPES / sizeof TYPES[0])
enum { EVERY = TYPE_COUNT, FRAMES, HEADERS, CHOICES };

/* --- messages ------------------------------------------------------------------------------- */

static void expect_taken_again(const ProtobufCMessage *message)
{
    struct arena arena;
    struct errbuf eb = {{0}};
    struct buf packed, again;
    ProtobufCMessage *second = NULL;
    base_arena_init(&arena, 2 * ARENA_MAX);
    base_buf_init(&packed, PACKED_MAX);
    base_buf_init(&again, PACKED_MAX);
    every_pack(message, &packed);
    INVARIANT(gw_proto_decode(message->descriptor, base_buf_slice(&packed), &arena, &second, &eb) ==
              ERR_OK);
    every_pack(second, &again);
    INVARIANT(base_slice_equal(base_buf_slice(&packed), base_buf_slice(&again)));
    base_buf_fini(&packed);
    base_buf_fini(&again);
    base_arena_fini(&arena);
}

static void try_message(const ProtobufCMessageDescriptor *type, struct slice bytes)
{
    struct arena arena;
    struct errbuf eb = {{0}};
    ProtobufCMessage *message = NULL;
    base_arena_init(&arena, ARENA_MAX);
    enum err e = gw_proto_decode(type, bytes, &arena, &message, &eb);
    fuzz_expect_told(e, &eb);
    INVARIANT((e == ERR_OK) == (message != NULL));
    if (e == ERR_OK)
        expect_taken_again(message);
    base_arena_fini(&arena);
}

/* --- frames --------------------------------------------------------------------------------- */

/* Every message of the body at the end of out, with its length; fed in pieces of at most `piece`
 * bytes. */
static enum err read_all(struct slice body, size_t piece, struct buf *out)
{
    struct gw_frame_reader reader = {0};
    struct errbuf eb = {{0}};
    enum err e = ERR_OK;
    gw_frame_reader_init(&reader, MESSAGE_MAX, GW_ENCODING_GZIP);
    while (e == ERR_OK && body.len > 0) {
        size_t used = 0, len = body.len < piece ? body.len : piece;
        bool complete = false;
        e = gw_frame_feed(&reader, base_slice(body.ptr, len), &used, &complete, &eb);
        if (e == ERR_OK && complete)
            e = gw_frame_unpack(&reader, &eb);
        fuzz_expect_told(e, &eb);
        if (e != ERR_OK)
            break;
        INVARIANT(used > 0 && used <= len);
        body = base_slice_skip(body, used);
        if (!complete)
            continue;
        size_t begin = gw_frame_begin(out);
        (void)base_buf_append(out, gw_frame_message(&reader));
        gw_frame_end(out, begin);
        gw_frame_next(&reader);
    }
    INVARIANT(reader.bytes.len <= MESSAGE_MAX && reader.inflated.len <= MESSAGE_MAX + 1);
    gw_frame_reader_fini(&reader);
    return e;
}

static void try_frames(struct slice body)
{
    struct buf whole, pieces, deflated, again;
    base_buf_init(&whole, PACKED_MAX);
    base_buf_init(&pieces, PACKED_MAX);
    base_buf_init(&deflated, PACKED_MAX);
    base_buf_init(&again, PACKED_MAX);
    enum err e = read_all(body, body.len, &whole);
    INVARIANT(read_all(body, 3, &pieces) == e);
    INVARIANT(base_slice_equal(base_buf_slice(&whole), base_buf_slice(&pieces)));
    if (whole.len > 0 && whole.len < MESSAGE_MAX) {
        size_t begin = gw_frame_begin(&deflated);
        (void)base_buf_append(&deflated, base_buf_slice(&whole));
        gw_frame_end(&deflated, begin);
        INVARIANT(gw_frame_deflate(&deflated, begin) == ERR_OK);
        INVARIANT(read_all(base_buf_slice(&deflated), deflated.len, &again) == ERR_OK);
        struct slice message = base_slice_skip(base_buf_slice(&again), GW_FRAME_HEAD);
        INVARIANT(base_slice_equal(message, base_buf_slice(&whole)));
    }
    base_buf_fini(&whole);
    base_buf_fini(&pieces);
    base_buf_fini(&deflated);
    base_buf_fini(&again);
}

/* --- headers -------------------------------------------------------------------------------- */

static void try_headers(struct fuzz_input *in)
{
    static const char *const NAMES[] = {"content-type", "grpc-timeout", "grpc-encoding",
                                        "grpc-accept-encoding"};
    static struct gw_exchange ex;
    struct gw_header headers[HEADERS_MAX];
    struct gw_metadata m = {0};
    struct errbuf eb = {{0}};
    ex.headers = headers;
    ex.header_count = 0;
    while (in->rest.len > 0 && ex.header_count < HEADERS_MAX) {
        const char *name = NAMES[fuzz_below(in, sizeof NAMES / sizeof NAMES[0])];
        headers[ex.header_count++] =
            (struct gw_header){base_slice_text(name), fuzz_bytes(in, UINT8_MAX)};
    }
    (void)gw_metadata_is_grpc(&ex);
    enum err e = gw_metadata_read(&ex, &m, &eb);
    fuzz_expect_told(e, &eb);
    INVARIANT(e == ERR_OK || e == ERR_INVALID || e == ERR_UNSUPPORTED);
    INVARIANT(m.timeout_ns <= INT64_MAX);
    INVARIANT(m.reply == GW_ENCODING_IDENTITY || m.encoding == GW_ENCODING_GZIP);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {base_slice(data, size)};
    unsigned choice = fuzz_below(&in, CHOICES);
    if (choice < TYPE_COUNT)
        try_message(TYPES[choice], in.rest);
    else if (choice == EVERY)
        try_message(every_type(), in.rest);
    else if (choice == FRAMES)
        try_frames(in.rest);
    else
        try_headers(&in);
    return 0;
}

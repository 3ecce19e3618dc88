/*
 * gateway/grpc/change_proto.c - stored changes as DataChange messages.
 *
 * A mutation's lengths are computed first, inside out, then it is written once.
 */
#include "gateway/grpc/change_proto.h"

#include "gateway/grpc/frame.h"
#include "gateway/grpc/table_proto.h"
#include "gateway/grpc/wire_write.h"

#include "base/banned.h"

#define CHANGE_MAX (LIM_CELL_BYTES_HARD + 1 * MIB)
#define US_PER_S   1000000

/* Field numbers: ReadChangeStreamResponse, DataChange, MutationChunk, ChunkInfo. */
enum { RESPONSE_DATA_CHANGE = 1 };
enum {
    CHANGE_TYPE = 1,
    CHANGE_CLUSTER = 2,
    CHANGE_ROW_KEY = 3,
    CHANGE_COMMIT = 4,
    CHANGE_CHUNKS = 6,
    CHANGE_DONE = 8,
    CHANGE_TOKEN = 9,
    CHANGE_WATERMARK = 10
};
enum { TYPE_USER = 1, TYPE_GARBAGE = 2, TYPE_CONTINUATION = 3 };
enum { CHUNK_INFO = 1, CHUNK_MUTATION = 2 };
enum { INFO_SIZE = 1, INFO_OFFSET = 2, INFO_LAST = 3 };
/* Mutation and its kinds, Value, TimestampRange, Timestamp. */
enum { SET_CELL = 1, DELETE_COLUMN = 2, DELETE_FAMILY = 3, ADD_TO_CELL = 5, MERGE_TO_CELL = 6 };
enum { OF_FAMILY = 1, OF_QUALIFIER = 2, OF_TIMESTAMP = 3, OF_VALUE = 4, OF_TIME_RANGE = 3 };
enum { VALUE_INT = 6, VALUE_RAW = 8, VALUE_RAW_TIMESTAMP = 9 };
enum { RANGE_START = 1, RANGE_END = 2 };
enum { TIME_SECONDS = 1, TIME_NANOS = 2 };

/* --- mutations ---------------------------------------------------------------------------------
 */

/* A mutation and the lengths of its parts. */
struct shape {
    const struct sto_change_mutation *m;
    uint32_t field; /* in Mutation */
    bool is_int;    /* the input */
    uint64_t input;
    bool is_piece;
    bool is_last_piece;
    size_t info;
    size_t range;
    size_t value; /* of an input, as a Value */
    size_t body;
    size_t mutation;
    size_t chunk;
};

static uint32_t field_of(enum sto_mutation_kind kind)
{
    if (kind == STO_SET_CELL)
        return SET_CELL;
    if (kind == STO_DELETE_FROM_COLUMN)
        return DELETE_COLUMN;
    if (kind == STO_DELETE_FROM_FAMILY)
        return DELETE_FAMILY;
    return kind == STO_ADD_TO_CELL ? ADD_TO_CELL : MERGE_TO_CELL;
}

/* Returns whether an input is an integer: inputs of sums, minima and maxima are; others, and all
 * states, are raw. */
static bool input_is_int(const struct sto_schema *schema, const struct sto_change_mutation *m)
{
    const struct sto_family *family = sto_schema_family(schema, m->family);
    return m->kind == STO_ADD_TO_CELL && m->value.len == 8 && family != NULL &&
           family->aggregate != STO_AGGREGATE_HLL;
}

static size_t time_range_size(const struct sto_change_mutation *m)
{
    size_t n = 0;
    if (m->start_us != 0)
        n += gw_wire_int_size(RANGE_START, (uint64_t)m->start_us);
    if (m->end_us != 0)
        n += gw_wire_int_size(RANGE_END, (uint64_t)m->end_us);
    return n;
}

static size_t raw_time_size(const struct sto_change_mutation *m)
{
    return gw_wire_int_size(VALUE_RAW_TIMESTAMP, (uint64_t)m->timestamp_us);
}

static size_t body_size(struct shape *s)
{
    const struct sto_change_mutation *m = s->m;
    size_t n = gw_wire_bytes_size(OF_FAMILY, m->family.len);
    if (s->field == DELETE_FAMILY)
        return n;
    if (s->field == SET_CELL)
        return n + gw_wire_bytes_size(OF_QUALIFIER, m->qualifier.len) +
               gw_wire_int_size(OF_TIMESTAMP, (uint64_t)m->timestamp_us) +
               gw_wire_bytes_size(OF_VALUE, m->value.len);
    if (s->field == DELETE_COLUMN) {
        s->range = time_range_size(m);
        n += gw_wire_bytes_size(OF_QUALIFIER, m->qualifier.len);
        return s->range == 0 ? n : n + gw_wire_bytes_size(OF_TIME_RANGE, s->range);
    }
    s->value = s->is_int ? gw_wire_int_size(VALUE_INT, s->input)
                         : gw_wire_bytes_size(VALUE_RAW, m->value.len);
    return n + gw_wire_bytes_size(OF_QUALIFIER, gw_wire_bytes_size(VALUE_RAW, m->qualifier.len)) +
           gw_wire_bytes_size(OF_TIMESTAMP, raw_time_size(m)) +
           gw_wire_bytes_size(OF_VALUE, s->value);
}

static size_t info_size(const struct shape *s)
{
    size_t n = gw_wire_int_size(INFO_SIZE, s->m->value_size);
    if (s->m->value_offset != 0)
        n += gw_wire_int_size(INFO_OFFSET, s->m->value_offset);
    return s->is_last_piece ? n + gw_wire_int_size(INFO_LAST, 1) : n;
}

static struct shape shape_of(const struct sto_schema *schema, const struct sto_change_mutation *m)
{
    struct shape s = {.m = m, .field = field_of(m->kind), .is_int = input_is_int(schema, m)};
    if (s.is_int)
        s.input = sto_get_be64(m->value.ptr);
    s.is_piece = m->value.len != m->value_size;
    s.is_last_piece = m->value_offset + m->value.len == m->value_size;
    s.body = body_size(&s);
    s.mutation = gw_wire_bytes_size(s.field, s.body);
    s.chunk = gw_wire_bytes_size(CHUNK_MUTATION, s.mutation);
    if (s.is_piece) {
        s.info = info_size(&s);
        s.chunk += gw_wire_bytes_size(CHUNK_INFO, s.info);
    }
    return s;
}

static uint8_t *write_info(uint8_t *to, const struct shape *s)
{
    to = gw_wire_head(to, CHUNK_INFO, s->info);
    to = gw_wire_int(to, INFO_SIZE, s->m->value_size);
    if (s->m->value_offset != 0)
        to = gw_wire_int(to, INFO_OFFSET, s->m->value_offset);
    return s->is_last_piece ? gw_wire_int(to, INFO_LAST, 1) : to;
}

static uint8_t *write_time_range(uint8_t *to, const struct shape *s)
{
    if (s->range == 0)
        return to;
    to = gw_wire_head(to, OF_TIME_RANGE, s->range);
    if (s->m->start_us != 0)
        to = gw_wire_int(to, RANGE_START, (uint64_t)s->m->start_us);
    return s->m->end_us != 0 ? gw_wire_int(to, RANGE_END, (uint64_t)s->m->end_us) : to;
}

/* Writes qualifier, timestamp and input as Values. */
static uint8_t *write_input(uint8_t *to, const struct shape *s)
{
    const struct sto_change_mutation *m = s->m;
    to = gw_wire_head(to, OF_QUALIFIER, gw_wire_bytes_size(VALUE_RAW, m->qualifier.len));
    to = gw_wire_bytes(to, VALUE_RAW, m->qualifier);
    to = gw_wire_head(to, OF_TIMESTAMP, raw_time_size(m));
    to = gw_wire_int(to, VALUE_RAW_TIMESTAMP, (uint64_t)m->timestamp_us);
    to = gw_wire_head(to, OF_VALUE, s->value);
    return s->is_int ? gw_wire_int(to, VALUE_INT, s->input)
                     : gw_wire_bytes(to, VALUE_RAW, m->value);
}

static uint8_t *write_body(uint8_t *to, const struct shape *s)
{
    const struct sto_change_mutation *m = s->m;
    to = gw_wire_bytes(to, OF_FAMILY, m->family);
    switch (s->field) {
    case SET_CELL:
        to = gw_wire_bytes(to, OF_QUALIFIER, m->qualifier);
        to = gw_wire_int(to, OF_TIMESTAMP, (uint64_t)m->timestamp_us);
        return gw_wire_bytes(to, OF_VALUE, m->value);
    case DELETE_COLUMN:
        return write_time_range(gw_wire_bytes(to, OF_QUALIFIER, m->qualifier), s);
    case DELETE_FAMILY:
        return to;
    default:
        return write_input(to, s);
    }
}

static void put_mutation(struct gw_change_writer *w, const struct sto_change_mutation *m)
{
    struct shape s = shape_of(w->schema, m);
    size_t bytes = gw_wire_bytes_size(CHANGE_CHUNKS, s.chunk);
    if (base_buf_reserve(&w->change, bytes) != ERR_OK)
        return; /* the error latches */
    uint8_t *to = gw_wire_head(base_buf_end(&w->change), CHANGE_CHUNKS, s.chunk);
    if (s.is_piece)
        to = write_info(to, &s);
    to = gw_wire_head(to, CHUNK_MUTATION, s.mutation);
    to = write_body(gw_wire_head(to, s.field, s.body), &s);
    INVARIANT(to == base_buf_end(&w->change) + bytes);
    w->change.len += bytes;
}

/* --- changes -----------------------------------------------------------------------------------
 */

static void put_time(struct buf *out, uint32_t field, int64_t us)
{
    uint64_t seconds = (uint64_t)us / US_PER_S;
    uint64_t nanos = (uint64_t)us % US_PER_S * 1000;
    uint8_t bytes[2 * (1 + GW_WIRE_VARINT_MAX)];
    uint8_t *end = gw_wire_int(bytes, TIME_SECONDS, seconds);
    end = gw_wire_int(end, TIME_NANOS, nanos);
    gw_wire_put_bytes(out, field, base_slice(bytes, (size_t)(end - bytes)));
}

static void put_beginning(struct gw_change_writer *w, int64_t position,
                          const struct sto_change_part *part)
{
    if (!part->is_first) {
        gw_wire_put_int(&w->change, CHANGE_TYPE, TYPE_CONTINUATION);
        return;
    }
    bool is_user = part->type == STO_CHANGE_USER;
    gw_wire_put_int(&w->change, CHANGE_TYPE, is_user ? TYPE_USER : TYPE_GARBAGE);
    if (is_user)
        gw_wire_put_bytes(&w->change, CHANGE_CLUSTER, SLICE_LIT(GW_CLUSTER));
    gw_wire_put_bytes(&w->change, CHANGE_ROW_KEY, part->row_key);
    put_time(&w->change, CHANGE_COMMIT, position); /* unique: no two need a tiebreaker */
}

static void put_end(struct gw_change_writer *w, int64_t position)
{
    struct gw_change_place place = {w->since_us, position};
    base_buf_truncate(&w->token, 0);
    enum err e = gw_change_token_make(w->id, &place, &w->token);
    if (e != ERR_OK)
        w->error = e;
    gw_wire_put_int(&w->change, CHANGE_DONE, 1);
    gw_wire_put_bytes(&w->change, CHANGE_TOKEN, base_buf_slice(&w->token));
    put_time(&w->change, CHANGE_WATERMARK, position);
}

static void put_message(struct gw_change_writer *w)
{
    size_t at = gw_frame_begin(w->out);
    gw_wire_put_bytes(w->out, RESPONSE_DATA_CHANGE, base_buf_slice(&w->change));
    if (w->out->error == ERR_OK)
        gw_frame_end(w->out, at);
}

static void write_part(struct sto_change_sink *sink, int64_t position,
                       const struct sto_change_part *part)
{
    struct gw_change_writer *w = (struct gw_change_writer *)sink;
    struct slice body = part->body;
    struct sto_change_mutation m;
    base_buf_truncate(&w->change, 0);
    put_beginning(w, position, part);
    while (body.len > 0 && w->error == ERR_OK) {
        w->error = sto_change_next(&body, &m);
        if (w->error == ERR_OK)
            put_mutation(w, &m);
    }
    if (part->is_last)
        put_end(w, position);
    if (w->change.error != ERR_OK)
        w->error = w->change.error;
    if (w->error == ERR_OK)
        put_message(w);
}

static bool is_full(struct sto_change_sink *sink)
{
    const struct gw_change_writer *w = (const struct gw_change_writer *)sink;
    return w->out->len >= LIM_SLICE_BYTES || w->error != ERR_OK || w->out->error != ERR_OK;
}

void gw_change_writer_init(struct gw_change_writer *w, struct buf *out)
{
    w->sink = (struct sto_change_sink){write_part, is_full};
    w->out = out;
    w->error = ERR_OK;
    base_buf_init(&w->change, CHANGE_MAX);
    base_buf_init(&w->token, GW_CHANGE_TOKEN_MAX);
}

void gw_change_writer_fini(struct gw_change_writer *w)
{
    base_buf_fini(&w->change);
    base_buf_fini(&w->token);
}

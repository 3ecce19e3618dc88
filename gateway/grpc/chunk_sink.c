/*
 * gateway/grpc/chunk_sink.c - converts rows from the engine into ReadRowsResponse messages.
 *
 * Mechanism: chunks are fields of the response, so a message grows by appending; only its frame's
 * length is filled in at its end. The size of a chunk is computed first, then it is written once,
 * in its place.
 *
 * A chunk may not say commit_row before it is known that no cell follows, and a chunk that contains
 * only commit_row is an extra cell for clients. Therefore the newest chunk of a row is always at
 * the end of the output, and is lengthened by commit_row when the row ends; its length varint is
 * one byte too short for that at 126, 16382 and 2097150 bytes, and then the chunk moves.
 *
 * The Go client refuses a message that ends inside a row, the Python client one that starts inside
 * a row. So a row that is incomplete when its slice ends is moved from the output to a buffer of
 * its own ("carried"), which becomes the output when the row is complete: at most the part from its
 * first slice is copied, and only once.
 *
 * Invariants:
 *   1. in_row implies that the row is the end of the output after row_start, or, carried, `row`.
 *   2. carried implies that the output is empty while a slice runs.
 *   3. is_open implies that the message has at least one chunk, or is about to get it.
 *   4. row.error is ERR_TOO_BIG exactly when the row that row_key names is too large, wherever it
 *      is: no row follows.
 */
#include "gateway/grpc/chunk_sink.h"

#include "base/limits.h"
#include "gateway/grpc/rpc.h"
#include "gateway/grpc/wire_write.h"

#include "base/banned.h"

#define RESPONSE_CHUNK 1

/* CellChunk */
enum {
    CHUNK_ROW_KEY = 1,
    CHUNK_FAMILY = 2,
    CHUNK_QUALIFIER = 3,
    CHUNK_TIMESTAMP = 4,
    CHUNK_LABEL = 5,
    CHUNK_VALUE = 6,
    CHUNK_VALUE_SIZE = 7,
    CHUNK_COMMIT_ROW = 9,
};

#define WRAPPED 1 /* the field of StringValue and BytesValue */

#define COMMIT_BYTES 2 /* tag and true */
/* Upper bound of a chunk without its value: all other fields with tags and lengths, and the frame's
 * head. */
#define CHUNK_OVERHEAD (LIM_ROW_KEY + LIM_FAMILY_NAME + LIM_QUALIFIER + LIM_LABEL + 256)
#define VALUE_MAX      (GW_RPC_REPLY_BYTES - CHUNK_OVERHEAD)
#define PIECE_OVERHEAD 64 /* of a chunk that continues a value */
/* A full slice and the cell that filled it, when cells are of the usual size. */
#define SLICE_ROOM (LIM_SLICE_BYTES + LIM_SLICE_BYTES / 4)

/* One chunk about to be written. */
struct chunk {
    const struct sto_cell *cell;
    struct slice value; /* the part of the value in this chunk */
    bool is_first;      /* of its cell */
    bool is_last;       /* of its cell */
    bool new_family;
    bool new_qualifier;
};

static struct gw_chunk_sink *of(struct sto_row_sink *sink)
{
    return (struct gw_chunk_sink *)(void *)sink;
}

/* --- messages ----------------------------------------------------------------------------------
 */

static void message_end(struct gw_chunk_sink *s)
{
    if (s->is_open && s->out->error == ERR_OK)
        gw_frame_end(s->out, s->message);
    s->is_open = false;
}

/* Returns the buffer that the current row is written to. */
static struct buf *target(struct gw_chunk_sink *s)
{
    return s->carried ? &s->row : s->out;
}

static void go_back(struct gw_chunk_sink *s, const struct gw_chunk_mark *to)
{
    base_buf_truncate(s->out, to->len);
    s->message = to->message;
    s->is_open = to->is_open;
}

/* --- chunks ------------------------------------------------------------------------------------
 */

static size_t wrapped_size(uint32_t field, size_t len)
{
    return gw_wire_bytes_size(field, len == 0 ? 0 : gw_wire_bytes_size(WRAPPED, len));
}

/* Writes the field even if its content is empty. */
static uint8_t *put_wrapped(uint8_t *to, uint32_t field, struct slice bytes)
{
    if (bytes.len == 0)
        return gw_wire_head(to, field, 0);
    to = gw_wire_head(to, field, gw_wire_bytes_size(WRAPPED, bytes.len));
    return gw_wire_bytes(to, WRAPPED, bytes);
}

static size_t chunk_size(const struct gw_chunk_sink *s, const struct chunk *c)
{
    const struct sto_cell *cell = c->cell;
    size_t size = 0;
    if (s->key_due)
        size += gw_wire_bytes_size(CHUNK_ROW_KEY, s->row_key.len);
    if (c->new_family)
        size += wrapped_size(CHUNK_FAMILY, cell->family->name_len);
    if (c->new_qualifier)
        size += wrapped_size(CHUNK_QUALIFIER, cell->qualifier.len);
    if (c->is_first && cell->timestamp_us != 0)
        size += gw_wire_int_size(CHUNK_TIMESTAMP, (uint64_t)cell->timestamp_us);
    if (c->is_first && cell->label.len != 0)
        size += gw_wire_bytes_size(CHUNK_LABEL, cell->label.len);
    if (c->value.len != 0)
        size += gw_wire_bytes_size(CHUNK_VALUE, c->value.len);
    if (!c->is_last)
        size += gw_wire_int_size(CHUNK_VALUE_SIZE, cell->value.len);
    return size;
}

static uint8_t *put_chunk_fields(const struct gw_chunk_sink *s, const struct chunk *c, uint8_t *to)
{
    const struct sto_cell *cell = c->cell;
    if (s->key_due)
        to = gw_wire_bytes(to, CHUNK_ROW_KEY, base_buf_slice(&s->row_key));
    if (c->new_family)
        to = put_wrapped(to, CHUNK_FAMILY, base_slice(cell->family->name, cell->family->name_len));
    if (c->new_qualifier)
        to = put_wrapped(to, CHUNK_QUALIFIER, cell->qualifier);
    if (c->is_first && cell->timestamp_us != 0)
        to = gw_wire_int(to, CHUNK_TIMESTAMP, (uint64_t)cell->timestamp_us);
    if (c->is_first && cell->label.len != 0)
        to = gw_wire_bytes(to, CHUNK_LABEL, cell->label);
    if (c->value.len != 0)
        to = gw_wire_bytes(to, CHUNK_VALUE, c->value);
    if (!c->is_last)
        to = gw_wire_int(to, CHUNK_VALUE_SIZE, cell->value.len);
    return to;
}

/* Returns where the current row starts in the output, after the head of its message. */
static size_t row_head(const struct gw_chunk_sink *s)
{
    return s->row_start.is_open ? s->row_start.len : s->message + GW_FRAME_HEAD;
}

/* Reserves memory for a chunk of that size; returns where to write it, or NULL if there is none. */
static uint8_t *chunk_begin(struct gw_chunk_sink *s, size_t size)
{
    struct buf *out = target(s);
    size_t whole = gw_wire_bytes_size(RESPONSE_CHUNK, size + COMMIT_BYTES);
    size_t before = s->carried ? 0 : row_head(s) - GW_FRAME_HEAD;
    if (s->row.error == ERR_OK && out->len - before + whole > GW_CHUNK_ROW_BYTES)
        s->row.error = ERR_TOO_BIG; /* possible in one slice: a filter's copies of a cell */
    if (gw_chunk_sink_error(s) != ERR_OK || base_buf_reserve(out, whole) != ERR_OK)
        return NULL;
    s->chunk = out->len;
    uint8_t *to = gw_wire_head(base_buf_end(out), RESPONSE_CHUNK, size);
    s->chunk_body = (size_t)(to - out->ptr);
    return to;
}

static void put_chunk(struct gw_chunk_sink *s, const struct chunk *c)
{
    uint8_t *to = chunk_begin(s, chunk_size(s, c));
    if (to == NULL)
        return;
    struct buf *out = target(s);
    out->len = (size_t)(put_chunk_fields(s, c, to) - out->ptr);
    s->key_due = false;
}

/* Adds commit_row to the newest chunk; chunk_begin reserved space for it. */
static void commit(struct gw_chunk_sink *s)
{
    struct buf *out = target(s);
    size_t len = out->len - s->chunk_body + COMMIT_BYTES;
    if (base_buf_reserve(out, COMMIT_BYTES + 1) != ERR_OK)
        return;
    uint8_t *body = out->ptr + s->chunk + gw_wire_bytes_size(RESPONSE_CHUNK, len) - len;
    if (body != out->ptr + s->chunk_body)
        memmove(body, out->ptr + s->chunk_body, len - COMMIT_BYTES);
    (void)gw_wire_head(out->ptr + s->chunk, RESPONSE_CHUNK, len); /* ends at body */
    uint8_t *end = gw_wire_int(body + len - COMMIT_BYTES, CHUNK_COMMIT_ROW, true);
    out->len = (size_t)(end - out->ptr);
}

/* --- called by the engine ----------------------------------------------------------------------
 */

static void row_begin(struct sto_row_sink *sink, struct slice row_key)
{
    struct gw_chunk_sink *s = of(sink);
    if (s->is_open && s->out->len - s->message >= GW_CHUNK_MESSAGE_BYTES)
        message_end(s);
    s->row_start = (struct gw_chunk_mark){s->out->len, s->message, s->is_open};
    if (!s->is_open)
        s->message = gw_frame_begin(s->out);
    s->is_open = true;
    s->in_row = true;
    s->family = 0;
    s->key_due = true;
    base_buf_truncate(&s->row_key, 0);
    (void)base_buf_append(&s->row_key, row_key); /* latches */
}

/* Sets whether the column changes with this cell, and stores the new column. */
static void note_column(struct gw_chunk_sink *s, struct chunk *c)
{
    const struct sto_cell *cell = c->cell;
    c->new_family = s->family != cell->family->number;
    c->new_qualifier =
        c->new_family || !base_slice_equal(base_buf_slice(&s->qualifier), cell->qualifier);
    if (!c->new_qualifier)
        return;
    s->family = cell->family->number;
    base_buf_truncate(&s->qualifier, 0);
    (void)base_buf_append(&s->qualifier, cell->qualifier); /* latches */
}

static void put_large_cell(struct gw_chunk_sink *s, struct chunk *c)
{
    struct slice rest = c->cell->value;
    size_t pieces = rest.len / VALUE_MAX;
    if (base_buf_reserve(target(s), rest.len + CHUNK_OVERHEAD + pieces * PIECE_OVERHEAD) != ERR_OK)
        return;
    while (rest.len > 0) {
        size_t len = rest.len < VALUE_MAX ? rest.len : VALUE_MAX;
        c->value = base_slice(rest.ptr, len);
        rest = base_slice_skip(rest, len);
        c->is_last = rest.len == 0;
        put_chunk(s, c);
        c->is_first = c->new_family = c->new_qualifier = false;
    }
}

static void take_cell(struct sto_row_sink *sink, const struct sto_cell *cell)
{
    struct gw_chunk_sink *s = of(sink);
    struct chunk c = {.cell = cell, .value = cell->value, .is_first = true, .is_last = true};
    note_column(s, &c);
    if (cell->value.len > VALUE_MAX)
        put_large_cell(s, &c);
    else
        put_chunk(s, &c);
}

/* Makes the completed carried row the output, which was empty. */
static void deliver_carried(struct gw_chunk_sink *s)
{
    INVARIANT(s->out->len == 0 && !s->is_open);
    base_buf_fini(s->out);
    base_buf_take(s->out, &s->row);
    s->out->max = s->out_max;
    s->carried = false;
    s->message = 0;
    s->is_open = true;
}

static void row_end(struct sto_row_sink *sink)
{
    struct gw_chunk_sink *s = of(sink);
    INVARIANT(!s->key_due || gw_chunk_sink_error(s) != ERR_OK);
    s->in_row = false;
    s->rows++;
    if (gw_chunk_sink_error(s) != ERR_OK)
        return;
    commit(s);
    if (s->carried)
        deliver_carried(s);
}

static void row_undo(struct sto_row_sink *sink)
{
    struct gw_chunk_sink *s = of(sink);
    s->in_row = false;
    if (!s->carried)
        go_back(s, &s->row_start);
    base_buf_truncate(&s->row, 0); /* also clears ERR_TOO_BIG */
    s->carried = false;
}

static bool is_full(struct sto_row_sink *sink)
{
    const struct gw_chunk_sink *s = of(sink);
    size_t brought = s->carried ? s->row.len - s->row_slice : s->out->len;
    return brought >= LIM_SLICE_BYTES || gw_chunk_sink_error(s) != ERR_OK;
}

/* --- slices ------------------------------------------------------------------------------------
 */

/* Moves the current row from the output to a buffer of its own. */
static void carry_row(struct gw_chunk_sink *s)
{
    size_t head = row_head(s);
    size_t moved = head - GW_FRAME_HEAD; /* the change of its positions */
    if (s->row_start.len == 0) {
        base_buf_fini(&s->row);
        base_buf_take(&s->row, s->out);
        s->row.max = GW_CHUNK_ROW_BYTES;
    } else {
        (void)gw_frame_begin(&s->row); /* this and the next latch */
        (void)base_buf_append(&s->row, base_slice_skip(base_buf_slice(s->out), head));
    }
    go_back(s, &s->row_start);
    s->chunk -= moved;
    s->chunk_body -= moved;
    s->carried = true;
}

void gw_chunk_sink_end_slice(struct gw_chunk_sink *s)
{
    if (s->in_row && !s->carried && gw_chunk_sink_error(s) == ERR_OK)
        carry_row(s);
    message_end(s);
    s->was_full = s->out->len >= LIM_SLICE_BYTES;
}

void gw_chunk_sink_next_slice(struct gw_chunk_sink *s)
{
    INVARIANT(s->out->len == 0 && !s->is_open);
    s->row_slice = s->row.len;
    if (s->was_full && !s->carried)
        (void)base_buf_reserve(s->out, SLICE_ROOM); /* latches */
}

void gw_chunk_sink_put_message(struct gw_chunk_sink *s, enum gw_read_rows_field field,
                               struct slice bytes)
{
    INVARIANT(!s->in_row && !s->is_open);
    size_t message = gw_frame_begin(s->out);
    gw_wire_put_bytes(s->out, field, bytes);
    if (s->out->error == ERR_OK)
        gw_frame_end(s->out, message);
}

/* --- life --------------------------------------------------------------------------------------
 */

void gw_chunk_sink_init(struct gw_chunk_sink *s, struct buf *out)
{
    *s = (struct gw_chunk_sink){.sink = {row_begin, take_cell, row_end, row_undo, is_full},
                                .out = out,
                                .out_max = out->max};
    base_buf_init(&s->row_key, LIM_ROW_KEY);
    base_buf_init(&s->qualifier, LIM_QUALIFIER);
    base_buf_init(&s->row, GW_CHUNK_ROW_BYTES);
    base_buf_charge(&s->row, out->share);
}

void gw_chunk_sink_fini(struct gw_chunk_sink *s)
{
    base_buf_fini(&s->row_key);
    base_buf_fini(&s->qualifier);
    base_buf_fini(&s->row);
}

enum err gw_chunk_sink_error(const struct gw_chunk_sink *s)
{
    if (s->row_key.error != ERR_OK)
        return s->row_key.error;
    if (s->qualifier.error != ERR_OK)
        return s->qualifier.error;
    return s->row.error != ERR_OK ? s->row.error : s->out->error;
}

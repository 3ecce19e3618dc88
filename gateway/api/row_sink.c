/*
 * gateway/api/row_sink.c - converts rows from the engine into JSON in a buf.
 *
 * Mechanism: a small state machine over the open brackets of the output.
 *
 *     row begun:      {"key":K,"cells":{
 *     family opens:   ,"F":{          when the family number changes
 *     column opens:   ,"Q":[          when the qualifier changes
 *     cell:           ,{"value":V,"timestamp":"T","label":"L"}
 *     row ended:      ] } ,"$binary":[..] }}
 *
 * In the flat form a column is ,"Q":V and its older cells are skipped.
 *
 * Cells of columns that cannot be member names are collected in `binary` and follow at the end of
 * the row. The usual cell, plain text in a plain column, needs one reserve and a few memcpy.
 *
 * Invariants:
 *   1. column_open implies family != 0; qualifier holds the open column's name, or in the flat
 *      form that of the last cell's column, also of one in `binary`.
 *   2. row_start is valid only while begun_here: the row's first byte is still in `out`.
 */
#include "gateway/api/row_sink.h"

#include "base/limits.h"
#include "base/text.h"
#include "gateway/api/json_out.h"
#include "gateway/cell_fields.h"

#include "base/banned.h"

/* Upper bound of the literal parts around one cell, the timestamp's sign and digits, and the
 * brackets that close earlier levels. */
#define CELL_OVERHEAD (128 + LIM_LABEL)
#define BINARY_MAX    (2 * LIM_ROW_BYTES)

static struct gw_row_sink *of(struct sto_row_sink *sink)
{
    return (struct gw_row_sink *)(void *)sink;
}

static uint8_t *put(uint8_t *to, const void *bytes, size_t len)
{
    if (len != 0)
        memcpy(to, bytes, len);
    return to + len;
}

#define PUT(to, literal) put((to), (literal), sizeof(literal) - 1)

/* --- rows --------------------------------------------------------------------------------------
 */

static void row_begin(struct sto_row_sink *sink, struct slice row_key)
{
    struct gw_row_sink *s = of(sink);
    if (s->row_cap != 0 && s->rows == s->row_cap) {
        s->over_cap = true;
        return;
    }
    s->in_row = true;
    s->begun_here = true;
    s->row_start = s->out->len;
    s->family = 0;
    s->any_family = false;
    s->column_open = false;
    s->column_of = 0;
    if (s->binary.len != 0)
        base_buf_truncate(&s->binary, 0);
    if (s->keep_last_key) {
        base_buf_truncate(&s->last_key, 0);
        (void)base_buf_append(&s->last_key, row_key); /* latches; checked by row_stream */
    }
    bool comma = s->framing == GW_ROWS_LIST && s->rows > 0;
    (void)base_buf_append_text(s->out, comma ? ",{" : "{"); /* all of these latch */
    gw_json_put_bytes(s->out, "key", row_key);
    (void)base_buf_append(s->out, SLICE_LIT(",\"cells\":{"));
}

/* Writes the closing brackets of the open column and family. */
static uint8_t *close_open(struct gw_row_sink *s, uint8_t *to)
{
    if (s->column_open && !s->form.flat)
        *to++ = ']';
    if (s->family != 0)
        *to++ = '}';
    s->column_open = false;
    s->family = 0;
    return to;
}

static void row_end(struct sto_row_sink *sink)
{
    struct gw_row_sink *s = of(sink);
    if (s->over_cap)
        return;
    s->in_row = false;
    s->begun_here = false;
    s->rows++;
    if (base_buf_reserve(s->out, CELL_OVERHEAD + s->binary.len) != ERR_OK)
        return;
    uint8_t *to = close_open(s, base_buf_end(s->out));
    if (s->binary.len != 0) {
        if (s->any_family)
            *to++ = ',';
        to = PUT(to, "\"$binary\":[");
        to = put(to, s->binary.ptr, s->binary.len);
        *to++ = ']';
    }
    to = PUT(to, "}}");
    if (s->framing == GW_ROWS_LINES)
        *to++ = '\n';
    s->out->len = (size_t)(to - s->out->ptr);
}

static void row_undo(struct sto_row_sink *sink)
{
    struct gw_row_sink *s = of(sink);
    if (s->over_cap) {
        s->over_cap = false;
        return;
    }
    if (!s->begun_here) {
        s->broken = true;
        return;
    }
    base_buf_truncate(s->out, s->row_start);
    s->in_row = false;
    s->begun_here = false;
}

static bool is_full(struct sto_row_sink *sink)
{
    const struct gw_row_sink *s = of(sink);
    return s->over_cap || s->out->len + s->binary.len >= LIM_SLICE_BYTES ||
           s->out->error != ERR_OK || s->binary.error != ERR_OK;
}

/* --- cells -------------------------------------------------------------------------------------
 */

static size_t timestamp_text(uint8_t *to, int64_t timestamp_us)
{
    size_t sign = 0;
    uint64_t magnitude = (uint64_t)timestamp_us;
    if (timestamp_us < 0) {
        to[0] = '-';
        sign = 1;
        magnitude = 0 - magnitude;
    }
    return sign + gw_json_digits(to + sign, magnitude);
}

/* Writes ,"timestamp":"T","label":"L"} with the label only when there is one: [a-z0-9-], no
 * escapes. */
static uint8_t *put_rest(uint8_t *to, const struct sto_cell *cell)
{
    to = PUT(to, ",\"timestamp\":\"");
    to += timestamp_text(to, cell->timestamp_us);
    if (cell->label.len != 0) {
        to = PUT(to, "\",\"label\":\"");
        to = put(to, cell->label.ptr, cell->label.len);
    }
    return PUT(to, "\"}");
}

static void append_rest(struct buf *out, const struct sto_cell *cell)
{
    uint8_t text[CELL_OVERHEAD];
    uint8_t *end = put_rest(text, cell);
    (void)base_buf_append(out, base_slice(text, (size_t)(end - text))); /* latches */
}

/* Forms in which the bytes of a cell are shown. */
enum reading { READ_TEXT, READ_BYTES, READ_NUMBER, READ_ESTIMATE };

/* Returns how a cell is shown. A filter may have replaced a state or number by other bytes. */
static enum reading reading_of(const struct gw_row_sink *s, const struct sto_cell *cell)
{
    const struct sto_family *family = cell->family;
    if (s->form.base64)
        return READ_BYTES;
    if (family->value_type == STO_VALUE_INT64)
        return cell->value.len == STO_VALUE_INT64_BYTES ? READ_NUMBER : READ_BYTES;
    if (family->aggregate == STO_AGGREGATE_NONE ||
        !sto_aggregate_is_state(family->aggregate, cell->value))
        return READ_TEXT;
    return family->aggregate == STO_AGGREGATE_HLL ? READ_ESTIMATE : READ_NUMBER;
}

static void put_reading(struct gw_json *j, enum reading reading, struct slice value)
{
    uint64_t estimate = 0;
    if (reading == READ_NUMBER)
        gw_json_i64(j, gw_integer_of_bytes(value));
    else if (sto_aggregate_estimate(value, &estimate) == ERR_OK) /* it is a state */
        gw_json_u64(j, estimate);
}

static void put_base64(struct gw_json *j, struct slice value)
{
    gw_json_name(j, "value_b64");
    (void)base_buf_append_byte(j->out, '"');
    (void)base_base64_encode(value, j->out);
    (void)base_buf_append_byte(j->out, '"');
}

/* Appends "value", or "number" or "estimate" with the bytes, which can be written elsewhere. */
static void put_value(const struct gw_row_sink *s, struct buf *out, const struct sto_cell *cell)
{
    struct gw_json j = gw_json_start(out);
    enum reading reading = reading_of(s, cell);
    if (reading == READ_TEXT) {
        gw_json_put_bytes(out, "value", cell->value);
        return;
    }
    if (reading != READ_BYTES) {
        gw_json_name(&j, reading == READ_NUMBER ? "number" : "estimate");
        put_reading(&j, reading, cell->value);
    }
    put_base64(&j, cell->value);
}

/* Appends "text", 5 or {"value_b64":".."}. */
static void put_flat(struct gw_row_sink *s, const struct sto_cell *cell)
{
    struct gw_json j = gw_json_start(s->out);
    enum reading reading = reading_of(s, cell);
    if (reading == READ_TEXT && gw_text_classify(cell->value) != GW_TEXT_BINARY) {
        gw_json_put_text(s->out, cell->value);
    } else if (reading == READ_NUMBER || reading == READ_ESTIMATE) {
        put_reading(&j, reading, cell->value);
    } else {
        gw_json_open(&j, '{');
        put_base64(&j, cell->value);
        gw_json_close(&j, '}');
    }
}

/* Appends a cell whose qualifier cannot be a member name; everything here latches in s->binary. */
static void binary_cell(struct gw_row_sink *s, const struct sto_cell *cell)
{
    struct buf *out = &s->binary;
    struct slice name = base_slice(cell->family->name, cell->family->name_len);
    (void)base_buf_append_text(out, out->len == 0 ? "{\"family\":" : ",{\"family\":");
    gw_json_put_text(out, name);
    (void)base_buf_append(out, SLICE_LIT(",\"qualifier_b64\":\""));
    (void)base_base64_encode(cell->qualifier, out);
    (void)base_buf_append(out, SLICE_LIT("\","));
    put_value(s, out, cell);
    if (s->form.flat)
        (void)base_buf_append_byte(out, '}');
    else
        append_rest(out, cell);
}

static bool same_column(const struct gw_row_sink *s, const struct sto_cell *cell)
{
    return s->column_open && s->family == cell->family->number &&
           base_slice_equal(base_buf_slice(&s->qualifier), cell->qualifier);
}

/* Writes everything from the end of the previous cell up to the opening bracket of this one's
 * family. */
static uint8_t *put_family(struct gw_row_sink *s, uint8_t *to, const struct sto_family *family)
{
    if (s->family == family->number) {
        if (s->column_open && !s->form.flat)
            *to++ = ']';
        if (s->column_open)
            *to++ = ',';
        s->column_open = false;
        return to;
    }
    to = close_open(s, to);
    if (s->any_family)
        *to++ = ',';
    *to++ = '"';
    to = put(to, family->name, family->name_len); /* [-_.a-zA-Z0-9]: needs no escape */
    to = PUT(to, "\":{");
    s->family = family->number;
    s->any_family = true;
    return to;
}

static void remember_column(struct gw_row_sink *s, struct slice qualifier)
{
    base_buf_truncate(&s->qualifier, 0);
    if (base_buf_append(&s->qualifier, qualifier) != ERR_OK)
        s->out->error = s->qualifier.error;
}

/* Returns whether a newer cell of the column was shown (flat form), and stores the column. */
static bool column_is_shown(struct gw_row_sink *s, const struct sto_cell *cell)
{
    if (s->column_of == cell->family->number &&
        base_slice_equal(base_buf_slice(&s->qualifier), cell->qualifier))
        return true;
    s->column_of = cell->family->number;
    remember_column(s, cell->qualifier);
    return false;
}

/* Writes a cell whose column and value are plain: one reserve for all of it. */
static void plain_cell(struct gw_row_sink *s, const struct sto_cell *cell, bool same)
{
    size_t need = CELL_OVERHEAD + cell->family->name_len + cell->qualifier.len + cell->value.len;
    if (base_buf_reserve(s->out, need) != ERR_OK)
        return;
    uint8_t *to = base_buf_end(s->out);
    if (same) {
        *to++ = ',';
    } else {
        to = put_family(s, to, cell->family);
        *to++ = '"';
        to = put(to, cell->qualifier.ptr, cell->qualifier.len);
        to = PUT(to, "\":[");
        remember_column(s, cell->qualifier);
        s->column_open = true;
    }
    to = PUT(to, "{\"value\":\"");
    to = put(to, cell->value.ptr, cell->value.len);
    *to++ = '"';
    to = put_rest(to, cell);
    s->out->len = (size_t)(to - s->out->ptr);
}

/* Writes a cell of any column that can be a member name, with any value; every append latches. */
static void text_cell(struct gw_row_sink *s, const struct sto_cell *cell, bool same)
{
    struct buf *out = s->out;
    if (same) {
        (void)base_buf_append_byte(out, ',');
    } else {
        if (base_buf_reserve(out, CELL_OVERHEAD + cell->family->name_len) != ERR_OK)
            return;
        uint8_t *to = put_family(s, base_buf_end(out), cell->family);
        out->len = (size_t)(to - out->ptr);
        gw_json_put_text(out, cell->qualifier);
        (void)base_buf_append_text(out, s->form.flat ? ":" : ":[");
        remember_column(s, cell->qualifier);
        s->column_open = true;
    }
    if (s->form.flat) {
        put_flat(s, cell);
        return;
    }
    (void)base_buf_append_byte(out, '{');
    put_value(s, out, cell);
    append_rest(out, cell);
}

static bool can_be_name(struct slice qualifier, enum gw_text_class class)
{
    if (class == GW_TEXT_PLAIN)
        return true;
    return class == GW_TEXT_ESCAPE && memchr(qualifier.ptr, 0, qualifier.len) == NULL;
}

static void take_cell(struct sto_row_sink *sink, const struct sto_cell *cell)
{
    struct gw_row_sink *s = of(sink);
    if (s->over_cap || (s->form.flat && column_is_shown(s, cell)))
        return;
    bool same = !s->form.flat && same_column(s, cell);
    enum gw_text_class column = same ? GW_TEXT_ESCAPE : gw_text_classify(cell->qualifier);
    if (!same && !can_be_name(cell->qualifier, column)) {
        binary_cell(s, cell);
        return;
    }
    bool is_plain =
        (same || column == GW_TEXT_PLAIN) && !s->form.flat && reading_of(s, cell) == READ_TEXT;
    if (is_plain && gw_text_classify(cell->value) == GW_TEXT_PLAIN)
        plain_cell(s, cell, same);
    else
        text_cell(s, cell, same);
}

void gw_row_sink_init(struct gw_row_sink *s, struct buf *out, enum gw_row_framing framing)
{
    *s = (struct gw_row_sink){
        .sink = {row_begin, take_cell, row_end, row_undo, is_full},
        .out = out,
        .framing = framing,
    };
    base_buf_init(&s->last_key, LIM_ROW_KEY);
    base_buf_init(&s->qualifier, LIM_QUALIFIER);
    base_buf_init(&s->binary, BINARY_MAX);
    base_buf_charge(&s->binary, out->share);
}

void gw_row_sink_next_slice(struct gw_row_sink *s)
{
    s->begun_here = false;
    s->over_cap = false;
}

void gw_row_sink_fini(struct gw_row_sink *s)
{
    base_buf_fini(&s->last_key);
    base_buf_fini(&s->qualifier);
    base_buf_fini(&s->binary);
}

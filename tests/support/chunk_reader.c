/*
 * tests/support/chunk_reader.c - a strict parser of the messages of ReadRows.
 *
 *   state           accepted input
 *   between rows    a chunk with a row key after the last one, a family and a qualifier
 *   in a row        a chunk of a new cell; reset_row alone; not the end of a message
 *   in a cell       a chunk with a value and no new parts; reset_row alone
 */
#include "tests/support/chunk_reader.h"

#include <check.h>

#include "base/banned.h"

#define FRAME_HEAD 5

typedef Bt__ReadRowsResponse__CellChunk cell_chunk;

/* --- stored rows -------------------------------------------------------------------------------
 */

static void put_number(struct buf *rows, uint64_t number)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
    ck_assert_int_eq(base_buf_append(rows, base_slice(bytes, sizeof bytes)), ERR_OK);
}

static void put_bytes(struct buf *rows, struct slice bytes)
{
    put_number(rows, bytes.len);
    ck_assert_int_eq(base_buf_append(rows, bytes), ERR_OK);
}

void chunk_rows_begin(struct buf *rows, struct slice row_key)
{
    ck_assert_int_eq(base_buf_append_byte(rows, 'R'), ERR_OK);
    put_bytes(rows, row_key);
}

void chunk_rows_cell(struct buf *rows, struct slice family, struct slice qualifier,
                     int64_t timestamp_us, struct slice value, struct slice label)
{
    ck_assert_int_eq(base_buf_append_byte(rows, 'C'), ERR_OK);
    put_bytes(rows, family);
    put_bytes(rows, qualifier);
    put_number(rows, (uint64_t)timestamp_us);
    put_bytes(rows, value);
    put_bytes(rows, label);
}

/* --- chunks ------------------------------------------------------------------------------------
 */

static void keep(struct buf *b, struct slice bytes)
{
    base_buf_truncate(b, 0);
    ck_assert_int_eq(base_buf_append(b, bytes), ERR_OK);
}

static struct slice bytes_of(ProtobufCBinaryData data)
{
    return base_slice(data.data, data.len);
}

static bool is_beyond(const struct chunk_reader *r, struct slice key)
{
    int order = r->has_bound ? base_slice_compare(key, base_buf_slice(&r->bound)) : 1;
    return !r->has_bound || (r->reversed ? order < 0 : order > 0);
}

static void move_bound(struct chunk_reader *r, struct slice key)
{
    keep(&r->bound, key);
    r->has_bound = true;
}

static const char *take_reset(struct chunk_reader *r, const cell_chunk *c)
{
    if (!r->in_row)
        return "reset_row outside a row";
    if (!c->reset_row)
        return "reset_row is there and false";
    if (c->row_key.len != 0 || c->family_name != NULL || c->qualifier != NULL ||
        c->timestamp_micros != 0 || c->n_labels != 0 || c->value.len != 0 || c->value_size != 0)
        return "reset_row with something else";
    base_buf_truncate(&r->rows, r->committed);
    r->in_row = r->in_cell = false;
    r->reset_count++;
    return NULL;
}

static const char *begin_row(struct chunk_reader *r, const cell_chunk *c)
{
    struct slice key = bytes_of(c->row_key);
    if (key.len == 0)
        return "the first chunk of a row has no key";
    if (!is_beyond(r, key))
        return "row keys are out of order";
    if (c->family_name == NULL || c->qualifier == NULL)
        return "the first chunk of a row has no column";
    keep(&r->row_key, key);
    chunk_rows_begin(&r->rows, key);
    r->in_row = true;
    r->has_column = false;
    return NULL;
}

static const char *take_column(struct chunk_reader *r, const cell_chunk *c)
{
    if (c->family_name != NULL) {
        struct slice family = base_slice_text(c->family_name->value);
        if (c->qualifier == NULL)
            return "a new family has no qualifier";
        if (r->has_column && base_slice_equal(family, base_buf_slice(&r->family)))
            return "a family that did not change";
        keep(&r->family, family);
        r->has_column = false;
    }
    if (c->qualifier != NULL) {
        struct slice qualifier = bytes_of(c->qualifier->value);
        if (r->has_column && base_slice_equal(qualifier, base_buf_slice(&r->qualifier)))
            return "a qualifier that did not change";
        keep(&r->qualifier, qualifier);
        r->has_column = true;
    }
    return NULL;
}

static const char *begin_cell(struct chunk_reader *r, const cell_chunk *c)
{
    const char *error = take_column(r, c);
    if (c->n_labels > 1)
        return "more than one label";
    r->timestamp_us = c->timestamp_micros;
    r->value_size = c->value_size;
    keep(&r->label, c->n_labels == 0 ? SLICE_EMPTY : base_slice_text(c->labels[0]));
    base_buf_truncate(&r->value, 0);
    return error;
}

static const char *go_on_in_cell(const struct chunk_reader *r, const cell_chunk *c)
{
    if (c->family_name != NULL || c->qualifier != NULL || c->timestamp_micros != 0 ||
        c->n_labels != 0)
        return "a later chunk of a cell with more than a value";
    if (c->value_size != 0 && c->value_size != r->value_size)
        return "value_size changes inside a cell";
    if (c->value.len == 0)
        return "a later chunk of a cell without a value";
    return NULL;
}

static void cell_end(struct chunk_reader *r)
{
    chunk_rows_cell(&r->rows, base_buf_slice(&r->family), base_buf_slice(&r->qualifier),
                    r->timestamp_us, base_buf_slice(&r->value), base_buf_slice(&r->label));
}

static const char *take_value(struct chunk_reader *r, const cell_chunk *c)
{
    bool continued = r->in_cell;
    ck_assert_int_eq(base_buf_append(&r->value, bytes_of(c->value)), ERR_OK);
    r->in_cell = c->value_size != 0;
    if (c->value_size < 0)
        return "value_size is negative";
    if (r->in_cell && r->value.len >= (size_t)c->value_size)
        return "value_size on the last chunk of a cell";
    if (r->in_cell && c->value.len == 0)
        return "a first chunk of a cell without a part of it";
    if (continued && !r->in_cell && r->value.len != (size_t)r->value_size)
        return "the chunks of a cell are not as long as it was said";
    if (!r->in_cell)
        cell_end(r);
    return NULL;
}

static const char *take_commit(struct chunk_reader *r, const cell_chunk *c)
{
    if (!c->commit_row)
        return "commit_row is there and false";
    if (r->in_cell)
        return "commit_row inside a cell";
    r->committed = r->rows.len;
    r->row_count++;
    r->in_row = false;
    move_bound(r, base_buf_slice(&r->row_key));
    return NULL;
}

static const char *take_chunk(struct chunk_reader *r, const cell_chunk *c)
{
    const char *error = NULL;
    if (c->row_status_case == BT__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_RESET_ROW)
        return take_reset(r, c);
    if (!r->in_row)
        error = begin_row(r, c);
    else if (c->row_key.len != 0)
        error = "a row key inside a row";
    if (error == NULL)
        error = r->in_cell ? go_on_in_cell(r, c) : begin_cell(r, c);
    if (error == NULL)
        error = take_value(r, c);
    if (error == NULL &&
        c->row_status_case == BT__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_COMMIT_ROW)
        error = take_commit(r, c);
    return error;
}

/* --- messages ----------------------------------------------------------------------------------
 */

static const char *take_scanned(struct chunk_reader *r, struct slice key)
{
    if (r->in_row)
        return "last_scanned_row_key inside a row";
    if (!is_beyond(r, key))
        return "last_scanned_row_key goes back";
    move_bound(r, key);
    r->scanned_count++;
    return NULL;
}

static const char *take_stats(struct chunk_reader *r, const Bt__RequestStats *stats)
{
    if (stats->stats_view_case != BT__REQUEST_STATS__STATS_VIEW_FULL_READ_STATS_VIEW ||
        stats->full_read_stats_view->read_iteration_stats == NULL ||
        stats->full_read_stats_view->request_latency_stats == NULL ||
        stats->full_read_stats_view->request_latency_stats->frontend_server_latency == NULL)
        return "statistics that are not full";
    const Bt__ReadIterationStats *s = stats->full_read_stats_view->read_iteration_stats;
    r->has_stats = true;
    r->rows_seen = s->rows_seen_count;
    r->rows_returned = s->rows_returned_count;
    r->cells_seen = s->cells_seen_count;
    r->cells_returned = s->cells_returned_count;
    return NULL;
}

static const char *take_response(struct chunk_reader *r, const Bt__ReadRowsResponse *m)
{
    const char *error = NULL;
    if (r->has_stats)
        return "a message behind the statistics";
    if (m->n_chunks == 0 && m->last_scanned_row_key.len == 0 && m->request_stats == NULL)
        return "a message with nothing in it";
    if (m->n_chunks != 0 && m->last_scanned_row_key.len != 0)
        return "last_scanned_row_key beside chunks";
    for (size_t i = 0; i < m->n_chunks && error == NULL; i++) {
        r->chunk_count++;
        error = take_chunk(r, m->chunks[i]);
    }
    if (error == NULL && r->in_row) /* the Go client requires it */
        error = "a message ends inside a row";
    if (error == NULL && m->last_scanned_row_key.len != 0)
        error = take_scanned(r, bytes_of(m->last_scanned_row_key));
    if (error == NULL && m->request_stats != NULL)
        error = take_stats(r, m->request_stats);
    return error;
}

void chunk_reader_message(struct chunk_reader *r, struct slice bytes)
{
    if (r->error != NULL)
        return;
    Bt__ReadRowsResponse *m = bt__read_rows_response__unpack(NULL, bytes.len, bytes.ptr);
    r->message_count++;
    if (bytes.len > r->largest_message)
        r->largest_message = bytes.len;
    if (m == NULL)
        r->error = "a message that cannot be decoded";
    else
        r->error = take_response(r, m);
    if (m != NULL)
        bt__read_rows_response__free_unpacked(m, NULL);
}

size_t chunk_reader_feed(struct chunk_reader *r, struct slice framed)
{
    size_t used = 0;
    while (r->error == NULL && framed.len - used >= FRAME_HEAD) {
        const uint8_t *head = framed.ptr + used;
        size_t len = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
        if (head[0] != 0)
            r->error = "a compressed message that nobody asked for";
        if (head[0] != 0 || framed.len - used - FRAME_HEAD < len)
            break;
        chunk_reader_message(r, base_slice(head + FRAME_HEAD, len));
        used += FRAME_HEAD + len;
    }
    return used;
}

const char *chunk_reader_end(struct chunk_reader *r)
{
    if (r->error == NULL && r->in_row)
        r->error = "the stream ended inside a row";
    return r->error;
}

/* --- life --------------------------------------------------------------------------------------
 */

void chunk_reader_init(struct chunk_reader *r)
{
    *r = (struct chunk_reader){0};
    base_buf_init(&r->rows, CHUNK_ROWS_MAX);
    base_buf_init(&r->row_key, MIB);
    base_buf_init(&r->bound, MIB);
    base_buf_init(&r->family, MIB);
    base_buf_init(&r->qualifier, MIB);
    base_buf_init(&r->value, CHUNK_ROWS_MAX);
    base_buf_init(&r->label, MIB);
}

void chunk_reader_fini(struct chunk_reader *r)
{
    base_buf_fini(&r->rows);
    base_buf_fini(&r->row_key);
    base_buf_fini(&r->bound);
    base_buf_fini(&r->family);
    base_buf_fini(&r->qualifier);
    base_buf_fini(&r->value);
    base_buf_fini(&r->label);
}

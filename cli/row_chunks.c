/*
 * cli/row_chunks.c - see row_chunks.h.
 *
 *   state    accepted input
 *   between  a chunk with a row key after the last one, a family and a qualifier; or the key up to
 *            which the service has scanned
 *   in row   a chunk of a new cell, whose missing parts equal the previous cell's; reset_row alone
 *   in cell  a chunk with a value and no new parts; reset_row alone
 *
 * A chunk with value_size is not the last of its cell. A commit without other fields is a cell,
 * too, as in the protocol's own tests.
 */
#include "cli/row_chunks.h"

#include <stdio.h>

#include "base/err.h"
#include "cli/out.h"
#include "cli/text.h"
#include "cli/wire.h"

#include "base/banned.h"

#define NUMBER(field) CLI_WIRE_TAG(field, CLI_WIRE_NUMBER)
#define BYTES(field)  CLI_WIRE_TAG(field, CLI_WIRE_BYTES)

/* Fields of google/bigtable/v2/bigtable.proto. */
enum { RESPONSE_CHUNK = BYTES(1), RESPONSE_SCANNED = BYTES(2), VALUE = BYTES(1) };
enum { CHUNK_KEY = BYTES(1), CHUNK_FAMILY = BYTES(2), CHUNK_QUALIFIER = BYTES(3) };
enum { CHUNK_TIME = NUMBER(4), CHUNK_LABEL = BYTES(5), CHUNK_VALUE = BYTES(6) };
enum { CHUNK_SIZE = NUMBER(7), CHUNK_RESET = NUMBER(8), CHUNK_COMMIT = NUMBER(9) };

#define KEY_SHOWN 80

/* A chunk as received. */
struct chunk {
    struct slice key;
    struct slice family;
    struct slice qualifier;
    struct slice value;
    uint64_t value_size;
    int64_t timestamp_us;
    bool has_family;
    bool has_qualifier;
    bool has_label;
    bool resets;
    bool commits;
};

/* A cell of the open row: positions in bytes. */
struct kept {
    size_t family_at;
    size_t family_len;
    size_t qualifier_at;
    size_t qualifier_len;
    size_t value_at;
    size_t value_len;
    int64_t timestamp_us;
};

void cli_row_chunks_init(struct cli_row_chunks *c)
{
    memset(c, 0, sizeof *c);
    base_buf_init(&c->last, LIM_ROW_KEY + 1);
    base_buf_init(&c->key, LIM_ROW_KEY);
    base_buf_init(&c->bytes, LIM_ROW_BYTES);
    base_buf_init(&c->cells, LIM_ROW_BYTES);
}

void cli_row_chunks_fini(struct cli_row_chunks *c)
{
    base_buf_fini(&c->cells);
    base_buf_fini(&c->bytes);
    base_buf_fini(&c->key);
    base_buf_fini(&c->last);
    memset(c, 0, sizeof *c);
}

static void drop_row(struct cli_row_chunks *c)
{
    base_buf_truncate(&c->key, 0);
    base_buf_truncate(&c->bytes, 0);
    base_buf_truncate(&c->cells, 0);
    c->state = CLI_CHUNKS_BETWEEN;
}

void cli_row_chunks_begin(struct cli_row_chunks *c)
{
    drop_row(c);
}

bool cli_row_chunks_is_whole(const struct cli_row_chunks *c)
{
    return c->state == CLI_CHUNKS_BETWEEN;
}

/* --- a chunk ----------------------------------------------------------------------------------
 */

static bool read_wrapped(struct slice message, struct slice *out, bool *is_there)
{
    struct cli_wire_field field;
    *is_there = true;
    if (!cli_wire_find(message, VALUE, &field))
        return false;
    *out = field.bytes;
    return true;
}

static bool take_field(struct chunk *k, const struct cli_wire_field *f)
{
    switch (f->tag) {
    case CHUNK_KEY:
        k->key = f->bytes;
        return true;
    case CHUNK_FAMILY:
        return read_wrapped(f->bytes, &k->family, &k->has_family);
    case CHUNK_QUALIFIER:
        return read_wrapped(f->bytes, &k->qualifier, &k->has_qualifier);
    case CHUNK_TIME:
        k->timestamp_us = (int64_t)f->number;
        return true;
    case CHUNK_LABEL:
        k->has_label = true;
        return true;
    case CHUNK_VALUE:
        k->value = f->bytes;
        return true;
    case CHUNK_SIZE:
        k->value_size = f->number; /* a negative one is larger than any limit */
        return true;
    case CHUNK_RESET:
        k->resets = f->number != 0;
        return true;
    case CHUNK_COMMIT:
        k->commits = f->number != 0;
        return true;
    default:
        return true;
    }
}

static bool read_chunk(struct slice message, struct chunk *out)
{
    struct cli_wire_field field;
    memset(out, 0, sizeof *out);
    while (message.len > 0)
        if (!cli_wire_next(&message, &field) || !take_field(out, &field))
            return false;
    return true;
}

/* --- rules ------------------------------------------------------------------------------------
 */

static const char *begin_row(struct cli_row_chunks *c, const struct chunk *k)
{
    if (k->key.len == 0)
        return "a row without a key";
    if (k->key.len > LIM_ROW_KEY)
        return "a row key over the limit of 4096 bytes";
    if (base_slice_compare(k->key, c->start) < 0 ||
        (c->end.len > 0 && base_slice_compare(k->key, c->end) >= 0))
        return "a row that was not asked for";
    if (c->last.len > 0 && base_slice_compare(k->key, base_buf_slice(&c->last)) <= 0)
        return "a row that is not behind the one before";
    if (!k->has_family || !k->has_qualifier)
        return "a row whose first cell has no column";
    base_buf_append(&c->key, k->key);
    return NULL;
}

static void keep(struct cli_row_chunks *c, struct slice text, size_t *at, size_t *len)
{
    *at = c->bytes.len;
    *len = text.len;
    base_buf_append(&c->bytes, text);
}

static const char *begin_cell(struct cli_row_chunks *c, const struct chunk *k)
{
    if (c->state == CLI_CHUNKS_IN_ROW && k->key.len > 0 &&
        !base_slice_equal(k->key, base_buf_slice(&c->key)))
        return "a row inside of another, which was not committed";
    if (k->has_family && !k->has_qualifier)
        return "a new family without a qualifier";
    if (k->has_family)
        keep(c, k->family, &c->family_at, &c->family_len);
    if (k->has_qualifier)
        keep(c, k->qualifier, &c->qualifier_at, &c->qualifier_len);
    const struct kept cell = {
        .family_at = c->family_at,
        .family_len = c->family_len,
        .qualifier_at = c->qualifier_at,
        .qualifier_len = c->qualifier_len,
        .value_at = c->bytes.len,
        .timestamp_us = k->timestamp_us,
    };
    base_buf_append(&c->cells, base_slice(&cell, sizeof cell));
    c->value_size = 0;
    return NULL;
}

static const char *check_part(const struct chunk *k)
{
    if (k->key.len > 0 || k->has_family || k->has_qualifier || k->timestamp_us != 0 || k->has_label)
        return "a cell inside of another, of which a part is missing";
    return NULL;
}

static const char *take_value(struct cli_row_chunks *c, const struct chunk *k)
{
    struct kept *cell = (struct kept *)(void *)base_buf_end(&c->cells) - 1;
    if (k->value_size > LIM_CELL_BYTES_HARD || k->value.len > LIM_CELL_BYTES_HARD - cell->value_len)
        return "a cell over the limit of 100 MiB";
    base_buf_append(&c->bytes, k->value);
    cell->value_len += k->value.len;
    if (k->value_size > 0 && c->value_size > 0 && k->value_size != c->value_size)
        return "a cell whose size changes";
    c->value_size = k->value_size > 0 ? k->value_size : c->value_size;
    bool is_more = k->value_size > 0;
    if (c->value_size > 0 &&
        (cell->value_len > c->value_size || (!is_more && cell->value_len != c->value_size)))
        return "a cell of another size than it said";
    if (is_more && k->commits)
        return "a commit inside of a cell";
    c->state = is_more ? CLI_CHUNKS_IN_CELL : CLI_CHUNKS_IN_ROW;
    return NULL;
}

static const char *take_reset(struct cli_row_chunks *c, const struct chunk *k)
{
    if (c->state == CLI_CHUNKS_BETWEEN)
        return "a reset outside of a row";
    if (check_part(k) != NULL || k->value.len > 0 || k->value_size != 0 || k->commits)
        return "a reset with something else";
    drop_row(c);
    return NULL;
}

static const char *apply_chunk(struct cli_row_chunks *c, const struct chunk *k)
{
    const char *why = NULL;
    if (k->resets)
        return take_reset(c, k);
    if (c->state == CLI_CHUNKS_BETWEEN)
        why = begin_row(c, k);
    if (why == NULL)
        why = c->state == CLI_CHUNKS_IN_CELL ? check_part(k) : begin_cell(c, k);
    if (why == NULL && (c->bytes.error != ERR_OK || c->cells.error != ERR_OK))
        why = "a row over the limit of 256 MiB";
    if (why == NULL)
        why = take_value(c, k);
    if (why == NULL && c->bytes.error != ERR_OK)
        why = "a row over the limit of 256 MiB";
    return why;
}

/* --- rows -------------------------------------------------------------------------------------
 */

static enum cli_exit tell_row(struct cli_row_chunks *c)
{
    const uint8_t *bytes = c->bytes.ptr;
    const struct kept *cells = (const struct kept *)(const void *)c->cells.ptr;
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; i < c->cells.len / sizeof *cells && e == CLI_OK; i++) {
        const struct kept *k = &cells[i];
        const struct cli_cell cell = {
            .key = base_buf_slice(&c->key),
            .family = base_slice(bytes + k->family_at, k->family_len),
            .qualifier = base_slice(bytes + k->qualifier_at, k->qualifier_len),
            .value = base_slice(bytes + k->value_at, k->value_len),
            .timestamp_us = k->timestamp_us,
        };
        e = c->on_cell(c->ctx, &cell);
    }
    if (e == CLI_OK)
        e = c->on_row(c->ctx, base_buf_slice(&c->key));
    base_buf_truncate(&c->last, 0);
    base_buf_append(&c->last, base_buf_slice(&c->key));
    drop_row(c);
    return e;
}

static enum cli_exit refuse(const struct cli_row_chunks *c, const char *why)
{
    struct buf text;
    struct slice last = base_buf_slice(&c->last);
    last.len = last.len > KEY_SHOWN ? KEY_SHOWN : last.len;
    base_buf_init(&text, 8UL * KEY_SHOWN);
    cli_text_escape(&text, last, CLI_ESCAPE_BACKSLASH);
    enum cli_exit e = cli_fail(CLI_REFUSED,
                               "the service sent %s, behind the row \"%.*s\"; trying again will "
                               "not help",
                               why, (int)text.len, text.len > 0 ? (const char *)text.ptr : "");
    base_buf_fini(&text);
    return e;
}

static enum cli_exit take_chunk(struct cli_row_chunks *c, struct slice message)
{
    struct chunk k;
    const char *why = "a chunk that is none";
    if (read_chunk(message, &k))
        why = apply_chunk(c, &k);
    if (why != NULL)
        return refuse(c, why);
    return k.commits ? tell_row(c) : CLI_OK;
}

/* Handles a scanned key: rows up to the key were emitted, or have no cells. */
static enum cli_exit take_scanned(struct cli_row_chunks *c, struct slice key)
{
    if (c->state != CLI_CHUNKS_BETWEEN)
        return refuse(c, "the end of what it looked at inside of a row");
    if (key.len > LIM_ROW_KEY + 1 || base_slice_compare(key, base_buf_slice(&c->last)) <= 0)
        return refuse(c, "an end of what it looked at that is not behind the last row");
    base_buf_truncate(&c->last, 0);
    base_buf_append(&c->last, key);
    return CLI_OK;
}

enum cli_exit cli_row_chunks_take(struct cli_row_chunks *c, struct slice message)
{
    struct cli_wire_field field;
    enum cli_exit e = CLI_OK;
    while (message.len > 0 && e == CLI_OK) {
        if (!cli_wire_next(&message, &field))
            e = refuse(c, "a message that is none");
        else if (field.tag == RESPONSE_CHUNK)
            e = take_chunk(c, field.bytes);
        else if (field.tag == RESPONSE_SCANNED && field.bytes.len > 0)
            e = take_scanned(c, field.bytes);
    }
    return e;
}

/*
 * storage/change.c - encodes and decodes changes in parts.
 *
 * A part is closed once it is LIM_CHANGE_PART long: after a mutation, or inside the value of a set.
 */
#include "storage/change.h"

#include "base/record.h"

#include "base/banned.h"

#define FORMAT     0x01
#define FLAG_FIRST 1u
#define FLAG_LAST  2u
#define FLAG_GC    4u
#define FLAGS      (FLAG_FIRST | FLAG_LAST | FLAG_GC)

/* Stored numbers of the kinds; never reused. */
enum { SET = 1, DELETE_COLUMN = 2, DELETE_FAMILY = 3, ADD = 4, MERGE = 5 };

/* --- keys ------------------------------------------------------------------------------------- */

size_t sto_change_key(const struct sto_table_scope *scope, int64_t position, uint32_t part,
                      uint8_t out[STO_CHANGE_KEY_MAX])
{
    size_t n = sto_key_table(scope, out);
    sto_put_be64(out + n, (uint64_t)position);
    n += 8;
    for (int shift = 24; shift >= 0; shift -= 8)
        out[n++] = (uint8_t)(part >> shift);
    return n;
}

enum err sto_change_key_decode(const struct sto_table_scope *scope, struct slice key,
                               int64_t *out_position, uint32_t *out_part)
{
    uint8_t table[STO_KEY_TABLE_MAX];
    size_t n = sto_key_table(scope, table);
    if (key.len != n + 12 || !base_slice_starts_with(key, base_slice(table, n)))
        return ERR_CORRUPT;
    uint64_t position = sto_get_be64(key.ptr + n);
    if (position > INT64_MAX)
        return ERR_CORRUPT;
    const uint8_t *p = key.ptr + n + 8;
    *out_position = (int64_t)position;
    *out_part = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    return ERR_OK;
}

/* --- encoding --------------------------------------------------------------------------------- */

struct encoder {
    const struct sto_change *change;
    struct buf *out;
    void (*put)(void *ctx, uint32_t part, struct slice bytes);
    void *ctx;
    uint32_t part;
};

static void part_begin(struct encoder *e)
{
    base_buf_truncate(e->out, 0);
    (void)base_buf_append_byte(e->out, FORMAT); /* errors latch, here and below */
    uint8_t flags = e->change->type == STO_CHANGE_GARBAGE ? FLAG_GC : 0;
    (void)base_buf_append_byte(e->out, e->part == 0 ? flags | FLAG_FIRST : flags);
    if (e->part != 0)
        return;
    (void)base_varint_put(e->out, e->change->row_key.len);
    (void)base_buf_append(e->out, e->change->row_key);
}

static void part_end(struct encoder *e, bool is_last)
{
    if (e->out->error != ERR_OK)
        return;
    if (is_last)
        e->out->ptr[1] |= FLAG_LAST;
    e->put(e->ctx, e->part++, base_buf_slice(e->out));
}

static void put_counted(struct buf *out, struct slice bytes)
{
    (void)base_varint_put(out, bytes.len);
    (void)base_buf_append(out, bytes);
}

static uint8_t stored_kind(enum sto_mutation_kind kind)
{
    switch (kind) {
    case STO_SET_CELL:
        return SET;
    case STO_DELETE_FROM_COLUMN:
        return DELETE_COLUMN;
    case STO_DELETE_FROM_FAMILY:
        return DELETE_FAMILY;
    case STO_ADD_TO_CELL:
        return ADD;
    case STO_MERGE_TO_CELL:
        return MERGE;
    case STO_DELETE_FROM_ROW:
    case STO_APPEND:
    case STO_INCREMENT:
        break;
    }
    INVARIANT(false); /* their effects are recorded instead */
    return 0;
}

static void put_head(struct encoder *e, const struct sto_change_mutation *m)
{
    (void)base_buf_append_byte(e->out, stored_kind(m->kind));
    put_counted(e->out, m->family);
    if (m->kind != STO_DELETE_FROM_FAMILY)
        put_counted(e->out, m->qualifier);
}

/* Encodes a value in as many pieces as its parts require. */
static void put_value(struct encoder *e, const struct sto_change_mutation *m)
{
    size_t offset = 0;
    do {
        if (offset > 0) {
            part_end(e, false);
            part_begin(e);
        }
        put_head(e, m);
        (void)base_varint_put(e->out, (uint64_t)m->timestamp_us);
        (void)base_varint_put(e->out, m->value.len);
        (void)base_varint_put(e->out, offset);
        size_t room = e->out->len < LIM_CHANGE_PART ? LIM_CHANGE_PART - e->out->len : 1;
        size_t len = m->value.len - offset;
        if (len > room && m->kind == STO_SET_CELL)
            len = room;
        put_counted(e->out, len == 0 ? SLICE_EMPTY : base_slice(m->value.ptr + offset, len));
        offset += len;
    } while (offset < m->value.len && e->out->error == ERR_OK);
}

enum err sto_change_encode(const struct sto_change *change, struct buf *scratch,
                           void (*put)(void *ctx, uint32_t part, struct slice bytes), void *ctx)
{
    struct encoder e = {.change = change, .out = scratch, .put = put, .ctx = ctx};
    INVARIANT(change->count > 0);
    part_begin(&e);
    for (size_t i = 0; i < change->count && scratch->error == ERR_OK; i++) {
        const struct sto_change_mutation *m = &change->mutations[i];
        if (i > 0 && scratch->len >= LIM_CHANGE_PART) {
            part_end(&e, false);
            part_begin(&e);
        }
        if (m->kind == STO_DELETE_FROM_FAMILY || m->kind == STO_DELETE_FROM_COLUMN)
            put_head(&e, m);
        else
            put_value(&e, m);
        if (m->kind == STO_DELETE_FROM_COLUMN) {
            (void)base_varint_put(scratch, (uint64_t)m->start_us);
            (void)base_varint_put(scratch, (uint64_t)m->end_us);
        }
    }
    part_end(&e, true);
    return scratch->error;
}

/* --- decoding --------------------------------------------------------------------------------- */

static enum err take_counted(struct slice *rest, struct slice *out)
{
    uint64_t len = 0;
    if (base_varint_take(rest, &len) != ERR_OK || len > rest->len)
        return ERR_CORRUPT;
    *out = base_slice(rest->ptr, (size_t)len);
    *rest = base_slice_skip(*rest, (size_t)len);
    return ERR_OK;
}

static enum err take_time(struct slice *rest, int64_t *out)
{
    uint64_t us = 0;
    if (base_varint_take(rest, &us) != ERR_OK || us > INT64_MAX)
        return ERR_CORRUPT;
    *out = (int64_t)us;
    return ERR_OK;
}

enum err sto_change_part_decode(struct slice stored, struct sto_change_part *out)
{
    if (stored.len < 2 || stored.ptr[0] != FORMAT || (stored.ptr[1] & ~FLAGS) != 0)
        return ERR_CORRUPT;
    uint8_t flags = stored.ptr[1];
    struct slice rest = base_slice_skip(stored, 2);
    *out = (struct sto_change_part){
        .type = (flags & FLAG_GC) != 0 ? STO_CHANGE_GARBAGE : STO_CHANGE_USER,
        .is_first = (flags & FLAG_FIRST) != 0,
        .is_last = (flags & FLAG_LAST) != 0,
    };
    if (out->is_first && (take_counted(&rest, &out->row_key) != ERR_OK || out->row_key.len == 0 ||
                          out->row_key.len > LIM_ROW_KEY))
        return ERR_CORRUPT;
    out->body = rest;
    return rest.len > 0 ? ERR_OK : ERR_CORRUPT;
}

static enum err take_value(struct slice *rest, struct sto_change_mutation *out)
{
    uint64_t size = 0, offset = 0;
    if (take_time(rest, &out->timestamp_us) != ERR_OK || base_varint_take(rest, &size) != ERR_OK ||
        base_varint_take(rest, &offset) != ERR_OK || take_counted(rest, &out->value) != ERR_OK ||
        offset > size || out->value.len > size - offset || (out->value.len == 0) != (size == 0))
        return ERR_CORRUPT;
    out->value_size = (size_t)size;
    out->value_offset = (size_t)offset;
    return ERR_OK;
}

enum err sto_change_next(struct slice *body, struct sto_change_mutation *out)
{
    static const enum sto_mutation_kind KINDS[] = {
        [SET] = STO_SET_CELL,
        [DELETE_COLUMN] = STO_DELETE_FROM_COLUMN,
        [DELETE_FAMILY] = STO_DELETE_FROM_FAMILY,
        [ADD] = STO_ADD_TO_CELL,
        [MERGE] = STO_MERGE_TO_CELL,
    };
    struct slice rest = *body;
    uint8_t kind = rest.len > 0 ? rest.ptr[0] : 0;
    if (kind < SET || kind > MERGE)
        return ERR_CORRUPT;
    *out = (struct sto_change_mutation){.kind = KINDS[kind]};
    rest = base_slice_skip(rest, 1);
    enum err rc = take_counted(&rest, &out->family);
    if (rc == ERR_OK && kind != DELETE_FAMILY)
        rc = take_counted(&rest, &out->qualifier);
    if (rc == ERR_OK && kind == DELETE_COLUMN) {
        rc = take_time(&rest, &out->start_us);
        if (rc == ERR_OK)
            rc = take_time(&rest, &out->end_us);
    } else if (rc == ERR_OK && kind != DELETE_FAMILY) {
        rc = take_value(&rest, out);
    }
    if (rc == ERR_OK)
        *body = rest;
    return rc;
}

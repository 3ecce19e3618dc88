/*
 * storage/value.c - the few bytes that storage adds to stored values, and values of its own.
 */
#include "storage/value.h"

#include "base/record.h"
#include "storage/keycodec.h"

#include "base/banned.h"

static size_t varint_write(uint8_t *out, uint64_t v)
{
    size_t n = 0;
    while (v >= 0x80) {
        out[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    out[n++] = (uint8_t)v;
    return n;
}

enum err sto_cell_unseal(struct sto_stored_cell *cell, struct slice key, struct sto_sealer *sealer,
                         struct sto_cipher *cipher, struct buf *plain)
{
    if (cell->sealed.len == 0)
        return ERR_OK;
    const uint8_t head[STO_CELL_PREFIX] = {STO_CELL_SEALED, cell->family_name_len};
    const struct sto_seal_place place = {base_slice(head, sizeof head), key};
    enum err rc = sto_unseal(sealer, cipher, &place, cell->sealed, plain);
    if (rc == ERR_OK)
        cell->bytes = base_buf_slice(plain);
    return rc;
}

enum err sto_cell_seal(uint8_t family_name_len, struct slice value, struct slice key,
                       struct sto_sealer *sealer, struct sto_cipher *cipher, struct buf *out)
{
    const uint8_t head[STO_CELL_PREFIX] = {STO_CELL_SEALED, family_name_len};
    const struct sto_seal_place place = {base_slice(head, sizeof head), key};
    return sto_seal(sealer, cipher, &place, value, out);
}

size_t sto_row_head_encode(const struct sto_row_head *head, uint8_t out[STO_ROW_HEAD_MAX])
{
    INVARIANT(head->cells > 0 && head->bytes > 0);
    size_t n = 0;
    out[n++] = STO_ROW_HEAD_FORMAT;
    n += varint_write(out + n, head->cells);
    n += varint_write(out + n, head->bytes);
    return n;
}

enum err sto_row_head_decode(struct slice stored, struct sto_row_head *out)
{
    if (stored.len < 3 || stored.ptr[0] != STO_ROW_HEAD_FORMAT)
        return ERR_CORRUPT;
    struct slice rest = base_slice_skip(stored, 1);
    struct sto_row_head head;
    if (base_varint_take(&rest, &head.cells) != ERR_OK ||
        base_varint_take(&rest, &head.bytes) != ERR_OK || rest.len != 0)
        return ERR_CORRUPT;
    if (head.cells == 0 || head.bytes == 0)
        return ERR_CORRUPT;
    *out = head;
    return ERR_OK;
}

void sto_counters_encode(const struct sto_stored_counters *counters,
                         uint8_t out[STO_COUNTERS_BYTES])
{
    out[0] = STO_COUNTERS_FORMAT;
    sto_put_be64(out + 1, counters->usage.bytes);
    sto_put_be64(out + 9, counters->usage.rows);
    sto_put_be64(out + 17, counters->usage.cells);
    sto_put_be64(out + 25, counters->additions);
    sto_put_be64(out + 33, (uint64_t)counters->last_change_us);
    sto_put_be64(out + 41, counters->change_bytes);
}

enum err sto_counters_decode(struct slice stored, struct sto_stored_counters *out)
{
    static const uint8_t LENGTHS[] = {[STO_COUNTERS_FORMAT_1] = STO_COUNTERS_BYTES - 24,
                                      [STO_COUNTERS_FORMAT_2] = STO_COUNTERS_BYTES - 16,
                                      [STO_COUNTERS_FORMAT_3] = STO_COUNTERS_BYTES - 8,
                                      [STO_COUNTERS_FORMAT] = STO_COUNTERS_BYTES};
    uint8_t format = stored.len > 0 ? stored.ptr[0] : 0;
    if (format == 0 || format > STO_COUNTERS_FORMAT || stored.len != LENGTHS[format])
        return ERR_CORRUPT;
    out->usage.bytes = sto_get_be64(stored.ptr + 1);
    out->usage.rows = sto_get_be64(stored.ptr + 9);
    out->usage.cells = sto_get_be64(stored.ptr + 17);
    out->additions = format == STO_COUNTERS_FORMAT_1 ? 1 : sto_get_be64(stored.ptr + 25);
    out->last_change_us =
        format < STO_COUNTERS_FORMAT_3 ? 0 : (int64_t)sto_get_be64(stored.ptr + 33);
    if (format == STO_COUNTERS_FORMAT)
        out->change_bytes = sto_get_be64(stored.ptr + 41);
    else
        out->change_bytes = out->last_change_us == 0 ? 0 : STO_CHANGES_NOT_COUNTED;
    return ERR_OK;
}

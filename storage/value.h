/*
 * storage/value.h - stored values: cells, row headers, counters.
 *
 * Does:     encodes and decodes the value side of a stored key.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: keys, RocksDB.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT when decoding; encrypted cells as storage/cipher.h says.
 * Limits:   none.
 * Promises: 1. Every value begins with a format byte; an unknown one is ERR_CORRUPT, not a guess.
 *           2. A cell carries the length of its family's name, so its counted bytes are known
 *              without its schema, also after the family was dropped.
 */
#ifndef STORAGE_VALUE_H
#define STORAGE_VALUE_H

#include "base/buf.h"
#include "storage/account.h"
#include "storage/cipher.h"
#include "storage/schema.h"

/* A cell: format, length of the family's name, then the value in plain or encrypted by
 * storage/cipher.h. */
#define STO_CELL_PLAIN  0x01
#define STO_CELL_SEALED 0x02
#define STO_CELL_PREFIX 2

struct sto_stored_cell {
    uint8_t family_name_len;
    struct slice bytes;  /* the value; of an encrypted cell as many meaningless bytes */
    struct slice sealed; /* the encrypted value; ptr NULL: the cell is plain */
};

static inline enum err sto_cell_decode(struct slice stored, struct sto_stored_cell *out)
{
    if (stored.len < STO_CELL_PREFIX || stored.ptr[1] == 0 || stored.ptr[1] > LIM_FAMILY_NAME)
        return ERR_CORRUPT;
    out->family_name_len = stored.ptr[1];
    out->bytes = base_slice_skip(stored, STO_CELL_PREFIX);
    out->sealed = SLICE_EMPTY;
    if (stored.ptr[0] == STO_CELL_PLAIN)
        return ERR_OK;
    if (stored.ptr[0] != STO_CELL_SEALED || out->bytes.len < STO_SEALED_EXTRA)
        return ERR_CORRUPT;
    out->sealed = out->bytes;
    out->bytes = base_slice(out->sealed.ptr + STO_SEALED_HEAD, out->sealed.len - STO_SEALED_EXTRA);
    return ERR_OK;
}

/* Sets bytes to the plain value of a plain or encrypted cell. cipher: the tenant's; NULL: it has
 * none. */
enum err sto_cell_unseal(struct sto_stored_cell *cell, struct slice key, struct sto_sealer *sealer,
                         struct sto_cipher *cipher, struct buf *plain) MUST_CHECK;
/* Replaces the contents of out with the whole encrypted cell. */
enum err sto_cell_seal(uint8_t family_name_len, struct slice value, struct slice key,
                       struct sto_sealer *sealer, struct sto_cipher *cipher,
                       struct buf *out) MUST_CHECK;

/* Returns the counted bytes of one cell (storage/account.h, promise 1). */
static inline uint64_t sto_cell_bytes(size_t row_key_len, size_t family_name_len,
                                      size_t qualifier_len, size_t value_len)
{
    return (uint64_t)row_key_len + family_name_len + qualifier_len + value_len + 8;
}

/* A row's header: format, varint cells, varint logical bytes; both above 0. */
#define STO_ROW_HEAD_FORMAT 0x01
#define STO_ROW_HEAD_MAX    21

struct sto_row_head {
    uint64_t cells;
    uint64_t bytes;
};

size_t sto_row_head_encode(const struct sto_row_head *head, uint8_t out[STO_ROW_HEAD_MAX]);
enum err sto_row_head_decode(struct slice stored, struct sto_row_head *out) MUST_CHECK;

/* A table's counters: format, then as 8 bytes each: bytes, rows, cells, additions, the newest
 * change, and the bytes of all changes ever. Format 1 has no additions: they are decoded as 1,
 * which stands for an unknown number. Format 2 has no changes, format 3 does not count their
 * bytes. */
#define STO_COUNTERS_FORMAT_1   0x01
#define STO_COUNTERS_FORMAT_2   0x02
#define STO_COUNTERS_FORMAT_3   0x03
#define STO_COUNTERS_FORMAT     0x04
#define STO_COUNTERS_BYTES      49
#define STO_CHANGES_NOT_COUNTED UINT64_MAX

struct sto_stored_counters {
    struct sto_usage usage;
    uint64_t additions;     /* sto_table.additions */
    int64_t last_change_us; /* sto_change_stream.last_us */
    uint64_t change_bytes;  /* sto_change_stream.bytes */
};

void sto_counters_encode(const struct sto_stored_counters *counters,
                         uint8_t out[STO_COUNTERS_BYTES]);
enum err sto_counters_decode(struct slice stored, struct sto_stored_counters *out) MUST_CHECK;

#endif

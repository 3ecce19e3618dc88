/*
 * storage/keycodec.h - stored keys: order-preserving, prefix-free.
 *
 * Does:     encodes and decodes tenant#table#row|family|column|version; makes bounds of rows and
 *           columns.
 * Owns:     nothing; all memory is the caller's.
 * May use:  base/, storage/.
 * Knows no: RocksDB, HTTP, quotas.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT when decoding. Encoding cannot fail: input was checked before
 *           (storage/mutation.h, storage/read.h); a row key or qualifier over its limit aborts.
 * Limits:   LIM_ROW_KEY, LIM_QUALIFIER (base/limits.h).
 * Promises: 1. memcmp order of stored keys = order of (tenant, table, row key, family number,
 *              qualifier, newest first); a row's header is its first key.
 *           2. No stored key is a prefix of another. 3. decode(encode(x)) = x, and decode accepts
 *              nothing that encode does not make.
 *
 *   "<tenant>#<table>#" esc(row key) 00 01 | family (2, BE) | esc(qualifier) 00 01 | ~ts (8, BE)
 *    `--- table prefix --´                 |                                     |
 *    `------------ row prefix ------------´|                                     |
 *    `------------------------- column prefix ----------------------------------´
 *   header of a row: row prefix, 00 00.     esc: 00 -> 00 FF
 *
 * A prefix P ends in 00 01, so "P with 02 as its last byte" (sto_key_after) is the first key after
 * everything that begins with P: after 00 only 01 and FF occur.
 */
#ifndef STORAGE_KEYCODEC_H
#define STORAGE_KEYCODEC_H

#include "storage/read.h"
#include "storage/scope.h"

#define STO_KEY_TABLE_MAX  (LIM_TENANT_ID + 1 + LIM_TABLE_ID + 1)
#define STO_KEY_ROW_MAX    (STO_KEY_TABLE_MAX + 2 * LIM_ROW_KEY + 2)
#define STO_KEY_HEADER_MAX (STO_KEY_ROW_MAX + 2)
#define STO_KEY_COLUMN_MAX (STO_KEY_ROW_MAX + 2 + 2 * LIM_QUALIFIER + 2)
#define STO_KEY_VERSION    8 /* the end of a cell's key: its timestamp, newer ones first */
#define STO_KEY_MAX        (STO_KEY_COLUMN_MAX + STO_KEY_VERSION)

/* --- encoding: each function writes at out, or after the len bytes already in key, and returns the
 * length of the whole key --- */

size_t sto_key_table(const struct sto_table_scope *scope, uint8_t out[STO_KEY_TABLE_MAX]);
size_t sto_key_row(const struct sto_table_scope *scope, struct slice row_key,
                   uint8_t out[STO_KEY_ROW_MAX]);
size_t sto_key_header(uint8_t *key, size_t row_len);
size_t sto_key_family(uint8_t *key, size_t row_len, uint16_t family);
size_t sto_key_column(uint8_t *key, size_t row_len, uint16_t family, struct slice qualifier);
size_t sto_key_version(uint8_t *key, size_t column_len, int64_t timestamp_us);
/* Changes a row or column prefix in place to the first key after all keys that begin with it. */
void sto_key_after(uint8_t *prefix, size_t len);

/* Stored bounds [lower, upper) of a range of rows. */
struct sto_key_bounds {
    size_t lower_len;
    size_t upper_len;
    uint8_t lower[STO_KEY_ROW_MAX];
    uint8_t upper[STO_KEY_ROW_MAX];
};
bool sto_key_bounds_of_rows(const struct sto_table_scope *scope, const struct sto_row_range *range,
                            struct sto_key_bounds *out);
void sto_key_bounds_of_row(const struct sto_table_scope *scope, struct slice row_key,
                           struct sto_key_bounds *out);

/* --- decoding --- */

struct sto_key {
    struct slice table_prefix;  /* "<tenant>#<table>#" */
    struct slice row_prefix;    /* through the row's terminator */
    struct slice row_escaped;   /* the row key, still escaped */
    uint16_t family;            /* 0: this is a row header, nothing below is set */
    struct slice column_prefix; /* through the column's terminator */
    struct slice qualifier_escaped;
    int64_t timestamp_us;
};

/* Decodes a key. All slices point into key. */
enum err sto_key_decode(struct slice key, struct sto_key *out) MUST_CHECK;

/* Returns the length through the first 00 01 at or after `from`; 0 if there is none or the escaping
 * is broken before it. */
size_t sto_key_find_end(struct slice key, size_t from);
/* Returns the length of the row prefix of any stored key or row prefix; 0 if there is none. */
size_t sto_key_row_prefix_len(struct slice key);
/* Returns the unescaped key: escaped itself if it holds no 00, else a copy in scratch, which has
 * room for escaped.len bytes. escaped must have passed a decode or sto_key_find_end. */
struct slice sto_key_unescape(struct slice escaped, uint8_t *scratch);
/* Returns the length of the unescaped key. */
size_t sto_key_unescaped_len(struct slice escaped);

static inline uint64_t sto_get_be64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return __builtin_bswap64(v);
}

static inline void sto_put_be64(uint8_t *p, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, sizeof(v));
}

#endif

/*
 * storage/keycodec.c - escape, terminate, invert.
 *
 * 1. Inside an escaped part 00 is always followed by FF; 00 01 ends it. 01 < FF makes a shorter
 *    key sort before its extensions, and FF keeps 00 itself below every other byte.
 * 2. The timestamp is stored as its bitwise complement: newest first.
 * 3. A family number is 1..65535 in a cell; 0 marks the row header, which thereby sorts first.
 */
#include "storage/keycodec.h"

#include "base/banned.h"

_Static_assert(STO_KEY_MAX == LIM_STORED_KEY, "base/limits.h must know the same layout");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "sto_put_be64 swaps");

static size_t escape(uint8_t *out, struct slice in)
{
    if (in.len == 0)
        return 0;
    if (memchr(in.ptr, 0, in.len) == NULL) {
        memcpy(out, in.ptr, in.len);
        return in.len;
    }
    size_t n = 0;
    for (size_t i = 0; i < in.len; i++) {
        out[n++] = in.ptr[i];
        if (in.ptr[i] == 0)
            out[n++] = 0xff;
    }
    return n;
}

static size_t terminate(uint8_t *key, size_t len)
{
    key[len] = 0;
    key[len + 1] = 1;
    return len + 2;
}

size_t sto_key_table(const struct sto_table_scope *scope, uint8_t out[STO_KEY_TABLE_MAX])
{
    INVARIANT(scope->tenant.magic == STO_SCOPE_MAGIC && scope->schema != NULL);
    size_t n = scope->tenant.prefix_len;
    memcpy(out, scope->tenant.prefix, n);
    const struct sto_table *table = scope->schema->table;
    memcpy(out + n, table->id, table->id_len);
    n += table->id_len;
    out[n++] = '#';
    return n;
}

size_t sto_key_row(const struct sto_table_scope *scope, struct slice row_key,
                   uint8_t out[STO_KEY_ROW_MAX])
{
    INVARIANT(row_key.len <= LIM_ROW_KEY);
    size_t n = sto_key_table(scope, out);
    n += escape(out + n, row_key);
    return terminate(out, n);
}

size_t sto_key_header(uint8_t *key, size_t row_len)
{
    return sto_key_family(key, row_len, 0);
}

size_t sto_key_family(uint8_t *key, size_t row_len, uint16_t family)
{
    key[row_len] = (uint8_t)(family >> 8);
    key[row_len + 1] = (uint8_t)(family & 0xff);
    return row_len + 2;
}

size_t sto_key_column(uint8_t *key, size_t row_len, uint16_t family, struct slice qualifier)
{
    INVARIANT(qualifier.len <= LIM_QUALIFIER && family != 0);
    size_t n = sto_key_family(key, row_len, family);
    n += escape(key + n, qualifier);
    return terminate(key, n);
}

size_t sto_key_version(uint8_t *key, size_t column_len, int64_t timestamp_us)
{
    sto_put_be64(key + column_len, ~(uint64_t)timestamp_us);
    return column_len + 8;
}

void sto_key_after(uint8_t *prefix, size_t len)
{
    INVARIANT(len >= 2 && prefix[len - 1] == 1 && prefix[len - 2] == 0);
    prefix[len - 1] = 2;
}

bool sto_key_bounds_of_rows(const struct sto_table_scope *scope, const struct sto_row_range *range,
                            struct sto_key_bounds *out)
{
    if (range->start.len == 0) {
        out->lower_len = sto_key_table(scope, out->lower);
    } else {
        out->lower_len = sto_key_row(scope, range->start, out->lower);
        if (range->start_exclusive)
            sto_key_after(out->lower, out->lower_len);
    }
    if (range->end.len == 0) {
        out->upper_len = sto_key_table(scope, out->upper);
        out->upper[out->upper_len - 1] = '#' + 1;
    } else {
        out->upper_len = sto_key_row(scope, range->end, out->upper);
        if (range->end_inclusive)
            sto_key_after(out->upper, out->upper_len);
    }
    return base_slice_compare(base_slice(out->lower, out->lower_len),
                              base_slice(out->upper, out->upper_len)) < 0;
}

void sto_key_bounds_of_row(const struct sto_table_scope *scope, struct slice row_key,
                           struct sto_key_bounds *out)
{
    out->lower_len = sto_key_row(scope, row_key, out->lower);
    memcpy(out->upper, out->lower, out->lower_len);
    out->upper_len = out->lower_len;
    sto_key_after(out->upper, out->upper_len);
}

/* --- decoding ----------------------------------------------------------------------------- */

size_t sto_key_find_end(struct slice key, size_t from)
{
    size_t at = from;
    while (at + 1 < key.len) {
        const uint8_t *zero = memchr(key.ptr + at, 0, key.len - at - 1);
        if (zero == NULL)
            return 0;
        at = (size_t)(zero - key.ptr) + 2;
        if (zero[1] == 1)
            return at;
        if (zero[1] != 0xff)
            return 0;
    }
    return 0;
}

/* Returns the length through the second '#'; 0 if the key does not start with "<tenant>#<table>#"
 * in form. */
static size_t table_prefix_len(struct slice key)
{
    const uint8_t *first = memchr(key.ptr, '#', key.len < 64 ? key.len : 64);
    if (first == NULL)
        return 0;
    size_t at = (size_t)(first - key.ptr) + 1;
    size_t left = key.len - at < 51 ? key.len - at : 51;
    const uint8_t *second = left == 0 ? NULL : memchr(key.ptr + at, '#', left);
    return second == NULL ? 0 : (size_t)(second - key.ptr) + 1;
}

size_t sto_key_row_prefix_len(struct slice key)
{
    size_t table = table_prefix_len(key);
    return table == 0 ? 0 : sto_key_find_end(key, table);
}

enum err sto_key_decode(struct slice key, struct sto_key *out)
{
    memset(out, 0, sizeof(*out));
    size_t table = table_prefix_len(key);
    size_t row = table == 0 ? 0 : sto_key_find_end(key, table);
    if (row == 0 || key.len < row + 2)
        return ERR_CORRUPT;
    size_t tenant = (size_t)((const uint8_t *)memchr(key.ptr, '#', table) - key.ptr);
    if (sto_tenant_id_check(base_slice(key.ptr, tenant), NULL) != ERR_OK ||
        sto_table_id_check(base_slice(key.ptr + tenant + 1, table - tenant - 2), NULL) != ERR_OK)
        return ERR_CORRUPT;
    out->table_prefix = base_slice(key.ptr, table);
    out->row_prefix = base_slice(key.ptr, row);
    out->row_escaped = base_slice(key.ptr + table, row - 2 - table);
    size_t row_bytes = sto_key_unescaped_len(out->row_escaped);
    if (row_bytes == 0 || row_bytes > LIM_ROW_KEY)
        return ERR_CORRUPT;
    out->family = (uint16_t)(key.ptr[row] << 8 | key.ptr[row + 1]);
    if (out->family == 0)
        return key.len == row + 2 ? ERR_OK : ERR_CORRUPT;
    size_t column = sto_key_find_end(key, row + 2);
    if (column == 0 || key.len != column + 8)
        return ERR_CORRUPT;
    out->column_prefix = base_slice(key.ptr, column);
    out->qualifier_escaped = base_slice(key.ptr + row + 2, column - 2 - (row + 2));
    if (sto_key_unescaped_len(out->qualifier_escaped) > LIM_QUALIFIER)
        return ERR_CORRUPT;
    uint64_t timestamp = ~sto_get_be64(key.ptr + column);
    if (timestamp > INT64_MAX)
        return ERR_CORRUPT;
    out->timestamp_us = (int64_t)timestamp;
    return ERR_OK;
}

size_t sto_key_unescaped_len(struct slice escaped)
{
    size_t zeros = 0;
    const uint8_t *at = escaped.ptr;
    size_t left = escaped.len;
    while (left > 0) {
        const uint8_t *zero = memchr(at, 0, left);
        if (zero == NULL)
            break;
        zeros++;
        left -= (size_t)(zero - at) + 1;
        at = zero + 1;
    }
    return escaped.len - zeros;
}

struct slice sto_key_unescape(struct slice escaped, uint8_t *scratch)
{
    if (escaped.len == 0 || memchr(escaped.ptr, 0, escaped.len) == NULL)
        return escaped;
    size_t n = 0;
    for (size_t i = 0; i < escaped.len; i++) {
        scratch[n++] = escaped.ptr[i];
        if (escaped.ptr[i] == 0)
            i++;
    }
    return base_slice(scratch, n);
}

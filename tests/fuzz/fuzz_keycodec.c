/*
 * tests/fuzz/fuzz_keycodec.c - stored keys (storage/keycodec.h).
 *
 * First byte even: the rest is a key as it might lie on a damaged disk.
 *   - Decoding fails, or encoding what was decoded gives the same bytes (promise 3).
 *   - sto_key_row_prefix_len and sto_key_find_end agree with it; every slice lies in the key.
 * Odd: two keys and a range of rows, by their parts.
 *   - The order of keys is the order of parts, and neither begins with the other (1, 2).
 *   - A key lies between the bounds of a range exactly when its row lies in the range.
 */
#include "base/alloc.h"
#include "storage/keycodec.h"
#include "tests/fuzz/fuzz.h"

#include "base/banned.h"

static struct sto_account account;

static struct sto_table_scope scope_of(struct slice tenant_id, struct slice table_id)
{
    static const struct sto_table_spec no_families;
    struct sto_tenant_scope tenant;
    struct sto_schema *schema = NULL;
    INVARIANT(sto_scope_open(tenant_id, &account, &tenant) == ERR_OK);
    INVARIANT(sto_schema_make(table_id, NULL, &no_families, &schema, NULL) == ERR_OK);
    struct sto_table_scope scope = sto_table_scope_make(&tenant, schema);
    sto_schema_unref(schema);
    return scope;
}

static size_t put_key(uint8_t *key, const struct sto_table_scope *scope, struct slice row,
                      uint16_t family, struct slice qualifier, int64_t timestamp_us)
{
    size_t n = sto_key_row(scope, row, key);
    if (family == 0)
        return sto_key_header(key, n);
    n = sto_key_column(key, n, family, qualifier);
    return sto_key_version(key, n, timestamp_us);
}

/* --- any bytes ----------------------------------------------------------------------------- */

static void try_decode(struct slice key)
{
    static uint8_t again[STO_KEY_MAX], row[STO_KEY_MAX], qualifier[STO_KEY_MAX];
    struct sto_key k;
    size_t row_prefix = sto_key_row_prefix_len(key);
    INVARIANT(row_prefix <= key.len);
    if (sto_key_decode(key, &k) != ERR_OK)
        return;
    INVARIANT(row_prefix == k.row_prefix.len && key.len <= STO_KEY_MAX);
    INVARIANT(sto_key_find_end(key, k.table_prefix.len) == row_prefix);
    const uint8_t *hash = memchr(key.ptr, '#', key.len);
    INVARIANT(hash != NULL);
    size_t tenant = (size_t)(hash - key.ptr);
    struct sto_table_scope scope = scope_of(base_slice(key.ptr, tenant),
                                            base_slice(hash + 1, k.table_prefix.len - tenant - 2));
    struct slice row_key = sto_key_unescape(k.row_escaped, row);
    struct slice column = sto_key_unescape(k.qualifier_escaped, qualifier);
    INVARIANT(row_key.len == sto_key_unescaped_len(k.row_escaped));
    INVARIANT(column.len == sto_key_unescaped_len(k.qualifier_escaped));
    size_t len = put_key(again, &scope, row_key, k.family, column, k.timestamp_us);
    INVARIANT(base_slice_equal(base_slice(again, len), key));
    sto_table_scope_release(&scope);
}

/* --- parts --------------------------------------------------------------------------------- */

/* Some begin with another one. */
static const char *const TENANTS[] = {"ab", "abc", "ab-", "a0"};
static const char *const TABLES[] = {"t", "t0", "tt", "_"};

struct parts {
    const char *tenant, *table;
    struct slice row, qualifier;
    uint16_t family; /* 0: header */
    int64_t timestamp_us;
};

static struct slice row_from(struct fuzz_input *in)
{
    struct slice row = fuzz_bytes(in, 64);
    return row.len > 0 ? row : SLICE_LIT("r");
}

static struct parts parts_from(struct fuzz_input *in)
{
    struct parts p = {.tenant = TENANTS[fuzz_below(in, 4)], .table = TABLES[fuzz_below(in, 4)]};
    p.family = (uint16_t)fuzz_number(in, 2);
    p.timestamp_us = (int64_t)(fuzz_number(in, 8) & INT64_MAX);
    p.row = row_from(in);
    p.qualifier = fuzz_bytes(in, 64);
    return p;
}

static int sign(int c)
{
    return (c > 0) - (c < 0);
}

static int parts_compare(const struct parts *a, const struct parts *b)
{
    int c = strcmp(a->tenant, b->tenant); /* in keys an ID ends with #, below all its bytes */
    if (c == 0)
        c = strcmp(a->table, b->table);
    if (c == 0)
        c = base_slice_compare(a->row, b->row);
    if (c == 0)
        c = (int)a->family - (int)b->family;
    if (c == 0 && a->family != 0)
        c = base_slice_compare(a->qualifier, b->qualifier);
    if (c == 0 && a->family != 0)
        c = (a->timestamp_us < b->timestamp_us) - (a->timestamp_us > b->timestamp_us);
    return sign(c);
}

static void expect_range(const struct sto_table_scope *scope, const struct parts *p,
                         struct slice key, const struct sto_row_range *range)
{
    static struct sto_key_bounds bounds;
    bool is_some = sto_key_bounds_of_rows(scope, range, &bounds);
    int start = base_slice_compare(p->row, range->start);
    int end = range->end.len == 0 ? -1 : base_slice_compare(p->row, range->end);
    bool wanted = (range->start_exclusive && range->start.len > 0 ? start > 0 : start >= 0) &&
                  (range->end_inclusive ? end <= 0 : end < 0);
    bool got = is_some &&
               base_slice_compare(base_slice(bounds.lower, bounds.lower_len), key) <= 0 &&
               base_slice_compare(key, base_slice(bounds.upper, bounds.upper_len)) < 0;
    INVARIANT(got == wanted);
    sto_key_bounds_of_row(scope, p->row, &bounds);
    INVARIANT(base_slice_compare(base_slice(bounds.lower, bounds.lower_len), key) <= 0 &&
              base_slice_compare(key, base_slice(bounds.upper, bounds.upper_len)) < 0);
}

static void try_parts(struct fuzz_input *in)
{
    static uint8_t key_a[STO_KEY_MAX], key_b[STO_KEY_MAX];
    struct parts a = parts_from(in), b = parts_from(in);
    uint8_t alike = fuzz_byte(in); /* near misses */
    if (alike & 1)
        b.tenant = a.tenant, b.table = a.table;
    if (alike & 2)
        b.row = a.row;
    if (alike & 4)
        b.family = a.family;
    if (alike & 8)
        b.qualifier = a.qualifier;
    struct sto_row_range range = {.start = fuzz_bytes(in, 64),
                                  .start_exclusive = alike & 16,
                                  .end = fuzz_bytes(in, 64),
                                  .end_inclusive = alike & 32};
    struct sto_table_scope scope_a = scope_of(base_slice_text(a.tenant), base_slice_text(a.table));
    struct sto_table_scope scope_b = scope_of(base_slice_text(b.tenant), base_slice_text(b.table));
    struct slice x =
        base_slice(key_a, put_key(key_a, &scope_a, a.row, a.family, a.qualifier, a.timestamp_us));
    struct slice y =
        base_slice(key_b, put_key(key_b, &scope_b, b.row, b.family, b.qualifier, b.timestamp_us));
    int order = parts_compare(&a, &b);
    INVARIANT(sign(base_slice_compare(x, y)) == order);
    INVARIANT(order == 0 || (!base_slice_starts_with(x, y) && !base_slice_starts_with(y, x)));
    expect_range(&scope_a, &a, x, &range);
    struct sto_key k;
    INVARIANT(sto_key_decode(x, &k) == ERR_OK && k.family == a.family);
    try_decode(x);
    sto_table_scope_release(&scope_a);
    sto_table_scope_release(&scope_b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {base_slice(data, size)};
    if (fuzz_byte(&in) % 2 == 0)
        try_decode(in.rest);
    else
        try_parts(&in);
    return 0;
}

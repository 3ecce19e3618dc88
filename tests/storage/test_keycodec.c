/*
 * tests/storage/test_keycodec.c - the promises of storage/keycodec.h and storage/range.h.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>

#include "storage/keycodec.h"
#include "storage/range.h"
#include "tests/support/process.h"

#include "base/banned.h"

#define CASES 150000

static uint64_t rng_state = 88172645463325252ULL;

static uint64_t rng(uint64_t below)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return rng_state % below;
}

/* Short strings over an alphabet of edges, so that prefixes of each other are common. */
static struct slice random_bytes(uint8_t *out, size_t min, size_t max)
{
    static const uint8_t alphabet[] = {0x00, 0x00, 0xff, 0x01, 0x02, 'a', 'b', '#', 0xfe};
    size_t len = min + rng(max - min + 1);
    for (size_t i = 0; i < len; i++)
        out[i] = alphabet[rng(sizeof(alphabet))];
    return base_slice(out, len);
}

static const char *const TENANTS[] = {"ab", "abc", "ab-", "abcd", "a0", "ab0"};
static const char *const TABLES[] = {"t", "t0", "tt", "_"};
static const struct sto_table_spec no_families;
static struct sto_account account;
static struct sto_table_scope scopes[6][4];

static void scopes_make(void)
{
    sto_account_init(&account, 0);
    for (size_t i = 0; i < 6; i++) {
        struct sto_tenant_scope tenant;
        ck_assert_int_eq(sto_scope_open(base_slice_text(TENANTS[i]), &account, &tenant), ERR_OK);
        for (size_t k = 0; k < 4; k++) {
            struct sto_schema *schema = NULL;
            ck_assert_int_eq(
                sto_schema_make(base_slice_text(TABLES[k]), NULL, &no_families, &schema, NULL),
                ERR_OK);
            scopes[i][k] = sto_table_scope_make(&tenant, schema);
            sto_schema_unref(schema);
        }
    }
}

static void scopes_drop(void)
{
    for (size_t i = 0; i < 24; i++)
        sto_table_scope_release(&scopes[i / 4][i % 4]);
}

struct parts {
    size_t tenant, table;
    uint8_t row_bytes[8], qualifier_bytes[8];
    struct slice row, qualifier;
    uint16_t family; /* 0: header */
    int64_t timestamp;
};

static struct parts *parts_random(struct parts *p)
{
    p->tenant = rng(6);
    p->table = rng(4);
    p->row = random_bytes(p->row_bytes, 1, 4);
    p->family = (uint16_t)(rng(4) == 0 ? 0 : rng(5) == 0 ? 65534 : rng(300));
    p->qualifier = random_bytes(p->qualifier_bytes, 0, 4);
    p->timestamp = rng(3) == 0 ? (int64_t)rng(3) : (int64_t)(rng(UINT64_MAX) >> 1);
    return p;
}

static size_t parts_encode(const struct parts *p, uint8_t *key)
{
    size_t n = sto_key_row(&scopes[p->tenant][p->table], p->row, key);
    if (p->family == 0)
        return sto_key_header(key, n);
    n = sto_key_column(key, n, p->family, p->qualifier);
    return sto_key_version(key, n, p->timestamp);
}

static int sign(int c)
{
    return (c > 0) - (c < 0);
}

static int parts_compare(const struct parts *a, const struct parts *b)
{
    char x[64], y[64];
    (void)snprintf(x, sizeof(x), "%s#", TENANTS[a->tenant]);
    (void)snprintf(y, sizeof(y), "%s#", TENANTS[b->tenant]);
    int c = strcmp(x, y);
    if (c == 0 && a->table != b->table) {
        (void)snprintf(x, sizeof(x), "%s#", TABLES[a->table]);
        (void)snprintf(y, sizeof(y), "%s#", TABLES[b->table]);
        c = strcmp(x, y);
    }
    if (c == 0)
        c = base_slice_compare(a->row, b->row);
    if (c == 0)
        c = (a->family > b->family) - (a->family < b->family);
    if (c == 0 && a->family != 0)
        c = base_slice_compare(a->qualifier, b->qualifier);
    if (c == 0 && a->family != 0)
        c = (a->timestamp < b->timestamp) - (a->timestamp > b->timestamp);
    return sign(c);
}

START_TEST(order_of_keys_is_order_of_parts)
{
    static uint8_t key_a[STO_KEY_MAX], key_b[STO_KEY_MAX];
    for (long i = process_rounds(CASES); i > 0; i--) {
        struct parts a, b;
        parts_random(&a);
        parts_random(&b);
        if (rng(2) == 0) { /* near misses */
            b.tenant = a.tenant;
            b.table = a.table;
        }
        if (rng(3) == 0) {
            b.row = a.row;
            b.family = a.family;
        }
        struct slice x = base_slice(key_a, parts_encode(&a, key_a));
        struct slice y = base_slice(key_b, parts_encode(&b, key_b));
        ck_assert_int_eq(sign(base_slice_compare(x, y)), parts_compare(&a, &b));
        if (parts_compare(&a, &b) != 0) {
            ck_assert(!base_slice_starts_with(x, y));
            ck_assert(!base_slice_starts_with(y, x));
        }
    }
}
END_TEST

START_TEST(decode_gives_back_what_was_encoded)
{
    static uint8_t key[STO_KEY_MAX], scratch[STO_KEY_MAX];
    for (long i = process_rounds(CASES); i > 0; i--) {
        struct parts p;
        parts_random(&p);
        size_t n = parts_encode(&p, key);
        struct sto_key k;
        ck_assert_int_eq(sto_key_decode(base_slice(key, n), &k), ERR_OK);
        ck_assert_uint_eq(k.family, p.family);
        ck_assert(base_slice_equal(sto_key_unescape(k.row_escaped, scratch), p.row));
        ck_assert_uint_eq(sto_key_unescaped_len(k.row_escaped), p.row.len);
        ck_assert_uint_eq(sto_key_row_prefix_len(base_slice(key, n)), k.row_prefix.len);
        if (p.family == 0)
            continue;
        ck_assert(base_slice_equal(sto_key_unescape(k.qualifier_escaped, scratch), p.qualifier));
        ck_assert_int_eq(k.timestamp_us, p.timestamp);
    }
}
END_TEST

START_TEST(decode_accepts_only_what_encode_makes)
{
    static uint8_t key[STO_KEY_MAX], again[STO_KEY_MAX];
    static uint8_t row[STO_KEY_MAX], qualifier[STO_KEY_MAX];
    int accepted = 0;
    for (long i = process_rounds(CASES); i > 0; i--) {
        struct parts p;
        parts_random(&p);
        size_t n = parts_encode(&p, key);
        switch (rng(3)) {
        case 0:
            key[rng(n)] ^= (uint8_t)(1u << rng(8));
            break;
        case 1:
            n = rng(n);
            break;
        default:
            key[n++] = (uint8_t)rng(256);
        }
        struct sto_key k;
        if (sto_key_decode(base_slice(key, n), &k) != ERR_OK)
            continue;
        accepted++;
        size_t m = k.table_prefix.len;
        memcpy(again, key, m);
        struct slice r = sto_key_unescape(k.row_escaped, row);
        for (size_t b = 0; b < r.len; b++) {
            again[m++] = r.ptr[b];
            if (r.ptr[b] == 0)
                again[m++] = 0xff;
        }
        again[m++] = 0;
        again[m++] = 1;
        if (k.family == 0) {
            m = sto_key_header(again, m);
        } else {
            m = sto_key_column(again, m, k.family,
                               sto_key_unescape(k.qualifier_escaped, qualifier));
            m = sto_key_version(again, m, k.timestamp_us);
        }
        ck_assert(base_slice_equal(base_slice(key, n), base_slice(again, m)));
    }
    ck_assert_int_gt(accepted, process_rounds(CASES) / 20);
}
END_TEST

START_TEST(a_negative_timestamp_is_damage)
{
    static uint8_t key[STO_KEY_MAX];
    size_t n = sto_key_row(&scopes[0][0], SLICE_LIT("row"), key);
    n = sto_key_column(key, n, 1, SLICE_LIT("q"));
    struct sto_key k;
    size_t end = sto_key_version(key, n, INT64_MAX);
    ck_assert_int_eq(sto_key_decode(base_slice(key, end), &k), ERR_OK);
    end = sto_key_version(key, n, -1);
    ck_assert_int_eq(sto_key_decode(base_slice(key, end), &k), ERR_CORRUPT);
}
END_TEST

START_TEST(longest_parts_fit)
{
    static uint8_t key[STO_KEY_MAX], zeros[LIM_QUALIFIER];
    char tenant[LIM_TENANT_ID + 1], table[LIM_TABLE_ID + 1];
    memset(tenant, 'z', LIM_TENANT_ID);
    memset(table, 'z', LIM_TABLE_ID);
    struct sto_tenant_scope scope;
    ck_assert_int_eq(sto_scope_open(base_slice(tenant, LIM_TENANT_ID), &account, &scope), ERR_OK);
    struct sto_schema *schema = NULL;
    ck_assert_int_eq(
        sto_schema_make(base_slice(table, LIM_TABLE_ID), NULL, &no_families, &schema, NULL),
        ERR_OK);
    struct sto_table_scope ts = sto_table_scope_make(&scope, schema);
    size_t n = sto_key_row(&ts, base_slice(zeros, LIM_ROW_KEY), key);
    n = sto_key_column(key, n, 65535, base_slice(zeros, LIM_QUALIFIER));
    n = sto_key_version(key, n, 0);
    ck_assert_uint_eq(n, STO_KEY_MAX);
    struct sto_key k;
    ck_assert_int_eq(sto_key_decode(base_slice(key, n), &k), ERR_OK);
    sto_table_scope_release(&ts);
    sto_schema_unref(schema);
}
END_TEST

START_TEST(bounds_hold_exactly_the_rows_of_the_range)
{
    static uint8_t key[STO_KEY_MAX];
    static struct sto_key_bounds b;
    for (long i = process_rounds(CASES); i > 0; i--) {
        struct parts p, ends;
        parts_random(&p);
        parts_random(&ends);
        struct sto_row_range range = {.start = rng(3) ? ends.row : SLICE_EMPTY,
                                      .start_exclusive = rng(2) == 0,
                                      .end = rng(3) ? ends.qualifier : SLICE_EMPTY};
        if (range.start.len == 0)
            range.start_exclusive = false;
        bool some = sto_key_bounds_of_rows(&scopes[ends.tenant][ends.table], &range, &b);
        struct slice k = base_slice(key, parts_encode(&p, key));
        bool inside = some && base_slice_compare(k, base_slice(b.lower, b.lower_len)) >= 0 &&
                      base_slice_compare(k, base_slice(b.upper, b.upper_len)) < 0;
        int c = base_slice_compare(p.row, range.start);
        bool wanted = p.tenant == ends.tenant && p.table == ends.table &&
                      (range.start_exclusive ? c > 0 : c >= 0) &&
                      (range.end.len == 0 || base_slice_compare(p.row, range.end) < 0);
        ck_assert_int_eq(inside, wanted);
    }
}
END_TEST

START_TEST(row_and_column_ends_are_behind_their_versions)
{
    static uint8_t key[STO_KEY_MAX], low[STO_KEY_MAX], high[STO_KEY_MAX];
    for (long i = process_rounds(CASES); i > 0; i--) {
        struct parts p, q;
        parts_random(&p);
        parts_random(&q);
        if (rng(2) == 0) {
            q.tenant = p.tenant;
            q.table = p.table;
            q.row = p.row;
        }
        if (p.family == 0)
            p.family = 1;
        if (rng(2) == 0)
            q.family = p.family;
        size_t n = sto_key_row(&scopes[p.tenant][p.table], p.row, low);
        n = sto_key_column(low, n, p.family, p.qualifier);
        memcpy(high, low, n);
        sto_key_after(high, n);
        struct slice k = base_slice(key, parts_encode(&q, key));
        bool inside = base_slice_compare(k, base_slice(low, n)) >= 0 &&
                      base_slice_compare(k, base_slice(high, n)) < 0;
        bool wanted = p.tenant == q.tenant && p.table == q.table &&
                      base_slice_equal(p.row, q.row) && p.family == q.family &&
                      base_slice_equal(p.qualifier, q.qualifier);
        ck_assert_int_eq(inside, wanted);
    }
}
END_TEST

START_TEST(tenant_ranges_hold_exactly_their_tenant)
{
    static uint8_t key[STO_KEY_MAX];
    for (long i = process_rounds(CASES); i > 0; i--) {
        struct parts p;
        parts_random(&p);
        size_t other = rng(6);
        struct sto_range r = sto_range_of_tenant(&scopes[other][0].tenant);
        struct slice k = base_slice(key, parts_encode(&p, key));
        bool inside = base_slice_compare(k, sto_range_begin(&r)) >= 0 &&
                      base_slice_compare(k, sto_range_end(&r)) < 0;
        bool inclusive = base_slice_compare(k, sto_range_begin(&r)) >= 0 &&
                         base_slice_compare(k, base_slice(r.last_inside, r.last_inside_len)) <= 0;
        ck_assert_int_eq(inside, p.tenant == other);
        ck_assert_int_eq(inclusive, p.tenant == other);
    }
}
END_TEST

/* Made of the scope, or of the name that a document's key holds. */
START_TEST(table_ranges_hold_exactly_their_table)
{
    static uint8_t key[STO_KEY_MAX];
    for (long i = process_rounds(CASES); i > 0; i--) {
        struct parts p;
        parts_random(&p);
        size_t tenant = rng(6), table = rng(4);
        struct sto_range r = sto_range_of_table(&scopes[tenant][table]);
        struct slice k = base_slice(key, parts_encode(&p, key));
        bool inside = base_slice_compare(k, sto_range_begin(&r)) >= 0 &&
                      base_slice_compare(k, sto_range_end(&r)) < 0;
        ck_assert_int_eq(inside, p.tenant == tenant && p.table == table);
        ck_assert_uint_eq(r.last_inside_len, 0);
        char name[160];
        struct sto_range named;
        (void)snprintf(name, sizeof name, "%s/%s", TENANTS[tenant],
                       scopes[tenant][table].schema->table->id);
        ck_assert_int_eq(sto_range_of_table_named(base_slice_text(name), &named, NULL), ERR_OK);
        ck_assert(base_slice_equal(sto_range_begin(&r), sto_range_begin(&named)) &&
                  base_slice_equal(sto_range_end(&r), sto_range_end(&named)));
    }
}
END_TEST

static struct sto_span span_of(const char *begin, const char *end)
{
    static struct sto_range r;
    r = sto_range_of_table(&scopes[0][0]);
    static uint8_t keys[2][64];
    struct slice prefix = sto_range_begin(&r);
    size_t lengths[2] = {strlen(begin), strlen(end)};
    for (int i = 0; i < 2; i++) {
        memcpy(keys[i], prefix.ptr, prefix.len);
        memcpy(keys[i] + prefix.len, i == 0 ? begin : end, lengths[i]);
    }
    struct slice a = base_slice(keys[0], prefix.len + lengths[0]);
    struct slice b = base_slice(keys[1], prefix.len + lengths[1]);
    return lengths[1] == 0 ? sto_span_of_rows(&r, a, sto_range_end(&r))
                           : sto_span_of_rows(&r, a, b);
}

START_TEST(spans_are_parts_of_their_table)
{
    size_t prefix = sto_range_of_table(&scopes[0][0]).begin_len;
    ck_assert_uint_eq(span_of("a", "b").begin.len, prefix + 1);
    ck_assert_uint_eq(span_of("", "b").begin.len, prefix);
    ck_assert_uint_eq(span_of("\xff", "").end.len, prefix);
}
END_TEST

START_TEST(an_empty_or_reversed_span_aborts)
{
    (void)(_i == 0 ? span_of("b", "b") : span_of("b", "a"));
}
END_TEST

/* Of a neighbour's key on either side. */
START_TEST(a_span_that_leaves_its_table_aborts)
{
    struct sto_range r = sto_range_of_table(&scopes[0][0]);
    struct sto_range other = sto_range_of_tenant(&scopes[0][0].tenant);
    (void)(_i == 0 ? sto_span_of_rows(&r, sto_range_begin(&other), sto_range_end(&r))
                   : sto_span_of_rows(&r, sto_range_begin(&r), sto_range_end(&other)));
}
END_TEST

START_TEST(names_of_no_table_make_no_range)
{
    static const char *const bad[] = {"",    "/",      "ab",     "ab/",    "/t",
                                      "a/t", "ab/t/u", "ab/t#u", "ab#t/u", "aB/t"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sto_range r;
        struct errbuf eb = {{0}};
        ck_assert_int_eq(sto_range_of_table_named(base_slice_text(bad[i]), &r, &eb), ERR_CORRUPT);
        ck_assert_int_ne(eb.text[0], '\0');
    }
}
END_TEST

START_TEST(document_ranges_hold_exactly_their_tenant)
{
    for (size_t i = 0; i < 6; i++) {
        struct sto_range r = sto_range_of_docs(&scopes[i][0].tenant, 'u');
        for (size_t k = 0; k < 6; k++) {
            char doc[80];
            (void)snprintf(doc, sizeof(doc), "u/%s/table", TENANTS[k]);
            struct slice s = base_slice_text(doc);
            bool inside = base_slice_compare(s, sto_range_begin(&r)) >= 0 &&
                          base_slice_compare(s, sto_range_end(&r)) < 0;
            ck_assert_int_eq(inside, i == k);
        }
    }
}
END_TEST

START_TEST(tenant_ids_follow_the_rule)
{
    static const char *const good[] = {"ab", "a-", "0a", "altostrat", "a-b-c"};
    static const char *const bad[] = {"", "a", "-a", "aB", "a#", "a_b", "a b", "a/b", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        ck_assert_int_eq(sto_tenant_id_check(base_slice_text(good[i]), NULL), ERR_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_int_eq(sto_tenant_id_check(base_slice_text(bad[i]), NULL), ERR_INVALID);
    char longest[LIM_TENANT_ID + 1];
    memset(longest, 'a', sizeof(longest));
    ck_assert_int_eq(sto_tenant_id_check(base_slice(longest, LIM_TENANT_ID), NULL), ERR_OK);
    ck_assert_int_eq(sto_tenant_id_check(base_slice(longest, LIM_TENANT_ID + 1), NULL),
                     ERR_INVALID);
}
END_TEST

Suite *suite_storage_keycodec(void);

Suite *suite_storage_keycodec(void)
{
    Suite *s = suite_create("storage_keycodec");
    TCase *t = tcase_create("codec");
    tcase_add_checked_fixture(t, scopes_make, scopes_drop);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, order_of_keys_is_order_of_parts);
    tcase_add_test(t, decode_gives_back_what_was_encoded);
    tcase_add_test(t, decode_accepts_only_what_encode_makes);
    tcase_add_test(t, a_negative_timestamp_is_damage);
    tcase_add_test(t, longest_parts_fit);
    tcase_add_test(t, bounds_hold_exactly_the_rows_of_the_range);
    tcase_add_test(t, row_and_column_ends_are_behind_their_versions);
    tcase_add_test(t, tenant_ranges_hold_exactly_their_tenant);
    tcase_add_test(t, table_ranges_hold_exactly_their_table);
    tcase_add_test(t, spans_are_parts_of_their_table);
    tcase_add_loop_test_raise_signal(t, an_empty_or_reversed_span_aborts, SIGABRT, 0, 2);
    tcase_add_loop_test_raise_signal(t, a_span_that_leaves_its_table_aborts, SIGABRT, 0, 2);
    tcase_add_test(t, names_of_no_table_make_no_range);
    tcase_add_test(t, document_ranges_hold_exactly_their_tenant);
    tcase_add_test(t, tenant_ids_follow_the_rule);
    suite_add_tcase(s, t);
    return s;
}

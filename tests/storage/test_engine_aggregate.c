/*
 * tests/storage/test_engine_aggregate.c - cells that are added to.
 */
#include "fixture.h"
#include "hold.h"

#include "base/banned.h"

Suite *suite_storage_engine_aggregate(void);

#define T &fix.tables[0][0]

enum { SUM = 3, MIN, MAX, HLL };

static void setup(void)
{
    fix.aggregates = true;
    fix_setup();
}

static struct sto_mutation change(enum sto_mutation_kind kind, uint16_t family, int64_t ts,
                                  struct slice value)
{
    return (struct sto_mutation){.kind = kind,
                                 .family = family,
                                 .qualifier = SLICE_LIT("q"),
                                 .timestamp_us = ts,
                                 .value = value};
}

static struct slice number(int64_t n)
{
    static uint8_t bytes[64][8];
    static size_t next;
    uint8_t *out = bytes[next++ % 64];
    sto_put_be64(out, (uint64_t)n);
    return base_slice(out, 8);
}

static struct sto_mutation add(uint16_t family, int64_t ts, struct slice value)
{
    return change(STO_ADD_TO_CELL, family, ts, value);
}

/* The value of the first cell of a row's family. */
static void read_value(const char *row, uint16_t family, struct buf *out)
{
    struct fix_sink s;
    fix_sink_init(&s);
    struct sto_read_spec spec = {.row_key = base_slice_text(row),
                                 .narrowed = true,
                                 .projection = fix_family(family),
                                 .versions = 1};
    ck_assert_int_eq(fix_read(T, &spec, &s, true), ERR_OK);
    const uint8_t *value = memchr(s.text.ptr, '=', s.text.len);
    ck_assert_ptr_nonnull(value);
    size_t len = (size_t)(s.text.ptr + s.text.len - 3 - (value + 1)); /* without ",}" and NUL */
    ck_assert_int_eq(base_buf_append(out, base_slice(value + 1, len)), ERR_OK);
    base_buf_fini(&s.text);
}

static int64_t read_number(const char *row, uint16_t family)
{
    struct buf b;
    base_buf_init(&b, 8);
    read_value(row, family, &b);
    ck_assert_uint_eq(b.len, 8);
    int64_t n = (int64_t)sto_get_be64(b.ptr);
    base_buf_fini(&b);
    return n;
}

static uint64_t read_estimate(const char *row)
{
    struct buf b;
    uint64_t n = 0;
    base_buf_init(&b, STO_AGGREGATE_STATE_MAX);
    read_value(row, HLL, &b);
    ck_assert_int_eq(sto_aggregate_estimate(base_buf_slice(&b), &n), ERR_OK);
    base_buf_fini(&b);
    return n;
}

START_TEST(cells_hold_what_was_added)
{
    struct sto_mutation m[9];
    size_t n = 0;
    const uint16_t last = MAX;
    for (uint16_t f = SUM; f <= last; f++) {
        m[n++] = add(f, 1000, number(5));
        m[n++] = add(f, 1000, number(-8));
        m[n++] = change(STO_MERGE_TO_CELL, f, 1000, number(1));
    }
    ck_assert_int_eq(
        sto_mutations_check((T)->schema, &fix.accounts[0], SLICE_LIT("row"), m, n, NULL), ERR_OK);
    for (int round = 1; round <= 3; round++) {
        ck_assert_int_eq(fix_mutate(T, "row", m, n), ERR_OK);
        ck_assert_int_eq(read_number("row", SUM), -2 * round);
        ck_assert_int_eq(read_number("row", MIN), -8);
        ck_assert_int_eq(read_number("row", MAX), 5);
        fix_assert_usage(0, 3 * (3 + 3 + 1 + 8 + 8), 1, 3);
        fix_assert_no_drift(0);
        fix_reopen();
    }
}
END_TEST

START_TEST(timestamps_are_cells_of_their_own)
{
    struct sto_mutation m[] = {add(SUM, 1000, number(1)), add(SUM, 2000, number(2)),
                               add(SUM, STO_TIMESTAMP_SERVER, number(4)),
                               add(SUM, 1000, number(8))};
    ck_assert_int_eq(fix_mutate(T, "row", m, 4), ERR_OK);
    fix_assert_usage(0, 3 * (3 + 3 + 1 + 8 + 8), 1, 3);
    ck_assert_int_eq(read_number("row", SUM), 4); /* the newest */
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_sum_out_of_range_changes_nothing)
{
    struct sto_mutation first = add(SUM, 1000, number(INT64_MAX));
    struct sto_mutation then[] = {add(MIN, 1000, number(1)), add(SUM, 1000, number(-1)),
                                  add(SUM, 1000, number(2))};
    ck_assert_int_eq(fix_mutate(T, "row", &first, 1), ERR_OK);
    ck_assert_int_eq(fix_mutate(T, "row", then, 3), ERR_INVALID);
    ck_assert_str_eq(fix_detail.text, "mutation 3: the sum leaves the range of a 64-bit integer");
    ck_assert_int_eq(read_number("row", SUM), INT64_MAX);
    fix_assert_usage(0, 3 + 3 + 1 + 8 + 8, 1, 1);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(operations_of_one_batch_see_each_other)
{
    enum { OPS = 90 };
    static struct sto_mutate_op ops[OPS];
    static struct sto_mutation m[OPS][2];
    static uint64_t inputs[OPS];
    for (int stored = 1; stored <= 2; stored++) {
        fix_hold_committer(0);
        for (size_t i = 0; i < OPS; i++) {
            inputs[i] = i / 2;
            m[i][0] = add(SUM, 1000, number(1));
            m[i][1] = i % 3 == 2 ? add(SUM, 1000, number(INT64_MAX)) /* refused */
                                 : add(HLL, 1000, base_slice(&inputs[i], 8));
            ops[i] = (struct sto_mutate_op){.scope = fix.tables[0][0],
                                            .row_key = SLICE_LIT("row"),
                                            .mutations = m[i],
                                            .mutation_count = 2};
            fix_submit(&ops[i]);
        }
        fix_let_go();
        for (size_t i = 0; i < OPS; i++)
            ck_assert_int_eq(ops[i].result, i % 3 == 2 ? ERR_INVALID : ERR_OK);
        ck_assert_int_eq(read_number("row", SUM), stored * OPS / 3 * 2);
        ck_assert_uint_eq(read_estimate("row"), OPS / 2);
        fix_assert_no_drift(0);
    }
}
END_TEST

/* One operation, many inputs: the state is made in place, and turns dense on the way. */
START_TEST(distinct_inputs_are_counted)
{
    enum { COUNT = 20000 };
    struct sto_mutation *m = base_new_array(COUNT, sizeof(*m));
    uint64_t *inputs = base_new_array(COUNT, sizeof(*inputs));
    for (uint64_t i = 0; i < COUNT; i++) {
        inputs[i] = i;
        m[i] = add(HLL, 1000, base_slice(&inputs[i], 8));
    }
    ck_assert_int_eq(fix_mutate(T, "row", m, 500), ERR_OK);
    ck_assert_uint_eq(read_estimate("row"), 500);
    fix_assert_no_drift(0);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(fix_mutate(T, "row", m, COUNT), ERR_OK);
        uint64_t n = read_estimate("row");
        ck_assert(n > COUNT * 97 / 100 && n < COUNT * 103 / 100);
        fix_assert_usage(0, 3 + 3 + 1 + STO_AGGREGATE_STATE_MAX + 8, 1, 1);
        fix_assert_no_drift(0);
    }
    struct buf state;
    base_buf_init(&state, STO_AGGREGATE_STATE_MAX);
    read_value("row", HLL, &state);
    struct sto_mutation merge = change(STO_MERGE_TO_CELL, HLL, 1000, base_buf_slice(&state));
    ck_assert_int_eq(fix_mutate(T, "other", &merge, 1), ERR_OK);
    ck_assert_uint_eq(read_estimate("other"), read_estimate("row"));
    base_buf_fini(&state);
    base_free(m);
    base_free(inputs);
}
END_TEST

START_TEST(a_deleted_cell_begins_again)
{
    struct sto_mutation m[] = {add(SUM, 1000, number(5)),
                               {.kind = STO_DELETE_FROM_FAMILY, .family = SUM},
                               add(SUM, 1000, number(3))};
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(fix_mutate(T, "row", m, 3), ERR_OK);
        ck_assert_int_eq(read_number("row", SUM), 3);
        fix_assert_no_drift(0);
    }
}
END_TEST

/* What sto_mutations_check would have refused, and what only the commit can see. */
START_TEST(limits_hold_at_the_commit)
{
    struct sto_mutation wrong[] = {fix_set(SUM, "q", 1000, number(1)),
                                   fix_append(SUM, "q", SLICE_LIT("x")),
                                   fix_increment(SUM, "q", 1),
                                   add(1, 1000, number(1)),
                                   add(SUM, 1000, SLICE_LIT("1234567")),
                                   change(STO_MERGE_TO_CELL, HLL, 1000, SLICE_LIT("\x07")),
                                   change(STO_MERGE_TO_CELL, 1, 1000, number(1))};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ck_assert_int_eq(sto_mutations_check((T)->schema, &fix.accounts[0], SLICE_LIT("row"),
                                             &wrong[i], 1, NULL),
                         ERR_INVALID);
        ck_assert_int_eq(fix_mutate(T, "row", &wrong[i], 1), ERR_INVALID);
    }
    struct sto_mutation unknown = add(9, 1000, number(1));
    ck_assert_int_eq(fix_mutate(T, "row", &unknown, 1), ERR_NOT_FOUND);
    fix_assert_usage(0, 0, 0, 0);
    struct sto_mutation m[] = {add(HLL, 1000, SLICE_LIT("a")), add(HLL, 1000, SLICE_LIT("b"))};
    sto_account_limit_set(&fix.accounts[0], STO_LIMIT_CELL, 5);
    ck_assert_int_eq(fix_mutate(T, "row", &m[0], 1), ERR_OK);
    ck_assert_int_eq(fix_mutate(T, "row", &m[1], 1), ERR_TOO_BIG);
    ck_assert_int_eq(fix_mutate(T, "row", &m[0], 1), ERR_OK);
    sto_account_limit_set(&fix.accounts[0], STO_LIMIT_CELL, UINT64_MAX);
    atomic_store(&fix.accounts[0].bytes_max, 3 + 3 + 1 + 5 + 8 + 3);
    ck_assert_int_eq(fix_mutate(T, "row", &m[1], 1), ERR_QUOTA);
    ck_assert_uint_eq(read_estimate("row"), 1);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_damaged_state_is_reported)
{
    struct sto_mutation m = add(SUM, 1000, number(5));
    ck_assert_int_eq(fix_mutate(T, "row", &m, 1), ERR_OK);
    struct rdb_db *db = &sto_rdb_engine(fix.engine)->db;
    uint8_t key[STO_KEY_MAX];
    size_t n = sto_key_row(T, SLICE_LIT("row"), key);
    n = sto_key_version(key, sto_key_column(key, n, SUM, SLICE_LIT("q")), 1000);
    char *error = NULL;
    rocksdb_put_cf(db->handle, db->synced, db->cells, (const char *)key, n, "\x01\x03seven..", 9,
                   &error);
    ck_assert_ptr_null(error);
    ck_assert_int_eq(fix_mutate(T, "row", &m, 1), ERR_CORRUPT);
    ck_assert_int_eq(fix_put(T, "other", "v"), ERR_OK);
}
END_TEST

Suite *suite_storage_engine_aggregate(void)
{
    Suite *s = suite_create("storage_engine_aggregate");
    TCase *t = tcase_create("aggregate");
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, cells_hold_what_was_added);
    tcase_add_test(t, timestamps_are_cells_of_their_own);
    tcase_add_test(t, a_sum_out_of_range_changes_nothing);
    tcase_add_test(t, operations_of_one_batch_see_each_other);
    tcase_add_test(t, distinct_inputs_are_counted);
    tcase_add_test(t, a_deleted_cell_begins_again);
    tcase_add_test(t, limits_hold_at_the_commit);
    tcase_add_test(t, a_damaged_state_is_reported);
    suite_add_tcase(s, t);
    return s;
}

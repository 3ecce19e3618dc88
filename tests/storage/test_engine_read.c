/*
 * tests/storage/test_engine_read.c - which rows and cells come, in what slices, from where.
 *
 * Over 500 lines because rows, slices and what ends them are tested with the same few tables.
 */
#include "fixture.h"

#include "base/text.h"
#include "base/watchdog.h"
#include "storage/range.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/slice.h"
#include "tests/storage/hold.h"

#include "base/banned.h"

Suite *suite_storage_engine_read(void);

#define T &fix.tables[0][0]

static void put_rows(size_t count, size_t value_len)
{
    char *value = base_new(value_len + 1);
    memset(value, 'v', value_len);
    struct sto_mutate_op *ops = base_new_array(count, sizeof(*ops));
    struct sto_mutation set = fix_set(1, "q", 1000, base_slice(value, value_len));
    char(*rows)[24] = base_new_array(count, sizeof(*rows));
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(rows[i], sizeof(rows[i]), "row%08zu", i);
        ops[i] = (struct sto_mutate_op){.scope = *T,
                                        .row_key = base_slice_text(rows[i]),
                                        .mutations = &set,
                                        .mutation_count = 1};
        fix_submit(&ops[i]);
    }
    for (size_t i = 0; i < count; i++) {
        fix_until_taken(&ops[i]);
        ck_assert_int_eq(ops[i].result, ERR_OK);
    }
    base_free(ops);
    base_free(rows);
    base_free(value);
}

/* Columns c0000.. of family f, so that the row is large. */
static void put_wide_row(const char *row, size_t columns, size_t value_len)
{
    struct sto_mutation *m = base_new_array(columns, sizeof(*m));
    char(*names)[24] = base_new_array(columns, sizeof(*names));
    char *value = base_new(value_len + 1);
    memset(value, 'w', value_len);
    for (size_t i = 0; i < columns; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "c%06zu", i);
        m[i] = fix_set(1, names[i], 1000, base_slice(value, value_len));
    }
    ck_assert_int_eq(fix_mutate(T, row, m, columns), ERR_OK);
    base_free(m);
    base_free(names);
    base_free(value);
}

START_TEST(ranges_and_prefixes_give_their_rows)
{
    static const char *const rows[] = {"a", "aa", "ab", "b", "\xff", "\xff\xff"};
    for (size_t i = 0; i < 6; i++)
        ck_assert_int_eq(fix_put(T, rows[i], rows[i]), ERR_OK);
    ck_assert_int_eq(fix_put(&fix.tables[0][1], "aa", "other table"), ERR_OK);
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "aa", "other tenant"), ERR_OK);
    struct sto_read_spec spec = {.rows =
                                     FIX_RANGE(.start = SLICE_LIT("aa"), .end = SLICE_LIT("b"))};
    fix_assert_rows(T, &spec, "aa{f:q@1000=aa,}ab{f:q@1000=ab,}");
    spec.rows = (struct sto_row_set)FIX_RANGE(.start = SLICE_LIT("aa"), .start_exclusive = true,
                                              .end = SLICE_LIT("b"));
    fix_assert_rows(T, &spec, "ab{f:q@1000=ab,}");
    uint8_t end[LIM_ROW_KEY];
    struct sto_row_range range = sto_range_of_prefix(SLICE_LIT("a"), end);
    spec = (struct sto_read_spec){.rows = {.ranges = &range, .count = 1}};
    fix_assert_rows(T, &spec, "a{f:q@1000=a,}aa{f:q@1000=aa,}ab{f:q@1000=ab,}");
    spec.row_limit = 2;
    fix_assert_rows(T, &spec, "a{f:q@1000=a,}aa{f:q@1000=aa,}");
    range = sto_range_of_prefix(SLICE_LIT("\xff"), end);
    spec.row_limit = 0;
    fix_assert_rows(T, &spec, "\xff{f:q@1000=\xff,}\xff\xff{f:q@1000=\xff\xff,}");
    range = (struct sto_row_range){.start = SLICE_LIT("c"), .end = SLICE_LIT("d")};
    fix_assert_rows(T, &spec, "");
    range = (struct sto_row_range){.start = SLICE_LIT("d"), .end = SLICE_LIT("c")};
    fix_assert_rows(T, &spec, "");
}
END_TEST

START_TEST(a_single_row_is_exactly_that_row)
{
    ck_assert_int_eq(fix_put(T, "a", "1"), ERR_OK);
    ck_assert_int_eq(fix_put(T, "ab", "2"), ERR_OK);
    struct sto_read_spec spec = {.row_key = SLICE_LIT("a")};
    fix_assert_rows(T, &spec, "a{f:q@1000=1,}");
    spec.row_key = SLICE_LIT("b");
    fix_assert_rows(T, &spec, "");
    fix_reopen(); /* now from files, through their filters */
    spec.row_key = SLICE_LIT("ab");
    fix_assert_rows(T, &spec, "ab{f:q@1000=2,}");
    spec.row_key = SLICE_LIT("b");
    fix_assert_rows(T, &spec, "");
}
END_TEST

START_TEST(columns_and_versions_are_restricted_exactly)
{
    struct sto_mutation m[24];
    size_t n = 0;
    static const char *const qualifiers[] = {"a", "b", "c"};
    for (int f = 1; f <= 2; f++)
        for (int q = 0; q < 3; q++)
            for (int t = 1; t <= 4; t++)
                m[n++] = fix_set((uint16_t)f, qualifiers[q], t * 1000, SLICE_LIT("v"));
    ck_assert_int_eq(fix_mutate(T, "r1", m, n), ERR_OK);
    ck_assert_int_eq(fix_mutate(T, "r2", m, 12), ERR_OK); /* f only */
    struct sto_mutation late = fix_set(2, "b", 9000, SLICE_LIT("w"));
    ck_assert_int_eq(fix_mutate(T, "r3", &late, 1), ERR_OK); /* gg only */
    struct sto_read_spec spec = {.versions = 1};
    fix_assert_rows(T, &spec,
                    "r1{f:a@4000=v,f:b@4000=v,f:c@4000=v,gg:a@4000=v,gg:b@4000=v,gg:c@4000=v,}"
                    "r2{f:a@4000=v,f:b@4000=v,f:c@4000=v,}r3{gg:b@9000=w,}");
    spec = (struct sto_read_spec){.narrowed = true, .projection = fix_family(2), .versions = 1};
    fix_assert_rows(T, &spec, "r1{gg:a@4000=v,gg:b@4000=v,gg:c@4000=v,}r3{gg:b@9000=w,}");
    spec = (struct sto_read_spec){.narrowed = true, .projection = fix_column(1, SLICE_LIT("b"))};
    fix_assert_rows(T, &spec,
                    "r1{f:b@4000=v,f:b@3000=v,f:b@2000=v,f:b@1000=v,}"
                    "r2{f:b@4000=v,f:b@3000=v,f:b@2000=v,f:b@1000=v,}");
    spec.versions = 2;
    spec.row_key = SLICE_LIT("r2");
    fix_assert_rows(T, &spec, "r2{f:b@4000=v,f:b@3000=v,}");
    spec.projection = fix_column(1, SLICE_LIT("bb"));
    fix_assert_rows(T, &spec, "");
    spec = (struct sto_read_spec){
        .row_key = SLICE_LIT("r3"), .narrowed = true, .projection = fix_family(1)};
    fix_assert_rows(T, &spec, "");
}
END_TEST

START_TEST(seeks_and_steps_over_many_versions_give_the_same)
{
    static struct sto_mutation m[60];
    for (int t = 0; t < 40; t++)
        m[t] = fix_set(1, "many", (t + 1) * 1000, SLICE_LIT("v"));
    for (int t = 0; t < 20; t++)
        m[40 + t] = fix_set(2, "many", (t + 1) * 1000, SLICE_LIT("v"));
    for (int r = 0; r < 30; r++) {
        char row[24];
        (void)snprintf(row, sizeof(row), "r%02d", r);
        ck_assert_int_eq(fix_mutate(T, row, m, 60), ERR_OK);
    }
    struct sto_read_spec spec = {.versions = 1, .row_limit = 2};
    fix_assert_rows(T, &spec,
                    "r00{f:many@40000=v,gg:many@20000=v,}r01{f:many@40000=v,gg:many@20000=v,}");
    spec = (struct sto_read_spec){.versions = 1,
                                  .narrowed = true,
                                  .projection = fix_column(2, SLICE_LIT("many")),
                                  .rows = FIX_RANGE(.start = SLICE_LIT("r28"))};
    fix_assert_rows(T, &spec, "r28{gg:many@20000=v,}r29{gg:many@20000=v,}");
}
END_TEST

START_TEST(keys_and_qualifiers_may_hold_any_byte)
{
    struct sto_mutation m = {.kind = STO_SET_CELL,
                             .family = 1,
                             .qualifier = SLICE_LIT("\0q\xff\0"),
                             .timestamp_us = 1000,
                             .value = SLICE_LIT("\0")};
    struct sto_mutate_op op = {
        .scope = *T, .row_key = SLICE_LIT("\0k\0\xff"), .mutations = &m, .mutation_count = 1};
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_OK);
    struct fix_sink s;
    fix_sink_init(&s);
    ck_assert_int_eq(fix_read(T, &(struct sto_read_spec){0}, &s, true), ERR_OK);
    struct slice wanted = SLICE_LIT("\0k\0\xff{f:\0q\xff\0@1000=\0,}\0");
    ck_assert(base_slice_equal(base_buf_slice(&s.text), wanted));
    base_buf_fini(&s.text);
    fix_assert_usage(0, 4 + 1 + 4 + 1 + 8, 1, 1);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(gc_rules_hide_exactly_what_they_say)
{
    fix.gc[0] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = 2};
    fix.gc[1] = (struct sto_gc_node){.kind = STO_GC_MAX_AGE, .max_age_us = 3600ULL * 1000000};
    fix_reopen();
    int64_t now = base_wall_us() / 1000 * 1000;
    struct sto_mutation m[6] = {
        fix_set(1, "q", 1000, SLICE_LIT("1")),  fix_set(1, "q", 2000, SLICE_LIT("2")),
        fix_set(1, "q", 3000, SLICE_LIT("3")),  fix_set(2, "q", 1000, SLICE_LIT("old")),
        fix_set(2, "q", now, SLICE_LIT("new")), fix_set(2, "r", 1000, SLICE_LIT("old"))};
    ck_assert_int_eq(fix_mutate(T, "row", m, 6), ERR_OK);
    ck_assert_int_eq(fix_mutate(T, "sow", &m[5], 1), ERR_OK); /* nothing visible: no row */
    char wanted[128];
    (void)snprintf(wanted, sizeof(wanted), "row{f:q@3000=3,f:q@2000=2,gg:q@%lld=new,}",
                   (long long)now);
    fix_assert_rows(T, &(struct sto_read_spec){0}, wanted);
    fix_assert_rows(T, &(struct sto_read_spec){.versions = 5}, wanted);
    fix_assert_rows(
        T, &(struct sto_read_spec){.versions = 1, .narrowed = true, .projection = fix_family(1)},
        "row{f:q@3000=3,}");
    /* A row without a visible cell does not use up the limit either. */
    ck_assert_int_eq(fix_put(T, "tow", "t"), ERR_OK);
    fix_assert_rows(
        T, &(struct sto_read_spec){.row_limit = 1, .rows = FIX_RANGE(.start = SLICE_LIT("s"))},
        "tow{f:q@1000=t,}");
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(cells_of_a_removed_family_are_not_seen_but_counted)
{
    struct sto_mutation m[2] = {fix_set(1, "q", 1000, SLICE_LIT("1")),
                                fix_set(2, "q", 1000, SLICE_LIT("2"))};
    ck_assert_int_eq(fix_mutate(T, "row", m, 2), ERR_OK);
    struct sto_family_spec only_g = {.name = SLICE_LIT("gg")};
    struct sto_schema *schema = fix_schema("t", fix.tables[0][0].schema, &only_g, 1);
    struct sto_table_scope scope = sto_table_scope_make(&fix.tenants[0], schema);
    sto_schema_unref(schema);
    fix_assert_rows(&scope, &(struct sto_read_spec){0}, "row{gg:q@1000=2,}");
    struct sto_family_spec only_f = {.name = SLICE_LIT("f")};
    schema = fix_schema("t", fix.tables[0][0].schema, &only_f, 1);
    struct sto_table_scope first = sto_table_scope_make(&fix.tenants[0], schema);
    sto_schema_unref(schema);
    fix_assert_rows(&first, &(struct sto_read_spec){0}, "row{f:q@1000=1,}");
    fix_assert_rows(&first, &(struct sto_read_spec){.versions = 1}, "row{f:q@1000=1,}");
    sto_table_scope_release(&first);
    fix_assert_usage(0, 14 + 15 - 0, 1, 2);
    fix_assert_no_drift(0);
    struct sto_usage removed;
    ck_assert_int_eq(fix_drop(&scope, (struct sto_row_range){0}, 1, &removed), ERR_OK);
    ck_assert_uint_eq(removed.cells, 1);
    ck_assert_uint_eq(removed.rows, 0);
    fix_assert_usage(0, 15, 1, 1);
    fix_assert_no_drift(0);
    sto_table_scope_release(&scope);
}
END_TEST

/* Read everything in slices of so many bytes and compare with one read in one piece. */
static struct fix_sink assert_same_in_slices(const struct sto_read_spec *spec, size_t full_bytes,
                                             bool try_inline)
{
    struct fix_sink whole, sliced;
    fix_sink_init(&whole);
    fix_sink_init(&sliced);
    sliced.full_bytes = full_bytes;
    ck_assert_int_eq(fix_read(T, spec, &whole, false), ERR_OK);
    ck_assert_int_eq(fix_read(T, spec, &sliced, try_inline), ERR_OK);
    ck_assert_uint_eq(whole.text.len, sliced.text.len);
    ck_assert(base_slice_equal(base_buf_slice(&whole.text), base_buf_slice(&sliced.text)));
    base_buf_fini(&whole.text);
    base_buf_fini(&sliced.text);
    return sliced;
}

/* The second file of a row may not be in memory. RocksDB 7.8.3 forgets that it could not enter a
 * file, unless it does not look for range tombstones. */
START_TEST(rows_that_span_files_are_whole)
{
    enum { ROWS = 20000 };
    for (int i = 0; i < ROWS; i++) {
        char row[16];
        (void)snprintf(row, sizeof(row), "row%05d", i * 7919 % ROWS);
        struct sto_mutation m[2] = {fix_set(1, "a", 1000, base_slice_text(row)),
                                    fix_set(2, "b", 1000, base_slice_text(row))};
        ck_assert_int_eq(fix_mutate(T, row, m, 2), ERR_OK);
    }
    fix_reopen();
    fix_wait_for_memory();
    for (int i = 0; i < ROWS; i++) {
        char row[16], wanted[80];
        struct fix_sink s;
        (void)snprintf(row, sizeof(row), "row%05d", i);
        (void)snprintf(wanted, sizeof(wanted), "%s{f:a@1000=%s,gg:b@1000=%s,}", row, row, row);
        fix_sink_init(&s);
        const struct sto_read_spec spec = {.row_key = base_slice_text(row)};
        ck_assert_int_eq(fix_read(T, &spec, &s, true), ERR_OK);
        ck_assert_str_eq((const char *)s.text.ptr, wanted);
        base_buf_fini(&s.text);
    }
}
END_TEST

START_TEST(slices_join_to_the_whole)
{
    put_rows(3000, 100);
    for (int reopened = 0; reopened < 2; reopened++) {
        for (int try_inline = 0; try_inline < 2; try_inline++) {
            struct fix_sink s =
                assert_same_in_slices(&(struct sto_read_spec){0}, 1000, try_inline != 0);
            ck_assert_uint_gt(s.slices, 300);
            s = assert_same_in_slices(&(struct sto_read_spec){0}, SIZE_MAX, try_inline != 0);
            if (try_inline != 0)
                ck_assert_uint_ge(s.slices, 3000 * 2 / LIM_INLINE_STEPS);
        }
        fix_reopen();
        fix_wait_for_memory();
    }
}
END_TEST

static uint64_t bytes_seen_by(const struct sto_read_spec *spec, size_t full_bytes, bool try_inline)
{
    struct sto_read_op op = {.scope = *T, .spec = *spec};
    struct fix_sink sink;
    fix_sink_init(&sink);
    sink.full_bytes = full_bytes;
    uint64_t before = 0;
    do {
        fix_slice(&op, &sink, try_inline);
        ck_assert_uint_ge(op.bytes_seen, before); /* what was charged is never taken back */
        before = op.bytes_seen;
    } while (op.state == STO_READ_MORE);
    ck_assert_int_eq(op.state, STO_READ_END);
    sto_read_finish(fix.engine, &op);
    base_buf_fini(&sink.text);
    return op.bytes_seen;
}

START_TEST(bytes_seen_do_not_depend_on_how_a_read_is_cut)
{
    /* as stored: key and its end; family, qualifier and its end, timestamp; head and value */
    const uint64_t row = 11 + 2 + (2 + 1 + 2 + 8) + (2 + 100);
    put_rows(3000, 100);
    for (int reversed = 0; reversed < 2; reversed++) {
        struct sto_read_spec all = {.reversed = reversed != 0};
        ck_assert_uint_eq(bytes_seen_by(&all, SIZE_MAX, false), 3000 * row);
        ck_assert_uint_eq(bytes_seen_by(&all, 1000, false), 3000 * row);
        ck_assert_uint_eq(bytes_seen_by(&all, SIZE_MAX, true), 3000 * row);
    }
    struct sto_read_spec point = {.row_key = SLICE_LIT("row00000007")};
    ck_assert_uint_eq(bytes_seen_by(&point, SIZE_MAX, true), row);
    point.row_key = SLICE_LIT("none");
    ck_assert_uint_eq(bytes_seen_by(&point, SIZE_MAX, true), 0);
}
END_TEST

START_TEST(a_huge_row_stays_whole_over_slices)
{
    ck_assert_int_eq(fix_put(T, "before", "b"), ERR_OK);
    put_wide_row("huge", 20000, 100);
    ck_assert_int_eq(fix_put(T, "later", "l"), ERR_OK);
    for (int try_inline = 0; try_inline < 2; try_inline++) {
        struct fix_sink s =
            assert_same_in_slices(&(struct sto_read_spec){0}, 100000, try_inline != 0);
        ck_assert_uint_gt(s.slices, 15);
        ck_assert_uint_gt(s.halves, 10);
        struct sto_read_spec single = {.row_key = SLICE_LIT("huge")};
        s = assert_same_in_slices(&single, 100000, try_inline != 0);
        ck_assert_uint_gt(s.halves, 10);
    }
    /* What changes meanwhile is not seen in the middle of the row. */
    struct sto_read_op op = {.scope = *T, .spec = {.row_key = SLICE_LIT("huge")}};
    struct fix_sink s;
    fix_sink_init(&s);
    s.full_bytes = 100000;
    fix_slice(&op, &s, false);
    ck_assert_int_eq(op.state, STO_READ_MORE);
    ck_assert_uint_eq(atomic_load(&fix.accounts[0].reads_open), 0);
    ck_assert_int_eq(fix_delete_row(T, "huge"), ERR_OK);
    while (op.state == STO_READ_MORE)
        fix_slice(&op, &s, false);
    ck_assert_int_eq(op.state, STO_READ_END);
    ck_assert_uint_eq(op.cells_seen, 20000);
    sto_read_finish(fix.engine, &op);
    base_buf_fini(&s.text);
    ck_assert_uint_eq(atomic_load(&fix.accounts[0].reads_open), 0);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "before{f:q@1000=b,}later{f:q@1000=l,}");
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_held_row_ends_when_the_gate_closes)
{
    put_wide_row("huge", 5000, 100);
    struct sto_read_op op = {.scope = *T};
    struct fix_sink s;
    fix_sink_init(&s);
    s.full_bytes = 10000;
    fix_slice(&op, &s, false);
    ck_assert(op.state == STO_READ_MORE && s.in_row);
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    fix_slice(&op, &s, true);
    ck_assert_int_eq(op.state, STO_READ_FAILED);
    ck_assert_int_eq(op.result, ERR_GONE);
    ck_assert_uint_eq(atomic_load(&fix.accounts[0].reads_open), 0);
    sto_read_finish(fix.engine, &op);
    base_buf_fini(&s.text);
}
END_TEST

START_TEST(a_scan_given_up_in_a_row_leaves_nothing_open)
{
    put_wide_row("huge", 5000, 100);
    struct sto_read_op op = {.scope = *T};
    struct fix_sink s;
    fix_sink_init(&s);
    s.full_bytes = 10000;
    fix_slice(&op, &s, false);
    ck_assert_uint_eq(atomic_load(&fix.accounts[0].reads_open), 0);
    sto_read_finish(fix.engine, &op);
    ck_assert_uint_eq(atomic_load(&fix.accounts[0].reads_open), 0);
    base_buf_fini(&s.text);
}
END_TEST

START_TEST(a_cancelled_read_closes_at_once)
{
    put_wide_row("huge", 5000, 100);
    for (int held = 0; held < 2; held++) {
        struct sto_read_op op = {.scope = *T};
        struct fix_sink s;
        fix_sink_init(&s);
        s.full_bytes = 10000;
        if (held != 0)
            fix_slice(&op, &s, false);
        uint64_t cells = op.cells_seen;
        atomic_store(&op.cancelled, true);
        fix_slice(&op, &s, false);
        ck_assert_int_eq(op.state, STO_READ_FAILED);
        ck_assert_int_eq(op.result, ERR_CANCELLED);
        ck_assert_uint_eq(op.cells_seen, cells);
        ck_assert_uint_eq(atomic_load(&fix.accounts[0].reads_open), 0);
        sto_read_finish(fix.engine, &op);
        base_buf_fini(&s.text);
    }
}
END_TEST

/* Sinks that cancel while they are given a cell, as the loop may at any time. */
static struct sto_read_op *op_to_cancel;
static void (*real_cell)(struct sto_row_sink *sink, const struct sto_cell *cell);

static void cell_then_cancel(struct sto_row_sink *sink, const struct sto_cell *cell)
{
    real_cell(sink, cell);
    atomic_store(&op_to_cancel->cancelled, true);
}

START_TEST(a_read_cancelled_in_its_slice_stops_there)
{
    put_rows(100, 10);
    put_wide_row("huge", 5000, 100);
    struct sto_read_op op = {.scope = *T};
    struct fix_sink s;
    fix_sink_init(&s);
    real_cell = s.sink.cell;
    s.sink.cell = cell_then_cancel;
    op_to_cancel = &op;
    fix_slice(&op, &s, false);
    ck_assert_int_eq(op.result, ERR_CANCELLED);
    ck_assert_uint_eq(op.cells_seen, 1);
    ck_assert_uint_eq(atomic_load(&fix.accounts[0].reads_open), 0);
    sto_read_finish(fix.engine, &op);
    base_buf_fini(&s.text);
}
END_TEST

/* What the watchdog calls overdue ends soon, though nobody waits, and the read goes on. */
START_TEST(a_slice_that_is_overdue_ends)
{
    put_rows(2000, 10);
    size_t slices[2] = {0, 0};
    for (int hurries = 0; hurries < 2; hurries++) {
        struct sto_read_op op = {.scope = *T};
        struct fix_sink s;
        fix_sink_init(&s);
        atomic_store(&base_watchdog_test_hurry, hurries != 0);
        do {
            fix_slice(&op, &s, false);
            slices[hurries]++;
        } while (op.state == STO_READ_MORE);
        atomic_store(&base_watchdog_test_hurry, false);
        ck_assert_int_eq(op.state, STO_READ_END);
        ck_assert_uint_eq(op.rows_given, 2000);
        sto_read_finish(fix.engine, &op);
        base_buf_fini(&s.text);
    }
    ck_assert_uint_gt(slices[1], slices[0] + 20);
}
END_TEST

/* The keys told after each slice are those of rows, move one way, and end with the last row. */
START_TEST(a_read_tells_which_row_it_passed_last)
{
    static const struct sto_filter nothing = {.kind = STO_FILTER_VALUE_REGEX,
                                              .bytes = SLICE_LIT("w")};
    put_rows(20000, 10);
    for (int reversed = 0; reversed < 2; reversed++) {
        struct buf passed, before;
        struct sto_read_op op = {.scope = *T, .spec.reversed = reversed != 0};
        struct fix_sink s;
        fix_sink_init(&s);
        base_buf_init(&passed, LIM_ROW_KEY);
        base_buf_init(&before, LIM_ROW_KEY);
        ck_assert_int_eq(sto_filter_compile(&nothing, op.scope.schema, &op.spec.filter, &op.detail),
                         ERR_OK);
        op.last_passed = &passed;
        size_t slices = 0;
        do {
            fix_slice(&op, &s, false);
            int order = base_slice_compare(base_buf_slice(&passed), base_buf_slice(&before));
            ck_assert(slices == 0 || (reversed != 0 ? order < 0 : order > 0));
            ck_assert_uint_eq(passed.len, 11);
            base_buf_truncate(&before, 0);
            ck_assert_int_eq(base_buf_append(&before, base_buf_slice(&passed)), ERR_OK);
            slices++;
        } while (op.state == STO_READ_MORE && slices < 100);
        ck_assert_int_eq(op.state, STO_READ_END);
        ck_assert_uint_ge(slices, 3);
        ck_assert_uint_eq(op.rows_given, 0);
        ck_assert(
            base_slice_is(base_buf_slice(&before), reversed != 0 ? "row00000000" : "row00019999"));
        sto_read_finish(fix.engine, &op);
        sto_filter_unref(op.spec.filter);
        base_buf_fini(&passed);
        base_buf_fini(&before);
        base_buf_fini(&s.text);
    }
}
END_TEST

START_TEST(the_gate_refuses_reads)
{
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    static const struct {
        uint32_t gate;
        enum err wanted;
    } cases[] = {{STO_GATE_NO_READS, ERR_SUSPENDED},
                 {STO_GATE_NO_WRITES, ERR_OK},
                 {STO_GATE_GONE | STO_GATE_NO_READS, ERR_GONE}};
    for (size_t i = 0; i < 3; i++)
        for (int try_inline = 0; try_inline < 2; try_inline++) {
            atomic_store(&fix.accounts[0].gate, cases[i].gate);
            struct fix_sink s;
            fix_sink_init(&s);
            ck_assert_int_eq(fix_read(T, &(struct sto_read_spec){0}, &s, try_inline != 0),
                             cases[i].wanted);
            base_buf_fini(&s.text);
        }
}
END_TEST

START_TEST(what_memory_does_not_have_comes_from_a_reader)
{
    put_rows(2000, 500);
    fix.options.cache_bytes = 64 * KIB;
    fix_reopen();
    fix_wait_for_memory();
    struct fix_sink s;
    fix_sink_init(&s);
    struct sto_read_spec spec = {.row_key = SLICE_LIT("row00000700")};
    ck_assert_int_eq(fix_read(T, &spec, &s, true), ERR_OK);
    ck_assert_uint_eq(s.inline_slices, 0);
    ck_assert_uint_gt(s.text.len, 500);
    base_buf_fini(&s.text);
    fix_sink_init(&s);
    ck_assert_int_eq(fix_read(T, &spec, &s, true), ERR_OK);
    ck_assert_uint_eq(s.inline_slices, 1); /* cached by the reader */
    base_buf_fini(&s.text);
    (void)assert_same_in_slices(&(struct sto_read_spec){0}, 4000, true);
}
END_TEST

static uint64_t bytes_read_so_far(void)
{
    char line[64];
    unsigned long long bytes = 0;
    FILE *f = fopen("/proc/self/io", "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, f)); /* rchar: N */
    ck_assert_int_eq(strncmp(line, "rchar: ", 7), 0);
    ck_assert_int_eq(
        base_parse_u64(base_slice(line + 7, strcspn(line + 7, "\n")), (uint64_t *)&bytes), ERR_OK);
    (void)fclose(f); /* only read from */
    return bytes;
}

/* In one file, whose filter is several times as large as the cache. */
START_TEST(a_row_is_read_without_the_whole_filter_of_its_file)
{
    enum { ROWS = 60000, READS = 300, BATCH = 1000 };
    static struct sto_mutate_op ops[BATCH];
    static struct sto_mutation m[BATCH];
    static char rows[BATCH][16];
    fix.options.cache_bytes = 16 * KIB;
    fix_reopen();
    for (int i = 0; i < ROWS;) {
        for (int k = 0; k < BATCH; k++, i++) {
            (void)snprintf(rows[k], sizeof rows[k], "row%06d", i);
            m[k] = fix_set(1, "q", 1000, SLICE_LIT("v"));
            ops[k] = (struct sto_mutate_op){.scope = *T,
                                            .row_key = base_slice_text(rows[k]),
                                            .mutations = &m[k],
                                            .mutation_count = 1};
            fix_submit(&ops[k]);
        }
        fix_wait();
    }
    const struct sto_range range = sto_range_of_table(T);
    fix_flush();
    sto_rdb_range_compact(sto_rdb_engine(fix.engine), RDB_CF_CELLS, sto_range_begin(&range),
                          sto_range_end(&range)); /* off level 0, whose filters stay in memory */
    fix_reopen();
    fix_wait_for_memory();
    uint64_t before = bytes_read_so_far();
    for (int i = 0; i < READS; i++) {
        char row[16];
        struct fix_sink s;
        (void)snprintf(row, sizeof row, "row%06d", i * 7919 % ROWS);
        fix_sink_init(&s);
        const struct sto_read_spec spec = {.row_key = base_slice_text(row)};
        ck_assert_int_eq(fix_read(T, &spec, &s, true), ERR_OK);
        ck_assert_uint_gt(s.text.len, 10);
        base_buf_fini(&s.text);
    }
    /* parts of index and filter, a block of rows; a whole filter has 75,000 bytes */
    ck_assert_uint_lt((bytes_read_so_far() - before) / READS, 32 * KIB);
}
END_TEST

START_TEST(impossible_reads_are_refused)
{
    static uint8_t bytes[LIM_QUALIFIER + 1];
    struct sto_read_spec bad[] = {
        {.row_key = {bytes, LIM_ROW_KEY + 1}},
        {.rows = FIX_RANGE(.start = {bytes, LIM_ROW_KEY + 1})},
        {.rows = FIX_RANGE(.end = {bytes, LIM_ROW_KEY + 1})},
        {.narrowed = true, .projection = fix_column(1, (struct slice){bytes, LIM_QUALIFIER + 1})},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        for (int try_inline = 0; try_inline < 2; try_inline++) {
            struct fix_sink s;
            fix_sink_init(&s);
            ck_assert_int_eq(fix_read(T, &bad[i], &s, try_inline != 0), ERR_INVALID);
            base_buf_fini(&s.text);
        }
}
END_TEST

START_TEST(a_tenant_s_half_of_the_read_queue_refuses_at_once)
{
    enum { TAKEN = LIM_READ_QUEUE_OPS / 2, N = TAKEN + 100 };
    put_rows(50, 100);
    fix_hold_readers(2);
    struct sto_read_op *ops = base_new_array(N, sizeof(*ops));
    struct fix_sink *sinks = base_new_array(N, sizeof(*sinks));
    for (size_t i = 0; i < N; i++) {
        fix_sink_init(&sinks[i]);
        ops[i] = (struct sto_read_op){
            .scope = *T, .sink = &sinks[i].sink, .reply_to = &fix.mailbox, .done = fix_read_done};
        fix.outstanding++;
        ck_assert(!sto_read_rows(fix.engine, &ops[i], false));
    }
    (void)base_mailbox_run(&fix.mailbox);
    ck_assert_uint_eq(fix.outstanding, TAKEN);
    fix_let_go();
    for (size_t i = 0; i < N; i++) {
        while (ops[i].state == STO_READ_MORE) /* on a slow machine its slice gave way to others */
            fix_slice(&ops[i], &sinks[i], false);
        ck_assert_int_eq(ops[i].state, i < TAKEN ? STO_READ_END : STO_READ_FAILED);
        ck_assert_int_eq(ops[i].result, i < TAKEN ? ERR_OK : ERR_OVERLOADED);
        ck_assert_uint_eq(ops[i].rows_given, i < TAKEN ? 50 : 0);
        ck_assert_int_eq(ops[i].retry_ns > 0, i >= TAKEN); /* and says when to come again */
        sto_read_finish(fix.engine, &ops[i]);
        base_buf_fini(&sinks[i].text);
    }
    base_free(ops);
    base_free(sinks);
}
END_TEST

Suite *suite_storage_engine_read(void)
{
    Suite *s = suite_create("storage_engine_read");
    TCase *t = tcase_create("what");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, ranges_and_prefixes_give_their_rows);
    tcase_add_test(t, a_single_row_is_exactly_that_row);
    tcase_add_test(t, columns_and_versions_are_restricted_exactly);
    tcase_add_test(t, seeks_and_steps_over_many_versions_give_the_same);
    tcase_add_test(t, keys_and_qualifiers_may_hold_any_byte);
    tcase_add_test(t, gc_rules_hide_exactly_what_they_say);
    tcase_add_test(t, cells_of_a_removed_family_are_not_seen_but_counted);
    suite_add_tcase(s, t);
    t = tcase_create("slices");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, rows_that_span_files_are_whole);
    suite_add_tcase(s, t);
    t = tcase_create("slices in memory");
    tcase_add_checked_fixture(t, fix_setup_in_memory, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, slices_join_to_the_whole);
    tcase_add_test(t, bytes_seen_do_not_depend_on_how_a_read_is_cut);
    tcase_add_test(t, a_huge_row_stays_whole_over_slices);
    tcase_add_test(t, a_held_row_ends_when_the_gate_closes);
    tcase_add_test(t, a_scan_given_up_in_a_row_leaves_nothing_open);
    tcase_add_test(t, a_cancelled_read_closes_at_once);
    tcase_add_test(t, a_read_cancelled_in_its_slice_stops_there);
    tcase_add_test(t, a_slice_that_is_overdue_ends);
    tcase_add_test(t, a_read_tells_which_row_it_passed_last);
    tcase_add_test(t, the_gate_refuses_reads);
    tcase_add_test(t, what_memory_does_not_have_comes_from_a_reader);
    tcase_add_test(t, a_row_is_read_without_the_whole_filter_of_its_file);
    tcase_add_test(t, impossible_reads_are_refused);
    tcase_add_test(t, a_tenant_s_half_of_the_read_queue_refuses_at_once);
    suite_add_tcase(s, t);
    return s;
}

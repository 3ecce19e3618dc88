/*
 * tests/storage/test_engine_view.c - the engine behind a view: numbers, conditions and samples tell
 * nothing of what is outside.
 */
#include "fixture.h"

#include "storage/view.h"
#include "tests/support/process.h"

#include "base/banned.h"

Suite *suite_storage_engine_view(void);

#define T &fix.tables[0][0]

static struct sto_view *view;

/* The rows u1 to u9 and column "in" of family f. */
static void view_make(void)
{
    static const struct slice rows[] = {SLICE_LIT("u")};
    static const struct slice columns[] = {SLICE_LIT("in")};
    static const struct sto_view_family_spec f = {
        .name = SLICE_LIT("f"), .qualifiers = columns, .qualifier_count = 1};
    static const struct sto_view_spec spec = {
        .row_prefixes = rows, .row_prefix_count = 1, .families = &f, .family_count = 1};
    ck_assert_int_eq(sto_view_make(SLICE_LIT("v"), &spec, &view, NULL), ERR_OK);
}

static void put(const char *row, uint16_t family, const char *qualifier)
{
    struct sto_mutation m = fix_set(family, qualifier, 1000, SLICE_LIT("v"));
    ck_assert_int_eq(fix_mutate(T, row, &m, 1), ERR_OK);
}

static void set_up(void)
{
    fix_setup_in_memory();
    view_make();
    put("a", 1, "in");
    put("u1", 1, "in");
    put("u1", 1, "out");
    put("u1", 2, "in");
    put("u2", 1, "out");
    put("u3", 1, "in");
    put("u4", 2, "in");
    put("v", 1, "in");
}

static void tear_down(void)
{
    sto_view_unref(view);
    fix_teardown();
}

START_TEST(a_read_counts_what_the_view_shows)
{
    struct sto_read_op op = {.scope = *T, .spec = {.rows = view->rows, .view = view}};
    struct fix_sink sink;
    struct buf passed;
    op.spec.reversed = _i == 1;
    base_buf_init(&passed, LIM_ROW_KEY);
    op.last_passed = &passed;
    fix_sink_init(&sink);
    do {
        fix_slice(&op, &sink, false);
    } while (op.state == STO_READ_MORE);
    ck_assert_int_eq(op.state, STO_READ_END);
    sto_read_finish(fix.engine, &op);
    const char *expected =
        _i == 1 ? "u3{f:in@1000=v,}u1{f:in@1000=v,}" : "u1{f:in@1000=v,}u3{f:in@1000=v,}";
    ck_assert(base_slice_is(base_buf_slice(&sink.text), expected));
    ck_assert_uint_eq(op.rows_given, 2);
    ck_assert_uint_eq(op.rows_seen, 2);
    ck_assert_uint_eq(op.cells_seen, 2);
    ck_assert(base_slice_is(base_buf_slice(&passed), _i == 1 ? "u1" : "u3"));
    base_buf_fini(&passed);
    base_buf_fini(&sink.text);
}
END_TEST

START_TEST(a_row_without_visible_cells_does_not_exist)
{
    static const char *const rows[] = {"u1", "u2", "u4", "u5"};
    for (size_t i = 0; i < 4; i++) {
        struct sto_read_op op = {.scope = *T,
                                 .spec = {.row_key = base_slice_text(rows[i]), .view = view}};
        struct fix_sink sink;
        fix_sink_init(&sink);
        fix_slice(&op, &sink, false);
        ck_assert_int_eq(op.state, STO_READ_END);
        sto_read_finish(fix.engine, &op);
        ck_assert_uint_eq(op.rows_seen, i == 0);
        ck_assert_uint_eq(op.cells_seen, i == 0);
        base_buf_fini(&sink.text);
    }
}
END_TEST

static bool matches(const char *row, const struct sto_view *through)
{
    struct sto_mutation then = fix_set(1, "in", 1000, SLICE_LIT("v"));
    struct sto_check check = {.view = through};
    struct sto_mutate_op op = {.scope = *T,
                               .row_key = base_slice_text(row),
                               .mutations = &then,
                               .mutation_count = 1,
                               .check = &check};
    check.otherwise_count = 0;
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_OK);
    return check.matched;
}

START_TEST(without_a_predicate_any_visible_cell_matches)
{
    ck_assert(matches("u1", view));
    ck_assert(matches("u2", NULL));
    ck_assert(matches("u4", NULL));
    ck_assert(!matches("u5", view));
    fix_delete_row(T, "u2");
    put("u2", 1, "out");
    ck_assert(!matches("u2", view));
}
END_TEST

static void sample_done(struct sto_sample_op *op)
{
    (void)op;
    fix.outstanding--;
}

static void sample(struct sto_sample_op *op)
{
    op->reply_to = &fix.mailbox;
    op->done = sample_done;
    op->scope = *T;
    fix.outstanding++;
    sto_sample_row_keys(fix.engine, op);
    fix_wait();
    ck_assert_int_eq(op->result, ERR_OK);
}

START_TEST(samples_of_a_set_of_rows_count_only_them)
{
    struct arena arena;
    struct sto_row_range two[] = {sto_range_of_key(SLICE_LIT("a")),
                                  {.start = SLICE_LIT("u2"), .end = SLICE_LIT("u4")}};
    base_arena_init(&arena, MIB);
    struct sto_sample_op all = {.arena = &arena, .bytes_between = 1};
    sample(&all);
    ck_assert_uint_eq(all.samples[all.count - 1].offset_bytes,
                      sto_counters_read(&(T)->schema->table->counters).bytes);
    ck_assert_uint_eq(all.count, 6);
    struct sto_sample_op some = {
        .arena = &arena, .bytes_between = 1, .rows = {.ranges = two, .count = 2}};
    sample(&some);
    ck_assert_uint_eq(some.count, 3);
    ck_assert(base_slice_is(some.samples[0].row_key, "u2"));
    ck_assert(base_slice_is(some.samples[1].row_key, "u3"));
    ck_assert_uint_eq(some.samples[0].offset_bytes, all.samples[0].offset_bytes); /* a */
    ck_assert_uint_gt(some.samples[2].offset_bytes, some.samples[1].offset_bytes);
    ck_assert_uint_lt(some.samples[2].offset_bytes, all.samples[all.count - 1].offset_bytes);
    struct sto_sample_op none = {.arena = &arena, .rows = {.none = true}};
    sample(&none);
    ck_assert_uint_eq(none.count, 1);
    ck_assert_uint_eq(none.samples[0].offset_bytes, 0);
    base_arena_fini(&arena);
}
END_TEST

enum { MANY = 60000, AT_ONCE = 4000, VALUE = 300 }; /* more rows than are walked through */

static void put_many(void)
{
    static struct sto_mutate_op ops[AT_ONCE];
    static struct sto_mutation mutations[AT_ONCE];
    static char keys[AT_ONCE][8];
    static uint8_t values[AT_ONCE][VALUE];
    uint32_t noise = 1;
    for (int from = 0; from < MANY; from += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++) {
            (void)snprintf(keys[i], sizeof(keys[i]), "w%05d", from + i);
            for (size_t b = 0; b < VALUE; b++) /* nothing that compresses */
                values[i][b] = (uint8_t)((noise = noise * 1664525 + 1013904223) >> 24);
            mutations[i] = fix_set(1, "q", 1000, base_slice(values[i], VALUE));
            ops[i] = (struct sto_mutate_op){.scope = *T,
                                            .row_key = base_slice_text(keys[i]),
                                            .mutations = &mutations[i],
                                            .mutation_count = 1};
            fix_submit(&ops[i]);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            fix_until_taken(&ops[i]);
            ck_assert_int_eq(ops[i].result, ERR_OK);
        }
    }
}

START_TEST(samples_of_a_set_of_rows_divide_large_tables)
{
    struct arena arena;
    struct sto_row_range two[] = {{.start = SLICE_LIT("w0"), .end = SLICE_LIT("w1")},
                                  {.start = SLICE_LIT("w3"), .end = SLICE_LIT("w5")}};
    put_many();
    fix_flush();
    base_arena_init(&arena, 4 * MIB);
    uint64_t bytes = sto_counters_read(&(T)->schema->table->counters).bytes;
    struct sto_sample_op all = {.arena = &arena, .bytes_between = 512 * KIB};
    sample(&all);
    ck_assert_uint_ge(all.count, 10);
    ck_assert_uint_eq(all.samples[all.count - 1].offset_bytes, bytes);
    struct sto_sample_op some = {
        .arena = &arena, .bytes_between = 512 * KIB, .rows = {.ranges = two, .count = 2}};
    sample(&some);
    ck_assert_uint_ge(some.count, 5);
    ck_assert_uint_lt(some.count, all.count);
    for (size_t i = 0; i < some.count; i++) {
        const struct sto_sample *at = &some.samples[i];
        ck_assert(i == 0 || at->offset_bytes >= at[-1].offset_bytes);
        ck_assert_int_eq(sto_row_set_holds(&some.rows, at->row_key), i + 1 < some.count);
        ck_assert(i == 0 || i + 1 == some.count ||
                  base_slice_compare(at->row_key, at[-1].row_key) > 0);
    }
    uint64_t total = some.samples[some.count - 1].offset_bytes; /* of half of the rows */
    ck_assert_uint_gt(total, bytes / 3);
    ck_assert_uint_lt(total, bytes * 2 / 3);
    base_arena_fini(&arena);
}
END_TEST

Suite *suite_storage_engine_view(void)
{
    Suite *s = suite_create("storage_engine_view");
    TCase *tc = tcase_create("view");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, a_read_counts_what_the_view_shows, 0, 2);
    tcase_add_test(tc, a_row_without_visible_cells_does_not_exist);
    tcase_add_test(tc, without_a_predicate_any_visible_cell_matches);
    tcase_add_test(tc, samples_of_a_set_of_rows_count_only_them);
    tcase_add_test(tc, samples_of_a_set_of_rows_divide_large_tables);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/storage/test_engine_match.c - reads whose filters match large values: where they run, how
 * their slices end, when they are given up.
 */
#include "fixture.h"

#include "storage/rocksdb/rdb.h"
#include "tests/storage/filter_rows.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_storage_engine_match(void);

#define T &fix.tables[0][0]

enum { PATTERNS = 32, LARGE = 2 * MIB };

/* One value of so many bytes of a and b, in row "large". */
static void put_large_at(size_t bytes, const char *qualifier)
{
    struct random r = {5};
    uint8_t *value = base_new(bytes);
    for (size_t i = 0; i < bytes; i++)
        value[i] = "ab"[random_below(&r, 2)];
    struct sto_mutation m = fix_set(1, qualifier, 1000, base_slice(value, bytes));
    ck_assert_int_eq(fix_mutate(T, "large", &m, 1), ERR_OK);
    base_free(value);
}

static void put_large(size_t bytes)
{
    put_large_at(bytes, "q");
}

static struct sto_filter_program *compile(struct sto_filter f)
{
    struct sto_filter_program *p = NULL;
    struct errbuf eb = {{0}};
    enum err rc = sto_filter_compile(&f, (T)->schema, &p, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    return p;
}

/* The cell, without its value and once, if any of so many patterns matches; the last one does. */
static struct sto_filter_program *compile_many(size_t patterns)
{
    static char texts[LIM_FILTER_REGEXES][32];
    static struct sto_filter all[LIM_FILTER_REGEXES];
    for (size_t i = 0; i < patterns; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "\\C*x%zu\\C*", i);
        all[i] =
            (struct sto_filter){.kind = STO_FILTER_VALUE_REGEX, .bytes = base_slice_text(texts[i])};
    }
    all[patterns - 1].bytes = SLICE_LIT("\\C*[ab]\\C*");
    struct sto_filter any = {
        .kind = STO_FILTER_INTERLEAVE, .members = all, .member_count = patterns};
    return compile(CHAIN(any, STRIP, PER_ROW(1)));
}

/* As if others waited for a reader. */
static void others_wait(int by)
{
    atomic_fetch_add(&sto_rdb_engine(fix.engine)->pool.waiting[RDB_SCANS], (uint64_t)by);
}

static void read_all(struct sto_read_op *op, struct fix_sink *s, struct sto_read_spec spec,
                     bool try_inline)
{
    *op = (struct sto_read_op){.scope = *T, .spec = spec};
    fix_sink_init(s);
    do {
        fix_slice(op, s, try_inline);
        try_inline = false;
    } while (op->state == STO_READ_MORE);
    sto_read_finish(fix.engine, op);
    ck_assert_int_eq(base_buf_append_byte(&s->text, 0), ERR_OK);
}

/* The same on the caller, from memory: not from a table file that a flush has just written. */
static void read_from_memory(struct sto_read_op *op, struct fix_sink *s, struct sto_read_spec spec)
{
    read_all(op, s, spec, false);
    base_buf_fini(&s->text);
    read_all(op, s, spec, true);
}

/* --- where ------------------------------------------------------------------------------------
 */

START_TEST(large_values_are_not_read_on_the_caller)
{
    struct sto_filter_program *p = compile(VALUE("\\C*a\\C*"));
    struct sto_read_spec spec = {.row_key = SLICE_LIT("large")};
    struct sto_read_op op;
    struct fix_sink s;
    put_large(LIM_INLINE_BYTES - 16); /* and what is stored in front of it */
    read_from_memory(&op, &s, spec);
    ck_assert_uint_eq(s.inline_slices, 1);
    base_buf_fini(&s.text);
    put_large(LIM_INLINE_BYTES + 1);
    read_all(&op, &s, spec, true);
    ck_assert_uint_eq(s.inline_slices, 0);
    base_buf_fini(&s.text);
    spec.filter = p;
    read_all(&op, &s, spec, true);
    ck_assert_int_eq(op.state, STO_READ_END);
    ck_assert_uint_eq(op.rows_given, 1);
    ck_assert_uint_eq(s.inline_slices, 0);
    base_buf_fini(&s.text);
    read_all(&op, &s, spec, false);
    ck_assert_uint_eq(op.rows_given, 1);
    ck_assert_uint_eq(s.slices, 2); /* among points, and, because of its value, among scans */
    base_buf_fini(&s.text);
    sto_filter_unref(p);
}
END_TEST

START_TEST(what_comes_out_often_counts_as_often)
{
    struct sto_filter_program *p = compile(CHAIN(INTERLEAVE(PASS, PASS, PASS, PASS), PASS));
    struct sto_read_op op;
    struct fix_sink s;
    put_large(LIM_INLINE_BYTES / 4 - 16);
    read_from_memory(&op, &s, (struct sto_read_spec){.row_key = SLICE_LIT("large"), .filter = p});
    ck_assert_uint_eq(s.inline_slices, 1);
    base_buf_fini(&s.text);
    put_large(LIM_INLINE_BYTES / 4 + 1);
    read_all(&op, &s, (struct sto_read_spec){.row_key = SLICE_LIT("large"), .filter = p}, true);
    ck_assert_uint_eq(s.inline_slices, 0);
    ck_assert_uint_eq(op.cells_given, 4);
    base_buf_fini(&s.text);
    sto_filter_unref(p);
}
END_TEST

/* Bytes of all cells times instructions of all patterns count, and those of the row's key. */
START_TEST(a_caller_matches_so_much_and_no_more)
{
    struct sto_read_op op;
    struct fix_sink s;
    struct sto_filter_program *p = compile_many(PATTERNS);
    struct sto_read_spec spec = {.row_key = SLICE_LIT("large"), .filter = p};
    size_t fits = LIM_INLINE_MATCHED / sto_filter_instructions(p);
    const size_t values[] = {fits - 16, fits + 1, fits / 2 - 16, fits / 2 + 1};
    for (size_t i = 0; i < 4; i++) {
        put_large_at(values[i], "q");
        if (i ==
            2) /* a second cell, and both are too much together; q matches, and is the only one */
            put_large_at(values[i] + 16, "p");
        read_from_memory(&op, &s, spec);
        ck_assert_str_eq((const char *)s.text.ptr,
                         i >= 2 ? "large{f:p@1000=,}" : "large{f:q@1000=,}");
        ck_assert_msg(s.inline_slices == (i % 2 == 0), "case %zu", i);
        base_buf_fini(&s.text);
    }
    sto_filter_unref(p);
}
END_TEST

START_TEST(a_long_key_is_not_matched_on_the_caller)
{
    struct sto_read_op op;
    struct fix_sink s;
    struct sto_filter_program *p = compile(ROW_KEY("k+.{0,400}"));
    char key[LIM_ROW_KEY + 1] = {0};
    size_t fits = LIM_INLINE_MATCHED / sto_filter_instructions(p);
    ck_assert_uint_lt(fits, LIM_ROW_KEY);
    memset(key, 'k', fits);
    for (int i = 0; i < 2; i++) {
        if (i == 1)
            key[fits] = 'k';
        ck_assert_int_eq(fix_put(T, key, "v"), ERR_OK);
        struct sto_read_spec spec = {
            .row_key = base_slice_text(key), .filter = p, .narrowed = true};
        spec.projection = fix_column(1, SLICE_LIT("none")); /* nothing but the key counts */
        read_from_memory(&op, &s, spec);
        ck_assert_int_eq(op.state, STO_READ_END);
        ck_assert_uint_eq(s.inline_slices, i == 0);
        base_buf_fini(&s.text);
    }
    sto_filter_unref(p);
}
END_TEST

/* --- how long ---------------------------------------------------------------------------------
 */

/* One pattern takes about 3 ms; so a slice is some of them. */
START_TEST(a_slice_ends_between_two_matches_of_one_cell)
{
    struct sto_read_op op;
    struct sto_read_op alone;
    struct fix_sink s;
    put_large(LARGE);
    (void)fix_put(T, "small", "ab");
    for (int is_point = 0; is_point < 2; is_point++) {
        struct sto_filter_program *p = compile_many(PATTERNS);
        struct sto_read_spec spec = {.filter = p};
        if (is_point)
            spec.row_key = SLICE_LIT("large");
        read_all(&alone, &s, spec, true);
        base_buf_fini(&s.text);
        others_wait(1);
        read_all(&op, &s, spec, true);
        others_wait(-1);
        ck_assert_str_eq((const char *)s.text.ptr,
                         is_point ? "large{f:q@1000=,}" : "large{f:q@1000=,}small{f:q@1000=,}");
        ck_assert_uint_ge(s.slices, PATTERNS / 8);
        ck_assert_uint_eq(op.cells_seen, is_point ? 1 : 2);
        ck_assert_uint_eq(op.bytes_seen, alone.bytes_seen);
        ck_assert_uint_eq(op.rows_seen, alone.rows_seen);
        ck_assert_uint_ge(op.work_ns, PATTERNS * sto_pattern_match_ns(LARGE));
        ck_assert_uint_lt(op.work_ns, PATTERNS * sto_pattern_match_ns(LARGE) * 5 / 4);
        base_buf_fini(&s.text);
        sto_filter_unref(p);
    }
}
END_TEST

/* Between two slices inside the cell its row changes: it is matched as it was. */
START_TEST(a_cell_that_changes_between_two_matches_is_given_as_it_was)
{
    struct sto_filter_program *p = compile_many(PATTERNS);
    struct sto_read_op op = {.scope = *T,
                             .spec = {.row_key = SLICE_LIT("large"), .filter = p, .versions = 1}};
    struct fix_sink s;
    fix_sink_init(&s);
    put_large(LARGE);
    others_wait(1);
    for (int i = 0; i < 3; i++) {
        fix_slice(&op, &s, false);
        ck_assert_int_eq(op.state, STO_READ_MORE);
    }
    ck_assert_uint_gt(op.work_ns, 0);
    ck_assert_uint_eq(op.cells_seen, 0);
    ck_assert_int_eq(fix_put(T, "large", "no match"), ERR_OK);
    while (op.state == STO_READ_MORE)
        fix_slice(&op, &s, false);
    others_wait(-1);
    ck_assert_msg(op.state == STO_READ_END, "%s", op.detail.text);
    sto_read_finish(fix.engine, &op);
    ck_assert_int_eq(base_buf_append_byte(&s.text, 0), ERR_OK);
    ck_assert_str_eq((const char *)s.text.ptr, "large{f:q@1000=,}");
    base_buf_fini(&s.text);
    sto_filter_unref(p);
}
END_TEST

/* --- giving up --------------------------------------------------------------------------------
 */

enum { MANY = 128 };

START_TEST(a_deadline_that_passes_inside_a_cell_ends_the_read)
{
    struct sto_filter_program *p = compile_many(MANY);
    struct sto_read_op op = {.scope = *T, .spec = {.filter = p}};
    struct fix_sink s;
    fix_sink_init(&s);
    put_large(2 * LARGE); /* half a second of work */
    op.deadline_ns = base_monotonic_ns() + 1000000;
    fix_slice(&op, &s, false);
    ck_assert_int_eq(op.state, STO_READ_FAILED);
    ck_assert_int_eq(op.result, ERR_TIMEOUT);
    ck_assert_str_eq(op.detail.text, "the deadline passed before everything was read");
    ck_assert_uint_lt(op.work_ns, MANY * sto_pattern_match_ns(2 * LARGE) / 2);
    sto_read_finish(fix.engine, &op);
    base_buf_fini(&s.text);
    sto_filter_unref(p);
}
END_TEST

START_TEST(a_read_that_comes_too_late_matches_nothing)
{
    struct sto_filter_program *p = compile_many(PATTERNS);
    struct sto_read_op op = {.scope = *T, .spec = {.filter = p}};
    struct fix_sink s;
    fix_sink_init(&s);
    put_large(100);
    op.deadline_ns = 1;
    fix_slice(&op, &s, false);
    ck_assert_int_eq(op.result, ERR_TIMEOUT);
    ck_assert_uint_eq(op.work_ns, 0);
    ck_assert_uint_eq(op.rows_seen, 0);
    sto_read_finish(fix.engine, &op);
    base_buf_fini(&s.text);
    sto_filter_unref(p);
}
END_TEST

START_TEST(a_read_that_is_cancelled_inside_a_cell_ends)
{
    struct sto_filter_program *p = compile_many(MANY);
    struct fix_sink s;
    fix_sink_init(&s);
    put_large(2 * LARGE);
    bool is_inside = false;
    for (int tries = 0; !is_inside; tries++) {
        struct sto_read_op op = {.scope = *T,
                                 .spec = {.filter = p},
                                 .sink = &s.sink,
                                 .reply_to = &fix.mailbox,
                                 .done = fix_read_done};
        ck_assert_int_lt(tries, 100);
        fix.outstanding++;
        ck_assert(!sto_read_rows(fix.engine, &op, false));
        (void)usleep(5000); /* of half a second */
        atomic_store(&op.cancelled, true);
        fix_wait();
        is_inside = op.work_ns > 0 && op.work_ns < MANY * sto_pattern_match_ns(2 * LARGE) / 2;
        ck_assert(op.result == ERR_CANCELLED || !is_inside);
        sto_read_finish(fix.engine, &op);
    }
    base_buf_fini(&s.text);
    sto_filter_unref(p);
}
END_TEST

START_TEST(a_pattern_of_too_many_states_fails_the_read_and_says_so)
{
    struct sto_filter_program *p = compile(VALUE("(?s)(.*a.{900})"));
    struct sto_read_op op;
    struct fix_sink s;
    put_large(LARGE);
    (void)fix_put(T, "small", "ab");
    for (int is_point = 0; is_point < 2; is_point++) {
        struct sto_read_spec spec = {.filter = p};
        if (is_point)
            spec.row_key = SLICE_LIT("large");
        read_all(&op, &s, spec, is_point);
        ck_assert_int_eq(op.state, STO_READ_FAILED);
        ck_assert_int_eq(op.result, ERR_TOO_BIG);
        ck_assert_ptr_nonnull(strstr(op.detail.text, "value_regex: 2097152 bytes"));
        ck_assert_ptr_null(strstr(op.detail.text, "900"));
        base_buf_fini(&s.text);
    }
    /* Narrowed to what is small, the same one is matched. */
    struct sto_read_spec narrow = {.filter = p, .rows = FIX_RANGE(.start = SLICE_LIT("m"))};
    read_all(&op, &s, narrow, false);
    ck_assert_int_eq(op.state, STO_READ_END);
    ck_assert_uint_eq(op.rows_seen, 1);
    base_buf_fini(&s.text);
    sto_filter_unref(p);
}
END_TEST

START_TEST(a_predicate_of_too_many_states_changes_nothing)
{
    struct sto_filter_program *p = compile(VALUE("(?s)(.*a.{900})"));
    struct sto_mutation m = fix_set(2, "c", 1000, SLICE_LIT("written"));
    struct sto_check check = {.predicate = p, .otherwise = &m, .otherwise_count = 1};
    struct sto_mutate_op op = {.scope = *T,
                               .row_key = SLICE_LIT("large"),
                               .mutations = &m,
                               .mutation_count = 1,
                               .check = &check};
    put_large(LARGE);
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_TOO_BIG);
    ck_assert_ptr_nonnull(strstr(op.detail.text, "value_regex: 2097152 bytes"));
    struct sto_read_spec spec = {.narrowed = true, .projection = fix_family(2)};
    fix_assert_rows(T, &spec, "");
    sto_filter_unref(p);
}
END_TEST

/* A caller reads from memory alone: nothing is flushed meanwhile, and the files have been asked. */
static void setup_in_memory(void)
{
    fix_setup_in_memory();
    fix_wait_for_memory();
}

Suite *suite_storage_engine_match(void)
{
    Suite *suite = suite_create("storage_engine_match");
    TCase *tc = tcase_create("where");
    tcase_add_checked_fixture(tc, setup_in_memory, fix_teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, large_values_are_not_read_on_the_caller);
    tcase_add_test(tc, what_comes_out_often_counts_as_often);
    tcase_add_test(tc, a_caller_matches_so_much_and_no_more);
    tcase_add_test(tc, a_long_key_is_not_matched_on_the_caller);
    suite_add_tcase(suite, tc);
    tc = tcase_create("how long");
    tcase_add_checked_fixture(tc, fix_setup, fix_teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_slice_ends_between_two_matches_of_one_cell);
    tcase_add_test(tc, a_cell_that_changes_between_two_matches_is_given_as_it_was);
    suite_add_tcase(suite, tc);
    tc = tcase_create("giving up");
    tcase_add_checked_fixture(tc, fix_setup, fix_teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_deadline_that_passes_inside_a_cell_ends_the_read);
    tcase_add_test(tc, a_read_that_comes_too_late_matches_nothing);
    tcase_add_test(tc, a_read_that_is_cancelled_inside_a_cell_ends);
    tcase_add_test(tc, a_pattern_of_too_many_states_fails_the_read_and_says_so);
    tcase_add_test(tc, a_predicate_of_too_many_states_changes_nothing);
    suite_add_tcase(suite, tc);
    return suite;
}

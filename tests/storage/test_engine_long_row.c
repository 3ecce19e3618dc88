/*
 * tests/storage/test_engine_long_row.c - a row that takes a read many slices: nothing of the
 * database is held between them, and all of it comes from one state.
 */
#include "fixture.h"

#include "storage/rocksdb/long_row.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "tests/storage/filter_rows.h"
#include "tests/support/process.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_storage_engine_long_row(void);

#define T &fix.tables[0][0]

enum { COLUMNS = 400, FULL = 10000, RANGE_CELLS = 1000, ROUNDS = 400, GENERATION_DIGITS = 8 };

/* --- rows ------------------------------------------------------------------------------------- */

struct whole_row {
    struct sto_mutate_op op;
    struct sto_mutation m[1 + COLUMNS];
    char names[COLUMNS][16];
    char value[101];
};

/* The row becomes COLUMNS cells with values that begin with the generation, and nothing else. */
static void whole_row_make(struct whole_row *w, const char *row, unsigned generation)
{
    (void)snprintf(w->value, sizeof w->value, "%0*u%092d", GENERATION_DIGITS, generation, 0);
    w->m[0] = (struct sto_mutation){.kind = STO_DELETE_FROM_ROW};
    for (int i = 0; i < COLUMNS; i++) {
        (void)snprintf(w->names[i], sizeof w->names[i], "c%04d", i);
        w->m[1 + i] = fix_set(1, w->names[i], 1000, base_slice_text(w->value));
    }
    w->op = (struct sto_mutate_op){.scope = *T,
                                   .row_key = base_slice_text(row),
                                   .mutations = w->m,
                                   .mutation_count = 1 + COLUMNS};
}

static void put_whole(const char *row, unsigned generation)
{
    static struct whole_row w;
    whole_row_make(&w, row, generation);
    fix_submit(&w.op);
    fix_wait();
    ck_assert_int_eq(w.op.result, ERR_OK);
}

/* --- reads ------------------------------------------------------------------------------------ */

/* A read that stands inside row "long". */
struct parked {
    struct sto_read_op op;
    struct fix_sink sink;
    struct fix_sink wanted; /* all that it should give */
};

static void park(struct parked *p, struct sto_read_spec spec)
{
    p->op = (struct sto_read_op){.scope = *T, .spec = spec};
    fix_sink_init(&p->sink);
    fix_sink_init(&p->wanted);
    ck_assert_int_eq(fix_read(T, &spec, &p->wanted, false), ERR_OK);
    p->sink.full_bytes = FULL;
    do {
        fix_slice(&p->op, &p->sink, false);
        ck_assert_int_eq(p->op.state, STO_READ_MORE);
    } while (!p->sink.in_row);
}

static void park_in_long(struct parked *p)
{
    park(p, (struct sto_read_spec){.row_key = SLICE_LIT("long")});
}

static void finish(struct parked *p)
{
    while (p->op.state == STO_READ_MORE)
        fix_slice(&p->op, &p->sink, true);
    sto_read_finish(fix.engine, &p->op);
}

static void forget(struct parked *p)
{
    base_buf_fini(&p->sink.text);
    base_buf_fini(&p->wanted.text);
}

static void finish_as_it_was(struct parked *p)
{
    finish(p);
    ck_assert_int_eq(p->op.state, STO_READ_END);
    ck_assert_int_eq(base_buf_append_byte(&p->sink.text, 0), ERR_OK);
    ck_assert_str_eq((char *)p->sink.text.ptr, (char *)p->wanted.text.ptr);
    ck_assert_uint_ge(p->sink.halves, 2);
    forget(p);
}

static void finish_as_lost(struct parked *p)
{
    finish(p);
    ck_assert_int_eq(p->op.state, STO_READ_FAILED);
    ck_assert_int_eq(p->op.result, ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(p->op.detail.text, "written to while it was being read"));
    ck_assert_ptr_nonnull(strstr(p->op.detail.text, "10 s"));
    forget(p);
}

static uint64_t snapshots(void)
{
    return sto_rdb_property(sto_rdb_engine(fix.engine), "rocksdb.num-snapshots");
}

static void assert_nothing_held(void)
{
    ck_assert_uint_eq(atomic_load(&fix.accounts[0].reads_open), 0);
    ck_assert_uint_eq(snapshots(), 0);
}

static void purge_of(size_t tenant)
{
    atomic_store(&fix.accounts[tenant].gate, STO_GATE_GONE);
    for (enum sto_purge_step s = STO_PURGE_FENCE; s < STO_PURGE_STEP_COUNT; s++) {
        struct errbuf eb = {{0}};
        enum err rc = sto_purge_run(fix.engine, &fix.tenants[tenant], s, NULL, 0, &eb);
        ck_assert_msg(rc == ERR_OK, "%s: %s", sto_purge_step_name(s), eb.text);
    }
}

/* --- nothing is held -------------------------------------------------------------------------- */

START_TEST(a_parked_read_holds_nothing)
{
    struct parked p;
    put_whole("long", 1);
    for (int reversed = 0; reversed < 2; reversed++) {
        park(&p, (struct sto_read_spec){.reversed = reversed != 0});
        assert_nothing_held();
        ck_assert_int_eq(fix_put(T, "another", "row"), ERR_OK);
        ck_assert_int_eq(fix_put(T, "longer", "row"), ERR_OK);
        ck_assert_int_eq(fix_put(T, "lon", "row"), ERR_OK);
        ck_assert_int_eq(fix_delete_row(T, "lon"), ERR_OK);
        assert_nothing_held(); /* others' rows do not matter */
        ck_assert_int_eq(fix_delete_row(T, "another"), ERR_OK);
        ck_assert_int_eq(fix_delete_row(T, "longer"), ERR_OK);
        finish_as_it_was(&p);
    }
}
END_TEST

START_TEST(files_and_memory_may_go_between_two_slices)
{
    struct parked p;
    put_whole("long", 1);
    park_in_long(&p);
    fix_flush();
    struct sto_range table = sto_range_of_table(T);
    sto_rdb_range_compact(sto_rdb_engine(fix.engine), RDB_CF_CELLS, sto_range_begin(&table),
                          sto_range_end(&table));
    finish_as_it_was(&p);
}
END_TEST

START_TEST(a_parked_read_stops_no_purge)
{
    struct parked p;
    put_whole("long", 1);
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "a", "b"), ERR_OK);
    park_in_long(&p);
    purge_of(1);
    finish_as_it_was(&p);
}
END_TEST

/* The snapshot of before the change is given up rather than that the purge fails. */
START_TEST(a_parked_read_of_a_changed_row_stops_no_purge)
{
    struct parked p;
    fix.options.row_snapshot_waited_ms = 1;
    fix_reopen();
    put_whole("long", 1);
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "a", "b"), ERR_OK);
    park_in_long(&p);
    put_whole("long", 2);
    purge_of(1);
    assert_nothing_held();
    finish_as_lost(&p);
}
END_TEST

START_TEST(its_own_purge_does_not_wait)
{
    struct parked p;
    put_whole("long", 1);
    park_in_long(&p);
    purge_of(0);
    finish(&p);
    ck_assert_int_eq(p.op.result, ERR_GONE);
    forget(&p);
}
END_TEST

START_TEST(a_deleted_table_ends_the_read)
{
    struct parked p;
    put_whole("long", 1);
    park_in_long(&p);
    ck_assert_int_eq(fix_drop_table(T).result, ERR_OK);
    finish(&p);
    ck_assert_int_eq(p.op.result, ERR_NOT_FOUND);
    forget(&p);
    assert_nothing_held();
}
END_TEST

/* --- one state -------------------------------------------------------------------------------- */

static void change_by_overwriting(void)
{
    put_whole("long", 2);
}

static void change_one_cell(void)
{
    struct sto_mutation m = fix_set(1, "c0399", 1000, SLICE_LIT("other"));
    ck_assert_int_eq(fix_mutate(T, "long", &m, 1), ERR_OK);
}

static void change_by_deleting(void)
{
    ck_assert_int_eq(fix_delete_row(T, "long"), ERR_OK);
}

static void change_by_dropping(void)
{
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){.start = SLICE_LIT("l")}, 0, NULL), ERR_OK);
}

static void change_by_dropping_as_points(void)
{
    sto_rdb_engine(fix.engine)->options.drop_range_cells = 100 * COLUMNS;
    change_by_dropping();
}

static void change_by_removing_the_family(void)
{
    struct sto_row_range all = {.start = SLICE_EMPTY};
    ck_assert_int_eq(fix_drop(T, all, 1, NULL), ERR_OK);
}

static void (*const CHANGES[])(void) = {
    change_by_overwriting,        change_one_cell,
    change_by_deleting,           change_by_dropping,
    change_by_dropping_as_points, change_by_removing_the_family};
enum { CHANGE_COUNT = sizeof CHANGES / sizeof CHANGES[0] };

START_TEST(what_changes_meanwhile_is_not_seen)
{
    struct parked p;
    sto_rdb_engine(fix.engine)->options.drop_range_cells = RANGE_CELLS / 10;
    put_whole("long", 1);
    park_in_long(&p);
    CHANGES[_i]();
    ck_assert_uint_eq(snapshots(), 1);
    fix_flush();
    CHANGES[0](); /* again: it is the first change that counts */
    finish_as_it_was(&p);
    assert_nothing_held();
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(what_was_is_kept_for_a_while_only)
{
    struct parked p, unchanged;
    put_whole("long", 1);
    put_whole("longer", 1);
    park(&unchanged, (struct sto_read_spec){.row_key = SLICE_LIT("longer")});
    park_in_long(&p);
    CHANGES[_i % 3]();
    sto_rdb_long_rows_expire(sto_rdb_engine(fix.engine), 3600 * 1000);
    ck_assert_uint_eq(snapshots(), 1);
    sto_rdb_long_rows_expire(sto_rdb_engine(fix.engine), 0);
    assert_nothing_held();
    finish_as_lost(&p);
    finish_as_it_was(&unchanged);
}
END_TEST

static bool nothing_is_held(void *arg)
{
    (void)arg;
    return snapshots() == 0;
}

START_TEST(what_was_is_given_up_while_nobody_waits)
{
    struct parked p;
    fix.options.row_snapshot_ms = 1;
    fix_reopen();
    put_whole("long", 1);
    park_in_long(&p);
    change_one_cell();
    process_await(nothing_is_held, NULL, "that the snapshot is given up");
    finish_as_lost(&p);
}
END_TEST

/* What comes behind the row is read as it is then. */
START_TEST(a_scan_goes_on_behind_it)
{
    struct parked p;
    put_whole("long", 1);
    ck_assert_int_eq(fix_put(T, "z", "old"), ERR_OK);
    park(&p, (struct sto_read_spec){.row_limit = 0});
    put_whole("long", 2);
    ck_assert_int_eq(fix_put(T, "z", "new"), ERR_OK);
    finish(&p);
    ck_assert_int_eq(p.op.state, STO_READ_END);
    ck_assert_int_eq(base_buf_append_byte(&p.sink.text, 0), ERR_OK);
    ck_assert_ptr_nonnull(strstr((char *)p.sink.text.ptr, "z{f:q@1000=new,}"));
    ck_assert_ptr_null(strstr((char *)p.sink.text.ptr, "=00000002"));
    forget(&p);
    assert_nothing_held();
}
END_TEST

/* The state of a filter goes over slices, too: passes, counts, columns. */
START_TEST(filters_go_on_inside_it)
{
    const struct sto_filter filters[] = {
        INTERLEAVE(PASS, CHAIN(PER_COLUMN(1), LABEL("x")), STRIP),
        CONDITION(QUALIFIER("c0398"), PASS, BLOCK),
        CHAIN(OFFSET(150), PER_ROW(240)),
    };
    struct parked p;
    put_whole("long", 1);
    ck_assert_int_eq(fix_put(T, "z", "old"), ERR_OK);
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        struct sto_read_spec spec = {.row_limit = 0};
        struct errbuf eb = {{0}};
        enum err rc = sto_filter_compile(&filters[i], (T)->schema, &spec.filter, &eb);
        ck_assert_msg(rc == ERR_OK, "%s", eb.text);
        park(&p, spec);
        put_whole("long", 2);
        ck_assert_uint_eq(snapshots(), 1);
        finish_as_it_was(&p);
        sto_filter_unref(spec.filter);
        put_whole("long", 1);
    }
}
END_TEST

/* --- by chance -------------------------------------------------------------------------------- */

/* The generation of each row in the text is one; the text ends with a whole row. */
static void check_generations(const struct fix_sink *s)
{
    struct slice rest = base_buf_slice(&s->text);
    const uint8_t *row = NULL;
    while (rest.len > 0) {
        if (rest.ptr[0] == '{')
            row = NULL;
        if (rest.ptr[0] == '=' && row == NULL)
            row = rest.ptr + 1;
        if (rest.ptr[0] == '=')
            ck_assert_int_eq(memcmp(rest.ptr + 1, row, GENERATION_DIGITS), 0);
        rest = base_slice_skip(rest, 1);
    }
}

static void change_something(struct random *dice, struct whole_row *w, unsigned generation)
{
    static const char *const rows[] = {"long", "long2", "long3"};
    whole_row_make(w, rows[random_below(dice, 3)], generation);
    if (random_below(dice, 4) == 0)
        w->op.mutation_count = 1; /* it goes */
    fix_submit(&w->op);
}

/* Writes are under way while the slices run. */
START_TEST(a_row_is_never_of_two_generations)
{
    static struct whole_row w;
    struct random dice = {(uint64_t)_i + 1};
    unsigned undone = 0, lost = 0;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        struct sto_read_op op = {.scope = *T, .spec = {.reversed = random_below(&dice, 2) != 0}};
        struct fix_sink s;
        fix_sink_init(&s);
        s.full_bytes = 1 + random_below(&dice, 60000);
        do {
            if (random_below(&dice, 2) == 0)
                change_something(&dice, &w, round);
            fix_slice(&op, &s, random_below(&dice, 2) != 0);
            if (random_below(&dice, 10) == 0)
                sto_rdb_long_rows_expire(sto_rdb_engine(fix.engine), 0);
        } while (op.state == STO_READ_MORE);
        check_generations(&s);
        lost += op.state == STO_READ_FAILED;
        ck_assert(op.state == STO_READ_END || op.result == ERR_UNAVAILABLE);
        undone += s.undone;
        sto_read_finish(fix.engine, &op);
        base_buf_fini(&s.text);
    }
    assert_nothing_held();
    fix_assert_no_drift(0);
    ck_assert_uint_gt(undone, 0);
    ck_assert_uint_gt(lost, 0);
}
END_TEST

Suite *suite_storage_engine_long_row(void)
{
    Suite *s = suite_create("storage_engine_long_row");
    TCase *t = tcase_create("long_row");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_add_test(t, a_parked_read_holds_nothing);
    tcase_add_test(t, files_and_memory_may_go_between_two_slices);
    tcase_add_test(t, a_parked_read_stops_no_purge);
    tcase_add_test(t, a_parked_read_of_a_changed_row_stops_no_purge);
    tcase_add_test(t, its_own_purge_does_not_wait);
    tcase_add_test(t, a_deleted_table_ends_the_read);
    tcase_add_loop_test(t, what_changes_meanwhile_is_not_seen, 0, CHANGE_COUNT);
    tcase_add_loop_test(t, what_was_is_kept_for_a_while_only, 0, 3);
    tcase_add_test(t, what_was_is_given_up_while_nobody_waits);
    tcase_add_test(t, a_scan_goes_on_behind_it);
    tcase_add_test(t, filters_go_on_inside_it);
    tcase_add_loop_test(t, a_row_is_never_of_two_generations, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

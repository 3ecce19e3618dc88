/*
 * tests/storage/test_engine_removed.c - stretches of removed keys that reads walk through are
 * rewritten, and leave nothing of a tenant.
 */
#include "tests/storage/hot.h"

#include "base/banned.h"

Suite *suite_storage_engine_removed(void);

/* Rows that came and went, "a-000000" to the last one, and one that stays. */
static void consume(const char *stays)
{
    char row[16];
    for (int i = 0; i < 2 * MANY; i++) {
        (void)snprintf(row, sizeof row, "a-%06d", i / 2);
        ck_assert_int_eq(i % 2 == 0 ? fix_put(T, row, "v") : fix_delete_row(T, row), ERR_OK);
    }
    ck_assert_int_eq(fix_put(T, stays, "v"), ERR_OK);
}

struct reading {
    const struct sto_read_spec *spec;
    const char *wanted;
};

static bool was_rewritten(void *arg)
{
    const struct reading *reading = arg;
    fix_assert_rows(T, reading->spec, reading->wanted);
    return atomic_load(&sto_rdb_engine(fix.engine)->removed.rounds) > 0;
}

static bool is_idle(void *arg)
{
    (void)arg;
    return atomic_load(&sto_rdb_engine(fix.engine)->reclaim.is_idle);
}

/* Reads that had to walk are what has it rewritten, and no other. */
static void assert_it_goes(const struct sto_read_spec *spec, const char *wanted)
{
    struct reading reading = {spec, wanted};
    flush();
    ck_assert_uint_eq(atomic_load(&sto_rdb_engine(fix.engine)->removed.rounds), 0);
    process_await(was_rewritten, &reading, "removed keys to be rewritten");
    process_await(is_idle, NULL, "the rewriting to be over");
    fix_assert_rows(T, spec, wanted);
    uint64_t work = work_of(spec, wanted);
    ck_assert_msg(work <= WORK_MAX, "%llu moves and removed keys", (unsigned long long)work);
    fix_assert_no_drift(0);
}

START_TEST(the_front_of_a_queue)
{
    consume("b");
    assert_it_goes(&(struct sto_read_spec){.row_limit = 1}, "b{f:q@1000=v,}");
}
END_TEST

START_TEST(the_end_of_a_stack)
{
    consume("A");
    assert_it_goes(&(struct sto_read_spec){.row_limit = 1, .reversed = true}, "A{f:q@1000=v,}");
}
END_TEST

START_TEST(columns_that_were_consumed)
{
    char name[MANY][8];
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name[i], sizeof(name[i]), "%06d", i);
        struct sto_mutation set = fix_set(1, name[i], 1, SLICE_LIT("v"));
        struct sto_mutation removal = remove_column(name[i], 0);
        ck_assert_int_eq(fix_mutate(T, "hot", &set, 1), ERR_OK);
        ck_assert_int_eq(fix_mutate(T, "hot", &removal, 1), ERR_OK);
    }
    struct sto_mutation last = fix_set(2, "q", 1, SLICE_LIT("v"));
    ck_assert_int_eq(fix_mutate(T, "hot", &last, 1), ERR_OK);
    assert_it_goes(&ROW, "hot{gg:q@1=v,}");
}
END_TEST

/* A tenant with many of them leaves room for others. */
START_TEST(a_tenant_has_two_stretches)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    char begin[16], end[16];
    for (int i = 0; i < 40; i++) {
        (void)snprintf(begin, sizeof begin, "ab#t#%02d", 2 * i);
        (void)snprintf(end, sizeof end, "ab#t#%02d", 2 * i + 1);
        sto_rdb_removed_note(e, base_slice_text(begin), base_slice_text(end), (uint64_t)i);
    }
    ck_assert_uint_eq(e->removed.count, REMOVED_STRETCHES_OF_ONE);
    sto_rdb_removed_note(e, SLICE_LIT("abc#t#a"), SLICE_LIT("abc#t#b"), 1);
    sto_rdb_removed_note(e, SLICE_LIT("abc#t#aa"), SLICE_LIT("abc#t#c"), 1);
    ck_assert_uint_eq(e->removed.count, REMOVED_STRETCHES_OF_ONE + 1);
    ck_assert_uint_eq(e->removed.of[REMOVED_STRETCHES_OF_ONE].passed, 2);
}
END_TEST

START_TEST(tables_are_listed_once)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    static const struct {
        struct slice begin, end;
        uint64_t passed;
    } notes[] = {{SLICE_LIT("ab#t#x"), SLICE_LIT("ab#t#y"), 1},
                 {SLICE_LIT("abc#t#x"), SLICE_LIT("abc#t#y"), 2},
                 {SLICE_LIT("ab#t#z"), SLICE_LIT("ab#t#zz"), 4},
                 {SLICE_LIT("abc#t2#x"), SLICE_LIT("abc#t2#y"), 8}};
    static const struct sto_removed_table wanted[] = {
        {"ab", "t", 5}, {"abc", "t", 2}, {"abc", "t2", 8}};
    struct sto_engine_stats stats;
    for (size_t i = 0; i < 4; i++)
        sto_rdb_removed_note(e, notes[i].begin, notes[i].end, notes[i].passed);
    sto_engine_stats_get(fix.engine, &stats);
    ck_assert_uint_eq(stats.removed_table_count, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_str_eq(stats.removed_tables[i].tenant, wanted[i].tenant);
        ck_assert_str_eq(stats.removed_tables[i].table, wanted[i].table);
        ck_assert_uint_eq(stats.removed_tables[i].passed, wanted[i].passed);
    }
}
END_TEST

/* One slice in RDB_CACHE_SAMPLE of a thread. */
START_TEST(reads_are_sampled_by_kind)
{
    static const struct sto_read_spec specs[STO_READ_KINDS] = {
        [STO_READ_ROW] = {.row_key = SLICE_LIT("b")},
        [STO_READ_ROWS] = {.row_limit = 1},
        [STO_READ_ROWS_REVERSED] = {.row_limit = 1, .reversed = true}};
    for (int i = 0; i < 40; i++) { /* too few to be noted, and rewritten */
        ck_assert_int_eq(fix_put(T, "a", "v"), ERR_OK);
        ck_assert_int_eq(fix_delete_row(T, "a"), ERR_OK);
    }
    ck_assert_int_eq(fix_put(T, "b", "v"), ERR_OK);
    for (int kind = 0; kind < STO_READ_KINDS; kind++) {
        struct sto_engine_stats before, after;
        sto_engine_stats_get(fix.engine, &before);
        for (int i = 0; i < 2 * RDB_CACHE_SAMPLE; i++)
            fix_assert_rows(T, &specs[kind], "b{f:q@1000=v,}");
        sto_engine_stats_get(fix.engine, &after);
        for (int k = 0; k < STO_READ_KINDS; k++) {
            uint64_t slices = after.read_samples[k].slices - before.read_samples[k].slices;
            uint64_t removed = after.read_samples[k].removed - before.read_samples[k].removed;
            ck_assert_int_eq(slices > 0, k == kind);
            ck_assert_int_eq(removed > 2 * slices, k == kind && kind == STO_READ_ROWS);
        }
    }
}
END_TEST

/* Its row keys are part of its offboarding. */
START_TEST(what_was_noted_of_a_tenant_goes_with_it)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    static const struct slice begin[2] = {SLICE_LIT("ab#t#x"), SLICE_LIT("abc#t#x")};
    static const struct slice end[2] = {SLICE_LIT("ab#t#y"), SLICE_LIT("abc#t#y")};
    for (size_t i = 0; i < 2; i++)
        sto_rdb_removed_note(e, begin[i], end[i], 1);
    ck_assert_uint_eq(e->removed.count, 2);
    struct errbuf eb = {{0}};
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    ck_assert_int_eq(sto_purge_run(fix.engine, &fix.tenants[0], STO_PURGE_FENCE, NULL, 0, &eb),
                     ERR_OK);
    ck_assert_uint_eq(e->removed.count, 1);
    ck_assert(base_slice_equal(
        base_slice(e->removed.of[0].bounds.lower, e->removed.of[0].bounds.lower_len), begin[1]));
    ck_assert_ptr_null(memmem(&e->removed.of[1], sizeof e->removed.of[1], "ab#t", 4));
}
END_TEST

Suite *suite_storage_engine_removed(void)
{
    Suite *s = suite_create("storage_engine_removed");
    TCase *c = tcase_create("removed");
    tcase_add_checked_fixture(c, set_up, fix_teardown);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, the_front_of_a_queue);
    tcase_add_test(c, the_end_of_a_stack);
    tcase_add_test(c, columns_that_were_consumed);
    tcase_add_test(c, a_tenant_has_two_stretches);
    tcase_add_test(c, tables_are_listed_once);
    tcase_add_test(c, reads_are_sampled_by_kind);
    tcase_add_test(c, what_was_noted_of_a_tenant_goes_with_it);
    suite_add_tcase(s, c);
    return s;
}

/*
 * tests/storage/test_engine_hot.c - rows that change often: a read costs what it gives, whatever
 * was removed before. Work is counted: moves of the iterator, and the removed keys that it passed.
 */
#include "tests/storage/committer_counts.h"
#include "tests/storage/hot.h"

#include "storage/rocksdb/slice.h"

#include "base/banned.h"

Suite *suite_storage_engine_hot(void);

static const struct sto_read_spec ALL = {0};
static const struct sto_read_spec REVERSED = {.reversed = true};

static void set_up_one_version(void)
{
    fix_prepare_alone(); /* as in hot.h */
    fix.options.memtable_bytes = 4 * MIB;
    fix.options.cache_bytes = 16 * MIB;
    for (size_t i = 0; i < 2; i++)
        fix.gc[i] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = 1};
    fix_open();
    fix_wait_for_memory();
}

/* In memtables, and in files. */
static void assert_flat(const struct sto_read_spec *spec, const char *wanted)
{
    for (int in_files = 0; in_files < 2; in_files++) {
        if (in_files != 0) {
            flush();
            fix_assert_rows(T, spec, wanted); /* from the files: they are in memory now */
        }
        uint64_t work = work_of(spec, wanted);
        ck_assert_msg(work <= WORK_MAX, "%llu moves and removed keys %s", (unsigned long long)work,
                      in_files != 0 ? "in files" : "in memory");
    }
}

/* As a rule of one version leaves it: each value takes the place of the one before. */
static void overwrite(const char *qualifier, int times)
{
    for (int i = 1; i <= times; i++) {
        struct sto_mutation m[2] = {remove_column(qualifier, i * 1000LL),
                                    fix_set(1, qualifier, i * 1000LL, SLICE_LIT("v"))};
        ck_assert_int_eq(fix_mutate(T, "hot", m, 2), ERR_OK);
    }
}

START_TEST(a_cell_that_was_overwritten_often)
{
    overwrite("q", MANY);
    assert_flat(&ROW, "hot{f:q@1000000=v,}");
    assert_flat(&ALL, "hot{f:q@1000000=v,}");
    fix_assert_rows(T, &REVERSED, "hot{f:q@1000000=v,}");
}
END_TEST

START_TEST(one_column_of_many_that_were_overwritten_often)
{
    overwrite("a", MANY);
    overwrite("b", MANY);
    overwrite("c", MANY);
    assert_flat(&ROW, "hot{f:a@1000000=v,f:b@1000000=v,f:c@1000000=v,}");
    struct sto_read_spec column = ROW;
    column.narrowed = true;
    column.projection = fix_column(1, SLICE_LIT("b"));
    column.versions = 1;
    assert_flat(&column, "hot{f:b@1000000=v,}");
}
END_TEST

/* Nothing of a column comes after its newest cell: once one had many removed cells, the others are
 * left by a seek. */
START_TEST(columns_of_one_version_are_left_at_once)
{
    static const char *names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    enum { NAMES = sizeof names / sizeof names[0] };
    for (size_t i = 0; i < NAMES; i++)
        overwrite(names[i], MANY);
    static const char wanted[] = "hot{f:a@1000000=v,f:b@1000000=v,f:c@1000000=v,f:d@1000000=v,"
                                 "f:e@1000000=v,f:f@1000000=v,f:g@1000000=v,f:h@1000000=v,}";
    for (int in_files = 0; in_files < 2; in_files++) {
        uint64_t work = work_of(&ROW, wanted);
        ck_assert_msg(work <= 2 * REMOVED_KEYS_MAX + 4 * NAMES, "%llu moves and removed keys",
                      (unsigned long long)work);
        flush();
        fix_assert_rows(T, &ROW, wanted);
    }
}
END_TEST

START_TEST(rows_beside_one_that_was_overwritten_often)
{
    ck_assert_int_eq(fix_put(T, "a", "first"), ERR_OK);
    ck_assert_int_eq(fix_put(T, "z", "last"), ERR_OK);
    overwrite("q", MANY);
    assert_flat(&ALL, "a{f:q@1000=first,}hot{f:q@1000000=v,}z{f:q@1000=last,}");
    fix_assert_rows(T, &REVERSED, "z{f:q@1000=last,}hot{f:q@1000000=v,}a{f:q@1000=first,}");
}
END_TEST

/* hot{f:a@1000000=v, many removed versions, f:a@1=old, f:b@1=b, gg:c@1=c} */
static void overwrite_in_front_of_an_old_version(void)
{
    struct sto_mutation m[3] = {fix_set(1, "a", 1, SLICE_LIT("old")),
                                fix_set(1, "b", 1, SLICE_LIT("b")),
                                fix_set(2, "c", 1, SLICE_LIT("c"))};
    ck_assert_int_eq(fix_mutate(T, "hot", m, 3), ERR_OK);
    for (int i = 1; i <= MANY; i++) {
        struct sto_mutation over[2] = {remove_column("a", i * 1000LL),
                                       fix_set(1, "a", i * 1000LL, SLICE_LIT("v"))};
        over[0].start_us = 2;
        ck_assert_int_eq(fix_mutate(T, "hot", over, 2), ERR_OK);
    }
}

static void replace(int i)
{
    struct sto_mutation m[4] = {{.kind = STO_DELETE_FROM_ROW},
                                fix_set(1, "a", i * 1000LL, SLICE_LIT("1")),
                                fix_set(1, "b", i * 1000LL, SLICE_LIT("2")),
                                fix_set(2, "c", i * 1000LL, SLICE_LIT("3"))};
    ck_assert_int_eq(fix_mutate(T, "hot", m, 4), ERR_OK);
}

/* Removed keys that a committer passes while it replaces the row once more. */
static void assert_replacing_is_flat(int i)
{
    struct passed passed;
    on_committer(count_begin, NULL);
    replace(i);
    on_committer(count_end, &passed);
    ck_assert_uint_le(passed.tombstones + passed.hidden, 3 * WORK_MAX);
}

START_TEST(a_row_that_was_replaced_often)
{
    for (int i = 1; i < MANY; i++)
        replace(i);
    assert_replacing_is_flat(MANY);
    assert_flat(&ROW, "hot{f:a@1000000=1,f:b@1000000=2,gg:c@1000000=3,}");
    assert_flat(&ALL, "hot{f:a@1000000=1,f:b@1000000=2,gg:c@1000000=3,}");
    assert_replacing_is_flat(MANY + 1); /* from files */
    ck_assert_uint_eq(sto_rdb_engine(fix.engine)->plans, 0);
    fix_assert_no_drift(0);
}
END_TEST

/* What a replacement jumps over is deleted all the same. */
START_TEST(a_replaced_row_keeps_nothing_behind_removed_cells)
{
    overwrite_in_front_of_an_old_version();
    replace(MANY + 1);
    fix_assert_rows(T, &ROW, "hot{f:a@1001000=1,f:b@1001000=2,gg:c@1001000=3,}");
    fix_assert_no_drift(0);
    ck_assert_int_eq(fix_delete_row(T, "hot"), ERR_OK);
    fix_assert_rows(T, &ALL, "");
    fix_assert_no_drift(0);
    fix_assert_usage(0, 0, 0, 0);
}
END_TEST

/* Nor does the deletion of a column, or of some of its versions, or of its family. */
START_TEST(a_deleted_part_keeps_nothing_behind_removed_cells)
{
    static const struct {
        struct sto_mutation m;
        const char *left;
    } deletions[] = {
        {{.kind = STO_DELETE_FROM_COLUMN, .family = 1, .qualifier = SLICE_LIT("a")},
         "hot{f:b@1=b,gg:c@1=c,}"},
        {{.kind = STO_DELETE_FROM_COLUMN, .family = 1, .qualifier = SLICE_LIT("a"), .end_us = 1000},
         "hot{f:a@1000000=v,f:b@1=b,gg:c@1=c,}"},
        {{.kind = STO_DELETE_FROM_COLUMN,
          .family = 1,
          .qualifier = SLICE_LIT("a"),
          .start_us = 1000},
         "hot{f:a@1=old,f:b@1=b,gg:c@1=c,}"},
        {{.kind = STO_DELETE_FROM_FAMILY, .family = 1}, "hot{gg:c@1=c,}"},
    };
    for (size_t i = 0; i < sizeof deletions / sizeof deletions[0]; i++) {
        overwrite_in_front_of_an_old_version();
        struct sto_mutation m = deletions[i].m;
        ck_assert_int_eq(fix_mutate(T, "hot", &m, 1), ERR_OK);
        fix_assert_rows(T, &ROW, deletions[i].left);
        fix_assert_no_drift(0);
        ck_assert_int_eq(fix_delete_row(T, "hot"), ERR_OK);
        fix_assert_usage(0, 0, 0, 0);
    }
    ck_assert_uint_eq(sto_rdb_engine(fix.engine)->plans, 0);
}
END_TEST

/* Removed keys that a committer passes while it changes the row if the predicate shows a cell. */
static uint64_t passed_by_condition(const struct sto_filter *predicate, struct sto_mutation *m,
                                    size_t count, bool is_met)
{
    struct errbuf eb = {{0}};
    struct sto_check check = {0};
    ck_assert_int_eq(sto_filter_compile(predicate, T->schema, &check.predicate, &eb), ERR_OK);
    struct sto_mutate_op op = {.scope = *T,
                               .row_key = SLICE_LIT("hot"),
                               .mutations = m,
                               .mutation_count = count,
                               .check = &check};
    struct passed passed;
    on_committer(count_begin, NULL);
    fix_submit(&op);
    fix_until_taken(&op);
    on_committer(count_end, &passed);
    ck_assert_int_eq(op.result, ERR_OK);
    ck_assert_int_eq(check.matched, is_met);
    sto_filter_unref(check.predicate);
    return passed.tombstones + passed.hidden;
}

/* The condition, which is met by the first cell, has opened the row's cursor before. */
START_TEST(a_row_that_is_replaced_on_a_condition)
{
    for (int i = 1; i < MANY; i++)
        replace(i);
    const struct sto_filter any = {.kind = STO_FILTER_PASS_ALL};
    struct sto_mutation m[2] = {{.kind = STO_DELETE_FROM_ROW},
                                fix_set(1, "a", 1000, SLICE_LIT("1"))};
    ck_assert_uint_le(passed_by_condition(&any, m, 2, true), 3 * WORK_MAX);
    fix_assert_rows(T, &ROW, "hot{f:a@1000=1,}");
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_condition_on_cells_that_were_overwritten_often)
{
    overwrite("a", MANY);
    overwrite("b", MANY);
    overwrite("c", MANY);
    const struct sto_filter other = {.kind = STO_FILTER_VALUE_REGEX, .bytes = SLICE_LIT("other")};
    struct sto_mutation m = fix_set(2, "d", 1000, SLICE_LIT("4"));
    ck_assert_uint_le(passed_by_condition(&other, &m, 1, false), 3 * WORK_MAX);
    ck_assert_uint_eq(sto_rdb_engine(fix.engine)->plans, 0);
}
END_TEST

/* What it jumps over is found all the same. */
START_TEST(a_condition_misses_nothing_behind_removed_cells)
{
    static const struct {
        struct sto_filter predicate;
        bool is_met;
    } conditions[] = {
        {{.kind = STO_FILTER_VALUE_REGEX, .bytes = SLICE_LIT("old")}, true},
        {{.kind = STO_FILTER_VALUE_REGEX, .bytes = SLICE_LIT("other")}, false},
        {{.kind = STO_FILTER_CELLS_PER_ROW_OFFSET, .count = 3}, true},
        {{.kind = STO_FILTER_CELLS_PER_ROW_OFFSET, .count = 4}, false},
    };
    overwrite_in_front_of_an_old_version();
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        struct sto_mutation m = fix_set(2, "c", 1, SLICE_LIT("c"));
        (void)passed_by_condition(&conditions[i].predicate, &m, 1, conditions[i].is_met);
    }
    fix_assert_rows(T, &ROW, "hot{f:a@1000000=v,f:a@1=old,f:b@1=b,gg:c@1=c,}");
}
END_TEST

/* The cell is in the database as well; what follows it there is of no interest. */
START_TEST(a_cell_that_is_changed_twice_in_a_batch)
{
    const int64_t future = 4102444800000000; /* 2100-01-01 */
    static const struct slice zero = {.ptr = (const uint8_t *)"\0\0\0\0\0\0\0\0", .len = 8};
    struct sto_mutation m[2];
    for (int i = 0; i < MANY; i++) {
        m[0] = remove_column("q", 0);
        m[1] = fix_set(1, "q", future + i * 1000LL, zero);
        ck_assert_int_eq(fix_mutate(T, "hot", m, 2), ERR_OK);
    }
    m[0] = m[1];
    m[1] = fix_increment(1, "q", 1);
    struct passed passed;
    on_committer(count_begin, NULL);
    ck_assert_int_eq(fix_mutate(T, "hot", m, 2), ERR_OK);
    on_committer(count_end, &passed);
    ck_assert_uint_le(passed.tombstones + passed.hidden, WORK_MAX);
    fix_assert_no_drift(0);
}
END_TEST

/* More removed cells than a committer passes in one move. */
static void remove_more_than_a_committer_passes(void)
{
    enum { ROUNDS = 3, CELLS = 3000 };
    static char name[CELLS][8];
    static struct sto_mutation sets[CELLS], removals[CELLS];
    ck_assert_int_eq(fix_put(T, "hot", "v"), ERR_OK);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CELLS; i++) {
            (void)snprintf(name[i], sizeof(name[i]), "%d%05d", round, i);
            sets[i] = fix_set(1, name[i], 1, SLICE_LIT("v"));
            removals[i] = remove_column(name[i], 0);
        }
        ck_assert_int_eq(fix_mutate(T, "hot", sets, CELLS), ERR_OK);
        ck_assert_int_eq(fix_mutate(T, "hot", removals, CELLS), ERR_OK);
    }
}

/* An increment of a column that is not there, the value that it made, and the plans it took. */
static uint64_t increment(const char *token, uint8_t *out_value)
{
    struct sto_mutation m = fix_increment(1, "000000", 1);
    struct arena arena;
    base_arena_init(&arena, MIB);
    struct sto_modified modified = {.arena = &arena};
    struct sto_mutate_op op = {
        .scope = *T,
        .row_key = SLICE_LIT("hot"),
        .mutations = &m,
        .mutation_count = 1,
        .modified = &modified,
        .idempotency = {.token = base_slice_text(token), .start_us = base_wall_us()}};
    uint64_t before = sto_rdb_engine(fix.engine)->plans;
    fix_submit(&op);
    fix_until_taken(&op);
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    *out_value = modified.count == 0 ? 0 : modified.cells[0].value.ptr[7];
    base_arena_fini(&arena);
    return sto_rdb_engine(fix.engine)->plans - before;
}

START_TEST(a_committer_leaves_a_long_walk_to_a_reader)
{
    uint8_t value;
    remove_more_than_a_committer_passes();
    ck_assert_uint_eq(increment("token-01", &value), 1);
    ck_assert_uint_eq(value, 1);
    ck_assert_uint_eq(increment("token-02", &value), 0); /* the cell is found at once */
    ck_assert_uint_eq(value, 2);
    struct sto_mutation removal = remove_column("000000", 0);
    ck_assert_int_eq(fix_mutate(T, "hot", &removal, 1), ERR_OK);
    ck_assert_uint_eq(increment("token-02", &value), 0); /* known: nothing for a plan to do */
    ck_assert_uint_eq(value, 0);
    fix_assert_no_drift(0);
}
END_TEST

/* Other columns each time: what was there is in front of what is. */
START_TEST(a_row_that_is_replaced_by_other_columns)
{
    char name[16] = "";
    for (int i = 1; i <= MANY; i++) {
        (void)snprintf(name, sizeof(name), "%06d", i);
        struct sto_mutation m[2] = {{.kind = STO_DELETE_FROM_ROW},
                                    fix_set(1, name, 1000, SLICE_LIT("1"))};
        ck_assert_int_eq(fix_mutate(T, "hot", m, 2), ERR_OK);
    }
    fix_assert_rows(T, &ROW, "hot{f:001000@1000=1,}");
    fix_assert_rows(T, &ALL, "hot{f:001000@1000=1,}");
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_column_that_was_deleted_and_made_again)
{
    for (int i = 1; i <= MANY; i++) {
        struct sto_mutation m[3] = {remove_column("b", 0),
                                    fix_set(1, "b", i * 1000LL, SLICE_LIT("2")),
                                    fix_set(1, "c", 1000, SLICE_LIT("3"))};
        ck_assert_int_eq(fix_mutate(T, "hot", m, 3), ERR_OK);
    }
    assert_flat(&ROW, "hot{f:b@1000000=2,f:c@1000=3,}");
}
END_TEST

/* Where the next version is far behind removed ones, the next column is looked at first. */
START_TEST(what_lies_behind_removed_versions_is_not_missed)
{
    overwrite_in_front_of_an_old_version();
    ck_assert_int_eq(fix_put(T, "z", "z"), ERR_OK);
    static const char wanted[] = "hot{f:a@1000000=v,f:a@1=old,f:b@1=b,gg:c@1=c,}";
    fix_assert_rows(T, &ROW, wanted);
    fix_assert_rows(T, &(struct sto_read_spec){.rows = FIX_RANGE(.end = SLICE_LIT("y"))}, wanted);
    fix_assert_rows(T, &(struct sto_read_spec){.row_key = SLICE_LIT("hot"), .versions = 2}, wanted);
    for (int on_loop = 0; on_loop < 2; on_loop++) { /* it was restarted, and is counted once */
        struct sto_read_op op = {.scope = *T, .spec = ROW};
        struct fix_sink s;
        fix_sink_init(&s);
        fix_slice(&op, &s, on_loop != 0);
        sto_read_finish(fix.engine, &op);
        ck_assert_uint_eq(op.cells_seen, 4);
        base_buf_fini(&s.text);
    }
    flush();
    fix_assert_rows(T, &ROW, wanted);
    fix_assert_rows(T, &REVERSED, "z{f:q@1000=z,}hot{f:a@1000000=v,f:a@1=old,f:b@1=b,gg:c@1=c,}");
}
END_TEST

/* Columns that are gone, in front of one that is there, and parts of the row given before. */
START_TEST(a_row_in_parts_goes_on_behind_removed_cells)
{
    enum { COLUMNS = 3000 };
    static char name[COLUMNS][8];
    static struct sto_mutation sets[COLUMNS], removals[COLUMNS];
    struct buf wanted;
    base_buf_init(&wanted, MIB);
    ck_assert_int_eq(base_buf_append_text(&wanted, "hot{"), ERR_OK);
    size_t removed = 0;
    for (int i = 0; i < COLUMNS; i++) {
        (void)snprintf(name[i], sizeof(name[i]), "%06d", i);
        sets[i] = fix_set(1, name[i], 1, SLICE_LIT("v"));
        if (i / 500 % 2 == 1)
            removals[removed++] = remove_column(name[i], 0);
        else
            ck_assert_int_eq(base_buf_printf(&wanted, "f:%s@1=v,", name[i]), ERR_OK);
    }
    ck_assert_int_eq(base_buf_append_text(&wanted, "}"), ERR_OK);
    ck_assert_int_eq(base_buf_append_byte(&wanted, 0), ERR_OK);
    ck_assert_int_eq(fix_mutate(T, "hot", sets, COLUMNS), ERR_OK);
    ck_assert_int_eq(fix_mutate(T, "hot", removals, removed), ERR_OK);
    for (int pass = 0; pass < 4; pass++) {
        struct fix_sink s;
        fix_sink_init(&s);
        s.full_bytes = 1500;
        ck_assert_int_eq(fix_read(T, pass % 2 != 0 ? &ROW : &ALL, &s, false), ERR_OK);
        ck_assert_str_eq((const char *)s.text.ptr, (const char *)wanted.ptr);
        ck_assert_uint_gt(s.halves, 5);
        base_buf_fini(&s.text);
        if (pass == 1)
            flush();
    }
    base_buf_fini(&wanted);
}
END_TEST

Suite *suite_storage_engine_hot(void)
{
    Suite *s = suite_create("storage_engine_hot");
    static const struct {
        const char *name;
        void (*set_up)(void);
    } rules[] = {{"all versions", set_up}, {"one version", set_up_one_version}};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        TCase *c = tcase_create(rules[i].name);
        tcase_add_checked_fixture(c, rules[i].set_up, fix_teardown);
        tcase_set_timeout(c, 120);
        tcase_add_test(c, a_cell_that_was_overwritten_often);
        tcase_add_test(c, one_column_of_many_that_were_overwritten_often);
        tcase_add_test(c, rows_beside_one_that_was_overwritten_often);
        tcase_add_test(c, a_row_that_was_replaced_often);
        tcase_add_test(c, a_replaced_row_keeps_nothing_behind_removed_cells);
        tcase_add_test(c, a_row_that_is_replaced_by_other_columns);
        tcase_add_test(c, a_column_that_was_deleted_and_made_again);
        tcase_add_test(c, a_condition_on_cells_that_were_overwritten_often);
        tcase_add_test(c, a_cell_that_is_changed_twice_in_a_batch);
        if (i == 1)
            tcase_add_test(c, columns_of_one_version_are_left_at_once);
        if (i == 0) {
            tcase_add_test(c, what_lies_behind_removed_versions_is_not_missed);
            tcase_add_test(c, a_deleted_part_keeps_nothing_behind_removed_cells);
            tcase_add_test(c, a_row_in_parts_goes_on_behind_removed_cells);
            tcase_add_test(c, a_row_that_is_replaced_on_a_condition);
            tcase_add_test(c, a_condition_misses_nothing_behind_removed_cells);
            tcase_add_test(c, a_committer_leaves_a_long_walk_to_a_reader);
        }
        suite_add_tcase(s, c);
    }
    return s;
}

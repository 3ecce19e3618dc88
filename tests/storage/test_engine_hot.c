/*
 * tests/storage/test_engine_hot.c - rows that change often: a read costs what it gives, whatever
 * was removed before. Work is counted: moves of the iterator, and the removed keys that it passed.
 */
#include "fixture.h"

#include "base/banned.h"

Suite *suite_storage_engine_hot(void);

#define T        (&fix.tables[0][0])
#define MANY     1000
#define WORK_MAX 250 /* a few moves, each past as many removed keys as are bearable */

static const struct sto_read_spec ROW = {.row_key = SLICE_LIT("hot")};
static const struct sto_read_spec ALL = {0};
static const struct sto_read_spec REVERSED = {.reversed = true};

static void set_up(void)
{
    fix_setup_in_memory();
    fix_wait_for_memory();
}

static void set_up_one_version(void)
{
    fix_prepare();
    fix.options.memtable_bytes = 4 * MIB;
    fix.options.cache_bytes = 16 * MIB;
    for (size_t i = 0; i < 2; i++)
        fix.gc[i] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = 1};
    fix_open();
    fix_wait_for_memory();
}

static void flush(void)
{
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
}

/* What a read is made of that is answered by this thread. */
static uint64_t work_of(const struct sto_read_spec *spec, const char *wanted)
{
    struct sto_read_op op = {.scope = *T, .spec = *spec};
    struct fix_sink s;
    fix_sink_init(&s);
    rocksdb_set_perf_level(rocksdb_enable_count);
    rocksdb_perfcontext_t *counts = rocksdb_perfcontext_create();
    rocksdb_perfcontext_reset(counts);
    do {
        fix_slice(&op, &s, true);
    } while (op.state == STO_READ_MORE);
    uint64_t work = op.steps + op.seeks +
                    rocksdb_perfcontext_metric(counts, rocksdb_internal_delete_skipped_count) +
                    rocksdb_perfcontext_metric(counts, rocksdb_internal_key_skipped_count);
    rocksdb_perfcontext_destroy(counts);
    rocksdb_set_perf_level(rocksdb_disable);
    sto_read_finish(fix.engine, &op);
    ck_assert_int_eq(op.state, STO_READ_END);
    ck_assert_int_eq(base_buf_append_byte(&s.text, 0), ERR_OK);
    ck_assert_str_eq((const char *)s.text.ptr, wanted);
    ck_assert_uint_eq(s.inline_slices, s.slices);
    base_buf_fini(&s.text);
    return work;
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

static struct sto_mutation remove_column(const char *qualifier, int64_t before_us)
{
    return (struct sto_mutation){.kind = STO_DELETE_FROM_COLUMN,
                                 .family = 1,
                                 .qualifier = base_slice_text(qualifier),
                                 .end_us = before_us};
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

START_TEST(rows_beside_one_that_was_overwritten_often)
{
    ck_assert_int_eq(fix_put(T, "a", "first"), ERR_OK);
    ck_assert_int_eq(fix_put(T, "z", "last"), ERR_OK);
    overwrite("q", MANY);
    assert_flat(&ALL, "a{f:q@1000=first,}hot{f:q@1000000=v,}z{f:q@1000=last,}");
    fix_assert_rows(T, &REVERSED, "z{f:q@1000=last,}hot{f:q@1000000=v,}a{f:q@1000=first,}");
}
END_TEST

static rocksdb_perfcontext_t *counts; /* the committer's */

static void count_begin(struct rdb_committer *c, void *ctx)
{
    (void)c;
    (void)ctx;
    rocksdb_set_perf_level(rocksdb_enable_count);
    counts = rocksdb_perfcontext_create();
    rocksdb_perfcontext_reset(counts);
}

static void count_end(struct rdb_committer *c, void *ctx)
{
    (void)c;
    *(uint64_t *)ctx = rocksdb_perfcontext_metric(counts, rocksdb_internal_delete_skipped_count) +
                       rocksdb_perfcontext_metric(counts, rocksdb_internal_key_skipped_count);
    rocksdb_perfcontext_destroy(counts);
    rocksdb_set_perf_level(rocksdb_disable);
}

static void on_committer(void (*fn)(struct rdb_committer *c, void *ctx), void *ctx)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    sto_rdb_committer_call(sto_rdb_committer_of(e, &fix.accounts[0]), &fix.accounts[0],
                           STO_PRIORITY_MEDIUM, fn, ctx);
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
    uint64_t passed = 0;
    on_committer(count_begin, NULL);
    replace(i);
    on_committer(count_end, &passed);
    ck_assert_uint_le(passed, 3 * WORK_MAX);
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
    replace(MANY + 1);
    fix_assert_rows(T, &ROW, "hot{f:a@1001000=1,f:b@1001000=2,gg:c@1001000=3,}");
    fix_assert_no_drift(0);
    ck_assert_int_eq(fix_delete_row(T, "hot"), ERR_OK);
    fix_assert_rows(T, &ALL, "");
    fix_assert_no_drift(0);
    fix_assert_usage(0, 0, 0, 0);
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
    ck_assert_int_eq(fix_put(T, "z", "z"), ERR_OK);
    static const char wanted[] = "hot{f:a@1000000=v,f:a@1=old,f:b@1=b,gg:c@1=c,}";
    fix_assert_rows(T, &ROW, wanted);
    fix_assert_rows(T, &(struct sto_read_spec){.rows = FIX_RANGE(.end = SLICE_LIT("y"))}, wanted);
    fix_assert_rows(T, &(struct sto_read_spec){.row_key = SLICE_LIT("hot"), .versions = 2}, wanted);
    for (int on_loop = 0; on_loop < 2; on_loop++) { /* it began anew, and is counted once */
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

/* A purge must not find its row keys here. */
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
        if (i == 0) {
            tcase_add_test(c, what_lies_behind_removed_versions_is_not_missed);
            tcase_add_test(c, a_row_in_parts_goes_on_behind_removed_cells);
            tcase_add_test(c, the_front_of_a_queue);
            tcase_add_test(c, the_end_of_a_stack);
            tcase_add_test(c, columns_that_were_consumed);
            tcase_add_test(c, a_tenant_has_two_stretches);
            tcase_add_test(c, what_was_noted_of_a_tenant_goes_with_it);
        }
        suite_add_tcase(s, c);
    }
    return s;
}

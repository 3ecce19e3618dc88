/*
 * tests/storage/test_engine_changes.c - change streams: what is recorded, in which order, how long.
 *
 * Over 500 lines because one reader, opened with each table, serves all of what is recorded.
 */
#include "changes.h"
#include "hold.h"
#include "tests/storage/files_hold.h"

#include "base/banned.h"

Suite *suite_storage_engine_changes(void);

#define T (&fix.tables[0][0])

static struct change_reader reader;

static void setup(void)
{
    fix.aggregates = true;
    fix_setup();
    changes_set(T, RETENTION_S);
    change_open(&reader, T);
}

static void teardown(void)
{
    change_close(&reader);
    fix_teardown();
}

static enum err mutate1(const char *row, struct sto_mutation m)
{
    return fix_mutate(T, row, &m, 1);
}

/* --- what is recorded --------------------------------------------------------------------------
 */

START_TEST(a_set_is_told_with_its_real_timestamp)
{
    struct sto_mutation m = fix_set(1, "q", STO_TIMESTAMP_SERVER, SLICE_LIT("v"));
    struct sto_mutate_op op = {
        .scope = *T, .row_key = SLICE_LIT("r"), .mutations = &m, .mutation_count = 1};
    fix_submit(&op);
    fix_wait();
    char wanted[64];
    (void)snprintf(wanted, sizeof(wanted), "r:set f:q@%lld=v,;", (long long)op.commit_us);
    change_expect(&reader, wanted);
    ck_assert_int_ge(reader.last_position, op.commit_us);
    ck_assert_int_eq(reader.type, STO_CHANGE_USER);
}
END_TEST

START_TEST(mutations_of_a_row_are_one_change_in_their_order)
{
    struct sto_mutation m[4] = {fix_set(1, "a", 1000, SLICE_LIT("1")),
                                fix_set(2, "b", 2000, SLICE_LIT("")),
                                {.kind = STO_DELETE_FROM_COLUMN,
                                 .family = 1,
                                 .qualifier = SLICE_LIT("a"),
                                 .start_us = 1000,
                                 .end_us = 5000},
                                fix_set(1, "c", 1000, SLICE_LIT("3"))};
    ck_assert_int_eq(fix_mutate(T, "r", m, 4), ERR_OK);
    change_expect(&reader, "r:set f:a@1000=1,set gg:b@2000=,-column f:a[1000,5000),"
                           "set f:c@1000=3,;");
    change_expect(&reader, "");
}
END_TEST

START_TEST(a_delete_that_removes_nothing_is_no_change)
{
    struct sto_mutation family = {.kind = STO_DELETE_FROM_FAMILY, .family = 1};
    ck_assert_int_eq(fix_delete_row(T, "r"), ERR_OK);
    ck_assert_int_eq(mutate1("r", family), ERR_OK);
    change_expect(&reader, "");
    ck_assert_int_eq(fix_put(T, "r", "v"), ERR_OK);
    ck_assert_int_eq(mutate1("r", family), ERR_OK);
    change_expect(&reader, "r:set f:q@1000=v,;r:-family f,;");
    struct sto_mutation both[2] = {fix_set(2, "q", 1000, SLICE_LIT("v")), family};
    ck_assert_int_eq(fix_mutate(T, "r", both, 2), ERR_OK); /* beside something it is told */
    change_expect(&reader, "r:set gg:q@1000=v,-family f,;");
}
END_TEST

START_TEST(a_deleted_row_is_told_by_its_families)
{
    struct sto_mutation m[3] = {fix_set(1, "a", 1000, SLICE_LIT("1")),
                                fix_set(1, "b", 1000, SLICE_LIT("1")),
                                fix_set(2, "a", 1000, SLICE_LIT("2"))};
    ck_assert_int_eq(fix_mutate(T, "r", m, 3), ERR_OK);
    change_read(&reader);
    ck_assert_int_eq(fix_delete_row(T, "r"), ERR_OK);
    change_expect(&reader, "r:-family f,-family gg,;");
}
END_TEST

START_TEST(aggregates_are_told_by_their_inputs)
{
    struct sto_mutation m = fix_set(3, "n", 0, SLICE_LIT("\0\0\0\0\0\0\0A"));
    m.kind = STO_ADD_TO_CELL;
    ck_assert_int_eq(mutate1("r", m), ERR_OK);
    m.kind = STO_MERGE_TO_CELL;
    ck_assert_int_eq(mutate1("r", m), ERR_OK);
    change_expect(&reader, "r:add sum:n@0=,;r:merge sum:n@0=,;"); /* printed up to a NUL */
}
END_TEST

START_TEST(read_modify_write_is_told_by_what_it_made)
{
    ck_assert_int_eq(mutate1("r", fix_set(1, "q", 4102444800000000, SLICE_LIT("ab"))), ERR_OK);
    change_read(&reader);
    struct sto_mutation m[2] = {fix_append(1, "q", SLICE_LIT("cd")),
                                fix_append(1, "q", SLICE_LIT("ef"))};
    ck_assert_int_eq(fix_mutate(T, "r", m, 2), ERR_OK);
    change_expect(&reader, "r:set f:q@4102444800000000=abcdef,;");
}
END_TEST

START_TEST(what_was_refused_is_not_told)
{
    struct sto_mutation m[2] = {fix_set(1, "q", 1000, SLICE_LIT("v")), fix_increment(1, "q", 1)};
    ck_assert_int_ne(fix_mutate(T, "r", m, 2), ERR_OK);
    atomic_store(&fix.accounts[0].rows_max, 0);
    ck_assert_int_eq(fix_put(T, "r", "v"), ERR_QUOTA);
    atomic_store(&fix.accounts[0].rows_max, STO_NO_CEILING);
    change_expect(&reader, "");
}
END_TEST

START_TEST(check_and_mutate_tells_what_happened)
{
    struct sto_mutation yes = fix_set(1, "q", 1000, SLICE_LIT("yes"));
    struct sto_mutation no = fix_set(1, "q", 1000, SLICE_LIT("no"));
    struct sto_check check = {.otherwise = &no, .otherwise_count = 1};
    struct sto_mutate_op op = {.scope = *T,
                               .row_key = SLICE_LIT("r"),
                               .mutations = &yes,
                               .mutation_count = 1,
                               .check = &check};
    for (int i = 0; i < 2; i++) {
        fix_submit(&op);
        fix_wait();
        ck_assert_int_eq(op.result, ERR_OK);
    }
    change_expect(&reader, "r:set f:q@1000=no,;r:set f:q@1000=yes,;");
}
END_TEST

START_TEST(a_retry_with_a_token_is_told_once)
{
    struct sto_mutation m = fix_set(1, "q", 1000, SLICE_LIT("v"));
    struct sto_mutate_op op = {.scope = *T,
                               .row_key = SLICE_LIT("r"),
                               .mutations = &m,
                               .mutation_count = 1,
                               .idempotency = {SLICE_LIT("12345678"), base_wall_us()}};
    for (int i = 0; i < 3; i++) {
        fix_submit(&op);
        fix_wait();
        ck_assert_int_eq(op.result, ERR_OK);
    }
    change_expect(&reader, "r:set f:q@1000=v,;");
}
END_TEST

START_TEST(a_dropped_range_is_told_row_by_row)
{
    ck_assert_int_eq(fix_put(T, "a1", "v"), ERR_OK);
    ck_assert_int_eq(mutate1("a1", fix_set(2, "x", 1000, SLICE_LIT("v"))), ERR_OK);
    ck_assert_int_eq(fix_put(T, "a2", "v"), ERR_OK);
    ck_assert_int_eq(fix_put(T, "b", "v"), ERR_OK);
    change_read(&reader);
    uint8_t end[LIM_ROW_KEY];
    ck_assert_int_eq(fix_drop(T, sto_range_of_prefix(SLICE_LIT("a"), end), 0, NULL), ERR_OK);
    change_expect(&reader, "a1:-family f,-family gg,;a2:-family f,;");
    ck_assert_int_eq(reader.type, STO_CHANGE_USER);
}
END_TEST

START_TEST(a_row_that_is_dropped_in_slices_is_told_by_columns)
{
    size_t count = LIM_DROP_SLICE_CELLS + 100;
    struct sto_mutation *m = base_new_array(count, sizeof(*m));
    for (size_t i = 0; i < count; i++)
        m[i] = fix_set(1, "q", (int64_t)(i + 1) * 1000, SLICE_LIT("v"));
    ck_assert_int_eq(fix_mutate(T, "r", m, count), ERR_OK);
    base_free(m);
    change_read(&reader);
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){.start = SLICE_EMPTY}, 0, NULL), ERR_OK);
    char wanted[96];
    (void)snprintf(wanted, sizeof wanted,
                   "r:-column f:q[101000,%zu000),;r:-column f:q[1000,101000),;", count + 1);
    change_expect(&reader, wanted);
}
END_TEST

START_TEST(garbage_that_is_removed_is_told_as_such)
{
    struct sto_family_spec families[6];
    for (size_t i = 0; i < 6; i++)
        families[i] = sto_family_spec_of(&T->schema->families[i]);
    static const struct sto_gc_node two = {.kind = STO_GC_MAX_VERSIONS, .max_versions = 2};
    families[0].gc_nodes = &two;
    families[0].gc_node_count = 1;
    struct sto_table_spec spec = {
        .families = families, .family_count = 6, .change_retention_s = RETENTION_S};
    struct sto_schema *next = NULL;
    ck_assert_int_eq(sto_schema_make(SLICE_LIT("t"), T->schema, &spec, &next, NULL), ERR_OK);
    ck_assert_int_eq(next->change_since_us, T->schema->change_since_us);
    sto_schema_unref(T->schema);
    T->schema = next;
    sto_schema_publish(next);
    for (int64_t i = 1; i <= 5; i++)
        ck_assert_int_eq(mutate1("r", fix_set(1, "q", i * 1000, SLICE_LIT("v"))), ERR_OK);
    ck_assert_int_eq(mutate1("r", fix_set(1, "z", 1000, SLICE_LIT("v"))), ERR_OK);
    change_read(&reader);
    ck_assert_uint_eq(fix_sweep(T).cells, 3);
    change_expect(&reader, "r:-column f:q[1000,4000),;");
    ck_assert_int_eq(reader.type, STO_CHANGE_GARBAGE);
}
END_TEST

START_TEST(other_tables_and_times_before_are_not_told)
{
    ck_assert_int_eq(fix_put(&fix.tables[0][1], "r", "other table"), ERR_OK);
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "r", "other tenant"), ERR_OK);
    changes_set(&fix.tables[1][0], RETENTION_S);
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "r", "other stream"), ERR_OK);
    change_expect(&reader, "");
    struct change_reader other;
    change_open(&other, &fix.tables[1][0]);
    change_expect(&other, "r:set f:q@1000=other stream,;");
    change_close(&other);
}
END_TEST

/* --- parts -------------------------------------------------------------------------------------
 */

START_TEST(a_long_value_comes_in_parts_that_fit_together)
{
    static uint8_t value[3 * LIM_CHANGE_PART + 17];
    for (size_t i = 0; i < sizeof(value); i++)
        value[i] = (uint8_t)('a' + i % 23);
    struct sto_mutation m[3] = {fix_set(1, "a", 1000, SLICE_LIT("first")),
                                fix_set(1, "b", 1000, base_slice(value, sizeof(value))),
                                fix_set(1, "c", 1000, SLICE_LIT("last"))};
    ck_assert_int_eq(fix_mutate(T, "r", m, 3), ERR_OK);
    ck_assert_int_eq(fix_put(T, "s", "next"), ERR_OK);
    reader.parts_max = 1;
    change_read(&reader);
    ck_assert_uint_eq(reader.changes, 2);
    ck_assert_uint_ge(reader.parts_ever, 5);
    size_t found = 0;
    for (size_t i = 0; i + 4 < reader.text.len; i++)
        found += memcmp(reader.text.ptr + i, "set f:b@1000=", 13) == 0;
    ck_assert_uint_eq(found, reader.parts_ever - 1);
    ck_assert_uint_ge(reader.text.len, sizeof(value));
}
END_TEST

START_TEST(a_partition_gives_its_own_rows_only)
{
    static uint8_t value[2 * LIM_CHANGE_PART];
    struct sto_mutation big = fix_set(1, "q", 1000, base_slice(value, sizeof(value)));
    ck_assert_int_eq(mutate1("a", big), ERR_OK); /* skipped whole */
    ck_assert_int_eq(fix_put(T, "b", "v"), ERR_OK);
    ck_assert_int_eq(fix_put(T, "c", "v"), ERR_OK);
    reader.op.range = (struct sto_row_range){.start = SLICE_LIT("b"), .end = SLICE_LIT("c")};
    change_expect(&reader, "b:set f:q@1000=v,;");
}
END_TEST

START_TEST(an_end_is_inclusive_and_says_that_all_before_it_was_given)
{
    ck_assert_int_eq(fix_put(T, "a", "v"), ERR_OK);
    change_read(&reader);
    int64_t first = reader.last_position;
    ck_assert_int_eq(fix_put(T, "b", "v"), ERR_OK);
    struct change_reader until;
    change_open(&until, T);
    until.op.until_us = first;
    change_expect(&until, "a:set f:q@1000=v,;");
    ck_assert_int_ge(until.op.passed_us, first);
    change_close(&until);
}
END_TEST

/* --- order and time -----------------------------------------------------------------------------
 */

START_TEST(positions_rise_within_a_batch_and_over_restarts)
{
    enum { OPS = 300 };
    static struct sto_mutate_op ops[OPS];
    static struct sto_mutation m[OPS];
    static char rows[OPS][16];
    int64_t before = 0;
    for (int round = 0; round < 3; round++) {
        fix_hold_committer(0);
        for (int i = 0; i < OPS; i++) {
            m[i] = fix_set(1, "q", 1000, SLICE_LIT("v"));
            (void)snprintf(rows[i], sizeof(rows[i]), "r%d", i);
            ops[i] = (struct sto_mutate_op){.scope = *T,
                                            .row_key = base_slice_text(rows[i]),
                                            .mutations = &m[i],
                                            .mutation_count = 1};
            fix_submit(&ops[i]);
        }
        fix_let_go();
        change_read(&reader);
        ck_assert_uint_eq(reader.changes, (size_t)(round + 1) * OPS);
        ck_assert_int_gt(reader.last_position, before);
        before = reader.last_position;
        int64_t passed = reader.op.passed_us;
        ck_assert_int_ge(passed, before - 1000);
        fix_reopen();
        changes_load(T);
        ck_assert_int_eq(atomic_load(&T->schema->table->changes.last_us), before);
        change_resume(&reader, T);
    }
}
END_TEST

START_TEST(what_comes_later_is_behind_what_readers_were_told)
{
    for (int i = 0; i < 50; i++) {
        change_read(&reader);
        int64_t told = reader.op.passed_us;
        ck_assert(!sto_changes_wait_for(&reader.op));
        ck_assert_int_eq(fix_put(T, "r", "v"), ERR_OK);
        ck_assert(sto_changes_wait_for(&reader.op));
        ck_assert_int_eq(change_slice(&reader), STO_READ_END);
        ck_assert_int_gt(reader.last_position, told);
    }
    ck_assert_uint_eq(reader.changes, 50);
}
END_TEST

/* The clock stood an hour ahead when readers were told. */
START_TEST(a_clock_that_goes_back_does_not_hide_changes)
{
    int64_t ahead = base_wall_us() + 3600LL * 1000000;
    atomic_store(&T->schema->table->changes.passed_us, ahead);
    reader.op.passed_us = ahead;
    ck_assert_int_eq(fix_put(T, "r", "v"), ERR_OK);
    change_expect(&reader, "r:set f:q@1000=v,;");
    ck_assert_int_eq(reader.last_position, ahead + 1);
}
END_TEST

/* --- retention ----------------------------------------------------------------------------------
 */

static uint64_t stored_parts(const struct sto_tenant_scope *tenant)
{
    struct sto_audit audit;
    ck_assert_int_eq(sto_audit_range(fix.engine, tenant, &audit, NULL), ERR_OK);
    return audit.physical_keys;
}

static void sweep_at(int64_t now_us)
{
    struct rdb_change_sweep sweep = {0};
    bool more = true;
    while (more)
        ck_assert_int_eq(sto_rdb_changes_sweep(sto_rdb_engine(fix.engine), &sweep, now_us, &more),
                         ERR_OK);
}

START_TEST(old_changes_go_and_young_ones_stay)
{
    ck_assert_int_eq(fix_put(T, "r", "v"), ERR_OK);
    uint64_t with = stored_parts(&fix.tenants[0]);
    sweep_at(base_wall_us() + (RETENTION_S - 10) * 1000000LL);
    ck_assert_uint_eq(stored_parts(&fix.tenants[0]), with);
    sweep_at(base_wall_us() + (RETENTION_S + 100) * 1000000LL);
    ck_assert_uint_eq(stored_parts(&fix.tenants[0]), with - 1);
}
END_TEST

static void put_many(int count)
{
    struct sto_mutate_op *ops = base_new_array((size_t)count, sizeof(*ops));
    struct sto_mutation m = fix_set(1, "q", 1000, SLICE_LIT("v"));
    for (int i = 0; i < count; i++) {
        ops[i] = (struct sto_mutate_op){
            .scope = *T, .row_key = SLICE_LIT("r"), .mutations = &m, .mutation_count = 1};
        fix_submit(&ops[i]);
    }
    for (int i = 0; i < count; i++) {
        fix_until_taken(&ops[i]);
        ck_assert_int_eq(ops[i].result, ERR_OK);
    }
    base_free(ops);
}

START_TEST(many_old_changes_go_in_bounded_commits)
{
    enum { OPS = LIM_CHANGES_PER_SWEEP + 500 };
    put_many(OPS);
    ck_assert_uint_ge(stored_parts(&fix.tenants[0]), OPS);
    struct rdb_change_sweep sweep = {0};
    bool more = false;
    int64_t later = base_wall_us() + (RETENTION_S + 100) * 1000000LL;
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    ck_assert_int_eq(sto_rdb_changes_sweep(e, &sweep, later, &more), ERR_OK);
    ck_assert(more);
    ck_assert_int_eq(sto_rdb_changes_sweep(e, &sweep, later, &more), ERR_OK);
    ck_assert(!more);
    ck_assert_uint_eq(stored_parts(&fix.tenants[0]), 2); /* the row */
}
END_TEST

/* Counts deletes that iterators of this thread step over: they made removals quadratic. */
START_TEST(a_walk_does_not_pass_what_it_deleted)
{
    enum { SWEEPS = 5 };
    put_many(SWEEPS * LIM_CHANGES_PER_SWEEP);
    rocksdb_set_perf_level(rocksdb_enable_count);
    rocksdb_perfcontext_t *counts = rocksdb_perfcontext_create();
    rocksdb_perfcontext_reset(counts);
    sweep_at(base_wall_us() + (RETENTION_S + 100) * 1000000LL);
    uint64_t skipped = rocksdb_perfcontext_metric(counts, rocksdb_internal_delete_skipped_count);
    rocksdb_perfcontext_destroy(counts);
    ck_assert_uint_eq(stored_parts(&fix.tenants[0]), 2); /* the row */
    ck_assert_uint_le(skipped, 2 * SWEEPS);
}
END_TEST

static void *sweep_main(void *arg)
{
    struct rdb_change_sweep *sweep = arg;
    bool more = false;
    enum err rc = sto_rdb_changes_sweep(sto_rdb_engine(fix.engine), sweep, base_wall_us(), &more);
    ck_assert_int_eq(rc, ERR_OK);
    ck_assert(!more);
    return NULL;
}

/* The sweep has found changes, and the tenant is purged before it deletes them. */
START_TEST(a_sweep_writes_nothing_of_a_tenant_behind_its_purge)
{
    pthread_t thread;
    struct rdb_change_sweep sweep = {0};
    ck_assert_int_eq(fix_put(T, "r", "v"), ERR_OK);
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_SWEEPING);
    changes_set(T, 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, sweep_main, &sweep), 0);
    fix_await_held();
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    static const struct sto_doc_change doc = {.key = SLICE_LIT("s/ab/t"), .expect = STO_DOC_ANY};
    for (enum sto_purge_step step = 0; step < STO_PURGE_STEP_COUNT; step++)
        ck_assert_int_eq(sto_purge_run(fix.engine, &fix.tenants[0], step, &doc, 1, NULL), ERR_OK);
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_NEVER);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert(!files_hold(fix.dir, "ab#t#"));
}
END_TEST

START_TEST(reading_from_before_what_is_kept_is_refused)
{
    int64_t now = base_wall_us();
    reader.op.passed_us = T->schema->change_since_us - 2;
    ck_assert_int_eq(change_slice(&reader), STO_READ_FAILED);
    ck_assert_int_eq(reader.op.result, ERR_CONFLICT);
    /* a stream that is old enough, so that only retention counts */
    atomic_store(&T->schema->table->changes.since_us, 1);
    reader.op.since_us = 1;
    reader.op.passed_us = now - RETENTION_S * 1000000LL - 1000000;
    ck_assert_int_eq(change_slice(&reader), STO_READ_FAILED);
    ck_assert_int_eq(reader.op.result, ERR_CONFLICT);
    reader.op.passed_us = now - RETENTION_S * 1000000LL + 30000000;
    ck_assert_int_eq(change_slice(&reader), STO_READ_END);
}
END_TEST

START_TEST(switching_off_ends_readers_and_removes_all)
{
    ck_assert_int_eq(fix_put(T, "r", "v"), ERR_OK);
    uint64_t with = stored_parts(&fix.tenants[0]);
    changes_set(T, 0);
    ck_assert(sto_changes_wait_for(&reader.op));
    ck_assert_int_eq(change_slice(&reader), STO_READ_FAILED);
    ck_assert_int_eq(reader.op.result, ERR_CONFLICT);
    ck_assert_int_eq(fix_put(T, "r", "unrecorded"), ERR_OK);
    sweep_at(base_wall_us());
    ck_assert_uint_eq(stored_parts(&fix.tenants[0]), with - 1);
    changes_set(T, RETENTION_S);
    ck_assert_int_eq(change_slice(&reader), STO_READ_FAILED); /* another stream */
    struct change_reader again;
    change_open(&again, T);
    change_expect(&again, "");
    ck_assert_int_eq(fix_put(T, "r", "again"), ERR_OK);
    sweep_at(base_wall_us());
    change_expect(&again, "r:set f:q@1000=again,;");
    change_close(&again);
}
END_TEST

START_TEST(a_forgotten_table_leaves_no_changes)
{
    ck_assert_int_eq(fix_put(T, "r", "v"), ERR_OK);
    atomic_store(&T->schema->table->forgotten, true);
    ck_assert_int_eq(change_slice(&reader), STO_READ_FAILED);
    ck_assert_int_eq(reader.op.result, ERR_NOT_FOUND);
    ck_assert_int_eq(fix_drop_table(T).result, ERR_OK);
    ck_assert_int_eq(sto_table_forget(fix.engine, T, NULL, 0, NULL), ERR_OK);
    ck_assert_uint_eq(stored_parts(&fix.tenants[0]), 0);
}
END_TEST

/* --- the rest of the world ----------------------------------------------------------------------
 */

START_TEST(changes_are_not_counted_as_usage)
{
    ck_assert_int_eq(fix_put(T, "r", "v"), ERR_OK);
    fix_assert_usage(0, 1 + 1 + 1 + 1 + 8, 1, 1);
    ck_assert_uint_gt(sto_account_change_bytes(&fix.accounts[0]), 0);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(on_a_low_disk_only_deletes_are_done_and_told)
{
    ck_assert_int_eq(fix_put(T, "r", "v"), ERR_OK);
    change_read(&reader);
    sto_rocksdb_test_disk_free(fix.engine, 1);
    ck_assert_int_eq(fix_put(T, "s", "v"), ERR_STORAGE_FULL);
    ck_assert_int_eq(fix_delete_row(T, "r"), ERR_OK);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(fix_delete_row(T, "r"), ERR_OK); /* of nothing: nothing grows */
    change_expect(&reader, "r:-family f,;");
    sto_rocksdb_test_disk_free(fix.engine, UINT64_MAX);
    ck_assert_int_eq(fix_put(T, "r", "v"), ERR_OK);
    change_read(&reader);
    sto_rocksdb_test_disk_free(fix.engine, 1);
    struct sto_mutation wordy[3] = {{.kind = STO_DELETE_FROM_FAMILY, .family = 2},
                                    {.kind = STO_DELETE_FROM_FAMILY, .family = 1},
                                    {.kind = STO_DELETE_FROM_FAMILY, .family = 1}};
    ck_assert_int_eq(fix_mutate(T, "r", wordy, 3), ERR_OK);
    change_expect(&reader, "r:-family f,;");
    sto_rocksdb_test_disk_free(fix.engine, UINT64_MAX);
}
END_TEST

START_TEST(a_closed_gate_ends_readers)
{
    change_read(&reader);
    ck_assert(!sto_changes_wait_for(&reader.op));
    atomic_store(&fix.accounts[0].gate, STO_GATE_NO_READS | STO_GATE_NO_WRITES);
    ck_assert(sto_changes_wait_for(&reader.op));
    ck_assert_int_eq(change_slice(&reader), STO_READ_FAILED);
    ck_assert_int_eq(reader.op.result, ERR_SUSPENDED);
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    ck_assert_int_eq(change_slice(&reader), STO_READ_FAILED);
    ck_assert_int_eq(reader.op.result, ERR_GONE);
}
END_TEST

START_TEST(a_failed_commit_tells_nothing)
{
    sto_rocksdb_test_fail_commit(fix.engine, 1);
    ck_assert_int_eq(fix_put(T, "r", "v"), ERR_OUTCOME_UNKNOWN);
    fix_reopen();
    changes_load(T);
    change_resume(&reader, T);
    change_expect(&reader, "");
}
END_TEST

START_TEST(a_purge_leaves_nothing_of_a_stream)
{
    ck_assert_int_eq(fix_put(T, "r", "secret"), ERR_OK);
    changes_set(&fix.tables[1][0], RETENTION_S);
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "r", "kept"), ERR_OK);
    ck_assert_uint_eq(stored_parts(&fix.tenants[0]), 3); /* header, cell, change */
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    static const struct sto_doc_change doc = {.key = SLICE_LIT("s/ab/t"), .expect = STO_DOC_ANY};
    for (enum sto_purge_step step = 0; step < STO_PURGE_STEP_COUNT; step++)
        ck_assert_int_eq(sto_purge_run(fix.engine, &fix.tenants[0], step, &doc, 1, NULL), ERR_OK);
    struct sto_audit audit;
    ck_assert_int_eq(sto_audit_range(fix.engine, &fix.tenants[0], &audit, NULL), ERR_OK);
    ck_assert_uint_eq(audit.physical_keys, 0);
    ck_assert_uint_eq(audit.counters, 0);
    ck_assert_uint_eq(audit.live_files_inside, 0);
    struct change_reader other;
    change_open(&other, &fix.tables[1][0]);
    change_expect(&other, "r:set f:q@1000=kept,;");
    change_close(&other);
}
END_TEST

/* What a directory from before there were change streams looks like. */
static void take_family_away(void)
{
    static const char *const names[] = {"default", "cells", "meta", "changes"};
    rocksdb_column_family_handle_t *families[4];
    rocksdb_options_t *o = rocksdb_options_create();
    const rocksdb_options_t *options[4] = {o, o, o, o};
    char path[300], *error = NULL;
    (void)snprintf(path, sizeof(path), "%s/db", fix.dir);
    rocksdb_t *db = rocksdb_open_column_families(o, path, 4, names, options, families, &error);
    ck_assert_msg(error == NULL, "%s", error);
    rocksdb_drop_column_family(db, families[3], &error);
    ck_assert_msg(error == NULL, "%s", error);
    for (int i = 0; i < 4; i++)
        rocksdb_column_family_handle_destroy(families[i]);
    rocksdb_close(db);
    rocksdb_options_destroy(o);
}

START_TEST(a_directory_from_before_is_opened)
{
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "r", "old"), ERR_OK);
    fix_close();
    take_family_away();
    fix_open();
    changes_load(T);
    change_resume(&reader, T);
    fix_assert_rows(&fix.tables[1][0], &(struct sto_read_spec){0}, "r{f:q@1000=old,}");
    ck_assert_int_eq(fix_put(T, "r", "new"), ERR_OK);
    change_expect(&reader, "r:set f:q@1000=new,;");
}
END_TEST

static TCase *add(Suite *s, const char *name)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(s, tc);
    return tc;
}

Suite *suite_storage_engine_changes(void)
{
    Suite *s = suite_create("storage_engine_changes");
    TCase *tc = add(s, "recorded");
    tcase_add_test(tc, a_set_is_told_with_its_real_timestamp);
    tcase_add_test(tc, mutations_of_a_row_are_one_change_in_their_order);
    tcase_add_test(tc, a_delete_that_removes_nothing_is_no_change);
    tcase_add_test(tc, a_deleted_row_is_told_by_its_families);
    tcase_add_test(tc, aggregates_are_told_by_their_inputs);
    tcase_add_test(tc, read_modify_write_is_told_by_what_it_made);
    tcase_add_test(tc, what_was_refused_is_not_told);
    tcase_add_test(tc, check_and_mutate_tells_what_happened);
    tcase_add_test(tc, a_retry_with_a_token_is_told_once);
    tcase_add_test(tc, a_dropped_range_is_told_row_by_row);
    tcase_add_test(tc, a_row_that_is_dropped_in_slices_is_told_by_columns);
    tcase_add_test(tc, garbage_that_is_removed_is_told_as_such);
    tcase_add_test(tc, other_tables_and_times_before_are_not_told);
    tc = add(s, "slices");
    tcase_add_test(tc, a_long_value_comes_in_parts_that_fit_together);
    tcase_add_test(tc, a_partition_gives_its_own_rows_only);
    tcase_add_test(tc, an_end_is_inclusive_and_says_that_all_before_it_was_given);
    tc = add(s, "order");
    tcase_add_test(tc, positions_rise_within_a_batch_and_over_restarts);
    tcase_add_test(tc, what_comes_later_is_behind_what_readers_were_told);
    tcase_add_test(tc, a_clock_that_goes_back_does_not_hide_changes);
    tc = add(s, "retention");
    tcase_add_test(tc, old_changes_go_and_young_ones_stay);
    tcase_add_test(tc, many_old_changes_go_in_bounded_commits);
    tcase_add_test(tc, reading_from_before_what_is_kept_is_refused);
    tcase_add_test(tc, switching_off_ends_readers_and_removes_all);
    tcase_add_test(tc, a_forgotten_table_leaves_no_changes);
    tcase_add_test(tc, a_walk_does_not_pass_what_it_deleted);
    tcase_add_test(tc, a_sweep_writes_nothing_of_a_tenant_behind_its_purge);
    tc = add(s, "bounds");
    tcase_add_test(tc, changes_are_not_counted_as_usage);
    tcase_add_test(tc, on_a_low_disk_only_deletes_are_done_and_told);
    tcase_add_test(tc, a_closed_gate_ends_readers);
    tcase_add_test(tc, a_failed_commit_tells_nothing);
    tcase_add_test(tc, a_purge_leaves_nothing_of_a_stream);
    tcase_add_test(tc, a_directory_from_before_is_opened);
    return s;
}

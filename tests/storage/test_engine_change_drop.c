/*
 * tests/storage/test_engine_change_drop.c - the changes of a table that is removed.
 *
 * RocksDB's background threads do not survive a fork, so the tests that kill open no engine in
 * their own process: one child removes and dies, another one checks.
 */
#include "changes.h"

#include <sys/wait.h>

#include "tests/storage/committer_counts.h"
#include "tests/storage/drops.h"

#include "base/banned.h"

Suite *suite_storage_engine_change_drop(void);

#define T      (&fix.tables[0][0])
#define OTHER  (&fix.tables[0][1])
#define SECRET "secret-93ab1f"

enum { LIMIT = 100, CHANGES = 600, ROUNDS = 40, PUTS = 30 };

/* --- tables with streams ---------------------------------------------------------------------- */

static void setup(void)
{
    fix_prepare_beside(); /* removed keys that are passed are counted */
    fix.options.drop_range_cells = LIMIT;
    fix_open();
    changes_set(T, RETENTION_S);
}

static void setup_sealed(void)
{
    fix.sealed = true;
    setup();
}

/* Writes to few rows: the rows of the table go as points, whatever its changes do. */
static void put_changes(const struct sto_table_scope *scope, int count)
{
    static struct sto_mutate_op ops[CHANGES];
    struct sto_mutation m = fix_set(1, "q", 1000, SLICE_LIT(SECRET));
    ck_assert_int_le(count, CHANGES);
    for (int i = 0; i < count; i++) {
        ops[i] = (struct sto_mutate_op){
            .scope = *scope, .row_key = SLICE_LIT("r"), .mutations = &m, .mutation_count = 1};
        fix_submit(&ops[i]);
        if (i == count / 2) {
            fix_wait();
            ck_assert_int_eq(sto_rdb_flush(engine()), ERR_OK);
        }
    }
    for (int i = 0; i < count; i++) {
        fix_until_taken(&ops[i]);
        ck_assert_int_eq(ops[i].result, ERR_OK);
    }
}

/* Stored changes of the table. covered: also those that a range tombstone covers. */
static uint64_t count_changes(const struct sto_table_scope *scope, bool covered)
{
    struct sto_range range = sto_range_of_table(scope);
    rocksdb_readoptions_t *options =
        sto_rdb_scan_options(sto_range_begin(&range), sto_range_end(&range));
    rocksdb_readoptions_set_ignore_range_deletions(options, covered);
    rocksdb_iterator_t *it =
        rocksdb_create_iterator_cf(engine()->db.handle, options, engine()->db.changes);
    uint64_t count = 0;
    for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it))
        count++;
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    return count;
}

/* Whether the files of changes hold that many range tombstones, once memory was flushed. */
static bool has_tombstones(int count)
{
    char wanted[48];
    ck_assert_int_eq(sto_rdb_flush(engine()), ERR_OK);
    char *text = rocksdb_property_value_cf(engine()->db.handle, engine()->db.changes,
                                           "rocksdb.aggregated-table-properties");
    (void)snprintf(wanted, sizeof wanted, "# range deletions=%d;", count);
    bool has = strstr(text, wanted) != NULL;
    rocksdb_free(text);
    return has;
}

static enum err forget(const struct sto_table_scope *scope)
{
    char key[256];
    changes_doc_key(scope, key);
    struct sto_doc_change doc = {.key = base_slice_text(key), .expect = STO_DOC_ANY};
    return sto_table_forget(fix.engine, scope, &doc, 1, NULL);
}

static void remove_table(const struct sto_table_scope *scope)
{
    struct sto_drop_op op = fix_drop_table(scope);
    ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
    ck_assert_int_eq(forget(scope), ERR_OK);
}

/* Another table of the same name, with a stream. */
static void make_again(struct sto_table_scope *scope, size_t tenant, const char *name)
{
    struct sto_family_spec families[2] = {{.name = SLICE_LIT("f")}, {.name = SLICE_LIT("gg")}};
    struct sto_schema *schema = fix_schema(name, NULL, families, 2);
    sto_table_scope_release(scope);
    *scope = sto_table_scope_make(&fix.tenants[tenant], schema);
    sto_schema_unref(schema);
    ck_assert_int_eq(sto_counters_load(fix.engine, scope, NULL), ERR_OK);
    changes_set(scope, RETENTION_S);
}

static void expect_stream(const struct sto_table_scope *scope, const char *wanted)
{
    struct change_reader reader;
    change_open(&reader, scope);
    change_expect(&reader, wanted);
    change_close(&reader);
}

/* --- removing --------------------------------------------------------------------------------- */

START_TEST(many_changes_go_as_one_range_and_their_bytes_leave_the_files)
{
    changes_set(OTHER, RETENTION_S);
    put_changes(T, CHANGES);
    ck_assert_int_eq(fix_put(OTHER, "r", "kept"), ERR_OK);
    const rocksdb_snapshot_t *held = hold_bytes();
    remove_table(T);
    ck_assert_uint_eq(count_changes(T, false), 0);
    ck_assert_uint_ge(count_changes(T, true), CHANGES - LIMIT);
    ck_assert(has_tombstones(1));
    ck_assert(note_is_there());
    let_bytes_go(held);
    wait_until_idle();
    ck_assert_uint_eq(count_changes(T, true), 0);
    ck_assert(has_tombstones(0));
    ck_assert(!note_is_there());
    ck_assert(!files_hold(fix.dir, SECRET));
    ck_assert(!files_hold(fix.dir, "ab#t#"));
    expect_stream(OTHER, "r:set f:q@1000=kept,;");
}
END_TEST

START_TEST(only_more_changes_than_the_limit_go_as_a_range)
{
    put_changes(T, LIMIT + _i);
    const rocksdb_snapshot_t *held = hold_bytes();
    remove_table(T);
    ck_assert_uint_eq(count_changes(T, false), 0);
    ck_assert(has_tombstones(_i));
    ck_assert_int_eq(note_is_there(), _i);
    ck_assert_uint_eq(notes_for_later(), 1 - (size_t)_i);
    let_bytes_go(held);
}
END_TEST

START_TEST(few_changes_leave_the_files_in_time)
{
    put_changes(T, LIMIT);
    engine()->options.reclaim_after_s = 0; /* due as soon as it is written */
    remove_table(T);
    sto_rdb_reclaim_wake(&engine()->reclaim);
    wait_until_idle();
    ck_assert_uint_eq(notes_for_later(), 0);
    ck_assert(!files_hold(fix.dir, SECRET));
    ck_assert(!files_hold(fix.dir, "ab#t#"));
}
END_TEST

/* What the control thread waits for. A sequence number is an entry of a batch. */
START_TEST(forgetting_a_table_is_one_small_commit_however_many_changes_it_had)
{
    put_changes(T, CHANGES);
    ck_assert_int_eq(fix_drop_table(T).result, ERR_OK);
    wait_until_idle();
    uint64_t before = rocksdb_get_latest_sequence_number(engine()->db.handle);
    ck_assert_int_eq(forget(T), ERR_OK);
    ck_assert_uint_eq(rocksdb_get_latest_sequence_number(engine()->db.handle), before + 3);
}
END_TEST

/* Counts deletes that the committer's iterators step over. */
START_TEST(a_commit_continues_where_the_one_before_ended)
{
    enum { COMMITS = 5 };
    for (int i = 0; i < COMMITS * LIM_CHANGES_PER_SWEEP; i += CHANGES)
        put_changes(T, CHANGES);
    engine()->options.drop_range_cells = LIM_DROP_RANGE_CELLS;
    struct passed passed;
    on_committer(count_begin, NULL);
    ck_assert_int_eq(fix_drop_table(T).result, ERR_OK);
    on_committer(count_end, &passed);
    ck_assert_uint_eq(count_changes(T, false), 0);
    ck_assert_uint_le(passed.tombstones, 4 * COMMITS);
}
END_TEST

START_TEST(a_table_without_changes_leaves_no_range)
{
    engine()->options.drop_range_cells = 0; /* the first change would be one too many */
    remove_table(OTHER);
    ck_assert(has_tombstones(0));
    ck_assert(!note_is_there());
}
END_TEST

START_TEST(a_table_made_again_keeps_its_changes_and_shows_no_old_ones)
{
    put_changes(T, CHANGES);
    const rocksdb_snapshot_t *held = hold_bytes();
    remove_table(T);
    make_again(T, 0, "t");
    expect_stream(T, "");
    ck_assert_int_eq(fix_put(T, "r", "new"), ERR_OK);
    expect_stream(T, "r:set f:q@1000=new,;");
    let_bytes_go(held);
    wait_until_idle();
    expect_stream(T, "r:set f:q@1000=new,;");
    ck_assert_uint_eq(count_changes(T, true), 1);
    fix_reopen();
    changes_load(T);
    expect_stream(T, "r:set f:q@1000=new,;");
}
END_TEST

/* Removals of all sizes, tables made again, restarts: what each stream says is what was written. */
START_TEST(changes_of_other_tables_and_tenants_stay)
{
    static struct buf wanted[FIX_TENANTS][FIX_TABLES];
    uint64_t random = 7919 + (uint64_t)_i;
    int written = 0;
    for (size_t n = 0; n < FIX_TENANTS * FIX_TABLES; n++) {
        base_buf_init(&wanted[n / 2][n % 2], MIB);
        changes_set(&fix.tables[n / 2][n % 2], RETENTION_S);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PUTS; i++) {
            random = random * 6364136223846793005ULL + 1442695040888963407ULL;
            size_t n = (size_t)(random >> 33) % (FIX_TENANTS * FIX_TABLES);
            char value[24];
            (void)snprintf(value, sizeof value, "v%d", written++);
            ck_assert_int_eq(fix_put(&fix.tables[n / 2][n % 2], "r", value), ERR_OK);
            ck_assert_int_eq(base_buf_printf(&wanted[n / 2][n % 2], "r:set f:q@1000=%s,;", value),
                             ERR_OK);
        }
        size_t n = (size_t)(random >> 43) % (FIX_TENANTS * FIX_TABLES);
        struct sto_table_scope *removed = &fix.tables[n / 2][n % 2];
        engine()->options.drop_range_cells = (random >> 53) % 8;
        remove_table(removed);
        make_again(removed, n / 2, fix_table_names[n % 2]);
        base_buf_truncate(&wanted[n / 2][n % 2], 0);
        if (round % 8 == 7) {
            fix_reopen();
            for (size_t k = 0; k < FIX_TENANTS * FIX_TABLES; k++)
                changes_load(&fix.tables[k / 2][k % 2]);
        }
        for (size_t k = 0; round % 4 == 3 && k < FIX_TENANTS * FIX_TABLES; k++) {
            struct buf *b = &wanted[k / 2][k % 2];
            ck_assert_int_eq(base_buf_append_byte(b, 0), ERR_OK);
            expect_stream(&fix.tables[k / 2][k % 2], (const char *)b->ptr);
            base_buf_truncate(b, b->len - 1);
        }
    }
    for (size_t n = 0; n < FIX_TENANTS * FIX_TABLES; n++)
        base_buf_fini(&wanted[n / 2][n % 2]);
}
END_TEST

/* --- ending early ----------------------------------------------------------------------------- */

START_TEST(a_removal_that_is_told_to_end_goes_on_when_it_is_repeated)
{
    static _Atomic bool stop;
    put_changes(T, CHANGES);
    atomic_store(&fix.tables[0][0].schema->table->forgotten, true);
    struct sto_drop_op op = {.scope = *T,
                             .ignore_gate = true,
                             .table_ends = true,
                             .stop = &stop,
                             .reply_to = &fix.mailbox,
                             .done = fix_drop_done};
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_CHANGES);
    fix.outstanding++;
    sto_drop_rows(fix.engine, &op);
    fix_await_held();
    atomic_store(&stop, true);
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_NEVER);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_CANCELLED);
    ck_assert_uint_eq(count_changes(T, false), CHANGES - LIMIT);
    remove_table(T);
    ck_assert_uint_eq(count_changes(T, false), 0);
}
END_TEST

START_TEST(a_failed_commit_leaves_what_a_repeat_removes)
{
    put_changes(T, CHANGES);
    sto_rocksdb_test_fail_commit(fix.engine, 2 + _i); /* the first one is that of the row */
    ck_assert_int_eq(fix_drop_table(T).result, ERR_OUTCOME_UNKNOWN);
    fix_reopen();
    changes_load(T);
    ck_assert_uint_eq(count_changes(T, false), _i == 0 ? CHANGES : CHANGES - LIMIT);
    remove_table(T);
    ck_assert_uint_eq(count_changes(T, false), 0);
}
END_TEST

/* --- beside a purge --------------------------------------------------------------------------- */

START_TEST(a_purge_takes_what_a_removal_left_of_a_stream)
{
    put_changes(T, CHANGES);
    changes_set(&fix.tables[1][0], RETENTION_S);
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "r", "kept"), ERR_OK);
    const rocksdb_snapshot_t *held = hold_bytes();
    remove_table(T);
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    purge(STO_PURGE_FENCE, STO_PURGE_COMPACT);
    ck_assert(!note_is_there());
    let_bytes_go(held);
    purge(STO_PURGE_COMPACT, STO_PURGE_STEP_COUNT);
    wait_until_idle();
    struct sto_search_target target = {.scope = &fix.tenants[0]};
    struct sto_search_spec spec = {0};
    ck_assert_int_eq(sto_search_files(fix.engine, &target, 1, &spec, NULL), ERR_OK);
    ck_assert_uint_eq(target.found.keys, 0);
    ck_assert(!files_hold(fix.dir, SECRET));
    expect_stream(&fix.tables[1][0], "r:set f:q@1000=kept,;");
}
END_TEST

/* --- kill -9 ---------------------------------------------------------------------------------- */

static const enum sto_die_point POINTS[] = {STO_DIE_CHANGES,   STO_DIE_WRITTEN, STO_DIE_FLUSHED,
                                            STO_DIE_COMPACTED, STO_DIE_SETTLED, STO_DIE_FORGOTTEN};

static _Noreturn void child_remove(enum sto_die_point point)
{
    fix.options.drop_range_cells = LIMIT;
    fix_open();
    changes_set(T, RETENTION_S);
    changes_set(OTHER, RETENTION_S);
    put_changes(T, CHANGES);
    ck_assert_int_eq(fix_put(OTHER, "r", "kept"), ERR_OK);
    sto_rocksdb_test_die_at(fix.engine, point);
    if (fix_drop_table(T).result != ERR_OK)
        _exit(1);
    fix_wait_for_death();
}

static _Noreturn void child_check(enum sto_die_point died_at)
{
    fix.options.drop_range_cells = LIMIT;
    fix_open();
    changes_load(T);
    changes_load(OTHER);
    ck_assert_uint_eq(count_changes(T, false), died_at == STO_DIE_CHANGES ? CHANGES - LIMIT : 0);
    remove_table(T); /* what tenancy does with every table that is deleting */
    make_again(T, 0, "t");
    ck_assert_int_eq(fix_put(T, "r", "new"), ERR_OK);
    sto_rdb_reclaim_wake(&engine()->reclaim);
    wait_until_idle();
    ck_assert_uint_eq(count_changes(T, true), 1);
    ck_assert(has_tombstones(0));
    ck_assert(!note_is_there());
    ck_assert(!files_hold(fix.dir, SECRET));
    expect_stream(T, "r:set f:q@1000=new,;");
    expect_stream(OTHER, "r:set f:q@1000=kept,;");
    fix_close();
    _exit(0);
}

START_TEST(a_removal_goes_on_after_kill_9_behind_each_step)
{
    enum sto_die_point point = POINTS[_i];
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        child_remove(point);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 137, "the removal ended with %d",
                  status);
    child = fork();
    if (child == 0)
        child_check(point);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the check ended with %d", status);
}
END_TEST

Suite *suite_storage_engine_change_drop(void)
{
    Suite *s = suite_create("storage_engine_change_drop");
    TCase *t = tcase_create("changes");
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, many_changes_go_as_one_range_and_their_bytes_leave_the_files);
    tcase_add_loop_test(t, only_more_changes_than_the_limit_go_as_a_range, 0, 2);
    tcase_add_test(t, few_changes_leave_the_files_in_time);
    tcase_add_test(t, forgetting_a_table_is_one_small_commit_however_many_changes_it_had);
    tcase_add_test(t, a_commit_continues_where_the_one_before_ended);
    tcase_add_test(t, a_table_without_changes_leaves_no_range);
    tcase_add_test(t, a_table_made_again_keeps_its_changes_and_shows_no_old_ones);
    tcase_add_loop_test(t, changes_of_other_tables_and_tenants_stay, 0, 3);
    tcase_add_test(t, a_removal_that_is_told_to_end_goes_on_when_it_is_repeated);
    tcase_add_loop_test(t, a_failed_commit_leaves_what_a_repeat_removes, 0, 2);
    tcase_add_test(t, a_purge_takes_what_a_removal_left_of_a_stream);
    suite_add_tcase(s, t);
    t = tcase_create("sealed");
    tcase_add_checked_fixture(t, setup_sealed, fix_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, many_changes_go_as_one_range_and_their_bytes_leave_the_files);
    suite_add_tcase(s, t);
    t = tcase_create("killed");
    tcase_add_checked_fixture(t, fix_prepare, teardown_closed);
    tcase_set_timeout(t, 180);
    tcase_add_loop_test(t, a_removal_goes_on_after_kill_9_behind_each_step, 0,
                        sizeof POINTS / sizeof POINTS[0]);
    suite_add_tcase(s, t);
    return s;
}

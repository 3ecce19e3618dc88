/*
 * tests/storage/test_engine_write.c - what a write changes, counts, and is refused for.
 */
#include "fixture.h"
#include "hold.h"

#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_storage_engine_write(void);

#define T &fix.tables[0][0]

START_TEST(every_kind_of_mutation_is_counted_exactly)
{
    struct sto_mutation two[2] = {fix_set(1, "q", 2000, SLICE_LIT("xyz")),
                                  fix_set(2, "", 1000, SLICE_LIT(""))};
    ck_assert_int_eq(fix_mutate(T, "row", two, 2), ERR_OK);
    /* row 3 + f 1 + q 1 + 3 + 8, row 3 + gg 2 + 0 + 0 + 8 */
    fix_assert_usage(0, 16 + 13, 1, 2);
    struct sto_mutation again = fix_set(1, "q", 2000, SLICE_LIT("x"));
    ck_assert_int_eq(fix_mutate(T, "row", &again, 1), ERR_OK);
    fix_assert_usage(0, 14 + 13, 1, 2);
    struct sto_mutation older = fix_set(1, "q", 1000, SLICE_LIT("x"));
    ck_assert_int_eq(fix_mutate(T, "row", &older, 1), ERR_OK);
    fix_assert_usage(0, 14 + 14 + 13, 1, 3);
    struct sto_mutation column = {.kind = STO_DELETE_FROM_COLUMN,
                                  .family = 1,
                                  .qualifier = SLICE_LIT("q"),
                                  .start_us = 1000,
                                  .end_us = 2000};
    ck_assert_int_eq(fix_mutate(T, "row", &column, 1), ERR_OK);
    fix_assert_usage(0, 14 + 13, 1, 2);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{f:q@2000=x,gg:@1000=,}");
    struct sto_mutation family = {.kind = STO_DELETE_FROM_FAMILY, .family = 2};
    ck_assert_int_eq(fix_mutate(T, "row", &family, 1), ERR_OK);
    fix_assert_usage(0, 14, 1, 1);
    ck_assert_int_eq(fix_delete_row(T, "row"), ERR_OK);
    fix_assert_usage(0, 0, 0, 0);
    ck_assert_int_eq(fix_delete_row(T, "row"), ERR_OK);
    fix_assert_usage(0, 0, 0, 0);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(the_last_of_two_equal_cells_wins_and_counts_once)
{
    struct sto_mutation m[3] = {fix_set(1, "q", 1000, SLICE_LIT("first")),
                                fix_set(1, "q", 1000, SLICE_LIT("2nd")),
                                fix_set(1, "r", 1000, SLICE_LIT("other"))};
    ck_assert_int_eq(fix_mutate(T, "row", m, 3), ERR_OK);
    fix_assert_usage(0, 3 + 1 + 1 + 3 + 8 + 3 + 1 + 1 + 5 + 8, 1, 2);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{f:q@1000=2nd,f:r@1000=other,}");
}
END_TEST

START_TEST(an_operation_sees_those_before_it_in_the_batch)
{
    struct sto_mutation set = fix_set(1, "q", 1000, SLICE_LIT("v"));
    struct sto_mutation del = {.kind = STO_DELETE_FROM_ROW};
    struct sto_mutate_op ops[6];
    for (int i = 0; i < 6; i++)
        ops[i] = (struct sto_mutate_op){.scope = *T,
                                        .row_key = SLICE_LIT("row"),
                                        .mutations = i % 2 == 0 ? &set : &del,
                                        .mutation_count = 1,
                                        .must_exist = i % 2 == 1};
    for (int i = 0; i < 5; i++)
        fix_submit(&ops[i]);
    fix_wait();
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(ops[i].result, ERR_OK);
        ck_assert_int_eq(ops[i].row_existed, i % 2 == 1);
    }
    fix_assert_usage(0, 3 + 1 + 1 + 1 + 8, 1, 1);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(must_exist_refuses_new_rows)
{
    struct sto_mutation set = fix_set(1, "q", 1000, SLICE_LIT("v"));
    struct sto_mutate_op op = {.scope = *T,
                               .row_key = SLICE_LIT("row"),
                               .mutations = &set,
                               .mutation_count = 1,
                               .must_exist = true};
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_PRECONDITION);
    fix_assert_usage(0, 0, 0, 0);
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_OK);
    ck_assert(op.row_existed);
}
END_TEST

START_TEST(server_timestamps_are_whole_milliseconds_that_do_not_go_back)
{
    int64_t last = base_wall_us() / 1000 * 1000;
    for (int i = 0; i < 20; i++) {
        struct sto_mutation m = fix_set(1, "q", STO_TIMESTAMP_SERVER, SLICE_LIT("v"));
        struct sto_mutate_op op = {
            .scope = *T, .row_key = SLICE_LIT("row"), .mutations = &m, .mutation_count = 1};
        fix_submit(&op);
        fix_wait();
        ck_assert_int_eq(op.result, ERR_OK);
        ck_assert_int_eq(op.commit_us % 1000, 0);
        ck_assert_int_ge(op.commit_us, last);
        ck_assert_int_le(op.commit_us, base_wall_us());
        last = op.commit_us;
    }
    char wanted[64];
    (void)snprintf(wanted, sizeof(wanted), "row{f:q@%lld=v,}", (long long)last);
    fix_assert_rows(T, &(struct sto_read_spec){.versions = 1}, wanted);
}
END_TEST

START_TEST(byte_quota_is_exact_and_deletes_pass)
{
    ck_assert_int_eq(fix_put(T, "row", "0123456789"), ERR_OK); /* 3+1+1+10+8 = 23 */
    atomic_store(&fix.accounts[0].bytes_max, 46);
    ck_assert_int_eq(fix_put(T, "ro2", "0123456789a"), ERR_QUOTA);
    ck_assert_str_eq(fix_detail.text,
                     "stored bytes quota: 23 used, with garbage that was not removed yet, "
                     "24 would be added, limit 46; "
                     "deletes still pass");
    fix_assert_usage(0, 23, 1, 1);
    ck_assert_int_eq(fix_put(T, "ro2", "0123456789"), ERR_OK);
    fix_assert_usage(0, 46, 2, 2);
    ck_assert_int_eq(fix_put(T, "ro2", "012345678X"), ERR_OK); /* the same size */
    ck_assert_int_eq(fix_put(T, "ro2", "0123456789a"), ERR_QUOTA);
    atomic_store(&fix.accounts[0].bytes_max, 10); /* far over the ceiling now */
    ck_assert_int_eq(fix_put(T, "ro2", "short"), ERR_OK);
    ck_assert_int_eq(fix_put(T, "ro2", "longer"), ERR_QUOTA);
    ck_assert_int_eq(fix_delete_row(T, "row"), ERR_OK);
    fix_assert_usage(0, 18, 1, 1);
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "row", "neighbours do not care"), ERR_OK);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "ro2{f:q@1000=short,}");
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(quota_counts_what_the_batch_already_took)
{
    atomic_store(&fix.accounts[0].rows_max, 3);
    struct sto_mutation set = fix_set(1, "q", 1000, SLICE_LIT("v"));
    struct sto_mutate_op ops[8];
    static const char *const rows[8] = {"a", "b", "a", "c", "d", "e", "b", "f"};
    for (int i = 0; i < 8; i++) {
        ops[i] =
            (struct sto_mutate_op){.scope = fix.tables[0][i % 2], /* the tenant's, not a table's */
                                   .row_key = base_slice_text(rows[i]),
                                   .mutations = &set,
                                   .mutation_count = 1};
        fix_submit(&ops[i]);
    }
    fix_wait();
    int passed = 0;
    for (int i = 0; i < 8; i++) {
        ck_assert(ops[i].result == ERR_OK || ops[i].result == ERR_QUOTA);
        passed += ops[i].result == ERR_OK;
    }
    ck_assert_int_eq(passed, 4); /* a, b, a again, c */
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).rows, 3);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_refused_operation_leaves_no_part_of_itself)
{
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    struct sto_usage before = sto_counters_read(&fix.accounts[0].total);
    atomic_store(&fix.accounts[0].bytes_max, before.bytes);
    struct sto_mutation m[4] = {{.kind = STO_DELETE_FROM_ROW},
                                fix_set(1, "a", 1000, SLICE_LIT("1")),
                                {.kind = STO_DELETE_FROM_FAMILY, .family = 1},
                                fix_set(2, "long", 1000, SLICE_LIT("much too long"))};
    struct sto_mutation fits = fix_set(1, "q", 1000, SLICE_LIT("w"));
    struct sto_mutate_op ops[2] = {
        {.scope = *T, .row_key = SLICE_LIT("row"), .mutations = m, .mutation_count = 4},
        {.scope = *T, .row_key = SLICE_LIT("row"), .mutations = &fits, .mutation_count = 1}};
    fix_submit(&ops[0]);
    fix_submit(&ops[1]);
    fix_wait();
    ck_assert_int_eq(ops[0].result, ERR_QUOTA);
    ck_assert_int_eq(ops[1].result, ERR_OK);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{f:q@1000=w,}");
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_row_has_a_largest_size)
{
    size_t len = 90 * MIB;
    uint8_t *big = base_new(len);
    struct sto_mutation m[2];
    for (int i = 0; i < 2; i++)
        m[i] = fix_set(1, i == 0 ? "a" : "b", 1000, base_slice(big, len));
    ck_assert_int_eq(fix_mutate(T, "row", m, 2), ERR_OK);
    /* What is left to LIM_ROW_BYTES exactly, then one more. */
    struct sto_usage u = sto_counters_read(&fix.accounts[0].total);
    struct sto_mutation last =
        fix_set(1, "c", 1000, base_slice(big, LIM_ROW_BYTES - u.bytes - (3 + 1 + 1 + 8) + 1));
    ck_assert_int_eq(fix_mutate(T, "row", &last, 1), ERR_TOO_BIG);
    last.value.len--;
    ck_assert_int_eq(fix_mutate(T, "row", &last, 1), ERR_OK);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).bytes, LIM_ROW_BYTES);
    ck_assert_int_eq(fix_put(T, "row", ""), ERR_TOO_BIG);
    ck_assert_int_eq(fix_put(T, "rox", ""), ERR_OK);
    ck_assert_int_eq(fix_delete_row(T, "row"), ERR_OK);
    base_free(big);
}
END_TEST

START_TEST(the_gate_refuses_at_submission)
{
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    atomic_store(&fix.accounts[0].gate, STO_GATE_NO_WRITES);
    ck_assert_int_eq(fix_put(T, "row", "w"), ERR_SUSPENDED);
    ck_assert_int_eq(fix_delete_row(T, "row"), ERR_SUSPENDED);
    atomic_store(&fix.accounts[0].gate, STO_GATE_NO_READS);
    ck_assert_int_eq(fix_put(T, "row", "w"), ERR_OK);
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    ck_assert_int_eq(fix_put(T, "row", "x"), ERR_GONE);
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "row", "x"), ERR_OK);
}
END_TEST

START_TEST(the_gate_is_looked_at_again_by_the_committer)
{
    fix_hold_committer(0);
    struct sto_mutation set = fix_set(1, "q", 1000, SLICE_LIT("v"));
    struct sto_mutate_op op = {
        .scope = *T, .row_key = SLICE_LIT("row"), .mutations = &set, .mutation_count = 1};
    fix_submit(&op);
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    fix_let_go();
    ck_assert_int_eq(op.result, ERR_GONE);
    fix_assert_usage(0, 0, 0, 0);
}
END_TEST

START_TEST(a_tenant_s_half_of_the_commit_queue_refuses_at_once)
{
    fix_hold_committer(0);
    enum { TAKEN = LIM_COMMIT_QUEUE_OPS / 2 };
    size_t count = TAKEN + 10;
    struct sto_mutate_op *ops = base_new_array(count, sizeof(*ops));
    struct sto_mutation set = fix_set(1, "q", 1000, SLICE_LIT("v"));
    for (size_t i = 0; i < count; i++) {
        ops[i] = (struct sto_mutate_op){
            .scope = *T, .row_key = SLICE_LIT("row"), .mutations = &set, .mutation_count = 1};
        fix_submit(&ops[i]);
    }
    (void)base_mailbox_run(&fix.mailbox);
    ck_assert_uint_eq(fix.outstanding, TAKEN);
    fix_let_go();
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(ops[i].result, i < TAKEN ? ERR_OK : ERR_OVERLOADED);
        ck_assert_int_eq(ops[i].retry_ns > 0, i >= TAKEN); /* and says when to come again */
    }
    ck_assert_int_eq(fix_put(T, "row", "w"), ERR_OK); /* and it is empty again */
    base_free(ops);
}
END_TEST

START_TEST(a_commit_queue_has_a_largest_weight)
{
    fix_hold_committer(0);
    uint8_t *big = base_new(100 * MIB);
    struct sto_mutation set = fix_set(1, "q", 1000, base_slice(big, 100 * MIB));
    struct sto_mutate_op ops[5];
    for (size_t i = 0; i < 5; i++) {
        ops[i] = (struct sto_mutate_op){.scope = *T,
                                        .row_key = SLICE_LIT("row"),
                                        .mutations = &set,
                                        .mutation_count = 1,
                                        .must_exist = true}; /* refused later: nothing is written */
        fix_submit(&ops[i]);
    }
    fix_let_go();
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(ops[i].result, i < 2 ? ERR_PRECONDITION : ERR_OVERLOADED);
    base_free(big);
}
END_TEST

START_TEST(a_low_disk_refuses_growth_and_passes_deletes)
{
    struct sto_health health;
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    sto_rocksdb_test_disk_free(fix.engine, fix.options.headroom_bytes - 1);
    sto_health_get(fix.engine, &health);
    ck_assert(health.disk_low && !health.failed);
    ck_assert_int_eq(fix_put(T, "row", "w"), ERR_STORAGE_FULL);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{f:q@1000=v,}");
    ck_assert_int_eq(fix_delete_row(T, "row"), ERR_OK);
    sto_rocksdb_test_disk_free(fix.engine, fix.options.headroom_bytes + 1);
    ck_assert_int_eq(fix_put(T, "row", "w"), ERR_STORAGE_FULL); /* hysteresis */
    sto_rocksdb_test_disk_free(fix.engine, 2 * fix.options.headroom_bytes);
    ck_assert_int_eq(fix_put(T, "row", "w"), ERR_OK);
}
END_TEST

static bool no_file_is_inside(void *audit)
{
    struct sto_audit *a = audit;
    ck_assert_int_eq(sto_audit_range(fix.engine, &fix.tenants[0], a, NULL), ERR_OK);
    return a->live_files_inside == 0;
}

START_TEST(deletes_give_their_space_back_on_a_low_disk)
{
    enum { ROWS = 3000 };
    struct sto_audit audit;
    for (int i = 0; i < ROWS; i++) {
        char row[16];
        (void)snprintf(row, sizeof(row), "row%05d", i);
        ck_assert_int_eq(fix_put(T, row, "value"), ERR_OK);
    }
    fix_reopen(); /* into a file */
    sto_rocksdb_test_disk_free(fix.engine, fix.options.headroom_bytes - 1);
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){0}, 0, NULL), ERR_OK);
    process_await(no_file_is_inside, &audit, "deletes to give their space back");
    ck_assert_uint_eq(audit.physical_keys, 0);
}
END_TEST

START_TEST(ballast_is_given_up_and_made_again)
{
    fix.options.ballast_bytes = MIB;
    fix_reopen();
    char path[300];
    (void)snprintf(path, sizeof(path), "%s/ballast", fix.dir);
    ck_assert_int_eq(access(path, F_OK), 0);
    sto_rocksdb_test_disk_free(fix.engine, fix.options.headroom_bytes / 4);
    ck_assert_int_eq(access(path, F_OK), 0);
    sto_rocksdb_test_disk_free(fix.engine, fix.options.headroom_bytes / 4 - 1);
    ck_assert_int_ne(access(path, F_OK), 0);
    sto_rocksdb_test_disk_free(fix.engine, fix.options.headroom_bytes * 9 / 8);
    ck_assert_int_ne(access(path, F_OK), 0); /* no room for it on top of the headroom */
    sto_rocksdb_test_disk_free(fix.engine, UINT64_MAX);
    ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

START_TEST(a_failed_commit_latches_the_engine)
{
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    struct sto_usage before = sto_counters_read(&fix.accounts[0].total);
    sto_rocksdb_test_fail_commit(fix.engine, 1);
    ck_assert_int_eq(fix_put(T, "new", "v"), ERR_OUTCOME_UNKNOWN);
    ck_assert_int_eq(fix_put(T, "new", "v"), ERR_UNAVAILABLE);
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "new", "v"), ERR_UNAVAILABLE);
    fix_assert_usage(0, before.bytes, before.rows, before.cells);
    struct sto_health health;
    sto_health_get(fix.engine, &health);
    ck_assert(health.failed);
    ck_assert_str_ne(health.reason, "");
    struct sto_read_op op = {.scope = *T};
    struct fix_sink s;
    fix_sink_init(&s);
    fix_slice(&op, &s, true);
    ck_assert_int_eq(op.state, STO_READ_FAILED);
    ck_assert_int_eq(op.result, ERR_UNAVAILABLE);
    sto_read_finish(fix.engine, &op);
    struct sto_doc_change doc = {
        .key = SLICE_LIT("t/x"), .body = SLICE_LIT("b"), .expect = STO_DOC_ANY};
    ck_assert_int_eq(sto_docs_commit(fix.engine, &doc, 1, NULL), ERR_UNAVAILABLE);
    ck_assert_int_eq(fix_recount(0).result, ERR_UNAVAILABLE);
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){0}, 0, NULL), ERR_UNAVAILABLE);
    fix_reopen();
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{f:q@1000=v,}");
    ck_assert_int_eq(fix_put(T, "new", "v"), ERR_OK);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(the_nth_commit_fails_when_asked)
{
    sto_rocksdb_test_fail_commit(fix.engine, 3);
    ck_assert_int_eq(fix_put(T, "a", "v"), ERR_OK);
    ck_assert_int_eq(fix_put(T, "b", "v"), ERR_OK);
    ck_assert_int_eq(fix_put(T, "c", "v"), ERR_OUTCOME_UNKNOWN);
}
END_TEST

START_TEST(operations_queued_before_close_are_finished)
{
    enum { N = 500 };
    static struct sto_mutate_op ops[N];
    static char rows[N][24];
    struct sto_mutation set = fix_set(1, "q", 1000, SLICE_LIT("v"));
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(rows[i], sizeof(rows[i]), "%zu", i);
        ops[i] = (struct sto_mutate_op){.scope = *T,
                                        .row_key = base_slice_text(rows[i]),
                                        .mutations = &set,
                                        .mutation_count = 1};
        fix_submit(&ops[i]);
    }
    sto_engine_close(fix.engine);
    fix_wait();
    for (size_t i = 0; i < N; i++)
        ck_assert_int_eq(ops[i].result, ERR_OK);
    fix_scopes_drop();
    fix_open();
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).rows, N);
}
END_TEST

/* Two files with the same rows, then one. */
START_TEST(garbage_is_what_a_compaction_gives_back)
{
    struct sto_engine_stats stats;
    struct random dice = {7};
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 200; i++) {
            char row[16], value[1001];
            (void)snprintf(row, sizeof row, "row%d", i);
            for (size_t n = 0; n < sizeof value - 1; n++)
                value[n] = (char)('!' + random_next(&dice) % 90);
            value[sizeof value - 1] = '\0';
            ck_assert_int_eq(fix_put(T, row, value), ERR_OK);
        }
        fix_flush();
    }
    sto_engine_stats_get(fix.engine, &stats);
    ck_assert_uint_gt(stats.garbage_bytes, stats.file_bytes / 3);
    ck_assert_uint_lt(stats.garbage_bytes, stats.file_bytes);
    sto_rdb_range_compact(e, RDB_CF_CELLS, SLICE_LIT(""), SLICE_LIT("\xff"));
    sto_engine_stats_get(fix.engine, &stats);
    ck_assert_uint_lt(stats.garbage_bytes, stats.file_bytes / 10);
}
END_TEST

Suite *suite_storage_engine_write(void)
{
    Suite *s = suite_create("storage_engine_write");
    TCase *t = tcase_create("accounting");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_kind_of_mutation_is_counted_exactly);
    tcase_add_test(t, the_last_of_two_equal_cells_wins_and_counts_once);
    tcase_add_test(t, an_operation_sees_those_before_it_in_the_batch);
    tcase_add_test(t, must_exist_refuses_new_rows);
    tcase_add_test(t, server_timestamps_are_whole_milliseconds_that_do_not_go_back);
    suite_add_tcase(s, t);
    t = tcase_create("refusals");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, byte_quota_is_exact_and_deletes_pass);
    tcase_add_test(t, quota_counts_what_the_batch_already_took);
    tcase_add_test(t, a_refused_operation_leaves_no_part_of_itself);
    tcase_add_test(t, a_row_has_a_largest_size);
    tcase_add_test(t, the_gate_refuses_at_submission);
    tcase_add_test(t, the_gate_is_looked_at_again_by_the_committer);
    tcase_add_test(t, a_tenant_s_half_of_the_commit_queue_refuses_at_once);
    tcase_add_test(t, a_commit_queue_has_a_largest_weight);
    suite_add_tcase(s, t);
    t = tcase_create("failures");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_low_disk_refuses_growth_and_passes_deletes);
    tcase_add_test(t, ballast_is_given_up_and_made_again);
    tcase_add_test(t, a_failed_commit_latches_the_engine);
    tcase_add_test(t, the_nth_commit_fails_when_asked);
    tcase_add_test(t, operations_queued_before_close_are_finished);
    suite_add_tcase(s, t);
    t = tcase_create("files"); /* most of their bytes are the test's */
    tcase_add_checked_fixture(t, fix_setup_alone, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, garbage_is_what_a_compaction_gives_back);
    suite_add_tcase(s, t);
    t = tcase_create("one file");
    tcase_add_checked_fixture(t, fix_setup_in_memory, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, deletes_give_their_space_back_on_a_low_disk);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/storage/test_engine_modify.c - append and increment: the newest cell, as it is then.
 */
#include "fixture.h"
#include "hold.h"

#include <inttypes.h>

#include "base/banned.h"

Suite *suite_storage_engine_modify(void);

#define T &fix.tables[0][0]

enum { RULES = 8 };
static const int64_t YEAR_2200 = 7258118400000000;

struct request {
    struct sto_mutate_op op;
    struct sto_mutation rules[RULES];
    struct sto_modified modified;
    struct arena arena;
};

static void submit(struct request *q, const char *row, const struct sto_mutation *rules,
                   size_t count)
{
    *q = (struct request){0};
    base_arena_init(&q->arena, MIB);
    memcpy(q->rules, rules, count * sizeof(rules[0]));
    q->modified.arena = &q->arena;
    q->op = (struct sto_mutate_op){.scope = fix.tables[0][0],
                                   .row_key = base_slice_text(row),
                                   .mutations = q->rules,
                                   .mutation_count = count,
                                   .modified = &q->modified};
    ck_assert_int_eq(sto_mutations_check(q->op.scope.schema, &fix.accounts[0], q->op.row_key,
                                         q->rules, count, NULL),
                     ERR_OK);
    fix_submit(&q->op);
}

static enum err modify(struct request *q, const char *row, const struct sto_mutation *rules,
                       size_t count)
{
    submit(q, row, rules, count);
    fix_wait();
    fix_assert_no_drift(0);
    ck_assert_int_eq(q->op.result == ERR_OK, q->op.detail.text[0] == '\0');
    ck_assert(q->op.result == ERR_OK || q->modified.count == 0);
    return q->op.result;
}

static void drop(struct request *q)
{
    base_arena_fini(&q->arena);
}

static void assert_cell(const struct request *q, size_t i, const char *family,
                        const char *qualifier, int64_t timestamp_us, struct slice value)
{
    ck_assert_uint_lt(i, q->modified.count);
    const struct sto_cell *c = &q->modified.cells[i];
    ck_assert_str_eq(c->family->name, family);
    ck_assert(base_slice_is(c->qualifier, qualifier));
    ck_assert_int_eq(c->timestamp_us, timestamp_us);
    ck_assert(base_slice_equal(c->value, value));
}

static struct slice number(int64_t n)
{
    static uint8_t bytes[8][8];
    static size_t next;
    uint8_t *out = bytes[next++ % 8];
    sto_put_be64(out, (uint64_t)n);
    return base_slice(out, 8);
}

static enum err increment_once(struct request *q, const char *row, int64_t by)
{
    struct sto_mutation m = fix_increment(1, "q", by);
    return modify(q, row, &m, 1);
}

START_TEST(an_absent_cell_is_empty_or_zero)
{
    struct sto_mutation rules[] = {fix_increment(2, "n", -7), fix_append(1, "q", SLICE_LIT("ab")),
                                   fix_append(1, "", SLICE_EMPTY)};
    struct request q;
    ck_assert_int_eq(modify(&q, "row", rules, 3), ERR_OK);
    ck_assert(!q.op.row_existed);
    ck_assert_uint_eq(q.modified.count, 3);
    assert_cell(&q, 0, "f", "", q.op.commit_us, SLICE_EMPTY);
    assert_cell(&q, 1, "f", "q", q.op.commit_us, SLICE_LIT("ab"));
    assert_cell(&q, 2, "gg", "n", q.op.commit_us, number(-7));
    fix_assert_usage(0, (3 + 1 + 0 + 0 + 8) + (3 + 1 + 1 + 2 + 8) + (3 + 2 + 1 + 8 + 8), 1, 3);
    drop(&q);
}
END_TEST

START_TEST(later_rules_see_earlier_ones)
{
    struct sto_mutation rules[] = {fix_append(1, "q", SLICE_LIT("a")), fix_increment(1, "n", 5),
                                   fix_append(1, "q", SLICE_LIT("b")),
                                   fix_increment(1, "n", INT64_MIN),
                                   fix_append(1, "q", SLICE_LIT("c"))};
    struct request q;
    ck_assert_int_eq(modify(&q, "row", rules, 5), ERR_OK);
    ck_assert_uint_eq(q.modified.count, 2);
    assert_cell(&q, 0, "f", "n", q.op.commit_us, number(INT64_MIN + 5));
    assert_cell(&q, 1, "f", "q", q.op.commit_us, SLICE_LIT("abc"));
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).cells, 2);
    drop(&q);
}
END_TEST

START_TEST(the_new_version_is_not_older_than_the_old_one)
{
    struct sto_mutation past = fix_set(1, "q", 1000, SLICE_LIT("old"));
    struct sto_mutation future = fix_set(1, "q", YEAR_2200, SLICE_LIT("new"));
    struct sto_mutation append = fix_append(1, "q", SLICE_LIT("+"));
    struct request q;
    char wanted[128];
    ck_assert_int_eq(fix_mutate(T, "row", &past, 1), ERR_OK);
    ck_assert_int_eq(modify(&q, "row", &append, 1), ERR_OK);
    ck_assert(q.op.row_existed);
    assert_cell(&q, 0, "f", "q", q.op.commit_us, SLICE_LIT("old+"));
    (void)snprintf(wanted, sizeof(wanted), "row{f:q@%" PRId64 "=old+,f:q@1000=old,}",
                   q.op.commit_us);
    fix_assert_rows(T, &(struct sto_read_spec){0}, wanted);
    drop(&q);
    ck_assert_int_eq(fix_mutate(T, "row", &future, 1), ERR_OK);
    ck_assert_int_eq(modify(&q, "row", &append, 1), ERR_OK);
    assert_cell(&q, 0, "f", "q", YEAR_2200, SLICE_LIT("new+")); /* overwritten */
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).cells, 3);
    drop(&q);
    fix_reopen();
    ck_assert_int_eq(modify(&q, "row", &append, 1), ERR_OK);
    assert_cell(&q, 0, "f", "q", YEAR_2200, SLICE_LIT("new++"));
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).cells, 3);
    drop(&q);
}
END_TEST

START_TEST(an_expired_cell_is_absent)
{
    fix_close();
    fix.gc[0] = (struct sto_gc_node){.kind = STO_GC_MAX_AGE, .max_age_us = 3600000000};
    fix.gc[1] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = 1};
    fix_open();
    struct sto_mutation sets[] = {fix_set(1, "q", 1000, SLICE_LIT("a")),
                                  fix_set(2, "q", 1000, SLICE_LIT("a"))};
    struct sto_mutation rules[] = {fix_append(1, "q", SLICE_LIT("b")),
                                   fix_append(2, "q", SLICE_LIT("b"))};
    struct request q;
    ck_assert_int_eq(fix_mutate(T, "row", sets, 2), ERR_OK);
    ck_assert_int_eq(modify(&q, "row", rules, 2), ERR_OK);
    assert_cell(&q, 0, "f", "q", q.op.commit_us, SLICE_LIT("b"));
    assert_cell(&q, 1, "gg", "q", q.op.commit_us, SLICE_LIT("ab"));
    /* the expired one stays until a sweep; a rule of one version leaves one */
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).cells, 3);
    drop(&q);
}
END_TEST

START_TEST(an_increment_needs_eight_bytes)
{
    static const char *const values[] = {"", "1234567", "123456789"};
    for (size_t i = 0; i < 3; i++) {
        struct request q;
        char wanted[192];
        ck_assert_int_eq(fix_put(T, "row", values[i]), ERR_OK);
        struct sto_usage before = sto_counters_read(&fix.accounts[0].total);
        struct sto_mutation rules[] = {fix_append(1, "q2", SLICE_LIT("x")),
                                       fix_increment(1, "q", 1)};
        ck_assert_int_eq(modify(&q, "row", rules, 2), ERR_CONFLICT);
        (void)snprintf(wanted, sizeof(wanted),
                       "mutation 2: increment adds to a number of 8 bytes, and the cell has %zu; "
                       "digits are text: a family of type int64 takes numbers",
                       strlen(values[i]));
        ck_assert_str_eq(q.op.detail.text, wanted);
        fix_assert_usage(0, before.bytes, before.rows, before.cells);
        (void)snprintf(wanted, sizeof(wanted), "row{f:q@1000=%s,}", values[i]);
        fix_assert_rows(T, &(struct sto_read_spec){0}, wanted);
        drop(&q);
    }
}
END_TEST

START_TEST(an_increment_wraps_around)
{
    static const struct {
        int64_t by, after;
    } STEPS[] = {{INT64_MAX, INT64_MAX},
                 {2, -INT64_MAX},
                 {-2, INT64_MAX},
                 {INT64_MIN, -1},
                 {INT64_MIN, INT64_MAX}};
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0]; i++) {
        struct request q;
        ck_assert_int_eq(increment_once(&q, "row", STEPS[i].by), ERR_OK);
        assert_cell(&q, 0, "f", "q", q.op.commit_us, number(STEPS[i].after));
        drop(&q);
    }
}
END_TEST

START_TEST(cells_stay_below_their_limit)
{
    struct sto_mutation nine = fix_append(1, "q", SLICE_LIT("123456789"));
    struct sto_mutation one = fix_append(1, "q", SLICE_LIT("x"));
    struct request q;
    sto_account_limit_set(&fix.accounts[0], STO_LIMIT_CELL, 10);
    ck_assert_int_eq(modify(&q, "row", &nine, 1), ERR_OK);
    drop(&q);
    ck_assert_int_eq(modify(&q, "row", &one, 1), ERR_OK);
    drop(&q);
    ck_assert_int_eq(modify(&q, "row", &one, 1), ERR_TOO_BIG);
    ck_assert_str_eq(q.op.detail.text,
                     "cell value has 11 bytes; the limit is 10 (this tenant's cell_bytes)");
    drop(&q);
    sto_account_limit_set(&fix.accounts[0], STO_LIMIT_CELL, 7);
    ck_assert_int_eq(increment_once(&q, "other", 1), ERR_TOO_BIG);
    drop(&q);
}
END_TEST

START_TEST(the_quota_counts_what_is_added)
{
    struct sto_mutation append = fix_append(1, "q", SLICE_LIT("x"));
    struct sto_mutation set = fix_set(1, "q", YEAR_2200, SLICE_EMPTY);
    struct request q;
    ck_assert_int_eq(fix_mutate(T, "row", &set, 1), ERR_OK);
    atomic_store(&fix.accounts[0].bytes_max, 3 + 1 + 1 + 8 + 1);
    ck_assert_int_eq(modify(&q, "row", &append, 1), ERR_OK);
    drop(&q);
    ck_assert_int_eq(modify(&q, "row", &append, 1), ERR_QUOTA);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{f:q@7258118400000000=x,}");
    drop(&q);
    atomic_store(&fix.accounts[0].bytes_max, STO_NO_CEILING);
    sto_rocksdb_test_disk_free(fix.engine, 1);
    ck_assert_int_eq(modify(&q, "row", &append, 1), ERR_STORAGE_FULL);
    drop(&q);
}
END_TEST

/* The same cell grows a thousand times in one operation, and again. */
START_TEST(many_rules_on_one_large_cell)
{
    enum { COUNT = LIM_MODIFY_RULES, STEP = 3000 };
    struct sto_mutation *rules = base_new_array(COUNT, sizeof(*rules));
    uint8_t *bytes = base_new(STEP);
    for (size_t i = 0; i < COUNT; i++)
        rules[i] = fix_append(1, "q", base_slice(bytes, STEP));
    for (size_t round = 1; round <= 3; round++) {
        struct arena arena;
        base_arena_init(&arena, 16 * MIB);
        struct sto_modified modified = {.arena = &arena};
        struct sto_mutate_op op = {.scope = fix.tables[0][0],
                                   .row_key = SLICE_LIT("row"),
                                   .mutations = rules,
                                   .mutation_count = COUNT,
                                   .modified = &modified};
        ck_assert_int_eq(
            sto_mutations_check(op.scope.schema, &fix.accounts[0], op.row_key, rules, COUNT, NULL),
            ERR_OK);
        fix_submit(&op);
        fix_wait();
        ck_assert_msg(op.result == ERR_OK, "%s", op.detail.text);
        ck_assert_uint_eq(modified.count, 1);
        ck_assert_uint_eq(modified.cells[0].value.len, round * COUNT * STEP);
        base_arena_fini(&arena);
    }
    fix_assert_no_drift(0);
    base_free(rules);
    base_free(bytes);
}
END_TEST

/* All in one batch: each sees those before it, and nothing of those that were refused. */
START_TEST(operations_of_one_batch_see_each_other)
{
    struct sto_mutation add = fix_increment(1, "n", 1), append = fix_append(1, "q", SLICE_LIT("a"));
    struct sto_mutation wrong[] = {fix_append(1, "no", SLICE_LIT("no")), fix_increment(1, "no", 1)};
    struct sto_mutation remove = {.kind = STO_DELETE_FROM_ROW};
    static struct request q[60];
    struct sto_mutate_op removal = {.scope = fix.tables[0][0],
                                    .row_key = SLICE_LIT("row"),
                                    .mutations = &remove,
                                    .mutation_count = 1};
    for (int stored = 0; stored < 2; stored++) {
        fix_hold_committer(0);
        for (size_t i = 0; i < 60; i++) {
            if (i == 45)
                fix_submit(&removal);
            submit(&q[i], "row",
                   i % 3 == 0   ? &add
                   : i % 3 == 1 ? &append
                                : wrong,
                   i % 3 == 2 ? 2 : 1);
        }
        fix_let_go();
        for (size_t i = 0; i < 60; i++) {
            uint8_t text[32];
            memset(text, 'a', sizeof(text));
            size_t before = stored && i < 45 ? 5 : 0, n = i / 3 + 1 - (i < 45 ? 0 : 15) + before;
            ck_assert_int_eq(q[i].op.result, i % 3 == 2 ? ERR_CONFLICT : ERR_OK);
            if (i % 3 == 0)
                assert_cell(&q[i], 0, "f", "n", q[i].op.commit_us, number((int64_t)n));
            if (i % 3 == 1)
                assert_cell(&q[i], 0, "f", "q", q[i].op.commit_us, base_slice(text, n));
            drop(&q[i]);
        }
        fix_assert_no_drift(0);
    }
}
END_TEST

/* Together they make more than the memory of one batch. */
START_TEST(a_batch_ends_before_made_values_fill_the_memory)
{
    enum { COUNT = 120 };
    static struct sto_mutate_op ops[COUNT];
    size_t len = LIM_CELL_BYTES - COUNT;
    uint8_t *large = base_new(len);
    struct sto_mutation set = fix_set(1, "q", YEAR_2200, base_slice(large, len));
    struct sto_mutation append = fix_append(1, "q", SLICE_LIT("x"));
    ck_assert_int_eq(fix_mutate(T, "row", &set, 1), ERR_OK);
    fix_hold_committer(0);
    for (size_t i = 0; i < COUNT; i++) {
        ops[i] = (struct sto_mutate_op){.scope = fix.tables[0][0],
                                        .row_key = SLICE_LIT("row"),
                                        .mutations = &append,
                                        .mutation_count = 1};
        fix_submit(&ops[i]);
    }
    fix_let_go();
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_msg(ops[i].result == ERR_OK, "%zu: %s", i, ops[i].detail.text);
    fix_assert_usage(0, 3 + 1 + 1 + 8 + LIM_CELL_BYTES, 1, 1);
    ck_assert_int_eq(fix_mutate(T, "row", &append, 1), ERR_TOO_BIG);
    fix_assert_no_drift(0);
    base_free(large);
}
END_TEST

START_TEST(answers_that_do_not_fit_their_arena_change_nothing)
{
    struct sto_mutation rule = fix_append(1, "q", SLICE_LIT("0123456789012345678901234567890123"));
    struct arena arena;
    base_arena_init(&arena, 32);
    struct sto_modified modified = {.arena = &arena};
    struct sto_mutate_op op = {.scope = fix.tables[0][0],
                               .row_key = SLICE_LIT("row"),
                               .mutations = &rule,
                               .mutation_count = 1,
                               .modified = &modified};
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_NO_MEMORY);
    fix_assert_usage(0, 0, 0, 0);
    fix_assert_no_drift(0);
    base_arena_fini(&arena);
}
END_TEST

Suite *suite_storage_engine_modify(void)
{
    Suite *s = suite_create("storage_engine_modify");
    TCase *t = tcase_create("modify");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, an_absent_cell_is_empty_or_zero);
    tcase_add_test(t, later_rules_see_earlier_ones);
    tcase_add_test(t, the_new_version_is_not_older_than_the_old_one);
    tcase_add_test(t, an_expired_cell_is_absent);
    tcase_add_test(t, an_increment_needs_eight_bytes);
    tcase_add_test(t, an_increment_wraps_around);
    tcase_add_test(t, cells_stay_below_their_limit);
    tcase_add_test(t, the_quota_counts_what_is_added);
    tcase_add_test(t, many_rules_on_one_large_cell);
    tcase_add_test(t, operations_of_one_batch_see_each_other);
    tcase_add_test(t, a_batch_ends_before_made_values_fill_the_memory);
    tcase_add_test(t, answers_that_do_not_fit_their_arena_change_nothing);
    suite_add_tcase(s, t);
    return s;
}

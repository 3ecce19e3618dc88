/*
 * tests/storage/test_engine_check.c - check and mutate: the row as it is then decides.
 *
 * The reference for a predicate is a read of the same row with the same filter afterwards.
 */
#include "fixture.h"
#include "hold.h"

#include "tests/support/process.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_storage_engine_check(void);

#define T &fix.tables[0][0]

static struct sto_filter_program *compile(const struct sto_filter *f)
{
    struct sto_filter_program *p = NULL;
    struct errbuf eb = {{0}};
    enum err rc = sto_filter_compile(f, (T)->schema, &p, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    return p;
}

static struct sto_filter value_is(const char *value)
{
    return (struct sto_filter){.kind = STO_FILTER_VALUE_RANGE,
                               .range = {.start = base_slice_text(value),
                                         .has_end = true,
                                         .end = base_slice_text(value),
                                         .end_inclusive = true}};
}

struct request {
    struct sto_mutate_op op;
    struct sto_check check;
    struct sto_mutation then;
    struct sto_mutation otherwise;
};

/* Writes "yes" or "no" into the column "c". */
static void submit(struct request *q, const char *row, struct sto_filter_program *predicate)
{
    *q = (struct request){.then = fix_set(2, "c", 1000, SLICE_LIT("yes")),
                          .otherwise = fix_set(2, "c", 1000, SLICE_LIT("no"))};
    q->check = (struct sto_check){
        .predicate = predicate, .otherwise = &q->otherwise, .otherwise_count = 1};
    q->op = (struct sto_mutate_op){.scope = fix.tables[0][0],
                                   .row_key = base_slice_text(row),
                                   .mutations = &q->then,
                                   .mutation_count = 1,
                                   .check = &q->check};
    fix_submit(&q->op);
}

static bool matches(const char *row, struct sto_filter_program *predicate)
{
    struct request q;
    submit(&q, row, predicate);
    fix_wait();
    ck_assert_msg(q.op.result == ERR_OK, "%s", q.op.detail.text);
    fix_assert_no_drift(0);
    return q.check.matched;
}

START_TEST(without_a_predicate_any_cell_matches)
{
    struct request q;
    submit(&q, "row", NULL);
    fix_wait();
    ck_assert_int_eq(q.op.result, ERR_OK);
    ck_assert(!q.check.matched && !q.op.row_existed);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{gg:c@1000=no,}");
    submit(&q, "row", NULL);
    fix_wait();
    ck_assert(q.check.matched && q.op.row_existed);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{gg:c@1000=yes,}");
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(the_predicate_chooses_the_list)
{
    struct sto_filter f = value_is("on");
    struct sto_filter_program *p = compile(&f);
    ck_assert(!matches("row", p)); /* no row at all */
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{gg:c@1000=no,}");
    ck_assert_int_eq(fix_put(T, "row", "on"), ERR_OK);
    ck_assert(matches("row", p));
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{f:q@1000=on,gg:c@1000=yes,}");
    ck_assert_int_eq(fix_put(T, "row", "off"), ERR_OK);
    ck_assert(!matches("row", p));
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{f:q@1000=off,gg:c@1000=no,}");
    ck_assert_int_eq(fix_put(T, "other", "on"), ERR_OK);
    ck_assert(!matches("row", p));
    sto_filter_unref(p);
}
END_TEST

START_TEST(an_empty_list_changes_nothing)
{
    for (int there = 0; there < 2; there++) {
        for (int which = 0; which < 2; which++) {
            struct sto_mutation m = fix_set(2, "c", 1000, SLICE_LIT("x"));
            struct sto_check check = {.otherwise = which ? &m : NULL,
                                      .otherwise_count = (size_t)which};
            struct sto_mutate_op op = {.scope = fix.tables[0][0],
                                       .row_key = SLICE_LIT("row"),
                                       .mutations = &m,
                                       .mutation_count = (size_t)!which,
                                       .check = &check};
            ck_assert_int_eq(there ? fix_put(T, "row", "v") : fix_delete_row(T, "row"), ERR_OK);
            struct sto_usage before = sto_counters_read(&fix.accounts[0].total);
            fix_submit(&op);
            fix_wait();
            ck_assert_int_eq(op.result, ERR_OK);
            ck_assert_int_eq(check.matched, there);
            bool changes = there == !which;
            struct sto_usage after = sto_counters_read(&fix.accounts[0].total);
            ck_assert_uint_eq(after.cells, before.cells + changes);
            fix_assert_no_drift(0);
            ck_assert_int_eq(fix_delete_row(T, "row"), ERR_OK);
        }
    }
}
END_TEST

START_TEST(existence_can_be_required_or_forbidden)
{
    struct sto_mutation m = fix_set(1, "q", 1000, SLICE_LIT("v"));
    struct sto_mutate_op op = {.scope = fix.tables[0][0],
                               .row_key = SLICE_LIT("row"),
                               .mutations = &m,
                               .mutation_count = 1,
                               .must_exist = true};
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_PRECONDITION);
    op.must_exist = false;
    op.must_not_exist = true;
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_OK);
    m.value = SLICE_LIT("w");
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_PRECONDITION);
    ck_assert_str_eq(op.detail.text, "the row exists already");
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{f:q@1000=v,}");
    ck_assert_int_eq(fix_delete_row(T, "row"), ERR_OK);
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_OK);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_refused_list_leaves_nothing)
{
    struct sto_mutation m[] = {fix_set(2, "c", 1000, SLICE_LIT("x")), fix_increment(1, "q", 1)};
    struct sto_check check = {.otherwise = m, .otherwise_count = 1};
    struct sto_mutate_op op = {.scope = fix.tables[0][0],
                               .row_key = SLICE_LIT("row"),
                               .mutations = m,
                               .mutation_count = 2,
                               .check = &check};
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_CONFLICT);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "row{f:q@1000=v,}");
    fix_assert_no_drift(0);
    sto_rocksdb_test_disk_free(fix.engine, 1); /* only the list that is chosen counts */
    m[0] = (struct sto_mutation){.kind = STO_DELETE_FROM_ROW};
    op.mutation_count = 1;
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_OK);
    fix_assert_usage(0, 0, 0, 0);
}
END_TEST

START_TEST(garbage_does_not_match)
{
    fix_close();
    fix.gc[0] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = 1};
    fix.gc[1] = (struct sto_gc_node){.kind = STO_GC_MAX_AGE, .max_age_us = 3600000000};
    fix_open();
    struct sto_filter old = value_is("old");
    struct sto_filter_program *p = compile(&old);
    struct sto_mutation m[] = {fix_set(1, "q", 2000, SLICE_LIT("new")),
                               fix_set(1, "q", 1000, SLICE_LIT("old")), /* replaces nothing */
                               fix_set(2, "q", 1000, SLICE_LIT("old"))};
    ck_assert_int_eq(fix_mutate(T, "row", m, 3), ERR_OK);
    ck_assert(!matches("row", p));
    m[1] = (struct sto_mutation){
        .kind = STO_DELETE_FROM_COLUMN, .family = 1, .qualifier = SLICE_LIT("q"), .start_us = 2000};
    ck_assert_int_eq(fix_mutate(T, "row", &m[1], 1), ERR_OK);
    ck_assert(matches("row", p));
    sto_filter_unref(p);
}
END_TEST

START_TEST(the_batch_under_way_counts)
{
    struct sto_filter f = value_is("on");
    struct sto_filter_program *p = compile(&f);
    struct sto_mutation on = fix_set(1, "q", 1000, SLICE_LIT("on"));
    struct sto_mutation off = fix_set(1, "q", 1000, SLICE_LIT("off"));
    struct sto_mutation remove = {.kind = STO_DELETE_FROM_FAMILY, .family = 1};
    struct sto_mutation *steps[] = {&on, &off, &on, &remove, &on};
    static const bool wanted[] = {true, false, true, false, true};
    for (int stored = 0; stored < 2; stored++) {
        struct sto_mutate_op ops[5];
        struct request q[5];
        fix_hold_committer(0);
        for (size_t i = 0; i < 5; i++) {
            ops[i] = (struct sto_mutate_op){.scope = fix.tables[0][0],
                                            .row_key = SLICE_LIT("row"),
                                            .mutations = steps[i],
                                            .mutation_count = 1};
            fix_submit(&ops[i]);
            submit(&q[i], "row", p);
        }
        fix_let_go();
        for (size_t i = 0; i < 5; i++)
            ck_assert_int_eq(q[i].check.matched, wanted[i]);
        fix_assert_no_drift(0);
    }
    sto_filter_unref(p);
}
END_TEST

/* --- any filter, any row ------------------------------------------------------------------------
 */

enum { NODES = 24 };
static const char *const VALUES[] = {"", "a", "b", "cc"};
static const char *const QUALIFIERS[] = {"", "q", "qq", "r"};

static struct sto_filter random_leaf(struct random *r)
{
    struct sto_filter f;
    switch (random_below(r, 8)) {
    case 0:
        f = value_is(VALUES[random_below(r, 4)]);
        break;
    case 1:
        f = (struct sto_filter){.kind = STO_FILTER_COLUMN_RANGE,
                                .bytes = random_below(r, 2) ? SLICE_LIT("f") : SLICE_LIT("gg"),
                                .range.start = base_slice_text(QUALIFIERS[random_below(r, 4)]),
                                .range.start_exclusive = random_below(r, 2) != 0};
        break;
    case 2:
        f = (struct sto_filter){.kind = STO_FILTER_TIMESTAMP_RANGE,
                                .start_us = random_below(r, 3) * 1000,
                                .end_us = 3000 + random_below(r, 2) * 1000};
        break;
    case 3:
        f = (struct sto_filter){.kind = STO_FILTER_CELLS_PER_COLUMN_LIMIT, .count = 1};
        break;
    case 4:
        f = (struct sto_filter){.kind = STO_FILTER_CELLS_PER_ROW_OFFSET,
                                .count = 1 + random_below(r, 4)};
        break;
    case 5:
        f = (struct sto_filter){.kind = STO_FILTER_CELLS_PER_ROW_LIMIT, .count = 2};
        break;
    case 6:
        f = (struct sto_filter){.kind = STO_FILTER_FAMILY_REGEX, .bytes = SLICE_LIT("g+")};
        break;
    default:
        f = (struct sto_filter){.kind = random_below(r, 4) ? STO_FILTER_PASS_ALL
                                                           : STO_FILTER_BLOCK_ALL};
    }
    return f;
}

/* A root with up to three members, each of them a leaf or a chain of two. */
static void random_filter(struct random *r, struct sto_filter nodes[NODES])
{
    static const enum sto_filter_kind kinds[] = {STO_FILTER_CHAIN, STO_FILTER_INTERLEAVE,
                                                 STO_FILTER_CONDITION};
    nodes[0] = (struct sto_filter){
        .kind = kinds[random_below(r, 3)], .members = &nodes[1], .member_count = 3};
    for (size_t i = 1; i <= 3; i++) {
        struct sto_filter *pair = &nodes[2 + 2 * i];
        pair[0] = random_leaf(r);
        pair[1] = random_leaf(r);
        nodes[i] = random_below(r, 2) ? pair[0]
                                      : (struct sto_filter){.kind = kinds[random_below(r, 2)],
                                                            .members = pair,
                                                            .member_count = 2};
    }
}

static struct sto_mutation random_change(struct random *r)
{
    const char *qualifier = QUALIFIERS[random_below(r, 4)];
    struct sto_mutation m = {.kind = STO_DELETE_FROM_COLUMN,
                             .family = (uint16_t)(1 + random_below(r, 2)),
                             .qualifier = base_slice_text(qualifier),
                             .start_us = random_below(r, 4) * 1000};
    if (random_below(r, 16) == 0)
        m.kind = STO_DELETE_FROM_ROW;
    else if (random_below(r, 3) != 0)
        m = fix_set(m.family, qualifier, random_below(r, 5) * 1000,
                    base_slice_text(VALUES[random_below(r, 4)]));
    return m;
}

/* n columns of family f, each with an empty value, in writes of a size a row takes. */
static void put_columns(const char *row, size_t n)
{
    enum { AT_ONCE = 50000 };
    struct sto_mutation *m = base_new_array(AT_ONCE, sizeof *m);
    char(*names)[16] = base_new_array(AT_ONCE, sizeof *names);
    for (size_t from = 0; from < n; from += AT_ONCE) {
        size_t count = n - from < AT_ONCE ? n - from : AT_ONCE;
        for (size_t i = 0; i < count; i++) {
            (void)snprintf(names[i], sizeof(names[i]), "%08zu", from + i);
            m[i] = fix_set(1, names[i], 1000, SLICE_EMPTY);
        }
        ck_assert_int_eq(fix_mutate(T, row, m, count), ERR_OK);
    }
    base_free(names);
    base_free(m);
}

START_TEST(a_predicate_looks_at_so_much_and_no_more)
{
    struct sto_filter none = value_is("none");
    struct sto_filter_program *p = compile(&none);
    put_columns("row", LIM_CHECK_STEPS);
    ck_assert(!matches("row", p));
    struct sto_mutation more = fix_set(1, "one more", 1000, SLICE_EMPTY);
    ck_assert_int_eq(fix_mutate(T, "row", &more, 1), ERR_OK);
    ck_assert_int_eq(fix_delete_row(T, "other"), ERR_OK);
    struct request q;
    submit(&q, "row", p); /* and the cell that the first one wrote */
    fix_wait();
    ck_assert_int_eq(q.op.result, ERR_TOO_BIG);
    ck_assert_ptr_nonnull(strstr(q.op.detail.text, "200000"));
    struct sto_filter family = {.kind = STO_FILTER_FAMILY_REGEX, .bytes = SLICE_LIT("gg")};
    struct sto_filter_program *narrow = compile(&family);
    ck_assert(matches("row", narrow)); /* it seeks */
    sto_filter_unref(narrow);
    sto_filter_unref(p);
}
END_TEST

START_TEST(a_predicate_matches_what_a_read_would_give)
{
    enum { CHANGES = 4 };
    const size_t rounds = (size_t)process_rounds(500);
    struct random r = {20261120 + (uint64_t)_i};
    size_t matched = 0;
    for (size_t n = 0; n < rounds; n++) {
        struct sto_filter nodes[NODES];
        struct sto_mutation changes[CHANGES];
        random_filter(&r, nodes);
        struct sto_filter_program *p = compile(&nodes[0]);
        for (size_t i = 0; i < CHANGES; i++)
            changes[i] = random_change(&r);
        struct sto_mutate_op first = {.scope = fix.tables[0][0],
                                      .row_key = SLICE_LIT("row"),
                                      .mutations = changes,
                                      .mutation_count = CHANGES};
        struct sto_check check = {.predicate = p};
        struct sto_mutate_op second = {
            .scope = fix.tables[0][0], .row_key = SLICE_LIT("row"), .check = &check};
        if (n % 4 == 0)
            fix_hold_committer(0);
        fix_submit(&first);
        fix_submit(&second);
        fix_let_go();
        ck_assert_int_eq(first.result, ERR_OK);
        ck_assert_msg(second.result == ERR_OK, "%s", second.detail.text);
        struct fix_sink s;
        fix_sink_init(&s);
        struct sto_read_spec spec = {.row_key = SLICE_LIT("row"), .filter = p};
        ck_assert_int_eq(fix_read(T, &spec, &s, true), ERR_OK);
        ck_assert_msg(check.matched == (s.text.len > 1), "round %zu of seed %d", n, _i);
        matched += check.matched;
        base_buf_fini(&s.text);
        sto_filter_unref(p);
    }
    ck_assert(matched > rounds / 10 && matched < rounds * 9 / 10);
    fix_assert_no_drift(0);
}
END_TEST

Suite *suite_storage_engine_check(void)
{
    Suite *s = suite_create("storage_engine_check");
    TCase *t = tcase_create("check");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, without_a_predicate_any_cell_matches);
    tcase_add_test(t, the_predicate_chooses_the_list);
    tcase_add_test(t, an_empty_list_changes_nothing);
    tcase_add_test(t, existence_can_be_required_or_forbidden);
    tcase_add_test(t, a_refused_list_leaves_nothing);
    tcase_add_test(t, garbage_does_not_match);
    tcase_add_test(t, the_batch_under_way_counts);
    tcase_add_test(t, a_predicate_looks_at_so_much_and_no_more);
    tcase_add_loop_test(t, a_predicate_matches_what_a_read_would_give, 0, 3);
    suite_add_tcase(s, t);
    return s;
}

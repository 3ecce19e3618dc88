/*
 * tests/storage/test_engine_one_version.c - families of one version: the version that a cell
 * replaces goes in the same commit.
 */
#include "fixture.h"

#include "tests/storage/committer_counts.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_storage_engine_one_version(void);

#define T   (&fix.tables[0][0])
#define ROW (&(const struct sto_read_spec){.row_key = SLICE_LIT("row")})
#define ALL (&(const struct sto_read_spec){0})

static const struct sto_gc_node ONE = {.kind = STO_GC_MAX_VERSIONS, .max_versions = 1};

static void set_up(void)
{
    fix_prepare();
    fix.gc[0] = ONE;
    fix.aggregates = true;
    fix_open();
}

static enum err mutate1(struct sto_mutation m)
{
    return fix_mutate(T, "row", &m, 1);
}

static uint64_t cells(void)
{
    return sto_counters_read(&fix.accounts[0].total).cells;
}

/* By each way to write a cell, at the server's time, one commit after the other. */
START_TEST(a_replaced_version_goes_with_the_commit)
{
    static const struct sto_mutation ways[] = {
        {.kind = STO_SET_CELL, .family = 1, .timestamp_us = STO_TIMESTAMP_SERVER},
        {.kind = STO_APPEND, .family = 1},
        {.kind = STO_INCREMENT, .family = 1, .increment = 1},
    };
    for (size_t way = 0; way < 3; way++) {
        for (int i = 0; i < 20; i++) {
            struct sto_mutation m = ways[way];
            m.qualifier = SLICE_LIT("q");
            m.value = base_slice("0123456789", way == 0 ? 1 + (size_t)i % 10 : 1);
            ck_assert_int_eq(mutate1(m), ERR_OK);
            ck_assert_uint_eq(cells(), 1);
        }
        fix_assert_no_drift(0);
        ck_assert_uint_eq(fix_sweep(T).cells, 0);
        ck_assert_int_eq(fix_delete_row(T, "row"), ERR_OK);
        fix_assert_usage(0, 0, 0, 0);
    }
}
END_TEST

/* Nothing that the table counts changes: the batch adds nothing that a sweep would look for. */
START_TEST(values_of_one_length_change_no_counter)
{
    ck_assert_int_eq(mutate1(fix_set(1, "q", 1000, SLICE_LIT("1"))), ERR_OK);
    uint64_t additions = atomic_load(&(T)->schema->table->additions);
    struct sto_usage before = sto_counters_read(&fix.accounts[0].total);
    for (int64_t i = 2; i < 10; i++)
        ck_assert_int_eq(mutate1(fix_set(1, "q", i * 1000, SLICE_LIT("2"))), ERR_OK);
    ck_assert_uint_eq(atomic_load(&(T)->schema->table->additions), additions);
    fix_assert_usage(0, before.bytes, 1, 1);
    fix_assert_rows(T, ROW, "row{f:q@9000=2,}");
    fix_assert_no_drift(0);
}
END_TEST

/* A table at its quota takes what is no longer than what it replaces. */
START_TEST(a_full_quota_takes_a_replacement)
{
    ck_assert_int_eq(mutate1(fix_set(1, "q", 1000, SLICE_LIT("12"))), ERR_OK);
    uint64_t used = sto_counters_read(&fix.accounts[0].total).bytes;
    atomic_store(&fix.accounts[0].bytes_max, used);
    ck_assert_int_eq(mutate1(fix_set(1, "q", 2000, SLICE_LIT("21"))), ERR_OK);
    ck_assert_int_eq(mutate1(fix_set(1, "q", 3000, SLICE_LIT("123"))), ERR_QUOTA);
    fix_assert_rows(T, ROW, "row{f:q@2000=21,}");
    ck_assert_int_eq(mutate1(fix_set(1, "q", 4000, SLICE_LIT("2"))), ERR_OK);
    fix_assert_rows(T, ROW, "row{f:q@4000=2,}");
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_refused_operation_replaces_nothing)
{
    ck_assert_int_eq(mutate1(fix_set(1, "q", 1000, SLICE_LIT("text"))), ERR_OK);
    struct sto_mutation m[2] = {fix_set(1, "q", 2000, SLICE_LIT("new")), fix_increment(1, "q", 1)};
    ck_assert_int_eq(fix_mutate(T, "row", m, 2), ERR_CONFLICT);
    fix_assert_rows(T, ROW, "row{f:q@1000=text,}");
    ck_assert_uint_eq(cells(), 1);
    ck_assert_int_eq(mutate1(m[0]), ERR_OK);
    fix_assert_rows(T, ROW, "row{f:q@2000=new,}");
    ck_assert_uint_eq(cells(), 1);
    fix_assert_no_drift(0);
}
END_TEST

static struct sto_table_scope table_of_states(void)
{
    struct sto_family_spec families[2] = {{.name = SLICE_LIT("f")},
                                          {.name = SLICE_LIT("sum"),
                                           .aggregate = STO_AGGREGATE_SUM,
                                           .gc_nodes = &ONE,
                                           .gc_node_count = 1}};
    struct sto_schema *schema = fix_schema("other", NULL, families, 2);
    struct sto_table_scope scope = sto_table_scope_make(&fix.tenants[0], schema);
    sto_schema_unref(schema);
    ck_assert_int_eq(sto_counters_load(fix.engine, &scope, NULL), ERR_OK);
    return scope;
}

/* The committer remembers it, and does not, after a start. */
START_TEST(a_state_goes_with_the_next_one)
{
    struct sto_table_scope scope = table_of_states();
    for (int64_t hour = 1; hour <= 6; hour++) {
        for (int i = 0; i < 4; i++) {
            struct sto_mutation m = {.kind = STO_ADD_TO_CELL,
                                     .family = 2,
                                     .qualifier = SLICE_LIT("n"),
                                     .timestamp_us = hour * 1000,
                                     .value = SLICE_LIT("\0\0\0\0\0\0\0\1")};
            ck_assert_int_eq(fix_mutate(&scope, "row", &m, 1), ERR_OK);
            ck_assert_uint_eq(cells(), 1);
        }
        if (hour < 3)
            continue;
        sto_table_scope_release(&scope);
        fix_reopen();
        scope = table_of_states();
    }
    fix_assert_no_drift(0);
    sto_table_scope_release(&scope);
}
END_TEST

/* After a start the committer remembers nothing: what it replaces is found. */
START_TEST(a_version_that_nobody_remembers_is_found)
{
    fix.sealed = _i == 1;
    fix_reopen();
    struct sto_mutation others[2] = {fix_set(1, "p", 9000, SLICE_LIT("p")),
                                     fix_set(1, "qq", 9000, SLICE_LIT("qq"))};
    struct sto_mutation steps[] = {
        fix_set(1, "q", 1000, SLICE_LIT("1")),
        fix_set(1, "q", 2000, SLICE_LIT("two")), /* newer */
        fix_set(1, "q", 2000, SLICE_LIT("2")),   /* the same */
        fix_append(1, "q", SLICE_LIT("+")),
        fix_set(1, "q", STO_TIMESTAMP_SERVER, SLICE_LIT("now")),
        fix_set(1, "q", STO_TIMESTAMP_SERVER, SLICE_LIT("later")),
    };
    ck_assert_int_eq(fix_mutate(T, "row", others, 2), ERR_OK);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        ck_assert_int_eq(mutate1(steps[i]), ERR_OK);
        ck_assert_uint_eq(cells(), 3);
        if (i % 2 == 0)
            fix_flush();
        fix_reopen();
    }
    fix_assert_no_drift(0);
    ck_assert_uint_eq(fix_sweep(T).cells, 0);
    ck_assert_int_eq(fix_delete_row(T, "row"), ERR_OK);
    fix_assert_usage(0, 0, 0, 0);
}
END_TEST

/* Whole batches of rows that the committer does not remember. */
START_TEST(rows_that_are_forgotten_are_replaced)
{
    enum { OPS = 500, ROUNDS = 3 };
    struct row {
        struct sto_mutate_op op;
        struct sto_mutation m;
        char name[16];
    } *rows = base_new_array(OPS, sizeof *rows);
    for (int64_t round = 1; round <= ROUNDS; round++) {
        for (size_t i = 0; i < OPS; i++) {
            struct row *row = &rows[i];
            (void)snprintf(row->name, sizeof row->name, "r%zu", i); /* fits */
            row->m = fix_set(1, "q", round * 1000, SLICE_LIT("v"));
            row->op = (struct sto_mutate_op){.scope = *T,
                                             .row_key = base_slice_text(row->name),
                                             .mutations = &row->m,
                                             .mutation_count = 1};
            fix_submit(&row->op);
        }
        fix_wait();
        for (size_t i = 0; i < OPS; i++)
            ck_assert_int_eq(rows[i].op.result, ERR_OK);
        ck_assert_uint_eq(cells(), OPS);
        fix_reopen();
    }
    fix_assert_no_drift(0);
    base_free(rows);
}
END_TEST

/* A new cell of a column that was overwritten and deleted: nothing is sought after all of that. */
START_TEST(a_write_does_not_walk_through_what_was_removed)
{
    enum { CHANGES = 1000, PASSED_MAX = 200 };
    struct passed passed;
    ck_assert_int_eq(mutate1(fix_set(1, "a", 1000, SLICE_LIT("a"))), ERR_OK);
    for (int64_t i = 1; i <= CHANGES; i++)
        ck_assert_int_eq(mutate1(fix_set(1, "q", i * 1000, SLICE_LIT("v"))), ERR_OK);
    struct sto_mutation gone = {
        .kind = STO_DELETE_FROM_COLUMN, .family = 1, .qualifier = SLICE_LIT("q")};
    ck_assert_int_eq(mutate1(gone), ERR_OK);
    fix_reopen();
    on_committer(count_begin, NULL);
    ck_assert_int_eq(mutate1(fix_set(1, "q", STO_TIMESTAMP_SERVER, SLICE_LIT("v"))), ERR_OK);
    on_committer(count_end, &passed);
    ck_assert_uint_le(passed.tombstones + passed.hidden, PASSED_MAX);
    ck_assert_uint_eq(cells(), 2);
    fix_assert_no_drift(0);
}
END_TEST

static uint64_t key_reads_of(const char *row, struct sto_mutation m)
{
    struct passed passed;
    on_committer(count_begin, NULL);
    ck_assert_int_eq(fix_mutate(T, row, &m, 1), ERR_OK);
    on_committer(count_end, &passed);
    return passed.key_reads;
}

/* Of rows that the committer does not remember, at a time that the client names: a new version
 * costs as many as a new row, whose header is read; the same one again is read alone. */
START_TEST(a_cell_at_a_time_costs_one_key_read)
{
    (void)key_reads_of("a", fix_set(1, "q", 1000, SLICE_LIT("v")));
    (void)key_reads_of("b", fix_set(1, "q", 1000, SLICE_LIT("v")));
    for (size_t i = 0; i < 2; i++) {
        static const char *const new_rows[] = {"c", "d"};
        const struct sto_mutation m = fix_set(1, "q", 2000, SLICE_LIT("w"));
        const struct sto_mutation at_server = fix_set(1, "q", STO_TIMESTAMP_SERVER, SLICE_LIT("w"));
        fix_reopen();
        (void)key_reads_of("a", m); /* reads of an empty memtable are not counted */
        ck_assert_uint_eq(key_reads_of("b", m), key_reads_of(new_rows[i], at_server));
        ck_assert_uint_eq(cells(), 3 + i);
    }
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(an_older_version_replaces_nothing)
{
    ck_assert_int_eq(mutate1(fix_set(1, "q", 5000, SLICE_LIT("5"))), ERR_OK);
    ck_assert_int_eq(mutate1(fix_set(1, "q", 3000, SLICE_LIT("3"))), ERR_OK);
    fix_assert_rows(T, ROW, "row{f:q@5000=5,}");
    ck_assert_int_eq(mutate1(fix_set(1, "q", 4000, SLICE_LIT("4"))), ERR_OK);
    fix_assert_rows(T, ROW, "row{f:q@5000=5,}");
    ck_assert_int_eq(mutate1(fix_set(1, "q", 6000, SLICE_LIT("6"))), ERR_OK);
    fix_assert_rows(T, ROW, "row{f:q@6000=6,}");
    fix_assert_no_drift(0);
    (void)fix_sweep(T);
    ck_assert_uint_eq(cells(), 1);
    fix_assert_rows(T, ROW, "row{f:q@6000=6,}");
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(families_of_more_versions_keep_them)
{
    for (int64_t i = 1; i <= 3; i++)
        ck_assert_int_eq(mutate1(fix_set(2, "q", i * 1000, SLICE_LIT("v"))), ERR_OK);
    ck_assert_int_eq(mutate1(fix_append(2, "q", SLICE_LIT("+"))), ERR_OK);
    ck_assert_uint_eq(cells(), 4);
}
END_TEST

/* Its readers are to hear of what goes: by the sweep. */
START_TEST(a_table_with_a_change_stream_leaves_it_to_the_sweep)
{
    struct sto_family_spec family = sto_family_spec_of(&(T)->schema->families[0]);
    struct sto_table_spec spec = {.families = &family,
                                  .family_count = 1,
                                  .change_retention_s = LIM_CHANGES_KEPT_S,
                                  .now_us = base_wall_us()};
    struct sto_schema *schema = NULL;
    ck_assert_int_eq(sto_schema_make(SLICE_LIT("t"), (T)->schema, &spec, &schema, NULL), ERR_OK);
    sto_schema_unref((T)->schema);
    (T)->schema = schema;
    sto_schema_publish(schema);
    for (int64_t i = 1; i <= 5; i++)
        ck_assert_int_eq(mutate1(fix_set(1, "q", i * 1000, SLICE_LIT("v"))), ERR_OK);
    ck_assert_uint_eq(cells(), 5);
    ck_assert_uint_eq(fix_sweep(T).cells, 4);
}
END_TEST

/* --- random programs ------------------------------------------------------------------------ */

enum { ROWS = 3, COLUMNS = 4, BATCH = 8, STEPS = 400, TIMES = 12 };

/* The newest cell of each column: all that a reader may see. */
struct newest {
    bool there;
    int64_t timestamp_us;
    char value[16];
};

static const char *const row_names[ROWS] = {"a", "b", "c"};
static const char *const column_names[COLUMNS] = {"k", "l", "m", "n"};

struct step {
    struct sto_mutate_op op;
    struct sto_mutation m;
    size_t row, column;
    char value[16];
};

/* Columns m and n are written at the server's time. */
static void draw(struct random *dice, struct step *s)
{
    s->row = random_below(dice, ROWS);
    s->column = random_below(dice, COLUMNS);
    (void)snprintf(s->value, sizeof s->value, "%.*s", (int)random_below(dice, 4), "xyz");
    int64_t at_us = 1000LL * (1 + random_below(dice, TIMES));
    if (s->column >= 2)
        at_us = STO_TIMESTAMP_SERVER;
    s->m = fix_set(1, column_names[s->column], at_us, base_slice_text(s->value));
    uint32_t kind = random_below(dice, 12);
    if (kind == 0)
        s->m = (struct sto_mutation){.kind = STO_DELETE_FROM_ROW};
    else if (kind == 1)
        s->m.kind = STO_DELETE_FROM_COLUMN;
    if (kind == 1)
        s->m.timestamp_us = 0;
    s->op = (struct sto_mutate_op){.scope = *T,
                                   .row_key = base_slice_text(row_names[s->row]),
                                   .mutations = &s->m,
                                   .mutation_count = 1};
}

static void expect(const struct step *s, struct newest model[ROWS][COLUMNS])
{
    struct newest *n = &model[s->row][s->column];
    if (s->m.kind == STO_DELETE_FROM_ROW) {
        memset(model[s->row], 0, sizeof model[s->row]);
    } else if (s->m.kind == STO_DELETE_FROM_COLUMN) {
        n->there = false;
    } else {
        int64_t at_us = s->column >= 2 ? s->op.commit_us : s->m.timestamp_us;
        if (n->there && at_us < n->timestamp_us)
            return;
        *n = (struct newest){.there = true, .timestamp_us = at_us};
        memcpy(n->value, s->value, sizeof n->value);
    }
}

static void assert_model(struct newest model[ROWS][COLUMNS])
{
    struct buf wanted;
    base_buf_init(&wanted, MIB);
    for (size_t r = 0; r < ROWS; r++) {
        bool begun = false;
        for (size_t c = 0; c < COLUMNS; c++) {
            const struct newest *n = &model[r][c];
            if (!n->there)
                continue;
            if (!begun)
                ck_assert_int_eq(base_buf_printf(&wanted, "%s{", row_names[r]), ERR_OK);
            begun = true;
            ck_assert_int_eq(base_buf_printf(&wanted, "f:%s@%lld=%s,", column_names[c],
                                             (long long)n->timestamp_us, n->value),
                             ERR_OK);
        }
        if (begun)
            ck_assert_int_eq(base_buf_append_text(&wanted, "}"), ERR_OK);
    }
    ck_assert_int_eq(base_buf_append_byte(&wanted, 0), ERR_OK);
    fix_assert_rows(T, ALL, (const char *)wanted.ptr);
    base_buf_fini(&wanted);
    fix_assert_no_drift(0);
}

START_TEST(random_changes_show_the_newest_version)
{
    struct random dice = {.state = 20261126 + (uint64_t)_i};
    struct newest model[ROWS][COLUMNS] = {{{0}}};
    struct step steps[BATCH];
    fix.sealed = _i == 1;
    fix_reopen();
    for (int i = 0; i < STEPS; i++) {
        for (size_t k = 0; k < BATCH; k++) {
            draw(&dice, &steps[k]);
            fix_submit(&steps[k].op);
        }
        fix_wait();
        for (size_t k = 0; k < BATCH; k++) {
            if (steps[k].op.result == ERR_OVERLOADED)
                continue; /* the disk does not keep up: it did nothing */
            ck_assert_int_eq(steps[k].op.result, ERR_OK);
            expect(&steps[k], model);
        }
        uint32_t other = random_below(&dice, 40);
        if (other == 0)
            (void)fix_sweep(T);
        else if (other == 1)
            fix_flush();
        else if (other == 2)
            fix_reopen();
        assert_model(model);
    }
}
END_TEST

Suite *suite_storage_engine_one_version(void)
{
    Suite *s = suite_create("storage_engine_one_version");
    TCase *c = tcase_create("one version");
    tcase_add_checked_fixture(c, set_up, fix_teardown);
    tcase_set_timeout(c, 300);
    tcase_add_test(c, a_replaced_version_goes_with_the_commit);
    tcase_add_test(c, values_of_one_length_change_no_counter);
    tcase_add_test(c, a_full_quota_takes_a_replacement);
    tcase_add_test(c, a_refused_operation_replaces_nothing);
    tcase_add_test(c, a_state_goes_with_the_next_one);
    tcase_add_loop_test(c, a_version_that_nobody_remembers_is_found, 0, 2);
    tcase_add_test(c, rows_that_are_forgotten_are_replaced);
    tcase_add_test(c, a_write_does_not_walk_through_what_was_removed);
    tcase_add_test(c, a_cell_at_a_time_costs_one_key_read);
    tcase_add_test(c, an_older_version_replaces_nothing);
    tcase_add_test(c, families_of_more_versions_keep_them);
    tcase_add_test(c, a_table_with_a_change_stream_leaves_it_to_the_sweep);
    tcase_add_loop_test(c, random_changes_show_the_newest_version, 0, 2);
    suite_add_tcase(s, c);
    return s;
}

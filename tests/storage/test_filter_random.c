/*
 * tests/storage/test_filter_random.c - random filters over random rows, against the definition.
 *
 * Each case is run three times: skipping everything that hints and the projection allow, skipping
 * nothing, and skipping by chance. All must give what tests/support/filter_oracle.c gives. A case
 * that does not is made smaller while it stays wrong, and printed.
 */
#include <check.h>
#include <stdlib.h>

#include "tests/storage/filter_draw.h"
#include "tests/support/process.h"

#include "base/banned.h"

#define SEED            20240611u
#define FILTERS         20000
#define ROWS_PER_FILTER 10

static struct sto_schema *schema;

/* --- making a wrong case smaller --------------------------------------------------------------
 */

struct wrong {
    struct maker *maker; /* the tree's nodes but its root */
    struct sto_filter root;
    struct oracle_row row;
    uint64_t seed;
};

static bool is_still_wrong(const struct wrong *w)
{
    struct sto_filter_program *program = NULL;
    if (sto_filter_compile(&w->root, schema, &program, NULL) != ERR_OK)
        return false;
    bool wrong = !is_right(schema, program, &w->root, &w->row, w->seed);
    sto_filter_unref(program);
    return wrong;
}

static bool try_as(struct wrong *w, struct sto_filter *node, struct sto_filter instead)
{
    struct sto_filter before = *node;
    *node = instead;
    if (is_still_wrong(w))
        return true;
    *node = before;
    return false;
}

static bool shrink_node(struct wrong *w, struct sto_filter *node)
{
    if (node->kind != STO_FILTER_PASS_ALL && node->kind != STO_FILTER_NONE && try_as(w, node, PASS))
        return true;
    for (size_t i = 0; i < node->member_count; i++) {
        if (try_as(w, node, node->members[i]))
            return true;
        struct sto_filter shorter = *node;
        shorter.members = i == 0 ? node->members + 1 : node->members;
        shorter.member_count--;
        if ((i == 0 || i + 1 == node->member_count) && try_as(w, node, shorter))
            return true;
    }
    return false;
}

static bool shrink_row(struct wrong *w)
{
    for (size_t i = 0; i < w->row.count; i++) {
        struct oracle_row before = w->row;
        w->row.count--;
        memmove(&w->row.cells[i], &w->row.cells[i + 1],
                (w->row.count - i) * sizeof w->row.cells[0]);
        if (is_still_wrong(w))
            return true;
        w->row = before;
    }
    return false;
}

static bool shrink(struct wrong *w)
{
    if (shrink_row(w) || shrink_node(w, &w->root))
        return true;
    for (size_t i = 0; i < w->maker->used; i++)
        if (shrink_node(w, &w->maker->nodes[i]))
            return true;
    return false;
}

static void print_run(const struct wrong *w, enum honour honour, const char *what)
{
    struct sto_filter_program *program = NULL;
    ck_assert_int_eq(sto_filter_compile(&w->root, schema, &program, NULL), ERR_OK);
    struct random r = {w->seed};
    struct reader reader = {.schema = schema, .row = &w->row, .honour = honour, .random = &r};
    struct sto_filter_run *run = sto_filter_run_new(program, reader_emit, &reader);
    reader_read(&reader, program, run);
    (void)fprintf(stderr, "%s:\n", what);
    oracle_print_list(stderr, &reader.out);
    oracle_list_free(&reader.out);
    sto_filter_run_free(run);
    sto_filter_unref(program);
}

static void report(struct maker *m, const struct sto_filter *root, const struct oracle_row *row,
                   uint64_t seed)
{
    struct wrong w = {.maker = m, .root = *root, .row = *row, .seed = seed};
    for (int steps = 0; steps < 2000 && shrink(&w); steps++)
        continue;
    oracle_print_filter(stderr, &w.root);
    (void)fputc('\n', stderr);
    oracle_print_row(stderr, &w.row);
    struct oracle_list right = oracle_evaluate(&w.root, &w.row, true);
    (void)fprintf(stderr, "right (where row_sample takes the row):\n");
    oracle_print_list(stderr, &right);
    oracle_list_free(&right);
    print_run(&w, HONOUR_NOTHING, "nothing skipped");
    print_run(&w, HONOUR_EVERYTHING, "all skipped that may be");
}

/* --- tests ------------------------------------------------------------------------------------
 */

START_TEST(every_filter_gives_what_its_definition_gives)
{
    schema = filter_schema(family_names, 3);
    struct random r = {SEED};
    static struct maker m;
    static struct oracle_row row;
    size_t compiled = 0;
    const size_t filters = (size_t)process_rounds(FILTERS);
    for (size_t i = 0; i < filters; i++) {
        memset(&m, 0, sizeof m);
        m.random = &r;
        struct sto_filter root = {0};
        make_filter(&m, &root, 2 + random_below(&r, 4), true, true);
        struct sto_filter_program *program = NULL;
        struct errbuf eb = {{0}};
        enum err e = sto_filter_compile(&root, schema, &program, &eb);
        if (e != ERR_OK && e != ERR_TOO_BIG)
            ck_abort_msg("filter %zu: %s", i, eb.text);
        compiled += e == ERR_OK;
        for (size_t k = 0; k < ROWS_PER_FILTER && e == ERR_OK; k++) {
            make_row(&r, schema, &row);
            uint64_t seed = random_next(&r);
            if (is_right(schema, program, &root, &row, seed))
                continue;
            report(&m, &root, &row, seed);
            ck_abort_msg("seed %u, filter %zu, row %zu is wrong; see above", SEED, i, k);
        }
        sto_filter_unref(program);
    }
    ck_assert_uint_gt(compiled, filters * 9 / 10);
    base_free(schema);
}
END_TEST

Suite *suite_storage_filter_random(void);
Suite *suite_storage_filter_random(void)
{
    Suite *suite = suite_create("storage_filter_random");
    TCase *tc = tcase_create("definition");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, every_filter_gives_what_its_definition_gives);
    suite_add_tcase(suite, tc);
    return suite;
}

/*
 * tests/storage/test_filter_random.c - random filters over random rows, against the definition.
 *
 * Each case is run three times: skipping everything that hints and the projection allow, skipping
 * nothing, and skipping by chance. All must give what tests/support/filter_oracle.c gives. A case
 * that does not is made smaller while it stays wrong, and printed.
 */
#include <check.h>
#include <stdlib.h>

#include "tests/storage/filter_rows.h"

#include "base/banned.h"

#define SEED            20240611u
#define FILTERS         20000
#define ROWS_PER_FILTER 10
#define NODES           400
#define MEMBERS_MAX     4

static const char *const family_names[] = {"a", "bc", "b"};
static struct sto_schema *schema;

static const char *const texts[] = {"", "a", "ab", "b", "ba", "\xff", "c-d"};
static const char *const patterns[] = {"a",     "a.*",  "b.*", ".*", "a|b",
                                       "[ab]+", "\\C*", "c.d", "",   "a?"};
static const char *const row_keys[] = {"a", "ab", "b", "bb"};

static struct slice text_of(struct random *r)
{
    return base_slice_text(texts[random_below(r, sizeof texts / sizeof texts[0])]);
}

static struct slice pattern_of(struct random *r)
{
    return base_slice_text(patterns[random_below(r, sizeof patterns / sizeof patterns[0])]);
}

/* --- making -----------------------------------------------------------------------------------
 */

struct maker {
    struct random *random;
    struct sto_filter nodes[NODES];
    size_t used;
    bool has_sample;
};

static struct sto_bytes_range range_of(struct random *r)
{
    return (struct sto_bytes_range){.start = text_of(r),
                                    .start_exclusive = random_below(r, 2) == 0,
                                    .has_end = random_below(r, 3) != 0,
                                    .end = text_of(r),
                                    .end_inclusive = random_below(r, 2) == 0};
}

static void make_leaf(struct maker *m, struct sto_filter *f, bool may_label, bool may_sink)
{
    struct random *r = m->random;
    static const enum sto_filter_kind first = STO_FILTER_PASS_ALL;
    do {
        f->kind = first + random_below(r, STO_FILTER_KIND_COUNT - first);
    } while (f->kind == STO_FILTER_CHAIN || f->kind == STO_FILTER_INTERLEAVE ||
             f->kind == STO_FILTER_CONDITION || (f->kind == STO_FILTER_SINK && !may_sink) ||
             (f->kind == STO_FILTER_APPLY_LABEL && !may_label) ||
             (f->kind == STO_FILTER_ROW_SAMPLE && m->has_sample));
    m->has_sample |= f->kind == STO_FILTER_ROW_SAMPLE;
    f->probability = 0.5;
    f->count = 1 + random_below(r, random_below(r, 2) == 0 ? 2 : 6);
    f->range = range_of(r);
    f->start_us = random_below(r, 4) * 1000;
    f->end_us = random_below(r, 2) == 0 ? 0 : f->start_us + 1000 * (1 + random_below(r, 3));
    if (f->kind == STO_FILTER_ROW_KEY_REGEX || f->kind == STO_FILTER_FAMILY_REGEX ||
        f->kind == STO_FILTER_QUALIFIER_REGEX || f->kind == STO_FILTER_VALUE_REGEX)
        f->bytes = pattern_of(r);
    if (f->kind == STO_FILTER_COLUMN_RANGE)
        f->bytes = base_slice_text(family_names[random_below(r, 3)]);
    if (f->kind == STO_FILTER_VALUE_BITMASK)
        f->bytes = text_of(r);
    if (f->kind == STO_FILTER_APPLY_LABEL)
        f->bytes = random_below(r, 2) == 0 ? SLICE_LIT("l") : SLICE_LIT("m");
    bool counts = f->kind == STO_FILTER_CELLS_PER_ROW_OFFSET ||
                  f->kind == STO_FILTER_CELLS_PER_ROW_LIMIT ||
                  f->kind == STO_FILTER_CELLS_PER_COLUMN_LIMIT;
    f->count = counts ? f->count : 0;
}

static void make_filter(struct maker *m, struct sto_filter *f, unsigned depth, bool may_label,
                        bool may_sink)
{
    struct random *r = m->random;
    size_t members = 2 + random_below(r, MEMBERS_MAX - 1);
    if (depth == 0 || random_below(r, 5) < 2 || m->used + MEMBERS_MAX > NODES) {
        make_leaf(m, f, may_label, may_sink);
        return;
    }
    f->kind = STO_FILTER_CHAIN + random_below(r, 3);
    if (f->kind == STO_FILTER_CONDITION)
        members = 3;
    struct sto_filter *of = &m->nodes[m->used];
    m->used += members;
    f->members = of;
    f->member_count = members;
    size_t labelled = random_below(r, (uint32_t)members);
    for (size_t i = 0; i < members; i++) {
        bool is_condition = f->kind == STO_FILTER_CONDITION;
        if (is_condition && i > 0 && random_below(r, 4) == 0) {
            of[i].kind = STO_FILTER_NONE;
            continue;
        }
        bool label = may_label && (f->kind != STO_FILTER_CHAIN || i == labelled);
        make_filter(m, &of[i], depth - 1, label, may_sink && !is_condition);
    }
}

static void make_row(struct random *r, struct oracle_row *row)
{
    row->key = base_slice_text(row_keys[random_below(r, 4)]);
    row->count = 0;
    uint32_t density = 1 + random_below(r, 8);
    static const char *const qualifiers[] = {"", "a", "ab", "b", "c-d"};
    for (size_t f = 0; f < 3; f++)
        for (size_t q = 0; q < 5; q++)
            for (int64_t time = 4; time >= 0; time--)
                if (random_below(r, 8) < density && random_below(r, 3) == 0 && row->count < 64)
                    row->cells[row->count++] =
                        (struct sto_cell){.family = &schema->families[f],
                                          .qualifier = base_slice_text(qualifiers[q]),
                                          .timestamp_us = time * 1000,
                                          .value = text_of(r)};
}

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
    for (size_t i = 0; i < FILTERS; i++) {
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
            make_row(&r, &row);
            uint64_t seed = random_next(&r);
            if (is_right(schema, program, &root, &row, seed))
                continue;
            report(&m, &root, &row, seed);
            ck_abort_msg("seed %u, filter %zu, row %zu is wrong; see above", SEED, i, k);
        }
        sto_filter_unref(program);
    }
    ck_assert_uint_gt(compiled, FILTERS * 9 / 10);
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

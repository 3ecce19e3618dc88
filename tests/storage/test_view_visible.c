/*
 * tests/storage/test_view_visible.c - what a view shows of a row.
 *
 * The reference for reading through a view is the same filter over a row that has only the visible
 * cells, and what is visible is said here by trying every part of the view.
 */
#include <check.h>

#include "storage/visit.h"
#include "tests/storage/filter_draw.h"
#include "tests/support/process.h"

#include "base/banned.h"

Suite *suite_storage_view_visible(void);

#define CASES         20000
#define ROWS_PER_CASE 6
#define PARTS_MAX     4

static struct sto_schema *schema;

static struct sto_view *view_of(const struct sto_view_spec *spec)
{
    struct sto_view *view = NULL;
    struct errbuf eb = {{0}};
    enum err rc = sto_view_make(SLICE_LIT("v"), spec, &view, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    return view;
}

/* --- drawing views ----------------------------------------------------------------------------
 */

struct drawn {
    struct sto_view_spec spec;
    struct sto_view_family_spec families[3];
    struct slice parts[6 * PARTS_MAX];
};

static void draw_view(struct random *r, struct drawn *d)
{
    static const struct slice every_row = {NULL, 0};
    size_t part = 0;
    *d = (struct drawn){.spec = {.row_prefixes = &every_row, .row_prefix_count = 1}};
    d->spec.families = d->families;
    for (size_t i = 0; i < 3; i++) {
        if (random_below(r, 3) == 0)
            continue;
        struct sto_view_family_spec *f = &d->families[d->spec.family_count++];
        f->name = base_slice_text(family_names[i]);
        f->qualifiers = &d->parts[part];
        f->qualifier_count = random_below(r, PARTS_MAX);
        for (size_t k = 0; k < f->qualifier_count; k++)
            d->parts[part++] = text_of(r);
        f->prefixes = &d->parts[part];
        f->prefix_count = random_below(r, PARTS_MAX - 1);
        for (size_t k = 0; k < f->prefix_count; k++)
            d->parts[part++] = text_of(r);
    }
}

static bool is_visible(const struct sto_view_spec *spec, const struct sto_cell *cell)
{
    for (size_t i = 0; i < spec->family_count; i++) {
        const struct sto_view_family_spec *f = &spec->families[i];
        if (!base_slice_equal(f->name, base_slice(cell->family->name, cell->family->name_len)))
            continue;
        for (size_t k = 0; k < f->qualifier_count; k++)
            if (base_slice_equal(f->qualifiers[k], cell->qualifier))
                return true;
        for (size_t k = 0; k < f->prefix_count; k++)
            if (base_slice_starts_with(cell->qualifier, f->prefixes[k]))
                return true;
    }
    return false;
}

/* --- visiting, as a scan does -----------------------------------------------------------------
 */

struct collector {
    struct sto_row_sink sink; /* first */
    const struct oracle_row *visible;
    struct oracle_list out;
};

static void collect_row(struct sto_row_sink *sink, struct slice row_key)
{
    (void)sink;
    (void)row_key;
}

static void collect_end(struct sto_row_sink *sink)
{
    (void)sink;
}

static void collect_cell(struct sto_row_sink *sink, const struct sto_cell *cell)
{
    struct collector *c = (struct collector *)sink;
    size_t position = position_in_row(c->visible, cell);
    INVARIANT(position < c->visible->count); /* nothing else may come out */
    oracle_list_add(&c->out, (struct oracle_item){.cell = *cell, .position = position});
}

static bool stands_before(const struct sto_cell *cell, uint16_t family, struct slice qualifier)
{
    if (cell->family->number != family)
        return cell->family->number < family;
    return base_slice_compare(cell->qualifier, qualifier) < 0;
}

/* The cell where the visit goes on from the one at `at`; SIZE_MAX: before the first. */
static size_t go_on(const struct sto_visit *v, const struct oracle_row *row, size_t at,
                    enum sto_visit_next next)
{
    size_t i = at == SIZE_MAX ? 0 : at + 1;
    switch (next) {
    case STO_VISIT_NEXT:
        return i;
    case STO_VISIT_SKIP_COLUMN:
        while (i < row->count && same_column(&row->cells[i], &row->cells[at]))
            i++;
        return i;
    case STO_VISIT_SEEK_COLUMN:
        /* A seek that does not go forwards would never end. */
        INVARIANT(at == SIZE_MAX ||
                  stands_before(&row->cells[at], v->seek_family, v->seek_qualifier));
        while (i < row->count && stands_before(&row->cells[i], v->seek_family, v->seek_qualifier))
            i++;
        return i;
    case STO_VISIT_SEEK_VERSION:
        while (i < row->count && same_column(&row->cells[i], &row->cells[at]) &&
               row->cells[i].timestamp_us > v->seek_us)
            i++;
        return i;
    case STO_VISIT_SKIP_ROW:
        break;
    }
    return row->count;
}

static void visit_pass(struct sto_visit *v, const struct oracle_row *row,
                       const struct sto_view_spec *spec, enum sto_visit_next next)
{
    size_t before = SIZE_MAX; /* whose column was entered */
    size_t i = go_on(v, row, SIZE_MAX, next);
    while (i < row->count) {
        const struct sto_cell *cell = &row->cells[i];
        bool is_new = before == SIZE_MAX || !same_column(&row->cells[before], cell);
        next = is_new ? sto_visit_column(v, cell->family->number, cell->qualifier) : STO_VISIT_NEXT;
        before = i;
        if (next == STO_VISIT_NEXT) {
            INVARIANT(spec == NULL || is_visible(spec, cell));
            next = sto_visit_version(v, cell->timestamp_us, cell->value);
        }
        i = go_on(v, row, i, next);
    }
}

static struct oracle_list read_through(const struct sto_view *view,
                                       struct sto_filter_program *program,
                                       const struct oracle_row *row,
                                       const struct oracle_row *visible)
{
    struct collector c = {.sink = {.row_begin = collect_row,
                                   .cell = collect_cell,
                                   .row_end = collect_end,
                                   .row_undo = collect_end},
                          .visible = visible};
    struct sto_read_spec spec = {.view = view, .filter = program};
    struct sto_visit v;
    ck_assert_int_eq(sto_visit_open(&v, schema, &spec, &c.sink, NULL), ERR_OK);
    v.now_us = 1000000;
    visit_pass(&v, row, &view->spec, sto_visit_row_begin(&v, row->key));
    while (sto_visit_row_end(&v))
        visit_pass(&v, row, &view->spec, sto_visit_row_again(&v));
    sto_visit_close(&v);
    oracle_list_sort(&c.out);
    return c.out;
}

static void report(const struct sto_filter *root, const struct oracle_row *row,
                   const struct oracle_row *visible, const struct oracle_list *got)
{
    oracle_print_filter(stderr, root);
    (void)fprintf(stderr, "\nthe row:\n");
    oracle_print_row(stderr, row);
    (void)fprintf(stderr, "what is visible of it:\n");
    oracle_print_row(stderr, visible);
    (void)fprintf(stderr, "what was read:\n");
    oracle_print_list(stderr, got);
}

static void compare(const struct sto_view *view, const struct sto_filter *root,
                    struct sto_filter_program *program, const struct oracle_row *row)
{
    static struct oracle_row visible;
    visible.key = row->key;
    visible.count = 0;
    for (size_t i = 0; i < row->count; i++)
        if (is_visible(&view->spec, &row->cells[i]))
            visible.cells[visible.count++] = row->cells[i];
    struct oracle_list got = read_through(view, program, row, &visible);
    struct oracle_list sampled = oracle_evaluate(root, &visible, true);
    struct oracle_list not_sampled = oracle_evaluate(root, &visible, false);
    if (!oracle_list_equal(&got, &sampled) && !oracle_list_equal(&got, &not_sampled)) {
        report(root, row, &visible, &got);
        ck_abort_msg("reading through a view is wrong; see above");
    }
    oracle_list_free(&got);
    oracle_list_free(&sampled);
    oracle_list_free(&not_sampled);
}

START_TEST(a_filter_through_a_view_is_a_filter_over_what_is_visible)
{
    static struct maker m;
    static struct oracle_row row;
    struct random r = {20240715u};
    size_t compiled = 0;
    size_t cases = (size_t)process_rounds(CASES);
    schema = filter_schema(family_names, 3);
    for (size_t i = 0; i < cases; i++) {
        struct drawn drawn;
        struct sto_filter root = {0};
        struct sto_filter_program *program = NULL;
        memset(&m, 0, sizeof m);
        m.random = &r;
        draw_view(&r, &drawn);
        make_filter(&m, &root, 1 + random_below(&r, 4), true, true);
        if (sto_filter_compile(&root, schema, &program, NULL) != ERR_OK)
            continue;
        struct sto_view *view = view_of(&drawn.spec);
        for (size_t k = 0; k < ROWS_PER_CASE; k++) {
            make_row(&r, schema, &row);
            compare(view, &root, program, &row);
        }
        compiled++;
        sto_view_unref(view);
        sto_filter_unref(program);
    }
    ck_assert_uint_gt(compiled, cases * 9 / 10);
    base_free(schema);
}
END_TEST

START_TEST(what_is_outside_is_skipped_by_seeks)
{
    static struct oracle_row row;
    const struct slice wanted[] = {SLICE_LIT("m"), SLICE_LIT("x")};
    const struct sto_view_family_spec f = {
        .name = SLICE_LIT("a"), .qualifiers = wanted, .qualifier_count = 2};
    const struct sto_view_spec spec = {.families = &f, .family_count = 1};
    struct sto_view *view = view_of(&spec);
    struct sto_read_spec read = {.view = view};
    struct collector c = {.visible = &row};
    struct sto_visit v;
    schema = filter_schema(family_names, 3);
    ck_assert_int_eq(sto_visit_open(&v, schema, &read, &c.sink, NULL), ERR_OK);
    ck_assert_int_eq(sto_visit_row_begin(&v, SLICE_LIT("k")), STO_VISIT_SEEK_COLUMN);
    ck_assert_uint_eq(v.seek_family, 2);
    ck_assert(base_slice_is(v.seek_qualifier, "m"));
    ck_assert_int_eq(sto_visit_column(&v, 2, SLICE_LIT("n")), STO_VISIT_SEEK_COLUMN);
    ck_assert(base_slice_is(v.seek_qualifier, "x"));
    ck_assert_int_eq(sto_visit_column(&v, 2, SLICE_LIT("x")), STO_VISIT_NEXT);
    ck_assert_int_eq(sto_visit_column(&v, 2, SLICE_LIT("xa")), STO_VISIT_SKIP_ROW);
    ck_assert_int_eq(sto_visit_column(&v, 4, SLICE_LIT("m")), STO_VISIT_SKIP_ROW);
    sto_visit_close(&v);
    sto_view_unref(view);
    base_free(schema);
}
END_TEST

START_TEST(a_view_without_columns_shows_nothing)
{
    const struct sto_view_family_spec f = {.name = SLICE_LIT("a")};
    const struct sto_view_spec specs[] = {{.family_count = 0}, {.families = &f, .family_count = 1}};
    struct collector c = {.visible = NULL};
    schema = filter_schema(family_names, 3);
    for (size_t i = 0; i < 2; i++) {
        struct sto_view *view = view_of(&specs[i]);
        struct sto_read_spec read = {.view = view};
        struct sto_visit v;
        ck_assert_int_eq(sto_visit_open(&v, schema, &read, &c.sink, NULL), ERR_OK);
        ck_assert_int_eq(sto_visit_row_begin(&v, SLICE_LIT("k")), STO_VISIT_SKIP_ROW);
        ck_assert_int_eq(sto_visit_column(&v, 2, SLICE_EMPTY), STO_VISIT_SKIP_ROW);
        sto_visit_close(&v);
        sto_view_unref(view);
    }
    base_free(schema);
}
END_TEST

Suite *suite_storage_view_visible(void)
{
    Suite *s = suite_create("storage_view_visible");
    TCase *visible = tcase_create("visible");
    tcase_set_timeout(visible, 120);
    tcase_add_test(visible, a_filter_through_a_view_is_a_filter_over_what_is_visible);
    tcase_add_test(visible, what_is_outside_is_skipped_by_seeks);
    tcase_add_test(visible, a_view_without_columns_shows_nothing);
    suite_add_tcase(s, visible);
    return s;
}

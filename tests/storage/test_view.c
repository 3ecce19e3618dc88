/*
 * tests/storage/test_view.c - what a view may say, and what may be changed through it.
 */
#include <check.h>

#include "storage/view_list.h"
#include "tests/storage/filter_draw.h"

#include "base/banned.h"

Suite *suite_storage_view(void);

static struct sto_schema *schema;

static struct sto_view *view_of(const struct sto_view_spec *spec)
{
    struct sto_view *view = NULL;
    struct errbuf eb = {{0}};
    enum err rc = sto_view_make(SLICE_LIT("v"), spec, &view, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    return view;
}

/* --- making -----------------------------------------------------------------------------------
 */

START_TEST(everything_is_copied_sorted_and_kept_as_asked)
{
    char bytes[] = "ab";
    struct slice prefixes[] = {SLICE_LIT("b"), base_slice(bytes, 2), SLICE_LIT("a")};
    struct slice qualifiers[] = {SLICE_LIT("q"), SLICE_LIT("pq")};
    struct slice starts[] = {SLICE_LIT("p")};
    struct sto_view_family_spec families[] = {{.name = SLICE_LIT("f2"),
                                               .qualifiers = qualifiers,
                                               .qualifier_count = 2,
                                               .prefixes = starts,
                                               .prefix_count = 1},
                                              {.name = SLICE_LIT("f1")}};
    struct sto_view_spec spec = {.row_prefixes = prefixes,
                                 .row_prefix_count = 3,
                                 .families = families,
                                 .family_count = 2,
                                 .protected = true};
    struct sto_view *view = view_of(&spec);
    bytes[0] = 'x';
    ck_assert(base_slice_is(view->spec.row_prefixes[1], "ab"));
    ck_assert_uint_eq(view->rows.count, 2); /* a, which holds ab, and b */
    ck_assert(base_slice_is(view->rows.ranges[0].start, "a"));
    ck_assert(base_slice_is(view->rows.ranges[1].end, "c"));
    ck_assert_ptr_null(sto_view_family(view, SLICE_LIT("f1")));
    const struct sto_view_family *f = sto_view_family(view, SLICE_LIT("f2"));
    ck_assert_uint_eq(f->column_count, 2); /* pq lies inside p */
    ck_assert(f->columns[0].is_prefix && !f->columns[1].is_prefix);
    ck_assert(!sto_view_family_is_whole(f));
    ck_assert_uint_eq(view->spec.families[1].qualifier_count, 2);
    ck_assert(view->spec.protected);
    sto_view_unref(view);
}
END_TEST

static enum err try_make(const char *id, const struct sto_view_spec *spec)
{
    struct sto_view *view = NULL;
    enum err rc = sto_view_make(base_slice_text(id), spec, &view, NULL);
    if (rc == ERR_OK)
        sto_view_unref(view);
    return rc;
}

START_TEST(ids_are_those_of_tables)
{
    static char id[LIM_VIEW_ID + 2];
    struct sto_view_spec spec = {.row_prefix_count = 0};
    memset(id, 'v', LIM_VIEW_ID);
    ck_assert_int_eq(try_make(id, &spec), ERR_OK);
    id[LIM_VIEW_ID] = 'v';
    ck_assert_int_eq(try_make(id, &spec), ERR_INVALID);
    ck_assert_int_eq(try_make("", &spec), ERR_INVALID);
    ck_assert_int_eq(try_make("-v", &spec), ERR_INVALID);
    ck_assert_int_eq(try_make("a:b", &spec), ERR_INVALID);
    ck_assert_int_eq(try_make("a/b", &spec), ERR_INVALID);
    ck_assert_int_eq(try_make("_V-1.x", &spec), ERR_OK);
}
END_TEST

START_TEST(parts_and_bytes_are_bounded)
{
    static uint8_t bytes[LIM_QUALIFIER + 1];
    static struct slice list[LIM_VIEW_PARTS + 1];
    struct sto_view_family_spec f = {.name = SLICE_LIT("f"), .qualifiers = list};
    struct sto_view_spec spec = {.row_prefixes = list, .row_prefix_count = LIM_VIEW_PARTS};
    ck_assert_int_eq(try_make("v", &spec), ERR_OK);
    spec.row_prefix_count++;
    ck_assert_int_eq(try_make("v", &spec), ERR_TOO_BIG);
    spec.row_prefix_count = LIM_VIEW_PARTS - 10;
    spec.families = &f;
    spec.family_count = 1;
    f.qualifier_count = 9; /* and the family itself */
    ck_assert_int_eq(try_make("v", &spec), ERR_OK);
    f.qualifier_count = 10;
    ck_assert_int_eq(try_make("v", &spec), ERR_TOO_BIG);
    spec.row_prefix_count = 1;
    f.qualifier_count = 0;
    list[0] = base_slice(bytes, LIM_ROW_KEY);
    ck_assert_int_eq(try_make("v", &spec), ERR_OK);
    list[0].len++;
    ck_assert_int_eq(try_make("v", &spec), ERR_TOO_BIG);
    spec.row_prefix_count = 0;
    f.qualifier_count = 2;
    list[0] = base_slice(bytes, LIM_QUALIFIER);
    list[1] = base_slice(bytes, LIM_VIEW_BYTES - LIM_QUALIFIER - 1);
    ck_assert_int_eq(try_make("v", &spec), ERR_OK);
    list[1].len++;
    ck_assert_int_eq(try_make("v", &spec), ERR_TOO_BIG);
    f.qualifier_count = 1;
    list[0].len++;
    ck_assert_int_eq(try_make("v", &spec), ERR_TOO_BIG);
}
END_TEST

START_TEST(a_family_is_named_once_and_by_a_name)
{
    struct sto_view_family_spec families[LIM_FAMILIES + 1] = {{.name = SLICE_LIT("f")},
                                                              {.name = SLICE_LIT("f")}};
    struct sto_view_spec spec = {.families = families, .family_count = 2};
    ck_assert_int_eq(try_make("v", &spec), ERR_INVALID);
    families[1].name = SLICE_LIT("no name");
    ck_assert_int_eq(try_make("v", &spec), ERR_INVALID);
    families[1].name = SLICE_LIT("g");
    ck_assert_int_eq(try_make("v", &spec), ERR_OK);
    spec.family_count = LIM_FAMILIES + 1;
    ck_assert_int_eq(try_make("v", &spec), ERR_TOO_BIG);
}
END_TEST

/* --- changes ----------------------------------------------------------------------------------
 */

static enum err check_one(const struct sto_view *view, const char *row, struct sto_mutation m)
{
    struct errbuf eb = {{0}};
    enum err rc = sto_view_mutations_check(view, schema, base_slice_text(row), &m, 1, &eb);
    ck_assert_int_eq(rc == ERR_OK, eb.text[0] == '\0');
    return rc;
}

START_TEST(changes_outside_are_forbidden)
{
    static const enum sto_mutation_kind of_column[] = {STO_SET_CELL,    STO_DELETE_FROM_COLUMN,
                                                       STO_ADD_TO_CELL, STO_MERGE_TO_CELL,
                                                       STO_APPEND,      STO_INCREMENT};
    const struct slice rows[] = {SLICE_LIT("user#")};
    const struct slice some[] = {SLICE_LIT("q")};
    const struct slice all[] = {SLICE_EMPTY};
    const struct sto_view_family_spec families[] = {
        {.name = SLICE_LIT("a"), .qualifiers = some, .qualifier_count = 1},
        {.name = SLICE_LIT("b"), .prefixes = all, .prefix_count = 1}};
    const struct sto_view_spec spec = {
        .row_prefixes = rows, .row_prefix_count = 1, .families = families, .family_count = 2};
    struct sto_view *view = view_of(&spec);
    schema = filter_schema(family_names, 3); /* a 2, bc 4, b 6 */
    for (size_t i = 0; i < sizeof of_column / sizeof of_column[0]; i++) {
        struct sto_mutation m = {.kind = of_column[i], .family = 2, .qualifier = SLICE_LIT("q")};
        ck_assert_int_eq(check_one(view, "user#1", m), ERR_OK);
        ck_assert_int_eq(check_one(view, "user#", m), ERR_OK);
        ck_assert_int_eq(check_one(view, "user", m), ERR_FORBIDDEN);
        ck_assert_int_eq(check_one(view, "user$", m), ERR_FORBIDDEN);
        m.qualifier = SLICE_LIT("q2");
        ck_assert_int_eq(check_one(view, "user#1", m), ERR_FORBIDDEN);
        m.family = 4;
        ck_assert_int_eq(check_one(view, "user#1", m), ERR_FORBIDDEN);
        m.family = 6;
        ck_assert_int_eq(check_one(view, "user#1", m), ERR_OK);
    }
    struct sto_mutation m = {.kind = STO_DELETE_FROM_FAMILY, .family = 6};
    ck_assert_int_eq(check_one(view, "user#1", m), ERR_OK);
    m.family = 2;
    ck_assert_int_eq(check_one(view, "user#1", m), ERR_FORBIDDEN);
    m.family = 4;
    ck_assert_int_eq(check_one(view, "user#1", m), ERR_FORBIDDEN);
    m = (struct sto_mutation){.kind = STO_DELETE_FROM_ROW};
    ck_assert_int_eq(check_one(view, "user#1", m), ERR_FORBIDDEN);
    sto_view_unref(view);
    base_free(schema);
}
END_TEST

START_TEST(no_row_prefix_is_no_row)
{
    const struct sto_view_spec spec = {.row_prefix_count = 0};
    struct sto_view *view = view_of(&spec);
    ck_assert(!sto_row_set_holds(&view->rows, SLICE_LIT("k")));
    ck_assert(view->rows.none);
    sto_view_unref(view);
}
END_TEST

/* --- lists ------------------------------------------------------------------------------------
 */

START_TEST(lists_are_sorted_and_hold_their_views)
{
    static const char *const ids[] = {"m", "a", "z", "m"};
    const struct sto_view_spec spec = {.row_prefix_count = 0};
    struct sto_view_list *list = NULL;
    size_t at;
    for (size_t i = 0; i < 4; i++) {
        struct sto_view *view = NULL;
        ck_assert_int_eq(sto_view_make(base_slice_text(ids[i]), &spec, &view, NULL), ERR_OK);
        struct sto_view_list *longer = sto_view_list_with(list, view);
        sto_view_list_free(list);
        list = longer;
    }
    ck_assert_uint_eq(list->count, 3);
    ck_assert(sto_view_list_search(list, SLICE_LIT("m"), &at) && at == 1);
    ck_assert(!sto_view_list_search(list, SLICE_LIT("n"), &at) && at == 2);
    ck_assert(!sto_view_list_search(NULL, SLICE_LIT("n"), &at) && at == 0);
    struct sto_view *kept = sto_view_ref(list->views[1]);
    struct sto_view_list *shorter = sto_view_list_without(list, 1);
    sto_view_list_free(list);
    ck_assert_uint_eq(shorter->count, 2);
    ck_assert(!sto_view_list_search(shorter, SLICE_LIT("m"), &at));
    ck_assert_str_eq(kept->id, "m");
    sto_view_unref(kept);
    sto_view_list_free(shorter);
}
END_TEST

Suite *suite_storage_view(void)
{
    Suite *s = suite_create("storage_view");
    TCase *making = tcase_create("making");
    tcase_add_test(making, everything_is_copied_sorted_and_kept_as_asked);
    tcase_add_test(making, ids_are_those_of_tables);
    tcase_add_test(making, parts_and_bytes_are_bounded);
    tcase_add_test(making, a_family_is_named_once_and_by_a_name);
    tcase_add_test(making, lists_are_sorted_and_hold_their_views);
    suite_add_tcase(s, making);
    TCase *changes = tcase_create("changes");
    tcase_add_test(changes, changes_outside_are_forbidden);
    tcase_add_test(changes, no_row_prefix_is_no_row);
    suite_add_tcase(s, changes);
    return s;
}

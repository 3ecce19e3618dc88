/*
 * tests/tenancy/test_table_splits.c - a table keeps the splits it was made with, over restarts too.
 */
#include "tests/tenancy/tent_rows.h"

#include "base/banned.h"

static struct tent tent;
static struct ten_tenant *owner;

static void setup(void)
{
    tent_make(&tent);
    tent_open(&tent);
    owner = tent_create(&tent, "altostrat");
}

static void teardown(void)
{
    tent_close(&tent);
    tent_remove(&tent);
}

static void reopen(void)
{
    tent_reopen(&tent);
    owner = tent_find(&tent, "altostrat");
}

/* The one table there is. */
static const struct sto_schema *only_table(void)
{
    const struct ten_tables *tables = ten_tenant_tables(owner);
    ck_assert_uint_eq(tables->count, 1);
    return tables->schemas[0];
}

static void expect_splits(const struct slice *wanted, size_t count)
{
    const struct sto_schema *schema = only_table();
    ck_assert_uint_eq(schema->split_count, count);
    for (size_t i = 0; i < count; i++)
        ck_assert(base_slice_equal(schema->splits[i], wanted[i]));
}

START_TEST(splits_are_of_the_first_put_and_stay)
{
    struct sto_family_spec families[] = {{.name = SLICE_LIT("stats")}, {.name = SLICE_LIT("raw")}};
    struct slice asked[] = {SLICE_LIT("m"), SLICE_LIT("b"), SLICE_LIT("m")};
    struct slice wanted[] = {SLICE_LIT("b"), SLICE_LIT("m")};
    struct ten_table_wanted first = {
        .families = families, .family_count = 1, .splits = asked, .split_count = 3};
    ck_assert_int_eq(tent_put_table(&tent, owner, "devices", &first), ERR_OK);
    expect_splits(wanted, 2);
    ck_assert_int_eq(tent_put_table(&tent, owner, "devices", &first), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, "is there already"));
    ck_assert_uint_eq(only_table()->version, 1);
    ck_assert_int_eq(tent_try_table(&tent, owner, "devices", families, 2, NULL), ERR_OK);
    ck_assert_uint_eq(only_table()->version, 2);
    expect_splits(wanted, 2);
    struct ten_families_change change = {.drop = &families[0].name, .drop_count = 1};
    ck_assert_int_eq(tent_change_families(&tent, owner, "devices", &change), ERR_OK);
    expect_splits(wanted, 2);
    reopen();
    expect_splits(wanted, 2);
}
END_TEST

START_TEST(a_table_whose_splits_are_refused_is_not_made)
{
    struct slice splits[] = {SLICE_LIT("m"), SLICE_EMPTY};
    struct ten_table_wanted wanted = {.splits = splits, .split_count = 2};
    ck_assert_int_eq(tent_put_table(&tent, owner, "devices", &wanted), ERR_INVALID);
    ck_assert_str_eq(tent.eb.text, "split 2: row key is empty");
    ck_assert_uint_eq(ten_tenant_tables(owner)->count, 0);
}
END_TEST

START_TEST(the_largest_table_is_stored)
{
    static char names[LIM_FAMILIES][LIM_FAMILY_NAME + 1];
    static uint8_t keys[LIM_SPLITS][LIM_SPLIT_BYTES / LIM_SPLITS];
    static uint8_t notes[LIM_ROW_KEY_NOTES];
    struct sto_gc_node rule[LIM_GC_NODES];
    struct sto_family_spec families[LIM_FAMILIES];
    struct slice splits[LIM_SPLITS];
    rule[0] = (struct sto_gc_node){.kind = STO_GC_UNION, .member_count = LIM_GC_NODES - 1};
    for (size_t i = 1; i < LIM_GC_NODES; i++)
        rule[i] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = (uint32_t)i};
    for (int i = 0; i < LIM_FAMILIES; i++) {
        (void)snprintf(names[i], sizeof names[i], "%064d", i);
        families[i] = (struct sto_family_spec){
            .name = base_slice_text(names[i]), .gc_nodes = rule, .gc_node_count = LIM_GC_NODES};
    }
    for (size_t i = 0; i < LIM_SPLITS; i++) {
        (void)snprintf((char *)keys[i], sizeof keys[i], "%05zu", i);
        splits[i] = base_slice(keys[i], sizeof keys[i]);
    }
    memset(notes, 'n', sizeof notes);
    struct ten_table_wanted wanted = {.families = families,
                                      .family_count = LIM_FAMILIES,
                                      .has_row_key_notes = true,
                                      .row_key_notes = base_slice(notes, sizeof notes),
                                      .splits = splits,
                                      .split_count = LIM_SPLITS};
    enum err rc = tent_put_table(&tent, owner, "devices", &wanted);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    reopen();
    ck_assert_uint_eq(only_table()->family_count, LIM_FAMILIES);
    expect_splits(splits, LIM_SPLITS);
}
END_TEST

Suite *suite_tenancy_table_splits(void);
Suite *suite_tenancy_table_splits(void)
{
    Suite *s = suite_create("tenancy_table_splits");
    TCase *tc = tcase_create("splits");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, splits_are_of_the_first_put_and_stay);
    tcase_add_test(tc, a_table_whose_splits_are_refused_is_not_made);
    tcase_add_test(tc, the_largest_table_is_stored);
    suite_add_tcase(s, tc);
    return s;
}

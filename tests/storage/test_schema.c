/*
 * tests/storage/test_schema.c - family numbers last, schemas survive storing.
 */
#include <check.h>
#include <stdio.h>

#include "storage/schema.h"

#include "base/banned.h"

static enum err try_families(const struct sto_schema *old, const struct sto_family_spec *specs,
                             size_t count, struct sto_schema **out)
{
    struct sto_table_spec spec = {.families = specs, .family_count = count};
    return sto_schema_make(SLICE_LIT("table"), old, &spec, out, NULL);
}

static struct sto_schema *make(const struct sto_schema *old, const char *const *names, size_t count)
{
    struct sto_family_spec specs[LIM_FAMILIES];
    struct sto_gc_node nodes[LIM_FAMILIES];
    for (size_t i = 0; i < count; i++) {
        nodes[i] =
            (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = (uint32_t)i + 1};
        specs[i] = (struct sto_family_spec){
            .name = base_slice_text(names[i]), .gc_nodes = &nodes[i], .gc_node_count = 1};
    }
    struct sto_schema *s = NULL;
    ck_assert_int_eq(try_families(old, specs, count, &s), ERR_OK);
    return s;
}

static uint16_t number_of(const struct sto_schema *s, const char *name)
{
    const struct sto_family *f = sto_schema_family(s, base_slice_text(name));
    return f == NULL ? 0 : f->number;
}

START_TEST(numbers_are_kept_and_never_used_again)
{
    struct sto_schema *a = make(NULL, (const char *[]){"x", "y"}, 2);
    ck_assert_uint_eq(number_of(a, "x"), 1);
    ck_assert_uint_eq(number_of(a, "y"), 2);
    struct sto_schema *b = make(a, (const char *[]){"z", "x"}, 2);
    ck_assert_uint_eq(number_of(b, "x"), 1);
    ck_assert_uint_eq(number_of(b, "y"), 0);
    ck_assert_uint_eq(number_of(b, "z"), 3);
    struct sto_schema *c = make(b, (const char *[]){"y"}, 1);
    ck_assert_uint_eq(number_of(c, "y"), 4);
    ck_assert_ptr_eq(a->table, c->table);
    sto_schema_unref(a);
    sto_schema_unref(b);
    ck_assert_ptr_eq(sto_schema_family_by_number(c, 4), sto_schema_family(c, SLICE_LIT("y")));
    ck_assert_ptr_null(sto_schema_family_by_number(c, 2));
    sto_schema_unref(c);
}
END_TEST

START_TEST(families_are_sorted_by_number_with_the_new_rules)
{
    struct sto_schema *a = make(NULL, (const char *[]){"x", "y", "w"}, 3);
    struct sto_schema *b = make(a, (const char *[]){"v", "w", "x"}, 3);
    for (size_t i = 1; i < b->family_count; i++)
        ck_assert_uint_lt(b->families[i - 1].number, b->families[i].number);
    ck_assert_uint_eq(sto_schema_family(b, SLICE_LIT("x"))->gc.nodes[0].max_versions, 3);
    sto_schema_unref(a);
    sto_schema_unref(b);
}
END_TEST

START_TEST(numbers_run_out_with_an_error)
{
    struct sto_schema *a = make(NULL, (const char *[]){"x"}, 1);
    a->next_number = 65535;
    struct sto_family_spec spec = {.name = SLICE_LIT("new")};
    struct sto_schema *s = NULL;
    ck_assert_int_eq(try_families(a, &spec, 1, &s), ERR_TOO_BIG);
    ck_assert_ptr_null(s);
    sto_schema_unref(a);
}
END_TEST

START_TEST(bad_specs_are_refused)
{
    struct sto_schema *s = NULL;
    struct sto_family_spec twice[2] = {{.name = SLICE_LIT("a")}, {.name = SLICE_LIT("a")}};
    ck_assert_int_eq(try_families(NULL, twice, 2, &s), ERR_INVALID);
    struct sto_family_spec bad = {.name = SLICE_LIT("a:b")};
    ck_assert_int_eq(try_families(NULL, &bad, 1, &s), ERR_INVALID);
    struct sto_family_spec many[LIM_FAMILIES + 1];
    char names[LIM_FAMILIES + 1][8];
    for (size_t i = 0; i <= LIM_FAMILIES; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "f%zu", i);
        many[i] = (struct sto_family_spec){.name = base_slice_text(names[i])};
    }
    ck_assert_int_eq(try_families(NULL, many, LIM_FAMILIES + 1, &s), ERR_TOO_BIG);
    ck_assert_int_eq(try_families(NULL, many, LIM_FAMILIES, &s), ERR_OK);
    sto_schema_unref(s);
}
END_TEST

START_TEST(names_follow_the_rules)
{
    static const char *const good[] = {"t", "_t", "0", "A.b-c_d"};
    static const char *const bad[] = {"", "-t", ".t", "a#b", "a/b", "a b"};
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(sto_table_id_check(base_slice_text(good[i]), NULL), ERR_OK);
    for (size_t i = 0; i < 6; i++)
        ck_assert_int_eq(sto_table_id_check(base_slice_text(bad[i]), NULL), ERR_INVALID);
    char longest[80];
    memset(longest, 'a', sizeof(longest));
    ck_assert_int_eq(sto_table_id_check(base_slice(longest, LIM_TABLE_ID), NULL), ERR_OK);
    ck_assert_int_eq(sto_table_id_check(base_slice(longest, LIM_TABLE_ID + 1), NULL), ERR_INVALID);
    ck_assert_int_eq(sto_family_name_check(base_slice(longest, LIM_FAMILY_NAME), NULL), ERR_OK);
    ck_assert_int_eq(sto_family_name_check(base_slice(longest, LIM_FAMILY_NAME + 1), NULL),
                     ERR_INVALID);
    ck_assert_int_eq(sto_family_name_check(SLICE_LIT("-.x"), NULL), ERR_OK);
    ck_assert_int_eq(sto_family_name_check(SLICE_EMPTY, NULL), ERR_INVALID);
}
END_TEST

START_TEST(a_stored_schema_is_the_same_again)
{
    struct sto_schema *a = make(NULL, (const char *[]){"x", "y", "w"}, 3);
    struct sto_schema *deleting = sto_schema_make_deleting(a);
    struct buf b;
    base_buf_init(&b, 65536);
    ck_assert_int_eq(sto_schema_encode(deleting, &b), ERR_OK);
    struct sto_schema *c = NULL;
    ck_assert_int_eq(sto_schema_decode(SLICE_LIT("table"), base_buf_slice(&b), a->table, &c),
                     ERR_OK);
    ck_assert_ptr_eq(c->table, a->table);
    ck_assert(c->deleting);
    ck_assert_uint_eq(c->next_number, a->next_number);
    ck_assert_uint_eq(c->family_count, a->family_count);
    for (size_t i = 0; i < a->family_count; i++) {
        ck_assert_uint_eq(a->families[i].number, c->families[i].number);
        ck_assert_str_eq(a->families[i].name, c->families[i].name);
        ck_assert(sto_gc_equal(&a->families[i].gc, &c->families[i].gc));
    }
    sto_schema_unref(c);
    sto_schema_unref(deleting);
    sto_schema_unref(a);
    base_buf_fini(&b);
}
END_TEST

START_TEST(damaged_schemas_never_crash)
{
    struct sto_schema *a = make(NULL, (const char *[]){"x", "y", "w"}, 3);
    struct buf b;
    base_buf_init(&b, 65536);
    ck_assert_int_eq(sto_schema_encode(a, &b), ERR_OK);
    for (size_t i = 0; i < b.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            struct sto_schema *c = NULL;
            b.ptr[i] ^= (uint8_t)(1u << bit);
            enum err rc = sto_schema_decode(SLICE_LIT("table"), base_buf_slice(&b), NULL, &c);
            ck_assert(rc == ERR_OK || rc == ERR_CORRUPT);
            sto_schema_unref(c);
            b.ptr[i] ^= (uint8_t)(1u << bit);
        }
    struct sto_schema *c = NULL;
    ck_assert_int_eq(sto_schema_decode(SLICE_LIT("table"), SLICE_EMPTY, NULL, &c), ERR_CORRUPT);
    sto_schema_unref(a);
    base_buf_fini(&b);
}
END_TEST

Suite *suite_storage_schema(void);

Suite *suite_storage_schema(void)
{
    Suite *s = suite_create("storage_schema");
    TCase *t = tcase_create("schema");
    tcase_add_test(t, numbers_are_kept_and_never_used_again);
    tcase_add_test(t, families_are_sorted_by_number_with_the_new_rules);
    tcase_add_test(t, numbers_run_out_with_an_error);
    tcase_add_test(t, bad_specs_are_refused);
    tcase_add_test(t, names_follow_the_rules);
    tcase_add_test(t, a_stored_schema_is_the_same_again);
    tcase_add_test(t, damaged_schemas_never_crash);
    suite_add_tcase(s, t);
    return s;
}

/*
 * tests/grpc/test_families.c - ModifyColumnFamilies of a real server.
 */
#include "views.h"

#include "base/banned.h"

Suite *suite_grpc_families(void);

typedef Bta__ModifyColumnFamiliesRequest__Modification modification;

/* A family with a rule of an age. */
struct aged {
    Bta__ColumnFamily family;
    Bta__GcRule rule;
    Google__Protobuf__Duration age;
};

static Bta__ColumnFamily *aged(struct aged *a, int64_t seconds, int32_t nanos)
{
    bta__column_family__init(&a->family);
    bta__gc_rule__init(&a->rule);
    google__protobuf__duration__init(&a->age);
    a->age.seconds = seconds;
    a->age.nanos = nanos;
    a->rule.rule_case = BTA__GC_RULE__RULE_MAX_AGE;
    a->rule.max_age = &a->age;
    a->family.gc_rule = &a->rule;
    return &a->family;
}

static int modify(modification *m)
{
    Bta__ModifyColumnFamiliesRequest ask_modify = BTA__MODIFY_COLUMN_FAMILIES_REQUEST__INIT;
    ask_modify.name = table;
    ask_modify.modifications = &m;
    ask_modify.n_modifications = 1;
    return ask(ADMIN "ModifyColumnFamilies", &ask_modify.base);
}

static int create_family(const char *name, Bta__ColumnFamily *family)
{
    modification m = BTA__MODIFY_COLUMN_FAMILIES_REQUEST__MODIFICATION__INIT;
    m.id = text(name);
    m.mod_case = BTA__MODIFY_COLUMN_FAMILIES_REQUEST__MODIFICATION__MOD_CREATE;
    m.create = family;
    return modify(&m);
}

/* In the table that the last call answered with. */
static void expect_age(const char *name, int64_t seconds, int32_t nanos)
{
    Bta__Table *t = (Bta__Table *)(void *)grpc_message_new(call, &bta__table__descriptor, 0);
    const Bta__ColumnFamily *family = NULL;
    for (size_t i = 0; i < t->n_column_families; i++)
        if (strcmp(t->column_families[i]->key, name) == 0)
            family = t->column_families[i]->value;
    ck_assert_ptr_nonnull(family);
    ck_assert_ptr_nonnull(family->gc_rule);
    ck_assert_int_eq(family->gc_rule->rule_case, BTA__GC_RULE__RULE_MAX_AGE);
    ck_assert_int_eq(family->gc_rule->max_age->seconds, seconds);
    ck_assert_int_eq(family->gc_rule->max_age->nanos, nanos);
    bta__table__free_unpacked(t, NULL);
}

START_TEST(an_age_is_kept_to_the_microsecond)
{
    struct aged a;
    ck_assert_msg(create_family("micros", aged(&a, 1000, 20000)) == GW_STATUS_OK, "%s",
                  call->message);
    expect_age("micros", 1000, 20000);
    ck_assert_int_eq(create_family("cut", aged(&a, 0, 1000999)), GW_STATUS_OK);
    expect_age("cut", 0, 1000000);
    ck_assert_int_eq(create_family("short", aged(&a, 0, 999999)), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(call->message, "at least one millisecond"));
}
END_TEST

/* --- the mask of an update ----------------------------------------------------------------------
 */

static int update_family(const char *name, Bta__ColumnFamily *family, const char *path)
{
    char *paths[] = {text(path)};
    Google__Protobuf__FieldMask mask = GOOGLE__PROTOBUF__FIELD_MASK__INIT;
    modification m = BTA__MODIFY_COLUMN_FAMILIES_REQUEST__MODIFICATION__INIT;
    mask.paths = paths;
    mask.n_paths = path == NULL ? 0 : 1;
    m.id = text(name);
    m.mod_case = BTA__MODIFY_COLUMN_FAMILIES_REQUEST__MODIFICATION__MOD_UPDATE;
    m.update = family;
    m.update_mask = &mask;
    return modify(&m);
}

/* A type that no family of this server has, and one of aggregates. */
static Bta__Type *type_of(bool aggregate)
{
    static Bta__Type type;
    static Bta__Type__Int64 int64;
    static Bta__Type__Aggregate sums;
    static Bta__Type__Aggregate__Sum sum;
    bta__type__init(&type);
    bta__type__int64__init(&int64);
    bta__type__aggregate__init(&sums);
    bta__type__aggregate__sum__init(&sum);
    sums.aggregator_case = BTA__TYPE__AGGREGATE__AGGREGATOR_SUM;
    sums.sum = &sum;
    type.kind_case = aggregate ? BTA__TYPE__KIND_AGGREGATE_TYPE : BTA__TYPE__KIND_INT64_TYPE;
    if (aggregate)
        type.aggregate_type = &sums;
    else
        type.int64_type = &int64;
    return &type;
}

START_TEST(an_update_changes_what_its_mask_names)
{
    static const char *const PATHS[] = {NULL, "gc_rule"};
    struct aged a;
    for (int i = 0; i < 4; i++) {
        aged(&a, 100 + i, 0)->value_type = type_of(i < 2);
        ck_assert_msg(update_family("stats", &a.family, PATHS[i % 2]) == GW_STATUS_OK, "%s",
                      call->message);
        expect_age("stats", 100 + i, 0);
    }
    ck_assert_int_eq(update_family("stats", aged(&a, 1, 0), "value_type"),
                     GW_STATUS_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(call->message, "value_type"));
}
END_TEST

/* The documentation: it is ignored for other modifications than updates. */
START_TEST(a_mask_of_a_creation_is_ignored)
{
    struct aged a;
    char *paths[] = {text("value_type")};
    Google__Protobuf__FieldMask mask = GOOGLE__PROTOBUF__FIELD_MASK__INIT;
    modification m = BTA__MODIFY_COLUMN_FAMILIES_REQUEST__MODIFICATION__INIT;
    mask.paths = paths;
    mask.n_paths = 1;
    m.id = text("made");
    m.mod_case = BTA__MODIFY_COLUMN_FAMILIES_REQUEST__MODIFICATION__MOD_CREATE;
    m.create = aged(&a, 5, 0);
    m.update_mask = &mask;
    ck_assert_msg(modify(&m) == GW_STATUS_OK, "%s", call->message);
    expect_age("made", 5, 0);
}
END_TEST

Suite *suite_grpc_families(void)
{
    Suite *s = suite_create("grpc_families");
    TCase *tc = add_case(s, "families");
    tcase_add_test(tc, an_age_is_kept_to_the_microsecond);
    tcase_add_test(tc, an_update_changes_what_its_mask_names);
    tcase_add_test(tc, a_mask_of_a_creation_is_ignored);
    world_end(tc);
    return s;
}

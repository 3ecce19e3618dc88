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

Suite *suite_grpc_families(void)
{
    Suite *s = suite_create("grpc_families");
    TCase *tc = add_case(s, "families");
    tcase_add_test(tc, an_age_is_kept_to_the_microsecond);
    world_end(tc);
    return s;
}

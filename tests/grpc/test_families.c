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

/* --- types --------------------------------------------------------------------------------------
 */

enum kind { NONE, BYTES, TEXT, RAW_TEXT, NUMBER, ORDERED, DATE, SUM };

/* encoded: with the encoding that is usual. */
static Bta__Type *type_of(enum kind kind, bool encoded)
{
    static Bta__Type type;
    static Bta__Type__Bytes bytes;
    static Bta__Type__Bytes__Encoding bytes_encoding;
    static Bta__Type__Bytes__Encoding__Raw raw;
    static Bta__Type__String string;
    static Bta__Type__String__Encoding string_encoding;
    static Bta__Type__String__Encoding__Utf8Bytes utf8_bytes;
    static Bta__Type__String__Encoding__Utf8Raw utf8_raw;
    static Bta__Type__Int64 int64;
    static Bta__Type__Int64__Encoding int64_encoding;
    static Bta__Type__Int64__Encoding__BigEndianBytes big_endian;
    static Bta__Type__Int64__Encoding__OrderedCodeBytes ordered;
    static Bta__Type__Date date;
    static Bta__Type__Aggregate sums;
    static Bta__Type__Aggregate__Sum sum;
    bta__type__init(&type);
    bta__type__bytes__init(&bytes);
    bta__type__bytes__encoding__init(&bytes_encoding);
    bta__type__bytes__encoding__raw__init(&raw);
    bta__type__string__init(&string);
    bta__type__string__encoding__init(&string_encoding);
    bta__type__string__encoding__utf8_bytes__init(&utf8_bytes);
    bta__type__string__encoding__utf8_raw__init(&utf8_raw);
    bta__type__int64__init(&int64);
    bta__type__int64__encoding__init(&int64_encoding);
    bta__type__int64__encoding__big_endian_bytes__init(&big_endian);
    bta__type__int64__encoding__ordered_code_bytes__init(&ordered);
    bta__type__date__init(&date);
    bta__type__aggregate__init(&sums);
    bta__type__aggregate__sum__init(&sum);
    bytes.encoding = encoded ? &bytes_encoding : NULL;
    bytes_encoding.encoding_case = BTA__TYPE__BYTES__ENCODING__ENCODING_RAW;
    bytes_encoding.raw = &raw;
    string.encoding = encoded ? &string_encoding : NULL;
    if (kind == RAW_TEXT) {
        string_encoding.encoding_case = BTA__TYPE__STRING__ENCODING__ENCODING_UTF8_RAW;
        string_encoding.utf8_raw = &utf8_raw;
    } else {
        string_encoding.encoding_case = BTA__TYPE__STRING__ENCODING__ENCODING_UTF8_BYTES;
        string_encoding.utf8_bytes = &utf8_bytes;
    }
    int64.encoding = encoded ? &int64_encoding : NULL;
    if (kind == ORDERED) {
        int64_encoding.encoding_case = BTA__TYPE__INT64__ENCODING__ENCODING_ORDERED_CODE_BYTES;
        int64_encoding.ordered_code_bytes = &ordered;
    } else {
        int64_encoding.encoding_case = BTA__TYPE__INT64__ENCODING__ENCODING_BIG_ENDIAN_BYTES;
        int64_encoding.big_endian_bytes = &big_endian;
    }
    sums.aggregator_case = BTA__TYPE__AGGREGATE__AGGREGATOR_SUM;
    sums.sum = &sum;
    static const Bta__Type__KindCase CASES[] = {
        BTA__TYPE__KIND__NOT_SET,    BTA__TYPE__KIND_BYTES_TYPE,    BTA__TYPE__KIND_STRING_TYPE,
        BTA__TYPE__KIND_STRING_TYPE, BTA__TYPE__KIND_INT64_TYPE,    BTA__TYPE__KIND_INT64_TYPE,
        BTA__TYPE__KIND_DATE_TYPE,   BTA__TYPE__KIND_AGGREGATE_TYPE};
    type.kind_case = CASES[kind];
    if (kind == BYTES)
        type.bytes_type = &bytes;
    else if (kind == TEXT || kind == RAW_TEXT)
        type.string_type = &string;
    else if (kind == NUMBER || kind == ORDERED)
        type.int64_type = &int64;
    else if (kind == DATE)
        type.date_type = &date;
    else if (kind == SUM)
        type.aggregate_type = &sums;
    return &type;
}

/* In the table that the last call answered with: the very bytes of the type with its encoding. */
static void expect_type(const char *name, enum kind kind)
{
    uint8_t wanted[64], got[64];
    Bta__Table *t = (Bta__Table *)(void *)grpc_message_new(call, &bta__table__descriptor, 0);
    const Bta__ColumnFamily *family = NULL;
    for (size_t i = 0; i < t->n_column_families; i++)
        if (strcmp(t->column_families[i]->key, name) == 0)
            family = t->column_families[i]->value;
    ck_assert_ptr_nonnull(family);
    ck_assert(kind == NONE ? family->value_type == NULL : family->value_type != NULL);
    if (kind != NONE) {
        size_t len = bta__type__pack(type_of(kind, true), wanted);
        ck_assert_uint_eq(bta__type__get_packed_size(family->value_type), len);
        ck_assert_uint_eq(bta__type__pack(family->value_type, got), len);
        ck_assert_mem_eq(got, wanted, len);
    }
    bta__table__free_unpacked(t, NULL);
}

START_TEST(types_of_plain_values_are_kept)
{
    static const enum kind KINDS[] = {NONE, BYTES, TEXT, RAW_TEXT, NUMBER};
    for (int i = 0; i < 10; i++) {
        Bta__ColumnFamily family = BTA__COLUMN_FAMILY__INIT;
        char name[8] = {'f', (char)('0' + i), '\0'};
        enum kind kind = KINDS[i % 5];
        bool encoded = i < 5;
        family.value_type = type_of(kind, encoded);
        ck_assert_msg(create_family(name, &family) == GW_STATUS_OK, "%s", call->message);
        expect_type(name, kind == RAW_TEXT && !encoded ? TEXT : kind);
    }
    Bta__GetTableRequest get = BTA__GET_TABLE_REQUEST__INIT;
    get.name = table;
    ck_assert_int_eq(ask(ADMIN "GetTable", &get.base), GW_STATUS_OK);
    expect_type("f3", RAW_TEXT);
    expect_type("f4", NUMBER);
}
END_TEST

START_TEST(types_that_are_not_served_are_refused_by_name)
{
    static const struct {
        enum kind kind;
        const char *says;
    } CASES[] = {{ORDERED, "int64_type.encoding must be big_endian_bytes"},
                 {DATE, "value_type must be bytes, string, int64 or an aggregate"}};
    for (size_t i = 0; i < 2; i++) {
        Bta__ColumnFamily family = BTA__COLUMN_FAMILY__INIT;
        family.value_type = type_of(CASES[i].kind, true);
        ck_assert_int_eq(create_family("no", &family), GW_STATUS_UNIMPLEMENTED);
        ck_assert_msg(strstr(call->message, CASES[i].says) != NULL, "%s", call->message);
    }
}
END_TEST

START_TEST(an_update_changes_what_its_mask_names)
{
    static const char *const PATHS[] = {NULL, "gc_rule"};
    struct aged a;
    for (int i = 0; i < 4; i++) {
        aged(&a, 100 + i, 0)->value_type = type_of(i < 2 ? SUM : DATE, true);
        ck_assert_msg(update_family("stats", &a.family, PATHS[i % 2]) == GW_STATUS_OK, "%s",
                      call->message);
        expect_age("stats", 100 + i, 0);
        expect_type("stats", NONE);
    }
    static const enum kind TYPES[] = {NUMBER, TEXT, NONE};
    for (int i = 0; i < 3; i++) {
        aged(&a, 1, 0)->value_type = type_of(TYPES[i], true); /* the rule is not named */
        ck_assert_msg(update_family("stats", &a.family, "value_type") == GW_STATUS_OK, "%s",
                      call->message);
        expect_type("stats", TYPES[i]);
        expect_age("stats", 103, 0);
    }
    ck_assert_int_eq(update_family("stats", aged(&a, 1, 0), "stats"), GW_STATUS_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(call->message, "may name gc_rule and value_type, not stats"));
}
END_TEST

START_TEST(an_aggregate_stays_one)
{
    static const enum kind TYPES[] = {TEXT, NUMBER, NONE};
    Bta__ColumnFamily family = BTA__COLUMN_FAMILY__INIT;
    family.value_type = type_of(SUM, true);
    ck_assert_int_eq(update_family("stats", &family, "value_type"), GW_STATUS_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(call->message, "only a new family can have type sum"));
    ck_assert_int_eq(create_family("sums", &family), GW_STATUS_OK);
    for (int i = 0; i < 3; i++) {
        family.value_type = type_of(TYPES[i], true);
        ck_assert_int_eq(update_family("sums", &family, "value_type"),
                         GW_STATUS_FAILED_PRECONDITION);
        /* What clients look for. */
        ck_assert_msg(
            strstr(call->message, "Immutable fields 'value_type.aggregate_type' cannot be updated"),
            "%s", call->message);
    }
    family.value_type = type_of(SUM, true);
    ck_assert_int_eq(update_family("sums", &family, "value_type"), GW_STATUS_OK);
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
    tcase_add_test(tc, types_of_plain_values_are_kept);
    tcase_add_test(tc, types_that_are_not_served_are_refused_by_name);
    tcase_add_test(tc, an_update_changes_what_its_mask_names);
    tcase_add_test(tc, an_aggregate_stays_one);
    tcase_add_test(tc, a_mask_of_a_creation_is_ignored);
    world_end(tc);
    return s;
}

/*
 * tests/gateway/test_row_body.c - JSON bodies become exactly these mutations, in this order.
 */
#include <check.h>
#include <string.h>

#include "gateway/api/row_body.h"

#include "base/banned.h"

static struct sto_schema *schema;
static struct arena arena;
static struct gw_row_body body;
static struct errbuf eb;

static void set_up(void)
{
    static const struct sto_family_spec families[] = {{.name = {(const uint8_t *)"stats", 5}},
                                                      {.name = {(const uint8_t *)"raw", 3}}};
    static const struct sto_table_spec table = {.families = families, .family_count = 2};
    ck_assert_int_eq(sto_schema_make(SLICE_LIT("devices"), NULL, &table, &schema, &eb), ERR_OK);
    base_arena_init(&arena, 64 * MIB);
}

static void tear_down(void)
{
    base_arena_fini(&arena);
    sto_schema_unref(schema);
}

static enum err build_slice(enum gw_row_verb verb, struct slice text)
{
    eb.text[0] = '\0';
    return gw_row_body_build(text, verb, schema, 1, &arena, &body, &eb);
}

static enum err build(enum gw_row_verb verb, const char *text)
{
    return build_slice(verb, base_slice_text(text));
}

static uint16_t number(const char *family)
{
    return sto_schema_family(schema, base_slice_text(family))->number;
}

static void expect_cell(size_t i, const char *family, struct slice qualifier, struct slice value,
                        int64_t timestamp_us)
{
    const struct sto_mutation *m = &body.mutations[i];
    ck_assert_uint_lt(i, body.count);
    ck_assert_int_eq(m->kind, STO_SET_CELL);
    ck_assert_uint_eq(m->family, number(family));
    ck_assert(base_slice_equal(m->qualifier, qualifier));
    ck_assert(base_slice_equal(m->value, value));
    ck_assert_int_eq(m->timestamp_us, timestamp_us);
}

START_TEST(put_begins_with_the_deletion_of_the_row)
{
    ck_assert_int_eq(build(GW_ROW_PUT, "{\"stats\":{\"os\":\"17\"}}"), ERR_OK);
    ck_assert_uint_eq(body.count, 2);
    ck_assert_uint_eq(body.cells, 1);
    ck_assert_int_eq(body.mutations[0].kind, STO_DELETE_FROM_ROW);
    expect_cell(1, "stats", SLICE_LIT("os"), SLICE_LIT("17"), STO_TIMESTAMP_SERVER);
}
END_TEST

START_TEST(every_form_of_a_value_is_taken)
{
    ck_assert_int_eq(
        build(GW_ROW_PATCH,
              "{\"stats\":{\"a\":\"1\",\"\":{\"value\":\"\",\"timestamp\":\"0\"},"
              "\"c\":[\"2\",{\"value_b64\":\"/wA=\",\"timestamp\":\"1700000000000000\"}]},"
              "\"$binary\":[{\"family\":\"raw\",\"qualifier_b64\":\"AP8=\",\"value\":\"x\"}]}"),
        ERR_OK);
    ck_assert_uint_eq(body.count, 5);
    ck_assert_uint_eq(body.cells, 5);
    expect_cell(0, "stats", SLICE_LIT("a"), SLICE_LIT("1"), STO_TIMESTAMP_SERVER);
    expect_cell(1, "stats", SLICE_EMPTY, SLICE_EMPTY, 0);
    expect_cell(2, "stats", SLICE_LIT("c"), SLICE_LIT("2"), STO_TIMESTAMP_SERVER);
    expect_cell(3, "stats", SLICE_LIT("c"), base_slice("\xff\0", 2), 1700000000000000);
    expect_cell(4, "raw", base_slice("\0\xff", 2), SLICE_LIT("x"), STO_TIMESTAMP_SERVER);
}
END_TEST

START_TEST(null_deletes_in_patch)
{
    ck_assert_int_eq(build(GW_ROW_PATCH,
                           "{\"stats\":{\"os\":null},\"raw\":null,\"$binary\":[{\"family\":"
                           "\"stats\",\"qualifier_b64\":\"/w==\",\"value\":null}]}"),
                     ERR_OK);
    ck_assert_uint_eq(body.count, 3);
    ck_assert_uint_eq(body.cells, 0);
    ck_assert_int_eq(body.mutations[0].kind, STO_DELETE_FROM_COLUMN);
    ck_assert(base_slice_is(body.mutations[0].qualifier, "os"));
    ck_assert_int_eq(body.mutations[0].start_us, 0);
    ck_assert_int_eq(body.mutations[0].end_us, 0);
    ck_assert_int_eq(body.mutations[1].kind, STO_DELETE_FROM_FAMILY);
    ck_assert_uint_eq(body.mutations[1].family, number("raw"));
    ck_assert_int_eq(body.mutations[2].kind, STO_DELETE_FROM_COLUMN);
    ck_assert(base_slice_is(body.mutations[2].qualifier, "\xff"));
}
END_TEST

static const struct {
    enum gw_row_verb verb;
    const char *text;
    enum err result;
} BAD[] = {
    {GW_ROW_PUT, "{}", ERR_INVALID},
    {GW_ROW_PUT, "{\"stats\":{}}", ERR_INVALID},
    {GW_ROW_PUT, "{\"stats\":null}", ERR_INVALID},
    {GW_ROW_PUT, "{\"stats\":{\"a\":null}}", ERR_INVALID},
    {GW_ROW_PUT, "{\"stats\":{\"a\":\"1\",\"b\":null}}", ERR_INVALID},
    {GW_ROW_PUT, "{\"$binary\":[{\"family\":\"raw\",\"qualifier_b64\":\"/w==\",\"value\":null}]}",
     ERR_INVALID},
    {GW_ROW_PATCH, "{}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":[]}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":\"x\"}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":[\"x\"]}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":1}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":true}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":[null]}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":[[\"x\"]]}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":{}}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":{\"value\":1}}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":{\"value\":\"x\",\"ttl\":1}}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":{\"value\":\"x\",\"value_b64\":\"eA==\"}}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":{\"value\":\"x\",\"timestamp\":5}}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":{\"value\":\"x\",\"timestamp\":\"-5\"}}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":{\"value\":\"x\",\"timestamp\":\"9223372036854775808\"}}}",
     ERR_INVALID},
    {GW_ROW_PATCH, "{\"$binary\":{}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"$binary\":[1]}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"$binary\":[{\"family\":\"raw\",\"value\":\"x\"}]}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"$binary\":[{\"qualifier_b64\":\"/w==\",\"value\":\"x\"}]}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"$binary\":[{\"family\":\"raw\",\"qualifier_b64\":\"/w==\"}]}", ERR_INVALID},
    {GW_ROW_PATCH,
     "{\"$binary\":[{\"family\":\"nope\",\"qualifier_b64\":\"/w==\",\"value\":\"x\"}]}",
     ERR_NOT_FOUND},
    {GW_ROW_PATCH, "{\"nope\":{\"a\":\"x\"}}", ERR_NOT_FOUND},
    {GW_ROW_PATCH, "{\"nope\":null}", ERR_NOT_FOUND},
    /* malformed comes before meaningless */
    {GW_ROW_PATCH, "{\"nope\":null", ERR_INVALID},
    {GW_ROW_PATCH, "{\"nope\":{\"a\":\"x\"},\"raw\":{\"a\":\"\xff\"}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":\"1\"}}x", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":\"1\"},}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":\"1\"},\"stats\":{\"b\":\"1\"}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":\"1\",\"b\":\"2\",\"\\u0061\":\"3\"}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":[],\"b\":\"2\",\"a\":\"3\"}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\":{\"value\":\"1\",\"value\":\"2\"}}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"stats\":{\"a\\u0000\":\"1\"}}", ERR_INVALID},
    {GW_ROW_PATCH, "{\"$binary\":[],\"stats\":{\"a\":\"1\"},\"$binary\":[]}", ERR_INVALID},
    {GW_ROW_PATCH, "[]", ERR_INVALID},
    {GW_ROW_PATCH, "", ERR_INVALID},
};

START_TEST(bodies_that_make_no_sense_are_refused)
{
    ck_assert_int_eq(build(BAD[_i].verb, BAD[_i].text), BAD[_i].result);
    ck_assert_str_ne(eb.text, "");
}
END_TEST

START_TEST(malformed_text_gets_the_place_of_the_error)
{
    ck_assert_int_eq(build(GW_ROW_PATCH, "{\"stats\":\n{\"a\":s3cret}}"), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(eb.text, "line 2"));
    ck_assert_ptr_null(strstr(eb.text, "s3cret"));
}
END_TEST

START_TEST(an_unknown_family_is_named)
{
    ck_assert_int_eq(build(GW_ROW_PATCH, "{\"x\":{\"a\":\"1\"}}"), ERR_NOT_FOUND);
    ck_assert_str_eq(eb.text, "the table has no family \"x\"");
}
END_TEST

static struct slice list_of(struct buf *text, size_t count)
{
    (void)base_buf_append_text(text, "{\"stats\":{\"a\":[\"\"");
    for (size_t i = 1; i < count; i++)
        (void)base_buf_append_text(text, ",\"\"");
    ck_assert_int_eq(base_buf_append_text(text, "]}}"), ERR_OK);
    return base_buf_slice(text);
}

START_TEST(changes_of_one_row_are_limited)
{
    struct buf text;
    base_buf_init(&text, 4 * MIB);
    ck_assert_int_eq(build_slice(GW_ROW_PATCH, list_of(&text, LIM_MUTATIONS_PER_ROW)), ERR_OK);
    ck_assert_uint_eq(body.count, LIM_MUTATIONS_PER_ROW);
    base_buf_truncate(&text, 0);
    ck_assert_int_eq(build_slice(GW_ROW_PATCH, list_of(&text, LIM_MUTATIONS_PER_ROW + 1)),
                     ERR_TOO_BIG);
    ck_assert_ptr_nonnull(strstr(eb.text, "100000"));
    base_buf_fini(&text);
}
END_TEST

START_TEST(a_full_arena_is_out_of_memory)
{
    struct arena small;
    base_arena_init(&small, 16);
    ck_assert_int_eq(gw_row_body_build(SLICE_LIT("{\"stats\":{\"a\":\"1\"}}"), GW_ROW_PATCH, schema,
                                       1, &small, &body, &eb),
                     ERR_NO_MEMORY);
    base_arena_fini(&small);
}
END_TEST

Suite *suite_gateway_row_body(void);
Suite *suite_gateway_row_body(void)
{
    Suite *s = suite_create("gateway_row_body");
    TCase *tc = tcase_create("row_body");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, put_begins_with_the_deletion_of_the_row);
    tcase_add_test(tc, every_form_of_a_value_is_taken);
    tcase_add_test(tc, null_deletes_in_patch);
    tcase_add_loop_test(tc, bodies_that_make_no_sense_are_refused, 0,
                        (int)(sizeof BAD / sizeof BAD[0]));
    tcase_add_test(tc, malformed_text_gets_the_place_of_the_error);
    tcase_add_test(tc, an_unknown_family_is_named);
    tcase_add_test(tc, changes_of_one_row_are_limited);
    tcase_add_test(tc, a_full_arena_is_out_of_memory);
    suite_add_tcase(s, tc);
    return s;
}

/*
 * tests/gateway/test_row_sink.c - cells in engine order become rows of JSON.
 */
#include <check.h>
#include <jansson.h>
#include <stdio.h>

#include "base/limits.h"
#include "gateway/api/row_sink.h"

#include "base/banned.h"

static const struct sto_family STATS = {.number = 1, .name = "stats", .name_len = 5};
static const struct sto_family COUNT = {
    .number = 3, .name = "count", .name_len = 5, .value_type = STO_VALUE_INT64};
static const struct sto_family RAW = {.number = 2, .name = "raw", .name_len = 3};

static struct buf out;
static struct gw_row_sink sink;

static void set_up(void)
{
    base_buf_init(&out, 64 * MIB);
    gw_row_sink_init(&sink, &out, GW_ROWS_LINES);
}

static void tear_down(void)
{
    gw_row_sink_fini(&sink);
    base_buf_fini(&out);
}

static void use_framing(enum gw_row_framing framing)
{
    gw_row_sink_fini(&sink);
    gw_row_sink_init(&sink, &out, framing);
}

static void begin(struct slice key)
{
    sink.sink.row_begin(&sink.sink, key);
}

static void cell(const struct sto_family *family, struct slice qualifier, int64_t timestamp_us,
                 struct slice value)
{
    struct sto_cell c = {
        .family = family, .qualifier = qualifier, .timestamp_us = timestamp_us, .value = value};
    sink.sink.cell(&sink.sink, &c);
}

static void end(void)
{
    sink.sink.row_end(&sink.sink);
}

static void small_row(const char *key)
{
    begin(base_slice_text(key));
    cell(&STATS, SLICE_LIT("q"), 1000, SLICE_LIT("v"));
    end();
}

static void expect(const char *text)
{
    ck_assert_int_eq(out.error, ERR_OK);
    ck_assert_msg(base_slice_is(base_buf_slice(&out), text), "got %.*s\nwanted %s",
                  SLICE_ARGS(base_buf_slice(&out)), text);
}

START_TEST(families_columns_and_versions_nest)
{
    begin(SLICE_LIT("k"));
    cell(&STATS, SLICE_LIT("a"), 2000, SLICE_LIT("new"));
    cell(&STATS, SLICE_LIT("a"), 1000, SLICE_LIT("old"));
    cell(&STATS, SLICE_LIT("b"), 0, SLICE_EMPTY);
    cell(&RAW, SLICE_LIT("b"), INT64_MAX, SLICE_LIT("x"));
    end();
    expect(
        "{\"key\":\"k\",\"cells\":{\"stats\":{\"a\":[{\"value\":\"new\",\"timestamp\":\"2000\"}"
        ",{\"value\":\"old\",\"timestamp\":\"1000\"}],\"b\":[{\"value\":\"\",\"timestamp\":"
        "\"0\"}]},\"raw\":{\"b\":[{\"value\":\"x\",\"timestamp\":\"9223372036854775807\"}]}}}\n");
}
END_TEST

START_TEST(bytes_that_are_no_text_are_base64)
{
    begin(base_slice("\xff", 1));
    cell(&STATS, SLICE_LIT("q\""), 1000, base_slice("\xff\0", 2));
    cell(&STATS, SLICE_LIT("q\""), 0, SLICE_LIT("\n"));
    end();
    expect("{\"key_b64\":\"/w==\",\"cells\":{\"stats\":{\"q\\\"\":[{\"value_b64\":\"/wA=\","
           "\"timestamp\":\"1000\"},{\"value\":\"\\n\",\"timestamp\":\"0\"}]}}}\n");
}
END_TEST

START_TEST(columns_that_cannot_be_names_stand_in_binary)
{
    begin(SLICE_LIT("k"));
    cell(&STATS, base_slice("\0", 1), 1000, SLICE_LIT("nul"));
    cell(&STATS, SLICE_LIT("q"), 1000, SLICE_LIT("v"));
    cell(&STATS, base_slice("\xff", 1), 1000, SLICE_LIT("1"));
    cell(&RAW, base_slice("\xff", 1), 1000, base_slice("\xff", 1));
    end();
    expect("{\"key\":\"k\",\"cells\":{\"stats\":{\"q\":[{\"value\":\"v\",\"timestamp\":\"1000\"}]}"
           ",\"$binary\":[{\"family\":\"stats\",\"qualifier_b64\":\"AA==\",\"value\":\"nul\","
           "\"timestamp\":\"1000\"},{\"family\":\"stats\",\"qualifier_b64\":\"/w==\",\"value\":"
           "\"1\",\"timestamp\":\"1000\"},{\"family\":\"raw\",\"qualifier_b64\":\"/w==\","
           "\"value_b64\":\"/w==\",\"timestamp\":\"1000\"}]}}\n");
}
END_TEST

START_TEST(a_row_of_binary_columns_only)
{
    begin(SLICE_LIT("k"));
    cell(&STATS, base_slice("\xff", 1), 0, SLICE_LIT("1"));
    end();
    small_row("l");
    expect("{\"key\":\"k\",\"cells\":{\"$binary\":[{\"family\":\"stats\",\"qualifier_b64\":"
           "\"/w==\",\"value\":\"1\",\"timestamp\":\"0\"}]}}\n"
           "{\"key\":\"l\",\"cells\":{\"stats\":{\"q\":[{\"value\":\"v\",\"timestamp\":\"1000\"}]}"
           "}}\n");
}
END_TEST

static const uint8_t SEVEN[8] = {0, 0, 0, 0, 0, 0, 0, 7};

START_TEST(integers_are_numbers_and_bytes)
{
    begin(SLICE_LIT("k"));
    cell(&COUNT, SLICE_LIT("q"), 2000, base_slice(SEVEN, 8));
    cell(&COUNT, SLICE_LIT("q"), 1000, base_slice("1234567", 7));
    end();
    expect("{\"key\":\"k\",\"cells\":{\"count\":{\"q\":[{\"number\":7,\"value_b64\":"
           "\"AAAAAAAAAAc=\",\"timestamp\":\"2000\"},{\"value_b64\":\"MTIzNDU2Nw==\","
           "\"timestamp\":\"1000\"}]}}}\n");
}
END_TEST

START_TEST(in_base64_nothing_else_is_said)
{
    sink.form.base64 = true;
    begin(SLICE_LIT("k"));
    cell(&STATS, SLICE_LIT("q"), 1000, SLICE_LIT("v"));
    cell(&STATS, base_slice("\xff", 1), 1000, SLICE_EMPTY);
    cell(&COUNT, SLICE_LIT("q"), 1000, base_slice(SEVEN, 8));
    end();
    expect("{\"key\":\"k\",\"cells\":{\"stats\":{\"q\":[{\"value_b64\":\"dg==\",\"timestamp\":"
           "\"1000\"}]},\"count\":{\"q\":[{\"value_b64\":\"AAAAAAAAAAc=\",\"timestamp\":"
           "\"1000\"}]},\"$binary\":[{\"family\":\"stats\",\"qualifier_b64\":\"/w==\","
           "\"value_b64\":\"\",\"timestamp\":\"1000\"}]}}\n");
}
END_TEST

/* Columns that stand in "$binary" lie between others, and rows over slices. */
START_TEST(the_flat_form_has_each_column_once)
{
    sink.form.flat = true;
    for (int i = 0; i < 2; i++) {
        begin(SLICE_LIT("k"));
        cell(&STATS, SLICE_LIT("a"), 2000, SLICE_LIT("new"));
        cell(&STATS, SLICE_LIT("a"), 1000, SLICE_LIT("old"));
        cell(&STATS, base_slice("\x80", 1), 2000, SLICE_LIT("1"));
        gw_row_sink_next_slice(&sink);
        cell(&STATS, base_slice("\x80", 1), 1000, SLICE_LIT("2"));
        cell(&STATS, SLICE_LIT("\xc3\xa9"), 0, base_slice("\xff", 1));
        cell(&RAW, SLICE_LIT("\xc3\xa9"), 0, SLICE_LIT("\n"));
        cell(&COUNT, SLICE_LIT("\xc3\xa9"), 0, base_slice(SEVEN, 8));
        cell(&COUNT, SLICE_LIT("z"), 0, SLICE_EMPTY);
        end();
    }
#define FLAT                                                                                       \
    "{\"key\":\"k\",\"cells\":{\"stats\":{\"a\":\"new\",\"\xc3\xa9\":{\"value_b64\":\"/w==\"}},"   \
    "\"raw\":{\"\xc3\xa9\":\"\\n\"},\"count\":{\"\xc3\xa9\":7,\"z\":{\"value_b64\":\"\"}},"        \
    "\"$binary\":[{\"family\":\"stats\",\"qualifier_b64\":\"gA==\",\"value\":\"1\"}]}}\n"
    expect(FLAT FLAT);
}
END_TEST

START_TEST(a_list_has_commas_between_rows)
{
    use_framing(GW_ROWS_LIST);
    (void)base_buf_append_byte(&out, '[');
    for (int i = 0; i < 3; i++)
        small_row("k");
    (void)base_buf_append_byte(&out, ']');
    json_t *tree = json_loadb((const char *)out.ptr, out.len, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_uint_eq(json_array_size(tree), 3);
    json_decref(tree);
}
END_TEST

START_TEST(a_row_taken_back_leaves_nothing)
{
    use_framing(GW_ROWS_LIST);
    small_row("a");
    size_t before = out.len;
    begin(SLICE_LIT("b"));
    cell(&STATS, base_slice("\xff", 1), 0, SLICE_LIT("1"));
    cell(&STATS, SLICE_LIT("\xff\xff"), 0, SLICE_LIT("1"));
    sink.sink.row_undo(&sink.sink);
    ck_assert_uint_eq(out.len, before);
    ck_assert_uint_eq(sink.rows, 1);
    ck_assert(!sink.broken && !sink.in_row);
    small_row("b");
    expect("{\"key\":\"a\",\"cells\":{\"stats\":{\"q\":[{\"value\":\"v\",\"timestamp\":\"1000\"}]}"
           "}},{\"key\":\"b\",\"cells\":{\"stats\":{\"q\":[{\"value\":\"v\",\"timestamp\":"
           "\"1000\"}]}}}");
}
END_TEST

START_TEST(a_row_whose_beginning_is_sent_cannot_be_taken_back)
{
    begin(SLICE_LIT("a"));
    cell(&STATS, SLICE_LIT("q"), 0, SLICE_LIT("1"));
    base_buf_truncate(&out, 0);
    gw_row_sink_next_slice(&sink);
    sink.sink.row_undo(&sink.sink);
    ck_assert(sink.broken);
}
END_TEST

START_TEST(a_row_goes_on_in_the_next_slice)
{
    begin(SLICE_LIT("a"));
    cell(&STATS, SLICE_LIT("q"), 1000, SLICE_LIT("1"));
    size_t first = out.len;
    gw_row_sink_next_slice(&sink);
    cell(&STATS, SLICE_LIT("q"), 0, SLICE_LIT("2"));
    end();
    ck_assert_uint_gt(out.len, first);
    expect("{\"key\":\"a\",\"cells\":{\"stats\":{\"q\":[{\"value\":\"1\",\"timestamp\":\"1000\"},"
           "{\"value\":\"2\",\"timestamp\":\"0\"}]}}}\n");
}
END_TEST

START_TEST(the_row_behind_the_cap_is_only_noticed)
{
    use_framing(GW_ROWS_LIST);
    sink.row_cap = 2;
    sink.keep_last_key = true;
    small_row("a");
    small_row("b");
    size_t before = out.len;
    ck_assert(!sink.over_cap);
    ck_assert(!sink.sink.is_full(&sink.sink));
    begin(SLICE_LIT("c"));
    cell(&STATS, SLICE_LIT("q"), 0, SLICE_LIT("1"));
    ck_assert(sink.over_cap);
    ck_assert(sink.sink.is_full(&sink.sink));
    end();
    ck_assert_uint_eq(out.len, before);
    ck_assert_uint_eq(sink.rows, 2);
    ck_assert(base_slice_is(base_buf_slice(&sink.last_key), "b"));
}
END_TEST

START_TEST(a_slice_is_full_at_its_bytes)
{
    static uint8_t value[LIM_SLICE_BYTES];
    memset(value, 'v', sizeof value);
    begin(SLICE_LIT("a"));
    ck_assert(!sink.sink.is_full(&sink.sink));
    cell(&STATS, SLICE_LIT("q"), 0, base_slice(value, sizeof value));
    ck_assert(sink.sink.is_full(&sink.sink));
    end();
    base_buf_truncate(&out, 0);
    begin(SLICE_LIT("b"));
    cell(&STATS, base_slice("\xff", 1), 0, base_slice(value, sizeof value));
    ck_assert(sink.sink.is_full(&sink.sink)); /* "$binary" counts */
}
END_TEST

START_TEST(no_memory_latches_and_ends_the_slice)
{
    struct buf tiny;
    base_buf_init(&tiny, 40);
    gw_row_sink_fini(&sink);
    gw_row_sink_init(&sink, &tiny, GW_ROWS_LINES);
    begin(SLICE_LIT("a"));
    cell(&STATS, SLICE_LIT("q"), 0, SLICE_LIT("a value that does not fit"));
    ck_assert_int_eq(tiny.error, ERR_TOO_BIG);
    ck_assert(sink.sink.is_full(&sink.sink));
    end();
    base_buf_fini(&tiny);
}
END_TEST

Suite *suite_gateway_row_sink(void);
Suite *suite_gateway_row_sink(void)
{
    Suite *s = suite_create("gateway_row_sink");
    TCase *tc = tcase_create("row_sink");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, families_columns_and_versions_nest);
    tcase_add_test(tc, bytes_that_are_no_text_are_base64);
    tcase_add_test(tc, columns_that_cannot_be_names_stand_in_binary);
    tcase_add_test(tc, a_row_of_binary_columns_only);
    tcase_add_test(tc, integers_are_numbers_and_bytes);
    tcase_add_test(tc, in_base64_nothing_else_is_said);
    tcase_add_test(tc, the_flat_form_has_each_column_once);
    tcase_add_test(tc, a_list_has_commas_between_rows);
    tcase_add_test(tc, a_row_taken_back_leaves_nothing);
    tcase_add_test(tc, a_row_whose_beginning_is_sent_cannot_be_taken_back);
    tcase_add_test(tc, a_row_goes_on_in_the_next_slice);
    tcase_add_test(tc, the_row_behind_the_cap_is_only_noticed);
    tcase_add_test(tc, a_slice_is_full_at_its_bytes);
    tcase_add_test(tc, no_memory_latches_and_ends_the_slice);
    suite_add_tcase(s, tc);
    return s;
}

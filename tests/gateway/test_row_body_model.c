/*
 * tests/gateway/test_row_body_model.c - the one-pass reader and a reader over jansson's tree agree.
 *
 * Random bodies, whole and damaged, go through both (tests/support/row_body_model.h).
 */
#include <check.h>

#include "base/buf.h"
#include "tests/support/process.h"
#include "tests/support/row_body_model.h"

#include "base/banned.h"

/* --- random bodies -----------------------------------------------------------------------------
 */

static uint64_t random_state;

static uint64_t next_random(void)
{
    uint64_t z = (random_state += 0x9E3779B97F4A7C15U);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
}

static size_t below(size_t n)
{
    return (size_t)(next_random() % n);
}

static struct buf text;

static void put(const char *s)
{
    ck_assert_int_eq(base_buf_append_text(&text, s), ERR_OK);
}

static const char *one_of(const char *const *list, size_t count)
{
    return list[below(count)];
}

#define ONE_OF(list) one_of((list), sizeof(list) / sizeof((list)[0]))

static const char *const PIECES[] = {
    "a",
    "b",
    "os",
    "\xc3\xa9",
    "\xf0\x9f\x98\x80",
    "\\n",
    "\\\"",
    "\\\\",
    "\\/",
    "\\u0041",
    "\\u00e9",
    "\\u0000",
    "\\ud83d\\ude00",
    "\\b",
    " ",
    "\x7f",
    "\\ud83d",
    "\\ude00",
    "\\ufffF",
    "\xff",
    "\xed\xa0\x80",
    "\\x",
    "\t",
    "\\u00",
    "=",
    "0123456789",
    "{\\\"a\\\"}",
    "[",
    ",",
    ":",
    "//8=",
    "/w==",
};

/* Rarely one of the pieces that no text may hold. */
static void put_text(void)
{
    put("\"");
    for (size_t n = below(4); n > 0; n--) {
        const char *piece = ONE_OF(PIECES);
        bool is_risky = strchr("\xff\xed\t", piece[0]) != NULL || piece[0] == '\\';
        if (!is_risky || below(8) == 0)
            put(piece);
        else
            put(PIECES[below(14)]);
    }
    put("\"");
}

static void put_space(void)
{
    static const char *const spaces[] = {"", "", "", "", " ", "\n", "\t\r"};
    put(ONE_OF(spaces));
}

static void put_value_object(bool is_binary)
{
    static const char *const members[] = {
        "\"value\":\"v\"",
        "\"value_b64\":\"/w==\"",
        "\"timestamp\":\"5000\"",
        "\"value\":null",
        "\"timestamp\":\"x\"",
        "\"timestamp\":null",
        "\"value_b64\":\"/w\"",
        "\"value\":7",
        "\"other\":1",
        "\"val\\u0075e\":\"w\"",
        "\"input\":\"x\"",
        "\"input_b64\":\"/w==\"",
        "\"input\":null",
        "\"input_b64\":null",
        "\"input\":2.5",
    };
    static const char *const aggregate[] = {
        "\"input\":5",
        "\"input\":\"x\"",
        "\"timestamp\":\"5000\"",
        "\"input\":-0",
        "\"input_b64\":\"/w==\"",
        "\"value_b64\":\"/w==\"",
        "\"input\":0",
        "\"input\":-9223372036854775808",
    };
    static const char *const more[] = {
        "\"family\":\"stats\"", "\"family\":\"raw\"", "\"qualifier_b64\":\"/w==\"",
        "\"qualifier\":\"q\"",  "\"family\":\"x\"",   "\"family\":\"hits\"",
    };
    put("{");
    size_t n = 1 + below(2);
    for (size_t i = 0; i < n; i++) {
        put(i > 0 ? "," : "");
        put_space();
        if (below(3) == 0)
            put(ONE_OF(aggregate));
        else
            put(members[below(below(4) == 0 ? 15 : 3)]);
    }
    if (is_binary) {
        put(",");
        put(more[below(4) == 0 ? 5 : below(below(4) == 0 ? 5 : 2)]);
        put(",");
        put(more[2 + below(below(4) == 0 ? 3 : 2)]);
    }
    put_space();
    put("}");
}

static void put_cell(void)
{
    static const char *const odd[] = {"null", "true", "17", "[]", "{}", "-1.5e3", "nul"};
    static const char *const numbers[] = {"0",   "-0", "5",   "-7", "9223372036854775807",
                                          "01",  "-",  "1-2", "+1", "9223372036854775808",
                                          "1.0", "1e2"};
    size_t kind = below(14);
    if (kind == 0)
        put(ONE_OF(odd));
    else if (kind > 11)
        put(numbers[below(below(4) == 0 ? 12 : 5)]);
    else if (kind < 7)
        put_text();
    else
        put_value_object(false);
}

static void put_column(void)
{
    put_text();
    put_space();
    put(":");
    put_space();
    if (below(4) != 0) {
        put_cell();
        return;
    }
    put("[");
    for (size_t n = below(3), i = 0; i < n; i++) {
        put(i > 0 ? "," : "");
        put_cell();
    }
    put("]");
}

static void put_family(void)
{
    static const char *const names[] = {"\"stats\"", "\"raw\"",         "\"hits\"",
                                        "\"who\"",   "\"st\\u0061ts\"", "\"x\""};
    if (below(6) == 0) {
        put("\"$binary\":[");
        for (size_t n = below(3), i = 0; i < n; i++) {
            put(i > 0 ? "," : "");
            put_value_object(true);
        }
        put("]");
        return;
    }
    put(names[below(below(8) == 0 ? 6 : 4)]);
    put(":");
    if (below(10) == 0) {
        put("null");
        return;
    }
    put("{");
    for (size_t n = below(5), i = 0; i < n; i++) {
        put(i > 0 ? "," : "");
        put_column();
    }
    put("}");
}

static void make_body(void)
{
    base_buf_truncate(&text, 0);
    put_space();
    put("{");
    for (size_t n = below(3), i = 0; i <= n; i++) {
        put(i > 0 ? "," : "");
        put_family();
    }
    put("}");
    put_space();
}

/* A byte changed, taken out or put in. */
static void damage(void)
{
    static const char bytes[] = "{}[]:,\"\\ nul0a\xff";
    size_t at = below(text.len);
    size_t kind = below(3);
    if (kind == 0)
        text.ptr[at] = (uint8_t)bytes[below(sizeof bytes)];
    else if (kind == 1)
        memmove(text.ptr + at, text.ptr + at + 1, text.len-- - at - 1);
    else
        text.len = at;
}

static void compare(const struct sto_schema *schema, enum gw_row_verb verb)
{
    struct errbuf why = {{0}};
    ck_assert_msg(row_body_readers_agree(base_buf_slice(&text), verb, schema, &why), "%s: %.*s",
                  why.text, SLICE_ARGS(base_buf_slice(&text)));
}

START_TEST(both_readers_agree)
{
    static const struct sto_family_spec families[] = {
        {.name = {(const uint8_t *)"stats", 5}},
        {.name = {(const uint8_t *)"raw", 3}},
        {.name = {(const uint8_t *)"hits", 4}, .aggregate = STO_AGGREGATE_SUM},
        {.name = {(const uint8_t *)"who", 3}, .aggregate = STO_AGGREGATE_HLL}};
    static const struct sto_table_spec table = {.families = families, .family_count = 4};
    struct sto_schema *schema = NULL;
    struct errbuf eb;
    long rounds = process_env_number("ROUNDS", 20) * 1000;
    ck_assert_int_eq(sto_schema_make(SLICE_LIT("t"), NULL, &table, &schema, &eb), ERR_OK);
    base_buf_init(&text, 1 << 20);
    random_state = (uint64_t)_i;
    for (long i = 0; i < rounds; i++) {
        make_body();
        compare(schema, GW_ROW_PATCH);
        compare(schema, GW_ROW_PUT);
        damage();
        compare(schema, GW_ROW_PATCH);
    }
    base_buf_fini(&text);
    sto_schema_unref(schema);
}
END_TEST

Suite *suite_gateway_row_body_model(void);
Suite *suite_gateway_row_body_model(void)
{
    Suite *s = suite_create("gateway_row_body_model");
    TCase *tc = tcase_create("row_body_model");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, both_readers_agree, 1, 4);
    suite_add_tcase(s, tc);
    return s;
}

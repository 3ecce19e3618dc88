/*
 * tests/storage/test_schema_splits.c - splits are sorted when a table is made, and stay.
 */
#include <check.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/record.h"
#include "storage/schema.h"

#include "base/banned.h"

#define SPLIT_FIELD 17 /* of the document */

static const struct sto_family_spec FAMILIES[] = {{.name = {(const uint8_t *)"f", 1}},
                                                  {.name = {(const uint8_t *)"g", 1}}};

static struct errbuf eb;
static uint8_t long_key[LIM_ROW_KEY + 1];

static enum err try_make(const struct sto_schema *old, const struct slice *splits, size_t count,
                         struct sto_schema **out)
{
    struct sto_table_spec spec = {
        .families = FAMILIES, .family_count = 1, .splits = splits, .split_count = count};
    eb.text[0] = '\0';
    return sto_schema_make(SLICE_LIT("t"), old, &spec, out, &eb);
}

static struct sto_schema *make(const struct slice *splits, size_t count)
{
    struct sto_schema *s = NULL;
    ck_assert_msg(try_make(NULL, splits, count, &s) == ERR_OK, "%s", eb.text);
    return s;
}

static void expect_refused(enum err wanted, const struct slice *splits, size_t count,
                           const char *text)
{
    struct sto_schema *s = NULL;
    ck_assert_int_eq(try_make(NULL, splits, count, &s), wanted);
    ck_assert_ptr_null(s);
    ck_assert_str_eq(eb.text, text);
}

static void expect_splits(const struct sto_schema *s, const struct slice *wanted, size_t count)
{
    ck_assert_uint_eq(s->split_count, count);
    for (size_t i = 0; i < count; i++)
        ck_assert(base_slice_equal(s->splits[i], wanted[i]));
}

static struct sto_schema *stored_and_read(const struct sto_schema *s)
{
    struct buf body;
    struct sto_schema *again = NULL;
    base_buf_init(&body, MIB);
    ck_assert_int_eq(sto_schema_encode(s, &body), ERR_OK);
    ck_assert_int_eq(sto_schema_decode(SLICE_LIT("t"), base_buf_slice(&body), NULL, &again),
                     ERR_OK);
    base_buf_fini(&body);
    return again;
}

START_TEST(splits_are_sorted_and_each_is_there_once)
{
    struct slice asked[] = {SLICE_LIT("m"),  SLICE_LIT("\xff"), SLICE_LIT("b"),      SLICE_LIT("m"),
                            SLICE_LIT("ba"), SLICE_LIT("b"),    SLICE_LIT("b\0\x01")};
    struct slice wanted[] = {SLICE_LIT("b"), SLICE_LIT("b\0\x01"), SLICE_LIT("ba"), SLICE_LIT("m"),
                             SLICE_LIT("\xff")};
    struct sto_schema *s = make(asked, 7);
    expect_splits(s, wanted, 5);
    struct sto_schema *again = stored_and_read(s);
    expect_splits(again, wanted, 5);
    sto_schema_unref(again);
    sto_schema_unref(s);
    s = make(NULL, 0);
    expect_splits(s, NULL, 0);
    sto_schema_unref(s);
}
END_TEST

START_TEST(splits_stay_over_changes_and_cannot_be_changed)
{
    struct slice splits[] = {SLICE_LIT("b"), SLICE_LIT("m")};
    struct sto_table_spec spec = {.families = FAMILIES + 1, .family_count = 1};
    struct sto_schema *now = make(splits, 2);
    struct sto_schema *changed = NULL;
    ck_assert_int_eq(sto_schema_make(SLICE_LIT("t"), now, &spec, &changed, &eb), ERR_OK);
    sto_schema_unref(now); /* keys are not in its memory */
    expect_splits(changed, splits, 2);
    struct sto_schema *swept = sto_schema_make_swept(changed, 1);
    struct sto_schema *deleting = sto_schema_make_deleting(changed);
    expect_splits(swept, splits, 2);
    expect_splits(deleting, splits, 2);
    struct sto_schema *none = NULL;
    ck_assert_int_eq(try_make(changed, splits, 2, &none), ERR_INVALID);
    ck_assert_str_eq(eb.text, "a table is split when it is made; this one is there already");
    ck_assert_ptr_null(none);
    sto_schema_unref(changed);
    sto_schema_unref(swept);
    sto_schema_unref(deleting);
}
END_TEST

START_TEST(number_and_bytes_of_splits_are_limited)
{
    static char names[LIM_SPLITS + 1][8];
    struct slice many[LIM_SPLITS + 1];
    for (size_t i = 0; i <= LIM_SPLITS; i++) {
        (void)snprintf(names[i], sizeof names[i], "k%04zu", i);
        many[i] = base_slice_text(names[i]);
    }
    struct sto_schema *s = make(many, LIM_SPLITS);
    expect_splits(s, many, LIM_SPLITS);
    sto_schema_unref(s);
    expect_refused(ERR_TOO_BIG, many, LIM_SPLITS + 1,
                   "a table is made with at most 1000 splits, not 1001");
    static uint8_t keys[LIM_SPLIT_BYTES / LIM_ROW_KEY][LIM_ROW_KEY];
    struct slice large[LIM_SPLIT_BYTES / LIM_ROW_KEY + 1];
    for (size_t i = 0; i < LIM_SPLIT_BYTES / LIM_ROW_KEY; i++) {
        memset(keys[i], (int)i, LIM_ROW_KEY);
        large[i] = base_slice(keys[i], LIM_ROW_KEY);
    }
    s = make(large, LIM_SPLIT_BYTES / LIM_ROW_KEY);
    expect_splits(s, large, LIM_SPLIT_BYTES / LIM_ROW_KEY);
    struct sto_schema *again = stored_and_read(s);
    expect_splits(again, large, LIM_SPLIT_BYTES / LIM_ROW_KEY);
    sto_schema_unref(again);
    sto_schema_unref(s);
    large[LIM_SPLIT_BYTES / LIM_ROW_KEY] = SLICE_LIT("x");
    expect_refused(ERR_TOO_BIG, large, LIM_SPLIT_BYTES / LIM_ROW_KEY + 1,
                   "the splits have 65537 bytes; the limit is 65536");
}
END_TEST

START_TEST(every_split_is_a_row_key)
{
    struct slice splits[] = {SLICE_LIT("b"), SLICE_EMPTY};
    expect_refused(ERR_INVALID, splits, 2, "split 2: row key is empty");
    splits[1] = base_slice(long_key, LIM_ROW_KEY + 1);
    expect_refused(ERR_TOO_BIG, splits, 2,
                   "split 2: row key has 4097 bytes; the limit is 4096 (row_key_bytes)");
    splits[1].len--;
    sto_schema_unref(make(splits, 2));
}
END_TEST

/* --- damage ----------------------------------------------------------------------------------- */

static enum err decode(const struct buf *body)
{
    struct sto_schema *s = NULL;
    enum err rc = sto_schema_decode(SLICE_LIT("t"), base_buf_slice(body), NULL, &s);
    sto_schema_unref(s);
    return rc;
}

static enum err decode_with(const struct slice *splits, size_t count)
{
    struct buf body;
    base_buf_init(&body, MIB);
    ck_assert_int_eq(base_record_put_u64(&body, 1, 1), ERR_OK);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(base_record_put_bytes(&body, SPLIT_FIELD, splits[i]), ERR_OK);
    enum err rc = decode(&body);
    base_buf_fini(&body);
    return rc;
}

START_TEST(splits_that_cannot_be_are_corrupt)
{
    static uint8_t keys[LIM_SPLITS + 1][2];
    struct slice many[LIM_SPLITS + 1];
    for (size_t i = 0; i <= LIM_SPLITS; i++) {
        keys[i][0] = (uint8_t)(i >> 8);
        keys[i][1] = (uint8_t)i;
        many[i] = base_slice(keys[i], 2);
    }
    ck_assert_int_eq(decode_with(many, LIM_SPLITS), ERR_OK);
    ck_assert_int_eq(decode_with(many, LIM_SPLITS + 1), ERR_CORRUPT);
    ck_assert_int_eq(decode_with((struct slice[]){SLICE_LIT("b"), SLICE_LIT("b")}, 2), ERR_CORRUPT);
    ck_assert_int_eq(decode_with((struct slice[]){SLICE_LIT("b"), SLICE_LIT("a")}, 2), ERR_CORRUPT);
    ck_assert_int_eq(decode_with((struct slice[]){SLICE_EMPTY}, 1), ERR_CORRUPT);
    struct slice one = base_slice(long_key, LIM_ROW_KEY);
    ck_assert_int_eq(decode_with(&one, 1), ERR_OK);
    one.len++;
    ck_assert_int_eq(decode_with(&one, 1), ERR_CORRUPT);
    static uint8_t large[LIM_SPLIT_BYTES / LIM_ROW_KEY + 1][LIM_ROW_KEY];
    for (size_t i = 0; i <= LIM_SPLIT_BYTES / LIM_ROW_KEY; i++) {
        memset(large[i], (int)i, LIM_ROW_KEY);
        many[i] = base_slice(large[i], LIM_ROW_KEY);
    }
    ck_assert_int_eq(decode_with(many, LIM_SPLIT_BYTES / LIM_ROW_KEY), ERR_OK);
    ck_assert_int_eq(decode_with(many, LIM_SPLIT_BYTES / LIM_ROW_KEY + 1), ERR_CORRUPT);
    struct buf body;
    base_buf_init(&body, KIB);
    ck_assert_int_eq(base_record_put_u64(&body, 1, 1), ERR_OK);
    ck_assert_int_eq(base_record_put_u64(&body, SPLIT_FIELD, 1), ERR_OK);
    ck_assert_int_eq(decode(&body), ERR_CORRUPT); /* a number */
    base_buf_fini(&body);
}
END_TEST

START_TEST(damaged_splits_never_crash)
{
    struct slice splits[] = {SLICE_LIT("b"), SLICE_LIT("m"), SLICE_LIT("x#1")};
    struct sto_schema *s = make(splits, 3);
    struct buf body;
    base_buf_init(&body, KIB);
    ck_assert_int_eq(sto_schema_encode(s, &body), ERR_OK);
    size_t corrupt = 0;
    for (size_t i = 0; i < body.len; i++) {
        uint8_t was = body.ptr[i];
        for (unsigned byte = 0; byte < 256; byte++) {
            body.ptr[i] = (uint8_t)byte;
            enum err rc = decode(&body);
            ck_assert(rc == ERR_OK || rc == ERR_CORRUPT);
            corrupt += rc == ERR_CORRUPT;
        }
        body.ptr[i] = was;
    }
    ck_assert_uint_gt(corrupt, 0);
    base_buf_fini(&body);
    sto_schema_unref(s);
}
END_TEST

Suite *suite_storage_schema_splits(void);
Suite *suite_storage_schema_splits(void)
{
    Suite *s = suite_create("storage_schema_splits");
    TCase *made = tcase_create("made");
    TCase *damage = tcase_create("damage");
    tcase_add_test(made, splits_are_sorted_and_each_is_there_once);
    tcase_add_test(made, splits_stay_over_changes_and_cannot_be_changed);
    tcase_add_test(made, number_and_bytes_of_splits_are_limited);
    tcase_add_test(made, every_split_is_a_row_key);
    tcase_add_test(damage, splits_that_cannot_be_are_corrupt);
    tcase_add_test(damage, damaged_splits_never_crash);
    suite_add_tcase(s, made);
    suite_add_tcase(s, damage);
    return s;
}

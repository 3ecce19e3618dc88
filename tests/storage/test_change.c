/*
 * tests/storage/test_change.c - changes in parts: what is encoded is decoded, and nothing else is.
 */
#include <check.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "storage/change.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_storage_change(void);

#define PARTS_MAX 64

static struct buf parts[PARTS_MAX];
static size_t part_count;
static uint8_t big[3 * LIM_CHANGE_PART];

static void keep(void *ctx, uint32_t part, struct slice bytes)
{
    (void)ctx;
    ck_assert_uint_eq(part, part_count);
    ck_assert_uint_lt(part_count, PARTS_MAX);
    base_buf_init(&parts[part_count], 16 * MIB);
    ck_assert_int_eq(base_buf_append(&parts[part_count++], bytes), ERR_OK);
}

static void encode(const struct sto_change *change)
{
    struct buf scratch;
    base_buf_init(&scratch, 16 * MIB);
    part_count = 0;
    ck_assert_int_eq(sto_change_encode(change, &scratch, keep, NULL), ERR_OK);
    base_buf_fini(&scratch);
}

static void drop_parts(void)
{
    for (size_t i = 0; i < part_count; i++)
        base_buf_fini(&parts[i]);
}

static struct sto_change_mutation draw(struct random *dice)
{
    static const enum sto_mutation_kind kinds[] = {STO_SET_CELL, STO_DELETE_FROM_COLUMN,
                                                   STO_DELETE_FROM_FAMILY, STO_ADD_TO_CELL,
                                                   STO_MERGE_TO_CELL};
    struct sto_change_mutation m = {.kind = kinds[random_below(dice, 5)],
                                    .family = SLICE_LIT("family")};
    if (m.kind == STO_DELETE_FROM_FAMILY)
        return m;
    m.qualifier = base_slice(big, random_below(dice, LIM_QUALIFIER + 1));
    if (m.kind == STO_DELETE_FROM_COLUMN) {
        m.start_us = random_below(dice, 5000);
        m.end_us = random_below(dice, 2) == 0 ? 0 : INT64_MAX;
        return m;
    }
    m.timestamp_us = INT64_MAX - random_below(dice, 1000);
    uint32_t max = m.kind == STO_SET_CELL && random_below(dice, 4) == 0 ? sizeof(big) : 300;
    m.value = base_slice(big, random_below(dice, max));
    return m;
}

/* The pieces of one mutation, from where the parts are read. */
struct reading {
    size_t part;
    struct slice body;
};

static void begin_part(struct reading *r)
{
    struct sto_change_part part;
    ck_assert_uint_lt(r->part, part_count);
    ck_assert_int_eq(sto_change_part_decode(base_buf_slice(&parts[r->part]), &part), ERR_OK);
    ck_assert_int_eq(part.is_first, r->part == 0);
    ck_assert_int_eq(part.is_last, r->part + 1 == part_count);
    ck_assert_int_eq(part.type, STO_CHANGE_GARBAGE);
    if (part.is_first)
        ck_assert(base_slice_is(part.row_key, "row"));
    r->body = part.body;
    r->part++;
}

static void expect(struct reading *r, const struct sto_change_mutation *wanted)
{
    struct sto_change_mutation m;
    size_t offset = 0;
    do {
        if (r->body.len == 0)
            begin_part(r);
        ck_assert_int_eq(sto_change_next(&r->body, &m), ERR_OK);
        ck_assert_int_eq(m.kind, wanted->kind);
        ck_assert(base_slice_equal(m.family, wanted->family));
        ck_assert(base_slice_equal(m.qualifier, wanted->qualifier));
        ck_assert_int_eq(m.timestamp_us, wanted->timestamp_us);
        ck_assert_int_eq(m.start_us, wanted->start_us);
        ck_assert_int_eq(m.end_us, wanted->end_us);
        ck_assert_uint_eq(m.value_size, wanted->value.len);
        ck_assert_uint_eq(m.value_offset, offset);
        ck_assert(m.value.len > 0 || wanted->value.len == 0);
        ck_assert(offset == 0 || wanted->kind == STO_SET_CELL);
        if (m.value.len > 0)
            ck_assert_int_eq(memcmp(m.value.ptr, wanted->value.ptr + offset, m.value.len), 0);
        offset += m.value.len;
    } while (offset < wanted->value.len);
}

START_TEST(parts_put_together_are_the_change)
{
    struct random dice = {11};
    for (size_t i = 0; i < sizeof(big); i++)
        big[i] = (uint8_t)random_next(&dice);
    for (int round = 0; round < 200; round++) {
        struct sto_change_mutation list[40];
        struct sto_change change = {.type = STO_CHANGE_GARBAGE,
                                    .row_key = SLICE_LIT("row"),
                                    .mutations = list,
                                    .count = 1 + random_below(&dice, 40)};
        for (size_t i = 0; i < change.count; i++)
            list[i] = draw(&dice);
        encode(&change);
        struct reading r = {0};
        for (size_t i = 0; i < change.count; i++)
            expect(&r, &list[i]);
        ck_assert_uint_eq(r.part, part_count);
        ck_assert_uint_eq(r.body.len, 0);
        for (size_t i = 0; i < part_count; i++)
            ck_assert_uint_le(parts[i].len, LIM_CHANGE_PART + LIM_QUALIFIER + 400);
        drop_parts();
    }
}
END_TEST

static enum err decode_all(struct slice stored)
{
    struct sto_change_part part;
    struct sto_change_mutation m;
    enum err rc = sto_change_part_decode(stored, &part);
    while (rc == ERR_OK && part.body.len > 0)
        rc = sto_change_next(&part.body, &m);
    return rc;
}

START_TEST(what_is_cut_or_of_another_kind_is_corrupt)
{
    struct sto_change_mutation one = {.kind = STO_SET_CELL,
                                      .family = SLICE_LIT("f"),
                                      .qualifier = SLICE_LIT("q"),
                                      .timestamp_us = 1000,
                                      .value = SLICE_LIT("value")};
    encode(&(struct sto_change){.row_key = SLICE_LIT("row"), .mutations = &one, .count = 1});
    struct slice whole = base_buf_slice(&parts[0]);
    ck_assert_int_eq(decode_all(whole), ERR_OK);
    for (size_t len = 0; len < whole.len; len++)
        ck_assert_int_eq(decode_all(base_slice(whole.ptr, len)), ERR_CORRUPT);
    static const struct {
        size_t at;
        uint8_t byte;
    } wrong[] = {{0, 2}, {1, 8}, {2, 0}, {6, 0}, {6, 6}, {7, 200}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint8_t was = parts[0].ptr[wrong[i].at];
        parts[0].ptr[wrong[i].at] = wrong[i].byte;
        ck_assert_int_eq(decode_all(whole), ERR_CORRUPT);
        parts[0].ptr[wrong[i].at] = was;
    }
    struct random dice = {5};
    for (int i = 0; i < 20000; i++) { /* whatever it says, it says it */
        uint8_t bytes[64];
        size_t len = random_below(&dice, sizeof(bytes));
        memcpy(bytes, whole.ptr, whole.len < len ? whole.len : len);
        for (size_t k = whole.len; k < len; k++)
            bytes[k] = (uint8_t)random_next(&dice);
        if (len > 0)
            bytes[random_below(&dice, (uint32_t)len)] = (uint8_t)random_next(&dice);
        (void)decode_all(base_slice(bytes, len));
    }
    drop_parts();
}
END_TEST

Suite *suite_storage_change(void)
{
    Suite *s = suite_create("storage_change");
    TCase *tc = tcase_create("codec");
    tcase_add_test(tc, parts_put_together_are_the_change);
    tcase_add_test(tc, what_is_cut_or_of_another_kind_is_corrupt);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(s, tc);
    return s;
}

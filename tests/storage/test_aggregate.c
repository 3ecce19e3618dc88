/*
 * tests/storage/test_aggregate.c - sums, extremes and distinct counts, against naive references.
 *
 * The reference of a distinct count keeps every index and every register plainly and writes the
 * documented bytes (storage/hll.h) from them.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/siphash.h"
#include "storage/aggregate.h"
#include "storage/hll.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_storage_aggregate(void);

enum { INDEXES = 1 << 25, REGISTERS = 1 << 14 };

static const enum sto_aggregate kinds[] = {STO_AGGREGATE_SUM, STO_AGGREGATE_MIN, STO_AGGREGATE_MAX,
                                           STO_AGGREGATE_HLL};
enum { KINDS = 4 };

struct state {
    bool there;
    struct buf bytes;
};

static void state_init(struct state *s)
{
    s->there = false;
    base_buf_init(&s->bytes, STO_AGGREGATE_STATE_MAX);
}

static struct slice state_slice(const struct state *s)
{
    return s->there ? base_buf_slice(&s->bytes) : SLICE_EMPTY;
}

static void state_take(struct state *s, struct buf *next)
{
    base_buf_fini(&s->bytes);
    base_buf_take(&s->bytes, next);
    s->there = true;
}

static enum err add(enum sto_aggregate a, struct state *s, struct slice input)
{
    struct buf next;
    base_buf_init(&next, STO_AGGREGATE_STATE_MAX);
    enum err rc = sto_aggregate_add(a, state_slice(s), input, &next, NULL);
    if (rc == ERR_OK)
        state_take(s, &next);
    ck_assert_uint_eq(next.len, 0);
    base_buf_fini(&next);
    return rc;
}

static enum err merge(enum sto_aggregate a, struct state *s, struct slice other)
{
    struct buf next;
    base_buf_init(&next, STO_AGGREGATE_STATE_MAX);
    enum err rc = sto_aggregate_merge(a, state_slice(s), other, &next, NULL);
    if (rc == ERR_OK)
        state_take(s, &next);
    ck_assert_uint_eq(next.len, 0);
    base_buf_fini(&next);
    return rc;
}

static void be64(uint8_t out[8], uint64_t v)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(v >> (56 - 8 * i));
}

static int64_t integer(const struct state *s)
{
    ck_assert_uint_eq(s->bytes.len, 8);
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v = v << 8 | s->bytes.ptr[i];
    return (int64_t)v;
}

static enum err add_integer(enum sto_aggregate a, struct state *s, int64_t value)
{
    uint8_t bytes[8];
    be64(bytes, (uint64_t)value);
    return add(a, s, base_slice(bytes, 8));
}

/* --- integers -----------------------------------------------------------------------------------
 */

START_TEST(integers_are_combined)
{
    static const int64_t wanted[3][4] = {
        {5, 2, 2, INT64_MIN + 2}, {5, -3, -3, INT64_MIN}, {5, 5, 5, 5}};
    static const int64_t inputs[4] = {5, -3, 0, INT64_MIN};
    for (int a = 0; a < 3; a++) {
        struct state s;
        state_init(&s);
        for (int i = 0; i < 4; i++) {
            ck_assert_int_eq(add_integer(kinds[a], &s, inputs[i]), ERR_OK);
            ck_assert_int_eq(integer(&s), wanted[a][i]);
        }
        base_buf_fini(&s.bytes);
    }
}
END_TEST

START_TEST(a_sum_does_not_wrap)
{
    struct state s;
    state_init(&s);
    ck_assert_int_eq(add_integer(STO_AGGREGATE_SUM, &s, INT64_MAX - 1), ERR_OK);
    ck_assert_int_eq(add_integer(STO_AGGREGATE_SUM, &s, 1), ERR_OK);
    ck_assert_int_eq(add_integer(STO_AGGREGATE_SUM, &s, 1), ERR_INVALID);
    ck_assert_int_eq(integer(&s), INT64_MAX);
    uint8_t one[8] = {0, 0, 0, 0, 0, 0, 0, 1};
    ck_assert_int_eq(merge(STO_AGGREGATE_SUM, &s, base_slice(one, 8)), ERR_INVALID);
    ck_assert_int_eq(add_integer(STO_AGGREGATE_SUM, &s, INT64_MIN), ERR_OK);
    ck_assert_int_eq(integer(&s), -1);
    ck_assert_int_eq(add_integer(STO_AGGREGATE_SUM, &s, INT64_MIN), ERR_INVALID);
    base_buf_fini(&s.bytes);
}
END_TEST

START_TEST(bytes_of_the_wrong_form_are_refused)
{
    static const uint8_t bytes[9] = {1};
    for (int a = 0; a < 3; a++) {
        struct state s;
        state_init(&s);
        ck_assert_int_eq(add(kinds[a], &s, base_slice(bytes, 7)), ERR_INVALID);
        ck_assert_int_eq(add(kinds[a], &s, base_slice(bytes, 9)), ERR_INVALID);
        ck_assert_int_eq(merge(kinds[a], &s, base_slice(bytes, 0)), ERR_INVALID);
        ck_assert_int_eq(add(kinds[a], &s, base_slice(bytes, 8)), ERR_OK);
        s.bytes.len = 7;
        ck_assert_int_eq(add(kinds[a], &s, base_slice(bytes, 8)), ERR_CORRUPT);
        ck_assert_int_eq(merge(kinds[a], &s, base_slice(bytes, 8)), ERR_CORRUPT);
        s.bytes.len = 0;
        ck_assert_int_eq(add(kinds[a], &s, base_slice(bytes, 8)), ERR_CORRUPT);
        base_buf_fini(&s.bytes);
    }
    struct state none;
    state_init(&none);
    ck_assert_int_eq(add(STO_AGGREGATE_NONE, &none, base_slice(bytes, 8)), ERR_INVALID);
    ck_assert_int_eq(merge(STO_AGGREGATE_NONE, &none, base_slice(bytes, 8)), ERR_INVALID);
    ck_assert(!sto_aggregate_is_state(STO_AGGREGATE_NONE, base_slice(bytes, 8)));
    base_buf_fini(&none.bytes);
}
END_TEST

START_TEST(kinds_have_names)
{
    ck_assert_str_eq(sto_aggregate_name(STO_AGGREGATE_SUM), "sum");
    ck_assert_str_eq(sto_aggregate_name(STO_AGGREGATE_MIN), "min");
    ck_assert_str_eq(sto_aggregate_name(STO_AGGREGATE_MAX), "max");
    ck_assert_str_eq(sto_aggregate_name(STO_AGGREGATE_HLL), "hll");
    ck_assert_ptr_null(sto_aggregate_name(STO_AGGREGATE_NONE));
}
END_TEST

/* --- algebra, all kinds --------------------------------------------------------------------------
 */

static struct slice random_input(struct random *r, enum sto_aggregate a, uint8_t bytes[8])
{
    if (a != STO_AGGREGATE_HLL) {
        be64(bytes, (uint64_t)(int64_t)(int32_t)random_next(r));
        return base_slice(bytes, 8);
    }
    be64(bytes, random_below(r, 9000)); /* some come again */
    return base_slice(bytes, random_below(r, 50) == 0 ? 0 : 8);
}

/* Inputs are dealt to a few states, which are merged in any order; the same ones go into one. */
START_TEST(order_and_splits_do_not_matter)
{
    enum { PARTS = 4 };
    struct random r = {20261120 + (uint64_t)_i};
    enum sto_aggregate a = kinds[_i % KINDS];
    struct state all, parts[PARTS];
    state_init(&all);
    for (int p = 0; p < PARTS; p++)
        state_init(&parts[p]);
    size_t count = a == STO_AGGREGATE_HLL ? 1 + random_below(&r, 8000) : 1 + random_below(&r, 60);
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[8];
        struct slice input = random_input(&r, a, bytes);
        ck_assert_int_eq(add(a, &all, input), ERR_OK);
        ck_assert_int_eq(add(a, &parts[random_below(&r, PARTS)], input), ERR_OK);
    }
    for (int left = PARTS; left > 1; left--) {
        int from = (int)random_below(&r, (uint32_t)left),
            into = (int)random_below(&r, (uint32_t)left);
        if (from == into)
            into = (from + 1) % left;
        if (parts[from].there)
            ck_assert_int_eq(merge(a, &parts[into], state_slice(&parts[from])), ERR_OK);
        base_buf_fini(&parts[from].bytes);
        parts[from] = parts[left - 1];
    }
    ck_assert_msg(base_slice_equal(state_slice(&all), state_slice(&parts[0])), "seed %d", _i);
    ck_assert(sto_aggregate_is_state(a, state_slice(&all)));
    base_buf_fini(&parts[0].bytes);
    base_buf_fini(&all.bytes);
}
END_TEST

/* --- distinct counts -----------------------------------------------------------------------------
 */

struct reference {
    uint8_t *ranks; /* of each index, 0: none */
    size_t index_count;
    uint8_t registers[REGISTERS];
};

static void reference_init(struct reference *f)
{
    memset(f, 0, sizeof(*f));
    f->ranks = base_new(INDEXES);
}

static void reference_add(struct reference *f, struct slice input)
{
    uint64_t hash = base_siphash13((struct base_siphash_key){0, 0}, input);
    uint8_t rank = 1, register_rank = 1;
    while (rank < 40 && (hash >> (39 - rank) & 1) == 0)
        rank++;
    while (register_rank < 51 && (hash >> (50 - register_rank) & 1) == 0)
        register_rank++;
    uint8_t *known = &f->ranks[hash >> 39];
    f->index_count += *known == 0;
    *known = rank > *known ? rank : *known;
    uint8_t *reg = &f->registers[hash >> 50];
    *reg = register_rank > *reg ? register_rank : *reg;
}

static void reference_dense(const struct reference *f, uint8_t out[STO_HLL_STATE_MAX])
{
    memset(out, 0, STO_HLL_STATE_MAX);
    out[0] = 2;
    for (size_t i = 0; i < REGISTERS; i++)
        for (size_t bit = 0; bit < 6; bit++) {
            size_t at = i * 6 + bit;
            if (f->registers[i] >> (5 - bit) & 1)
                out[1 + at / 8] |= (uint8_t)(0x80 >> at % 8);
        }
}

static size_t reference_write(const struct reference *f, uint8_t out[STO_HLL_STATE_MAX])
{
    if (f->index_count > STO_HLL_SPARSE_MAX) {
        reference_dense(f, out);
        return STO_HLL_STATE_MAX;
    }
    size_t n = 0;
    out[n++] = 1;
    for (uint32_t i = 0; i < INDEXES; i++) {
        if (f->ranks[i] == 0)
            continue;
        uint32_t word = i << 6 | f->ranks[i];
        for (int shift = 24; shift >= 0; shift -= 8)
            out[n++] = (uint8_t)(word >> shift);
    }
    return n;
}

START_TEST(states_are_what_the_documented_form_says)
{
    static struct reference f;
    static uint8_t wanted[STO_HLL_STATE_MAX];
    static const size_t looks[] = {1, 2, 100, 3071, 3072, 3073, 3074, 5000, 20000};
    struct random r = {7};
    struct state s;
    reference_init(&f);
    state_init(&s);
    size_t look = 0, forms = 0;
    for (size_t n = 1; n <= 20000; n++) {
        uint8_t bytes[12];
        be64(bytes, random_next(&r));
        struct slice input = base_slice(bytes, random_below(&r, 9) < 8 ? 8 : 7);
        reference_add(&f, input);
        ck_assert_int_eq(add(STO_AGGREGATE_HLL, &s, input), ERR_OK);
        if (n != looks[look])
            continue;
        look++;
        size_t len = reference_write(&f, wanted);
        forms |= (size_t)1 << s.bytes.ptr[0];
        ck_assert(base_slice_equal(base_slice(wanted, len), base_buf_slice(&s.bytes)));
        struct buf again;
        base_buf_init(&again, STO_HLL_STATE_MAX);
        ck_assert_int_eq(sto_hll_add(base_buf_slice(&s.bytes), input, &again), ERR_OK);
        ck_assert(base_slice_equal(base_buf_slice(&again), base_buf_slice(&s.bytes)));
        base_buf_fini(&again);
    }
    ck_assert_uint_eq(forms, 1 << 1 | 1 << 2);
    base_buf_fini(&s.bytes);
    base_free(f.ranks);
}
END_TEST

/* Root of the mean square of the relative error over SEEDS sets, at rising sizes. */
START_TEST(the_estimate_is_as_good_as_its_theory)
{
    enum { SEEDS = 12, SIZES = 13 };
    static const uint64_t sizes[SIZES] = {1,     10,    100,    1000,   3000,   4000,   10000,
                                          20000, 40000, 100000, 250000, 500000, 1000000};
    static struct reference f;
    static uint8_t state[STO_HLL_STATE_MAX];
    double squares[SIZES] = {0};
    const double theory = 1.04 / sqrt(REGISTERS);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        reference_init(&f);
        struct random r = {seed << 40};
        size_t look = 0;
        for (uint64_t n = 1; n <= sizes[SIZES - 1]; n++) {
            uint64_t input = random_next(&r);
            reference_add(&f, base_slice(&input, sizeof(input)));
            if (n != sizes[look])
                continue;
            uint64_t estimate = 0;
            size_t len = reference_write(&f, state);
            ck_assert_int_eq(sto_aggregate_estimate(base_slice(state, len), &estimate), ERR_OK);
            double error = ((double)estimate - (double)n) / (double)n;
            ck_assert_msg(fabs(error) < 5 * theory, "%f at %llu", error, (unsigned long long)n);
            if (n <= 3000)
                ck_assert_msg(fabs(error) < 0.001, "%f at %llu", error, (unsigned long long)n);
            squares[look++] += error * error;
        }
        base_free(f.ranks);
    }
    for (size_t i = 0; i < SIZES; i++)
        ck_assert_msg(sqrt(squares[i] / SEEDS) < 1.6 * theory, "%f at %llu",
                      sqrt(squares[i] / SEEDS), (unsigned long long)sizes[i]);
}
END_TEST

START_TEST(estimates_of_extreme_states)
{
    static uint8_t dense[STO_HLL_STATE_MAX] = {2};
    uint64_t n = 1;
    ck_assert_int_eq(sto_aggregate_estimate(base_slice("\x01", 1), &n), ERR_OK);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(sto_aggregate_estimate(base_slice(dense, sizeof(dense)), &n), ERR_OK);
    ck_assert_uint_eq(n, 0);
    for (size_t i = 0; i < REGISTERS; i++)
        for (size_t bit = 0; bit < 6; bit++)
            if (51 >> (5 - bit) & 1)
                dense[1 + (i * 6 + bit) / 8] |= (uint8_t)(0x80 >> (i * 6 + bit) % 8);
    ck_assert_int_eq(sto_aggregate_estimate(base_slice(dense, sizeof(dense)), &n), ERR_OK);
    ck_assert_uint_eq(n, UINT64_MAX);
    dense[1] = 0xcb; /* one register is not quite full */
    ck_assert_int_eq(sto_aggregate_estimate(base_slice(dense, sizeof(dense)), &n), ERR_OK);
    ck_assert_uint_gt(n, (uint64_t)1 << 50);
    ck_assert_int_eq(sto_aggregate_estimate(SLICE_EMPTY, &n), ERR_INVALID);
}
END_TEST

START_TEST(only_states_pass_as_states)
{
    static uint8_t dense[STO_HLL_STATE_MAX + 1] = {2};
    struct {
        struct slice bytes;
        bool is_state;
    } cases[] = {
        {SLICE_EMPTY, false},
        {base_slice("\x00", 1), false},
        {base_slice("\x03", 1), false},
        {base_slice("\x01", 1), true},
        {base_slice("\x01\x00\x00\x00\x01", 5), true},
        {base_slice("\x01\x00\x00\x00\x00", 5), false}, /* rank 0 */
        {base_slice("\x01\x00\x00\x00\x28", 5), true},  /* rank 40 */
        {base_slice("\x01\x00\x00\x00\x29", 5), false},
        {base_slice("\x01\x7f\xff\xff\xc1", 5), true}, /* the last index */
        {base_slice("\x01\x80\x00\x00\x01", 5), false},
        {base_slice("\x01\x00\x00\x00\x01\x00", 6), false},
        {base_slice("\x01\x00\x00\x00\x01\x00\x00\x00\x41", 9), true},
        {base_slice("\x01\x00\x00\x00\x41\x00\x00\x00\x01", 9), false}, /* falling */
        {base_slice("\x01\x00\x00\x00\x01\x00\x00\x00\x02", 9), false}, /* an index twice */
        {base_slice(dense, STO_HLL_STATE_MAX), true},
        {base_slice(dense, STO_HLL_STATE_MAX - 1), false},
        {base_slice(dense, STO_HLL_STATE_MAX + 1), false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_msg(sto_aggregate_is_state(STO_AGGREGATE_HLL, cases[i].bytes) ==
                          cases[i].is_state,
                      "case %zu", i);
    for (uint8_t rank = 0; rank < 64; rank++) { /* the third of four registers */
        dense[1 + 1] = (uint8_t)(rank >> 2);
        dense[1 + 2] = (uint8_t)(rank << 6);
        ck_assert_int_eq(
            sto_aggregate_is_state(STO_AGGREGATE_HLL, base_slice(dense, STO_HLL_STATE_MAX)),
            rank <= 51);
    }
}
END_TEST

/* One word more than fits makes a state dense: not allowed as a sparse one. */
START_TEST(a_sparse_state_has_a_largest_size)
{
    static uint8_t sparse[1 + 4 * (STO_HLL_SPARSE_MAX + 1)] = {1};
    for (uint32_t i = 0; i <= STO_HLL_SPARSE_MAX; i++) {
        uint32_t word = i << 6 | 1;
        for (int shift = 24; shift >= 0; shift -= 8)
            sparse[1 + 4 * i + 3 - (uint32_t)shift / 8] = (uint8_t)(word >> shift);
    }
    size_t most = 1 + 4 * STO_HLL_SPARSE_MAX;
    ck_assert(sto_hll_is_state(base_slice(sparse, most)));
    ck_assert(!sto_hll_is_state(base_slice(sparse, sizeof(sparse))));
    struct state s;
    state_init(&s);
    ck_assert_int_eq(merge(STO_AGGREGATE_HLL, &s, base_slice(sparse, most)), ERR_OK);
    ck_assert(base_slice_equal(base_buf_slice(&s.bytes), base_slice(sparse, most)));
    ck_assert_int_eq(merge(STO_AGGREGATE_HLL, &s, base_slice("\x01\x00\x00\x00\x05", 5)), ERR_OK);
    ck_assert_uint_eq(s.bytes.ptr[0], 1);
    ck_assert_int_eq(merge(STO_AGGREGATE_HLL, &s, base_slice("\x01\x7f\xff\xff\xc1", 5)), ERR_OK);
    ck_assert_uint_eq(s.bytes.ptr[0], 2);
    ck_assert_int_eq(merge(STO_AGGREGATE_HLL, &s, base_slice("\x01", 2)), ERR_INVALID);
    base_buf_fini(&s.bytes);
}
END_TEST

Suite *suite_storage_aggregate(void)
{
    Suite *s = suite_create("storage_aggregate");
    TCase *t = tcase_create("integers");
    tcase_add_test(t, integers_are_combined);
    tcase_add_test(t, a_sum_does_not_wrap);
    tcase_add_test(t, bytes_of_the_wrong_form_are_refused);
    tcase_add_test(t, kinds_have_names);
    suite_add_tcase(s, t);
    t = tcase_create("algebra");
    tcase_set_timeout(t, 30);
    tcase_add_loop_test(t, order_and_splits_do_not_matter, 0, 10 * KINDS);
    suite_add_tcase(s, t);
    t = tcase_create("distinct");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, states_are_what_the_documented_form_says);
    tcase_add_test(t, the_estimate_is_as_good_as_its_theory);
    tcase_add_test(t, estimates_of_extreme_states);
    tcase_add_test(t, only_states_pass_as_states);
    tcase_add_test(t, a_sparse_state_has_a_largest_size);
    suite_add_tcase(s, t);
    return s;
}

/*
 * storage/hll.c - a sorted list of hashes that becomes an array of registers.
 *
 * 1. Every change is a merge: an input is a sparse state of one word.
 * 2. A state is sparse exactly when its inputs have at most STO_HLL_SPARSE_MAX indexes. That number
 *    depends on the set of inputs only, so the form does too.
 * 3. Of words with the same index the one of the highest rank stays. A word is a lower bound of its
 *    dense register, so converting early or late results in the same registers.
 * 4. The estimate of a dense state is Otmar Ertl's improved one ("New cardinality estimation
 *    algorithms for HyperLogLog sketches", 2017, algorithm 6), which needs neither tables of bias
 *    nor a switch between formulas. With 2^25 indexes and at most 3072 words, linear counting adds
 *    less than 0.15 to the number of words: that number is the estimate of a sparse state.
 */
#include "storage/hll.h"

#include <endian.h>
#include <math.h>

#include "base/siphash.h"

#include "base/banned.h"

#define FORMAT_SPARSE 0x01
#define FORMAT_DENSE  0x02

#define REGISTERS     (1u << STO_HLL_PRECISION)
#define RANK_MAX      (64 - STO_HLL_PRECISION + 1) /* of a register */
#define WORD_BYTES    4
#define INDEX_BITS    25
#define EXTRA_BITS    (INDEX_BITS - STO_HLL_PRECISION) /* of an index, after a register's number */
#define WORD_RANK_MAX (64 - INDEX_BITS + 1)
#define RANK_BITS     6
#define RANK_MASK     ((1u << RANK_BITS) - 1)

/* --- words ------------------------------------------------------------------------------------ */

static uint32_t word_load(const uint8_t *p)
{
    uint32_t w;
    memcpy(&w, p, sizeof(w));
    return be32toh(w);
}

static void word_append(struct buf *out, uint32_t word)
{
    uint32_t w = htobe32(word);
    memcpy(base_buf_end(out), &w, sizeof(w)); /* there is room */
    out->len += sizeof(w);
}

static uint32_t word_of_input(struct slice input)
{
    uint64_t hash = base_siphash13((struct base_siphash_key){0, 0}, input);
    uint64_t behind = hash << INDEX_BITS;
    uint32_t rank = behind == 0 ? WORD_RANK_MAX : (uint32_t)__builtin_clzll(behind) + 1;
    return (uint32_t)(hash >> (64 - INDEX_BITS)) << RANK_BITS | rank;
}

/* Returns the rank that a word contributes to its register. */
static uint32_t word_register_rank(uint32_t word)
{
    uint32_t extra = word >> RANK_BITS & ((1u << EXTRA_BITS) - 1);
    if (extra == 0)
        return EXTRA_BITS + (word & RANK_MASK);
    return (uint32_t)__builtin_clz(extra) - (32 - EXTRA_BITS) + 1;
}

/* --- registers: four of them in three bytes --------------------------------------------------- */

static uint32_t four_load(const uint8_t *p)
{
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static void four_store(uint8_t *p, uint32_t four)
{
    p[0] = (uint8_t)(four >> 16);
    p[1] = (uint8_t)(four >> 8);
    p[2] = (uint8_t)four;
}

static uint32_t four_max(uint32_t a, uint32_t b)
{
    uint32_t larger = 0;
    for (unsigned shift = 0; shift < 24; shift += RANK_BITS) {
        uint32_t x = a >> shift & RANK_MASK, y = b >> shift & RANK_MASK;
        larger |= (x > y ? x : y) << shift;
    }
    return larger;
}

static void register_raise(uint8_t *registers, uint32_t word)
{
    uint32_t number = word >> (RANK_BITS + EXTRA_BITS);
    uint8_t *at = registers + (size_t)(number / 4) * 3;
    uint32_t four = four_load(at);
    four_store(at, four_max(four, word_register_rank(word) << (18 - number % 4 * RANK_BITS)));
}

/* --- forms ------------------------------------------------------------------------------------ */

static bool sparse_is_sound(struct slice words)
{
    if (words.len % WORD_BYTES != 0 || words.len / WORD_BYTES > STO_HLL_SPARSE_MAX)
        return false;
    uint32_t above = 0; /* the smallest index that may follow */
    for (size_t at = 0; at < words.len; at += WORD_BYTES) {
        uint32_t word = word_load(words.ptr + at);
        uint32_t index = word >> RANK_BITS, rank = word & RANK_MASK;
        if (index < above || index >> INDEX_BITS != 0 || rank == 0 || rank > WORD_RANK_MAX)
            return false;
        above = index + 1;
    }
    return true;
}

static bool dense_is_sound(struct slice registers)
{
    if (registers.len != STO_HLL_DENSE_BYTES)
        return false;
    /* A rank above 51 (110011) has its two highest bits set and one of the next two. */
    uint32_t wrong = 0;
    for (size_t at = 0; at < registers.len; at += 3) {
        uint32_t four = four_load(registers.ptr + at);
        wrong |= four & four << 1 & (four << 2 | four << 3) & 0x820820u;
    }
    return wrong == 0;
}

static bool is_dense(struct slice state)
{
    return state.len > 0 && state.ptr[0] == FORMAT_DENSE;
}

static struct slice body(struct slice state)
{
    return state.len == 0 ? state : base_slice_skip(state, 1);
}

bool sto_hll_is_state(struct slice bytes)
{
    if (bytes.len == 0)
        return false;
    if (bytes.ptr[0] == FORMAT_SPARSE)
        return sparse_is_sound(body(bytes));
    return bytes.ptr[0] == FORMAT_DENSE && dense_is_sound(body(bytes));
}

/* --- merging ---------------------------------------------------------------------------------- */

static void registers_raise(uint8_t *registers, struct slice state)
{
    struct slice from = body(state);
    if (is_dense(state)) {
        for (size_t at = 0; at < STO_HLL_DENSE_BYTES; at += 3)
            four_store(registers + at,
                       four_max(four_load(registers + at), four_load(from.ptr + at)));
        return;
    }
    for (size_t at = 0; at < from.len; at += WORD_BYTES)
        register_raise(registers, word_load(from.ptr + at));
}

static enum err merge_dense(struct slice a, struct slice b, struct buf *out)
{
    enum err rc = base_buf_reserve(out, STO_HLL_STATE_MAX);
    if (rc != ERR_OK)
        return rc;
    uint8_t *state = base_buf_end(out);
    if (is_dense(b)) { /* start with a copy of one that is dense already */
        struct slice swap = a;
        a = b;
        b = swap;
    }
    if (is_dense(a)) {
        memcpy(state, a.ptr, STO_HLL_STATE_MAX);
    } else {
        memset(state, 0, STO_HLL_STATE_MAX);
        state[0] = FORMAT_DENSE;
        registers_raise(state + 1, a);
    }
    registers_raise(state + 1, b);
    out->len += STO_HLL_STATE_MAX;
    return ERR_OK;
}

/* Merges the words of both in order, one for each index, and appends them to out unless it is NULL.
 * Returns their number. */
static size_t merge_words(struct slice a, struct slice b, struct buf *out)
{
    size_t i = 0, k = 0, count = 0;
    for (; i < a.len || k < b.len; count++) {
        uint32_t x = i < a.len ? word_load(a.ptr + i) : UINT32_MAX;
        uint32_t y = k < b.len ? word_load(b.ptr + k) : UINT32_MAX;
        uint32_t x_index = x >> RANK_BITS, y_index = y >> RANK_BITS;
        if (x_index <= y_index)
            i += WORD_BYTES;
        if (y_index <= x_index)
            k += WORD_BYTES;
        if (out != NULL)
            word_append(out, x_index == y_index ? (x > y ? x : y) : x < y ? x : y);
    }
    return count;
}

enum err sto_hll_merge(struct slice state, struct slice other, struct buf *out)
{
    struct slice a = body(state), b = body(other);
    if (is_dense(state) || is_dense(other))
        return merge_dense(state, other, out);
    size_t count = merge_words(a, b, NULL);
    if (count > STO_HLL_SPARSE_MAX)
        return merge_dense(state, other, out);
    enum err rc = base_buf_reserve(out, 1 + count * WORD_BYTES);
    if (rc != ERR_OK)
        return rc;
    *base_buf_end(out) = FORMAT_SPARSE;
    out->len++;
    (void)merge_words(a, b, out); /* as many as counted above */
    return ERR_OK;
}

enum err sto_hll_add(struct slice state, struct slice input, struct buf *out)
{
    uint32_t word = htobe32(word_of_input(input));
    uint8_t one[1 + WORD_BYTES] = {FORMAT_SPARSE};
    memcpy(one + 1, &word, sizeof(word));
    return sto_hll_merge(state, base_slice(one, sizeof(one)), out);
}

/* --- estimating: names as in the paper -------------------------------------------------------- */

static double sigma(double x)
{
    double y = 1, z = x, before;
    if (x >= 1)
        return INFINITY;
    do {
        x *= x;
        before = z;
        z += x * y;
        y += y;
    } while (z > before);
    return z;
}

static double tau(double x)
{
    if (x <= 0 || x >= 1)
        return 0;
    double y = 1, z = 1 - x, before;
    do {
        x = sqrt(x);
        before = z;
        y *= 0.5;
        z -= (1 - x) * (1 - x) * y;
    } while (z < before);
    return z / 3;
}

static uint64_t estimate_dense(struct slice registers)
{
    uint32_t having[RANK_MAX + 1] = {0}; /* registers of each rank */
    for (size_t at = 0; at < registers.len; at += 3) {
        uint32_t four = four_load(registers.ptr + at);
        for (unsigned shift = 0; shift < 24; shift += RANK_BITS)
            having[four >> shift & RANK_MASK]++;
    }
    const double m = REGISTERS;
    double z = m * tau(1 - having[RANK_MAX] / m);
    for (int k = RANK_MAX - 1; k >= 1; k--)
        z = 0.5 * (z + having[k]);
    z += m * sigma(having[0] / m);
    double estimate = m * m / (2 * M_LN2) / z;
    return estimate < 0x1p63 ? (uint64_t)(estimate + 0.5) : UINT64_MAX; /* all registers full */
}

uint64_t sto_hll_estimate(struct slice state)
{
    struct slice from = body(state);
    return is_dense(state) ? estimate_dense(from) : from.len / WORD_BYTES;
}

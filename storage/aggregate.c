/*
 * storage/aggregate.c - four kinds of state behind two functions.
 */
#include "storage/aggregate.h"

#include <endian.h>
#include <inttypes.h>

#include "storage/hll.h"

#include "base/banned.h"

_Static_assert(STO_AGGREGATE_STATE_MAX >= STO_HLL_STATE_MAX, "every state fits");

const char *sto_aggregate_name(enum sto_aggregate a)
{
    switch (a) {
    case STO_AGGREGATE_SUM:
        return "sum";
    case STO_AGGREGATE_MIN:
        return "min";
    case STO_AGGREGATE_MAX:
        return "max";
    case STO_AGGREGATE_HLL:
        return "hll";
    case STO_AGGREGATE_NONE:
    case STO_AGGREGATE_COUNT:
        break;
    }
    return NULL;
}

/* --- integers --------------------------------------------------------------------------------- */

static int64_t integer_load(struct slice bytes)
{
    uint64_t v;
    memcpy(&v, bytes.ptr, sizeof(v));
    return (int64_t)be64toh(v);
}

static enum err integer_append(struct buf *out, int64_t value)
{
    uint64_t v = htobe64((uint64_t)value);
    return base_buf_append(out, base_slice(&v, sizeof(v)));
}

static enum err integers_combine(enum sto_aggregate a, int64_t x, int64_t y, int64_t *out,
                                 struct errbuf *eb)
{
    if (a == STO_AGGREGATE_MIN)
        *out = x < y ? x : y;
    else if (a == STO_AGGREGATE_MAX)
        *out = x > y ? x : y;
    else if (__builtin_add_overflow(x, y, out))
        return base_fail(eb, ERR_INVALID, "the sum leaves the range of a 64-bit integer");
    return ERR_OK;
}

/* --- all kinds -------------------------------------------------------------------------------- */

bool sto_aggregate_is_state(enum sto_aggregate a, struct slice bytes)
{
    if (a == STO_AGGREGATE_HLL)
        return sto_hll_is_state(bytes);
    return sto_aggregate_name(a) != NULL && bytes.len == STO_AGGREGATE_INTEGER_BYTES;
}

static enum err old_state_check(enum sto_aggregate a, struct slice state, struct errbuf *eb)
{
    if (sto_aggregate_name(a) == NULL)
        return base_fail(eb, ERR_INVALID, "the column family does not hold aggregates");
    if (state.ptr == NULL || sto_aggregate_is_state(a, state))
        return ERR_OK;
    return base_fail(eb, ERR_CORRUPT, "the stored %s is damaged", sto_aggregate_name(a));
}

/* Combines the state with other, an input or a state: integers have the same form for both. */
static enum err integer_change(enum sto_aggregate a, struct slice state, struct slice other,
                               struct buf *out, struct errbuf *eb)
{
    int64_t result = integer_load(other);
    enum err rc = ERR_OK;
    if (state.ptr != NULL)
        rc = integers_combine(a, integer_load(state), result, &result, eb);
    return rc == ERR_OK ? integer_append(out, result) : rc;
}

enum err sto_aggregate_input_check(enum sto_aggregate a, struct slice input, struct errbuf *eb)
{
    if (a != STO_AGGREGATE_HLL && input.len != STO_AGGREGATE_INTEGER_BYTES)
        return base_fail(eb, ERR_INVALID,
                         "what is added to a %s is an integer of 8 bytes, not %zu bytes",
                         sto_aggregate_name(a), input.len);
    return ERR_OK;
}

enum err sto_aggregate_state_check(enum sto_aggregate a, struct slice state, struct errbuf *eb)
{
    if (!sto_aggregate_is_state(a, state))
        return base_fail(eb, ERR_INVALID, "the bytes to merge are not a state of a %s",
                         sto_aggregate_name(a));
    return ERR_OK;
}

enum err sto_aggregate_add(enum sto_aggregate a, struct slice state, struct slice input,
                           struct buf *out, struct errbuf *eb)
{
    enum err rc = old_state_check(a, state, eb);
    if (rc == ERR_OK)
        rc = sto_aggregate_input_check(a, input, eb);
    if (rc != ERR_OK)
        return rc;
    return a == STO_AGGREGATE_HLL ? sto_hll_add(state, input, out)
                                  : integer_change(a, state, input, out, eb);
}

enum err sto_aggregate_merge(enum sto_aggregate a, struct slice state, struct slice other,
                             struct buf *out, struct errbuf *eb)
{
    enum err rc = old_state_check(a, state, eb);
    if (rc == ERR_OK)
        rc = sto_aggregate_state_check(a, other, eb);
    if (rc != ERR_OK)
        return rc;
    return a == STO_AGGREGATE_HLL ? sto_hll_merge(state, other, out)
                                  : integer_change(a, state, other, out, eb);
}

enum err sto_aggregate_estimate(struct slice hll_state, uint64_t *out)
{
    if (!sto_hll_is_state(hll_state))
        return ERR_INVALID;
    *out = sto_hll_estimate(hll_state);
    return ERR_OK;
}

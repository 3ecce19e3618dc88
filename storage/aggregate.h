/*
 * storage/aggregate.h - aggregate cells: sum, min, max, number of distinct inputs.
 *
 * Does:     computes the state of an aggregate cell from its old state and one more input, or from
 *           two states.
 * Owns:     nothing; states are appended to the caller's buf.
 * May use:  base/, storage/hll.h.
 * Knows no: families, rows.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID (input or state of the wrong form, sum out of range), ERR_CORRUPT (the old
 *           state), ERR_NO_MEMORY.
 * Limits:   a state has at most STO_AGGREGATE_STATE_MAX bytes.
 * Promises: 1. sum, min, max: state and integer input are 8 bytes, big-endian, two's complement.
 *           2. merge is commutative and associative, and merge(add(s, x), add(t, y)) =
 *              add(add(merge(s, t), x), y), byte for byte.
 *           3. Adding the same input to a distinct count again changes nothing.
 */
#ifndef STORAGE_AGGREGATE_H
#define STORAGE_AGGREGATE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define STO_AGGREGATE_INTEGER_BYTES 8
#define STO_AGGREGATE_STATE_MAX     12289 /* a dense distinct count (storage/hll.h) */

enum sto_aggregate {
    STO_AGGREGATE_NONE, /* a family of plain cells */
    STO_AGGREGATE_SUM,
    STO_AGGREGATE_MIN,
    STO_AGGREGATE_MAX,
    STO_AGGREGATE_HLL, /* HyperLogLog++ */
    STO_AGGREGATE_COUNT
};

/* Returns "sum", "min", "max", "hll"; NULL for NONE. */
const char *sto_aggregate_name(enum sto_aggregate a);

/* Appends the new state to out. state.ptr NULL: the cell does not exist yet. input: 8 bytes
 * big-endian for sum, min, max; any bytes for HLL. */
enum err sto_aggregate_add(enum sto_aggregate a, struct slice state, struct slice input,
                           struct buf *out, struct errbuf *eb) MUST_CHECK;
enum err sto_aggregate_merge(enum sto_aggregate a, struct slice state, struct slice other,
                             struct buf *out, struct errbuf *eb) MUST_CHECK;
/* Checks the last argument of add and merge, for a != NONE. */
enum err sto_aggregate_input_check(enum sto_aggregate a, struct slice input,
                                   struct errbuf *eb) MUST_CHECK;
enum err sto_aggregate_state_check(enum sto_aggregate a, struct slice state,
                                   struct errbuf *eb) MUST_CHECK;
/* Returns whether bytes are a state of that kind. */
bool sto_aggregate_is_state(enum sto_aggregate a, struct slice bytes);
/* Estimates the number of distinct inputs, rounded. */
enum err sto_aggregate_estimate(struct slice hll_state, uint64_t *out) MUST_CHECK;

#endif

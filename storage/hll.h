/*
 * storage/hll.h - the number of distinct inputs, in a state of bounded size.
 *
 * Does:     HyperLogLog++: adds an input to a state, merges two states, estimates.
 * Owns:     nothing; states are appended to the caller's buf.
 * May use:  base/.
 * Knows no: cells, families.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_NO_MEMORY and ERR_TOO_BIG of the buf; states must have passed sto_hll_is_state.
 * Limits:   STO_HLL_STATE_MAX.
 * Promises: 1. A state is a function of the set of its inputs, whatever their order and their
 *              division among merged states. 2. States are the same on every machine.
 *           3. The standard error of the estimate is 1.04 / sqrt(2^14), 0.81 %; up to
 *              STO_HLL_SPARSE_MAX inputs the estimate is nearly exact.
 *
 *   sparse  01, then words of 4 bytes, big-endian, in ascending order of their indexes:
 *           index (25 bits) << 6 | rank
 *   dense   02, then 2^14 registers of 6 bits, the first in the highest bits of the first byte
 *
 * index: the first 25 bits of the input's hash; rank: 1 + the number of leading zeros in the 39
 * bits after the index. A dense register uses the first 14 bits and the 50 bits after them in the
 * same way. The hash is SipHash-1-3 with the key 0: public, because states must be comparable
 * between servers.
 */
#ifndef STORAGE_HLL_H
#define STORAGE_HLL_H

#include "base/buf.h"

#define STO_HLL_PRECISION   14
#define STO_HLL_SPARSE_MAX  3072 /* words: as large as the dense form, which is used above */
#define STO_HLL_DENSE_BYTES (((size_t)1 << STO_HLL_PRECISION) / 4 * 3)
#define STO_HLL_STATE_MAX   (1 + STO_HLL_DENSE_BYTES)

bool sto_hll_is_state(struct slice bytes);
/* state.ptr NULL: no input yet. out must not hold the bytes of state. */
enum err sto_hll_add(struct slice state, struct slice input, struct buf *out) MUST_CHECK;
enum err sto_hll_merge(struct slice state, struct slice other, struct buf *out) MUST_CHECK;
uint64_t sto_hll_estimate(struct slice state);

#endif

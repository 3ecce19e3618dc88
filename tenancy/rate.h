/*
 * tenancy/rate.h - GCRA: a rate limit in one 64-bit word.
 *
 * Does:     decide whether an operation of some cost may pass now, and when it may otherwise.
 * Owns:     nothing; embedded.
 * May use:  base/.
 * Knows no: what is counted.
 * Threads:  take from any thread at once, lock-free; set from one.
 * Blocks:   no.
 * Fails by: says no.
 * Limits:   rates up to 1e9 per second; they act as 1e9 / n for a whole n, rounded down, which
 *           shows above ten million a second only.
 * Promises: 1. Over any stretch of t seconds at most rate * t + burst units pass, plus the cost of
 *              one operation (a large operation passes on credit and is paid off afterwards).
 *           2. Time is monotonic: a jump of the wall clock neither opens nor freezes a limit.
 * Source:   the generic cell rate algorithm, ITU-T I.371; burst is one second's worth.
 */
#ifndef TENANCY_RATE_H
#define TENANCY_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ten_rate {
    _Atomic uint64_t per_second; /* 0: no limit */
    _Atomic uint64_t arrival_ns; /* theoretical arrival time */
};

/* Also forgets what is owed. */
void ten_rate_set(struct ten_rate *r, uint64_t per_second);
/* True: passed and charged. False: not charged; *out_wait_ns is when it would pass. */
bool ten_rate_take(struct ten_rate *r, uint64_t cost, uint64_t now_ns, uint64_t *out_wait_ns);
/* Charge without asking, for costs known afterwards; debt is at most one second's worth. */
void ten_rate_charge(struct ten_rate *r, uint64_t cost, uint64_t now_ns);
/* Units that would pass at once now; UINT64_MAX without a limit. */
uint64_t ten_rate_left(const struct ten_rate *r, uint64_t now_ns);

#endif

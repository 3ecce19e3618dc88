/*
 * tenancy/rate.h - GCRA: a rate limit in one 64-bit word; the four rates of a tenant or a key.
 *
 * Does:     decides whether an operation of some cost is admitted now, and otherwise when.
 * Owns:     nothing; embedded. A key's rates are shared by the key and the calls made with it.
 * May use:  base/.
 * Knows no: what is counted, tenants.
 * Threads:  take, give_back, charge and reading from any thread at once, lock-free; set from one.
 * Blocks:   no.
 * Fails by: refuses.
 * Limits:   one charge costs at least a nanosecond: at most a billion charges per second, of any
 *           size.
 * Promises: 1. Over any period of t seconds at most rate * t + burst units are admitted, plus the
 *              cost of one operation (a large operation is admitted on credit and paid off
 *              afterwards).
 *           2. Time is monotonic: a jump of the wall clock neither opens nor freezes a limit.
 *           3. Charges by ten_rate_charge leave at most one burst of debt.
 * Source:   the generic cell rate algorithm, ITU-T I.371.
 */
#ifndef TENANCY_RATE_H
#define TENANCY_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ten_rate {
    _Atomic uint64_t per_second; /* 0: no limit */
    _Atomic uint64_t burst;      /* units that may come at once; at least one */
    _Atomic uint64_t arrival_ns; /* theoretical arrival time */
};

/* Sets the rate; the burst is burst_ms of the rate. Clears the debt if anything changes, and
 * otherwise does nothing. */
void ten_rate_set(struct ten_rate *r, uint64_t per_second, uint64_t burst_ms);
/* True: admitted and charged. False: not charged; *out_wait_ns is the time until it would be
 * admitted. */
bool ten_rate_take(struct ten_rate *r, uint64_t cost, uint64_t now_ns, uint64_t *out_wait_ns);
/* Undoes one take of that cost. */
void ten_rate_give_back(struct ten_rate *r, uint64_t cost);
/* Charges costs known only afterwards, without a check. Returns the number of units beyond the
 * allowed debt, which were not charged. */
uint64_t ten_rate_charge(struct ten_rate *r, uint64_t cost, uint64_t now_ns);
/* Charges in full, without a check. Returns how long the caller must wait until all charges so far
 * are within the burst; 0: not at all. */
uint64_t ten_rate_owe(struct ten_rate *r, uint64_t cost, uint64_t now_ns);
/* Convert units to the time they cost, and time to units; without a limit: 0 ns, and UINT64_MAX
 * units. */
uint64_t ten_rate_price_ns(const struct ten_rate *r, uint64_t units);
uint64_t ten_rate_units(const struct ten_rate *r, uint64_t ns);
/* Returns the time until a unit is admitted; 0: now. */
uint64_t ten_rate_wait_ns(const struct ten_rate *r, uint64_t now_ns);
/* Returns the time until nothing is owed. */
uint64_t ten_rate_full_ns(const struct ten_rate *r, uint64_t now_ns);
/* Returns the units that would be admitted at once now; UINT64_MAX without a limit. */
uint64_t ten_rate_left(const struct ten_rate *r, uint64_t now_ns);

static inline bool ten_rate_is_limited(const struct ten_rate *r)
{
    return atomic_load_explicit(&r->per_second, memory_order_relaxed) != 0;
}

enum ten_rate_kind {
    TEN_RATE_READ_OPS,
    TEN_RATE_WRITE_OPS,
    TEN_RATE_READ_BYTES,
    TEN_RATE_WRITE_BYTES,
    TEN_RATE_COUNT
};

struct ten_rates {
    union {
        struct {
            struct ten_rate read_ops;
            struct ten_rate write_ops;
            struct ten_rate read_bytes;
            struct ten_rate write_bytes;
        };
        struct ten_rate each[TEN_RATE_COUNT];
    };
};

/* Settings of the four rates; UINT64_MAX: no limit, as in a quota. */
struct ten_rate_limits {
    uint64_t per_second[TEN_RATE_COUNT];
    uint64_t burst_ms;
};

void ten_rates_set(struct ten_rates *r, const struct ten_rate_limits *limits);

/* The rates of one key. They outlive the key while a call made with it is in flight. */
struct ten_key_rates {
    _Atomic uint32_t refs;
    struct ten_rates rates;
};

/* One ref, the caller's. */
struct ten_key_rates *ten_key_rates_new(const struct ten_rate_limits *limits);
/* Accepts NULL. */
struct ten_key_rates *ten_key_rates_ref(struct ten_key_rates *k);
void ten_key_rates_unref(struct ten_key_rates *k);

#endif

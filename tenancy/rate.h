/*
 * tenancy/rate.h - GCRA: a rate limit in one 64-bit word; the four rates of a tenant or a key.
 *
 * Does:     decide whether an operation of some cost may pass now, and when it may otherwise.
 * Owns:     nothing; embedded. A key's rates are shared by the key and the calls made with it.
 * May use:  base/.
 * Knows no: what is counted, tenants.
 * Threads:  take, give_back, charge and reading from any thread at once, lock-free; set from one.
 * Blocks:   no.
 * Fails by: says no.
 * Limits:   one charge costs a nanosecond at least: a billion a second, of any size.
 * Promises: 1. Over any stretch of t seconds at most rate * t + burst units pass, plus the cost of
 *              one operation (a large operation passes on credit and is paid off afterwards).
 *           2. Time is monotonic: a jump of the wall clock neither opens nor freezes a limit.
 *           3. What ten_rate_charge adds leaves no more debt than one burst.
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

/* The burst is what burst_ms of the rate give. Forgets what is owed when anything changes, and
 * nothing otherwise. */
void ten_rate_set(struct ten_rate *r, uint64_t per_second, uint64_t burst_ms);
/* True: passed and charged. False: not charged; *out_wait_ns is when it would pass. */
bool ten_rate_take(struct ten_rate *r, uint64_t cost, uint64_t now_ns, uint64_t *out_wait_ns);
/* Undo one take of that cost. */
void ten_rate_give_back(struct ten_rate *r, uint64_t cost);
/* Charge without asking, for costs known afterwards. Returns how many units went beyond the debt
 * there may be, and were not charged. */
uint64_t ten_rate_charge(struct ten_rate *r, uint64_t cost, uint64_t now_ns);
/* Charge in full, without asking. Returns how long whoever caused it has to wait until all that was
 * charged so far is within the burst; 0: not at all. */
uint64_t ten_rate_owe(struct ten_rate *r, uint64_t cost, uint64_t now_ns);
/* What so many units cost, in time, and the other way round; 0, and all, without a limit. */
uint64_t ten_rate_price_ns(const struct ten_rate *r, uint64_t units);
uint64_t ten_rate_units(const struct ten_rate *r, uint64_t ns);
/* Until something passes; 0: now. */
uint64_t ten_rate_wait_ns(const struct ten_rate *r, uint64_t now_ns);
/* Until nothing is owed. */
uint64_t ten_rate_full_ns(const struct ten_rate *r, uint64_t now_ns);
/* Units that would pass at once now; UINT64_MAX without a limit. */
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

/* What they are set to; UINT64_MAX: no limit, as in a quota. */
struct ten_rate_limits {
    uint64_t per_second[TEN_RATE_COUNT];
    uint64_t burst_ms;
};

void ten_rates_set(struct ten_rates *r, const struct ten_rate_limits *limits);

/* The rates of one key. They outlive it while a call made with it is under way. */
struct ten_key_rates {
    _Atomic uint32_t refs;
    struct ten_rates rates;
};

/* One ref, the caller's. */
struct ten_key_rates *ten_key_rates_new(const struct ten_rate_limits *limits);
/* NULL is fine. */
struct ten_key_rates *ten_key_rates_ref(struct ten_key_rates *k);
void ten_key_rates_unref(struct ten_key_rates *k);

#endif

/*
 * tenancy/meter.h - counters of one tenant's activity.
 *
 * Does:     counts operations, bytes, refusals, waiting and latency of a tenant since the process
 *           started; every reader (bills, metrics, `bigtent top`) takes differences.
 * Owns:     a struct ten_meter for each tenant that did something; freed with the tenant.
 * May use:  base/.
 * Knows no: HTTP, its readers.
 * Threads:  any, lock-free.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   one allocation for each active tenant; an idle one has none.
 * Promises: 1. A counter never decreases while the process runs.
 */
#ifndef TENANCY_METER_H
#define TENANCY_METER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ten_metered_now;
struct ten_tenant;

/* Policies a request can be throttled by. Stored in bills by name; append only. */
enum ten_policy {
    TEN_POLICY_READ_OPS,
    TEN_POLICY_WRITE_OPS,
    TEN_POLICY_READ_BYTES,
    TEN_POLICY_WRITE_BYTES,
    TEN_POLICY_CONCURRENCY,
    TEN_POLICY_KEY,     /* a rate of the key, not of its tenant */
    TEN_POLICY_SERVICE, /* the server was busy: its share was used up */
    TEN_POLICY_QUOTA,   /* stored bytes or rows */
    TEN_POLICY_COUNT
};
const char *ten_policy_name(enum ten_policy p); /* "read_ops", ... */

/* Append only: bills store them by name. */
enum ten_metered {
    TEN_METER_READ_OPS,    /* requests that read; a scan is one */
    TEN_METER_WRITE_OPS,   /* rows written: a bulk of ten is ten */
    TEN_METER_OTHER_OPS,   /* tables, views, usage */
    TEN_METER_ERRORS,      /* responses, and rows of bulk writes, that blame the server */
    TEN_METER_REFUSALS,    /* the same that blame the caller, throttling included */
    TEN_METER_BYTES_IN,    /* of request bodies */
    TEN_METER_BYTES_OUT,   /* of response bodies */
    TEN_METER_READ_ROWS,   /* visited, whether returned or not */
    TEN_METER_READ_BYTES,  /* of cells visited */
    TEN_METER_WRITE_BYTES, /* of keys and values sent for storage */
    TEN_METER_LATENCY_NS,  /* of data requests, from head to last byte handed over; sum */
    TEN_METER_COUNT
};
const char *ten_metered_name(enum ten_metered m); /* "read_ops", ... */

/* Bucket n counts requests of less than 2^n * 32 us; the last one all others. */
#define TEN_METER_LATENCIES 20

struct ten_meter {
    _Atomic uint64_t each[TEN_METER_COUNT];
    _Atomic uint64_t throttled[TEN_POLICY_COUNT];    /* number of refusals and waits */
    _Atomic uint64_t throttled_ns[TEN_POLICY_COUNT]; /* waiting time they were given */
    _Atomic uint64_t latency[TEN_METER_LATENCIES];
    uint64_t marks[2];               /* tenancy/activity.c */
    struct ten_metered_now *samples; /* tenancy/top.c: the newest, and the previous one; or NULL */
};

/* A copy; counters are read one by one, not at one moment. */
struct ten_metered_now {
    uint64_t each[TEN_METER_COUNT];
    uint64_t throttled[TEN_POLICY_COUNT];
    uint64_t throttled_ns[TEN_POLICY_COUNT];
    uint64_t latency[TEN_METER_LATENCIES];
};

void ten_meter_free(struct ten_meter *m);
void ten_meter_add(struct ten_tenant *t, enum ten_metered what, uint64_t amount);
void ten_meter_throttled(struct ten_tenant *t, enum ten_policy policy, uint64_t wait_ns);
/* Returns the longest duration of a bucket's requests; for the last bucket, twice the previous
 * bound. */
uint64_t ten_meter_latency_bound_ns(size_t bucket);
/* Counts one data request by its duration; also adds TEN_METER_LATENCY_NS. */
void ten_meter_latency(struct ten_tenant *t, uint64_t ns);
/* Writes all zeros for a tenant without activity. */
void ten_meter_read(const struct ten_tenant *t, struct ten_metered_now *out);
/* False: the tenant had no activity since the start. */
bool ten_meter_is_active(const struct ten_tenant *t);

#endif

/*
 * tenancy/meter.c - counters that are created when they are first needed.
 *
 * Two loops may both create a tenant's meter; the second one frees its own.
 */
#include "tenancy/meter.h"

#include "base/alloc.h"
#include "tenancy/tenant.h"

#include "base/banned.h"

#define FIRST_BUCKET_NS 32000

static const char *const POLICIES[TEN_POLICY_COUNT] = {
    [TEN_POLICY_READ_OPS] = "read_ops",       [TEN_POLICY_WRITE_OPS] = "write_ops",
    [TEN_POLICY_READ_BYTES] = "read_bytes",   [TEN_POLICY_WRITE_BYTES] = "write_bytes",
    [TEN_POLICY_CONCURRENCY] = "concurrency", [TEN_POLICY_KEY] = "key",
    [TEN_POLICY_SERVICE] = "service",         [TEN_POLICY_QUOTA] = "quota",
};

static const char *const METERED[TEN_METER_COUNT] = {
    [TEN_METER_READ_OPS] = "read_ops",     [TEN_METER_WRITE_OPS] = "write_ops",
    [TEN_METER_OTHER_OPS] = "other_ops",   [TEN_METER_ERRORS] = "errors",
    [TEN_METER_REFUSALS] = "refusals",     [TEN_METER_BYTES_IN] = "bytes_in",
    [TEN_METER_BYTES_OUT] = "bytes_out",   [TEN_METER_READ_ROWS] = "read_rows",
    [TEN_METER_READ_BYTES] = "read_bytes", [TEN_METER_WRITE_BYTES] = "write_bytes",
    [TEN_METER_LATENCY_NS] = "latency_ns",
};

const char *ten_policy_name(enum ten_policy p)
{
    INVARIANT(p < TEN_POLICY_COUNT);
    return POLICIES[p];
}

const char *ten_metered_name(enum ten_metered m)
{
    INVARIANT(m < TEN_METER_COUNT);
    return METERED[m];
}

static struct ten_meter *meter_of(struct ten_tenant *t)
{
    struct ten_meter *meter = atomic_load_explicit(&t->meter, memory_order_acquire);
    if (meter != NULL)
        return meter;
    struct ten_meter *fresh = base_new(sizeof *fresh);
    if (atomic_compare_exchange_strong_explicit(&t->meter, &meter, fresh, memory_order_acq_rel,
                                                memory_order_acquire))
        return fresh;
    base_free(fresh);
    return meter;
}

void ten_meter_free(struct ten_meter *m)
{
    if (m != NULL)
        base_free(m->samples);
    base_free(m);
}

static void add(_Atomic uint64_t *counter, uint64_t amount)
{
    atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

void ten_meter_add(struct ten_tenant *t, enum ten_metered what, uint64_t amount)
{
    if (amount > 0)
        add(&meter_of(t)->each[what], amount);
}

void ten_meter_throttled(struct ten_tenant *t, enum ten_policy policy, uint64_t wait_ns)
{
    struct ten_meter *meter = meter_of(t);
    add(&meter->throttled[policy], 1);
    add(&meter->throttled_ns[policy], wait_ns);
}

uint64_t ten_meter_latency_bound_ns(size_t bucket)
{
    return (uint64_t)FIRST_BUCKET_NS << bucket;
}

void ten_meter_latency(struct ten_tenant *t, uint64_t ns)
{
    struct ten_meter *meter = meter_of(t);
    size_t bucket = 0;
    while (bucket + 1 < TEN_METER_LATENCIES && ns >= ten_meter_latency_bound_ns(bucket))
        bucket++;
    add(&meter->latency[bucket], 1);
    add(&meter->each[TEN_METER_LATENCY_NS], ns);
}

static void copy(uint64_t *out, const _Atomic uint64_t *counters, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = atomic_load_explicit(&counters[i], memory_order_relaxed);
}

void ten_meter_read(const struct ten_tenant *t, struct ten_metered_now *out)
{
    const struct ten_meter *meter = atomic_load_explicit(&t->meter, memory_order_acquire);
    *out = (struct ten_metered_now){{0}, {0}, {0}, {0}};
    if (meter == NULL)
        return;
    copy(out->each, meter->each, TEN_METER_COUNT);
    copy(out->throttled, meter->throttled, TEN_POLICY_COUNT);
    copy(out->throttled_ns, meter->throttled_ns, TEN_POLICY_COUNT);
    copy(out->latency, meter->latency, TEN_METER_LATENCIES);
}

bool ten_meter_is_active(const struct ten_tenant *t)
{
    return atomic_load_explicit(&t->meter, memory_order_acquire) != NULL;
}

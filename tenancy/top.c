/*
 * tenancy/top.c - current activity of tenants.
 *
 * All meters are sampled at the same moments. A caller makes a new sample when the newest one is
 * TEN_TOP_NS old; differences are against the previous sample, so that a frequent caller does not
 * shorten the period of others. A meter created between two samples has samples of zeros, which is
 * right.
 */
#include "tenancy/top.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "tenancy/internal.h"

#include "base/banned.h"

#define PARTS     1000 /* of all requests */
#define NS_PER_US 1000

static uint64_t sum_of(const uint64_t *numbers, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += numbers[i];
    return sum;
}

/* Returns the bound of the bucket that contains the quantile: `part` of PARTS requests are at or
 * below it. */
static uint64_t quantile_us(const uint64_t latency[TEN_METER_LATENCIES], uint64_t part)
{
    uint64_t total = sum_of(latency, TEN_METER_LATENCIES);
    uint64_t wanted = (total * part + PARTS - 1) / PARTS;
    uint64_t seen = 0;
    for (size_t i = 0; total > 0 && i < TEN_METER_LATENCIES; i++) {
        seen += latency[i];
        if (seen >= wanted)
            return ten_meter_latency_bound_ns(i) / NS_PER_US;
    }
    return 0;
}

static void subtract(struct ten_metered_now *now, const struct ten_metered_now *then)
{
    for (size_t i = 0; i < TEN_METER_COUNT; i++)
        now->each[i] -= then->each[i];
    for (size_t i = 0; i < TEN_POLICY_COUNT; i++)
        now->throttled[i] -= then->throttled[i];
    for (size_t i = 0; i < TEN_METER_LATENCIES; i++)
        now->latency[i] -= then->latency[i];
}

static struct ten_top top_of(const struct ten_tenant *t, const struct ten_metered_now *d,
                             enum ten_top_order order)
{
    struct ten_top top = {
        .tenant = t,
        .read_ops = d->each[TEN_METER_READ_OPS],
        .write_ops = d->each[TEN_METER_WRITE_OPS],
        .bytes_in = d->each[TEN_METER_BYTES_IN],
        .bytes_out = d->each[TEN_METER_BYTES_OUT],
        .throttled = sum_of(d->throttled, TEN_POLICY_COUNT),
        .p50_us = quantile_us(d->latency, PARTS / 2),
        .p99_us = quantile_us(d->latency, PARTS * 99 / 100),
    };
    switch (order) {
    case TEN_TOP_OPS:
        top.value = top.read_ops + top.write_ops;
        break;
    case TEN_TOP_BYTES:
        top.value = top.bytes_in + top.bytes_out;
        break;
    case TEN_TOP_THROTTLED:
        top.value = top.throttled;
        break;
    case TEN_TOP_LATENCY:
        top.value = top.p99_us;
        break;
    }
    return top;
}

static void add(struct ten_top_sum *sum, const struct ten_top *t)
{
    sum->active++;
    sum->read_ops += t->read_ops;
    sum->write_ops += t->write_ops;
    sum->bytes_in += t->bytes_in;
    sum->bytes_out += t->bytes_out;
    sum->throttled += t->throttled;
}

static bool did_something(const struct ten_top *t)
{
    return t->read_ops + t->write_ops + t->bytes_in + t->bytes_out + t->throttled > 0;
}

static bool is_before(const struct ten_top *a, const struct ten_top *b)
{
    if (a->value != b->value)
        return a->value > b->value;
    return base_slice_compare(ten_tenant_id(a->tenant), ten_tenant_id(b->tenant)) < 0;
}

/* Inserts the item in order: few are wanted, and most come after the last one. */
static size_t insert(struct ten_top *out, size_t count, size_t limit, const struct ten_top *item)
{
    if (count == limit && (limit == 0 || is_before(&out[limit - 1], item)))
        return count;
    size_t at = count < limit ? count++ : limit - 1;
    for (; at > 0 && is_before(item, &out[at - 1]); at--)
        out[at] = out[at - 1];
    out[at] = *item;
    return count;
}

/* Samples all meters; keeps the previous sample. */
static void take_sample(struct ten_registry *r, uint64_t now_ns)
{
    for (size_t i = 0; i < r->tenant_count; i++) {
        struct ten_tenant *t = r->sorted[i];
        struct ten_meter *m = atomic_load_explicit(&t->meter, memory_order_acquire);
        if (m == NULL)
            continue;
        if (m->samples == NULL)
            m->samples = base_new_array(2, sizeof m->samples[0]);
        m->samples[1] = m->samples[0];
        ten_meter_read(t, &m->samples[0]);
    }
    r->top_ns[1] = r->top_ns[0];
    r->top_ns[0] = now_ns;
}

bool ten_top_look(struct ten_registry *r, uint64_t now_ns, enum ten_top_order order,
                  struct ten_top *out, size_t limit, size_t *out_count, struct ten_top_sum *out_sum)
{
    ten_control_check(r);
    if (r->top_ns[0] == 0 || now_ns - r->top_ns[0] >= TEN_TOP_OLD_NS) {
        take_sample(r, now_ns);
        r->top_ns[1] = 0; /* the previous sample is too old */
        return false;
    }
    if (now_ns - r->top_ns[0] >= TEN_TOP_NS)
        take_sample(r, now_ns);
    if (r->top_ns[1] == 0)
        return false;
    *out_count = 0;
    *out_sum = (struct ten_top_sum){.over_ns = now_ns - r->top_ns[1]};
    for (size_t i = 0; i < r->tenant_count; i++) {
        struct ten_tenant *t = r->sorted[i];
        struct ten_metered_now now;
        const struct ten_meter *m = atomic_load_explicit(&t->meter, memory_order_acquire);
        if (m == NULL)
            continue;
        ten_meter_read(t, &now);
        if (m->samples != NULL)
            subtract(&now, &m->samples[1]);
        struct ten_top top = top_of(t, &now, order);
        if (!did_something(&top))
            continue;
        add(out_sum, &top);
        *out_count = insert(out, *out_count, limit, &top);
    }
    return true;
}

/*
 * gateway/metrics/exposition.c - Prometheus' text format, version 0.0.4.
 *
 * Numbers are exact: integers, and decimal fractions made of integers.
 */
#include "gateway/metrics/exposition.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/banned.h"

#define NUMBER_BYTES 48

static const char *const TYPES[] = {
    [GW_COUNTER] = "counter",
    [GW_GAUGE] = "gauge",
    [GW_HISTOGRAM] = "histogram",
    [GW_SUMMARY] = "summary",
};

/* Writes the head. Appends latch their errors in the buf; the code that sends it checks them. */
struct gw_metric gw_metric_begin(struct buf *out, const char *name, enum gw_metric_type type,
                                 const char *help)
{
    (void)base_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, TYPES[type]);
    return (struct gw_metric){out, name};
}

/* Returns value / 10^decimals, without zeros at the end. */
static const char *fraction(char text[NUMBER_BYTES], uint64_t value, unsigned decimals)
{
    uint64_t unit = 1;
    for (unsigned i = 0; i < decimals; i++)
        unit *= 10;
    (void)snprintf(text, NUMBER_BYTES, "%" PRIu64, value / unit); /* 20 digits fit */
    if (value % unit == 0)
        return text;
    size_t len = strlen(text);
    (void)snprintf(text + len, NUMBER_BYTES - len, ".%0*" PRIu64, (int)decimals, value % unit);
    for (len = strlen(text); text[len - 1] == '0'; len--)
        text[len - 1] = '\0';
    return text;
}

/* Writes a sample. more: a label after the others, or "". */
static void put(const struct gw_metric *m, const char *suffix, const char *labels, const char *more,
                const char *value)
{
    bool has_labels = labels[0] != '\0' || more[0] != '\0';
    (void)base_buf_printf(m->out, "%s%s%s%s%s%s%s %s\n", m->name, suffix, has_labels ? "{" : "",
                          labels, labels[0] != '\0' && more[0] != '\0' ? "," : "", more,
                          has_labels ? "}" : "", value);
}

void gw_metric_put(const struct gw_metric *m, const char *labels, uint64_t value)
{
    char text[NUMBER_BYTES];
    put(m, "", labels, "", fraction(text, value, 0));
}

void gw_metric_put_fraction(const struct gw_metric *m, const char *labels, uint64_t value,
                            unsigned decimals)
{
    char text[NUMBER_BYTES];
    put(m, "", labels, "", fraction(text, value, decimals));
}

/* Writes a bucket. count: of this bucket and all previous ones. */
static void put_bucket(const struct gw_metric *m, const char *labels, const char *bound,
                       uint64_t count)
{
    char le[NUMBER_BYTES + sizeof "le=\"\""];
    char text[NUMBER_BYTES];
    (void)snprintf(le, sizeof le, "le=\"%s\"", bound);
    put(m, "_bucket", labels, le, fraction(text, count, 0));
}

static void put_totals(const struct gw_metric *m, const char *labels, uint64_t count, uint64_t sum,
                       unsigned decimals)
{
    char text[NUMBER_BYTES];
    put(m, "_sum", labels, "", fraction(text, sum, decimals));
    put(m, "_count", labels, "", fraction(text, count, 0));
}

void gw_metric_put_histogram(const struct gw_metric *m, const char *labels,
                             const struct base_histogram_now *h)
{
    char bound[NUMBER_BYTES];
    uint64_t count = 0;
    for (size_t i = 0; i < BASE_HISTOGRAM_BUCKETS; i++) {
        bool is_last = i == BASE_HISTOGRAM_BUCKETS - 1;
        count += h->count[i];
        put_bucket(m, labels,
                   is_last ? "+Inf" : fraction(bound, base_histogram_bound_ns(i), GW_NS_DECIMALS),
                   count);
    }
    put_totals(m, labels, count, h->sum_ns, GW_NS_DECIMALS);
}

void gw_metric_put_powers(const struct gw_metric *m, const uint64_t *count, size_t buckets,
                          uint64_t sum, unsigned decimals)
{
    char bound[NUMBER_BYTES];
    uint64_t total = 0;
    for (size_t i = 0; i < buckets; i++) {
        total += count[i];
        put_bucket(m, "", i == buckets - 1 ? "+Inf" : fraction(bound, 1ull << i, decimals), total);
    }
    put_totals(m, "", total, sum, decimals);
}

void gw_metric_put_summary(const struct gw_metric *m, const char *labels, uint64_t count,
                           uint64_t sum_ns)
{
    put_totals(m, labels, count, sum_ns, GW_NS_DECIMALS);
}

void gw_metric_one(struct buf *out, const char *name, enum gw_metric_type type, const char *help,
                   uint64_t value)
{
    struct gw_metric m = gw_metric_begin(out, name, type, help);
    gw_metric_put(&m, "", value);
}

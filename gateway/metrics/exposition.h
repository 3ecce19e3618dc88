/*
 * gateway/metrics/exposition.h - Prometheus' text format, version 0.0.4.
 *
 * Does:     writes the head of a metric, its samples, histograms.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: list of metrics.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: latching an error in the buf.
 * Limits:   the buf's max.
 * Promises: 1. Every sample of a metric follows its one head, with the metric's name.
 *           2. A histogram's buckets add up, and end with +Inf, which is its count.
 */
#ifndef GATEWAY_METRICS_EXPOSITION_H
#define GATEWAY_METRICS_EXPOSITION_H

#include "base/buf.h"
#include "base/histogram.h"

#define GW_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

#define GW_NS_DECIMALS 9 /* for nanoseconds shown in seconds */

enum gw_metric_type { GW_COUNTER, GW_GAUGE, GW_HISTOGRAM, GW_SUMMARY };

/* The metric whose samples are being written. */
struct gw_metric {
    struct buf *out;
    const char *name;
};

/* Writes the head of a metric. labels, here and below: the text between the braces, such as
 * route="/v1/tables",code="2xx"; "" for none. Values are names of this program and IDs of tenants,
 * which never need an escape. */
struct gw_metric gw_metric_begin(struct buf *out, const char *name, enum gw_metric_type type,
                                 const char *help);
void gw_metric_put(const struct gw_metric *m, const char *labels, uint64_t value);
/* Writes value / 10^decimals. */
void gw_metric_put_fraction(const struct gw_metric *m, const char *labels, uint64_t value,
                            unsigned decimals);
void gw_metric_put_histogram(const struct gw_metric *m, const char *labels,
                             const struct base_histogram_now *h);
/* Writes a histogram whose bucket i, except the last one, ends at 2^i units of 10^-decimals; the
 * sum is in the same units. */
void gw_metric_put_powers(const struct gw_metric *m, const uint64_t *count, size_t buckets,
                          uint64_t sum, unsigned decimals);
void gw_metric_put_summary(const struct gw_metric *m, const char *labels, uint64_t count,
                           uint64_t sum_ns);

/* Writes a head and one sample without labels. */
void gw_metric_one(struct buf *out, const char *name, enum gw_metric_type type, const char *help,
                   uint64_t value);

#endif

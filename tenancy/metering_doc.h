/*
 * tenancy/metering_doc.h - the stored form of one tenant's activity and storage in one hour.
 *
 * Does:     encodes and decodes it; advances its integral of stored bytes to a moment of the hour;
 *           makes and parses its key.
 * Owns:     nothing.
 * May use:  base/, tenancy/.
 * Knows no: clocks, when it is written.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT; the buf's errors.
 * Limits:   TEN_METERING_DOC_MAX.
 * Promises: 1. An encoded document decodes to the same values.
 *           2. Each moment of an hour is counted once: the integral never runs backwards, and never
 *              covers a moment twice.
 */
#ifndef TENANCY_METERING_DOC_H
#define TENANCY_METERING_DOC_H

#include "tenancy/doc_key.h"
#include "tenancy/meter.h"

#define TEN_METERING_DOC_MAX 1024
#define TEN_HOUR_US          (3600LL * 1000000)

/* Totals of the hour. */
struct ten_metering_doc {
    uint64_t each[TEN_METER_COUNT]; /* without latency */
    uint64_t throttled[TEN_POLICY_COUNT];
    uint64_t throttled_ns[TEN_POLICY_COUNT];
    uint64_t byte_s;    /* stored bytes times seconds, up to at_us */
    uint64_t byte_rest; /* and this many millionths of a byte second */
    uint64_t at_us;     /* us since the hour's start, 0 to TEN_HOUR_US */
    uint64_t bytes;     /* stored since at_us */
};

/* Advances the integral to at_us of the hour, with `bytes` stored in that time. */
void ten_metering_settle(struct ten_metering_doc *d, uint64_t bytes, uint64_t at_us);

enum err ten_metering_encode(const struct ten_metering_doc *d, struct buf *out);
enum err ten_metering_decode(struct slice body, struct ten_metering_doc *out) MUST_CHECK;

/* Returns "m/<hour>/<tenant>", hour: 10 digits of hours since 1970. An empty ID yields the hour's
 * prefix. */
#define TEN_METERING_HOUR_MAX 9999999999
struct ten_doc_key ten_metering_key(uint64_t hour, struct slice tenant_id);
/* Returns "n/<hour>": in this hour every tenant that stores bytes has a document. */
struct ten_doc_key ten_metering_base_key(uint64_t hour);
/* Splits a key of either kind; the tenant of a base is empty. */
enum err ten_metering_key_parts(struct slice key, uint64_t *out_hour,
                                struct slice *out_tenant_id) MUST_CHECK;

#endif

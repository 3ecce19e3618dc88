/*
 * tenancy/metering_doc.h - the stored form of what one tenant did and stored in one hour.
 *
 * Does:     encode and decode it; bring its integral of stored bytes up to a moment of the hour;
 *           make and take apart its key.
 * Owns:     nothing.
 * May use:  base/, tenancy/.
 * Knows no: clocks, when it is written.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT; the buf's errors.
 * Limits:   TEN_METERING_DOC_MAX.
 * Promises: 1. What was encoded decodes to the same.
 *           2. Each moment of an hour is counted once: the integral never runs back, and over a
 *              moment it has passed it never runs again.
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
    uint64_t byte_rest; /* and so many millionths */
    uint64_t at_us;     /* of the hour, 0 to TEN_HOUR_US */
    uint64_t bytes;     /* stored from at_us on */
};

/* Stored `bytes` from where it is to at_us of the hour. */
void ten_metering_settle(struct ten_metering_doc *d, uint64_t bytes, uint64_t at_us);

enum err ten_metering_encode(const struct ten_metering_doc *d, struct buf *out);
enum err ten_metering_decode(struct slice body, struct ten_metering_doc *out) MUST_CHECK;

/* "m/<hour>/<tenant>", hour: 10 digits of hours since 1970. An empty ID gives the hour's prefix. */
#define TEN_METERING_HOUR_MAX 9999999999
struct ten_doc_key ten_metering_key(uint64_t hour, struct slice tenant_id);
/* "n/<hour>": in this hour everybody who stores bytes has a document. */
struct ten_doc_key ten_metering_base_key(uint64_t hour);
/* Of either; the tenant of a base is empty. */
enum err ten_metering_key_parts(struct slice key, uint64_t *out_hour,
                                struct slice *out_tenant_id) MUST_CHECK;

#endif

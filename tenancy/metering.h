/*
 * tenancy/metering.h - bills: the activity and storage of tenants, hour by hour.
 *
 * Does:     adds the differences of the tenants' meters to documents of the hour; keeps the
 *           integral of stored bytes; retains both for TEN_METERING_KEPT_H; reads them.
 * Owns:     the record of the documented part of each tenant (ten_tenant.documented,
 *           .documented_bytes).
 * May use:  base/, storage/, tenancy/.
 * Knows no: HTTP, prices.
 * Threads:  flushing on the control thread; reading from any, each reader on one thread at a time.
 * Blocks:   on the disk.
 * Fails by: engine errors; ERR_CORRUPT. Amounts that could not be flushed are flushed in the next
 *           round.
 * Limits:   TEN_METERING_BATCH documents in one batch.
 * Promises: 1. A document holds totals: amounts in it are never added again. kill -9 loses the
 *              activity since the tenant's last flush, at most TEN_METERING_FLUSH_MS before it.
 *           2. A tenant without activity and with unchanged stored bytes costs no write, except one
 *              on each day (UTC) if it stores anything.
 *           3. Each moment of the calendar is billed once, at the bytes stored then, however the
 *              clock jumps: docs/decisions/0020.
 *           4. A purged tenant's bills stay: they hold its ID and numbers.
 */
#ifndef TENANCY_METERING_H
#define TENANCY_METERING_H

#include "tenancy/metering_doc.h"
#include "tenancy/registry.h"

#define TEN_METERING_FLUSH_MS 10000
#define TEN_METERING_BATCH    1000
#define TEN_METERING_KEPT_H   9600 /* 400 days */

/* --- reading ---------------------------------------------------------------------------------- */

struct ten_bill {
    struct slice tenant;
    uint64_t hour;               /* hours since 1970 */
    struct ten_metering_doc doc; /* of the whole hour, or up to now */
};
/* Receives a bill; valid during the call. Any result but ERR_OK stops the reading. */
typedef enum err ten_bill_visit(void *ctx, const struct ten_bill *bill);

struct ten_bills; /* a position among bills */

/* Opens the hours from `from` to before `until`, at most up to the hour of now_us. tenant NULL: all
 * tenants. */
struct ten_bills *ten_bills_open(struct ten_registry *r, struct ten_tenant *tenant, uint64_t from,
                                 uint64_t until, int64_t now_us);
/* Reads in order of hours. Examines `steps` documents, tenants and hours, and continues after them
 * when called again; out_end: there are no more. */
enum err ten_bills_read(struct ten_bills *b, size_t steps, ten_bill_visit *visit, void *ctx,
                        bool *out_end, struct errbuf *eb) MUST_CHECK;
void ten_bills_close(struct ten_bills *b);

/* --- tenancy's own: control thread, or before it runs ----------------------------------------- */

enum err ten_metering_open(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;
void ten_metering_close(struct ten_registry *r);
/* Does the last flush. */
void ten_metering_drain(struct ten_registry *r);
/* Flushes a part of the round, so that one round takes TEN_METERING_FLUSH_MS; all of it when a new
 * hour starts. tick_ms: since the previous tick. */
void ten_metering_tick(struct ten_registry *r, uint64_t tick_ms);
/* Flushes everything now. */
enum err ten_metering_flush(struct ten_registry *r, int64_t now_us, struct errbuf *eb) MUST_CHECK;
/* Returns the base that is `back` bases before the last one at or before hour; 0: there is none. */
enum err ten_metering_base(struct ten_registry *r, uint64_t hour, size_t back, uint64_t *out,
                           struct errbuf *eb) MUST_CHECK;
/* Removes a batch of bills whose retention is over. */
enum err ten_metering_expire(struct ten_registry *r, int64_t now_us, size_t *out_removed,
                             struct errbuf *eb) MUST_CHECK;

/* For tests, on the control thread: stops ticks and the last flush; time starts with the first
 * ten_metering_flush. */
void ten_metering_test_stop(struct ten_registry *r);
/* Returns the number of documents written since the start. */
uint64_t ten_metering_written(const struct ten_registry *r);

#endif

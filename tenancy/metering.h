/*
 * tenancy/metering.h - what tenants are billed for: hour by hour, what they did and stored.
 *
 * Does:     add the differences of the tenants' meters to documents of the hour; keep the integral
 *           of stored bytes; keep both for TEN_METERING_KEPT_H; read them.
 * Owns:     what of each tenant is documented (ten_tenant.documented, .documented_bytes).
 * May use:  base/, storage/, tenancy/.
 * Knows no: HTTP, prices.
 * Threads:  flushing on the control thread; reading from any, one reader at a time each.
 * Blocks:   on the disk.
 * Fails by: engine errors; ERR_CORRUPT. What could not be flushed is flushed by the next round.
 * Limits:   TEN_METERING_BATCH documents in one batch.
 * Promises: 1. A document holds totals: what is in it is never added again. kill -9 loses what was
 *              done since the tenant's last flush, at most TEN_METERING_FLUSH_MS before it.
 *           2. A tenant that did nothing and stores what it stored costs no write, but one on each
 *              day (UTC) if it stores anything.
 *           3. Each moment of the calendar is billed once, at the bytes stored then, whatever the
 *              clock does: docs/decisions/0020.
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
    uint64_t hour;               /* since 1970 */
    struct ten_metering_doc doc; /* of the whole hour, or up to now */
};
/* Valid during the visit. Anything but ERR_OK ends the reading. */
typedef enum err ten_bill_visit(void *ctx, const struct ten_bill *bill);

struct ten_bills; /* a place in them */

/* Hours from `from` to before `until`, not behind the one of now_us. tenant NULL: all. */
struct ten_bills *ten_bills_open(struct ten_registry *r, struct ten_tenant *tenant, uint64_t from,
                                 uint64_t until, int64_t now_us);
/* In order of hours. Looks at `steps` documents, tenants and hours, and goes on there when called
 * again; out_end: that was all. */
enum err ten_bills_read(struct ten_bills *b, size_t steps, ten_bill_visit *visit, void *ctx,
                        bool *out_end, struct errbuf *eb) MUST_CHECK;
void ten_bills_close(struct ten_bills *b);

/* --- tenancy's own: control thread, or before it runs ----------------------------------------- */

enum err ten_metering_open(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;
void ten_metering_close(struct ten_registry *r);
/* The last flush. */
void ten_metering_drain(struct ten_registry *r);
/* A part of the round, so that one takes TEN_METERING_FLUSH_MS; all of it at the turn of an hour.
 * tick_ms: since the last. */
void ten_metering_tick(struct ten_registry *r, uint64_t tick_ms);
/* All of it, now. */
enum err ten_metering_flush(struct ten_registry *r, int64_t now_us, struct errbuf *eb) MUST_CHECK;
/* The base that is `back` bases before the last one at or before hour; 0: there is none. */
enum err ten_metering_base(struct ten_registry *r, uint64_t hour, size_t back, uint64_t *out,
                           struct errbuf *eb) MUST_CHECK;
/* A batch of what was kept long enough goes. */
enum err ten_metering_expire(struct ten_registry *r, int64_t now_us, size_t *out_removed,
                             struct errbuf *eb) MUST_CHECK;

/* For tests, on the control thread: no more ticks, and none of the last flush; a clock begins with
 * the first ten_metering_flush. */
void ten_metering_test_stop(struct ten_registry *r);
/* Documents written since the start. */
uint64_t ten_metering_written(const struct ten_registry *r);

#endif

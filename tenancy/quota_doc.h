/*
 * tenancy/quota_doc.h - a quota as fields of a stored document.
 *
 * Does:     writes the set fields of a quota, and reads them back, by their tags.
 * Owns:     nothing.
 * May use:  base/, tenancy/.
 * Knows no: whose document it is.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT for a field of the wrong kind; the buf's latched errors.
 * Limits:   none here; ten_quota_check has the ranges.
 * Promises: 1. A field that is not set is not written, so it is inherited again after a restart.
 */
#ifndef TENANCY_QUOTA_DOC_H
#define TENANCY_QUOTA_DOC_H

#include "base/record.h"
#include "tenancy/quota.h"

/* Errors latch in out. */
void ten_quota_put(const struct ten_quota *q, struct buf *out);
/* Reads one field. Skips a field whose tag is unknown: it belongs to a newer program. */
enum err ten_quota_take(const struct base_field *f, struct ten_quota *q) MUST_CHECK;

#endif

/*
 * tenancy/quota_doc.h - a quota as fields of a stored document.
 *
 * Does:     write the given fields of a quota, and take them back, by their tags.
 * Owns:     nothing.
 * May use:  base/, tenancy/.
 * Knows no: whose document it is.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT for a field of the wrong kind; the buf's latched errors.
 * Limits:   none here; ten_quota_check has the ranges.
 * Promises: 1. What is not given is not written, so that it is inherited again after a restart.
 */
#ifndef TENANCY_QUOTA_DOC_H
#define TENANCY_QUOTA_DOC_H

#include "base/record.h"
#include "tenancy/quota.h"

/* Errors latch in out. */
void ten_quota_put(const struct ten_quota *q, struct buf *out);
/* A field whose tag is no quota's is passed over: it is of a newer program. */
enum err ten_quota_take(const struct base_field *f, struct ten_quota *q) MUST_CHECK;

#endif

/*
 * tenancy/view_doc.h - an authorized view as a stored document.
 *
 * Does:     encodes and decodes the specification of a view ("v/<tenant>/<table>/<view>",
 *           base/record.h); computes a digest of it.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: when it is stored, and which code reads it.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT; encoding errors latch in the buffer.
 * Limits:   those of storage/view.h, TEN_VIEW_DOC_MAX.
 * Promises: 1. decode(encode(x)) = x, except version and digest.
 *           2. Equal digests mean equal specifications.
 */
#ifndef TENANCY_VIEW_DOC_H
#define TENANCY_VIEW_DOC_H

#include "base/buf.h"
#include "storage/view.h"

/* Tag and length of each part take less than 16 bytes. */
#define TEN_VIEW_DOC_MAX (LIM_VIEW_BYTES + 16 * (LIM_VIEW_PARTS + 2))

enum err ten_view_encode(const struct sto_view_spec *spec, struct buf *out) MUST_CHECK;
/* One ref. */
enum err ten_view_decode(struct slice id, struct slice body, struct sto_view **out) MUST_CHECK;
uint64_t ten_view_digest(struct slice body);

#endif

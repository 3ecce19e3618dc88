/*
 * tenancy/tenant_doc.h - a tenant as a stored document.
 *
 * Does:     encode and decode state and details ("t/<tenant>", base/record.h).
 * Owns:     nothing.
 * May use:  base/, tenancy/.
 * Knows no: where documents are kept.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT; ERR_UNSUPPORTED for a state this program does not know.
 * Limits:   LIM_DISPLAY_NAME, LIM_REASON.
 * Promises: 1. decode(encode(x)) = x, but for doc_version, which stands outside the body.
 */
#ifndef TENANCY_TENANT_DOC_H
#define TENANCY_TENANT_DOC_H

#include "base/buf.h"
#include "tenancy/tenant.h"

#define TEN_TENANT_DOC_MAX 4096

enum err ten_tenant_encode(enum ten_state state, const struct ten_details *d,
                           struct buf *out) MUST_CHECK;
enum err ten_tenant_decode(struct slice body, enum ten_state *out_state,
                           struct ten_details *out) MUST_CHECK;

#endif

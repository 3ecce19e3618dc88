/*
 * tenancy/plan_doc.h - a plan as a stored document.
 *
 * Does:     encodes and decodes the terms of a plan ("p/<plan>", base/record.h).
 * Owns:     nothing.
 * May use:  base/, tenancy/.
 * Knows no: which tenants have it.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT.
 * Limits:   LIM_DISPLAY_NAME.
 * Promises: 1. decode(encode(x)) = x, except doc_version, which is stored outside the body.
 */
#ifndef TENANCY_PLAN_DOC_H
#define TENANCY_PLAN_DOC_H

#include "base/buf.h"
#include "tenancy/plan.h"

#define TEN_PLAN_DOC_MAX 2048

enum err ten_plan_encode(const struct ten_plan_terms *terms, struct buf *out) MUST_CHECK;
enum err ten_plan_decode(struct slice body, struct ten_plan_terms *out) MUST_CHECK;

#endif

/*
 * tenancy/tenant_doc.h - a tenant as a stored document.
 *
 * Does:     encodes and decodes state and details ("t/<tenant>", base/record.h).
 * Owns:     nothing.
 * May use:  base/, tenancy/.
 * Knows no: where documents are stored.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT; ERR_UNSUPPORTED for a state this program does not know.
 * Limits:   LIM_DISPLAY_NAME, LIM_REASON.
 * Promises: 1. decode(encode(x)) = x, except doc_version, which is stored outside the body, and the
 *              plan, which is represented by its ID.
 */
#ifndef TENANCY_TENANT_DOC_H
#define TENANCY_TENANT_DOC_H

#include "base/buf.h"
#include "tenancy/tenant.h"

#define TEN_TENANT_DOC_MAX 4096

/* A decoded document. The texts of details are stored in the later fields; its plan stays NULL, the
 * plan's ID is here. */
struct ten_tenant_doc {
    enum ten_state state;
    struct ten_details details;
    char plan[LIM_PLAN_ID + 1];
    char display_name[LIM_DISPLAY_NAME + 1];
    char reason[LIM_REASON + 1];
    char job[24];
    char instance[LIM_INSTANCE_ID + 1];
    struct sto_canary canaries[STO_CANARIES];
    struct ten_hold hold;
    char hold_by[64]; /* key ID */
    char hold_reason[LIM_REASON + 1];
};

enum err ten_tenant_encode(enum ten_state state, const struct ten_details *d,
                           struct buf *out) MUST_CHECK;
/* *out must not move: the texts of its details point into it. */
enum err ten_tenant_decode(struct slice body, struct ten_tenant_doc *out) MUST_CHECK;

#endif

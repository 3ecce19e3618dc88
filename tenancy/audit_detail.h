/*
 * tenancy/audit_detail.h - what changed, in a few words for the audit trail.
 *
 * Does:     write the details of actions: quotas field by field, families by name.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: records.
 * Threads:  that of the action under way.
 * Blocks:   no.
 * Fails by: a text that is too long is cut.
 * Limits:   LIM_AUDIT_TEXT.
 * Promises: 1. No row key is in it: of splits there is the number.
 */
#ifndef TENANCY_AUDIT_DETAIL_H
#define TENANCY_AUDIT_DETAIL_H

#include "tenancy/quota.h"
#include "tenancy/registry.h"

/* "rows=10 stored_bytes=5000": the fields that are given. */
void ten_audit_set_quota(const struct ten_quota *q);
/* What a tenant is made with, or what of it is changed. */
void ten_audit_set_wanted(const struct ten_tenant_wanted *wanted);
/* "families=a,b protected=1 splits=2" */
void ten_audit_set_table(const struct ten_table_wanted *wanted);
/* "create=a,b update=c drop=d" */
void ten_audit_set_families(const struct ten_families_change *change);

#endif

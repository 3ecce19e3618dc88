/*
 * tenancy/audit_detail.h - short descriptions of changes for the audit trail.
 *
 * Does:     writes the details of actions: quotas field by field, families by name.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: records.
 * Threads:  the action's thread.
 * Blocks:   no.
 * Fails by: cuts a text that is too long.
 * Limits:   LIM_AUDIT_TEXT.
 * Promises: 1. Contains no row key: of splits only the number.
 */
#ifndef TENANCY_AUDIT_DETAIL_H
#define TENANCY_AUDIT_DETAIL_H

#include "tenancy/quota.h"
#include "tenancy/registry.h"

/* "rows=10 stored_bytes=5000": the fields that are set. */
void ten_audit_set_quota(const struct ten_quota *q);
/* The properties of a new tenant, or those that a change sets. */
void ten_audit_set_wanted(const struct ten_tenant_wanted *wanted);
/* "families=a,b protected=1 splits=2" */
void ten_audit_set_table(const struct ten_table_wanted *wanted);
/* "create=a,b update=c drop=d" */
void ten_audit_set_families(const struct ten_families_change *change);

#endif

/*
 * tenancy/audit_cut.h - where the trail and each tenant's part of it begin, since old records are
 *                       removed: the number and hash of the last one that went.
 *
 * Does:     encode and decode the document of a cut; read one; state one, sealed; collect the holds
 *           of a tenant from the cut and the records behind it.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/, jansson.
 * Knows no: which records go, and when (audit_retention.c).
 * Threads:  any that may block.
 * Blocks:   on the disk.
 * Fails by: ERR_CORRUPT, engine errors.
 * Limits:   TEN_HOLD_EVENTS of a tenant's holds.
 * Promises: 1. What is left of a chain follows its cut: number and hash are those that the first
 *              record left names. 2. A tenant's holds outlive the records about them.
 * Stored:   "a/<0>" the trail's, "b/<tenant>/<0>" a tenant's.
 */
#ifndef TENANCY_AUDIT_CUT_H
#define TENANCY_AUDIT_CUT_H

#include "base/audit_record.h"
#include "tenancy/offboard.h"
#include "tenancy/registry.h"

#define TEN_AUDIT_CUT_FORMAT  "bigtent.audit.cut.1"
#define TEN_AUDIT_CUT_DOC_MAX (4 * KIB)
#define TEN_AUDIT_CUT_LINE    2048

struct ten_audit_cut {
    struct base_audit_head head; /* of the last record that went; of a tenant: its entry */
    char time[BASE_TIME_TEXT];   /* that record's */
    struct ten_holds holds;      /* of a tenant: those whose records went */
};

enum err ten_audit_cut_encode(const struct ten_audit_cut *cut, struct buf *out) MUST_CHECK;
enum err ten_audit_cut_decode(struct slice body, struct ten_audit_cut *out) MUST_CHECK;
/* tenant empty: of the trail. All zero where nothing was removed. */
enum err ten_audit_cut_read(struct ten_registry *r, struct slice tenant, struct ten_audit_cut *out,
                            struct errbuf *eb) MUST_CHECK;
/* Whether the record of this number among the tenant's, or of the trail, was removed. */
enum err ten_audit_was_removed(struct ten_registry *r, struct slice tenant, uint64_t number,
                               bool *out) MUST_CHECK;
/* A line of JSON signed with the key of the certificates (base/sealed_line.h), appended. */
enum err ten_audit_cut_seal(struct ten_registry *r, struct slice tenant,
                            const struct ten_audit_cut *cut, struct buf *out,
                            struct errbuf *eb) MUST_CHECK;

/* The record, if it is one of a hold or release that was done. */
void ten_holds_take(struct ten_holds *holds, const struct base_audit_record *record);

#endif

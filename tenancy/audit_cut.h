/*
 * tenancy/audit_cut.h - where the trail and each tenant's part of it start after old records were
 *                       removed: the number and hash of the last removed record.
 *
 * Does:     encodes and decodes the document of a cut; reads a cut; states a cut as a signed line;
 *           collects the holds of a tenant from the cut and the records after it.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/, jansson.
 * Knows no: which records are removed, and when (audit_retention.c).
 * Threads:  any that may block.
 * Blocks:   on the disk.
 * Fails by: ERR_CORRUPT, engine errors.
 * Limits:   TEN_HOLD_EVENTS of a tenant's holds.
 * Promises: 1. The rest of a chain follows its cut: the cut's number and hash are the ones that the
 *              first remaining record names. 2. A tenant's holds outlive the records about them.
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
    struct base_audit_head head; /* the last removed record; for a tenant: its entry */
    char time[BASE_TIME_TEXT];   /* of that record */
    struct ten_holds holds;      /* of a tenant: holds whose records were removed */
};

enum err ten_audit_cut_encode(const struct ten_audit_cut *cut, struct buf *out) MUST_CHECK;
enum err ten_audit_cut_decode(struct slice body, struct ten_audit_cut *out) MUST_CHECK;
/* Reads the tenant's cut, or the trail's if tenant is empty. All zero if nothing was removed. */
enum err ten_audit_cut_read(struct ten_registry *r, struct slice tenant, struct ten_audit_cut *out,
                            struct errbuf *eb) MUST_CHECK;
/* Returns in *out whether the record with this number among the tenant's, or in the trail, was
 * removed. */
enum err ten_audit_was_removed(struct ten_registry *r, struct slice tenant, uint64_t number,
                               bool *out) MUST_CHECK;
/* Appends a line of JSON signed with the certificates' key (base/sealed_line.h). */
enum err ten_audit_cut_seal(struct ten_registry *r, struct slice tenant,
                            const struct ten_audit_cut *cut, struct buf *out,
                            struct errbuf *eb) MUST_CHECK;

/* Adds the record's event, if it records a hold or a release that was done. */
void ten_holds_take(struct ten_holds *holds, const struct base_audit_record *record);

#endif

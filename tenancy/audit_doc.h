/*
 * tenancy/audit_doc.h - the stored form of a record of the audit trail, and of the index.
 *
 * Does:     encode and decode records, the subjects of those that name what goes with its tenant,
 *           and what the index of a tenant's records says.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: chains, keys of documents.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT; the buf's errors.
 * Limits:   TEN_AUDIT_DOC_MAX.
 * Promises: 1. What was decoded encodes to a record with the same canonical text.
 */
#ifndef TENANCY_AUDIT_DOC_H
#define TENANCY_AUDIT_DOC_H

#include "base/audit_record.h"

#define TEN_AUDIT_DOC_MAX   2048
#define TEN_AUDIT_INDEX_MAX 64

/* Target, detail and their salt are a document of their own, which goes with the tenant: they may
 * be what a customer named. */
bool ten_audit_is_apart(const struct base_audit_record *r);
/* Of one whose subject is apart: with the hash of that. */
enum err ten_audit_encode(const struct base_audit_record *r, struct buf *out);
/* The record points into body. number: of its key. One whose subject is apart is erased until that
 * is decoded. */
enum err ten_audit_decode(uint64_t number, struct slice body,
                          struct base_audit_record *out) MUST_CHECK;

/* Target, detail and their salt. */
enum err ten_audit_subject_encode(const struct base_audit_record *r, struct buf *out);
/* Into a record that is without. ERR_CORRUPT: it is not the one that the record's hash is of. */
enum err ten_audit_subject_decode(struct slice body, struct base_audit_record *r) MUST_CHECK;

/* Where a tenant's record is in the trail, and its entry. */
enum err ten_audit_index_encode(uint64_t number, const struct base_audit_hash *entry,
                                struct buf *out);
enum err ten_audit_index_decode(struct slice body, uint64_t *out_number,
                                struct base_audit_hash *out_entry) MUST_CHECK;

#endif

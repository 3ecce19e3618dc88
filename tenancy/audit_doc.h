/*
 * tenancy/audit_doc.h - the stored form of the audit trail's records, and of the index.
 *
 * Does:     encodes and decodes records, the separate subjects of records whose names are erased
 *           with their tenant, and the entries of the index of a tenant's records.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: chains, keys of documents.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT; the buf's errors.
 * Limits:   TEN_AUDIT_DOC_MAX.
 * Promises: 1. A decoded record encodes to one with the same canonical text.
 */
#ifndef TENANCY_AUDIT_DOC_H
#define TENANCY_AUDIT_DOC_H

#include "base/audit_record.h"

#define TEN_AUDIT_DOC_MAX   2048
#define TEN_AUDIT_INDEX_MAX 64

/* Returns whether target, detail and their salt are a document of their own, which is erased with
 * the tenant: they may contain names that a customer chose. */
bool ten_audit_is_apart(const struct base_audit_record *r);
/* If the record's subject is separate, encodes its hash instead. */
enum err ten_audit_encode(const struct base_audit_record *r, struct buf *out);
/* The record points into body. number: from its key. A record whose subject is separate counts as
 * erased until ten_audit_subject_decode adds it. */
enum err ten_audit_decode(uint64_t number, struct slice body,
                          struct base_audit_record *out) MUST_CHECK;

/* Encodes target, detail and their salt. */
enum err ten_audit_subject_encode(const struct base_audit_record *r, struct buf *out);
/* Adds the subject to a record without one. ERR_CORRUPT: the record's hash is of another
 * subject. */
enum err ten_audit_subject_decode(struct slice body, struct base_audit_record *r) MUST_CHECK;

/* Encode and decode the place of a tenant's record in the trail, and its entry. */
enum err ten_audit_index_encode(uint64_t number, const struct base_audit_hash *entry,
                                struct buf *out);
enum err ten_audit_index_decode(struct slice body, uint64_t *out_number,
                                struct base_audit_hash *out_entry) MUST_CHECK;

#endif

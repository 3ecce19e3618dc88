/*
 * tenancy/audit_doc.h - the stored form of a record of the audit trail, and of the index.
 *
 * Does:     encode and decode records and what the index of a tenant's records says.
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

enum err ten_audit_encode(const struct base_audit_record *r, struct buf *out);
/* The record points into body. number: of its key. */
enum err ten_audit_decode(uint64_t number, struct slice body,
                          struct base_audit_record *out) MUST_CHECK;

/* Where a tenant's record is in the trail, and its entry. */
enum err ten_audit_index_encode(uint64_t number, const struct base_audit_hash *entry,
                                struct buf *out);
enum err ten_audit_index_decode(struct slice body, uint64_t *out_number,
                                struct base_audit_hash *out_entry) MUST_CHECK;

#endif

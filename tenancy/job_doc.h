/*
 * tenancy/job_doc.h - an offboarding job as a stored document, and its ID.
 *
 * Does:     encodes and decodes struct ten_job ("j/<job>", base/record.h); makes job IDs, which
 *           sort by time.
 * Owns:     nothing.
 * May use:  base/, tenancy/.
 * Knows no: what the steps do.
 * Threads:  any.
 * Blocks:   no (getrandom for an ID).
 * Fails by: ERR_CORRUPT, ERR_INVALID (not a job ID).
 * Limits:   TEN_JOB_ID characters.
 * Promises: 1. decode(encode(x)) = x, but for the ID, which is in the key.
 *           2. IDs made with larger times sort after earlier ones: newest last.
 */
#ifndef TENANCY_JOB_DOC_H
#define TENANCY_JOB_DOC_H

#include "base/buf.h"
#include "tenancy/offboard.h"

#define TEN_JOB_DOC_MAX 4096

enum err ten_job_encode(const struct ten_job *j, struct buf *out) MUST_CHECK;
enum err ten_job_decode(struct slice id, struct slice body, struct ten_job *out) MUST_CHECK;

/* Makes an ID: 10 characters of milliseconds, 6 random ones; Crockford's base32 in lower case. */
void ten_job_id_make(uint64_t wall_ms, char out[TEN_JOB_ID + 1]);
/* Returns the milliseconds of an ID; ERR_INVALID if it is malformed. */
enum err ten_job_id_parse(struct slice id, uint64_t *out_wall_ms) MUST_CHECK;

#endif

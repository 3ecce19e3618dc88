/*
 * tenancy/sweep_doc.h - the sweeper's state of one table, as a stored document.
 *
 * Does:     encodes and decodes struct ten_sweep_doc ("w/<tenant>/<table>", base/record.h).
 * Owns:     nothing; a decoded row key points into the document.
 * May use:  base/, storage/.
 * Knows no: when it is stored, and which code reads it.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT; encoding errors latch in the buffer.
 * Limits:   LIM_ROW_KEY, TEN_SWEEP_DOC_MAX without the row key.
 * Promises: 1. decode(encode(x)) = x. 2. Only a pass in progress has a row at which it continues,
 *              and it always has one.
 */
#ifndef TENANCY_SWEEP_DOC_H
#define TENANCY_SWEEP_DOC_H

#include "base/buf.h"
#include "storage/schema.h"

#define TEN_SWEEP_DOC_MAX 128

struct ten_sweep_doc {
    struct sto_sweep_pass swept;    /* the last finished pass */
    struct sto_sweep_pass sweeping; /* the pass in progress */
    struct slice row;               /* where that pass continues */
    uint64_t garbage_bytes;         /* storage/garbage.h; its `seen` is stored in `swept` */
    uint64_t garbage_made_by;
};

enum err ten_sweep_encode(const struct ten_sweep_doc *d, struct buf *out) MUST_CHECK;
enum err ten_sweep_decode(struct slice body, struct ten_sweep_doc *out) MUST_CHECK;

#endif

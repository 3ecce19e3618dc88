/*
 * tenancy/sweep_doc.h - what the sweeper knows of a table, as a stored document.
 *
 * Does:     encode and decode struct ten_sweep_doc ("w/<tenant>/<table>", base/record.h).
 * Owns:     nothing; a decoded row key points into the document.
 * May use:  base/, storage/.
 * Knows no: when it is stored, and who reads it.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT; what encoding runs into latches in the buffer.
 * Limits:   LIM_ROW_KEY, TEN_SWEEP_DOC_MAX beside the row key.
 * Promises: 1. decode(encode(x)) = x. 2. A pass under way has a row where it goes on, and only it.
 */
#ifndef TENANCY_SWEEP_DOC_H
#define TENANCY_SWEEP_DOC_H

#include "base/buf.h"
#include "storage/schema.h"

#define TEN_SWEEP_DOC_MAX 128

struct ten_sweep_doc {
    struct sto_sweep_pass swept;    /* the last pass that ended */
    struct sto_sweep_pass sweeping; /* the one under way */
    struct slice row;               /* where it goes on */
    uint64_t garbage_bytes;         /* storage/garbage.h; what it has seen is in `swept` */
    uint64_t garbage_made_by;
};

enum err ten_sweep_encode(const struct ten_sweep_doc *d, struct buf *out) MUST_CHECK;
enum err ten_sweep_decode(struct slice body, struct ten_sweep_doc *out) MUST_CHECK;

#endif

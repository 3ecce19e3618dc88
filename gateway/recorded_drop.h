/*
 * gateway/recorded_drop.h - drops many rows, recorded before the start and after the end.
 *
 * Does:     writes the action to the audit trail, has the engine drop the rows, records the end; or
 *           has the engine count the rows, slice by slice.
 * Owns:     nothing; works on the state of its call.
 * May use:  base/, storage/, tenancy/, gateway/.
 * Knows no: protocols.
 * Threads:  the call's loop; recording on the control thread.
 * Blocks:   no.
 * Fails by: refusing the call.
 * Limits:   LIM_ROW_KEY of a prefix.
 * Promises: 1. No row is dropped before a record announces the drop. 2. Of a prefix only its length
 *              is recorded. 3. Dropped bytes are charged as bytes written, once they were dropped.
 *              4. A dry run changes nothing and is not recorded. It is charged for the rows that it
 *              reads as a scan is, refused and paused by the same rates, and ends when its client
 *              is gone or its key or tenant becomes invalid.
 */
#ifndef GATEWAY_RECORDED_DROP_H
#define GATEWAY_RECORDED_DROP_H

#include "gateway/call.h"

struct gw_drop {
    struct sto_drop_op op;
    uint8_t end_bytes[LIM_ROW_KEY];
    size_t prefix_bytes; /* 0: all rows */
    /* only for a dry run */
    struct sto_usage counted; /* by the slices so far */
    struct buf resume;        /* start of the next slice, as the last one returned it */
    uint8_t start_bytes[LIM_ROW_KEY];
    void (*answer)(struct gw_call *call, const struct sto_drop_op *op);
};

/* Starts the drop. d is the state of call; range, dry_run and deadline of op are set, and answer,
 * which is called on success. */
void gw_drop_start(struct gw_call *call, struct gw_drop *d);

#endif

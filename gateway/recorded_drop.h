/*
 * gateway/recorded_drop.h - dropping many rows, recorded before it begins and when it has ended.
 *
 * Does:     put the action into the audit trail, have the engine drop the rows, record the end; or
 *           have the engine count them, slice by slice.
 * Owns:     nothing; works on the state of its call.
 * May use:  base/, storage/, tenancy/, gateway/.
 * Knows no: protocols.
 * Threads:  the call's loop; recording on the control thread.
 * Blocks:   no.
 * Fails by: refusing the call.
 * Limits:   LIM_ROW_KEY of a prefix.
 * Promises: 1. No row goes before a record says that rows go. 2. Of a prefix only its length is
 *              recorded. 3. What went is charged as bytes written, when it went. 4. A dry run
 *              changes nothing and is not recorded. It is charged for the rows that it reads as a
 *              scan is, refused and paused by the same rates, and ends when its client, its key or
 *              its tenant does.
 */
#ifndef GATEWAY_RECORDED_DROP_H
#define GATEWAY_RECORDED_DROP_H

#include "gateway/call.h"

struct gw_drop {
    struct sto_drop_op op;
    uint8_t end_bytes[LIM_ROW_KEY];
    size_t prefix_bytes; /* 0: all rows */
    /* of a dry run */
    struct sto_usage counted; /* by the slices so far */
    struct buf resume;        /* where the next one begins, as the last one says */
    uint8_t start_bytes[LIM_ROW_KEY];
    void (*answer)(struct gw_call *call, const struct sto_drop_op *op);
};

/* The state of call; range, dry_run and deadline of op are set, and answer, for success. */
void gw_drop_start(struct gw_call *call, struct gw_drop *d);

#endif

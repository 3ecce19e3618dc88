/*
 * gateway/grpc/filter_proto.h - a RowFilter message as a filter of storage.
 *
 * Does:     translates a filter, kind by kind.
 * Owns:     nothing; filters are in the arena, bytes stay in the message.
 * May use:  base/, storage/, gateway/grpc/decode.h.
 * Knows no: limits of filters: sto_filter_compile checks them.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID (no kind or an unknown one; pass_all, block_all, sink or strip_value that
 *           is false), ERR_NO_MEMORY.
 * Limits:   GW_PROTO_DEPTH, which the decoder has checked.
 * Promises: 1. Absent branches of a condition become STO_FILTER_NONE; absent bounds of ranges
 *              become no bounds.
 */
#ifndef GATEWAY_GRPC_FILTER_PROTO_H
#define GATEWAY_GRPC_FILTER_PROTO_H

#include <google/bigtable/v2/data.pb-c.h>

#include "base/arena.h"
#include "storage/filter.h"

enum err gw_filter_from_proto(const Bt__RowFilter *message, struct arena *arena,
                              struct sto_filter *out, struct errbuf *eb) MUST_CHECK;
/* Returns whether a loop may compile the filter: it is NULL, wrong, or compiled in no time
 * (sto_filter_is_small). */
bool gw_filter_is_small(const Bt__RowFilter *message, struct arena *arena);

#endif

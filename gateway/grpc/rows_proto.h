/*
 * gateway/grpc/rows_proto.h - a RowSet message as a row set of storage.
 *
 * Does:     translates keys and ranges; sorts and merges them.
 * Owns:     nothing; ranges are in the arena, bytes stay in the message.
 * May use:  base/, storage/, gateway/grpc/decode.h.
 * Knows no: tables.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID and ERR_TOO_BIG as storage/row_set.h, with the texts of the Bigtable API
 *           ("Row keys must be non-empty", "start_key must be less than end_key").
 * Limits:   LIM_ROW_SET.
 * Promises: 1. An absent or empty set is every row.
 */
#ifndef GATEWAY_GRPC_ROWS_PROTO_H
#define GATEWAY_GRPC_ROWS_PROTO_H

#include <google/bigtable/v2/data.pb-c.h>

#include "base/arena.h"
#include "storage/row_set.h"

/* Translates a row set; message may be NULL. */
enum err gw_rows_from_proto(const Bt__RowSet *message, struct arena *arena, struct sto_row_set *out,
                            struct errbuf *eb) MUST_CHECK;
/* Translates one range; replaces an open bound by a closed bound at the next key where storage
 * requires it. */
enum err gw_range_from_proto(const Bt__RowRange *message, struct arena *arena,
                             struct sto_row_range *out, struct errbuf *eb) MUST_CHECK;

#endif

/*
 * gateway/grpc/family_proto.h - ColumnFamily messages as storage's families, and back.
 *
 * Does:     translates gc rules and types of values.
 * Owns:     nothing; new structures are in the arena.
 * May use:  base/, storage/, gateway/grpc/decode.h.
 * Knows no: tables.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_TOO_BIG, ERR_UNSUPPORTED (types other than bytes, string, int64 and
 *           aggregates; int64 in another encoding), naming the part; ERR_NO_MEMORY, in both
 *           directions.
 * Limits:   LIM_GC_NODES, LIM_FILTER_DEPTH.
 * Promises: 1. A family that was read is written back as the same message, with the encoding of its
 *              type when the client left it out.
 */
#ifndef GATEWAY_GRPC_FAMILY_PROTO_H
#define GATEWAY_GRPC_FAMILY_PROTO_H

#include <google/bigtable/admin/v2/table.pb-c.h>

#include "base/arena.h"
#include "storage/schema.h"

/* Translates a family. The name is not copied. */
enum err gw_family_from_proto(struct slice name, const Bta__ColumnFamily *message,
                              struct arena *arena, struct sto_family_spec *out,
                              struct errbuf *eb) MUST_CHECK;
enum err gw_family_to_proto(const struct sto_family *family, struct arena *arena,
                            Bta__ColumnFamily **out, struct errbuf *eb) MUST_CHECK;

#endif

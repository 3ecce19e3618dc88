/*
 * gateway/grpc/table_proto.h - Table messages as requests to tenancy, and tables as messages.
 *
 * Does:     translates families, deletion protection, change streams, views of a table; names the
 *           backup that a table was restored from.
 * Owns:     nothing; new structures are in the arena.
 * May use:  base/, storage/, tenancy/, gateway/grpc/.
 * Knows no: calls.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_TOO_BIG, ERR_UNSUPPORTED naming the field; ERR_NO_MEMORY.
 * Limits:   LIM_FAMILIES.
 * Promises: 1. A field that cannot be honoured is refused, never left out silently.
 */
#ifndef GATEWAY_GRPC_TABLE_PROTO_H
#define GATEWAY_GRPC_TABLE_PROTO_H

#include <google/bigtable/admin/v2/table.pb-c.h>

#include "base/arena.h"
#include "gateway/grpc/resource.h"
#include "tenancy/registry.h"

/* Name of a tenant's only cluster. */
#define GW_CLUSTER "main"

/* Translates a table. message NULL: a table without families. */
enum err gw_table_from_proto(const Bta__Table *message, struct arena *arena,
                             struct ten_table_wanted *out, struct errbuf *eb) MUST_CHECK;
/* Translates the retention. message NULL: 0, no stream. Storage checks whether it is long
 * enough. */
enum err gw_change_retention_from_proto(const Bta__ChangeStreamConfig *message, uint64_t *out_s,
                                        struct errbuf *eb) MUST_CHECK;
/* Describes a table. instance: project and instance for the name. */
enum err gw_table_to_proto(const struct sto_schema *schema, const struct gw_resource *instance,
                           Bta__Table__View view, struct arena *arena, Bta__Table **out,
                           struct errbuf *eb) MUST_CHECK;

#endif

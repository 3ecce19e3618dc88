/*
 * gateway/grpc/view_proto.h - AuthorizedView messages as storage's views, and back.
 *
 * Does:     translates row prefixes, families, qualifiers; returns as much of a view as the request
 *           wants.
 * Owns:     nothing; lists are in the arena, bytes stay in the message or the view.
 * May use:  base/, storage/, tenancy/, gateway/grpc/.
 * Knows no: calls; limits and errors of views, which storage/view.h checks.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID naming the field, ERR_TOO_BIG before memory is allocated; ERR_NO_MEMORY.
 * Limits:   LIM_VIEW_PARTS, LIM_FAMILIES.
 * Promises: 1. from(to(x)) = x.
 */
#ifndef GATEWAY_GRPC_VIEW_PROTO_H
#define GATEWAY_GRPC_VIEW_PROTO_H

#include <google/bigtable/admin/v2/table.pb-c.h>

#include "base/arena.h"
#include "gateway/grpc/resource.h"
#include "storage/view.h"

/* Translates a view. message NULL, or one without a subset_view: ERR_INVALID. */
enum err gw_view_from_proto(const Bta__AuthorizedView *message, struct arena *arena,
                            struct sto_view_spec *out, struct errbuf *eb) MUST_CHECK;
/* Describes a view. of: project, instance and table for the name. */
enum err gw_view_to_proto(const struct sto_view *view, const struct gw_resource *of,
                          Bta__AuthorizedView__ResponseView wanted, struct arena *arena,
                          Bta__AuthorizedView **out, struct errbuf *eb) MUST_CHECK;

#endif

/*
 * gateway/grpc/mutation_proto.h - Mutation and ReadModifyWriteRule messages as storage's.
 *
 * Does:     translate lists of mutations and rules, families against a schema; tokens of
 *           idempotency.
 * Owns:     nothing; mutations lie in the arena, bytes stay in the message.
 * May use:  base/, storage/, gateway/cell_fields.h, gateway/grpc/decode.h.
 * Knows no: rows.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID naming the mutation's number, ERR_NOT_FOUND (family), ERR_TOO_BIG,
 *           ERR_NO_MEMORY. What else may be wrong is for sto_mutations_check.
 * Limits:   LIM_MUTATIONS_PER_ROW, LIM_MODIFY_RULES, before memory is taken for them.
 * Promises: 1. A kind that is not known is an error, never left out.
 *           2. Timestamps of a client that made them itself (CLIENT_AUTO_GENERATED) are cut to
 *              milliseconds; others are taken as they are.
 */
#ifndef GATEWAY_GRPC_MUTATION_PROTO_H
#define GATEWAY_GRPC_MUTATION_PROTO_H

#include <google/bigtable/v2/bigtable.pb-c.h>

#include "base/arena.h"
#include "storage/engine.h"

enum err gw_mutations_from_proto(const struct sto_schema *schema, Bt__Mutation *const *messages,
                                 size_t count, struct arena *arena, struct sto_mutation **out,
                                 struct errbuf *eb) MUST_CHECK;
enum err gw_rules_from_proto(const struct sto_schema *schema,
                             Bt__ReadModifyWriteRule *const *messages, size_t count,
                             struct arena *arena, struct sto_mutation **out,
                             struct errbuf *eb) MUST_CHECK;
/* Bytes of keys and values among them, as gw_budget_bytes_of counts them later. */
uint64_t gw_mutations_proto_bytes(Bt__Mutation *const *messages, size_t count);
/* message NULL: none. */
enum err gw_idempotency_from_proto(const Bt__Idempotency *message, struct sto_idempotency *out,
                                   struct errbuf *eb) MUST_CHECK;

#endif

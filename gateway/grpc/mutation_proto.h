/*
 * gateway/grpc/mutation_proto.h - Mutation and ReadModifyWriteRule messages as storage's.
 *
 * Does:     translates lists of mutations and rules, and resolves families by a schema; translates
 *           idempotency tokens.
 * Owns:     nothing; mutations are in the arena, bytes stay in the message.
 * May use:  base/, storage/, gateway/cell_fields.h, gateway/grpc/decode.h.
 * Knows no: rows.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID naming the mutation's number, ERR_NOT_FOUND (family), ERR_TOO_BIG,
 *           ERR_NO_MEMORY. sto_mutations_check finds all other errors.
 * Limits:   LIM_MUTATIONS_PER_ROW, LIM_MODIFY_RULES, checked before memory is allocated.
 * Promises: 1. An unknown kind is an error, never left out.
 *           2. Timestamps of a client that generated them itself (CLIENT_AUTO_GENERATED) are cut to
 *              milliseconds; others are used as they are.
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
/* Returns the bytes of keys and values in the mutations, as gw_budget_bytes_of counts them
 * later. */
uint64_t gw_mutations_proto_bytes(Bt__Mutation *const *messages, size_t count);
/* Translates a token. message NULL: none. */
enum err gw_idempotency_from_proto(const Bt__Idempotency *message, struct sto_idempotency *out,
                                   struct errbuf *eb) MUST_CHECK;

#endif

/*
 * gateway/api/idempotency.h - requests that may be resent without being executed again.
 *
 * Does:     reads a token and the time of the first attempt, from headers or from members of a
 *           line.
 * Owns:     nothing.
 * May use:  base/, storage/, gateway/api/time_unit.h, gateway/exchange.h.
 * Knows no: storage of tokens.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID naming the field and the limit; ERR_NO_MEMORY.
 * Limits:   LIM_IDEMPOTENCY_TOKEN_MIN, LIM_IDEMPOTENCY_TOKEN.
 * Promises: 1. Without a token the result is empty, and every repetition of the request is
 *              executed.
 */
#ifndef GATEWAY_API_IDEMPOTENCY_H
#define GATEWAY_API_IDEMPOTENCY_H

#include "base/arena.h"
#include "gateway/exchange.h"
#include "storage/engine.h"

/* Checks a token. token.ptr NULL: none. start.ptr NULL: now. name: of the token's field, for
 * errors. */
enum err gw_idempotency_make(struct slice token, struct slice start, const char *name,
                             struct sto_idempotency *out, struct errbuf *eb) MUST_CHECK;
/* Reads Idempotency-Key, with or without quotes, and Idempotency-Start; copies the token. */
enum err gw_idempotency_of_request(const struct gw_exchange *ex, struct arena *arena,
                                   struct sto_idempotency *out, struct errbuf *eb) MUST_CHECK;

#endif

/*
 * gateway/budget.h - reports a caller's limits and the cost of a request.
 *
 * Does:     adds RateLimit, RateLimit-Policy, Retry-After and Bigtent-Cost to responses; computes
 *           the charge of a write.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/, gateway/call.h, gateway/api/json_out.h.
 * Knows no: routes, methods.
 * Threads:  the loop of the call.
 * Blocks:   no.
 * Fails by: does not fail; values that do not fit into a head are left out.
 * Limits:   GW_RESPONSE_HEADER_BYTES.
 * Promises: 1. Responses report only the limits of the acting tenant and of the caller's key; a
 *              caller that acts for no tenant receives no limits.
 *           2. A caller without limits costs a few loads, and receives no RateLimit.
 * Source:   draft-ietf-httpapi-ratelimit-headers-10.
 */
#ifndef GATEWAY_BUDGET_H
#define GATEWAY_BUDGET_H

#include "gateway/call.h"

/* Adds RateLimit-Policy with every policy, and RateLimit with the policies that this request was
 * checked against. Adds Retry-After as well when one of them is used up, unless the response has
 * its own. Call before start. */
void gw_budget_put_limits(struct gw_call *call, bool has_retry_after);
/* Adds Bigtent-Cost if the call was charged and nothing more will be charged: to the head, before
 * start, or to the trailers, before the end. */
void gw_budget_put_cost(struct gw_call *call);
void gw_budget_put_cost_trailer(struct gw_call *call);

/* Returns the bytes of keys and values of a write; of the two lists of a conditional write, the
 * larger one counts. */
uint64_t gw_budget_bytes_of(const struct sto_mutate_op *op);

#endif

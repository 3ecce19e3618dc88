/*
 * gateway/budget.h - what a caller is told of his limits, and what a request has cost.
 *
 * Does:     put RateLimit, RateLimit-Policy, Retry-After and Bigtent-Cost into answers; say what is
 *           charged for a write.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/, gateway/call.h, gateway/api/json_out.h.
 * Knows no: routes, methods.
 * Threads:  the loop of the call.
 * Blocks:   no.
 * Fails by: does not fail; what does not fit into a head is left out.
 * Limits:   GW_RESPONSE_HEADER_BYTES.
 * Promises: 1. Only the limits of the acting tenant and of the caller's key are told; nothing to
 *              who acts for no tenant.
 *           2. Who has no limits pays a few loads, and gets no RateLimit.
 * Source:   draft-ietf-httpapi-ratelimit-headers-10.
 */
#ifndef GATEWAY_BUDGET_H
#define GATEWAY_BUDGET_H

#include "gateway/call.h"

/* RateLimit-Policy: every policy there is; RateLimit: those this request was held against.
 * Retry-After as well when one of them is used up, unless the answer has its own. Before start. */
void gw_budget_put_limits(struct gw_call *call, bool has_retry_after);
/* Bigtent-Cost, when something was charged and nothing more will be: in the head, before start; in
 * the trailers, before the end. */
void gw_budget_put_cost(struct gw_call *call);
void gw_budget_put_cost_trailer(struct gw_call *call);

/* Keys and values of a write; of the two lists of a conditional one, the larger. */
uint64_t gw_budget_bytes_of(const struct sto_mutate_op *op);

#endif

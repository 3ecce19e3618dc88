/*
 * gateway/api/dispatch.h - from a request's head to its handler, through every check, in one order.
 *
 * Does:     checks route, method, credential, scope, acting tenant, state and rate, table, query,
 *           body; collects the body; starts the handler.
 * Owns:     nothing.
 * May use:  base/, tenancy/, auth/, gateway/.
 * Knows no: effect of handlers.
 * Threads:  the loop.
 * Blocks:   no.
 * Fails by: answering with a problem.
 * Limits:   the route's body_max.
 * Promises: 1. A handler never runs before every check passed.
 *           2. A refusal reveals nothing about tenants or tables that the caller has no right to.
 */
#ifndef GATEWAY_API_DISPATCH_H
#define GATEWAY_API_DISPATCH_H

#include "gateway/api/rest.h"

void gw_dispatch(struct gw_api_thread *thread, struct gw_exchange *ex);

#endif

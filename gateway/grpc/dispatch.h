/*
 * gateway/grpc/dispatch.h - from a gRPC request's head to its handler, through every check.
 *
 * Does:     method, credential, scope; collect and decode the message; the resource it names, the
 *           acting tenant, state and rate, table and view; start the handler.
 * Owns:     nothing.
 * May use:  base/, tenancy/, auth/, gateway/.
 * Knows no: what methods do.
 * Threads:  the loop.
 * Blocks:   no.
 * Fails by: ending the call with a status.
 * Limits:   GW_RPC_MESSAGE_MAX a message; the memory of whoever calls (base/memory.h).
 * Promises: 1. A handler never runs before every check passed.
 *           2. A refusal says nothing about tenants or tables the caller has no right to.
 */
#ifndef GATEWAY_GRPC_DISPATCH_H
#define GATEWAY_GRPC_DISPATCH_H

#include "gateway/grpc/rpc.h"

void gw_rpc_dispatch(struct gw_api_thread *thread, struct gw_exchange *ex);

#endif

/*
 * gateway/grpc/dispatch.h - from a gRPC request's head to its handler, through every check.
 *
 * Does:     checks method, credential, scope; collects and decodes the message; checks the resource
 *           that it names, the acting tenant, state and rate, table and view; starts the handler.
 * Owns:     nothing.
 * May use:  base/, tenancy/, auth/, gateway/.
 * Knows no: effect of methods.
 * Threads:  the loop.
 * Blocks:   no.
 * Fails by: ending the call with a status.
 * Limits:   GW_RPC_MESSAGE_MAX per message; the memory share of the caller (base/memory.h).
 * Promises: 1. A handler never runs before every check passed.
 *           2. A refusal reveals nothing about tenants or tables that the caller has no right to.
 */
#ifndef GATEWAY_GRPC_DISPATCH_H
#define GATEWAY_GRPC_DISPATCH_H

#include "gateway/grpc/rpc.h"

void gw_rpc_dispatch(struct gw_api_thread *thread, struct gw_exchange *ex);

#endif

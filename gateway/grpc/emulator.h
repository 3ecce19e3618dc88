/*
 * gateway/grpc/emulator.h - tenants of the plaintext listener, which takes the emulator's place.
 *
 * Does:     finds the tenant of an instance of a project; creates it when the instance is used for
 *           the first time.
 * Owns:     nothing.
 * May use:  base/, tenancy/, gateway/grpc/rpc.h.
 * Knows no: sockets.
 * Threads:  the loop of the call.
 * Blocks:   no: tenants are created on the control thread.
 * Fails by: ending the call with a status.
 * Limits:   LIM_PROJECT, LIM_INSTANCE_ID; LIM_INSTANCES of a project.
 * Promises: 1. Only keyless tenants, created here, are reached; all others are refused alike,
 *              whatever their state.
 *           2. Two projects, or two instances of one project, are never the same tenant.
 *           3. The names in the call's resource stay as the client wrote them, for the responses.
 */
#ifndef GATEWAY_GRPC_EMULATOR_H
#define GATEWAY_GRPC_EMULATOR_H

#include "gateway/grpc/rpc.h"

/* Finds the acting tenant. True: call->tenant is set. False: the call was ended, or `then` runs
 * once the tenant exists. For a method with `finds` (method.h) no tenant is created. A call that
 * names all instances of a project acts for any one of them; if there is none, it ends with an
 * empty message, which is an empty list. */
bool gw_emulator_act_for(struct gw_rpc *rpc, void (*then)(struct gw_rpc *rpc));

/* Returns whether the call names no instance, or '-', which means all. */
bool gw_emulator_names_all(const struct gw_rpc *rpc);
/* Lists the tenants of the call's project, except tenants that are being removed or are gone; on
 * the control thread, in the arena. ERR_NO_MEMORY, ERR_FORBIDDEN. */
enum err gw_emulator_tenants(struct gw_call *call, struct ten_tenant ***out, size_t *out_count,
                             struct errbuf *eb) MUST_CHECK;

#endif

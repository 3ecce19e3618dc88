/*
 * gateway/grpc/emulator.h - tenants of the plaintext listener, which takes the emulator's place.
 *
 * Does:     find the tenant that an instance of a project is there; make it when it is used for
 *           the first time.
 * Owns:     nothing.
 * May use:  base/, tenancy/, gateway/grpc/rpc.h.
 * Knows no: sockets.
 * Threads:  the loop of the call.
 * Blocks:   no: tenants are made on the control thread.
 * Fails by: ending the call with a status.
 * Limits:   LIM_PROJECT, LIM_INSTANCE_ID; LIM_INSTANCES of a project.
 * Promises: 1. Only keyless tenants, made here, are reached; all others are refused alike, whatever
 *              their state.
 *           2. Two projects, or two instances of one, never are the same tenant.
 *           3. The names in the call's resource stay as the client wrote them, for its answers.
 */
#ifndef GATEWAY_GRPC_EMULATOR_H
#define GATEWAY_GRPC_EMULATOR_H

#include "gateway/grpc/rpc.h"

/* True: call->tenant is set. False: the call was ended, or then runs once the tenant is there. For
 * a method that finds (method.h) no tenant is made; one that names all instances of a project acts
 * for any, and an answer without a field, an empty list, ends it when there is none. */
bool gw_emulator_act_for(struct gw_rpc *rpc, void (*then)(struct gw_rpc *rpc));

/* The call names no instance, or '-', which is all. */
bool gw_emulator_names_all(const struct gw_rpc *rpc);
/* Control thread: those of the call's project, but for tenants that are being removed or are gone;
 * in the arena. ERR_NO_MEMORY, ERR_FORBIDDEN. */
enum err gw_emulator_tenants(struct gw_call *call, struct ten_tenant ***out, size_t *out_count,
                             struct errbuf *eb) MUST_CHECK;

#endif

/*
 * gateway/grpc/emulator.h - tenants of the plaintext listener, which takes the emulator's place.
 *
 * Does:     find the tenant that projects/TENANT means there; make it when it is named for the
 *           first time.
 * Owns:     nothing.
 * May use:  base/, tenancy/, gateway/grpc/rpc.h.
 * Knows no: sockets.
 * Threads:  the loop of the call.
 * Blocks:   no: tenants are made on the control thread.
 * Fails by: ending the call with a status.
 * Limits:   those of tenant IDs.
 * Promises: 1. Only keyless tenants, made here, are reached; all others are refused alike, whatever
 *              their state.
 */
#ifndef GATEWAY_GRPC_EMULATOR_H
#define GATEWAY_GRPC_EMULATOR_H

#include "gateway/grpc/rpc.h"

/* True: call->tenant is set. False: the call was ended, or then runs once the tenant is there. */
bool gw_emulator_act_for(struct gw_rpc *rpc, void (*then)(struct gw_rpc *rpc));

#endif

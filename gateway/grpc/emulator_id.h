/*
 * gateway/grpc/emulator_id.h - the tenants that projects of the emulator's listener stand for.
 *
 * Does:     say whether a project's name is a tenant ID as it is; make the ID of the tenant of any
 *           project and instance.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: which tenants exist.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none: names of any length have an ID.
 * Promises: 1. An ID that is made is "emu-", 16 hexadecimal digits, '-', and 32 of them: 64 bits of
 *              the SHA-256 of the project, 128 bits of the SHA-256 of project and instance.
 *           2. No project whose name is a tenant ID as it is has that form, so that IDs that are
 *              made and names never meet.
 *           3. IDs made for one project begin alike, and with that part alone.
 */
#ifndef GATEWAY_GRPC_EMULATOR_ID_H
#define GATEWAY_GRPC_EMULATOR_ID_H

#include <stdbool.h>

#include "base/limits.h"
#include "base/slice.h"

/* A tenant can have that ID, and the project's first instance has it. */
bool gw_emulator_is_tenant_id(struct slice project);

/* Ends in NUL. */
void gw_emulator_id_make(struct slice project, struct slice instance, char out[LIM_TENANT_ID + 1]);

/* What the IDs of a project's instances begin with, and those of no other project do. */
struct slice gw_emulator_id_prefix(const char *id);

#endif

/*
 * gateway/grpc/emulator_id.h - tenant IDs for projects of the emulator's listener.
 *
 * Does:     checks whether a project's name is a tenant ID itself; computes the ID of the tenant of
 *           any project and instance.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: existing tenants.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none: names of any length have an ID.
 * Promises: 1. A computed ID is "emu-", 16 hexadecimal digits, '-', and 32 of them: 64 bits of the
 *              SHA-256 of the project, 128 bits of the SHA-256 of project and instance.
 *           2. No project name that is a tenant ID itself has that form, so computed IDs and names
 *              never collide.
 *           3. IDs computed for one project share a prefix, and no other IDs have that prefix.
 */
#ifndef GATEWAY_GRPC_EMULATOR_ID_H
#define GATEWAY_GRPC_EMULATOR_ID_H

#include <stdbool.h>

#include "base/limits.h"
#include "base/slice.h"

/* Returns whether a tenant can have that name as its ID; the project's first instance then has
 * it. */
bool gw_emulator_is_tenant_id(struct slice project);

/* Computes an ID, which ends in NUL. */
void gw_emulator_id_make(struct slice project, struct slice instance, char out[LIM_TENANT_ID + 1]);

/* Returns the prefix that the IDs of all instances of a project share, and no ID of another project
 * has. */
struct slice gw_emulator_id_prefix(const char *id);

#endif

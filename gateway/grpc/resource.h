/*
 * gateway/grpc/resource.h - names like projects/acme/instances/main/tables/devices.
 *
 * Does:     parses names and builds them.
 * Owns:     nothing; parts point into the name.
 * May use:  base/, tenancy/tenant.h.
 * Knows no: existence of the named object, right to name it.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID saying what form the name must have.
 * Limits:   none of its own.
 * Promises: 1. No part of an accepted name is empty.
 */
#ifndef GATEWAY_GRPC_RESOURCE_H
#define GATEWAY_GRPC_RESOURCE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* Kinds of names. Deeper ones contain the parts of those before them. */
enum gw_resource_kind {
    GW_RESOURCE_NONE,
    GW_RESOURCE_PROJECT,     /* projects/P */
    GW_RESOURCE_INSTANCE,    /* projects/P/instances/I */
    GW_RESOURCE_CLUSTER,     /* .../clusters/C */
    GW_RESOURCE_APP_PROFILE, /* .../appProfiles/A */
    GW_RESOURCE_TABLE,       /* .../tables/T */
    GW_RESOURCE_VIEW,        /* .../tables/T/authorizedViews/V */
    GW_RESOURCE_BACKUP,      /* .../clusters/C/backups/B */
    GW_RESOURCE_OPERATION,   /* operations/projects/P/.../operations/ID */
    GW_RESOURCE_ANY,         /* only for parsing: an instance, or an object in it; no operation */
};

struct gw_resource {
    enum gw_resource_kind kind;
    struct slice project;
    struct slice instance;
    struct slice cluster; /* also of a backup */
    struct slice table;
    struct slice leaf; /* of a profile, view, backup, operation */
    bool is_exact;     /* the instance has no alias: at the emulator's listener */
};

enum err gw_resource_parse(struct slice name, enum gw_resource_kind kind, struct gw_resource *out,
                           struct errbuf *eb) MUST_CHECK;

/* Alias of the instance "main", for clients that refuse IDs of less than 6 characters. Not at the
 * emulator's listener, where both are instances. */
#define GW_INSTANCE_ALIAS "bigtent"

/* Returns whether the instance in a name is the tenant's own. */
bool gw_resource_is_own_instance(struct slice named, struct slice own);

/* Returns the name as text, ending in NUL, in the arena's memory; NULL: no memory. */
struct arena;
char *gw_resource_name(struct arena *arena, const struct gw_resource *resource);

#endif

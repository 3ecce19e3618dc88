/*
 * gateway/grpc/resource.h - names like projects/acme/instances/main/tables/devices.
 *
 * Does:     take them apart and put them together.
 * Owns:     nothing; parts point into the name.
 * May use:  base/, tenancy/tenant.h.
 * Knows no: whether what is named exists, or who may name it.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID saying what form the name must have.
 * Limits:   none of its own.
 * Promises: 1. No part of a name that was taken is empty.
 */
#ifndef GATEWAY_GRPC_RESOURCE_H
#define GATEWAY_GRPC_RESOURCE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* Deeper ones contain those before them. */
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
    GW_RESOURCE_ANY,         /* to be parsed: an instance, or what is in it; no operation */
};

struct gw_resource {
    enum gw_resource_kind kind;
    struct slice project;
    struct slice instance;
    struct slice cluster; /* of a backup, too */
    struct slice table;
    struct slice leaf; /* of a profile, view, backup, operation */
    bool is_exact;     /* the instance has no other name: at the emulator's listener */
};

enum err gw_resource_parse(struct slice name, enum gw_resource_kind kind, struct gw_resource *out,
                           struct errbuf *eb) MUST_CHECK;

/* Another name of the instance "main", for clients that refuse IDs of less than 6 characters. Not
 * at the emulator's listener, where both are instances. */
#define GW_INSTANCE_ALIAS "bigtent"

/* Whether that instance of a name is a tenant's own. */
bool gw_resource_is_own_instance(struct slice named, struct slice own);

/* The name as text, ending in NUL, in the arena's memory; NULL: no memory. */
struct arena;
char *gw_resource_name(struct arena *arena, const struct gw_resource *resource);

#endif

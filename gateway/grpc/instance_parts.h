/*
 * gateway/grpc/instance_parts.h - the parts that an instance is created with: clusters, and its
 * first profile.
 *
 * Does:     adds a cluster as a client describes it; adds the application profile "default".
 * Owns:     nothing; messages are in the call's arena.
 * May use:  gateway/grpc/instance_state.h.
 * Knows no: methods.
 * Threads:  the control thread.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_EXISTS, ERR_QUOTA, ERR_NO_MEMORY.
 * Limits:   LIM_CLUSTERS, LIM_APP_PROFILES.
 * Promises: 1. An added part is complete: fields that the client left out have their default
 *              values.
 */
#ifndef GATEWAY_GRPC_INSTANCE_PARTS_H
#define GATEWAY_GRPC_INSTANCE_PARTS_H

#include "gateway/grpc/instance_state.h"

/* Adds a cluster. said NULL: the client described nothing of it. */
enum err gw_cluster_add(struct gw_call *call, struct gw_instance *in, const char *id,
                        const Bta__Cluster *said, struct errbuf *eb) MUST_CHECK;
/* Adds the profile "default", which routes to the only cluster, or to any. */
enum err gw_profile_add_default(struct gw_call *call, struct gw_instance *in,
                                struct errbuf *eb) MUST_CHECK;

#endif

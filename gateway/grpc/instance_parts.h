/*
 * gateway/grpc/instance_parts.h - what an instance is made with: clusters, and its first profile.
 *
 * Does:     add a cluster as a client describes it; the application profile "default".
 * Owns:     nothing; messages are in the call's arena.
 * May use:  gateway/grpc/instance_state.h.
 * Knows no: methods.
 * Threads:  the control thread.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_EXISTS, ERR_QUOTA, ERR_NO_MEMORY.
 * Limits:   LIM_CLUSTERS, LIM_APP_PROFILES.
 * Promises: 1. What is added is complete: what the client left out has the value that it means.
 */
#ifndef GATEWAY_GRPC_INSTANCE_PARTS_H
#define GATEWAY_GRPC_INSTANCE_PARTS_H

#include "gateway/grpc/instance_state.h"

/* said NULL: nothing of it was said. */
enum err gw_cluster_add(struct gw_call *call, struct gw_instance *in, const char *id,
                        const Bta__Cluster *said, struct errbuf *eb) MUST_CHECK;
/* To the only cluster, or to any. */
enum err gw_profile_add_default(struct gw_call *call, struct gw_instance *in,
                                struct errbuf *eb) MUST_CHECK;

#endif

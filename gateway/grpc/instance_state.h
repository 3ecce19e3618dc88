/*
 * gateway/grpc/instance_state.h - an instance with its clusters and application profiles.
 *
 * Does:     read what clients of the emulator's listener made of an instance, change it in memory,
 *           write it back; describe each part under its full name. An instance that nobody made is
 *           described as what a tenant is: one cluster, one profile.
 * Owns:     nothing; messages are in the call's arena. Their names are IDs there.
 * May use:  base/, tenancy/, gateway/grpc/.
 * Knows no: methods.
 * Threads:  the control thread, but for tenants with keys, of which nothing is stored: any thread
 *           joined to the epoch.
 * Blocks:   on the disk, for a keyless tenant.
 * Fails by: as said per function.
 * Limits:   LIM_CLUSTERS, LIM_APP_PROFILES, LIM_INSTANCE_DOC.
 * Promises: 1. What is written is read again by later programs: tags and messages only grow.
 */
#ifndef GATEWAY_GRPC_INSTANCE_STATE_H
#define GATEWAY_GRPC_INSTANCE_STATE_H

#include <google/bigtable/admin/v2/bigtable_instance_admin.pb-c.h>

#include "gateway/grpc/rpc.h"

#define GW_PROFILE_DEFAULT "default"

struct gw_instance {
    struct ten_tenant *tenant;
    Bta__Instance *instance;              /* NULL: there is none */
    Bta__Cluster *clusters[LIM_CLUSTERS]; /* both sorted by ID */
    size_t cluster_count;
    Bta__AppProfile *profiles[LIM_APP_PROFILES];
    size_t profile_count;
    bool is_stored;   /* a client made it, or changed it */
    uint64_t version; /* of the stored document; 0: none */
};

/* ERR_NO_MEMORY, ERR_CORRUPT, errors of the disk. An instance that nobody made is there as its
 * tenant is; one that was deleted, when it has a table again. */
enum err gw_instance_read(struct gw_call *call, struct ten_tenant *tenant, struct gw_instance *out,
                          struct errbuf *eb) MUST_CHECK;
/* The same of the call's tenant; ERR_NOT_FOUND when there is no instance. */
enum err gw_instance_get(struct gw_call *call, struct gw_instance *out,
                         struct errbuf *eb) MUST_CHECK;
/* As tenancy/instance_doc.h; is_stored is true then. Without an instance: it was deleted. */
enum err gw_instance_write(struct gw_call *call, struct gw_instance *in,
                           struct errbuf *eb) MUST_CHECK;

/* An ID that a client gives to an instance, a cluster or a profile. ERR_INVALID. */
enum err gw_instance_id_check(const char *what, const char *id, struct errbuf *eb) MUST_CHECK;

/* The index of the first whose ID is not before that one; *out_found: it is that one. */
size_t gw_instance_cluster_at(const struct gw_instance *in, struct slice id, bool *out_found);
size_t gw_instance_profile_at(const struct gw_instance *in, struct slice id, bool *out_found);
/* ERR_NOT_FOUND. */
enum err gw_instance_cluster(const struct gw_instance *in, struct slice id, size_t *out_at,
                             struct errbuf *eb) MUST_CHECK;
enum err gw_instance_profile(const struct gw_instance *in, struct slice id, size_t *out_at,
                             struct errbuf *eb) MUST_CHECK;
/* ERR_EXISTS; ERR_QUOTA over the limit. */
enum err gw_instance_add_cluster(struct gw_instance *in, Bta__Cluster *cluster,
                                 struct errbuf *eb) MUST_CHECK;
enum err gw_instance_add_profile(struct gw_instance *in, Bta__AppProfile *profile,
                                 struct errbuf *eb) MUST_CHECK;

/* Copies under their full names; NULL: no memory. */
Bta__Instance *gw_instance_describe(struct gw_call *call, const struct gw_instance *in);
Bta__Cluster *gw_instance_describe_cluster(struct gw_call *call, const struct gw_instance *in,
                                           size_t at);
Bta__AppProfile *gw_instance_describe_profile(struct gw_call *call, const struct gw_instance *in,
                                              size_t at);
/* The text that a profile's etag is as long as it says the same; NULL: no memory. */
char *gw_instance_etag(struct gw_call *call, const Bta__AppProfile *profile);
/* ERR_NO_MEMORY. */
enum err gw_instance_no_memory(struct errbuf *eb);

/* What a call is about, when it is done: an instance, a cluster or a profile, by its ID (of an
 * instance: ""), becomes the call's state. ERR_NOT_FOUND. */
enum err gw_instance_part(struct gw_call *call, enum gw_resource_kind kind, struct slice id,
                          struct errbuf *eb) MUST_CHECK;

/* Run work where it may read what is stored, then reply. */
void gw_instance_run(struct gw_call *call,
                     enum err (*work)(struct gw_call *call, struct errbuf *eb),
                     void (*reply)(struct gw_call *call));

#endif

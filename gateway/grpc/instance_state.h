/*
 * gateway/grpc/instance_state.h - an instance with its clusters and application profiles.
 *
 * Does:     reads the settings that clients of the emulator's listener gave an instance, changes
 *           them in memory, writes them back; describes each part under its full name. An instance
 *           that no client created is described as its tenant: one cluster, one profile.
 * Owns:     nothing; messages are in the call's arena. Names in them are IDs.
 * May use:  base/, tenancy/, gateway/grpc/.
 * Knows no: methods.
 * Threads:  the control thread; for tenants with keys, of which nothing is stored, any thread
 *           joined to the epoch.
 * Blocks:   on the disk, for a keyless tenant.
 * Fails by: see the functions.
 * Limits:   LIM_CLUSTERS, LIM_APP_PROFILES, LIM_INSTANCE_DOC.
 * Promises: 1. Later programs can read what is written: tags and messages only grow.
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
    bool is_stored;   /* a client created it, or changed it */
    uint64_t version; /* of the stored document; 0: none */
};

/* Reads an instance. ERR_NO_MEMORY, ERR_CORRUPT, errors of the disk. An instance that no client
 * created exists with its tenant; a deleted instance exists again when it has a table again. */
enum err gw_instance_read(struct gw_call *call, struct ten_tenant *tenant, struct gw_instance *out,
                          struct errbuf *eb) MUST_CHECK;
/* Reads the instance of the call's tenant; ERR_NOT_FOUND when there is no instance. */
enum err gw_instance_get(struct gw_call *call, struct gw_instance *out,
                         struct errbuf *eb) MUST_CHECK;
/* Writes an instance, as tenancy/instance_doc.h says; is_stored is true afterwards. Without an
 * instance: writes that it was deleted. */
enum err gw_instance_write(struct gw_call *call, struct gw_instance *in,
                           struct errbuf *eb) MUST_CHECK;

/* Checks an ID that a client chose for an instance, a cluster or a profile. ERR_INVALID. */
enum err gw_instance_id_check(const char *what, const char *id, struct errbuf *eb) MUST_CHECK;

/* Returns the index of the first part whose ID is not less than that ID; *out_found: the IDs are
 * equal. */
size_t gw_instance_cluster_at(const struct gw_instance *in, struct slice id, bool *out_found);
size_t gw_instance_profile_at(const struct gw_instance *in, struct slice id, bool *out_found);
/* Finds a part; ERR_NOT_FOUND. */
enum err gw_instance_cluster(const struct gw_instance *in, struct slice id, size_t *out_at,
                             struct errbuf *eb) MUST_CHECK;
enum err gw_instance_profile(const struct gw_instance *in, struct slice id, size_t *out_at,
                             struct errbuf *eb) MUST_CHECK;
/* Adds a part; ERR_EXISTS; ERR_QUOTA over the limit. */
enum err gw_instance_add_cluster(struct gw_instance *in, Bta__Cluster *cluster,
                                 struct errbuf *eb) MUST_CHECK;
enum err gw_instance_add_profile(struct gw_instance *in, Bta__AppProfile *profile,
                                 struct errbuf *eb) MUST_CHECK;

/* Return copies under their full names; NULL: no memory. */
Bta__Instance *gw_instance_describe(struct gw_call *call, const struct gw_instance *in);
Bta__Cluster *gw_instance_describe_cluster(struct gw_call *call, const struct gw_instance *in,
                                           size_t at);
Bta__AppProfile *gw_instance_describe_profile(struct gw_call *call, const struct gw_instance *in,
                                              size_t at);
/* Returns the etag of a profile, the same text as long as the profile's content is the same; NULL:
 * no memory. */
char *gw_instance_etag(struct gw_call *call, const Bta__AppProfile *profile);
/* Returns ERR_NO_MEMORY, with its text. */
enum err gw_instance_no_memory(struct errbuf *eb);

/* Makes the subject of a finished call its state: an instance, a cluster or a profile, by its ID
 * (of an instance: ""). ERR_NOT_FOUND. */
enum err gw_instance_part(struct gw_call *call, enum gw_resource_kind kind, struct slice id,
                          struct errbuf *eb) MUST_CHECK;

/* Runs work on a thread that may read the stored settings, then reply. */
void gw_instance_run(struct gw_call *call,
                     enum err (*work)(struct gw_call *call, struct errbuf *eb),
                     void (*reply)(struct gw_call *call));

#endif

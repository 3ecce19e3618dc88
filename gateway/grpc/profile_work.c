/*
 * gateway/grpc/profile_work.c - BigtableInstanceAdmin at the emulator's listener: creates, changes
 * and deletes application profiles.
 */
#include <google/protobuf/empty.pb-c.h>

#include "gateway/grpc/field_mask.h"
#include "gateway/grpc/handlers.h"
#include "gateway/grpc/instance_parts.h"
#include "gateway/grpc/operation.h"

#include "base/banned.h"

#define SINGLE BTA__APP_PROFILE__ROUTING_POLICY_SINGLE_CLUSTER_ROUTING
#define MULTI  BTA__APP_PROFILE__ROUTING_POLICY_MULTI_CLUSTER_ROUTING_USE_ANY

static const char *const CHANGEABLE[] = {"description",
                                         "multi_cluster_routing_use_any",
                                         "single_cluster_routing",
                                         "priority",
                                         "standard_isolation",
                                         "data_boost_isolation_read_only",
                                         NULL};

/* The result of a task, for the response. */
struct change {
    struct gw_instance in;
    Bta__AppProfile *described;
};

static void change_new(struct gw_call *call)
{
    (void)gw_call_new_state(call, sizeof(struct change), NULL);
}

/* --- settings of a profile ---------------------------------------------------------------------
 */

static enum err check_routing(const struct gw_instance *in, const Bta__AppProfile *profile,
                              struct errbuf *eb)
{
    size_t at = 0;
    if (profile->routing_policy_case == SINGLE)
        return gw_instance_cluster(in, base_slice_text(profile->single_cluster_routing->cluster_id),
                                   &at, eb);
    if (profile->routing_policy_case != MULTI)
        return base_fail(eb, ERR_INVALID,
                         "the routing policy is missing: multi_cluster_routing_use_any or "
                         "single_cluster_routing");
    const Bta__AppProfile__MultiClusterRoutingUseAny *any = profile->multi_cluster_routing_use_any;
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < any->n_cluster_ids; i++)
        e = gw_instance_cluster(in, base_slice_text(any->cluster_ids[i]), &at, eb);
    return e;
}

/* Fills in the isolation: the default is the standard one, of high priority. */
static enum err complete(struct gw_call *call, Bta__AppProfile *profile, struct errbuf *eb)
{
    if (profile->isolation_case != BTA__APP_PROFILE__ISOLATION__NOT_SET)
        return ERR_OK;
    Bta__AppProfile__StandardIsolation *standard =
        gw_proto_new(&call->arena, &bta__app_profile__standard_isolation__descriptor);
    if (standard == NULL)
        return gw_instance_no_memory(eb);
    standard->priority = BTA__APP_PROFILE__PRIORITY__PRIORITY_HIGH;
    profile->isolation_case = BTA__APP_PROFILE__ISOLATION_STANDARD_ISOLATION;
    profile->standard_isolation = standard;
    return ERR_OK;
}

enum err gw_profile_add_default(struct gw_call *call, struct gw_instance *in, struct errbuf *eb)
{
    static char id[] = GW_PROFILE_DEFAULT;
    Bta__AppProfile *profile = gw_proto_new(&call->arena, &bta__app_profile__descriptor);
    Bta__AppProfile__SingleClusterRouting *single =
        gw_proto_new(&call->arena, &bta__app_profile__single_cluster_routing__descriptor);
    Bta__AppProfile__MultiClusterRoutingUseAny *any =
        gw_proto_new(&call->arena, &bta__app_profile__multi_cluster_routing_use_any__descriptor);
    if (profile == NULL || single == NULL || any == NULL)
        return gw_instance_no_memory(eb);
    profile->name = id;
    if (in->cluster_count == 1) {
        single->cluster_id = in->clusters[0]->name;
        single->allow_transactional_writes = true;
        profile->routing_policy_case = SINGLE;
        profile->single_cluster_routing = single;
    } else {
        profile->routing_policy_case = MULTI;
        profile->multi_cluster_routing_use_any = any;
    }
    enum err e = complete(call, profile, eb);
    return e == ERR_OK ? gw_instance_add_profile(in, profile, eb) : e;
}

static enum err finish(struct gw_call *call, struct change *c, size_t at, struct errbuf *eb)
{
    enum err e = check_routing(&c->in, c->in.profiles[at], eb);
    if (e == ERR_OK)
        e = complete(call, c->in.profiles[at], eb);
    if (e == ERR_OK)
        e = gw_instance_write(call, &c->in, eb);
    if (e == ERR_OK && (c->described = gw_instance_describe_profile(call, &c->in, at)) == NULL)
        e = gw_instance_no_memory(eb);
    return e;
}

/* --- create ------------------------------------------------------------------------------------
 */

/* Creates the profile; on the control thread. */
static enum err create(struct gw_call *call, struct errbuf *eb)
{
    const Bta__CreateAppProfileRequest *request = (const void *)gw_rpc(call)->request;
    struct change *c = call->state;
    Bta__AppProfile *profile = gw_proto_new(&call->arena, &bta__app_profile__descriptor);
    bool found = false;
    enum err e = gw_instance_get(call, &c->in, eb);
    if (e == ERR_OK)
        e = gw_instance_id_check("app_profile_id", request->app_profile_id, eb);
    if (e == ERR_OK && profile == NULL)
        e = gw_instance_no_memory(eb);
    if (e == ERR_OK && request->app_profile != NULL)
        e = gw_mask_apply_all(CHANGEABLE, &profile->base, &request->app_profile->base, &call->arena,
                              eb);
    if (e == ERR_OK) {
        profile->name = request->app_profile_id;
        e = gw_instance_add_profile(&c->in, profile, eb);
    }
    if (e != ERR_OK)
        return e;
    return finish(call, c, gw_instance_profile_at(&c->in, base_slice_text(profile->name), &found),
                  eb);
}

static void reply_profile(struct gw_call *call)
{
    const struct change *c = call->state;
    gw_rpc_reply(call, &c->described->base);
}

void gw_admin_create_profile(struct gw_call *call)
{
    struct gw_rpc *rpc = gw_rpc(call);
    const Bta__CreateAppProfileRequest *request = (const void *)rpc->request;
    change_new(call);
    rpc->resource.leaf = base_slice_text(request->app_profile_id); /* for the audit trail */
    gw_rpc_on_control(call, create, reply_profile);
}

/* --- change ------------------------------------------------------------------------------------
 */

static enum err check_etag(struct gw_call *call, const Bta__AppProfile *said,
                           const Bta__AppProfile *now, struct errbuf *eb)
{
    if (said->etag[0] == '\0')
        return ERR_OK;
    const char *etag = gw_instance_etag(call, now);
    if (etag == NULL)
        return gw_instance_no_memory(eb);
    return strcmp(said->etag, etag) == 0
               ? ERR_OK
               : base_fail(eb, ERR_PRECONDITION,
                           "the application profile is not the one of the "
                           "etag any more");
}

/* Changes the profile; on the control thread. */
static enum err update(struct gw_call *call, struct errbuf *eb)
{
    const Bta__UpdateAppProfileRequest *request = (const void *)gw_rpc(call)->request;
    struct change *c = call->state;
    size_t at = 0;
    enum err e = gw_instance_get(call, &c->in, eb);
    if (e == ERR_OK)
        e = gw_instance_profile(&c->in, gw_rpc(call)->resource.leaf, &at, eb);
    if (e == ERR_OK)
        e = check_etag(call, request->app_profile, c->in.profiles[at], eb);
    if (e == ERR_OK)
        e = gw_mask_apply(request->update_mask, CHANGEABLE, &c->in.profiles[at]->base,
                          &request->app_profile->base, &call->arena, eb);
    return e == ERR_OK ? finish(call, c, at, eb) : e;
}

static void reply_update(struct gw_call *call)
{
    const struct change *c = call->state;
    Bta__UpdateAppProfileMetadata metadata = BTA__UPDATE_APP_PROFILE_METADATA__INIT;
    gw_operation_reply(call, "update-app-profile", &metadata.base, &c->described->base);
}

void gw_admin_update_profile(struct gw_call *call)
{
    change_new(call);
    gw_rpc_on_control(call, update, reply_update);
}

/* --- delete ------------------------------------------------------------------------------------
 */

/* Deletes the profile; on the control thread. */
static enum err take_out(struct gw_call *call, struct errbuf *eb)
{
    struct change *c = call->state;
    size_t at = 0;
    enum err e = gw_instance_get(call, &c->in, eb);
    if (e == ERR_OK)
        e = gw_instance_profile(&c->in, gw_rpc(call)->resource.leaf, &at, eb);
    if (e != ERR_OK)
        return e;
    c->in.profile_count--;
    memmove(&c->in.profiles[at], &c->in.profiles[at + 1],
            (c->in.profile_count - at) * sizeof c->in.profiles[0]);
    return gw_instance_write(call, &c->in, eb);
}

static void reply_nothing(struct gw_call *call)
{
    Google__Protobuf__Empty nothing = GOOGLE__PROTOBUF__EMPTY__INIT;
    gw_rpc_reply(call, &nothing.base);
}

void gw_admin_delete_profile(struct gw_call *call)
{
    change_new(call);
    gw_rpc_on_control(call, take_out, reply_nothing);
}

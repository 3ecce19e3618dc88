/*
 * gateway/grpc/instance_state.c - messages in one document of the tenant.
 *
 * The document of a deleted instance says that it was deleted and nothing else; an instance without
 * a document exists, with its tenant. A table that is created later makes a deleted instance exist
 * again.
 *
 * 1. Tags are stored: append only.
 */
#include "gateway/grpc/instance_state.h"

#include "base/record.h"
#include "base/sealed_line.h"
#include "gateway/grpc/table_proto.h"
#include "gateway/grpc/time_proto.h"
#include "tenancy/instance_doc.h"

#include "base/banned.h"

enum { TAG_INSTANCE = 1, TAG_CLUSTER = 2, TAG_PROFILE = 3, TAG_DELETED = 4 };

#define ETAG_DIGITS 16

enum err gw_instance_no_memory(struct errbuf *eb)
{
    return base_fail(eb, ERR_NO_MEMORY, "out of memory for the description");
}

/* --- IDs ---------------------------------------------------------------------------------------
 */

enum err gw_instance_id_check(const char *what, const char *id, struct errbuf *eb)
{
    size_t len = strlen(id);
    if (len == 0 || len > LIM_INSTANCE_ID)
        return base_fail(eb, ERR_INVALID, "%s has %zu characters; it must have 1 to %d", what, len,
                         LIM_INSTANCE_ID);
    for (size_t i = 0; i < len; i++) {
        char c = id[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_letter && (i == 0 || (c != '-' && c != '_' && c != '.')))
            return base_fail(
                eb, ERR_INVALID,
                "%s may hold letters, digits, '-', '_' and '.', and begins with one of "
                "the first two; character %zu is wrong",
                what, i + 1);
    }
    return ERR_OK;
}

size_t gw_instance_cluster_at(const struct gw_instance *in, struct slice id, bool *out_found)
{
    size_t at = 0;
    while (at < in->cluster_count &&
           base_slice_compare(base_slice_text(in->clusters[at]->name), id) < 0)
        at++;
    *out_found = at < in->cluster_count && base_slice_is(id, in->clusters[at]->name);
    return at;
}

size_t gw_instance_profile_at(const struct gw_instance *in, struct slice id, bool *out_found)
{
    size_t at = 0;
    while (at < in->profile_count &&
           base_slice_compare(base_slice_text(in->profiles[at]->name), id) < 0)
        at++;
    *out_found = at < in->profile_count && base_slice_is(id, in->profiles[at]->name);
    return at;
}

enum err gw_instance_cluster(const struct gw_instance *in, struct slice id, size_t *out_at,
                             struct errbuf *eb)
{
    bool found;
    *out_at = gw_instance_cluster_at(in, id, &found);
    if (found)
        return ERR_OK;
    if (in->cluster_count == 1)
        return base_fail(eb, ERR_NOT_FOUND, "there is no such cluster; it is \"%s\"",
                         in->clusters[0]->name);
    return base_fail(eb, ERR_NOT_FOUND, "there is no such cluster; the instance has %zu",
                     in->cluster_count);
}

enum err gw_instance_profile(const struct gw_instance *in, struct slice id, size_t *out_at,
                             struct errbuf *eb)
{
    bool found;
    *out_at = gw_instance_profile_at(in, id, &found);
    if (found)
        return ERR_OK;
    if (in->profile_count == 1)
        return base_fail(eb, ERR_NOT_FOUND, "there is no such profile; it is \"%s\"",
                         in->profiles[0]->name);
    return base_fail(eb, ERR_NOT_FOUND, "there is no such profile; the instance has %zu",
                     in->profile_count);
}

enum err gw_instance_add_cluster(struct gw_instance *in, Bta__Cluster *cluster, struct errbuf *eb)
{
    bool found;
    size_t at = gw_instance_cluster_at(in, base_slice_text(cluster->name), &found);
    if (found)
        return base_fail(eb, ERR_EXISTS, "the cluster \"%s\" exists", cluster->name);
    if (in->cluster_count == LIM_CLUSTERS)
        return base_fail(eb, ERR_QUOTA, "the instance has %d clusters, which is the limit",
                         LIM_CLUSTERS);
    memmove(&in->clusters[at + 1], &in->clusters[at],
            (in->cluster_count - at) * sizeof in->clusters[0]);
    in->clusters[at] = cluster;
    in->cluster_count++;
    return ERR_OK;
}

enum err gw_instance_add_profile(struct gw_instance *in, Bta__AppProfile *profile,
                                 struct errbuf *eb)
{
    bool found;
    size_t at = gw_instance_profile_at(in, base_slice_text(profile->name), &found);
    if (found)
        return base_fail(eb, ERR_EXISTS, "the application profile \"%s\" exists", profile->name);
    if (in->profile_count == LIM_APP_PROFILES)
        return base_fail(eb, ERR_QUOTA,
                         "the instance has %d application profiles, which is the limit",
                         LIM_APP_PROFILES);
    memmove(&in->profiles[at + 1], &in->profiles[at],
            (in->profile_count - at) * sizeof in->profiles[0]);
    in->profiles[at] = profile;
    in->profile_count++;
    return ERR_OK;
}

/* --- an instance that no client created --------------------------------------------------------
 */

static bool has_table(const struct ten_tenant *tenant)
{
    const struct ten_tables *tables = ten_tenant_tables(tenant);
    for (size_t i = 0; i < tables->count; i++)
        if (!tables->schemas[i]->deleting)
            return true;
    return false;
}

static char *display_name(struct gw_call *call, const struct ten_tenant *tenant)
{
    const char *name = ten_tenant_details(tenant)->display_name;
    struct slice text = name[0] != '\0' ? base_slice_text(name) : gw_rpc(call)->resource.project;
    return base_arena_text(&call->arena, text); /* clients refuse an instance without it */
}

static enum err make_up(struct gw_call *call, struct gw_instance *out, struct errbuf *eb)
{
    static char cluster_id[] = GW_CLUSTER, profile_id[] = GW_PROFILE_DEFAULT;
    struct arena *arena = &call->arena;
    Bta__Instance *instance = gw_proto_new(arena, &bta__instance__descriptor);
    Google__Protobuf__Timestamp *created =
        gw_proto_new(arena, &google__protobuf__timestamp__descriptor);
    Bta__Cluster *cluster = gw_proto_new(arena, &bta__cluster__descriptor);
    Bta__AppProfile *profile = gw_proto_new(arena, &bta__app_profile__descriptor);
    Bta__AppProfile__SingleClusterRouting *routing =
        gw_proto_new(arena, &bta__app_profile__single_cluster_routing__descriptor);
    if (instance == NULL || created == NULL || cluster == NULL || profile == NULL ||
        routing == NULL || (instance->display_name = display_name(call, out->tenant)) == NULL)
        return gw_instance_no_memory(eb);
    gw_time_to_proto(ten_tenant_details(out->tenant)->created_us, created);
    instance->state = BTA__INSTANCE__STATE__READY;
    instance->type = BTA__INSTANCE__TYPE__PRODUCTION;
    instance->create_time = created;
    cluster->name = cluster_id;
    cluster->state = BTA__CLUSTER__STATE__READY;
    cluster->serve_nodes = 1;
    cluster->default_storage_type = BTA__STORAGE_TYPE__SSD;
    routing->cluster_id = cluster_id;
    routing->allow_transactional_writes = true;
    profile->name = profile_id;
    profile->routing_policy_case = BTA__APP_PROFILE__ROUTING_POLICY_SINGLE_CLUSTER_ROUTING;
    profile->single_cluster_routing = routing;
    out->instance = instance;
    out->clusters[0] = cluster;
    out->profiles[0] = profile;
    out->cluster_count = out->profile_count = 1;
    return ERR_OK;
}

/* --- reading and writing -----------------------------------------------------------------------
 */

static enum err take_field(struct gw_call *call, struct gw_instance *out,
                           const struct base_field *field, struct errbuf *eb)
{
    static const ProtobufCMessageDescriptor *const types[] = {
        [TAG_INSTANCE] = &bta__instance__descriptor,
        [TAG_CLUSTER] = &bta__cluster__descriptor,
        [TAG_PROFILE] = &bta__app_profile__descriptor,
    };
    ProtobufCMessage *message = NULL;
    if (field->tag >= TAG_DELETED)
        return ERR_OK; /* or from a newer program */
    bool is_full = out->cluster_count == LIM_CLUSTERS && field->tag == TAG_CLUSTER;
    is_full |= out->profile_count == LIM_APP_PROFILES && field->tag == TAG_PROFILE;
    if (field->is_number || is_full)
        return ERR_CORRUPT;
    enum err e = gw_proto_decode(types[field->tag], field->bytes, &call->arena, &message, eb);
    if (e != ERR_OK)
        return e == ERR_NO_MEMORY ? e : ERR_CORRUPT;
    if (field->tag == TAG_INSTANCE)
        out->instance = (Bta__Instance *)(void *)message;
    else if (field->tag == TAG_CLUSTER)
        out->clusters[out->cluster_count++] = (Bta__Cluster *)(void *)message;
    else
        out->profiles[out->profile_count++] = (Bta__AppProfile *)(void *)message;
    return ERR_OK;
}

static enum err decode(struct gw_call *call, struct slice body, struct gw_instance *out,
                       struct errbuf *eb)
{
    struct base_field field;
    bool is_end = false;
    enum err e = base_record_next(&body, &field, &is_end);
    while (e == ERR_OK && !is_end) {
        e = take_field(call, out, &field, eb);
        if (e == ERR_OK)
            e = base_record_next(&body, &field, &is_end);
    }
    return e == ERR_CORRUPT ? base_fail(eb, e, "what is stored of the instance cannot be read") : e;
}

enum err gw_instance_read(struct gw_call *call, struct ten_tenant *tenant, struct gw_instance *out,
                          struct errbuf *eb)
{
    *out = (struct gw_instance){.tenant = tenant};
    if (!ten_tenant_details(tenant)->is_keyless)
        return make_up(call, out, eb);
    struct buf body;
    base_buf_init(&body, LIM_INSTANCE_DOC);
    enum err e = ten_instance_doc_read(call->api->registry, tenant, &body, &out->version, eb);
    bool is_new = e == ERR_NOT_FOUND;
    if (!is_new && e == ERR_OK)
        e = decode(call, base_buf_slice(&body), out, eb);
    out->is_stored = out->instance != NULL;
    if (is_new || (e == ERR_OK && !out->is_stored && has_table(tenant)))
        e = make_up(call, out, eb);
    base_buf_fini(&body);
    return e;
}

enum err gw_instance_get(struct gw_call *call, struct gw_instance *out, struct errbuf *eb)
{
    enum err e = gw_instance_read(call, call->tenant, out, eb);
    if (e == ERR_OK && out->instance == NULL)
        e = base_fail(eb, ERR_NOT_FOUND, "there is no such instance; CreateInstance makes it");
    return e;
}

/* Appends a message; errors latch in out. */
static void put(struct buf *out, uint32_t tag, const ProtobufCMessage *message)
{
    struct buf packed;
    size_t bytes = protobuf_c_message_get_packed_size(message);
    base_buf_init(&packed, bytes + 1);
    if (base_buf_reserve(&packed, bytes) == ERR_OK)
        packed.len = protobuf_c_message_pack(message, base_buf_end(&packed));
    (void)base_record_put_bytes(out, tag, base_buf_slice(&packed)); /* latches */
    base_buf_fini(&packed);
}

enum err gw_instance_write(struct gw_call *call, struct gw_instance *in, struct errbuf *eb)
{
    struct buf body;
    base_buf_init(&body, 2 * LIM_INSTANCE_DOC); /* tenancy checks the limit */
    if (in->instance == NULL)
        (void)base_record_put_u64(&body, TAG_DELETED, 1); /* latches */
    else
        put(&body, TAG_INSTANCE, &in->instance->base);
    for (size_t i = 0; i < in->cluster_count; i++)
        put(&body, TAG_CLUSTER, &in->clusters[i]->base);
    for (size_t i = 0; i < in->profile_count; i++)
        put(&body, TAG_PROFILE, &in->profiles[i]->base);
    enum err e = body.error == ERR_OK
                     ? ten_instance_doc_write(call->api->registry, in->tenant,
                                              base_buf_slice(&body), in->version, eb)
                     : base_fail(eb, body.error,
                                 "the instance, its clusters and profiles are described in more "
                                 "than %zu bytes, which is the limit",
                                 (size_t)LIM_INSTANCE_DOC);
    base_buf_fini(&body);
    in->is_stored |= e == ERR_OK && in->instance != NULL;
    return e;
}

/* --- descriptions ------------------------------------------------------------------------------
 */

static char *name_of(struct gw_call *call, const struct gw_instance *in, enum gw_resource_kind kind,
                     const char *id)
{
    const struct gw_resource resource = {.kind = kind,
                                         .project = gw_rpc(call)->resource.project,
                                         .instance = ten_tenant_instance(in->tenant),
                                         .cluster = base_slice_text(id),
                                         .leaf = base_slice_text(id)};
    return gw_resource_name(&call->arena, &resource);
}

Bta__Instance *gw_instance_describe(struct gw_call *call, const struct gw_instance *in)
{
    Bta__Instance *copy = base_arena_alloc(&call->arena, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *in->instance;
    copy->name = name_of(call, in, GW_RESOURCE_INSTANCE, "");
    return copy->name == NULL ? NULL : copy;
}

Bta__Cluster *gw_instance_describe_cluster(struct gw_call *call, const struct gw_instance *in,
                                           size_t at)
{
    Bta__Cluster *copy = base_arena_alloc(&call->arena, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *in->clusters[at];
    copy->name = name_of(call, in, GW_RESOURCE_CLUSTER, in->clusters[at]->name);
    return copy->name == NULL ? NULL : copy;
}

char *gw_instance_etag(struct gw_call *call, const Bta__AppProfile *profile)
{
    static char nothing[] = "";
    Bta__AppProfile bare = *profile;
    bare.etag = bare.name = nothing;
    size_t bytes = protobuf_c_message_get_packed_size(&bare.base);
    uint8_t *packed = base_arena_alloc(&call->arena, bytes + 1);
    char hex[BASE_AUDIT_HEX + 1];
    if (packed == NULL)
        return NULL;
    struct base_audit_hash hash =
        base_line_hash(base_slice(packed, protobuf_c_message_pack(&bare.base, packed)));
    base_audit_hex(&hash, hex);
    return base_arena_text(&call->arena, base_slice(hex, ETAG_DIGITS));
}

Bta__AppProfile *gw_instance_describe_profile(struct gw_call *call, const struct gw_instance *in,
                                              size_t at)
{
    Bta__AppProfile *copy = base_arena_alloc(&call->arena, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *in->profiles[at];
    if (in->is_stored)
        copy->etag = gw_instance_etag(call, in->profiles[at]);
    copy->name = name_of(call, in, GW_RESOURCE_APP_PROFILE, in->profiles[at]->name);
    return copy->name == NULL || copy->etag == NULL ? NULL : copy;
}

enum err gw_instance_part(struct gw_call *call, enum gw_resource_kind kind, struct slice id,
                          struct errbuf *eb)
{
    struct gw_instance *in = base_arena_alloc(&call->arena, sizeof *in);
    size_t at = 0;
    if (in == NULL)
        return gw_instance_no_memory(eb);
    enum err e = gw_instance_get(call, in, eb);
    if (e == ERR_OK && kind == GW_RESOURCE_CLUSTER)
        e = gw_instance_cluster(in, id, &at, eb);
    else if (e == ERR_OK && kind == GW_RESOURCE_APP_PROFILE)
        e = gw_instance_profile(in, id, &at, eb);
    if (e != ERR_OK)
        return e;
    call->state = kind == GW_RESOURCE_CLUSTER ? (void *)gw_instance_describe_cluster(call, in, at)
                  : kind == GW_RESOURCE_APP_PROFILE
                      ? (void *)gw_instance_describe_profile(call, in, at)
                      : (void *)gw_instance_describe(call, in);
    return call->state == NULL ? gw_instance_no_memory(eb) : ERR_OK;
}

/* --- threads -----------------------------------------------------------------------------------
 */

void gw_instance_run(struct gw_call *call,
                     enum err (*work)(struct gw_call *call, struct errbuf *eb),
                     void (*reply)(struct gw_call *call))
{
    struct errbuf eb;
    eb.text[0] = '\0';
    if (ten_tenant_details(call->tenant)->is_keyless) {
        gw_rpc_on_control(call, work, reply);
        return;
    }
    enum err e = work(call, &eb);
    if (e == ERR_OK)
        reply(call);
    else
        gw_call_problem(call, (int)e, eb.text);
}

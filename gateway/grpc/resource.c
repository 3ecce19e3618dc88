/*
 * gateway/grpc/resource.c - names like projects/acme/instances/main/tables/devices.
 *
 * Mechanism: a kind is a list of collections; a name alternates collections and IDs.
 */
#include "gateway/grpc/resource.h"

#include "base/arena.h"
#include "tenancy/tenant.h"

#include "base/banned.h"

#define COLLECTIONS_MAX 4

enum part { PART_PROJECT, PART_INSTANCE, PART_CLUSTER, PART_TABLE, PART_LEAF, PART_COUNT };

struct collection {
    const char *name; /* NULL: after the last */
    enum part part;
};

#define PROJECTS                                                                                   \
    {                                                                                              \
        "projects", PART_PROJECT                                                                   \
    }
#define INSTANCES                                                                                  \
    {                                                                                              \
        "instances", PART_INSTANCE                                                                 \
    }
#define CLUSTERS                                                                                   \
    {                                                                                              \
        "clusters", PART_CLUSTER                                                                   \
    }
#define TABLES                                                                                     \
    {                                                                                              \
        "tables", PART_TABLE                                                                       \
    }

struct form {
    const char *prefix;
    struct collection collections[COLLECTIONS_MAX + 1];
    const char *text; /* for people */
};

static const struct form FORMS[] = {
    [GW_RESOURCE_NONE] = {"", {{0}}, ""},
    [GW_RESOURCE_PROJECT] = {"", {PROJECTS}, "projects/PROJECT"},
    [GW_RESOURCE_INSTANCE] = {"", {PROJECTS, INSTANCES}, "projects/PROJECT/instances/INSTANCE"},
    [GW_RESOURCE_CLUSTER] = {"",
                             {PROJECTS, INSTANCES, CLUSTERS},
                             "projects/PROJECT/instances/INSTANCE/clusters/CLUSTER"},
    [GW_RESOURCE_APP_PROFILE] = {"",
                                 {PROJECTS, INSTANCES, {"appProfiles", PART_LEAF}},
                                 "projects/PROJECT/instances/INSTANCE/appProfiles/PROFILE"},
    [GW_RESOURCE_TABLE] = {"",
                           {PROJECTS, INSTANCES, TABLES},
                           "projects/PROJECT/instances/INSTANCE/tables/TABLE"},
    [GW_RESOURCE_VIEW] = {"",
                          {PROJECTS, INSTANCES, TABLES, {"authorizedViews", PART_LEAF}},
                          "projects/PROJECT/instances/INSTANCE/tables/TABLE/authorizedViews/VIEW"},
    [GW_RESOURCE_BACKUP] = {"",
                            {PROJECTS, INSTANCES, CLUSTERS, {"backups", PART_LEAF}},
                            "projects/PROJECT/instances/INSTANCE/clusters/CLUSTER/backups/BACKUP"},
    [GW_RESOURCE_OPERATION] = {"operations/",
                               {PROJECTS, INSTANCES, {"operations", PART_LEAF}},
                               "operations/projects/PROJECT/instances/INSTANCE/operations/ID"},
    [GW_RESOURCE_ANY] = {"", {{0}}, "projects/PROJECT/instances/INSTANCE, or of what is in it"},
};

/* Returns the bytes before the next '/', and skips it; *rest.ptr NULL: there was none. */
static struct slice take_segment(struct slice *rest)
{
    const uint8_t *slash = rest->len == 0 ? NULL : memchr(rest->ptr, '/', rest->len);
    struct slice segment = *rest;
    if (slash == NULL) {
        *rest = SLICE_EMPTY;
        return segment;
    }
    segment.len = (size_t)(slash - rest->ptr);
    *rest = base_slice_skip(*rest, segment.len + 1);
    return segment;
}

static bool take_prefix(struct slice *rest, const char *prefix)
{
    struct slice wanted = base_slice_text(prefix);
    if (rest->len < wanted.len || memcmp(rest->ptr, wanted.ptr, wanted.len) != 0)
        return wanted.len == 0;
    *rest = base_slice_skip(*rest, wanted.len);
    return true;
}

static bool split(struct slice name, const struct form *form, struct slice *parts)
{
    struct slice rest = name;
    memset(parts, 0, PART_COUNT * sizeof parts[0]);
    if (!take_prefix(&rest, form->prefix))
        return false;
    for (const struct collection *c = form->collections; c->name != NULL; c++) {
        if (!base_slice_is(take_segment(&rest), c->name))
            return false;
        parts[c->part] = take_segment(&rest);
        if (parts[c->part].len == 0)
            return false;
    }
    const uint8_t *end = name.ptr + name.len;
    return rest.ptr == NULL && end[-1] != '/';
}

enum err gw_resource_parse(struct slice name, enum gw_resource_kind kind, struct gw_resource *out,
                           struct errbuf *eb)
{
    struct slice parts[PART_COUNT];
    bool is_any = kind == GW_RESOURCE_ANY;
    enum gw_resource_kind found = is_any ? GW_RESOURCE_INSTANCE : kind;
    while (is_any && found < GW_RESOURCE_BACKUP && !split(name, &FORMS[found], parts))
        found++;
    if (name.len == 0 || !split(name, &FORMS[found], parts))
        return base_fail(eb, ERR_INVALID, "a name must have the form %s", FORMS[kind].text);
    *out = (struct gw_resource){.kind = found,
                                .project = parts[PART_PROJECT],
                                .instance = parts[PART_INSTANCE],
                                .cluster = parts[PART_CLUSTER],
                                .table = parts[PART_TABLE],
                                .leaf = parts[PART_LEAF]};
    return ERR_OK;
}

bool gw_resource_is_own_instance(struct slice named, struct slice own)
{
    return base_slice_equal(named, own) || base_slice_is(named, "-") ||
           (base_slice_is(named, GW_INSTANCE_ALIAS) && base_slice_is(own, TEN_INSTANCE_DEFAULT));
}

char *gw_resource_name(struct arena *arena, const struct gw_resource *resource)
{
    const struct form *form = &FORMS[resource->kind];
    const struct slice parts[PART_COUNT] = {
        [PART_PROJECT] = resource->project, [PART_INSTANCE] = resource->instance,
        [PART_CLUSTER] = resource->cluster, [PART_TABLE] = resource->table,
        [PART_LEAF] = resource->leaf,
    };
    size_t len = strlen(form->prefix);
    for (const struct collection *c = form->collections; c->name != NULL; c++)
        len += strlen(c->name) + parts[c->part].len + 2;
    char *text = base_arena_alloc(arena, len + 1);
    if (text == NULL)
        return NULL;
    char *at = stpcpy(text, form->prefix);
    for (const struct collection *c = form->collections; c->name != NULL; c++) {
        at = stpcpy(at, c->name);
        *at++ = '/';
        memcpy(at, parts[c->part].ptr, parts[c->part].len);
        at += parts[c->part].len;
        *at++ = '/';
    }
    *(at > text ? at - 1 : at) = '\0';
    return text;
}

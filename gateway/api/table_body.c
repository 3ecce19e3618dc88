/*
 * gateway/api/table_body.c - parses tables and families from JSON.
 *
 * A gc rule is walked from its root, with the arrays that are still being read on a stack, and
 * written node by node in the order of the walk.
 */
#include "gateway/api/table_body.h"

#include "base/text.h"
#include "gateway/api/json_in.h"

#include "base/banned.h"

#define US_PER_S 1000000U

/* --- gc rules --------------------------------------------------------------------------------- */

struct gc_walk {
    struct {
        const char *name;
        const json_t *members;
        size_t next;
    } open[LIM_FILTER_DEPTH];
    size_t depth;
    struct sto_gc_node *nodes; /* LIM_GC_NODES of them */
    size_t count;
};

static enum err put_node(struct gc_walk *w, struct sto_gc_node node, struct errbuf *eb)
{
    if (w->count == LIM_GC_NODES)
        return base_fail(eb, ERR_TOO_BIG, "a gc rule has more than %d parts", LIM_GC_NODES);
    w->nodes[w->count++] = node;
    return ERR_OK;
}

/* Writes max_versions, max_age, or both. */
static enum err put_leaves(struct gc_walk *w, const json_t *rule, struct errbuf *eb)
{
    uint64_t versions = UINT64_MAX;
    uint64_t age_us = 0;
    struct slice age = SLICE_EMPTY;
    enum err e = gw_json_get_u64(rule, "max_versions", &versions, eb);
    if (e == ERR_OK)
        e = gw_json_get_text(rule, "max_age", &age, eb);
    if (e != ERR_OK)
        return e;
    if (versions != UINT64_MAX && (versions == 0 || versions > INT32_MAX))
        return base_fail(eb, ERR_INVALID, "\"max_versions\" must be from 1 to %d", INT32_MAX);
    if (age.ptr != NULL && (gw_json_parse_duration(age, &age_us) != ERR_OK || age_us == 0))
        return base_fail(eb, ERR_INVALID,
                         "\"max_age\" must be seconds with a final \"s\", like \"86400s\"");
    if (versions == UINT64_MAX && age.ptr == NULL)
        return w->depth == 0 ? ERR_OK
                             : base_fail(eb, ERR_INVALID, "a member of a gc rule is empty");
    if (versions != UINT64_MAX && age.ptr != NULL)
        e = put_node(w, (struct sto_gc_node){.kind = STO_GC_UNION, .member_count = 2}, eb);
    if (e == ERR_OK && versions != UINT64_MAX)
        e = put_node(
            w,
            (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = (uint32_t)versions},
            eb);
    if (e == ERR_OK && age.ptr != NULL)
        e = put_node(w, (struct sto_gc_node){.kind = STO_GC_MAX_AGE, .max_age_us = age_us}, eb);
    return e;
}

static enum err put_composite(struct gc_walk *w, const json_t *rule, const char *name,
                              struct errbuf *eb)
{
    const json_t *members = json_object_get(rule, name);
    if (json_object_size(rule) != 1 || !json_is_array(members) || json_array_size(members) == 0)
        return base_fail(eb, ERR_INVALID,
                         "\"%s\" must stand alone in its gc rule and be an array of rules", name);
    if (w->depth == LIM_FILTER_DEPTH)
        return base_fail(eb, ERR_TOO_BIG, "a gc rule is nested deeper than %d", LIM_FILTER_DEPTH);
    struct sto_gc_node node = {
        .kind = strcmp(name, "union") == 0 ? STO_GC_UNION : STO_GC_INTERSECTION,
        .member_count = (uint32_t)json_array_size(members), /* bounded by the body's size */
    };
    enum err e = put_node(w, node, eb);
    if (e != ERR_OK)
        return e;
    w->open[w->depth].name = name;
    w->open[w->depth].members = members;
    w->open[w->depth].next = 0;
    w->depth++;
    return ERR_OK;
}

static enum err put_rule(struct gc_walk *w, const json_t *rule, struct errbuf *eb)
{
    static const char *const names[] = {"max_versions", "max_age", "union", "intersection", NULL};
    if (!json_is_object(rule))
        return base_fail(eb, ERR_INVALID, "a gc rule must be an object");
    enum err e = gw_json_only(rule, names, eb);
    if (e != ERR_OK)
        return e;
    if (json_object_get(rule, "union") != NULL)
        return put_composite(w, rule, "union", eb);
    if (json_object_get(rule, "intersection") != NULL)
        return put_composite(w, rule, "intersection", eb);
    return put_leaves(w, rule, eb);
}

/* Prepends the path of the rule that was read last: "gc.union[1].intersection[0]: sentence". */
static enum err fail_in_gc(const struct gc_walk *w, enum err code, struct errbuf *eb)
{
    char path[GW_JSON_PATH_BYTES] = "gc";
    for (size_t d = 0; d < w->depth; d++)
        gw_json_path_add(path, w->open[d].name, w->open[d].next - 1);
    return base_fail_at(eb, code, "%s", path);
}

static enum err parse_gc(const json_t *rule, struct gc_walk *w, struct errbuf *eb)
{
    w->depth = 0;
    w->count = 0;
    if (rule == NULL || json_is_null(rule))
        return ERR_OK;
    enum err e = put_rule(w, rule, eb);
    while (e == ERR_OK && w->depth > 0) {
        const json_t *members = w->open[w->depth - 1].members;
        size_t at = w->open[w->depth - 1].next++;
        if (at == json_array_size(members))
            w->depth--;
        else
            e = put_rule(w, json_array_get(members, at), eb);
    }
    return e == ERR_OK ? ERR_OK : fail_in_gc(w, e, eb);
}

/* --- families --------------------------------------------------------------------------------- */

static enum err parse_type(const json_t *family, struct sto_family_spec *out, struct errbuf *eb)
{
    struct slice type = SLICE_EMPTY;
    enum err e = gw_json_get_text(family, "type", &type, eb);
    out->keeps_type = type.ptr == NULL;
    if (e != ERR_OK || type.ptr == NULL ||
        sto_family_type_find(type, &out->aggregate, &out->value_type))
        return e;
    return base_fail(eb, ERR_INVALID,
                     "\"type\" must be \"none\", \"bytes\", \"string\", \"int64\", \"sum\", "
                     "\"min\", \"max\" or \"hll\"");
}

static enum err parse_family(const json_t *family, struct arena *arena, struct sto_family_spec *out,
                             struct errbuf *eb)
{
    static const char *const names[] = {"gc", "type", NULL};
    struct sto_gc_node nodes[LIM_GC_NODES];
    struct gc_walk walk = {.nodes = nodes};
    if (!json_is_object(family))
        return base_fail(eb, ERR_INVALID, "a family must be an object, such as {}");
    enum err e = gw_json_only(family, names, eb);
    if (e == ERR_OK)
        e = parse_type(family, out, eb);
    if (e == ERR_OK)
        e = parse_gc(json_object_get(family, "gc"), &walk, eb);
    if (e != ERR_OK || walk.count == 0)
        return e;
    struct sto_gc_node *kept = base_arena_alloc(arena, walk.count * sizeof *kept);
    if (kept == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for a gc rule");
    memcpy(kept, nodes, walk.count * sizeof *kept);
    out->gc_nodes = kept;
    out->gc_node_count = walk.count;
    return ERR_OK;
}

/* Parses the families of an object: {"name":family,...}. */
static enum err parse_families(json_t *object, const char *member, struct arena *arena,
                               const struct sto_family_spec **out, size_t *out_count,
                               struct errbuf *eb)
{
    if (!json_is_object(object))
        return base_fail(eb, ERR_INVALID, "\"%s\" must be an object of families", member);
    size_t count = json_object_size(object);
    if (count > LIM_FAMILIES)
        return base_fail(eb, ERR_TOO_BIG, "%zu families; the limit is %d", count, LIM_FAMILIES);
    struct sto_family_spec *list = base_arena_zalloc(arena, (count + 1) * sizeof *list);
    if (list == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for %zu families", count);
    size_t at = 0;
    for (void *i = json_object_iter(object); i != NULL; i = json_object_iter_next(object, i)) {
        list[at].name = gw_json_member_name(i);
        enum err e = sto_family_name_check(list[at].name, eb);
        if (e != ERR_OK)
            return e;
        e = parse_family(json_object_iter_value(i), arena, &list[at], eb);
        if (e != ERR_OK)
            return base_fail_at(eb, e, "family \"%.*s\"", SLICE_ARGS(list[at].name));
        at++;
    }
    *out = list;
    *out_count = count;
    return ERR_OK;
}

/* --- documents -------------------------------------------------------------------------------- */

/* Parses the retention; null switches the stream off. */
static enum err parse_retention(const json_t *json, struct ten_table_wanted *out, struct errbuf *eb)
{
    struct slice text = SLICE_EMPTY;
    uint64_t us = 0;
    out->has_change_retention = json_object_get(json, "change_stream_retention") != NULL;
    enum err e = gw_json_get_text(json, "change_stream_retention", &text, eb);
    if (e != ERR_OK || text.ptr == NULL)
        return e;
    if (gw_json_parse_duration(text, &us) != ERR_OK || us == 0 || us % US_PER_S != 0)
        return base_fail(eb, ERR_INVALID,
                         "\"change_stream_retention\" must be whole seconds with a final \"s\", "
                         "like \"86400s\", or null");
    out->change_retention_s = us / US_PER_S;
    return ERR_OK;
}

static const struct {
    const char *name;
    bool is_b64;
} SPLIT_LISTS[] = {{"splits", false}, {"splits_b64", true}};

static enum err count_splits(const json_t *json, size_t *out, struct errbuf *eb)
{
    size_t count = 0;
    for (size_t i = 0; i < 2; i++) {
        const json_t *list = json_object_get(json, SPLIT_LISTS[i].name);
        if (list != NULL && !json_is_null(list) && !json_is_array(list))
            return base_fail(eb, ERR_INVALID, "\"%s\" must be a list of row keys",
                             SPLIT_LISTS[i].name);
        count += json_array_size(list);
    }
    if (count > LIM_SPLITS)
        return base_fail(eb, ERR_TOO_BIG, "%zu splits; the limit is %d", count, LIM_SPLITS);
    *out = count;
    return ERR_OK;
}

static enum err parse_splits(const json_t *json, struct arena *arena, struct ten_table_wanted *out,
                             struct errbuf *eb)
{
    size_t count = 0;
    enum err e = count_splits(json, &count, eb);
    if (e != ERR_OK || count == 0)
        return e;
    struct slice *splits = base_arena_alloc(arena, count * sizeof *splits);
    if (splits == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for %zu splits", count);
    out->splits = splits;
    for (size_t i = 0; i < 2; i++) {
        const json_t *list = json_object_get(json, SPLIT_LISTS[i].name);
        for (size_t k = 0; e == ERR_OK && k < json_array_size(list); k++)
            e = gw_json_list_bytes(list, k, SPLIT_LISTS[i].name, SPLIT_LISTS[i].is_b64, arena,
                                   &splits[out->split_count++], eb);
    }
    return e;
}

enum err gw_table_body_parse(const json_t *json, struct arena *arena, struct ten_table_wanted *out,
                             struct errbuf *eb)
{
    static const char *const names[] = {"families",
                                        "deletion_protection",
                                        "row_key_notes",
                                        "change_stream_retention",
                                        "splits",
                                        "splits_b64",
                                        NULL};
    *out = (struct ten_table_wanted){0};
    enum err e = gw_json_only(json, names, eb);
    if (e == ERR_OK)
        e = parse_families(json_object_get(json, "families"), "families", arena, &out->families,
                           &out->family_count, eb);
    if (e == ERR_OK)
        e = gw_json_get_bool(json, "deletion_protection", &out->protected, eb);
    if (e == ERR_OK)
        e = gw_json_get_text(json, "row_key_notes", &out->row_key_notes, eb);
    if (e == ERR_OK)
        e = parse_retention(json, out, eb);
    if (e == ERR_OK)
        e = parse_splits(json, arena, out, eb);
    const json_t *protection = json_object_get(json, "deletion_protection");
    out->has_protected = protection != NULL && !json_is_null(protection);
    out->has_row_key_notes = out->row_key_notes.ptr != NULL;
    return e;
}

static enum err parse_drop(const json_t *names, struct arena *arena,
                           struct ten_families_change *out, struct errbuf *eb)
{
    if (!json_is_array(names))
        return base_fail(eb, ERR_INVALID, "\"drop\" must be an array of names");
    size_t count = json_array_size(names);
    if (count > 2 * LIM_FAMILIES) /* existing families and those created by the same request */
        return base_fail(eb, ERR_TOO_BIG, "\"drop\" names %zu families; the limit is %d", count,
                         2 * LIM_FAMILIES);
    struct slice *list = base_arena_alloc(arena, (count + 1) * sizeof *list);
    if (list == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for %zu names", count);
    for (size_t i = 0; i < count; i++) {
        const json_t *name = json_array_get(names, i);
        if (!json_is_string(name))
            return base_fail(eb, ERR_INVALID, "\"drop\" must be an array of names");
        list[i] = gw_json_string(name);
    }
    out->drop = list;
    out->drop_count = count;
    return ERR_OK;
}

enum err gw_families_body_parse(const json_t *json, struct arena *arena,
                                struct ten_families_change *out, struct errbuf *eb)
{
    static const char *const names[] = {"create", "update", "drop", NULL};
    *out = (struct ten_families_change){0};
    enum err e = gw_json_only(json, names, eb);
    json_t *create = json_object_get(json, "create");
    json_t *update = json_object_get(json, "update");
    const json_t *drop = json_object_get(json, "drop");
    if (e == ERR_OK && create == NULL && update == NULL && drop == NULL)
        e = base_fail(eb, ERR_INVALID, "give \"create\", \"update\" or \"drop\"");
    if (e == ERR_OK && create != NULL)
        e = parse_families(create, "create", arena, &out->create, &out->create_count, eb);
    if (e == ERR_OK && update != NULL)
        e = parse_families(update, "update", arena, &out->update, &out->update_count, eb);
    if (e == ERR_OK && drop != NULL)
        e = parse_drop(drop, arena, out, eb);
    return e;
}

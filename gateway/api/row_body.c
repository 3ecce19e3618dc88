/*
 * gateway/api/row_body.c - the JSON body of a row, as a list of mutations.
 *
 * Mechanism: one pass counts the mutations there can be, so that the list is one allocation; a
 * second pass fills it. The order of the list is the order of the body, "$binary" where it stands.
 */
#include "gateway/api/row_body.h"

#include "base/text.h"

#include "base/banned.h"

#define BINARY_NAME "$binary"

struct builder {
    struct arena *arena;
    const struct sto_schema *schema;
    enum gw_row_verb verb;
    struct gw_row_body *out;
    size_t room;
    struct errbuf *eb;
};

static json_t *looked_at(const json_t *object)
{
    return (json_t *)(uintptr_t)object; /* jansson's iterators want it mutable, and only look */
}

static size_t count_family(const json_t *columns)
{
    size_t count = 0;
    json_t *o = looked_at(columns);
    if (!json_is_object(columns))
        return 1;
    for (void *i = json_object_iter(o); i != NULL; i = json_object_iter_next(o, i)) {
        const json_t *value = json_object_iter_value(i);
        count += json_is_array(value) ? json_array_size(value) : 1;
    }
    return count;
}

static size_t count_body(const json_t *body, enum gw_row_verb verb)
{
    size_t count = verb == GW_ROW_PUT ? 1 : 0; /* the deletion of the row */
    json_t *o = looked_at(body);
    for (void *i = json_object_iter(o); i != NULL; i = json_object_iter_next(o, i)) {
        const json_t *value = json_object_iter_value(i);
        count += json_is_array(value) ? json_array_size(value) : count_family(value);
    }
    return count;
}

static struct sto_mutation *add(struct builder *b, enum sto_mutation_kind kind,
                                const struct sto_family *family)
{
    INVARIANT(b->out->count < b->room);
    struct sto_mutation *m = &b->out->mutations[b->out->count++];
    *m = (struct sto_mutation){.kind = kind, .family = family == NULL ? 0 : family->number};
    return m;
}

static enum err find_family(struct builder *b, struct slice name, const struct sto_family **out)
{
    *out = sto_schema_family(b->schema, name);
    if (*out != NULL)
        return ERR_OK;
    return base_fail(b->eb, ERR_NOT_FOUND, "the table has no family \"%.*s\"",
                     (int)(name.len < LIM_FAMILY_NAME ? name.len : LIM_FAMILY_NAME),
                     (const char *)name.ptr);
}

static enum err get_timestamp(struct builder *b, const json_t *object, int64_t *out)
{
    struct slice text;
    enum err e = gw_json_get_text(object, "timestamp", &text, b->eb);
    if (e != ERR_OK)
        return e;
    *out = STO_TIMESTAMP_SERVER;
    if (text.ptr == NULL)
        return ERR_OK;
    uint64_t number = 0;
    if (base_parse_u64(text, &number) != ERR_OK || number > INT64_MAX)
        return base_fail(b->eb, ERR_INVALID,
                         "\"timestamp\" must be a decimal string of microseconds");
    *out = (int64_t)number;
    return ERR_OK;
}

/* {"value":..} or {"value_b64":..}, with an optional timestamp; names lists what may stand there.
 */
static enum err add_value_object(struct builder *b, const struct sto_family *family,
                                 struct slice qualifier, const json_t *object,
                                 const char *const *names)
{
    enum err e = gw_json_only(object, names, b->eb);
    if (e != ERR_OK)
        return e;
    struct slice value;
    int64_t timestamp_us = 0;
    e = gw_json_get_bytes(object, "value", b->arena, &value, b->eb);
    if (e == ERR_OK)
        e = get_timestamp(b, object, &timestamp_us);
    if (e != ERR_OK)
        return e;
    if (value.ptr == NULL)
        return base_fail(b->eb, ERR_INVALID,
                         "a cell of family \"%s\" has neither \"value\" nor \"value_b64\"",
                         family->name);
    struct sto_mutation *m = add(b, STO_SET_CELL, family);
    m->qualifier = qualifier;
    m->timestamp_us = timestamp_us;
    m->value = value;
    b->out->cells++;
    return ERR_OK;
}

static enum err add_cell(struct builder *b, const struct sto_family *family, struct slice qualifier,
                         const json_t *value)
{
    static const char *const names[] = {"value", "value_b64", "timestamp", NULL};
    if (json_is_object(value))
        return add_value_object(b, family, qualifier, value, names);
    if (!json_is_string(value))
        return base_fail(b->eb, ERR_INVALID,
                         "a cell of family \"%s\" must be text, {\"value\":..}, {\"value_b64\":..} "
                         "or a list of those",
                         family->name);
    struct sto_mutation *m = add(b, STO_SET_CELL, family);
    m->qualifier = qualifier;
    m->timestamp_us = STO_TIMESTAMP_SERVER;
    m->value = gw_json_string(value);
    b->out->cells++;
    return ERR_OK;
}

static enum err refuse_null_in_put(struct builder *b)
{
    if (b->verb == GW_ROW_PATCH)
        return ERR_OK;
    return base_fail(b->eb, ERR_INVALID, "null deletes, which PUT does not do: use PATCH");
}

static enum err add_column(struct builder *b, const struct sto_family *family,
                           struct slice qualifier, const json_t *value)
{
    if (json_is_null(value)) {
        enum err e = refuse_null_in_put(b);
        if (e != ERR_OK)
            return e;
        add(b, STO_DELETE_FROM_COLUMN, family)->qualifier = qualifier;
        return ERR_OK;
    }
    if (!json_is_array(value))
        return add_cell(b, family, qualifier, value);
    for (size_t i = 0; i < json_array_size(value); i++) {
        enum err e = add_cell(b, family, qualifier, json_array_get(value, i));
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

static enum err add_family(struct builder *b, struct slice name, const json_t *columns)
{
    const struct sto_family *family = NULL;
    enum err e = find_family(b, name, &family);
    if (e != ERR_OK)
        return e;
    if (json_is_null(columns)) {
        e = refuse_null_in_put(b);
        if (e == ERR_OK)
            add(b, STO_DELETE_FROM_FAMILY, family);
        return e;
    }
    if (!json_is_object(columns))
        return base_fail(b->eb, ERR_INVALID, "family \"%s\" must be an object of columns",
                         family->name);
    json_t *o = looked_at(columns);
    for (void *i = json_object_iter(o); i != NULL; i = json_object_iter_next(o, i)) {
        e = add_column(b, family, gw_json_member_name(i), json_object_iter_value(i));
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* One entry of "$binary": {"family","qualifier_b64" or "qualifier","value".., "timestamp"}. */
static enum err add_binary(struct builder *b, const json_t *entry)
{
    static const char *const names[] = {
        "family", "qualifier", "qualifier_b64", "value", "value_b64", "timestamp", NULL};
    struct slice name;
    struct slice qualifier;
    const struct sto_family *family = NULL;
    if (!json_is_object(entry))
        return base_fail(b->eb, ERR_INVALID, "entries of \"" BINARY_NAME "\" must be objects");
    enum err e = gw_json_get_text(entry, "family", &name, b->eb);
    if (e == ERR_OK)
        e = gw_json_get_bytes(entry, "qualifier", b->arena, &qualifier, b->eb);
    if (e != ERR_OK)
        return e;
    if (name.ptr == NULL || qualifier.ptr == NULL)
        return base_fail(b->eb, ERR_INVALID,
                         "entries of \"" BINARY_NAME "\" need \"family\" and \"qualifier_b64\"");
    e = find_family(b, name, &family);
    if (e != ERR_OK)
        return e;
    const json_t *value = json_object_get(entry, "value");
    if (json_is_null(value) && json_object_get(entry, "value_b64") == NULL)
        return add_column(b, family, qualifier, value);
    return add_value_object(b, family, qualifier, entry, names);
}

static enum err add_binaries(struct builder *b, const json_t *list)
{
    if (!json_is_array(list))
        return base_fail(b->eb, ERR_INVALID, "\"" BINARY_NAME "\" must be a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        enum err e = add_binary(b, json_array_get(list, i));
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

enum err gw_row_body_build(const json_t *body, enum gw_row_verb verb,
                           const struct sto_schema *schema, struct arena *arena,
                           struct gw_row_body *out, struct errbuf *eb)
{
    size_t room = count_body(body, verb);
    if (room > LIM_MUTATIONS_PER_ROW)
        return base_fail(eb, ERR_TOO_BIG, "%zu changes to one row; the limit is %d", room,
                         LIM_MUTATIONS_PER_ROW);
    *out = (struct gw_row_body){.mutations =
                                    base_arena_alloc(arena, room * sizeof(struct sto_mutation))};
    if (out->mutations == NULL && room > 0)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for %zu changes to one row", room);

    struct builder b = {arena, schema, verb, out, room, eb};
    if (verb == GW_ROW_PUT)
        add(&b, STO_DELETE_FROM_ROW, NULL);
    json_t *o = looked_at(body);
    enum err e = ERR_OK;
    for (void *i = json_object_iter(o); i != NULL && e == ERR_OK; i = json_object_iter_next(o, i)) {
        struct slice name = gw_json_member_name(i);
        const json_t *value = json_object_iter_value(i);
        e = base_slice_is(name, BINARY_NAME) ? add_binaries(&b, value)
                                             : add_family(&b, name, value);
    }
    if (e != ERR_OK)
        return e;
    if (verb == GW_ROW_PUT && out->cells == 0)
        return base_fail(eb, ERR_INVALID, "PUT needs at least one cell; DELETE removes the row");
    if (out->count == 0)
        return base_fail(eb, ERR_INVALID, "the body changes nothing");
    return ERR_OK;
}

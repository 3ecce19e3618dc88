/*
 * tests/support/row_body_model.c - a parser over jansson's tree, and the comparison.
 */
#include "tests/support/row_body_model.h"

#include "base/text.h"
#include "gateway/cell_fields.h"

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
    return (json_t *)(uintptr_t)object; /* jansson's iterators take it mutable, but only read */
}

static bool is_absent(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return value == NULL || json_is_null(value);
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

static enum err get_input(struct builder *b, const struct sto_family *family, const json_t *object,
                          struct slice *out)
{
    const json_t *input = json_object_get(object, "input");
    const json_t *input_b64 = json_object_get(object, "input_b64");
    if (json_is_integer(input)) {
        if (input_b64 != NULL && !json_is_null(input_b64))
            return base_fail(b->eb, ERR_INVALID, "both inputs");
        enum err e = gw_input_check(family, true, b->eb);
        return e == ERR_OK ? gw_integer_bytes(json_integer_value(input), b->arena, out, b->eb) : e;
    }
    enum err e = gw_json_get_bytes(object, "input", b->arena, out, b->eb);
    return e == ERR_OK && json_is_string(input) ? gw_input_check(family, false, b->eb) : e;
}

/* Adds, in a family of aggregates, an input or a state to merge. */
static enum err add_aggregate(struct builder *b, const struct sto_family *family,
                              struct slice qualifier, const json_t *object)
{
    struct slice input = SLICE_EMPTY;
    struct slice state = SLICE_EMPTY;
    int64_t timestamp_us = 0;
    enum err e = get_input(b, family, object, &input);
    if (e == ERR_OK)
        e = gw_json_get_bytes(object, "value", b->arena, &state, b->eb);
    if (e == ERR_OK)
        e = get_timestamp(b, object, &timestamp_us);
    if (e != ERR_OK)
        return e;
    if ((input.ptr != NULL) == (state.ptr != NULL))
        return base_fail(b->eb, ERR_INVALID, "give an input or a state");
    struct sto_mutation *m =
        add(b, input.ptr != NULL ? STO_ADD_TO_CELL : STO_MERGE_TO_CELL, family);
    m->qualifier = qualifier;
    m->timestamp_us = timestamp_us == STO_TIMESTAMP_SERVER ? 0 : timestamp_us;
    m->value = input.ptr != NULL ? input : state;
    b->out->cells++;
    return ERR_OK;
}

/* Adds a bare number or text, which equals an object with that input. */
static enum err add_bare_input(struct builder *b, const struct sto_family *family,
                               struct slice qualifier, json_t *value)
{
    json_t *object = json_pack("{s:O}", "input", value);
    enum err e = add_aggregate(b, family, qualifier, object);
    json_decref(object); /* the tree keeps the value */
    return e;
}

/* Adds {"value":..} or {"value_b64":..}, with an optional timestamp; names: the allowed members. */
static enum err add_value_object(struct builder *b, const struct sto_family *family,
                                 struct slice qualifier, const json_t *object,
                                 const char *const *names)
{
    enum err e = gw_json_only(object, names, b->eb);
    if (e != ERR_OK)
        return e;
    if (family->aggregate != STO_AGGREGATE_NONE)
        return add_aggregate(b, family, qualifier, object);
    if (!is_absent(object, "input") || !is_absent(object, "input_b64"))
        return base_fail(b->eb, ERR_INVALID, "an input of a plain family");
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
    static const char *const names[] = {"value", "value_b64", "timestamp",
                                        "input", "input_b64", NULL};
    if (json_is_object(value))
        return add_value_object(b, family, qualifier, value, names);
    if (family->aggregate != STO_AGGREGATE_NONE &&
        (json_is_integer(value) || json_is_string(value)))
        return add_bare_input(b, family, qualifier, looked_at(value));
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

/* Adds one entry of "$binary": {"family","qualifier_b64" or "qualifier","value".., "timestamp"}. */
static enum err add_binary(struct builder *b, const json_t *entry)
{
    static const char *const names[] = {"family", "qualifier", "qualifier_b64",
                                        "value",  "value_b64", "timestamp",
                                        "input",  "input_b64", NULL};
    struct slice name;
    struct slice qualifier;
    const struct sto_family *family = NULL;
    if (!json_is_object(entry))
        return base_fail(b->eb, ERR_INVALID, "entries of \"" BINARY_NAME "\" must be objects");
    enum err e = gw_json_only(entry, names, b->eb);
    if (e == ERR_OK)
        e = gw_json_get_text(entry, "family", &name, b->eb);
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
    if (json_is_null(value) && is_absent(entry, "value_b64") && is_absent(entry, "input") &&
        is_absent(entry, "input_b64"))
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

enum err row_body_model(const json_t *body, enum gw_row_verb verb, const struct sto_schema *schema,
                        struct arena *arena, struct gw_row_body *out, struct errbuf *eb)
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

/* --- comparing ---------------------------------------------------------------------------------
 */

static bool is_same(const struct sto_mutation *a, const struct sto_mutation *b)
{
    return a->kind == b->kind && a->family == b->family && a->timestamp_us == b->timestamp_us &&
           base_slice_equal(a->qualifier, b->qualifier) && base_slice_equal(a->value, b->value);
}

static bool differ(struct errbuf *why, const char *what)
{
    (void)base_fail(why, ERR_INVALID, "%s", what); /* for its sentence */
    return false;
}

static bool bodies_agree(const struct gw_row_body *got, const struct gw_row_body *want,
                         struct errbuf *why)
{
    if (got->count != want->count || got->cells != want->cells)
        return differ(why, "not as many mutations");
    for (size_t i = 0; i < got->count; i++)
        if (!is_same(&got->mutations[i], &want->mutations[i]))
            return differ(why, "another mutation");
    return true;
}

bool row_body_readers_agree(struct slice text, enum gw_row_verb verb,
                            const struct sto_schema *schema, struct errbuf *why)
{
    struct arena tree_arena, text_arena;
    struct gw_row_body got = {0}, want = {0};
    struct errbuf eb = {{0}};
    json_t *tree = NULL;
    base_arena_init(&tree_arena, ROW_BODY_ARENA_MAX);
    base_arena_init(&text_arena, ROW_BODY_ARENA_MAX);
    enum err parsed = gw_json_parse(text, NULL, &tree, NULL);
    enum err e = parsed;
    if (parsed == ERR_OK)
        e = row_body_model(tree, verb, schema, &tree_arena, &want, NULL);
    enum err f = gw_row_body_build(text, verb, schema, 1, &text_arena, &got, &eb);
    bool agree = (e == ERR_OK) == (f == ERR_OK) && (parsed == ERR_OK || f == parsed);
    if (!agree)
        (void)base_fail(why, ERR_INVALID, "the model says %s, the reader %s (%s)", base_err_name(e),
                        base_err_name(f), eb.text);
    else if (e == ERR_OK)
        agree = bodies_agree(&got, &want, why);
    json_decref(tree);
    base_arena_fini(&tree_arena);
    base_arena_fini(&text_arena);
    return agree;
}

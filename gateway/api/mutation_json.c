/*
 * gateway/api/mutation_json.c - one object, one mutation; its only member names the kind.
 */
#include "gateway/api/mutation_json.h"

#include "gateway/api/cell_scan.h"
#include "gateway/api/time_unit.h"
#include "gateway/cell_fields.h"

#include "base/banned.h"

#define MEMBERS_MAX 8

struct reader {
    const struct sto_schema *schema;
    int64_t unit_us; /* of timestamps */
    struct arena *arena;
    const json_t *fields; /* of the mutation or rule being read */
    const struct sto_family *family;
    struct sto_mutation *out;
    struct errbuf *eb;
};

/* --- fields ----------------------------------------------------------------------------------- */

static enum err take_family(struct reader *r)
{
    struct slice name;
    enum err e = gw_json_get_text(r->fields, "family", &name, r->eb);
    if (e == ERR_OK && name.ptr == NULL)
        e = base_fail(r->eb, ERR_INVALID, "\"family\" is missing");
    if (e == ERR_OK)
        e = gw_family_find(r->schema, name, &r->family, r->eb);
    if (e == ERR_OK)
        r->out->family = r->family->number;
    return e;
}

static enum err take_bytes(struct reader *r, const char *name, struct slice *out)
{
    enum err e = gw_json_get_bytes(r->fields, name, r->arena, out, r->eb);
    if (e == ERR_OK && out->ptr == NULL)
        e = base_fail(r->eb, ERR_INVALID, "\"%s\" or \"%s_b64\" is missing", name, name);
    return e;
}

static enum err take_column(struct reader *r)
{
    enum err e = take_family(r);
    return e == ERR_OK ? take_bytes(r, "qualifier", &r->out->qualifier) : e;
}

static enum err take_time(struct reader *r, const char *name, int64_t fallback, int64_t *out)
{
    struct slice text;
    enum err e = gw_json_get_text(r->fields, name, &text, r->eb);
    return e == ERR_OK ? gw_time_parse(text, name, r->unit_us, fallback, out, r->eb) : e;
}

/* --- kinds ------------------------------------------------------------------------------------ */

/* Reads "value", "value_b64", or in a family of type int64 "number". */
static enum err take_value(struct reader *r)
{
    const json_t *number = json_object_get(r->fields, "number");
    if (number == NULL || json_is_null(number))
        return take_bytes(r, "value", &r->out->value);
    if (!json_is_integer(number) || r->family->value_type != STO_VALUE_INT64)
        return base_fail(r->eb, ERR_INVALID,
                         "\"number\" must be a whole number of 64 bits, in a family of type int64");
    if (json_object_get(r->fields, "value") != NULL ||
        json_object_get(r->fields, "value_b64") != NULL)
        return base_fail(r->eb, ERR_INVALID, "give \"value\", \"value_b64\" or \"number\", once");
    return gw_integer_bytes(json_integer_value(number), r->arena, &r->out->value, r->eb);
}

static enum err read_set_cell(struct reader *r)
{
    enum err e = take_column(r);
    if (e == ERR_OK)
        e = take_value(r);
    if (e == ERR_OK)
        e = take_time(r, "timestamp", STO_TIMESTAMP_SERVER, &r->out->timestamp_us);
    return e;
}

static enum err read_delete_from_column(struct reader *r)
{
    enum err e = take_column(r);
    if (e == ERR_OK)
        e = take_time(r, "start", 0, &r->out->start_us);
    if (e == ERR_OK)
        e = take_time(r, "end", 0, &r->out->end_us);
    if (e != ERR_OK)
        return e;
    struct sto_mutation sent = *r->out; /* an empty range is reported in the unit of the request */
    sent.start_us /= r->unit_us;
    sent.end_us /= r->unit_us;
    return sto_mutation_check(r->schema, NULL, &sent, r->eb);
}

static enum err read_delete_from_row(struct reader *r)
{
    (void)r; /* no fields to read */
    return ERR_OK;
}

/* Reads "input": 5 or "input":"text" or "input_b64". */
static enum err take_input(struct reader *r)
{
    const json_t *input = json_object_get(r->fields, "input");
    const json_t *input_b64 = json_object_get(r->fields, "input_b64");
    if (json_is_integer(input)) {
        if (input_b64 != NULL && !json_is_null(input_b64))
            return base_fail(r->eb, ERR_INVALID, "give \"input\" or \"input_b64\", not both");
        enum err e = gw_input_check(r->family, true, r->eb);
        return e == ERR_OK
                   ? gw_integer_bytes(json_integer_value(input), r->arena, &r->out->value, r->eb)
                   : e;
    }
    if (input != NULL && !json_is_null(input) && !json_is_string(input))
        return base_fail(r->eb, ERR_INVALID, "\"input\" must be a whole number or text");
    enum err e = take_bytes(r, "input", &r->out->value);
    /* Bytes may encode an integer: sto_mutations_check checks them. */
    return e == ERR_OK && json_is_string(input) ? gw_input_check(r->family, false, r->eb) : e;
}

static enum err read_add_to_cell(struct reader *r)
{
    enum err e = take_column(r);
    if (e == ERR_OK)
        e = take_input(r);
    if (e == ERR_OK)
        e = take_time(r, "timestamp", GW_AGGREGATE_TIMESTAMP, &r->out->timestamp_us);
    return e;
}

static enum err read_merge_to_cell(struct reader *r)
{
    enum err e = take_column(r);
    if (e == ERR_OK)
        e = take_bytes(r, "state", &r->out->value);
    if (e == ERR_OK)
        e = take_time(r, "timestamp", GW_AGGREGATE_TIMESTAMP, &r->out->timestamp_us);
    return e;
}

#define COLUMN "family", "qualifier", "qualifier_b64"

static const struct kind {
    const char *name;
    enum sto_mutation_kind kind;
    enum err (*read)(struct reader *r);
    const char *members[MEMBERS_MAX];
} KINDS[] = {
    {"set_cell",
     STO_SET_CELL,
     read_set_cell,
     {COLUMN, "value", "value_b64", "number", "timestamp"}},
    {"delete_from_column",
     STO_DELETE_FROM_COLUMN,
     read_delete_from_column,
     {COLUMN, "start", "end"}},
    {"delete_from_family", STO_DELETE_FROM_FAMILY, take_family, {"family"}},
    {"delete_from_row", STO_DELETE_FROM_ROW, read_delete_from_row, {NULL}},
    {"add_to_cell", STO_ADD_TO_CELL, read_add_to_cell, {COLUMN, "input", "input_b64", "timestamp"}},
    {"merge_to_cell",
     STO_MERGE_TO_CELL,
     read_merge_to_cell,
     {COLUMN, "state", "state_b64", "timestamp"}},
};

static const struct kind *find_kind(struct slice name)
{
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        if (base_slice_is(name, KINDS[i].name))
            return &KINDS[i];
    }
    return NULL;
}

static enum err read_mutation(struct reader *r, const json_t *json)
{
    json_t *object = (json_t *)(uintptr_t)json; /* jansson's iterators only read */
    if (json_object_size(json) != 1)
        return base_fail(r->eb, ERR_INVALID,
                         "a mutation is an object of one member, such as {\"set_cell\":{..}}");
    void *only = json_object_iter(object);
    struct slice name = gw_json_member_name(only);
    const struct kind *kind = find_kind(name);
    if (kind == NULL)
        return base_fail(r->eb, ERR_INVALID, "there is no mutation \"%.*s\"",
                         (int)(name.len < 48 ? name.len : 48), (const char *)name.ptr);
    r->fields = json_object_iter_value(only);
    r->out->kind = kind->kind;
    if (!json_is_object(r->fields))
        return base_fail(r->eb, ERR_INVALID, "\"%s\" must be an object", kind->name);
    enum err e = gw_json_only(r->fields, kind->members, r->eb);
    return e == ERR_OK ? kind->read(r) : e;
}

/* --- rules ------------------------------------------------------------------------------------ */

static enum err read_rule(struct reader *r, const json_t *json)
{
    static const char *const names[] = {COLUMN, "append", "append_b64", "increment", NULL};
    const json_t *increment = json_object_get(json, "increment");
    bool appends =
        json_object_get(json, "append") != NULL || json_object_get(json, "append_b64") != NULL;
    r->fields = json;
    if (!json_is_object(json))
        return base_fail(r->eb, ERR_INVALID, "a rule is an object");
    enum err e = gw_json_only(json, names, r->eb);
    if (e == ERR_OK)
        e = take_column(r);
    if (e != ERR_OK)
        return e;
    if (appends == (increment != NULL))
        return base_fail(r->eb, ERR_INVALID,
                         "give \"append\" (or \"append_b64\") or \"increment\"");
    if (appends) {
        r->out->kind = STO_APPEND;
        return take_bytes(r, "append", &r->out->value);
    }
    if (!json_is_integer(increment))
        return base_fail(r->eb, ERR_INVALID, "\"increment\" must be a whole number of 64 bits");
    r->out->kind = STO_INCREMENT;
    r->out->increment = json_integer_value(increment);
    return ERR_OK;
}

/* --- lists ------------------------------------------------------------------------------------ */

struct shape {
    const char *noun;
    size_t max;
    enum err (*read)(struct reader *r, const json_t *json);
};

struct source {
    const json_t *object;
    const char *name; /* of the list in it */
    const struct sto_schema *schema;
    int64_t unit_us;
    struct arena *arena;
};

static enum err read_one(const struct source *from, const struct shape *shape, size_t index,
                         const json_t *json, struct sto_mutation *out, struct errbuf *eb)
{
    struct reader r = {.schema = from->schema,
                       .unit_us = from->unit_us,
                       .arena = from->arena,
                       .out = out,
                       .eb = eb};
    enum err e = shape->read(&r, json);
    return base_fail_at(eb, e, "%s[%zu]", from->name, index);
}

static enum err read_list(const struct source *from, const struct shape *shape,
                          struct gw_mutations *out, struct errbuf *eb)
{
    const json_t *list = json_object_get(from->object, from->name);
    *out = (struct gw_mutations){NULL, 0};
    if (list == NULL || json_is_null(list))
        return ERR_OK;
    if (!json_is_array(list))
        return base_fail(eb, ERR_INVALID, "\"%s\" must be a list of %ss", from->name, shape->noun);
    size_t count = json_array_size(list);
    if (count > shape->max)
        return base_fail(eb, ERR_TOO_BIG, "\"%s\" has %zu %ss; the limit is %zu", from->name, count,
                         shape->noun, shape->max);
    struct sto_mutation *mutations =
        base_arena_zalloc(from->arena, (count + 1) * sizeof *mutations);
    if (mutations == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for %zu %ss", count, shape->noun);
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        e = read_one(from, shape, i, json_array_get(list, i), &mutations[i], eb);
    if (e == ERR_OK)
        *out = (struct gw_mutations){mutations, count};
    return e;
}

enum err gw_mutations_from_json(const json_t *object, const char *name,
                                const struct sto_schema *schema, int64_t unit_us,
                                struct arena *arena, struct gw_mutations *out, struct errbuf *eb)
{
    static const struct shape shape = {"mutation", LIM_MUTATIONS_PER_ROW, read_mutation};
    return read_list(&(struct source){object, name, schema, unit_us, arena}, &shape, out, eb);
}

enum err gw_rules_from_json(const json_t *object, const char *name, const struct sto_schema *schema,
                            struct arena *arena, struct gw_mutations *out, struct errbuf *eb)
{
    static const struct shape shape = {"rule", LIM_MODIFY_RULES, read_rule};
    return read_list(&(struct source){object, name, schema, 1, arena}, &shape, out, eb);
}

/* Prepends the path of m to eb's sentence. */
static enum err mutation_fail_at(const struct sto_schema *schema, const struct sto_mutation *m,
                                 const char *name, size_t index, enum err rc, struct errbuf *eb)
{
    const struct sto_family *family = sto_schema_family_by_number(schema, m->family);
    if (name != NULL)
        return base_fail_at(eb, rc, "%s[%zu]", name, index);
    return family == NULL ? rc : gw_cell_fail_at(eb, rc, family, m->qualifier, SIZE_MAX);
}

enum err gw_mutations_check(const struct sto_schema *schema, const struct sto_account *account,
                            struct slice row_key, const struct sto_mutation *list, size_t count,
                            const char *name, struct errbuf *eb)
{
    enum err rc = sto_mutations_check(schema, account, row_key, list, count, eb);
    for (size_t i = 0; rc != ERR_OK && i < count; i++) {
        struct errbuf why = {{0}};
        if (sto_mutation_check(schema, account, &list[i], &why) != rc)
            continue;
        *eb = why;
        return mutation_fail_at(schema, &list[i], name, i, rc, eb);
    }
    return rc; /* an error of the row key or the list as a whole */
}

bool gw_mutations_end_with_a_cell(const struct sto_mutation *list, size_t count)
{
    return count > 0 && !sto_mutations_only_delete(list + count - 1, 1);
}

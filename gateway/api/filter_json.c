/*
 * gateway/api/filter_json.c - one object, one filter; its only member names the kind.
 *
 * Filters inside filters wait in a list, so that nesting costs no stack.
 */
#include "gateway/api/filter_json.h"

#include <stdio.h>

#include "base/text.h"

#include "base/banned.h"

#define NAME_SHOWN 48

/* A filter inside another one, in a member of its parent. */
struct pending {
    struct pending *next;
    const struct pending *parent; /* NULL: the outermost filter */
    const char *member;
    size_t index; /* in the list that the member is; SIZE_MAX: the member is no list */
    const json_t *json;
    struct sto_filter *out;
    size_t depth;
};

struct reader {
    struct arena *arena;
    struct pending *pending;
    const json_t *object;     /* the filter being read: {"kind":value} */
    const json_t *value;      /* value of its one member */
    const struct pending *at; /* its entry while it waited; NULL: the outermost one */
    size_t depth;
    struct errbuf *eb;
};

static enum err no_memory(const struct reader *r)
{
    return base_fail(r->eb, ERR_NO_MEMORY, "out of memory for the filter");
}

/* --- members -------------------------------------------------------------------------------- */

static enum err wait(struct reader *r, const char *member, size_t index, const json_t *json,
                     struct sto_filter *out)
{
    struct pending *p = base_arena_alloc(r->arena, sizeof *p);
    if (p == NULL)
        return no_memory(r);
    *p = (struct pending){.next = r->pending,
                          .parent = r->at,
                          .member = member,
                          .index = index,
                          .json = json,
                          .out = out,
                          .depth = r->depth + 1};
    r->pending = p;
    return ERR_OK;
}

static enum err members_make(struct reader *r, struct sto_filter *f, size_t count,
                             struct sto_filter **out)
{
    *out = base_arena_zalloc(r->arena, (count + 1) * sizeof **out);
    if (*out == NULL)
        return no_memory(r);
    f->members = *out;
    f->member_count = count;
    return ERR_OK;
}

static enum err read_members(struct reader *r, struct sto_filter *f)
{
    const char *name = sto_filter_kind_name(f->kind);
    /* {"chain":[..]} and, as in Bigtable's API, {"chain":{"filters":[..]}} */
    static const char *const names[] = {"filters", NULL};
    const json_t *list = r->value;
    if (json_is_object(list)) {
        enum err e = gw_json_only(list, names, r->eb);
        if (e != ERR_OK)
            return e;
        list = json_object_get(list, "filters");
    }
    if (!json_is_array(list))
        return base_fail(r->eb, ERR_INVALID, "filter \"%s\" must be a list of filters", name);
    struct sto_filter *members = NULL;
    enum err e = members_make(r, f, json_array_size(list), &members);
    for (size_t i = 0; e == ERR_OK && i < f->member_count; i++)
        e = wait(r, name, i, json_array_get(list, i), &members[i]);
    return e;
}

static enum err read_condition(struct reader *r, struct sto_filter *f)
{
    static const char *const names[] = {"predicate", "predicate_filter", "true_filter",
                                        "false_filter", NULL};
    static const char *const PARTS[] = {"condition.predicate", "condition.true_filter",
                                        "condition.false_filter"};
    if (!json_is_object(r->value))
        return base_fail(r->eb, ERR_INVALID, "filter \"condition\" must be an object");
    struct sto_filter *members = NULL;
    enum err e = gw_json_only(r->value, names, r->eb);
    if (e == ERR_OK)
        e = members_make(r, f, 3, &members);
    const json_t *predicate = json_object_get(r->value, "predicate");
    if (predicate == NULL)
        predicate = json_object_get(r->value, "predicate_filter");
    const json_t *parts[] = {predicate, json_object_get(r->value, "true_filter"),
                             json_object_get(r->value, "false_filter")};
    for (size_t i = 0; e == ERR_OK && i < 3; i++) {
        if (parts[i] != NULL && !json_is_null(parts[i]))
            e = wait(r, PARTS[i], SIZE_MAX, parts[i], &members[i]);
    }
    return e;
}

/* --- values --------------------------------------------------------------------------------- */

static enum err read_true(struct reader *r, struct sto_filter *f)
{
    if (!json_is_true(r->value))
        return base_fail(r->eb, ERR_INVALID, "filter \"%s\" must be true",
                         sto_filter_kind_name(f->kind));
    return ERR_OK;
}

static enum err read_count(struct reader *r, struct sto_filter *f)
{
    if (!json_is_integer(r->value))
        return base_fail(r->eb, ERR_INVALID, "filter \"%s\" must be a whole number",
                         sto_filter_kind_name(f->kind));
    f->count = json_integer_value(r->value);
    return ERR_OK;
}

static enum err read_probability(struct reader *r, struct sto_filter *f)
{
    if (!json_is_number(r->value))
        return base_fail(r->eb, ERR_INVALID, "filter \"%s\" must be a number",
                         sto_filter_kind_name(f->kind));
    f->probability = json_number_value(r->value);
    return ERR_OK;
}

/* Reads text or base64, depending on the name of the filter's only member. */
static enum err read_bytes(struct reader *r, struct sto_filter *f)
{
    void *only = json_object_iter((json_t *)(uintptr_t)r->object); /* jansson only reads */
    struct slice name = gw_json_member_name(only);
    if (!json_is_string(r->value))
        return base_fail(r->eb, ERR_INVALID, "filter \"%s\" must be text",
                         sto_filter_kind_name(f->kind));
    char plain[NAME_SHOWN];
    size_t len = name.len;
    if (len > 4 && memcmp(name.ptr + len - 4, "_b64", 4) == 0)
        len -= 4;
    (void)snprintf(plain, sizeof plain, "%.*s", (int)len, (const char *)name.ptr);
    return gw_json_get_bytes(r->object, plain, r->arena, &f->bytes, r->eb);
}

static enum err read_mask(struct reader *r, struct sto_filter *f)
{
    static const char *const names[] = {"mask", "mask_b64", NULL};
    if (!json_is_object(r->value))
        return base_fail(r->eb, ERR_INVALID, "filter \"value_bitmask\" must be an object");
    enum err e = gw_json_only(r->value, names, r->eb);
    return e == ERR_OK ? gw_json_get_bytes(r->value, "mask", r->arena, &f->bytes, r->eb) : e;
}

/* Reads one bound, closed or open; `which` is "start_qualifier" and the like. */
static enum err read_bound(struct reader *r, const char *which, struct slice *out, bool *out_closed,
                           bool *out_given)
{
    char name[NAME_SHOWN];
    struct slice closed, open;
    (void)snprintf(name, sizeof name, "%s_closed", which);
    enum err e = gw_json_get_bytes(r->value, name, r->arena, &closed, r->eb);
    if (e == ERR_OK) {
        (void)snprintf(name, sizeof name, "%s_open", which);
        e = gw_json_get_bytes(r->value, name, r->arena, &open, r->eb);
    }
    if (e != ERR_OK)
        return e;
    if (closed.ptr != NULL && open.ptr != NULL)
        return base_fail(r->eb, ERR_INVALID, "give \"%s_closed\" or \"%s_open\", not both", which,
                         which);
    *out_given = closed.ptr != NULL || open.ptr != NULL;
    *out_closed = closed.ptr != NULL;
    *out = closed.ptr != NULL ? closed : open;
    return ERR_OK;
}

static enum err read_bounds(struct reader *r, const char *start, const char *end,
                            struct sto_bytes_range *out)
{
    bool closed = true;
    bool given = false;
    enum err e = read_bound(r, start, &out->start, &closed, &given);
    out->start_exclusive = given && !closed;
    if (e == ERR_OK)
        e = read_bound(r, end, &out->end, &out->end_inclusive, &out->has_end);
    return e;
}

static enum err read_value_range(struct reader *r, struct sto_filter *f)
{
    static const char *const names[] = {
        "start_value_closed",   "start_value_closed_b64", "start_value_open",
        "start_value_open_b64", "end_value_closed",       "end_value_closed_b64",
        "end_value_open",       "end_value_open_b64",     NULL};
    if (!json_is_object(r->value))
        return base_fail(r->eb, ERR_INVALID, "filter \"value_range\" must be an object");
    enum err e = gw_json_only(r->value, names, r->eb);
    return e == ERR_OK ? read_bounds(r, "start_value", "end_value", &f->range) : e;
}

static enum err read_column_range(struct reader *r, struct sto_filter *f)
{
    static const char *const names[] = {"family_name",
                                        "start_qualifier_closed",
                                        "start_qualifier_closed_b64",
                                        "start_qualifier_open",
                                        "start_qualifier_open_b64",
                                        "end_qualifier_closed",
                                        "end_qualifier_closed_b64",
                                        "end_qualifier_open",
                                        "end_qualifier_open_b64",
                                        NULL};
    if (!json_is_object(r->value))
        return base_fail(r->eb, ERR_INVALID, "filter \"column_range\" must be an object");
    enum err e = gw_json_only(r->value, names, r->eb);
    if (e == ERR_OK)
        e = gw_json_get_text(r->value, "family_name", &f->bytes, r->eb);
    if (e == ERR_OK && f->bytes.len == 0)
        e = base_fail(r->eb, ERR_INVALID, "filter \"column_range\" needs \"family_name\"");
    return e == ERR_OK ? read_bounds(r, "start_qualifier", "end_qualifier", &f->range) : e;
}

/* Reads decimal text, as timestamps are everywhere, or a number. */
static enum err read_micros(struct reader *r, const char *name, int64_t *out)
{
    const json_t *value = json_object_get(r->value, name);
    if (value == NULL || json_is_null(value))
        return ERR_OK;
    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return ERR_OK;
    }
    if (!json_is_string(value) || base_parse_i64(gw_json_string(value), out) != ERR_OK)
        return base_fail(r->eb, ERR_INVALID, "\"%s\" must be microseconds as decimal text", name);
    return ERR_OK;
}

static enum err read_timestamp_range(struct reader *r, struct sto_filter *f)
{
    static const char *const names[] = {"start_timestamp_micros", "end_timestamp_micros", NULL};
    if (!json_is_object(r->value))
        return base_fail(r->eb, ERR_INVALID, "filter \"timestamp_range\" must be an object");
    enum err e = gw_json_only(r->value, names, r->eb);
    if (e == ERR_OK)
        e = read_micros(r, names[0], &f->start_us);
    return e == ERR_OK ? read_micros(r, names[1], &f->end_us) : e;
}

/* --- kinds ---------------------------------------------------------------------------------- */

static enum err (*const READERS[STO_FILTER_KIND_COUNT])(struct reader *, struct sto_filter *) = {
    [STO_FILTER_PASS_ALL] = read_true,
    [STO_FILTER_BLOCK_ALL] = read_true,
    [STO_FILTER_SINK] = read_true,
    [STO_FILTER_CHAIN] = read_members,
    [STO_FILTER_INTERLEAVE] = read_members,
    [STO_FILTER_CONDITION] = read_condition,
    [STO_FILTER_ROW_KEY_REGEX] = read_bytes,
    [STO_FILTER_ROW_SAMPLE] = read_probability,
    [STO_FILTER_FAMILY_REGEX] = read_bytes,
    [STO_FILTER_QUALIFIER_REGEX] = read_bytes,
    [STO_FILTER_COLUMN_RANGE] = read_column_range,
    [STO_FILTER_TIMESTAMP_RANGE] = read_timestamp_range,
    [STO_FILTER_VALUE_REGEX] = read_bytes,
    [STO_FILTER_VALUE_RANGE] = read_value_range,
    [STO_FILTER_VALUE_BITMASK] = read_mask,
    [STO_FILTER_CELLS_PER_ROW_OFFSET] = read_count,
    [STO_FILTER_CELLS_PER_ROW_LIMIT] = read_count,
    [STO_FILTER_CELLS_PER_COLUMN_LIMIT] = read_count,
    [STO_FILTER_STRIP_VALUE] = read_true,
    [STO_FILTER_APPLY_LABEL] = read_bytes,
};

static struct slice without_ending(struct slice name, const char *ending)
{
    size_t n = strlen(ending);
    if (name.len > n && memcmp(name.ptr + name.len - n, ending, n) == 0)
        name.len -= n;
    return name;
}

static bool takes_bytes(enum sto_filter_kind kind)
{
    return READERS[kind] == read_bytes;
}

/* Returns the kind of that name; NONE: there is no such filter. */
static enum sto_filter_kind kind_of(struct slice name)
{
    struct slice text = without_ending(name, "_b64");
    struct slice plain = without_ending(without_ending(text, "_filter"), "_transformer");
    for (int k = STO_FILTER_NONE + 1; k < STO_FILTER_KIND_COUNT; k++) {
        enum sto_filter_kind kind = (enum sto_filter_kind)k;
        if (base_slice_is(plain, sto_filter_kind_name(kind)))
            return text.len == name.len || takes_bytes(kind) ? kind : STO_FILTER_NONE;
    }
    return STO_FILTER_NONE;
}

static enum err read_one(struct reader *r, struct sto_filter *out)
{
    *out = (struct sto_filter){.kind = STO_FILTER_NONE};
    if (!json_is_object(r->object) || json_object_size(r->object) != 1)
        return base_fail(r->eb, ERR_INVALID,
                         "a filter must be an object with one member that names its kind");
    if (r->depth > LIM_FILTER_DEPTH)
        return base_fail(r->eb, ERR_INVALID, "filters are nested deeper than %d levels",
                         LIM_FILTER_DEPTH);
    void *only = json_object_iter((json_t *)(uintptr_t)r->object); /* jansson only reads */
    struct slice name = gw_json_member_name(only);
    r->value = json_object_iter_value(only);
    out->kind = kind_of(name);
    if (out->kind == STO_FILTER_NONE)
        return base_fail(r->eb, ERR_INVALID, "unknown filter \"%.*s\"",
                         (int)(name.len < NAME_SHOWN ? name.len : NAME_SHOWN),
                         (const char *)name.ptr);
    return READERS[out->kind](r, out);
}

/* Prepends the path of the filter that was read last: "condition.true_filter.chain[2]:
 * sentence". */
static enum err fail_in_filter(const struct reader *r, enum err code)
{
    const struct pending *steps[LIM_FILTER_DEPTH + 1];
    char path[GW_JSON_PATH_BYTES] = "";
    size_t count = 0;
    for (const struct pending *p = r->at; p != NULL; p = p->parent)
        steps[count++] = p;
    INVARIANT(count <= LIM_FILTER_DEPTH); /* read_one refuses deeper filters */
    for (size_t i = count; i > 0; i--)
        gw_json_path_add(path, steps[i - 1]->member, steps[i - 1]->index);
    return count == 0 ? code : base_fail_at(r->eb, code, "%s", path);
}

enum err gw_filter_from_json(const json_t *json, struct arena *arena, struct sto_filter *out,
                             struct errbuf *eb)
{
    struct reader r = {.arena = arena, .object = json, .depth = 1, .eb = eb};
    enum err e = read_one(&r, out);
    while (e == ERR_OK && r.pending != NULL) {
        struct pending *p = r.pending;
        r.pending = p->next;
        r.object = p->json;
        r.at = p;
        r.depth = p->depth;
        e = read_one(&r, p->out);
    }
    return e == ERR_OK ? ERR_OK : fail_in_filter(&r, e);
}

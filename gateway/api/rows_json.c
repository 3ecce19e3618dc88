/*
 * gateway/api/rows_json.c - a set of rows as JSON: keys, ranges, prefixes.
 */
#include "gateway/api/rows_json.h"

#include "base/banned.h"

struct list {
    struct arena *arena;
    struct sto_row_range *ranges;
    size_t count;
    struct errbuf *eb;
};

static enum err length_check(struct slice key, bool may_be_empty, struct errbuf *eb)
{
    if (key.len > LIM_ROW_KEY)
        return base_fail(eb, ERR_TOO_BIG, "a row key of %zu bytes; the limit is %d", key.len,
                         LIM_ROW_KEY);
    if (key.len == 0 && !may_be_empty)
        return base_fail(eb, ERR_INVALID, "row keys have at least one byte");
    return ERR_OK;
}

/* --- keys ----------------------------------------------------------------------------------- */

static enum err add_keys(struct list *list, const json_t *keys, const char *name, bool is_b64)
{
    for (size_t i = 0; i < json_array_size(keys); i++) {
        struct slice bytes;
        enum err e = gw_json_list_bytes(keys, i, name, is_b64, list->arena, &bytes, list->eb);
        if (e == ERR_OK)
            e = base_fail_at(list->eb, length_check(bytes, false, list->eb), "%s[%zu]", name, i);
        if (e != ERR_OK)
            return e;
        list->ranges[list->count++] = sto_range_of_key(bytes);
    }
    return ERR_OK;
}

/* --- ranges --------------------------------------------------------------------------------- */

/* Reads one of two members; *out_second: it was the second one. */
static enum err one_of(struct list *list, const json_t *range, const char *first,
                       const char *second, struct slice *out, bool *out_second)
{
    struct slice a, b;
    enum err e = gw_json_get_bytes(range, first, list->arena, &a, list->eb);
    if (e == ERR_OK)
        e = gw_json_get_bytes(range, second, list->arena, &b, list->eb);
    if (e != ERR_OK)
        return e;
    if (a.ptr != NULL && b.ptr != NULL)
        return base_fail(list->eb, ERR_INVALID, "give \"%s\" or \"%s\", not both", first, second);
    *out_second = b.ptr != NULL;
    *out = *out_second ? b : a;
    return length_check(*out, true, list->eb);
}

static enum err prefix_range(struct list *list, struct slice prefix, struct sto_row_range *out)
{
    enum err e = length_check(prefix, true, list->eb);
    uint8_t *end = e == ERR_OK ? base_arena_alloc(list->arena, LIM_ROW_KEY) : NULL;
    if (e == ERR_OK && end == NULL)
        e = base_fail(list->eb, ERR_NO_MEMORY, "out of memory for the ranges");
    if (e == ERR_OK)
        *out = sto_range_of_prefix(prefix, end);
    return e;
}

static enum err add_range(struct list *list, const json_t *range)
{
    static const char *const names[] = {"prefix",     "prefix_b64",     "start", "start_b64",
                                        "start_open", "start_open_b64", "end",   "end_b64",
                                        "end_closed", "end_closed_b64", NULL};
    if (!json_is_object(range))
        return base_fail(list->eb, ERR_INVALID, "a range must be an object");
    struct sto_row_range *out = &list->ranges[list->count++];
    struct slice prefix;
    *out = (struct sto_row_range){.start = SLICE_EMPTY};
    enum err e = gw_json_only(range, names, list->eb);
    if (e == ERR_OK)
        e = gw_json_get_bytes(range, "prefix", list->arena, &prefix, list->eb);
    if (e != ERR_OK)
        return e;
    if (prefix.ptr != NULL && json_object_size(range) > 1)
        return base_fail(list->eb, ERR_INVALID, "\"prefix\" stands alone");
    if (prefix.ptr != NULL)
        return prefix_range(list, prefix, out);
    e = one_of(list, range, "start", "start_open", &out->start, &out->start_exclusive);
    if (e == ERR_OK)
        e = one_of(list, range, "end", "end_closed", &out->end, &out->end_inclusive);
    if (out->start.len == 0)
        out->start_exclusive = false;
    return e;
}

/* --- all of it ------------------------------------------------------------------------------ */

static enum err get_list(const json_t *object, const char *name, const json_t **out, size_t *count,
                         struct errbuf *eb)
{
    *out = json_object_get(object, name);
    if (*out != NULL && !json_is_array(*out))
        return base_fail(eb, ERR_INVALID, "\"%s\" must be a list", name);
    *count += json_array_size(*out);
    return ERR_OK;
}

enum err gw_rows_from_json(const json_t *object, struct arena *arena, struct sto_row_set *out,
                           struct sto_row_range **out_ranges, struct errbuf *eb)
{
    struct list list = {.arena = arena, .eb = eb};
    const json_t *keys, *keys_b64, *ranges;
    size_t count = 0;
    enum err e = get_list(object, "keys", &keys, &count, eb);
    if (e == ERR_OK)
        e = get_list(object, "keys_b64", &keys_b64, &count, eb);
    if (e == ERR_OK)
        e = get_list(object, "ranges", &ranges, &count, eb);
    if (e == ERR_OK && count > LIM_ROW_SET)
        e = base_fail(eb, ERR_TOO_BIG, "%zu keys and ranges; the limit is %d", count, LIM_ROW_SET);
    if (e != ERR_OK)
        return e;
    list.ranges = base_arena_zalloc(arena, (count + 1) * sizeof list.ranges[0]);
    if (list.ranges == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for the rows");
    e = add_keys(&list, keys, "keys", false);
    if (e == ERR_OK)
        e = add_keys(&list, keys_b64, "keys_b64", true);
    for (size_t i = 0; e == ERR_OK && i < json_array_size(ranges); i++)
        e = base_fail_at(eb, add_range(&list, json_array_get(ranges, i)), "ranges[%zu]", i);
    if (e == ERR_OK && list.count == 0 && keys == NULL && keys_b64 == NULL && ranges == NULL)
        list.count = 1; /* all zero: every row */
    *out_ranges = list.ranges;
    if (e == ERR_OK && list.count == 0)
        *out = (struct sto_row_set){.none = true};
    else if (e == ERR_OK)
        e = sto_row_set_make(list.ranges, list.count, out, eb);
    return e;
}

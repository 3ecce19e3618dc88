/*
 * gateway/api/query.c - the query part of a target, strictly.
 */
#include "gateway/api/query.h"

#include <inttypes.h>

#include "base/limits.h"
#include "base/text.h"

#include "base/banned.h"

#define NAME_SHOWN 32

static size_t find_byte(struct slice s, uint8_t byte)
{
    const uint8_t *at = s.len == 0 ? NULL : memchr(s.ptr, byte, s.len);
    return at == NULL ? s.len : (size_t)(at - s.ptr);
}

static enum err refuse(struct slice name, const char *why, struct errbuf *eb)
{
    return base_fail(eb, ERR_INVALID, "query parameter \"%.*s\" %s",
                     (int)(name.len < NAME_SHOWN ? name.len : NAME_SHOWN), (const char *)name.ptr,
                     why);
}

static enum err decode(struct slice raw, struct arena *arena, struct slice *out)
{
    *out = base_slice("", 0);
    if (raw.len == 0)
        return ERR_OK;
    struct buf bytes;
    base_buf_init(&bytes, raw.len);
    enum err e = base_percent_decode(raw, &bytes);
    if (e == ERR_OK) {
        *out = base_arena_copy(arena, base_buf_slice(&bytes));
        if (out->ptr == NULL)
            e = ERR_NO_MEMORY;
    }
    base_buf_fini(&bytes);
    return e;
}

static enum err take_pair(struct slice pair, struct arena *arena, struct gw_query *q,
                          struct errbuf *eb)
{
    size_t equals = find_byte(pair, '=');
    struct slice name = base_slice(pair.ptr, equals);
    if (equals == pair.len)
        return refuse(name, "has no value", eb);
    size_t i = 0;
    while (q->names[i] != NULL && !base_slice_is(name, q->names[i]))
        i++;
    if (q->names[i] == NULL)
        return refuse(name, "is not known here", eb);
    INVARIANT(i < GW_QUERY_PARAMS);
    if (q->values[i].ptr != NULL)
        return refuse(name, "is given twice", eb);
    enum err e = decode(base_slice_skip(pair, equals + 1), arena, &q->values[i]);
    if (e == ERR_NO_MEMORY)
        return base_fail(eb, e, "out of memory while reading the query");
    return e == ERR_OK ? ERR_OK : refuse(name, "is not properly percent-encoded", eb);
}

enum err gw_query_parse(struct slice raw, const char *const *names, struct arena *arena,
                        struct gw_query *out, struct errbuf *eb)
{
    *out = (struct gw_query){.names = names};
    while (raw.len > 0) {
        size_t end = find_byte(raw, '&');
        enum err e = take_pair(base_slice(raw.ptr, end), arena, out, eb);
        if (e != ERR_OK)
            return e;
        raw = base_slice_skip(raw, end < raw.len ? end + 1 : end);
    }
    return ERR_OK;
}

struct slice gw_query_get(const struct gw_query *q, const char *name)
{
    for (size_t i = 0; q->names[i] != NULL; i++) {
        if (strcmp(q->names[i], name) == 0)
            return q->values[i];
    }
    base_panic(__FILE__, __LINE__, "query parameter of another route");
}

enum err gw_query_number(const struct gw_query *q, const char *name, uint64_t min, uint64_t max,
                         uint64_t fallback, uint64_t *out, struct errbuf *eb)
{
    struct slice text = gw_query_get(q, name);
    *out = fallback;
    if (text.ptr == NULL)
        return ERR_OK;
    uint64_t number = 0;
    if (base_parse_u64(text, &number) != ERR_OK || number < min || number > max)
        return base_fail(eb, ERR_INVALID,
                         "query parameter \"%s\" must be a whole number from %" PRIu64
                         " to %" PRIu64,
                         name, min, max);
    *out = number;
    return ERR_OK;
}

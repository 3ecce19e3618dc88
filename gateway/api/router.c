/*
 * gateway/api/router.c - finds the route of a method and a raw path.
 *
 * Mechanism: patterns are cut into segments once. A request path is cut the same way and compared
 * with each pattern of as many segments; the table is short and its busiest routes come first.
 */
#include "gateway/api/router.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/text.h"

#include "base/banned.h"

enum segment_kind { SEGMENT_LITERAL, SEGMENT_NAME, SEGMENT_BYTES, SEGMENT_BYTES_OR_EMPTY };

struct segment {
    enum segment_kind kind;
    struct slice text; /* of a literal */
};

struct compiled {
    const struct gw_route *route;
    struct slice method;
    struct slice verb; /* ptr NULL: none */
    size_t count;
    struct segment segments[GW_PATH_SEGMENTS];
};

struct gw_router {
    size_t count;
    struct compiled routes[];
};

/* --- creating ----------------------------------------------------------------------------------
 */

/* Cuts `path` after its leading '/' at every '/'. Returns the number of segments, of which the
 * first GW_PATH_SEGMENTS are in out; 0: there is no leading '/'. */
static size_t split(struct slice path, struct slice *out)
{
    size_t count = 0;
    if (path.len == 0 || path.ptr[0] != '/')
        return 0;
    struct slice rest = base_slice_skip(path, 1);
    for (;;) {
        const uint8_t *slash = rest.len == 0 ? NULL : memchr(rest.ptr, '/', rest.len);
        size_t len = slash == NULL ? rest.len : (size_t)(slash - rest.ptr);
        if (count == GW_PATH_SEGMENTS)
            return count + 1;
        out[count++] = base_slice(rest.ptr, len);
        if (slash == NULL)
            return count;
        rest = base_slice_skip(rest, len + 1);
    }
}

/* Returns the index of the last ':' or s.len. */
static size_t last_colon(struct slice s)
{
    for (size_t i = s.len; i > 0; i--) {
        if (s.ptr[i - 1] == ':')
            return i - 1;
    }
    return s.len;
}

static struct segment compile_segment(struct slice text)
{
    if (text.len == 0 || text.ptr[0] != '{')
        return (struct segment){SEGMENT_LITERAL, text};
    if (base_slice_is(text, "{key}"))
        return (struct segment){SEGMENT_BYTES, SLICE_EMPTY};
    if (base_slice_is(text, "{qualifier}"))
        return (struct segment){SEGMENT_BYTES_OR_EMPTY, SLICE_EMPTY};
    return (struct segment){SEGMENT_NAME, SLICE_EMPTY};
}

static void compile(struct compiled *c, const struct gw_route *route)
{
    struct slice parts[GW_PATH_SEGMENTS];
    *c = (struct compiled){.route = route, .method = base_slice_text(route->method)};
    c->count = split(base_slice_text(route->pattern), parts);
    INVARIANT(c->count > 0 && c->count <= GW_PATH_SEGMENTS);
    struct slice *last = &parts[c->count - 1];
    size_t colon = last_colon(*last);
    if (colon < last->len) {
        c->verb = base_slice_skip(*last, colon + 1);
        last->len = colon;
    }
    size_t params = 0;
    for (size_t i = 0; i < c->count; i++) {
        c->segments[i] = compile_segment(parts[i]);
        params += c->segments[i].kind != SEGMENT_LITERAL;
    }
    INVARIANT(params <= GW_PATH_PARAMS);
}

struct gw_router *gw_router_new(const struct gw_route *routes, size_t count)
{
    struct gw_router *r = base_new(sizeof *r + count * sizeof r->routes[0]);
    r->count = count;
    for (size_t i = 0; i < count; i++)
        compile(&r->routes[i], &routes[i]);
    return r;
}

void gw_router_free(struct gw_router *r)
{
    base_free(r);
}

/* --- matching ----------------------------------------------------------------------------------
 */

enum fit { FIT_NO, FIT_YES, FIT_BAD };

static bool is_dots(struct slice s)
{
    return base_slice_is(s, ".") || base_slice_is(s, "..");
}

static enum fit fit_segment(const struct segment *pattern, struct slice raw)
{
    switch (pattern->kind) {
    case SEGMENT_LITERAL:
        return base_slice_equal(pattern->text, raw) ? FIT_YES : FIT_NO;
    case SEGMENT_NAME:
        if (last_colon(raw) < raw.len)
            return FIT_NO;
        return raw.len == 0 || is_dots(raw) ? FIT_BAD : FIT_YES;
    case SEGMENT_BYTES:
        return raw.len == 0 || is_dots(raw) ? FIT_BAD : FIT_YES;
    case SEGMENT_BYTES_OR_EMPTY:
        return is_dots(raw) ? FIT_BAD : FIT_YES;
    }
    return FIT_NO;
}

static enum fit fit(const struct compiled *c, const struct slice *parts, size_t count,
                    struct gw_match *out)
{
    if (c->count != count)
        return FIT_NO;
    struct slice last = parts[count - 1];
    if (c->verb.ptr != NULL) {
        size_t colon = last_colon(last);
        if (colon == last.len || !base_slice_equal(base_slice_skip(last, colon + 1), c->verb))
            return FIT_NO;
        last.len = colon;
    }
    enum fit all = FIT_YES;
    size_t params = 0;
    for (size_t i = 0; i < count; i++) {
        struct slice raw = i + 1 == count ? last : parts[i];
        enum fit one = fit_segment(&c->segments[i], raw);
        if (one == FIT_NO)
            return FIT_NO;
        if (one == FIT_BAD)
            all = FIT_BAD;
        if (c->segments[i].kind != SEGMENT_LITERAL)
            out->params[params++] = raw;
    }
    out->param_count = params;
    return all;
}

/* Returns whether the path is that of a route followed by more segments, as it is when a slash that
 * belongs to a key is not percent-encoded. */
static bool goes_on(const struct compiled *c, const struct slice *parts, size_t count,
                    struct gw_match *out)
{
    enum segment_kind last = c->segments[c->count - 1].kind;
    return (last == SEGMENT_BYTES || last == SEGMENT_BYTES_OR_EMPTY) && c->verb.ptr == NULL &&
           count > c->count && fit(c, parts, c->count, out) != FIT_NO;
}

static void allow(struct gw_match *out, const char *method)
{
    size_t used = strlen(out->allow);
    bool is_get = strcmp(method, "GET") == 0;
    (void)snprintf(out->allow + used, sizeof out->allow - used, "%s%s", used == 0 ? "" : ", ",
                   is_get ? "GET, HEAD" : method); /* all methods of one path fit */
}

enum gw_matched gw_router_match(const struct gw_router *r, struct slice method, struct slice path,
                                struct gw_match *out)
{
    struct slice parts[GW_PATH_SEGMENTS];
    size_t count = split(path, parts);
    bool is_bad = false;
    bool is_long = false;
    struct slice wanted = base_slice_is(method, "HEAD") ? SLICE_LIT("GET") : method;
    out->route = NULL;
    out->param_count = 0;
    out->allow[0] = '\0';
    if (count == 0)
        return GW_MATCHED_NO_PATH;
    for (size_t i = 0; i < r->count; i++) {
        const struct compiled *c = &r->routes[i];
        enum fit f = fit(c, parts, count, out);
        if (f == FIT_BAD)
            is_bad = true;
        if (goes_on(c, parts, count, out))
            is_long = true;
        if (f != FIT_YES)
            continue;
        if (base_slice_equal(c->method, wanted)) {
            out->route = c->route;
            return GW_MATCHED;
        }
        allow(out, c->route->method);
    }
    if (out->allow[0] != '\0')
        return GW_MATCHED_NO_METHOD;
    out->param_count = 0;
    return is_bad ? GW_MATCHED_BAD_PATH : is_long ? GW_MATCHED_LONG_PATH : GW_MATCHED_NO_PATH;
}

/* --- decoding ----------------------------------------------------------------------------------
 */

/* Returns whether raw is visible ASCII; other bytes may not be in a target unencoded. */
static bool is_visible(struct slice raw)
{
    for (size_t i = 0; i < raw.len; i++) {
        if (raw.ptr[i] <= 0x20 || raw.ptr[i] >= 0x7F)
            return false;
    }
    return true;
}

static enum err decode(struct slice raw, struct buf *scratch, struct arena *arena,
                       struct slice *out)
{
    struct slice bytes = raw;
    if (!is_visible(raw))
        return ERR_INVALID;
    if (raw.len != 0 && memchr(raw.ptr, '%', raw.len) != NULL) {
        base_buf_truncate(scratch, 0);
        enum err e = base_percent_decode(raw, scratch);
        if (e != ERR_OK)
            return e;
        bytes = base_buf_slice(scratch);
    }
    *out = base_arena_copy(arena, bytes);
    return out->ptr == NULL && out->len > 0 ? ERR_NO_MEMORY : ERR_OK;
}

enum err gw_match_decode(struct gw_match *m, struct arena *arena, struct errbuf *eb)
{
    struct buf scratch;
    base_buf_init(&scratch, LIM_TARGET_BYTES);
    enum err e = ERR_OK;
    for (size_t i = 0; i < m->param_count && e == ERR_OK; i++)
        e = decode(m->params[i], &scratch, arena, &m->params[i]);
    base_buf_fini(&scratch);
    if (e == ERR_NO_MEMORY)
        return base_fail(eb, e, "out of memory while reading the path");
    if (e != ERR_OK)
        return base_fail(eb, ERR_INVALID, "the path is not properly percent-encoded");
    return ERR_OK;
}
